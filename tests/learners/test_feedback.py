"""Ask and tell: the same as select and update when told at once, and as a plain reading when not."""

import copy
import math
import os
import pickle
import random
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import hlmc
from driving import kept
from fleets import killed_after
from hlmc.engine.layout import AT, BITS, DUE, FIELDS, LEVELS, TIME, UNANSWERED, UNTIL, WINDOW, describe
from hlmc.engine.structures.champion import CHALLENGE
from hlmc.engine.tickets import siphash
from hlmc.errors import BadArgument, BadReward, BadTicket, BadType, OutOfTurn
from hlmc.learners.tickets import CODES, ticket_dtype
from hlmc.policies import EXAMPLES
from reference_feedback import Remembering
from reference_losses import KEPT


def _waits(policy: hlmc.Policy) -> bool:
    """Whether a policy takes pending decisions: some with fewer bits do not."""
    try:
        return bool(replace(policy, pending=70).pending)
    except BadArgument:
        return False


SMALL = [policy for policy in EXAMPLES if policy.arms <= 1000 and not policy.pending and _waits(policy)]
MODELLED = (
    hlmc.HLMC(arms=11, groups=(3, 4), horizon=200, epochs=13, pending=20),
    hlmc.HLMC(arms=23, groups=(3, 3, 3), horizon=200, epochs=(5, 5, 9), pending=70, routines="exp3-loss"),
    hlmc.HLMC(
        arms=12,
        groups=(2, 2, 3),
        horizon=150,
        epochs=(10, 3, 5),
        pending=64,
        routines=("exp3-loss", "exp3", "exp3-loss"),
    ),
    hlmc.HLMC(
        arms=9,
        groups=(3, 3),
        horizon=120,
        epochs=8,
        pending=30,
        routines=hlmc.routines.TsallisINF("importance-weighted"),
    ),
    hlmc.HLMC(arms=5, groups=(5,), horizon=80, pending=3),
    hlmc.HLMC(arms=11, groups=(3, 4), horizon=20, pending=20, after="continue"),
    hlmc.HLMC(arms=12, groups=(2, 2, 3), horizon=25, pending=64, routines="exp3-loss", after="continue"),
)


# Told at once.


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", SMALL, ids=repr)
def test_told_at_once_it_is_select_and_update(policy: hlmc.Policy) -> None:
    """The same arms, probabilities and words, and select and update are the same with and without a window."""
    waits = replace(policy, pending=70)
    asked, selected, plain = waits.start(3), waits.start(3), policy.start(3)
    dice = random.Random(5)
    for _ in range(min(policy.limit or 150, 150)):
        reward = float(dice.random() < 0.5)
        ticket = asked.ask()
        assert ticket.arm == selected.select() == plain.select()
        assert ticket.probability == asked.probability == selected.probability == plain.probability
        assert asked.tell(ticket, reward) == "applied"
        selected.update(reward)
        plain.update(reward)
        assert asked.time == plain.time
    window = int(waits.program[WINDOW])
    both = [np.delete(each.state, range(window, window + waits.window_words)) for each in (asked, selected)]
    assert both[1].tobytes() == plain.state.tobytes()
    if asked.state[window + DUE] == 0.0:
        assert both[0].tobytes() == plain.state.tobytes()
    assert asked.pending == selected.pending == 0


# Against a plain reading that remembers everything.


