"""Run figures and assemble the report: simulate, store, check claims."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hlmc.errors import BadArgument
from hlmc.paper import figure
from hlmc.paper.claims import Claim, Verdict, at_full_size, held_against
from hlmc.paper.experiment import FULL, Results, Section, Settings
from hlmc.paper.tables import regret_tables
from hlmc.simulation import Interrupted, reporter
from hlmc.versions import versions

RUNS = "runs"
"""The subfolder of a report that stores finished runs."""


@dataclass(frozen=True)
class Report:
    """A report: the settings, the sections and their claims."""

    settings: Settings
    sections: tuple[Section, ...]
    command: str
    seconds: float

    @property
    def claims(self) -> list[tuple[Section, Claim]]:
        """All claims with their sections."""
        return [(section, claim) for section in self.sections for claim in section.claims]

    def count(self, verdict: Verdict, printed: bool = True) -> int:
        """The number of claims with this verdict."""
        return sum(claim.verdict is verdict and claim.printed is printed for _, claim in self.claims)

    @property
    def verdicts(self) -> str:
        """How many claims have which verdict, as a sentence."""
        held, failed, undecided, later = (self.count(verdict) for verdict in Verdict)
        return (
            f"{held} claims hold, {failed} do not hold, {undecided} are undecided at this number of runs, "
            f"{later} need the full horizon."
        )

    @property
    def size(self) -> str:
        """Runs and horizon, as text."""
        T = self.settings.horizon
        reduced = "" if T == FULL else f", reduced from the paper's {FULL:,}"
        return f"{self.settings.runs} runs, longest horizon {T:,} steps{reduced}, seed {self.settings.seed}"

    @property
    def versions(self) -> str:
        """The versions of Python and the packages, and the machine."""
        names = {"python": "Python"}
        return f"{', '.join(f'{names.get(k, k)} {v}' for k, v in versions().items())}, {platform.machine()}"


def reproduce(
    names: Sequence[str],
    settings: Settings,
    out: Path,
    jobs: int | None = None,
    resume: bool = False,
    command: str = "",
) -> Report:
    """Run the figures, store every finished run under ``out``, and check the claims.

    Without ``resume``, runs of these figures that an earlier call stored are removed first.
    """
    modules = [figure(name) for name in names]
    plans = [(module, module.parts(settings)) for module in modules]
    if not resume:
        for module in modules:
            _forget(out / RUNS / module.NAME)
    began = time.monotonic()
    sections = []
    try:
        with reporter(None, {"": sum(part.work for _, parts in plans for part in parts)}) as report:
            for module, parts in plans:
                started = time.monotonic()
                results: Results = {}
                for part in parts:
                    folder, name = out / RUNS / module.NAME / part.key, f"{module.NAME}, {part.title}"
                    results[part.key] = part.play(settings, jobs, folder, report, name)
                    _save(results[part.key], out / "data", f"{module.NAME}-{part.key}")
                section = _section(module, parts, results, settings)
                sections.append(replace(section, seconds=time.monotonic() - started))
    except KeyboardInterrupt:
        kept = f"finished runs are stored in {out / RUNS}; the same command with --resume continues from there"
        raise Interrupted(f"interrupted; {kept}", len(sections)) from None
    return Report(settings, tuple(sections), command, time.monotonic() - began)


def _section(module: Any, parts: Sequence[Any], results: Results, settings: Settings) -> Section:
    code = "import hlmc\n\n" + "\n".join(f"# {part.title}\n{part.code(settings)}" for part in parts)
    return Section(
        module.NAME,
        module.TITLE,
        module.SOURCE,
        " ".join(module.TEXT.split()),
        tuple(module.tables(results, settings) if hasattr(module, "tables") else regret_tables(parts, results)),
        tuple(module.pictures(results, settings)),
        held_against(
            module.claims(results, settings),
            module.NAME,
            at_full_size() if settings.horizon < FULL else {},
            settings.runs >= Settings().runs,
        ),
        code,
    )


def _save(result: Any, folder: Path, name: str) -> None:
    """One Parquet file for an experiment; for a game, one for each policy and run."""
    folder.mkdir(parents=True, exist_ok=True)
    if not isinstance(result, dict):
        result.save(folder / f"{name}.parquet")
        return
    for policy, played in result.items():
        plain = "".join(c if c.isalnum() else "-" for c in policy)
        for run, each in enumerate(played):
            each.save(folder / f"{name}-{plain}-{run:02d}.parquet")


def _forget(folder: Path) -> None:
    """Remove the stored runs of an earlier call, and no other files."""
    if not folder.exists():
        return
    others = [
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".parquet" and not path.name.startswith("_")
    ]
    if others:
        raise BadArgument(f"{others[0]} was not written by hlmc reproduce; give another --out, or --resume")
    shutil.rmtree(folder)
