"""Attack the library: damaged and forged files, kills, full disks, races, forks, caches, bad calls, Ctrl-C.

    python scripts/attack.py                  # the long form: an hour at most, on two cores
    python scripts/attack.py --short          # half a minute; continuous integration adds --patient
    python scripts/attack.py damage calls     # two families; tests/attack/ has one file a family
    python scripts/attack.py --only fork --count 1000

The table has a line for each attack: its name, how many trials were made, in how many harm was found, and seconds. Harm
is a crash, a hang, an exception that is not the library's own, or a wrong result; each attack's docstring says more.
The exit status is 1 if there was any. The attacks need a POSIX system.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    runpy.run_module("attack", run_name="__main__")
