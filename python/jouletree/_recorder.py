"""The recorder of this process: the one that started it, or one of its own that is started when it is first needed.

Nothing here raises into the user's program.
"""

from __future__ import annotations

import atexit
import os
import socket
import threading

from ._conversation import Recorder, RecorderGone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

#: Where the recorder that started this process listens.
SOCKET = "JOULETREE_SOCKET"

#: How long a recorder may take to answer for the first time: one of our own watches the meters before it trusts them.
_GREETING = 20.0


class _State:
    """What this process knows of its recorder."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.recorder: Optional[Recorder] = None
        self.was_tried = False


_state = _State()


def find() -> Optional[Recorder]:
    """The recorder of this process; ``None``, and a warning once, without a recorder."""
    recorder = _state.recorder
    if recorder is not None and recorder.gone is None:
        return recorder
    if _state.was_tried and recorder is None:
        return None
    with _state.lock:
        if _state.recorder is not None and _state.recorder.gone is not None:
            warn(f"windows are not measured from here on: {_state.recorder.gone}")
            _state.recorder = None
        elif not _state.was_tried:
            try:
                _state.recorder = _of_environment() or _own()
            except Exception as error:  # noqa: BLE001 -- whatever it is, the program goes on without windows
                warn(f"windows are not measured: {error}")
            _state.was_tried = True
        return _state.recorder


def _of_environment() -> Optional[Recorder]:
    """The recorder that started this process, or one of its parents."""
    path = os.environ.get(SOCKET)
    if not path:
        return None
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.connect(path)
        recorder = Recorder(line)
        recorder.greet(_GREETING)
        return recorder
    except (OSError, RecorderGone):
        # It recorded for a while, and this process outlives it.
        line.close()
        return None


def _own() -> Recorder:
    """A recorder of this process alone, which ends with it."""
    from . import _binary

    binary = _binary.find()
    if binary is None:
        raise RecorderGone(_binary.MISSING)
    import subprocess
    import tempfile

    ours, theirs = socket.socketpair()
    with theirs, tempfile.TemporaryFile() as complaints:
        # By way of a shell, so that it is no child: a program that waits for all its children must not wait for it.
        start = 'exec 3<&0; "$@" <&3 >&3 3<&- &'
        command = ["/bin/sh", "-c", start, "sh", binary, "attend", "--pid", str(os.getpid())]
        both = theirs.fileno()
        subprocess.run(command, stdin=both, stdout=both, stderr=complaints, start_new_session=True, check=True)
        theirs.close()
        recorder = Recorder(ours)
        try:
            recorder.greet(_GREETING)
        except RecorderGone as gone:
            ours.close()
            complaints.seek(0)
            said = complaints.read(2000).decode(errors="replace").strip()
            raise RecorderGone(said or str(gone)) from None
    return recorder


def warn(message: str) -> None:
    """Warns the user, unless warnings are errors: then it is silent."""
    import warnings

    try:
        warnings.warn(f"jouletree: {message}", RuntimeWarning, stacklevel=4)
    except RuntimeWarning:
        pass


def _reborn() -> None:
    """A process that was forked has no part in its parent's conversation."""
    global _state
    parents = _state.recorder
    _state = _State()
    if parents is not None:
        parents.leave("this process was forked")


def _end() -> None:
    if _state.recorder is not None:
        _state.recorder.leave("the program has ended")


os.register_at_fork(after_in_child=_reborn)
atexit.register(_end)
