"""Windows: what a stretch of a program takes, in joules, at once.

Windows nest and overlap, in any number of threads and tasks. Each counts everything that this process and its children
use while it lasts, so two that overlap both count what they have in common. Without a recorder, `end_window` returns
``None`` and the program runs as it would without windows; why that is so is warned of once.
"""

from __future__ import annotations

import os
import threading
import time

from . import _devices, _recorder, _session
from ._around import around
from ._measurement import Measurement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Concatenate, Generic, Optional, ParamSpec, TypeVar, Union, overload

    from ._conversation import Recorder

    P = ParamSpec("P")
    Q = ParamSpec("Q")
    R = TypeVar("R", covariant=True)

    class Measured(Generic[P, R]):
        """A function whose calls are windows."""

        #: What the last call that has ended took; ``None`` before, and outside of a recording.
        measurement: Optional[Measurement]

        def __call__(self, *arguments: P.args, **named: P.kwargs) -> R: ...

        @overload
        def __get__(self, instance: None, owner: Any) -> Measured[P, R]: ...

        @overload
        def __get__(self: Measured[Concatenate[Any, Q], R], instance: object, owner: Any) -> Measured[Q, R]: ...

        def __get__(self, instance: Any, owner: Any) -> Any: ...

    class Measure:
        """Makes measured functions of functions."""

        def __call__(self, function: Callable[P, R]) -> Measured[P, R]: ...


class Window:
    """A window, by itself or as a context::

        with jouletree.window("evaluation") as w:
            evaluate(model)
        print(w.measurement.joules)
    """

    def __init__(self, name: str = "window", sync: bool = False, quiet: bool = False) -> None:
        self.name = name
        self._sync = sync
        self._quiet = quiet
        self._recorder: Optional[Recorder] = None
        self._number = 0
        self._start_ns: Optional[int] = None
        #: What it took; ``None`` before its end, and without a recorder.
        self.measurement: Optional[Measurement] = None

    @property
    def joules(self) -> Optional[float]:
        """What this program and its children used meanwhile; ``None`` before its end, and without a recorder."""
        return None if self.measurement is None else self.measurement.joules

    def begin(self) -> Window:
        """Begins it, again if it has ended. The first window of a process waits until the meters are there."""
        self.measurement = None
        self._recorder = _session.guarded(_recorder.find)
        if self._sync:
            _devices.synchronise()
        self._start_ns = time.time_ns()
        if self._recorder is not None:
            try:
                self._number = self._recorder.open(self._start_ns)
            except Exception:  # noqa: BLE001 -- the program goes on without this window
                self._recorder = None
        _open(self)
        return self

    def end(self) -> Optional[Measurement]:
        """Ends it."""
        if self._start_ns is None:
            return self.measurement
        if self._sync:
            _devices.synchronise()
        start_ns, end_ns, self._start_ns = self._start_ns, time.time_ns(), None
        _closed(self)
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            try:
                recorder.close(self._number, end_ns)
                self.measurement = _measurement(recorder, self.name, self._number, start_ns, end_ns)
            except Exception:  # noqa: BLE001 -- the program goes on without this window
                pass
        session = _session.current()
        if session is not None and not self._quiet:
            thread = threading.get_ident()
            _session.guarded(session.ran_window, self.name, start_ns, end_ns, "window", thread)
        return self.measurement

    def __enter__(self) -> Window:
        return self.begin()

    def __exit__(self, *_: object) -> None:
        self.end()

    async def __aenter__(self) -> Window:
        return self.begin()

    async def __aexit__(self, *_: object) -> None:
        self.end()

    def __repr__(self) -> str:
        return f"<jouletree.Window {self.name!r}: {'open' if self._start_ns is not None else self.measurement}>"


def window(name: str = "window", sync: bool = False, quiet: bool = False) -> Window:
    """A window to be used as ``with window("name") as w:`` or ``async with``.

    With `sync`, work that was handed to GPUs is waited for at both ends, so that what was asked for before is not in it,
    and what was asked for inside is. A `quiet` one is measured, but not kept in the run.
    """
    return Window(name, sync, quiet)


def begin_window(name: str = "window", sync: bool = False, quiet: bool = False) -> Window:
    """Begins a window, which `end_window` ends."""
    return Window(name, sync, quiet).begin()


def end_window(which: Union[Window, str]) -> Optional[Measurement]:
    """Ends a window: the one that `begin_window` returned, or the latest of this name, of this thread if it has one.

    What it took; ``None`` without a recorder. This does not wait: numbers are fetched when they are first asked for.
    """
    if isinstance(which, Window):
        return which.end()
    found = _latest(which)
    if found is None:
        _recorder.warn(f"there is no open window {which!r}; begin it first")
        return None
    return found.end()


if TYPE_CHECKING:

    @overload
    def measure(function: Callable[P, R]) -> Measured[P, R]: ...

    @overload
    def measure(function: Optional[str] = None, *, sync: bool = False) -> Measure: ...


def measure(function: Any = None, *, sync: bool = False) -> Any:
    """Makes every call of a function a window: ``@measure``, or ``@measure("name", sync=True)``.

    Coroutines and generators are measured from their beginning to their end. The attribute ``measurement`` of the
    function is what the last call that has ended took.
    """
    if not callable(function):
        return lambda it: _measured(it, function, sync)
    return _measured(function, None, sync)


def stage(name: str) -> None:
    """Begins a stage of the program, which lasts until the next: pre-training, fine-tuning, prediction.

    Under ``jouletree run`` every result is shown by stage; elsewhere this does nothing, and warns once.
    """
    session = _session.current()
    if session is not None:
        _session.guarded(session.stage, name)
    elif "stage" not in _warned:
        _warned.add("stage")
        _recorder.warn("stages are kept by `jouletree run`, which did not start this program")


def _measured(function: Any, name: Optional[str], sync: bool) -> Any:
    called = name or getattr(function, "__qualname__", None) or type(function).__name__
    wrapper = around(function, lambda: _Noted(wrapper, called, sync))
    wrapper.measurement = None
    return wrapper


class _Noted(Window):
    """A window whose measurement is noted at a function."""

    def __init__(self, function: Any, name: str, sync: bool) -> None:
        super().__init__(name, sync)
        self._function = function

    def __exit__(self, *_: object) -> None:
        self._function.measurement = self.end()


_warned: set[str] = set()
#: Windows that are open, by name, the latest last, each with the thread that began it.
_names: dict[str, list[tuple[int, Window]]] = {}
_lock = threading.Lock()


def _open(window: Window) -> None:
    with _lock:
        _names.setdefault(window.name, []).append((threading.get_ident(), window))


def _closed(window: Window) -> None:
    with _lock:
        left = [entry for entry in _names.get(window.name, ()) if entry[1] is not window]
        if left:
            _names[window.name] = left
        else:
            _names.pop(window.name, None)


def _latest(name: str) -> Optional[Window]:
    with _lock:
        entries = _names.get(name, [])
        own = [window for thread, window in entries if thread == threading.get_ident()]
        return own[-1] if own else entries[-1][1] if entries else None


def _measurement(recorder: Recorder, name: str, number: int, start_ns: int, end_ns: int) -> Measurement:
    return Measurement(name, start_ns, end_ns, lambda: recorder.answer(number))


def _reborn() -> None:
    """Windows that a parent opened are the parent's."""
    global _lock
    _lock = threading.Lock()
    _names.clear()


os.register_at_fork(after_in_child=_reborn)
