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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional
    from .._session import Session

#: A window is written after so many steps or seconds, so that a process that is killed loses little.
_STEPS = 10
_SECONDS = 20.0

_OPTIONS = {"host_tracer_level": 2, "python_tracer_level": 0, "device_tracer_level": 1}


class Windows:
    """The profiler's windows of this process."""

    def __init__(self, session: Session, tensorflow: Any) -> None:
        from tensorflow.python.profiler.internal import _pywrap_profiler

        self._session = session
        self._tensorflow = tensorflow
        self._make = _pywrap_profiler.ProfilerSession
        self._lock = threading.RLock()
        self._active: Optional[Any] = None
        self._folder = ""
        self._steps = 0
        self._began = 0.0
        #: Profilers of the program that are on.
        self._others: weakref.WeakSet[Any] = weakref.WeakSet()
        _pywrap_profiler.ProfilerSession = self._seen(self._make)
        session.at_end(self.close)
        session.when_forked(self._forget)

    def open(self) -> bool:
        """Has operations recorded from now on; whether they are."""
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

    def stepped(self, more: bool) -> None:
        """A step has ended; `more` says whether the next is wanted as well."""
        if self._active is None:
            return
        self._steps += 1
        if not more or self._steps >= _STEPS or time.monotonic() - self._began > _SECONDS:
            self.close()

    def close(self) -> None:
        """Writes the window that is open, if one is."""
        with self._lock:
            profiler, self._active = self._active, None
            if profiler is None:
                return
            self._wait_for_devices()
            profiler.export_to_tb()
            self._take_files()

    def _take_files(self) -> None:
        """Takes the profile out of the folders that TensorFlow put it in for TensorBoard."""
        for place, _, names in os.walk(self._folder):
            for name in names:
                if name.endswith(".xplane.pb"):
                    path = self._session.new_file("tensorflow-{}.xplane.pb")
                    os.replace(os.path.join(place, name), path)
                    self._session.wrote(path)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_for_devices(self) -> None:
        """What a GPU has still to do belongs to the window; on CPUs a step's end is the end of its operations."""
        tensorflow = self._tensorflow
        if tensorflow.config.list_physical_devices("GPU"):
            tensorflow.experimental.sync_devices()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._active = None

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
