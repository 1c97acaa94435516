"""Send a service what its OpenAPI document allows, and what it does not, by schemathesis. No answer may be a 5xx.

    pip install schemathesis
    python scripts/serve_fuzz.py                # at least 10,000 cases
    python scripts/serve_fuzz.py --cases 500

The requests carry an admin's token, so that they reach everything. The stream, which never ends, is left out.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from hlmc.serve import rights

SHOP = """
tokens = "shop.tokens"
[experiments.drinks]
arms = ["tea", "coffee", "cocoa"]
policy = { policy = "TsallisINF", arms = 50 }
wait = 60
default = 0.0
"""
OPERATIONS = 6
"""About so many share the cases: the others take no arguments, so that there is one case of each."""


def main() -> int:
    """Run schemathesis against a service of its own; 1 if there was a 5xx."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shop.toml").write_text(SHOP)
        token, kept = rights.made()
        rights.add(folder / "shop.tokens", kept)
        (folder / "schemathesis.toml").write_text(
            f'[headers]\nAuthorization = "Bearer {token}"\n[parameters]\n"path.experiment" = "drinks"\n'
        )
        command = [sys.executable, "-m", "hlmc", "serve", str(folder / "shop.toml"), "--port", "0"]
        with (folder / "log").open("w") as log:
            service = subprocess.Popen(command, stderr=log)
        try:
            while not (found := re.search(r"http://127\.0\.0\.1:\d+", (folder / "log").read_text())):
                if service.poll() is not None:
                    raise RuntimeError((folder / "log").read_text())
            _wait_until_ready(found[0])
            tried = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", "schemathesis.toml", "run"]
            tried += [f"{found[0]}/openapi.json", "--checks", "not_a_server_error", "--exclude-path-regex", "stream$"]
            tried += ["--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--seed", str(options.seed)]
            tried += ["--max-examples", str(max(1, options.cases // OPERATIONS))]
            status = subprocess.run(tried, check=False, cwd=folder).returncode
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()
        print("\n".join(line for line in (folder / "log").read_text().splitlines() if " INFO changed " not in line))
    return status


def _wait_until_ready(url: str) -> None:
    """Return when the service takes requests: before that, /readyz is 503."""
    while True:
        try:
            urllib.request.urlopen(f"{url}/readyz").close()
            return
        except urllib.error.HTTPError:
            time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
