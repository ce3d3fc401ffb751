"""What the tests of torch, transformers and Lightning share: a program is run as ``jouletree run`` would run it."""

from __future__ import annotations

import csv
import json
import os
import pathlib
import subprocess
import sys
import textwrap

PACKAGE = pathlib.Path(__file__).resolve().parent.parent

#: Programs begin with this.
MODELS = """
import os, sys
import torch
from torch import nn
torch.manual_seed(1)
torch.set_num_threads(1)

class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.dense = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)
    def forward(self, x):
        return self.norm(x + torch.relu(self.dense(x)))

class Net(nn.Module):
    def __init__(self, size=64, layers=2):
        super().__init__()
        self.layers = nn.ModuleList(Block(size) for _ in range(layers))
        self.head = nn.Linear(size, 8)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
"""


class Run:
    """What a program left behind."""

    def __init__(self, finished: subprocess.CompletedProcess, traces: pathlib.Path) -> None:
        self.status = finished.returncode
        self.out = finished.stdout
        self.err = finished.stderr
        self.folders = sorted(traces.iterdir()) if traces.is_dir() else []

    def rows(self, name: str) -> list[dict[str, str]]:
        """The rows of a table, of all processes."""
        rows = []
        for folder in self.folders:
            if (folder / name).is_file():
                with open(folder / name, encoding="utf-8") as file:
                    rows += list(csv.DictReader(file))
        return rows

    @property
    def steps(self) -> list[dict[str, str]]:
        return self.rows("steps.csv")

    @property
    def phases(self) -> list[str]:
        return [step["phase"] for step in self.steps]

    @property
    def spans(self) -> list[dict[str, str]]:
        return self.rows("spans.csv")

    @property
    def warnings(self) -> list[str]:
        files = [folder / "warnings.txt" for folder in self.folders]
        return [line for file in files if file.is_file() for line in file.read_text().splitlines()]

    @property
    def events(self) -> list[dict]:
        """Complete events of all traces, with `start` and `end` in nanoseconds since the epoch."""
        events = []
        for folder in self.folders:
            for file in sorted(folder.glob("torch-*.json")):
                trace = json.loads(file.read_text())
                base = trace.get("baseTimeNanoseconds", 0)
                for event in trace["traceEvents"]:
                    if event.get("ph") == "X" and event.get("cat") in ("cpu_op", "user_annotation"):
                        start = base + float(event["ts"]) * 1000
                        events.append({**event, "start": start, "end": start + float(event["dur"]) * 1000})
        return events

    @property
    def modules(self) -> set[str]:
        """The modules that the traces name."""
        named = [event for event in self.events if event["name"].startswith("module::")]
        assert all(event["cat"] == "user_annotation" for event in named), "only annotations are read as modules"
        return {event["name"][len("module::") :] for event in named}

    @property
    def models(self) -> list[dict]:
        return [json.loads(file.read_text()) for folder in self.folders for file in sorted(folder.glob("model-*.json"))]

    def coverage(self) -> float:
        """Which part of the time of recorded steps is covered by what was recorded."""
        found = [(event["start"], event["end"]) for event in self.events]
        found += [(int(span["start_ns"]), int(span["end_ns"])) for span in self.spans]
        merged: list[list[float]] = []
        for start, end in sorted(found):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        whole = covered = 0.0
        for step in self.steps:
            if step["recorded"] == "1":
                begin, finish = int(step["start_ns"]), int(step["end_ns"])
                whole += finish - begin
                covered += sum(max(0.0, min(finish, end) - max(begin, start)) for start, end in merged)
        return covered / whole


def run(
    folder: pathlib.Path,
    program: str,
    level: str = "op",
    steps: str = "1..",
    before: str = MODELS,
    arguments: tuple = (),
    variables: dict | None = None,
) -> Run:
    """Runs a program, given as text or as a file, under a session."""
    traces = folder / "traces"
    file = pathlib.Path(program)
    if not program.endswith(".py"):
        file = folder / "program.py"
        file.write_text(before + textwrap.dedent(program))
    environment = {
        **os.environ,
        "JOULETREE_TRACES": str(traces),
        "JOULETREE_LEVEL": level,
        "JOULETREE_STEPS": steps,
        "PYTHONPATH": os.pathsep.join([str(PACKAGE / "jouletree" / "_auto"), str(PACKAGE)]),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        # Nobody measures; energies are another test's.
        "JOULETREE_BINARY": "nowhere",
        **(variables or {}),
    }
    finished = subprocess.run(
        [sys.executable, str(file), *map(str, arguments)], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    return Run(finished, traces)


def ran(*arguments, **named) -> Run:
    """Runs a program that must end well."""
    result = run(*arguments, **named)
    assert result.status == 0, result.err
    return result
