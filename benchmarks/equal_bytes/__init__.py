"""Policies in equal bytes against the adversaries of the arena, played in C: the parts of ``benchmarks/bits.py``.

``experiments`` says what is played, ``writing`` exports it to a folder, ``playing`` compiles and plays the folder,
``results`` reads what was played, ``tables`` and ``plots`` show it. Only ``writing`` needs this library and only
``plots`` matplotlib, and both import it when they are called: the rest must run where there is Python and a compiler.
"""

from equal_bytes.experiments import FLAT, PLAN, Experiment
from equal_bytes.playing import check, play
from equal_bytes.plots import plot, plot_bytes
from equal_bytes.results import read
from equal_bytes.tables import table
from equal_bytes.writing import plan, write

__all__ = ["FLAT", "PLAN", "Experiment", "check", "plan", "play", "plot", "plot_bytes", "read", "table", "write"]
