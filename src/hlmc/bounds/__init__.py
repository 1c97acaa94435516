r"""Bounds on the regret: one function per theorem, in units of reward (at most 1 per step).

The numbered functions follow the paper [1]_ as it is printed, constants included, with K arms (``arms``), T
steps (``horizon``), L groups (``groups``), S epochs (``epochs``), hardness V (``switches``, one more than the
number of changes of the benchmark) and failure probability δ (``delta``). The others bound routines from
other sources.

A bound larger than the horizon is vacuous, but is returned all the same. As in the paper, the rounding of epochs to
whole steps is ignored. With a single arm, or a level with a single child, there is no choice and no regret: the bound
is 0.

References
----------
.. [1] X. Xu and Q. Zhao, "Memory-Constrained No-Regret Learning in Adversarial Multi-Armed Bandits", IEEE
   Transactions on Signal Processing, 2021.
"""

import math

from hlmc.bounds.paper import (
    hierarchy,
    lemma_3,
    lemma_4,
    lemma_5,
    nlogn,
    plotted,
    theorem_1,
    theorem_2,
    theorem_3,
    theorem_4,
    theorem_5,
)
from hlmc.checks import at_least, between, flag, fraction, whole

__all__ = [
    "contest",
    "contest_coded",
    "exp3",
    "exp3_coded",
    "exp3_delayed",
    "exp3_in_parts",
    "exp3_ix",
    "exp3_ix_coded",
    "exp3_loss",
    "exp3_loss_coded",
    "hierarchy",
    "lemma_3",
    "lemma_4",
    "lemma_5",
    "nlogn",
    "plotted",
    "theorem_1",
    "theorem_2",
    "theorem_3",
    "theorem_4",
    "theorem_5",
    "tsallis_coded",
    "tsallis_iw",
    "tsallis_iw_sharp",
    "tsallis_rv",
    "tsallis_rv_sharp",
]


def exp3(horizon: float, arms: int, gamma: float) -> float:
    r"""EXP3 with any probability γ of uniform exploration.

    .. math:: \mathbb{E}[R_w(H)] \le (e - 1)\gamma H + \frac{n\ln n}{\gamma}

    Bounds the expected weak regret over H choices among n arms (Auer et al., 2002, Theorem 3.1, with the
    best arm's reward instead of H).

    >>> round(exp3(horizon=10**7, arms=100, gamma=0.005))
    178017
    """
    H, n = at_least("horizon", horizon, 1), whole("arms", arms, 1)
    share = between("gamma", gamma, 0.0, 1.0, "(0, 1]")
    return 0.0 if n == 1 else (math.e - 1) * share * H + nlogn(n) / share


def exp3_delayed(horizon: float, arms: int, gamma: float, delay: int) -> float:
    r"""EXP3 that learns each reward when it comes, at most d choices late.

    .. math:: \mathbb{E}[R_w(H)] \le \frac{n\ln n}{\gamma}
              + \gamma H \Big(1 + (e - 2)c + 2(e - 1)\frac{d}{n}\Big), \qquad
              c = \Big(1 + (e - 1)\frac{\gamma}{n}\Big)^{2d}

    Bounds the expected weak regret over H choices among n arms, for rewards and delays that are fixed in advance
    (Lemma 1 of ``docs/research/feedback.md``). With d = 0 it is :func:`exp3`.

    >>> round(exp3_delayed(10**7, 100, 0.005, 0)), round(exp3_delayed(10**7, 100, 0.005, 100))
    (178017, 350468)
    """
    H, n = at_least("horizon", horizon, 1), whole("arms", arms, 1)
    share, d = between("gamma", gamma, 0.0, 1.0, "(0, 1]"), whole("delay", delay, 0)
    if n == 1:
        return 0.0
    log_c = 2.0 * d * math.log1p((math.e - 1) * share / n)
    if log_c > 700.0:
        return math.inf
    return nlogn(n) / share + share * H * (1.0 + (math.e - 2) * math.exp(log_c) + 2.0 * (math.e - 1) * d / n)


