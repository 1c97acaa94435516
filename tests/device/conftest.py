"""These tests need a device or Numba's simulator of one, chosen before Numba is imported; see docs/device.md."""

from __future__ import annotations

import os

collect_ignore_glob: list[str] = []
if os.environ.get("NUMBA_ENABLE_CUDASIM") != "1" and os.environ.get("HLMC_DEVICE_TESTS") != "1":
    collect_ignore_glob.append("test_*.py")
