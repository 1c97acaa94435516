"""The short form of the attack: see ``scripts/attack.py`` for the long one."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from attack import FAMILIES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the attacks fork")
def test_the_attack_does_no_harm() -> None:
    """Nothing crashes, hangs, gives a wrong result or raises what is not ours: the table has a 0 in every line.

    When a signal arrives depends on the clock, so interrupts are left to the long form; Ctrl-C has tests of its own.
    So does what takes too long, so here a hang is one of this test and not counted.
    """
    families = [family for family in FAMILIES if family != "interrupts"]
    command = [sys.executable, str(ROOT / "scripts" / "attack.py"), *families, "--short", "--patient", "--shown", "20"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"\n{family} " in done.stdout for family in families)


@pytest.mark.skipif(sys.platform == "win32", reason="the attacks fork")
def test_the_attack_can_find_harm() -> None:
    """A crash, a hang, a foreign exception, a long message and a wrong result are each counted, and trials go on."""
    code = """
        import math, os, signal, sys
        sys.path.insert(0, sys.argv[1])
        from attack import harness
        from hlmc.errors import MissingExtra

        def raises(text):
            raise MissingExtra(text)  # the only error of ours that does not shorten its message

        def trial(trial):
            if trial.number == 1:
                os.kill(os.getpid(), signal.SIGSEGV)
            if trial.number == 2:
                {}["missing"]
            if trial.number == 3:
                harness.attempt(lambda: raises("x" * 500))
            if trial.number == 4:
                harness.attempt(lambda: raises("short"))
            if trial.number == 5:
                raise harness.Harm("a wrong result")
            if trial.number == 6:
                harness.Forked(signal.pause).wait(0.1)

        def tell(trial, count, limit):
            found = harness.Attack("it", "tests", trial, lambda: None, count, count, limit)
            outcome = harness.run(found, count, math.inf)
            print(f"{outcome.trials} trials", *outcome.harms, sep="\\n")

        tell(trial, 9, 1e6)
        tell(lambda trial: signal.pause(), 2, 0.1)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(ROOT / "tests")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "9 trials",
        "trial 1: crash by SIGSEGV",
        "trial 2: KeyError: 'missing' (<string>:14)",
        "trial 3: a message of 500 characters from MissingExtra: '" + "x" * 80 + "'",
        "trial 5: a wrong result",
        "trial 6: a process hangs (more than 0.1 s)",
        "2 trials",
        "trial 0: it hangs (nothing for 0.1 s)",
        "trial 1: it hangs (nothing for 0.1 s)",
    ]
