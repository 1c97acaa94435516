"""Play what was written to a folder. It needs no more than Python and a C compiler."""

from __future__ import annotations

import csv
import os
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from equal_bytes.experiments import experiments, is_played


def build(folder: Path, name: str = "play", plain: bool = False) -> None:
    """Compile the C files of an experiment; ``plain``: with the policies as exported."""
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-std=gnu99", "-I", str(folder)]
    own = "plain/p*.c" if plain else "p*.c"
    sources = sorted([*folder.glob("a*.c"), *folder.glob("main.c"), *folder.glob(own)])
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(os.cpu_count()) as workers:
        objects = [f"{place}/{source.stem}.o" for source in sources]

        def one(source: Path, to: str) -> None:
            subprocess.run(["cc", *flags, "-c", "-o", to, str(source)], check=True)

        list(workers.map(one, sources, objects))
        subprocess.run(["cc", *flags, "-o", str(folder / name), *objects, "-lm"], check=True)


def check(folder: Path) -> None:
    """Compare the policies as exported with the same in lanes."""
    for place, told in experiments(folder).items():
        build(folder / place)
        build(folder / place, "plain/play", plain=True)
        for number, case in enumerate(told["cases"]):
            found = []
            mask = sum(1 << i for i, name in enumerate(told["policies"]) if is_played(told, name, case, 0))
            for program in ("play", "plain/play"):
                arguments = [str(number), str(folder / place / f"a{number}_0.spec"), "20000", "5", str(mask)]
                command = [str((folder / place / program).resolve()), *arguments]
                found.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[1::2])
            if found[0] != found[1]:
                raise SystemExit(f"{place}, {case}: {found[0]} in lanes, {found[1]} as exported")
        print(f"{place}: the same rewards in {len(told['cases'])} cases")


def play(folder: Path, cores: int, seconds: float) -> None:
    """Compile and play what has not been played; one line of played.csv for each run of a policy."""
    began = time.monotonic()
    written = experiments(folder)
    file = folder / "played.csv"
    done = set()
    if file.exists():
        rows = csv.DictReader(file.read_text().splitlines())
        done = {(row["experiment"], row["case"], int(row["run"]), row["policy"]) for row in rows}
    tasks = []
    for place, told in written.items():
        for run in range(told["runs"]):
            for number, case in enumerate(told["cases"]):
                wanted = [
                    (1 << i, name)
                    for i, name in enumerate(told["policies"])
                    if (place, case, run, name) not in done and is_played(told, name, case, run)
                ]
                # Where no best arm is looked for, policies are played at the same time.
                parts = [[each] for each in wanted] if told["best"] else [wanted]
                tasks += [(place, number, case, run, part) for part in parts if part]
    compiling = {place: threading.Lock() for place in written}
    compiled: set[str] = set()
    with file.open("a") as out, ThreadPoolExecutor(cores) as workers:
        if not done:
            out.write("experiment,arms,horizon,case,run,best,policy,words,earned,ns\n")

        def one(task: tuple[str, int, str, int, list[tuple[int, str]]]) -> str:
            place, number, case, run, wanted = task
            if time.monotonic() - began > seconds:
                return ""
            with compiling[place]:
                if place not in compiled:
                    build(folder / place)
                    compiled.add(place)
            told = written[place]
            spec = folder / place / f"a{number}_{run}.spec"
            key = str(7919 * (run + 1) << 20)
            program = (folder / place / "play").resolve()
            command = [program, str(number), spec, str(told["horizon"]), key, str(sum(bit for bit, _ in wanted))]
            best, *rest = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            best = told["best"][case][run] if told["best"] else best
            head = f"{place},{told['arms']},{told['horizon']},{case},{run},{best}"
            found = zip(wanted, rest[::2], rest[1::2], strict=True)
            return "".join(f"{head},{name},{told['words'][name]},{earned},{ns}\n" for (_, name), earned, ns in found)

        played = 0
        for lines in workers.map(one, tasks):
            played += bool(lines)
            out.write(lines)
            out.flush()
    print(f"{played} of {len(tasks)} tasks in {time.monotonic() - began:.0f} s", flush=True)
