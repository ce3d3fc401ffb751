#!/usr/bin/env python3
"""What recording costs a training step: the same program with and without jouletree, taking turns.

Programs of BERT-base-like layers (H = 768) time their own steps, from the start of one to the start of the next, so that
everything jouletree does between steps counts as well. Levels take turns, round after round, as machines drift, and the
first steps of a program are left out.

On a machine that others use, too, the clock tells little: a step that has to wait takes longer. What is compared is
therefore processor time: what the program's own processors spent on a step, on one thread, and what the monitor spent
beside it, as a part of the machine. The clock's figure stands beside it, with a bootstrap over rounds.

    make bench-overhead
    make bench-overhead BENCH='--rounds 10 --only torch'
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINARY = os.environ["JOULETREE_BINARY"]

#: Each level with the most that it may add to a step, in percent.
LEVELS = {"process": 0.5, "module": 2.0, "op": 10.0}
PROGRAMS = {"torch": ("frameworks", "torch_bert.py"), "tensorflow": ("tensorflow-2.15", "tensorflow_bert.py")}
WARM_UP = 2


class Ran:
    """One run of a program: what its steps took, and what the monitor did meanwhile."""

    def __init__(self, steps: list, monitor: float) -> None:
        self.wall = [wall for wall, _ in steps]
        self.cpu = [cpu for _, cpu in steps]
        #: The monitor's processor time as a part of all that the machine has.
        self.monitor = monitor


def python_of(environment: str) -> str:
    maker = [sys.executable, ROOT / "tools" / "environment.py", environment]
    return subprocess.run(maker, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def ran(program: list, level: str) -> Ran:
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder, "run")
        words = list(program)
        if level != "none":
            words = [BINARY, "run", "-q", "-o", run, "--level", level, "--steps", "1..", "--", *words]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
        monitor = 0.0
        if level != "none":
            recording = json.loads((run / "manifest.json").read_text())["recording"]
            monitor = recording["own_time_ns"] / recording["duration_ns"] / os.cpu_count()
        return Ran(json.loads(done.stdout.strip().splitlines()[-1])[WARM_UP:], monitor)


def interval(ratios: list) -> tuple:
    """Where the mean of the rounds lies, 95 times in 100."""
    dice = random.Random(1)
    means = sorted(statistics.fmean(dice.choices(ratios, k=len(ratios))) for _ in range(4000))
    return means[100], means[-101]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=12, help="steps in each run, beside those that warm it up")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--only", choices=PROGRAMS, help="one framework")
    arguments = parser.parse_args()

    print("| framework | level | CPU of a step | added by the program | by the monitor | together | at most | by the clock |")
    print("|---|---|---|---|---|---|---|---|")
    for name in [arguments.only] if arguments.only else PROGRAMS:
        environment, script = PROGRAMS[name]
        program = [python_of(environment), HERE / script, str(arguments.steps + WARM_UP), str(arguments.layers)]
        rounds = []
        for number in range(arguments.rounds):
            order = ["none", *LEVELS]
            order = order[number % len(order) :] + order[: number % len(order)]
            rounds.append({level: ran(program, level) for level in order})
            print(f"overhead: {name}, round {number + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
        plain = statistics.fmean(statistics.fmean(done["none"].cpu) for done in rounds)
        print(f"| {name} | none | {1e3 * plain:.1f} ms | | | | | |")
        for level, most in LEVELS.items():
            cpu = statistics.fmean(statistics.fmean(done[level].cpu) for done in rounds)
            added, monitor = cpu / plain - 1, statistics.fmean(done[level].monitor for done in rounds)
            clock = [statistics.median(done[level].wall) / statistics.median(done["none"].wall) - 1 for done in rounds]
            low, high = interval(clock)
            figures = [f"{100 * figure:+.2f} %" for figure in (added, monitor, added + monitor)]
            row = [name, level, f"{1e3 * cpu:.1f} ms", *figures, f"{most} %", f"{100 * low:+.1f} … {100 * high:+.1f} %"]
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
