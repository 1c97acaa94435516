"""
Memory against regret
=====================

How much does a word of memory buy? HLMC and Champion with 14 to 100 words for 100 arms, on two adversaries.
"""

# %%
# The paper says that more memory means less regret. For HLMC that holds where three levels become two; beyond, more
# words buy little at this horizon.
import matplotlib.pyplot as plt
import numpy as np

import hlmc
from hlmc import plotting

T, K = 200_000, 100
words = [14, 20, 30, 50, 100]
adversaries = {
    "experiment 1 (BlockTrap)": hlmc.adversaries.BlockTrap(arms=K, memory=20),
    "means uniform in [0, 1]": hlmc.adversaries.UniformMeans(arms=K, seed=1),
}

with plotting.style():
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for ax, (title, adversary) in zip(axes, adversaries.items(), strict=True):
        policies = {
            f"{kind.__name__} {memory}": kind(arms=K, memory=memory, horizon=T)
            for kind in (hlmc.HLMC, hlmc.Champion)
            for memory in words
        }
        policies["uniform"] = hlmc.Uniform(arms=K)
        table = hlmc.simulate(
            policies, adversary, horizon=T, runs=8, progress=False
        ).summary("weak")
        for name in ("HLMC", "Champion"):
            rows = table.loc[[f"{name} {memory}" for memory in words]]
            spread = np.stack(
                [rows["regret"] - rows["low"], rows["high"] - rows["regret"]]
            )
            look = plotting.look(name).line() | {"markevery": 1}
            ax.errorbar(
                rows["words"],
                rows["regret"] / T,
                yerr=spread / T,
                capsize=3,
                label=name,
                **look,
            )
        ax.axhline(
            table.loc["uniform", "regret"] / T,
            color="black",
            linestyle=":",
            label="uniform play",
        )
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set(
            xscale="log",
            xlabel="words of statistics",
            ylabel="weak regret per step",
            title=title,
        )
        ax.set_xticks(words, [str(memory) for memory in words])
        ax.minorticks_off()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
plt.show()

# %%
# At 100 words there is one level and nothing is ever forgotten: HLMC is plain EXP3 there. Below 0 a policy earns more
# than the best fixed arm: in experiment 1 the reward moves, and Champion moves with it, as long as it forgets.
# Of 30 or 50 words Champion takes 20: its points there are three, with seeds of their own.
