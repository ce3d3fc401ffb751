"""Lets processes end that were forked after torch's profiler was used.

The profiler's library has a thread that waits on a condition variable. A forked process has the variable but not the thread,
and the library's destructor, which the C library runs at the end of the process, waits for that thread without end. So
such a process leaves before that destructor runs: after everything that Python does at its end, after what was registered
with the C library since the fork, and after C's own buffers are flushed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional


def way_out() -> Optional[Callable[[], Any]]:
    """What a forked process has to call at its beginning, so that it can end; ``None`` where the C library lacks it.

    Made before the fork: a forked process must not import modules.
    """
    import ctypes

    try:
        library = ctypes.CDLL(None)
        on_exit, at_exit = library.on_exit, library.__cxa_atexit
        leave = ctypes.cast(library._exit, ctypes.c_void_p)
        flush = ctypes.cast(library.fflush, ctypes.c_void_p)
    except (AttributeError, OSError):
        return None
    on_exit.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    at_exit.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]

    def prepare() -> None:
        # What is registered last is called first: `fflush(NULL)`, then `_exit(status)`.
        on_exit(leave, None)
        at_exit(flush, None, None)

    return prepare
