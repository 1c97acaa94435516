"""What is played: the experiments of docs/research/bits.md."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

JUDGED = 1000
"""Of more arms the best is not looked for, and what is earned is shown in place of regret."""

FLAT = "flat"
"""Stands for flat_tsallis.c in place of a policy."""

HUNDRED = {
    "64 bits": "TsallisINF(K)",
    "12 bits": "TsallisINF(K, bits=12)",
    "HLMC": "HLMC(K, memory=20, horizon=T)",
    "Champion": "Champion(K, memory=20, horizon=T)",
}

RADIO = {
    "64 bits": "TsallisINF(K)",
    "32 bits": "TsallisINF(K, bits=32)",
    "12 bits": "TsallisINF(K, bits=12)",
    "HLMC": "HLMC(K, memory=10, horizon=T)",
    "Champion": "Champion(K, memory=10, horizon=T)",
}

MANY = {
    "all words": FLAT,
    "few bits": "Champion(K, memory=640, horizon=T, bits='auto')",
    "100 groups": "Split(K, horizon=T, bits=10, count=100)",
    "Champion": "Champion(K, memory=640, horizon=T)",
    "HLMC": "HLMC(K, memory=640, horizon=T)",
    "UCB-M": "UCBM(K, memory=320)",
}

TUNING = {
    "0.9 in 0.5": lambda K, seed: {"arms": K, "arm": seed * 7919 % K, "high": 0.9, "low": 0.5, "seed": seed},
    "0.7 in 0.2": lambda K, seed: {"arms": K, "arm": seed * 7919 % K, "high": 0.7, "low": 0.2, "seed": seed},
}
"""Arguments of OneGoodArm on which splits of K = 10^5 arms are compared, with the held-out ``ramp``."""

WORDS = {
    100: (14, 20, 28, 40, 56, 80, 100),
    1000: (20, 32, 64, 128, 256, 512, 1000),
    10**5: (34, 64, 128, 320, 640, 1600, 4000, 10**4, 25000, 10**5),
}
"""By the number of arms, words of statistics from 2 log2 K to K."""


def by_bytes(K: int) -> dict[str, str]:
    """HLMC and Champion, with 64 bits and with few, in more and more words; and Tsallis-INF with all arms."""
    kinds = {"": "", " bits": ", bits='auto'"}
    return {
        f"{cls}{kind} {M}": f"{cls}(K, memory={M}, horizon=T{more})"
        for cls in ("HLMC", "Champion")
        for kind, more in kinds.items()
        for M in WORDS[K]
    } | {f"Tsallis-INF {K}": "TsallisINF(K)" if K <= JUDGED else FLAT}


REPORTED = ("Needle", "UniformMeans")
"""Of 10^5 arms and in the plots against bytes: the adversaries on which nothing was chosen."""

GOALS = ("Needle", "Decoy", "UniformMeans", "Alternating")
"""Where the regret of HLMC is asked for at T = 10^7."""


@dataclass(frozen=True)
class Experiment:
    """What is played: every policy in every run against every adversary, but for ``fewer``.

    Attributes
    ----------
    arms, horizon, runs
        K, T, and the sequences of rewards of each adversary.
    policies
        By name, as in Python.
    cases
        The adversaries; none: all of the catalogue and all held-out ones.
    fewer
        By the name of a policy: in how many runs it is played, and against which adversaries (none: all).
    """

    arms: int
    horizon: int
    runs: int
    policies: dict[str, str]
    cases: tuple[str, ...] = ()
    fewer: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)


TWO = {name: HUNDRED[name] for name in ("64 bits", "12 bits")}

SLOW = {"HLMC bits 4000": (2, ()), **{f"HLMC bits {M}": (0, ()) for M in (10**4, 25000, 10**5)}}
"""EXP3 of few bits over most of 10^5 arms: 0.07 ms a step, and 0.3 to 1 ms, which is too long to be played."""

PLAN = {
    "long": Experiment(100, 10**7, 32, HUNDRED, fewer={"HLMC": (32, GOALS), "Champion": (8, GOALS)}),
    "short": Experiment(100, 10**6, 32, HUNDRED),
    "many": Experiment(
        10**5,
        10**7,
        3,
        MANY,
        (*REPORTED, "ramp", *TUNING),
        fewer={name: (3, REPORTED) for name in MANY if name not in ("few bits", "100 groups")},
    ),
    "bytes-100": Experiment(100, 10**6, 8, by_bytes(100), REPORTED),
    "bytes-1000": Experiment(1000, 10**6, 8, by_bytes(1000), REPORTED),
    "bytes-100000": Experiment(10**5, 10**6, 8, by_bytes(10**5), REPORTED, fewer=SLOW),
    "tails": Experiment(100, 10**6, 1024, TWO, ("antiphase", "clumps", "bursts", "OneGoodArm")),
    "radio": Experiment(20, 10**6, 32, RADIO),
}
"""The experiments of docs/research/bits.md, in the order of play."""


def experiments(folder: Path) -> dict[str, dict[str, Any]]:
    """What ``write`` or ``plan`` wrote to a folder, by the place within it."""
    found = {str(path.parent.relative_to(folder)): json.loads(path.read_text()) for path in folder.glob("**/told.json")}
    return dict(sorted(found.items(), key=lambda each: [*PLAN, each[0]].index(each[0])))


def is_played(told: dict[str, Any], name: str, case: str, run: int) -> bool:
    """Whether a policy is played in a run against an adversary."""
    most, cases = told["fewer"].get(name, (told["runs"], ()))
    return told["same"].get(name, name) == name and run < most and (not cases or case in cases)
