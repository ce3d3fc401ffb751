"""The report of a training: that it opens by itself, shows the numbers of `show`, and goes where one wants to go."""

from __future__ import annotations

import csv
import io

import pytest
from conftest import Opener, Reports
from report_page import FOUND, PASSES, SECTIONS, TREE, ReportPage
from tool import layers_of, operations_of

DOWN = [
    "bert",
    "bert/encoder",
    "bert/encoder/layer_0",
    "bert/encoder/layer_0/attention",
    "bert/encoder/layer_0/attention/self",
]


def test_it_opens_from_disk_and_asks_for_nothing_else(bert: ReportPage) -> None:
    assert [request.split("#")[0] for request in bert.requests] == [bert.file.as_uri()]
    bert.page.wait_for_load_state("networkidle")
    bert.expect_peace()


def test_every_section_is_there(bert: ReportPage) -> None:
    assert bert.sections() == list(SECTIONS)
    for section in SECTIONS:
        assert bert.page.locator(f"#{section}").inner_text().strip(), f"{section} is empty"


def test_a_page_without_scripts_says_what_it_is(reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.bert()), java_script_enabled=False)
    page.page.goto(page.file.as_uri())
    assert page.page.title()
    assert page.page.locator("body").inner_text().strip()


def check_numbers(page: ReportPage, layers: dict[str, dict], path: str) -> None:
    """The boxes are the children of a layer, with the doubles that `show` prints; those below 1 % share one."""
    shown, layer = page.boxes(), layers[path]
    own, others = shown.pop("(own)", None), shown.pop("(others)", None)
    children = {child["path"]: child for child in layer["children"]}
    for name, box in shown.items():
        assert box.joules == children[name]["energy_j"], name
        assert box.composite == children[name]["composite"], name
        assert box.tabindex == "0", name
    hidden = [child["energy_j"] for name, child in children.items() if name not in shown]
    if own:
        assert own.joules == layer["own_j"]
    else:
        hidden.append(layer["own_j"])
    assert all(energy < 0.01 * layer["energy_j"] for energy in hidden), hidden
    assert (others.joules if others else 0) == pytest.approx(sum(hidden), rel=1e-9, abs=1e-12)
    check_shares(page, layer["energy_j"])


def check_shares(page: ReportPage, whole: float) -> None:
    boxes = page.boxes().values()
    assert sum(box.share for box in boxes) == pytest.approx(1, abs=1e-9)
    for box in boxes:
        assert box.share == pytest.approx(box.joules / whole, abs=1e-12)


def test_boxes_show_the_numbers_of_show_all_the_way_down(bert: ReportPage, reports: Reports) -> None:
    layers = layers_of(reports.bert())
    check_numbers(bert, layers, "")
    for path in DOWN:
        bert.click_into(path)
        check_numbers(bert, layers, path)


def test_what_a_layer_used_itself_is_a_box_beside_its_children(bert: ReportPage, reports: Reports) -> None:
    # An operation may have something inside, too: a variable has its updates.
    kernel = "bert/encoder/layer_0/output/dense/kernel"
    layers = layers_of(reports.bert())
    assert layers[kernel]["own_j"] > 0
    parts = kernel.split("/")
    for depth in range(1, len(parts) + 1):
        bert.click_into("/".join(parts[:depth]))
    assert "(own)" in bert.boxes()
    check_numbers(bert, layers, kernel)


def test_one_goes_in_and_out_by_clicking(bert: ReportPage) -> None:
    for path in DOWN:
        bert.click_into(path)
    bert.crumb("bert/encoder/layer_0").click()
    bert.wait_inside("bert/encoder/layer_0")
    bert.crumb("bert").click()
    bert.wait_inside("bert")
    bert.crumb("").click()
    bert.wait_inside("")


def test_one_goes_in_and_out_by_the_keyboard_alone(bert: ReportPage) -> None:
    for path in DOWN:
        bert.tab_to_box(path)
        bert.press("Enter")
        bert.wait_inside(path)
        assert bert.focused("#diagram"), f"the focus is lost inside {path}"
    for number, path in enumerate(reversed(["", *DOWN[:-1]])):
        bert.press("Backspace" if number % 2 else "Escape")
        bert.wait_inside(path)
        assert bert.focused("#diagram"), f"the focus is lost on the way out to {path or 'the whole'}"


def test_an_operation_is_no_place_to_go_into(bert: ReportPage) -> None:
    for path in DOWN:
        bert.click_into(path)
    bert.box(f"{DOWN[-1]}/Softmax").click()
    bert.wait_inside(DOWN[-1])


