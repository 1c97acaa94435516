"""benchmarks/bits.py: what it plays in C is what the library plays."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

import hlmc
from c_tools import needs
from hlmc.arenas import CASES, HELD_OUT
from hlmc.policies import CATALOGUE
from hlmc.targets.c import Table, Unit
from hlmc.targets.c.types import Type

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bits(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The parts of the script."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("equal_bytes")


@pytest.mark.parametrize("case", [*CASES.values(), *HELD_OUT.values()], ids=lambda case: case.name)
def test_every_adversary_of_the_arena_is_translated_to_c(case) -> None:
    unit = Unit("it", Table({}, {}))
    assert unit.entry(case.make(20, 10, 1000, 3).rule, Type.RUN, Type.INT, Type.INT).name in unit.text()


@needs("cc")
def test_policies_and_best_arms_are_the_library_s(
    bits: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In lanes as exported, and as in Python; the best arm is the best one; a second call plays nothing again."""
    K, T = 40, 3000
    texts = {
        "64 bits": "TsallisINF(K)",
        "7 bits": "TsallisINF(K, bits=7)",
        "Champion": "Champion(K, memory=5, horizon=T, bits=9)",
        "flat": bits.FLAT,
    }
    bits.write(tmp_path, bits.Experiment(K, T, 2, texts, ("Needle", "hairline")))
    bits.check(tmp_path)
    bits.play(tmp_path, 2, 600.0)
    found = bits.read(tmp_path)["."]
    assert len(found) == 2 * 2 * len(texts)
    bits.play(tmp_path, 2, 600.0)
    assert bits.read(tmp_path)["."] == found
    known = {"K": K, "T": T} | CATALOGUE
    for case in (CASES["Needle"], HELD_OUT["hairline"]):
        adversary = case.make(K, 20, T, 1000)
        rewards = adversary.rewards(0, T)
        for i, (name, text) in enumerate(texts.items()):
            (line,) = [r for r in found if (r["case"], r["run"], r["policy"]) == (case.name, "0", name)]
            assert float(line["best"]) == pytest.approx(rewards.sum(axis=0).max(), abs=1e-5)
            if text == bits.FLAT:
                continue
            learner = eval(text, known).start(seed=0)
            learner = _with_key(learner, 7919 * (1 << 20) + 977 * i)
            earned = 0.0
            for t in range(T):
                reward = rewards[t, learner.select()]
                learner.update(float(reward))
                earned += reward
            assert float(line["earned"]) == pytest.approx(earned, abs=1e-5)
    bits.table(tmp_path)
    assert "| Needle | 2 |" in capsys.readouterr().out


def _with_key(learner: hlmc.Learner, key: int) -> hlmc.Learner:
    """A learner at its start with this key of its random stream, as ``NAME_start`` gives it in C."""
    row = learner.state.copy()
    row.view("uint64")[0] = key
    return hlmc.Learner(learner.policy, row)
