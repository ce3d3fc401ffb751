"""What tests of TensorFlow and Keras share: running a program as ``jouletree run`` does, and reading what it left."""

from __future__ import annotations

import csv
import os
import pathlib
import subprocess
import sys
import textwrap

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
EXAMPLES = PACKAGE.parent / "examples"


class Recorded:
    """What a program left: its output, its steps, its traces."""

    def __init__(self, done: subprocess.CompletedProcess, traces: pathlib.Path) -> None:
        self.done = done
        self.folders = sorted(traces.iterdir()) if traces.is_dir() else []

    def files(self, pattern: str) -> list[pathlib.Path]:
        return sorted(path for folder in self.folders for path in folder.rglob(pattern))

    @property
    def warnings(self) -> str:
        return "".join(path.read_text() for path in self.files("warnings.txt"))

    @property
    def steps(self) -> list[dict]:
        rows = [row for path in self.files("steps.csv") for row in csv.DictReader(path.open())]
        for row in rows:
            row.update(start=int(row["start_ns"]), end=int(row["end_ns"]), recorded=row["recorded"] == "1")
        return sorted(rows, key=lambda row: row["start"])

    @property
    def windows(self) -> list[dict]:
        return [row for path in self.files("windows.csv") for row in csv.DictReader(path.open())]

    def count(self, phase: str, recorded: bool = None) -> int:
        return sum(row["phase"] == phase and recorded in (None, row["recorded"]) for row in self.steps)

    @property
    def operations(self) -> list[tuple[str, int, int]]:
        """Names of operations with their beginnings and ends, from all traces."""
        found = []
        for path in self.files("tensorflow-*.pb"):
            found += (xplane_operations if path.name.endswith(".xplane.pb") else session_operations)(path)
        return found

    def coverage(self) -> float:
        """The share of the time of recorded steps in which an operation ran."""
        spans = [(row["start"], row["end"]) for row in self.steps if row["recorded"]]
        inside = 0
        busy = union((start, end) for _, start, end in self.operations)
        for first, last in spans:
            inside += sum(max(0, min(end, last) - max(start, first)) for start, end in busy)
        return inside / sum(last - first for first, last in spans)


def run(tmp_path: pathlib.Path, program: str | list, level: str = "op", steps: str = "1..", **environment) -> Recorded:
    """Runs a program, given as text or as a command's arguments, as ``jouletree run`` would."""
    traces = tmp_path / "traces"
    traces.mkdir(exist_ok=True)
    if isinstance(program, str):
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(program))
        program = [script]
    path = [str(PACKAGE / "jouletree" / "_auto"), str(PACKAGE)]
    env = {
        **os.environ,
        "JOULETREE_TRACES": str(traces),
        "JOULETREE_LEVEL": level,
        "JOULETREE_STEPS": steps,
        "PYTHONPATH": os.pathsep.join(path),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        **environment,
    }
    if level == "none":
        for name in ("JOULETREE_TRACES", "JOULETREE_LEVEL", "JOULETREE_STEPS"):
            del env[name]
        env["PYTHONPATH"] = str(PACKAGE)
    command = [sys.executable, *map(str, program)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    return Recorded(done, traces)


def session_operations(path: pathlib.Path) -> list[tuple[str, int, int]]:
    """The operations in the metadata of a run."""
    import tensorflow as tf

    metadata = tf.compat.v1.RunMetadata.FromString(path.read_bytes())
    return [
        (node.node_name, node.all_start_nanos, node.all_start_nanos + node.all_end_rel_nanos)
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
        if node.node_name != "_SOURCE"
    ]


def xplane_operations(path: pathlib.Path) -> list[tuple[str, int, int]]:
    """The operations in a window of the profiler, on the clock that its marker tells."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace.FromString(path.read_bytes())
    events, base = [], None
    for plane in space.planes:
        for line in plane.lines:
            for event in line.events:
                about = plane.event_metadata[event.metadata_id]
                start = line.timestamp_ns + event.offset_ps // 1000
                end = start + event.duration_ps // 1000
                if about.name == "MARK":
                    stats = {plane.stat_metadata[stat.metadata_id].name: stat for stat in event.stats}
                    wall = stats["wall_ns"]
                    base = int(wall.str_value or wall.int64_value or wall.uint64_value) - start
                if about.display_name and about.name.endswith(":" + about.display_name):
                    events.append((about.name.rpartition(":")[0], start, end))
    assert base is not None, f"{path} has no marker"
    return [(name, start + base, end + base) for name, start, end in events]


def events_of(path: pathlib.Path) -> set[str]:
    """The names of all events in a window of the profiler."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace.FromString(path.read_bytes())
    return {about.name for plane in space.planes for about in plane.event_metadata.values()}


def union(spans) -> list[tuple[int, int]]:
    """Spans joined where they touch."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
