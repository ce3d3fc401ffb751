"""CodeCarbon's trackers with jouletree's energy: ``from jouletree.compat.codecarbon import EmissionsTracker``.

Classes, arguments, results and files are CodeCarbon's. `stop` and `flush` return kilograms of CO2 equivalent, or
``None`` where no place is known: a country is never made up. See docs/compat.md for every argument. What programs take
from ``codecarbon.output`` and ``codecarbon.emissions_tracker`` is in the modules of these names.
"""

from __future__ import annotations

import os

from ..._around import around
from .._notices import harmless, warn, warn_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import Enum
    from typing import Any, Callable, Optional, Union

    from .._emissions_data import EmissionsData, TaskEmissionsData
    from .._meter import Meter, Reading

    class OutputMethod(str, Enum):
        """Where results go."""

        CSV = "csv"
        API = "api"
        LOGGER = "logger"
        PROMETHEUS = "prometheus"
        LOGFIRE = "logfire"
        BOAMPS = "boamps"


#: The version of CodeCarbon whose names, arguments and files these are.
__version__ = "3.3.2"

__all__ = [
    "EmissionsData",
    "EmissionsTracker",
    "OfflineEmissionsTracker",
    "OutputMethod",
    "TaskEmissionsData",
    "TaskEmissionsTracker",
    "track_emissions",
    "track_task_emissions",
]


class _NotGiven:
    """What an argument is that the caller did not give."""

    def __repr__(self) -> str:
        return "<not given>"


_NOT_GIVEN: Any = _NotGiven()

_NO_PLACE = (
    "emissions are unknown, as no place is; energy is counted all the same. Give the tracker country_iso_code='ITA', "
    "set CODECARBON_COUNTRY_ISO_CODE, or write country_iso_code into .codecarbon.config"
)


class _Task:
    """A part of a run that has a name. CodeCarbon's examples read its attributes, so they are called as there."""

    def __init__(self, name: str, meter: Meter) -> None:
        self.task_name = name
        self.meter = meter
        self.emissions_data: Optional[EmissionsData] = None


class _Energy:
    """An energy as CodeCarbon has it."""

    def __init__(self, kilowatt_hours: float) -> None:
        self.kWh = kilowatt_hours

    def __repr__(self) -> str:
        return f"Energy(kWh={self.kWh})"


