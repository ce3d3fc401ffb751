"""What is done whenever a module is called, and when it returns.

These run many times in each step, so they do little: a look into a dictionary, and a range in the profiler's trace or
the time of day. In a call of which nothing is recorded, modules inside of the one that the program called are passed by.
Hooks that torch itself calls for all modules would cost four times as much there as a wrapper of the method that calls
modules: torch has a fast path for modules without hooks. In code that torch compiles both vanish: the first thing they ask
is known to be true there. A call that is only traced is left alone: what looks at a tensor would become part of the trace.
"""

from __future__ import annotations

import functools
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable
    from .recorder import Recorder

#: So many spans are noted in one step where they replace operations.
_MOST = 200_000


def of(recorder: Recorder) -> tuple[Callable[..., None], Callable[..., None], Callable[..., Any]]:
    """Hooks that mark modules in the trace of torch's profiler while it is on, and note spans where these are wanted:
    before a call, after it, and both around the method of torch that calls modules."""
    torch = recorder.torch
    is_compiling, is_tracing = recorder.is_compiling, torch._C._get_tracing_state
    entries, names, thread, windows = recorder.names.entries, recorder.names, recorder.thread, recorder.windows
    begins, ends, failed = recorder.begins, recorder.ends, recorder.failed
    trail, ran, now = recorder.trail, recorder.session.ran_module, time.time_ns
    has_gradients, is_worker = torch.is_grad_enabled, recorder.is_worker

    def enter(module: Any, args: Any) -> None:
        try:
            top = thread.top
            if top is not None:
                if module is not top:
                    return
                if _is_inside(module):
                    thread.depth += 1
                    return
                thread.top = None
            stack = thread.stack
            if stack and stack[0][0] is module and not _is_inside(module):
                # An interrupt has ended the calls that are on the stack.
                stack.clear()
            entry = entries.get(id(module))
            if entry is None or entry.module() is not module:
                caller = stack[-1][1] if stack else names.data if thread.fetching or is_worker() else None
                entry = names.of(module, caller)
            if not stack:
                begins(module, entry, args)
            in_trace = windows is not None and windows.thread == thread.ident
            noting = thread.noting
            if not stack and not in_trace and not noting and recorder.look is None:
                thread.top, thread.depth = module, 0
                return
            span = None
            if in_trace and windows is not None:
                if windows.goes_on(trail.is_open()):
                    span = windows.range(entry.span)
                    span.__enter__()
            elif noting:
                if stack and args and has_gradients():
                    trail.takes(args, stack[-1][1])
                thread.noted += 1
                if thread.noted > _MOST and windows is not None:
                    thread.noting = noting = False
            if recorder.look is not None:
                recorder.look.entered(entry, args)
            stack.append((module, entry, span, now() if noting else 0))
        except Exception as error:  # noqa: BLE001 -- ours, not the program's
            failed(error)

    def exit(module: Any, args: Any, *rest: Any) -> None:
        try:
            stack = thread.stack
            if thread.top is not None:
                if module is not thread.top:
                    return
                if thread.depth:
                    thread.depth -= 1
                    return
                thread.top = None
                ends(module, args, rest)
                return
            if not stack or (stack[-1][0] is not module and not _unwound(stack, module, leave)):
                return
            _, entry, span, start = stack.pop()
            if span is not None:
                leave(span)
            if start and thread.noting:
                if rest and has_gradients():
                    trail.makes(rest[-1], entry)
                ran(entry.path, start, now(), thread.lane, entry.kind, "backward" if thread.backward else "forward")
            if recorder.look is not None:
                recorder.look.left(entry, args, rest, bool(stack))
            if not stack:
                ends(module, args, rest)
        except Exception as error:  # noqa: BLE001 -- ours, not the program's
            failed(error)

    def leave(span: Any) -> None:
        # A window that was closed meanwhile has already left it.
        if span is not None and windows is not None and windows.thread == thread.ident:
            span.__exit__(None, None, None)

    def leave_all() -> None:
        stack = thread.stack
        for index in range(len(stack) - 1, -1, -1):
            module, entry, span, start = stack[index]
            leave(span)
            stack[index] = (module, entry, None, start)
        while thread.ranges:
            leave(thread.ranges.pop())

    def entering(module: Any, args: Any) -> None:
        if not is_compiling() and is_tracing() is None:
            enter(module, args)

    def leaving(module: Any, args: Any, *rest: Any) -> None:
        if not is_compiling() and is_tracing() is None:
            exit(module, args, *rest)

    plain = torch.nn.Module._call_impl

    @functools.wraps(plain)
    def _call_impl(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return plain(self, *args, **kwargs)
        top = thread.top
        if top is not None and top is not self or is_tracing() is not None:
            return plain(self, *args, **kwargs)
        try:
            enter(self, args)
            result = plain(self, *args, **kwargs)
        except BaseException as error:
            # A call that was interrupted is no step.
            thread.counts = thread.counts and isinstance(error, Exception)
            exit(self, args, kwargs, None)
            raise
        exit(self, args, kwargs, result)
        return result

    calls = recorder.call_codes
    calls.update((plain.__code__, _call_impl.__code__))

    def _is_inside(module: Any) -> bool:
        """Whether a module whose call begins is being called already: a call that was interrupted has left no notice."""
        frame: Any = sys._getframe(2)
        found = 0
        while frame is not None and found < 2:
            if frame.f_code in calls and frame.f_locals.get("self") is module:
                found += 1
            frame = frame.f_back
        return found > 1

    if windows is not None:
        windows.before_closing(leave_all)
    return entering, leaving, _call_impl


def _unwound(stack: list[Any], module: Any, leave: Callable[[Any], None]) -> bool:
    """Takes away what is above a module that is being left: calls that did not return in the usual way."""
    if not any(frame[0] is module for frame in stack):
        return False
    while stack[-1][0] is not module:
        frame = stack.pop()
        leave(frame[2])
    return True
