"""What is watched beside modules: data loaders, optimizers, backward passes."""

from __future__ import annotations

import functools
import time
from .._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .recorder import Recorder


def install(recorder: Recorder) -> None:
    """Watches all of them."""
    _watch_loaders(recorder)
    _watch_optimizers(recorder)
    _watch_backward(recorder)
    _watch_compiled(recorder)


def _watch_loaders(recorder: Recorder) -> None:
    from torch.utils.data import dataloader

    iterator = dataloader._BaseDataLoaderIter
    fetch = iterator.__next__

    @functools.wraps(fetch)
    def __next__(self: Any) -> Any:
        thread = recorder.thread
        is_inside = thread.stack or thread.top is not None or thread.optimizing or thread.fetching
        if is_inside or recorder.trail.is_open() or recorder.is_worker():
            return fetch(self)
        guarded(begins, self)
        thread.fetching += 1
        try:
            path = f"data/{type(self).__name__}.__next__"
            batch = recorder.spanned(path, "DataLoader", "forward", lambda: fetch(self))
        except StopIteration:
            guarded(thread.steps.found_nothing)
            raise
        finally:
            thread.fetching -= 1
        guarded(thread.steps.fetched)
        return batch

    def begins(iterator: Any) -> None:
        has_gradients = recorder.torch.is_grad_enabled()
        root = recorder.last_root()
        model = root.module() if root is not None else None
        mode = (has_gradients, getattr(model, "training", None), recorder.thread.steps.phase)
        is_training = recorder.has_optimizer and has_gradients and mode[1] is not False
        recorder.thread.steps.fetches(iterator, mode, is_training)

    iterator.__next__ = __next__


def _watch_optimizers(recorder: Recorder) -> None:
    """Optimizers give notice when they step by torch's own hooks. Once torch compiles anything, older versions take these
    away; so each class's ``step`` is wrapped as well, when its first optimizer is made."""
    from torch.optim import optimizer as module

    optimizer = module.Optimizer
    thread, session = recorder.thread, recorder.session
    is_compiling = recorder.is_compiling
    initialise, zero = optimizer.__init__, optimizer.zero_grad

    @functools.wraps(initialise)
    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        recorder.has_optimizer = True
        initialise(self, *arguments, **named)
        guarded(recorder.groups.add, self)
        guarded(wrap, type(self))

    @functools.wraps(zero)
    def zero_grad(self: Any, *arguments: Any, **named: Any) -> None:
        if is_compiling():
            return zero(self, *arguments, **named)
        is_apart = not recorder.trail.is_open() and not thread.optimizing and not thread.stack and thread.top is None
        if is_apart:
            guarded(thread.steps.zeroes, self)
        path = f"optimizer/{type(self).__name__}.zero_grad"
        recorder.spanned(path, type(self).__name__, "optimizer", lambda: zero(self, *arguments, **named))
        if is_apart:
            guarded(thread.steps.zeroed, self)

    def wrap(kind: Any) -> None:
        if hasattr(kind.step, "_jouletree"):
            return
        plain = kind.step

        @functools.wraps(plain)
        def step(self: Any, *arguments: Any, **named: Any) -> Any:
            if is_compiling() or thread.optimizing:
                return plain(self, *arguments, **named)
            begins(self)
            given = arguments
            if arguments and callable(arguments[0]):
                given = (marked(arguments[0]), *arguments[1:])
            elif callable(named.get("closure")):
                named = {**named, "closure": marked(named["closure"])}
            try:
                result = plain(self, *given, **named)
            finally:
                start, thread.optimizing = thread.optimizing, 0
            guarded(ended, self, start)
            return result

        step._jouletree = True  # type: ignore[attr-defined]  # a mark of ours
        kind.step = step

    def begins(optimizer: Any, args: Any = None, kwargs: Any = None) -> None:
        # One that was begun by a hook and failed is still there.
        if not is_compiling() and (not thread.optimizing or thread.optimizer):
            thread.optimizer = id(optimizer) if args is not None else 0
            running = recorder.trail.running()
            if running is not None:
                running.has_stepped = True
            elif not thread.stack and thread.top is None:
                guarded(thread.steps.optimizes, optimizer)
            thread.optimizing = time.time_ns()

    def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
        # What the wrapper has begun, the wrapper ends.
        if not is_compiling() and thread.optimizer == id(optimizer):
            start, thread.optimizing, thread.optimizer = thread.optimizing, 0, 0
            guarded(ended, optimizer, start)

    def ended(optimizer: Any, start: int) -> None:
        if thread.noting:
            kind = type(optimizer).__name__
            session.ran_module(f"optimizer/{kind}.step", start, time.time_ns(), thread.lane, kind, "optimizer")
        if recorder.trail.running() is None and not thread.stack and thread.top is None:
            thread.steps.optimized(optimizer)

    def marked(closure: Any) -> Any:
        """A closure whose work is no work of the optimizer."""

        @functools.wraps(closure)
        def closing(*arguments: Any, **named: Any) -> Any:
            return recorder.ranged("closure", "forward", lambda: closure(*arguments, **named))

        return closing if thread.noting or recorder.in_trace() else closure

    optimizer.__init__ = __init__
    optimizer.zero_grad = zero_grad
    module.register_optimizer_step_pre_hook(begins)
    module.register_optimizer_step_post_hook(stepped)


