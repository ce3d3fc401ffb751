"""What is known of each thread: the modules that are active in it, and its steps."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional
    from .recorder import Recorder
    from .steps import Steps


class Thread(threading.local):
    """One thread's state; made anew in each thread that asks for it."""

    def __init__(self, recorder: Recorder) -> None:
        from .steps import Steps

        #: Modules that are active, the innermost last: the module, its entry, and what its level keeps of it.
        self.stack: list[tuple[Any, Any, Any]] = []
        self.steps: Steps = Steps(recorder)
        self.lane = threading.get_native_id()
        self.ident = threading.get_ident()
        #: Since when an optimizer steps, and which one, if torch's own hooks told; 0 if none does.
        self.optimizing = 0
        self.optimizer = 0
        #: The backward pass that runs in this thread.
        self.backward: Optional[Any] = None
        recorder.all_steps.append(self.steps)
