"""Plain, slow readings of the routines that learn from losses, and of the champion.

Driven like those in :mod:`reference`: told what was played, they say with what probability it would have been. Losses
are kept in full, never as differences, and the normaliser of Tsallis-INF is found by halving an interval.

A learner keeps a normaliser that is only nearly right, and draws from weights divided by their sum if that is 1 but for
a tenth of eta^2. That makes a small difference to what it draws from, so a reading is told (:data:`KEPT`) what numbers
the learner keeps. It uses one only if the reading's own losses make such a sum with it.
"""

import math
from collections.abc import Callable, Sequence

from reference import sizes_of, up

# --- Routines -----------------------------------------------------------------------------------------------


def exponential(losses: Sequence[float], eta: float) -> list[float]:
    """p_i ~ exp(-eta L_i)."""
    least = min(losses)
    weights = [math.exp(-eta * (loss - least)) for loss in losses]
    whole = math.fsum(weights)
    return [w / whole for w in weights]


KEPT: list[float] = []
"""The normalisers that the learner keeps, from the top level to the arms; of losses less that of the first slot."""


def weights(losses: Sequence[float], eta: float, depth: int = 1) -> list[float]:
    """4 / (eta (L_i - x))^2 for the x that makes them add up to 1, or for the one that is kept, if it nearly does.

    ``depth`` counts the levels from this one down to the arms.
    """
    if len(KEPT) >= depth:
        distances = [loss - losses[0] - KEPT[-depth] for loss in losses]
        if min(distances) >= 0.9 * 2.0 / eta:
            found = [(2.0 / (eta * distance)) ** 2 for distance in distances]
            if abs(math.fsum(found) - 1.0) <= min(max(0.1 * eta * eta, 1e-12), 0.05):
                return found
    least = min(losses)
    above = [loss - least for loss in losses]
    # y = min L - x lies between 2 / eta, where the least loss has all, and 2 sqrt(n) / eta, where all are equal.
    low, high = 2.0 / eta, 2.0 * math.sqrt(len(losses)) / eta
    while low < (middle := (low + high) / 2.0) < high:
        if math.fsum((2.0 / (eta * (a + middle))) ** 2 for a in above) > 1.0:
            low = middle
        else:
            high = middle
    return [(2.0 / (eta * (a + high))) ** 2 for a in above]


def tsallis(losses: Sequence[float], eta: float, depth: int = 1) -> list[float]:
    """The probabilities of Tsallis-INF: its weights by their sum."""
    found = weights(losses, eta, depth)
    whole = math.fsum(found)
    return [w / whole for w in found]


def estimates(w: Sequence[float], slot: int, chance: float, loss: float, baseline: float, eta: float) -> list[float]:
    """What each loss grows by: the baseline where w_i >= eta^2, and for the one played, what was above it / chance."""
    grown = []
    for i, each in enumerate(w):
        base = baseline if each >= eta * eta else 0.0
        grown.append(base + ((loss - base) / chance if i == slot else 0.0))
    return grown


class LossForm:
    """EXP3 on losses; EXP3-IX where ``implicit`` is eta / 2."""

    def __init__(self, n: int, eta: float, implicit: float = 0.0) -> None:
        self.eta, self.implicit, self.losses = eta, implicit, [0.0] * n

    def probabilities(self) -> list[float]:
        return exponential(self.losses, self.eta)

    def update(self, slot: int, reward: float) -> None:
        self.losses[slot] += (1.0 - reward) / (self.probabilities()[slot] + self.implicit)


class Tsallis:
    """Tsallis-INF: eta_t = 2 / sqrt(t), or 4 / sqrt(t) and baseline 1/2 with reduced variance, or scale / sqrt(t)."""

    def __init__(self, n: int, reduced: bool, scale: float | None = None) -> None:
        self.scale, self.baseline = (scale or 4.0, 0.5) if reduced else (scale or 2.0, 0.0)
        self.losses, self.t, self.depth = [0.0] * n, 1, 1

    def probabilities(self) -> list[float]:
        return tsallis(self.losses, self.scale / math.sqrt(self.t), self.depth)

    def update(self, slot: int, reward: float) -> None:
        eta = self.scale / math.sqrt(self.t)
        w, p = weights(self.losses, eta, self.depth), self.probabilities()
        grown = estimates(w, slot, p[slot], 1.0 - reward, self.baseline, eta)
        self.losses = [a + b for a, b in zip(self.losses, grown, strict=True)]
        self.t += 1


