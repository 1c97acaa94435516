"""Policies in plain Python with the interfaces of several libraries, and how the tests play them."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import hlmc
from hlmc import adversaries

K, T, RUNS = 6, 300, 3
MEANS = adversaries.UniformMeans(K, seed=5)


class Greedy:
    """Epsilon-greedy; subclasses have the interfaces of other libraries."""

    def __init__(self, arms: int, seed: int = 0, horizon: int = T) -> None:
        self.K = arms
        self.horizon = horizon
        self.rng = random.Random(seed)
        self.counts, self.sums = [0] * arms, [0.0] * arms
        self.last = 0

    def chosen(self) -> int:
        if self.rng.random() < 0.2:
            return self.rng.randrange(self.K)
        return max(range(self.K), key=lambda arm: self.sums[arm] / (self.counts[arm] or 1))

    def learned(self, arm: int, reward: float) -> None:
        self.counts[arm] += 1
        self.sums[arm] += reward


class Alone(Greedy):
    """select() and update(reward)."""

    def select(self) -> int:
        self.last = self.chosen()
        return self.last

    def update(self, reward: float) -> None:
        self.learned(self.last, reward)


class WithArm(Greedy):
    def select(self) -> int:
        return self.chosen()

    def update(self, arm: int, reward: float) -> None:
        self.learned(arm, reward)


class SelectArm(Greedy):
    """As in J. M. White's book, and many a student's code; arms are NumPy's integers."""

    def select_arm(self) -> Any:
        return np.int64(self.chosen())

    def update(self, chosen_arm: int, reward: float, weight: float = 1.0) -> None:
        self.learned(chosen_arm, reward)


class River(Greedy):
    def pull(self, arm_ids: list[int]) -> int:
        assert arm_ids == list(range(self.K))
        return self.chosen()

    def update(self, arm_id: int, *reward_args: float, **reward_kwargs: Any) -> None:
        self.learned(arm_id, *reward_args)


class SMPyBandits(Greedy):
    def __init__(self, arms: int, seed: int) -> None:
        super().__init__(arms, seed)
        self.nbArms = arms
        self.sums = [9.0] * arms  # startGame clears them

    def startGame(self) -> None:
        self.sums = [0.0] * self.nbArms

    def choice(self) -> int:
        return self.chosen()

    def getReward(self, arm: int, reward: float) -> None:
        self.learned(arm, reward)


class MABWiser(Greedy):
    """No answer before the first reward, and labels for arms."""

    def __init__(self, arms: int, seed: int) -> None:
        super().__init__(arms, seed)
        self.arms = [f"arm {arm}" for arm in range(arms)]
        self.fitted = False

    def predict(self, contexts: Any = None) -> str:
        assert self.fitted
        return self.arms[self.chosen()]

    def partial_fit(self, decisions: list[str], rewards: list[float], contexts: Any = None) -> None:
        self.fitted = True
        self.learned(self.arms.index(decisions[0]), rewards[0])


class PyMAB:
    """pymab 2: randomness is handed in."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms
        self.sums = np.zeros(n_arms)

    def select_action(self, *, rng: np.random.Generator) -> int:
        return int(rng.integers(self.n_arms)) if rng.random() < 0.2 else int(np.argmax(self.sums))

    def update(self, *, action: int, reward: float) -> None:
        self.sums[action] += reward


class Global(Greedy):
    """Draws from the global generators of random and numpy.random."""

    def select(self) -> int:
        return (random.randrange(self.K) + int(np.random.randint(self.K))) % self.K  # noqa: NPY002

    def update(self, reward: float) -> None:
        pass


def by_hand(
    choose: Callable[[], int], learn: Callable[[int, float], None], adversary: Any = MEANS, steps: int = T
) -> list[float]:
    """Cumulative rewards, step by step: an independent reading of what a run is."""
    total, sums = 0.0, []
    for t in range(steps):
        arm = choose()
        reward = float(adversary.rewards(t, t + 1)[0, arm])
        total += reward
        learn(arm, reward)
        sums.append(total)
    return sums


def seed_of(name: str, run: int, seed: int = 0) -> int:
    return (hlmc.derive_seed(seed, name) + run) % 2**32


def simulate(policies: Any, adversary: Any = MEANS, **arguments: Any) -> hlmc.Result:
    return hlmc.simulate(
        policies, adversary, **{"horizon": T, "runs": RUNS, "points": range(1, T + 1), "progress": False} | arguments
    )


def rewards(result: hlmc.Result, name: str) -> np.ndarray:
    return result.data["reward"].sel(policy=name).values
