"""Every routine at the ends of its parameters' ranges: what a row must be, whatever was paid.

``test_extremes.py`` has the short form. The long form is ``python tests/extremes.py STEPS [CHILDREN ...]``: it takes
every case through so many steps of every kind of reward, in the compiled loop, and prints which failed, and how many.
"""

import itertools
import math
import sys
from collections.abc import Callable, Iterator

import numpy as np

import hlmc
from hlmc import routines
from hlmc.engine import weights
from hlmc.engine.ftrl import loss_of, probability_of, settled_sums
from hlmc.engine.layout import AT, BEGAN, CONTROL, COUNT, FIELDS, LEVELS, PARAMETERS, PROBABILITY, SCALARS, TIME
from hlmc.learners import gate
from hlmc.learners.learner import fresh_rows
from hlmc.policies.tree import TreePolicy
from hlmc.routines.base import Routine
from hlmc.routines.contest import contest_rate
from hlmc.streams import keys
from hlmc.targets import address_of, linked, loop, notes_for

LAST = 1.0 - 2.0**-53  # the largest number below 1
GAMMAS = (1e-300, 1e-16, 0.5, LAST, 1.0)
ALPHAS = (5e-324, 1e-3, 0.5, LAST)
BETAS = (5e-324, 0.5, LAST)
ETAS = (5e-324, 1e-8, 1.0, 1e10)

ROUTINES: tuple[Routine, ...] = (
    routines.Uniform(),
    *(routines.EXP3(gamma=gamma) for gamma in GAMMAS),
    *(routines.CountedEXP3(gamma=gamma) for gamma in (1e-300, 1.0)),
    *(routines.EXP3S(gamma=gamma, alpha=alpha) for gamma, alpha in itertools.product(GAMMAS, ALPHAS)),
    *(routines.EXP3P(eta=e, gamma=g, beta=b) for e, g, b in itertools.product(ETAS, GAMMAS[::2], BETAS)),
    *(routines.EXP3Loss(eta=eta) for eta in ETAS),
    *(routines.EXP3IX(eta=eta) for eta in ETAS),
    *(routines.TsallisINF(estimator=name) for name in ("reduced-variance", "importance-weighted")),
    routines.TsallisINF(eta=1e-6),
    routines.TsallisINF(estimator="importance-weighted", eta=4.0),
    *(routines.UCB1(ties=ties) for ties in ("random", "first", "last")),
    routines.Contest(),
    routines.Thompson(),
    *(routines.EpsilonGreedy(epsilon=epsilon, decay=decay) for epsilon, decay in ((1e-300, None), (1.0, 1e10))),
)
"""Each routine at each kind of extreme value that it takes."""

MOST = 2**53

POLICIES: tuple[hlmc.Policy, ...] = (
    hlmc.HLMC(arms=6, groups=(3, 2), horizon=MOST, delta=5e-324),
    hlmc.HLMC(arms=6, groups=(3, 2), horizon=MOST, delta=LAST),
    hlmc.HLMC(arms=6, groups=(3, 2), horizon=MOST, switches=MOST),
    hlmc.HLMC(arms=6, groups=(3, 2), switches="unknown", first_stage=52),
    hlmc.HLMC(arms=6, groups=(3, 2), horizon=MOST, epochs=1),
    hlmc.HLMC(arms=6, groups=(3, 2), horizon=MOST, epochs=MOST),
    hlmc.HLMC(arms=MOST, levels=53, horizon=MOST),
    hlmc.HLMC(arms=MOST, levels=53, delta=5e-324),
    hlmc.Champion(arms=6),
    hlmc.Champion(arms=6, horizon=MOST, switches=MOST),
    hlmc.Champion(arms=6, horizon=MOST),
    hlmc.Champion(arms=MOST, memory=600, horizon=MOST),
    hlmc.EXP3P(arms=3, horizon=None, delta=5e-324),
    hlmc.EXP3P(arms=3, horizon=1, delta=LAST),
    hlmc.EXP3S(arms=3, horizon=MOST, switches=MOST),
    hlmc.EXP3Loss(arms=3, horizon=MOST),
    hlmc.UCBM(arms=MOST, memory=2, sublength=1, subphases=1),
    hlmc.UCBM(arms=3, memory=MOST, fill="wrap"),
    hlmc.EXP3M(arms=5, memory=3, gamma=1e-300, sublength=MOST, subphases=MOST),
    hlmc.EXP3M(arms=MOST, memory=3, gamma=1.0, fill="wrap"),
)
"""Policies whose own arguments are extreme."""


def nothing(t: int, arm: int) -> float:
    return 0.0


def everything(t: int, arm: int) -> float:
    return 1.0


def alternating(t: int, arm: int) -> float:
    return float((t + arm) & 1)


def first_then_last(t: int, arm: int) -> float:
    """Arm 0 pays for 2^12 steps, then all others do, and so on."""
    return 1.0 if (arm == 0) == ((t >> 12) & 1 == 0) else 0.0


def scattered(t: int, arm: int) -> float:
    """Anything in [0, 1], the least positive number now and then."""
    x = ((t * 7919 + (arm % 1009) * 104729) * 1299721 % 1000003) / 1000002
    return x if x > 0.01 else 5e-324


Reward = Callable[[int, int], float]
REWARDS: tuple[Reward, ...] = (nothing, everything, alternating, first_then_last, scattered)


