"""``hlmc reproduce``: run the paper's numerical section, check its claims, and write a report."""

from __future__ import annotations

import argparse
from pathlib import Path

from hlmc.cli.numbers import whole_number
from hlmc.cli.options import device, jobs, option, seed, switch
from hlmc.cli.output import Table, heading, line, show
from hlmc.errors import BadArgument, need_lab
from hlmc.paper import FIGURES

FULL, QUICK, RUNS = 10**7, 10**6, 10

EXAMPLES = """\
examples:
  hlmc reproduce --quick    all figures at a tenth of the paper's horizons
  hlmc reproduce            all figures as in the paper: T = 10^7, ten runs
  hlmc reproduce --resume   continue after Ctrl-C from the finished runs
  hlmc reproduce weak-1 memory --runs 100 --out more

The report is DIR/index.html, a single file; DIR/report.md is for a terminal. \
Figures are in DIR/figures, data as Parquet in DIR/data, finished runs in DIR/runs.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EXAMPLES
    parser.add_argument("names", nargs="*", metavar="NAME", help="figures to run; default: all (see --list)")
    switch(parser, "--list", "list the figures and exit")
    switch(parser, "--quick", f"limit the longest horizon to {QUICK:,} steps")
    option(parser, "--runs", "N", f"runs per policy (default: {RUNS})", whole_number, RUNS)
    longest = f"steps of the longest experiments (default: {FULL:,}); the others are scaled in proportion"
    option(parser, "--horizon", "T", longest, whole_number)
    seed(parser)
    jobs(parser)
    device(parser, "where simulations run")
    option(parser, "--out", "DIR", "folder of the report (default: report)", Path, Path("report"))
    switch(parser, "--resume", "continue from the finished runs in DIR")


def run(options: argparse.Namespace) -> int:
    """Run the figures, write the report, and print a summary."""
    if options.list:
        table = Table(("name", "what"), left=frozenset({0, 1}), fold=frozenset({1}))
        for name, what in FIGURES.items():
            table.add(name, what)
        show(table)
        return 0
    names = list(dict.fromkeys(options.names)) or list(FIGURES)
    for name in names:
        if name not in FIGURES:
            raise BadArgument(f"there is no figure {name!r}; there are {', '.join(FIGURES)}")
    if options.quick and options.horizon is not None:
        raise BadArgument("give --quick or --horizon, not both")
    for name, least in (("runs", 1), ("horizon", 10_000), ("jobs", 1)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise BadArgument(f"--{name} must be at least {least:,}, not {value:,}")
    need_lab()
    options.out.mkdir(parents=True, exist_ok=True)

    from hlmc.paper.experiment import Settings
    from hlmc.paper.reproduction import reproduce
    from hlmc.paper.writing import write

    horizon = options.horizon or (QUICK if options.quick else FULL)
    settings = Settings(options.runs, horizon, options.seed, options.device)
    report = reproduce(names, settings, options.out, options.jobs, options.resume, _command(options))
    where = write(report, options.out)
    _show(report, where)
    return 0


def _command(options: argparse.Namespace) -> str:
    """The command line that repeats this call."""
    words = ["hlmc reproduce", *options.names]
    words += ["--quick"] if options.quick else []
    words += [f"--runs {options.runs}"] if options.runs != RUNS else []
    words += [f"--horizon {options.horizon}"] if options.horizon else []
    words += [f"--seed {options.seed}"] if options.seed else []
    words += [f"--device {options.device}"] if options.device != "cpu" else []
    return " ".join(words)


def _show(report: object, where: Path) -> None:
    from hlmc.paper.claims import Verdict
    from hlmc.paper.reproduction import Report

    assert isinstance(report, Report)
    heading(report.size)
    styles = {Verdict.HOLDS: "", Verdict.FAILS: "red", Verdict.UNDECIDED: "yellow", Verdict.LATER: "yellow"}
    table = Table(("figure", "claim", "verdict", "measured"), left=frozenset({0, 1, 2, 3}), fold=frozenset({1, 3}))
    for section, claim in report.claims:
        other = "" if claim.printed else " *"
        table.add(section.name, claim.name + other, str(claim.verdict), claim.measured, style=styles[claim.verdict])
    show(table)
    line("* another reading of the same sentence")
    line()
    line(report.verdicts)
    line(f"Report: {where} ({report.seconds:.0f} s)")
