"""Logs for tests, and their estimates by plain readings of the formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import hlmc


def drawn(chances: dict[str, float], means: dict[str, float], rows: int, seed: int) -> pd.DataFrame:
    """A log of a policy that draws every arm afresh, from the same distribution."""
    rng = np.random.default_rng(seed)
    names = list(chances)
    arm = rng.choice(len(names), rows, p=list(chances.values()))
    reward = (rng.random(rows) < np.array([means[name] for name in names])[arm]).astype(float)
    propensity = np.array(list(chances.values()))[arm]
    return pd.DataFrame({"arm": np.array(names)[arm], "reward": reward, "propensity": propensity})


def played(policy: hlmc.Policy, means: np.ndarray, rows: int, seed: int) -> pd.DataFrame:
    """A log of a policy that was told every reward at once."""
    rng = np.random.default_rng(seed)
    learner = policy.start(seed)
    found = []
    for _ in range(rows):
        ticket = learner.ask()
        reward = float(rng.random() < means[ticket.arm])
        found.append((ticket.arm, reward, ticket.propensity, ticket.block))
        learner.tell(ticket, reward)
    return pd.DataFrame(found, columns=["arm", "reward", "propensity", "block"])


def plain_value(estimator: str, log: pd.DataFrame, chances: dict[Any, float]) -> float:
    """An estimate row by row. ``chances``: what the candidate plays at every row."""
    rows = list(zip(log["arm"], log["reward"], log["propensity"], log.get("block", range(len(log))), strict=True))
    weighted = [chances.get(arm, 0.0) / propensity for arm, _, propensity, _ in rows]
    total = sum(w * row[1] for w, row in zip(weighted, rows, strict=True))
    if estimator == "ips":
        return total / len(rows)
    if estimator == "snips":
        return total / sum(weighted)
    value = 0.0
    for i, (arm, reward, _, block) in enumerate(rows):
        before: dict[Any, list[float]] = {}
        for other, earned, _, its in rows:
            if its == block:
                break
            before.setdefault(other, []).append(earned)
        means = {name: sum(all_of) / len(all_of) for name, all_of in before.items()}
        baseline = sum(chance * means.get(name, 0.0) for name, chance in chances.items())
        value += baseline + weighted[i] * (reward - means.get(arm, 0.0))
    return value / len(rows)