class Interleaving:
    """A learner, the plain reading of it, and a state of both to which a crash leads back."""

    def __init__(self, policy: hlmc.HLMC, seed: int) -> None:
        self.learner, self.model = policy.start(seed), Remembering(policy)
        self.stranger = policy.start(seed + 1)
        self.tickets: list[hlmc.Ticket] = []
        self.lost: list[hlmc.Ticket] = []
        self.saved = self.learner.copy(), self.model.copy()
        self.codes: Counter[str] = Counter()

    def ask(self) -> None:
        limit = self.learner.policy.limit
        if limit is None or self.learner.time < limit:
            ticket = self.learner.ask()
            KEPT[:] = kept(self.learner)
            self.model.ask(ticket)
            self.tickets.append(ticket)

    def tell(self, which: int, reward: float) -> None:
        if self.tickets:
            ticket = self.tickets[which % len(self.tickets)]
            code = self.learner.tell(ticket, reward)
            assert code == self.model.settle(ticket, reward)
            self.codes[code] += 1

    def drop(self, which: int) -> None:
        if self.tickets:
            ticket = self.tickets[which % len(self.tickets)]
            assert self.learner.drop(ticket) == self.model.settle(ticket, None)

    def forge(self, which: int, bit: int) -> None:
        if self.tickets:
            data = bytearray(self.tickets[which % len(self.tickets)])
            data[bit // 8 % len(data)] ^= 1 << bit % 8
            before = self.learner.state.tobytes()
            for ticket in (hlmc.Ticket.from_bytes(data), self.stranger.copy().ask(), *self.lost[-2:]):
                if self.model.forgotten(ticket.time):
                    assert self.learner.tell(ticket, 0.5) == self.learner.drop(ticket) == "expired"
                    continue
                with pytest.raises(BadTicket):
                    self.learner.tell(ticket, 0.5)
                with pytest.raises(BadTicket):
                    self.learner.drop(ticket)
            assert self.learner.state.tobytes() == before

    def reload(self) -> None:
        """Through a pickle, whose row passes the gate."""
        self.learner = pickle.loads(pickle.dumps(self.learner))
        self.model.reborn = True

    def checkpoint(self) -> None:
        self.saved = self.learner.copy(), self.model.copy()

    def crash(self) -> None:
        self.learner, self.model = self.saved[0].copy(), self.saved[1].copy()
        # Decisions made after the checkpoint are made anew. What was told of them since was lost with them.
        self.lost += [ticket for ticket in self.tickets if ticket.time >= self.learner.time]
        self.tickets = [ticket for ticket in self.tickets if ticket.time < self.learner.time]

    def check(self) -> None:
        assert self.learner.pending == self.model.pending
        assert self.learner.time == len(self.model.decisions)


class Interleavings(RuleBasedStateMachine):
    @initialize(policy=st.sampled_from(MODELLED), seed=st.integers(0, 2**32))
    def start(self, policy: hlmc.HLMC, seed: int) -> None:
        self.run = Interleaving(policy, seed)

    @rule(count=st.integers(1, 30))
    def ask(self, count: int) -> None:
        for _ in range(count):
            self.run.ask()

    @rule(back=st.integers(1, 60), reward=st.sampled_from((0.0, 1.0, 0.3)))
    def tell(self, back: int, reward: float) -> None:
        self.run.tell(len(self.run.tickets) - back, reward)

    @rule(back=st.integers(1, 40))
    def drop(self, back: int) -> None:
        self.run.drop(len(self.run.tickets) - back)

    @rule(which=st.integers(0, 200), bit=st.integers(0, 2000))
    def forge(self, which: int, bit: int) -> None:
        self.run.forge(which, bit)

    @rule()
    def reload(self) -> None:
        self.run.reload()

    @rule()
    def checkpoint(self) -> None:
        self.run.checkpoint()

    @rule()
    def crash(self) -> None:
        self.run.crash()

    def teardown(self) -> None:
        if hasattr(self, "run"):
            self.run.check()


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)


def interleave(dice: random.Random, steps: int) -> Counter[str]:
    """Take random steps of all kinds; what tell answered."""
    run = Interleaving(dice.choice(MODELLED), dice.getrandbits(32))
    for _ in range(steps):
        what = dice.random()
        back = len(run.tickets) - 1 - min(int(dice.expovariate(1 / 8)), len(run.tickets) - 1)
        if what < 0.48:
            run.ask()
        elif what < 0.9:
            run.tell(back, dice.choice((0.0, 1.0, dice.random())))
        elif what < 0.95:
            run.drop(back)
        elif what < 0.97:
            run.forge(back, dice.randrange(2000))
        else:
            dice.choice((run.reload, run.checkpoint, run.checkpoint, run.crash))()
    run.check()
    return run.codes


