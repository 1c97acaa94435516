"""Write the lock files: a set of packages and all that it pulls in, each pinned to one version.

requirements.lock is the development set; requirements-docs.lock is what the documentation needs beside it. The files
name packages and versions only, so that they work with whatever index pip is set up to use.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HEADER = """\
# {what}, for Python {python} on Linux. `make lock` writes this file.
"""


def resolve(extra: str) -> dict[str, str]:
    """Ask pip which versions it would install into an empty environment, for hlmc with one of its extras."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        command += ["--dry-run", "--ignore-installed", "--report", str(report), f"{ROOT}[{extra}]"]
        subprocess.run(command, check=True)
        items = json.loads(report.read_text(encoding="utf-8"))["install"]
    pins = {}
    for item in items:
        name = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
        if name != "hlmc":
            pins[name] = item["metadata"]["version"]
    return pins


def write(target: Path, what: str, pins: dict[str, str]) -> None:
    """One ``name==version`` a line, in the order of the names, below a line that says what the file is."""
    lines = [f"{name}=={version}\n" for name, version in sorted(pins.items())]
    header = HEADER.format(what=what, python=f"{sys.version_info.major}.{sys.version_info.minor}")
    target.write_text(header + "".join(lines), encoding="utf-8")
    print(f"{target.name}: {len(lines)} packages")


def main() -> None:
    """Resolve once with everything, so that the two files agree, and write both."""
    everything, development = resolve("docs"), resolve("dev")
    write(ROOT / "requirements.lock", "Everything that `make test` installs", {k: everything[k] for k in development})
    rest = {name: version for name, version in everything.items() if name not in development}
    write(ROOT / "requirements-docs.lock", "What `make docs` installs beside requirements.lock", rest)


if __name__ == "__main__":
    main()
