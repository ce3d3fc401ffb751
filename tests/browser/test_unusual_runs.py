"""Reports of runs that nobody expects: hostile names, no energy, no operations, one operation, several runs."""

from __future__ import annotations

import statistics

import pytest
import runs
from conftest import Opener, Reports
from tool import jouletree_json, layers_of, operations_of


def test_names_are_text_whatever_they_hold(reports: Reports, look_at: Opener) -> None:
    paths = [f"model/{name}/MatMul" for name in runs.HOSTILE] + [f"model/{name}" for name in runs.HOSTILE]
    run = reports.run("hostile", lambda folder: runs.of_events(folder, paths))
    page = look_at(reports.of(run), width=390, height=844).open()
    assert page.sideways() <= 0
    page.click_into("model")
    assert page.sideways() <= 0
    layers, boxes = layers_of(run), page.boxes()
    boxes.pop("(own)", None)
    assert set(boxes) == {child["path"] for child in layers["model"]["children"]}
    for child in layers["model"]["children"]:
        # A name of thousands of letters may be cut.
        assert child["name"][:8] in boxes[child["path"]].text
    for name in runs.HOSTILE:
        page.find(name[:200])
        page.page.wait_for_timeout(100)
        assert page.sideways() <= 0, name[:40]
        assert any(name[:20] in path for path in page.paths()), name[:40]
    # Nothing of what the names hold has become an element.
    assert page.page.locator("img[src=x]").count() == 0


def test_a_run_without_energy(reports: Reports, look_at: Opener) -> None:
    run = reports.run("no-energy", lambda folder: runs.of_events(folder, ["a/b", "a/c"], watts=0))
    page = look_at(reports.of(run)).open()
    assert "headline" in page.sections()
    assert "NaN" not in page.page.locator("body").inner_text()
    assert "Infinity" not in page.page.locator("body").inner_text()


def test_a_run_with_a_device_that_has_no_meter(reports: Reports, look_at: Opener) -> None:
    paths, devices = ["a/b", "a/c", "a/d", "e/f"], ("cpu:0", "gpu:0")
    run = reports.run("no-meter", lambda folder: runs.of_events(folder, paths, devices=devices))
    page = look_at(reports.of(run)).open()
    page.click_into("a")
    # Nobody knows what ran on the GPU used: it is shown, and its energy is nothing that was seen.
    assert page.boxes()["a/c"].joules == 0
    assert len(page.rows()) == len(paths)
    assert "NaN" not in page.page.locator("body").inner_text()


def test_a_recording_of_power_alone(reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.run("power", runs.of_power_alone))).open()
    assert page.sections() == ["headline", "stages", "timeline", "provenance"]
    assert page.boxes() == {}
    assert "No operation was recorded" in page.page.locator("#stages .nothing").inner_text()
    # All that the machine used: there is no program whose part would be counted.
    machine = jouletree_json("show", reports.run("power", runs.of_power_alone))
    used = sum(device["energy_j"] for device in machine["devices"])
    assert used > 0
    shown = page.page.evaluate("() => jouletree.data.total.energy")
    assert shown == pytest.approx(used, rel=1e-9)
    assert "NaN" not in page.page.locator("body").inner_text()


@pytest.mark.parametrize("path", ["MatMul", "a/b/c/MatMul"])
def test_a_run_of_one_operation(reports: Reports, look_at: Opener, path: str) -> None:
    name = f"one-{path.count('/')}"
    run = reports.run(name, lambda folder: runs.of_events(folder, [path]))
    page = look_at(reports.of(run)).open()
    first = path.split("/")[0]
    box = page.boxes()[first]
    assert box.joules == layers_of(run)[first]["energy_j"]
    assert box.share == pytest.approx(1, abs=1e-9)
    assert len(page.rows()) == 1


def test_the_smallest_of_very_many_parts_share_a_box(reports: Reports, look_at: Opener) -> None:
    paths = [f"wide/part_{number}" for number in range(60) for _ in range(60 - number)]
    run = reports.run("wide", lambda folder: runs.of_events(folder, paths))
    page = look_at(reports.of(run)).open()
    page.click_into("wide")
    boxes, layer = page.boxes(), layers_of(run)["wide"]
    others = boxes.pop("(others)")
    energies = {child["path"]: child["energy_j"] for child in layer["children"]}
    assert {path: box.joules for path, box in boxes.items()} == {path: energies[path] for path in boxes}
    hidden = [energy for path, energy in energies.items() if path not in boxes]
    assert hidden
    assert max(hidden) <= min(box.joules for box in boxes.values())
    assert others.joules == pytest.approx(sum(hidden), rel=1e-12)
    assert others.share + sum(box.share for box in boxes.values()) == pytest.approx(1, abs=1e-9)


def test_a_run_on_several_devices(reports: Reports, look_at: Opener) -> None:
    run = reports.run("gpus", runs.gpus)
    page = look_at(reports.of(run)).open()
    shown, whole = page.boxes(), layers_of(run)[""]
    large = [child for child in whole["children"] if child["energy_j"] >= 0.01 * whole["energy_j"]]
    assert len(large) > 1
    for child in large:
        assert shown[child["path"]].joules == child["energy_j"]


def test_repeated_runs_have_whiskers(reports: Reports, look_at: Opener) -> None:
    repeated = [reports.bert(seed) for seed in range(3)]
    page = look_at(reports.of(*repeated)).open()
    deviations = page.page.eval_on_selector_all("[data-sd]", "all => all.map(one => Number(one.dataset.sd))")
    assert deviations
    assert all(deviation >= 0 for deviation in deviations)
    assert max(deviations) > 0
    energies = [layers_of(run)["bert"]["energy_j"] for run in repeated]
    assert page.boxes()["bert"].joules == pytest.approx(statistics.mean(energies), rel=1e-9)


def test_estimated_powers_have_standard_errors(reports: Reports, look_at: Opener) -> None:
    run = reports.run("known-powers", runs.of_known_powers)
    page = look_at(reports.of(run)).open("#layer=net/b")
    errors = {row["label"]: row["standard_error_j"] for row in operations_of(run)}
    bars = page.page.eval_on_selector_all(
        "#top div:first-child > ol li", "all => all.map(bar => [bar.dataset.label, Number(bar.dataset.sd)])"
    )
    assert dict(bars) == errors
    # That of a layer is not the sum of its parts'.
    error = layers_of(run)["net/b"]["standard_error_j"]
    assert error < errors["net/b/Add"] + errors["net/b/Mul"]
    assert f"± {1000 * error:.3g}" in page.page.locator("#detail .lead").inner_text()
    assert page.page.locator("#operations th", has_text="± own").is_visible()


def test_a_prediction(reports: Reports, look_at: Opener) -> None:
    run = reports.run("predicted", runs.predicted)
    page = look_at(reports.of(run)).open()
    text = page.page.locator("body").inner_text()
    assert "predicted" in page.page.locator("#headline").inner_text()
    # It has taken no time yet.
    assert "average power" not in text and "NaN" not in text and "unknown" not in page.page.locator("#top").inner_text()
    page.click_into("encoder")
    layers, boxes = layers_of(run), page.boxes()
    for child in layers["encoder"]["children"]:
        assert boxes[child["path"]].joules == child["energy_j"]
