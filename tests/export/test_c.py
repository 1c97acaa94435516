"""Policies exported as C: the same arms and the same words as in Python, for every policy of the catalogue."""

import ctypes
import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import hlmc
from c_tools import SANITIZE, STRICT, Compiled, at_once, compiled, library, needs
from hlmc.adversaries import EXAMPLES as ADVERSARIES
from hlmc.cli import main
from hlmc.cli.expression import policy_of
from hlmc.engine.kernel import kernel, record
from hlmc.errors import BadArgument, BadType
from hlmc.export import CSource, exported
from hlmc.export.generic import generic_source
from hlmc.learners.identity import Identity
from hlmc.learners.learner import Learner
from hlmc.learners.tickets import CODES
from hlmc.policies import EXAMPLES as POLICIES
from hlmc.routines import Custom
from hlmc.targets.c import OutsideDialect, Table, Unit
from hlmc.targets.c.types import Type

EXAMPLES = [policy for policy in POLICIES if policy.known_probability]  # the others run in Python only

STEPS = 3000


def rewards(count: int) -> np.ndarray:
    """Rewards that are 0, 1 and everything between."""
    drawn = np.random.default_rng(5).random((count, 2))
    return np.where(drawn[:, 0] < 0.5, np.round(drawn[:, 1]), drawn[:, 1])


@pytest.fixture(scope="module")
def sources() -> list[CSource]:
    """Every policy of the catalogue, under its own name."""
    return [exported(policy, f"p{i}") for i, policy in enumerate(EXAMPLES)]


