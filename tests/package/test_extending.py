"""Adding a routine, a structure or an adversary is adding one file: here each is added in a package of its own."""

import importlib
from pathlib import Path

import pytest

import hlmc
from hlmc import policies
from hlmc.engine.structures import CATALOGUE as STRUCTURES
from hlmc.testing import check_adversary, check_policy

ROUTINE = '''
"""Play children in proportion to how much they have paid, counted from 1."""

from dataclasses import dataclass
from typing import ClassVar

from hlmc.engine.kernel import kernel
from hlmc.engine.records import Level
from hlmc.routines.base import Kernels, Routine


@kernel
def urn_start(level: Level) -> tuple[float, float]:
    """One ball for every child; the first scalar is their number."""
    for j in range(level.at, level.at + level.n):
        level.row[j] = 1.0
    return float(level.n), 0.0


@kernel
def urn_select(level: Level, total: float, b: float, tau: int, u: float) -> tuple[int, float]:
    """Draw a ball."""
    row, at = level.row, level.at
    rest = u * total
    slot = 0
    while slot < level.n - 1 and rest >= row[at + slot]:
        rest -= row[at + slot]
        slot += 1
    return slot, row[at + slot] / total


@kernel
def urn_update(
    level: Level, total: float, b: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Put in as much as was paid."""
    level.row[level.at + slot] += reward
    return total + reward, b


@dataclass(frozen=True, repr=False)
class Urn(Routine):
    """An urn."""

    name: ClassVar[str] = "urn"
    kernels: ClassVar[Kernels] = Kernels(urn_start, urn_select, urn_update)
'''

STRUCTURE = '''
"""A tree whose arms are counted from the last one."""

from dataclasses import dataclass, replace
from typing import ClassVar

from hlmc.engine.kernel import kernel
from hlmc.engine.layout import ARMS, BASE
from hlmc.engine.structures import TREE, Structure
from hlmc.policies import HLMC
from hlmc.routines.base import Array


@kernel
def mirrored(program: Array, row: Array, slot: int) -> int:
    """The arm of a slot."""
    return int(program[ARMS]) - 1 - (int(row[BASE]) + slot)


MIRROR = replace(TREE, name="mirror", arm_of=mirrored, contiguous=False)


@dataclass(frozen=True, repr=False)
class Mirrored(HLMC):
    """HLMC that counts arms from the last one."""

    structure: ClassVar[Structure] = MIRROR
'''

ADVERSARY = '''
"""Arm j pays at every step that j + 1 divides."""

from dataclasses import dataclass
from functools import cached_property

from hlmc.adversaries.base import Adversary, Array, packed
from hlmc.engine.kernel import kernel


@kernel
def divides(spec: Array, t: int, arm: int) -> float:
    """1 where arm + 1 divides t."""
    return 1.0 if t % (arm + 1) == 0 else 0.0


@dataclass(frozen=True, repr=False)
class Divisors(Adversary):
    """Arm j pays at every step that j + 1 divides."""

    arms: int
    rule = staticmethod(divides)
    binary = True

    @cached_property
    def spec(self) -> Array:
        return packed(0.0)
'''


@pytest.fixture
def extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with three modules: routine, structure, adversary."""
    folder = tmp_path / "hlmc_extension"
    folder.mkdir()
    for name, text in (("__init__", ""), ("routine", ROUTINE), ("structure", STRUCTURE), ("adversary", ADVERSARY)):
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return folder.name


@pytest.mark.interpreted
def test_a_routine_is_one_file(extension: str) -> None:
    urn = importlib.import_module(f"{extension}.routine").Urn()
    check_policy(hlmc.HLMC(arms=17, groups=(4, 5), horizon=200, routines=("exp3", urn)))
    check_policy(hlmc.HLMC(arms=17, groups=(4, 5), horizon=200, routines=(urn, urn)))


@pytest.mark.interpreted
def test_a_structure_is_one_file_and_one_class_of_policies(extension: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"{extension}.structure")
    assert module.MIRROR not in STRUCTURES
    # The line in policies/__init__.py, without which a file could not say whose learner it holds.
    monkeypatch.setitem(policies.CATALOGUE, "Mirrored", module.Mirrored)
    mirrored = module.Mirrored(arms=17, levels=2, horizon=100)
    check_policy(mirrored)
    plain = hlmc.HLMC(arms=17, levels=2, horizon=100)
    adversary = hlmc.adversaries.Bernoulli([0.1] * 8 + [0.9] + [0.1] * 8)  # the same from either end
    arms, rewards = hlmc.trace(mirrored, hlmc.adversaries.Function(17, constant), seed=4)
    others, same = hlmc.trace(plain, hlmc.adversaries.Function(17, constant), seed=4)
    assert (arms == 16 - others).all()
    assert (rewards == same).all()
    hlmc.simulate(mirrored, adversary, runs=2)


def constant(t: int, arm: int) -> float:
    """Pays the same whatever is played."""
    return 0.5


@pytest.mark.interpreted
def test_an_adversary_is_one_file(extension: str) -> None:
    divisors = importlib.import_module(f"{extension}.adversary").Divisors(arms=5)
    check_adversary(divisors)
    assert divisors.rewards(12, 13).tolist() == [[1.0, 1.0, 1.0, 1.0, 0.0]]
