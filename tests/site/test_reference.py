"""Every public name has its place in the reference."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

import hlmc

sys.path.append(str(Path(__file__).parent.parent.parent / "scripts"))
from site_reference import description, modules, public


@pytest.fixture(scope="module")
def described(site: Path) -> set[str]:
    """The names of Python that the site describes."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {name for kind, names in inventory.data.items() if kind.startswith("py:") for name in names}


def test_every_public_name_has_a_place(described: set[str]) -> None:
    names = [str(name) for name in public()]
    assert "hlmc.Champion" in names
    assert "hlmc.adversaries.Needle" in names
    assert len(names) > len(hlmc.__all__)
    assert sorted(set(names) - described) == []


def test_every_public_name_is_described() -> None:
    assert [str(name) for name in public() if not description(name)] == []


def test_every_public_module_has_a_page(described: set[str], site: Path) -> None:
    for module in modules():
        assert module.__name__ in described
        assert (site / "reference" / f"{module.__name__}.html").exists()


@pytest.mark.parametrize("name", ["hlmc.Learner.select", "hlmc.Policy.start", "hlmc.Result.plot", "hlmc.Fleet.update"])
def test_methods_are_described(described: set[str], name: str) -> None:
    assert name in described
