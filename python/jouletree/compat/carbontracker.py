"""CarbonTracker with jouletree's energy: ``from jouletree.compat.carbontracker import CarbonTracker``.

Epochs are counted, what the whole training will take is predicted after the first of them, and the logs are those that
CarbonTracker's own parser reads. Where no place is known, grams are ``nan``; nothing ends the user's program but the
user's own answer "n".
"""

from __future__ import annotations

import math

from ._notices import harmless, unknown_arguments, warn_once, without_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._meter import Meter, Reading

__all__ = ["CarbonTracker"]

_KWH = 3.6e6
#: So many epochs separate those that warm up from the others. A prediction made earlier is improved then.
_ENOUGH = 4
_SIMULATED = ("sim_cpu", "sim_cpu_tdp", "sim_cpu_util", "sim_gpu", "sim_gpu_watts", "sim_gpu_util")


class CarbonTracker:
    """Counts the energy of epochs and predicts that of a training."""

    #: What they are before the constructor has come to them, which it may not.
    deleted = True
    epoch_counter = 0

    @harmless
    def __init__(
        self,
        epochs: int,
        epochs_before_pred: int = 1,
        monitor_epochs: int = -1,
        update_interval: float = 1,
        interpretable: bool = True,
        stop_and_confirm: bool = False,
        ignore_errors: bool = False,
        components: str = "all",
        devices_by_pid: bool = False,
        log_dir: Optional[str] = None,
        log_file_prefix: str = "",
        verbose: int = 1,
        decimal_precision: int = 12,
        api_keys: Optional[dict[str, str]] = None,
        sim_cpu: Optional[str] = None,
        sim_cpu_tdp: Optional[float] = None,
        sim_cpu_util: Optional[float] = None,
        sim_gpu: Optional[str] = None,
        sim_gpu_watts: Optional[float] = None,
        sim_gpu_util: Optional[float] = None,
        **more: Any,
    ) -> None:
        import uuid

        from ._carbontracker_logs import Logs

        given = locals()
        unknown_arguments("CarbonTracker", more)
        for name in _SIMULATED:
            if given[name] is not None:
                without_effect(
                    "CarbonTracker", name, "what is there is measured; `jouletree estimate impact` simulates"
                )
        self.epochs = int(epochs)
        self.epochs_before_pred = self.epochs if epochs_before_pred < 0 else int(epochs_before_pred)
        self.monitor_epochs = self._monitored(int(monitor_epochs))
        self.interpretable = interpretable
        self.stop_and_confirm = stop_and_confirm
        self.components = str(components)
        self.devices_by_pid = devices_by_pid
        self.decimal_precision = int(decimal_precision)
        self._run_id = str(uuid.uuid4())
        self._token: Optional[str] = None
        self._of_process = bool(devices_by_pid)
        self._epoch: Optional[Meter] = None
        self._total: Optional[Reading] = None
        self._done: list[dict[str, float]] = []
        self._logs = Logs(log_dir, str(log_file_prefix), bool(verbose))
        self.set_api_keys(api_keys)
        self.deleted = False

    @harmless
    def epoch_start(self) -> None:
        """Begins an epoch."""
        from ._meter import Meter

        if self.deleted:
            return
        self.epoch_counter += 1
        self._epoch = Meter(f"epoch {self.epoch_counter}")
        self._epoch.resume()

    @harmless
    def epoch_end(self) -> None:
        """Ends an epoch. When enough of them are known, it predicts what the training will take."""
        epoch, self._epoch = self._epoch, None
        if self.deleted or epoch is None or epoch.foreign:
            return
        epoch.pause()
        self._count(epoch.read())
        if self.epoch_counter == self.epochs_before_pred:
            self._predict(f"Predicted consumption for {self.epochs} epoch(s):")
            if self.stop_and_confirm:
                self._confirm()
        elif 0 < self.epochs_before_pred < self.epoch_counter == _ENOUGH < self.epochs:
            # Not CarbonTracker's words, so that its parser takes the prediction that was asked for.
            self._predict(f"Predicted consumption for {self.epochs} epoch(s), now from {_ENOUGH}:")
        if self.epoch_counter == self.monitor_epochs:
            self._print_actual()
            self._end()

    @harmless
    def stop(self) -> None:
        """Ends it before all epochs were there. One that is under way does not count."""
        if self.deleted or (self._epoch is not None and self._epoch.foreign):
            return
        if self._epoch is not None:
            self._epoch.pause()
            self._epoch = None
            self.epoch_counter -= 1
        self._logs.note(f"Training was interrupted before all {self.monitor_epochs} epochs were monitored.")
        if self._done:
            self._print_actual()
        self._end()

    @harmless
    def set_api_keys(self, api_keys: Optional[dict[str, str]]) -> None:
        """Takes the key of Electricity Maps, which the command uses where it may use the network."""
        self.api_keys = api_keys
        for name, key in (api_keys or {}).items():
            if name.lower() == "electricitymaps":
                self._token = key
            else:
                warn_once(f"CarbonTracker here knows no service {name!r}; its key is ignored")

    def _monitored(self, wanted: int) -> int:
        if wanted == -1:
            return self.epochs
        if wanted < 1 or wanted < self.epochs_before_pred:
            warn_once(f"monitor_epochs is {wanted}, less than 1 or than epochs_before_pred; all epochs are monitored")
            return self.epochs
        return wanted

    def _count(self, reading: Reading) -> None:
        """Adds an epoch that has ended."""
        reading = reading.only(self._wants)
        joules = reading.joules(self._of_process)
        self._logs.components(reading)
        self._logs.epoch(self.epoch_counter, reading, self._of_process)
        self._done.append({"duration_s": reading.seconds, "energy_j": joules})
        self._total = reading if self._total is None else self._total + reading

    def _wants(self, row: dict[str, Any]) -> bool:
        from ._meter import is_gpu

        wanted = {name.strip().lower() for name in self.components.split(",")}
        return "all" in wanted or ("gpu" if is_gpu(row) else "cpu") in wanted

    def _ask(self, predicting: bool) -> Optional[dict[str, Any]]:
        from . import _emissions

        if self._total is None or not self._total.rows:
            warn_once("nothing was measured, so CarbonTracker has nothing to report")
            return None
        settings: dict[str, Any] = {"tracking_mode": "process" if self._of_process else "machine"}
        if self._token is not None:
            settings["electricitymaps_api_token"] = self._token
        known = [epoch for epoch in self._done if not math.isnan(epoch["energy_j"])]
        epochs = {"done": known, "total": self.epochs} if predicting else None
        answer = _emissions.ask(settings, self._run_id, self._total, epochs=epochs)
        if answer is not None:
            self._logs.conditions(answer)
        return answer

    def _predict(self, title: str) -> None:
        answer = self._ask(predicting=True)
        prediction = (answer or {}).get("prediction")
        if answer is None or prediction is None:
            return
        low, high = prediction.get("low_j"), prediction.get("high_j")
        self._logs.consumption(
            title,
            prediction["duration_s"],
            prediction["energy_kwh"],
            None if low is None or high is None else self._bounds(answer, low, high),
            prediction.get("carbon_g"),
            self._equivalents(answer, prediction.get("carbon_g")),
            self.decimal_precision,
            int(prediction.get("warm_up_epochs") or 0),
        )

    def _print_actual(self) -> None:
        answer = self._ask(predicting=False)
        if answer is None:
            return
        self._logs.intensity(answer)
        used = "Actual consumption:"
        if self.epochs_before_pred != 0:
            used = f"Actual consumption for {self.epoch_counter} epoch(s):"
        self._logs.consumption(
            used,
            math.fsum(epoch["duration_s"] for epoch in self._done),
            answer["energy_kwh"],
            self._bounds(answer, answer["energy_j"], answer["energy_j"]),
            answer.get("carbon_g"),
            self._equivalents(answer, answer.get("carbon_g")),
            self.decimal_precision,
        )

    def _bounds(self, answer: dict[str, Any], low: float, high: float) -> tuple[float, float]:
        """Kilowatt-hours, data centre included, between which so many counted joules are: meters may be off, too."""
        counted, pue = answer["energy_j"], answer["row"].get("pue")
        if not counted > 0:
            return low / _KWH, high / _KWH
        factor = (1.0 if pue is None else float(pue)) / counted / _KWH
        return low * answer["low_j"] * factor, high * answer["high_j"] * factor

    def _equivalents(self, answer: dict[str, Any], grams: Optional[float]) -> Optional[list[tuple[float, str]]]:
        """What so many grams are like; ``None`` where the user does not want to know."""
        if not self.interpretable:
            return None
        whole, km = answer.get("carbon_g"), (answer.get("equivalents") or {}).get("car_km")
        if not grams or not whole or km is None:
            return []
        return [(km * grams / whole, "km travelled by car")]

    def _confirm(self) -> None:
        """Asks the user whether to go on."""
        import sys

        self._logs.say("Continue training (y/n)?")
        while True:
            try:
                answer = input().strip().lower()
            except (EOFError, OSError):
                warn_once("stop_and_confirm has no terminal to ask, so the training goes on")
                return
            if answer == "y":
                self._logs.say("Continuing...")
                return
            if answer == "n":
                self._logs.note("Session ended by user.")
                self._logs.say("Quitting...")
                self._end()
                sys.exit(0)
            self._logs.say("Input not recognized. Try again (y/n):")

    def _end(self) -> None:
        self._logs.say("Finished monitoring.")
        self.deleted = True
