"""experiment-impact-tracker's stand-in. The original no longer runs with today's pandas; its source is read."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import pathlib
import pickle

import pytest
from compat_world import World, needs_binary


@pytest.fixture
def world(tmp_path: pathlib.Path) -> World:
    return World(tmp_path)


RUN = """
from jouletree.compat import impact_tracker
impact_tracker._SECONDS = 0.3
{body}
"""


def test_every_argument_of_the_original_is_taken() -> None:
    import inspect

    from jouletree.compat.impact_tracker import ImpactTracker

    try:
        files = importlib.metadata.files("experiment-impact-tracker") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("experiment-impact-tracker is not installed")
    (source,) = [each.locate() for each in files if each.name == "compute_tracker.py"]
    tree = ast.parse(source.read_text())  # type: ignore[attr-defined]
    (theirs,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ImpactTracker"]
    methods = {node.name: node for node in theirs.body if isinstance(node, ast.FunctionDef)}
    public = {name for name in methods if not name.startswith("_")} | {"__init__"}
    assert {"launch_impact_monitor", "get_latest_info_and_check_for_errors"} <= public
    for name in public:
        wanted = [each.arg for each in methods[name].args.args]
        assert list(inspect.signature(getattr(ImpactTracker, name)).parameters)[: len(wanted)] == wanted, name


@needs_binary
@pytest.mark.parametrize("form", ["monitor", "context"])
def test_samples_add_up_to_the_energy(world: World, form: str) -> None:
    body = {
        "monitor": """
tracker = impact_tracker.ImpactTracker("logs")
tracker.launch_impact_monitor()
busy(2)
tell(latest=tracker.get_latest_info_and_check_for_errors())
""",
        "context": """
with impact_tracker.ImpactTracker("logs") as tracker:
    busy(2)
    latest = tracker.get_latest_info_and_check_for_errors()
tell(latest=latest, threads=threading.active_count())
""",
    }[form]
    with world.powered("package-0: 25W\npackage-0/dram: 5W\n"):
        told = json.loads(world.run(RUN.format(body=body), CODECARBON_COUNTRY_ISO_CODE="ITA").out)
    lines = (world.folder / "logs" / "impacttracker" / "data.json").read_text().splitlines()
    samples = [json.loads(line) for line in lines]
    assert told["latest"] in samples and told.get("threads", 1) == 1
    info = pickle.loads((world.folder / "logs" / "impacttracker" / "info.pkl").read_bytes())
    # As the original adds them: each sample's power by the time since the one before it.
    times = [info["experiment_start"].timestamp(), *(sample["timestamp"] for sample in samples)]
    joules = sum(
        sample["rapl_power_draw_absolute"] * (end - start) for sample, start, end in zip(samples, times, times[1:])
    )
    assert len(samples) >= 3 and joules == pytest.approx(30 * (times[-1] - times[0]), rel=0.1)
    for sample in samples:
        assert 0 <= sample["rapl_estimated_attributable_power_draw"] <= sample["rapl_power_draw_absolute"]
        assert sample["process_ids"] and sample["absolute_mem_usage"] > 0
        assert all(each["user"] >= 0 for each in sample["cpu_time_seconds"].values())
    assert 2 <= (info["experiment_end"] - info["experiment_start"]).total_seconds() < 6
    assert info["region_carbon_intensity_estimate"]["carbonIntensity"] == pytest.approx(330.718, rel=1e-3)
    assert any(package.startswith("pytest==") for package in info["python_package_info"])


@needs_binary
def test_a_second_run_begins_its_file_anew_and_forks_leave_it_alone(world: World) -> None:
    body = """
import multiprocessing

def child():
    sys.exit(0)

with impact_tracker.ImpactTracker("logs") as tracker:
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start(); process.join()
    pid = os.fork()
    if pid == 0:
        sys.exit(0)  # Goes through the context and through what is registered for exits.
    os.waitpid(pid, 0)
    busy(0.4)
print("done")
"""
    for _ in range(2):
        assert world.run(RUN.format(body=body)).out == "done\n"
    lines = (world.folder / "logs" / "impacttracker" / "data.json").read_text().splitlines()
    assert 1 <= len(lines) <= 4 and all(json.loads(line) for line in lines)


@needs_binary
def test_a_folder_that_cannot_be_written_stops_nothing(world: World) -> None:
    (world.folder / "logs").write_text("in the way")
    ended = world.run(RUN.format(body='with impact_tracker.ImpactTracker("logs"):\n    busy(0.5)\nprint("done")'))
    assert ended.out == "done\n" and ended.err.count("writes no more samples") == 1
