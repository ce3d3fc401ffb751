"""How a report looks: by day and by night, on a phone, on paper, and in pictures for people."""

from __future__ import annotations

import os
import pathlib

import pytest
from conftest import Opener, Reports
from report_page import CONTROLS, ReportPage

WIDTHS = (390, 820, 1280, 1920)


def test_it_is_dark_where_that_is_preferred(reports: Reports, look_at: Opener) -> None:
    file = reports.of(reports.bert())
    back, text = look_at(file, color_scheme="light").open().brightness()
    assert back > 0.8
    assert text < 0.4
    back, text = look_at(file, color_scheme="dark").open().brightness()
    assert back < 0.25
    assert text > 0.6


@pytest.mark.parametrize("width", WIDTHS)
def test_it_never_scrolls_sideways(reports: Reports, look_at: Opener, width: int) -> None:
    page = look_at(reports.of(reports.bert()), width=width, height=844).open()
    assert page.sideways() <= 0
    for path in ("bert", "bert/encoder", "bert/encoder/layer_0"):
        page.click_into(path)
        assert page.sideways() <= 0, path


def test_a_finger_opens_a_layer(reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.bert()), width=390, height=844, has_touch=True, is_mobile=True).open()
    page.box("bert").tap()
    page.wait_inside("bert")


def test_paper_has_no_controls(bert: ReportPage) -> None:
    for control in CONTROLS:
        assert bert.page.locator(control).first.is_visible(), control
    bert.page.emulate_media(media="print")
    for control in CONTROLS:
        assert not bert.page.locator(control).first.is_visible(), control
    back, _ = bert.brightness()
    assert back > 0.9


@pytest.mark.skipif(not os.environ.get("JOULETREE_SCREENSHOTS"), reason="JOULETREE_SCREENSHOTS names no folder")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_pictures(reports: Reports, look_at: Opener, width: int, scheme: str) -> None:
    """Not a test: pictures of the page, as it opens and inside a layer, for people to look at."""
    folder = pathlib.Path(os.environ["JOULETREE_SCREENSHOTS"])
    folder.mkdir(parents=True, exist_ok=True)
    page = look_at(reports.of(reports.bert()), width=width, color_scheme=scheme).open()
    page.page.screenshot(path=folder / f"report-{width}-{scheme}.png", full_page=True)
    for path in ("bert", "bert/encoder", "bert/encoder/layer_0", "bert/encoder/layer_0/attention"):
        page.click_into(path)
    page.page.locator("#diagram").screenshot(path=folder / f"diagram-{width}-{scheme}.png")
