"""
How much memory is enough?
==========================

A thousand arms and 30 to 512 numbers. The planner chooses the levels: with 30 numbers there are three, with 64 or more
there are two. More memory saves HLMC a part of its regret. Champion needs hardly more than the least.
"""

import matplotlib.pyplot as plt

import hlmc
from hlmc import plotting

K, T = 1000, 10**6
adversary = hlmc.adversaries.UniformMeans(arms=K)
sizes = (30, 64, 128, 256, 512)
policies = {
    f"{kind.__name__} {M}": kind(arms=K, memory=M, horizon=T) for kind in (hlmc.HLMC, hlmc.Champion) for M in sizes
}
result = hlmc.simulate(policies, adversary, horizon=T, runs=3, points=2, progress=False)
regret = result.regret("pseudo").isel(time=-1).mean("run") / T

# %%
# Pseudo-regret per step. The horizontal line is a random choice.
with plotting.style():
    fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for kind in ("HLMC", "Champion"):
        words = [policies[f"{kind} {M}"].words.statistics for M in sizes]
        ax.plot(words, [float(regret.sel(policy=f"{kind} {M}")) for M in sizes], marker="o", label=kind)
    ax.axhline(0.5, linestyle="--", color="0.5", linewidth=1)
    ax.set(xscale="log", ylim=(0, None), xlabel="words of statistics, for 1,000 arms", ylabel="regret per step")
    ax.set_xticks(sizes, [str(M) for M in sizes])
    ax.minorticks_off()
    ax.legend(frameon=False)
plt.show()
