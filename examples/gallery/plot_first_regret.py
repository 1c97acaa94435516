"""
First regret curves
===================

One of a hundred arms is better than the rest. Regret is what a learner has lost against that arm so far: a curve that
flattens has found it.
"""

# %%
# HLMC and Champion keep 20 numbers for 100 arms, EXP3 keeps 100. The bands are 95 % intervals of the mean of ten runs.
# HLMC, the paper's algorithm, has the theorem and needs far more steps; Champion is the one to use.
import matplotlib.pyplot as plt

import hlmc
from hlmc import plotting

T = 200_000
result = hlmc.simulate(
    {
        "HLMC": hlmc.HLMC(arms=100, memory=20, horizon=T),
        "Champion": hlmc.Champion(arms=100, memory=20, horizon=T),
        "EXP3": hlmc.EXP3(arms=100, horizon=T),
        "Uniform": hlmc.Uniform(arms=100),
    },
    hlmc.adversaries.OneGoodArm(arms=100, high=0.9, low=0.5),
    runs=10,
    progress=False,
)
with plotting.style():
    figure, (linear, logarithmic) = plt.subplots(
        1, 2, figsize=(10, 4), layout="constrained"
    )
    result.plot(ax=linear)
    result.plot(ax=logarithmic, log=True).get_legend().remove()
    linear.set_title("arm 0 pays 0.9, all others 0.5", loc="left")
    logarithmic.set_title("the same, both axes logarithmic", loc="left")
plt.show()

# %%
# The table has the same at the horizon. ``words`` counts statistics + control (clocks, sums, the random stream).
print(result.summary())
