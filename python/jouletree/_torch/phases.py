"""Which phase the calls of models belong to, as trainers and generation report it."""

from __future__ import annotations

import functools
from .recorder import installed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional


def begin_phase(name: Optional[str]) -> Optional[str]:
    """Begins a phase in this thread (``None``: as the calls themselves say); returns the one before."""
    recorder = installed()
    if recorder is None:
        return None
    steps = recorder.thread.steps
    before, steps.phase = steps.phase, name
    return before


def in_phase(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls of models belong to a phase."""

    @functools.wraps(function)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        before = begin_phase(name)
        try:
            return function(*arguments, **named)
        finally:
            begin_phase(before)

    return wrapper
