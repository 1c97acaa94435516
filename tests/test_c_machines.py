"""Exported learners on microcontrollers, under an emulator: their own tests pass there, with Python's vectors."""

import subprocess
from pathlib import Path

import pytest

import hlmc
from c_tools import at_once, compiled, needs
from hlmc.export.sizes import M4, M7

RADIO = Path(__file__).parent.parent / "examples" / "radio"
MACHINES = {"mps2-an386": M4, "mps2-an500": M7}
POLICIES = {
    "hlmc": hlmc.HLMC(arms=100, memory=20, horizon=10**6),
    "unknown": hlmc.HLMC(arms=23, levels=3, switches="unknown"),
    "champion": hlmc.Champion(arms=100, memory=20, horizon=10**6),
    "losses": hlmc.EXP3Loss(arms=600, horizon=10**4),
    "ucbm": hlmc.UCBM(arms=17, memory=4),
}
ARM = needs("arm-none-eabi-gcc", "qemu-system-arm")
LINK = ["-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs", "-Wl,--gc-sections", "-T", RADIO / "board.ld"]


def emulated(machine: str, image: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run an image to its end; what it says through semihosting is on standard error."""
    command = ["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", "-serial", "none"]
    command += ["-semihosting-config", "enable=on,target=native", *options, "-kernel", str(image)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@ARM
@pytest.mark.parametrize("machine", MACHINES)
def test_the_exported_tests_pass_on_cortex_m(tmp_path: Path, machine: str) -> None:
    def checked(name: str) -> int:
        POLICIES[name].to_c(name).save(tmp_path)
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Os", "-ffp-contract=off", *MACHINES[machine]]
        sources = [f"{name}.c", f"{name}_test.c", RADIO / "startup.c"]
        compiled("arm-none-eabi-gcc", *flags, *LINK, *sources, "-o", f"{name}.elf", "-lm", where=tmp_path)
        return emulated(machine, tmp_path / f"{name}.elf").returncode

    assert dict(zip(POLICIES, at_once(checked, POLICIES), strict=True)) == dict.fromkeys(POLICIES, 0)


@ARM
def test_a_wrong_vector_is_noticed_on_cortex_m(tmp_path: Path) -> None:
    """The emulator hands the status of the test on."""
    source = POLICIES["ucbm"].to_c()
    source.save(tmp_path)
    (tmp_path / "hlmc_test.c").write_text(source.test.replace("row == UINT64_C", "row != UINT64_C"))
    flags = ["-std=c99", "-Os", "-ffp-contract=off", *M4]
    sources = ["hlmc.c", "hlmc_test.c", RADIO / "startup.c"]
    compiled("arm-none-eabi-gcc", *flags, *LINK, *sources, "-o", "it.elf", "-lm", where=tmp_path)
    assert emulated("mps2-an386", tmp_path / "it.elf").returncode == 1


@ARM
def test_code_for_cortex_m4_stays_small() -> None:
    """Two-level HLMC in 4 KB with -Os, exponential and logarithm included; Champion in 68 bytes more than 7 KB."""
    for name, most in (("hlmc", 4096), ("champion", 7240)):
        (line,) = (line for line in POLICIES[name].to_c().readme.splitlines() if line.startswith("| Cortex-M4"))
        code, _, stack = (int(cell) for cell in line.split("|")[2:5])
        assert 1000 < code <= most, line
        assert 100 < stack < 1000, line
