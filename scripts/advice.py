"""Make src/hlmc/advice/measured.csv from files that `hlmc arena --csv FILE` wrote: python scripts/advice.py FILE..."""

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
        stays = own[(own["kind"] == "weak") & own["adversary"].isin(STAYS)]
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


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    table = condensed(pd.concat([pd.read_csv(name) for name in sys.argv[1:]]))
    table.to_csv(OUT, index=False, float_format="%.3g")
    print(f"{len(table)} rows: {OUT}")
