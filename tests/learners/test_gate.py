"""The gate in front of the kernels: a row from outside is a state of its policy, or it is refused; whoever gives it."""

import pickle
import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hlmc
from fleets import EXAMPLES, played
from hlmc.errors import BadArgument, BadType, OutOfTurn
from hlmc.learners import gate
from hlmc.learners.fleet import Fleet
from hlmc.learners.learner import Learner

POLICY = hlmc.HLMC(arms=20, memory=10, horizon=1000)
WORDS = POLICY.words.total


def state() -> np.ndarray:
    return played(POLICY, 30, waiting=True).state.copy()


def garbage() -> np.ndarray:
    """Words that lead nowhere: before they were checked, a kernel followed them out of its memory."""
    return np.full(WORDS, 1e15)


REFUSED: list[tuple[str, Callable[[], object], type[Exception], str]] = [
    (
        "short",
        lambda: Learner(POLICY, np.zeros(3)),
        BadArgument,
        rf"row must be .* {WORDS} .*, not of shape \[3\]",
    ),
    ("zeros", lambda: Learner(POLICY, np.zeros(WORDS)), BadArgument, "row must be a state of a learner of HLMC"),
    ("garbage", lambda: Learner(POLICY, garbage()), BadArgument, "row must be a state of a learner of HLMC"),
    ("nan", lambda: Learner(POLICY, np.full(WORDS, np.nan)), BadArgument, "row must be a state"),
    ("matrix", lambda: Learner(POLICY, state()[None]), BadArgument, rf"not of shape \[1, {WORDS}\]"),
    ("single", lambda: Learner(POLICY, np.zeros(WORDS, np.float32)), BadType, "float64 words, not of float32"),
    ("whole", lambda: Learner(POLICY, state().view(np.int64)), BadType, "float64 words, not of int64"),
    ("swapped", lambda: Learner(POLICY, state().astype(">f8")), BadType, "float64 words, not of >f8"),
    ("list", lambda: Learner(POLICY, state().tolist()), BadType, "float64 words, not list"),
    ("nothing", lambda: Learner(POLICY, None), BadType, "float64 words, not NoneType"),
    ("no policy", lambda: Learner("HLMC", state()), BadType, "policy must be a policy of hlmc, not str"),
    (
        "other policy",
        lambda: Learner(hlmc.EXP3(5, 9), state()),
        BadArgument,
        "row must be an array of .* words, not of shape",
    ),
    ("fleet of one", lambda: Fleet(POLICY, state()), BadArgument, rf"rows must be an array of \[learners, {WORDS}\]"),
    ("empty fleet", lambda: Fleet(POLICY, np.zeros((0, WORDS))), BadArgument, "rows must be .*, not of shape"),
    ("wide fleet", lambda: Fleet(POLICY, np.zeros((2, WORDS + 1))), BadArgument, "rows must be .*, not of shape"),
    ("fleet", lambda: Fleet(POLICY, np.stack([state(), garbage()])), BadArgument, r"rows\[1\] must be a state of"),
    ("fleet of float32", lambda: Fleet(POLICY, np.zeros((2, WORDS), "f4")), BadType, "not of float32"),
]


@pytest.mark.interpreted
@pytest.mark.parametrize(("make", "error", "text"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_is_no_state_is_refused(make: Callable[[], object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.interpreted
def test_rows_of_any_order_are_copied() -> None:
    """In columns, with gaps, read-only: the learners are the same, and share nothing with the array."""
    plain = POLICY.fleet(6, seed=1)
    plain.select()
    rows = plain.state.copy()
    frozen = rows.copy()
    frozen.flags.writeable = False
    wide = np.zeros((12, 2 * WORDS))
    wide[::2, ::2] = rows
    for given in (rows, np.asfortranarray(rows), wide[::2, ::2], frozen, rows[::-1][::-1]):
        fleet = Fleet(POLICY, given)
        assert fleet.select().tolist() == plain.select().tolist()
        learner = Learner(POLICY, given[4])
        if given.flags.writeable:
            before = given.copy()
            given[:] = 1e15
            assert learner.select() == plain[4].select()
            assert fleet == plain
            given[:] = before
        learner.update(0.5)
        fleet.update([0.5] * 6)
        assert fleet[4] == learner
        assert (given == rows).all()


class Forged:
    """Pickles as whatever it is told to."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __reduce__(self) -> Any:
        return self.parts


def test_forged_pickles_are_refused() -> None:
    with pytest.raises(BadArgument, match="row must be a state"):
        pickle.loads(pickle.dumps(Forged(Learner, (POLICY, garbage()))))
    with pytest.raises(BadArgument, match=r"rows\[0\] must be a state"):
        pickle.loads(pickle.dumps(Forged(Fleet, (POLICY, garbage()[None]))))
    for arms, error in ((0, BadArgument), (2**60, BadArgument), ("x", BadType)):
        data = pickle.dumps(Forged(object.__new__, (hlmc.EXP3,), {"arms": arms, "horizon": 10}))
        with pytest.raises(error, match="arms must be"):
            pickle.loads(data)


def test_a_policy_cannot_be_changed_under_its_learners() -> None:
    for each in (POLICY.start(), POLICY.fleet(2)):
        with pytest.raises(AttributeError):
            each.policy = hlmc.EXP3(arms=10**6, horizon=10)  # type: ignore[misc]
        with pytest.raises(AttributeError):
            del each.policy
        assert each.policy is POLICY


def test_learners_of_ones_own_making_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this library has made itself, or has checked before, does not pay for the check."""

    def never(*_: Any) -> Any:
        raise AssertionError

    learner, fleet = POLICY.start(), POLICY.fleet(3)
    monkeypatch.setattr(gate, "first_unsound", never)
    assert POLICY.start() == learner == learner.copy()
    assert POLICY.fleet(3) == fleet == fleet.copy()
    for each in (learner, fleet[1]):
        each.select()
        each.update(0.5)
    fleet.select()
    fleet.update([0.5] * 3)


CRAFTED = 400


@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_crafted_rows_are_refused_or_harmless(policy: hlmc.Policy) -> None:
    """Whatever passes the gate plays arms of the policy, and nothing but those."""
    dice = random.Random(17)
    values = [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 8.0, 20.0, 60.0, 2.0**31, 2.0**53, 2.0**63, 1e300, -1e300, 5e-324]
    values += [float("nan"), float("inf"), float("-inf")]
    sources = [played(policy, steps, waiting=waiting).state for steps, waiting in ((0, True), (7, False), (33, True))]
    refused = 0
    for _ in range(CRAFTED):
        row = dice.choice(sources).copy()
        for _ in range(dice.choice((1, 1, 2, 6))):
            at = dice.randrange(1, dice.choice((12, len(row))))
            raw = struct.unpack("<d", dice.randbytes(8))[0]
            row[at] = dice.choice((dice.choice(values), row[at] + dice.choice((-20.0, -1.0, 1.0, 20.0)), raw))
        try:
            learner = Learner(policy, row)
        except BadArgument:
            refused += 1
            continue
        try:
            for reward in (0.0, 1.0, 0.5, 1.0):
                assert 0 <= learner.select() < policy.arms
                learner.update(reward)
        except OutOfTurn:
            pass
    assert refused > CRAFTED // 4
