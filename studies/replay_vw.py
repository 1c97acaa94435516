"""The estimates of ``hlmc.replay`` beside those of vw-estimators, on one log, where the estimator is the same.

    pip install vw-estimators
    python studies/replay_vw.py [--rows 5000]

IPS and SNIPS must be the same numbers. The intervals are different bounds for the same quantity: that of
``hlmc.replay`` is a mixture of bets, that of vw-estimators' ``cs`` a gamma mixture of empirical Bernstein bounds
(Waudby-Smith et al., 2022). Both assume nothing of the weights but that they are nonnegative and have mean 1.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from estimators.bandits import cs, gaussian
from estimators.bandits import ips as vw_ips
from estimators.bandits import snips as vw_snips

import hlmc


def drawn(rows: int) -> pd.DataFrame:
    """A log with propensities from 0.01 to 0.5."""
    rng = np.random.default_rng(1)
    chances, means = np.array([0.01, 0.04, 0.15, 0.3, 0.5]), np.array([0.8, 0.6, 0.5, 0.3, 0.1])
    arm = rng.choice(5, rows, p=chances)
    return pd.DataFrame({"arm": arm, "reward": (rng.random(rows) < means[arm]) * 1.0, "propensity": chances[arm]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5000)
    log = drawn(parser.parse_args().rows)
    candidates = {"arm 0": {0: 1.0}, "arm 2": {2: 1.0}, "arm 4": {4: 1.0}, "even": dict.fromkeys(range(5), 0.2)}
    rows = []
    for name, chances in candidates.items():
        theirs = {
            "ips": vw_ips.Estimator(),
            "snips": vw_snips.Estimator(),
            "cs": cs.Interval(),
            "normal": gaussian.Interval(),
        }
        for arm, reward, propensity in log.itertuples(index=False):
            for each in theirs.values():
                each.add_example(propensity, reward, chances.get(arm, 0.0))
        row: dict[str, object] = {"candidate": name}
        for estimator in ("ips", "snips"):
            (value,) = hlmc.replay({name: chances}, log, estimator=estimator)["value"]
            row[estimator] = value
            row[f"{estimator} difference"] = abs(value - theirs[estimator].get())
        found = hlmc.replay({name: chances}, log).iloc[0]
        row["hlmc interval"] = f"{found['low']:.3f} to {found['high']:.3f}"
        for kind in ("cs", "normal"):
            low, high = theirs[kind].get(alpha=0.05)
            row[f"vw {kind}"] = f"{low:.3f} to {high:.3f}"
        rows.append(row)
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