def test_random_interleavings() -> None:
    """The same at random and in greater number; `scripts/interleavings.py` has more still."""
    dice = random.Random(1)
    codes = sum((interleave(dice, 200) for _ in range(15)), Counter[str]())
    assert set(codes) == {"applied", "late", "duplicate", "expired"}


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", SMALL, ids=repr)
def test_every_row_between_is_sound(policy: hlmc.Policy) -> None:
    """Late, lost and dropped rewards, and steps of both kinds in turn: the gate accepts every state."""
    dice = random.Random(2)
    for pending, delay in ((33, 60), (70, 12)):
        learner = replace(policy, pending=pending, missing=0.25).start(3)
        waiting: list[tuple[int, hlmc.Ticket]] = []
        for t in range(min(policy.limit or 120, 120)):
            if dice.random() < 0.1:
                learner.select()
                learner.update(dice.random())
            else:
                waiting.append((t + dice.randrange(delay), learner.ask()))
            for when, ticket in waiting:
                if when == t:
                    learner.drop(ticket) if dice.random() < 0.2 else learner.tell(ticket, dice.random())
            if t % 8 == 0:
                learner = hlmc.Learner(learner.policy, learner.state)
            assert 0 <= learner.pending <= min(pending, learner.time)


# Fleets.


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", [MODELLED[1], hlmc.Champion(arms=29, memory=12, horizon=300), SMALL[-3]], ids=repr)
def test_a_fleet_asks_as_its_learners_do(policy: hlmc.Policy) -> None:
    """Learners may be listed several times, and tickets told in any order; tickets are the same bytes."""
    policy = replace(policy, pending=40)
    fleet = policy.fleet(5, seed=4, identity=1)
    learners = list(policy.fleet(5, seed=4, identity=1))
    dice = random.Random(6)
    waiting: list[np.ndarray] = []
    for turn in range(12):
        ids = None if turn == 3 else [dice.randrange(5) for _ in range(dice.randrange(9))]
        tickets = fleet.ask(ids)
        own = [learners[i].ask() for i in (range(5) if ids is None else ids)]
        assert [each.arm for each in own] == tickets["arm"].tolist()
        assert [each.probability for each in own] == tickets["probability"].tolist()
        assert [each.time for each in own] == tickets["time"].tolist()
        waiting.append(tickets)
        told = np.concatenate(waiting)
        dice.shuffle(order := list(range(len(told))))
        told, waiting = told[order[: len(told) // 2]], [told[order[len(told) // 2 :]]]
        rewards = [dice.random() for _ in told]
        codes = fleet.tell(told, rewards)
        for each, reward, code in zip(told, rewards, codes, strict=True):
            ticket = hlmc.Ticket.from_bytes(each.tobytes())
            assert learners[ticket.learner].tell(ticket, reward) == CODES[code]
    left = [hlmc.Ticket.from_bytes(each.tobytes()) for each in waiting[0]]
    assert [CODES[code] for code in fleet.drop(left)] == [learners[each.learner].drop(each) for each in left]
    assert fleet.pending.tolist() == [learner.pending for learner in learners]
    assert fleet.state.tobytes() == b"".join(learner.state.tobytes() for learner in learners)
    ticket = fleet[3].ask()
    assert ticket.learner == 3
    assert fleet.tell([ticket], [1.0]).tolist() == [0]


def test_what_a_fleet_refuses() -> None:
    """A batch that is refused has changed nothing."""
    policy = hlmc.HLMC(arms=11, groups=(3, 4), horizon=20, epochs=13, pending=20)
    fleet, other = policy.fleet(3, seed=1), policy.fleet(3, seed=2)
    tickets = fleet.ask([0, 1, 1])
    before = fleet.state.tobytes()
    bad = tickets.copy()
    bad["arm"][1] += 1
    stranger = tickets.copy()
    stranger["learner"][2] = 3
    cases: list[tuple[Any, list[float], type[Exception]]] = [
        (bad, [1.0] * 3, BadTicket),
        (stranger, [1.0] * 3, BadTicket),
        (other.ask([0]), [1.0], BadTicket),
        ([hlmc.EXP3(arms=3, horizon=9, pending=9).start().ask()], [1.0], BadTicket),
        (tickets, [1.0, math.nan, 0.0], BadReward),
        (tickets, [1.0], BadReward),
        (tickets["arm"], [1.0] * 3, BadType),
    ]
    for given, rewards, error in cases:
        with pytest.raises(error):
            fleet.tell(given, rewards)
    with pytest.raises(BadTicket, match=r"tickets\[1\]"):
        fleet.drop(bad)
    for ids, problem in (([0, 3], "ids must be from 0 to 2, not 3"), ([1, -1], "ids must be from 0 to 2, not -1")):
        with pytest.raises((BadArgument, OutOfTurn), match=problem):
            fleet.ask(ids)
    assert fleet.state.tobytes() == before
    with pytest.raises(BadArgument, match="pending=W"):
        hlmc.EXP3(arms=3, horizon=9).fleet(2).ask()
    fleet.select([0])
    with pytest.raises(OutOfTurn, match="learner 0: ask needs an update first"):
        fleet.ask([1, 0])
    assert fleet.tell(tickets, [1.0] * 3).tolist() == [0, 0, 0]
    assert fleet.ask([]).size == fleet.tell([], []).size == 0


def test_no_reward_is_lost_or_counted_twice_after_a_kill(tmp_path: Path) -> None:
    """A process asks, tells and checkpoints until it is killed. Then everything that it had logged is told again."""
    policy = hlmc.HLMC(arms=23, groups=(3, 3, 3), horizon=10**6, epochs=(5000, 10, 20), pending=300)
    path, log = tmp_path / "fleet", tmp_path / "log"
    reference = policy.fleet(4, seed=3)
    reference.tell(reference.ask(), [0.5] * 4)  # compile here and not in the child
    reference = policy.fleet(4, seed=3, identity=1)
    policy.fleet(4, seed=3, file=path)

    def turns(fleet: hlmc.Fleet) -> Iterator[np.ndarray]:
        """Ask 40 times, tell 20 of these; the tickets, before any of them is told."""
        while True:
            tickets = fleet.ask(np.arange(40) % 4)
            yield tickets
            fleet.tell(tickets[:20], tickets["arm"][:20] % 2)

    def work() -> None:
        fleet = hlmc.load(path, identity=1)
        assert isinstance(fleet, hlmc.Fleet)
        with log.open("wb") as file:
            for turn, tickets in enumerate(turns(fleet)):
                file.write(tickets.tobytes())
                file.flush()
                if turn % 7 == 6:
                    fleet.checkpoint()

    killed_after(0.01, work, lambda: log.exists() and log.stat().st_size > 40 * 88 * 60)
    fleet = hlmc.load(path)
    assert isinstance(fleet, hlmc.Fleet)
    logged = np.frombuffer(log.read_bytes(), ticket_dtype(3))
    logged = logged[: len(logged) // 40 * 40].reshape(-1, 40)
    # The same turns without a crash, up to the checkpoint that the file has.
    done = 0
    for tickets in turns(reference):
        assert (tickets == logged[done]).all()
        if (fleet.time == reference.time).all():
            break
        done += 1
    assert done >= 6
    assert fleet.state.tobytes() == reference.state.tobytes()
    # What was told before the checkpoint is known, and what was not counts once.
    told = logged[: done + 1, :20].reshape(-1)
    codes = fleet.tell(told, told["arm"] % 2)
    assert (codes[:-20] >= CODES.index("duplicate")).all()
    assert (codes[-20:] < CODES.index("duplicate")).all()
    reference.tell(told[-20:], told["arm"][-20:] % 2)
    assert fleet.state.tobytes() == reference.state.tobytes()
    # Decisions after the checkpoint have been lost with the state that made them.
    lost = logged[done + 1 :].reshape(-1)
    assert (lost["time"] >= fleet.time[lost["learner"]]).all()
    for _ in range(2):
        for each in lost:
            with pytest.raises(BadTicket):
                fleet.tell(each[None], [1.0])
        fleet.ask(np.arange(400) % 4)


# Windows.


@pytest.mark.interpreted
def test_a_challenge_teaches_the_groups_nothing_not_even_late() -> None:
    """Its tickets say so; those of other epochs teach them when they come late."""
    policy = hlmc.Champion(arms=30, memory=12, horizon=4000, pending=4000)
    levels = int(policy.program[LEVELS])
    assert levels == 2
    first = int(policy.program[FIELDS + AT])
    groups = slice(first, int(policy.program[2 * FIELDS + AT]))
    learner, seen = policy.start(seed=5), {True: 0, False: 0}
    for _ in range(12):
        ticket, base = learner.ask(), int(learner.state[UNTIL])
        challenge = learner.state[CHALLENGE] > 0.0
        chances = np.frombuffer(bytes(ticket), ticket_dtype(levels))["chances"][0]
        assert (chances[0] == 0.0) == challenge
        assert chances[1] > 0.0
        while int(learner.state[TIME]) <= base:
            learner.tell(learner.ask(), 0.5)
        before = learner.state[groups].copy()
        assert learner.tell(ticket, 0.0) == ("expired" if challenge else "late")
        assert np.array_equal(learner.state[groups], before) == challenge
        seen[bool(challenge)] += 1
    assert min(seen.values()) > 1


def test_the_window() -> None:
    learner = hlmc.EXP3(arms=4, horizon=100, pending=3).start(1)
    tickets = [learner.ask() for _ in range(5)]
    assert learner.pending == 3
    assert [learner.tell(ticket, 1.0) for ticket in tickets] == ["expired", "expired", "applied", "applied", "applied"]
    assert [learner.tell(ticket, 1.0) for ticket in tickets] == ["expired"] * 2 + ["duplicate"] * 3
    assert learner.pending == 0
    assert learner.drop(learner.ask()) == "applied"


@pytest.mark.parametrize("policy", [hlmc.TsallisINF(arms=4), hlmc.Champion(arms=9, memory=6, horizon=300)], ids=repr)
def test_a_window_of_one_decision_is_a_window(policy: hlmc.Policy) -> None:
    """What is told of the last decision, and what never is, count the same in a window of any size."""
    narrow, wide = (replace(policy, pending=pending).start(1, identity=1) for pending in (1, 70))
    for t in range(250):
        for learner in (narrow, wide):
            ticket = learner.ask()
            if t % 3:
                assert learner.tell(ticket, float(ticket.arm % 2)) == "applied"
        window = int(narrow.policy.program[WINDOW])
        rows = [np.delete(each.state, range(window, window + each.policy.window_words)) for each in (narrow, wide)]
        assert rows[0].tobytes() == rows[1].tobytes(), t


def test_in_a_group_of_one_arm_the_child_is_the_first_and_certain() -> None:
    tickets = hlmc.HLMC(arms=3, groups=(2, 2), horizon=40, pending=8).fleet(1, seed=1).ask([0] * 40)
    alone = tickets["arm"] == 2
    assert 0 < alone.sum() < 40
    assert np.array_equal(tickets["children"][:, 1], np.where(alone, 0, tickets["arm"]))
    assert (tickets["chances"][alone, 1] == 1.0).all()


@pytest.mark.parametrize("pending", [1, 64, 65, 1000])
def test_words_count_the_window(pending: int) -> None:
    for policy in (hlmc.HLMC(arms=100, memory=20, horizon=1000), hlmc.Champion(arms=30), hlmc.UCBM(arms=17, memory=4)):
        waits = replace(policy, pending=pending)
        assert waits.words.control == policy.words.control + 15 + math.ceil(pending / 64)
        assert waits.words.statistics == policy.words.statistics
        assert waits.start().state.nbytes == 8 * waits.words.total


@pytest.mark.parametrize("damage", ["due", "unanswered", "bits", "late bits"])
def test_a_damaged_window_is_refused(damage: str) -> None:
    policy = hlmc.HLMC(arms=11, groups=(3, 4), horizon=200, epochs=13, pending=70)
    learner = policy.start(1)
    for _ in range(20):
        learner.ask()
    row, window = learner.state.copy(), int(policy.program[WINDOW])
    if damage == "due":
        row[window + DUE] = 1.0
    elif damage == "unanswered":
        row[window + UNANSWERED] = row[TIME] - 13 + 1
    elif damage == "bits":
        row.view(np.uint64)[window + BITS] |= np.uint64(1 << 20)
    else:
        row.view(np.uint64)[window + BITS + 1] = np.uint64(1 << 6)
    with pytest.raises(BadArgument, match="it is none"):
        hlmc.Learner(policy, row)
    assert row[UNTIL] == 26.0


def test_rows_are_described() -> None:
    policy = hlmc.EXP3(arms=4, horizon=100, pending=70)
    learner = policy.start(1)
    learner.ask()
    text = describe(learner.state, policy.program, policy.structure)
    assert "UNANSWERED                      1" in text
    assert "BITS                          0x1" in text


# Tickets.


def test_tickets_are_values() -> None:
    learner = hlmc.HLMC(arms=100, memory=20, horizon=1000, pending=9).start(2)
    first, second = learner.ask(), learner.ask()
    assert len(bytes(first)) == 56 + 16 * 2
    assert first != second
    assert {first: 1}[hlmc.Ticket.from_bytes(bytes(first))] == 1
    assert str(first).isascii()
    assert not set(str(first)) & set("+/=%?&#")
    assert hlmc.Ticket.from_str(str(first)) == pickle.loads(pickle.dumps(first)) == copy.deepcopy(first) == first
    assert repr(second) == f"<ticket for arm {second.arm} at time 1>"


@pytest.mark.parametrize("text", ["", "AAAA", "é", "A" * 96 + "+/", "A" * 97, "A" * 2000])
def test_text_that_is_no_ticket(text: str) -> None:
    with pytest.raises(BadTicket):
        hlmc.Ticket.from_str(text)


def test_every_flipped_bit_is_noticed() -> None:
    learner = hlmc.HLMC(arms=100, memory=20, horizon=1000, pending=9).start(2)
    ticket = learner.ask()
    before = learner.state.tobytes()
    for bit in range(8 * len(ticket)):
        forged = bytearray(ticket)
        forged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BadTicket):
            learner.tell(hlmc.Ticket.from_bytes(forged), 1.0)
    assert learner.state.tobytes() == before
    assert learner.tell(ticket, 1.0) == "applied"


def test_tickets_of_others() -> None:
    policy = hlmc.HLMC(arms=100, memory=20, horizon=1000, pending=9)
    learner = policy.start(2)
    others = (
        policy.start(3),
        replace(policy, pending=10).start(2),
        hlmc.EXP3(arms=9, horizon=1000, pending=9).start(2),
    )
    for other in others:
        with pytest.raises(BadTicket, match="of another learner"):
            learner.tell(other.ask(), 1.0)


@pytest.mark.parametrize("seed", [0, 42])
def test_siphash_is_what_python_hashes_bytes_with(seed: int) -> None:
    """Under a key that PYTHONHASHSEED decides: zeros, or bytes 16 to 23 of a congruential generator's numbers."""
    key, x = bytearray(16), seed
    for i in range(16 if seed else 0):
        x = (x * 214013 + 2531011) % 2**32
        key[i] = x >> 16 & 0xFF
    k0, k1 = np.frombuffer(key, "<u8")
    words = np.array([1, 2**63 + 7, 0, 12345678901234567890], np.uint64)
    code = f"import sys; print(sys.hash_info.algorithm, *(hash({words.tobytes()!r}[: 8 * n]) for n in range(1, 5)))"
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    algorithm, *hashes = answer.stdout.split()
    assert algorithm == "siphash13"
    for n, wanted in enumerate(hashes, 1):
        with np.errstate(over="ignore"):
            found = siphash(k0, k1, words[0], words.view(np.float64), 1, n)
        assert struct.pack("<Q", int(found)) == struct.pack("<q", int(wanted))


# What is refused.


def test_refusals() -> None:
    plain = hlmc.EXP3(arms=4, horizon=3).start(1)
    with pytest.raises(BadArgument, match="ask needs a policy with pending=W"):
        plain.ask()
    learner = hlmc.EXP3(arms=4, horizon=3, pending=8).start(1)
    ticket = learner.ask()
    before = learner.state.tobytes()
    for reward in (math.nan, -0.1, 1.5, math.inf):
        with pytest.raises(BadReward):
            learner.tell(ticket, reward)
    with pytest.raises(BadType):
        learner.tell(ticket, "1")  # type: ignore[arg-type]
    with pytest.raises(BadType, match="ticket must be a Ticket"):
        learner.tell(bytes(ticket), 1.0)  # type: ignore[arg-type]
    longer = hlmc.HLMC(arms=9, levels=2, horizon=9, pending=8).start(1).ask()
    with pytest.raises(BadTicket):
        learner.tell(longer, 1.0)
    assert learner.state.tobytes() == before
    learner.select()
    with pytest.raises(OutOfTurn, match="ask needs an update first"):
        learner.ask()
    assert learner.tell(ticket, 1) == "applied"
    learner.update(0.0)
    learner.ask()
    with pytest.raises(OutOfTurn, match="horizon"):
        learner.ask()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pending": -1}, "pending must be a whole number of at least 0, not -1"),
        ({"pending": 2**40}, "pending must be at most"),
        ({"delay": 0.5}, "delay must be a whole number"),
        ({"missing": "zero"}, 'missing must be "skip" or a number in'),
        ({"missing": 1.5}, "missing must be a number in"),
        ({"missing": np.array([0.5, 0.5])}, "missing must be a number in"),
    ],
)
def test_arguments(arguments: dict[str, object], message: str) -> None:
    for policy in (hlmc.EXP3(arms=3, horizon=9), hlmc.Champion(arms=9), hlmc.UCBM(arms=17, memory=4)):
        with pytest.raises((BadArgument, BadType), match=message):
            replace(policy, **arguments)


