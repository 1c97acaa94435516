"""
A best arm that moves
=====================

One of 16 arms pays 1 and all others pay 0. The good arm moves ten times. The benchmark is the best sequence with ten
constant pieces (shifting regret). EXP3.S is made for this and keeps 16 numbers; HLMC with ``switches=10`` and Champion
keep 8.
"""

import matplotlib.pyplot as plt

import hlmc

T = 200_000
policies = {
    "Champion, 10 pieces": hlmc.Champion(arms=16, memory=8, horizon=T, switches=10),
    "HLMC, 10 pieces": hlmc.HLMC(arms=16, memory=8, horizon=T, switches=10),
    "HLMC": hlmc.HLMC(arms=16, memory=8, horizon=T),
    "EXP3.S, 16 numbers": hlmc.EXP3S(arms=16, horizon=T, switches=10),
}
moving = hlmc.adversaries.Shifting(arms=16, horizon=T, phases=10)
result = hlmc.simulate(policies, moving, runs=5, progress=False)
print(result.summary("shifting", switches=10))

result.plot("shifting", switches=10)
plt.show()