def at_places(routine: Routine, n: int) -> Iterator[TreePolicy]:
    """A routine over n children: on its own, above EXP3 with choices that stand for 1 step or 3, and below it."""
    yield hlmc.HLMC(n, levels=1, horizon=MOST, routines=routine)
    yield hlmc.HLMC(2 * n, groups=(n, 2), horizon=MOST, epochs=1, routines=(routine, "exp3"))
    yield hlmc.HLMC(2 * n, groups=(n, 2), horizon=MOST, epochs=3, routines=(routine, "exp3"))
    yield hlmc.HLMC(2 * n, groups=(2, n), horizon=MOST, epochs=500, routines=("exp3", routine))


def chances(policy: TreePolicy, row: np.ndarray, d: int) -> np.ndarray | None:
    """The probability of every slot of level d (from 0) as the row stands; None where nothing is drawn."""
    program = policy.program
    routine = policy.routines_used[d]
    level = FIELDS * (1 + d)
    at, control = int(program[level + AT]), int(program[level + CONTROL])
    last = d == int(program[LEVELS]) - 1
    n = int(row[COUNT]) if last else policy.groups_used[d]
    a, b = row[control + SCALARS : control + SCALARS + 2]
    own = program[level + PARAMETERS :]
    if isinstance(routine, (routines.UCB1, routines.Uniform, routines.Thompson, routines.EpsilonGreedy)):
        return None
    if isinstance(routine, routines.EXP3P):
        eta, gamma = own[0], own[1]
        return (1.0 - gamma) * np.exp(eta * (row[at : at + n] - a)) / b + gamma / n
    if isinstance(routine, (routines.TsallisINF, routines.Contest)):
        tau = int(row[TIME]) - int(row[BEGAN])
        eta = b if isinstance(routine, routines.TsallisINF) else contest_rate(program, level, tau)
        x, squares, _, _ = settled_sums(row, at, n, 2.0 / eta, a)
        assert abs(squares - 1.0) <= 0.05
        return np.array([probability_of(loss_of(row, at, slot), x, eta) for slot in range(n)]) / squares
    shares = np.array([weights.weights_share(row, at, n, a, slot) for slot in range(n)])
    if isinstance(routine, routines.EXP3Loss):
        return shares
    mixed = b if isinstance(routine, routines.CountedEXP3) else own[0]
    if isinstance(routine, routines.EXP3S):
        mixed = own[0] + (1.0 - own[0]) * (n * b / (a + n * b))
    return (1.0 - mixed) * shares + mixed / n


def check(policy: hlmc.Policy, row: np.ndarray) -> None:
    """Refuse a row with anything but numbers, or with probabilities of slots that are none or do not sum to 1.

    A slot of the loss forms may have a probability below the least float64: its weight is kept as a logarithm, which is
    finite, and so it comes back when the others lose. All other slots have a positive probability.
    """
    assert np.isfinite(row[1:]).all()
    assert 0.0 < row[PROBABILITY] <= 1.0
    assert gate.first_unsound(policy, row[None, :].copy()) == 1
    if not isinstance(policy, hlmc.HLMC) or policy.horizon is None:
        return
    for d, routine in enumerate(policy.routines_used):
        p = chances(policy, row, d)
        # The last level of a contest is drawn by the learning rate of the step that is due, which starts it afresh.
        if p is None or (isinstance(routine, routines.Contest) and d < len(policy.routines_used) - 1):
            continue
        assert (p > 0.0).all() or (isinstance(routine, routines.EXP3Loss) and (p >= 0.0).all())
        assert (p <= 1.0 + 1e-12).all()
        assert abs(math.fsum(p) - 1.0) <= 1e-9


def cases(sizes: tuple[int, ...]) -> Iterator[hlmc.Policy]:
    for n in sizes:
        for routine in ROUTINES:
            yield from at_places(routine, n)
    yield from POLICIES


def main(steps: int, sizes: tuple[int, ...]) -> None:
    """Take every case through so many steps of every kind of reward, and look at its row ten times on the way."""
    done = failed = 0
    adversaries: dict[tuple[int, str], hlmc.adversaries.Function] = {}
    for policy in cases(sizes):
        run = loop(policy)
        horizon = min(steps, policy.limit or steps)
        for reward in REWARDS:
            adversary = adversaries.setdefault(
                (policy.arms, reward.__name__), hlmc.adversaries.Function(policy.arms, reward)
            )
            row = fresh_rows(policy, keys(1, 0, 1))[0]
            program = linked(policy).address
            notes = notes_for(policy)
            learner, table, spec = (address_of(x) for x in (row, notes, adversary.spec))
            try:
                for part in range(1, 11):
                    stops, sums = np.array([float(max(1, horizon * part // 10))]), np.zeros(2)
                    who = (program, program, learner, learner, table, adversary.address, spec)
                    assert run(*who, address_of(stops), address_of(sums), 1) == 0
                    check(policy, row)
                done += 1
            except AssertionError as error:
                failed += 1
                sys.stdout.write(f"FAILED {policy} {reward.__name__}: {error}\n")
    sys.stdout.write(f"{done} runs of {steps} steps kept every promise, {failed} did not\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), tuple(int(n) for n in sys.argv[2:]) or (2, 7))
