"""Which arguments CodeCarbon's trackers take, what each is for here, and where the rest of their settings come from.

Only what decides where output goes, and which GPUs count, is settled here. All that is about carbon goes to the command
as the caller gave it, which adds configuration files and the environment.
"""

from __future__ import annotations

import os

from ._notices import unknown_arguments, warn_once, without_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

#: What the command receives, if the caller gave it.
_OF_THE_COMMAND = (
    "cloud_provider",
    "cloud_region",
    "country_iso_code",
    "electricitymaps_api_token",
    "experiment_id",
    "force_carbon_intensity_g_co2e_kwh",
    "force_ram_power",
    "on_csv_write",
    "output_dir",
    "output_file",
    "project_name",
    "pue",
    "region",
    "tracking_mode",
    "wue",
)

#: Where output goes, with the default.
_OUTPUT: dict[str, Any] = {
    "output_dir": ".",
    "output_file": "emissions.csv",
    "on_csv_write": "append",
    "experiment_name": "base",
    "save_to_file": "true",
    "save_to_logger": "false",
    "output_methods": None,
    "gpu_ids": None,
}

_NETWORK = "nothing is sent; `jouletree run --prometheus` and `--otlp` serve live figures (docs/live.md)"

_MODEL = (
    "a machine with meters is measured; one without is modelled as CodeCarbon does with JOULETREE_CPU_MODEL=codecarbon "
    "and JOULETREE_CPU_POWER in the environment"
)

#: What is not done, and why.
_REFUSED = {
    "api_endpoint": _NETWORK,
    "api_key": _NETWORK,
    "emissions_endpoint": _NETWORK,
    "prometheus_url": _NETWORK,
    "save_to_api": _NETWORK,
    "save_to_logfire": _NETWORK,
    "save_to_prometheus": _NETWORK,
    "force_cpu_power": _MODEL,
    "force_mode_cpu_load": _MODEL,
    "metadata": "`jouletree export --to boamps` writes such files",
}
_REFUSED_METHODS = {"api", "boamps", "logfire", "prometheus"}

#: What replaces something else, or is not needed: there is no sampling here, no log and no lock, and memory is a
#: device of its own.
_OTHERS = {
    "allow_multiple_runs",
    "api_call_interval",
    "co2_signal_api_token",
    "country_2letter_iso_code",
    "log_level",
    "logger_preamble",
    "logging_logger",
    "measure_power_secs",
    "offline",
    "output_handlers",
    "rapl_include_dram",
    "rapl_prefer_psys",
}


class Settings:
    """What a tracker was asked to do."""

    def __init__(self, who: str, given: dict[str, Any]) -> None:
        _warn_about(who, given)
        given = _by_todays_names(given)
        if given.get("tracking_mode") not in (None, "machine", "process"):
            warn_once(f"tracking_mode of {who} is 'machine' or 'process', and not {given.pop('tracking_mode')!r}")
        #: What the command receives.
        self.of_command = {name: _plain(given[name]) for name in _OF_THE_COMMAND if given.get(name) is not None}
        output = _output(given)
        methods = _methods(output)
        #: Whether files are written.
        self.writes = "csv" in methods
        folder = os.fspath(output["output_dir"])
        self._folder = folder
        self._mode = str(output["on_csv_write"]).lower()
        if self._mode not in ("append", "update"):
            warn_once(f"on_csv_write of {who} is {self._mode!r}; it may be 'append' or 'update', and 'append' is taken")
            self._mode = "append"
        self._file = os.path.join(folder, os.fspath(output["output_file"]))
        self._experiment = str(output["experiment_name"])
        #: What the user's own code is notified with: objects with CodeCarbon's methods ``out``, ``task_out``, ``exit``.
        self.handlers = list(given.get("output_handlers") or ())
        if "logger" in methods and given.get("logging_logger") is not None:
            self.handlers.append(given["logging_logger"])
        self._gpus = _gpu_numbers(output["gpu_ids"])

    @property
    def experiment(self) -> str:
        """The name of the experiment."""
        return self._experiment

    def run_files(self) -> list[dict[str, Any]]:
        """The files that get the row of a run."""
        return [_target("codecarbon", self._file, self._mode)] if self.writes else []

    def task_files(self, run_id: str) -> list[dict[str, Any]]:
        """The files that get the row of a task."""
        path = os.path.join(self._folder, f"emissions_{self._experiment}_{run_id}.csv")
        return [_target("codecarbon-task", path, "append")] if self.writes else []

    def counts(self, row: dict[str, Any]) -> bool:
        """Whether a device is one of those that the user wants to count."""
        _, gpu, number = row["device"].partition("gpu:")
        return not gpu or self._gpus is None or number in self._gpus


