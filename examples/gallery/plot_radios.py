"""
Two hundred radios and a jammer
===============================

Radios share 20 channels. A jammer leaves five of them clear and moves on from time to time. A radio hears only whether
it was served; it knows neither the others nor the jammer. All radios of a kind are one array of rows: a fleet.
"""

# %%
# The game is the paper's, with a capacity: a clear channel pays 1 to each of up to 40 radios and shares 40 among more.
# So five clear channels can serve all radios. A game is a class with a kernel that says what an arm pays.
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

import hlmc
from hlmc import plotting
from hlmc.engine.kernel import kernel
from hlmc.games.jammers import CLEAR_REWARD, Circulating

RADIOS, CHANNELS, STEPS = 200, 20, 20_000


@kernel
def served(spec, state, t, counts, arm):
    """A clear channel serves up to its capacity; a jammed one serves none."""
    return min(1.0, spec[CLEAR_REWARD] / counts[arm]) if state[arm] > 0.0 else 0.0


@dataclass(frozen=True, repr=False)
class Radios(hlmc.games.Spectrum):
    pay = staticmethod(served)
    scale = 1.0


game = Radios(
    RADIOS,
    CHANNELS,
    Circulating(period=STEPS // 4, clear=5),
    clear_reward=RADIOS / 5,
    jammed_reward=0.0,
)

# %%
# Each kind of radio plays among its own kind. Uniform choice is served in five channels of 20.
policies = {
    "Champion": hlmc.Champion(arms=CHANNELS, memory=9, horizon=STEPS, switches=4),
    "HLMC.S": hlmc.HLMC(arms=CHANNELS, memory=9, horizon=STEPS, switches=4),
    "EXP3.S": hlmc.EXP3S(arms=CHANNELS, horizon=STEPS, switches=4),
    "UCB-M": hlmc.UCBM(arms=CHANNELS, memory=4),
    "Uniform": hlmc.Uniform(arms=CHANNELS),
}
results = {
    name: hlmc.play({name: policy}, game, STEPS, runs=2, progress=False)
    for name, policy in policies.items()
}
looks = plotting.looks(policies)

with plotting.style():
    figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
    for name, result in results.items():
        share = result.mean_reward(window=True).sel(policy=name).mean("run")
        label = f"{name}, {policies[name].words.statistics} words"
        ax.plot(
            share["time"], share, **looks[name].line() | {"marker": ""}, label=label
        )
    for change in range(1, 4):
        ax.axvline(change * STEPS // 4, color="#777777", linestyle="--", linewidth=1)
    ax.set(
        xlabel="step",
        ylabel="share of radios served",
        title="the jammer moves on at the dashed lines",
        ylim=(0, 1),
    )
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
plt.show()

# %%
# Where Champion's radios are: how many on each channel, over time. The bright channels are the clear ones.
with plotting.style():
    figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
    where = results["Champion"].data["occupancy"].sel(policy="Champion").mean("run")
    mesh = ax.pcolormesh(
        where["time"],
        np.arange(CHANNELS),
        where.T,
        cmap="viridis",
        shading="nearest",
        rasterized=True,
    )
    figure.colorbar(mesh, ax=ax, label="radios")
    ax.set(xlabel="step", ylabel="channel", title="Champion's radios")
    ax.yaxis.get_major_locator().set_params(integer=True)
plt.show()

for name, result in results.items():
    row = result.summary().iloc[0]
    print(
        f"{name:9} served {row['reward']:.3f}, {policies[name].words.total * 8} bytes per radio"
    )
