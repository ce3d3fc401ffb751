"""What programs read of a tracker although it is not meant for them: tasks, and totals while it runs and afterwards."""

import time

from codecarbon import OfflineEmissionsTracker

tracker = OfflineEmissionsTracker(
    country_iso_code="POL", project_name="inside", measure_power_secs=1, log_level="error"
)
tracker.start()
time.sleep(2.5)
so_far = tracker._total_energy.kWh
time.sleep(1)
tracker.stop()
total = tracker._total_energy.kWh
assert 0 < so_far < total, (so_far, total)
assert abs(total - tracker.final_emissions_data.energy_consumed) <= 1e-9 * total
parts = tracker._total_cpu_energy.kWh + tracker._total_gpu_energy.kWh + tracker._total_ram_energy.kWh
assert abs(total - parts) <= 1e-9 * total, (total, parts)

tracker = OfflineEmissionsTracker(country_iso_code="POL", save_to_file=False, log_level="error")
for name in ("load", "train"):
    tracker.start_task(name)
    time.sleep(0.2)
    tracker.stop_task()
tracker.stop()
for name, task in tracker._tasks.items():
    assert task.task_name == name and task.emissions_data.energy_consumed > 0
    print(name, "ended")
