"""
The life of a champion
======================

Champion keeps one arm, the champion, when it forgets everything else at the end of an epoch. This script reads the
words of a learner while it plays and draws them: how much the champion is doubted, when it is challenged, and what
happens when another arm becomes the best.
"""

# %%
# The best of 100 arms pays 0.8 and the others 0.3. After half of the time, another arm is best.
import matplotlib.pyplot as plt
import numpy as np

import hlmc
from hlmc import plotting
from hlmc.engine.layout import BEGAN
from hlmc.engine.structures.champion import CHALLENGE, CRISIS, DOUBT, PLACE, USUAL

T = 60_000
rng = np.random.default_rng(5)
policy = hlmc.Champion(arms=100, memory=20, horizon=T)
learner = policy.start(seed=3)

epochs = []  # one row per epoch: its first step, the mean reward of the one before, and words of the learner
paid, began = [], 0
for step in range(T):
    arm = learner.select()
    state = learner.state
    if state[BEGAN] != began:  # an epoch begins
        epochs.append(
            [
                step,
                np.mean(paid),
                state[DOUBT],
                state[USUAL],
                state[CHALLENGE],
                state[CRISIS],
                state[PLACE],
            ]
        )
        paid, began = [], state[BEGAN]
    best = 42 if step < T // 2 else 77
    reward = float(rng.random() < (0.8 if arm == best else 0.3))
    paid.append(reward)
    learner.update(reward)
first, mean, doubt, usual, challenge, _, place = np.array(epochs).T
crowned = np.flatnonzero(np.diff(place)) + 1
print(
    f"{len(epochs)} epochs, {len(crowned) + 1} champions, {np.sum(challenge > 0)} challenges"
)

# %%
# An epoch is a contest: the champion against the arms of one group. Doubt is the share of the prior that is left to the
# others when an epoch begins.
#
# - Each epoch that the champion wins makes the doubt smaller.
# - Challenges (marks) leave three quarters of the prior to the others, and become rarer.
# - At half time the champion pays 0.3. The first bad epoch is a *crisis*. Challenges follow until another arm wins.
with plotting.style():
    figure, (top, middle, bottom) = plt.subplots(
        3, 1, figsize=(8, 6), layout="constrained", sharex=True
    )
    top.plot(
        first, mean, ".-", color=plotting.COLOURS["blue"], linewidth=0.8, markersize=4
    )
    top.set(ylabel="mean reward\nper epoch", ylim=(0, 1))
    middle.plot(
        first, doubt, drawstyle="steps-post", color=plotting.COLOURS["vermillion"]
    )
    names = {
        1: ("by chance", "|", "blue"),
        2: ("after a crisis", "x", "black"),
        3: ("as a rematch", "o", "green"),
    }
    for kind, (label, marker, colour) in names.items():
        at = challenge == kind
        if at.any():
            middle.plot(
                first[at],
                np.full(at.sum(), 0.62),
                marker,
                color=plotting.COLOURS[colour],
                markersize=5,
                label=f"challenged {label}",
            )
    middle.set(ylabel="doubt", ylim=(0, 0.7))
    bottom.plot(first, usual, drawstyle="steps-post", color="black")
    bottom.set(ylabel="usual loss", ylim=(0, 1), xlabel="step")
    for ax in (top, middle, bottom):
        ax.axvline(T // 2, color="#777777", linestyle="--", linewidth=1)
    top.annotate(
        "another arm is best",
        (T // 2, 0.95),
        xytext=(6, 0),
        textcoords="offset points",
        va="top",
    )
    figure.legend(*middle.get_legend_handles_labels(), loc="outside right center")
plt.show()
