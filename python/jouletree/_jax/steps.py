"""Steps of a JAX program, from the calls of its jitted functions.

JAX returns from a call before the results are there. A step therefore lasts from its call to the call that begins the
next step, and only at the edges of a recorded window the program is made to wait for its results. The last step of a
program has no next one: it lasts until the process ends, or as long as the longest step that the same function began
before if the process went on for longer.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from .._session import guarded
from .calls import Calls, Function
from .ledger import Ledger, Row
from .window import Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Optional

    from .._session import Session

#: How many times as long as the longest before it the last step may be.
_LONGER = 1.1
#: How many arrays are waited for before a window.
_ARRAYS = 10_000

_WITHOUT_STEPS = (
    "JAX ran operations, but called no function compiled by jax.jit: there are no steps and no operations; "
    "call the training step through jax.jit"
)

_WITHOUT_MODULES = "JAX runs compiled programs, which know no modules: steps are recorded, layers need --level op"


class Steps:
    """The steps of this process."""

    def __init__(self, session: Session, jax: ModuleType) -> None:
        from jax._src.core import trace_state_clean

        self._session = session
        self._config = jax.config
        self._live_arrays: Callable[[], list[Any]] = jax.live_arrays
        self._leaves: Callable[[Any], list[Any]] = jax.tree_util.tree_leaves
        self._is_outermost = trace_state_clean
        self._window = Window(session, jax)
        self._here = threading.local()
        self._forget()
        session.when_forked(self._fork)
        session.at_end(self.end)
        # JAX takes its backends down at exit, too; what was asked for later is done before that.
        atexit.register(guarded, self.end)

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._ledger = Ledger(self._session)
        self._calls = Calls()
        self._calls.when_in_turn = self._ledger.in_turn
        #: The function that leads the step under way; `None` when there is none.
        self._leader: Optional[Function] = None
        self._is_first = False
        self._recorded = False
        self._start = 0
        self._last: Optional[Callable[[], Any]] = None
        self._has_steps = False
        self._has_compiled = False

    def before(self, function: Function) -> Any:
        """Notes that a jitted function is about to be called; what it returns, `after` or `failed` is to be given."""
        here = self._here
        if getattr(here, "busy", False) or not self._is_outermost():
            return None
        here.busy = True
        return guarded(self._before, function) or 0.0

    def after(self, function: Function, begun: Any, results: Any) -> None:
        """Notes that it has returned."""
        if begun is not None:
            guarded(self._after, function, results, begun)
            self._leave_call()

    def failed(self, begun: Any) -> None:
        """Notes that it has raised something."""
        if begun is not None:
            self._leave_call()

    def compiled(self, end_ns: int) -> None:
        """Notes that something was compiled until then.

        A step begins with what is run, not with what is prepared: compilation within the call that leads the step moves
        its beginning. What is compiled later, as for a look at a result, comes after operations of the step.
        """
        self._has_compiled = True
        leading = getattr(self._here, "leading", None)
        # Without jit the operations of a function are compiled one by one, between runs of others.
        if leading is None or leading is not self._leader or getattr(self._config, "jax_disable_jit", False):
            return
        self._start = max(self._start, end_ns)

    def end(self) -> None:
        """Ends the last step and its window."""
        with self._lock:
            leader = self._leader
            if leader is not None:
                self._wait()
                end = time.time_ns()
                longest = leader.longest_ns
                # A step may take a little longer than those before it; else the program did something else after it.
                self._end_step(self._start + longest if 0 < _LONGER * longest < end - self._start else end)
            self._ledger.write()
            self._window.close()
            if self._has_compiled and not self._has_steps:
                self._session.warn(_WITHOUT_STEPS)

    def _before(self, function: Function) -> float:
        """The time at which a timed call begins, and 0 for others."""
        with self._lock:
            timed = function.is_to_be_timed()
            if timed:
                self._wait()
            if self._calls.begins_step(function):
                self._begin_step(function)
                self._here.leading = function
        return time.perf_counter() if timed else 0.0

    def _after(self, function: Function, results: Any, began: float) -> None:
        array = self._first_array(results)
        if array is not None:
            self._last = weakref.ref(array)
        if began:
            self._wait()
            function.took(time.perf_counter() - began)

    def _leave_call(self) -> None:
        self._here.leading = None
        self._here.busy = False

    def _begin_step(self, function: Function) -> None:
        window = self._window
        wanted = self._wants(function)
        if window.is_open and (not wanted or window.is_full()):
            self._wait()
            self._end_step(time.time_ns())
            guarded(window.close)
        elif wanted and not window.is_open:
            self._wait_for_all()
        self._end_step(time.time_ns())
        if wanted:
            guarded(window.open)
        if not self._has_steps and self._session.level == "module":
            # Not before: other frameworks import JAX without using it.
            self._session.warn(_WITHOUT_MODULES)
        self._has_steps = True
        self._leader = function
        self._is_first = function.was_called_once()
        self._recorded = window.is_open
        self._start = time.time_ns()

    def _wants(self, function: Function) -> bool:
        """Whether the step that this function begins is to be recorded."""
        leader = self._leader
        key = (function.phase, function.label)
        # The step under way and those held back are not counted yet.
        uncounted = self._ledger.held(function)
        if leader is not None and (leader.phase, leader.label) == key:
            uncounted += 1
        return self._session.wants(*key, ahead=uncounted)

    def _end_step(self, end_ns: int) -> None:
        leader = self._leader
        if leader is None:
            return
        self._ledger.add(Row(self._start, max(end_ns, self._start), leader, self._recorded, self._is_first))
        self._leader = None
        if self._recorded:
            self._window.ran_step()
        if leader.calls > 1:
            leader.longest_ns = max(leader.longest_ns, end_ns - self._start)

    def _wait(self) -> None:
        """Waits until what was called last has its results."""
        array = self._last() if self._last is not None else None
        if array is None:
            return
        try:
            if not array.is_deleted():
                array.block_until_ready()
        except Exception:  # noqa: BLE001 -- the program meets its own failure when it asks for the results
            pass

    def _wait_for_all(self) -> None:
        """Waits until everything has its results: what the program began before a window is no part of its steps."""
        for array in self._live_arrays()[:_ARRAYS]:
            try:
                if not array.is_deleted():
                    array.block_until_ready()
            except Exception:  # noqa: BLE001 -- as above
                pass
        self._wait()

    def _first_array(self, results: Any) -> Any:
        """One array among the results: a compiled program has all its results at the same time."""
        if hasattr(results, "block_until_ready"):
            return results
        if isinstance(results, (tuple, list)):
            among: Any = results
        elif isinstance(results, dict):
            among = results.values()
        else:
            among = self._leaves(results)
            return next((leaf for leaf in among if hasattr(leaf, "block_until_ready")), None)
        for part in among:
            array = self._first_array(part)
            if array is not None:
                return array
        return None

    def _fork(self) -> None:
        self._window.abandon()
        self._forget()
