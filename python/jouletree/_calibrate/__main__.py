"""Runs a plan of ``jouletree calibrate`` and writes what it found, after every round."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time

from .models import Subject, Unavailable, made, sizes
from .rounds import NotMeasured, Reading, Standby, burst, repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .nodes import Node


class Work:
    """A node that is measured, and all nodes that are like it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.calls_of_burst = 1
        self.readings: list[Reading] = []

    def described(self, path: str) -> dict[str, Any]:
        """What was measured, as the file has it, for the node itself or for one that is like it."""
        joules = [reading.joules for reading in self.readings]
        machines = [reading.machine for reading in self.readings if reading.machine is not None]
        row: dict[str, Any] = {
            "path": path,
            "energy_j": statistics.fmean(joules),
            "sd_j": statistics.stdev(joules) if len(joules) > 1 else 0.0,
            "seconds": statistics.fmean(reading.seconds for reading in self.readings),
            "calls": sum(reading.calls for reading in self.readings),
            "stable_rounds": sum(reading.is_stable for reading in self.readings),
        }
        if path != self.node.path:
            row["same_as"] = self.node.path
        if machines:
            row["machine_j"] = statistics.fmean(machines)
        return row


class Study:
    """One model at one size."""

    def __init__(self, subject: Subject) -> None:
        from .nodes import Sight

        self.subject = subject
        sight = Sight(subject)
        self.nodes = sight.nodes()
        self.repeated = sight.repeated
        works: dict[Any, Work] = {}
        self.works: dict[str, Work] = {}
        for node in self.nodes:
            if node.is_measured:
                self.works[node.path] = works.setdefault(node.likeness, Work(node))
        self.different = list(works.values())

    def described(self) -> dict[str, Any]:
        nodes = [work.described(path) for path, work in self.works.items() if work.readings]
        tree = {"nodes": [node.described() for node in self.nodes if node.path], "edges": []}
        subject = self.subject
        size = {"model": subject.name, "batch": subject.batch, "sequence": subject.sequence}
        return {**size, "tree": tree, "nodes": nodes}


def main(text: str) -> int:
    plan = json.loads(text)
    try:
        import torch
    except ImportError:
        say("PyTorch is not installed for this Python; name another with --python")
        return 1
    torch.set_grad_enabled(False)
    if plan.get("threads"):
        torch.set_num_threads(plan["threads"])
    try:
        studies = [
            Study(made(name, batch, sequence, plan["choice"], plan["device"]))
            for name in plan["models"]
            for batch, sequence in sizes(name, plan["batches"], plan["sequences"])
        ]
        return calibrate(studies, plan, f"torch {torch.__version__}")
    except (Unavailable, NotMeasured) as error:
        say(str(error))
        return 1


def calibrate(studies: list[Study], plan: dict[str, Any], framework: str) -> int:
    works = [(study, work) for study in studies for work in study.different]
    standby = Standby(plan["standby_s"], plan["standby_tolerance"], plan["standby_timeout_s"])
    each = plan["seconds"] + plan["cool_down_s"] + plan["standby_s"]
    total = len(works) * plan["rounds"] * each
    say(f"{len(works)} different nodes, {plan['rounds']} rounds of {plan['seconds']:g} s: {_time(total)} at least")
    standby.learn()
    for _, work in works:
        work.calls_of_burst = burst(work.node.call)
    begin = time.monotonic()
    done = 0
    for number in range(plan["rounds"]):
        for study, work in works:
            work.readings.append(repeated(work.node, work.calls_of_burst, plan["seconds"], standby))
            time.sleep(plan["cool_down_s"])
            done += 1
            left = (time.monotonic() - begin) / done * (len(works) * plan["rounds"] - done)
            title = f"{study.subject.name} {study.subject.batch}×{study.subject.sequence}"
            progress(f"round {number + 1}/{plan['rounds']}, {title}: {work.node.path or '(model)'}; {_time(left)} left")
        write(studies, plan, framework, standby, number + 1)
    progress("")
    return 0


def write(studies: list[Study], plan: dict[str, Any], framework: str, standby: Standby, rounds: int) -> None:
    """Writes what is known so far, whole or not at all."""
    warnings = []
    works = [work for study in studies for work in study.different]
    readings = [reading for work in works for reading in work.readings]
    unstable = sum(not reading.is_stable for reading in readings)
    if unstable:
        warnings.append(
            f"{unstable} of {len(readings)} repetitions began above standby, as the machine did not come to rest "
            f"within {plan['standby_timeout_s']:g} s; stop other programs and calibrate again"
        )
    repeated_parts = {f"{study.subject.name}: {path}" for study in studies for path in study.repeated}
    if repeated_parts:
        several = f"{len(repeated_parts)} modules run several times in one call of their model"
        warnings.append(f"{several} and are not measured, such as {min(repeated_parts)}")
    kinds = {reading.kind for reading in readings}
    order = ["measured", "derived", "estimated", "predicted"]
    found = {
        "version": 1,
        "framework": framework,
        "protocol": {
            "seconds": plan["seconds"],
            "rounds": rounds,
            "cool_down_s": plan["cool_down_s"],
            "standby_tolerance": plan["standby_tolerance"],
        },
        "standby": standby.devices,
        "kind": max(kinds & set(order) or {"estimated"}, key=order.index),
        "trees": [study.described() for study in studies],
        "warnings": warnings,
    }
    partial = plan["output"] + ".partial"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(found, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, plan["output"])


def _time(seconds: float) -> str:
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def say(text: str) -> None:
    print(f"jouletree: {text}", file=sys.stderr)


def progress(text: str) -> None:
    """Shows how far it is, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text[:100]}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
