"""Exported learners on microcontrollers, under an emulator: their own tests pass there, with Python's vectors."""

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import hlmc
from c_tools import at_once, compiled, needs
from hlmc.export import CSource
from hlmc.export.sizes import M4, M7

pytestmark = pytest.mark.slow

RADIO = Path(__file__).parents[2] / "examples" / "radio"
POLICIES = {
    "hlmc": hlmc.HLMC(arms=100, memory=20, horizon=10**6),
    "unknown": hlmc.HLMC(arms=23, levels=3, switches="unknown"),
    "champion": hlmc.Champion(arms=100, memory=20, horizon=10**6),
    "losses": hlmc.EXP3Loss(arms=600, horizon=10**4),
    "ucbm": hlmc.UCBM(arms=17, memory=4),
}
NARROW = {
    "hlmc": POLICIES["hlmc"],
    "levels": hlmc.HLMC(arms=30, levels=3, horizon=10**5, routines=("tsallis-inf", "exp3s", "exp3")),
    "champion": POLICIES["champion"],
    "exp3": hlmc.EXP3(arms=20, horizon=10**4),
    "tsallis": hlmc.TsallisINF(arms=20),
}
"""In single precision."""
LINK = ["-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs", "-Wl,--gc-sections", "-T", RADIO / "board.ld"]
CORTEX = ("arm-none-eabi-gcc", "qemu-system-arm")
# Debian's C library for RISC-V brings the start and the end of a program with it.
PLACES = {"flash": 0x80000000, "flash_size": 0x200000, "ram": 0x80200000, "ram_size": 0x200000, "stack_size": 0x4000}
PICOLIBC = ["--specs=picolibc.specs", "--crt0=semihost", "--oslib=semihost"]
PICOLIBC += [f"-Wl,--defsym=__{name}={place:#x}" for name, place in PLACES.items()]
RISC_V = ("riscv64-unknown-elf-gcc", "qemu-system-riscv32")


@dataclass(frozen=True)
class Machine:
    """A machine that is emulated: its compiler and emulator, and what they are told."""

    tools: tuple[str, str]
    flags: tuple[str, ...]
    board: tuple[str, ...]

    def status(self, folder: Path, name: str) -> int:
        """What the exported test of a learner ends with there."""
        compiler, emulator = self.tools
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Os", "-ffp-contract=off", *self.flags]
        place = [*LINK, RADIO / "startup.c"] if self.tools == CORTEX else PICOLIBC
        compiled(compiler, *flags, f"{name}.c", f"{name}_test.c", *place, "-o", f"{name}.elf", "-lm", where=folder)
        command = [emulator, "-M", *self.board, "-nographic", "-monitor", "none", "-serial", "none"]
        command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(folder / f"{name}.elf")]
        return subprocess.run(command, capture_output=True, timeout=120).returncode


def risc_v(march: str, mabi: str) -> Machine:
    return Machine(RISC_V, (f"-march={march}", f"-mabi={mabi}"), ("virt", "-bios", "none"))


MACHINES = {
    "Cortex-M4": Machine(CORTEX, M4, ("mps2-an386",)),
    "Cortex-M7": Machine(CORTEX, M7, ("mps2-an500",)),
    "RISC-V 32 without floats": risc_v("rv32imac", "ilp32"),
    "RISC-V 32 with floats": risc_v("rv32imafc", "ilp32f"),
}


@cache
def narrowed_or_not(name: str, precision: str) -> CSource:
    """A policy in C. Its vectors are made once for all machines."""
    policies = POLICIES if precision == "float64" else NARROW
    return policies[name].to_c(name, precision=precision)


NO_FLOATS = pytest.param("RISC-V 32 without floats", marks=needs(*RISC_V))


def written(folder: Path, source: CSource) -> None:
    """Write a learner and its test."""
    for suffix, text in (("_test.c", source.test), (".c", source.source), (".h", source.header)):
        (folder / f"{source.name}{suffix}").write_text(text)


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(*each.tools)) for name, each in MACHINES.items()])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_the_exported_tests_pass(tmp_path: Path, name: str, precision: str) -> None:
    """Every machine computes the vectors of the interpreter: all arms and the digest of the row."""
    policies = POLICIES if precision == "float64" else NARROW

    def checked(policy: str) -> int:
        written(tmp_path, narrowed_or_not(policy, precision))
        return MACHINES[name].status(tmp_path, policy)

    assert dict(zip(policies, at_once(checked, policies), strict=True)) == dict.fromkeys(policies, 0)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=needs(*MACHINES[name].tools)) for name in ("Cortex-M4", "RISC-V 32 without floats")],
)
def test_a_wrong_vector_is_noticed(tmp_path: Path, name: str) -> None:
    """The emulator hands the status of the test on."""
    source = narrowed_or_not("ucbm", "float64")
    written(tmp_path, source)
    (tmp_path / "ucbm_test.c").write_text(source.test.replace("row == UINT64_C", "row != UINT64_C"))
    assert MACHINES[name].status(tmp_path, "ucbm") == 1


@needs(*CORTEX)
def test_code_for_cortex_m4_stays_small() -> None:
    """Two-level HLMC in 4 KB with -Os, exponential and logarithm included; Champion in 7.1 KB; less in float32."""
    for name, precision, most in (
        ("hlmc", "float64", 4096),
        ("champion", "float64", 7264),
        ("hlmc", "float32", 2560),
        ("champion", "float32", 4608),
    ):
        text = narrowed_or_not(name, precision).readme
        (line,) = (line for line in text.splitlines() if line.startswith("| Cortex-M4"))
        code, _, stack = (int(cell) for cell in line.split("|")[2:5])
        assert 1000 < code <= most, line
        assert 50 < stack < 1000, line
