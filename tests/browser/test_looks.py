"""How a report looks: by day and by night, on a phone, and in pictures for people."""

from __future__ import annotations

import os
import pathlib
import re

import pytest
from conftest import Opener, Reports
from report_page import TREE

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
    staged = look_at(reports.of(reports.staged()), width=width, height=844).open(TREE)
    assert staged.sideways() <= 0
    page = look_at(reports.of(reports.bert()), width=width, height=844).open()
    assert page.sideways() <= 0
    for path in ("bert", "bert/encoder", "bert/encoder/layer_0"):
        page.click_into(path)
        assert page.sideways() <= 0, path


def test_a_finger_opens_a_layer(reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.bert()), width=390, height=844, has_touch=True, is_mobile=True).open()
    page.box("bert").tap()
    page.wait_inside("bert")


@pytest.mark.skipif(not os.environ.get("JOULETREE_SCREENSHOTS"), reason="JOULETREE_SCREENSHOTS names no folder")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_pictures(reports: Reports, look_at: Opener, width: int, scheme: str) -> None:
    """Not a test: pictures of the page, as it opens and inside a layer, for people to look at."""
    folder = pathlib.Path(os.environ["JOULETREE_SCREENSHOTS"])
    folder.mkdir(parents=True, exist_ok=True)
    page = look_at(reports.of(reports.staged()), width=width, color_scheme=scheme).open(TREE)
    page.page.screenshot(path=folder / f"report-{width}-{scheme}.png", full_page=True)
    page = look_at(reports.of(reports.bert()), width=width, color_scheme=scheme).open()
    for path in ("bert", "bert/encoder", "bert/encoder/layer_0", "bert/encoder/layer_0/attention"):
        page.click_into(path)
    page.page.locator("#layers").screenshot(path=folder / f"layers-{width}-{scheme}.png")


def test_a_narrow_screen_keeps_the_numbers_of_layers(reports: Reports, look_at: Opener) -> None:
    page = look_at(reports.of(reports.bert()), width=390, height=844).open(TREE)
    page.find("intermediate/dense/MatMul")
    names = [row[0] for row in page.rows()]
    numbered = [re.search(r"layer_\d+", name) for name in names]
    assert names
    assert all(numbered), names
    assert all("MatMul" in name for name in names), names
    found = page.page.locator("#filter .found button")
    assert found.count() > 1
    texts = found.all_inner_texts()
    assert len(set(texts)) == len(texts)
