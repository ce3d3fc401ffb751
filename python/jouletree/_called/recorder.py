"""Notes every call: when it began and ended, on which thread, inside which other, and on how much."""

from __future__ import annotations

import itertools
import os
import threading
import time
from functools import partial

from .. import _devices, _recorder
from .._session import guarded, quoted
from .sizes import size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from .._session import Session
    from .importer import Patcher

_COLUMNS = "call,parent,file,site,thread,start_ns,end_ns,argument_bytes,shapes,result_bytes,waited_ns,unstable"


#: A call that lasted so long is written at once.
_LONG_NS = 3_000_000


class CallRecorder:
    """Takes part in every call of a patched program."""

    def __init__(self, session: Session, patcher: Patcher) -> None:
        self._patcher = patcher
        self._table = session.table("calls.csv", _COLUMNS)
        self._waits = bool(os.environ.get("JOULETREE_STABLE"))
        self._numbers = itertools.count(1)
        #: The calls that each thread is inside of.
        self._inside = threading.local()
        session.when_forked(self._forked)

    def _forked(self) -> None:
        self._numbers = itertools.count(1)
        self._inside = threading.local()

    def call(self, file: str, digest: str, site: int, callee: Callable[..., Any]) -> Callable[..., Any]:
        """What is called in place of `callee`."""
        return partial(self._made, digest, site, callee)

    def loaded(self, file: str, digest: str, path: Optional[str]) -> None:
        """A patched file runs: its sites are kept with the run."""
        guarded(self._patcher.keep, file, digest, path)

    def program(self, file: str) -> None:
        """A program that is patched as a whole is the run itself."""

    def _made(self, digest: str, site: int, callee: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        inside = self._inside.__dict__.setdefault("calls", [])
        number = next(self._numbers)
        parent = inside[-1] if inside else 0
        # Whatever is inside of a call is measured as the call lets it be.
        waited, unstable = _rested() if self._waits and parent == 0 else ("", "")
        size = size_of(args, kwargs)
        result = None
        inside.append(number)
        _devices.synchronise()
        begin = time.time_ns()
        try:
            result = callee(*args, **kwargs)
            return result
        finally:
            _devices.synchronise()
            end = time.time_ns()
            # The stack may have been left by a generator in between.
            while inside and inside.pop() != number:
                pass
            known, given = size.bytes, size_of(result).bytes
            self._table.add(
                f"{number},{parent},{digest},{site},{threading.get_ident()},{begin},{end},"
                f"{'' if known is None else known},{quoted('; '.join(size.shapes))},"
                f"{'' if given is None else given},{waited},{quoted(unstable)}"
            )
            if parent == 0 and end - begin > _LONG_NS:
                # Workers of pools are killed, and must not take with them what matters. Writing costs a hundredth of this.
                self._table.write()


# A library warns of the line that calls it. Python finds that line by passing over the frames of its own importer, which
# it knows by words in the names of their files; so it passes over ours, too.
CallRecorder._made.__code__ = CallRecorder._made.__code__.replace(co_filename="<jouletree, like importlib._bootstrap>")


def _rested() -> tuple[str, str]:
    """Waits until the machine is stable; for how many nanoseconds, and why it is not, if it is not."""
    begin = time.monotonic_ns()
    recorder = guarded(_recorder.find)
    answer = None if recorder is None else guarded(recorder.rest)
    why = "the recorder does not answer" if answer is None else answer.get("error") or answer.get("why") or ""
    return str(time.monotonic_ns() - begin), why
