"""Simulation: policies against adversaries, many runs, results that last."""

from __future__ import annotations

from hlmc.interrupts import Interrupted
from hlmc.simulation.moments import Moments, estimate
from hlmc.simulation.own import PythonPolicy
from hlmc.simulation.progress import Reporter, reporter
from hlmc.simulation.reading import load_result
from hlmc.simulation.result import Result
from hlmc.simulation.runner import simulate
from hlmc.simulation.sweeping import Sweep, sweep
from hlmc.simulation.tracing import trace

__all__ = [
    "Interrupted",
    "Moments",
    "PythonPolicy",
    "Reporter",
    "Result",
    "Sweep",
    "estimate",
    "load_result",
    "reporter",
    "simulate",
    "sweep",
    "trace",
]
