"""Eco2AI's stand-in: alone, and beside Eco2AI itself where it is installed."""

from __future__ import annotations

import importlib.util
import inspect
import json
import pathlib

import pytest
from compat_world import World, needs_binary

needs_eco2ai = pytest.mark.skipif(importlib.util.find_spec("eco2ai") is None, reason="Eco2AI is not installed")


@needs_eco2ai
def test_every_argument_of_eco2ai_is_taken_in_its_place() -> None:
    import eco2ai as theirs

    from jouletree.compat import eco2ai as ours

    names = ["__init__", *(name for name in vars(theirs.Tracker) if name[0] != "_")]
    left = {"align_value_to_dtype", "get_set_params"}  # Tools of its own that it shows.
    for name in names:
        if name in left:
            continue
        mine, its = (inspect.signature(getattr(each.Tracker, name)).parameters for each in (ours, theirs))
        assert [each for each in mine if each != "more"] == list(its), name
    mine, its = (inspect.signature(each.Tracker).parameters for each in (ours, theirs))
    assert {name: each.default for name, each in mine.items() if name != "more"} == {
        name: each.default for name, each in its.items()
    }
    for name in ("track", "set_params", "get_params"):
        assert callable(getattr(ours, name)) and callable(getattr(theirs, name))


@pytest.fixture
def world(tmp_path: pathlib.Path) -> World:
    return World(tmp_path)


RUN = """
from {module} import Tracker
tracker = Tracker(project_name="p", experiment_description="a, b", file_name="emission.csv", alpha_2_code="IT",
                  measure_period=1, ignore_warnings=True)
tracker.start()
busy(0.5)
tracker.stop()
"""


@needs_binary
@needs_eco2ai
@pytest.mark.parametrize("first", ["eco2ai", "jouletree.compat.eco2ai"])
def test_both_append_to_one_file(world: World, first: str) -> None:
    second = "jouletree.compat.eco2ai" if first == "eco2ai" else "eco2ai"
    for module in (first, second, first):
        world.run(RUN.format(module=module))
    rows = world.rows("emission.csv")
    assert len(rows) == 3 and len({row["id"] for row in rows}) == 3
    assert all(float(row["power_consumption(kWh)"]) > 0 and row["experiment_description"] == "a, b" for row in rows)
    assert all(float(row["CO2_emissions(kg)"]) > 0 for row in rows)
    import eco2ai

    summary = eco2ai.summary(str(world.folder / "emission.csv"))
    assert list(summary["project_name"]) == ["p", "All the projects"]
    total = sum(float(row["power_consumption(kWh)"]) for row in rows)
    assert float(summary["total power_consumption(kWh)"].iloc[-1]) == pytest.approx(total)


@needs_binary
def test_a_training_has_a_row_for_every_epoch(world: World) -> None:
    told = json.loads(
        world.run(
            """
            from jouletree.compat.eco2ai import Tracker, set_params
            set_params(project_name="from params", pue=1)
            tracker = Tracker(emission_level=250, pue=1.5)
            tracker.start_training(start_epoch=3)
            for loss in (0.5, 0.25):
                busy(0.2)
                tracker.new_epoch({"loss": loss, "rate": 1})
            busy(0.2)
            tracker.stop_training()
            tell(kwh=tracker.consumption(), id=tracker.id(), level=tracker.emission_level(),
                 period=tracker.measure_period())
            """
        ).out
    )
    rows = world.rows("emission.csv")
    assert [row["epoch"] for row in rows] == ["epoch: 3, loss: 0.5, rate: 1, ", "epoch: 4, loss: 0.25, rate: 1, "]
    assert {row["id"] for row in rows} == {told["id"]} and {row["project_name"] for row in rows} == {"from params"}
    assert float(rows[1]["power_consumption(kWh)"]) == pytest.approx(told["kwh"], rel=1e-9)
    assert all(0.2 <= float(row["duration(s)"]) < 2 for row in rows)
    for row in rows:
        assert float(row["CO2_emissions(kg)"]) == pytest.approx(float(row["power_consumption(kWh)"]) * 0.25, rel=1e-6)
    assert told["level"] == 250 and told["period"] == 10


@needs_binary
def test_decorated_functions_and_prices(world: World) -> None:
    ended = world.run(
        """
        from jouletree.compat import eco2ai

        @eco2ai.track
        def work(x):
            busy(0.2)
            return x + 1

        @eco2ai.track
        def fails():
            raise KeyError("its own error")

        assert work(1) == 2
        try:
            fails()
        except KeyError:
            pass
        tracker = eco2ai.Tracker(file_name="priced.csv", cpu_processes="all",
                                 electricity_pricing={"8:30-19:00": 2.0, "19:00-6:00": 2.0, "6:00-8:30": 2.0})
        tracker.start(); busy(0.2); tracker.stop()
        tell(kwh=tracker.consumption(), price=tracker.price())
        """
    )
    told = json.loads(ended.out)
    assert len(world.rows("emission.csv")) == 2
    assert told["price"] == pytest.approx(2 * told["kwh"], rel=1e-9) and told["kwh"] > 0
    (row,) = world.rows("priced.csv")
    assert float(row["cost"]) == pytest.approx(told["price"], rel=1e-9)


@needs_binary
def test_a_wrong_order_of_calls_is_told_and_stops_nothing(world: World) -> None:
    ended = world.run(
        """
        from jouletree.compat.eco2ai import Tracker
        tracker = Tracker(encode_file="x.csv", colour="green", file_name="missing/emission.csv", alpha_2_code="IT")
        tracker.stop(); tracker.new_epoch({}); tracker.stop_training()
        tracker.start_training(); tracker.start(); tracker.new_epoch({"loss": 1}); tracker.stop()
        print("done")
        """
    )
    assert ended.out == "done\n"
    for told in ("encode_file", "'colour'", "was not started", "start_training() begins one", "missing/emission.csv"):
        assert told in ended.err, (told, ended.err)
