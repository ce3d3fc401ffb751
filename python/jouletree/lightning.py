"""Lightning: ``EnergyCallback`` logs joules by step, sample and epoch to the Trainer's loggers.

A program asks for it with ``Trainer(callbacks=[EnergyCallback()])``, of ``lightning`` or of ``pytorch_lightning``; what
other Trainers log stays as it is. The figures are ``energy_j_per_step``, ``energy_j_per_sample`` and
``energy_j_per_epoch``, all without validation; where power is estimated rather than measured their names end in
``_estimated``.
"""

from __future__ import annotations

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Optional

    import lightning.pytorch

    class EnergyCallback(lightning.pytorch.Callback):
        """Logs the energy of training. Made when it is first asked for."""

        def __init__(self) -> None: ...

__all__ = ["EnergyCallback", "adapt"]


def adapt(module: ModuleType) -> None:
    """Sets the phases of Lightning's loops."""
    from ._imports import when_imported

    package = getattr(module, "pytorch", module).__name__
    when_imported(f"{package}.loops.evaluation_loop", lambda loops: _set_phase(loops, "_EvaluationLoop", "evaluate"))
    when_imported(f"{package}.loops.prediction_loop", lambda loops: _set_phase(loops, "_PredictionLoop", "predict"))


def _set_phase(module: ModuleType, name: str, phase: str) -> None:
    from ._torch.phases import in_phase

    loop = getattr(module, name, None)
    if loop is not None:
        loop.run = in_phase(phase, loop.run)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "EnergyCallback":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import sys

        if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
            return _energy_callback(sys.modules["pytorch_lightning"])
        import lightning.pytorch

        return _energy_callback(lightning.pytorch)


@functools.cache
def _energy_callback(package: Any) -> Any:
    from ._torch.energy import Tally

    class EnergyCallback(package.Callback):
        """Logs the energy of training: see the module."""

        def __init__(self) -> None:
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

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            self._tally.pause()

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
