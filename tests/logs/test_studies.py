"""The study of hlmc.replay's intervals runs, and they cover in small, too."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_study_of_coverage_in_small() -> None:
    """With fixed seeds. At full size, 100 logs of 20,000 steps each, none of its 3,200 intervals misses."""
    script = ROOT / "studies" / "replay_coverage.py"
    done = subprocess.run(
        [sys.executable, str(script), "--logs", "6", "--steps", "2000"], capture_output=True, text=True, check=True
    )
    rows = re.findall(r"(EXP3|HLMC|Champion|Tsallis-INF)\s+(\d+)\s+(\d\.\d+)", done.stdout)
    assert [name for name, *_ in rows] == ["EXP3", "HLMC", "Champion", "Tsallis-INF"] * 2
    assert all(int(blocks) < 2000 for name, blocks, _ in rows if name in ("HLMC", "Champion"))
    assert all(float(covered) > 0.9 for *_, covered in rows)
