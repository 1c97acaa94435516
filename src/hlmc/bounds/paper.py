r"""The paper's bounds: its lemmas, theorems and corollaries, and the curve that it draws."""

import math
from collections.abc import Sequence

from hlmc.checks import at_least, fraction, whole, wholes
from hlmc.errors import BadArgument, shown


def nlogn(children: int) -> float:
    """x = n ln n, the cost of a level with n children under EXP3; 0 for a single child.

    >>> round(nlogn(10), 4)
    23.0259
    >>> nlogn(1)
    0.0
    """
    n = whole("children", children, 1)
    return n * math.log(n)


# --- The paper's lemmas -------------------------------------------------------------------------------------


def lemma_3(horizon: float, arms: int) -> float:
    r"""Lemma 3: EXP3 on K arms.

    .. math:: \mathbb{E}[R_w(T)] \le 2\sqrt{2TK\ln K}

    Bounds the expected weak regret, with :math:`\gamma = \sqrt{K \ln K / 2T}`. The source (Auer et al., 2002,
    Corollary 3.2) has :math:`2\sqrt{e-1}` for :math:`2\sqrt{2}`, with a γ of its own.

    >>> round(lemma_3(horizon=10**7, arms=100))
    191941
    """
    T = at_least("horizon", horizon, 1)
    return 2 * math.sqrt(2 * T * nlogn(whole("arms", arms, 1)))


def lemma_4(horizon: float, arms: int, delta: float) -> float:
    r"""Lemma 4: EXP3.P on K arms.

    .. math:: R_w(T) \le 5.15\sqrt{KT\ln(K/\delta)} \quad \text{with probability at least } 1 - \delta

    Bounds the weak regret itself, with :math:`\beta = \sqrt{\ln(K/\delta)/KT}`,
    :math:`\eta = 0.95\sqrt{\ln K/KT}` and :math:`\gamma = 1.05\sqrt{K \ln K/T}` (Bubeck and Cesa-Bianchi,
    2012).

    >>> round(lemma_4(horizon=10**7, arms=100, delta=0.05))
    448993
    """
    T, K = at_least("horizon", horizon, 1), whole("arms", arms, 1)
    fraction("delta", delta)
    return 0.0 if K == 1 else 5.15 * math.sqrt(K * T * math.log(K / delta))


def lemma_5(horizon: float, arms: int, switches: int) -> float:
    r"""Lemma 5: EXP3.S on K arms.

    .. math:: \mathbb{E}[R_s(T, V)] \le 4\sqrt{VKT\ln(KT)}

    Bounds the expected shifting regret against any sequence of hardness at most V, with
    :math:`\gamma = \sqrt{KV\ln(KT)/T}` and :math:`\alpha = 1/T`. The source (Auer et al., 2002, Corollary
    8.3) has constants with :math:`e - 1` in them.

    >>> round(lemma_5(horizon=10**6, arms=16, switches=10))
    206072
    """
    T, K, V = at_least("horizon", horizon, 1), whole("arms", arms, 1), whole("switches", switches, 1)
    return 0.0 if K == 1 else 4 * math.sqrt(V * K * T * math.log(K * T))


# --- The paper's theorems and corollaries -------------------------------------------------------------------


def theorem_1(horizon: float, arms: int) -> float:
    r"""Theorem 1: two levels, EXP3 on both.

    .. math:: \mathbb{E}[R_w(T)] \le (4 + 2\sqrt{2})\, T^{3/4} K^{1/4} (\ln K)^{1/2}

    Bounds the expected weak regret for :math:`N = \lceil\sqrt{K}\rceil`, :math:`L = \lceil K/N\rceil` and
    epochs of :math:`\Delta = \lceil\sqrt{TN\ln N/(L\ln L)}\rceil` steps. `hierarchy` gives the sharper value
    before :math:`\ln N` and :math:`\ln L` are replaced by :math:`\ln K`.

    >>> round(theorem_1(horizon=10**7, arms=100))
    8240309
    """
    return (4 + 2 * math.sqrt(2)) * _level_rate(at_least("horizon", horizon, 1), arms, levels=2)


def theorem_2(horizon: float, arms: int, delta: float) -> float:
    r"""Theorem 2: two levels, EXP3.P on both.

    .. math:: R_w(T) \le 12.5\, T^{3/4} K^{1/4} (\ln(2KT/\delta))^{1/2}
              \quad \text{with probability at least } 1 - \delta

    Bounds the weak regret itself, with epochs of
    :math:`\Delta = \lceil\sqrt{TN\ln(2KT/\delta)/(L\ln(2L/\delta))}\rceil` steps.

    >>> round(theorem_2(horizon=10**7, arms=100, delta=0.05))
    34730656
    """
    T, K = at_least("horizon", horizon, 1), whole("arms", arms, 1)
    fraction("delta", delta)
    return 0.0 if K == 1 else 12.5 * T**0.75 * K**0.25 * math.sqrt(math.log(2 * K * T / delta))


