"""``hlmc serve``: decisions over HTTP."""

from __future__ import annotations

import argparse
from pathlib import Path

from hlmc.cli.options import option, switch

EXAMPLES = """\
examples:
  hlmc serve --demo                       a shop with simulated visitors: open the address that it prints
  hlmc serve shop.toml                    the experiments of a file; they are made if they are not there
  hlmc serve shop.db                      the experiments of a store that is there
  hlmc serve shop.toml --store postgresql://shop@db/shop --host 0.0.0.0 --tokens shop.tokens

Without tokens the service listens on this machine alone. See docs/serve.md.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EXAMPLES
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("what", nargs="?", metavar="FILE.toml|STORE", help="a file of experiments, or a store")
    switch(what, "--demo", "serve an example with simulated visitors")
    option(parser, "--store", "STORE", "the store, in place of the one that the file names")
    option(parser, "--tokens", "FILE", "the file of tokens (see hlmc token)", Path)
    option(parser, "--host", "ADDRESS", "where to listen (default: 127.0.0.1)", default="127.0.0.1")
    option(parser, "--port", "N", "default: 8000; 0 takes a free one", int, 8000)
    switch(parser, "--log-json", "log lines as JSON objects")
    option(parser, "--log-level", ("debug", "info", "warning", "error"), "debug: every request", default="info")


def run(options: argparse.Namespace) -> int | None:
    """Serve until a signal comes."""
    from hlmc.serve.extra import need

    need("uvicorn", "httptools", "uvloop", "msgspec", "prometheus_client")
    from hlmc.checks import whole
    from hlmc.serve import config, logs
    from hlmc.serve.running import serve

    port = whole("port", options.port, 0, 65535)
    logs.set_up(options.log_json, options.log_level)
    if options.demo:
        from hlmc.serve.demo import demo

        demo(options.host, port)
        return None
    path = Path(options.what)
    if path.suffix == ".toml":
        found = config.read_config(path, options.store, options.tokens)
    else:
        found = config.of_store(options.store or options.what, options.tokens)
    serve(found, options.host, port)
    return None
