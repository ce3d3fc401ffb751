"""Steps of many PyTorch programs against their true numbers. Needs torch (environment `frameworks` or `torch-2.2`)."""

from __future__ import annotations

import collections
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from typing import Iterable

import pytest
from torch_programs import PACKAGE, Run
from torch_truth_programs import PRELUDE, PROGRAMS

pytest.importorskip("torch", reason="torch is not installed")

DRIVER = pathlib.Path(__file__).with_name("torch_truth_driver.py")
PLAN = "1..20,every:500"
#: On a busy machine recording may cost more than it is allowed to, which is not what most programs are about.
AT_ANY_COST = "import jouletree._session\njouletree._session._COST_SECONDS = 1e9\n"


class Truth(Run):
    """What one of the programs left."""

    def __init__(self, outcome: dict, traces: pathlib.Path) -> None:
        self.status, self.out = outcome["status"], outcome["out"]
        self.folders = sorted(traces.glob(f"{outcome['pid']}-*"))

    @property
    def gaps(self) -> list[tuple[int, int]]:
        lines = [line.split() for line in self.out.splitlines() if line.startswith("gap ")]
        return [(int(begin), int(end)) for _, begin, end in lines]


def programs(names: Iterable[str]) -> str:
    """Programs as the driver reads them."""
    cost = {name: "" if name == "too many operations" else AT_ANY_COST for name in names}
    return json.dumps({name: cost[name] + PRELUDE + PROGRAMS[name][0] for name in names})


@pytest.fixture(scope="module", params=["op", "module"])
def runs(request, tmp_path_factory):
    """All programs at one level, in one process each, forked from one that has imported torch."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "programs.json").write_text(programs(PROGRAMS))
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
    quiet = [name for name in all_runs if name not in ("threads", "too many operations")]
    assert {name: all_runs[name].warnings for name in quiet} == {name: [] for name in quiet}
    # Transforms are part of fetching.
    run = all_runs["transform"]
    names = {name.replace(".", "/") for name in run.modules} if level == "op" else {span["op"] for span in run.spans}
    assert "data/Norm" in names and not {name for name in names if name.startswith("Norm")}
    # No step ran in a process of a worker, though modules did.
    assert len(list(folder.glob("traces/*/steps.csv"))) == len(all_runs)
    # In other threads than the first, spans of modules take the place of operations.
    threads = all_runs["threads"]
    assert {span["op"] for span in threads.spans} >= {"first", "second", "Net"}
    assert len([warning for warning in threads.warnings if "threads" in warning]) == (level == "op")
    # A step of 85 000 nodes of the graph is cut short: what is left of it is bounded, and spans take over.
    long = all_runs["too many operations"]
    assert len([warning for warning in long.warnings if "too many operations" in warning]) == (level == "op")
    assert [step["recorded"] for step in long.steps] == (["0", "1", "1"] if level == "op" else ["1", "1", "1"])
    assert sum(file.stat().st_size for file in long.folders[0].glob("torch-*.json")) < 1 << 20
    assert "Cells/cell" in {span["op"] for span in long.spans}


#: Two processes, whose optimizer calls the forward pass and whose backward pass waits for the gradients of the other; then
#: a model whose parameters are sharded, where the torch has that.
PASSES = """
import os, socket, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch import nn
def work(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.Linear(256, 8)))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(torch.ones(32, 64)), torch.zeros(32, 8))
        loss.backward()
        return loss
    for _ in range(3): optimizer.step(closure)
    try: from torch.distributed.fsdp import fully_shard
    except ImportError: fully_shard = None
    if fully_shard is not None:
        mesh = dist.init_device_mesh("cpu", (2,))
        sharded = nn.Sequential(nn.Linear(64, 256), nn.Linear(256, 8))
        for part in (*sharded, sharded): fully_shard(part, mesh=mesh)
        optimizer = torch.optim.SGD(sharded.parameters(), 0.1)
        for _ in range(2):
            optimizer.zero_grad(); sharded(torch.ones(32, 64)).sum().backward(); optimizer.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(work, (port,), nprocs=2)
