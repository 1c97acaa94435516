"""Learners, fleets, tickets, files, plans and export need NumPy and Numba alone; the rest names the extra."""

from __future__ import annotations

import importlib
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
from pathlib import Path
from hlmc import *
import hlmc
from hlmc.cli import main

folder = Path(sys.argv[1])
policy = hlmc.HLMC(arms=100, memory=20, horizon=1000, pending=8)
learner = policy.start(seed=1)
learner.update(float(learner.select() == 3))
ticket = hlmc.Ticket.from_str(str(learner.ask()))
assert learner.tell(ticket, 1.0) == "applied"
learner.save(folder / "learner")
assert hlmc.load(folder / "learner") == learner

fleet = policy.fleet(size=5, seed=1, file=folder / "fleet")
fleet.tell(fleet.ask(), [1.0] * 5)
fleet.checkpoint()
del fleet
assert hlmc.load(folder / "fleet", mapped=False).time.tolist() == [1] * 5

names = hlmc.Arms(3)
names.add("tea", "coffee")
assert hlmc.EXP3(arms=3, horizon=10).start(arms=names).select() in ("tea", "coffee")

assert "words" in str(policy.plan) and policy.bound() > 0
assert "hlmc_select(" in policy.to_c().source
assert main(["plan", "--arms", "100", "--memory", "20", "--horizon", "1e6"]) == 0
assert main(["export", "c", "HLMC(arms=20, memory=10)", "-o", str(folder / "radio")]) == 0

assert not set(sys.modules) & {"matplotlib", "pandas", "pyarrow", "rich", "xarray"}
assert main(["simulate", str(folder / "trap.toml")]) == main(["reproduce", "--quick"]) == 2
trap = hlmc.adversaries.BlockTrap()
(folder / "rewards.csv").write_text("0,1\\n1,0\\n")
lab = {
    "simulate": lambda: hlmc.simulate(policy, trap),
    "estimate": lambda: hlmc.estimate(policy, trap),
    "play": lambda: hlmc.play(hlmc.UCB1(arms=2), hlmc.games.Routing(agents=2, links=2), horizon=10),
    "arena": lambda: hlmc.arena(quick=True),
    "load_result": lambda: hlmc.load_result(folder / "result.parquet"),
    "games.load_result": lambda: hlmc.games.load_result(folder / "result.parquet"),
    "ArenaResult.load": lambda: hlmc.arenas.ArenaResult.load(folder / "arena.parquet"),
    "replay": lambda: hlmc.replay("tea", {"arm": ["tea"], "reward": [1.0], "propensity": [1.0]}),
    "figure": lambda: hlmc.plotting.figure(),
    "axes": lambda: hlmc.plotting.axes(None),
    "Trace": lambda: hlmc.adversaries.Trace(folder / "rewards.csv").reward(0, 0),
}
for name, call in lab.items():
    try:
        call()
    except hlmc.errors.MissingExtra as error:
        assert str(error).endswith(" is not installed; install it with: pip install 'hlmc[lab]'"), (name, error)
    else:
        raise AssertionError(f"{name} runs without the lab")
"""


def use(python: list[str], folder: Path, path: str = "") -> None:
    """Run the program; ``path``: where it finds packages, in an interpreter that has none of its own."""
    folder.mkdir()
    (folder / "trap.toml").write_bytes((ROOT / "examples" / "trap.toml").read_bytes())
    code = f"import sys; sys.path.insert(0, {path!r})\n{PROGRAM}" if path else PROGRAM
    done = subprocess.run([*python, "-c", code, str(folder)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Champion(arms=100, memory=20, horizon=1000000)" in done.stdout
    missing = "matplotlib is not installed; install it with: pip install 'hlmc[lab]'"
    assert done.stderr == f"hlmc simulate: {missing}\nhlmc reproduce: {missing}\n"


def test_the_core_needs_numpy_and_numba_alone(tmp_path: Path) -> None:
    """In an interpreter that sees the packages of the core and no others."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("numpy", "numba", "llvmlite"):
        found = Path(importlib.import_module(name).__path__[0])
        for part in {found, *found.parent.glob(f"{name}.libs"), *found.parent.glob(f"{name}-*.dist-info")}:
            (packages / part.name).symlink_to(part)
    (packages / "hlmc").symlink_to(ROOT / "src" / "hlmc")
    use([sys.executable, "-I", "-S"], tmp_path / "work", str(packages))


@pytest.mark.slow
def test_the_wheel_installs_the_core_alone(tmp_path: Path) -> None:
    """A new environment, in which pip installs the wheel and what it asks for."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    home = tmp_path / "core"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    pins = ["-c", str(ROOT / "requirements.lock")]
    done = subprocess.run([*pip, "install", "--quiet", *pins, str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kept = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    assert {path.name.split("-")[0] for path in kept.glob("*.dist-info")} == {"hlmc", "llvmlite", "numba", "numpy"}
    use([str(python), "-I"], tmp_path / "work")
