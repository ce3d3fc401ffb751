"""The protocol: each node is repeated for some seconds, in rounds, from standby, with a rest after it."""

from __future__ import annotations

import math
import statistics
import time

import torch

from .. import window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from .nodes import Node

#: How long calls are made between two looks at the clock.
_BURST_S = 0.01
#: Stretches of standby that the machine's power is measured in.
_STRETCHES = 5


class NotMeasured(Exception):
    """There is no recorder, or it has gone."""


class Reading:
    """What one repetition of a node took."""

    def __init__(self, calls: int, measurement: Any, is_stable: bool) -> None:
        self.calls = calls
        self.seconds = measurement.seconds / calls
        self.joules = measurement.joules / calls
        machines = [device.whole for device in measurement.devices if "machine:" in device.device]
        self.machine: Optional[float] = sum(machines) / calls if machines else None
        self.is_stable = is_stable
        self.kind = measurement.kind


class Standby:
    """The power of the machine while nothing runs, and whether it is back there."""

    def __init__(self, stretch_s: float, tolerance: float, timeout_s: float) -> None:
        self._stretch_s = stretch_s
        self._tolerance = tolerance
        self._timeout_s = timeout_s
        self._limit = math.inf
        self.devices: list[dict[str, Any]] = []
        #: How long was waited for it in all.
        self.waited_s = 0.0

    def learn(self) -> None:
        """Watches the machine while nothing runs."""
        looks = [self._look() for _ in range(_STRETCHES)]
        totals = [sum(look.values()) for look in looks]
        spread = statistics.stdev(totals)
        self._limit = statistics.fmean(totals) * (1 + self._tolerance) + 2 * spread
        for device in looks[0]:
            watts = [look.get(device, 0.0) for look in looks]
            self.devices.append(
                {
                    "device": device,
                    "watts": statistics.fmean(watts),
                    "sd_watts": statistics.stdev(watts),
                    "stretches": len(watts),
                }
            )

    def await_(self) -> bool:
        """Waits until the machine is at standby; whether it came to that."""
        begin = time.monotonic()
        while True:
            if sum(self._look().values()) <= self._limit:
                return True
            if time.monotonic() - begin > self._timeout_s:
                return False
            time.sleep(self._stretch_s)
            self.waited_s += 2 * self._stretch_s

    def _look(self) -> dict[str, float]:
        with window("standby", quiet=True) as stretch:
            time.sleep(self._stretch_s)
        measurement = _taken(stretch)
        devices = [device for device in measurement.devices if "machine:" not in device.device]
        return {device.device: device.whole / measurement.seconds for device in devices}


def _taken(stretch: Any) -> Any:
    measurement = stretch.measurement
    if measurement is None or math.isnan(measurement.joules):
        raise NotMeasured("nothing is measured here; run it with jouletree calibrate")
    return measurement


def burst(call: Callable[[], Any]) -> int:
    """How many calls are made between two looks at the clock. Warms up, too."""
    call()
    calls = 1
    while True:
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        synchronise()
        took = time.perf_counter() - begin
        if took >= _BURST_S or calls >= 1 << 20:
            return max(1, int(calls * _BURST_S / max(took, 1e-9)))
        calls *= 2


def repeated(node: Node, calls_of_burst: int, seconds: float, standby: Standby) -> Reading:
    """Repeats a node for so long."""
    is_stable = standby.await_()
    calls = 0
    call = node.call
    with torch.inference_mode(), window(node.path or "(model)", sync=True) as stretch:
        end = time.perf_counter() + seconds
        while calls == 0 or time.perf_counter() < end:
            for _ in range(calls_of_burst):
                call()
            synchronise()
            calls += calls_of_burst
    return Reading(calls, _taken(stretch), is_stable)


def synchronise() -> None:
    """Waits for what GPUs were asked to do."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
