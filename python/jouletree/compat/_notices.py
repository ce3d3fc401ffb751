"""Warnings of the replacements: each once, at the line of the user's program that led to it, and never as an
error."""

from __future__ import annotations

import functools
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_warned: set[str] = set()


def warn(message: str) -> None:
    """Warns the user, unless warnings are errors: then it is silent."""
    import warnings

    try:
        warnings.warn(f"jouletree: {message}", RuntimeWarning, stacklevel=_depth_of_user())
    except RuntimeWarning:
        pass


def warn_once(message: str) -> None:
    """The same, once for each message."""
    if message not in _warned:
        _warned.add(message)
        warn(message)


def unknown_arguments(what: str, names: Iterable[str]) -> None:
    """Warns that arguments are not known, each once."""
    for name in names:
        warn_once(f"{what} knows no argument {name!r}; it is ignored")


def without_effect(what: str, name: str, why: str) -> None:
    """Warns that an argument changes nothing here."""
    warn_once(f"{name} of {what} has no effect here: {why}")


def harmless(method: F) -> F:
    """A method that cannot stop the user's program: what goes wrong in it causes a warning, and it returns ``None``."""

    @functools.wraps(method)
    def guarded(*arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is ours and not the user's
            warn_once(f"{method.__qualname__} failed: {type(error).__name__}: {error}")
            return None

    return guarded  # type: ignore[return-value]  # of the signature of what it wraps


def _depth_of_user() -> int:
    """How many calls lie between `warn` and the user's program."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, depth = frame.f_back, depth + 1
    return depth
