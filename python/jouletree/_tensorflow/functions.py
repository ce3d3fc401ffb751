"""Steps of programs that use TensorFlow 2: calls of a ``tf.function`` that are not made by another one.

Keras trains, evaluates and predicts through such functions, and so do loops that people write themselves. The first
call of a function traces its Python code, optimises the graph and makes kernels, which takes many times longer than a
step and is none of the model's layers. It is noted as compilation. What is left of the call is a step: it begins with
its first operation, which is in the profile. A first call that is not recorded is no step. The same
goes for a call that traces the function anew.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from .._session import guarded
from .labels import Labels
from .purpose import NO_MODULES, PREDICT, TRAIN, batch_of, in_graph_def, is_compiled, most_events, purpose_of
from .space import first_operation
from .updates import updates, variables_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional
    from .._session import Session
    from .profiler import Windows
    from .scopes import Scopes


class Phase:
    """What a Keras model does at the moment: its phase, and how many samples a batch has if that is known."""

    def __init__(self, name: str, model: Any, samples: Optional[int], batches: Callable[[], int]) -> None:
        self.name = name
        self.model = model
        self.samples = samples
        #: How many batches the next call of a function takes.
        self.batches = batches


class _Function:
    """What is known about a function."""

    def __init__(
        self, purpose: Optional[str], label: str, names: dict[str, str], is_compiled: bool, events: Optional[float]
    ) -> None:
        #: ``None`` for a function whose calls are no steps.
        self.purpose = purpose
        self.label = label
        #: The layers of scopes in its graphs.
        self.names = names
        #: Whether XLA compiles it, or a part of it.
        self.is_compiled = is_compiled
        #: How many events a call leaves in a profile at most; ``None`` if that is not known.
        self.events = events


class _Call:
    """A call that is going on."""

    def __init__(self, function: Any, known: Optional[_Function], graphs: Callable[[Any], Any]) -> None:
        self.function = function
        self.known = known
        self.graphs = graphs
        self.number = 0
        self.recorded = False
        #: Whether the graph has not run before, so that TensorFlow prepares it.
        self.prepares = known is None
        #: When the call began, or when tracing ended.
        self.start = 0


class _Local(threading.local):
    busy = False
    call: Optional[_Call] = None

    def __init__(self) -> None:
        self.phases: list[Phase] = []


class Functions:
    """Sees the calls of all functions of this process."""

    def __init__(self, session: Session, tensorflow: Any, windows: Optional[Windows], scopes: Scopes) -> None:
        self._session = session
        self._tensorflow = tensorflow
        self._windows = windows
        self._scopes = scopes
        self._known: weakref.WeakKeyDictionary[Any, _Function] = weakref.WeakKeyDictionary()
        #: The layers of scopes, by graph.
        self._names: weakref.WeakKeyDictionary[Any, dict[str, str]] = weakref.WeakKeyDictionary()
        self._labels = Labels()
        version = str(tensorflow.__version__).split(".")[:2]
        #: Whether profiles contain what XLA has compiled; before 2.16 they do not.
        self._lists_instructions = [int(part) for part in version if part.isdigit()] >= [2, 16]
        #: Steps that are counted once their window is written, by phase and function.
        self._waiting: dict[tuple[str, str], int] = {}
        self.local = _Local()
        #: Called with a model that has just run for the first time, in a function of its own.
        self.model_ran: Optional[Callable[[Any], None]] = None
        #: Called when a function begins to run that is a step.
        self.step_begins: Optional[Callable[[], None]] = None
        session.when_forked(self._waiting.clear)

    def watch(self) -> None:
        """Begins to see calls."""
        from tensorflow.python.eager.polymorphic_function import concrete_function

        self._watch(type(self._tensorflow.function(lambda: None)), _graphs_of_function)
        self._watch(concrete_function.ConcreteFunction, lambda function: [function.graph])

    def _watch(self, owner: type, graphs: Callable[[Any], Any]) -> None:
        plain = owner.__call__
        functions, local = self, self.local
        eagerly = self._tensorflow.executing_eagerly
        debugging = self._tensorflow.config.functions_run_eagerly

        def __call__(self: Any, *args: Any, **kwds: Any) -> Any:
            if local.busy or not eagerly() or debugging():
                return plain(self, *args, **kwds)
            known = functions._known.get(self)
            if known is not None and known.purpose is None:
                return plain(self, *args, **kwds)
            local.busy = True
            local.call = call = _Call(self, known, graphs)
            try:
                return functions._called(plain, call, args, kwds)
            finally:
                local.busy = False
                local.call = None

        __call__.__doc__ = plain.__doc__
        __call__.__wrapped__ = plain  # type: ignore[attr-defined]  # as functools.wraps sets it
        owner.__call__ = __call__  # type: ignore[method-assign]  # TensorFlow's class, patched

    def _called(self, plain: Any, call: _Call, args: Any, kwds: Any) -> Any:
        # A function that was traced without being called, or read from a file, is known by its graphs.
        if call.known is None:
            guarded(self._look_at, call)
        guarded(self._begin, call)
        returned = False
        call.start = time.time_ns()
        try:
            result = plain(call.function, *args, **kwds)
            returned = True
        finally:
            guarded(self._end, call, time.time_ns(), returned, args)
        return result

    def traced(self, concrete: Any, start: int, end: int) -> None:
        """A function was traced: in the call that is going on, or because the program asked for that alone."""
        names = self._scopes.take()
        if self._windows is not None:
            names.update(guarded(_updates, concrete.graph, names) or {})
        self._names[concrete.graph] = names
        call = self.local.call
        if call is None:
            return
        if call.known is None or call.known.purpose is None:
            self._look_at(call, concrete.graph)
        elif call.known is not None:
            call.known.names.update(self._names[concrete.graph])
        call.prepares = True
        self._begin(call)
        call.start = time.time_ns()

    def _begin(self, call: _Call) -> None:
        """Has the step recorded that this call is, if it is one and wanted."""
        known, session, windows = call.known, self._session, self._windows
        if known is None or known.purpose is None:
            return
        if not call.number:
            if self.step_begins is not None:
                self.step_begins()
            call.number = session.next_step()
        key = self._phase_of(known.purpose), known.label
        wanted = windows is not None and session.wants(*key, self._waiting.get(key, 0))
        if call.prepares and known.is_compiled and not self._lists_instructions:
            # Compiling and running would be one in the profile.
            wanted = False
        if wanted and windows is not None:
            windows.expect(key, known.events)
            call.recorded = bool(guarded(windows.open, key, known.names, call.prepares))
        else:
            call.recorded = False
        if windows is not None and not wanted and call.prepares:
            # Operations of a call that is no step do not belong into its trace.
            windows.close()

    def _end(self, call: _Call, end: int, returned: bool, args: Any) -> None:
        session, windows, known = self._session, self._windows, call.known
        if known is None:
            # It neither has graphs nor was it traced: an error in its arguments.
            return
        self._known[call.function] = known
        if known.purpose is None:
            return
        phase = self._phase_of(known.purpose)
        key = phase, known.label
        batches, samples = self._batches(), self._samples(args)
        if not returned:
            session.no_step(call.number)
        elif not call.prepares:
            self._ran(call.number, call.start, end, batches, phase, call.recorded, samples, known.label)
        elif call.recorded and windows is not None:
            self._waiting[key] = self._waiting.get(key, 0) + batches
            windows.when_written(
                lambda path: self._prepared(path, call, end, batches, phase, samples, known.label)
            )
        else:
            session.no_step(call.number)
            session.compiled(f"first run of {known.label}", call.start, end)
        if windows is not None:
            windows.stepped(session.wants(*key, self._waiting.get(key, 0)), batches)
        if call.prepares and self.local.phases and self.model_ran is not None:
            self.model_ran(self.local.phases[-1].model)

    def _prepared(
        self, path: Optional[str], call: _Call, end: int, batches: int, phase: str, samples: Optional[int], label: str
    ) -> None:
        """Counts a call whose graph was prepared in it, now that its profile has the beginning of its operations."""
        self._waiting[phase, label] -= batches
        first = first_operation(path, call.start) if path is not None else None
        if first is None or first >= end:
            self._session.no_step(call.number)
            self._session.compiled(f"first run of {label}", call.start, end)
            return
        self._session.compiled(f"prepare {label}", call.start, first)
        self._ran(call.number, first, end, batches, phase, True, samples, label)

    def _ran(
        self,
        number: int,
        start: int,
        end: int,
        batches: int,
        phase: str,
        recorded: bool,
        samples: Optional[int],
        label: str,
    ) -> None:
        """Notes a call that ran; each of its batches is a step, and takes an equal part of it."""
        session = self._session
        for batch in range(batches):
            begin, until = (start + (end - start) * part // batches for part in (batch, batch + 1))
            if session.level == "module":
                session.warn(NO_MODULES)
                session.ran_module("step", begin, until, threading.get_native_id(), phase, "")
            number = session.next_step() if batch else number
            session.ran_step(number, begin, until, phase, recorded, samples, label)

    def _batches(self) -> int:
        phase = self.local.phases[-1] if self.local.phases else None
        return max(1, guarded(phase.batches) or 1) if phase is not None else 1

    def _samples(self, args: Any) -> Optional[int]:
        phase = self.local.phases[-1] if self.local.phases else None
        return guarded(batch_of, args) or (phase.samples if phase is not None else None)

    def _look_at(self, call: _Call, *traced: Any) -> None:
        """Finds out what a function is for; the graphs of one whose calls are steps are written as the model's."""
        graphs = [*call.graphs(call.function), *traced]
        if not graphs:
            return
        definitions = [graph.as_graph_def(add_shapes=True) for graph in graphs]
        found = [purpose_of(in_graph_def(definition)) for definition in definitions]
        purpose = TRAIN if TRAIN in found else PREDICT if PREDICT in found else None
        names: dict[str, str] = {}
        for graph in graphs:
            names.update(self._names.get(graph, {}))
        model = self.local.phases[-1].model if self.local.phases else None
        label = self._labels.new(call.function, self._phase_of(purpose), model) if purpose is not None else ""
        events = most_events(definitions[-1])
        call.known = _Function(purpose, label, names, any(map(is_compiled, definitions)), events)
        if purpose is not None and self._session.level == "op" and not _renumbers_layers():
            with open(self._session.new_file("model-{}.pb"), "wb") as file:
                file.write(definitions[-1].SerializeToString())

    def _phase_of(self, purpose: str) -> str:
        """The phase of a call of a function with this purpose."""
        phase = self.local.phases[-1] if self.local.phases else None
        if phase is None or purpose == TRAIN:
            return purpose
        return PREDICT if phase.name == TRAIN else phase.name


def _updates(graph: Any, names: dict[str, str]) -> dict[str, str]:
    """What is known about the operations of an optimizer, if a graph has one."""
    definition = graph.as_graph_def()
    is_trained = purpose_of(in_graph_def(definition)) == TRAIN
    return updates(definition, variables_of(graph), names) if is_trained else {}


def _graphs_of_function(function: Any) -> Any:
    return [concrete.graph for concrete in function._list_all_concrete_functions()]


def _renumbers_layers() -> bool:
    """Whether layers have other names in graphs than in the program, as those of Keras 3 do (``layer_0_1``)."""
    keras = sys.modules.get("keras")
    return keras is not None and not str(getattr(keras, "__version__", "2")).startswith("2")
