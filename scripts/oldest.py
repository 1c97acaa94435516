"""Print pins of the oldest versions that pyproject.toml allows: of the dependencies, and of the extras that tests use.

python scripts/oldest.py > constraints.txt
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
EXTRAS = ("lab", "dask", "gym", "river", "postgres", "test")


def pins() -> list[str]:
    """``name==version`` of every requirement that has a lower bound."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in EXTRAS:
        wanted += project["optional-dependencies"][extra]
    found = (re.match(r"([\w.-]+)(\[[\w,]+\])?>=([\w.]+)", requirement) for requirement in wanted)
    return [f"{match[1]}=={match[3]}" for match in found if match]


if __name__ == "__main__":
    print("\n".join(pins()))
