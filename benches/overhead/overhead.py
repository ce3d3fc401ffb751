#!/usr/bin/env python3
"""What recording costs a training step: the same program with and without jouletree, taking turns.

Programs of BERT-base-like layers (H = 768) time their own steps, from the start of one to the start of the next, so that
everything jouletree does between steps counts as well. Levels take turns, round after round, as machines drift; the
first steps of a program are left out. The interval is a bootstrap over rounds.

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


def python_of(environment: str) -> str:
    made = subprocess.run([sys.executable, ROOT / "tools" / "environment.py", environment], check=True, stdout=subprocess.PIPE)
    return made.stdout.decode().strip()


def steps_of(program: list, level: str, warm_up: int) -> list:
    """The seconds of each step of one run."""
    with tempfile.TemporaryDirectory() as folder:
        words = list(program)
        if level != "none":
            words = [BINARY, "run", "-q", "-o", f"{folder}/run", "--level", level, "--steps", "1..", "--", *words]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout.strip().splitlines()[-1])[warm_up:]


def interval(ratios: list) -> tuple:
    """Where the mean of the rounds lies, 95 times in 100."""
    dice = random.Random(1)
    means = sorted(statistics.fmean(dice.choices(ratios, k=len(ratios))) for _ in range(4000))
    return means[100], means[-101]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="steps in each run, beside those that warm it up")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--only", choices=PROGRAMS, help="one framework")
    arguments = parser.parse_args()
    warm_up = 2

    print("| framework | level | step, median | added, median | added, mean | 95 % | at most |")
    print("|---|---|---|---|---|---|---|")
    for name in [arguments.only] if arguments.only else PROGRAMS:
        environment, script = PROGRAMS[name]
        program = [python_of(environment), HERE / script, str(arguments.steps + warm_up), str(arguments.layers)]
        rounds = []
        for number in range(arguments.rounds):
            order = ["none", *LEVELS]
            order = order[number % len(order) :] + order[: number % len(order)]
            rounds.append({level: steps_of(program, level, warm_up) for level in order})
            print(f"overhead: {name}, round {number + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
        plain = statistics.median(step for done in rounds for step in done["none"])
        print(f"| {name} | none | {1e3 * plain:.1f} ms | | | | |")
        for level, most in LEVELS.items():
            step = statistics.median(step for done in rounds for step in done[level])
            means = [statistics.fmean(done[level]) / statistics.fmean(done["none"]) - 1 for done in rounds]
            low, high = (100 * bound for bound in interval(means))
            added = 100 * (step / plain - 1)
            mean = 100 * statistics.fmean(means)
            print(f"| {name} | {level} | {1e3 * step:.1f} ms | {added:+.2f} % | {mean:+.2f} % | {low:+.2f} … {high:+.2f} % | {most} % |", flush=True)


if __name__ == "__main__":
    main()
