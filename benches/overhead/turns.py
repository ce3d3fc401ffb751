"""A program's side of taking turns: it waits until it is let go for some steps, and reports when it has taken them."""

import json
import time


class Turns:
    """Steps that are taken when the other side says so, and as many as it says."""

    def __init__(self, go: str, arrived: str) -> None:
        self._go, self._arrived = open(go, "rb", buffering=0), open(arrived, "w")
        self._begin = None
        self._left = 0

    def wait(self) -> None:
        """Ends the step that is running, if one is, and begins the next one, when it is this program's turn."""
        if self._left == 0:
            took = None
            if self._begin is not None:
                took = time.perf_counter() - self._begin[0], time.process_time() - self._begin[1]
            self._arrived.write(json.dumps({"took": took}) + "\n")
            self._arrived.flush()
            # The other side is gone when it has seen enough.
            self._left = int.from_bytes(self._go.read(1), "big")
            self._begin = time.perf_counter(), time.process_time()
        self._left -= 1
