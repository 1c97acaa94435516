"""The arena: from sizes, adversaries and policies to an :class:`~hlmc.arenas.result.ArenaResult`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlmc.arenas.cases import CASES, Case
from hlmc.arenas.contenders import IN_BYTES, POLICIES, budget, chosen, made, with_window
from hlmc.arenas.held_out import HELD_OUT
from hlmc.arenas.playing import Cell, Costs, play
from hlmc.arenas.result import ArenaResult, runs_of
from hlmc.checks import choice, flag, listed, whole
from hlmc.checks import path as checked_path
from hlmc.delays import Delays
from hlmc.errors import BadArgument, need_lab, shown
from hlmc.evaluation import ENOUGH
from hlmc.evaluation.regret import PATHWISE as KINDS
from hlmc.evaluation.segments import checked_threads
from hlmc.interrupts import Interrupted, kept_in
from hlmc.simulation.experiment import checked_arithmetic, checked_feedback
from hlmc.simulation.progress import Progress, checked_progress, duration, reporter
from hlmc.simulation.workers import checked_executor
from hlmc.spelling import hint, spelled, suggesting
from hlmc.streams import derive_seed

if TYPE_CHECKING:
    import pandas as pd

ARMS = (16, 100, 1000, 10_000)
HORIZONS = (10**5, 10**6, 10**7)
RUNS = ENOUGH

SUITES: dict[str, dict[str, Case]] = {"catalogue": CASES, "held-out": HELD_OUT}

DEFAULTS: dict[tuple[str, bool], tuple[tuple[int, ...], tuple[int, ...], int]] = {
    ("catalogue", False): (ARMS, HORIZONS, RUNS),
    ("catalogue", True): ((16, 100), (20_000,), 4),
    ("held-out", False): ((100,), (10**5, 10**6), RUNS),
    ("held-out", True): ((100,), (20_000,), 4),
}
"""Arms, horizons and runs by (suite, quick)."""


@suggesting
def arena(
    policies: Mapping[str, Any] | None = None,
    *,
    against: Iterable[str] | str | None = None,
    adversaries: Iterable[str] | str | None = None,
    arms: Iterable[int] | int | None = None,
    horizons: Iterable[int] | int | None = None,
    memory: int | None = None,
    bytes: int | None = None,  # noqa: A002
    kinds: Iterable[str] | str = KINDS,
    runs: int | None = None,
    seed: int = 0,
    suite: str = "catalogue",
    quick: bool = False,
    store: str | Path | None = None,
    jobs: int | None = None,
    executor: Any = None,
    progress: Progress = None,
    device: str = "cpu",
    precision: str | None = None,
    delays: Delays | int | None = None,
    missing: float = 0.0,
) -> ArenaResult:
    """Compare policies of equal memory with the paper's HLMC, on every adversary and at many sizes.

    All policies have as many words of statistics as HLMC with two even levels, about 2 sqrt(K). Policies with memory
    for all arms are included for comparison and marked. If the rewards of an adversary are random, each run has its own
    sequence. Regret is weak, shifting (V = 10 pieces) and dynamic; ``docs/arena.md`` says which is evaluated at which
    size.

    Memory is counted in numbers kept, as in the paper, unless ``bytes`` is given. Then no policy has more than that
    many bytes of statistics, and policies with codes of few bits (``docs/research/bits.md``) use as many bits as fit.

    Parameters
    ----------
    policies
        Your own policies, in addition to the arena's: functions ``(arms, memory, horizon) -> policy`` by name. A
        function that returns None omits a size. What they return may be plain Python (:class:`hlmc.PythonPolicy`), and
        so may the policy itself be: a factory ``(arms, horizon, seed)``, told by the name ``seed``, or an object.
    against
        Names of the arena's policies to include (:data:`hlmc.arenas.POLICIES`), besides the baseline. Default: all.
    adversaries
        Names from the suite. Default: all.
    arms, horizons
        Sizes. Default: K = 16, 100, 1000, 10^4 and T = 10^5, 10^6, 10^7.
    memory
        Words of statistics, the same for every K. Default: about 2 sqrt(K).
    bytes
        Bytes of statistics, the same for every policy and every K, at least 16: a word of 64 bits takes 8. Policies
        that need more are omitted; your own must fit. Not together with ``memory``.
    kinds
        The kinds of regret: ``"weak"`` (always included), ``"shifting"``, ``"dynamic"``. Default: all.
    runs
        Runs of each policy, at least 2. Default: 32, from which on intervals cover what they say.
    seed
        The random seed of policies and adversaries.
    suite
        ``"catalogue"``, or ``"held-out"``: adversaries that no policy was tuned on.
    quick
        Small sizes and few runs; takes about a minute.
    store
        A folder for finished runs and benchmarks. The same call again computes only what is missing.
    jobs
        Number of threads. Default: one per core.
    executor
        An executor with the interface of :mod:`concurrent.futures`, instead of threads.
    progress
        None: an estimate, then the progress, on standard error or as a notebook's bar. False: silence. A function is
        called with the work done and all the work, in estimated seconds of one core, from any thread.
    device, precision
        As in :func:`hlmc.simulate`. A GPU plays all policies and runs with the same sequence of rewards in
        parallel; benchmarks are always computed on the processor.
    delays, missing
        As in :func:`hlmc.simulate`. A policy without ``pending`` gets a window that is as long as the longest delay.

    Returns
    -------
    ArenaResult
        Ctrl-C raises a :class:`KeyboardInterrupt` whose ``partial`` is the result of the pairs of adversary
        and size that were finished, or None.

    Examples
    --------
    >>> import hlmc
    >>> mine = lambda arms, memory, horizon: hlmc.HLMC(arms, memory=memory, horizon=horizon, routines="exp3p")
    >>> result = hlmc.arena({"mine": mine}, against=["Champion", "EXP3"], adversaries=["Alternating"], arms=[16],
    ...                     horizons=[2000], runs=4, progress=False)
    >>> result.table().index.tolist()
    ['HLMC', 'Champion', 'EXP3', 'mine']
    >>> result = hlmc.arena(bytes=64, against=["Champion", "Tsallis-INF bits"], adversaries=["Needle"], arms=[16],
    ...                     horizons=[2000], runs=4, progress=False)
    >>> result.table()["bytes"].tolist()
    ['64', '64', '64']
    """
    need_lab()
    choice("suite", suite, *SUITES)
    usual_arms, usual_horizons, usual_runs = DEFAULTS[suite, flag("quick", quick)]
    derive_seed(seed)
    checked_progress(progress)
    law, never = checked_feedback(device, delays, missing)
    words, limited = _words(memory, bytes)
    setup = _Setup(
        policies=chosen(policies, against, POLICIES if bytes is None else IN_BYTES),
        cases=_cases(SUITES[suite], adversaries),
        arms=_sizes("arms", arms, usual_arms, 3),
        horizons=_sizes("horizons", horizons, usual_horizons, 1),
        words=words,
        limited=limited,
        kinds=_kinds(kinds),
        runs=usual_runs if runs is None else whole("runs", runs, 2),
        seed=seed,
        arithmetic=checked_arithmetic(device, precision),
        delays=law,
        missing=never,
    )
    cells = setup.cells()
    if not cells:
        raise BadArgument("no adversary supports these sizes: most need K times T of at most 10^10")
    return ArenaResult(played(cells, store, jobs, executor, progress))


def _words(memory: Any, size: Any) -> tuple[int | None, bool]:
    """Words of statistics, if they are given, and whether no policy may have more."""
    if size is None:
        return None if memory is None else whole("memory", memory, 2), False
    if memory is not None:
        raise BadArgument(f"memory must be None where bytes are given, not {shown(memory)}")
    return whole("bytes", size, 16) // 8, True


def _cases(suite: Mapping[str, Case], names: Any) -> list[Case]:
    if names is None:
        return list(suite.values())
    wanted = [names] if isinstance(names, str) else listed("adversaries", names, "names")
    meant = [spelled(name, suite) for name in wanted]
    for name, known in zip(wanted, meant, strict=True):
        if known is None:
            raise BadArgument(f"adversaries: there is no {shown(name)} in this suite; {hint(name, suite)}")
    return [suite[name] for name in suite if name in meant]


def _sizes(name: str, given: Any, usual: tuple[int, ...], least: int) -> tuple[int, ...]:
    if given is None:
        return usual
    sizes = listed(name, given) if isinstance(given, Iterable) else [given]
    return tuple(dict.fromkeys(whole(name, value, least) for value in sizes))


def _kinds(given: Any) -> list[str]:
    wanted = [given] if isinstance(given, str) else listed("kinds", given, "names")
    return ["weak", *(choice("kinds", kind, *KINDS) for kind in wanted)]


@dataclass(frozen=True)
class _Setup:
    """What an arena plays, all of it checked.

    Parameters
    ----------
    policies
        How each policy is made for K arms, M words and T steps, by name.
    cases, kinds
        The adversaries, and which kinds of regret are wanted of them.
    arms, horizons
        All pairs of these are the sizes.
    words, limited
        Words of statistics of every policy, or None for those that go with K; and whether no policy may have more.
    runs, seed
        Runs of every pair of policy and adversary, and their seed.
    arithmetic
        Device and precision.
    delays, missing
        When rewards come, or None for at once; and the share that never does.
    """

    policies: Mapping[str, Any]
    cases: Sequence[Case]
    arms: Sequence[int]
    horizons: Sequence[int]
    words: int | None
    limited: bool
    kinds: Sequence[str]
    runs: int
    seed: int
    arithmetic: tuple[str, str]
    delays: Delays | None
    missing: float

    def cells(self) -> list[Cell]:
        """Every adversary at every size that it supports; small sizes first, so that the first results come soon."""
        cells = []
        for arms, horizon in sorted(product(self.arms, self.horizons), key=math.prod):
            words = budget(arms) if self.words is None else self.words
            policies = self._policies(arms, words, horizon)
            for case in self.cases:
                kinds = tuple(kind for kind in case.kinds(arms, words, horizon) if kind in self.kinds)
                if kinds:
                    sizes = case, arms, words, horizon, self.runs, self.seed, kinds
                    cells.append(Cell(*sizes, policies, self.arithmetic, self.delays, self.missing))
        return cells

    def _policies(self, arms: int, words: int, horizon: int) -> dict[str, Any]:
        """The policies for a size, with a window where rewards come late or never."""
        policies = made(self.policies, arms, words, horizon, self.limited)
        if self.delays is None and self.missing == 0.0:
            return policies
        window = 1 if self.delays is None else min(self.delays.longest + 1, horizon)
        return {name: with_window(name, each, window) for name, each in policies.items()}


def played(
    cells: Sequence[Cell], store: str | Path | None, jobs: int | None, executor: Any, progress: Progress
) -> pd.DataFrame:
    """The runs of all cells, concatenated."""
    import pandas as pd

    device = cells[0].arithmetic[0]
    checked_executor(executor, device)
    folder = None if store is None else checked_path("store", store)
    threads = checked_threads(jobs, "jobs")
    costs = Costs.of(cells)
    parts: list[pd.DataFrame] = []
    try:
        with reporter(progress, {"": sum(costs.cells)}) as report:
            if (progress is None or progress is True) and device == "cpu":
                time = duration(sum(costs.cells) / threads)
                again = " at most; runs in the store are not repeated" if folder is not None else ""
                cores = f"{threads} core{'s' * (threads > 1)}"
                sys.stderr.write(f"{len(cells)} pairs of adversary and size, about {time} on {cores}{again}\n")
            for cell, cost in zip(cells, costs.cells, strict=True):
                slow = {name: costs.steps[name, cell.arms] for name in cell.policies}
                parts.append(runs_of(cell, play(cell, folder, executor, threads, slow, report, cost)))
    except KeyboardInterrupt:
        message = f"interrupted after {len(parts)} of {len(cells)} pairs of adversary and size{kept_in(folder)}"
        partial = ArenaResult(pd.concat(parts, ignore_index=True)) if parts else None
        raise Interrupted(message, len(parts), lambda: partial) from None
    return pd.concat(parts, ignore_index=True)
