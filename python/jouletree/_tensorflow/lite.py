"""TensorFlow Lite: its interpreters run outside of TensorFlow's profiler, so that only their steps are known."""

from __future__ import annotations

import time
from .._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any
    from .._session import Session

_WARNING = "TensorFlow Lite runs models outside of TensorFlow's profiler: steps are counted, operations are not recorded"


def watch(session: Session, interpreter: ModuleType) -> None:
    """Begins to see the runs of interpreters."""
    owner = interpreter.Interpreter
    plain = owner.invoke

    def invoke(self: Any) -> Any:
        start = time.time_ns()
        result = plain(self)
        guarded(_ran, session, start, time.time_ns())
        return result

    invoke.__doc__ = plain.__doc__
    invoke.__wrapped__ = plain  # type: ignore[attr-defined]  # as functools.wraps sets it
    owner.invoke = invoke


def _ran(session: Session, start: int, end: int) -> None:
    if session.level == "op":
        session.warn(_WARNING)
    session.ran_step(session.next_step(), start, end, "predict", False, None, "TensorFlow Lite")
