"""What a device needs and says when it is not there; and the device tests, in Numba's simulator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hlmc.errors import NoDevice
from hlmc.targets.cuda.launch import driver_errors

HERE = Path(__file__).resolve().parent


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=HERE.parent,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(path.name for path in (HERE / "device").glob("test_*.py")))
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
