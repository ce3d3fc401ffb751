"""The files of experiment-impact-tracker, and what a sample says, under its names."""

from __future__ import annotations

import os
import sys

from ._meter import is_gpu, joules_of
from ._notices import warn_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._meter import Reading

#: Where NVIDIA's driver lists its devices: no folder, no device.
_NVIDIA = "/proc/driver/nvidia/gpus"


class ImpactFiles:
    """``impacttracker/data.json`` and ``impacttracker/info.pkl`` below a folder of logs."""

    def __init__(self, folder: str, info: dict[str, Any]) -> None:
        self._folder = os.path.join(folder, "impacttracker")
        self._works = True
        try:
            os.makedirs(self._folder, exist_ok=True)
            # Samples of a run before belong to that run's information, which is replaced, too.
            with open(self._data, "w", encoding="utf-8"):
                pass
        except OSError as error:
            self._fail(error)
        self.write_info(info)

    @property
    def _data(self) -> str:
        return os.path.join(self._folder, "data.json")

    def add(self, sample: dict[str, Any]) -> None:
        """Adds a line."""
        import json

        if not self._works:
            return
        try:
            with open(self._data, "a", encoding="utf-8") as file:
                file.write(json.dumps(sample) + "\n")
        except OSError as error:
            self._fail(error)

    def write_info(self, info: dict[str, Any]) -> None:
        """Writes what is known of the whole run."""
        import pickle

        if not self._works:
            return
        path = os.path.join(self._folder, "info.pkl")
        try:
            with open(f"{path}.new", "wb") as file:
                pickle.dump(info, file)
            os.replace(f"{path}.new", path)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._works = False
        warn_once(f"ImpactTracker writes no more samples: {error}")


def initial_info() -> dict[str, Any]:
    """What is known before anything has run."""
    import datetime
    from importlib import metadata

    from .. import __version__

    packages = sorted({f"{each.metadata['Name']}=={each.version}" for each in metadata.distributions()})
    return {
        "python_package_info": packages,
        "cpu_info": {},
        "gpu_info": sorted(os.listdir(_NVIDIA)) if os.path.isdir(_NVIDIA) else [],
        "experiment_start": datetime.datetime.now(),
        "experiment_impact_tracker_version": f"jouletree {__version__}",
    }


def sample(reading: Reading, before: Optional[Reading]) -> dict[str, Any]:
    """What happened between two readings of one meter."""
    seconds = reading.seconds - (before.seconds if before is not None else 0.0)
    processes = _processes()
    watts: dict[str, float] = {}
    for of_process, which in ((False, "absolute"), (True, "ours")):
        for part in ("processor", "gpu"):
            joules = _joules(reading, part, of_process) - (
                _joules(before, part, of_process) if before is not None else 0.0
            )
            watts[f"{part} {which}"] = joules / seconds if seconds > 0 else 0.0
    sample: dict[str, Any] = {"timestamp": reading.end_ns * 1e-9}
    if any(not is_gpu(row) for row in reading.counted()):
        sample["rapl_power_draw_absolute"] = watts["processor absolute"]
        sample["rapl_estimated_attributable_power_draw"] = watts["processor ours"]
    if any(is_gpu(row) for row in reading.counted()) or not os.path.isdir(_NVIDIA):
        sample["nvidia_draw_absolute"] = watts["gpu absolute"]
        sample["nvidia_estimated_attributable_power_draw"] = watts["gpu ours"]
    if not os.path.isdir(_NVIDIA):
        sample["average_gpu_estimated_utilization_absolute"] = 0.0
        sample["average_gpu_estimated_utilization_relative"] = 0.0
    sample["cpu_time_seconds"] = {str(pid): times for pid, times in processes.items()}
    sample["process_ids"] = list(processes)
    load = os.getloadavg()
    sample["cpu_count_adjusted_average_load"] = [each / (os.cpu_count() or 1) for each in load]
    sample.update(_memory(processes))
    return sample


def _joules(reading: Reading, part: str, of_process: bool) -> float:
    rows = [row for row in reading.counted() if is_gpu(row) == (part == "gpu")]
    return sum(joules_of(row, of_process) for row in rows)


def _processes() -> dict[int, dict[str, float]]:
    """Seconds of processor time of this process and its descendants."""
    if not sys.platform.startswith("linux"):
        own = os.times()
        return {os.getpid(): {"user": own.user, "system": own.system}}
    ticks = os.sysconf("SC_CLK_TCK")
    times = {}
    for pid in sorted(_tree(os.getpid())):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                # The name of the program may have blanks and brackets of its own.
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        times[pid] = {"user": int(fields[11]) / ticks, "system": int(fields[12]) / ticks}
    return times


def _tree(root: int) -> set[int]:
    """A process and its descendants. Only theirs is looked at: while the program computes, each file that is read waits
    for the interpreter, and a machine may run thousands of processes. Kernels that do not list children give the root."""
    found, open_ = {root}, [root]
    while open_:
        threads = f"/proc/{open_.pop()}/task"
        try:
            for thread in os.listdir(threads):
                with open(f"{threads}/{thread}/children", encoding="ascii") as file:
                    fresh = {int(child) for child in file.read().split()} - found
                found |= fresh
                open_ += fresh
        except OSError:
            continue
    return found


def _memory(processes: dict[int, dict[str, float]]) -> dict[str, float]:
    """Bytes that these processes hold, and their part of what is in use; nothing where unknown."""
    page, held = os.sysconf("SC_PAGE_SIZE"), 0
    try:
        with open("/proc/meminfo", encoding="utf-8") as file:
            info = dict(line.split(":", 1) for line in file)
        total, free = (int(info[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
        for pid in processes:
            with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
                held += int(file.read().split()[1]) * page
    except (OSError, KeyError, ValueError):
        return {}
    in_use = max(total - free, held)
    return {
        "absolute_mem_usage": float(held),
        "absolute_mem_percent_usage": held / total,
        "relative_mem_usage": held / in_use if in_use > 0 else 0.0,
    }
