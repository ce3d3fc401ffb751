"""Steps of many PyTorch programs against what they are by hand. Needs torch (environment `frameworks` or `torch-2.2`)."""

from __future__ import annotations

import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest
from torch_programs import PACKAGE, Run
from torch_truth_programs import PRELUDE, PROGRAMS

pytest.importorskip("torch", reason="torch is not installed")

DRIVER = pathlib.Path(__file__).with_name("torch_truth_driver.py")
PLAN = "1..20,every:500"


class Truth(Run):
    """What one of the programs left."""

    def __init__(self, outcome: dict, traces: pathlib.Path) -> None:
        self.status, self.out = outcome["status"], outcome["out"]
        self.folders = sorted(traces.glob(f"{outcome['pid']}-*"))

    @property
    def gaps(self) -> list[tuple[int, int]]:
        lines = [line.split() for line in self.out.splitlines() if line.startswith("gap ")]
        return [(int(begin), int(end)) for _, begin, end in lines]


@pytest.fixture(scope="module", params=["op", "module"])
def runs(request, tmp_path_factory):
    """All programs at one level, in one process each, forked from one that has imported torch."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "programs.json").write_text(json.dumps({name: PRELUDE + text for name, (text, _) in PROGRAMS.items()}))
    environment = {
        **os.environ,
        "JOULETREE_TRACES": str(folder / "traces"),
        "JOULETREE_LEVEL": request.param,
        "JOULETREE_STEPS": PLAN,
        "PYTHONPATH": os.pathsep.join([str(PACKAGE / "jouletree" / "_auto"), str(PACKAGE)]),
        "OMP_NUM_THREADS": "1",
        "JOULETREE_BINARY": "nowhere",
    }
    command = [sys.executable, str(DRIVER), str(folder / "programs.json")]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    return request.param, {name: Truth(outcome, folder / "traces") for name, outcome in outcomes.items()}, folder


@pytest.mark.parametrize("name", PROGRAMS)
def test_steps(runs, name):
    level, all_runs, _ = runs
    run, truth = all_runs[name], PROGRAMS[name][1]
    assert run.status == 0, run.out
    steps = run.steps
    found = collections.Counter(" ".join(filter(None, (step["phase"], step["function"]))) for step in steps)
    assert dict(found) == truth
    # Steps of a thread do not overlap, and hold nothing of what the program does between them.
    times = sorted((int(step["start_ns"]), int(step["end_ns"])) for step in steps)
    assert all(start < end for start, end in times)
    if name != "threads":
        assert all(before[1] <= after[0] for before, after in zip(times, times[1:]))
    for begin, end in run.gaps:
        assert not any(start < end and begin < stop for start, stop in times), "a gap is in a step"
    # The first twenty of each group are recorded, but for a few that did not begin as the ones before them.
    for group, count in truth.items():
        phase, _, function = group.partition(" ")
        recorded = [step["recorded"] for step in steps if (step["phase"], step["function"]) == (phase, function)]
        most = min(count, 20) if level == "op" else count
        assert most - 2 <= recorded.count("1") <= most
        assert "1" in recorded


def test_what_else_is_noted(runs):
    level, all_runs, folder = runs
    samples = {name: [step["samples"] for step in run.steps] for name, run in all_runs.items()}
    assert samples["images in a list"] == ["2", "2"]
    assert samples["closures"] == ["4"] * 5, "a closure that is called again has the same samples"
    assert samples["loss module"] == ["4"] * 27
    quiet = [name for name in all_runs if name != "threads"]
    assert {name: all_runs[name].warnings for name in quiet} == {name: [] for name in quiet}
    # Transforms are part of fetching.
    run = all_runs["transform"]
    names = {name.replace(".", "/") for name in run.modules} if level == "op" else {span["op"] for span in run.spans}
    assert "data/Norm" in names and not {name for name in names if name.startswith("Norm")}
    # No step ran in a process of a worker, though modules did.
    assert sum(len(list(folder.glob("traces/*/steps.csv"))) for _ in range(1)) == len(all_runs)
    # In other threads than the first, spans of modules take the place of operations.
    threads = all_runs["threads"]
    assert {span["op"] for span in threads.spans} >= {"first", "second", "Net"}
    assert len({span["lane"] for span in threads.spans}) >= 1
    assert len([warning for warning in threads.warnings if "threads" in warning]) == (level == "op")
