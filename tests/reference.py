"""Plain, slow readings of every algorithm, written from the paper's pseudo-code and from nothing in the library.

A reference is *driven*: it is told which arm was played and what it paid, and says with what probability its
algorithm would have played that arm. So the two need no common random numbers, and every step of any sequence can be
compared. Weights are kept as logarithms, because w = exp(sum of estimates) leaves the range of a float soon.

How the paper's slips are read: EXP3.S shares (e alpha / n) W with every child, as in Algorithm 4 (the prose has
alpha W); a gamma above 1 means 1; in a group that has fewer than N children the probabilities use its own number of
children and the learning rate keeps N; a child that is alone makes no choice; an epoch that the horizon cuts short is
averaged over the steps it really had.
"""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

# --- Routines -----------------------------------------------------------------------------------------------


class Routine(Protocol):
    """A bandit algorithm over n children."""

    def probabilities(self) -> list[float]: ...

    def update(self, slot: int, reward: float) -> None: ...


Maker = Callable[[int], Routine]
"""Makes a fresh routine for a group of n children."""


def log_sum(logs: Sequence[float]) -> float:
    """log(sum(exp(logs)))."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(x - top) for x in logs))


def mixed(logs: Sequence[float], gamma: float) -> list[float]:
    """(1 - gamma) w_i / W + gamma / n."""
    whole, n = log_sum(logs), len(logs)
    return [(1.0 - gamma) * math.exp(x - whole) + gamma / n for x in logs]


class Uniform:
    def __init__(self, n: int) -> None:
        self.n = n

    def probabilities(self) -> list[float]:
        return [1.0 / self.n] * self.n

    def update(self, slot: int, reward: float) -> None:
        pass


class EXP3:
    """Algorithm 2. ``nominal`` is the N of the learning rate gamma / N."""

    def __init__(self, n: int, gamma: float, nominal: int | None = None) -> None:
        self.gamma, self.rate = gamma, gamma / (nominal or n)
        self.logs = [0.0] * n

    def probabilities(self) -> list[float]:
        return mixed(self.logs, self.gamma)

    def update(self, slot: int, reward: float) -> None:
        self.logs[slot] += self.rate * (reward / self.probabilities()[slot])


class Exact:
    """A sum of estimates that is exact: an integer in units of 2^-1074, the least positive float."""

    def __init__(self) -> None:
        self.units = 0

    def add(self, x: float) -> None:
        above, below = x.as_integer_ratio()
        self.units += above * (2**1074 // below)

    def over(self, other: "Exact") -> float:
        """The difference of two sums, rounded once."""
        return (self.units - other.units) / 2**1074


class ExactEXP3:
    """Algorithm 2, with exact sums, for n arms of which only the first few are ever paid."""

    def __init__(self, n: int, gamma: float, paid: int = 2) -> None:
        self.n, self.gamma = n, gamma
        # The last sum stands for all arms that are not paid.
        self.sums = [Exact() for _ in range(paid + 1)]

    def probability(self, slot: int) -> float:
        top = max(self.sums, key=lambda s: s.units)
        weights = [math.exp(s.over(top)) for s in self.sums]
        total = math.fsum(weights[:-1]) + (self.n - len(weights) + 1) * weights[-1]
        mine = weights[min(slot, len(weights) - 1)]
        return (1.0 - self.gamma) * mine / total + self.gamma / self.n

    def play(self, slot: int, reward: float) -> None:
        if reward > 0.0:
            self.sums[slot].add(self.gamma / self.n * (reward / self.probability(slot)))


class ExactLossEXP3:
    """EXP3 on losses with exact sums: p_i ~ exp(-eta L_i), L_i += (1 - r) / (p_i + implicit)."""

    def __init__(self, n: int, eta: float, implicit: float = 0.0) -> None:
        self.eta, self.implicit = eta, implicit
        self.sums = [Exact() for _ in range(n)]

    def probability(self, slot: int) -> float:
        top = max(self.sums, key=lambda s: s.units)
        weights = [math.exp(s.over(top)) for s in self.sums]
        return weights[slot] / math.fsum(weights)

    def play(self, slot: int, reward: float) -> None:
        self.sums[slot].add(-self.eta * (1.0 - reward) / (self.probability(slot) + self.implicit))


class EXP3P:
    """Algorithm 3."""

    def __init__(self, n: int, eta: float, gamma: float, beta: float) -> None:
        self.eta, self.gamma, self.beta = eta, gamma, beta
        self.logs = [0.0] * n

    def probabilities(self) -> list[float]:
        return mixed(self.logs, self.gamma)

    def update(self, slot: int, reward: float) -> None:
        for i, p in enumerate(self.probabilities()):
            estimate = ((reward if i == slot else 0.0) + self.beta) / p
            self.logs[i] += self.eta * estimate


class EXP3S:
    """Algorithm 4."""

    def __init__(self, n: int, gamma: float, alpha: float, nominal: int | None = None) -> None:
        self.gamma, self.alpha, self.rate = gamma, alpha, gamma / (nominal or n)
        self.logs = [0.0] * n

    def probabilities(self) -> list[float]:
        return mixed(self.logs, self.gamma)

    def update(self, slot: int, reward: float) -> None:
        p, n = self.probabilities(), len(self.logs)
        share = math.log(math.e * self.alpha / n) + log_sum(self.logs)
        for i in range(n):
            estimate = reward / p[i] if i == slot else 0.0
            self.logs[i] = log_sum((self.logs[i] + self.rate * estimate, share))


class LossEXP3:
    """EXP3 on losses, without uniform play; with ``implicit`` = eta / 2, EXP3-IX."""

    def __init__(self, n: int, eta: float, implicit: float = 0.0) -> None:
        self.eta, self.implicit = eta, implicit
        self.losses = [0.0] * n

    def probabilities(self) -> list[float]:
        return mixed([-self.eta * loss for loss in self.losses], 0.0)

    def update(self, slot: int, reward: float) -> None:
        self.losses[slot] += (1.0 - reward) / (self.probabilities()[slot] + self.implicit)


class UCB1:
    """Each child once, in order; then the largest mean + sqrt(2 ln t / n_i), t counted from 1; ties by the rule."""

    def __init__(self, n: int, ties: str = "random") -> None:
        self.ties = ties
        self.sums, self.plays = [0.0] * n, [0] * n

    def best(self) -> list[int]:
        t = sum(self.plays) + 1
        if t <= len(self.plays):
            return [t - 1]
        index = [s / m + math.sqrt(2.0 * math.log(t) / m) for s, m in zip(self.sums, self.plays, strict=True)]
        return chosen(index, self.ties)

    def probabilities(self) -> list[float]:
        best = self.best()
        return [1.0 / len(best) if i in best else 0.0 for i in range(len(self.plays))]

    def update(self, slot: int, reward: float) -> None:
        self.sums[slot] += reward
        self.plays[slot] += 1


class EpsilonGreedy:
    """The first of the highest means, of which an unplayed child has the highest; at epsilon_t any child."""

    def __init__(self, n: int, epsilon: float, decay: float | None = None) -> None:
        self.epsilon, self.decay = epsilon, decay
        self.sums, self.plays = [0.0] * n, [0] * n

    def probabilities(self) -> list[float]:
        n, t = len(self.plays), sum(self.plays) + 1
        epsilon = self.epsilon if self.decay is None else min(1.0, self.decay * n / t)
        means = [s / m if m else math.inf for s, m in zip(self.sums, self.plays, strict=True)]
        best = means.index(max(means))
        return [epsilon / n + (1.0 - epsilon) * (i == best) for i in range(n)]

    def update(self, slot: int, reward: float) -> None:
        self.sums[slot] += reward
        self.plays[slot] += 1


def chosen(values: Sequence[float], ties: str) -> list[int]:
    """Where the largest values stand: all of them, the first or the last."""
    highest = max(values)
    all_best = [i for i, value in enumerate(values) if value == highest]
    return {"random": all_best, "first": all_best[:1], "last": all_best[-1:]}[ties]


# --- HLMC ---------------------------------------------------------------------------------------------------


class Run:
    """One group under its routine, from the moment it is entered until it is forgotten.

    ``sizes[0]`` arms make a child of this group, whose choice stands for ``lengths[0]`` steps; the rest of the two
    lists is for the levels below.
    """

    def __init__(
        self, first: int, end: int, sizes: Sequence[int], lengths: Sequence[int], makers: Sequence[Maker]
    ) -> None:
        self.sizes, self.lengths, self.makers = sizes, lengths, makers
        self.children = [(a, min(a + sizes[0], end)) for a in range(first, end, sizes[0])]
        self.routine = makers[0](len(self.children)) if len(self.children) > 1 else None
        if self.routine is not None:
            self.routine.depth = len(sizes)  # for a reading that is told of a learner's levels
        self.child: int | None = None
        self.below: Run | None = None
        self.earned: list[float] = []

    def holds(self, arm: int) -> int:
        return next(i for i, (first, end) in enumerate(self.children) if first <= arm < end)

    def probability(self, arm: int) -> float:
        """With what probability the arm is played now, given the choices that still stand."""
        child = self.holds(arm)
        if self.child is not None:
            assert child == self.child, "an arm outside the group that was chosen"
            return self.below.probability(arm) if self.below else 1.0
        here = self.routine.probabilities()[child] if self.routine else 1.0
        return here * (self._enter(child).probability(arm) if len(self.sizes) > 1 else 1.0)

    def _enter(self, child: int) -> "Run":
        return Run(*self.children[child], self.sizes[1:], self.lengths[1:], self.makers[1:])

    def play(self, arm: int, reward: float, last: bool) -> None:
        """Take a step. ``last``: the horizon ends with it."""
        if self.child is None:
            self.child, self.earned = self.holds(arm), []
            self.below = self._enter(self.child) if len(self.sizes) > 1 else None
        self.earned.append(reward)
        if self.below:
            self.below.play(arm, reward, last)
        if len(self.earned) == self.lengths[0] or last:
            if self.routine:
                self.routine.update(self.child, math.fsum(self.earned) / len(self.earned))
            self.child = None


class Hierarchy:
    """Algorithm 1 at any depth, over a known horizon of T steps."""

    def __init__(
        self, arms: int, sizes: Sequence[int], epochs: Sequence[int], horizon: int, makers: Sequence[Maker]
    ) -> None:
        lengths = [math.prod(epochs[d:]) for d in range(1, len(epochs) + 1)]
        self.run = Run(0, arms, sizes, lengths, makers)
        self.left = horizon

    def probability(self, arm: int) -> float:
        return self.run.probability(arm)

    def play(self, arm: int, reward: float) -> None:
        self.left -= 1
        self.run.play(arm, reward, last=self.left == 0)


class Doubling:
    """Stages of T, 2 T, 4 T, ... steps, each from scratch and for a horizon of its own length; T is ``length``."""

    def __init__(self, stage: Callable[[int], Hierarchy], length: int = 1) -> None:
        self.stage, self.length = stage, length
        self.inner = stage(self.length)

    def probability(self, arm: int) -> float:
        return self.inner.probability(arm)

    def play(self, arm: int, reward: float) -> None:
        self.inner.play(arm, reward)
        if self.inner.left == 0:
            self.length *= 2
            self.inner = self.stage(self.length)


# --- The parameters that the theorems choose ----------------------------------------------------------------


def up(x: float) -> int:
    """The ceiling, not misled by the last digits of a float."""
    return math.ceil(x * (1.0 - 1e-12))


def cut(gamma: float) -> float:
    return min(1.0, gamma)


def sizes_of(arms: int, groups: Sequence[int]) -> list[int]:
    """How many arms a child of each level holds: K / (N_1 ... N_d), rounded up."""
    return [up(arms / math.prod(groups[: d + 1])) for d in range(len(groups))]


def exp3(n: int, choices: int) -> Maker:
    """EXP3 for N = n children and S choices: gamma = sqrt(N ln N / 2S)."""
    return lambda m: EXP3(m, cut(math.sqrt(n * math.log(n) / (2 * choices))), n)


def exp3s(n: int, choices: int, switches: int = 1) -> Maker:
    """EXP3.S: gamma = sqrt(V N ln(N S) / S), alpha = 1/S."""
    gamma = cut(math.sqrt(switches * n * math.log(n * choices) / choices))
    return lambda m: EXP3S(m, gamma, 1 / choices, n)


def exp3p(n: int, choices: int, log: float) -> Maker:
    """EXP3.P: eta = 0.95 sqrt(ln N / N S), gamma = 1.05 sqrt(N ln N / S), beta = sqrt(log / N S)."""
    eta = 0.95 * math.sqrt(math.log(n) / (n * choices))
    gamma = cut(1.05 * math.sqrt(n * math.log(n) / choices))
    return lambda m: EXP3P(m, eta, gamma, math.sqrt(log / (n * choices)))


def flat(arms: int, horizon: int, maker: Maker) -> Hierarchy:
    """A routine over all arms: a hierarchy of one level."""
    return Hierarchy(arms, [1], [horizon], horizon, [maker])


def two_levels(arms: int) -> tuple[int, int]:
    """L groups of N = ceil(sqrt(K)) arms."""
    N = math.isqrt(arms - 1) + 1
    return -(-arms // N), N


def theorem_1(arms: int, horizon: int) -> Hierarchy:
    L, N = two_levels(arms)
    length = min(horizon, up(math.sqrt(horizon * N * math.log(N) / (L * math.log(L)))))
    S = -(-horizon // length)
    return Hierarchy(arms, [N, 1], [S, length], horizon, [exp3(L, S), exp3(N, length)])


def theorem_2(arms: int, horizon: int, delta: float) -> Hierarchy:
    L, N = two_levels(arms)
    ratio = N * math.log(2 * arms * horizon / delta) / (L * math.log(2 * L / delta))
    length = min(horizon, up(math.sqrt(horizon * ratio)))
    S = -(-horizon // length)
    above = exp3p(L, S, math.log(2 * L / delta))
    below = exp3p(N, length, math.log(2 * arms * S / delta))
    return Hierarchy(arms, [N, 1], [S, length], horizon, [above, below])


def theorem_3(arms: int, horizon: int, switches: int) -> Hierarchy:
    """With one switch these are the parameters of Theorem 4."""
    L, N = two_levels(arms)
    ratio = N * math.log(N) / (switches * L * math.log(horizon * L))
    length = min(horizon, up(math.sqrt(horizon * ratio)))
    S = -(-horizon // length)
    return Hierarchy(arms, [N, 1], [S, length], horizon, [exp3s(L, S, switches), exp3(N, length)])


def balanced(groups: Sequence[int], horizon: int) -> list[int]:
    """S_i = x_i (T / prod x_j)^(1/D) with x_i = N_i ln N_i, rounded up: Theorem 5's numbers at any depth."""
    x = [n * math.log(n) for n in groups]
    share = (horizon / math.prod(x)) ** (1 / len(x))
    return [min(horizon, up(each * share)) for each in x]