@pytest.fixture(scope="module")
def whole_catalogue(sources: list[CSource], tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """All of them in one library."""
    return library(tmp_path_factory.mktemp("catalogue"), *sources)


@needs("gcc")
@pytest.mark.parametrize("i", range(len(EXAMPLES)), ids=lambda i: repr(EXAMPLES[i]))
def test_rows_are_those_of_python_byte_by_byte(whole_catalogue: ctypes.CDLL, i: int) -> None:
    policy = EXAMPLES[i]
    ours = policy.start(seed=3)
    other = Compiled(whole_catalogue, f"p{i}", policy.words.total)
    other.start(int(ours.state.view(np.uint64)[0]))
    assert other.row.tobytes() == ours.state.tobytes()
    for t, reward in enumerate(rewards(min(policy.limit or STEPS, STEPS)).tolist()):
        assert other.select() == ours.select()
        assert other.probability == ours.probability
        ours.update(reward)
        assert other.update(reward) == 0
        if t % 50 == 0:
            assert other.row.tobytes() == ours.state.tobytes(), t
    assert other.row.tobytes() == ours.state.tobytes()
    assert other.time == ours.time


@needs("gcc")
def test_a_row_goes_both_ways(whole_catalogue: ctypes.CDLL) -> None:
    """From C to Python through the gate, and back; half a step in between."""
    for i, policy in enumerate(EXAMPLES):
        other = Compiled(whole_catalogue, f"p{i}", policy.words.total)
        other.start(99)
        for reward in rewards(min(policy.limit or 60, 60) - 5).tolist():
            other.select()
            other.update(reward)
        other.select()
        ours = Learner(policy, other.row)
        ours.update(0.75)
        other.row[:] = ours.state
        assert other.time == ours.time
        assert other.select() == ours.select()


@needs("gcc")
def test_errors_change_nothing(whole_catalogue: ctypes.CDLL) -> None:
    i = EXAMPLES.index(hlmc.HLMC(arms=1, levels=1, horizon=10))
    learner = Compiled(whole_catalogue, f"p{i}", EXAMPLES[i].words.total)
    learner.start(1)
    assert learner.update(0.5) == -2
    learner.select()
    before = learner.row.tobytes()
    assert [learner.update(bad) for bad in (1.0000001, -0.1, np.nan, np.inf)] == [-3] * 4
    assert learner.row.tobytes() == before
    for _ in range(10):
        learner.select()
        assert learner.update(1.0) == 0
    assert learner.select() == -1
    assert learner.time == 10


COMPILERS = [pytest.param(each, marks=needs(each)) for each in ("gcc", "clang")]

DRIVER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
void hlmc_start(double *row, int32_t words, uint64_t key);
double hlmc_select(const double *program, double *row);
int32_t hlmc_update(const double *program, double *row, double reward);

/* Reads sizes, program and rewards of learners; writes their arms and last rows. All numbers are doubles. */
int main(void)
{
    double sizes[3];
    while (fread(sizes, sizeof *sizes, 3, stdin) == 3) {
        const size_t length = (size_t)sizes[0], words = (size_t)sizes[1], steps = (size_t)sizes[2];
        double *program = malloc(length * sizeof *program);
        double *row = malloc(words * sizeof *row);
        double *rewards = malloc(steps * sizeof *rewards);
        if (fread(program, sizeof *program, length, stdin) != length) return 1;
        if (fread(rewards, sizeof *rewards, steps, stdin) != steps) return 1;
        hlmc_start(row, (int32_t)words, UINT64_C(0x123456789abcdef));
        for (size_t t = 0; t < steps; t++) {
            const double arm = hlmc_select(program, row);
            if (hlmc_update(program, row, rewards[t]) != 0) return 1;
            fwrite(&arm, sizeof arm, 1, stdout);
        }
        fwrite(row, sizeof *row, words, stdout);
        free(program), free(row), free(rewards);
    }
    return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_one_module_plays_every_policy_under_sanitizers(tmp_path: Path, compiler: str) -> None:
    """Whatever a compiler calls undefined behaviour, and a word out of bounds, ends the program."""
    (tmp_path / "hlmc.c").write_text(generic_source())
    (tmp_path / "driver.c").write_text(DRIVER)
    compiled(compiler, *STRICT, *SANITIZE, "hlmc.c", "driver.c", "-o", "driver", "-lm", where=tmp_path)
    paid = rewards(STEPS)
    steps = [min(policy.limit or STEPS, STEPS) for policy in EXAMPLES]
    sent = b"".join(
        np.concatenate([[len(policy.program), policy.words.total, count], policy.program, paid[:count]]).tobytes()
        for policy, count in zip(EXAMPLES, steps, strict=True)
    )
    done = subprocess.run([tmp_path / "driver"], input=sent, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()[:3000]
    answer = np.frombuffer(done.stdout)
    for policy, count in zip(EXAMPLES, steps, strict=True):
        row = policy.start().state.copy()
        row.view(np.uint64)[0] = 0x123456789ABCDEF
        ours = Learner(policy, row)
        for t in range(count):
            assert ours.select() == answer[t], policy
            ours.update(float(paid[t]))
        answer = answer[count:]
        assert answer[: policy.words.total].tobytes() == ours.state.tobytes(), policy
        answer = answer[policy.words.total :]
    assert len(answer) == 0


FIVE = (
    hlmc.HLMC(arms=100, memory=20, horizon=10**6),
    hlmc.HLMC(arms=23, levels=3, switches="unknown"),
    hlmc.Champion(arms=100, memory=20, horizon=10**6),
    hlmc.EXP3Loss(arms=600, horizon=10**4),
    hlmc.UCBM(arms=17, memory=4),
)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_exported_tests_pass_under_sanitizers(tmp_path: Path, compiler: str) -> None:
    def checked(i: int) -> None:
        source = exported(FIVE[i], f"p{i}")
        for name, text in ((f"p{i}.h", source.header), (f"p{i}.c", source.source), (f"p{i}_test.c", source.test)):
            (tmp_path / name).write_text(text)
        compiled(compiler, *STRICT, *SANITIZE, f"p{i}.c", f"p{i}_test.c", "-o", f"p{i}", "-lm", where=tmp_path)
        done = subprocess.run([tmp_path / f"p{i}"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (FIVE[i], done.stderr[:2000])

    at_once(checked, range(len(FIVE)))


@needs("clang")
def test_clang_has_nothing_to_say_about_any_policy(sources: list[CSource], tmp_path: Path) -> None:
    for source in sources:
        (tmp_path / f"{source.name}.h").write_text(source.header)
        (tmp_path / f"{source.name}.c").write_text(source.source)
    compiled("clang", *STRICT, "-fsyntax-only", *(f"{source.name}.c" for source in sources), where=tmp_path)


@needs("gcc")
def test_the_exported_test_can_fail(tmp_path: Path) -> None:
    source = hlmc.HLMC(arms=9, levels=2, horizon=500).to_c()
    source.save(tmp_path)
    changed = source.source.replace("0xbf58476d1ce4e5b9", "0xbf58476d1ce4e5b7")
    assert changed != source.source
    (tmp_path / "hlmc.c").write_text(changed)
    compiled("gcc", "-O1", "hlmc.c", "hlmc_test.c", "-o", "test", "-lm", where=tmp_path)
    assert subprocess.run([tmp_path / "test"]).returncode == 1


@needs("gcc", "make")
def test_a_learner_goes_on_in_c(tmp_path: Path) -> None:
    policy = hlmc.Champion(arms=30, memory=12, horizon=5000)
    learner = policy.start(seed=4)
    for reward in rewards(700).tolist():
        learner.select()
        learner.update(reward)
    source = learner.to_c("radio")
    source.save(tmp_path)
    assert subprocess.run(["make", "-s", "-C", tmp_path, "test"], capture_output=True).returncode == 0
    other = Compiled(library(tmp_path, source), "radio", policy.words.total)
    other.resume()
    assert other.row.tobytes() == learner.state.tobytes()
    for reward in rewards(900).tolist():
        assert other.select() == learner.select()
        learner.update(reward)
        other.update(reward)
    assert other.row.tobytes() == learner.state.tobytes()


@needs("g++")
def test_the_header_is_usable_from_cpp(tmp_path: Path) -> None:
    (tmp_path / "hlmc.h").write_text(hlmc.UCB1(arms=3).to_c().header)
    (tmp_path / "it.cpp").write_text(
        '#include "hlmc.h"\nint f() { hlmc_learner it; hlmc_start(&it, 1); return hlmc_select(&it) + HLMC_ARMS; }\n'
    )
    compiled("g++", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "it.cpp", where=tmp_path)


def test_names_begin_with_the_given_one() -> None:
    source = hlmc.HLMC(arms=9, levels=2, horizon=500).to_c("radio")
    assert "hlmc_" not in source.source
    assert "HLMC_" not in source.source + source.header
    for bad in ("", "1radio", "a-b", "x" * 50):
        with pytest.raises(BadArgument, match="C identifier"):
            hlmc.UCB1(arms=3).to_c(bad)
    with pytest.raises(BadType, match="C identifier"):
        hlmc.UCB1(arms=3).to_c(3)
    with pytest.raises(BadArgument, match="arms must be at most 2147483647"):
        hlmc.HLMC(arms=10**10, memory=200, horizon=100).to_c()


def test_code_that_no_step_reaches_is_left_out() -> None:
    """Trees of weights are for more than 512 children."""
    assert "tree_draw" not in hlmc.EXP3(arms=100, horizon=100).to_c().source
    assert "tree_draw" in hlmc.EXP3(arms=600, horizon=100).to_c().source


@needs("gcc")
def test_a_program_can_be_cut_to_the_steps_that_are_needed(tmp_path: Path) -> None:
    """The same rows, in a shorter table; past its end, an error."""
    policy = hlmc.HLMC(arms=20, memory=10)
    whole, cut = exported(policy, "whole"), exported(policy, "cut", steps=1000)
    assert "cut_program[420]" in cut.source
    assert "whole_program[2140]" in whole.source
    code = library(tmp_path, whole, cut)
    one, other = (Compiled(code, name, policy.words.total) for name in ("whole", "cut"))
    one.start(5)
    other.start(5)
    for reward in rewards(1023).tolist():
        assert one.select() == other.select()
        assert one.update(reward) == other.update(reward) == 0
    assert one.row.tobytes() == other.row.tobytes()
    assert one.select() >= 0
    assert other.select() == -1


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("more", [{}, {"horizon": 60, "after": "continue"}], ids=str)
def test_a_program_is_not_cut_before_the_steps_that_a_learner_has_taken(more: dict[str, Any], precision: str) -> None:
    """Its stage would lie behind the table's end, where an update or the reward of a ticket would look for it."""
    learner = hlmc.HLMC(arms=20, memory=10, **more).start(seed=1)
    table = learner.to_c(steps=100, precision=precision)
    end = int(table.header.split("_HORIZON INT64_C(")[1].split(")")[0])
    assert 100 <= end <= 200
    for _ in range(end):
        learner.select()
        learner.update(0.5)
    assert learner.to_c(steps=100, precision=precision).source
    learner.select()  # the first step of the next stage
    with pytest.raises(BadArgument, match=f"taken {end + 1} steps, more than the {end} of this program; raise steps"):
        learner.to_c(steps=100, precision=precision)
    assert learner.to_c(steps=1000, precision=precision).source


@needs("gcc")
@pytest.mark.parametrize(
    "policy",
    [
        hlmc.HLMC(arms=23, levels=3, horizon=300, pending=70),
        hlmc.Champion(arms=29, memory=12, horizon=300, pending=8, missing=0.0),
        hlmc.HLMC(arms=20, memory=10, pending=64, rewards=(-1, 3)),
    ],
    ids=repr,
)
def test_tickets_are_those_of_python(tmp_path: Path, policy: hlmc.Policy) -> None:
    """Asked, told late, twice and not at all: the same arms, tickets, answers and rows."""
    code = library(tmp_path, policy.to_c())
    ours = policy.start(seed=8, identity=5)
    row, identity = ours.state.copy(), Identity(5).words
    tickets = np.zeros((300, len(ours.copy().ask()) // 8))
    at = lambda array: ctypes.c_void_p(array.ctypes.data)  # noqa: E731
    random = np.random.default_rng(3)
    waiting = []
    low, high = policy.rewards
    for t in range(300):
        ticket = ours.ask()
        assert code.hlmc_ask(at(row), at(identity), at(tickets[t])) == ticket.arm
        assert tickets[t].tobytes() == bytes(ticket)
        waiting.append((t, ticket))
        while waiting and random.random() < 0.6:
            told, ticket = waiting[random.integers(len(waiting))]
            reward = float(low + (high - low) * random.random())
            if random.random() < 0.9:
                waiting.remove((told, ticket))
            if random.random() < 0.2:
                answer = code.hlmc_drop(at(row), at(tickets[told]))
                assert CODES[answer] == ours.drop(ticket)
            else:
                answer = code.hlmc_tell(at(row), at(tickets[told]), ctypes.c_double(reward))
                assert CODES[answer] == ours.tell(ticket, reward)
            assert row.tobytes() == ours.state.tobytes()
    tickets[5].view(np.uint64)[3] ^= np.uint64(1)
    assert code.hlmc_tell(at(row), at(tickets[5]), ctypes.c_double(0.0)) == -5
    assert row.tobytes() == ours.state.tobytes()


# --- Routines of a user's own


def leader_start(words, n, parameters):
    for j in range(n):
        words[j] = 0.0


def leader_select(words, n, parameters, tau, u):
    best = 0
    for j in range(n):
        if words[j] > words[best]:
            best = j
    # With a small probability, any.
    return int(u / parameters[0] * n) if u < parameters[0] else best


def leader_chance(words, n, parameters, tau, slot):
    return 0.5


def leader_update(words, n, parameters, tau, slot, chance, reward):
    words[slot] += reward


def listed_select(words, n, parameters, tau, u):
    return int(max([words[j] for j in range(n)]))


LEADER = Custom("leader", leader_start, leader_select, leader_chance, leader_update, values={"share": 0.1})


@needs("gcc")
def test_a_routine_of_a_users_own_translates(tmp_path: Path) -> None:
    policy = hlmc.HLMC(arms=9, levels=2, horizon=400, routines=("exp3", LEADER))
    other = Compiled(library(tmp_path, exported(policy)), "hlmc", policy.words.total)
    learner = policy.start(seed=0)
    other.start(int(learner.state.view(np.uint64)[0]))
    for reward in rewards(400).tolist():
        assert other.select() == learner.select()
        learner.update(reward)
        other.update(reward)
    assert other.row.tobytes() == learner.state.tobytes()


@kernel
def _halves(x: int) -> tuple[int, int]:
    """A whole number in two parts."""
    return x // 2, x - x // 2


@kernel
def _clashing(found: int, steps: int) -> int:
    """Names that the translator would take for its own, in loops and tuples; one of two results."""
    total = found
    j_at = 0
    j_at_end = 0
    for j in range(_halves(steps)[1]):
        found, next_found_1 = _halves(found + j)
        found, next_found_1 = next_found_1, found
        j_at += found
        j_at_end += next_found_1
        j += 1
        total += j
    return total + 3 * j_at + 5 * j_at_end + _halves(7)[0]


def _of_two(function: Any, folder: Path) -> Any:
    """A kernel of two integers, from C."""
    unit = Unit("x", Table({}, {}))
    name = unit.entry(function, Type.INT, Type.INT).name
    own = f"int64_t go(int64_t a, int64_t b);\nint64_t go(int64_t a, int64_t b)\n{{\n    return {name}(a, b);\n}}\n"
    (folder / "it.c").write_text(f"#include <stdint.h>\n#include <stdbool.h>\n{unit.text()}\n{own}")
    compiled("gcc", *STRICT, "-shared", "-fPIC", "it.c", "-o", "it.so", where=folder)
    found = ctypes.CDLL(str(folder / "it.so")).go
    found.restype, found.argtypes = ctypes.c_int64, [ctypes.c_int64, ctypes.c_int64]
    return found


@needs("gcc")
def test_names_of_the_translator_s_own_are_none_of_the_kernel_s(tmp_path: Path) -> None:
    function = _of_two(_clashing, tmp_path)
    assert [function(a, b) for a, b in ((3, 4), (100, 31))] == [_clashing(3, 4), _clashing(100, 31)]


@record
class Pair(NamedTuple):
    """Two numbers; ``low`` is a name that the kernels below use for something else, too."""

    low: int
    high: int


@kernel
def _ordered(pair: Pair) -> tuple[bool, Pair]:
    """Whether they stood in order, and the two in order."""
    low = min(pair.low, pair.high)
    return pair.low <= pair.high, Pair(low, max(pair.low, pair.high))


@kernel
def _widened(pair: Pair, by: int) -> Pair:
    """The two, further apart."""
    return Pair(pair.low - by, pair.high + by)


@kernel
def _with_records(a: int, b: int) -> int:
    """Records made, handed on, received alone and among other results."""
    stood, pair = _ordered(Pair(a, b))
    wide = _widened(pair, 3)
    _, again = _ordered(wide)
    low, high = wide.low, again.high
    return 1000 * low + 10 * high + (1 if stood else 0)


@needs("gcc")
def test_records_are_replaced_by_their_fields(tmp_path: Path) -> None:
    """In C; :mod:`hlmc.targets.native.wide` reads the same trees."""
    function = _of_two(_with_records, tmp_path)
    pairs = [(3, 4), (100, 31), (5, 5)]
    assert [function(a, b) for a, b in pairs] == [_with_records(a, b) for a, b in pairs] == [71, 29_030, 2081]


@needs("gcc")
def test_adversaries_pay_the_same_in_c(tmp_path: Path) -> None:
    """Those whose rule reads no table in memory."""
    adversaries = [each for each in ADVERSARIES if not isinstance(each, hlmc.adversaries.Trace)]
    texts = []
    for i, adversary in enumerate(adversaries):
        unit = Unit(f"a{i}", Table({}, {}), frozenset({"pay"}))
        name = unit.entry(adversary.rule, Type.RUN, Type.INT, Type.INT).name
        head = f"double a{i}_pay(const double *spec, int64_t t, int64_t arm)"
        texts.append(f"{unit.text()}\n{head};\n{head}\n{{\n    return {name}(spec, t, arm);\n}}\n")
    includes = "".join(f"#include <{file}.h>\n" for file in ("math", "stdbool", "stdint", "string"))
    (tmp_path / "it.c").write_text(includes + "\n".join(texts))
    compiled("gcc", *STRICT, "-O2", "-shared", "-fPIC", "it.c", "-o", "it.so", "-lm", where=tmp_path)
    code = ctypes.CDLL(str(tmp_path / "it.so"))
    for i, adversary in enumerate(adversaries):
        function = getattr(code, f"a{i}_pay")
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
        for t in range(0, min(adversary.length or 2000, 2000), 7):
            paid = [function(adversary.spec.ctypes.data, t, arm) for arm in range(adversary.arms)]
            # C libraries differ in the last digit of some functions.
            assert np.allclose(paid, adversary.rewards(t, t + 1)[0], rtol=1e-14, atol=0), (adversary, t)


def test_what_is_not_in_the_dialect_is_named_with_file_and_line() -> None:
    listed = Custom("listed", leader_start, listed_select, leader_chance, leader_update)
    line = listed_select.__code__.co_firstlineno + 1
    with pytest.raises(OutsideDialect, match=rf"test_c\.py, line {line}: ListComp .* is not in the dialect"):
        hlmc.HLMC(arms=9, levels=2, horizon=400, routines=("exp3", listed)).to_c()


# --- The command


def test_export_writes_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "radio")
    assert main(["export", "c", "HLMC(arms=20, memory=10, horizon=10**4)", "-o", out, "--json"]) == 0
    files = [Path(path).name for path in json.loads(capsys.readouterr().out)["files"]]
    assert sorted(files) == ["Makefile", "README.md", "hlmc.c", "hlmc.h", "hlmc_test.c"]
    assert "row of 28 words, 224 bytes" in Path(out, "README.md").read_text()
    learner = hlmc.EXP3(arms=3, horizon=100).start(seed=2)
    learner.select()
    learner.save(tmp_path / "it.hlmc")
    assert main(["export", "c", str(tmp_path / "it.hlmc"), "-o", out]) == 0
    assert "hlmc_resume" in Path(out, "hlmc.h").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("HLMC(arms=__import__('os').getpid())", "is not a number, text, tuple or routine"),
        ("eval('1')", "there is no policy 'eval'"),
        ("HLMC(arms=9**9**9, levels=2)", "is not a number, text, tuple or routine"),
        ("HLMC(arms=9, **{})", "is not understood"),
        ("HLMC(arms=9, level=2)", "has no argument 'level'; did you mean 'levels'"),
        ("HLMC(arms=0, levels=2)", "arms must"),
        ("HLMC" + "(" * 300, "written as a call"),
        ("(lambda: 1)()", "written as a call"),
    ],
)
def test_expressions_are_parsed_and_never_evaluated(text: str, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        policy_of(text)


def test_every_policy_can_be_written_as_it_prints() -> None:
    for policy in EXAMPLES:
        assert policy_of(repr(policy)) == policy
        assert policy_of(f"hlmc.{policy!r}") == policy
    text = "HLMC(arms=9, levels=2, horizon=100, routines=(routines.EXP3(gamma=2**-3), 'tsallis-inf'))"
    assert policy_of(text).routines_used[0] == hlmc.routines.EXP3(gamma=0.125)


def test_what_is_no_policy_ends_with_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "c", "Nothing(arms=3)", "-o", str(tmp_path)]) == 2
    assert main(["export", "c", str(tmp_path / "absent"), "-o", str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
