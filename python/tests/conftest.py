"""What tests share: programs are started as ``jouletree run`` starts them, and what they leave is read."""

from __future__ import annotations

import csv
import json
import os
import pathlib
import subprocess
import sys
import textwrap

PACKAGES = pathlib.Path(__file__).resolve().parent.parent
AUTO = PACKAGES / "jouletree" / "_auto"
EXAMPLES = PACKAGES.parent / "examples"

# The package of this repository, whatever else is installed.
sys.path.insert(0, str(PACKAGES))


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "alone: compares energies or times within steps; no other test runs meanwhile")


class Process:
    """What one process of a recorded program left."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    @property
    def about(self) -> dict:
        return json.loads((self.folder / "process.json").read_text())

    @property
    def warnings(self) -> list[str]:
        file = self.folder / "warnings.txt"
        return file.read_text().splitlines() if file.is_file() else []

    @property
    def steps(self) -> list[dict]:
        return self._rows("steps.csv")

    @property
    def spans(self) -> list[dict]:
        return self._rows("spans.csv")

    @property
    def windows(self) -> list[dict]:
        return self._rows("windows.csv")

    def files(self, pattern: str) -> list[pathlib.Path]:
        return sorted(self.folder.glob(pattern))

    def _rows(self, name: str) -> list[dict]:
        file = self.folder / name
        if not file.is_file():
            return []
        numbers = {"start_ns", "end_ns", "step", "recorded"}
        with open(file, newline="") as lines:
            return [{k: int(v) if k in numbers else v for k, v in row.items()} for row in csv.DictReader(lines)]


class Outcome:
    """How a recorded program ended, and what it left."""

    def __init__(self, code: int, out: str, err: str, traces: pathlib.Path) -> None:
        self.code = code
        self.out = out
        self.err = err
        self.processes = [Process(folder) for folder in sorted(traces.iterdir()) if folder.is_dir()]

    @property
    def only(self) -> Process:
        """The one process that left something."""
        assert len(self.processes) == 1, [process.about for process in self.processes]
        return self.processes[0]

    @property
    def warnings(self) -> list[str]:
        return [warning for process in self.processes for warning in process.warnings]


def environment_of(traces: pathlib.Path, level: str = "op", steps: str = "1..", **more: str) -> dict[str, str]:
    """The environment in which ``jouletree run`` starts a program."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JOULETREE_")}
    own = more.pop("PYTHONPATH", environment.get("PYTHONPATH"))
    return {
        **environment,
        "JOULETREE_TRACES": str(traces),
        "JOULETREE_LEVEL": level,
        "JOULETREE_STEPS": steps,
        "PYTHONPATH": os.pathsep.join([str(AUTO), str(PACKAGES), *([own] if own else [])]),
        **more,
    }


def run_recorded(
    python: str,
    script: str,
    tmp_path: pathlib.Path,
    level: str = "op",
    steps: str = "1..",
    env: dict[str, str] | None = None,
    arguments: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
    timeout: float = 120,
) -> Outcome:
    """Runs a program, given as its text or as the path of its file, as ``jouletree run`` does."""
    traces = tmp_path / "traces"
    traces.mkdir(exist_ok=True)
    if "\n" in script:
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(script))
    else:
        program = pathlib.Path(script)
    ended = subprocess.run(
        [python, *options, str(program), *arguments],
        env=environment_of(traces, level, steps, **(env or {})),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
    )
    return Outcome(ended.returncode, ended.stdout.decode(), ended.stderr.decode(), traces)


def run_alone(python: str, program: pathlib.Path, options: tuple[str, ...] = (), **env: str) -> Outcome:
    """Runs the program that `run_recorded` has written without any recording, for comparison."""
    nothing = program.parent / "nothing"
    nothing.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JOULETREE_")}
    environment.update(env)
    ended = subprocess.run(
        [python, *options, str(program)],
        env=environment,
        cwd=program.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )
    return Outcome(ended.returncode, ended.stdout.decode(), ended.stderr.decode(), nothing)


def covered(steps: list[dict], events: list[tuple[int, int]]) -> float:
    """Which part of the time in recorded steps is covered by events, given as starts and ends in nanoseconds."""
    total = within = 0
    events = sorted(events)
    for step in steps:
        if not step["recorded"]:
            continue
        start, end = step["start_ns"], step["end_ns"]
        total += end - start
        reached = start
        for begin, finish in events:
            begin, finish = max(begin, reached), min(finish, end)
            if finish > begin:
                within += finish - begin
                reached = finish
    assert total, "no step was recorded"
    return within / total


PYTHON = sys.executable
