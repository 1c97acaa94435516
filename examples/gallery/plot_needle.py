"""
A hundred arms, twenty numbers
==============================

Four policies look for the one good arm among a hundred. Two of them keep 20 numbers, one keeps 100, and one chooses at
random. The good arm is in the worst group, which is hard for a hierarchy: HLMC must play a group that pays little on
average. Champion carries the best arm that it has met from group to group.
"""

import matplotlib.pyplot as plt

import hlmc
from hlmc import plotting

T = 10**6
policies = {
    "Champion, 20 numbers": hlmc.Champion(arms=100, memory=20, horizon=T),
    "EXP3, 100 numbers": hlmc.EXP3(arms=100, horizon=T),
    "HLMC, 20 numbers": hlmc.HLMC(arms=100, memory=20, horizon=T),
    "random choice": hlmc.Uniform(arms=100),
}
needle = hlmc.adversaries.Needle(arms=100)
result = hlmc.simulate(
    policies, needle, horizon=T, runs=6, points=("log", 200), progress=False
)
print(result.summary())

# %%
# The mean reward per step so far. The dashed line is the best arm's.
with plotting.style():
    fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    time = result.data.time
    for name in policies:
        look = plotting.look(name.split(",")[0].replace("random choice", "Uniform"))
        ax.plot(
            time,
            result.data.reward.sel(policy=name).mean("run") / time,
            **look.line(),
            label=name,
        )
    ax.axhline(0.9, linestyle="--", color="0.5", linewidth=1)
    ax.set(
        xscale="log",
        xlim=(100, T),
        ylim=(0, 1),
        xlabel="steps",
        ylabel="mean reward per step",
    )
    ax.legend(frameon=False)
plt.show()
