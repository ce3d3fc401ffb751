"""Windows of TensorFlow's profiler: several steps share one, and the program's own profiling goes first.

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

#: A window is written after so many steps or seconds, so that a process that is killed loses little.
_STEPS = 10
_SECONDS = 20.0

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
        self._began = 0.0
        #: What is known about the names of the functions that ran in the window.
        self._names: dict[str, str] = {}
        #: Called with the window's file once it is written, or with nothing when there is none.
        self._written: list[Callable[[Optional[str]], None]] = []
        #: Profilers of the program that are on.
        self._others: weakref.WeakSet[Any] = weakref.WeakSet()
        _pywrap_profiler.ProfilerSession = self._seen(self._make)
        session.at_end(self.close)
        session.when_forked(self._forget)

    def open(self, names: Optional[dict[str, str]] = None, anew: bool = False) -> bool:
        """Has operations recorded from now on; whether they are.

        `names` is what is known about the names of the function that runs next. A name may mean different layers in
        different functions: these do not share a window. With `anew` nothing else is in the window.
        """
        if self._active is not None and (anew or self._has_others(names or {})):
            self.close(is_empty=self._steps == 0)
        if names:
            self._names.update(names)
        if self._active is not None:
            return True
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
            with self._tensorflow.profiler.experimental.Trace("MARK", wall_ns=str(time.time_ns())):
                pass
            return True

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
        if not more or self._steps >= _STEPS or time.monotonic() - self._began > _SECONDS:
            self.close()

    def close(self, is_empty: bool = False) -> None:
        """Writes the window that is open, if one is; one without a step is thrown away."""
        with self._lock:
            profiler, self._active = self._active, None
            names, self._names = self._names, {}
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
                size = os.path.getsize(path) if path is not None else 0
                self._session.cost(start, time.time_ns(), size // _EVENT_BYTES // _EVENTS)

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
