"""What is known about the regret of a policy: proved, measured, and not covered."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """What is known about the regret of a policy with its actual parameters.

    Parameters
    ----------
    proved
        The proved bound, with its value if there is one; empty if nothing is proved.
    source
        The source of the proof.
    measured
        The result of simulations. Not a guarantee.
    lost
        What the guarantee does not cover, although others do or one might expect it.

    Examples
    --------
    >>> import hlmc
    >>> print(hlmc.HLMC(arms=100, memory=20, horizon=10**7).guarantee)  # doctest: +NORMALIZE_WHITESPACE
    proved: expected weak regret of at most 8,240,309 in 10,000,000 steps, against any oblivious adversary
    source: Theorem 1 of Xu and Zhao (2021)
    measured: 17 % of the bound in experiment 1 of the paper at T = 10^7 (docs/reproduction.md)
    not covered: regret of single runs (give delta=), a best arm that changes (give switches=),
    rewards that react to the play
    >>> hlmc.UCBM(arms=100, memory=20).guarantee.adversarial
    False
    """

    proved: str = ""
    source: str = ""
    measured: str = ""
    lost: str = ""
    adversarial: bool = False
    """Whether a bound is proved that holds against any oblivious adversary."""

    def __str__(self) -> str:
        lines = [f"proved: {self.proved or 'nothing'}"]
        named = {"source": self.source, "measured": self.measured, "not covered": self.lost}
        lines += [f"{name}: {text}" for name, text in named.items() if text]
        return "\n".join(lines)


def at_most(what: str, bound: float, horizon: int) -> str:
    """A bound as text, marked if it is vacuous.

    >>> at_most("expected weak regret", 1234.5, 10**4)
    'expected weak regret of at most 1,234 in 10,000 steps, against any oblivious adversary'
    >>> at_most("weak regret", 1234.5, 1000)
    'weak regret of at most 1,234 in 1,000 steps (vacuous: at least T), against any oblivious adversary'
    """
    return f"{what} of {most_in(bound, horizon)}, against any oblivious adversary"


def most_in(bound: float, horizon: int) -> str:
    """A bound and the steps that it is for, marked if it is vacuous.

    >>> most_in(1234.5, 1000)
    'at most 1,234 in 1,000 steps (vacuous: at least T)'
    """
    return f"at most {bound:,.0f} in {horizon:,} steps{' (vacuous: at least T)' if bound >= horizon else ''}"
