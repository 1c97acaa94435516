"""
What would another policy have earned?
======================================

A shop has shown twelve teas, chosen by HLMC in eight words, and has logged every choice with its propensity. What would
the best tea alone have earned? And what two of them, by the hour? `hlmc.replay` answers from the log, with intervals
that do not trust small samples.
"""

# %%
# The log
# -------
# One row per decision. All steps of an epoch share the choice of a group, which the column ``block`` says: they count
# as one observation.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import hlmc

STEPS = 30_000
rng = np.random.default_rng(1)
means = np.linspace(0.2, 0.7, 12)
teas = [f"tea {number}" for number in range(12)]

learner = hlmc.HLMC(arms=12, memory=8, horizon=STEPS, pending=1).start(seed=1)
rows = []
for step in range(STEPS):
    ticket = learner.ask()
    reward = float(rng.random() < means[ticket.arm])
    learner.tell(ticket, reward)
    rows.append((teas[ticket.arm], reward, ticket.propensity, ticket.block, step % 24))
log = pd.DataFrame(rows, columns=["arm", "reward", "propensity", "block", "hour"])
print(log.tail(3).to_string(index=False))


# %%
# The candidates
# --------------
# An arm, a distribution, or a rule that sees the row. The truth is known here: it is what the teas earn on average.
def by_hour(row):
    """One tea until noon, another one after it."""
    return "tea 10" if row["hour"] < 12 else "tea 11"


candidates = {tea: tea for tea in teas} | {
    "any tea": dict.fromkeys(teas, 1 / 12),
    "the best three": dict.fromkeys(teas[-3:], 1 / 3),
    "by the hour": by_hour,
}
found = hlmc.replay(candidates, log)
print(found)

# %%
# The picture
# -----------
# Crosses are the truth.
truth = [*means, means.mean(), means[-3:].mean(), means[-2:].mean()]
ax = found.plot()
ax.plot(truth, range(len(truth)), "kx", label="the truth")
ax.legend(loc="upper right")
plt.show()
