"""The files that describe the project agree with one another."""

import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def development() -> Iterator[Requirement]:
    """What the package and its `dev` extra ask for, with hlmc's own extras followed."""
    waiting = [*PROJECT["dependencies"], *EXTRAS["dev"]]
    while waiting:
        requirement = Requirement(waiting.pop())
        if requirement.name == "hlmc":
            waiting += [line for extra in sorted(requirement.extras) for line in EXTRAS[extra]]
        else:
            yield requirement


def test_lock_file_holds_pins_and_nothing_else():
    first, *rest = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert first.startswith("# ")
    assert "make lock" in first
    for line in rest:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9][a-z0-9.]*", line), line
    names = [line.split("==")[0] for line in rest]
    assert names == sorted(set(names))


@pytest.mark.parametrize("requirement", list(development()), ids=str)
def test_lock_file_satisfies(requirement):
    version = locked()[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version)


def test_lock_file_is_closed():
    """Whatever a locked version that is installed here needs is in the lock file too."""
    pins = locked()
    installed = {canonicalize_name(package.name): package.version for package in metadata.distributions()}
    assert installed["numpy"]
    for name in [name for name, version in pins.items() if installed.get(name) == version]:
        for line in metadata.requires(name) or []:
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in pins, f"{name} needs {line}"


def test_no_dependency_is_capped_without_a_reason():
    """A cap has a comment in the line above it."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    for line in [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]:
        operators = {clause.operator for clause in Requirement(line).specifier}
        if not operators <= {">="}:
            (at,) = (i for i, there in enumerate(text) if f'"{line}"' in there)
            assert text[at - 1].startswith("# "), line
