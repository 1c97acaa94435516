"""Several results as one: of one seed policy by policy, of different seeds run by run."""

from __future__ import annotations

import numpy as np
import xarray as xr

from hlmc.errors import BadArgument, BadType, shown
from hlmc.simulation.result import Result

_SAME = ("adversary", "environments", "horizon", "streams", "arithmetic", "delays", "missing")
BY_POLICY = ("policies", "rules", "words", "words_total", "switches")


def merged(first: Result, *others: Result) -> Result:
    """All of them as one result, in the order given; see :meth:`Result.merge <hlmc.Result.merge>`."""
    for other in others:
        if not isinstance(other, Result):
            raise BadType(f"merge takes results of hlmc.simulate, not {shown(other)}")
        first = _pair(first, other)
    return first


def _pair(one: Result, two: Result) -> Result:
    for field in _SAME:
        mine, theirs = one.provenance.get(field), two.provenance.get(field)
        if mine != theirs:
            raise BadArgument(f"results to merge must have the same {field}, not {shown(mine)} and {shown(theirs)}")
    # Two functions of one name print alike.
    if None not in (one.environments, two.environments) and one.environments != two.environments:
        raise BadArgument(f"results to merge must have the same adversary, not two that print as {one.adversary!r}")
    if not np.array_equal(one.times, two.times):
        raise BadArgument("results to merge must have the same time points; give points= to both simulations")
    known, new = one.provenance["policies"], two.provenance["policies"]
    for name in known.keys() & new.keys():
        if known[name] != new[name]:
            raise BadArgument(f"results to merge must mean one policy by {name!r}, not {known[name]} and {new[name]}")
        # Results of versions that knew of no rules follow the first.
        rules = [part.provenance.get("rules", {}).get(name, 1) for part in (one, two)]
        if rules[0] != rules[1]:
            raise BadArgument(f"results to merge must follow one rule of {name!r}, not rules {rules[0]} and {rules[1]}")
    seeds, others = _seeds(one), _seeds(two)
    if seeds == others:
        data, nanoseconds = _policies(one, two), two.nanoseconds | one.nanoseconds
        seed, runs = one.provenance["seed"], one.provenance["runs"]
    else:
        data, nanoseconds = _runs(one, two), _mean_times(one, two)
        if seeds & others:
            raise BadArgument(f"results to merge must not share a seed, and both have runs of {min(seeds & others)}")
        seed, runs = sorted(seeds | others), data.sizes["run"]
    mine, theirs = one.provenance, two.provenance
    provenance = mine | {field: theirs.get(field, {}) | mine.get(field, {}) for field in BY_POLICY}
    provenance |= {"seed": seed, "runs": runs}
    data.attrs = one._data.attrs | {"seed": seed}
    result = Result(data, provenance, nanoseconds)
    result._benchmarks = two._benchmarks | one._benchmarks
    result.__dict__["environments"] = two.environments if one.environments is None else one.environments
    return result


def _seeds(result: Result) -> set[int]:
    seed = result.provenance["seed"]
    return set(seed) if isinstance(seed, list) else {seed}


def _policies(one: Result, two: Result) -> xr.Dataset:
    """The policies of both, over the runs that both have."""
    if not np.array_equal(one._data["run"].values, two._data["run"].values):
        runs = [part._data.sizes["run"] for part in (one, two)]
        raise BadArgument(f"results of one seed must have the same runs to be merged, not {runs[0]} and {runs[1]}")
    new = [name for name in two.policies if name not in one.policies]
    mine, theirs = (part._data[["reward", "bound"]] for part in (one, two))
    return _known(one, two, xr.concat([mine, theirs.sel(policy=new)], "policy"))


def _runs(one: Result, two: Result) -> xr.Dataset:
    """The runs of both, numbered from 0.

    With E environments, the numbers of the second go on at a multiple of E, so that each run keeps its environment.
    """
    if set(one.policies) != set(two.policies):
        names = [", ".join(part.policies) for part in (one, two)]
        raise BadArgument(f"results of different seeds must have the same policies, not {names[0]} and {names[1]}")
    rewards = xr.concat([one._data["reward"], two._data["reward"].sel(policy=one.policies)], "run")
    E = len(one.provenance.get("environments", [None]))
    numbers = np.arange(rewards.sizes["run"])
    if E > 1:
        mine, theirs = (part._data["run"].values for part in (one, two))
        numbers = np.concatenate([mine, -(-(1 + mine.max(initial=-1)) // E) * E + theirs])
    rewards = rewards.assign_coords(run=numbers).transpose("policy", "run", "time")
    return _known(one, two, one._data[["bound"]].assign(reward=rewards))


def _known(one: Result, two: Result, data: xr.Dataset) -> xr.Dataset:
    """With the best fixed arm, if either knows it."""
    source = one._data if "best_fixed" in one._data else two._data
    known = {name: source[name] for name in ("best_fixed", "best_arm") if name in source}
    return data.assign(known)[["reward", "bound", *known]]


def _mean_times(one: Result, two: Result) -> dict[str, float]:
    runs = one._data.sizes["run"], two._data.sizes["run"]
    both = one.nanoseconds.keys() & two.nanoseconds.keys()
    found = {name: (runs[0] * one.nanoseconds[name] + runs[1] * two.nanoseconds[name]) / sum(runs) for name in both}
    return two.nanoseconds | one.nanoseconds | found
