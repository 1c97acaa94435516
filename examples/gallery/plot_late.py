"""
Rewards that come late
======================

A learner may have to decide hundreds of times before it hears of the first reward. This Champion keeps the last 256
decisions in its row (``pending=256``). Rewards that are later than that are lost: with a delay of 400 decisions it
learns nothing. A delay of 200 costs little.
"""

import matplotlib.pyplot as plt

import hlmc
from hlmc import plotting

T = 300_000
policy = hlmc.Champion(arms=100, memory=20, horizon=T, pending=256)
needle = hlmc.adversaries.Needle(arms=100)
mean = {}
for delay in (0, 10, 100, 200, 400):
    delays = hlmc.delays.Constant(delay) if delay else None
    result = hlmc.simulate({"Champion": policy}, needle, horizon=T, runs=5, delays=delays, progress=False)
    mean[delay] = result.data.reward.sel(policy="Champion").mean("run")

# %%
# The mean reward per step so far, for delays of 0 to 400 decisions.
with plotting.style():
    fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for delay, reward in mean.items():
        ax.plot(reward.time, reward / reward.time, label=f"{delay} decisions")
    ax.set(xlim=(0, T), ylim=(0, 1), xlabel="steps", ylabel="mean reward per step")
    ax.legend(title="delay", frameon=False)
plt.show()
