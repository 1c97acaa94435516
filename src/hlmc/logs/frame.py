"""The answer of a replay: a data frame with one row per candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hlmc.learners import Learner


class Replay(pd.DataFrame):
    """What candidates would have earned per decision, one row each. A data frame that prints rounded numbers.

    ================  ==============================================================================================
    ``kind``          "arm", "mixture", "rule" or "learner"
    ``value``         the estimate, in units of the rewards
    ``low, high``     the interval
    ``effective``     the effective sample size in blocks: (sum W)^2 / sum W^2, with W the weights of a block together
    ``largest``       the largest weight of a row
    ``mean_weight``   the mean weight of the rows: near 1 if propensities are right and every arm had a chance
    ``rows, blocks``  how much of the log was used; of a learner, what was kept
    ``unsupported``   the share that rests on arms which the log never played: of its decisions; of a learner's arms
    ``warning``       what the estimate suffers from; empty if nothing was found
    ================  ==============================================================================================

    ``attrs`` has ``logged`` (the mean reward of the log itself), ``rows``, ``blocks``, ``left_out`` (rows without a
    reward), ``estimator``, ``interval``, ``level`` and ``arms``.
    """

    _metadata = ["learners"]  # noqa: RUF012 - pandas wants a list
    learners: dict[str, Learner]
    """The candidates that learn, as the log has left them."""

    @property
    def _constructor(self) -> Any:
        return Replay

    def plot(self, ax: Axes | None = None) -> Axes:  # type: ignore[override]
        """Every candidate's value with its interval, and the log's own mean; on ``ax`` or a new figure."""
        from hlmc.logs.drawing import draw

        return draw(self, ax)

    def shown(self) -> pd.DataFrame:
        """The cells as they are printed."""
        cells: dict[str, list[str]] = {}
        for name in self.columns:
            kind = "" if name in ("kind", "warning") else ",.0f" if name in ("rows", "blocks", "effective") else ".4g"
            cells[str(name)] = ["-" if pd.isna(x) else format(x, kind) for x in self[name]]
        return pd.DataFrame(cells, index=self.index)

    def _about(self) -> str:
        if "logged" not in self.attrs:
            return ""
        about = self.attrs
        left = f"; {about['left_out']:,} rows have no reward and are left out" if about["left_out"] else ""
        return (
            f"the log itself: {about['logged']:.4g} in {about['rows']:,} rows, {about['blocks']:,} blocks{left}. "
            f"{about['estimator']}, {100 * about['level']:g} % intervals: {about['interval']}"
        )

    def __repr__(self) -> str:
        return f"{self.shown().to_string()}\n{self._about()}".rstrip()

    def _repr_html_(self) -> str:
        return f"{self.shown().to_html()}<p>{self._about()}</p>"