def theorem_3(horizon: float, arms: int, switches: int) -> float:
    r"""Theorem 3: two levels, EXP3.S over the groups and EXP3 over the arms, V known.

    .. math:: \mathbb{E}[R_s(T, V)] \le (6\sqrt{2} + 1)\, T^{3/4} V^{1/4} K^{1/4} (\ln(KT))^{1/2}

    Bounds the expected shifting regret at hardness V, with epochs of
    :math:`\Delta = \lceil\sqrt{TN\ln N/(VL\ln(TL))}\rceil` steps. Needs :math:`T \ge VK`.

    >>> round(theorem_3(horizon=10**6, arms=16, switches=10))
    4344887
    """
    T, K, V = at_least("horizon", horizon, 1), whole("arms", arms, 1), whole("switches", switches, 1)
    if T < V * K:
        raise BadArgument(f"horizon must be at least switches * arms = {V * K} for Theorem 3, not {shown(horizon)}")
    return (6 * math.sqrt(2) + 1) * _shifting_rate(T, K, V)


def theorem_4(horizon: float, arms: int, switches: int) -> float:
    r"""Theorem 4: as Theorem 3, but the learner does not know V.

    .. math:: \mathbb{E}[R_s(T, V)] \le \sqrt{2}\,(V + 5)\, T^{3/4} K^{1/4} (\ln(KT))^{1/2}

    Bounds the expected shifting regret at any hardness V, with epochs of
    :math:`\Delta = \lceil\sqrt{TN\ln N/(L\ln(TL))}\rceil` steps and :math:`\gamma_1 = \sqrt{L\ln(LS)/S}`.

    >>> round(theorem_4(horizon=10**6, arms=16, switches=10))
    5464300
    """
    T, K, V = at_least("horizon", horizon, 1), whole("arms", arms, 1), whole("switches", switches, 1)
    return math.sqrt(2) * (V + 5) * _shifting_rate(T, K, 1)


def theorem_5(horizon: float, arms: int) -> float:
    r"""Theorem 5: three levels, EXP3 on each.

    .. math:: \mathbb{E}[R_w(T)] \le 12\, T^{5/6} K^{1/6} (\ln K)^{1/2}

    Bounds the expected weak regret for :math:`N_1 = N_2 = \lceil K^{1/3}\rceil`,
    :math:`N_3 = \lceil K/(N_1 N_2)\rceil` and
    :math:`S_i = \lceil T^{1/3}(N_i\ln N_i)^{2/3} / (\prod_{j\ne i} N_j\ln N_j)^{1/3}\rceil`.

    >>> round(theorem_5(horizon=10**7, arms=100))
    37798168
    """
    return 12 * _level_rate(at_least("horizon", horizon, 1), arms, levels=3)


def hierarchy(horizon: float, groups: Sequence[int]) -> float:
    r"""D levels of EXP3 with :math:`N_1, \dots, N_D` children and the best epochs.

    .. math:: \mathbb{E}[R_w(T)] \le 2\sqrt{2}\, D\, T \Big(\frac{\prod_j x_j}{T}\Big)^{1/2D},
              \qquad x_j = N_j \ln N_j

    Bounds the expected weak regret with :math:`S_i = x_i (T/\prod_j x_j)^{1/D}` choices at level i before it
    is reset. This is the proof of Theorem 5 for any depth: every level then has the same regret,
    :math:`2\sqrt{2}\,T\sqrt{x_i/S_i}`. One level gives Lemma 3; two and three levels give what Theorems 1 and
    5 round up. Levels with one child make no choice and do not count.

    >>> [round(hierarchy(10**7, groups)) for groups in [(100,), (10, 10), (5, 5, 4)]]
    [191941, 4827062, 15412280]
    >>> hierarchy(10**7, (10, 1, 10)) == hierarchy(10**7, (10, 10))
    True
    """
    T = at_least("horizon", horizon, 1)
    costs = [x for x in map(nlogn, wholes("groups", groups)) if x > 0]
    if not costs:
        return 0.0
    D = len(costs)
    # Logarithms: the product of the costs of a hierarchy over many arms need not fit a float.
    mean = (math.fsum(map(math.log, costs)) - math.log(T)) / (2 * D)
    return 2 * math.sqrt(2) * D * T * math.exp(mean)


def plotted(horizon: float, arms: int, levels: int) -> float:
    r"""The curve that the paper draws for D levels (Section VI): Theorem 1's shape with the constant 2.

    .. math:: 2\, T'^{1 - 1/2D} K^{1/2D} (\ln K)^{1/2}

    Not a bound. The paper sets the constant to 2 to compare orders, and uses the reward of the best arm as
    :math:`T'` instead of the horizon. One level is its curve for EXP3, :math:`2\sqrt{T'K\ln K}`.

    >>> [round(plotted(2 * 10**6, 100, levels)) for levels in (1, 2, 3)]
    [60697, 721814, 1647572]
    """
    return 2 * _level_rate(at_least("horizon", horizon, 0), arms, whole("levels", levels, 1))


def _power(T: float, K: int, D: int) -> float:
    return float(T ** (1 - 1 / (2 * D)) * K ** (1 / (2 * D)))


def _level_rate(T: float, arms: int, levels: int) -> float:
    """T^(1 - 1/2D) K^(1/2D) (ln K)^(1/2)."""
    K = whole("arms", arms, 1)
    return _power(T, K, levels) * math.sqrt(math.log(K))


def _shifting_rate(T: float, K: int, V: int) -> float:
    """T^(3/4) V^(1/4) K^(1/4) (ln KT)^(1/2)."""
    return 0.0 if K == 1 else float(T**0.75 * V**0.25 * K**0.25 * math.sqrt(math.log(K * T)))
