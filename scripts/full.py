"""Store what ``hlmc reproduce`` found at the paper's horizons, as src/hlmc/paper/full.json.

    hlmc reproduce --out full                 # T = 10^7, ten runs: an hour on two cores
    python scripts/full.py full

Reports at shorter horizons take from it which claims need the full horizon. Several folders, one for each figure, may
be given. The names of claims are their identity: when one is changed, or a figure's set-up, this is to be done anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hlmc.files import write_whole
from hlmc.paper.claims import FULL_SIZE


def main() -> None:
    claims, sizes = {}, set()
    for folder in map(Path, sys.argv[1:]):
        sizes.add((folder / "report.md").read_text().splitlines()[2].split(" steps")[0])
        for claim in json.loads((folder / "claims.json").read_text()):
            claims[f"{claim['figure']}: {claim['name']}"] = {key: claim[key] for key in ("verdict", "measured")}
    if not claims or any("10,000,000" not in size for size in sizes):
        sys.exit(f"give the folders of reports at the full horizon of 10,000,000 steps, not of {sorted(sizes)}")
    made = {"made by": "hlmc reproduce, then python scripts/full.py", "size": sorted(sizes), "claims": claims}
    write_whole(FULL_SIZE, (json.dumps(made, indent=1, ensure_ascii=False) + "\n").encode())
    print(f"{FULL_SIZE}: {len(claims)} claims")


if __name__ == "__main__":
    main()
