"""A function whose calls are tracked, and one that fails."""

import os
import sys

from codecarbon import OutputMethod, track_emissions

os.makedirs("results", exist_ok=True)


@track_emissions(
    project_name="fit",
    output_dir="results",
    output_file="energy.csv",
    offline=True,
    country_iso_code="FRA",
    output_methods=[OutputMethod.CSV],
    log_level="critical",
    pue=1.2,
)
def fit(steps, rate=0.1):
    """Fits something."""
    value = 1.0
    for _ in range(steps):
        value -= rate * 2 * value
    return value


@track_emissions(offline=True, country_iso_code="FRA", save_to_file=False, log_level="critical")
def fails():
    raise KeyError("no such model")


assert fit.__name__ == "fit" and fit.__doc__ == "Fits something."
assert fit(3_000_000, rate=1e-7) < 1
try:
    fails()
except KeyError as error:
    print("failed with", error)
else:
    sys.exit("an error of the program was lost")
print([name for name in os.listdir("results") if name.endswith(".csv")], os.path.exists("emissions.csv"))
