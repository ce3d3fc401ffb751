"""Runs to report on: of BERT-base and of the sample, and those that nobody expects."""

from __future__ import annotations

import csv
import json
import pathlib
import random
import shutil
import subprocess
import sys

from tool import ROOT, jouletree

MAKER = ROOT / "benches" / "report" / "bert_base.py"
SAMPLE = ROOT / "examples" / "sample"
START_NS = 1_772_442_000_000_000_000
MILLISECOND = 1_000_000

# What a name must survive: every context that a page puts it into has its own way to end a text.
HOSTILE = [
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(2)">',
    "</script><script>alert(3)",
    "<!--<script>",
    "\"double\" 'single' `back`",
    "back\\slash\\u003cb\\n",
    "line\u2028paragraph\u2029end",
    "\u202eright to left\u200f",
    "${alert(4)} {{alert(5)}} &lt;b&gt; &amp;",
    "x" * 4_000,
]


def bert_base(folder: pathlib.Path, steps: int, seed: int = 0) -> pathlib.Path:
    """A run of BERT-base, made in `folder`."""
    made, run = folder / "made", folder / "run"
    subprocess.run([sys.executable, MAKER, made, "--steps", str(steps), "--seed", str(seed)], check=True)
    jouletree("account", made / "traces", "--power", made / "power.csv", "-o", run)
    # Megabytes by the hundred that nobody reads again.
    shutil.rmtree(made)
    return run


# A program that needs no framework: it reports stages, steps and what ran in them.
STAGED = """
import time
from jouletree import _session
session = _session.current()
def work(seconds):
    until = time.time() + seconds
    while time.time() < until:
        sum(range(1000))
work(0.1)
for number in range(1, 9):
    if number in (1, 5):
        session.stage("pre-training" if number == 1 else "fine-tuning")
    step = session.next_step()
    begin = time.time_ns()
    for layer in range(2):
        start = time.time_ns()
        work(0.03)
        session.ran_module(f"net/encoder/layer_{layer}", start, time.time_ns(), 1, "Linear", "forward")
    start = time.time_ns()
    work(0.01)
    session.ran_module("net/pooler", start, time.time_ns(), 1, "Tanh", "forward")
    work(0.02)
    start = time.time_ns()
    work(0.03)
    session.ran_module("net/encoder/layer_0", start, time.time_ns(), 1, "Linear", "backward")
    session.ran_step(step, begin, time.time_ns(), "train", session.plan.wants(step), 4)
    work(0.01)
"""


def staged(folder: pathlib.Path) -> pathlib.Path:
    """A program with two stages and eight steps, of which six were recorded."""
    script, run = folder / "program.py", folder / "run"
    script.write_text(STAGED)
    words = ["run", "-q", "--no-daemon", "--level", "module", "--steps", "2..7", "-o", run, "--", sys.executable, script]
    jouletree(*words)
    return run


def gpus(folder: pathlib.Path) -> pathlib.Path:
    """The sample's two ranks on two GPUs."""
    run = folder / "run"
    power = SAMPLE / "power-ranks.csv"
    jouletree("account", SAMPLE / "rank0.json.gz", SAMPLE / "rank1.json.gz", "--power", power, "-o", run)
    return run


def of_events(
    folder: pathlib.Path, paths: list[str], watts: float = 50, devices: tuple[str, ...] = ("cpu:0",)
) -> pathlib.Path:
    """Operations that run one after the other, a millisecond each, on `devices` by turns. The first has a meter."""
    trace, power, run = folder / "trace.csv", folder / "power.csv", folder / "run"
    with open(trace, "w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["start_ns", "end_ns", "device", "lane", "op"])
        for number, path in enumerate(paths):
            start = START_NS + number * MILLISECOND
            rows.writerow([start, start + MILLISECOND, devices[number % len(devices)], 0, path])
    end = START_NS + (len(paths) + 1) * MILLISECOND
    power.write_text(
        "epoch_ns,device,watts\n"
        + "".join(f"{at},{devices[0]},{watts}\n" for at in range(START_NS - MILLISECOND, end + 1, MILLISECOND))
    )
    jouletree("account", trace, "--power", power, "-o", run)
    return run


def of_known_powers(folder: pathlib.Path) -> pathlib.Path:
    """Operations in random mixes whose powers can be estimated from readings: their energies have standard errors."""
    known = {"net/a/MatMul": 100.0, "net/b/Add": 30.0, "net/b/Mul": 55.0}
    chance, at, events = random.Random(1), START_NS, []
    while at < START_NS + 4_000 * MILLISECOND:
        end = at + chance.randint(1, 9) * MILLISECOND
        events.append((at, end, chance.choice(list(known))))
        at = end
    trace, power, run = folder / "trace.csv", folder / "power.csv", folder / "run"
    rows = "".join(f"{start},{end},cpu:0,0,{op}\n" for start, end, op in events)
    trace.write_text("start_ns,end_ns,device,lane,op\n" + rows)
    readings, period = ["epoch_ns,device,watts\n"], 10 * MILLISECOND
    for start in range(START_NS, at, period):
        inside = [(min(end, start + period) - max(begin, start), op) for begin, end, op in events]
        watts = sum(known[op] * length for length, op in inside if length > 0) / period
        readings.append(f"{start},cpu:0,{watts * chance.gauss(1, 0.01)}\n")
    power.write_text("".join(readings))
    jouletree("account", trace, "--power", power, "--attribution", "regressed", "-o", run)
    return run


def of_power_alone(folder: pathlib.Path) -> pathlib.Path:
    """A recording of the machine without any trace."""
    run = folder / "run"
    jouletree("record", "--duration", 0.5, "--quiet", "-o", run)
    return run


def predicted(folder: pathlib.Path) -> pathlib.Path:
    """A prediction, by a profile of a machine that takes a joule for each million operations and for each call."""
    trees = []
    for rows in (1, 8, 64):
        facts = {"inputs": [{"dims": [rows, 32]}], "outputs": [{"dims": [rows, 32]}]}
        node = {"path": "dense", "type": "Linear", "name": "dense", "pass": "forward", "is_module": True, **facts}
        energy = 1 + rows * 32 * 32 * 2 / 1e6
        seen = {"sd_j": 0, "seconds": 1, "calls": 1, "stable_rounds": 1}
        nodes = [{"path": path, "energy_j": energy, **seen} for path in ("dense", "")]
        tree = {"nodes": [{**node, "parameters": 32 * 32 + 32}], "edges": []}
        trees.append({"model": "dense", "batch": rows, "sequence": 1, "tree": tree, "nodes": nodes})
    protocol = {"seconds": 1, "rounds": 1, "cool_down_s": 0, "standby_tolerance": 0}
    told = {"version": 1, "framework": "none", "kind": "measured", "protocol": protocol, "standby": [], "trees": trees}
    (folder / "calibration.json").write_text(json.dumps(told))
    profile, run = folder / "profile.json", folder / "PREDICTED"
    jouletree("train", folder, "-o", profile)
    jouletree("predict", "bert", "--layers", 2, "--profile", profile, "-o", run)
    return run