def exp3_in_parts(horizon: float, arms: int, gamma: float, late: float) -> float:
    r"""EXP3 of which a part of each payoff is credited one choice late.

    .. math:: \mathbb{E}[R_w(H)] \le \frac{n\ln n}{\gamma}
              + \gamma H \Big(1 + (e - 2)\frac{n + e - 1}{n} + e(e - 1)\frac{\rho}{n}\Big)

    Bounds the expected weak regret over H choices among n children, at most a share :math:`\rho` of each payoff being
    late (Lemma 2 of ``docs/research/feedback.md``). With :math:`\rho = 0` it is :func:`exp3`.

    >>> round(exp3_in_parts(1000, 10, 0.1, 0.0)), round(exp3_in_parts(1000, 10, 0.1, 0.1))
    (402, 419)
    """
    H, n = at_least("horizon", horizon, 1), whole("arms", arms, 1)
    share, part = between("gamma", gamma, 0.0, 1.0, "(0, 1]"), between("late", late, 0.0, 1.0, "[0, 1]")
    if part == 0.0:
        return exp3(H, n, share)
    second = (math.e - 2) * (n + math.e - 1) / n + math.e * (math.e - 1) * part / n
    return 0.0 if n == 1 else nlogn(n) / share + share * H * (1.0 + second)


def exp3_loss(horizon: float, arms: int, eta: float | None = None) -> float:
    r"""EXP3 on losses, without mixing.

    .. math:: \mathbb{E}[R_w(H)] \le \frac{\ln n}{\eta} + \frac{\eta n H}{2} = \sqrt{2Hn\ln n}

    Bounds the expected weak regret over H choices among n arms; the right-hand side is that of the default,
    :math:`\eta = \sqrt{2\ln n/(nH)}` (Bubeck and Cesa-Bianchi, "Regret Analysis of Stochastic and
    Nonstochastic Multi-armed Bandit Problems", 2012, Theorem 3.1). Half of Lemma 3.

    >>> round(exp3_loss(horizon=10**7, arms=100))
    95971
    >>> round(exp3_loss(horizon=10**7, arms=100, eta=0.001))
    504605
    """
    H, n = at_least("horizon", horizon, 1), whole("arms", arms, 1)
    if eta is None:
        return math.sqrt(2 * H * nlogn(n))
    rate = between("eta", eta, 0.0, math.inf, "(0, inf)")
    return 0.0 if n == 1 else math.log(n) / rate + rate * n * H / 2


CODED_ROUNDING = 61.0
"""What one rounding adds to the logarithm of the sum of the weights, times 4^b (the second theorem of bits.md)."""


def exp3_coded(horizon: float, arms: int, gamma: float, bits: int) -> float:
    r"""EXP3 with gains of b bits, by the second theorem of ``docs/research/bits.md``.

    .. math:: \mathbb{E}[R_w(H)] \le (e - 1)\gamma H + \frac{n\ln n}{\gamma} + \frac{61\,n (n + 1) H}{\gamma\,4^b}

    For b of at least 6. Never more than H.

    >>> [round(exp3_coded(10**6, 100, 0.0152, bits)) for bits in (12, 16, 20)]
    [1000000, 65852, 56452]
    """
    H, n, b = at_least("horizon", horizon, 1), whole("arms", arms, 1), whole("bits", bits, 1)
    if n == 1:
        return 0.0
    plain = exp3(H, n, gamma)
    return min(float(H), plain + CODED_ROUNDING * n * (n + 1) * H / (gamma * 4.0**b)) if b >= 6 else float(H)


