"""Learners for other machines: a policy or a learner as C99, and one C module of all policies for WebAssembly.

============  ===================================================================================================
``source``    a policy or a learner as C files: :class:`CSource`
``generic``   all policies in one C module, with the program as data
``vectors``   what a learner does, for the test that is exported with it
``sizes``     flash and stack, by the compilers that are installed
============  ===================================================================================================

Nothing is compiled to export it. The kernels are translated by :mod:`hlmc.targets.c`.
"""

from __future__ import annotations

from hlmc.export.source import CSource, exported

__all__ = ["CSource", "exported"]
