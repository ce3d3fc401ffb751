"""What a step is in a program that does not say so.

**Training.** A step ends when the optimizer has stepped. It begins with the first thing that happens for it after the
one before: a batch is fetched from a data loader, gradients are set to zero, a model is called, or a gradient is
computed. So gradient accumulation, with several forward and backward passes to one optimizer step, is one step. What a
program does between (logging, a schedule, its own code) belongs to no step. With several optimizers, the one that
stepped first ends steps; others that step right after it still belong to that step. An optimizer that steps twice
while the first does not has taken its place. Without any optimizer, as with updates by hand, a backward pass ends a
step.

**Inference.** A call of a model in a program without an optimizer, or in evaluation mode, or without gradients, is a
step of its own: so is each token of ``generate``. It begins with the fetch of its batch, if a data loader was asked
just before. Its phase is ``predict``, or ``evaluate`` once the program has trained, unless somebody who knows better
(Trainer, Lightning) says which it is. Calls of different parts of one model one after the other, as in ``model.encode``
and then ``model.decode``, are one step, until a part is called again. A call without gradients which another model's
training follows at once, as of a teacher, belongs to that training step.

Calls while gradients are computed, as by checkpoints, are part of the backward pass and begin nothing. Steps are found
in each thread for itself.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional
    from .names import Entry
    from .recorder import Recorder


class Step:
    """A step that has begun."""

    __slots__ = ("calls", "ended", "has_fetched", "is_idle", "number", "optimizers", "phase", "recorded", "root",
                 "samples", "start", "trains", "window")  # fmt: skip

    def __init__(self, number: int, window: int) -> None:
        self.number = number
        #: The profiler's window that it is recorded in; 0 if it is not.
        self.window = window
        self.start = time.time_ns()
        #: When it was over, as far as is known; 0 while it is not.
        self.ended = 0
        self.recorded = False
        self.phase = "train"
        self.samples: Optional[int] = None
        #: Nothing of its own has happened yet but gradients being set to zero.
        self.is_idle = False
        self.has_fetched = False
        self.trains = False
        self.calls: set[int] = set()
        self.root: Optional[Entry] = None
        self.optimizers: set[int] = set()


class Steps:
    """The steps of one thread. A step that is over is noted when the next thing happens: it may yet go on."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._open: Optional[Step] = None
        self._number = 0
        #: Which phase calls of models belong to, when somebody has said so.
        self.phase: Optional[str] = None

    def _begin(self) -> Step:
        recorder = self._recorder
        number = self._number or recorder.session.next_step()
        self._number = 0
        is_recorded = recorder.windows is not None and recorder.windows.has(number)
        step = self._open = Step(number, recorder.windows.number if is_recorded else 0)
        return step

    def _end(self, step: Step, phase: str) -> None:
        windows = self._recorder.windows
        step.ended = time.time_ns()
        step.phase = phase
        # Without windows everything is recorded, as spans of modules.
        step.recorded = windows is None or (bool(step.window) and windows.thread != 0 and windows.number == step.window)

    def close(self) -> None:
        """Notes the step that is over, if there is one."""
        step, self._open = self._open, None
        if step is None:
            return
        if not step.ended:
            # It came to nothing; its number is the next one's.
            self._number = step.number
            return
        self._recorder.session.ran_step(
            step.number, step.start, step.ended, step.phase, step.recorded, step.samples
        )

    # What happens

    def fetches(self) -> None:
        """A batch is about to be fetched."""
        step = self._open
        if step is not None and step.ended:
            self.close()
        step = self._open
        if step is None:
            self._begin()
        elif step.is_idle:
            # Gradients were set to zero when the last step was over; what the program did since is no part of this one.
            step.start = time.time_ns()
            step.has_fetched = True

    def found_nothing(self) -> None:
        """There was no batch to fetch."""
        step = self._open
        if step is not None and step.is_idle:
            step.has_fetched = False
        elif step is not None and not step.calls and not step.trains:
            self.close()

    def zeroes(self) -> None:
        """Gradients are about to be set to zero."""
        step = self._open
        if step is not None and step.ended and step.phase == "train":
            self.close()
        if self._open is None:
            self._begin().is_idle = True

    def calls(self, module: Any, entry: Entry, is_training: bool) -> None:
        """The program is about to call a module."""
        step = self._open
        if step is not None and step.ended and not self._goes_on(step, module, entry, is_training):
            self.close()
        step = self._open
        if step is None:
            step = self._begin()
        elif step.is_idle and not is_training and not step.has_fetched:
            step.start = time.time_ns()
        step.is_idle = False
        step.trains |= is_training
        if step.root is None:
            step.root = entry.root

    @staticmethod
    def _goes_on(step: Step, module: Any, entry: Entry, is_training: bool) -> bool:
        """Whether a call belongs to the step before it, which seemed over."""
        if step.phase == "train":
            return False
        if is_training:
            return entry.root is not step.root
        if entry.root is not step.root or entry is entry.root or id(module) in step.calls:
            return False
        return id(entry.root.module()) not in step.calls

    def called(self, module: Any, entry: Entry, samples: Optional[int]) -> None:
        """The program has called a module."""
        step = self._open
        if step is None:
            return
        # A model that is called again adds to its samples; what another model, or another part, takes are the same.
        if samples is not None and (not step.calls or id(module) in step.calls and len(step.calls) == 1):
            step.samples = (step.samples or 0) + samples
        step.calls.add(id(module))
        if step.trains:
            step.ended = 0
        else:
            self._end(step, self.phase or ("evaluate" if self._recorder.has_trained else "predict"))

    def goes_back(self) -> None:
        """Gradients are about to be computed."""
        step = self._open
        if step is None or (step.ended and step.phase == "train"):
            self.close()
            step = self._begin()
        step.ended = 0
        step.trains = True
        step.is_idle = False

    def went_back(self) -> None:
        """Gradients were computed."""
        if self._open is not None and not self._recorder.has_optimizer:
            self._end(self._open, "train")

    def optimized(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        step = self._open
        if step is None:
            return
        self._recorder.has_trained = True
        leads = self._recorder.leads(optimizer)
        if not leads and id(optimizer) in step.optimizers and not step.ended:
            self._recorder.lead(optimizer)
            leads = True
        step.optimizers.add(id(optimizer))
        if leads or (step.ended and step.phase == "train"):
            self._end(step, "train")
