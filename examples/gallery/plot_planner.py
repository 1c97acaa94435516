"""
The planner: levels for a given memory
======================================

With M numbers for K arms, how many levels should a hierarchy have, and how large should its groups be? The planner
takes as few levels as fit. The picture shows the bound on the regret that each memory buys, for a hundred to a
million arms.
"""

import matplotlib.pyplot as plt
import numpy as np

import hlmc
from hlmc import plotting

T = 10**9
print(hlmc.HLMC(arms=10**6, memory=2048, horizon=T).plan)

# %%
# A bound is worth something where it is below 1 per step. Steps in a curve are changes of depth.
with plotting.style():
    fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for K in (100, 10_000, 1_000_000):
        least = hlmc.planning.least_memory(K)
        sizes = np.unique(np.geomspace(least, K, 60).round().astype(int))
        bound = [hlmc.HLMC(arms=K, memory=int(M), horizon=T).bound() / T for M in sizes]
        ax.plot(sizes, bound, label=f"{K:,} arms")
    ax.axhline(1, linestyle="--", color="0.5", linewidth=1)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="words of statistics",
        ylabel="bound on regret per step",
    )
    ax.legend(frameon=False)
plt.show()
