"""Exported C with statistics of 32 bits (``precision="float32"``).

The vectors are made by the interpreter in NumPy's float32, which shares no code with the translator but the kernels:
which words are integers it decides by their places, the translator by their names.
"""

import ctypes
import math
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import hlmc
from c_tools import SANITIZE, STRICT, at_once, compiled, needs
from export.test_c import LEADER
from hlmc.cli import main
from hlmc.engine import arithmetic, single
from hlmc.engine.layout import SUM
from hlmc.engine.linker import substitute_where_used
from hlmc.errors import BadArgument
from hlmc.export import CSource, exported
from hlmc.export.single import kinds, of_python, program
from hlmc.policies import EXAMPLES
from hlmc.routines import Custom
from hlmc.streams import keys
from hlmc.targets.c import Table, Unit
from hlmc.targets.c.types import Numbers, Type

pytestmark = pytest.mark.slow

SCALED = hlmc.HLMC(arms=20, memory=10, horizon=500, losses=True, rewards=(-1, 7))
REFUSED = {
    "UCB1(arms=10)": "counts and sums grow",
    "EXP3P(arms=10, horizon=100, delta=0.01)": "small terms",
    "TsallisINF(arms=10, bits=12)": "12 bits already",
    "HLMC(arms=23, levels=3, horizon=300, pending=70)": "tickets",
}


def test_what_single_precision_cannot_do_is_refused_in_one_line() -> None:
    for policy in EXAMPLES:
        if repr(policy) in REFUSED:
            with pytest.raises(BadArgument, match=REFUSED[repr(policy)]):
                policy.to_c(precision="float32")
    own = hlmc.HLMC(arms=9, levels=2, horizon=400, routines=("exp3", LEADER))
    assert isinstance(LEADER, Custom)
    for policy, why in (
        (own, "your own"),
        (hlmc.HLMC(arms=20, memory=10, horizon=2**28 + 1), "2\\^28"),
        (hlmc.EXP3(arms=2, horizon=100, gamma=1e-300), "1e-300 is no number of single precision"),
        (hlmc.HLMC(arms=20, memory=10, horizon=100, dynamic=True), "come and go"),
    ):
        with pytest.raises(BadArgument, match=why):
            policy.to_c(precision="float32")
    with pytest.raises(BadArgument, match="precision must be one of 'float64', 'float32', not 'half'"):
        hlmc.EXP3(arms=2, horizon=10).to_c(precision="half")


@pytest.fixture(scope="module")
def sources() -> list[CSource]:
    """Every policy of the catalogue that there is in single precision, and one with losses in a range of its own."""
    found, names = [exported(SCALED, "p", precision="float32")], set()
    for i, policy in enumerate(EXAMPLES):
        with suppress(BadArgument):
            found.append(exported(policy, f"p{i}", precision="float32"))
            names.add(type(policy).__name__)
    assert {"HLMC", "Champion", "EXP3", "EXP3S", "EXP3Loss", "EXP3IX", "TsallisINF", "EXP3M"} <= names
    return found


@needs("gcc")
@pytest.mark.parametrize("sanitized", [False, True])
def test_the_exported_tests_pass(sources: list[CSource], tmp_path: Path, sanitized: bool) -> None:
    """Arms and all words are those of the interpreter, and compilers have nothing to say."""

    def status(source: CSource) -> int:
        name = source.name
        for suffix, text in ((".h", source.header), (".c", source.source), ("_test.c", source.test)):
            (tmp_path / f"{name}{suffix}").write_text(text)
        flags = SANITIZE if sanitized else ["-O1"]
        compiled("gcc", *STRICT, *flags, f"{name}.c", f"{name}_test.c", "-o", name, "-lm", where=tmp_path)
        return subprocess.run([str(tmp_path / name)], timeout=60).returncode

    chosen = sources[::4] if sanitized else sources
    assert at_once(status, chosen) == [0] * len(chosen)


# --- Elementary functions


def function_of(kernel, tmp_path: Path):
    """A kernel narrowed and compiled, as a function of an array."""
    unit = Unit("x", Table({}, {}), numbers=Numbers("float", "int32_t"))
    name = unit.entry(substitute_where_used(kernel, single.SUBSTITUTES, "float32"), Type.REAL).name
    loop = (
        "void go(const float *from, float *to, int64_t n);\n"
        "void go(const float *from, float *to, int64_t n)\n"
        f"{{\n    for (int64_t i = 0; i < n; i++) {{\n        to[i] = {name}(from[i]);\n    }}\n}}\n"
    )
    includes = "".join(f"#include <{file}.h>\n" for file in ("math", "stdbool", "stdint", "string"))
    stem = kernel.__name__
    (tmp_path / f"{stem}.c").write_text(f"{includes}{unit.text()}\n{loop}")
    compiled("gcc", *STRICT, "-O2", "-shared", "-fPIC", f"{stem}.c", "-o", f"{stem}.so", "-lm", where=tmp_path)
    code = ctypes.CDLL(str(tmp_path / f"{stem}.so")).go
    code.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    code.restype = None

    def function(x: np.ndarray) -> np.ndarray:
        y = np.empty_like(x)
        code(x.ctypes.data, y.ctypes.data, len(x))
        return y

    return function


