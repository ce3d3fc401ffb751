"""The recorder of this process: the one that started it, or one of its own that is started when it is first needed.

Both speak the same lines (docs/windows.md) over a socket. There is no thread: whoever sends takes what has arrived, and
whoever needs an answer waits for it. Nothing here raises into the user's program.
"""

from __future__ import annotations

import json
import os
import select
import socket
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

#: Where the recorder that started this process listens.
SOCKET = "JOULETREE_SOCKET"

#: How long a recorder may take to answer for the first time: one of our own watches the meters before it trusts them.
_GREETING = 20.0
#: How long an answer is waited for.
_ANSWER = 1.5
#: How long a program is held up that tells more than the recorder takes.
_SENDING = 1.0
#: While one thread waits for an answer, another looks for its own this often.
_SLICE = 0.05
#: So many answers are kept that nobody has asked for.
_KEPT = 65536


class RecorderGone(Exception):
    """The recorder has ended, or is not there."""


class Recorder:
    """A connection to the recorder of this process. It may be used by any thread."""

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        self._line = line
        self._sending = threading.Lock()
        self._receiving = threading.Lock()
        self._begun = b""
        self._answers: dict[int, dict[str, Any]] = {}
        self._status: Optional[dict[str, Any]] = None
        self._next = 0
        #: Why there is nobody any more.
        self.gone: Optional[str] = None

    def greet(self, patience: float) -> dict[str, Any]:
        """What the recorder measures."""
        self._send({"now": True})
        until = time.monotonic() + patience
        while self._status is None:
            self._receive_until(until)
        return self._status

    def open(self, start_ns: int) -> int:
        """Begins a window; its number."""
        with self._sending:
            self._next += 1
            number = self._next
        self._send({"open": number, "at_ns": start_ns})
        return number

    def close(self, number: int, end_ns: int) -> None:
        """Ends a window."""
        self._receive_what_is_there()
        self._send({"close": number, "at_ns": end_ns})

    def answer(self, number: int) -> Optional[dict[str, Any]]:
        """What is known of a window that has ended; ``None`` when that does not come in time."""
        try:
            self._receive_what_is_there()
            if number not in self._answers:
                self._send({"hurry": True})
            until = time.monotonic() + _ANSWER
            while number not in self._answers:
                self._receive_until(until)
        except RecorderGone:
            pass
        return self._answers.pop(number, None)

    def forget(self) -> None:
        """Leaves the conversation to the process that this one was forked from, one of whose threads may hold a lock."""
        self.gone = "this process was forked"
        self._sending, self._receiving = threading.Lock(), threading.Lock()
        self._line.close()

    def _send(self, request: dict[str, Any]) -> None:
        rest = memoryview(json.dumps(request).encode() + b"\n")
        with self._sending:
            until = time.monotonic() + _SENDING
            while rest:
                if self.gone is not None:
                    raise RecorderGone(self.gone)
                try:
                    rest = rest[self._line.send(rest, socket.MSG_NOSIGNAL) :]
                except (BlockingIOError, InterruptedError):
                    if time.monotonic() > until:
                        # Half a line may be sent, so that nothing more would be understood.
                        self._lose("the recorder does not listen")
                    self._wait(select.POLLOUT, _SLICE)
                except OSError as error:
                    self._lose(f"the recorder has ended: {error}")

    def _receive_until(self, until: float) -> None:
        """Waits for something new, but not for ever."""
        left = until - time.monotonic()
        if left <= 0:
            raise RecorderGone("the recorder does not answer")
        if self._receiving.acquire(timeout=min(left, _SLICE)):
            try:
                if self._wait(select.POLLIN, min(left, _SLICE)):
                    self._receive()
            finally:
                self._receiving.release()

    def _receive_what_is_there(self) -> None:
        if self._receiving.acquire(blocking=False):
            try:
                while self._wait(select.POLLIN, 0):
                    self._receive()
            finally:
                self._receiving.release()

    def _receive(self) -> None:
        try:
            new = self._line.recv(1 << 16)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lose(f"the recorder has ended: {error}")
        if not new:
            self._lose("the recorder has ended")
        *lines, self._begun = (self._begun + new).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def _take(self, reply: dict[str, Any]) -> None:
        number = reply.get("window")
        if number is not None:
            self._answers[number] = reply
            while len(self._answers) > _KEPT:
                del self._answers[next(iter(self._answers))]
        elif "now_ns" in reply:
            self._status = reply

    def _wait(self, event: int, seconds: float) -> bool:
        if self.gone is not None:
            raise RecorderGone(self.gone)
        poll = select.poll()
        poll.register(self._line, event)
        return bool(poll.poll(seconds * 1000))

    def _lose(self, why: str) -> None:
        self.gone = why
        raise RecorderGone(why)


class _State:
    """What this process knows of its recorder."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.recorder: Optional[Recorder] = None
        self.was_tried = False


_state = _State()


def find() -> Optional[Recorder]:
    """The recorder of this process; ``None``, and a warning once, when nobody measures."""
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
            except Exception as error:  # noqa: BLE001: whatever it is, the program goes on without windows
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
        # By way of a shell, so that it is nobody's child: a program that waits for all its children must not wait for it.
        start = 'exec 3<&0; "$@" <&3 >&3 3<&- &'
        command = ["/bin/sh", "-c", start, "sh", binary, "attend", "--pid", str(os.getpid())]
        subprocess.run(command, stdin=theirs, stdout=theirs, stderr=complaints, start_new_session=True, check=True)
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
    """Tells the user something, unless warnings are errors: then it is better not said."""
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
        parents.forget()


os.register_at_fork(after_in_child=_reborn)
