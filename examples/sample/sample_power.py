"""Power that goes with the sample traces. It is synthetic: a load model and a little noise, never a meter.

A device draws its idle power plus something for whatever is running. A real meter reports at its own pace and late;
so does this one: a reading is the mean power since the reading before it.
"""

from datetime import UTC, datetime
from itertools import pairwise


def energy_until(t, activity, idle):
    """Joules used from zero to `t`, where `activity` is (start, end, extra watts) and time is in nanoseconds."""
    extra = sum(watts * (min(end, t) - start) for start, end, watts in activity if start < t)
    return (idle * t + extra) / 1e9


def readings(times, activity, idle, rng, noise):
    """Cumulative joules at each of `times`, the first being zero, each step off by at most the part `noise`."""
    truth = [energy_until(t, activity, idle) for t in times]
    total, joules = 0.0, [0.0]
    for before, now in pairwise(truth):
        total += (now - before) * rng.uniform(1 - noise, 1 + noise)
        joules.append(total)
    return joules


def watts_rows(device, start_us, times, joules):
    """Rows `epoch_us,device,watts,kind`: the mean power up to each instant."""
    for (t0, j0), (t1, j1) in pairwise(zip(times, joules, strict=True)):
        yield f"{start_us + t1 // 1000},{device},{(j1 - j0) / (t1 - t0) * 1e9:.3f},estimated"


def joules_rows(device, start_ns, times, joules, counter):
    """Rows `time,device,joules,kind`: a counter that already stood at `counter` joules."""
    for t, j in zip(times, joules, strict=True):
        seconds, nanos = divmod(start_ns + t, 1_000_000_000)
        date = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        yield t, f"{date}.{nanos:09d}Z,{device},{counter + j:.6f},estimated"