def test_passes_have_the_numbers_of_show(bert: ReportPage, reports: Reports) -> None:
    assert bert.pressed_pass() == ["both"]
    for path in DOWN[:3]:
        bert.click_into(path)
    for name in PASSES[1:]:
        layers = layers_of(reports.bert(), "--pass", name)
        bert.choose_pass(name)
        bert.wait_inside(DOWN[2])
        shown = bert.boxes()
        for child in layers[DOWN[2]]["children"]:
            # The same numbers, though perhaps summed in another order.
            assert shown[child["path"]].joules == pytest.approx(child["energy_j"], rel=1e-12), child["path"]
        used = {child["path"] for child in layers[DOWN[2]]["children"]}
        boxes = [box for box in shown.values() if not box.own and not box.others]
        assert all(box.joules == 0 for box in boxes if box.path not in used)
        check_shares(bert, layers[DOWN[2]]["energy_j"])
    bert.choose_pass("both")
    check_numbers(bert, layers_of(reports.bert()), DOWN[2])


def test_data_flow_is_drawn(bert: ReportPage, reports: Reports) -> None:
    for path in DOWN[:2]:
        bert.click_into(path)
    assert layers_of(reports.bert())["bert/encoder"]["edges"]
    assert bert.page.locator("#diagram svg path, #diagram svg line, #diagram svg polyline").count() > 0


def test_the_search_finds_an_operation_in_the_tree(reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.bert())).open(TREE)
    assert page.page.locator(FOUND).count() == 0
    page.find("layer_3/attention/self/query")
    page.page.wait_for_selector(FOUND, timeout=5_000)
    found = page.page.eval_on_selector_all(FOUND, "all => all.map(one => [one.dataset.path, one.dataset.joules])")
    layers = layers_of(reports.bert())
    for path, joules in found:
        assert "layer_3/attention/self/query" in path
        assert float(joules) == layers[path]["energy_j"]
    # What is inside of a found layer can be read, too.
    inside = page.page.locator('#icicle [data-path^="bert/encoder/layer_3/attention/self/query/"]')
    assert not inside.first.evaluate("slice => slice.classList.contains('faint')")
    page.find("")
    page.page.wait_for_selector(FOUND, state="detached", timeout=5_000)


def test_the_tree_tells_what_one_points_at(reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.bert())).open(TREE)
    page.scroll_to("#layers")
    page.page.locator('#icicle [data-path="bert"]').first.hover()
    assert "bert" in page.tooltip()
    page.page.mouse.move(0, 0)
    page.page.locator('#icicle [data-path="bert/encoder"]').first.focus()
    assert "encoder" in page.tooltip()


def test_the_table_holds_few_of_many_rows(bert: ReportPage, reports: Reports) -> None:
    assert len(operations_of(reports.bert())) > 5_000
    assert 5 < len(bert.rows()) < 500


def test_the_table_is_filtered(bert: ReportPage) -> None:
    bert.find("layer_7/attention/self/Softmax")
    bert.page.wait_for_function(
        "() => { const rows = [...document.querySelectorAll('#operations table tbody tr:not([aria-hidden=true])')]"
        ".filter(row => row.cells.length > 1);"
        " return rows.length > 0 && rows.every(row => row.textContent.includes('layer_7')); }",
        timeout=5_000,
    )
    assert all(any("Softmax" in cell for cell in row) for row in bert.rows())
    bert.find("no operation is called like this")
    bert.page.wait_for_function("() => !document.querySelector('#operations table').textContent.includes('layer_')")
    assert bert.rows() == []


def copied_rows(page: ReportPage) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(page.copied())))


def test_the_table_is_copied_with_every_number(bert: ReportPage, reports: Reports) -> None:
    rows, operations = copied_rows(bert), operations_of(reports.bert())
    assert len(rows) == len(operations)
    shown = sorted((row["path"], float(row["energy_j"])) for row in rows)
    assert shown == sorted((operation["path"], operation["energy_j"]) for operation in operations)


def test_the_table_is_sorted_by_what_one_clicks(bert: ReportPage) -> None:
    first = float(copied_rows(bert)[0]["energy_j"])
    assert first == max(float(row["energy_j"]) for row in copied_rows(bert))
    header = bert.header("nergy")
    orders = []
    for _ in range(2):
        header.click()
        energies = [float(row["energy_j"]) for row in copied_rows(bert)]
        orders.append("down" if energies[0] > energies[-1] else "up")
        assert energies == sorted(energies, reverse=orders[-1] == "down")
        told = bert.page.locator("#operations th[aria-sort]:not([aria-sort=none])").get_attribute("aria-sort")
        assert told == {"down": "descending", "up": "ascending"}[orders[-1]]
    assert set(orders) == {"up", "down"}


def test_what_is_filtered_is_what_is_copied(bert: ReportPage) -> None:
    bert.find("layer_7/attention/self/Softmax")
    bert.page.wait_for_function("() => document.querySelectorAll('#operations table tbody tr').length < 30")
    rows = copied_rows(bert)
    assert rows
    assert all("layer_7/attention/self/Softmax" in row["path"] for row in rows)
