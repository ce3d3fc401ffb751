"""When backward passes ran, and in which modules: without the profiler, by way of the nodes of the autograd graph.

A node that makes a module's output runs first when the backward pass comes to that module; a node that made its input,
in the code of the module around it, runs first when it has left. Both get a hook that notes the time and leaves
gradients alone. Between two such instants everything belongs to the module that was come to last.
"""

from __future__ import annotations

import functools
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional
    from .names import Entry
    from .recorder import Recorder

#: So many nodes are remembered as having a hook; then those that never ran backward are forgotten.
_MOST = 1 << 16


class Pass:
    """A backward pass that runs."""

    __slots__ = ("entry", "has_stepped", "is_noted", "lane", "outer", "since", "steps")

    def __init__(self, thread: Any, outer: Optional[Pass]) -> None:
        self.entry: Optional[Entry] = None
        self.lane = thread.lane
        self.is_noted = thread.noting
        #: The steps of the thread that asked for gradients.
        self.steps = thread.steps
        #: Whether an optimizer stepped meanwhile.
        self.has_stepped = False
        self.outer = outer
        self.since = time.time_ns()


class Trail:
    """Notes backward passes, and which modules they go through."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._tensor = recorder.torch.Tensor
        self._hooked: set[int] = set()
        #: Gradients may be computed by threads of torch's own: for those, whichever pass runs.
        self._running: list[Pass] = []
        functorch = getattr(recorder.torch._C, "_functorch", None)
        self._transform = getattr(functorch, "peek_interpreter_stack", lambda: None)

    def is_open(self) -> bool:
        """Whether gradients are being computed: by this thread, or by a thread of torch's for another."""
        return bool(self._running)

    def forget(self) -> None:
        """Forgets passes of the process that this one was forked from."""
        self._running.clear()
        self._hooked.clear()

    def running(self) -> Optional[Pass]:
        """The backward pass that this thread computes, or that torch's own threads compute for another."""
        return self._recorder.thread.backward or (self._running[-1] if self._running else None)

    def is_transformed(self) -> bool:
        """Whether a transformation of functions, such as ``torch.func.grad``, is being computed."""
        return self._transform() is not None

    # Called by hooks of modules

    def takes(self, args: Any, caller: Entry) -> None:
        """A module is called with these, by the code of `caller`."""
        for value in args:
            if isinstance(value, self._tensor):
                self._hook(value, caller)

    def makes(self, result: Any, entry: Entry) -> None:
        """A module returns this."""
        if isinstance(result, self._tensor):
            self._hook(result, entry)
        elif isinstance(result, (tuple, list)):
            for value in result[:4]:
                if isinstance(value, self._tensor):
                    self._hook(value, entry)
        elif isinstance(result, dict):
            for value in result.values():
                if isinstance(value, self._tensor):
                    self._hook(value, entry)

    def _hook(self, tensor: Any, entry: Entry) -> None:
        node = tensor.grad_fn
        if node is None or self._transform() is not None:
            return
        number = node._sequence_nr()
        hooked = self._hooked
        if number in hooked:
            return
        if len(hooked) > _MOST:
            hooked.clear()
        hooked.add(number)
        node.register_prehook(functools.partial(self._comes_to, entry))

    # Called by the backward pass

    def begin(self) -> Pass:
        """A backward pass begins."""
        thread = self._recorder.thread
        outer = thread.backward
        if outer is not None:
            self._note(outer)
        running = thread.backward = Pass(thread, outer)
        self._running.append(running)
        return running

    def _comes_to(self, entry: Entry, gradients: Any) -> None:
        try:
            running = self.running()
            if running is not None and running.entry is not entry:
                self._note(running)
                running.entry = entry
        except Exception as error:  # noqa: BLE001 -- ours, not the program's
            self._recorder.session.warn(f"the backward pass is recorded in part: {error}")

    def end(self, running: Optional[Pass]) -> None:
        """A backward pass has ended."""
        if running is None:
            return
        self._note(running)
        self._running.remove(running)
        self._recorder.thread.backward = running.outer
        if running.outer is not None:
            running.outer.since = time.time_ns()
        else:
            self._hooked.clear()

    def _note(self, running: Pass) -> None:
        """Notes what ran since the last time."""
        now = time.time_ns()
        if running.is_noted and now > running.since:
            entry = running.entry
            path, kind = (entry.path, entry.kind) if entry is not None else ("gradients", "gradients")
            self._recorder.session.ran_module(path, running.since, now, running.lane, kind, "backward")
        running.since = now