def exp3_loss_coded(horizon: float, arms: int, eta: float, bits: int) -> float:
    r"""EXP3 on losses of b bits, by the second theorem of ``docs/research/bits.md``.

    .. math:: \mathbb{E}[R_w(H)] \le \frac{\ln n}{\eta} + \frac{\eta n H}{2} + \frac{61\,(n + 1) H}{\eta\,4^b}

    For b of at least 6 and a learning rate of at most 1 / n. Never more than H.

    >>> [round(exp3_loss_coded(10**6, 100, 0.0003035, bits)) for bits in (12, 16, 20)]
    [1000000, 35075, 30367]
    """
    H, n, b = at_least("horizon", horizon, 1), whole("arms", arms, 1), whole("bits", bits, 1)
    if n == 1:
        return 0.0
    return _with_rounding(exp3_loss(H, n, eta), H, n, eta, b)


def exp3_ix_coded(horizon: float, arms: int, eta: float, bits: int) -> float:
    r"""EXP3-IX with losses of b bits, by the second theorem of ``docs/research/bits.md``.

    .. math:: \mathbb{E}[R_w(H)] \le \frac{\ln n}{\eta} + \eta n H + \frac{61\,(n + 1) H}{\eta\,4^b}

    In expectation only. For b of at least 6 and a learning rate of at most 1 / n. Never more than H.

    >>> [round(exp3_ix_coded(10**6, 100, 0.0003038, bits)) for bits in (12, 16, 20)]
    [1000000, 50260, 45557]
    """
    H, n, b = at_least("horizon", horizon, 1), whole("arms", arms, 1), whole("bits", bits, 1)
    eta = between("eta", eta, 0.0, math.inf, "(0, inf)")
    if n == 1:
        return 0.0
    return _with_rounding(math.log(n) / eta + eta * n * H, H, n, eta, b)


def _with_rounding(plain: float, H: float, n: int, eta: float, b: int) -> float:
    """The bound of exponential weights on losses with what b bits add, where the second theorem holds; else H."""
    if b < 6 or eta * n > 1.0:
        return float(H)
    return min(float(H), plain + CODED_ROUNDING * (n + 1) * H / (eta * 4.0**b))


def exp3_ix(horizon: float, arms: int, delta: float | None = None) -> float:
    r"""EXP3-IX.

    .. math:: R_w(H) \le \sqrt{8Hn\ln(n+1)} + \sqrt{\frac{Hn}{2\ln(n+1)}}\,\ln\frac{1}{\delta}
              + \ln\frac{n+1}{\delta} \quad \text{with probability at least } 1 - \delta

    Bounds the weak regret itself over H choices among n arms, with :math:`\eta = \sqrt{2\ln(n+1)/(nH)}` and
    an implicit exploration of η/2 (Neu, "Explore no more", 2015; in this form Lattimore and Szepesvári,
    "Bandit Algorithms", 2020, Chapter 12). The routine does not depend on δ, so the tail can be integrated:
    without a ``delta`` this is the bound on the expected weak regret, with 1 in place of
    :math:`\ln(1/\delta)`.

    >>> round(exp3_ix(horizon=10**7, arms=100, delta=0.05))
    223337
    >>> round(exp3_ix(horizon=10**7, arms=100))
    202563
    """
    H, n = at_least("horizon", horizon, 1), whole("arms", arms, 1)
    tail = 1.0 if delta is None else -math.log(fraction("delta", delta))
    if n == 1:
        return 0.0
    log = math.log(n + 1)
    return math.sqrt(8 * H * n * log) + math.sqrt(H * n / (2 * log)) * tail + log + tail


def tsallis_iw(horizon: float, arms: int) -> float:
    r"""Tsallis-INF with importance-weighted losses.

    .. math:: \mathbb{E}[R_w(H)] \le 4\sqrt{nH} + 1

    Bounds the expected weak regret over H choices among n arms, with :math:`\eta_t = 2/\sqrt{t}` (Zimmert and
    Seldin, "Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits", JMLR 22(28), 2021,
    Theorem 1).

    >>> round(tsallis_iw(horizon=10**7, arms=100))
    126492
    """
    H, n = at_least("horizon", horizon, 1), whole("arms", arms, 1)
    return 0.0 if n == 1 else 4 * math.sqrt(n * H) + 1


