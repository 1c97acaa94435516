"""The command: see ``scripts/attack.py``."""

from __future__ import annotations

import argparse
import sys

from attack import FAMILIES, attacks, harness


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/attack.py", description="Attack the library and print what was found."
    )
    parser.add_argument("family", nargs="*", metavar="FAMILY", help=f"some of {', '.join(FAMILIES)}; default: all")
    parser.add_argument("--short", action="store_true", help="few trials: half a minute")
    parser.add_argument("--patient", action="store_true", help="wait as long as it takes: nothing is called a hang")
    parser.add_argument("--only", metavar="NAME", help="attacks whose name holds this")
    parser.add_argument("--count", type=int, metavar="N", help="trials of each attack, instead of its own number")
    parser.add_argument("--seconds", type=float, default=120.0, metavar="S", help="of each attack at most (120)")
    parser.add_argument(
        "--first", type=int, default=0, metavar="N", help="number of the first trial: another N, others"
    )
    parser.add_argument("--shown", type=int, default=3, metavar="N", help="harms of each attack to print (3)")
    options = parser.parse_args()
    unknown = set(options.family) - set(FAMILIES)
    if unknown:
        parser.error(f"there is no family {', '.join(sorted(unknown))}; there is {', '.join(FAMILIES)}")
    harness.PATIENT = options.patient
    say(f"{'family':<12}{'attack':<34}{'trials':>9}{'harm':>7}{'seconds':>9}")
    trials = harms = 0
    for attack in attacks(tuple(options.family) or FAMILIES):
        if options.only and options.only not in attack.name:
            continue
        count = options.count or (attack.short if options.short else attack.long)
        if not count:
            continue
        outcome = harness.run(attack, count, options.seconds, options.first)
        found = len(outcome.harms)
        say(f"{attack.family:<12}{attack.name:<34}{outcome.trials:>9,}{found:>7,}{outcome.seconds:>9.1f}")
        for harm in outcome.harms[: options.shown]:
            say(f"    {harm}")
        if found > options.shown:
            say(f"    and {found - options.shown} more")
        trials, harms = trials + outcome.trials, harms + found
    say(f"{'':<12}{'all':<34}{trials:>9,}{harms:>7,}")
    return 1 if harms else 0


if __name__ == "__main__":
    sys.exit(main())
