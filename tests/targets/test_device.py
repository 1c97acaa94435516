"""What a device needs and says when it is not there; and the device tests, in Numba's simulator."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from hlmc.engine import primitives, step
from hlmc.engine.hooks import ArithmeticHooks, Hooks, LoopHooks, StoreHooks
from hlmc.engine.kernel import is_primitive, kernel
from hlmc.engine.linker import Kernel, reaches, substitute
from hlmc.errors import BadArgument, NoDevice
from hlmc.games.cuda import game_kernel
from hlmc.games.cuda.game_kernel import GameViewHooks
from hlmc.games.turn import TurnHooks, take_turn
from hlmc.targets.cuda import arithmetic, loop
from hlmc.targets.cuda import primitives as cuda_primitives
from hlmc.targets.cuda.launch import driver_errors
from hlmc.targets.cuda.views import ViewHooks

TESTS = Path(__file__).resolve().parents[1]
HOOKED = {LoopHooks: step.run, TurnHooks: take_turn, ViewHooks: loop.play, GameViewHooks: game_kernel.rounds}
"""Which kernel each record of hooks is for."""


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=TESTS.parent,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(path.name for path in (TESTS / "device").glob("test_*.py")))
def test_in_the_simulator(module: str) -> None:
    """The environment must be set before Numba is imported, hence another process."""
    done = run(
        "-m", "pytest", "-q", "--no-cov", "-p", "no:cacheprovider", f"tests/device/{module}", NUMBA_ENABLE_CUDASIM="1"
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


def test_without_a_device_one_line_says_so() -> None:
    code = (
        "import hlmc\n"
        "try:\n"
        "    hlmc.simulate(hlmc.EXP3(4, horizon=9), hlmc.adversaries.UniformMeans(4), device='cuda')\n"
        "except (hlmc.errors.HLMCError, ImportError) as error:\n"
        "    print(type(error).__name__, '|', error)\n"
    )
    done = run("-c", code, NUMBA_ENABLE_CUDASIM="0", CUDA_VISIBLE_DEVICES="")
    name, text = done.stdout.strip().split(" | ")
    assert name in ("NoDevice", "MissingExtra"), done.stdout + done.stderr
    assert "\n" not in text
    assert text.endswith('device="cpu" plays on the processor')
    assert "hlmc[cuda]" in text or "CUDA" in text


@pytest.mark.parametrize("name", ["CudaAPIError", "CUDAError"])
def test_a_launch_that_fails_is_told_in_one_line(name: str) -> None:
    """Either of the driver's packages has an error of its own, neither of which can be imported here."""
    failed = type(name, (Exception,), {})("launch failed:\n\n  too many resources\n  at some place\n")
    with pytest.raises(NoDevice, match=r"^the device gave up: launch failed: too many resources$"), driver_errors():
        raise failed
    with pytest.raises(ValueError, match="other"), driver_errors():
        raise ValueError("other")


@kernel
def _nothing() -> int:
    """Stands in for anything."""
    return 0


@pytest.mark.parametrize("record", [ArithmeticHooks, StoreHooks, *HOOKED], ids=lambda record: record.__name__)
def test_a_name_that_is_not_a_hook_is_an_error(record: type[Hooks]) -> None:
    name = fields(record)[0].name
    assert record(**{name: _nothing}).substitutions == {fields(record)[0].default: _nothing}
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}x'"):
        record(**{f"{name}x": _nothing})


def test_a_kernel_that_is_not_called_cannot_be_substituted() -> None:
    with pytest.raises(BadArgument, match="does not call take_turn"):
        substitute(step.run, {take_turn: _nothing})


@pytest.mark.parametrize(("record", "function"), HOOKED.items(), ids=lambda each: each.__name__)
def test_every_hook_is_called_by_the_kernel_that_it_is_for(record: type[Hooks], function: Kernel) -> None:
    """A hook that nothing calls would be replaced in silence."""
    assert [field.name for field in fields(record) if not reaches(function, field.default)] == []


def test_every_primitive_has_an_implementation_for_a_device() -> None:
    """That module can be imported with numba-cuda alone, so its table is read as text."""
    source = (Path(loop.__file__).parent / "lowering.py").read_text()
    (table,) = [node.value for node in ast.parse(source).body if "_LOWERED" in ast.unparse(node).split(":")[0]]
    known = {ast.unparse(key) for key in table.keys}  # type: ignore[attr-defined]
    missing = {
        f"{prefix}.{name}"
        for prefix, module in {"engine": primitives, "primitives": cuda_primitives, "arithmetic": arithmetic}.items()
        for name, value in vars(module).items()
        if is_primitive(value) and value.__module__ == module.__name__
    } - known
    batches = {f"engine.{name}" for name in ("row_of", "prefetch", "int_at", "put_int")}  # processors alone
    calls = {each for each in missing if each.startswith("engine.call_")}  # substituted
    assert missing == batches | calls
