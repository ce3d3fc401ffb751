"""When functions are traced: TensorFlow runs their Python code once to make a graph of it, before it runs the graph."""

from __future__ import annotations

import threading
import time
from .._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional
    from .._session import Session

#: Shorter tracing is not noted: building a model traces each layer.
_NOTED_NS = 10_000_000


class _Local(threading.local):
    depth = 0


class Tracing:
    """Sees the tracing of all functions of this process."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._local = _Local()
        #: Called with a function that was just traced, and when that began and ended.
        self.traced: Optional[Callable[[Any, int, int], None]] = None

    def watch(self) -> None:
        """Begins to see tracing."""
        from tensorflow.python.eager.polymorphic_function import tracing_compilation

        plain = tracing_compilation._create_concrete_function
        tracing, local = self, self._local

        def _create_concrete_function(*args: Any, **kwds: Any) -> Any:
            # A function that another one calls is traced inside of it.
            if local.depth:
                return plain(*args, **kwds)
            local.depth += 1
            start = time.time_ns()
            try:
                concrete = plain(*args, **kwds)
            finally:
                local.depth -= 1
            guarded(tracing._noted, concrete, start, time.time_ns())
            return concrete

        _create_concrete_function.__wrapped__ = plain  # type: ignore[attr-defined]  # as functools.wraps sets it
        tracing_compilation._create_concrete_function = _create_concrete_function

    def _noted(self, concrete: Any, start: int, end: int) -> None:
        if end - start >= _NOTED_NS:
            self._session.compiled(f"trace {name_of(concrete)}", start, end)
        if self.traced is not None:
            self.traced(concrete, start, end)


def name_of(function: Any) -> str:
    """The name that the program gives a function: that of its Python code, without what TensorFlow adds to it."""
    python = getattr(function, "python_function", None)
    name = getattr(python, "__name__", "") or getattr(function, "_name", "") or getattr(function, "name", "")
    name = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
    for prefix in ("__inference_", "__forward_"):
        if name.startswith(prefix):
            name = name[len(prefix) :].rstrip("0123456789").rstrip("_")
    return name
