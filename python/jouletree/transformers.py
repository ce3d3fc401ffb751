"""Hugging Face transformers: ``EnergyCallback`` logs joules by step, sample and epoch to the Trainer's own loggers.

A program asks for it with ``Trainer(callbacks=[EnergyCallback()])``; what other Trainers log stays as it is. The figures are
``energy_j_per_step``, ``energy_j_per_sample``, ``energy_j_per_epoch`` and, at the end, ``train_energy_j``, all without
evaluation; where power is estimated rather than measured their names end in ``_estimated``.
"""

from __future__ import annotations

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from transformers import TrainerCallback

    class EnergyCallback(TrainerCallback):
        """Logs the energy of training. Made when it is first asked for."""

        def __init__(self) -> None: ...

__all__ = ["EnergyCallback", "adapt"]


def adapt(module: ModuleType) -> None:
    """Sets the phases of evaluation and generation, and orders callbacks that log energy."""
    from ._imports import when_imported

    when_imported("transformers.trainer", _adapt_trainer)
    when_imported("transformers.generation.utils", _adapt_generation)


def _adapt_trainer(module: ModuleType) -> None:
    from ._torch.phases import in_phase

    _order_callbacks(module)
    trainer = module.Trainer
    for name, phase in (("evaluate", "evaluate"), ("predict", "predict")):
        setattr(trainer, name, in_phase(phase, getattr(trainer, name)))


def _order_callbacks(module: ModuleType) -> None:
    """Has every trainer call a callback that logs energy before those that report the log."""
    from ._session import guarded

    trainer = module.Trainer
    initialise = trainer.__init__

    @functools.wraps(initialise)
    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        initialise(self, *arguments, **named)
        guarded(_put_first, self)

    trainer.__init__ = __init__


def _adapt_generation(module: ModuleType) -> None:
    from ._torch.phases import in_phase

    module.GenerationMixin.generate = in_phase("predict", module.GenerationMixin.generate)


def _put_first(trainer: Any) -> None:
    """Puts the program's callback, if it has one, before those that report: what it adds to the log is then reported."""
    callbacks = trainer.callback_handler.callbacks
    own = next((callback for callback in callbacks if type(callback).__module__ == __name__), None)
    if own is not None:
        callbacks.remove(own)
        callbacks.insert(0, own)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "EnergyCallback":
            return _energy_callback()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _energy_callback() -> Any:
    # This module has the same name as the framework's, but is another: the import is absolute.
    from transformers import TrainerCallback

    from ._imports import when_imported
    from ._session import current
    from ._torch.energy import Tally

    if current() is None:
        # Under `jouletree run` the order is that of `adapt`.
        when_imported("transformers.trainer", _order_callbacks)

    class EnergyCallback(TrainerCallback):
        """Logs the energy of training: see the module."""

        def __init__(self) -> None:
            self._tally = Tally("training")
            self._of_epoch: dict[str, float] = {}

        def on_train_begin(self, args: Any, state: Any, control: Any, **named: Any) -> None:
            for mark in ("train", "epoch", "log"):
                self._tally.mark(mark)
            self._tally.resume()

        def on_step_begin(self, args: Any, state: Any, control: Any, **named: Any) -> None:
            self._tally.resume()

        def on_step_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
            self._tally.ran(args.train_batch_size * args.gradient_accumulation_steps)

        def on_prediction_step(self, args: Any, state: Any, control: Any, **named: Any) -> None:
            self._tally.pause()

        def on_epoch_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
            self._tally.pause()
            self._of_epoch = self._tally.used_since("epoch", "energy_j_per_epoch")

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **named: Any) -> None:
            if logs is None or not ("loss" in logs or "train_runtime" in logs):
                return
            self._tally.pause()
            figures = dict(self._of_epoch)
            self._of_epoch = {}
            if "train_runtime" in logs:
                figures.update(self._tally.used_since("train", "train_energy_j"))
            else:
                figures.update(self._tally.since("log"))
                self._tally.resume()
            logs.update(figures)
            if state.log_history:
                state.log_history[-1].update(figures)

        def on_train_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
            self._tally.pause()

    EnergyCallback.__module__ = __name__
    EnergyCallback.__qualname__ = "EnergyCallback"
    return EnergyCallback


