"""A tracker that is told its place, started, flushed and stopped by hand, with the user's own output."""

import time

from codecarbon import OfflineEmissionsTracker


class Mail:
    """Somebody who wants to be told."""

    def __init__(self):
        self.told = []

    def out(self, total, delta):
        self.told.append((total.energy_consumed, delta.energy_consumed))

    def live_out(self, total, delta):
        pass

    def task_out(self, data, experiment_name):
        self.told.append((experiment_name, [task.task_name for task in data]))

    def exit(self):
        self.told.append("exit")


def work(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(1000))


mail = Mail()
tracker = OfflineEmissionsTracker(
    "mailed",
    country_iso_code="USA",
    region="california",
    tracking_mode="machine",
    on_csv_write="update",
    output_handlers=[mail],
    log_level="error",
)
tracker.start()
work(0.3)
first = tracker.flush()
work(0.3)
last = tracker.stop()
assert 0 < first < last, (first, last)
assert tracker.stop() == last == tracker.final_emissions
outputs = [told for told in mail.told if isinstance(told, tuple)]
assert len(outputs) == 2 and mail.told[-1] == "exit", mail.told
assert 0 < outputs[0][0] < outputs[1][0] and 0 < outputs[1][1] < outputs[1][0]
print(f"{tracker.final_emissions_data.country_name} {tracker.final_emissions_data.region}: {len(mail.told)} outputs")