class BaseEmissionsTracker:
    """Measures how much energy a stretch of a program takes, and what that emits."""

    @harmless
    def __init__(
        self,
        project_name: Optional[str] = _NOT_GIVEN,
        measure_power_secs: Optional[float] = _NOT_GIVEN,
        api_call_interval: Optional[int] = _NOT_GIVEN,
        api_endpoint: Optional[str] = _NOT_GIVEN,
        api_key: Optional[str] = _NOT_GIVEN,
        output_dir: Optional[str] = _NOT_GIVEN,
        output_file: Optional[str] = _NOT_GIVEN,
        output_methods: Optional[list[OutputMethod]] = _NOT_GIVEN,
        save_to_file: Optional[bool] = _NOT_GIVEN,
        save_to_api: Optional[bool] = _NOT_GIVEN,
        save_to_logger: Optional[bool] = _NOT_GIVEN,
        logging_logger: Any = _NOT_GIVEN,
        save_to_prometheus: Optional[bool] = _NOT_GIVEN,
        save_to_logfire: Optional[bool] = _NOT_GIVEN,
        prometheus_url: Optional[str] = _NOT_GIVEN,
        output_handlers: Optional[list[Any]] = _NOT_GIVEN,
        gpu_ids: Optional[list[Any]] = _NOT_GIVEN,
        emissions_endpoint: Optional[str] = _NOT_GIVEN,
        experiment_id: Optional[str] = _NOT_GIVEN,
        experiment_name: Optional[str] = _NOT_GIVEN,
        electricitymaps_api_token: Optional[str] = _NOT_GIVEN,
        co2_signal_api_token: Optional[str] = _NOT_GIVEN,
        tracking_mode: Optional[str] = _NOT_GIVEN,
        log_level: Optional[Union[int, str]] = _NOT_GIVEN,
        on_csv_write: Optional[str] = _NOT_GIVEN,
        logger_preamble: Optional[str] = _NOT_GIVEN,
        force_cpu_power: Optional[int] = _NOT_GIVEN,
        force_ram_power: Optional[int] = _NOT_GIVEN,
        pue: Optional[float] = _NOT_GIVEN,
        wue: Optional[float] = _NOT_GIVEN,
        force_carbon_intensity_g_co2e_kwh: Optional[float] = _NOT_GIVEN,
        force_mode_cpu_load: Optional[bool] = _NOT_GIVEN,
        allow_multiple_runs: Optional[bool] = _NOT_GIVEN,
        rapl_include_dram: Optional[bool] = _NOT_GIVEN,
        rapl_prefer_psys: Optional[bool] = _NOT_GIVEN,
        metadata: Optional[Union[dict[str, Any], str]] = _NOT_GIVEN,
        **more: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "more")}
        self._prepare(_only_given({**given, **more}))

    #: What they are before the constructor has come to them, which it may not.
    final_emissions: Optional[float] = None
    final_emissions_data: Optional[EmissionsData] = None
    run_id: Any = None

    def _prepare(self, given: dict[str, Any]) -> None:
        from .._codecarbon_settings import Settings

        self._settings = Settings(type(self).__name__, given)
        self._begin_run()

    def _begin_run(self) -> None:
        import uuid

        from .._meter import Meter

        self.run_id = uuid.uuid4()
        self._meter = Meter()
        self._tasks: dict[str, _Task] = {}
        self._open_tasks: list[_Task] = []
        #: Whether `start` was called. A tracker of tasks alone counts while there are tasks.
        self._was_started = False
        self._has_ended = False
        self._is_sending = False
        self._is_to_stop = False
        self._last_sent: Optional[EmissionsData] = None

    @harmless
    def start(self) -> None:
        """Begins to count."""
        if self._was_started:
            warn_once("the tracker runs already; start() changes nothing")
            return
        if self._has_ended:
            self._begin_run()
        self._was_started = True
        self._meter.resume()

    @harmless
    def start_task(self, task_name: Optional[str] = None) -> None:
        """Begins a task, which `stop_task` ends. Tasks may be inside one another."""
        import uuid

        from .._meter import Meter

        if self._has_ended:
            self._begin_run()
        name = str(task_name or uuid.uuid4())
        if name in self._tasks:
            name = f"{name}_{uuid.uuid4()}"
        task = self._tasks[name] = _Task(name, Meter(name))
        self._open_tasks.append(task)
        self._meter.resume()
        task.meter.resume()

    @harmless
    def stop_task(self, task_name: Optional[str] = None) -> Optional[EmissionsData]:
        """Ends a task, the latest unless it is named: what it took."""
        if self._meter.foreign:
            return None
        wanted = [task for task in self._open_tasks if task_name is None or task.task_name == task_name]
        if not wanted:
            warn_once("there is no such task to stop; start_task() begins one")
            return None
        data = self._end_task(wanted[-1])
        self._stop_if_wanted()
        return data

    def _end_task(self, task: _Task) -> Optional[EmissionsData]:
        self._open_tasks.remove(task)
        task.meter.pause()
        if not self._open_tasks and not self._was_started:
            self._meter.pause()
        files = self._settings.task_files(str(self.run_id))
        task.emissions_data = self._results(task.meter, files, {"name": task.task_name})
        return task.emissions_data

    @harmless
    def flush(self) -> Optional[float]:
        """Writes what was counted so far, and goes on: kilograms of CO2 equivalent."""
        if not self._is_under_way():
            return None
        data = self._write()
        self._stop_if_wanted()
        return None if data is None else data.emissions

    @harmless
    def stop(self) -> Optional[float]:
        """Ends it and writes what was counted: kilograms of CO2 equivalent, ``None`` where no place is known."""
        if not self._is_under_way():
            return self.final_emissions
        if self._is_sending:
            # A handler of signals, or another thread, while a result is sent: that must come to its end.
            self._is_to_stop = True
            return None
        # All at once: what it takes to send one is no part of the others.
        for meter in (*(task.meter for task in self._open_tasks), self._meter):
            meter.pause()
        for task in list(self._open_tasks):
            self._end_task(task)
        data = self._write()
        self._was_started, self._has_ended = False, True
        self.final_emissions_data = data
        self.final_emissions = None if data is None else data.emissions
        for handler in self._settings.handlers:
            _call(handler, "exit")
        return self.final_emissions

    @harmless
    def service_shutdown(self, signum: int, frame: Any) -> None:
        """A handler of signals that stops the tracker."""
        self.stop()

    @harmless
    def get_detected_hardware(self) -> dict[str, Any]:
        """What this machine has."""
        from .. import _emissions

        answer = _emissions.ask(
            self._settings.of_command, str(self.run_id), self._meter.read().only(self._settings.counts)
        )
        row = {} if answer is None else answer["row"]
        names = ("ram_total_size", "cpu_count", "cpu_model", "gpu_count", "gpu_model")
        return {**{name: row.get(name) for name in names}, "cpu_physical_count": None, "gpu_ids": None}

    # Not meant for users, but many programs read them, for want of anything else before CodeCarbon had final data.
    @property
    def _total_energy(self) -> _Energy:
        return self._total("energy_consumed")

    @property
    def _total_cpu_energy(self) -> _Energy:
        return self._total("cpu_energy")

    @property
    def _total_gpu_energy(self) -> _Energy:
        return self._total("gpu_energy")

    @property
    def _total_ram_energy(self) -> _Energy:
        return self._total("ram_energy")

    def _total(self, column: str) -> _Energy:
        """What was counted of something, so far or at the end."""
        return _Energy(getattr(self._counted_so_far(), column, 0.0))

    @harmless
    def _counted_so_far(self) -> Optional[EmissionsData]:
        if self._has_ended or self._meter.foreign or not (self._was_started or self._tasks):
            return self.final_emissions_data
        return self._results(self._meter, [])

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _is_under_way(self) -> bool:
        if self._meter.foreign:
            # The parent, from which this process was forked, will report it.
            return False
        if not self._has_ended and (self._was_started or self._tasks):
            return True
        warn_once("the tracker was not started, or has been stopped; start() begins it")
        return False

    def _write(self) -> Optional[EmissionsData]:
        """Hands over what was counted so far."""
        data = self._results(self._meter, self._settings.run_files())
        if data is None:
            return None
        if self._settings.handlers:
            self._notify_handlers(data)
        return data

    def _stop_if_wanted(self) -> None:
        if self._is_to_stop:
            self.stop()

    def _results(
        self, meter: Meter, files: list[dict[str, Any]], task: Optional[dict[str, str]] = None
    ) -> Optional[EmissionsData]:
        """What a meter has seen, which files get, too; ``None`` where unknown."""
        self._is_sending = True
        try:
            machine = meter.machine()
            return self._asked(meter.read().only(self._settings.counts), files, task, machine)
        finally:
            self._is_sending = False

    def _asked(
        self, reading: Reading, files: list[dict[str, Any]], task: Optional[dict[str, str]], machine: dict[str, Any]
    ) -> Optional[EmissionsData]:
        from .. import _emissions
        from .._emissions_data import EmissionsData

        if not reading.rows:
            paths = ", ".join(os.fspath(file["path"]) for file in files) or "the answer"
            warn(f"nothing was measured, so there is no row for {paths}")
            return None
        answer = _emissions.ask(
            self._settings.of_command, str(self.run_id), reading, files, task=task, machine=machine
        )
        if answer is None:
            return None
        if answer.get("carbon_g") is None:
            warn_once(_NO_PLACE)
        return EmissionsData.of_row(answer["row"])

    def _notify_handlers(self, data: EmissionsData) -> None:
        import dataclasses

        from .._emissions_data import TaskEmissionsData

        delta = dataclasses.replace(data)
        if self._last_sent is not None:
            delta.compute_delta_emission(self._last_sent)
        self._last_sent = data
        results = ((task.task_name, task.emissions_data) for task in self._tasks.values())
        tasks = [TaskEmissionsData.of_task(name, data) for name, data in results if data is not None]
        for handler in self._settings.handlers:
            _call(handler, "out", data, delta)
            if tasks:
                _call(handler, "task_out", tasks, self._settings.experiment)


