"""Make src/hlmc/advice/measured.csv from files that `hlmc arena --csv FILE` wrote: python scripts/advice.py FILE...

Files of `studies/large.py --csv FILE` may be among them, which have no adversaries whose best arm changes. Of what
several files have, the last one counts; `--keep` begins with what measured.csv has.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from hlmc.advice import STAYS
from hlmc.arenas import BASELINE

OUT = Path(__file__).parent.parent / "src" / "hlmc" / "advice" / "measured.csv"


def condensed(data: pd.DataFrame) -> pd.DataFrame:
    """One row for each size and policy."""
    rows = []
    for (arms, horizon, policy), own in data.groupby(["arms", "horizon", "policy"], sort=False):
        stays = own[(own["kind"].isin(("weak", "pseudo"))) & own["adversary"].isin(STAYS)]
        changes = own[(own["kind"] == "shifting") & ~own["adversary"].isin(STAYS)]
        both = pd.concat([stays, changes]).dropna(subset="ratio")
        worst = both.sort_values("ratio").iloc[-1]
        rows.append(
            {
                "policy": policy,
                "arms": arms,
                "horizon": horizon,
                "words": own["words"].iloc[0],
                "runs": own["runs"].min(),
                "stays": stays["ratio"].median(),
                "changes": changes["ratio"].median(),
                "worst": worst["ratio"],
                "adversary": "-" if policy == BASELINE else worst["adversary"],
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Condense the files named on the command line."""
    files = [name for name in sys.argv[1:] if name != "--keep"]
    if not files:
        sys.exit(__doc__)
    table = condensed(pd.concat([pd.read_csv(name) for name in files]))
    if "--keep" in sys.argv:
        table = pd.concat([pd.read_csv(OUT), table])
    table = table.drop_duplicates(["policy", "arms", "horizon"], keep="last")
    # The baseline comes first in each size; the rest as they were measured.
    table = table.sort_values(["arms", "horizon"], kind="stable")
    table.to_csv(OUT, index=False, float_format="%.3g", na_rep="nan")
    print(f"{len(table)} rows: {OUT}")


if __name__ == "__main__":
    main()
