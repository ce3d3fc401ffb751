"""Windows of torch's profiler around the steps whose operations are recorded.

Only the parts of the profiler that record are used: what ``torch.profiler`` does in Python with every event afterwards
takes longer than the recording. A window is opened and closed between steps, by the thread whose steps it records; it
spans steps that follow each other. Only the main thread's steps are recorded: the profiler does not survive a thread that
ends, and cannot be begun by others than the first. A
program that profiles itself has precedence: our window is closed before its begins, and there is none of ours while it
lasts. A process that was forked after the profiler was used does not use it again.

A window holds as many steps as recording may still cost. It ends in the middle of a step if that step has more operations
than may be recorded. How many it has is estimated from the calls of modules, since the profiler does not say before its end.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from .._session import guarded
from . import forks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional
    from .._session import Session
    from .steps import Group

#: A window is closed when it is so full or so old: what a killed process loses is what is in its window.
_STEPS = 10
_SECONDS = 2.0
_MOST_SECONDS = 20.0
_EVENTS = 100_000

#: So many events are allowed in one window, however long the program has run, and however short.
_MOST_EVENTS = 400_000
_LEAST_EVENTS = 40_000
#: What an event costs in all: recording it, and writing it.
_EVENT_SECONDS = 15e-6
#: What an event takes in a trace, and how many events there are to a call of a module, until a trace has shown it.
_EVENT_BYTES = 430
_EVENTS_OF_A_CALL = 20.0
#: How many events there are to a node of the autograd graph, forward and backward: 8 to 20 were seen.
_EVENTS_OF_A_NODE = 9
#: The number of events is looked at once in so many calls.
_LOOK = 32

#: What makes a fast range one of the user's, not an operator.
_USERS = {"scope": "user_scope"}


class Windows:
    """The profiler's windows of this process; at most one is open."""

    def __init__(self, torch: Any, session: Session) -> None:
        self._torch = torch
        self._session = session
        #: The thread whose operations are being recorded; 0 when none are.
        self.thread = 0
        #: Begins a range in the trace, which has to be left by the one handed out.
        self.range: Callable[[str], Any] = torch.autograd.profiler.record_function
        #: Counts windows, so that a step knows whether its window was still the same when it ended.
        self.number = 0
        #: When the window was opened, in nanoseconds since the epoch.
        self.opened = 0
        #: Whether operations cannot be recorded in this process, which was forked from one that did.
        self.is_forked = False
        #: Whether a window was ended because its only step had too many operations.
        self.was_cut = False
        self._steps = 0
        self._calls = 0
        #: Counts nodes of the autograd graph that this thread has made; older versions do not say.
        self._nodes: Callable[[], int] = getattr(torch.autograd, "_get_sequence_nr", lambda: 0)
        self._first_node = 0
        self._events_of_a_call = _EVENTS_OF_A_CALL
        #: The groups of the steps in the window, and how many events such steps had in their last window.
        self._groups: set[Group] = set()
        self._events_of: dict[Group, float] = {}
        self._others = 0
        self._is_awaited = False
        self._template: Any = None
        self._closing: list[Callable[[], None]] = []
        self._way_out: Optional[Callable[[], Any]] = None

    def install(self) -> None:
        """Makes way for the program's own profiling, and for its forks."""
        profiler = self._torch.autograd.profiler
        for name in ("_prepare_profiler", "_enable_profiler", "_enable_profiler_legacy"):
            if hasattr(profiler, name):
                setattr(profiler, name, self._giving_way(getattr(profiler, name), name))
        for name in ("_disable_profiler", "_disable_profiler_legacy"):
            if hasattr(profiler, name):
                setattr(profiler, name, self._resuming(getattr(profiler, name)))
        # A profiler that is on while its thread forks would go on in the child.
        os.register_at_fork(before=lambda: guarded(self._close_here))
        self._session.when_forked(self._forget)
        self._session.at_end(self.close)

    def before_closing(self, action: Callable[[], None]) -> None:
        """Has something done before a window is closed, such as leaving ranges that are open."""
        self._closing.append(action)

    def covers(self, is_wanted: bool, group: Group) -> bool:
        """Whether the step that begins now, of this group as it seems, is recorded; opens and closes windows as need be."""
        if self.thread:
            age = (time.time_ns() - self.opened) / 1e9
            full = age > _MOST_SECONDS or (self._steps >= _STEPS and age > _SECONDS)
            events = self._events()
            full = full or events > _EVENTS
            # One more step of these has to be allowed, too.
            events += events / max(1, self._steps)
            full = full or events * _EVENT_SECONDS > self._session.spare_seconds()
            if is_wanted and not full:
                self._steps += 1
                self._groups.add(group)
                return True
            guarded(self.close)
        if not is_wanted or self._others or self._is_awaited:
            return False
        if not self._session.affords(self._events_of.get(group, 0.0) * _EVENT_SECONDS):
            return False
        if not guarded(self._open):
            return False
        self._groups = {group}
        return True

    def open_ahead(self, group: Group) -> None:
        """Opens a window for a step that is about to begin."""
        if self.covers(True, group):
            self._steps = 0

    def goes_on(self, is_backward: bool) -> bool:
        """Notes a call of a module; ends the window if it has too many operations."""
        self._calls += 1
        # In the middle of a node of the backward pass the profiler would warn of that node.
        if self._calls % _LOOK or is_backward:
            return True
        if self._events() < self._allowed():
            return True
        self.was_cut = self._steps <= 1
        self.close(is_cut=self.was_cut)
        return False

    def _events(self) -> float:
        """How many events the window is likely to have, with the backward pass that is to come."""
        return max(self._calls * self._events_of_a_call, (self._nodes() - self._first_node) * _EVENTS_OF_A_NODE)

    def _allowed(self) -> float:
        """How many events a window may have by now."""
        return min(_MOST_EVENTS, max(_LEAST_EVENTS, self._session.spare_seconds() / _EVENT_SECONDS))

    def _open(self) -> bool:
        autograd = self._torch.autograd
        start = time.time_ns()
        if self._template is None:
            self._prepare()
        self._synchronise()
        configuration, activities = self._template.config(), self._template.kineto_activities
        autograd._prepare_profiler(configuration, activities)
        autograd._enable_profiler(configuration, activities)
        self.thread = threading.get_ident()
        self.number += 1
        self._steps = 1
        self._calls = 0
        self._first_node = self._nodes()
        self.opened = time.time_ns()
        self._session.cost(start, self.opened)
        return True

    def _prepare(self) -> None:
        """Finds out, once, how this version of torch is asked."""
        self._way_out = forks.way_out()
        level = os.environ.get("KINETO_LOG_LEVEL")
        if level is None:
            # Else the library prints to stderr whenever it starts or stops.
            os.environ["KINETO_LOG_LEVEL"] = "99"
        try:
            torch = self._torch
            template = torch.autograd.profiler.profile(record_shapes=True)
            if torch.cuda.is_available():
                template.kineto_activities.add(torch.profiler.ProfilerActivity.CUDA)
            self.range = self._cheapest_range(template)
            self._template = template
        finally:
            if level is None:
                os.environ.pop("KINETO_LOG_LEVEL", None)

    def _cheapest_range(self, template: Any) -> Callable[[str], Any]:
        """A range through torch's dispatcher takes ten times as long as a fast one, which not every version can mark
        as the user's: tried, since the version does not say."""
        autograd = self._torch.autograd
        fast: Any = getattr(self._torch._C._profiler, "_RecordFunctionFast", None)
        configuration, activities = template.config(), template.kineto_activities
        autograd._prepare_profiler(configuration, activities)
        autograd._enable_profiler(configuration, activities)
        is_users = False
        try:
            with fast("jouletree", (), _USERS):
                pass
        except TypeError:
            pass
        finally:
            events = autograd._disable_profiler().events()
        for event in events:
            if event.name() == "jouletree":
                is_users = event.scope() == int(self._torch._C._profiler.RecordScope.USER_SCOPE)
        if not is_users:
            return self._torch.autograd.profiler.record_function
        return lambda name: fast(name, (), _USERS)

    def close(self, is_cut: bool = False) -> None:
        """Ends the window, if one is open, and writes its trace, unless that has no whole step (`is_cut`)."""
        if not self.thread:
            return
        if self.thread != threading.get_ident():
            # Only its own thread can end it.
            self._session.warn("operations of a thread that had not ended were lost")
            self.thread = 0
            return
        start = time.time_ns()
        for action in self._closing:
            guarded(action)
        self._synchronise()
        self.thread = 0
        recorded = self._torch.autograd._disable_profiler()
        if is_cut and self._steps <= 1:
            del recorded
            self._session.cost(start, time.time_ns(), int(self._calls * self._events_of_a_call))
            return
        path = self._session.new_file("torch-{}.json")
        recorded.save(path)
        self._session.wrote(path)
        events = _size(path) // _EVENT_BYTES
        self._events_of.update(dict.fromkeys(self._groups, events / max(1, self._steps)))
        if self._calls:
            self._events_of_a_call = max(1.0, events / self._calls)
        self._session.cost(start, time.time_ns(), events)

    def _close_here(self) -> None:
        """Ends the window if it is this thread's."""
        if self.thread == threading.get_ident():
            self.close()

    def _synchronise(self) -> None:
        """Lets the GPU finish what it was given: what it does belongs on one side of a window's edge."""
        cuda = self._torch.cuda
        if cuda.is_initialized():
            cuda.synchronize()

    def _forget(self) -> None:
        self.thread = self._others = 0
        self._is_awaited = False
        if self._template is not None:
            self.is_forked = True
            if self._way_out is not None:
                self._way_out()

    def _giving_way(self, begin: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(begin)
        def beginning(*arguments: Any, **named: Any) -> Any:
            guarded(self._give_way)
            result = begin(*arguments, **named)
            self._is_awaited = name == "_prepare_profiler"
            self._others += not self._is_awaited
            return result

        return beginning

    def _give_way(self) -> None:
        self._session.warn(
            "the program uses torch's profiler itself; operations are not recorded while it does"
        )
        self.close()

    def _resuming(self, end: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(end)
        def ending(*arguments: Any, **named: Any) -> Any:
            self._others = max(0, self._others - 1)
            return end(*arguments, **named)

        return ending


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def is_possible(torch: Any) -> Optional[str]:
    """Why operations cannot be recorded with this torch; ``None`` when they can."""
    autograd = torch.autograd
    wanted = ("_prepare_profiler", "_enable_profiler", "_disable_profiler", "kineto_available")
    missing = [name for name in wanted if not hasattr(autograd, name)]
    if missing:
        return f"torch {torch.__version__} has no {', '.join(missing)}"
    if not autograd.kineto_available():
        return "this torch was built without Kineto, its profiler"
    return None
