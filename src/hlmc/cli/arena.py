"""``hlmc arena``: compare policies of equal memory on every adversary, as ratios to the paper's HLMC."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlmc.checks import writable
from hlmc.cli import options as common
from hlmc.cli.numbers import whole_number, whole_numbers
from hlmc.cli.options import option, switch
from hlmc.cli.output import Table, as_json, heading, line, show, show_json
from hlmc.errors import BadArgument, shown

if TYPE_CHECKING:
    import pandas as pd

    from hlmc.arenas import ArenaResult

EXAMPLES = """\
examples:
  hlmc arena --quick                       a small version, about a minute
  hlmc arena --store runs --report arena   the full arena: some nights on two cores
  hlmc arena --held-out --store runs       adversaries that no policy was tuned on
  hlmc arena --quick --policy mypackage.mymodule:factory
  hlmc arena --arms 100 --horizon 1e6 --adversary Needle --against Champion
  hlmc arena --quick --arms 100 --bytes 160    equal bytes instead of equal numbers kept

With --store, finished runs survive Ctrl-C: run the same command again to continue.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EXAMPLES
    switch(parser, "--held-out", "use the adversaries that no policy was tuned on")
    switch(parser, "--quick", "small sizes and few runs")
    option(parser, "--arms", "K,...", "numbers of arms (default: 16,100,1000,10000)", whole_numbers)
    option(parser, "--horizon", "T,...", "numbers of steps (default: 1e5,1e6,1e7)", whole_numbers)
    option(parser, "--memory", "M", "words of statistics (default: about 2 sqrt(K))", whole_number)
    equal = "compare in equal bytes: no policy has more than N bytes of statistics, those with few bits use them all"
    option(parser, "--bytes", "N", equal, whole_number)
    option(parser, "--adversary", "NAME", "use only this adversary; may be repeated (see --list)", action="append")
    only = "use only this policy of the arena besides HLMC; may be repeated"
    option(parser, "--against", "NAME", only, action="append")
    own = "add your own policy, returned by FUNCTION(arms, memory, horizon)"
    option(parser, "--policy", "MODULE:FUNCTION", own, _factory, [], action="append")
    option(parser, "--kinds", "A,...", "kinds of regret (default: all three)", default="weak,shifting,dynamic")
    option(parser, "--runs", "N", "runs per policy (default: 32; 4 with --quick)", whole_number)
    common.seed(parser)
    common.jobs(parser)
    common.device(parser, "where to run the policies")
    common.precision(parser)
    option(parser, "--store", "DIR", "store finished runs in DIR, and continue from them")
    option(parser, "--csv", "FILE", "write all ratios and intervals to a .csv file", Path)
    option(parser, "--plot", "FILE", "draw the heat map to a .png, .svg or .pdf file", Path)
    option(parser, "--report", "DIR", "write tables, data and figures to a folder", Path)
    shown = "kind of regret in the tables by adversary and in --plot (default: weak)"
    option(parser, "--regret", ("weak", "shifting", "dynamic"), shown, default="weak")
    switch(parser, "--tables", "also print the ratios by adversary")
    switch(parser, "--json", "print JSON")
    switch(parser, "--quiet", "print no estimate and no progress")
    switch(parser, "--list", "list the policies and the adversaries, and exit")


FEW = 3
"""So many adversaries have their tables printed without being asked for."""


def _factory(text: str) -> tuple[str, Any]:
    """The name and the function of ``package.module:factory``."""
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not MODULE:FUNCTION, such as mypackage.mymodule:factory")
    if "" not in sys.path:
        sys.path.insert(0, "")  # find modules in the working directory, as python -m does
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be imported: {error}") from error
    if not callable(found):
        raise argparse.ArgumentTypeError(f"{text!r}: {module} has no function {name!r}")
    return name, found


def run(options: argparse.Namespace) -> int:
    """Run the arena and print the result."""
    if options.list:
        _list(options)
    else:
        _check(options)
        _show(_arena(options), options)
    return 0


def _check(options: argparse.Namespace) -> None:
    from hlmc.plotting import check_path

    if options.plot is not None:
        check_path(options.plot)
    if options.csv is not None:
        if options.csv.suffix != ".csv":
            raise BadArgument(f"--csv must end in .csv, not {shown(str(options.csv))}")
        writable("--csv", options.csv)
    if options.report is not None:
        options.report.mkdir(parents=True, exist_ok=True)


def _arena(options: argparse.Namespace) -> ArenaResult:
    from hlmc.arenas import arena

    same = ("against", "arms", "memory", "bytes", "quick", "runs", "seed", "store", "jobs", "device", "precision")
    return arena(
        dict(options.policy),
        adversaries=options.adversary,
        horizons=options.horizon,
        kinds=[kind.strip() for kind in options.kinds.split(",")],
        suite="held-out" if options.held_out else "catalogue",
        progress=False if options.quiet else None,
        **{name: getattr(options, name) for name in same},
    )


def _list(options: argparse.Namespace) -> None:
    from hlmc.arenas import CASES, FULL, HELD_OUT, IN_BYTES, POLICIES

    heading("Policies")
    line(", ".join(name for name in POLICIES if name not in FULL))
    line(f"with memory for all arms: {', '.join(FULL)}")
    line(f"with --bytes, also: {', '.join(name for name in IN_BYTES if name not in POLICIES)}")
    heading("Adversaries")
    line(", ".join(CASES))
    line(f"held out: {', '.join(HELD_OUT)}")


def _show(result: ArenaResult, options: argparse.Namespace) -> None:
    from hlmc import plotting
    from hlmc.arenas.drawing import heat_map_figure
    from hlmc.arenas.writing import NOTES

    written = []
    if options.csv is not None:
        result.save(options.csv)
        written.append(options.csv)
    if options.plot is not None:
        written.append(plotting.save(heat_map_figure(result, options.regret), options.plot))
    if options.report is not None:
        written.append(result.report(options.report))
    if options.json:
        show_json([as_json(row) for row in result.data.to_dict("records")])
        return

    def narrow(frame: pd.DataFrame) -> pd.DataFrame:
        """Bytes are 8 times the words: for those who asked for equal bytes."""
        return frame if options.bytes else frame.drop(columns="bytes")

    line(f"{result.verdict()}.", style="bold")
    heading("All sizes: median ratios, and how many pairs of adversary and size have one below, about and above 1")
    counts = {f"{where} 1": where for where in ("below", "about", "above")}  # as the heading has it
    _frame(narrow(result.overview()).rename(columns=counts), ranked=True)
    kind = options.regret
    tables = options.tables or result.data["adversary"].nunique() <= FEW
    for arms, horizon in result.sizes if tables else ():
        if not result.data.query("kind == @kind and arms == @arms and horizon == @horizon").empty:
            heading(f"{kind.capitalize()} regret, K = {arms:,}, T = {horizon:,}")
            _frame(narrow(result.table(kind, arms, horizon)))
    line()
    for note in filter(None, (*NOTES, result.note)):
        line(note)
    if not tables:
        line("--tables prints the ratios by adversary.")
    if written:
        line(f"written: {', '.join(map(str, written))}")


def _frame(frame: pd.DataFrame, ranked: bool = False) -> None:
    """Print a table. If it is ranked, the best row stands out, and policies with more memory (*) stand back."""
    table = Table(["", *map(str, frame.columns)], left=frozenset({0}))
    for i, (name, *cells) in enumerate(frame.itertuples()):
        style = "" if not ranked else "dim" if str(cells[0]).endswith("*") else "bold green" if i == 0 else ""
        table.add(str(name), *map(str, cells), style=style)
    show(table)
