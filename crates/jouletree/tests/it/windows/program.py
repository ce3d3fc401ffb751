"""A program that measures parts of itself, beside the counter of the machine it runs on; prints the answers."""

import glob
import json
import os
import sys
import time

import jouletree


def counter():
    """The microjoules of the processor, straight from the machine."""
    names = glob.glob(sys.argv[1] + "/class/powercap/intel-rapl:*/name")
    (zone,) = [name for name in names if open(name).read() == "package-0\n"]
    with open(os.path.join(os.path.dirname(zone), "energy_uj")) as file:
        return int(file.read())


def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def told(measurement):
    return {
        "name": measurement.name,
        "seconds": measurement.seconds,
        "joules": measurement.joules,
        "low": measurement.low,
        "high": measurement.high,
        "kind": measurement.kind,
        "complete": measurement.complete,
        "devices": {
            device.device: {name: getattr(device, name) for name in device.__slots__} for device in measurement.devices
        },
    }


# The first window waits for the meters.
jouletree.end_window(jouletree.begin_window("ready"))
results = []
ran = time.process_time()
before = counter()
with jouletree.window("outer") as outer:
    for name, work in [("first", busy), ("second", time.sleep), ("third", busy)]:
        handle = jouletree.begin_window(name)
        with jouletree.window(name + "/inner") as inner:
            work(0.35)
        work(0.05)
        results += [inner.measurement, jouletree.end_window(handle)]
after = counter()
ran = time.process_time() - ran
asked = time.perf_counter()
outer.joules
waited = time.perf_counter() - asked
windows = [told(m) for m in [*results, outer.measurement]]
counted = (after - before) * 1e-6
json.dump({"counted": counted, "waited": waited, "part": ran / os.cpu_count(), "windows": windows}, sys.stdout)
