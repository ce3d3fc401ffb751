#!/usr/bin/env python3
"""Measures what other programs reach at jouletree's tasks; prints one JSON object a line.

peers.py trace FILE             reads a Kineto trace: MB/s of JSON per core
peers.py gzip FILE              reads a packed one: MB/s of JSON per core
peers.py align FILE JOULES      charges overlapping events with energy: M events/s per core; the sum must be JOULES

A package that is missing is skipped with a message. Needs benches/requirements.txt; --hta measures
HolisticTraceAnalysis, too.
"""

import argparse
import array
import gc
import gzip
import importlib
import json
import time
from pathlib import Path

# The pure-Python sweep gets this many events of the workload; more would only take longer.
PYTHON_EVENTS = 100_000


class WrongResult(Exception):
    """A peer that solves another problem must not be compared with."""


def best_seconds(work, runs):
    """The least processor time that `work` took in `runs` runs, all threads together.

    The garbage collector is off meanwhile: it would halve the speed of whatever makes many objects, and peers are
    shown at their best.
    """
    best = float("inf")
    for _ in range(runs):
        gc.collect()
        gc.disable()
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
        gc.enable()
    return best


def say(peer, amount, work, runs):
    """Prints how much of `amount` the peer does in a second."""
    print(json.dumps({"peer": peer, "value": amount / best_seconds(work, runs)}), flush=True)


def package(name, peer):
    """A package, or `None` and a message."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(json.dumps({"peer": peer, "skipped": f"{error}; pip install it"}), flush=True)
        return None


def trace_decoder(msgspec):
    """A decoder that takes seven fields of every event and steps over the rest."""

    class Event(msgspec.Struct):
        ph: str
        name: str
        cat: str = ""
        ts: float = 0.0
        dur: float = 0.0
        pid: int | str = 0
        tid: int | str = 0

    class Trace(msgspec.Struct):
        traceEvents: list[Event]

    return msgspec.json.Decoder(Trace)


def measure_trace(arguments):
    text = arguments.file.read_bytes()
    megabytes = len(text) / 1e6
    say("Python json", megabytes, lambda: json.loads(text), 2)
    if orjson := package("orjson", "orjson"):
        say("orjson", megabytes, lambda: orjson.loads(text), 2)
    if msgspec := package("msgspec", "msgspec, 7 fields"):
        decoder = trace_decoder(msgspec)
        say("msgspec, 7 fields", megabytes, lambda: decoder.decode(text), 3)
    if arguments.hta and (parser := package("hta.common.trace_parser", "HTA")):
        config = parser.ParserConfig.get_default_cfg()
        say("HTA", megabytes, lambda: parser.parse_trace_dataframe(str(arguments.file), config), 1)


def measure_gzip(arguments):
    megabytes = len(gzip.decompress(arguments.file.read_bytes())) / 1e6
    if msgspec := package("msgspec", "gzip + msgspec, 7 fields"):
        decoder = trace_decoder(msgspec)

        def unpack_and_decode():
            decoder.decode(gzip.decompress(arguments.file.read_bytes()))

        say("gzip + msgspec, 7 fields", megabytes, unpack_and_decode, 2)


class Workload:
    """Events of one device and its cumulative energy, as jouletree's benchmark writes them."""

    def __init__(self, file):
        raw = file.read_bytes()
        integers, joules = array.array("q"), array.array("d")
        integers.frombytes(raw[:16])
        self.events, points = integers
        integers = array.array("q")
        split = 16 + 8 * (3 * self.events + points)
        integers.frombytes(raw[16:split])
        joules.frombytes(raw[split:])
        n = self.events
        self.starts, self.ends, self.ops = integers[:n], integers[n : 2 * n], integers[2 * n : 3 * n]
        self.times, self.joules = integers[3 * n :], joules


def numpy_energies(numpy, starts, ends, ops, times, joules):
    """The energy of every operation: sort boundaries, count what is active, integrate energy over the count."""
    n = len(starts)
    boundaries = numpy.concatenate([starts, ends])
    order = numpy.argsort(boundaries, kind="stable")
    at = boundaries[order]
    active = numpy.cumsum(numpy.where(order < n, 1, -1))
    # Relative to the first point, or a double has no nanoseconds left.
    begun = times[0]
    energy = numpy.interp((at - begun).astype(float), (times - begun).astype(float), joules)
    share = numpy.diff(energy) / numpy.maximum(active[:-1], 1)
    share[active[:-1] == 0] = 0.0
    charged = numpy.concatenate([[0.0], numpy.cumsum(share)])
    first, last = numpy.searchsorted(at, starts), numpy.searchsorted(at, ends)
    return numpy.bincount(ops, weights=charged[last] - charged[first])


def python_energies(starts, ends, ops, times, joules):
    """The same in plain Python: between two boundaries, every active operation gets an equal share."""
    boundaries = sorted(
        [(start, 1, op) for start, op in zip(starts, ops)] + [(end, -1, op) for end, op in zip(ends, ops)]
    )
    boundaries += [(time, 0, 0) for time in times]
    boundaries.sort()
    energies, active, running, point, before = {}, {}, 0, 0, times[0]
    for at, change, op in boundaries:
        while point + 1 < len(times) - 1 and times[point + 1] <= before:
            point += 1
        if running and at > before:
            power = (joules[point + 1] - joules[point]) / (times[point + 1] - times[point])
            share = power * (at - before) / running
            for name, lanes in active.items():
                energies[name] = energies.get(name, 0.0) + share * lanes
        before = at
        running += change
        if change:
            lanes = active.get(op, 0) + change
            if lanes:
                active[op] = lanes
            else:
                del active[op]
    return energies


def check(peer, joules, expected):
    if abs(joules - expected) > 1e-6 * expected:
        raise WrongResult(f"{peer} charges {joules} J, jouletree {expected} J")


def measure_align(arguments):
    work = Workload(arguments.file)
    if numpy := package("numpy", "numpy"):
        columns = [numpy.frombuffer(column, numpy.int64) for column in (work.starts, work.ends, work.ops, work.times)]
        columns.append(numpy.frombuffer(work.joules, numpy.float64))
        check("numpy", numpy_energies(numpy, *columns).sum(), arguments.joules)
        say("numpy", work.events / 1e6, lambda: numpy_energies(numpy, *columns), 3)
        # The pure-Python sweep has a part of the events; numpy knows what they should be charged.
        part = sorted(range(work.events), key=work.starts.__getitem__)[:PYTHON_EVENTS]
        fewer = [column[part] for column in columns[:3]]
        expected = numpy_energies(numpy, *fewer, *columns[3:]).sum()
        lists = [column.tolist() for column in (*fewer, *columns[3:])]
        check("plain Python", sum(python_energies(*lists).values()), expected)
        say("plain Python", len(part) / 1e6, lambda: python_energies(*lists), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(required=True)
    for name, measure in [("trace", measure_trace), ("gzip", measure_gzip), ("align", measure_align)]:
        task = tasks.add_parser(name)
        task.set_defaults(measure=measure)
        task.add_argument("file", type=Path)
        task.add_argument("--hta", action="store_true", help="measure HolisticTraceAnalysis where it applies")
        if name == "align":
            task.add_argument("joules", type=float)
    arguments = parser.parse_args()
    arguments.measure(arguments)


if __name__ == "__main__":
    main()
