"""What CodeCarbon calls a run's and a task's data: the columns of its files, as attributes of the same names."""

from __future__ import annotations

from dataclasses import dataclass, fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import OrderedDict
    from typing import Any, Optional

_DIFFERENCES = (
    "duration",
    "emissions",
    "cpu_energy",
    "gpu_energy",
    "ram_energy",
    "energy_consumed",
    "water_consumed",
)


@dataclass
class EmissionsData:
    """A row of ``emissions.csv``. What is not known is ``None``: emissions of no known place, above all."""

    timestamp: str
    project_name: str
    run_id: str
    experiment_id: str
    duration: float
    emissions: Optional[float]
    emissions_rate: Optional[float]
    cpu_power: float
    gpu_power: float
    ram_power: float
    cpu_energy: float
    gpu_energy: float
    ram_energy: float
    energy_consumed: float
    water_consumed: float
    country_name: Optional[str]
    country_iso_code: Optional[str]
    region: Optional[str]
    cloud_provider: Optional[str]
    cloud_region: Optional[str]
    os: Optional[str]
    python_version: Optional[str]
    codecarbon_version: Optional[str]
    cpu_count: Optional[float]
    cpu_model: Optional[str]
    gpu_count: Optional[float]
    gpu_model: Optional[str]
    longitude: Optional[float]
    latitude: Optional[float]
    ram_total_size: Optional[float]
    tracking_mode: str
    cpu_utilization_percent: Optional[float] = 0.0
    gpu_utilization_percent: Optional[float] = 0.0
    ram_utilization_percent: Optional[float] = 0.0
    ram_used_gb: Optional[float] = 0.0
    on_cloud: str = "N"
    pue: float = 1
    wue: float = 0

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> EmissionsData:
        """The data that the command returns for a run."""
        values: dict[str, Any] = {field.name: row.get(field.name) for field in fields(cls)}
        return cls(**values)

    @property
    def values(self) -> OrderedDict[str, Any]:
        """All of it, by name, in the order of the file."""
        from collections import OrderedDict

        return OrderedDict(self.__dict__)

    def compute_delta_emission(self, previous_emission: EmissionsData) -> None:
        """Leaves what has come since `previous_emission`."""
        for name in _DIFFERENCES:
            now, before = getattr(self, name), getattr(previous_emission, name)
            setattr(self, name, None if now is None or before is None else now - before)
        self.emissions_rate = None
        if self.emissions is not None:
            self.emissions_rate = self.emissions / self.duration if self.duration > 0 else 0.0

    def toJSON(self) -> str:  # CodeCarbon's name
        """All of it as JSON."""
        import json

        return json.dumps(self.__dict__, sort_keys=True, indent=4)


@dataclass
class TaskEmissionsData:
    """A row of the file of tasks: that of a run with the task's name, and without what only runs have."""

    task_name: str
    timestamp: str
    project_name: str
    run_id: str
    duration: float
    emissions: Optional[float]
    emissions_rate: Optional[float]
    cpu_power: float
    gpu_power: float
    ram_power: float
    cpu_energy: float
    gpu_energy: float
    ram_energy: float
    energy_consumed: float
    water_consumed: float
    country_name: Optional[str]
    country_iso_code: Optional[str]
    region: Optional[str]
    cloud_provider: Optional[str]
    cloud_region: Optional[str]
    os: Optional[str]
    python_version: Optional[str]
    codecarbon_version: Optional[str]
    cpu_count: Optional[float]
    cpu_model: Optional[str]
    gpu_count: Optional[float]
    gpu_model: Optional[str]
    longitude: Optional[float]
    latitude: Optional[float]
    ram_total_size: Optional[float]
    tracking_mode: str
    cpu_utilization_percent: Optional[float] = 0.0
    gpu_utilization_percent: Optional[float] = 0.0
    ram_utilization_percent: Optional[float] = 0.0
    ram_used_gb: Optional[float] = 0.0
    on_cloud: str = "N"

    @classmethod
    def of_task(cls, name: str, data: EmissionsData) -> TaskEmissionsData:
        """The data of a task by its name."""
        return cls(
            name, **{field.name: getattr(data, field.name) for field in fields(cls) if field.name != "task_name"}
        )

    @property
    def values(self) -> OrderedDict[str, Any]:
        """All of it, by name, in the order of the file."""
        from collections import OrderedDict

        return OrderedDict(self.__dict__)
