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

        #: Modules that are active, the innermost last: the module, its entry, its range in the trace if there is one, and
        #: when it began if spans are noted.
        self.stack: list[tuple[Any, Any, Any, int]] = []
        #: The module that the program has called, if nothing is recorded of that call, and how often it is inside of itself.
        self.top: Optional[Any] = None
        self.depth = 0
        #: Whether the call that the program has made of a module counts for steps, and what was said about it then.
        self.counts = False
        self.trains = False
        #: Ranges in the trace that are open and are no modules.
        self.ranges: list[Any] = []
        #: Whether spans of modules are noted, and how many were in this step.
        self.noting = recorder.windows is None
        self.noted = 0
        #: How many fetches of data loaders are under way.
        self.fetching = 0
        self.steps: Steps = Steps(recorder)
        self.lane = threading.get_native_id()
        self.ident = threading.get_ident()
        self.is_main = self.ident == threading.main_thread().ident
        #: Since when an optimizer steps, and which one, if torch's own hooks gave notice; 0 if none does.
        self.optimizing = 0
        self.optimizer = 0
        #: The backward pass that runs in this thread.
        self.backward: Optional[Any] = None
        recorder.all_steps.append(self.steps)
