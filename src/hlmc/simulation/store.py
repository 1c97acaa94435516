"""Results on disk while they come in: a folder of Parquet files, each written at once when its runs are finished.

``_experiment.json`` says which experiment this is and is rewritten under the lock of ``_lock``; every Parquet file
repeats it, and says which policy, when and by which versions. ``_judged.json`` holds benchmarks. Read together
(``pandas.read_parquet(folder)``), the files are one table: policy, run, time, reward.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.checks import path as checked_path
from hlmc.errors import BadArgument, BadFile, HLMCError
from hlmc.files import disk
from hlmc.files.writing import tidy, write_whole
from hlmc.simulation.experiment import rule_of
from hlmc.simulation.own import PythonPolicy
from hlmc.simulation.runs import Played
from hlmc.simulation.stored import StoredBenchmarks
from hlmc.simulation.tables import Runs, read_runs, write_runs

if TYPE_CHECKING:
    from hlmc.adversaries.base import Adversary
    from hlmc.simulation.experiment import Experiment

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no advisory locks of this kind
    fcntl = None  # type: ignore[assignment]

EXPERIMENT = "_experiment.json"
LOCK = "_lock"


class Store:
    """A folder that holds one experiment. Policies and runs may be added to it; nothing else may change."""

    def __init__(self, folder: str | Path, experiment: Experiment) -> None:
        self.folder = checked_path("store", folder)
        self.experiment = experiment
        if self.folder.exists() and not self.folder.is_dir():
            raise BadArgument(f"store must be a folder, and {self.folder} is a file")
        self._environments = [repr(each) for each in experiment.environments]
        self._samples: dict[int, str] = {}
        self._identity = {**experiment.identity(), "rewards": self._sample(0)}
        # A Python policy without a version is not kept: nothing tells its code from that of another day.
        kept = {
            name: policy
            for name, policy in experiment.policies.items()
            if not isinstance(policy, PythonPolicy) or policy.version is not None
        }
        self._policies = {name: repr(policy) for name, policy in kept.items()}
        self._rules = {name: rule_of(policy) for name, policy in kept.items()}
        if any(self.folder.glob("*.parquet")) and not (self.folder / EXPERIMENT).exists():
            raise BadArgument(f"{self.folder} holds Parquet files but no {EXPERIMENT}; choose an empty folder")
        with _locked(self.folder):
            self._agree()
        tidy(self.folder)
        self.benchmarks = StoredBenchmarks(self.folder, len(experiment.points), len(experiment.environments))

    def _sample(self, e: int) -> str:
        """A digest of some rewards of environment e."""
        if e not in self._samples:
            self._samples[e] = _sample(self.experiment.environments[e], self.experiment.horizon)
        return self._samples[e]

    def _agree(self) -> None:
        """Refuse a folder that holds another experiment; otherwise note policies that are new."""
        path = self.folder / EXPERIMENT
        known: dict[str, Any] = {}
        rules: dict[str, Any] = {}
        if path.exists():
            theirs = _read(path)
            known = theirs.get("policies", {})
            rules = {name: _rule(theirs, name) for name in known}
            if difference := self._difference(theirs, required=True):
                raise BadArgument(
                    f"{self.folder} holds another experiment: {difference}; choose another folder or delete this one"
                )
            if len(listed := _listed(theirs)) > len(self._environments):
                self._identity["environments"] = listed
        named = {"policies": known | self._policies, "rules": rules | self._rules}
        write_whole(path, json.dumps({**self._identity, **named}, indent=1).encode())

    def _other_environments(self, there: list[Any]) -> Iterator[tuple[str, Any, Any]]:
        """Each environment there and here. As long as every run has one of its own, their number may differ."""
        here = self._environments
        yield from ((f"environment {e}", a, b) for e, (a, b) in enumerate(zip(there, here, strict=False)))
        if len(there) > len(here) and self.experiment.runs > len(here):
            yield "environments", len(there), len(here)

    def _difference(self, theirs: dict[str, Any], required: bool, e: int = 0) -> str | None:
        """The first field that is another experiment's; files of old stores do not have ``rewards``.

        ``e`` is the environment whose rewards they are.
        """
        fields = dict.fromkeys((*self._identity, "arithmetic", "delays", "missing"))
        mine = {**self._identity, "rewards": self._sample(e)}
        pairs = [(field, theirs.get(field), mine.get(field)) for field in fields if field != "environments"]
        if required:
            pairs += self._other_environments(_listed(theirs))
        known = theirs.get("policies", {})
        pairs += [(f"policy {name!r}", known[name], self._policies[name]) for name in self._policies if name in known]
        pairs += [
            (f"the rule of policy {name!r}", _rule(theirs, name), self._rules[name])
            for name in self._rules
            if name in known
        ]
        for field, there, here in pairs:
            if there != here and (required or field != "rewards" or there is not None):
                return f"{field} is {_short(there)} there and {_short(here)} here"
        return None

    def add(self, played: Played) -> None:
        """Write finished runs."""
        count = len(played.rewards)
        if count == 0 or played.name not in self._policies:
            return
        experiment = self.experiment
        first, last = played.runs[0], played.runs[-1]
        told = {**experiment.provenance([played.name]), "rewards": self._sample(first % len(self._environments))}
        if "environments" in told:
            told["environments"] = len(self._environments)
        notes = {
            "experiment": told,
            "seconds": played.seconds,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        name = f"{_file_name(played.name)}-{first:08d}-{last:08d}.parquet"
        table = Runs([played.name], np.array(played.runs, np.int64), experiment.points, played.rewards[None], notes)
        write_runs(self.folder / name, table)

    def finished(self) -> Iterator[Played]:
        """What is there already of the experiment's policies."""
        for path in sorted(self.folder.glob("*.parquet")):
            try:
                table = read_runs(path)
                (name,) = table.policies
                theirs = table.notes["experiment"]
                there, here = int(theirs.get("environments", 1)), len(self._environments)
                wanted = table.runs[table.runs < self.experiment.runs]
                if (wanted % there != wanted % here).any():
                    raise BadFile(f"{path} has runs in {there} environments, and there are {here} here")
                e = int(table.runs[0]) % there
                if e >= here:
                    continue
                if difference := self._difference(theirs, required=False, e=e):
                    raise BadFile(f"{path} is of another experiment than {EXPERIMENT} beside it: {difference}")
                if not np.array_equal(table.times, self.experiment.points):
                    raise BadFile(f"{path} has other time points than {EXPERIMENT} beside it")
                if name in self._policies:
                    yield Played(name, table.runs.tolist(), table.rewards[0], float(table.notes["seconds"]))
            except (BadFile, AttributeError, LookupError, TypeError, ValueError) as error:
                raise BadFile(f"{error}; delete {path.name} and its runs are played again") from error


