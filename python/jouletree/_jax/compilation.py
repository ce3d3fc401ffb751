"""The time that JAX spends on tracing and compiling functions, as windows of their own: ``trace …``, ``compile …``."""

from __future__ import annotations

import threading
import time
from .._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from .._session import Session
    from .steps import Steps

#: What JAX reports, and what it is called here.
_EVENTS = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
#: JAX reports a span a little after its end.
_LATE_NS = 50_000


class Compilation:
    """Spans of compilation; those within others, as of functions that are jitted within others, are left out."""

    def __init__(self, session: Session, jax: ModuleType, steps: Steps) -> None:
        from jax import monitoring

        self._session = session
        self._steps = steps
        self._spans: list[tuple[int, int, int, str, str]] = []
        session.at_end(self.write)
        session.when_forked(self._forget)
        monitoring.register_event_duration_secs_listener(self._heard)

    def write(self) -> None:
        """Writes the spans that nothing more can lie around."""
        spans, self._spans = self._spans, []
        for start, end, _, name, kind in spans:
            self._session.compiled(f"{kind} {name}".strip(), start, end)

    def _forget(self) -> None:
        self._spans = []

    def _heard(self, event: str, seconds: float, **about: Any) -> None:
        kind = _EVENTS.get(event)
        if kind is not None:
            guarded(self._note, kind, seconds, str(about.get("fun_name") or ""))

    def _note(self, kind: str, seconds: float, name: str) -> None:
        end = time.time_ns()
        start = end - int(seconds * 1e9)
        self._steps.compiled(end)
        lane = threading.get_native_id()
        spans = self._spans
        while spans and spans[-1][2] == lane and spans[-1][0] >= start - _LATE_NS:
            spans.pop()
        if spans and spans[-1][2] == lane:
            start = max(start, spans[-1][1])
        if name.startswith("jit(") and name.endswith(")"):
            name = name[4:-1]
        spans.append((start, end, lane, name, kind))
        if kind == "compile":
            # A function is compiled after all of it was traced.
            self.write()