class EmissionsTracker(BaseEmissionsTracker):
    """A tracker that takes its place from configuration and environment. It does not ask the network where it is."""


class OfflineEmissionsTracker(BaseEmissionsTracker):
    """A tracker that is given its location."""

    def __init__(
        self,
        *args: Any,
        country_iso_code: Optional[str] = _NOT_GIVEN,
        region: Optional[str] = _NOT_GIVEN,
        cloud_provider: Optional[str] = _NOT_GIVEN,
        cloud_region: Optional[str] = _NOT_GIVEN,
        country_2letter_iso_code: Optional[str] = _NOT_GIVEN,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *args,
            country_iso_code=country_iso_code,
            region=region,
            cloud_provider=cloud_provider,
            cloud_region=cloud_region,
            country_2letter_iso_code=country_2letter_iso_code,
            **kwargs,
        )


class TaskEmissionsTracker:
    """A task as a context: ``with TaskEmissionsTracker("evaluation", tracker=tracker):``."""

    def __init__(self, task_name: Optional[str], tracker: Optional[BaseEmissionsTracker] = None) -> None:
        self.is_default_tracker = tracker is None
        self.tracker = EmissionsTracker() if tracker is None else tracker
        self.task_name = task_name

    def __enter__(self) -> TaskEmissionsTracker:
        self.tracker.start_task(self.task_name)
        return self

    def __exit__(self, *_: object) -> None:
        self.tracker.stop_task()
        if self.is_default_tracker:
            self.tracker.stop()