def exp3_loss(n: int, choices: int) -> Callable[[int], LossForm]:
    """For N = n children and S choices: eta = sqrt(2 ln N / (N S))."""
    eta = math.sqrt(2.0 * math.log(n) / (n * choices))
    return lambda m: LossForm(m, eta)


def exp3_ix(n: int, choices: int) -> Callable[[int], LossForm]:
    """eta = sqrt(2 ln(N + 1) / (N S)), and half of it is added to the probability."""
    eta = math.sqrt(2.0 * math.log(n + 1.0) / (n * choices))
    return lambda m: LossForm(m, eta, eta / 2.0)


# --- The champion -------------------------------------------------------------------------------------------


def faded(mean: float, t: int, value: float, last: int = 50) -> float:
    """The mean of 1/2 and t values (t counted after this one), or, once that is longer, of about the last ones."""
    return mean + max(1.0 / (t + 1.0), 1.0 / last) * (value - mean)


def champion_epochs(groups: Sequence[int], horizon: int, switches: int = 1) -> list[int]:
    """S_1, ..., S_D: Tsallis-INF's balance x_i = N_i, the last made 1.2 / sqrt(V) times as long, the first to fit.

    A group above all others cuts the choices of the level below it into ((V - 1) sqrt(S) / (sqrt(N) + 2))^(2/3) runs.
    """
    if len(groups) == 1:
        return [horizon]
    if groups[0] == 1:
        choices, *below = champion_epochs(groups[1:], horizon, switches)
        runs = round(((switches - 1) * math.sqrt(choices) / (math.sqrt(groups[1]) + 2)) ** (2 / 3))
        run = up(choices / min(choices, max(1, runs)))
        return [up(choices / run), run, *below]
    share = (horizon / math.prod(groups)) ** (1.0 / len(groups))
    *above, last = [min(horizon, max(1, up(n * share))) for n in groups]
    last = min(horizon, max(1, round(1.2 / math.sqrt(switches) * last)))
    middle = above[1:]
    return [up(horizon / (last * math.prod(middle))), *middle, last]


class Groups:
    """The choice among the n parts of one group, from the moment it is entered until it is forgotten."""

    def __init__(self, n: int, depth: int) -> None:
        self.losses, self.own, self.depth = [0.0] * n, 0, depth
        self.child, self.chance, self.earned = 0, 1.0, list[float]()

    def eta(self) -> float:
        return 4.0 / math.sqrt(self.own + 1.0)

    def probabilities(self) -> list[float]:
        return tsallis(self.losses, self.eta(), self.depth)

    def learn(self) -> None:
        """From the choice that has stood."""
        loss = 1.0 - min(1.0, math.fsum(self.earned) / len(self.earned))
        grown = estimates(weights(self.losses, self.eta(), self.depth), self.child, self.chance, loss, 0.5, self.eta())
        self.losses = [a + b for a, b in zip(self.losses, grown, strict=True)]
        self.own += 1


