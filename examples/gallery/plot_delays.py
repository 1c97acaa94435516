"""
What a delay costs
==================

A click comes seconds after the page was shown, when hundreds of other pages have been shown. What does a delay cost,
and does it help if the policy expects it?
"""

# %%
# Every reward comes after a random number of further decisions, uniform between 0 and twice the mean. ``pending`` is
# the number of decisions that may be outstanding. With ``delay`` the planner makes epochs longer.
import matplotlib.pyplot as plt
import numpy as np

import hlmc
from hlmc import plotting

K, M, T = 100, 20, 200_000
adversary = hlmc.adversaries.UniformMeans(arms=K, seed=2)
means = [0, 10, 30, 100, 300, 1000]
kinds = {
    "HLMC": lambda **late: hlmc.HLMC(K, memory=M, horizon=T, **late),
    "Champion": lambda **late: hlmc.Champion(K, memory=M, horizon=T, **late),
    "Tsallis-INF": lambda **late: hlmc.TsallisINF(K, **late),
}

regret = {}
for mean in means:
    policies = {name: make(pending=4096) for name, make in kinds.items()}
    for name in ("HLMC", "Champion"):
        policies[f"{name}, told"] = kinds[name](pending=4096, delay=mean)
    result = hlmc.simulate(
        policies,
        adversary,
        horizon=T,
        runs=6,
        delays=hlmc.delays.Uniform(0, 2 * mean),
        progress=False,
    )
    table = result.summary("pseudo")
    for name in policies:
        regret.setdefault(name, []).append(
            table.loc[name, ["regret", "low", "high"]].astype(float) / T
        )

# %%
# Regret per step, with 95 % intervals over six runs. Tsallis-INF has one level and memory for all arms. It forgets
# nothing, so a late reward is as good as any. HLMC and Champion forget at the end of an epoch, and what comes later is
# credited to the group alone. Told of the delay, they plan longer epochs. On this adversary, whose arms never change,
# longer epochs are better even without delay: that is why the solid line of HLMC falls.
with plotting.style():
    figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
    for name, rows in regret.items():
        value, low, high = np.array(rows).T
        told = name.endswith("told")
        look = plotting.look(name.removesuffix(", told")).line() | {
            "markevery": 1,
            "linestyle": "-" if told else "--",
        }
        ax.errorbar(
            range(len(means)),
            value,
            yerr=[value - low, high - value],
            capsize=3,
            label=name,
            **look,
        )
    ax.set_xticks(range(len(means)), [str(mean) for mean in means])
    ax.set(
        xlabel="mean delay, decisions",
        ylabel="regret per step",
        title="K = 100, uniform means, T = 200,000",
        ylim=(0, None),
    )
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
plt.show()
