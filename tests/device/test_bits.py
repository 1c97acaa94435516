"""Statistics of few bits on a device: the rewards of the processor, because codes are played in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import hlmc
from devices import HOST
from hlmc.targets.cuda.shape import Shape

STEPS, RUNS = (120, 2) if HOST else (2000, 300)

POLICIES = {
    "flat": hlmc.TsallisINF(arms=12, bits=12),
    "weights": hlmc.EXP3IX(arms=12, horizon=STEPS, bits=10),
    "counts": hlmc.UCB1(arms=12, bits=6),
    "champion": hlmc.Champion(arms=12, memory=5, horizon=STEPS, bits=32),
    "levels": hlmc.HLMC(arms=12, groups=(4, 3), horizon=STEPS, bits=(9, 7)),
}


@pytest.mark.parametrize(("name", "precision"), [*((name, "float32") for name in POLICIES), ("flat", "float64")])
def test_a_device_and_the_processor_play_codes_alike(name: str, precision: str) -> None:
    adversary = hlmc.adversaries.Bernoulli(np.linspace(0.1, 0.9, 12))
    here = hlmc.simulate(POLICIES[name], adversary, horizon=STEPS, runs=RUNS, seed=3, points=3)
    there = hlmc.simulate(
        POLICIES[name], adversary, horizon=STEPS, runs=RUNS, seed=3, points=3, device="cuda", precision=precision
    )
    same = (here.data.reward.values == there.data.reward.values).mean()
    # Exponentials of another library can differ in a last digit, which moves a draw once in about 10^13 steps.
    assert same == 1.0 if HOST else same > 0.95


def test_a_workspace_holds_the_packed_codes() -> None:
    few, every = (Shape.of(hlmc.TsallisINF(arms=100, bits=bits)).workspace_words for bits in (12, 64))
    assert (few, every) == (19, 99)
