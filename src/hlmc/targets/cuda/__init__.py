"""The same learners on a CUDA device: see :func:`hlmc.simulate` and :func:`hlmc.play` with ``device="cuda"``."""
