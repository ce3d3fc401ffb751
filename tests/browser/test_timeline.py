"""Power over time: stages and steps that are marked, values under the pointer and by keyboard, the moments of a layer."""

from __future__ import annotations

import re

from conftest import Opener, Reports
from report_page import ReportPage


def readout(page: ReportPage) -> str:
    return page.page.locator("#readout").inner_text()


def test_stages_and_steps_are_marked(staged: ReportPage) -> None:
    text = staged.page.locator("#timeline svg").first.text_content()
    assert "pre-training" in text
    assert "fine-tuning" in text
    assert staged.page.locator("#timeline .strip.recorded").count() >= 6
    assert staged.page.locator("#timeline .strip.unrecorded_steps").count() >= 1
    assert staged.page.locator("#timeline svg").first.bounding_box()["height"] >= 200


def test_the_pointer_and_the_keyboard_read_values(staged: ReportPage) -> None:
    staged.scroll_to("#timeline")
    box = staged.page.locator("#timeline svg").first.bounding_box()
    staged.page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 60)
    pointed = readout(staged)
    assert re.search(r"\d\s?m?s · .*W this program", pointed), pointed
    assert "pre-training" in pointed or "fine-tuning" in pointed
    staged.page.mouse.move(0, 0)
    staged.page.locator("#timeline .charts").focus()
    staged.press("ArrowRight")
    first = readout(staged)
    for _ in range(5):
        staged.press("ArrowRight")
    assert readout(staged) != first
    # A zoom keeps what is read in sight.
    staged.press("+")
    staged.press("+")
    assert staged.page.locator("#timeline .cursor").first.evaluate("line => line.style.display") != "none"
    staged.press("0")
    staged.press("Escape")
    assert "to read values" in readout(staged)


def test_a_layer_is_shaded_in_the_step(staged: ReportPage, reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.staged())).open("#layer=net/encoder/layer_1&time=step")
    assert page.page.locator("#timeline .moment").count() >= 1
    assert "net/encoder/layer_1 runs" in page.page.locator("#timeline > .hint").inner_text()
    # In the whole run it is known of one step.
    page.page.locator("#timeline [data-time=run]").click()
    assert page.page.locator("#timeline .moment").count() >= 1
    assert "known of one step" in page.page.locator("#timeline > .hint").inner_text()
