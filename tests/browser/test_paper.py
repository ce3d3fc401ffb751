"""A report on paper, A4 and Letter: nothing is clipped, no controls, no page that is nearly empty."""

from __future__ import annotations

import re

import pytest
from conftest import Opener, Reports
from report_page import CONTROLS, FLOW, TREE, ReportPage

# Between margins of 14 mm, in pixels of a style sheet.
MARGIN_MM = 14
PAPERS = {"A4": (210, 297), "Letter": (215.9, 279.4)}
# Everything that reaches beyond the right edge, or is cut by what it is in.
CLIPPED = """width => [...document.querySelectorAll('main *')].filter(one => {
    const at = one.getBoundingClientRect();
    if (!at.width || !at.height || getComputedStyle(one).visibility === 'hidden') return false;
    if (one.closest('[hidden], .unseen, defs, clipPath, .cursor, h2')) return false;
    if (one.closest('svg') && one.closest('.charts') && !one.matches('svg, text')) return false;
    return at.right > width + 1 || at.left < -1;
}).map(one => `${one.tagName} ${one.getAttribute('class')} ${one.textContent.slice(0, 40)}`)"""
HEIGHT = "() => document.documentElement.scrollHeight"


def on_paper(page: ReportPage, paper: str) -> int:
    """Shows the page as it is printed; returns how wide the paper is between its margins."""
    millimetres = PAPERS[paper][0] - 2 * MARGIN_MM
    width = int(millimetres * 96 / 25.4)
    page.page.set_viewport_size({"width": width, "height": 1000})
    page.page.emulate_media(media="print")
    page.page.evaluate("() => { dispatchEvent(new Event('beforeprint')); }")
    page.page.wait_for_timeout(100)
    return width


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("layers", [TREE, FLOW])
def test_nothing_is_clipped(reports: Reports, look_at: Opener, paper: str, layers: str) -> None:
    page = look_at(reports.of(reports.bert())).open(layers)
    if layers == FLOW:
        page.click_into("bert")
        page.click_into("bert/encoder")
    width = on_paper(page, paper)
    assert page.page.evaluate(CLIPPED, width) == []
    # What is folded on a screen is open, and a part of the table is there.
    assert page.page.locator("#provenance dl").first.is_visible()
    assert 20 < len(page.rows()) < 60
    page.page.evaluate("() => { dispatchEvent(new Event('afterprint')); }")
    page.page.emulate_media(media="screen")
    assert not page.page.locator("#provenance dl").first.is_visible()


def test_stages_and_power_fit_the_paper(staged: ReportPage) -> None:
    width = on_paper(staged, "A4")
    assert staged.page.evaluate(CLIPPED, width) == []
    back, _ = staged.brightness()
    assert back > 0.9


@pytest.mark.parametrize("paper", PAPERS)
def test_pages_are_full(staged: ReportPage, paper: str) -> None:
    printed = staged.page.pdf(format=paper, prefer_css_page_size=False, print_background=True)
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    on_paper(staged, paper)
    height = staged.page.evaluate(HEIGHT) * 25.4 / 96
    full = height / (PAPERS[paper][1] - 2 * MARGIN_MM)
    # Pictures that are not cut in two leave some space below what is before them.
    assert full - 0.5 < pages <= 1.5 * full + 1, f"{pages} pages for {full:.1f} full ones"


def test_paper_has_no_controls(bert: ReportPage) -> None:
    for control in CONTROLS:
        assert bert.page.locator(control).first.is_visible(), control
    bert.page.emulate_media(media="print")
    for control in CONTROLS:
        assert not bert.page.locator(control).first.is_visible(), control
    back, _ = bert.brightness()
    assert back > 0.9
