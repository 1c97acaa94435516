"""Signals that come between two instructions of Python."""

import gc
import sys
from collections.abc import Callable
from typing import Any

from hlmc.learners import gate
from hlmc.learners.arms import NamedLearner


def matching(learner: NamedLearner) -> bool:
    """Whether the row is one that could be loaded, and the table of arms belongs to it."""
    arms = learner.arms
    slots = {name: slot for name, slot in arms._places.items() if slot >= 0}
    sound = gate.first_unsound(learner.policy, learner.state[None, :].copy()) == 1
    return sound and slots == {name: slot for slot, name in enumerate(arms._names)} and learner._matches(arms)


class Signal(Exception):
    """What the handler of a signal raises."""


def interrupted(call: Callable[[], object], at: int) -> bool:
    """Make a call and raise a Signal before its instruction ``at``, as a handler may; whether it had so many."""
    left = at

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal left
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                raise Signal
        return trace

    before = sys.gettrace()
    gc.disable()  # Python ignores what is raised in a callback of the collector
    sys.settrace(trace)
    try:
        call()
    except Signal:
        return True
    finally:
        sys.settrace(before)
        gc.enable()
    return False
