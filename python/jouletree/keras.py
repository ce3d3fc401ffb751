"""Keras 2 and 3 on TensorFlow: which phase a model is in, what its layers are, and joules in its logs.

Under ``jouletree run`` nothing of this is needed: the steps of ``fit``, ``evaluate``, ``predict`` and of their
``..._on_batch`` sisters are calls of functions, which the TensorFlow adapter sees; here they are distinguished, and the
layers of the model that ran are written down. Calls of models without a function are steps, too. Programs that want
joules in their history and progress bar pass :class:`EnergyCallback` to ``fit``; other logs are not touched. With another
backend than TensorFlow its own adapter records the steps.
"""

from __future__ import annotations

import functools
import sys
import weakref
from ._imports import when_imported
from ._session import current, guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Optional

    import keras.callbacks

    class EnergyCallback(keras.callbacks.Callback):
        """Adds joules to the logs of every epoch. Made when it is first asked for."""

        def __init__(self) -> None: ...

__all__ = ["EnergyCallback", "adapt"]

_PHASES = {
    "fit": "train",
    "train_on_batch": "train",
    "evaluate": "evaluate",
    "test_on_batch": "evaluate",
    "predict": "predict",
    "predict_on_batch": "predict",
}
#: How many samples Keras puts into a batch of arrays by default.
_BATCH = 32

_written: weakref.WeakSet[Any] = weakref.WeakSet()


def adapt(keras: ModuleType) -> None:
    """Begins to distinguish phases."""
    session = current()
    if session is None:
        return
    if not _runs_on_tensorflow(keras):
        if keras.config.backend() == "torch":
            from ._torch import keras_models

            keras_models.adapt(keras, _PHASES)
        return
    version = str(getattr(keras, "__version__", "?"))
    session.uses(keras.__name__, version)
    # TensorFlow may import Keras before it is imported itself.
    when_imported("tensorflow", lambda _: _adapt_scopes(version))
    keras.Model.__call__ = _called(keras.Model.__call__)
    for optimizer in _optimizers(keras):
        optimizer.apply_gradients = _updating(optimizer.apply_gradients)
    for name in _PHASES:
        plain = getattr(keras.Model, name, None)
        if plain is not None:
            setattr(keras.Model, name, _in_phase(plain, name))


def _runs_on_tensorflow(keras: Any) -> bool:
    if str(getattr(keras, "__version__", "")).startswith("2."):
        return True
    return bool(keras.config.backend() == "tensorflow")


def _adapt_scopes(version: str) -> None:
    from ._tensorflow.scopes import owner_in_keras_3
    from .tensorflow import scopes

    watched = scopes()
    # In graphs of Keras 2 layers have the names that the program gives them.
    if watched is not None and not version.startswith("2."):
        watched.owner = owner_in_keras_3()


def _optimizers(keras: Any) -> list[Any]:
    """The classes that optimizers derive from."""
    legacy = getattr(keras.optimizers, "legacy", None)
    found = [keras.optimizers.Optimizer, getattr(legacy, "Optimizer", None)]
    return [kind for kind in dict.fromkeys(found) if hasattr(kind, "apply_gradients")]


def _called(plain: Callable[..., Any]) -> Callable[..., Any]:
    from .tensorflow import eager

    @functools.wraps(plain)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        watched = eager()
        return plain(self, *args, **kwargs) if watched is None else watched.call(plain, self, args, kwargs)

    return __call__


