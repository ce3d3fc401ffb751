"""Eco2AI's tracker with jouletree's energy: ``from jouletree.compat.eco2ai import Tracker, track``.

Rows go to ``emission.csv`` in Eco2AI's columns, one for every run and one for every epoch of a training. Where no place
is known, emissions are too; the network is not asked.
"""

from __future__ import annotations

import os

from .._around import around
from ._notices import harmless, unknown_arguments, warn_once, without_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._meter import Meter

__all__ = ["Tracker", "get_params", "set_params", "track"]

_DEFAULTS: dict[str, Any] = {
    "project_name": "default project name",
    "experiment_description": "default experiment description",
    "file_name": "emission.csv",
    "measure_period": 10,
    "pue": 1,
}
_params: dict[str, Any] = dict(_DEFAULTS)


def set_params(**params: Any) -> None:
    """What trackers take that are given nothing else, until this program ends."""
    _params.clear()
    _params.update({**_DEFAULTS, **{name: value for name, value in params.items() if name in _DEFAULTS}})


def get_params() -> dict[str, Any]:
    """What trackers take that are given nothing else."""
    return dict(_params)


class Tracker:
    """Measures how much energy a program takes, and what that emits."""

    #: What they are before the constructor has come to them, which it may not.
    project_name: Any = None
    experiment_description: Any = None
    file_name: Any = None

    @harmless
    def __init__(
        self,
        project_name: Optional[str] = None,
        experiment_description: Optional[str] = None,
        file_name: Optional[str] = None,
        measure_period: float = 10,
        emission_level: Optional[float] = None,
        alpha_2_code: Optional[str] = None,
        region: Optional[str] = None,
        cpu_processes: str = "current",
        pue: Optional[float] = 1,
        encode_file: Any = None,
        electricity_pricing: Optional[dict[str, float]] = None,
        ignore_warnings: bool = False,
        timezone: Any = False,
        **more: Any,
    ) -> None:
        unknown_arguments("Tracker", more)
        if encode_file is not None:
            without_effect("Tracker", "encode_file", "rows are written as they are, to file_name")
        params = get_params()
        self.project_name = params["project_name"] if project_name is None else project_name
        described = params["experiment_description"] if experiment_description is None else experiment_description
        self.experiment_description = described
        self.file_name = params["file_name"] if file_name is None else file_name
        self._measure_period = params["measure_period"] if measure_period is None else measure_period
        self._emission_level = emission_level
        self._settings: dict[str, Any] = {
            "project_name": str(self.project_name),
            "tracking_mode": "machine" if cpu_processes == "all" else "process",
            "pue": float(params["pue"] if pue is None else pue),
        }
        given = {
            "country_iso_code": alpha_2_code,
            "region": region,
            "force_carbon_intensity_g_co2e_kwh": emission_level,
            "tariff": _tariff(electricity_pricing),
        }
        self._settings.update({name: value for name, value in given.items() if value is not None})
        self._meter: Optional[Meter] = None
        self._id: Optional[str] = None
        #: The epoch that is under way, in a training.
        self._epoch: Optional[int] = None
        self._consumption = 0.0
        self._total_price = 0.0

    def id(self) -> Optional[str]:
        """The name of the run, by which its rows are found."""
        return self._id

    def consumption(self) -> float:
        """Kilowatt-hours of the last row, with the data centre's part."""
        return self._consumption

    def price(self) -> float:
        """What the electricity of the last row cost."""
        return self._total_price

    def emission_level(self) -> Optional[float]:
        """Kilograms of CO2 for a megawatt-hour, which is grams for a kilowatt-hour; ``None`` before they are known."""
        return self._emission_level

    def measure_period(self) -> float:
        """What was asked for; energy is counted all the time."""
        return float(self._measure_period)

    @harmless
    def start(self) -> None:
        """Begins to count."""
        if self._epoch is not None:
            warn_once("start() changes nothing during a training; stop_training() ends it")
            return
        self._begin(new_run=True)

    @harmless
    def stop(self) -> None:
        """Ends it and writes a row."""
        if self._epoch is not None:
            self.stop_training()
        elif self._meter is None:
            warn_once("the tracker was not started; start() begins it")
        else:
            self._write("N/A")
            self._meter = None

    @harmless
    def start_training(self, start_epoch: int = 1) -> None:
        """Begins the first epoch of a training."""
        self._epoch = int(start_epoch)
        self._begin(new_run=True)

    @harmless
    def new_epoch(self, parameters_dict: Optional[dict[str, Any]] = None) -> None:
        """Ends an epoch and writes its row, with figures of the user's own, and begins the next one."""
        if self._epoch is None:
            warn_once("new_epoch() counts in a training only; start_training() begins one")
            return
        figures = "".join(f"{name}: {value}, " for name, value in (parameters_dict or {}).items())
        self._write(f"epoch: {self._epoch}, {figures}")
        self._epoch += 1
        self._begin(new_run=False)

    @harmless
    def stop_training(self) -> None:
        """Ends a training. What came after the last epoch is no epoch, and has no row."""
        if self._epoch is None:
            warn_once("there is no training; start_training() begins one")
            return
        self._epoch = None
        if self._meter is not None:
            self._meter.pause()
            self._meter = None

    def _begin(self, new_run: bool) -> None:
        import uuid

        from ._meter import Meter

        if new_run:
            self._id = str(uuid.uuid4())
        self._meter = Meter(None if self._epoch is None else f"epoch {self._epoch}")
        self._meter.resume()

    def _write(self, epoch: str) -> None:
        from . import _emissions

        meter = self._meter
        if meter is None or meter.foreign:
            return
        meter.pause()
        reading, path = meter.read(), os.fspath(self.file_name)
        if not reading.rows:
            warn_once(f"nothing was measured, so there is no row for {path}")
            return
        write = [{"format": "eco2ai", "path": path, "mode": "append"}]
        about = {"description": str(self.experiment_description), "epoch": epoch}
        answer = _emissions.ask(self._settings, str(self._id), reading, write, about)
        if answer is None:
            return
        self._consumption = float(answer["energy_kwh"])
        self._total_price = float(answer.get("cost") or 0.0)
        intensity = answer.get("intensity")
        if intensity is not None:
            self._emission_level = intensity["g_per_kwh"]


def _tariff(pricing: Optional[dict[str, float]]) -> Optional[str]:
    """Prices by the hour as the command wants them: ``8:30-19:00=0.31,19:00-8:30=0.22``."""
    return None if not pricing else ",".join(f"{hours}={price}" for hours, price in pricing.items())


def track(func: Any) -> Any:
    """Makes every call of a function a run."""
    return around(func, _Run)


class _Run:
    """A run of a tracker of its own, as a context."""

    def __enter__(self) -> None:
        self._tracker = Tracker()
        self._tracker.start()

    def __exit__(self, *_: object) -> None:
        self._tracker.stop()
