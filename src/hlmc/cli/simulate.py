"""``hlmc simulate FILE.toml``: run the experiment described in a file, and print a summary."""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlmc.checks import whole
from hlmc.cli.numbers import BadNumber, whole_number
from hlmc.cli.options import device, jobs, option, precision, switch
from hlmc.cli.output import Table, as_json, line, show, show_json
from hlmc.errors import BadArgument, extra, shown

if TYPE_CHECKING:
    from hlmc.simulation import Interrupted, Result
    from hlmc.simulation.file import Described

EPILOG = """\
examples:
  hlmc examples trap          writes the experiment trap.toml
  hlmc simulate trap.toml
  hlmc simulate trap.toml --set horizon=1e6 --set policies.HLMC.memory=30
  hlmc simulate trap.toml --scheduler tcp://10.0.0.1:8786 --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EPILOG
    parser.add_argument("file", metavar="FILE.toml", help="the experiment (hlmc examples has some)")
    option(parser, "--set", "KEY=VALUE", "override a key of the file; may be repeated", _setting, [], action="append")
    workers = parser.add_mutually_exclusive_group()
    jobs(workers)
    option(workers, "--scheduler", "ADDRESS", "run on a Dask cluster at tcp://HOST:PORT")
    device(workers)
    precision(parser)
    switch(parser, "--json", "print the table and its provenance as JSON")
    switch(parser, "--quiet", "print no progress and no table")


def run(options: argparse.Namespace) -> int:
    """Run the experiment; save, draw and print its result."""
    from hlmc.simulation import Interrupted, simulate
    from hlmc.simulation.file import read_experiment

    described = read_experiment(options.file, dict(options.set))
    with _workers(options) as executor:
        try:
            result = simulate(
                described.policies,
                described.adversary,
                executor=executor,
                device=options.device,
                precision=options.precision,
                progress=False if options.quiet else None,
                **described.arguments,
            )
        except Interrupted as interrupt:
            _interrupted(options, described, interrupt)
            return 130
    # If a write fails, for example on a full disk, the table is still printed and the result saved elsewhere.
    failed = []
    for write in (_save, _draw):
        try:
            write(described, result)
        except OSError as error:
            failed.append(error)
    _print(options, described, result, written=not failed)
    if failed:
        raise failed[0]
    return 0


def _setting(text: str) -> tuple[str, Any]:
    """A key and its value: as TOML reads it, or a number such as 10**6, or else the text itself.

    >>> _setting("horizon=1e6"), _setting("horizon=10**6"), _setting("policies.HLMC.groups=[5, 5]")
    (('horizon', 1000000.0), ('horizon', 1000000), ('policies.HLMC.groups', [5, 5]))
    >>> _setting("adversary.name = BlockTrap")
    ('adversary.name', 'BlockTrap')
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not all(key.split(".")):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE, such as horizon=1e6 or policies.HLMC.memory=20")
    with suppress(tomllib.TOMLDecodeError, RecursionError):
        return key, tomllib.loads(f"value = {value}")["value"]
    with suppress(BadNumber):
        return key, whole_number(value)
    return key, value


@contextmanager
def _workers(options: argparse.Namespace) -> Iterator[Any]:
    """The executor, or None for the default of :func:`hlmc.simulate`."""
    if options.scheduler is not None:
        try:
            from distributed import Client
        except ImportError as error:
            raise extra("dask.distributed", "dask") from error
        if "://" not in options.scheduler:
            raise BadArgument(
                f"--scheduler must be an address such as tcp://10.0.0.1:8786, not {shown(options.scheduler)}"
            )
        connect: Callable[..., Any] = Client
        with connect(options.scheduler, timeout=10) as client:
            yield client.get_executor(pure=False)
    elif options.jobs is not None:
        with ThreadPoolExecutor(whole("--jobs", options.jobs, 1)) as pool:
            yield pool
    else:
        yield None


def _save(described: Described, result: Result) -> None:
    if described.save is None:
        return
    try:
        result.save(described.save)
    except OSError as error:
        rescued = Path(tempfile.mkdtemp(prefix="hlmc-")) / described.save.name
        result.save(rescued)
        why = f"{error.strerror or error}; the result was saved in {rescued} instead of"
        raise type(error)(error.errno, why, str(described.save)) from error


def _draw(described: Described, result: Result) -> None:
    from hlmc import plotting

    for look in described.plots:
        if look.file is not None:
            with plotting.style():
                figure = plotting.figure(8.4, 4.2)
                result.plot(look.kind, look.switches, ax=figure.subplots(), log=look.log)
            plotting.save(figure, look.file)


def _print(options: argparse.Namespace, described: Described, result: Result, written: bool) -> None:
    from hlmc.simulation.environments import title

    look = described.summary
    if options.quiet and not options.json:
        return
    summary = result.summary(look.kind, look.switches, look.level)
    if options.json:
        rows = {str(name): as_json(row) for name, row in summary.to_dict("index").items()}
        regret = {"kind": summary.attrs["kind"], "switches": look.switches, "level": look.level}
        experiment = {key: value for key, value in result.provenance.items() if key != "points"}
        show_json({"experiment": experiment, "regret": regret, "summary": rows})
        return
    line(f"{title(result.provenance)}: {_count(result.reward.sizes['run'])}, T = {result.provenance['horizon']:,}")
    switches = "" if look.switches is None else f" with {look.switches} switches"
    line(f"regret: {summary.attrs['kind'] or 'not known'}{switches}")
    line()
    judged = summary.attrs["kind"] is not None
    ranked = summary.sort_values("regret" if judged else "reward", ascending=judged, kind="stable").index
    shown = summary.shown().loc[ranked]
    table = Table(["", *shown.columns], left=frozenset({0}))
    for i, (name, *cells) in enumerate(shown.itertuples()):
        table.add(str(name), *map(str, cells), style="" if i or len(ranked) == 1 else "bold green")
    show(table)
    line("words: statistics + control (clocks, sums, the random stream)", style="dim")
    if summary.note:
        line(summary.note)
    if len(ranked) > 1 and result.reward.sizes["run"]:
        line(_verdict(result, *map(str, ranked[:2])), style="bold")
    files = [str(look.file) for look in described.plots]
    if described.save is not None:
        files.append(str(described.save))
    if files and written:
        line()
        line(f"written: {', '.join(files)}")


def _verdict(result: Result, first: str, second: str) -> str:
    """What the first two of the table say, in one sentence."""
    found = result.compare(first, second)
    said, *_ = str(found).splitlines()  # the note on few runs has been printed
    return f"{first} is ahead: {said}." if found.low > 0.0 else f"{first} and {second} cannot be told apart: {said}."


def _interrupted(options: argparse.Namespace, described: Described, interrupt: Interrupted) -> None:
    """Report what is stored; print the summary of what is not."""
    kept = "store" in described.arguments
    sys.stderr.write(
        f"hlmc simulate: {interrupt}{'' if kept else '; none are stored, because the file has no store'}\n"
    )
    if not kept and interrupt.finished and interrupt.partial.reward.sizes["run"]:
        _print(options, described, interrupt.partial, written=False)


def _count(runs: int) -> str:
    return f"{runs:,} run{'' if runs == 1 else 's'}"
