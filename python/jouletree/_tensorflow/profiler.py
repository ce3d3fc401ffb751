"""Windows of TensorFlow's profiler: several steps share one, and the program's own profiling goes first.

A window has only as many steps as recording may still cost. What a step costs is known from the events that such steps
have left before, else from the size of the graph. The first window of a function with loops is short. Most of these events
are none of operations (iterations of the executor, closures that are handed to threads); TensorFlow has no way to do
without them.

TensorFlow allows one profiler at a time. When the program starts one while ours is on, ours ends and its window is
written; while the program's is on, no operations are recorded.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
import weakref
from .._session import guarded
from .space import plane_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional
    from .._session import Session
    from .scopes import Scopes

    #: Phase and function of a step.
    Kind = tuple[str, str]

#: A window is written after so many steps or seconds, so that a process that is killed loses little.
_STEPS = 10
_SECONDS = 20.0
#: So many steps has the first window of those of which it is not known how many events they have.
_FIRST_STEPS = 3
#: What an event costs in all: recording it, and writing it. A busy machine writes more slowly, which shows in windows
#: that have so many events.
_EVENT_SECONDS = 2.5e-6
_MANY_EVENTS = 20_000

#: What an event takes in a file, about, and how many of them cost a step as much as one of the session's events.
_EVENT_BYTES = 32
_EVENTS = 8

_OPTIONS = {"host_tracer_level": 2, "python_tracer_level": 0, "device_tracer_level": 1}


class Windows:
    """The profiler's windows of this process."""

    def __init__(self, session: Session, tensorflow: Any, scopes: Scopes) -> None:
        from tensorflow.python.profiler.internal import _pywrap_profiler

        self._session = session
        self._tensorflow = tensorflow
        self._scopes = scopes
        self._make = _pywrap_profiler.ProfilerSession
        self._lock = threading.RLock()
        self._active: Optional[Any] = None
        self._folder = ""
        self._steps = 0
        self._most_steps = 0
        self._began = 0.0
        #: What the steps in the window are steps of, and how many events such steps had before.
        self._kinds: set[Kind] = set()
        self._events: dict[Kind, float] = {}
        self._event_seconds = _EVENT_SECONDS
        #: What is known about the names of the functions that ran in the window.
        self._names: dict[str, str] = {}
        #: Called with the window's file once it is written, or with nothing when there is none.
        self._written: list[Callable[[Optional[str]], None]] = []
        #: Profilers of the program that are on.
        self._others: weakref.WeakSet[Any] = weakref.WeakSet()
        _pywrap_profiler.ProfilerSession = self._seen(self._make)
        session.at_end(self.close)
        session.when_forked(self._forget)

    def open(self, kind: Kind, names: Optional[dict[str, str]] = None, anew: bool = False) -> bool:
        """Has operations recorded from now on, for a step of this kind; whether they are.

        `names` is what is known about the names of the function that runs next. A name may mean different layers in
        different functions: these do not share a window. With `anew` nothing else is in the window.
        """
        if self._active is not None and (anew or self._has_others(names or {})):
            self.close(is_empty=self._steps == 0)
        most = self._most(kind)
        if self._active is not None:
            self._most_steps = min(self._most_steps, self._steps + most)
            if self._steps < self._most_steps:
                self._names.update(names or {})
                self._kinds.add(kind)
                return True
            self.close()
        if most < 1:
            self._session.affords(self._seconds_of(kind))
            return False
        with self._lock:
            if self._others:
                self._session.warn(
                    "the program profiles itself with TensorFlow's profiler; meanwhile operations are not recorded"
                )
                return False
            profiler = self._make()
            self._folder = self._session.new_file("profile-{}")
            profiler.start(self._folder, _OPTIONS)
            self._active, self._steps, self._began = profiler, 0, time.monotonic()
            self._most_steps = most
            self._names.update(names or {})
            self._kinds.add(kind)
            with self._tensorflow.profiler.experimental.Trace("MARK", wall_ns=str(time.time_ns())):
                pass
            return True

    def expect(self, kind: Kind, events: Optional[float]) -> None:
        """Says how many events steps of a kind are expected to have, as long as none was recorded."""
        if events is not None:
            self._events.setdefault(kind, events)

    def _seconds_of(self, kind: Kind) -> float:
        """What recording a step of this kind is likely to cost."""
        return self._events.get(kind, 0.0) * self._event_seconds

    def _most(self, kind: Kind) -> int:
        """How many steps of this kind recording may still cost."""
        if kind not in self._events:
            return _FIRST_STEPS
        return int(min(_STEPS, self._session.spare_seconds() / max(1e-9, self._seconds_of(kind))))

    def _has_others(self, names: dict[str, str]) -> bool:
        """Whether something in the window has one of these names and is something else."""
        known = self._names
        return known is not names and any(known.get(key, name) != name for key, name in names.items())

    def when_written(self, action: Callable[[Optional[str]], None]) -> None:
        """Has something done with the file of the window that is open, once it is written."""
        self._written.append(action)

    def stepped(self, more: bool, steps: int = 1) -> None:
        """Steps have ended; `more` says whether the next is wanted as well."""
        if self._active is None:
            return
        self._steps += steps
        if not more or self._steps >= self._most_steps or time.monotonic() - self._began > _SECONDS:
            self.close()

    def close(self, is_empty: bool = False) -> None:
        """Writes the window that is open, if one is; one without a step is thrown away."""
        with self._lock:
            profiler, self._active = self._active, None
            names, self._names = self._names, {}
            kinds, self._kinds = self._kinds, set()
            written, self._written = self._written, []
            self._scopes.spans = False
            if profiler is None:
                return
            start = time.time_ns()
            path = None
            try:
                if is_empty:
                    profiler.stop()
                else:
                    self._wait_for_devices()
                    profiler.export_to_tb()
                    path = self._take_files({**self._scopes.names, **names})
            finally:
                for action in written:
                    guarded(action, path)
                events = os.path.getsize(path) // _EVENT_BYTES if path is not None else 0
                if events and self._steps:
                    self._events.update(dict.fromkeys(kinds, events / self._steps))
                end = time.time_ns()
                if events > _MANY_EVENTS:
                    self._event_seconds = max(_EVENT_SECONDS, (end - start) / 1e9 / events)
                self._session.cost(start, end, events // _EVENTS)

    def _take_files(self, names: dict[str, str]) -> Optional[str]:
        """Takes the profile out of the folders that TensorFlow put it in for TensorBoard; adds what is known of names."""
        path = None
        for place, _, found in os.walk(self._folder):
            for name in found:
                if name.endswith(".xplane.pb"):
                    path = self._session.new_file("tensorflow-{}.xplane.pb")
                    os.replace(os.path.join(place, name), path)
                    if names:
                        with open(path, "ab") as file:
                            file.write(plane_of(names.items()))
                    self._session.wrote(path)
        shutil.rmtree(self._folder, ignore_errors=True)
        return path

    def _wait_for_devices(self) -> None:
        """What a GPU has still to do belongs to the window; on CPUs a step's end is the end of its operations."""
        tensorflow = self._tensorflow
        if tensorflow.config.list_physical_devices("GPU"):
            tensorflow.experimental.sync_devices()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._active = None
        self._scopes.spans = False
        self._names, self._written = {}, []
        self._kinds = set()

    def _seen(self, real: Any) -> type:
        """The profiler as the program gets it: it goes before ours."""
        windows = self

        class ProfilerSession:
            def __init__(self) -> None:
                self._real = real()

            def start(self, *arguments: Any) -> None:
                guarded(windows.close)
                self._real.start(*arguments)
                windows._others.add(self)

            def stop(self) -> bytes:
                windows._others.discard(self)
                return self._real.stop()

            def export_to_tb(self) -> None:
                windows._others.discard(self)
                self._real.export_to_tb()

        return ProfilerSession
