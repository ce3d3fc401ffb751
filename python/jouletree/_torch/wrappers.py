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
        if recorder.thread.stack or recorder.trail.is_open():
            return fetch(self)
        guarded(recorder.thread.steps.fetches)
        try:
            path = f"data/{type(self).__name__}.__next__"
            return recorder.spanned(path, "DataLoader", "forward", lambda: fetch(self))
        except StopIteration:
            guarded(recorder.thread.steps.found_nothing)
            raise

    iterator.__next__ = __next__


def _watch_optimizers(recorder: Recorder) -> None:
    """Optimizers tell when they step by torch's own hooks. Once torch compiles anything, older versions take these
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
        guarded(wrap, type(self))

    @functools.wraps(zero)
    def zero_grad(self: Any, *arguments: Any, **named: Any) -> None:
        if is_compiling():
            return zero(self, *arguments, **named)
        if not recorder.trail.is_open():
            guarded(thread.steps.zeroes)
        path = f"optimizer/{type(self).__name__}.zero_grad"
        recorder.spanned(path, type(self).__name__, "optimizer", lambda: zero(self, *arguments, **named))

    def wrap(kind: Any) -> None:
        if hasattr(kind.step, "_jouletree"):
            return
        plain = kind.step

        @functools.wraps(plain)
        def step(self: Any, *arguments: Any, **named: Any) -> Any:
            if is_compiling() or thread.optimizing:
                return plain(self, *arguments, **named)
            begins(self)
            try:
                result = plain(self, *arguments, **named)
            finally:
                start, thread.optimizing = thread.optimizing, 0
            guarded(ended, self, start)
            return result

        step._jouletree = True  # type: ignore[attr-defined]
        kind.step = step

    def begins(optimizer: Any, args: Any = None, kwargs: Any = None) -> None:
        # One that was begun by a hook and failed is still there.
        if not is_compiling() and (not thread.optimizing or thread.optimizer):
            thread.optimizing = time.time_ns()
            thread.optimizer = id(optimizer) if args is not None else 0

    def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
        # What the wrapper has begun, the wrapper ends.
        if not is_compiling() and thread.optimizer == id(optimizer):
            start, thread.optimizing, thread.optimizer = thread.optimizing, 0, 0
            guarded(ended, optimizer, start)

    def ended(optimizer: Any, start: int) -> None:
        if recorder.windows is None:
            kind = type(optimizer).__name__
            session.ran_module(f"optimizer/{kind}.step", start, time.time_ns(), thread.lane, kind, "optimizer")
        thread.steps.optimized(optimizer)

    optimizer.__init__ = __init__
    optimizer.zero_grad = zero_grad
    module.register_optimizer_step_pre_hook(begins)
    module.register_optimizer_step_post_hook(stepped)


def _watch_backward(recorder: Recorder) -> None:
    autograd = recorder.torch.autograd
    compute = autograd.backward
    thread, trail = recorder.thread, recorder.trail
    is_compiling = recorder.is_compiling

    @functools.wraps(compute)
    def backward(*arguments: Any, **named: Any) -> Any:
        if is_compiling() or thread.stack:
            return compute(*arguments, **named)
        if not trail.is_open():
            guarded(thread.steps.goes_back)
        outer = guarded(trail.begin)
        try:
            return compute(*arguments, **named)
        finally:
            guarded(trail.end, outer)
            if not trail.is_open():
                guarded(thread.steps.went_back)

    autograd.backward = backward
    guarded(_keep_scriptable, backward)


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

        self._compiled_call_impl = hooked

    module.compile = compile


def _keep_scriptable(backward: Any) -> None:
    """TorchScript knows functions by identity."""
    from torch.jit import _builtins

    _builtins._register_builtin(backward, "aten::backward")
