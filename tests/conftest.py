"""What holds for every test."""

import matplotlib
from hypothesis import settings

# No window is opened, wherever the tests run.
matplotlib.use("Agg")

# The same examples on every run and no clock: a slow machine is no failure.
# `pytest --hypothesis-profile=explore` looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2000, deadline=None)
settings.load_profile("steady")
