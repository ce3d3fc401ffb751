#!/usr/bin/env python3
"""What a tracker costs the program that uses it: import, first start, stop, memory; CodeCarbon and its stand-in.

Each is measured in programs of its own, taking turns; the least is shown, as what else the machine does only adds.

    JOULETREE_BINARY=… $(tools/environment.py trackers) benches/trackers/trackers.py [--rounds 7]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PACKAGES = pathlib.Path(__file__).resolve().parents[2] / "python"

PROGRAM = """
import json, resource, sys, time

def mebibytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def seconds(action):
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun

def load():
    global Tracker
    from {module} import OfflineEmissionsTracker as Tracker

def start():
    global tracker
    tracker = Tracker(country_iso_code="ITA", log_level="critical")
    tracker.start()

before = mebibytes()
costs = {{"import (ms)": 1000 * seconds(load), "import (MiB)": mebibytes() - before}}
costs["start (ms)"] = 1000 * seconds(start)
time.sleep(1)
costs["stop (ms)"] = 1000 * seconds(tracker.stop)
costs["all (MiB)"] = mebibytes() - before
print(json.dumps(costs))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    modules = ("codecarbon", "jouletree.compat.codecarbon")
    seen: dict[str, list[dict[str, float]]] = {module: [] for module in modules}
    with tempfile.TemporaryDirectory() as folder:
        # The program is read from its cache, as it is from the second time on.
        environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(rounds):
            for module in modules:
                words = [sys.executable, "-W", "ignore", "-c", PROGRAM.format(module=module)]
                done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True)
                seen[module].append(json.loads(done.stdout))
    names = list(seen[modules[0]][0])
    print(f"{'':30}" + "".join(f"{name:>14}" for name in names))
    for module in modules:
        print(f"{module:30}" + "".join(f"{min(each[name] for each in seen[module]):14.1f}" for name in names))


if __name__ == "__main__":
    main()
