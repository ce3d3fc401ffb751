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
        began = guarded(recorder.thread.steps.fetches)
        try:
            path = f"data/{type(self).__name__}.__next__"
            return recorder.spanned(path, "DataLoader", "forward", lambda: fetch(self))
        except StopIteration:
            if began:
                guarded(recorder.thread.steps.found_nothing)
            raise

    iterator.__next__ = __next__


def _watch_optimizers(recorder: Recorder) -> None:
    from torch.optim import optimizer as module

    optimizer = module.Optimizer
    thread, session = recorder.thread, recorder.session
    is_compiling = recorder.torch.compiler.is_compiling
    initialise, zero = optimizer.__init__, optimizer.zero_grad
    began: dict[int, int] = {}

    @functools.wraps(initialise)
    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        recorder.has_optimizer = True
        initialise(self, *arguments, **named)

    @functools.wraps(zero)
    def zero_grad(self: Any, *arguments: Any, **named: Any) -> None:
        if is_compiling():
            return zero(self, *arguments, **named)
        if not recorder.trail.is_open():
            guarded(thread.steps.zeroes)
        path = f"optimizer/{type(self).__name__}.zero_grad"
        recorder.spanned(path, type(self).__name__, "optimizer", lambda: zero(self, *arguments, **named))

    def steps(optimizer: Any, args: Any, kwargs: Any) -> None:
        if not is_compiling():
            began[id(optimizer)] = time.time_ns()

    def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
        if is_compiling():
            return
        start = began.pop(id(optimizer), 0)
        if start and recorder.windows is None:
            kind = type(optimizer).__name__
            guarded(session.ran_module, f"optimizer/{kind}.step", start, time.time_ns(), thread.lane, kind, "optimizer")
        guarded(thread.steps.optimized, optimizer)

    optimizer.__init__ = __init__
    optimizer.zero_grad = zero_grad
    module.register_optimizer_step_pre_hook(steps)
    module.register_optimizer_step_post_hook(stepped)


def _watch_backward(recorder: Recorder) -> None:
    autograd = recorder.torch.autograd
    compute = autograd.backward
    thread, trail = recorder.thread, recorder.trail
    is_compiling = recorder.torch.compiler.is_compiling

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
