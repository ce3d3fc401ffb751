#!/usr/bin/env python3
"""Makes the run that the report is measured with: the pre-training of a BERT of base size, step by step, and its power.

The model, its gradients and its executor are those of the sample data (examples/sample), at the size of BERT-base and
with every variable trained. Each step is a timeline as ProfilerHook writes it with data flow and memory switched on.
Everything is synthetic, written as it is made, and the same every time.

    benches/report/bert_base.py FOLDER              16 steps, about 160 MB: FOLDER/traces and FOLDER/power.csv
    benches/report/bert_base.py FOLDER --steps 2    a small one
    jouletree account FOLDER/traces --power FOLDER/power.csv -o RUN
"""

import argparse
import json
import pathlib
import random
import sys
import time

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "sample"
sys.path.insert(0, str(SAMPLE))

import sample_tensorflow as tensorflow  # noqa: E402

BASE = {
    "LAYERS": 12,
    "HIDDEN": 768,
    "HEADS": 12,
    "VOCABULARY": 30522,
    "SEQUENCE": 128,
    "BATCH": 32,
    "PREDICTIONS": 20 * 32,
    "TRAINED": ("kernel", "embeddings", "bias", "gamma", "beta"),
    # A server whose operations are themselves spread over cores.
    "FLOPS_PER_US": 420_000,
    "FLOATS_PER_US": 9_000,
}

PERIOD_US = 4_000
MARGIN_US = 20_000
BETWEEN_STEPS_US = 1_500
IDLE_WATTS = 46
WORKER_WATTS = 38

COMPUTE, TENSORS = 1, 2


class Meter:
    """A meter of CPU:0 that writes the mean power since its last reading, a little wrong."""

    def __init__(self, out, start, seed):
        self.out = out
        self.rng = random.Random(1000 + seed)
        self.at = self.last = start
        self.watts = IDLE_WATTS
        self.energy = 0.0
        out.write("epoch_us,device,watts,kind\n")

    def advance(self, until):
        """Lets time pass at the present power."""
        while self.last + PERIOD_US <= until:
            self._pass(self.last + PERIOD_US)
            self.last = self.at
            mean = self.energy / PERIOD_US * self.rng.uniform(0.98, 1.02)
            self.out.write(f"{self.at},CPU:0,{mean:.3f},estimated\n")
            self.energy = 0.0
        self._pass(until)

    def step(self, start, runs):
        """Follows the operations of a step that began at `start`."""
        edges = []
        for run in runs:
            watts = WORKER_WATTS * run.op.heat
            edges += [(start + run.start, watts), (start + run.end, -watts)]
        for at, change in sorted(edges):
            self.advance(at)
            self.watts += change
        # Sums of decimals leave a crumb, which many steps would make a heap of.
        self.watts = IDLE_WATTS

    def _pass(self, until):
        self.energy += self.watts * (until - self.at)
        self.at = until


def write_timeline(out, start, runs):
    """Writes a timeline event by event: an indented json.dumps of it all would take a gigabyte and a minute."""
    quoted = json.dumps
    flows = 0
    runs_by_name = {run.op.name: run for run in runs}
    out.write('{\n    "traceEvents": [')
    names = ["Allocators", f"{tensorflow.DEVICE} Compute", f"{tensorflow.DEVICE} Tensors"]
    for pid, name in enumerate(names):
        event = {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}
        out.write(f"{',' if pid else ''}\n        {quoted(event)}")
    for number, run in enumerate(runs):
        op, begin, end = run.op, start + run.start, start + run.end
        name = quoted(op.name)
        inputs = "".join(
            f',\n                "input{index}": {quoted(source)}' for index, source in enumerate(op.inputs)
        )
        out.write(
            f',\n        {{\n            "ph": "X",\n            "cat": "Op",\n            "name": "{op.type}",\n'
            f'            "pid": {COMPUTE},\n            "tid": {run.lane},\n            "ts": {begin},\n'
            f'            "dur": {end - begin},\n            "args": {{\n                "name": {name},\n'
            f'                "op": "{op.type}"{inputs}\n            }}\n        }}'
        )
        out.write(
            f',\n        {{\n            "ph": "N",\n            "cat": "Tensor",\n            "name": {name},\n'
            f'            "pid": {TENSORS},\n            "tid": 0,\n            "ts": {begin},\n'
            f'            "id": {number}\n        }},\n        {{\n            "ph": "O",\n'
            f'            "cat": "Tensor",\n            "name": {name},\n            "pid": {TENSORS},\n'
            '            "tid": 0,\n'
            f'            "ts": {end},\n            "id": {number},\n            "args": {{\n'
            '                "snapshot": {\n                    "tensor_description": "dtype: DT_FLOAT\\n'
            f'allocation_description {{\\n  allocator_name: \\"cpu\\"\\n  allocation_id: {number}\\n}}\\n"\n'
            "                }\n            }\n        }"
        )
        for source in op.inputs:
            made = runs_by_name[tensorflow.producer(source)]
            # The writer draws no arrow within a lane.
            if made.lane == run.lane:
                continue
            for phase, lane, at in (("s", made.lane, start + made.end), ("t", run.lane, begin)):
                out.write(
                    f',\n        {{\n            "ph": "{phase}",\n            "cat": "DataFlow",\n'
                    f'            "name": {quoted(source)},\n            "pid": {COMPUTE},\n'
                    f'            "tid": {lane},\n            "ts": {at},\n            "id": {flows}\n        }}'
                )
            flows += 1
    out.write("\n    ]\n}")


def make(folder, steps, seed, report=lambda text: None):
    """Writes traces and power into `folder`; returns how many operations ran."""
    tensorflow.resize(**BASE)
    graph = tensorflow.training_step()
    traces = folder / "traces"
    traces.mkdir(parents=True, exist_ok=True)
    start, events = tensorflow.START_US, 0
    with open(folder / "power.csv", "w") as power:
        meter = Meter(power, start - MARGIN_US, seed)
        for step in range(1, steps + 1):
            runs = tensorflow.execute(graph, seed=1000 * seed + step)
            with open(traces / f"timeline-{step}.json", "w", buffering=1 << 20) as out:
                write_timeline(out, start, runs)
            meter.step(start, runs)
            start += max(run.end for run in runs) + BETWEEN_STEPS_US
            events += len(runs)
            report(f"step {step} of {steps}")
        meter.advance(start + MARGIN_US)
    return events


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0, help="another seed is another run of the same program")
    arguments = parser.parse_args()
    began = time.monotonic()

    def report(text):
        if sys.stderr.isatty():
            print(f"\r{text} ", end="", file=sys.stderr, flush=True)

    events = make(arguments.folder, arguments.steps, arguments.seed, report)
    size = sum(file.stat().st_size for file in (arguments.folder / "traces").iterdir())
    took = time.monotonic() - began
    print(f"{arguments.folder}: {size / 1e6:.0f} MB, {events} operations, made in {took:.0f} s")


if __name__ == "__main__":
    main()
