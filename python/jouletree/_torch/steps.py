"""What a step is in a program that does not say so.

**Models.** Only calls of models are steps. A loss, or any other module without parameters, is no model: its calls begin,
join and end nothing (unless no module of the program has parameters). Neither do modules that a dataset calls while a
batch is fetched, or that run in a worker of a data loader.

**Training.** A step ends when an optimizer has stepped. It begins with the first work for it: a batch is fetched, a model is
called, a gradient is computed, gradients are set to zero right before. So gradient accumulation, with several forward and
backward passes to one optimizer step, is one step. Everything in an optimizer's closure belongs to the step of that
optimizer. Optimizers that step one after the other without work in between share a step; ``zero_grad`` right after
``step`` belongs to it, too. Without any optimizer, as with explicit updates, a backward pass ends a step. Where optimizers
step inside of the backward pass, its end does.

**Inference.** A call of a model in evaluation mode, without gradients, or without anything to train is a step of its own: so
is each token of ``generate``. It begins with the fetch of its batch, if a data loader was asked just before. Its phase is
``evaluate`` in a program that has an optimizer or has trained, else ``predict``, unless a trainer says which it is.
A call in training mode is inference as well if no gradient was computed from its output before the next batch came from
the same loader, or if the program has dropped that output.

**Calls that share a step.** An inference and what follows it within a second are one step in these cases only: different
parts of one model, as ``model.encode`` and then ``model.decode``, until a part is called again; another model that takes
the output of the first, or the same batch of a data loader; training that takes the output or the input of another model,
as of a teacher. An evaluation never joins the training of the same model.

**Between steps.** What a program does between steps (logging, checkpoints, building its data) belongs to no step. A batch
that is fetched more than a second before anything else happens begins no step. A step in which torch compiled something
begins after the compilation and is not recorded.

**Groups.** Steps of one phase that do different work have different functions: training steps the part of the program whose
parameters their optimizer has, where optimizers have different parts; inference the model, where there are several.
Which group a step belongs to is known at its end only. The group of the last step that began the same way is the guess that
decides whether the profiler is on; a step counts as recorded only if its true group asks for it.

Calls while gradients are computed, as by checkpoints, are part of the backward pass and begin nothing. Steps are found in
each thread separately, and never overlap there.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Hashable, Optional
    from .names import Entry
    from .recorder import Recorder

    Group = tuple[str, str]

#: Longer than this between two pieces of work, in nanoseconds, and they are not of one step.
_NEAR = 1_000_000_000
#: Gradients that are set to zero belong to a step that ends, or begins, at most this long before or after.
_ADJACENT = 1_000_000
#: So many ways in which steps began are remembered.
_MOST = 512
#: So many tensors of the last calls are remembered.
_TENSORS = 16


def _has_gradients(optimizer: Any) -> bool:
    return any(one.grad is not None for group in optimizer.param_groups for one in group["params"])


class Step:
    """A step that has begun."""

    __slots__ = ("backwards", "beginning", "calls", "can_go_back", "ended", "fetched", "fetches", "function", "graphs",
                 "is_noted", "is_trained", "last", "number", "optimizers", "phase", "recorded", "roots", "samples",
                 "start", "tensors", "trains", "window")  # fmt: skip

    def __init__(self, number: int, start: int, beginning: Hashable) -> None:
        self.number = number
        #: How it began: steps that begin the same way are expected to be of the same group.
        self.beginning = beginning
        #: The profiler's window that it is recorded in; 0 if there is none.
        self.window = 0
        #: Whether spans of its modules are noted, without the profiler.
        self.is_noted = False
        self.start = start
        #: The end of the last work in it.
        self.last = start
        #: When it was over, as far as is known; 0 while it is not.
        self.ended = 0
        self.recorded = False
        self.phase = "train"
        self.function = ""
        self.samples: Optional[int] = None
        #: Iterators of data loaders that batches came from.
        self.fetches: set[int] = set()
        #: When the first fetch since the last backward pass began; 0 if there was none.
        self.fetched = 0
        self.trains = False
        #: Whether models were called in training mode.
        self.is_trained = False
        self.backwards = 0
        #: Whether gradients can be computed from an output of it.
        self.can_go_back = False
        #: Weak references that live as long as what gradients of its calls in training mode are computed from.
        self.graphs: list[Any] = []
        #: Identities of the modules that the program called.
        self.calls: set[int] = set()
        #: The models that these belong to, the first one first.
        self.roots: list[Entry] = []
        #: Storage that the calls took and made: weak references, and whether it was made.
        self.tensors: list[tuple[Any, bool]] = []
        self.optimizers: set[int] = set()

    @property
    def has_work(self) -> bool:
        """Whether more has happened than the fetch of a batch."""
        return bool(self.calls or self.backwards or self.optimizers)

    @property
    def is_in_vain(self) -> bool:
        """Whether no gradient can be computed any more from calls in training mode."""
        return bool(self.graphs) and not self.backwards and all(graph() is None for graph in self.graphs)


class Steps:
    """The steps of one thread. A step that is over is noted when the next thing happens: it may yet go on."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._open: Optional[Step] = None
        self._number = 0
        #: When gradients were last set to zero for a step that has not begun: the beginning and the end.
        self._zeroed = (0, 0)
        #: Which group the last step belonged to that began in each way.
        self._expected: dict[Hashable, Group] = {}
        #: Phase of inference, when a trainer has set one.
        self.phase: Optional[str] = None

    # A step's life

    def _begin(self, beginning: Hashable, likely: Group, start: int = 0) -> Step:
        recorder = self._recorder
        now = time.time_ns()
        number = self._number or recorder.session.next_step()
        self._number = 0
        step = self._open = Step(number, now, beginning)
        recorder.record(step, self._expected.get(beginning, likely))
        zeroed, self._zeroed = self._zeroed, (0, 0)
        if not start and now - zeroed[1] < _ADJACENT:
            start = zeroed[0]
        windows = recorder.windows
        if start and (not step.window or windows is None or windows.opened <= start):
            step.start = start
        else:
            # Opening a window takes a while.
            step.start = time.time_ns()
        return step

    def _end(self, step: Step, group: Group, at: int = 0) -> None:
        step.ended = at or time.time_ns()
        step.phase, step.function = group
        self._zeroed = (0, 0)
        step.recorded = self._recorder.has_recorded(step)

    def close(self) -> None:
        """Notes the step that is over, if there is one."""
        step, self._open = self._open, None
        if step is None:
            return
        if not step.ended and step.calls and not step.backwards:
            self._end(step, self._inference(step.roots[0]), step.last)
        elif not step.ended and step.backwards:
            self._end(step, self._training(), step.last)
        if not step.ended:
            # It came to nothing; its number is the next one's.
            self._number = step.number
            return
        expected = self._expected
        if len(expected) > _MOST:
            expected.clear()
        expected[step.beginning] = (step.phase, step.function)
        step.tensors.clear()
        recorder = self._recorder
        recorder.session.ran_step(
            step.number, step.start, step.ended, step.phase, step.recorded, step.samples, step.function
        )

    @staticmethod
    def _refresh(step: Step, now: int) -> None:
        """Has a step begin now that has only fetched a batch, and long ago."""
        if not step.ended and not step.has_work and now - step.last > _NEAR:
            step.start = now

    def _inference(self, root: Entry) -> Group:
        recorder = self._recorder
        phase = self.phase or ("evaluate" if recorder.has_optimizer or recorder.has_trained else "predict")
        return phase, recorder.groups.of_model(phase, root)

    def _training(self, optimizer: Any = None) -> Group:
        return "train", self._recorder.groups.of_optimizer(optimizer)

    # Data loaders

    def fetches(self, iterator: Any, mode: Hashable, is_training: bool) -> None:
        """A batch is about to be fetched; `mode` and `is_training` are what the program seems to be doing."""
        now = time.time_ns()
        step = self._open
        if step is not None and not step.ended:
            if step.calls and not step.backwards and id(iterator) in step.fetches:
                # The batch before this one was for inference.
                self.close()
            else:
                self._refresh(step, now)
        elif step is not None:
            self.close()
        if self._open is None:
            root = self._recorder.last_root()
            likely = self._training() if is_training or root is None else self._inference(root)
            self._begin(("fetch", id(getattr(iterator, "_dataset", None)), mode), likely)
        step = self._open
        if step is not None:
            step.fetches.add(id(iterator))
            step.fetched = step.fetched or max(now, step.start)

    def fetched(self) -> None:
        """A batch was fetched."""
        step = self._open
        if step is not None and not step.has_work:
            step.last = time.time_ns()

    def found_nothing(self) -> None:
        """There was no batch to fetch."""
        step = self._open
        if step is not None and not step.has_work:
            self.close()
        elif step is not None:
            step.fetched = 0

    # Optimizers

    def zeroes(self, optimizer: Any) -> None:
        """An optimizer is about to set gradients to zero."""
        step = self._open
        now = time.time_ns()
        if step is not None and not step.ended:
            if not step.is_in_vain:
                return
            self.close()
            step = None
        if step is not None and step.phase == "train" and id(optimizer) in step.optimizers and now - step.ended < _ADJACENT:
            return
        if step is None or step.phase == "train":
            self.close()
            # The window has to be open before, so that the trace has all of the step.
            self._recorder.expect(self._training(optimizer))
        self._zeroed = (time.time_ns(), now)

    def zeroed(self, optimizer: Any) -> None:
        """An optimizer has set gradients to zero."""
        step = self._open
        if step is not None and not step.ended:
            step.last = time.time_ns()
        elif self._zeroed[0]:
            self._zeroed = (self._zeroed[0], time.time_ns())
        elif step is not None and step.phase == "train":
            self._end(step, (step.phase, step.function))

    def optimizes(self, optimizer: Any) -> None:
        """An optimizer is about to step."""
        step = self._open
        if step is not None and step.ended:
            joins = step.phase == "train" and id(optimizer) not in step.optimizers
            # A step that no optimizer ended was an explicit update, unless its gradients are there for this one.
            joins = joins and (bool(step.optimizers) or _has_gradients(optimizer))
            if joins and time.time_ns() - step.ended < _NEAR:
                step.ended = 0
            else:
                self.close()
        if self._open is None:
            self._begin(("optimizer", id(optimizer)), self._training(optimizer))
        else:
            self._refresh(self._open, time.time_ns())

    def optimized(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        self._recorder.has_trained = True
        step = self._open
        if step is None:
            return
        is_first = not step.optimizers
        step.optimizers.add(id(optimizer))
        self._end(step, self._training(optimizer) if is_first else ("train", step.function))

    # Calls of models

    def calls(self, module: Any, entry: Entry, is_training: bool, storage: Callable[[], set[int]]) -> None:
        """The program is about to call a model; `storage` gives the memory of the tensors that it is called with."""
        now = time.time_ns()
        step = self._open
        start = 0
        if step is not None and step.ended:
            if not self._goes_on(step, module, entry, is_training, storage, now):
                self.close()
        elif step is not None and self._is_evaluation(step, module, entry, is_training):
            # Gradients were left over; an evaluation begins.
            self._end(step, self._training(), step.last)
            start = step.fetched
            self.close()
        elif step is not None and step.is_in_vain:
            self.close()
        elif step is not None:
            self._refresh(step, now)
        step = self._open
        if step is None:
            likely = self._training() if is_training else self._inference(entry.root)
            beginning = ("call", id(entry.root), is_training, module.training, self.phase)
            step = self._begin(beginning, likely, start)
        if entry.root not in step.roots:
            step.roots.append(entry.root)

    def _is_evaluation(self, step: Step, module: Any, entry: Entry, is_training: bool) -> bool:
        """Whether a call in the middle of a training step can be no part of it."""
        if is_training or module.training or not step.backwards or entry.root not in step.roots:
            return False
        return step.is_trained or not self._recorder.torch.is_grad_enabled()

    @staticmethod
    def _goes_on(
        step: Step, module: Any, entry: Entry, is_training: bool, storage: Callable[[], set[int]], now: int
    ) -> bool:
        """Whether a call belongs to the step before it, which seemed over."""
        if step.phase == "train" or now - step.ended > _NEAR:
            return False
        is_same = entry.root in step.roots
        if is_training:
            if is_same and not step.is_trained:
                return False
            given = storage()
            shared = any(reference.cdata in given for reference, _ in step.tensors)
            return shared or (not is_same and bool(step.fetches))
        if is_same:
            root = entry.root.module()
            return entry is not entry.root and id(module) not in step.calls and id(root) not in step.calls
        if step.fetches:
            return True
        given = storage()
        return any(is_made and reference.cdata in given for reference, is_made in step.tensors)

    def called(self, module: Any, samples: Optional[int], is_training: bool, graph: Any, tensors: Any) -> None:
        """The program has called a model.

        `graph` is alive as long as gradients can be computed from the result; ``None`` if that was never so. `tensors` gives
        the storage of what the model took and made, if it is asked.
        """
        step = self._open
        if step is None:
            return
        # A model that is called again adds to its samples; what another model, or another part, takes are the same.
        if samples is not None and (not step.calls or id(module) in step.calls and len(step.calls) == 1):
            step.samples = (step.samples or 0) + samples
        step.calls.add(id(module))
        step.trains |= is_training
        step.is_trained |= module.training
        step.can_go_back |= graph is not None
        if is_training and graph is not None and len(step.graphs) < _TENSORS:
            step.graphs.append(graph)
        step.last = time.time_ns()
        if step.trains:
            step.ended = 0
        else:
            step.tensors = [*step.tensors, *tensors()][-_TENSORS:]
            self._end(step, self._inference(step.roots[0]) if step.roots else ("predict", ""))

    def called_by_optimizer(self, module: Any, samples: Optional[int]) -> None:
        """A closure of an optimizer has called a model, perhaps again and again with the same samples."""
        step = self._open
        if step is not None:
            step.calls.add(id(module))
            if step.samples is None:
                step.samples = samples

    # Gradients

    def goes_back(self, trains: bool = True) -> None:
        """Gradients are about to be computed."""
        step = self._open
        if step is not None and step.ended:
            is_its = step.phase != "train" and (step.can_go_back or bool(step.fetches))
            if not is_its and (trains or step.phase == "train"):
                self.close()
        step = self._open
        if step is None:
            step = self._begin(("backward",), self._training())
        self._refresh(step, time.time_ns())
        if trains:
            step.ended = 0
            step.trains = True

    def went_back(self, trains: bool = True, is_over: bool = False) -> None:
        """Gradients were computed; `is_over` if optimizers stepped meanwhile."""
        step = self._open
        if step is None:
            return
        step.last = time.time_ns()
        if not trains:
            if step.ended:
                self._end(step, (step.phase, step.function))
            return
        self._recorder.has_trained = True
        step.backwards += 1
        step.fetched = 0
        if is_over or not self._recorder.has_optimizer:
            self._end(step, self._training())

    # Compilation

    def compiled(self, end: int) -> None:
        """Torch has compiled something: the step, if there is one, begins after it."""
        step = self._open
        if step is not None and not step.ended:
            step.start = max(step.start, end)
            step.window, step.is_noted = 0, False
