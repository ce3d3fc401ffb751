"""CarbonTracker's stand-in: alone, and read by CarbonTracker's own parsers where it is installed."""

from __future__ import annotations

import importlib.util
import inspect
import math
import pathlib
import re

import pytest
from compat_world import World, needs_binary

needs_carbontracker = pytest.mark.skipif(
    importlib.util.find_spec("carbontracker") is None, reason="CarbonTracker is not installed"
)

TRAINING = """
from jouletree.compat.carbontracker import CarbonTracker
tracker = CarbonTracker(epochs={epochs}, log_dir="logs", {more})
for epoch in range({run}):
    tracker.epoch_start()
    busy(0.3)
    tracker.epoch_end()
tracker.stop()
print("trained")
"""


@pytest.fixture
def world(tmp_path: pathlib.Path) -> World:
    return World(tmp_path)


def logs(world: World) -> dict[str, str]:
    return {path.name.split("_", 2)[-1]: path.read_text() for path in (world.folder / "logs").iterdir()}


@needs_carbontracker
def test_every_argument_of_carbontracker_is_taken_in_its_place() -> None:
    from carbontracker.tracker import CarbonTracker as Theirs

    from jouletree.compat.carbontracker import CarbonTracker as Ours

    for name in ("__init__", "epoch_start", "epoch_end", "stop", "set_api_keys"):
        mine, its = (inspect.signature(getattr(each, name)).parameters for each in (Ours, Theirs))
        assert [each for each in mine if each != "more"] == list(its), name
        for argument in its:
            assert mine[argument].default == its[argument].default, argument


@needs_binary
@needs_carbontracker
def test_its_own_parsers_read_the_logs(world: World) -> None:
    with world.powered("package-0: 30W\npackage-0/dram: 6W\n"):
        said = world.run(
            TRAINING.format(epochs=4, run=4, more="epochs_before_pred=2"), CODECARBON_COUNTRY_ISO_CODE="ITA"
        ).out
    assert said.endswith("trained\n")
    from carbontracker import parser
    from carbontracker.report import LogParser

    (log,) = parser.parse_all_logs(str(world.folder / "logs"))
    assert not log["early_stop"]
    # Package and memory, as CarbonTracker counts a processor.
    powers = log["components"]["cpu"]["avg_power_usages (W)"].ravel()
    # The double may be late by a twentieth of a second, of three tenths.
    assert len(powers) == 4 and powers == pytest.approx([36] * 4, rel=0.17)
    durations = log["components"]["cpu"]["epoch_durations (s)"]
    assert len(durations) == 4 and all(0.3 <= each < 2 for each in durations)
    actual, predicted = log["actual"], log["pred"]
    assert actual["energy (kWh)"] * 3.6e6 == pytest.approx(36 * sum(durations), rel=0.17)
    assert actual["co2eq (g)"] == pytest.approx(actual["energy (kWh)"] * 330.718, rel=1e-4)
    assert list(actual["equivalents"]) == ["km travelled by car"]
    assert predicted["epochs"] == 4
    assert predicted["energy (kWh)"] == pytest.approx(actual["energy (kWh)"], rel=0.5)
    energy, grams, _ = parser.aggregate_consumption(str(world.folder / "logs"))
    assert energy > 0 and grams > 0
    # The report of one run.
    (path,) = (world.folder / "logs").glob("*_carbontracker.log")
    report = LogParser(path.read_text())
    assert len(report.epochs) == 4 and report.pue == 1.0 and report.carbon_intensity == pytest.approx(330.72)
    assert report.calculate_energy_metrics()["energy_kwh"] == pytest.approx(actual["energy (kWh)"], rel=0.02)


@needs_binary
def test_the_prediction_comes_after_the_epochs_that_were_asked_for(world: World) -> None:
    said = world.run(
        TRAINING.format(epochs=100, run=4, more="epochs_before_pred=4"), CODECARBON_COUNTRY_ISO_CODE="ITA"
    ).out
    # Four epochs are enough for an interval, and that is told.
    found = re.search(
        r"CarbonTracker: \nPredicted consumption for 100 epoch\(s\):\n"
        r"\tTime:\t0:(\d\d):(\d\d)\n\tEnergy:\t(\S+) kWh\n\tBetween:\t(\S+) and (\S+) kWh",
        said,
    )
    assert found, said
    minutes, seconds, kwh, low, high = (float(each) for each in found.groups())
    assert 30 <= 60 * minutes + seconds < 120 and low < kwh < high
    found = re.search(
        r"Actual consumption for 4 epoch\(s\):\n.*\n\tEnergy:\t(\S+) kWh\n\tBetween:\t(\S+) and (\S+)", said
    )
    assert found, said
    used, used_low, used_high = (float(each) for each in found.groups())
    # What the meters may be off by is in both intervals.
    assert used_low < used < used_high and low / kwh <= used_low / used and high / kwh >= used_high / used
    both = logs(world)
    assert "Training was interrupted before all 100 epochs" in both["carbontracker.log"]


