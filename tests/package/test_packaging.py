"""The files that describe the project agree with one another."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import BytesParser
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hlmc.versions import VERSION

ROOT = Path(__file__).resolve().parents[2]
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


# --- The release ---------------------------------------------------------------------------------------------


def test_the_version_is_the_same_everywhere():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d[^\]]*)\] - (\d{4}-\d{2}-\d{2})$", changelog, re.MULTILINE)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert released[0] == (VERSION, str(citation["date-released"]))
    assert citation["version"] == VERSION


def test_the_workflow_runs_what_continuous_integration_runs():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert [step["run"] for step in jobs["test"]["steps"] if "run" in step] == [".ci/run"]
    assert jobs["build"]["needs"] == "test"
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The wheel and the source distribution, built without any other environment."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


def test_the_wheel_holds_the_package_and_its_data(distributions):
    wheel, _ = distributions
    assert wheel.name == f"hlmc-{VERSION}-py3-none-any.whl"
    assert wheel.stat().st_size < 2_000_000
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = ROOT / "src" / "hlmc"
    kept = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {f"hlmc/{path.relative_to(package).as_posix()}" for path in kept} <= names
    assert {name.split("/")[0] for name in names} == {"hlmc", f"hlmc-{VERSION}.dist-info"}
    assert not [name for name in names if name.endswith((".pyc", ".nbi", ".nbc"))]


def test_the_metadata_says_what_pyproject_says(distributions):
    wheel, _ = distributions
    with zipfile.ZipFile(wheel) as archive:
        folder = f"hlmc-{VERSION}.dist-info"
        found = BytesParser().parsebytes(archive.read(f"{folder}/METADATA"))
        scripts = archive.read(f"{folder}/entry_points.txt").decode()
        assert f"{folder}/licenses/LICENSE" in archive.namelist()
    assert (found["Name"], found["Version"], found["License-Expression"]) == ("hlmc", VERSION, "MIT")
    assert found["Requires-Python"] == PROJECT["requires-python"]
    assert set(found.get_all("Provides-Extra")) == set(EXTRAS)
    assert "hlmc = hlmc.cli:entry" in scripts
    assert found.get_payload().startswith("# hlmc")


def test_the_source_distribution_can_build_and_test_itself(distributions):
    _, source = distributions
    assert source.stat().st_size < 10_000_000
    with tarfile.open(source) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    wanted = ["pyproject.toml", "README.md", "LICENSE", "Makefile", "src/hlmc/__init__.py", "tests/conftest.py"]
    wanted += ["docs/index.md", "docs/conf.py", "scripts/docs.py", "examples/trap.toml", "requirements.lock"]
    assert set(wanted) <= names
    assert not [name for name in names if name.startswith(("build/", "dist/", "report/", ".venv", ".ci/"))]


def test_the_wheel_runs_in_an_environment_of_its_own(distributions, tmp_path):
    """The packages that hlmc needs are those of this environment; hlmc itself is not, only the wheel is."""
    wheel, _ = distributions
    package = tmp_path / "wheel"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(package)
    others = next(path for path in sys.path if path.endswith("-packages"))
    code = (
        f"import sys; sys.path[:0] = [{str(package)!r}, {others!r}]; import hlmc; "
        f"assert hlmc.__file__.startswith({str(package)!r}), hlmc.__file__; "
        "learner = hlmc.Champion(arms=100, memory=20, horizon=100).start(seed=0); "
        "learner.select(); learner.update(1.0); "
        "from hlmc.cli import main; sys.exit(main(['plan', '--arms', '100', '--memory', '20', '--horizon', '1e6']))"
    )
    # -I leaves out this folder and the user's packages, -S what this environment adds by itself, hlmc among it.
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Champion(arms=100, memory=20, horizon=1000000)" in done.stdout
