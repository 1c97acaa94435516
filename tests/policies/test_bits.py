"""Policies of few bits: the words that they keep, what is refused, and how the planner spends a memory."""

import math

import numpy as np
import pytest

import hlmc
from hlmc import planning
from hlmc.engine.layout import describe
from hlmc.errors import BadArgument


def test_a_learner_keeps_so_many_bits_and_no_more() -> None:
    for bits, words in ((4, 7), (8, 13), (12, 19), (16, 25), (32, 50)):
        policy = hlmc.TsallisINF(arms=100, bits=bits)
        assert policy.words.statistics == words == -(-100 * bits // 64)
        assert policy.start().state.nbytes == 8 * policy.words.total
    assert hlmc.TsallisINF(arms=100, bits=64) == hlmc.TsallisINF(arms=100)
    assert hlmc.HLMC(arms=100, groups=(10, 10), horizon=100, bits=(8, 12)).words.statistics == 2 + 2


def test_a_fleet_of_a_million_learners_of_a_hundred_arms_takes_less_than_280_megabytes() -> None:
    assert 10**6 * 8 * hlmc.TsallisINF(arms=100, bits=12).words.total < 280 * 10**6


def test_bits_that_cannot_be_had_are_refused() -> None:
    for bits in (3, 33, 65, 0):
        with pytest.raises(BadArgument, match="bits must be"):
            hlmc.TsallisINF(arms=10, bits=bits)
    with pytest.raises(BadArgument, match=r"bits must be 64 for routines.EXP3P\(\), not 8; fewer are for contest, "):
        hlmc.HLMC(arms=10, levels=2, horizon=100, delta=0.1, bits=8)
    with pytest.raises(BadArgument, match="bits must be 2 numbers"):
        hlmc.HLMC(arms=100, levels=2, horizon=100, bits=(8, 8, 8))
    with pytest.raises(BadArgument, match="bits must be one number"):
        hlmc.HLMC(arms=100, memory=20, horizon=100, bits=(8, 8))


def test_a_row_of_codes_is_shown_as_bits() -> None:
    policy = hlmc.TsallisINF(arms=10, bits=12)
    learner = policy.start(seed=1)
    learner.update(0.25 * (learner.select() % 3))
    assert "0x" in describe(learner.state, policy.program, policy.structure).split("statistics of level 0")[1]
    assert "WIDTH                          12" in describe(policy.program)
    assert "WIDTH" not in describe(hlmc.TsallisINF(arms=10).program)


def test_the_planner_fills_the_words_it_is_given() -> None:
    for arms, memory, bits in ((100, 20, 12), (1000, 20, 12), (10**5, 640, 8), (100, 7, 8), (10**9, 96, 6)):
        groups = planning.coded_split(arms, memory, bits, 10**7)
        assert math.prod(groups) >= arms
        assert planning.coded_words(groups, bits) <= memory
    assert planning.coded_split(100, 20, 12) == (100,)
    with pytest.raises(BadArgument, match="memory must be at least"):
        planning.coded_split(10**9, 2, 12)


def test_a_champion_s_memory_never_buys_a_worse_split() -> None:
    """Levels get fewer as memory grows; between two depths the groups stay as equal as they are (research/bits.md)."""
    for arms in (100, 1000):
        for bits in (10, 64):
            levels = [arms]
            for memory in range(13 if bits == 64 else 6, arms + 1):
                groups = hlmc.Champion(arms, memory=memory, bits=bits).groups_used
                assert len(groups) <= levels[-1]
                assert groups == planning.tight_groups(arms, len(groups))
                levels.append(len(groups))
            assert levels[-1] == 1
    assert hlmc.Champion(1000, memory=341).groups_used == hlmc.Champion(1000, memory=64).groups_used
    # With few steps for each arm two levels are better than one, however much memory there is.
    for bits in ("auto", 10, 64):
        brief, long = (hlmc.Champion(1000, memory=1000, horizon=T, bits=bits).groups_used for T in (29_999, 30_000))
        assert (brief, long) == (planning.tight_groups(1000, 2), (1000,))


@pytest.mark.parametrize("bits", [12, 64])
@pytest.mark.parametrize("arms", [1, 2, 5, 100])
def test_a_champion_with_memory_for_all_arms_is_tsallis_inf(arms: int, bits: int) -> None:
    """So more memory helps at the last step too: from an even prior an epoch of T steps learns far too slowly."""
    flat = hlmc.TsallisINF(arms, bits=bits)
    policy = hlmc.Champion(arms, memory=max(1, flat.words.statistics), bits=bits)
    assert policy.words == flat.words
    assert np.array_equal(policy.program, flat.program)
    assert policy.structure is flat.structure
    assert policy.bound(10**6) == flat.bound(10**6)


def test_bits_auto_keeps_to_the_memory() -> None:
    for arms, memory in ((100, 20), (1000, 64), (10**5, 640), (20, 4), (400, 7), (10**6, 40)):
        for cls in (hlmc.Champion, hlmc.HLMC):
            policy = cls(arms, memory=memory, horizon=10**6, bits="auto")
            assert policy.words.statistics <= memory
            assert math.prod(policy.groups_used) >= arms
            assert policy == cls(arms, memory=memory, horizon=10**6, bits="auto")
            assert 'bits="auto"' in repr(policy) or "bits='auto'" in repr(policy)
    assert hlmc.Champion(100, memory=20, horizon=10**6, bits="auto").groups_used == (100,)
    assert hlmc.Champion(100, memory=20, horizon=10**6, bits="auto").bits_used == 12
    told = hlmc.Champion(100, memory=20, horizon=10**6, switches=5, bits="auto")
    assert (told.groups_used, told.bits_used) == ((1, 10, 10), 10)
    for arms, memory in ((2, 1), (6, 1), (12, 2)):  # two levels do not fit
        alone, told = (hlmc.Champion(arms, memory, 10**6, V, bits="auto") for V in (None, 5))
        assert (
            (told.groups_used, told.bits_used) == (alone.groups_used, alone.bits_used) == ((arms,), 64 * memory // arms)
        )
    with pytest.raises(BadArgument, match='bits can be "auto" only where memory is given'):
        hlmc.Champion(100, bits="auto")
