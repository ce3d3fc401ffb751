"""That the tests would notice: pages that do what a report must not, and what is seen of them."""

from __future__ import annotations

import pathlib

import pytest
from conftest import Opener
from playwright.sync_api import Browser
from report_page import ReportPage

BOXES = """
<section id="diagram">
<nav class="breadcrumb"><button data-path="">all</button></nav>
<div data-box tabindex="0" data-path="a" data-joules="0.30000000000000004" data-share="0.75"
data-composite="true">a</div>
<div data-box data-path='q"\\\u2028' data-joules="1e-300" data-share="0" data-composite="false" tabindex="0">q</div>
<div data-box data-own="true" data-path="" data-joules="0.1" data-share="0.25" data-composite="false">own</div>
</section>
"""


def written(folder: pathlib.Path, body: str, ready: str = "true") -> pathlib.Path:
    file = folder / "page.html"
    head = f"<!doctype html><meta charset=utf-8><title>t</title><body data-ready={ready}>"
    file.write_text(head + body, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "body",
    [
        "<script>console.error('no')</script>",
        "<script>throw new Error('no')</script>",
        "<script>Promise.reject(new Error('no'))</script>",
        "<script>alert('no')</script>",
        "<img src=beside.png>",
        "<link rel=stylesheet href=https://fonts.invalid/a.css>",
        "<script>fetch('https://telemetry.invalid/').catch(() => 0)</script>",
    ],
)
def test_trouble_is_seen(browser: Browser, tmp_path: pathlib.Path, body: str) -> None:
    context = browser.new_context()
    page = ReportPage(context.new_page(), written(tmp_path, body)).open()
    page.page.wait_for_load_state("networkidle")
    context.close()
    with pytest.raises(AssertionError):
        page.expect_peace()


def test_boxes_are_read_with_every_digit(look_at: Opener, tmp_path: pathlib.Path) -> None:
    page = look_at(written(tmp_path, BOXES)).open()
    boxes = page.boxes()
    assert boxes["a"].joules == 0.1 + 0.2
    assert boxes['q"\\\u2028'].joules == 1e-300
    assert boxes["(own)"].share == 0.25
    assert page.box('q"\\\u2028').count() == 1
    page.wait_inside("")
    page.tab_to_box("a")
    assert page.focused("#diagram")


def test_day_and_night_are_told_apart(look_at: Opener, tmp_path: pathlib.Path) -> None:
    style = "<style>@media (prefers-color-scheme: dark) { body { background: oklch(20% 0 0); color: white } }</style>"
    file = written(tmp_path, style)
    assert look_at(file, color_scheme="light").open().brightness() == pytest.approx((1, 0))
    back, text = look_at(file, color_scheme="dark").open().brightness()
    assert back < 0.25
    assert text > 0.99


def test_what_is_too_wide_is_noticed(look_at: Opener, tmp_path: pathlib.Path) -> None:
    page = look_at(written(tmp_path, "<div style='width: 500px'>wide</div>"), width=390, height=844).open()
    assert page.sideways() > 100


def test_opening_is_timed(look_at: Opener, tmp_path: pathlib.Path) -> None:
    late = "<script>setTimeout(() => document.body.dataset.ready = 'true', 300)</script>"
    assert 300 <= look_at(written(tmp_path, late, ready="false")).open_milliseconds() < 5_000
