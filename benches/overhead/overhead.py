#!/usr/bin/env python3
"""What recording costs a training step: the same program with and without jouletree, taking turns.

Programs run at the same time, one for each level and two without jouletree, and one of them is let go for some steps while
the others and their monitors are stopped (SIGSTOP). So steps are compared with the steps just before and after them. A step
lasts until the program is about to begin the next one: everything that jouletree does between steps counts.

On a machine that others use, too, a step of a second varies by far more than what is looked for. What recording adds is
the same number of hooks and events whatever the size of tensors; so it is found, in milliseconds of processor time, on
layers of the same number and kind with H = 64 and one sentence, where it is not lost in the step, and set against the
step of BERT-base-like layers (H = 768). To that comes what the monitor takes while such steps run, as its part of all
processors. Figures are means over rounds with a 95 % interval from a bootstrap. The row `none` compares the two programs
without jouletree: what it is away from nothing is the error of the method. TensorFlow's own `ProfilerHook`, with its
files, takes part, too. What the clock says of the large steps directly is beside it.

    make bench-overhead
    make bench-overhead BENCH='--rounds 200 --only torch'
"""

import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINARY = os.environ["JOULETREE_BINARY"]

#: Each level with the most that it may add to a step, in percent.
LEVELS = {"process": 0.5, "module": 2.0, "op": 10.0}
PROGRAMS = {"torch": ("frameworks", "torch_bert.py"), "tensorflow": ("tensorflow-2.15", "tensorflow_bert.py")}
#: What TensorFlow itself offers for the same purpose.
PEERS = {"tensorflow": ["ProfilerHook"]}
#: What every level is compared with, and the same once more.
PLAIN, AGAIN = "plain", "none"
WARM_UP = 5
#: The width of layers, the sentences in a batch, and how many steps a turn has.
SMALL, LARGE = (64, 1, 10), (768, 8, 1)


def python_of(environment: str) -> str:
    maker = [sys.executable, ROOT / "tools" / "environment.py", environment]
    return subprocess.run(maker, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def own_time(pid: int) -> float:
    """Processor time of a process so far, in seconds, to the nanosecond."""
    threads = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


class Step(NamedTuple):
    """Seconds of a step: by the clock, of the program's processors, of the monitor's."""

    wall: float
    cpu: float
    monitor: float


class Contestant:
    """A program that waits for its turn, with the monitor that watches it."""

    def __init__(self, program: list, level: str, folder: pathlib.Path) -> None:
        folder.mkdir()
        go, arrived = folder / "go", folder / "arrived"
        for pipe in (go, arrived):
            os.mkfifo(pipe)
        is_peer = any(level in peers for peers in PEERS.values())
        words = [*program, go, arrived, *([level] if is_peer else [])]
        self._watched = level in LEVELS
        if self._watched:
            words = [BINARY, "run", "-q", "-o", folder / "run", "--level", level, "--steps", "1..", "--", *words]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        self._output = (folder / "output").open("w+")
        self._group = subprocess.Popen(
            words, cwd=folder, env=environment, stdout=self._output, stderr=self._output, start_new_session=True
        )
        self._go, self._arrived = open(go, "wb", buffering=0), open(arrived)
        self._expect()
        os.killpg(self._group.pid, signal.SIGSTOP)

    def turn(self, steps: int) -> Step:
        """The next steps, and what one of them took."""
        os.killpg(self._group.pid, signal.SIGCONT)
        before = own_time(self._group.pid) if self._watched else 0.0
        self._go.write(bytes([steps]))
        wall, cpu = self._expect()["took"]
        after = own_time(self._group.pid) if self._watched else 0.0
        os.killpg(self._group.pid, signal.SIGSTOP)
        return Step(wall / steps, cpu / steps, (after - before) / steps)

    def end(self) -> None:
        os.killpg(self._group.pid, signal.SIGKILL)
        self._group.wait()

    def _expect(self) -> dict:
        line = self._arrived.readline()
        if not line:
            self._group.wait()
            self._output.seek(0)
            sys.exit(f"{' '.join(map(str, self._group.args))} failed:\n{self._output.read()}")
        return json.loads(line)


def rounds_of(name: str, layers: int, size: tuple, count: int) -> list:
    """Each round's step of every contestant."""
    environment, script = PROGRAMS[name]
    hidden, batch, steps = size
    program = [python_of(environment), HERE / script]
    program += map(str, (steps * (count + WARM_UP), layers, hidden, batch))
    with tempfile.TemporaryDirectory() as folder:
        contestants = {}
        try:
            for level in [PLAIN, AGAIN, *LEVELS, *PEERS.get(name, [])]:
                contestants[level] = Contestant(program, level, pathlib.Path(folder, level))
            order, rounds = list(contestants), []
            for number in range(count + WARM_UP):
                random.shuffle(order)
                rounds.append({level: contestants[level].turn(steps) for level in order})
                if (number + 1) % 10 == 0:
                    done = f"H = {hidden}, round {number + 1} of {count + WARM_UP}"
                    print(f"overhead: {name}, {done}", file=sys.stderr, flush=True)
            return rounds[WARM_UP:]
        finally:
            for contestant in contestants.values():
                contestant.end()


class Mean:
    """A mean with the interval in which it lies 95 times in 100. A median would not see what happens in few turns only, such
    as the writing of a trace."""

    def __init__(self, figures: list) -> None:
        dice = random.Random(1)
        means = sorted(statistics.fmean(dice.choices(figures, k=len(figures))) for _ in range(4000))
        self.mean, self.low, self.high = statistics.fmean(figures), means[100], means[-101]

    def shown(self, factor: float, unit: str) -> str:
        low, high = factor * self.low, factor * self.high
        return f"{factor * self.mean:+.2f} {unit} ({low:+.2f} … {high:+.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60, help="of small steps; a fifth as many of large ones")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--only", choices=PROGRAMS, help="one framework")
    arguments = parser.parse_args()

    print("| framework | level | added to a step | monitor | of a step | together | at most | by the clock |")
    print("|---|---|---|---|---|---|---|---|")
    for name in [arguments.only] if arguments.only else PROGRAMS:
        small = rounds_of(name, arguments.layers, SMALL, arguments.rounds)
        large = rounds_of(name, arguments.layers, LARGE, max(5, arguments.rounds // 5))
        # A quiet step is the short one, of which what is added is the larger part.
        step = statistics.quantiles([each[PLAIN].wall for each in large], n=4)[0]
        for level, most in {AGAIN: None, **LEVELS, **dict.fromkeys(PEERS.get(name, []))}.items():
            added = Mean([each[level].cpu - each[PLAIN].cpu for each in small])
            monitor = statistics.median(each[level].monitor / os.cpu_count() for each in large)
            clock = Mean([each[level].wall / each[PLAIN].wall - 1 for each in large])
            row = [name, level, added.shown(1e3, "ms"), f"{1e3 * monitor:.2f} ms", f"{1e3 * step:.0f} ms"]
            row += [f"{100 * (added.mean + monitor) / step:+.2f} %", f"{most} %" if most else "", clock.shown(100, "%")]
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
