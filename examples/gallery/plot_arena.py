"""
An arena for policies of equal memory
=====================================

Which policy is best in 20 words? The arena compares them on a catalogue of adversaries. It shows regret
relative to that of HLMC: below 1 is better. This is a small arena; ``hlmc arena`` runs the whole one.
"""

import matplotlib.pyplot as plt

import hlmc

contest = hlmc.arena(
    against=["Champion", "UCB-M", "EXP3"],
    adversaries=[
        "BlockTrap",
        "Alternating",
        "Needle",
        "Decoy",
        "UniformMeans",
        "OneGoodArm",
    ],
    arms=[100],
    horizons=[100_000],
    runs=4,
    progress=False,
)
print(contest.overview())

contest.plot()
plt.show()