@needs("gcc")
@pytest.mark.parametrize(
    ("kernel", "exact", "low", "high", "most"),
    [
        (arithmetic.exponential, np.exp, -103.0, 88.7, 1.0),
        (arithmetic.exponential_less_one, np.expm1, -20.0, 88.0, 2.0),
        (arithmetic.logarithm, np.log, 1e-44, 3e38, 1.0),
        (arithmetic.logarithm_one_plus, np.log1p, -0.99999, 1e30, 2.0),
    ],
)
def test_elementary_functions_are_off_by_little(tmp_path: Path, kernel, exact, low, high, most) -> None:
    """In units of the last place, against float64, at a million numbers over the whole range and near 0 and 1."""
    function = function_of(kernel, tmp_path)
    rng = np.random.default_rng(1)
    spread = np.exp(rng.uniform(math.log(1e-30), math.log(high), 400_000))
    small = rng.uniform(-1.0, 1.0, 100_000) * 10.0 ** rng.uniform(-8, 0, 100_000)
    x = np.concatenate([rng.uniform(low, min(high, 100.0), 400_000), spread, small, 1.0 + small])
    x = x[(x >= low) & (x <= high)].astype(np.float32)
    found, wanted = function(x).astype(np.float64), exact(x.astype(np.float64))
    unit = np.spacing(np.abs(wanted).astype(np.float32)).astype(np.float64)
    assert (np.abs(found - wanted) / unit).max() < most


@needs("gcc")
def test_the_ends_of_the_range(tmp_path: Path) -> None:
    exponential = function_of(arithmetic.exponential, tmp_path)
    found = exponential(np.array([-1e30, -104.0, 0.0, 88.9, np.inf, np.nan], np.float32))
    assert found[:5].tolist() == [0.0, 0.0, 1.0, np.inf, np.inf]
    assert math.isnan(found[5])
    logarithm = function_of(arithmetic.logarithm, tmp_path)
    assert logarithm(np.array([0.0, 1.0, np.inf], np.float32)).tolist() == [-np.inf, 0.0, np.inf]


def test_uniform_numbers_are_below_1() -> None:
    assert single.single_unit(np.uint64(2**64 - 1)) == 1.0 - 2.0**-24
    assert single.single_unit(np.uint64(0)) == 0.0


# --- What a learner makes of it


LOOP = """
#include "{name}.h"
double {name}_play(uint64_t key, int64_t steps, {name}_learner *learner);
/* Arm j pays with probability 0.3, arm 11 with 0.5: by the same random numbers, whatever is played. */
double {name}_play(uint64_t key, int64_t steps, {name}_learner *learner)
{{
    double earned = 0;
    uint64_t x = key;
    {name}_start(learner, key);
    for (int64_t t = 0; t < steps; t++) {{
        const int32_t arm = {name}_select(learner);
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const double reward = (double)(x >> 40) / 16777216.0 < (arm == 11 ? 0.5 : 0.3) ? 1.0 : 0.0;
        earned += reward;
        if ({name}_update(learner, ({real})reward) != 0) return -1;
    }}
    return earned;
}}
"""


def player(folder: Path, policy: hlmc.Policy, precision: str, steps: int):
    """Play a policy in one precision; what is earned, from a key."""
    name = f"p{precision[-2:]}"
    source = exported(policy, name, steps=steps, precision=precision)
    real = "float" if precision == "float32" else "double"
    (folder / f"{name}.h").write_text(source.header)
    (folder / f"{name}.c").write_text(source.source)
    (folder / "loop.c").write_text(LOOP.format(name=name, real=real))
    flags = ["-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC"]
    compiled("gcc", *flags, f"{name}.c", "loop.c", "-o", f"{name}.so", "-lm", where=folder)
    function = getattr(ctypes.CDLL(str(folder / f"{name}.so")), f"{name}_play")
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.c_void_p]
    words = np.zeros(policy.words.total + 1)
    return lambda key: function(key, steps, words.ctypes.data)


@needs("gcc")
@pytest.mark.parametrize(
    "policy",
    [
        hlmc.HLMC(arms=20, memory=10, horizon=100_000),
        hlmc.HLMC(arms=20, levels=3, horizon=100_000),
        hlmc.HLMC(arms=20, memory=10, horizon=100_000, routines="tsallis-inf"),
        hlmc.EXP3(arms=20, horizon=100_000),
        hlmc.TsallisINF(arms=20),
        hlmc.Champion(arms=20, memory=10, horizon=100_000),
    ],
    ids=repr,
)
def test_regret_is_that_of_double_precision(tmp_path: Path, policy: hlmc.Policy) -> None:
    """Within 5 %, over eight fixed keys: the random numbers are the same, so most choices are."""
    regrets = []
    for precision in ("float64", "float32"):
        play = player(tmp_path, policy, precision, 100_000)
        earned = [play(int(key)) for key in keys(3, 0, 8)]
        assert min(earned) >= 0
        regrets.append(0.5 * 100_000 - np.mean(earned))
    double, narrowed = regrets
    assert double > 100
    assert abs(narrowed / double - 1.0) < 0.05