def theorem_5(arms: int, groups: Sequence[int], horizon: int) -> Hierarchy:
    S = balanced(groups, horizon)
    makers = [exp3(n, s) for n, s in zip(groups, S, strict=True)]
    return Hierarchy(arms, sizes_of(arms, groups), S, horizon, makers)


# --- UCB-M and EXP3-M ---------------------------------------------------------------------------------------


class Rounds:
    """Phase i = 0, 1, ... has h0 sub-phases of b0 2^i steps.

    A sub-phase holds the arm carried over and the next M - 1 arms of the order (the first one ever: M arms), runs a
    routine over them from scratch and carries on the most played one, also into the next phase, where the order starts
    again. An arm that is held when its place in the order comes up has had its turn. ``order`` is a permutation of the
    arms; ``make(n, b)`` a routine for n arms and b steps.
    """

    def __init__(
        self,
        order: Sequence[int],
        memory: int,
        make: Callable[[int, int], Routine],
        subphases: int,
        sublength: int,
        ties: str = "first",
        wrap: bool = False,
    ) -> None:
        self.order, self.memory, self.make, self.ties, self.wrap = list(order), memory, make, ties, wrap
        self.subphases, self.length = subphases, sublength
        self.done = 0
        self.held = self.order[:memory]
        self.next = len(self.held)
        self._fresh()

    def _fresh(self) -> None:
        self.routine = self.make(len(self.held), self.length) if len(self.held) > 1 else None
        self.plays = [0] * len(self.held)

    def probability(self, arm: int) -> float:
        slot = self.held.index(arm)
        return self.routine.probabilities()[slot] if self.routine else 1.0

    def candidates(self) -> list[int]:
        """The arms that may be carried on."""
        return [self.held[i] for i in chosen(self.plays, self.ties)]

    def play(self, arm: int, reward: float, carried: Callable[[], int] | None = None) -> None:
        """Take a step; ``carried`` says which arm was carried on, where chance decides."""
        slot = self.held.index(arm)
        self.plays[slot] += 1
        if self.routine:
            self.routine.update(slot, reward)
        if sum(self.plays) == self.length:
            best = self.candidates()
            keep = carried() if carried else best[0]
            assert keep in best, "the arm carried on is not one of the most played"
            self._next(keep)

    def _next(self, keep: int) -> None:
        self.done += 1
        if self.done == self.subphases:
            self.done, self.length, self.next = 0, 2 * self.length, 0
        new: list[int] = []
        while self.next < len(self.order):
            arm = self.order[self.next]
            if arm != keep and len(new) == self.memory - 1:
                break
            new += [arm] if arm != keep else []
            self.next += 1
        if self.wrap:
            again = [arm for arm in self.order if arm != keep and arm not in new]
            new += again[: self.memory - 1 - len(new)]
        self.held = [keep, *new]
        self._fresh()
