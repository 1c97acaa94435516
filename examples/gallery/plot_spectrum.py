"""
Radios that share a spectrum
============================

Forty radios share 20 channels while somebody jams 15 of them and moves on three times. Whoever is on a clear channel
shares it with the others there; a jammed channel pays nothing. Each radio keeps nine numbers and knows nothing of the
others. The picture shows which channels they use. The five clear channels are outlined.
"""

import matplotlib.pyplot as plt

import hlmc
from hlmc.games.jammers import Circulating

STEPS = 20_000
game = hlmc.games.Spectrum(agents=40, channels=20, jammer=Circulating(period=STEPS // 4, clear=5), jammed_reward=0.0)
policies = {
    "Champion": hlmc.Champion(arms=20, memory=9, horizon=STEPS, switches=4),
    "HLMC": hlmc.HLMC(arms=20, memory=9, horizon=STEPS, switches=4),
    "EXP3.S, 20 numbers": hlmc.EXP3S(arms=20, horizon=STEPS, switches=4),
}
results = {name: hlmc.play({name: policy}, game, STEPS, runs=2, progress=False) for name, policy in policies.items()}
for name, result in results.items():
    row = result.summary().iloc[0]
    print(f"{name:18}  {row['reward']:.2f} per radio and step, {row['clear']:.0%} of all choices are clear channels")

# %%
# Champion's radios. Shared evenly, the five clear channels would pay 1.25 per radio and step.
results["Champion"].plot_occupancy()
plt.show()