@needs("gcc")
def test_a_sum_of_a_million_small_rewards_is_their_sum(tmp_path: Path) -> None:
    """A float32 would have stopped at 2^21 tenths. The unit is 2^-12 here: the mean is off by half of that at most."""
    policy = hlmc.HLMC(arms=4, groups=(2, 2), horizon=2_000_000, epochs=(2, 1_000_000))
    units = kinds(policy, policy.program).units
    assert units == 2.0**12
    source = exported(policy, precision="float32")
    (tmp_path / "hlmc.h").write_text(source.header)
    (tmp_path / "hlmc.c").write_text(source.source)
    (tmp_path / "loop.c").write_text(
        '#include "hlmc.h"\nvoid play(hlmc_learner *learner, int64_t steps, float reward);\n'
        "void play(hlmc_learner *learner, int64_t steps, float reward)\n{\n"
        "    for (int64_t t = 0; t < steps; t++) {\n"
        "        (void)hlmc_select(learner);\n        (void)hlmc_update(learner, reward);\n    }\n}\n"
    )
    compiled("gcc", *STRICT, "-O2", "-shared", "-fPIC", "hlmc.c", "loop.c", "-o", "it.so", where=tmp_path)
    code = ctypes.CDLL(str(tmp_path / "it.so"))
    words = np.zeros(policy.words.total + 1, np.uint32)
    code.hlmc_start(ctypes.c_void_p(words.ctypes.data), ctypes.c_uint64(1))
    code.play(ctypes.c_void_p(words.ctypes.data), ctypes.c_int64(999_999), ctypes.c_float(0.1))
    control = int(policy.program[2 * 20 + 5])
    assert abs(words[control + SUM] / units - 99_999.9) <= 999_999 * 0.5 / units


# --- Learners, and the command


@needs("gcc")
@pytest.mark.parametrize(
    "policy",
    [
        hlmc.HLMC(arms=30, memory=12, horizon=5000, routines=("exp3s", "exp3-loss")),
        hlmc.Champion(arms=30, memory=12, horizon=5000),
        hlmc.EXP3(arms=30, horizon=5000),
        hlmc.TsallisINF(arms=30),
    ],
    ids=repr,
)
def test_a_learner_goes_on_in_single_precision(tmp_path: Path, policy: hlmc.Policy) -> None:
    """From its state, with the probabilities that it had; the exported test agrees with the interpreter."""
    learner = policy.start(seed=5)
    for t in range(2000):
        learner.update(float(learner.select() in (7, 8) and t % 3 > 0))
    source = learner.to_c(precision="float32")
    for file, text in (("hlmc.h", source.header), ("hlmc.c", source.source), ("hlmc_test.c", source.test)):
        (tmp_path / file).write_text(text)
    compiled("gcc", *STRICT, "-O1", "hlmc.c", "hlmc_test.c", "-o", "it", "-lm", where=tmp_path)
    assert subprocess.run([str(tmp_path / "it")], timeout=60).returncode == 0
    compiled("gcc", *STRICT, "-O1", "-shared", "-fPIC", "hlmc.c", "-o", "it.so", "-lm", where=tmp_path)
    code = ctypes.CDLL(str(tmp_path / "it.so"))
    code.hlmc_probability.restype = ctypes.c_float
    words = np.zeros(policy.words.total + 1, np.uint32)
    at = ctypes.c_void_p(words.ctypes.data)
    code.hlmc_resume(at)
    table = program(policy, None)
    assert words.tobytes() == of_python(policy, learner.state, table, kinds(policy, table).units).tobytes()
    for _ in range(50):
        # The same numbers are drawn, to 24 bits; an arm in a hundred may differ.
        arm = learner.select()
        if code.hlmc_select(at) == arm:
            assert math.isclose(code.hlmc_probability(at), learner.probability, rel_tol=0.02)
            break
        learner.update(0.0)
        code.hlmc_update(at, ctypes.c_float(0.0))
    else:
        raise AssertionError("fifty steps without a common arm")


def test_the_command_takes_a_precision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "radio"
    assert main(["export", "c", "HLMC(arms=20, memory=10)", "-o", str(folder), "--precision", "float32"]) == 0
    assert "float words" not in capsys.readouterr().err
    header = (folder / "hlmc.h").read_text()
    assert "#define HLMC_WORDS 29 /* 32-bit words of a learner: 116 bytes */" in header
    assert "#define HLMC_HORIZON INT64_C(134217728)" in header or "steps that can be counted" in header
    assert main(["export", "c", "UCB1(arms=20)", "-o", str(folder), "--precision", "float32"]) == 2
    assert "its counts and sums grow with time" in capsys.readouterr().err
