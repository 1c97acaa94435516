"""``hlmc bandit``: look at a bandit that is kept in a database."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hlmc.cli.options import option, switch
from hlmc.cli.output import line, show_json

EXAMPLES = """\
examples:
  hlmc bandit shop.db                     the report of the experiment "default"
  hlmc bandit shop.db --name checkout --json
  hlmc bandit shop.db --list              the experiments of a store
  hlmc bandit shop.db --check             the database, every row, every decision; exit status 1 if something is wrong
  hlmc bandit shop.db --backup copy.db    a copy as of one moment, while others write
  hlmc bandit shop.db --export log.csv    all decisions; .parquet needs the extra lab
  hlmc bandit postgresql://shop@db/shop   a store in PostgreSQL

The store is opened readonly: nothing in it changes.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EXAMPLES
    parser.add_argument("store", metavar="STORE", help="an SQLite file, or a postgresql:// URL")
    option(parser, "--name", "NAME", "the experiment (default: default)", default="default")
    what = parser.add_mutually_exclusive_group()
    switch(what, "--list", "list the experiments")
    switch(what, "--check", "check the store and replay every row")
    option(what, "--backup", "FILE", "write a copy of the store to a new file", Path)
    option(what, "--export", "FILE", "write all decisions to FILE, .csv or .parquet", Path)
    switch(parser, "--json", "print JSON")


def run(options: argparse.Namespace) -> int | None:
    """Print a report, or do what is asked for."""
    import hlmc
    from hlmc.bandit.opening import experiments

    if options.list:
        found = experiments(options.store)
        if options.json:
            show_json(found)
        for name, policy in [] if options.json else found.items():
            line(f"{name}: {policy}")
        return None
    with hlmc.open(options.store, name=options.name, readonly=True) as bandit:
        if options.check:
            problems = bandit.check()
            if options.json:
                show_json({"problems": problems})
            else:
                line("\n".join(problems) if problems else "nothing is wrong")
            return 1 if problems else None
        if options.backup is not None:
            bandit.backup(options.backup)
            print(f"wrote {options.backup}", file=sys.stderr)  # noqa: T201
            return None
        if options.export is not None:
            count = bandit.export(options.export)
            print(f"wrote {count:,} decisions to {options.export}", file=sys.stderr)  # noqa: T201
            return None
        report = bandit.report()
        if options.json:
            show_json(report.as_dict())
        else:
            line(str(report))
    return None
