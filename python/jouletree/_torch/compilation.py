"""Compilation by torch: a stage of its own, no part of a step.

Dynamo gives notice when it begins and ends to compile, the lazy compilation of a backward pass included. Models that were
compiled before they were called (scripted, traced, exported) are recognised by their class.
"""

from __future__ import annotations

import functools
import time
from .._imports import when_imported
from .._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from .recorder import Recorder


def install(recorder: Recorder) -> None:
    """Watches torch's compiler, once it is imported."""
    when_imported("torch._dynamo.callback", functools.partial(_watch, recorder))


def warn(recorder: Recorder, compiler: str) -> None:
    """Warns, once, that a compiler has hidden layers."""
    recorder.session.warn(f"compiled by {compiler}: layers inside are not known")


def _watch(recorder: Recorder, module: Any) -> None:
    # The callbacks themselves are forgotten when a program resets the compiler.
    handler = module.CompilationCallbackHandler
    begin, end = handler.run_start_callbacks, handler.run_end_callbacks
    since = [0]

    def begins() -> None:
        since[0] = time.time_ns()
        windows = recorder.windows
        # In the middle of a node of the backward pass the profiler would warn of that node.
        if windows is not None and windows.thread == recorder.thread.ident and not recorder.trail.is_open():
            # The trace would hold what the compiler does, which is far more than a step.
            windows.close(is_cut=True)

    def ends() -> None:
        start, since[0] = since[0], 0
        now = time.time_ns()
        if start:
            recorder.session.compiled("torch.compile", start, now)
            running = recorder.trail.running()
            (running.steps if running is not None else recorder.thread.steps).compiled(now)
            warn(recorder, "torch.compile")

    @functools.wraps(begin)
    def run_start_callbacks(*arguments: Any, **named: Any) -> Any:
        guarded(begins)
        return begin(*arguments, **named)

    @functools.wraps(end)
    def run_end_callbacks(*arguments: Any, **named: Any) -> Any:
        try:
            return end(*arguments, **named)
        finally:
            guarded(ends)

    handler.run_start_callbacks = run_start_callbacks
    handler.run_end_callbacks = run_end_callbacks
