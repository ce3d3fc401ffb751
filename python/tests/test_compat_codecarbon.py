"""CodeCarbon's stand-in: alone, and beside CodeCarbon itself where it is installed (environment `trackers`)."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import json
import pathlib
import subprocess
import sys

import pytest
from compat_world import BINARY, TRACKERS, World, needs_binary

from jouletree.compat import codecarbon as ours

needs_codecarbon = pytest.mark.skipif(
    importlib.util.find_spec("codecarbon") is None, reason="CodeCarbon is not installed"
)
needs_carbonboard = pytest.mark.skipif(importlib.util.find_spec("dash") is None, reason="carbonboard is not installed")


@pytest.fixture
def world(tmp_path: pathlib.Path) -> World:
    return World(tmp_path)


def parameters(function: object) -> list[tuple[str, object]]:
    """Names and kinds of arguments, without those that take whatever there is."""
    each = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    return [(one.name, one.kind) for one in each if one.kind is not inspect.Parameter.VAR_KEYWORD]


@needs_codecarbon
def test_every_argument_of_codecarbon_is_taken_in_its_place() -> None:
    from codecarbon import emissions_tracker as theirs

    for name in ("EmissionsTracker", "OfflineEmissionsTracker", "TaskEmissionsTracker"):
        assert parameters(getattr(ours, name).__init__) == parameters(getattr(theirs, name).__init__), name
    for name in ("track_emissions", "track_task_emissions"):
        assert parameters(getattr(ours, name)) == parameters(getattr(theirs, name)), name
    methods = [name for name in vars(theirs.BaseEmissionsTracker) if not name.startswith("_")]
    assert {"start", "stop", "flush", "start_task", "stop_task"} <= set(methods)
    for name in methods:
        mine, its = getattr(ours.EmissionsTracker, name), getattr(theirs.EmissionsTracker, name)
        assert parameters(mine) == parameters(its), name


@needs_codecarbon
def test_results_have_codecarbons_names() -> None:
    import codecarbon
    from codecarbon.output_methods import emissions_data as theirs

    for name in ("EmissionsData", "TaskEmissionsData"):
        fields = [[each.name for each in dataclasses.fields(getattr(module, name))] for module in (ours, theirs)]
        assert fields[0] == fields[1], name
    assert [(each.name, each.value) for each in ours.OutputMethod] == [
        (each.name, each.value) for each in codecarbon.OutputMethod
    ]


def run_program(world: World, name: str, ours: bool) -> tuple[str, pathlib.Path]:
    """Runs a program of CodeCarbon's users in a folder of its own, with its import changed or as it is."""
    folder = world.folder / ("ours" if ours else "theirs")
    folder.mkdir()
    text = (TRACKERS / name).read_text(encoding="utf-8")
    assert text.count("from codecarbon import") == 1
    if ours:
        text = text.replace("from codecarbon", "from jouletree.compat.codecarbon")
    (folder / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, name],
        # Where a tracker that is not told its place takes it from.
        env={**world.environment, "CODECARBON_COUNTRY_ISO_CODE": "ITA"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


def columns(path: pathlib.Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()[0].split(",")


@needs_binary
@needs_codecarbon
@pytest.mark.parametrize("name", sorted(path.name for path in TRACKERS.glob("*.py")))
def test_a_program_runs_with_only_its_import_changed(world: World, name: str) -> None:
    said, folder = run_program(world, name, ours=True)
    its_said, its_folder = run_program(world, name, ours=False)
    # Numbers differ, as they are measured in another way; words do not.
    words = [[word for word in text.split() if not any(c.isdigit() for c in word)] for text in (said, its_said)]
    assert words[0] == words[1]
    tables = sorted(
        path.relative_to(folder) for path in folder.rglob("*.csv") if not path.name.startswith("emissions_")
    )
    assert tables == sorted(
        path.relative_to(its_folder) for path in its_folder.rglob("*.csv") if not path.name.startswith("emissions_")
    )
    for table in tables:
        assert columns(folder / table) == columns(its_folder / table)
        rows = [(each / table).read_text(encoding="utf-8").splitlines() for each in (folder, its_folder)]
        assert len(rows[0]) == len(rows[1])
    mine, its = (sorted(each.rglob("emissions_*.csv")) for each in (folder, its_folder))
    assert len(mine) == len(its)
    for my_table, its_table in zip(mine, its):
        # CodeCarbon leaves out columns of tasks that are empty in every row.
        assert set(columns(its_table)) <= set(columns(my_table)) and columns(my_table)[0] == "task_name"
        assert len(my_table.read_text().splitlines()) == len(its_table.read_text().splitlines())


WRITES = """
from {module} import OfflineEmissionsTracker
with OfflineEmissionsTracker(project_name="shared", country_iso_code="ITA", log_level="error", **{more}):
    busy(0.2)
"""


@needs_binary
@needs_codecarbon
@pytest.mark.parametrize("first", ["codecarbon", "jouletree.compat.codecarbon"])
def test_both_append_to_one_file_that_nobody_renames(world: World, first: str) -> None:
    second = "jouletree.compat.codecarbon" if first == "codecarbon" else "codecarbon"
    for module in (first, second, first):
        world.run(WRITES.format(module=module, more={}))
    rows = world.rows("emissions.csv")
    assert len(rows) == 3 and len({row["run_id"] for row in rows}) == 3
    assert [name for name in world.files() if name.endswith(".bak")] == []
    assert all(float(row["energy_consumed"]) > 0 and row["country_iso_code"] == "ITA" for row in rows)
    assert sum(row["codecarbon_version"].startswith("3.3.2-compatible/jouletree") for row in rows) in (1, 2)
    # An update of a file with rows of both.
    world.run(WRITES.format(module="codecarbon", more={"on_csv_write": "update"}))
    world.run(WRITES.format(module="jouletree.compat.codecarbon", more={"on_csv_write": "update"}))
    assert len(world.rows("emissions.csv")) == 5


@needs_binary
@needs_carbonboard
def test_carbonboard_shows_the_file(world: World) -> None:
    world.run(WRITES.format(module="jouletree.compat.codecarbon", more={}))
    world.run(WRITES.format(module="jouletree.compat.codecarbon", more={"region": "lombardy"}))
    import pandas as pd
    from codecarbon.viz.carbonboard import render_app
    from codecarbon.viz.data import Data

    table = pd.read_csv(world.folder / "emissions.csv")
    assert render_app(table).layout is not None
    data = Data.get_project_data(table, "shared").data
    summary = Data.get_project_summary(data)
    assert summary["country_iso_code"] == "ITA" and summary["on_cloud"] == "N"
    assert summary["total"]["energy_consumed"] == pytest.approx(sum(row["energy_consumed"] for row in data))
    assert isinstance(summary["region"], str)


@needs_binary
def test_powers_and_energies_are_those_of_the_counters(world: World) -> None:
    with world.powered("package-0: 40W\npackage-0/dram: 8W\n"):
        told = json.loads(
            world.run(
                """
                from jouletree.compat.codecarbon import OfflineEmissionsTracker
                with OfflineEmissionsTracker(country_iso_code="ITA", pue=1.5) as tracker:
                    busy(2)
                tell(**tracker.final_emissions_data.values)
                """
            ).out
        )
    # A twentieth of two seconds, which is what the double may be late by.
    assert told["cpu_power"] == pytest.approx(1.5 * 40, rel=0.05)
    assert told["ram_power"] == pytest.approx(1.5 * 8, rel=0.05)
    assert told["energy_consumed"] == pytest.approx(told["cpu_energy"] + told["ram_energy"], rel=1e-9)
    assert told["energy_consumed"] * 3.6e6 == pytest.approx(1.5 * 48 * told["duration"], rel=0.05)
    assert told["emissions"] == pytest.approx(told["energy_consumed"] * 0.330718, rel=1e-3)
    assert told["tracking_mode"] == "machine" and told["pue"] == 1.5
    assert 0 < told["cpu_utilization_percent"] <= 100 and 0 < told["ram_utilization_percent"] < 100
    used = told["ram_total_size"] * told["ram_utilization_percent"] / 100
    assert told["ram_used_gb"] == pytest.approx(used, rel=1e-6)


@needs_binary
def test_a_process_that_sleeps_has_less_of_the_machine_than_all_of_it(world: World) -> None:
    told = json.loads(
        world.run(
            """
            import subprocess
            from jouletree.compat.codecarbon import OfflineEmissionsTracker
            # Not this program's child: the machine is busy, and the program sleeps.
            busy_shell = 'timeout 3 sh -c "while :; do :; done" >/dev/null 2>&1 &'
            subprocess.run(["/bin/sh", "-c", busy_shell], start_new_session=True)
            trackers = [OfflineEmissionsTracker(country_iso_code="ITA", tracking_mode=mode, save_to_file=False)
                        for mode in ("machine", "process")]
            for tracker in trackers: tracker.start()
            time.sleep(1)
            tell(kg=[tracker.stop() for tracker in trackers])
            """
        ).out
    )
    machine, process = told["kg"]
    assert 0 <= process < 0.2 * machine


@needs_binary
def test_a_tracker_of_tasks_alone_counts_while_there_are_tasks(world: World) -> None:
    told = json.loads(
        world.run(
            """
            from jouletree.compat.codecarbon import OfflineEmissionsTracker
            tracker = OfflineEmissionsTracker(country_iso_code="ITA")
            tracker.start_task("a"); busy(0.3); a = tracker.stop_task()
            time.sleep(1)
            tracker.start_task("b"); busy(0.1)
            tracker.start_task("b"); busy(0.2); inner = tracker.stop_task()
            b = tracker.stop_task("b")
            total = tracker.stop()
            end = tracker.final_emissions_data
            tell(a=a.energy_consumed, b=b.energy_consumed, inner=inner.energy_consumed, all=end.energy_consumed,
                 duration=end.duration, tasks=a.duration + b.duration, run_id=str(tracker.run_id), total=total)
            """
        ).out
    )
    assert told["inner"] < told["b"]
    # The second in between would be more than all of both.
    assert told["a"] + told["b"] < 1.05 * told["all"] < 1.5 * (told["a"] + told["b"])
    assert told["tasks"] <= told["duration"] < told["tasks"] + 0.5
    rows = world.rows(f"emissions_base_{told['run_id']}.csv")
    assert [row["task_name"] for row in rows][::2] == ["a", "b"] and rows[1]["task_name"].startswith("b_")
    assert float(rows[0]["energy_consumed"]) == pytest.approx(told["a"], rel=1e-9)
    assert len(world.rows("emissions.csv")) == 1


@needs_binary
def test_where_no_place_is_known_emissions_are_not_either(world: World) -> None:
    ended = world.run(
        """
        from jouletree.compat.codecarbon import EmissionsTracker
        for _ in range(2):
            with EmissionsTracker() as tracker:
                busy(0.1)
        tell(returned=tracker.stop(), final=tracker.final_emissions, data=tracker.final_emissions_data.emissions,
             kwh=tracker.final_emissions_data.energy_consumed)
        """
    )
    told = json.loads(ended.out)
    assert told["returned"] is told["final"] is told["data"] is None and told["kwh"] > 0
    assert ended.err.count("country_iso_code") == 2, ended.err  # In one warning, with two remedies.
    assert [row["emissions"] for row in world.rows("emissions.csv")] == ["", ""]


@needs_binary
def test_what_is_not_known_is_told_once_and_stops_nothing(world: World) -> None:
    program = """
        from jouletree.compat.codecarbon import EmissionsTracker, OfflineEmissionsTracker, track_emissions
        for _ in range(3):
            tracker = OfflineEmissionsTracker("p", country_iso_code="ITA", colour="green", save_to_api=True)
            tracker.start(); tracker.stop()

        @track_emissions(country_iso_code="ITA", colour="red", tracking_mode="whatever", gpu_ids="GPU-aa")
        def work():
            return 7

        tell(result=work(), nothing=EmissionsTracker(1, 2, *range(60)).stop())
        """
    ended = world.run(program)
    assert json.loads(ended.out) == {"result": 7, "nothing": None}
    assert ended.err.count("OfflineEmissionsTracker knows no argument 'colour'") == 1
    assert ended.err.count("save_to_api of OfflineEmissionsTracker has no effect") == 1
    assert ended.err.count("GPUs can be chosen by number only") == 1
    # Warnings are shown at the program's own line, and are never errors.
    assert 'OfflineEmissionsTracker("p"' in ended.err
    assert json.loads(world.run(program, "-W", "error").out)["result"] == 7


@needs_binary
def test_a_file_that_cannot_be_written_is_told_and_the_numbers_are_there(world: World) -> None:
    (world.folder / "file").write_text("in the way")
    ended = world.run(
        """
        from jouletree.compat.codecarbon import OfflineEmissionsTracker
        told = []
        for folder in ("missing", "file"):
            with OfflineEmissionsTracker(country_iso_code="ITA", output_dir=folder) as tracker:
                tracker.start_task("t"); busy(0.1); task = tracker.stop_task()
            told += [task.emissions, tracker.final_emissions]
        tell(told=told)
        """
    )
    assert all(kg > 0 for kg in json.loads(ended.out)["told"])
    for folder in ("missing", "file"):
        assert f"{folder}/emissions.csv: the row was not written" in ended.err, ended.err
        assert f"{folder}/emissions_base_" in ended.err
    # What should have been written is told instead.
    assert ended.err.count("the row is: ") == 4 and ended.err.count(",Italy,ITA,") == 4
    assert world.files() == ["file"] and (world.folder / "file").read_text() == "in the way"


@needs_binary
def test_settings_that_make_no_sense_are_told_and_energy_is_counted(world: World) -> None:
    (world.folder / ".codecarbon.config").write_text("[codecarbon\noutput_dir\n")
    ended = world.run(
        """
        from jouletree.compat.codecarbon import OfflineEmissionsTracker
        for country, pue in (("ITTA", 1.5), ("ITA", -1)):
            with OfflineEmissionsTracker(country_iso_code=country, pue=pue) as tracker:
                busy(0.1)
            assert tracker.final_emissions_data.energy_consumed > 0
        print("done")
        """
    )
    assert ended.out == "done\n"
    for told in (".codecarbon.config", "ITTA", "pue"):
        assert told in ended.err.lower() or told in ended.err, (told, ended.err)
    assert ended.err.count(".codecarbon.config: ") == 1 and len(world.rows("emissions.csv")) == 2


@needs_binary
def test_processes_that_write_one_file_at_once_lose_nothing(world: World) -> None:
    program = """
        from jouletree.compat.codecarbon import OfflineEmissionsTracker
        for number in range(6):
            with OfflineEmissionsTracker(project_name=f"{os.getpid()}", country_iso_code="ITA"):
                pass
        """
    started = [world.start(program) for _ in range(4)]
    for each in started:
        _, err = each.communicate(timeout=120)
        assert each.returncode == 0 and "not written" not in err, err
    rows = world.rows("emissions.csv")
    assert len(rows) == 24 and len({row["run_id"] for row in rows}) == 24
    assert {row["project_name"] for row in rows} == {str(each.pid) for each in started}
    assert all(None not in row and None not in row.values() for row in rows)


@needs_binary
def test_a_forked_process_does_not_tell_of_its_parents_run(world: World) -> None:
    told = world.run(
        """
        import multiprocessing
        from jouletree.compat.codecarbon import OfflineEmissionsTracker

        def child(tracker):
            assert tracker.flush() is None and tracker.stop() is None
            with OfflineEmissionsTracker(project_name="child", country_iso_code="ITA") as own:
                busy(0.1)
            assert own.final_emissions > 0

        with OfflineEmissionsTracker(project_name="parent", country_iso_code="ITA") as tracker:
            tracker.start_task("forks")
            process = multiprocessing.get_context("fork").Process(target=child, args=(tracker,))
            process.start(); process.join()
            assert process.exitcode == 0
        tell(threads=[thread.name for thread in threading.enumerate()], kg=tracker.final_emissions)
        """
    )
    assert json.loads(told.out)["threads"] == ["MainThread"] and json.loads(told.out)["kg"] > 0
    assert [row["project_name"] for row in world.rows("emissions.csv")] == ["child", "parent"]


@needs_binary
def test_coroutines_are_tracked_to_their_end(world: World) -> None:
    world.run(
        """
        import asyncio
        from jouletree.compat.codecarbon import track_emissions

        @track_emissions(country_iso_code="ITA")
        async def work():
            await asyncio.sleep(0.5)

        asyncio.run(work())
        """
    )
    (row,) = world.rows("emissions.csv")
    assert float(row["duration"]) > 0.49


@needs_binary
def test_a_recorder_that_ends_costs_its_numbers_only(world: World) -> None:
    ended = world.run(
        """
        import pathlib, signal
        from jouletree.compat.codecarbon import OfflineEmissionsTracker
        tracker = OfflineEmissionsTracker(country_iso_code="ITA")
        tracker.start()
        busy(0.2)
        first = tracker.flush()
        mark = [b"attend", b"--pid", str(os.getpid()).encode()]
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cmdline").read_bytes().split(b"\\0")[1:4] == mark:
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                pass
        busy(0.2)
        tell(first=first, last=tracker.stop())
        """
    )
    told = json.loads(ended.out)
    assert told["last"] == pytest.approx(told["first"], rel=1e-6) and told["first"] > 0
    assert "s are missing: the recorder did not answer" in ended.err


def test_without_the_command_the_program_runs_and_is_told_why(world: World) -> None:
    ended = world.run(
        """
        from jouletree.compat.codecarbon import OfflineEmissionsTracker
        with OfflineEmissionsTracker(country_iso_code="ITA") as tracker:
            tracker.start_task("t"); tracker.stop_task()
        tell(returned=tracker.final_emissions, data=tracker.final_emissions_data)
        """,
        JOULETREE_BINARY="/no/such/command",
    )
    assert json.loads(ended.out) == {"returned": None, "data": None}
    assert "JOULETREE_BINARY" in ended.err and "there is no row for ./emissions.csv" in ended.err
    assert world.files() == []


@needs_binary
def test_codecarbons_configuration_says_where_files_go(world: World) -> None:
    (world.folder / "from_file").mkdir()
    (world.folder / "from_environment").mkdir()
    (world.folder / ".codecarbon.config").write_text(
        "[codecarbon]\noutput_dir = from_file\noutput_file = runs.csv\n"
        "experiment_name = x\ncountry_iso_code = FRA\npue = 2\n"
    )
    program = """
        from jouletree.compat.codecarbon import EmissionsTracker
        with EmissionsTracker({arguments}) as tracker:
            tracker.start_task("t"); busy(0.1); tracker.stop_task()
        tell(country=tracker.final_emissions_data.country_iso_code, pue=tracker.final_emissions_data.pue)
        """
    told = json.loads(world.run(program.format(arguments="")).out)
    assert told == {"country": "FRA", "pue": 2}
    assert sorted(path.name[:12] for path in (world.folder / "from_file").glob("*.csv")) == ["emissions_x_", "runs.csv"]
    world.run(program.format(arguments=""), CODECARBON_OUTPUT_DIR="from_environment", CODECARBON_SAVE_TO_FILE="true")
    assert (world.folder / "from_environment" / "runs.csv").is_file()
    told = json.loads(world.run(program.format(arguments="pue=1.1, output_dir='.', country_iso_code='ITA'")).out)
    assert told == {"country": "ITA", "pue": 1.1} and (world.folder / "runs.csv").is_file()
    # jouletree's own settings are stronger than CodeCarbon's, and weaker than arguments.
    (world.folder / "ours").mkdir()
    (world.folder / "jouletree.toml").write_text('output_dir = "ours"\ncountry = "POL"\n')
    told = json.loads(world.run(program.format(arguments="")).out)
    assert told == {"country": "POL", "pue": 2}
    assert sorted(path.name[:12] for path in (world.folder / "ours").glob("*.csv")) == ["emissions_x_", "runs.csv"]
    world.run(program.format(arguments=""), JOULETREE_OUTPUT_FILE="named.csv")
    assert (world.folder / "ours" / "named.csv").is_file()


def test_gpus_are_chosen_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    from jouletree.compat._codecarbon_settings import Settings

    def counted(given: dict) -> list[str]:
        settings = Settings("EmissionsTracker", given)
        devices = ("host/cpu:0", "host/gpu:0", "host/gpu:1", "host/gpu:11")
        return [device for device in devices if settings.counts({"device": device})]

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("ROCR_VISIBLE_DEVICES", raising=False)
    assert len(counted({})) == 4
    assert counted({"gpu_ids": [1]}) == counted({"gpu_ids": "1"}) == ["host/cpu:0", "host/gpu:1"]
    assert counted({"gpu_ids": "0, 11"}) == ["host/cpu:0", "host/gpu:0", "host/gpu:11"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert counted({}) == ["host/cpu:0", "host/gpu:1"] and counted({"gpu_ids": [0]}) == ["host/cpu:0", "host/gpu:0"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert counted({}) == ["host/cpu:0"]


@needs_binary
def test_under_a_recorder_its_meters_are_used_and_tasks_are_windows_of_the_run(world: World) -> None:
    traces = world.folder.parent / "traces"
    traces.mkdir()
    script = world.folder / "program-recorded.py"
    script.write_text(
        """
from jouletree import _session
from jouletree.compat.codecarbon import OfflineEmissionsTracker
_session.begin()
with OfflineEmissionsTracker(country_iso_code="ITA") as tracker:
    tracker.start_task("train")
    sum(range(10_000_000))
    tracker.stop_task()
assert tracker.final_emissions > 0
""",
        encoding="utf-8",
    )
    words = [str(BINARY), "record", "-q", "-o", str(world.folder.parent / "run"), "--", sys.executable, str(script)]
    environment = {**world.environment, "JOULETREE_TRACES": str(traces)}
    done = subprocess.run(words, env=environment, cwd=world.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (table,) = traces.glob("*/windows.csv")
    (row,) = [line.split(",") for line in table.read_text(encoding="utf-8").splitlines()[1:]]
    assert row[2:4] == ["train", "window"] and 0 < int(row[0]) < int(row[1])
    assert len(world.rows("emissions.csv")) == 1


@needs_binary
def test_a_recorder_that_is_slow_is_waited_for(world: World) -> None:
    told = world.run(
        """
        import pathlib, signal
        from jouletree.compat.codecarbon import OfflineEmissionsTracker
        with OfflineEmissionsTracker(country_iso_code="ITA") as tracker:
            busy(0.2)
            mark = [b"attend", b"--pid", str(os.getpid()).encode()]
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    found = (process / "cmdline").read_bytes().split(b"\\0")[1:4] == mark
                except OSError:
                    continue
                if found:
                    os.kill(int(process.name), signal.SIGSTOP)
                    threading.Timer(3, os.kill, (int(process.name), signal.SIGCONT)).start()
        tell(kg=tracker.final_emissions)
        """
    )
    assert json.loads(told.out)["kg"] > 0 and "missing" not in told.err, told.err


@needs_binary
def test_a_signal_during_a_flush_stops_the_tracker(world: World) -> None:
    ended = world.run(
        """
        import signal
        from jouletree.compat.codecarbon import OfflineEmissionsTracker
        tracker = OfflineEmissionsTracker(country_iso_code="ITA")
        signal.signal(signal.SIGALRM, tracker.service_shutdown)
        tracker.start()
        busy(0.1)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        tracker.flush()
        time.sleep(0.2)
        tell(kg=tracker.final_emissions)
        """
    )
    assert json.loads(ended.out)["kg"] > 0