def _target(format_: str, path: str, mode: str) -> dict[str, Any]:
    """A file to write. The command knows jouletree's own settings, too, and puts it where those say."""
    return {"format": format_, "path": path, "mode": mode, "by_settings": True}


def _warn_about(who: str, given: dict[str, Any]) -> None:
    """Warns about unknown arguments, and of those that do nothing."""
    known = {*_OF_THE_COMMAND, *_OUTPUT, *_REFUSED, *_OTHERS}
    unknown_arguments(who, (name for name in given if name not in known))
    for name, why in _REFUSED.items():
        if given.get(name):
            without_effect(who, name, why)


def _by_todays_names(given: dict[str, Any]) -> dict[str, Any]:
    """The same, with what older names say under the newer ones, where these say nothing."""
    given = dict(given)
    for old, new in (
        ("co2_signal_api_token", "electricitymaps_api_token"),
        ("country_2letter_iso_code", "country_iso_code"),
    ):
        if given.get(new) is None and given.get(old) is not None:
            given[new] = given[old]
    return given


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    return value if isinstance(value, (str, bool, int, float)) else str(value)


def _output(given: dict[str, Any]) -> dict[str, Any]:
    """Where output goes: what was given, else the environment, else CodeCarbon's files, else its defaults."""
    environment = {
        name.lower()[len("codecarbon_") :]: value
        for name, value in os.environ.items()
        if name.lower().startswith("codecarbon_")
    }
    layers: list[dict[str, Any]] = [_OUTPUT, *_files(), environment]
    layers.append({name: value for name, value in given.items() if value is not None})
    return {name: next((layer[name] for layer in reversed(layers) if name in layer), None) for name in _OUTPUT}


def _files() -> list[dict[str, str]]:
    """CodeCarbon's configuration files, the weaker first. One that cannot be read causes a warning of the command."""
    paths = [os.path.join(folder, ".codecarbon.config") for folder in (os.path.expanduser("~"), os.curdir)]
    present = [path for path in paths if os.path.isfile(path)]
    if not present:
        return []
    import configparser

    layers = []
    for path in present:
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(path, encoding="utf-8")
        except (OSError, ValueError, configparser.Error):
            continue
        if parser.has_section("codecarbon"):
            layers.append(dict(parser["codecarbon"]))
    return layers


def _methods(output: dict[str, Any]) -> set[str]:
    """Where results go, by the names of ``OutputMethod``."""
    wanted = output["output_methods"]
    if wanted is not None:
        names = wanted.split(",") if isinstance(wanted, str) else wanted
        methods = {str(getattr(name, "value", name)).strip().lower() for name in names}
    else:
        methods = {
            name for name, flag in (("csv", "save_to_file"), ("logger", "save_to_logger")) if _true(output[flag])
        }
    for method in sorted(methods & _REFUSED_METHODS):
        why = _REFUSED["metadata"] if method == "boamps" else _NETWORK
        warn_once(f"the output method {method!r} has no effect here: {why}")
    return methods


def _true(value: Any) -> bool:
    return str(value).strip().lower() == "true"


def _gpu_numbers(wanted: Any) -> Optional[set[str]]:
    """The numbers of the GPUs that count; ``None`` for all of them."""
    if wanted is None:
        wanted = os.environ.get("CUDA_VISIBLE_DEVICES") or os.environ.get("ROCR_VISIBLE_DEVICES")
    if wanted is None or wanted == "":
        return None
    names = wanted.split(",") if isinstance(wanted, str) else [wanted] if isinstance(wanted, int) else wanted
    numbers = {str(name).strip(" []'\"") for name in names}
    if all(number.isdecimal() or number == "-1" for number in numbers):
        return numbers  # No GPU has the number -1, by which CUDA means none.
    warn_once(f"GPUs can be chosen by number only, and not as {wanted!r}; all of them count")
    return None
