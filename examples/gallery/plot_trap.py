"""
Experiment 1 of the paper: a trap
=================================

UCB-M holds a block of arms at a time. This adversary pays only the arm that UCB-M will hold next, so that UCB-M never
earns anything. HLMC, with the same number of arms in memory, is not trapped. EXP3 has memory for all arms.
"""

import matplotlib.pyplot as plt

import hlmc

T = 10**6
policies = {
    "HLMC": hlmc.HLMC(arms=100, memory=20, horizon=T),
    "Champion": hlmc.Champion(arms=100, memory=20, horizon=T),
    "UCB-M": hlmc.UCBM(arms=100, memory=20, shuffle=False),
    "EXP3": hlmc.EXP3(arms=100, horizon=T),
}
trap = hlmc.adversaries.BlockTrap(arms=100, memory=20)
result = hlmc.simulate(policies, trap, horizon=T, runs=5, progress=False)
print(result.summary())

# %%
# Regret is measured against the best *fixed* arm. Champion follows the trap from block to block and earns more than any
# fixed arm, so that its regret is negative.
result.plot()
plt.show()
