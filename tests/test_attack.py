"""The short form of the attack: see ``scripts/attack.py`` for the long one."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from attack import FAMILIES

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the attacks fork")
def test_the_attack_does_no_harm() -> None:
    """Nothing crashes, hangs, gives a wrong result or raises what is not ours: the table has a 0 in every line.

    When a signal arrives depends on the clock, so interrupts are left to the long form; Ctrl-C has tests of its own.
    """
    families = [family for family in FAMILIES if family != "interrupts"]
    command = [sys.executable, str(ROOT / "scripts" / "attack.py"), *families, "--short", "--shown", "20"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"\n{family} " in done.stdout for family in families)


@pytest.mark.skipif(sys.platform == "win32", reason="the attacks fork")
def test_the_attack_can_find_harm() -> None:
    """A crash, a hang, a foreign exception, a long message and a wrong result are each counted, and trials go on."""
    code = """
        import os, signal, sys, time
        sys.path.insert(0, sys.argv[1])
        from attack import harness
        from hlmc.errors import MissingExtra

        def raises(text):
            raise MissingExtra(text)  # the only error of ours that does not shorten its message

        def trial(trial):
            if trial.number == 1:
                os.kill(os.getpid(), signal.SIGSEGV)
            if trial.number == 2:
                time.sleep(60)
            if trial.number == 3:
                {}["missing"]
            if trial.number == 4:
                harness.attempt(lambda: raises("x" * 500))
            if trial.number == 5:
                harness.attempt(lambda: raises("short"))
            if trial.number == 6:
                raise harness.Harm("a wrong result")
            if trial.number == 7:
                harness.Forked(lambda: time.sleep(60)).wait(0.1)

        found = harness.Attack("it", "tests", trial, lambda: None, 9, 9, 1.0)
        outcome = harness.run(found, 9, 60.0)
        print(outcome.trials, *outcome.harms, sep="\\n")
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(ROOT / "tests")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    trials, *harms = done.stdout.splitlines()
    assert trials == "9"
    assert harms == [
        "trial 1: crash by SIGSEGV",
        "trial 2: it hangs (nothing for 1 s)",
        "trial 3: KeyError: 'missing' (<string>:16)",
        "trial 4: a message of 500 characters from MissingExtra: '" + "x" * 80 + "'",
        "trial 6: a wrong result",
        "trial 7: a process hangs (more than 0.1 s)",
    ]
