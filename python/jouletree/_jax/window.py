"""Windows of `jax.profiler`: opened before a step, closed after one, never while the program traces itself."""

from __future__ import annotations

import functools
import time
from .._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from .._session import Session

#: A window closes after so many steps once it has lasted for a while, and in any case after longer: a process that is
#: killed loses little, and short steps do not spend their time on opening and closing windows.
_STEPS = 10
_SECONDS = 2.0
_MOST_SECONDS = 20.0


class Window:
    """The profiler of this process."""

    def __init__(self, session: Session, jax: ModuleType) -> None:
        from jax._src import profiler as internals

        self._session = session
        self._jax = jax
        self._state = internals._profile_state
        self._start = internals.start_trace
        #: Whether operations are being recorded.
        self.is_open = False
        self._yielded = False
        self._steps = 0
        self._opened = 0.0
        #: Profilers of the process that this one was forked from: their ends would wait for threads that are not there.
        self._abandoned: list[Any] = []
        internals.start_trace = jax.profiler.start_trace = self._giving_way()

    def open(self) -> None:
        """Begins to record operations, if nothing else does."""
        if self.is_open or self._yielded:
            return
        began = time.time_ns()
        options_of = getattr(self._jax.profiler, "ProfileOptions", None)
        if options_of is not None:
            self._start(self._session.folder(), profiler_options=_chosen(options_of()))
        else:
            self._start_without_options()
        self.is_open = True
        self._steps = 0
        self._opened = time.monotonic()
        with self._jax.profiler.TraceAnnotation("MARK", wall=time.time_ns()):
            pass
        self._session.cost(began, time.time_ns())

    def ran_step(self) -> None:
        """Counts a step towards the window's end."""
        self._steps += 1

    def is_full(self) -> bool:
        """Whether this window has lasted long enough."""
        lasted = time.monotonic() - self._opened
        return lasted > _MOST_SECONDS or (lasted > _SECONDS and self._steps >= _STEPS)

    def close(self) -> None:
        """Ends the recording and writes it."""
        profiler = self._leave()
        if profiler is None:
            return
        began = time.time_ns()
        # The public function also writes a file for the trace viewer, which takes most of its time.
        recorded = profiler.stop()
        path = self._session.new_file("jax-{}.xplane.pb")
        with open(path, "wb") as file:
            file.write(recorded)
        self._session.wrote(path)
        # XLA notes an event in a fraction of a microsecond: what recording costs is the time to collect and write it.
        self._session.cost(began, time.time_ns())

    def abandon(self) -> None:
        """Forgets the profiler, which belongs to the process that this one was forked from."""
        self._abandoned.append(self._leave())

    def _leave(self) -> Any:
        if not self.is_open:
            return None
        self.is_open = False
        profiler = self._state.profile_session
        self._state.reset()
        return profiler

    def _giving_way(self) -> Any:
        @functools.wraps(self._start)
        def start_trace(*arguments: Any, **options: Any) -> Any:
            guarded(self._give_way)
            return self._start(*arguments, **options)

        return start_trace

    def _give_way(self) -> None:
        self._yielded = True
        self._session.warn(
            "the program uses jax.profiler itself: from there on steps and power are recorded, operations are not"
        )
        self.close()

    def _start_without_options(self) -> None:
        """Starts the profiler of an older JAX without tracing Python, which its public function always does."""
        from jax._src import xla_bridge
        from jax._src.lib import xla_client

        xla_bridge.get_backend()
        library = xla_client.profiler
        with self._state.lock:
            self._state.profile_session = library.ProfilerSession(_chosen(library.ProfileOptions()))
            self._state.log_dir = self._session.folder()


def _chosen(options: Any) -> Any:
    """Operations of compiled programs, and nothing of Python."""
    options.python_tracer_level = 0
    options.host_tracer_level = 2
    return options
