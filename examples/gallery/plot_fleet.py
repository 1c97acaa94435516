"""
One learner per user
====================

Ten thousand users, each with a favourite among 20 items. Each has a learner of its own: one row of a matrix. One call
selects for all of them, and one call updates all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import hlmc
from hlmc import plotting

USERS, ITEMS, ROUNDS = 10_000, 20, 1500
rng = np.random.default_rng(1)
favourite = rng.integers(ITEMS, size=USERS)

policy = hlmc.TsallisINF(arms=ITEMS, bits=12)  # 12 bits per item
fleet = policy.fleet(size=USERS, seed=1)
print(
    f"{fleet.state.nbytes / USERS:.0f} bytes per user, {fleet.state.nbytes / 1e6:.1f} MB in all"
)

share = np.empty(ROUNDS)
for t in range(ROUNDS):
    items = fleet.select()
    liked = rng.random(USERS) < np.where(items == favourite, 0.6, 0.2)
    fleet.update(liked.astype(float))
    share[t] = (items == favourite).mean()

# %%
# The share of users who are shown their favourite item.
with plotting.style():
    fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    ax.plot(share)
    ax.axhline(1 / ITEMS, linestyle="--", color="0.5", linewidth=1)
    ax.set(
        xlim=(0, ROUNDS),
        ylim=(0, 1),
        xlabel="rounds",
        ylabel="share of users with their favourite",
    )
plt.show()
