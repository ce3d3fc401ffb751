"""Steps of programs that run operations one by one, without a ``tf.function``.

A training step begins when a ``GradientTape`` is entered. Once its gradients are taken, it lasts until variables were
changed last: by an optimizer, or by the program itself. It ends when the next step begins. A call of a Keras model
outside of such a step is a step of inference. What runs in neither is no step.

Operations are known by their types; scopes, and so layers of Keras, are made events of the profile.
"""

from __future__ import annotations

import sys
import threading
import time
from .._keras_calls import is_symbolic
from .._session import guarded
from .purpose import PREDICT, TRAIN, batch_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional
    from .._session import Session
    from .functions import Functions
    from .profiler import Windows
    from .scopes import Scopes

#: The scope of what a tape computes.
_BACKWARD = "gradient_tape"
#: Says in a profile that operations outside of functions count.
_NAMES = {"eager:": ""}


class _Step:
    """A step that is going on."""

    def __init__(self, number: int, phase: str, label: str, recorded: bool) -> None:
        self.number = number
        self.phase = phase
        self.label = label
        self.recorded = recorded
        self.samples: Optional[int] = None
        self.start = time.time_ns()
        self.end = 0
        #: How many tapes are open.
        self.tapes = 0
        #: Whether gradients were taken, and whether an optimizer has used them.
        self.has_gradients = False
        self.is_updated = False

    def is_complete(self) -> bool:
        return self.has_gradients and self.tapes == 0


class _Local(threading.local):
    step: Optional[_Step] = None
    #: How many calls of models are around this one.
    depth = 0


class Eager:
    """Sees tapes, calls of models and changes of variables in this process."""

    def __init__(
        self, session: Session, tensorflow: Any, functions: Functions, windows: Optional[Windows], scopes: Scopes
    ) -> None:
        self._session = session
        self._tensorflow = tensorflow
        self._functions = functions
        self._windows = windows
        self._scopes = scopes
        self._eagerly = tensorflow.executing_eagerly
        self._local = _Local()
        #: The lines of the program that begin steps, by the name of their function.
        self._lines: dict[str, list[int]] = {}
        functions.step_begins = self.close
        session.at_end(self.close)
        session.when_forked(self._forget)

    def watch(self) -> None:
        """Begins to see tapes and variables."""
        from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

        tape = self._tensorflow.GradientTape
        eager, local, eagerly = self, self._local, self._eagerly
        enter, leave, gradient = tape.__enter__, tape.__exit__, tape.gradient

        def __enter__(self: Any) -> Any:
            if eagerly() and not eager._functions.local.busy:
                guarded(eager._tape_opens, sys._getframe(1))
            return enter(self)

        def __exit__(self: Any, *error: Any) -> Any:
            step = local.step
            if step is not None and step.tapes and eagerly():
                step.tapes -= 1
            return leave(self, *error)

        def taken(self: Any, *args: Any, **kwds: Any) -> Any:
            step = local.step
            if step is None or not eagerly():
                return gradient(self, *args, **kwds)
            span = eager._scopes.span(_BACKWARD) if eager._scopes.spans else None
            try:
                found = gradient(self, *args, **kwds)
            finally:
                if span is not None:
                    span.__exit__(None, None, None)
            step.has_gradients, step.end = True, time.time_ns()
            return found

        tape.__enter__ = _like(__enter__, enter)
        tape.__exit__ = _like(__exit__, leave)
        tape.gradient = _like(taken, gradient)
        for name in ("assign", "assign_add", "assign_sub"):
            setattr(BaseResourceVariable, name, self._changing(getattr(BaseResourceVariable, name)))

    def _changing(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        local = self._local

        def change(self: Any, *args: Any, **kwds: Any) -> Any:
            step = local.step
            if step is None or not step.has_gradients or step.is_updated:
                return plain(self, *args, **kwds)
            changed = plain(self, *args, **kwds)
            step.end = time.time_ns()
            return changed

        return _like(change, plain)

    def updated(self) -> None:
        """An optimizer has changed variables."""
        step = self._local.step
        if step is not None and step.is_complete():
            step.is_updated, step.end = True, time.time_ns()

    def call(self, plain: Callable[..., Any], model: Any, args: Any, kwds: Any) -> Any:
        """Calls a Keras model; an outermost call outside of a training step is a step of its own."""
        local = self._local
        opened = local.step
        is_inside = local.depth or self._functions.local.busy or (opened is not None and not opened.is_complete())
        if is_inside or not self._eagerly() or is_symbolic(args, kwds):
            if opened is not None and opened.samples is None:
                opened.samples = guarded(batch_of, args)
            return plain(model, *args, **kwds)
        phases = self._functions.local.phases
        name = phases[-1].name if phases and phases[-1].name != TRAIN else PREDICT
        step = guarded(self._opened, name, str(model.name))
        local.depth += 1
        try:
            result = plain(model, *args, **kwds)
        except BaseException:
            if step is not None:
                local.step = None
                self._session.no_step(step.number)
            raise
        finally:
            local.depth -= 1
        if local.step is step and step is not None:
            step.end, step.has_gradients, step.samples = time.time_ns(), True, guarded(batch_of, args)
            guarded(self.close)
        return result

    def _tape_opens(self, frame: Any) -> None:
        step = self._local.step
        if step is None or step.is_complete():
            phases = self._functions.local.phases
            label = str(phases[-1].model.name) if phases else self._label(frame)
            step = self._opened(TRAIN, label)
        step.tapes += 1

    def _label(self, frame: Any) -> str:
        """The name of the function that begins a step, with its line where it begins several."""
        name = str(frame.f_code.co_name)
        lines = self._lines.setdefault(name, [])
        if frame.f_lineno not in lines:
            lines.append(frame.f_lineno)
        name = "" if name == "<module>" else name
        return name if lines[0] == frame.f_lineno else f"{name}:{frame.f_lineno}"

    def _opened(self, phase: str, label: str) -> _Step:
        self.close()
        session, windows, scopes = self._session, self._windows, self._scopes
        wanted = windows is not None and session.wants(phase, label)
        recorded = bool(wanted and windows is not None and guarded(windows.open, (phase, label), _NAMES))
        if recorded:
            scopes.spans = True
        step = self._local.step = _Step(session.next_step(), phase, label, recorded)
        return step

    def close(self) -> None:
        """Ends the step that is going on, if one is. A tape whose gradients were not taken makes no step."""
        step, self._local.step = self._local.step, None
        if step is None:
            return
        session, windows = self._session, self._windows
        self._scopes.spans = False
        if not step.has_gradients:
            session.no_step(step.number)
            return
        if session.level == "module":
            session.ran_module("step", step.start, step.end, threading.get_native_id(), step.phase, "")
        session.ran_step(step.number, step.start, step.end, step.phase, step.recorded, step.samples, step.label)
        if windows is not None:
            windows.stepped(session.wants(step.phase, step.label))

    def _forget(self) -> None:
        self._local.step = None


def _like(function: Any, plain: Any) -> Any:
    function.__name__, function.__qualname__ = plain.__name__, plain.__qualname__
    function.__doc__, function.__wrapped__ = plain.__doc__, plain
    return function