"""


needs_command = pytest.mark.skipif(
    not os.environ.get("JOULETREE_BINARY"), reason="JOULETREE_BINARY does not name the command"
)


def jouletree(folder: pathlib.Path, *words: str) -> str:
    environment = {**os.environ, "JOULETREE_PACKAGE": str(PACKAGE), "OMP_NUM_THREADS": "1"}
    command = [os.environ["JOULETREE_BINARY"], *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(folder: pathlib.Path, by: str) -> list[dict]:
    return json.loads(jouletree(folder, "show", "RUN", "--by", by, "--format", "json"))


@needs_command
def test_parts_of_a_run_make_the_whole(tmp_path):
    names = ["loss module", "teacher long before", "transform", "evaluation first", "GAN", "closures", "reinforcement"]
    (tmp_path / "programs.json").write_text(programs(names))
    jouletree(tmp_path, "run", "-q", "-o", "RUN", "--", sys.executable, str(DRIVER), "programs.json")
    truth: collections.Counter[str] = collections.Counter()
    for name in names:
        truth.update(PROGRAMS[name][1])
    phases = shown(tmp_path, "phase")
    assert {" ".join(filter(None, (row["phase"], row["function"]))): row["steps"] for row in phases} == truth
    # Operations, what is between them, steps that were not recorded and the rest make what the process tree used.
    balance = json.loads((tmp_path / "RUN" / "manifest.json").read_text())["recording"]["balance"]
    whole = sum(row["parts"]["ours_j"] for row in balance if row["domain"] is None and row["parts"])
    parts = shown(tmp_path, "part")
    assert sum(row["energy_j"] for row in parts) == pytest.approx(whole, rel=1e-9)
    assert all(row["energy_j"] >= 0 for row in parts)
    assert {"operations", "between_operations", "unrecorded_steps", "before_steps"} <= {row["part"] for row in parts}
    charged = sum(row["energy_j"] for row in parts if row["part"] == "operations")
    assert sum(row["energy_j"] or 0 for row in shown(tmp_path, "op")) == pytest.approx(charged, rel=1e-9)


@needs_command
def test_passes_of_closures_and_collectives(tmp_path):
    (tmp_path / "program.py").write_text(PASSES)
    jouletree(tmp_path, "run", "-q", "-o", "RUN", "--", sys.executable, "program.py")
    operations = shown(tmp_path, "op")
    passes: dict[str, set[str]] = collections.defaultdict(set)
    for operation in operations:
        passes[operation["path"]].add(operation["pass"])
    linear = {path: found for path, found in passes.items() if path.endswith("/aten::addmm")}
    assert linear and all(found == {"forward"} for found in linear.values())
    assert passes["aten::mse_loss"] == {"forward"}, "the loss in the closure, outside of all modules"
    reduced = [found for path, found in passes.items() if path.startswith("collectives/gloo:all_reduce")]
    assert reduced and all(found == {"backward"} for found in reduced)
    # Parameters are gathered for both passes, each in its place; gradients are scattered in the backward pass.
    gathered = {path: found for path, found in passes.items() if path.endswith("/c10d::_allgather_base_")}
    for path, found in gathered.items():
        assert found == ({"forward"} if "FSDP::pre_forward" in path else {"backward"}), path
    if importlib.util.find_spec("torch.distributed.fsdp._fully_shard") is not None:
        assert {"forward"} in gathered.values() and {"backward"} in gathered.values()
        assert passes["collectives/gloo:all_gather/(python)"] == {"forward", "backward"}
        scattered = [found for path, found in passes.items() if path.endswith("/c10d::_reduce_scatter_base_")]
        assert scattered and all(found == {"backward"} for found in scattered)
    optimizer = {path for path, found in passes.items() if "optimizer" in found}
    assert optimizer and all(path.startswith("optimizer/") for path in optimizer)
