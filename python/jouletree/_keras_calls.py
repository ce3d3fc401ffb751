"""Calls of Keras that build a model instead of running one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_symbolic(args: Any, kwargs: Any) -> bool:
    """Whether a layer or a model is called with tensors that hold no data."""
    first = args[0] if args else next(iter(kwargs.values()), None)
    for _ in range(3):
        if isinstance(first, dict):
            first = next(iter(first.values()), None)
        elif isinstance(first, (list, tuple)):
            first = first[0] if first else None
    return type(first).__name__ == "KerasTensor"
