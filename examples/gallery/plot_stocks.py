"""
Twenty stocks: a portfolio of one
=================================

Every day the learner holds one of 20 large American stocks and sees the return of that stock alone. The prices are
those that skfolio ships: 8,313 days from 1990 to 2022. The question is whether a bandit earns more than a random
choice. The answer is mostly no, and this page says how it was found out.

It needs ``pip install skfolio``. Nothing is downloaded. This is an exercise in measuring a learner, not advice.
"""

# %%
# The rewards
# -----------
# The reward of a stock on a day is its log return, because log returns add up to growth. hlmc wants rewards in [0, 1]:
# -10 % is 0, no change is 1/2, +10 % is 1. What lies beyond is cut for the learner (0.5 % of all days), but not for the
# accounts below. The scale was fixed before the first run.
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from skfolio.datasets import load_sp500_dataset

import hlmc
from hlmc import plotting

RUNS = int(os.environ.get("HLMC_RUNS", "200"))
DAYS = 252  # in a year of trading

prices = load_sp500_dataset()
growth = np.log(prices).diff().iloc[1:]
days, stocks = growth.shape
table = (0.5 + growth.to_numpy() / 0.2).clip(0.0, 1.0)
cut = (growth.abs() > 0.1).to_numpy().mean()
print(
    f"{days:,} days, {stocks} stocks; {cut:.2%} of the returns are cut for the learner"
)

# %%
# The learners
# ------------
# Nine words for twenty stocks, against learners with memory for all of them. The day's arm is chosen before the day's
# return is known, so nobody looks ahead. (An investor sees all twenty prices. A bandit does not: the harder game.)
policies = {
    "HLMC": hlmc.HLMC(arms=stocks, memory=9, horizon=days),
    "Champion": hlmc.Champion(arms=stocks, memory=9, horizon=days),
    "EXP3": hlmc.EXP3(arms=stocks, horizon=days),
    "Tsallis-INF": hlmc.TsallisINF(arms=stocks),
    "UCB1": hlmc.UCB1(arms=stocks),
}
adversary = hlmc.adversaries.Trace(table)
held = {}  # which stock, [run, day]
for name, policy in policies.items():
    seed = hlmc.derive_seed(0, name)
    held[name] = np.array(
        [hlmc.trace(policy, adversary, seed=seed, stream=run)[0] for run in range(RUNS)]
    )

# %%
# What was earned
# ---------------
# Growth in per cent per year, from the uncut returns, and how often the stock was changed. Two intervals of 95 % belong
# to the difference from uniform play, whose expectation is exact: the mean over all stocks.
#
# - *runs*: if the learner drew other random numbers, on the same history;
# - *years*: if history had been other years like these 33. This is the one that an investor should read.
returns = growth.to_numpy()
uniform = returns.mean(axis=1)
years = growth.index.year.to_numpy()


def half_width(values):
    """Half the width of the 95 % interval of the mean of some numbers."""
    from scipy.stats import t

    return t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))


def by_year(daily):
    """Growth in each of the years, in per cent."""
    return 100 * pd.Series(daily).groupby(years).sum().to_numpy()


rows = {}
for name, arms in held.items():
    daily = returns[np.arange(days), arms]  # [run, day]
    difference = 100 * DAYS * (daily - uniform).mean(axis=1)
    rows[name] = {
        "words": policies[name].words.statistics,
        "growth": 100 * DAYS * daily.mean(),
        "over uniform": difference.mean(),
        "± runs": half_width(difference),
        "± years": half_width(by_year(daily.mean(axis=0) - uniform)),
        "risk": 100 * np.sqrt(DAYS) * daily.std(axis=1).mean(),
        "changes, %": 100 * (arms[:, 1:] != arms[:, :-1]).mean(),
    }
