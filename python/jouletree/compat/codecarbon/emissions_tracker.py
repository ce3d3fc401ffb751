"""What programs take from ``codecarbon.emissions_tracker``."""

from . import (
    BaseEmissionsTracker,
    EmissionsTracker,
    OfflineEmissionsTracker,
    TaskEmissionsTracker,
    track_emissions,
    track_task_emissions,
)

__all__ = [
    "BaseEmissionsTracker",
    "EmissionsTracker",
    "OfflineEmissionsTracker",
    "TaskEmissionsTracker",
    "track_emissions",
    "track_task_emissions",
]
