#!/usr/bin/env python3
"""Makes the sample traces and their power files, the same content every time.

Randomness comes from seeded uniform numbers alone: logarithms and the like may differ between C libraries.

    make_sample.py            writes the files beside this script
    make_sample.py --check    makes them in memory and compares; exits with 1 if the files differ
"""

import argparse
import gzip
import random
import sys
from pathlib import Path

import sample_power as power
import sample_pytorch as pytorch
import sample_tensorflow as tensorflow

HERE = Path(__file__).resolve().parent
MILLISECOND = 1_000_000


def tensorflow_files():
    """One step of a BERT on one CPU, metered every 4 ms in watts."""
    runs = tensorflow.execute(tensorflow.training_step())
    yield "timeline-5.json.gz", tensorflow.timeline(runs)

    # Time counts from a little before the step, so that the idle machine is seen too.
    margin = 25 * MILLISECOND
    activity = [(margin + run.start * 1000, margin + run.end * 1000, 17 * run.op.heat) for run in runs]
    last = max(end for _, end, _ in activity)
    times = range(0, last + margin, 4 * MILLISECOND)
    joules = power.readings(times, activity, idle=21, rng=random.Random(1), noise=0.02)
    rows = power.watts_rows("CPU:0", tensorflow.START_US - margin // 1000, times, joules)
    yield "power.csv", "\n".join(["epoch_us,device,watts,kind", *rows]) + "\n"


def pytorch_files():
    """Two steps of a GPT on two GPUs of one host, metered by counters of joules."""
    ranks = pytorch.ranks()
    for rank in ranks:
        yield f"rank{rank.rank}.json.gz", rank.trace()

    margin = 30 * MILLISECOND
    last = max(rank.main.now for rank in ranks) + 2 * margin
    # A training loop keeps one core busy for each rank, waiting for the GPU included.
    host = [(margin + rank.rank * 61_337, margin + rank.main.now, 24) for rank in ranks]
    meters = [("CPU:0", host, 62, 5, 48_211.25)]
    for rank in ranks:
        activity = [(margin + start, margin + end, watts) for start, end, watts in rank.activity]
        meters.append((f"GPU:{rank.rank}", activity, 58, 10, 1_823_004.5 - 3_917.125 * rank.rank))
    rows = []
    for seed, (device, activity, idle, period, counter) in enumerate(meters, start=2):
        rng = random.Random(seed)
        times = [0]
        while times[-1] < last:
            times.append(times[-1] + period * MILLISECOND + rng.randrange(180_000))
        joules = power.readings(times, activity, idle, rng, noise=0.02)
        rows += power.joules_rows(device, pytorch.START_NS - margin, times, joules, counter)
    rows.sort()
    yield "power-ranks.csv", "\n".join(["time,device,joules,kind", *(row for _, row in rows)]) + "\n"


def content(path):
    """What a file holds, decompressed; `None` if it is not there."""
    if not path.exists():
        return None
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--check", action="store_true", help="compare with the files on disk instead of writing them"
    )
    check = parser.parse_args().check
    different = 0
    for name, text in [*tensorflow_files(), *pytorch_files()]:
        path = HERE / name
        if not check:
            # No time stamp in the gzip header: the same input gives the same file.
            path.write_bytes(gzip.compress(text.encode(), 9, mtime=0) if path.suffix == ".gz" else text.encode())
            print(f"{name}: {path.stat().st_size} bytes")
        elif content(path) != text:
            different += 1
            print(
                f"{name} is not what make_sample.py makes; run it without --check to write it again",
                file=sys.stderr,
            )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
