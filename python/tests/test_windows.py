"""Windows, from programs that use them. Needs any Python with pytest, and the `jouletree` command that JOULETREE_BINARY
names (or that is on the path); without one these tests are skipped. The machine is one without meters, so that numbers
are estimates; whether they are right is tested where power is played, in crates/jouletree/tests/it/windows.rs."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import time

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
BINARY = shutil.which(os.environ.get("JOULETREE_BINARY") or "jouletree")
needs_binary = pytest.mark.skipif(BINARY is None, reason="no jouletree command; name it in JOULETREE_BINARY")

PRELUDE = """
import json, os, sys, threading, time, warnings
import jouletree

def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

def tell(**values):
    print(json.dumps(values))
"""


def recorders(pid: int) -> list[int]:
    """The recorders that attend a process."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[1:4] == [b"attend", b"--pid", str(pid).encode()]:
            found.append(int(process.name))
    return found


class World:
    """A machine without meters, and programs that run on it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith("JOULETREE_")}
        self.environment = {
            **kept,
            "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(PACKAGE / "tests")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JOULETREE_BINARY": str(BINARY),
            "JOULETREE_SYS_ROOT": str(folder),
        }

    def run(self, program: str, recorded: bool = False, arguments: tuple[str, ...] = (), **environment: str) -> dict:
        """What a program tells that ends well, and what it says on standard error."""
        script = self.folder / "program.py"
        script.write_text(PRELUDE + textwrap.dedent(program), encoding="utf-8")
        command = [sys.executable, *arguments, str(script)]
        if recorded:
            run = self.folder / "run"
            shutil.rmtree(run, ignore_errors=True)
            command = [str(BINARY), "record", "-q", "-o", str(run), "--", *command]
        done = subprocess.run(
            command, env={**self.environment, **environment}, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return {**json.loads(done.stdout), "stderr": done.stderr}


@pytest.fixture
def world(tmp_path: pathlib.Path) -> World:
    return World(tmp_path)


@needs_binary
@pytest.mark.parametrize("recorded", [True, False])
def test_windows_nest_and_are_told_at_once(world: World, recorded: bool) -> None:
    told = world.run(
        """
        with jouletree.window("outer") as outer:
            with jouletree.window("inner") as inner:
                busy(0.3)
            handle = jouletree.begin_window("after")
            busy(0.1)
        m = jouletree.end_window(handle)
        tell(outer=outer.joules, inner=inner.joules, after=m.joules, low=m.low, high=m.high, kind=m.kind, text=str(m),
             seconds=m.seconds, watts=m.watts, complete=m.complete,
             devices=[(d.device, d.kind, d.joules) for d in m.devices])
        """,
        recorded,
    )
    assert 0 < told["inner"] < told["outer"] and told["after"] < told["outer"]
    assert told["low"] <= told["after"] <= told["high"] and told["kind"] == "estimated" and told["complete"]
    assert told["watts"] == pytest.approx(told["after"] / told["seconds"])
    assert ["host/cpu:0", "estimated", told["after"]] in told["devices"]
    assert re.fullmatch(r"[\d.e-]+ J \(estimated, [\d.e-]+ … [\d.e-]+ J\)", told["text"]), told["text"]


@needs_binary
def test_windows_of_threads_and_tasks_overlap(world: World) -> None:
    told = world.run(
        """
        import asyncio
        import concurrent.futures

        def work(number):
            with jouletree.window(f"thread {number}") as w:
                busy(0.05)
            return w.joules

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            threads = list(pool.map(work, range(24)))

        async def task(number):
            async with jouletree.window(f"task {number}") as w:
                await asyncio.sleep(0.05)
            return w.measurement

        async def tasks():
            return await asyncio.gather(*(task(number) for number in range(20)))

        tell(threads=threads, tasks=[m.joules for m in asyncio.run(tasks())])
        """,
        recorded=True,
    )
    assert len(told["threads"]) == 24 and all(joules > 0 for joules in told["threads"])
    assert len(told["tasks"]) == 20 and all(joules >= 0 for joules in told["tasks"])


@needs_binary
def test_windows_are_ended_by_name_the_own_thread_first(world: World) -> None:
    told = world.run(
        """
        first = jouletree.begin_window("same")
        second = jouletree.begin_window("same")
        other = threading.Thread(target=lambda: jouletree.begin_window("same"))
        other.start()
        other.join()
        time.sleep(0.05)
        own = jouletree.end_window("same")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            nothing = jouletree.end_window("no such window")
        tell(is_second=second.measurement is own and first.measurement is None, nothing=nothing,
             said=[str(w.message) for w in caught], rest=[jouletree.end_window("same") is not None for _ in range(2)])
        """
    )
    assert told["is_second"] and told["rest"] == [True, True] and told["nothing"] is None
    assert "no open window 'no such window'" in told["said"][0]


@needs_binary
def test_functions_coroutines_and_generators_are_measured(world: World) -> None:
    told = world.run(
        """
        import asyncio

        class Model:
            @jouletree.measure
            def predict(self, x):
                "Predicts."
                busy(0.05)
                return x + 1

        @jouletree.measure("waits", sync=True)
        async def wait(x):
            await asyncio.sleep(0.05)
            return x

        @jouletree.measure
        def count(upto):
            for number in range(upto):
                yield number
            return "done"

        @jouletree.measure()
        def fail():
            raise KeyError("mine")

        try:
            fail()
        except KeyError as error:
            mine = repr(error)
        tell(predicted=Model().predict(4), name=Model.predict.__name__, doc=Model.predict.__doc__, mine=mine,
             joules=Model.predict.measurement.joules, waited=asyncio.run(wait(3)), counted=list(count(3)),
             called=[f.measurement.name for f in (Model.predict, wait, count, fail)])
        """
    )
    assert (told["predicted"], told["waited"], told["counted"]) == (5, 3, [0, 1, 2])
    assert (told["name"], told["doc"], told["mine"]) == ("predict", "Predicts.", "KeyError('mine')")
    assert told["joules"] > 0 and told["called"] == ["Model.predict", "waits", "count", "fail"]


@needs_binary
@pytest.mark.parametrize("recorded", [True, False])
def test_a_forked_process_has_a_connection_of_its_own(world: World, recorded: bool) -> None:
    told = world.run(
        """
        read, write = os.pipe()
        with jouletree.window("parent") as w:
            child = os.fork()
            if child == 0:
                with jouletree.window("child") as own:
                    busy(0.1)
                os.write(write, json.dumps([own.joules, own.measurement.complete]).encode())
                os._exit(0)
            os.waitpid(child, 0)
        tell(child=json.loads(os.read(read, 1000)), parent=w.joules)
        """,
        recorded,
    )
    joules, complete = told["child"]
    assert joules > 0 and complete and told["parent"] > 0


@needs_binary
def test_a_recorder_of_its_own_is_nobodys_child_and_ends_with_the_program(world: World) -> None:
    told = world.run(
        """
        with jouletree.window("x") as w:
            busy(0.02)
        w.joules
        try:
            os.wait()
        except ChildProcessError:
            alone = True
        from test_windows import recorders
        tell(alone=alone, pid=os.getpid(), attended=recorders(os.getpid()) != [])
        """
    )
    assert told["alone"]
    assert told["attended"]
    patience = time.monotonic() + 10
    while recorders(told["pid"]):
        assert time.monotonic() < patience, "its recorder goes on"
        time.sleep(0.05)


def test_where_nobody_measures_there_is_nothing_and_one_warning(world: World) -> None:
    told = world.run(
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with jouletree.window("x") as w:
                pass
            nothing = [jouletree.end_window(jouletree.begin_window("y")) for _ in range(3)]
            jouletree.stage("pre-training")
        tell(nothing=nothing, joules=w.joules, said=[str(warning.message) for warning in caught])
        """,
        JOULETREE_BINARY="/no/such/command",
    )
    assert told["nothing"] == [None] * 3 and told["joules"] is None
    assert len(told["said"]) == 2 and "no `jouletree` command" in told["said"][0] and "jouletree run" in told["said"][1]


