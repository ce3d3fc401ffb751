"""Steps of programs that use TensorFlow 2: calls of a ``tf.function`` that are not made by another one.

Keras trains, evaluates and predicts through such functions, and so do loops that people write themselves. The first
call of a function traces and compiles it, which takes many times longer than a step and is none of the model's layers:
it is preparation and not counted as a step, or everything that is told of steps would be told of the compiler. The same
goes for a call that traces the function anew.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from .._session import guarded
from .purpose import PREDICT, TRAIN, batch_of, in_graph_def, purpose_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional
    from .._session import Session
    from .profiler import Windows

#: A function whose calls are no steps.
_NO_STEP = ""


class Phase:
    """What a Keras model does at the moment: its phase, and how many samples a batch has if that is known."""

    def __init__(self, name: str, model: Any, samples: Optional[int]) -> None:
        self.name = name
        self.model = model
        self.samples = samples


class _Local(threading.local):
    busy = False

    def __init__(self) -> None:
        self.phases: list[Phase] = []


class Functions:
    """Sees the calls of all functions of this process."""

    def __init__(self, session: Session, tensorflow: Any, windows: Optional[Windows]) -> None:
        self._session = session
        self._tensorflow = tensorflow
        self._windows = windows
        self._purposes: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self.local = _Local()
        #: Called with a model that has just run for the first time, in a function of its own.
        self.model_ran: Optional[Callable[[Any], None]] = None

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
            purpose = functions._purposes.get(self)
            if purpose == _NO_STEP:
                return plain(self, *args, **kwds)
            local.busy = True
            try:
                if purpose is None:
                    return functions._first_call(plain, graphs, self, args, kwds)
                return functions._step(plain, purpose, self, args, kwds)
            finally:
                local.busy = False

        __call__.__doc__ = plain.__doc__
        __call__.__wrapped__ = plain  # type: ignore[attr-defined]
        owner.__call__ = __call__  # type: ignore[method-assign, assignment]

    def _first_call(self, plain: Any, graphs: Any, function: Any, args: Any, kwds: Any) -> Any:
        if self._windows is not None:
            # Operations of a call that is no step do not belong into its trace.
            guarded(self._windows.close)
        result = plain(function, *args, **kwds)
        purpose = guarded(self._look_at, graphs, function) or _NO_STEP
        self._purposes[function] = purpose
        if purpose and self.local.phases and self.model_ran is not None:
            guarded(self.model_ran, self.local.phases[-1].model)
        return result

    def _look_at(self, graphs: Any, function: Any) -> Optional[str]:
        """What a function is for; the graphs of one whose calls are steps are written as the model's."""
        definitions = [graph.as_graph_def(add_shapes=True) for graph in graphs(function)]
        found = [purpose_of(in_graph_def(definition)) for definition in definitions]
        purpose = TRAIN if TRAIN in found else PREDICT if PREDICT in found else None
        if purpose is not None and self._session.level == "op" and not _renumbers_layers():
            with open(self._session.new_file("model-{}.pb"), "wb") as file:
                file.write(definitions[-1].SerializeToString())
        return purpose

    def _step(self, plain: Any, purpose: str, function: Any, args: Any, kwds: Any) -> Any:
        session, windows = self._session, self._windows
        number = session.next_step()
        recorded = bool(windows is not None and session.wants(self._phase_of(purpose)) and guarded(windows.open))
        traces = _traces(function)
        start = time.time_ns()
        is_step = False
        try:
            result = plain(function, *args, **kwds)
            is_step = traces == _traces(function)
        finally:
            end = time.time_ns()
            if is_step:
                self._noted(number, start, end, purpose, recorded, args)
            else:
                session.no_step(number)
            if windows is not None:
                guarded(windows.stepped, session.wants(self._phase_of(purpose)))
        return result

    def _phase_of(self, purpose: str) -> str:
        """The phase of a call of a function with this purpose."""
        phase = self.local.phases[-1] if self.local.phases else None
        if phase is None or purpose == TRAIN:
            return purpose
        return PREDICT if phase.name == TRAIN else phase.name

    def _noted(self, number: int, start: int, end: int, purpose: str, recorded: bool, args: Any) -> None:
        phase = self.local.phases[-1] if self.local.phases else None
        name = self._phase_of(purpose)
        samples = guarded(batch_of, args)
        if phase is not None:
            samples = samples or phase.samples
        if self._session.level == "module":
            self._session.ran_module("step", start, end, threading.get_native_id(), name, "")
        self._session.ran_step(number, start, end, name, recorded, samples)


def _graphs_of_function(function: Any) -> Any:
    return [concrete.graph for concrete in function._list_all_concrete_functions()]


def _renumbers_layers() -> bool:
    """Whether layers have other names in graphs than in the program, as those of Keras 3 do (``layer_0_1``)."""
    keras = sys.modules.get("keras")
    return keras is not None and not str(getattr(keras, "__version__", "2")).startswith("2")


def _traces(function: Any) -> int:
    count = getattr(function, "experimental_get_tracing_count", None)
    return count() if count is not None else 0
