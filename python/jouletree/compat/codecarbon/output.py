"""What programs take from ``codecarbon.output``: receivers of results beside files. Nothing here sends them."""

from __future__ import annotations

import dataclasses
import json
import logging

from .._emissions_data import EmissionsData, TaskEmissionsData
from . import OutputMethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "BaseOutput",
    "EmissionsData",
    "GoogleCloudLoggerOutput",
    "LoggerOutput",
    "OutputMethod",
    "TaskEmissionsData",
]


class BaseOutput:
    """A receiver of results: a handler for ``output_handlers``."""

    def out(self, total: EmissionsData, delta: EmissionsData) -> None:
        """Called when a run is flushed or stopped, with what came since the last time."""

    def live_out(self, total: EmissionsData, delta: EmissionsData) -> None:
        """CodeCarbon's, between the two. Nothing is sent here then."""

    def task_out(self, data: list[TaskEmissionsData], experiment_name: str) -> None:
        """Called with the tasks of a run."""

    def exit(self) -> None:
        """Called at the end."""


class LoggerOutput(BaseOutput):
    """Writes to a logger, in JSON."""

    def __init__(self, logger: Any, severity: int = logging.INFO) -> None:
        self.logger = logger
        self.logging_severity = severity

    def out(self, total: EmissionsData, delta: EmissionsData) -> None:
        self.logger.log(self.logging_severity, msg=json.dumps(dataclasses.asdict(total)))


class GoogleCloudLoggerOutput(LoggerOutput):
    """Writes to a logger of Google Cloud."""

    def out(self, total: EmissionsData, delta: EmissionsData) -> None:
        self.logger.log_struct(dataclasses.asdict(total), severity=self.logging_severity)
