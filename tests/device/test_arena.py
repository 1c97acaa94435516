"""The arena on a device: on a real one, or on a host, where sizes are small."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import hlmc
from devices import HOST
from hlmc.arenas import ArenaResult
from hlmc.errors import BadArgument


def played(**changes: object) -> ArenaResult:
    settings = {"against": ["Uniform"], "adversaries": ["Alternating", "Needle"], "arms": [4], "horizons": [60]}
    settings |= {"runs": 2, "kinds": "weak", "progress": False}
    return hlmc.arena(**settings | changes)  # type: ignore[arg-type]


def test_regrets_are_those_of_the_processor() -> None:
    here, there = played(), played(device="cuda", precision="float64")
    assert there.runs["policy"].tolist() == here.runs["policy"].tolist()
    rewards = [result.runs["reward"].to_numpy() for result in (here, there)]
    if HOST:  # a device's exp differs in the last digit, and with it a draw now and then
        np.testing.assert_array_equal(*rewards)
    assert np.isfinite(rewards[1]).all()
    np.testing.assert_allclose((here.runs["weak"] + here.runs["reward"]), there.runs["weak"] + there.runs["reward"])


def test_a_store_keeps_the_runs_of_a_device_apart(tmp_path: Path) -> None:
    first = played(store=tmp_path, device="cuda")
    again = played(store=tmp_path, device="cuda")
    assert again.runs.equals(first.runs)
    with pytest.raises(BadArgument, match="holds another experiment: arithmetic is"):
        played(store=tmp_path)


def test_workers_are_refused() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(BadArgument, match="executor must be left out"):
        played(device="cuda", executor=pool)
