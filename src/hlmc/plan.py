"""The plan of a policy: its levels, their parameters, the memory in words, and the bound."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hlmc.engine.layout import window_words

NEAR = 0.25
"""A delay of more than this part of an epoch is worth a warning."""


@dataclass(frozen=True)
class PlanLevel:
    """One level of a plan. Level 1 is the top."""

    level: int
    routine: str
    children: int
    size: int
    choices: int
    length: int
    parameters: dict[str, float]
    words: int


@dataclass(frozen=True)
class Plan:
    """The plan of a policy. ``print(plan)`` shows it as a table; ``plan.as_dict()`` is for programs.

    >>> import hlmc
    >>> print(hlmc.HLMC(arms=100, memory=20, horizon=10**6).plan)
    HLMC(arms=100, memory=20, horizon=1000000)
    level  routine  children  arms each  choices  steps each  words  parameters
        1  exp3           10         10     1000        1000     10  gamma=0.1073
        2  exp3           10          1     1000           1     10  gamma=0.1073
    words: 20 statistics + 19 control = 39 (312 bytes)   bound on the regret: 1,465,357
    """

    policy: str
    arms: int
    horizon: int | None
    levels: tuple[PlanLevel, ...]
    statistics: int
    control: int
    bound: float | None
    note: str = ""
    pending: int = 0
    delay: int = 0
    late: float = 0.0
    """The share of rewards that come after the epoch of their decision: the arms' level learns nothing from them."""

    @property
    def groups(self) -> tuple[int, ...]:
        """N_1, ..., N_D."""
        return tuple(level.children for level in self.levels)

    @property
    def epochs(self) -> tuple[int, ...]:
        """S_1, ..., S_D: the number of choices of each level before it restarts."""
        return tuple(level.choices for level in self.levels)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of steps for which a choice of each level stands. With two levels, the first is Delta."""
        return tuple(level.length for level in self.levels)

    @property
    def routines(self) -> tuple[str, ...]:
        """The routine of each level, top first."""
        return tuple(level.routine for level in self.levels)

    @property
    def parameters(self) -> tuple[dict[str, float], ...]:
        """The parameters of each level, top first."""
        return tuple(level.parameters for level in self.levels)

    def as_dict(self) -> dict[str, Any]:
        """The plan as numbers, strings and lists, ready for JSON."""
        return asdict(self) | {"total": self.statistics + self.control}

    def rows(self) -> list[tuple[str, ...]]:
        """The cells of the table, headings first."""
        head = ("level", "routine", "children", "arms each", "choices", "steps each", "words", "parameters")
        body = [
            (
                str(v.level),
                v.routine,
                f"{v.children}",
                f"{v.size}",
                f"{v.choices}",
                f"{v.length}",
                f"{v.words}",
                ", ".join(f"{name}={value:.4g}" for name, value in v.parameters.items()),
            )
            for v in self.levels
        ]
        return [head, *body]

    def closing(self) -> str:
        """The line below the table: words, bytes and bound."""
        total = self.statistics + self.control
        words = f"words: {self.statistics} statistics + {self.control} control = {total} ({8 * total} bytes)"
        bound = "none proved" if self.bound is None else f"{self.bound:,.0f}"
        return f"{words}   bound on the regret: {bound}"

    def awaiting(self) -> list[str]:
        """Lines about rewards that come late, if any may.

        >>> import hlmc
        >>> print(*hlmc.HLMC(arms=100, memory=20, horizon=10**6, pending=4096, delay=2000).plan.awaiting(), sep="\\n")
        pending: up to 4096 decisions, in 79 of the control words
        delay of 2000 decisions: 14.1 % of the rewards come after their epoch and are credited to the groups alone
        """
        lines = []
        if self.pending:
            words = window_words(self.pending)
            lines.append(f"pending: up to {self.pending} decisions, in {words} of the control words")
        if self.delay:
            above = " and are credited to the groups alone" if len(self.levels) > 1 else ""
            lines.append(
                f"delay of {self.delay} decisions: {100 * self.late:.3g} % of the rewards come after their epoch{above}"
            )
        if self.late > NEAR:
            lines.append("warning: the delay is near the epoch, and little is learned at the arms; give longer epochs")
        if self.delay and self.delay >= self.pending:
            lines.append(f"warning: pending = {self.pending} is too few for this delay, and rewards expire")
        return lines

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        left = {1, len(widths) - 1}
        lines = [
            "  ".join(c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
            for row in rows
        ]
        note = [self.note] if self.note else []
        return "\n".join([self.policy, *(line.rstrip() for line in lines), *note, *self.awaiting(), self.closing()])

    def _repr_html_(self) -> str:
        head, *body = self.rows()
        cells = "".join(f"<th>{c}</th>" for c in head)
        lines = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in body)
        return f"<p><code>{self.policy}</code></p><table><tr>{cells}</tr>{lines}</table><p>{self.closing()}</p>"