def _watch_backward(recorder: Recorder) -> None:
    autograd = recorder.torch.autograd
    thread, trail = recorder.thread, recorder.trail
    is_compiling, parameter = recorder.is_compiling, recorder.torch.nn.Parameter

    def watched(compute: Any, trains: Any) -> Any:
        @functools.wraps(compute)
        def computing(*arguments: Any, **named: Any) -> Any:
            if is_compiling() or thread.stack or thread.top is not None:
                return compute(*arguments, **named)
            is_apart = not trail.is_open() and not thread.optimizing
            if is_apart:
                does_train = bool(guarded(trains, *arguments, **named))
                guarded(thread.steps.goes_back, does_train)
            running = guarded(trail.begin)
            try:
                return recorder.ranged("backward", None, lambda: compute(*arguments, **named))
            finally:
                guarded(trail.end, running)
                if is_apart:
                    guarded(thread.steps.went_back, does_train, running is not None and running.has_stepped)

        return computing

    def is_training(outputs: Any = None, inputs: Any = None, *arguments: Any, **named: Any) -> bool:
        """Whether gradients of parameters are asked for; inside of a transformation of functions, they seem to be."""
        if trail.is_transformed():
            return True
        values = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
        return any(isinstance(value, parameter) for value in values)

    backward = watched(autograd.backward, lambda *arguments, **named: True)
    grad = watched(autograd.grad, is_training)
    autograd.backward, autograd.grad = backward, grad
    guarded(_keep_scriptable, backward, "aten::backward")
    guarded(_keep_scriptable, grad, "aten::grad")


def _watch_compiled(recorder: Recorder) -> None:
    """Calls of a module that was compiled in place pass by all hooks."""
    module = recorder.torch.nn.Module
    make = getattr(module, "compile", None)
    if make is None:
        return

    @functools.wraps(make)
    def compile(self: Any, *arguments: Any, **named: Any) -> None:
        make(self, *arguments, **named)
        call = self._compiled_call_impl
        if call is None:
            return

        @functools.wraps(call)
        def hooked(*given: Any, **named: Any) -> Any:
            result = None
            recorder.entering(self, given)
            try:
                result = call(*given, **named)
                return result
            finally:
                recorder.leaving(self, given, named, result)

        recorder.call_codes.add(hooked.__code__)  # type: ignore[attr-defined]  # a function, though typed by `wraps`
        self._compiled_call_impl = hooked

    module.compile = compile


def _keep_scriptable(function: Any, name: str) -> None:
    """TorchScript knows functions by identity."""
    from torch.jit import _builtins

    _builtins._register_builtin(function, name)
