"""
How many bits does a statistic need?
====================================

A device counts bytes, not numbers. ``bits=`` packs the statistics of a policy into codes of a few bits, which learn by
stochastic rounding.
"""

# %%
# Tsallis-INF keeps a loss for each of 100 arms, in 4 to 64 bits. Champion and HLMC keep 20 numbers of 64 bits.
import matplotlib.pyplot as plt
import numpy as np

import hlmc
from hlmc import plotting

K, T = 100, 100_000
FLAT = "Tsallis-INF over all arms"
widths = [4, 6, 8, 10, 12, 16, 64]
policies = {f"{bits} bits": hlmc.TsallisINF(K, bits=bits) for bits in widths}
policies |= {
    "HLMC": hlmc.HLMC(K, memory=20, horizon=T),
    "Champion": hlmc.Champion(K, memory=20, horizon=T),
}
adversaries = {
    "uniform means": hlmc.adversaries.UniformMeans(arms=K, seed=4),
    "one arm pays 0.7, others 0.5": hlmc.adversaries.OneGoodArm(
        arms=K, high=0.7, low=0.5, seed=4
    ),
}
with plotting.style():
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for ax, (title, adversary) in zip(axes, adversaries.items(), strict=True):
        table = hlmc.simulate(
            policies, adversary, horizon=T, runs=12, progress=False
        ).summary("pseudo")
        size = 8 * table["words"].to_numpy()
        spread = np.stack(
            [table["regret"] - table["low"], table["high"] - table["regret"]]
        )
        flat = slice(0, len(widths))
        ax.errorbar(
            size[flat],
            table["regret"].iloc[flat],
            yerr=spread[:, flat],
            capsize=3,
            **plotting.look("Tsallis-INF").line() | {"markevery": 1},
            label=FLAT,
        )
        for place, bits in enumerate(widths):
            at = (size[place], table["regret"].iloc[place])
            ax.annotate(
                f"{bits} bits",
                at,
                xytext=(0, 12 if place % 2 else -16),
                textcoords="offset points",
                fontsize=8,
            )
        for name in ("HLMC", "Champion"):
            at = table.index.get_loc(name)
            ax.errorbar(
                size[at],
                table["regret"].iloc[at],
                yerr=spread[:, [at]],
                capsize=3,
                **plotting.look(name).line(),
                label=name,
            )
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="bytes of statistics",
            ylabel=f"regret after {T:,} steps",
            title=title,
        )
        ax.set_xticks([50, 100, 200, 400, 800], ["50", "100", "200", "400", "800"])
        ax.minorticks_off()
        ax.set_yticks(
            [500, 1000, 2000, 5000, 10_000, 20_000, 50_000],
            ["500", "1k", "2k", "5k", "10k", "20k", "50k"],
        )
        ax.set_ylim(table["low"].min() / 1.4, table["high"].max() * 1.4)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
plt.show()

# %%
# Ten to twelve bits per arm are as good as 64. In the 160 bytes that HLMC's 20 numbers take, there is room for 12 bits
# for each of 100 arms. The paper counts numbers, not bytes; in its model the comparison above would not be allowed.
