"""A conversation with a recorder: lines of JSON over a socket (docs/windows.md).

There is no thread: a sender takes what has arrived, and a caller that needs an answer waits for it.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

#: How long an answer is waited for.
_ANSWER = 1.5
#: How long a program is held up that sends more than the recorder takes.
_SENDING = 1.0
#: While one thread waits for an answer, another looks for its own this often.
_SLICE = 0.05
#: So many answers are kept that were not fetched.
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
        #: Why the recorder is gone.
        self.gone: Optional[str] = None

    def greet(self, patience: float) -> dict[str, Any]:
        """What the recorder measures."""
        self._send({"now": True})
        until = time.monotonic() + patience
        while self._status is None:
            self._receive_until(until)
        return self._status

    def source_of(self, device: str) -> Optional[str]:
        """Where the energy of a device is read, as far as the recorder has said it."""
        rows = (self._status or {}).get("devices") or ()
        return next((row.get("source") for row in rows if row.get("device") == device), None)

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

    def rest(self) -> Optional[dict[str, Any]]:
        """Waits until the machine is stable, or until the recorder says that it need not be waited for any longer."""
        with self._sending:
            self._next += 1
            number = self._next
        try:
            self._send({"rest": number})
            while number not in self._answers:
                # How long that may take, the recorder knows.
                self._receive_until(time.monotonic() + _ANSWER)
        except RecorderGone:
            pass
        return self._answers.pop(number, None)

    def leave(self, why: str) -> None:
        """Ends this process's part in it, whatever its other threads are doing."""
        self.gone = why
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
        number = reply.get("rest", reply.get("window"))
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
