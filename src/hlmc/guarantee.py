"""What is known about a policy's regret: proved, measured, and lost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """What can be said about the regret of one policy, with its parameters as they are.

    Parameters
    ----------
    proved
        What a proof promises, with its number where there is one; empty when nothing is proved.
    source
        Where the proof stands.
    measured
        What simulations here have shown. No promise.
    lost
        What the policy does not promise, though others do or one might expect it.

    Examples
    --------
    >>> import hlmc
    >>> print(hlmc.HLMC(arms=100, memory=20, horizon=10**7).guarantee)
    proved: expected weak regret of at most 8,240,309 in 10,000,000 steps, whatever the rewards, fixed in advance
    source: Theorem 1 of Xu and Zhao (2021)
    measured: 17 % of the bound in experiment 1 of the paper at T = 10^7 (docs/reproduction.md)
    lost: regret of single runs (give delta=), a best arm that changes (give switches=), rewards that react to the play
    >>> hlmc.UCBM(arms=100, memory=20).guarantee.adversarial
    False
    """

    proved: str = ""
    source: str = ""
    measured: str = ""
    lost: str = ""
    adversarial: bool = False
    """Whether a bound is proved, and holds for every sequence of rewards."""

    def __str__(self) -> str:
        lines = [f"proved: {self.proved or 'nothing'}"]
        lines += [f"{name}: {text}" for name in ("source", "measured", "lost") if (text := getattr(self, name))]
        return "\n".join(lines)


def at_most(what: str, bound: float, horizon: int) -> str:
    """A bound as a sentence, which says so when it promises nothing.

    >>> at_most("expected weak regret", 1234.5, 10**4)
    'expected weak regret of at most 1,234 in 10,000 steps, whatever the rewards, fixed in advance'
    >>> at_most("weak regret", 1234.5, 1000)
    'weak regret of at most 1,234 in 1,000 steps (more than can be lost), whatever the rewards, fixed in advance'
    """
    empty = " (more than can be lost)" if bound >= horizon else ""
    return f"{what} of at most {bound:,.0f} in {horizon:,} steps{empty}, whatever the rewards, fixed in advance"
