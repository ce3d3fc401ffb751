"""What patched programs call: see ``jouletree patch``.

A patched file begins with ``hook = patched("train.py", "9af3…")``, and every library call ``f(x)`` in it is
``hook(7, f)(x)``: the hook gets the number of the call in the file's table of sites and the callee, and returns what is
called in its place. Without a recorder, that is the callee itself, so that the call costs no more than the hook.

A recorder calls :func:`install` with an object that has two methods, and may have a third:

``call(file, digest, site, callee)``
    returns what is called instead of the callee, with the same arguments. It must return what the callee returns.
``program(file)``
    is called when a program patched as a whole (``--level project``) has begun.
``loaded(file, digest, path)``
    is called when a patched file runs, with its path; notebooks do not know that.

Nothing here imports anything that Python has not loaded already, so that a patched program starts as fast as its original.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Protocol, TypeVar

    Callee = TypeVar("Callee", bound=Callable[..., Any])

    class Recorder(Protocol):
        """Who records."""

        def call(self, file: str, digest: str, site: int, callee: Callable[..., Any]) -> Any: ...

        def program(self, file: str) -> None: ...


_recorder: Optional[Recorder] = None
_programs: list[str] = []
#: Files that have been patched and loaded, with the digests of their originals and sites, and where they are.
files: dict[tuple[str, str], Optional[str]] = {}


def patched(file: str, digest: str) -> Callable[[int, Callee], Callee]:
    """The hook of a patched file, which it calls with the number of a site and the callee."""
    # What a patched file adds runs among the file's own names.
    path = sys._getframe(1).f_globals.get("__file__")
    if (file, digest) not in files:
        files[file, digest] = path
        _announce(file, digest, path)

    def call(site: int, callee: Callee) -> Callee:
        if _recorder is None:
            return callee
        return _recorder.call(file, digest, site, callee)

    return call


def _announce(file: str, digest: str, path: Optional[str]) -> None:
    loaded = getattr(_recorder, "loaded", None)
    if loaded is not None:
        loaded(file, digest, path)


def program(file: str) -> None:
    """Notes that a program that was patched as a whole has begun."""
    _programs.append(file)
    if _recorder is not None:
        _recorder.program(file)


def install(recorder: Optional[Recorder]) -> Optional[Recorder]:
    """Sends every call from now on to `recorder`, or to none; returns the recorder before it."""
    global _recorder
    before, _recorder = _recorder, recorder
    if recorder is not None:
        for (file, digest), path in files.items():
            _announce(file, digest, path)
        for file in _programs:
            recorder.program(file)
    return before