def tsallis_rv(horizon: float, arms: int) -> float:
    r"""Tsallis-INF with reduced-variance losses.

    .. math:: \mathbb{E}[R_w(H)] \le 2\sqrt{nH} + 10 n \ln H + 16

    Bounds the expected weak regret over H choices among n arms, with :math:`\eta_t = 4/\sqrt{t}` (Zimmert and
    Seldin, 2021, Theorem 1, as for `tsallis_iw`).

    >>> round(tsallis_rv(horizon=10**7, arms=100))
    79380
    """
    H, n = at_least("horizon", horizon, 1), whole("arms", arms, 1)
    return 0.0 if n == 1 else 2 * math.sqrt(n * H) + 10 * n * math.log(H) + 16


def _excess(H: float, n: int) -> float:
    """E of Lemma 1: the sum of min(1/4, 10 n / (3 s)) over the choices s up to H, or more."""
    return 10 / 3 * n * (1 + math.log(3 * H / (40 * n))) if 40 * n <= 3 * H else H / 4


def tsallis_iw_sharp(horizon: float, arms: int) -> float:
    r"""Tsallis-INF with importance-weighted losses, by Lemma 1 of ``docs/research/champion.md``.

    .. math:: \mathbb{E}[R_w(H)] \le 4\sqrt{nH} - 2\sqrt{H} - 2n\ln(1 + \sqrt{H/n}) + 0.4\ln H + 0.1\sqrt{n}

    The last two terms are for draws from probabilities whose sum was off by up to :math:`\eta^2/10`. Holds against a
    fixed arm also when the payoffs depend on the past. Never more than H.

    >>> round(tsallis_iw_sharp(horizon=10**7, arms=100))
    119022
    """
    H, n = at_least("horizon", horizon, 1), whole("arms", arms, 1)
    if n == 1:
        return 0.0
    exact = 4 * math.sqrt(n * H) - 2 * math.sqrt(H) - 2 * n * math.log(1 + math.sqrt(H / n))
    return min(H, exact + 0.4 * math.log(H) + 0.1 * math.sqrt(n))


def tsallis_rv_sharp(horizon: float, arms: int) -> float:
    r"""Tsallis-INF with reduced-variance losses, by Lemma 1 of ``docs/research/champion.md``.

    .. math:: \mathbb{E}[R_w(H)] \le 2\sqrt{nH} - \sqrt{H} + E + 0.8\ln H + 1.2\ln n + 0.3\sqrt{n}, \qquad
              E = \tfrac{10}{3}\,n\Big(1 + \ln\frac{3H}{40n}\Big) \text{ if } 3H \ge 40n, \text{ else } H/4

    Holds for draws from probabilities whose sum was off by up to :math:`\eta^2/10` and at most 1/20; against a fixed
    arm also when the payoffs depend on the past. Never more than H.

    >>> round(tsallis_rv_sharp(horizon=10**7, arms=100))
    63412
    """
    H, n = at_least("horizon", horizon, 1), whole("arms", arms, 1)
    if n == 1:
        return 0.0
    rest = 0.8 * math.log(H) + 1.2 * math.log(n) + 0.3 * math.sqrt(n)
    return min(H, 2 * math.sqrt(n * H) - math.sqrt(H) + _excess(H, n) + rest)


