"""HLMC plays a Gymnasium environment that is not ours: a Discrete action space is all it asks for.

The environment below stands for one that came from elsewhere: a row of 100 slot machines, rewards from -1 to 5, one of
them better than the rest, episodes of 200 pulls. HLMC is told the range of the rewards and keeps 20 numbers. EXP3,
which keeps 100, shows what the other 80 would have bought.

    python examples/foreign_gymnasium.py
"""

import gymnasium
import numpy as np
from gymnasium import spaces

import hlmc
from hlmc.adapters.gymnasium import play_env


class SlotMachines(gymnasium.Env):
    """A stake of 1; machine 70 returns 6 in seven pulls of ten, the others in one of ten."""

    def __init__(self, machines: int = 100) -> None:
        self.action_space = spaces.Discrete(machines)
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.credit, self.pulls = 0.0, 0
        return np.array([self.credit]), {}

    def step(self, action):
        chance = 0.7 if action == 70 else 0.1
        reward = (6.0 if self.np_random.random() < chance else 0.0) - 1.0
        self.credit += reward
        self.pulls += 1
        return np.array([self.credit]), reward, False, self.pulls == 200, {}


def main() -> None:
    steps = 100_000
    policies = {
        "HLMC, 20 words": hlmc.HLMC(arms=100, memory=20, horizon=steps),
        "EXP3, 100 words": hlmc.EXP3(arms=100, horizon=steps),
        "uniform": hlmc.Uniform(arms=100),
    }
    for name, policy in policies.items():
        played = play_env(policy, SlotMachines(), steps, seed=1, low=-1.0, high=5.0)
        last = played.rewards[steps // 2 :].mean()
        print(f"{name:15}  {played.rewards.mean():+.3f} a pull, {last:+.3f} in the second half")


if __name__ == "__main__":
    main()
