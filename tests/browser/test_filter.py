"""The answer first, and what filters all below it: the bar of all joules, stages, passes, search; and addresses of it."""

from __future__ import annotations

import pytest
from conftest import Opener, Reports
from report_page import FLOW, TREE, ReportPage
from tool import jouletree_json, layers_of, operations_of

ROUNDING = 1e-9


def stages_of(reports: Reports) -> dict[str, dict]:
    return {stage["stage"]: stage for stage in jouletree_json("show", reports.staged(), "--by", "stage")}


def test_one_bar_holds_all_joules(staged: ReportPage, reports: Reports) -> None:
    whole = layers_of(reports.staged())[""]["whole"]
    bar = staged.all_joules("#whole .segment", "data-segment")
    assert sum(bar.values()) == pytest.approx(whole["energy_j"], rel=ROUNDING)
    passes = {row["pass"]: row["energy_j"] for row in whole["passes"]}
    assert {name: bar[name] for name in ("forward", "backward")} == {
        name: pytest.approx(passes[name], rel=ROUNDING) for name in ("forward", "backward")
    }
    slices = {row["slice"]: row["energy_j"] for row in whole["slices"]}
    assert bar["unrecorded_steps"] == pytest.approx(slices["unrecorded_steps"], rel=ROUNDING)
    assert "everything else" in staged.page.locator("#answer").inner_text()
    # Each has its name, joules and share in words, too.
    assert staged.page.locator("#whole .keys .key").count() == len(bar)


def test_trust_has_signs_and_words(staged: ReportPage) -> None:
    signs = staged.page.locator("#trust .sign")
    assert signs.count() == 6
    for text in signs.all_inner_texts():
        assert any(word in text for word in ("good", "with care", "poor")), text
    verdict = staged.page.locator("#trust .verdict")
    assert verdict.get_attribute("data-verdict") == "unfit"
    assert "Not fit for publication: the energy is estimated" in verdict.inner_text()


def test_the_largest_facts_lead_to_their_places(staged: ReportPage, reports: Reports) -> None:
    facts = staged.all_joules("#try li", "data-fact")
    kinds = jouletree_json("show", reports.staged(), "--by", "type")
    assert facts["type"] == pytest.approx(kinds[0]["energy_j"], rel=ROUNDING)
    stages = stages_of(reports)
    assert facts["stage"] == pytest.approx(max(row["energy_j"] for name, row in stages.items() if name[0] != "("))
    staged.page.locator("#try [data-fact=layer] button").click()
    assert staged.page.locator("#detail h3").inner_text() == "net/encoder"
    assert staged.joules("#detail .lead") == facts["layer"] == layers_of(reports.staged())["net/encoder"]["energy_j"]


@pytest.mark.parametrize("stage", ["pre-training", "fine-tuning"])
def test_a_stage_and_a_pass_filter_everything(staged: ReportPage, reports: Reports, stage: str) -> None:
    run = reports.staged()
    staged.page.locator(f"#stages [data-stage={stage}] button").click()
    assert staged.page.locator("#stage").input_value() == stage
    staged.page.locator("#filter [data-pass=forward]").click()
    chosen = ("--stage", stage, "--pass", "forward")
    layers = layers_of(run, *chosen)
    tree = staged.all_joules("#icicle [data-node]", "data-path")
    assert len(tree) > 4
    for path, joules in tree.items():
        assert joules == pytest.approx(layers[path]["energy_j"], rel=ROUNDING), path
    kinds = {row["type"]: row["energy_j"] for row in jouletree_json("show", run, "--by", "type", *chosen)}
    assert staged.all_joules("#kinds li", "data-kind") == pytest.approx(kinds, rel=ROUNDING)
    shown = sum(operation["energy_j"] for operation in jouletree_json("show", run, "--by", "op", *chosen))
    assert staged.joules("#detail .lead") == pytest.approx(shown, rel=ROUNDING)
    assert stage in staged.says()
    assert "forward" in staged.says()
    assert staged.address() == f"#stage={stage}&pass=forward"
    staged.page.locator("#show-all").click()
    assert staged.address() == ""
    assert staged.joules("#detail .lead") == layers_of(run)[""]["energy_j"]


def test_a_segment_without_layers_says_so(staged: ReportPage) -> None:
    staged.page.locator("#whole .keys [data-segment=start_up]").click()
    assert staged.address() == "#part=start_up"
    assert "start-up" in staged.says()
    assert "No layer was recorded" in staged.page.locator("#layers .nothing").inner_text()
    assert staged.page.locator("#timeline .moment").count() > 0
    staged.page.locator("#whole .keys [data-segment=forward]").click()
    assert staged.address() == "#pass=forward"
    staged.page.locator("#whole .segment[data-segment=forward]").click()
    assert staged.address() == ""


def test_steps_are_those_of_show(staged: ReportPage, reports: Reports) -> None:
    shown = staged.page.eval_on_selector_all("#steps td[data-joules]", "all => all.map(one => Number(one.dataset.joules))")
    phases = jouletree_json("show", reports.staged(), "--by", "phase")
    assert sum(shown) == pytest.approx(sum(row["energy_j"] for row in phases), rel=ROUNDING)
    text = staged.page.locator("#steps").inner_text()
    assert "recorded" in text
    assert "not recorded" in text
    assert "a sample" in text


