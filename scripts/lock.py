"""Write the lock file: the development set and all that it pulls in, each pinned to one version.

The file names packages and versions only, so that it works with whatever index pip is set up to use.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HEADER = """\
# Everything that `make test` installs, for Python {python} on Linux. `make lock` writes this file.
"""


def resolve() -> dict[str, str]:
    """Ask pip which versions it would install into an empty environment."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        command += ["--dry-run", "--ignore-installed", "--report", str(report), f"{ROOT}[dev]"]
        subprocess.run(command, check=True)
        items = json.loads(report.read_text(encoding="utf-8"))["install"]
    pins = {}
    for item in items:
        name = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
        if name != "hlmc":
            pins[name] = item["metadata"]["version"]
    return pins


def main() -> None:
    """Resolve and write to the path given as the only argument."""
    (target,) = sys.argv[1:]
    lines = [f"{name}=={version}\n" for name, version in sorted(resolve().items())]
    header = HEADER.format(python=f"{sys.version_info.major}.{sys.version_info.minor}")
    Path(target).write_text(header + "".join(lines), encoding="utf-8")
    print(f"{target}: {len(lines)} packages")


if __name__ == "__main__":
    main()