def test_missing_counts_when_it_is_dropped() -> None:
    policy = hlmc.TsallisINF(arms=5, pending=9)
    skipped, counted = policy.start(1), replace(policy, missing=0.25).start(1)
    told = replace(policy, missing=0.25).start(1)
    for learner in (skipped, counted):
        assert learner.drop(learner.ask()) == "applied"
    told.tell(told.ask(), 0.25)
    assert counted == told
    fresh = policy.start(1)
    fresh.ask()
    first, stop = int(policy.program[WINDOW]), policy.words.total
    assert (
        skipped.state[first + policy.window_words : stop].tolist()
        == fresh.state[first + policy.window_words : stop].tolist()
    )


# Files.


def test_tickets_outlive_the_process(tmp_path: Path) -> None:
    learner = hlmc.Champion(arms=30, memory=12, horizon=500, pending=100).start(4)
    texts = [str(learner.ask()) for _ in range(60)]
    learner.save(tmp_path / "learner")
    again = hlmc.load(tmp_path / "learner")
    assert isinstance(again, hlmc.Learner)
    assert again == learner
    for text in texts[::2]:
        ticket = hlmc.Ticket.from_str(text)
        assert again.tell(ticket, 0.5) == learner.tell(ticket, 0.5)
    assert again == learner
    assert again.pending == 30
