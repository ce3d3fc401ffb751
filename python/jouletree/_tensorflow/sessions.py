"""Steps of programs that use sessions: tf.estimator, ``MonitoredSession``, and plain loops around ``Session.run``.

All of them come down to one method, and that is where steps are seen. A step whose operations are wanted is run with
tracing on; what TensorFlow recorded is written as it came, without being parsed, let alone turned into JSON: the
program's own ``RunMetadata`` is filled only when the program itself asked for a trace.

The first run of a graph optimises it, which may take many times longer than a step. A step begins with its first
operation then: the first run is traced whether or not its operations are wanted, and what comes before is noted as
compilation.
"""

from __future__ import annotations

import threading
import time
import weakref
from .._session import guarded
from .purpose import EVALUATE, NO_MODULES, PREDICT, batch_of, flat, needed_for, purpose_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional
    from .._session import Session


#: What an operation takes in the metadata of a run, about.
_EVENT_BYTES = 250

#: A program that fetches something else in each run has so many kinds of runs at most.
_MOST = 8


class _Kept:
    """Replaces a ``RunMetadata``: keeps the bytes that it is given."""

    data = b""

    def ParseFromString(self, data: bytes) -> None:  # The name is protobuf's
        self.data = data


class _Run:
    """What is known about the runs of some fetches of a graph."""

    def __init__(self, phase: Optional[str], samples: Optional[int], label: str) -> None:
        self.phase = phase
        self.samples = samples
        #: What distinguishes these runs from others of the phase.
        self.label = label
        #: Sessions that have run it: the first run of each prepares the graph.
        self.prepared: weakref.WeakSet[Any] = weakref.WeakSet()


class Sessions:
    """Sees the runs of all sessions of this process."""

    def __init__(self, session: Session, tensorflow: Any) -> None:
        self._session = session
        self._v1 = tensorflow.compat.v1
        self._said = threading.local()
        self._known: weakref.WeakKeyDictionary[Any, dict[Any, _Run]] = weakref.WeakKeyDictionary()
        #: How many kinds of runs each phase has.
        self._kinds: dict[Optional[str], int] = {}

    def watch(self) -> None:
        """Begins to see runs."""
        owner = next(kind for kind in self._v1.Session.__mro__ if "run" in kind.__dict__)
        plain = owner.run
        sessions = self

        def run(self: Any, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
            about = guarded(sessions._about, self, fetches)
            if about is None or about.phase is None:
                return plain(self, fetches, feed_dict, options, run_metadata)
            return sessions._step(plain, self, about, fetches, feed_dict, options, run_metadata)

        run.__doc__ = plain.__doc__
        run.__wrapped__ = plain  # type: ignore[attr-defined]  # as functools.wraps sets it
        owner.run = run

    def announce(self, phase: Optional[str]) -> None:
        """Says that this thread's next run is a step, whatever its graph looks like."""
        self._said.phase = phase or PREDICT

    def unsay(self) -> None:
        """Takes back what was announced, if no run has come."""
        self._said.phase = None

    def _about(self, session: Any, fetches: Any) -> Optional[_Run]:
        graph = session.graph
        wanted = list(flat(fetches))
        key = tuple(fetch if isinstance(fetch, str) else fetch.name for fetch in wanted)
        known = self._known.setdefault(graph, {})
        about = known.get(key)
        if about is None:
            phase = purpose_of(needed_for(graph, wanted))
            if phase == PREDICT and graph.get_collection(self._v1.GraphKeys.EVAL_STEP):
                phase = EVALUATE
            kinds = self._kinds[phase] = min(self._kinds.get(phase, 0) + 1, _MOST)
            label = "" if kinds == 1 else f"run {kinds}"
            about = known[key] = _Run(phase, _static_batch(graph) if phase else None, label)
        said = getattr(self._said, "phase", None)
        if said is not None:
            self._said.phase = None
            about.phase = about.phase or said
        return about

    def _step(
        self, plain: Any, session: Any, about: _Run, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any
    ) -> Any:
        recording, phase = self._session, about.phase or PREDICT
        number = recording.next_step()
        samples = guarded(_fed_batch, feed_dict) or about.samples
        first = session not in about.prepared
        wanted = recording.wants(phase, about.label)
        traced = guarded(self._traced, options) if wanted or first else None
        kept, recorded = _Kept(), False
        start = time.time_ns()
        try:
            if traced is None:
                result = plain(session, fetches, feed_dict, options, run_metadata)
            else:
                result = plain(session, fetches, feed_dict, traced, kept)
        except BaseException:
            recording.no_step(number)
            raise
        end = time.time_ns()
        about.prepared.add(session)
        if traced is not None:
            if run_metadata is not None:
                _hand_over(kept.data, options, run_metadata)
            if first:
                prepared = guarded(self._first_operation, kept.data, start, end) or start
                recording.compiled(f"prepare {phase}", start, prepared)
                start = prepared
            if wanted:
                recorded = bool(guarded(self._keep, kept.data))
                recording.cost(end, time.time_ns(), len(kept.data) // _EVENT_BYTES)
        if recording.level == "module":
            recording.warn(NO_MODULES)
            recording.ran_module("step", start, end, threading.get_native_id(), phase, "")
        recording.ran_step(number, start, end, phase, recorded, samples, about.label)
        return result

    def _traced(self, options: Any) -> Any:
        traced = self._v1.RunOptions()
        if options is not None:
            traced.CopyFrom(options)
        traced.trace_level = traced.FULL_TRACE
        return traced

    def _first_operation(self, data: bytes, start: int, end: int) -> int:
        """When the first operation began: before it the graph was prepared, which is no part of the step."""
        statistics = self._v1.RunMetadata.FromString(data).step_stats
        begins = (
            node.all_start_nanos or node.all_start_micros * 1000
            for device in statistics.dev_stats
            for node in device.node_stats
            if node.node_name != "_SOURCE"
        )
        return min((begin for begin in begins if start <= begin <= end), default=start)

    def _keep(self, data: bytes) -> bool:
        path = self._session.new_file("tensorflow-{}.pb")
        with open(path, "wb") as file:
            file.write(data)
        self._session.wrote(path)
        return True


def _hand_over(data: bytes, options: Any, run_metadata: Any) -> None:
    """Gives the program the metadata that it would have got without us."""
    asked = options is not None and (
        options.trace_level or options.output_partition_graphs or options.debug_options.ByteSize()
    )
    if asked:
        run_metadata.ParseFromString(data)
    else:
        run_metadata.Clear()


def _fed_batch(feeds: Any) -> Optional[int]:
    return batch_of(list(feeds.values())) if feeds else None


def _static_batch(graph: Any) -> Optional[int]:
    """The size of the batches that the graph's data set gives, where it is always the same."""
    for operation in graph.get_operations():
        if operation.type == "IteratorGetNext":
            return batch_of(list(operation.outputs))
    return None
