"""NVRTC compiles all device code, which needs no GPU; hot loops have as many instructions as when they were measured.

An instruction more per step is about a per cent of the speed (docs/research/device.md), and nobody notices it without a
GPU: a compiler that no longer hoists a load, a sum that no longer stays in a register.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import hlmc
from hlmc.adversaries import EXAMPLES as ADVERSARIES
from hlmc.games import Routing, Spectrum
from hlmc.games import on_device as games
from hlmc.games.cuda import game_kernel
from hlmc.games.population import population
from hlmc.policies import EXAMPLES as POLICIES
from hlmc.simulation.on_device import laid_out
from hlmc.targets.cuda.code import Code
from hlmc.targets.cuda.device import libraries, to_machine_code
from hlmc.targets.cuda.loop import code_of
from hlmc.targets.cuda.shape import Shape

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("cuda") is None, reason="needs the packages of the extra cuda"),
]

ARCHITECTURE = "sm_90"  # an H100 or H200
TRAP = hlmc.adversaries.BlockTrap(arms=100, memory=20)


def compiled(code: Code) -> bytes:
    return to_machine_code(libraries()[1], code, ARCHITECTURE)


def simulated(policy: hlmc.Policy, adversary: hlmc.adversaries.Adversary, precision: str) -> Code:
    shape = Shape.of(policy)
    return code_of(shape, adversary, laid_out(shape, shape.precision(precision)))


PLAYED = [policy for policy in POLICIES if policy.known_probability]
GAMES = {
    "circulating": (hlmc.HLMC(arms=6, levels=2, horizon=99), Spectrum(11, 6)),
    "reactive": (hlmc.Champion(arms=6, memory=6, horizon=99), Spectrum(11, 6, "reactive")),
    "routing": (hlmc.TsallisINF(arms=4), Routing(11, 4, empty=(1, 2, 2, 3), power=1.5)),
    "mixed": (
        {"HLMC": (hlmc.HLMC(arms=6, levels=2), 3), "UCB-M": (hlmc.UCBM(arms=6, memory=3, shuffle=True), 4)},
        Spectrum(7, 6, "crowd"),
    ),
}


@pytest.mark.parametrize("policy", PLAYED, ids=lambda each: type(each).__name__)
def test_every_policy_compiles(policy: hlmc.Policy) -> None:
    adversary = hlmc.adversaries.UniformMeans(policy.arms)
    for precision in ("float32", "float64"):
        assert compiled(simulated(policy, adversary, precision))[:4] == b"\x7fELF"


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda each: type(each).__name__)
def test_every_adversary_compiles(adversary: hlmc.adversaries.Adversary) -> None:
    policy = hlmc.EXP3(adversary.arms, horizon=100)
    assert compiled(simulated(policy, adversary, "float32"))[:4] == b"\x7fELF"


@pytest.mark.parametrize("name", GAMES)
def test_every_kind_of_game_compiles(name: str) -> None:
    who, game = GAMES[name]
    shapes, rules, precision, _ = games._kind(population(who, game), game, "float32")
    for in_shared in (True, False):
        code = game_kernel.code_of(shapes, rules, precision, in_shared, games.THREAD_REGISTERS)
        assert compiled(code)[:4] == b"\x7fELF"


def disassembler() -> str | None:
    """NVIDIA's disassembler: installed, or in one of the wheels nvidia-cuda-nvdisasm and nvidia-cuda-nvcc."""
    found = shutil.which("nvdisasm")
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(each) for each in (spec.submodule_search_locations or [])] if spec else []
    return found or next((str(each) for folder in folders for each in folder.glob("*/bin/nvdisasm")), None)


def loops(machine_code: bytes, folder: Path) -> list[Counter[str]]:
    """For every loop, how often it has which instruction."""
    file = folder / "code.cubin"
    file.write_bytes(machine_code)
    text = subprocess.run([str(disassembler()), "-c", file], capture_output=True, text=True, check=True).stdout
    places: dict[str, int] = {}
    instructions: list[str] = []
    for line in text.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            places[label[1]] = len(instructions)
        if found := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?);", line):
            instructions.append(found[1])
    kinds = [re.sub(r"^@!?\w+ ", "", each).split()[0].split(".")[0] for each in instructions]
    targets = [re.search(r"BRA.*?`\((\.L_x_\d+)\)", each) for each in instructions]
    return [
        Counter(kinds[places[target[1]] : end + 1])
        for end, target in enumerate(targets)
        if target and places.get(target[1], end + 1) <= end
    ]


HOT = {
    "HLMC": (hlmc.HLMC(100, memory=20, horizon=10**7), 4, 269),
    "three levels": (hlmc.HLMC(100, memory=14, horizon=10**7), 1, 57),
    "EXP3": (hlmc.EXP3(100, horizon=10**7), 1, 149),
    "Champion": (hlmc.Champion(100, memory=20, horizon=10**6), 1, 951),
    "Tsallis-INF": (hlmc.TsallisINF(100), 1, 1649),
}
"""A policy against the block trap; how many steps its loop takes at a time; how many instructions that loop has."""


@pytest.mark.skipif(disassembler() is None, reason="needs nvdisasm, of the wheel nvidia-cuda-nvdisasm")
@pytest.mark.parametrize("name", HOT)
def test_the_hot_loop_has_as_many_instructions_as_when_it_was_measured(name: str, tmp_path: Path) -> None:
    """At most two per cent more, in which another version of NVRTC may differ."""
    policy, steps, known = HOT[name]
    # The loop over the steps mixes random bits, works on shared memory, and has everything else in registers.
    hot = [
        each
        for each in loops(compiled(simulated(policy, TRAP, "float32")), tmp_path)
        if each["SHF"] >= 4 * steps and each["MUFU"] and each["LDS"] and each["STS"] and not each["LDL"] + each["STL"]
    ]
    assert hot, "no loop over the steps without local memory"
    loop = min(hot, key=Counter.total)
    assert loop.total() <= 1.02 * known, loop
