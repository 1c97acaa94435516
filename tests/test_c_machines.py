"""Exported learners on microcontrollers, under an emulator: their own tests pass there, with Python's vectors."""

import subprocess
from pathlib import Path

import pytest

import hlmc
from c_tools import at_once, compiled, needs
from hlmc.export import CSource
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
NARROW = {
    "hlmc": POLICIES["hlmc"],
    "levels": hlmc.HLMC(arms=30, levels=3, horizon=10**5, routines=("tsallis-inf", "exp3s", "exp3")),
    "champion": POLICIES["champion"],
    "exp3": hlmc.EXP3(arms=20, horizon=10**4),
    "tsallis": hlmc.TsallisINF(arms=20),
}
"""In single precision."""
ARM = needs("arm-none-eabi-gcc", "qemu-system-arm")
LINK = ["-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs", "-Wl,--gc-sections", "-T", RADIO / "board.ld"]


def emulated(machine: str, image: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run an image to its end; what it says through semihosting is on standard error."""
    command = ["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", "-serial", "none"]
    command += ["-semihosting-config", "enable=on,target=native", *options, "-kernel", str(image)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def written(folder: Path, source: CSource) -> None:
    """Write a learner and its test."""
    for file in (f"{source.name}.h", f"{source.name}.c", f"{source.name}_test.c"):
        text = {"h": source.header, "c": source.source}[file[-1]]
        (folder / file).write_text(source.test if file.endswith("_test.c") else text)


@ARM
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_the_exported_tests_pass_on_cortex_m(tmp_path: Path, machine: str, precision: str) -> None:
    policies = POLICIES if precision == "float64" else NARROW

    def checked(name: str) -> int:
        written(tmp_path, policies[name].to_c(name, precision=precision))
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Os", "-ffp-contract=off", *MACHINES[machine]]
        sources = [f"{name}.c", f"{name}_test.c", RADIO / "startup.c"]
        compiled("arm-none-eabi-gcc", *flags, *LINK, *sources, "-o", f"{name}.elf", "-lm", where=tmp_path)
        return emulated(machine, tmp_path / f"{name}.elf").returncode

    assert dict(zip(policies, at_once(checked, policies), strict=True)) == dict.fromkeys(policies, 0)


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
    """Two-level HLMC in 4 KB with -Os, exponential and logarithm included; Champion in 7 KB; less in float32."""
    for name, precision, most in (
        ("hlmc", "float64", 4096),
        ("champion", "float64", 7168),
        ("hlmc", "float32", 2560),
        ("champion", "float32", 4608),
    ):
        text = POLICIES[name].to_c(precision=precision).readme
        (line,) = (line for line in text.splitlines() if line.startswith("| Cortex-M4"))
        code, _, stack = (int(cell) for cell in line.split("|")[2:5])
        assert 1000 < code <= most, line
        assert 50 < stack < 1000, line