def _updating(plain: Callable[..., Any]) -> Callable[..., Any]:
    from .tensorflow import eager

    @functools.wraps(plain)
    def apply_gradients(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = plain(self, *args, **kwargs)
        watched = eager()
        if watched is not None:
            watched.updated()
        return result

    return apply_gradients


def _in_phase(plain: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(plain)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        phases = guarded(_begin, self, name, args, kwargs)
        try:
            return plain(self, *args, **kwargs)
        finally:
            if phases is not None:
                phases.pop()

    return method


def _begin(model: Any, name: str, args: Any, kwargs: Any) -> Any:
    from ._tensorflow.functions import Phase
    from .tensorflow import functions

    watched = functions()
    if watched is None:
        return None
    watched.model_ran = _ran
    samples = guarded(_samples, name, args[0] if args else kwargs.get("x"), kwargs)
    batches = guarded(_batches, model, name, args[0] if args else kwargs.get("x"), kwargs) or (lambda: 1)
    watched.local.phases.append(Phase(_PHASES[name], model, samples, batches))
    return watched.local.phases


def _samples(method: str, x: Any, kwargs: Any) -> Optional[int]:
    """How many samples every batch has; ``None`` when that is not known or not the same for all."""
    spec = getattr(x, "element_spec", None)
    if spec is not None:
        from ._tensorflow.purpose import batch_of

        return batch_of(spec)
    shape = getattr(x, "shape", None)
    if shape is None or not len(shape) or kwargs.get("validation_split"):
        return None
    batch = shape[0] if method.endswith("_on_batch") else kwargs.get("batch_size") or _BATCH
    return int(batch) if int(shape[0]) % int(batch) == 0 else None


def _batches(model: Any, method: str, x: Any, kwargs: Any) -> Callable[[], int]:
    """The variable with how many batches the next execution takes (``steps_per_execution``)."""
    if method.endswith("_on_batch"):
        return lambda: 1
    # Keras 2 keeps it in a variable, which it sets for each execution.
    variable: Any = getattr(model, "_steps_per_execution", None)
    if hasattr(variable, "numpy"):
        is_fixed = int(variable.numpy()) == 1 and not getattr(model, "autotune_steps_per_execution", False)
        return (lambda: 1) if is_fixed else (lambda: int(variable.numpy()))
    most = int(getattr(model, "steps_per_execution", 1) or 1)
    if most == 1:
        return lambda: 1
    total = kwargs.get("steps_per_epoch" if method == "fit" else "steps") or _batches_in(x, kwargs)
    done = [0]

    def batches() -> int:
        if not total:
            return most
        now = min(most, total - done[0])
        done[0] = (done[0] + now) % total
        return now

    return batches


def _batches_in(x: Any, kwargs: Any) -> Optional[int]:
    """How many batches an epoch has; ``None`` when that is not known."""
    if hasattr(x, "cardinality"):
        return max(0, int(x.cardinality())) or None
    shape = getattr(x, "shape", None)
    if shape is None or not len(shape) or kwargs.get("validation_split"):
        return None
    return -(-int(shape[0]) // int(kwargs.get("batch_size") or _BATCH))


def _ran(model: Any) -> None:
    """Writes the layers of a model that has run, once."""
    if model in _written:
        return
    _written.add(model)
    session = current()
    if session is not None:
        from ._tensorflow.layers import tree_of

        session.write_model(tree_of(model))


def _measuring() -> Any:
    """The functions that measure a window; ``None`` when there are none."""
    try:
        from . import begin_window, end_window
    except ImportError:
        return None
    return begin_window, end_window


def _make_callback(keras: Any) -> type:
    class EnergyCallback(keras.callbacks.Callback):
        """Adds the joules of every epoch to its logs, and so to the history, the progress bar and other callbacks.

        ``energy_j`` is what the epoch took, its validation included, and ``energy_j_per_step`` that by the number of
        its training steps. Outside of ``jouletree run`` the first epoch starts a recorder of this process.
        """

        def __init__(self) -> None:
            super().__init__()
            self._window: Any = None

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self._window = guarded(self._begin, epoch)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            window, self._window = self._window, None
            if window is not None and logs is not None:
                guarded(self._end, window, logs)

        def _begin(self, epoch: int) -> Any:
            measuring = _measuring()
            return measuring[0](f"epoch {epoch + 1}", quiet=True) if measuring else None

        def _end(self, window: Any, logs: Any) -> None:
            measured = _measuring()[1](window)
            if measured is None:
                return
            logs["energy_j"] = measured.joules
            steps = (self.params or {}).get("steps")
            if steps:
                logs["energy_j_per_step"] = measured.joules / steps

    EnergyCallback.__module__ = __name__
    EnergyCallback.__qualname__ = "EnergyCallback"
    return EnergyCallback


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "EnergyCallback":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        keras = sys.modules.get("keras") or sys.modules.get("tf_keras")
        if keras is None:
            import keras
        made = _make_callback(keras)
        globals()[name] = made
        return made