def tsallis_coded(horizon: float, arms: int, bits: int, reduced: bool = True) -> float:
    r"""Tsallis-INF with losses of b bits, by the theorem of ``docs/research/bits.md``.

    .. math:: \mathbb{E}[R_w(H)] \le R(n, H) + \frac{43}{c}\,\frac{(n + 1) (H + 1)^{3/2}}{4^b}
              + \frac{n}{7}\Big(1 + \ln\Big(1 + \frac{H}{16 n}\Big)\Big)

    R is `tsallis_rv_sharp` and c = 4 (``reduced``), or `tsallis_iw_sharp` and c = 2 (and without the last term). The
    draw is that of 64 bits. For b of at least 6. Never more than H.

    >>> [round(tsallis_coded(10**6, 100, bits)) for bits in (10, 12, 16, 20)]
    [1000000, 86382, 21919, 21667]
    """
    H, n, b = at_least("horizon", horizon, 1), whole("arms", arms, 1), whole("bits", bits, 1)
    reduced = flag("reduced", reduced)
    if n == 1:
        return 0.0
    if b < 6:
        return float(H)
    plain = tsallis_rv_sharp(H, n) if reduced else tsallis_iw_sharp(H, n)
    rounding = 43 / (4 if reduced else 2) * (n + 1) * (H + 1) * math.sqrt(H + 1) / 4.0**b
    lowering = n / 7 * (1 + math.log(1 + H / (16 * n))) if reduced else 0.0
    return min(float(H), plain + rounding + lowering)


def contest(steps: int, arms: int, doubt: float) -> float:
    r"""One epoch of a champion and the arms of a group, by Lemma 3 of ``docs/research/champion.md``.

    Bounds what an epoch of at most :math:`\Delta` steps loses to any fixed one of its n arms, the champion
    counted, when the prior leaves the others at least the share :math:`\varepsilon` (``doubt``):

    .. math:: \tfrac12\sqrt{\Delta + 1}\,\big(\sqrt{1 - \varepsilon} + \sqrt{(n-1)\varepsilon}
              + \sqrt{(n-1)/\varepsilon} - 2\big) + (\sqrt n - 1)(\sqrt{2\Delta} - \sqrt{\Delta + 1})
              + \tfrac14\sqrt{n\Delta(16\ln 2/0.98 + 72/(\Delta + 1))} + 16\ln 2\,(n/2 + 1/5) + 130 n/\Delta

    for :math:`\Delta \ge 15`, and never more than :math:`\Delta`.

    >>> round(contest(steps=3796, arms=11, doubt=0.005))
    1649
    """
    D, n = whole("steps", steps, 1), whole("arms", arms, 1)
    if n == 1:
        return 0.0
    e = min(fraction("doubt", doubt), (n - 1) / n)
    if D < 15:
        return float(D)
    prior = math.sqrt(D + 1) / 2 * (math.sqrt(1 - e) + math.sqrt((n - 1) * e) + math.sqrt((n - 1) / e) - 2)
    slowing = (math.sqrt(n) - 1) * (math.sqrt(2 * D) - math.sqrt(D + 1))
    rates = 16 * math.log(2)
    stability = math.sqrt(n * D * (rates / 0.98 + 72 / (D + 1))) / 4 + rates * (n / 2 + 0.2) + 130 * n / D
    return min(float(D), prior + slowing + stability)


def contest_coded(steps: int, arms: int, doubt: float, bits: int) -> float:
    r"""One epoch of a champion and the arms of a group with losses of b bits, by the third theorem of bits.md.

    .. math:: 1.0001\,\beta(\Delta, n, \varepsilon) + 0.36\,n + 12\,\frac{(n + 1)(\Delta + 1)^{3/2}}{4^b}

    with :math:`\beta` of `contest`. For b of at least 6. Never more than :math:`\Delta`.

    >>> [round(contest_coded(steps=3796, arms=11, doubt=0.005, bits=bits)) for bits in (8, 10, 12)]
    [2167, 1685, 1655]
    """
    D, n, b = whole("steps", steps, 1), whole("arms", arms, 1), whole("bits", bits, 1)
    if n == 1:
        return 0.0
    if b < 6:
        return float(D)
    rounding = 12 * (n + 1) * (D + 1) * math.sqrt(D + 1) / 4.0**b
    return min(float(D), 1.0001 * contest(D, n, doubt) + 0.36 * n + rounding)