def test_warnings_that_are_errors_do_no_harm(world: World) -> None:
    told = world.run(
        "tell(nothing=jouletree.end_window(jouletree.begin_window('y')))",
        arguments=("-W", "error"),
        JOULETREE_BINARY="/no/such/command",
    )
    assert told["nothing"] is None


@needs_binary
def test_a_recorder_that_is_killed_takes_only_its_numbers_along(world: World) -> None:
    told = world.run(
        """
        import math, signal
        from test_windows import recorders
        warnings.simplefilter("ignore")
        with jouletree.window("before") as before:
            busy(0.05)
        known = before.joules
        w = jouletree.begin_window("during")
        (recorder,) = recorders(os.getpid())
        os.kill(recorder, signal.SIGKILL)
        time.sleep(0.3)
        during = jouletree.end_window(w)
        after = [jouletree.end_window(jouletree.begin_window("after")) for _ in range(2)]
        tell(known=known, again=before.joules, during=during is None or math.isnan(during.joules), after=after)
        """
    )
    assert told["known"] == told["again"] > 0 and told["during"] and told["after"][-1] is None


@needs_binary
def test_windows_are_kept_in_the_run_unless_they_are_quiet(world: World, tmp_path: pathlib.Path) -> None:
    traces = tmp_path / "traces"
    world.run(
        """
        from jouletree import _session
        _session.begin()
        jouletree.stage("pre-training")
        with jouletree.window('a "name", with commas'):
            time.sleep(0.01)
        jouletree.end_window(jouletree.begin_window("quiet", quiet=True))
        tell()
        """,
        recorded=True,
        JOULETREE_TRACES=str(traces),
    )
    (table,) = traces.glob("*/windows.csv")
    lines = table.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "start_ns,end_ns,name,kind,thread" and len(lines) == 3
    assert lines[1].split(",")[1:4] == ["0", "pre-training", "stage"]
    start, end, rest = lines[2].split(",", 2)
    assert 0 < int(start) < int(end) and rest.startswith('"a ""name"", with commas",window,')


