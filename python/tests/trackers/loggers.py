"""Results in a log, by the classes of ``codecarbon.output``, from a tracker that was imported from its module."""

import json
import logging
import sys
import time

from codecarbon import OutputMethod
from codecarbon.emissions_tracker import OfflineEmissionsTracker, track_task_emissions
from codecarbon.output import EmissionsData, LoggerOutput

logger = logging.getLogger("carbon")
logger.setLevel(logging.INFO)
logger.addHandler(logging.StreamHandler(sys.stdout))


class Kept(LoggerOutput):
    """A logger that keeps what it was told."""

    told: list = []

    def out(self, total: EmissionsData, delta: EmissionsData):
        self.told.append(total)
        self.logger.log(self.logging_severity, "told of " + total.project_name)


tracker = OfflineEmissionsTracker(
    project_name="logged",
    country_iso_code="NOR",
    output_methods=[OutputMethod.LOGGER],
    logging_logger=Kept(logger, logging.INFO),
    log_level="error",
)


@track_task_emissions(tracker=tracker, task_name="sleep")
def sleep():
    time.sleep(0.3)


sleep()
tracker.stop()
(total,) = Kept.told
assert total.energy_consumed > 0 and total.emissions > 0
assert json.loads(total.toJSON())["country_iso_code"] == "NOR"


class Lines:
    """Stands for a logger."""

    def __init__(self):
        self.lines = []

    def log(self, level, msg):
        self.lines.append(json.loads(msg))


# Notebooks begin and end the same tracker again and again.
lines = Lines()
tracker = OfflineEmissionsTracker(
    country_iso_code="NOR",
    save_to_file=False,
    save_to_logger=True,
    logging_logger=LoggerOutput(lines),
    log_level="error",
)
for _ in range(2):
    tracker.start()
    time.sleep(0.2)
    assert tracker.stop() >= 0
assert len(lines.lines) == 2 and all(line["duration"] > 0 for line in lines.lines), lines.lines
print("logged twice")