best = int(returns.sum(axis=0).argmax())
rows["uniform play"] = {
    "growth": 100 * DAYS * uniform.mean(),
    "over uniform": 0.0,
    "risk": 100 * np.sqrt(DAYS) * returns.std(),
    "changes, %": 100 * (1 - 1 / stocks),
}
rows[f"{growth.columns[best]} all the time"] = {
    "growth": 100 * DAYS * returns[:, best].mean(),
    "over uniform": 100 * DAYS * (returns[:, best] - uniform).mean(),
    "± years": half_width(by_year(returns[:, best] - uniform)),
    "risk": 100 * np.sqrt(DAYS) * returns[:, best].std(),
    "changes, %": 0.0,
}
together = np.log(np.expm1(returns).mean(axis=1) + 1)
rows["1/20 of each, every day"] = {
    "growth": 100 * DAYS * together.mean(),
    "over uniform": 100 * DAYS * (together - uniform).mean(),
    "± years": half_width(by_year(together - uniform)),
    "risk": 100 * np.sqrt(DAYS) * together.std(),
}
print(pd.DataFrame(rows).T.round(1).to_string(na_rep=""))

# %%
# Pictures
# --------
# One dollar, on a logarithmic scale. The band has half of the runs of Champion.
with plotting.style():
    figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    shown = slice(None, None, 21)  # one day per month
    dates = growth.index[shown]
    colours = {name: plotting.COLOURS[plotting.look(name).colour] for name in held}
    for name, arms in held.items():
        wealth = np.exp(returns[np.arange(days), arms].cumsum(axis=1)[:, shown])
        ax.plot(dates, np.median(wealth, axis=0), color=colours[name], label=name)
        if name == "Champion":
            ax.fill_between(
                dates,
                *np.quantile(wealth, [0.25, 0.75], axis=0),
                color=colours[name],
                alpha=0.2,
                linewidth=0,
            )
    for label, daily, dashes in (
        (f"{growth.columns[best]}, chosen with hindsight", returns[:, best], "-"),
        ("1/20 of each", together, "--"),
        ("uniform play (expected)", uniform, ":"),
    ):
        ax.plot(
            dates,
            np.exp(daily.cumsum()[shown]),
            color="black",
            linestyle=dashes,
            linewidth=1.2,
            label=label,
        )
    ax.set(
        yscale="log",
        ylabel="dollars",
        title=f"A portfolio of one: medians of {RUNS} runs",
    )
    ax.legend(fontsize=8, loc="upper left")
plt.show()

# %%
# The difference from uniform play, with both intervals.
with plotting.style():
    figure, ax = plt.subplots(figsize=(7.5, 3.0), layout="constrained")
    for place, name in enumerate(policies):
        row = rows[name]
        at = {"x": row["over uniform"], "y": place, "color": colours[name]}
        ax.errorbar(**at, xerr=row["± years"], capsize=3, linewidth=1, fmt="o")
        ax.errorbar(**at, xerr=row["± runs"], linewidth=5, alpha=0.6)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set(
        xlabel="growth over that of uniform play, % per year (thick: runs, thin: years)"
    )
    ax.set_yticks(range(len(policies)), list(policies))
    ax.invert_yaxis()
plt.show()

# %%
# What this says
# --------------
# - No learner differs from a random choice by more than other years could have made. Champion is slightly ahead of
#   random choice on this history, by less than its thin interval. That is what theory says: the best stock grows by
#   0.04 % per day more than the mean and moves by 2.3 % per day. Two standard deviations take more than 10,000 days of
#   that stock alone, and a learner must look at twenty.
# - Holding a twentieth of each stock grows faster than holding one at random, because its risk is smaller. A portfolio
#   of one pays for its risk, whoever chooses it.
# - The twenty stocks are large today. Whoever picked them knew that. All growth above is too high for that reason.
# - Costs are left out. At 0.05 % for each change, changing nine times in ten days costs 11 % per year; Champion, which
#   changes less often, pays less than half of that.