def read_store(folder: Path) -> tuple[Runs, dict[str, float]]:
    """The runs that a store holds of all its policies, and nanoseconds per step by policy; notes are the provenance.

    A run that some policy has not finished is left out.
    """
    if not (folder / EXPERIMENT).exists():
        raise BadFile(f"{folder} is not the store of a simulation: it has no {EXPERIMENT}")
    told = _read(folder / EXPERIMENT)
    found: dict[str, dict[int, Any]] = {}
    seconds: dict[str, float] = {}
    provenance: dict[str, Any] = {}
    try:
        times = np.array(told["points"], np.int64)
        for path in sorted(folder.glob("*.parquet")):
            table = read_runs(path)
            (name,) = table.policies
            theirs = table.notes["experiment"]
            own = {"policies", "rules", "rewards", "environments"}
            differing = [f for f in told.keys() - own if theirs.get(f) != told[f]]
            faced = table.runs % int(theirs.get("environments", 1)) != table.runs % len(_listed(told))
            differing += ["environments"] * bool(faced.any())
            differing += ["rule"] * (_rule(theirs, name) != _rule(told, name))
            if differing:
                raise BadFile(f"{path} is of another experiment than {EXPERIMENT} beside it: {differing[0]} differs")
            found.setdefault(name, {}).update(zip(table.runs.tolist(), table.rewards[0], strict=True))
            seconds[name] = seconds.get(name, 0.0) + float(table.notes["seconds"])
            for field, value in theirs.items():
                if isinstance(value, dict) and field != "versions":
                    provenance.setdefault(field, {}).update(value)
                elif field != "environments":
                    provenance[field] = value
        if not found:
            raise BadFile(f"{folder} holds no finished run yet")
        names = [name for name in told.get("policies", found) if name in found]
        runs = sorted(set.intersection(*(set(found[name]) for name in names)))
        rewards = np.array([[found[name][run] for run in runs] for name in names])
        rewards = rewards.reshape(len(names), len(runs), len(times))
    except BadFile:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise BadFile(f"{folder} does not hold a whole experiment: {error}") from error
    steps = {name: len(found[name]) * int(times[-1]) for name in names}
    provenance["runs"] = len(runs)
    if len(_listed(told)) > 1:
        provenance["environments"] = _listed(told)
    made = Runs(names, np.array(runs, np.int64), times, rewards, provenance)
    return made, {name: 1e9 * seconds[name] / steps[name] for name in names}


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make a folder, and be the only process that reads and rewrites what it says about itself."""
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    with (folder / LOCK).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(disk.contents(path))
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{path} is not readable as JSON: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(found.get(k, {}), dict) for k in ("policies", "rules")):
        raise BadFile(f"{path} does not describe an experiment of hlmc")
    return found


def _listed(theirs: dict[str, Any]) -> list[Any]:
    """The environments of an experiment."""
    return list(theirs.get("environments") or [theirs.get("adversary")])


def _rule(theirs: dict[str, Any], name: str) -> Any:
    """The version of a policy's rule; where none is said, the first."""
    return theirs.get("rules", {}).get(name, 1)


def _sample(adversary: Adversary, horizon: int) -> str:
    """A digest of some rewards: two functions of one name, or a file that has changed, print alike."""
    steps = np.unique(np.geomspace(1, horizon, 40).astype(np.int64) - 1)
    arms = np.unique(np.linspace(0, adversary.arms - 1, 20).astype(np.int64))
    try:
        rows = [[adversary.reward(int(t), int(arm)) for arm in arms] for t in steps]
    except HLMCError:
        return "none"
    # Rounded: another machine may have another last digit.
    return hashlib.blake2b(np.array(rows).round(9).tobytes(), digest_size=8).hexdigest()


def _file_name(name: str) -> str:
    """A name that any file system takes; the digest keeps apart names that differ only in what it drops."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in ".-") else "-" for c in name).strip(".-")
    return f"{plain[:40] or 'policy'}-{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) < 120 else text[:100] + "..."
