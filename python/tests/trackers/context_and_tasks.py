"""A run as a context, with tasks in it."""

import time

from codecarbon import EmissionsTracker


def work(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(1000))


with EmissionsTracker(
    project_name="digits", experiment_name="grid", log_level="error", measure_power_secs=5
) as tracker:
    tracker.start_task("load the data")
    work(0.3)
    loading = tracker.stop_task()
    tracker.start_task("train")
    work(0.6)
    training = tracker.stop_task()

assert loading.energy_consumed > 0 and training.energy_consumed > 0
assert training.duration > loading.duration
data = tracker.final_emissions_data
assert data.emissions == tracker.final_emissions
print(
    f"{data.project_name}: {1000 * data.emissions:.6f} g in {data.duration:.0f} s with {data.energy_consumed:.3e} kWh"
)
