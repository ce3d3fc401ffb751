"""Lightning: ``EnergyCallback`` logs joules by step, sample and epoch to the Trainer's loggers.

Under ``jouletree run`` every Trainer has one by itself, of ``lightning`` and of ``pytorch_lightning``. The figures are
``energy_j_per_step``, ``energy_j_per_sample`` and ``energy_j_per_epoch``, all without validation; where power is
estimated rather than measured their names end in ``_estimated``.
"""

from __future__ import annotations

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Optional

    EnergyCallback: Any

__all__ = ["EnergyCallback", "adapt"]  # noqa: F822: made when it is first asked for


def adapt(module: ModuleType) -> None:
    """Has Trainers log their energy."""
    from ._session import guarded

    package = getattr(module, "pytorch", module)
    trainer = getattr(package, "Trainer", None)
    if trainer is None:
        return
    initialise = trainer.__init__

    @functools.wraps(initialise)
    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        initialise(self, *arguments, **named)
        guarded(_add_callback, self, package)

    trainer.__init__ = __init__


def _add_callback(trainer: Any, package: Any) -> None:
    if not any(type(callback).__name__ == "EnergyCallback" for callback in trainer.callbacks):
        trainer.callbacks.append(_energy_callback(package)())


def __getattr__(name: str) -> Any:
    if name != "EnergyCallback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import sys

    if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
        return _energy_callback(sys.modules["pytorch_lightning"])
    import lightning.pytorch

    return _energy_callback(lightning.pytorch)


@functools.lru_cache(maxsize=None)
def _energy_callback(package: Any) -> Any:
    from ._torch.energy import Tally, warn_outside
    from ._torch.phases import begin_phase

    class EnergyCallback(package.Callback):
        """Logs the energy of training: see the module."""

        def __init__(self) -> None:
            warn_outside("jouletree.lightning.EnergyCallback")
            self._tally = Tally("training")

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self._tally.mark("log")
            self._tally.mark("epoch")

        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
            self._tally.resume()

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            tally = self._tally
            tally.ran(_samples(batch))
            if (batch_idx + 1) % max(1, trainer.log_every_n_steps) == 0:
                tally.pause()
                _log(trainer, tally.since("log"))

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            self._tally.pause()
            _log(trainer, self._tally.used_since("epoch", "energy_j_per_epoch"))

        def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
            self._tally.pause()
            begin_phase("evaluate")

        def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
            begin_phase(None)

        def on_test_start(self, trainer: Any, pl_module: Any) -> None:
            begin_phase("evaluate")

        def on_test_end(self, trainer: Any, pl_module: Any) -> None:
            begin_phase(None)

        def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
            begin_phase("predict")

        def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
            begin_phase(None)

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            self._tally.pause()
            begin_phase(None)

    EnergyCallback.__module__ = __name__
    EnergyCallback.__qualname__ = "EnergyCallback"
    return EnergyCallback


def _log(trainer: Any, figures: dict[str, float]) -> None:
    if figures:
        for logger in trainer.loggers:
            logger.log_metrics(figures, step=trainer.global_step)


def _samples(batch: Any) -> Optional[int]:
    """How many samples a batch holds: the first dimension of the first tensor in it."""
    values = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else (batch,)
    for value in values:
        shape = getattr(value, "shape", None)
        if shape is not None and len(shape) > 0:
            return int(shape[0])
    return None
