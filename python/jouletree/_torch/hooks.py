"""What is done whenever a module is called, and when it returns.

These run many times in each step, so they do little: a look into a dictionary, and a range in the profiler's trace or
the time of day. In code that torch compiles they vanish: the first thing they ask is known to be true there. A call
that is only traced is left alone: what looks at a tensor would become part of the trace.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional
    from .recorder import Recorder


def of_operations(recorder: Recorder) -> tuple[Callable[..., None], Callable[..., None]]:
    """Hooks that mark modules in the trace of torch's profiler, while it is on."""
    is_compiling, is_tracing = recorder.is_compiling, recorder.torch._C._get_tracing_state
    entries, names, thread, windows = recorder.names.entries, recorder.names, recorder.thread, recorder.windows
    begins, ends, failed = recorder.begins, recorder.ends, recorder.failed

    def entering(module: Any, args: Any) -> None:
        if is_compiling() or is_tracing() is not None:
            return
        try:
            stack = thread.stack
            entry = entries.get(id(module))
            if entry is None or entry.module() is not module:
                entry = names.of(module, stack[-1][1] if stack else None)
            if not stack:
                begins(module, entry)
            if recorder.look is not None:
                recorder.look.entered(entry, args)
            if windows.thread == thread.ident:
                span = windows.range(entry.span)
                span.__enter__()
            else:
                span = None
            stack.append((module, entry, span))
        except Exception as error:
            failed(error)

    def leaving(module: Any, args: Any, *rest: Any) -> None:
        if is_compiling() or is_tracing() is not None:
            return
        try:
            stack = thread.stack
            if not stack or (stack[-1][0] is not module and not _unwound(stack, module, _left)):
                return
            _, entry, span = stack.pop()
            if span is not None:
                _left(span)
            if recorder.look is not None:
                recorder.look.left(entry, args, rest, bool(stack))
            if not stack:
                ends(module, entry, args, rest)
        except Exception as error:
            failed(error)

    def _left(span: Any) -> None:
        # A window that was closed meanwhile has already left it.
        if span is not None and windows.thread == thread.ident:
            span.__exit__(None, None, None)

    def leave_all() -> None:
        stack = thread.stack
        for index in range(len(stack) - 1, -1, -1):
            module, entry, span = stack[index]
            _left(span)
            stack[index] = (module, entry, None)

    windows.before_closing(leave_all)
    return entering, leaving


def of_modules(recorder: Recorder) -> tuple[Callable[..., None], Callable[..., None]]:
    """Hooks that note when modules were active, without torch's profiler."""
    is_compiling, is_tracing = recorder.is_compiling, recorder.torch._C._get_tracing_state
    entries, names, thread = recorder.names.entries, recorder.names, recorder.thread
    begins, ends, failed = recorder.begins, recorder.ends, recorder.failed
    trail, ran, now = recorder.trail, recorder.session.ran_module, time.time_ns
    has_gradients = recorder.torch.is_grad_enabled

    def entering(module: Any, args: Any) -> None:
        if is_compiling() or is_tracing() is not None:
            return
        try:
            stack = thread.stack
            entry = entries.get(id(module))
            if entry is None or entry.module() is not module:
                entry = names.of(module, stack[-1][1] if stack else None)
            if not stack:
                begins(module, entry)
            elif args and has_gradients():
                trail.takes(args, stack[-1][1])
            if recorder.look is not None:
                recorder.look.entered(entry, args)
            stack.append((module, entry, now()))
        except Exception as error:
            failed(error)

    def leaving(module: Any, args: Any, *rest: Any) -> None:
        if is_compiling() or is_tracing() is not None:
            return
        try:
            stack = thread.stack
            if not stack or (stack[-1][0] is not module and not _unwound(stack, module)):
                return
            _, entry, start = stack.pop()
            if rest and has_gradients():
                trail.makes(rest[-1], entry)
            ran(entry.path, start, now(), thread.lane, entry.kind, "backward" if thread.backward else "forward")
            if recorder.look is not None:
                recorder.look.left(entry, args, rest, bool(stack))
            if not stack:
                ends(module, entry, args, rest)
        except Exception as error:
            failed(error)

    return entering, leaving


def _unwound(stack: list[Any], module: Any, leave: Optional[Callable[[Any], None]] = None) -> bool:
    """Takes away what is above a module that is being left: calls that did not return in the usual way."""
    if not any(frame[0] is module for frame in stack):
        return False
    while stack[-1][0] is not module:
        frame = stack.pop()
        if leave is not None:
            leave(frame[2])
    return True

