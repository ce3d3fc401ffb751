"""Functions that do the same as others, inside a context."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, ContextManager

_CO_GENERATOR = 0x20
_CO_COROUTINE = 0x80


def around(function: Any, context: Callable[[], ContextManager[Any]]) -> Any:
    """`function` with every call inside a context of its own; coroutines and generators are so to their end."""
    import functools

    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    wrapper: Any
    if flags & _CO_COROUTINE:

        async def wrapper(*arguments: Any, **named: Any) -> Any:
            with context():
                return await function(*arguments, **named)

    elif flags & _CO_GENERATOR:

        def wrapper(*arguments: Any, **named: Any) -> Any:
            with context():
                return (yield from function(*arguments, **named))

    else:

        def wrapper(*arguments: Any, **named: Any) -> Any:
            with context():
                return function(*arguments, **named)

    return functools.wraps(function)(wrapper)