class Champion:
    """HLMC with Tsallis-INF and one arm that outlives the epochs.

    What chance decides is told: ``order``, the arms by their places; ``turns``, in which order n groups are
    challenged; and, when an epoch begins, the group and whether it is a challenge.
    """

    def __init__(
        self,
        groups: Sequence[int],
        order: Sequence[int],
        turns: Callable[[int], Sequence[int]],
        horizon: int | None,
        switches: int = 1,
        continues: bool = False,
    ) -> None:
        self.groups, self.order, self.turns, self.switches = groups, order, turns, switches
        self.sizes = sizes_of(len(order), groups)
        self.doubles, self.length = continues or horizon is None, horizon or 1
        self.place: int | None = None
        self.kept_then: list[float] = []  # what the learner keeps after the step
        self.all_challenges = 0
        self.coronations = self.crises = self.rematches = self.mistrusted = self.begun = 0
        self.due_rate = 0.0  # the sum of the rates of challenges
        self._stage()

    def _stage(self) -> None:
        self.epochs = champion_epochs(self.groups, self.length, self.switches)
        self.lengths = [math.prod(self.epochs[d + 1 :]) for d in range(len(self.groups))]
        self.local, self.doubt, self.crisis = 0, 0.5, False
        self.past, self.mean = 0, 0.5  # epochs of the stage, and the mean loss of the last ones
        self.square = 0.25  # the mean of (loss - mean)^2 over those without a challenge
        self.rematch: int | None = None  # the first place of the group in which the champion was beaten once
        self.runs: list[Groups] = [Groups(1, 0)] * (len(self.groups) - 1)
        self.due = True
        steps = self.epochs[-1]
        self.least_doubt = min(0.5, max(0.005, self.groups[-1] / (1.0 + 4.0 / 3.0 * math.sqrt(steps)) ** 2))

    def rate(self) -> float:
        """The probability that the next epoch is a challenge, among several groups."""
        if self.place is None or self.challenges + 1 > 4 * math.sqrt(self.epoch + 1):
            return 0.0
        return 15 / 16 if self.crisis or self.rematch is not None else 0.4 / math.sqrt(self.epoch + 1.0)

    def begin(self, base: int, challenged: bool) -> None:
        """An epoch begins, with the group whose first place is ``base``."""
        if self.local % (self.lengths[-3] if len(self.lengths) > 2 else self.length) == 0:
            self.epoch = self.challenges = 0  # counted for each run of the lowest groups
            if self._groups(base) > 1:
                self.rematch = None
        rate = self.rate() if self._groups(base) > 1 else 0.0
        assert rate > 0.0 or not challenged, "a challenge out of turn"
        self.begun += 1
        self.due_rate += rate
        self.above = 1.0
        first, end = 0, len(self.order)
        fresh = self.local == 0
        for d, size in enumerate(self.sizes[:-1]):
            n = len(range(first, end, size))
            if fresh:
                self.runs[d] = Groups(n, len(self.sizes) - d)
            run, child = self.runs[d], (base - first) // size
            fresh = self.local % self.lengths[d] == 0
            if fresh:
                run.child, run.chance, run.earned = child, 1.0, []
                if n > 1:
                    run.chance = reached = run.probabilities()[child]
                    if d == len(self.sizes) - 2:
                        # Every run begins one group later than the one before it.
                        before = self.local // self.lengths[d - 1] if d > 0 else 0
                        due = self.turns(n)[(self.challenges + before) % n]
                        if self.rematch is not None:
                            due = (self.rematch - first) // size
                        assert not challenged or child == due, "a challenge to the wrong group"
                        reached = (1.0 - rate) * run.chance + (rate if child == due else 0.0)
                    self.above *= reached
            assert run.child == child, "a group changed while its choice stood"
            first, end = first + child * size, min(first + (child + 1) * size, end)
        assert first == base
        self.challenged = challenged
        # A firm champion keeps its place until it is beaten again, unless it was challenged for a crisis.
        self.once = challenged and (self.crisis or self.rematch is not None)
        self.challenges += challenged
        self.all_challenges += challenged
        self.epoch += 1
        self._prior(first, end)

    def _groups(self, base: int) -> int:
        """Among how many groups the lowest level chooses where the place ``base`` is."""
        first, end = 0, len(self.order)
        for size in self.sizes[:-2]:
            first += (base - first) // size * size
            end = min(first + size, end)
        return len(range(first, end, self.sizes[-2])) if len(self.sizes) > 1 else 1

    def _prior(self, first: int, end: int) -> None:
        self.tau, self.base, self.due, self.first = 0, 0.5, False, first
        self.earned: list[float] = []  # in this epoch
        if self.place is None:
            self.place = first
            self.slots = list(range(first, end))
            self.losses = [0.0] * len(self.slots)
            return
        self.slots = [self.place, *(p for p in range(first, end) if p != self.place)]
        others = len(self.slots) - 1
        if others == 0:
            self.losses = [0.0]
            return
        # The probabilities that are wanted, and the losses that have them: 2 / (eta sqrt(p)) + x.
        e = min(0.75 if self.challenged else self.doubt, others / (others + 1.0))
        scale = 2.0 / self.eta()
        self.losses = [scale / math.sqrt(1.0 - e)] + [scale / math.sqrt(e / others)] * others

    def eta(self) -> float:
        return 4.0 / math.sqrt(self.epochs[-1] + self.tau + 1.0)

    def probabilities(self) -> list[float]:
        return tsallis(self.losses, self.eta())

    def probability(self, arm: int) -> float:
        return (self.above if self.tau == 0 else 1.0) * self.probabilities()[self._slot(arm)]

    def _slot(self, arm: int) -> int:
        return self.slots.index(self.order.index(arm))

    def play(self, arm: int, reward: float) -> None:
        slot, p, loss = self._slot(arm), self.probabilities(), 1.0 - reward
        grown = estimates(weights(self.losses, self.eta()), slot, p[slot], loss, self.base, self.eta())
        self.losses = [a + b for a, b in zip(self.losses, grown, strict=True)]
        self.tau += 1
        self.base = faded(self.base, self.tau, loss)
        self.earned.append(reward)
        for run in self.runs:
            run.earned.append(reward)
        self.local += 1
        last = self.local == self.length
        if last or (self.runs and self.local % self.lengths[-2] == 0):
            self._end(last)
        if last and self.doubles:
            self.length *= 2
            self._stage()

    def _end(self, last: bool) -> None:
        for d, run in enumerate(self.runs):
            ends = last or self.local % self.lengths[d] == 0
            if ends and len(run.losses) > 1 and not (self.challenged and d == len(self.runs) - 1):
                run.learn()
        # A crisis: after five epochs, a loss far above those before it, in whatever run.
        loss = 1.0 - min(1.0, math.fsum(self.earned) / len(self.earned))
        most = 0.5 / math.sqrt(len(self.earned))
        self.crisis = self.past >= 5 and loss > self.mean + 4.0 * most
        # Trust must pay: a challenge with a loss clearly below the usual one ends it.
        deviation = min(most, max(0.001, math.sqrt(self.square)))
        if not self.challenged:
            self.square = faded(self.square, self.past + 1, (loss - self.mean) ** 2, 10)
        elif self.past >= 5 and loss < self.mean - 1.5 * deviation:
            self.doubt = 0.5
            self.mistrusted += 1
        self.mean, self.rematch = faded(self.mean, self.past + 1, loss, 10), None
        self.crises += self.crisis
        self.past += 1
        self.due = True
        if len(self.slots) > 1:
            self._crown()

    def _crown(self) -> None:
        KEPT[:] = self.kept_then
        p = self.probabilities()
        # The least loss wins; of several, the first.
        least = min(self.losses)
        best = next(i for i, loss in enumerate(self.losses) if loss - least <= 1e-11 * max(1.0, abs(least)))
        beaten = best != 0 and (not self.challenged or p[best] >= 0.5)
        exhausted = not self.runs or self.challenges + 1 > 4 * math.sqrt(self.epoch + 1)  # no challenge may follow
        hurried = self.once or self.crisis or exhausted or self.rematch is not None
        if beaten and self.doubt <= 0.1 and not hurried:
            self.rematch = self.first
            self.rematches += 1
        elif beaten:
            self.place, self.doubt, self.crisis = self.slots[best], 0.5, False
            self.rematch = None
            self.coronations += 1
        elif not self.challenged and p[0] >= 0.5:
            self.doubt = max(self.least_doubt, 0.6 * self.doubt)
