"""Fixtures of the tests of learners."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test saves a learner or a fleet."""
    return tmp_path / "saved"
