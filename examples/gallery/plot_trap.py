"""
The trap: why bounded memory needs a hierarchy
==============================================

UCB-M learns 20 arms at a time and keeps the best of each block. An adversary that knows this pays where UCB-M is not:
experiment 1 of the paper.
"""

# %%
# The adversary
# -------------
# Arms are played in blocks. At every time, one arm pays 1 and all others 0: the first arm of the block that UCB-M will
# hold next. When UCB-M comes there, the reward has moved on.
import matplotlib.pyplot as plt
import numpy as np

import hlmc
from hlmc import plotting

T = 300_000
trap = hlmc.adversaries.BlockTrap(arms=100, memory=20)
steps = np.arange(0, 20_000, 40)
paying = np.array([trap.rewards(int(t), int(t) + 1)[0].argmax() for t in steps])

with plotting.style():
    figure, ax = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    ucbm = hlmc.UCBM(arms=100, memory=20, shuffle=False)
    arms, rewards = hlmc.trace(ucbm, trap, horizon=20_000)
    ax.plot(
        steps, arms[steps], ".", color="black", markersize=2, label="played by UCB-M"
    )
    ax.plot(
        steps,
        paying,
        drawstyle="steps-post",
        color=plotting.COLOURS["vermillion"],
        label="pays 1",
    )
    ax.set(
        xlabel="step",
        ylabel="arm",
        title=f"UCB-M earns {rewards.sum():.0f} in 20,000 steps",
    )
    figure.legend(
        *ax.get_legend_handles_labels(), loc="outside right upper", markerscale=4
    )
plt.show()

# %%
# Who escapes
# -----------
# HLMC chooses among groups by what they pay as a whole and never commits to a block. Shuffling the arms helps UCB-M,
# because the adversary no longer knows its blocks.
result = hlmc.simulate(
    {
        "UCB-M": ucbm,
        "UCB-M shuffled": hlmc.UCBM(arms=100, memory=20),
        "HLMC": hlmc.HLMC(arms=100, memory=20, horizon=T),
        "Champion": hlmc.Champion(arms=100, memory=20, horizon=T),
        "EXP3": hlmc.EXP3(arms=100, horizon=T),
    },
    trap,
    horizon=T,
    runs=10,
    progress=False,
)
with plotting.style():
    figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
    result.plot(ax=ax)
    ax.set_title("experiment 1, K = 100, ten runs", loc="left")
plt.show()

# %%
# Negative regret means more than the best fixed arm earns: the champion follows the reward from block to block.
print(
    result.summary().shown()[["words", "reward", "regret", "95 % interval"]].to_string()
)
