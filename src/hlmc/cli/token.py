"""``hlmc token``: make, list and revoke the tokens of a service."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict
from pathlib import Path

from hlmc.cli.options import option, switch
from hlmc.cli.output import line, show_json

EXAMPLES = """\
examples:
  hlmc token new shop.tokens --experiment drinks --rights ask,tell --note "web shop"
  hlmc token new shop.tokens              every right on every experiment
  hlmc token list shop.tokens
  hlmc token revoke shop.tokens 5f0c7d0a9b1e

A new token is printed once; the file keeps a hash of it. Services notice changes of the file within a second or so.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EXAMPLES
    parser.add_argument("action", choices=("new", "list", "revoke"), help="what to do")
    parser.add_argument("file", type=Path, metavar="FILE", help="the file of tokens; new makes it")
    parser.add_argument("id", nargs="?", metavar="ID", help="the token to revoke, as list shows it")
    option(parser, "--experiment", "NAME", "the experiment (default: all)", default="*")
    rights = "some of read,ask,tell,admin (default: all)"
    option(parser, "--rights", "LIST", rights, default="read,ask,tell,admin")
    option(parser, "--note", "TEXT", "a note, such as the owner of the token", default="")
    switch(parser, "--json", "print JSON")


def run(options: argparse.Namespace) -> int | None:
    """Do what is asked for."""
    from hlmc.errors import BadArgument
    from hlmc.serve import rights

    if (options.id is not None) != (options.action == "revoke"):
        raise BadArgument("ID must be given with revoke, and with nothing else")
    if options.action == "new":
        text, token = rights.made(options.experiment, options.rights.split(","), options.note)
        rights.add(options.file, token)
        if options.json:
            show_json({"token": text, "id": token.id})
        else:
            line(text)
            print("keep it: it is not shown again", file=sys.stderr)  # noqa: T201
    elif options.action == "revoke":
        rights.revoke(options.file, options.id)
    elif options.json:
        show_json([{k: v for k, v in asdict(each).items() if k != "hash"} for each in rights.tokens(options.file)])
    else:
        for each in rights.tokens(options.file):
            made = time.strftime("%Y-%m-%d", time.gmtime(each.created))
            line(f"{each.id}  {made}  {each.experiment}  {','.join(each.rights)}  {each.note}".rstrip())
    return None
