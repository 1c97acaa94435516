"""An attack on the library: its promises about damaged files, kills, full disks, races, forks and bad calls, tried.

One file holds one family of attacks and one function one attack. An attack is written as a single trial, which raises
:class:`~attack.harness.Harm` (or anything else) when it has found harm. ``scripts/attack.py`` runs them and prints a
table; ``tests/attack/test_attack.py`` runs the short form.
"""

from __future__ import annotations

import importlib

FAMILIES = (
    "damage",
    "crafted",
    "kills",
    "disks",
    "races",
    "forks",
    "caches",
    "calls",
    "interrupts",
    "tickets",
    "services",
    "arms",
    "exports",
    "bandits",
)


def attacks(families: tuple[str, ...] = FAMILIES) -> list:
    """All attacks of some families, in the order of their files."""
    from attack.harness import REGISTERED

    for family in families:
        importlib.import_module(f"attack.{family}")
    return [attack for family in families for attack in REGISTERED if attack.family == family]