def test_kinds_are_those_of_show(bert: ReportPage, reports: Reports) -> None:
    bert.page.locator("#kinds > p > button").click()
    kinds = {row["type"]: row["energy_j"] for row in jouletree_json("show", reports.bert(), "--by", "type")}
    assert bert.all_joules("#kinds li", "data-kind") == pytest.approx(kinds, rel=ROUNDING)
    bert.page.locator("#kinds [data-kind=Softmax] button").click()
    wanted = [row for row in operations_of(reports.bert()) if row["type"] == "Softmax"]
    assert len(bert.rows()) == min(len(wanted), len(bert.rows()))
    assert all("Softmax" in path for path in bert.paths())


def test_no_list_has_one_name_twice(bert: ReportPage) -> None:
    for name in ("by energy", "by joules over operation time"):
        bars = bert.page.locator("#top h3", has_text=name).locator("xpath=following-sibling::ol").locator("li")
        labels = [(bar.get_attribute("data-label"), bar.locator(".note").inner_text()) for bar in bars.all()]
        assert len(labels) > 1
        assert len(set(labels)) == len(labels), labels
    titles = bert.page.eval_on_selector_all(
        "#operations tbody tr:not([aria-hidden=true])",
        "all => all.map(row => row.querySelector('th').title + ' ' + row.cells[2].innerText + ' ' + row.cells[3].innerText)",
    )
    assert len(set(titles)) == len(titles)


def test_top_operations_and_rows_lead_to_their_layer(bert: ReportPage) -> None:
    bar = bert.page.locator("#top li").first
    path = bar.get_attribute("data-path")
    bar.locator("button").click()
    assert bert.page.locator("#detail h3").inner_text() == path
    assert bert.address().endswith(f"layer={path}&show=flow")
    bert.find("layer_7/attention/self/Softmax")
    bert.page.locator("#operations tbody button").first.click()
    assert "layer_7/attention/self/Softmax" in bert.page.locator("#detail h3").inner_text()


def test_an_address_leads_to_what_was_chosen(reports: Reports, look_at: Opener) -> None:
    address = "#stage=fine-tuning&pass=forward&layer=net/encoder/layer_1&time=step&see=timeline"
    page = look_at(reports.of(reports.staged())).open(address)
    assert page.page.locator("#stage").input_value() == "fine-tuning"
    assert page.pressed_pass() == ["forward"]
    assert page.page.locator("#detail h3").inner_text() == "net/encoder/layer_1"
    wanted = layers_of(reports.staged(), "--stage", "fine-tuning", "--pass", "forward")["net/encoder/layer_1"]
    assert page.joules("#detail .lead") == pytest.approx(wanted["energy_j"], rel=ROUNDING)
    assert page.page.evaluate("() => window.scrollY") > 100
    assert page.page.locator("#timeline [data-time=step]").get_attribute("aria-pressed") == "true"


def test_back_and_forward_follow_the_choices(reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.bert())).open(FLOW)
    page.click_into("bert")
    page.click_into("bert/encoder")
    page.choose_pass("backward")
    page.find("layer_3")
    page.page.go_back()
    page.page.wait_for_function("() => document.querySelector('#filter [data-pass=both]').ariaPressed === 'true'")
    page.page.go_back()
    page.wait_inside("bert")
    page.page.go_forward()
    page.wait_inside("bert/encoder")
    assert page.address() == "#layer=bert/encoder&show=flow"
    # A link that is followed on the open page, too.
    page.page.evaluate("() => { location.hash = '#layer=bert/embeddings&show=flow'; }")
    page.wait_inside("bert/embeddings")


def test_an_address_of_another_run_says_what_is_missing(staged: ReportPage, reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.staged())).open("#layer=net/decoder&stage=testing&pass=sideways")
    assert "There is no layer “net/decoder” in this run." in page.says()
    assert "There is no stage “testing” in this run." in page.says()
    assert page.joules("#detail .lead") == layers_of(reports.staged())[""]["energy_j"]
    page.find("net/decoder")
    assert "nothing is called “net/decoder”" in page.says()


def test_the_search_is_used_by_keyboard(reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.bert())).open(TREE)
    page.page.locator("#find").focus()
    page.page.keyboard.type("layer_3/attention")
    page.press("ArrowDown")
    assert page.focused("#filter .found button")
    page.press("Enter")
    assert page.page.locator("#detail h3").inner_text() == "bert/encoder/layer_3/attention"
    page.page.locator("#find").focus()
    page.press("Escape")
    assert page.page.locator("#find").input_value() == ""


def test_the_tree_is_walked_by_keyboard(reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.bert())).open(TREE)
    page.page.locator("#icicle [tabindex='0']").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.press(key)
    assert page.page.locator("#detail h3").inner_text() == "bert/encoder"
    assert page.focused("#icicle")
    page.press("Escape")
    assert page.page.locator("#detail h3").inner_text() == "bert"
    page.page.locator("#tab-tree").focus()
    page.press("ArrowRight")
    assert page.focused("#tab-flow")
    page.wait_inside("bert")
