"""HLMC among river's own policies, in river's own evaluation over river's own environment.

The testbed of Sutton and Barto: ten arms, each with a mean of its own drawn anew in every episode, rewards around it
with a standard deviation of 1. Adversarial policies want rewards in a range, so those beyond [-3, 4] count as its ends.

    python examples/river_bandit.py
"""

import gymnasium
import pandas as pd
from river import bandit

import hlmc
from hlmc.adapters.river import RiverPolicy


def main() -> None:
    steps, episodes = 5000, 2
    spread = {"low": -3.0, "high": 4.0, "clip": True, "seed": 1}
    policies = {
        "HLMC, 7 words": RiverPolicy(hlmc.HLMC(arms=10, memory=7, horizon=steps), **spread),
        "HLMC, 10 words": RiverPolicy(hlmc.HLMC(arms=10, memory=10, horizon=steps), **spread),
        "hlmc's UCB1, 20 words": RiverPolicy(hlmc.UCB1(arms=10), **spread),
        "river's UCB": bandit.UCB(delta=1, seed=1),
        "river's random": bandit.RandomPolicy(seed=1),
    }
    env = gymnasium.make("river_bandits/KArmedTestbed-v0", max_episode_steps=steps)
    trace = pd.DataFrame(bandit.evaluate(list(policies.values()), env, n_episodes=episodes, seed=42))
    for name, reward in zip(policies, trace.groupby("policy_idx")["reward"].mean(), strict=True):
        print(f"{name:22} {reward:+.3f} a pull")


if __name__ == "__main__":
    main()
