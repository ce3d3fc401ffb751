"""Keras on PyTorch: its layers are modules of torch, but its names, phases and optimizers are its own.

Keras keeps layers in lists that say nothing, and builds models by calling layers with tensors that hold no data. So
layers are named as Keras names them, a call that only builds is no step, and the phase is that of the method that runs.
"""

from __future__ import annotations

import functools
import time
import weakref
from .._keras_calls import is_symbolic
from .._session import guarded
from .phases import begin_phase
from .recorder import installed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable
    from .names import Names


def adapt(keras: Any, phases: dict[str, str]) -> None:
    """Begins to see the models of Keras; `phases` are those of its methods."""
    from keras.src import backend

    keras.layers.Layer.__call__ = _called(keras.layers.Layer.__call__)
    backend.compute_output_spec = _building(backend.compute_output_spec)
    keras.optimizers.Optimizer.apply = _optimizing(keras.optimizers.Optimizer.apply)
    for name, phase in phases.items():
        plain = getattr(keras.Model, name, None)
        if plain is not None:
            setattr(keras.Model, name, _in_phase(plain, phase))


def _called(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = installed()
        if recorder is None:
            return plain(self, *args, **kwargs)
        if not recorder.is_building and is_symbolic(args, kwargs):
            return _while_building(recorder, plain, (self, *args), kwargs)
        if not recorder.thread.stack and not recorder.is_building:
            guarded(_name, recorder.names, self, None)
        return plain(self, *args, **kwargs)

    return __call__


def _building(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def compute_output_spec(*args: Any, **kwargs: Any) -> Any:
        recorder = installed()
        if recorder is None or recorder.is_building:
            return plain(*args, **kwargs)
        return _while_building(recorder, plain, args, kwargs)

    return compute_output_spec


def _while_building(recorder: Any, plain: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    recorder.is_building = True
    try:
        return plain(*args, **kwargs)
    finally:
        recorder.is_building = False


#: The layers that have a name of Keras.
_named: weakref.WeakSet[Any] = weakref.WeakSet()


def _name(names: Names, layer: Any, above: Any) -> None:
    """Names a model, and the layers in it, as Keras does."""
    entry = names.entries.get(id(layer))
    name = str(layer.name).replace(".", "_")
    qualified = name if above is None else f"{above.qualified}.{name}"
    is_known = entry is not None and entry.module() is layer
    # A part that is called by its model has a name already.
    if entry is not None and is_known and (entry.qualified == qualified or (above is None and layer in _named)):
        return
    _named.add(layer)
    entry = names._enter(layer, qualified, above.root if above is not None else None)
    for inner in _inner(layer):
        # A layer that is used twice is named where it is first.
        known = names.entries.get(id(inner))
        is_named = known is not None and known.module() is inner and known.root is entry.root
        if not is_named:
            _name(names, inner, entry)


def _inner(layer: Any) -> list[Any]:
    return list(layer._flatten_layers(include_self=False, recursive=False))


def _in_phase(plain: Callable[..., Any], phase: str) -> Callable[..., Any]:
    @functools.wraps(plain)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        # Training is what takes gradients; the rest of `fit` is what it seems to be.
        before = begin_phase(None if phase == "train" else phase)
        try:
            return plain(self, *args, **kwargs)
        finally:
            begin_phase(before)

    return method


class _Optimizer:
    """An optimizer of Keras, as those of torch look."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = weakref.ref(optimizer)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        optimizer = self._optimizer()
        variables = getattr(optimizer, "_trainable_variables", ())
        return [{"params": [variable.value for variable in variables]}]


#: Each lives as long as the optimizer that it looks like.
_optimizers: weakref.WeakKeyDictionary[Any, _Optimizer] = weakref.WeakKeyDictionary()


def _optimizing(plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = installed()
        if recorder is None or recorder.thread.optimizing:
            return plain(self, *args, **kwargs)
        recorder.has_optimizer = True
        thread, kind = recorder.thread, type(self).__name__
        optimizer = _optimizers.setdefault(self, _Optimizer(self))
        guarded(getattr(thread.steps, "optimizes", _nothing), optimizer)
        start = thread.optimizing = time.time_ns()
        try:
            with recorder.torch.profiler.record_function(f"Optimizer.step#{kind}.step"):
                result = plain(self, *args, **kwargs)
        finally:
            thread.optimizing = 0
        if recorder.windows is None:
            path = f"optimizer/{kind}.step"
            recorder.session.ran_module(path, start, time.time_ns(), thread.lane, kind, "optimizer")
        guarded(thread.steps.optimized, optimizer)
        return result

    return apply


def _nothing(*_: Any) -> None:
    """Does nothing."""
