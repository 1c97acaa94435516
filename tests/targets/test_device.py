"""What is said where there is no device, and that hooks and primitives are those that device code has."""

from __future__ import annotations

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
from hlmc.errors import BadArgument
from hlmc.games.turn import TurnHooks, take_turn
from hlmc.targets.cuda import arithmetic
from hlmc.targets.cuda import primitives as cuda_primitives
from hlmc.targets.cuda.unit import PRIMITIVES

TESTS = Path(__file__).resolve().parents[1]
HOOKED = {LoopHooks: step.run, TurnHooks: take_turn}
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


def test_without_a_device_one_line_says_so() -> None:
    code = (
        "import hlmc\n"
        "try:\n"
        "    hlmc.simulate(hlmc.EXP3(4, horizon=9), hlmc.adversaries.UniformMeans(4), device='cuda')\n"
        "except (hlmc.errors.HLMCError, ImportError) as error:\n"
        "    print(type(error).__name__, '|', error)\n"
    )
    done = run("-c", code, HLMC_DEVICE="", CUDA_VISIBLE_DEVICES="")
    name, text = done.stdout.strip().split(" | ")
    assert name in ("NoDevice", "MissingExtra"), done.stdout + done.stderr
    assert "\n" not in text
    assert text.endswith('device="cpu" plays on the processor')
    assert "hlmc[cuda]" in text or "CUDA" in text


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


def test_every_primitive_has_a_form_in_device_code() -> None:
    missing = {
        name
        for module in (primitives, cuda_primitives, arithmetic)
        for name, value in vars(module).items()
        if is_primitive(value) and value not in PRIMITIVES
    }
    batches = {"row_of", "prefetch", "int_at", "put_int"}  # processors alone
    calls = {each for each in missing if each.startswith("call_")}  # substituted
    assert missing == batches | calls
