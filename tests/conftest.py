"""What holds for every test."""

import signal
import sys
from collections.abc import Iterator

import matplotlib
import pytest
from hypothesis import settings

# No window is opened, wherever the tests run.
matplotlib.use("Agg")

# A shell starts what runs in the background with Ctrl-C ignored, and tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run and no clock: a slow machine is no failure.
# `pytest --hypothesis-profile=explore` looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2000, deadline=None)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def figures() -> Iterator[None]:
    """`pyplot` keeps every figure until it is closed, and warns of many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def nothing_told() -> Iterator[None]:
    """What a plain reading is told of one learner is forgotten before the next test."""
    yield
    if "reference_losses" in sys.modules:
        sys.modules["reference_losses"].KEPT.clear()


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Functions by name, not by address: workers that share the tests must find the same names."""
    return getattr(val, "__name__", None) if callable(val) else None