def track_emissions(
    fn: Optional[Callable[..., Any]] = None,
    project_name: Optional[str] = _NOT_GIVEN,
    measure_power_secs: Optional[int] = _NOT_GIVEN,
    api_call_interval: int = _NOT_GIVEN,
    api_endpoint: Optional[str] = _NOT_GIVEN,
    api_key: Optional[str] = _NOT_GIVEN,
    output_dir: Optional[str] = _NOT_GIVEN,
    output_file: Optional[str] = _NOT_GIVEN,
    output_methods: Optional[list[OutputMethod]] = _NOT_GIVEN,
    save_to_file: Optional[bool] = _NOT_GIVEN,
    save_to_api: Optional[bool] = _NOT_GIVEN,
    save_to_logger: Optional[bool] = _NOT_GIVEN,
    logging_logger: Any = _NOT_GIVEN,
    save_to_prometheus: Optional[bool] = _NOT_GIVEN,
    save_to_logfire: Optional[bool] = _NOT_GIVEN,
    prometheus_url: Optional[str] = _NOT_GIVEN,
    output_handlers: Optional[list[Any]] = _NOT_GIVEN,
    gpu_ids: Optional[list[Any]] = _NOT_GIVEN,
    emissions_endpoint: Optional[str] = _NOT_GIVEN,
    experiment_id: Optional[str] = _NOT_GIVEN,
    experiment_name: Optional[str] = _NOT_GIVEN,
    electricitymaps_api_token: Optional[str] = _NOT_GIVEN,
    co2_signal_api_token: Optional[str] = _NOT_GIVEN,
    tracking_mode: Optional[str] = _NOT_GIVEN,
    log_level: Optional[Union[int, str]] = _NOT_GIVEN,
    on_csv_write: Optional[str] = _NOT_GIVEN,
    logger_preamble: Optional[str] = _NOT_GIVEN,
    offline: Optional[bool] = _NOT_GIVEN,
    country_iso_code: Optional[str] = _NOT_GIVEN,
    region: Optional[str] = _NOT_GIVEN,
    cloud_provider: Optional[str] = _NOT_GIVEN,
    cloud_region: Optional[str] = _NOT_GIVEN,
    country_2letter_iso_code: Optional[str] = _NOT_GIVEN,
    force_cpu_power: Optional[int] = _NOT_GIVEN,
    force_ram_power: Optional[int] = _NOT_GIVEN,
    pue: Optional[float] = _NOT_GIVEN,
    wue: Optional[float] = _NOT_GIVEN,
    force_carbon_intensity_g_co2e_kwh: Optional[float] = _NOT_GIVEN,
    allow_multiple_runs: Optional[bool] = _NOT_GIVEN,
    rapl_include_dram: Optional[bool] = _NOT_GIVEN,
    rapl_prefer_psys: Optional[bool] = _NOT_GIVEN,
    **more: Any,
) -> Any:
    """Makes every call of a function a run: ``@track_emissions`` or ``@track_emissions(offline=True, …)``."""
    named = {name: value for name, value in locals().items() if name not in ("fn", "more")}
    given = _only_given({**named, **more})

    def decorate(function: Any) -> Any:
        return around(function, lambda: EmissionsTracker(**given))

    return decorate if fn is None else decorate(fn)


def track_task_emissions(
    fn: Optional[Callable[..., Any]] = None, tracker: Optional[BaseEmissionsTracker] = None, task_name: str = ""
) -> Any:
    """Makes every call of a function a task of a tracker."""

    def decorate(function: Any) -> Any:
        return around(function, lambda: TaskEmissionsTracker(task_name, tracker))

    return decorate if fn is None else decorate(fn)


def _only_given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not _NOT_GIVEN}


def _call(handler: Any, method: str, *arguments: Any) -> None:
    """Calls the user's own code, which must not stop the user's program."""
    try:
        wanted = getattr(handler, method, None)
        if wanted is not None:
            wanted(*arguments)
    except Exception as error:  # noqa: BLE001 -- the user's own code may raise anything
        warn_once(f"{type(handler).__name__}.{method} failed: {type(error).__name__}: {error}")


def __getattr__(name: str) -> Any:
    # They take modules that trackers need at their end only.
    if name in ("EmissionsData", "TaskEmissionsData"):
        from .. import _emissions_data

        offered = getattr(_emissions_data, name)
    elif name == "OutputMethod":
        from enum import Enum

        methods: Any = [(each, each.lower()) for each in ("CSV", "API", "LOGGER", "PROMETHEUS", "LOGFIRE", "BOAMPS")]
        functional: Any = Enum
        offered = functional("OutputMethod", methods, type=str, module=__name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = offered
    return offered