@needs_binary
@needs_carbontracker
def test_by_default_a_second_prediction_leaves_out_what_warmed_up(world: World) -> None:
    program = """
        from jouletree.compat.carbontracker import CarbonTracker
        tracker = CarbonTracker(epochs=50, log_dir="logs")
        for seconds in (2.4, 0.3, 0.3, 0.3, 0.3):
            tracker.epoch_start(); time.sleep(seconds); tracker.epoch_end()
        tracker.stop()
        """
    with world.powered("package-0: 30W\n"):
        said = world.run(program).out
    first, second = re.findall(r"Predicted consumption for 50 epoch\(s\)(.*)\n\tTime:.*\n\tEnergy:\t(\S+) kWh\n", said)
    assert first[0] == ":" and second[0] == ", now from 4:", said
    assert "Warm-up:\t1 epoch(s)" in said and said.count("Between:") == 2
    from carbontracker import parser

    (log,) = parser.parse_all_logs(str(world.folder / "logs"))
    assert log["pred"]["energy (kWh)"] == float(first[1])
    took = log["components"]["cpu"]["epoch_durations (s)"]
    joules = (log["components"]["cpu"]["avg_power_usages (W)"].ravel() * took)[:4]
    # 50 epochs like the first, and 49 like those after it.
    assert len(took) == 5 and float(first[1]) * 3.6e6 == pytest.approx(50 * joules[0], rel=0.01)
    assert float(second[1]) * 3.6e6 == pytest.approx(joules[0] + 49 * sum(joules[1:]) / 3, rel=0.05)


@needs_binary
def test_an_epoch_under_way_does_not_count_and_finished_ones_all_do(world: World) -> None:
    said = world.run(
        """
        from jouletree.compat.carbontracker import CarbonTracker
        tracker = CarbonTracker(epochs=5, epochs_before_pred=0, verbose=1)
        for _ in range(2):
            tracker.epoch_start(); busy(0.2); tracker.epoch_end()
        tracker.epoch_start()
        busy(0.4)
        tracker.stop()
        tracker.stop(); tracker.epoch_start(); tracker.epoch_end()
        print(tracker.epoch_counter)
        tracker = CarbonTracker(epochs=5, verbose=0)
        tracker.epoch_start(); busy(0.2); tracker.epoch_end(); tracker.stop()
        """
    ).out
    assert "Predicted" not in said and said.count("Actual consumption:") == 1
    assert "Time:\t0:00:00\n" in said and said.endswith("2\n"), said
    assert "CO2eq:\tnan g" in said


@needs_binary
@needs_carbontracker
def test_logs_without_a_place_are_read_too(world: World) -> None:
    world.run(TRAINING.format(epochs=3, run=3, more="verbose=0"))
    from carbontracker import parser

    (log,) = parser.parse_all_logs(str(world.folder / "logs"))
    assert log["actual"]["energy (kWh)"] > 0 and math.isnan(log["actual"]["co2eq (g)"])
    _, grams, _ = parser.aggregate_consumption(str(world.folder / "logs"))
    assert grams == 0


@needs_binary
def test_the_user_is_asked_and_may_say_no(world: World) -> None:
    program = TRAINING.format(epochs=3, run=3, more="stop_and_confirm=True")
    ended = world.run(program, stdin="what?\nn\n")
    assert "Input not recognized" in ended.out and "Quitting..." in ended.out and "trained" not in ended.out
    ended = world.run(program, stdin="y\n")
    assert "Continuing..." in ended.out and ended.out.endswith("trained\n")
    ended = world.run(program)
    assert "has no terminal to ask" in ended.err and ended.out.endswith("trained\n")


@needs_binary
def test_nothing_stops_the_training(world: World) -> None:
    (world.folder / "logs").write_text("in the way")
    more = "monitor_epochs=0, sim_cpu='x', api_keys={'other': 'k'}, colour='green', components='gpu'"
    ended = world.run(TRAINING.format(epochs=2, run=2, more=more))
    assert ended.out.endswith("trained\n")
    for told in ("writes no logs", "monitor_epochs is 0", "sim_cpu", "'other'", "'colour'", "nothing was measured"):
        assert told in ended.err, (told, ended.err)
    ended = world.run(TRAINING.format(epochs=2, run=2, more="").replace('"logs"', "None"), JOULETREE_BINARY="/none")
    assert ended.out.endswith("trained\n") and "JOULETREE_BINARY" in ended.err


def test_clocks_are_as_the_parser_wants_them() -> None:
    from jouletree.compat._carbontracker_logs import _hours

    assert _hours(0.0, 2) == "0:00:00.00" and _hours(59.999, 2) == "0:01:00.00"
    assert _hours(3723.456, 2) == "1:02:03.46" and _hours(3723.4, 0) == "1:02:03" and _hours(360000, 0) == "100:00:00"


@needs_binary
def test_random_numbers_of_the_program_stay_as_they_are(world: World) -> None:
    program = """
        import random
        random.seed(1)
        {tracker}
        print(random.random())
        """
    without = world.run(program.format(tracker="")).out
    tracked = (
        "from jouletree.compat.carbontracker import CarbonTracker; CarbonTracker(epochs=1, log_dir='l', verbose=0)"
    )
    assert world.run(program.format(tracker=tracked)).out == without
    assert any(pathlib.Path(world.folder / "l").iterdir())