@needs_binary
def test_many_windows_that_nobody_asks_about_cost_little(world: World) -> None:
    told = world.run(
        """
        with jouletree.window("whole") as whole:
            began = time.perf_counter()
            ended = [jouletree.end_window(jouletree.begin_window("x")) for _ in range(20000)]
            each = (time.perf_counter() - began) / 20000
        tell(each=each, complete=ended[-1].complete, first=ended[0].complete, whole=whole.joules)
        """,
        recorded=True,
    )
    assert told["complete"] and told["first"] and told["whole"] > 0
    assert told["each"] < 1e-3


def test_import_is_quick_and_loads_nothing(world: World) -> None:
    told = world.run(
        """
        import subprocess
        loaded = [name for name in sys.modules if name.startswith("jouletree.")]
        times = [
            float(subprocess.check_output([sys.executable, "-c",
                "import time; t = time.perf_counter(); import jouletree; print(time.perf_counter() - t)"]))
            for _ in range(5)
        ]
        tell(loaded=loaded, time=min(times), offered=[hasattr(jouletree, name) for name in jouletree.__all__])
        """
    )
    assert told["loaded"] == [] and told["time"] < 0.02 and all(told["offered"])


@needs_binary
def test_the_package_runs_the_command(world: World) -> None:
    command = [sys.executable, "-m", "jouletree", "--version"]
    done = subprocess.run(command, env=world.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("jouletree ")
    without = {**world.environment, "JOULETREE_BINARY": "/no/such/command"}
    done = subprocess.run(command, env=without, capture_output=True, text=True, check=False)
    assert done.returncode == 127 and "JOULETREE_BINARY" in done.stderr


@needs_binary
def test_a_measurement_shown_is_fetched(world):
    result = world.run("""
    with jouletree.window("<a> & b") as w:
        busy(0.1)
    tell(text=repr(w.measurement), html=w.measurement._repr_html_(), joules=w.measurement.joules)
    """)
    assert "not fetched" not in result["text"] and " J (estimated" in result["text"]
    html = result["html"]
    assert "&lt;a&gt; &amp; b" in html and "<a>" not in html
    # A bar for each device, with the interval as a line over it.
    assert html.count("<svg") == html.count("<path") >= 1 and "95 % interval" in html
    assert "<script" not in html and "http" not in html


def test_a_bar_shows_who_used_the_energy():
    from jouletree._html import of_measurement
    from jouletree._measurement import Measurement

    row = {"device": "host/cpu:0", "kind": "measured", "energy_j": 10.0, "low_j": 9.0, "high_j": 12.0, "ours_j": 4.0}
    row |= {"others_j": 3.0, "idle_j": 2.0, "unknown_j": 1.0, "coverage": 1.0}
    html = of_measurement(Measurement("w", 0, 10**9, lambda: {"devices": [row], "complete": True}))
    widths = [float(width) for width in re.findall(r'<rect x="[^"]*" width="([^"]*)"', html)]
    assert widths == pytest.approx([128.0, 32.0, 96.0, 64.0])
    # 4 J are 3.6 J or more, and with what is unknown 6 J or less.
    assert "M115.2 7.0H192.0" in html


def test_a_measurement_whose_recorder_has_gone_is_shown():
    from jouletree._measurement import Measurement

    lost = Measurement("w", 0, 10**9, lambda: None)
    assert "unknown, not complete" in repr(lost) and "unknown, not complete" in lost._repr_html_()


@needs_binary
def test_a_run_folder_comes_as_frames(world):
    sample = PACKAGE.parent / "examples" / "sample"
    run = world.folder / "accounted"
    command = [BINARY, "account", sample / "timeline-5.json.gz", "--power", sample / "power.csv", "-o", run]
    subprocess.run(command, check=True, capture_output=True, env=world.environment)
    result = world.run(f"""
    sys.modules["pandas"] = None  # lists of dictionaries, whether it is installed or not
    run = jouletree.load({str(run)!r})
    layers, ops = run.layers(), run.ops()
    try:
        power = run.power()
    except ImportError as error:
        power = str(error)
    wrong = []
    for folder in ("nowhere", {str(world.folder)!r}):
        try:
            jouletree.load(folder)
        except (FileNotFoundError, ValueError) as error:
            wrong.append(type(error).__name__)
    tell(layers=layers, ops=ops, power=power, wrong=wrong, text=repr(run))
    """)
    whole, layers = result["layers"][0], {row["path"]: row for row in result["layers"]}
    assert whole["depth"] == 0 and layers["bert/encoder"]["depth"] == 2
    assert sum(row["energy_j"] for row in result["ops"]) == pytest.approx(whole["energy_j"])
    assert sum(whole[f"{name}_j"] for name in ("forward", "backward", "optimizer")) == pytest.approx(whole["energy_j"])
    assert result["wrong"] == ["FileNotFoundError", "ValueError"]
    if isinstance(result["power"], str):
        assert "pip install pyarrow" in result["power"]
    else:
        assert all(row["watts"] > 0 and row["end_ns"] > row["start_ns"] for row in result["power"])


def test_energy_of_the_tree_and_of_the_device_are_apart():
    from jouletree._runs import _stretches

    def rows(domain, **scope):
        row = {"device": "host/cpu:0", "domain": domain, "kind": "measured", "flags": 0, **scope}
        joules = 4.0 if domain or scope.get("scope") == "tree" else 10.0
        return [{**row, "t_ns": 0, "joules": 0.0}, {**row, "t_ns": 10**9, "joules": joules}]

    def found(device, tree):
        mixed = [row for pair in zip(device, tree) for row in pair]
        return [(row["domain"], row["scope"], row["watts"]) for row in _stretches(mixed)]

    wanted = [(None, "device", 10.0), (None, "tree", 4.0)]
    assert found(rows(None, scope="device"), rows(None, scope="tree")) == wanted
    # Format version 1.
    assert found(rows(None), rows("ours")) == wanted
