"""What devices use while a tracker runs, as the recorder reports it (docs/windows.md).

A meter may be read while it runs, and may pause: what it has seen is the sum of the pieces. There is no thread; the
recorder counts, and is asked when a value is needed.
"""

from __future__ import annotations

import math
import os
import threading
import time

from ._machine import Look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from .._conversation import Recorder

#: How long an answer is waited for while the recorder lives.
_PATIENCE = 20.0

_SUMS = ("energy_j", "low_j", "high_j", "ours_j", "others_j", "idle_j", "unknown_j")


class Reading:
    """What a meter has seen."""

    def __init__(self, rows: list[dict[str, Any]], seconds: float, missed: float, end_ns: int) -> None:
        #: One for each device, with the names and the meaning that the window protocol gives them.
        self.rows = rows
        #: How long the meter ran.
        self.seconds = seconds
        #: Seconds of it about which the recorder could not be asked.
        self.missed = missed
        self.end_ns = end_ns

    def __add__(self, later: Reading) -> Reading:
        """Both together."""
        seconds = self.seconds + later.seconds
        sums: dict[str, dict[str, Any]] = {}
        for reading in (self, later):
            part = reading.seconds / seconds if seconds > 0 else 0.0
            for row in reading.rows:
                total = sums.setdefault(row["device"], {**row, **dict.fromkeys(_SUMS, 0.0), "coverage": 0.0})
                for name in _SUMS:
                    total[name] += row[name]
                total["coverage"] += row["coverage"] * part
        return Reading(list(sums.values()), seconds, self.missed + later.missed, later.end_ns)

    def only(self, wanted: Callable[[dict[str, Any]], bool]) -> Reading:
        """The same of some devices."""
        return Reading([row for row in self.rows if wanted(row)], self.seconds, self.missed, self.end_ns)

    def counted(self) -> list[dict[str, Any]]:
        """The rows that are added: a meter of the whole machine counts what the others do, too."""
        parts = [row for row in self.rows if "machine:" not in row["device"]]
        return parts or self.rows

    def joules(self, of_process: bool) -> float:
        """All energy of all devices, or what this process and its descendants used of it; NaN without a recorder."""
        if not self.rows:
            return math.nan
        return math.fsum(joules_of(row, of_process) for row in self.counted())


def joules_of(row: dict[str, Any], of_process: bool) -> float:
    """The energy of one device, or the process's part of it: a GPU whose driver does not report its users works for us."""
    if not of_process:
        return float(row["energy_j"])
    return float(row["ours_j"]) + (float(row["unknown_j"]) if is_gpu(row) else 0.0)


def is_gpu(row: dict[str, Any]) -> bool:
    """Whether a row is about a GPU."""
    return "gpu:" in row["device"]


def _answer(recorder: Recorder, number: int) -> Optional[dict[str, Any]]:
    """What the recorder says of a piece. It is waited for: on a busy machine, hours of a run may depend on it."""
    until = time.monotonic() + _PATIENCE
    while True:
        answer = recorder.answer(number)
        if answer is not None or recorder.gone is not None or time.monotonic() > until:
            return answer


class Meter:
    """Adds up what devices use between `resume` and `pause`, as often as these come."""

    def __init__(self, name: Optional[str] = None) -> None:
        self._name = name
        self._pid = os.getpid()
        # A handler of signals may end the tracker while it begins, in the same thread.
        self._lock = threading.RLock()
        self._recorder: Optional[Recorder] = None
        self._number = 0
        self._start_ns = 0
        self._began: Optional[float] = None
        #: Pieces that have ended and that the recorder has not been asked about.
        self._ended: list[tuple[Optional[Recorder], int, float, int]] = []
        self._seen = Reading([], 0.0, 0.0, time.time_ns())
        #: How busy the machine was when it began.
        self._look: Optional[Look] = None

    @property
    def foreign(self) -> bool:
        """Whether it belongs to the process from which this one was forked."""
        return os.getpid() != self._pid

    def resume(self) -> None:
        """Begins to count, or goes on. The first meter of a process waits until the recorder is there."""
        if self.foreign:
            return
        from .. import _recorder, _session

        recorder = _session.guarded(_recorder.find)
        with self._lock:
            if self._look is None:
                self._look = Look()
            if self._began is None:
                self._open(recorder, time.time_ns(), time.perf_counter())

    def pause(self) -> None:
        """Counts no more. This does not wait for the meters."""
        self._cut(goes_on=False)

    def read(self) -> Reading:
        """All that it has seen so far, which the recorder is asked for; it goes on if it runs."""
        self._cut(goes_on=True)
        with self._lock:
            while self._ended:
                recorder, number, seconds, end_ns = self._ended.pop(0)
                answer = None if recorder is None else _answer(recorder, number)
                rows = (answer or {}).get("devices") or []
                if recorder is not None:
                    rows = [{**row, "source": recorder.source_of(row["device"])} for row in rows]
                self._seen += Reading(rows, seconds, 0.0 if rows else seconds, end_ns)
            return self._seen

    def machine(self) -> dict[str, Optional[float]]:
        """How busy the machine has been since the meter began, pauses included."""
        return {} if self._look is None else Look().since(self._look)

    def _open(self, recorder: Optional[Recorder], start_ns: int, began: float) -> None:
        self._recorder, self._start_ns, self._began = recorder, start_ns, began
        if recorder is not None:
            try:
                self._number = recorder.open(start_ns)
            except Exception:  # noqa: BLE001 -- the piece is missing, which is noted with the reading
                self._recorder = None

    def _cut(self, goes_on: bool) -> None:
        """Ends the piece that is open, and begins the next one where it ends."""
        if self.foreign:
            return
        with self._lock:
            if self._began is None:
                return
            end_ns, ended = time.time_ns(), time.perf_counter()
            recorder, number, start_ns, seconds = self._recorder, self._number, self._start_ns, ended - self._began
            self._began = None
            if recorder is not None:
                try:
                    recorder.close(number, end_ns)
                except Exception:  # noqa: BLE001 -- the piece is missing, which is noted with the reading
                    recorder = None
            if goes_on:
                self._open(self._recorder, end_ns, ended)
            self._ended.append((recorder, number, seconds, end_ns))
        if self._name is not None:
            self._keep(start_ns, end_ns)

    def _keep(self, start_ns: int, end_ns: int) -> None:
        """Under ``jouletree run``, what was counted is a window of the run, too."""
        from .. import _session

        session = _session.current()
        if session is not None:
            _session.guarded(session.ran_window, self._name, start_ns, end_ns, "window", threading.get_ident())
