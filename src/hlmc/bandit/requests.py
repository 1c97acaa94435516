"""What waits for a transaction: decisions and rewards, which share one, and calls, which have one each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hlmc.bandit.group import Request

if TYPE_CHECKING:
    from hlmc.bandit.experiment import Experiment
    from hlmc.bandit.work import Ask, Tell


class Batch(Request):
    """Decisions to be made and rewards to be learned, together with those of others."""

    def __init__(self, tells: Sequence[Tell], asks: Sequence[Ask]) -> None:
        super().__init__()
        self.tells, self.asks = tells, asks
        self.size = len(tells) + len(asks)


class Call(Request):
    """A function of the experiment, in a transaction of its own."""

    alone = True

    def __init__(self, function: Callable[[Experiment], Any], writes: bool | None) -> None:
        super().__init__()  # writes=None: the function has transactions of its own
        self.function, self.writes = function, writes
