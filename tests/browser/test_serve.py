"""`jouletree serve` in a real browser: the form, its answers, the chart, addresses that are shared, looks."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser
from whatif_page import Server, WhatIfPage

Opener = Callable[..., WhatIfPage]
BELGIUM = {"gpu": "A100", "hours": "100", "provider": "gcp", "cloud_region": "europe-west1"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    assert server.stop() == 0


@pytest.fixture
def what_if(browser: Browser, server: Server) -> Iterator[Opener]:
    """Makes a page, not opened yet. Whatever a test does to it, in the end it must have been at peace."""
    pages: list[WhatIfPage] = []

    def what_if(width: int = 1280, height: int = 900, **options: object) -> WhatIfPage:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        pages.append(WhatIfPage(context.new_page(), server))
        return pages[-1]

    yield what_if
    for page in pages:
        page.page.context.close()
        page.expect_peace()


def test_it_opens_with_an_estimate_and_without_a_place(what_if: Opener) -> None:
    page = what_if().open()
    assert page.text("#energy .value") == "25.0 kWh"
    assert page.text("#carbon .value") == "unknown"
    assert "is not guessed" in page.text("#result")


def test_the_result_follows_the_form(what_if: Opener) -> None:
    page = what_if().open().fill(**BELGIUM)
    assert page.text("#carbon .value") == "3.05 kg"
    assert "Google" in page.text("#result .lines")
    page.fill(gpus="8", pue="1.1", tariff="0.25")
    assert page.text("#energy .value") == "220 kWh"
    assert page.text("#carbon .value") == "26.8 kg"
    assert page.text("#cost .value") == "55.00 EUR"
    assert "--gpus 8" in page.text("#command")


def test_it_works_without_a_script(what_if: Opener) -> None:
    page = what_if(java_script_enabled=False).open(ready=False)
    for name in ("gpu", "hours", "cloud_region"):
        page.page.locator(f"#{name}").fill(BELGIUM[name])
    page.page.locator("#provider").select_option("gcp")
    page.page.locator("button[type=submit]").click()
    page.page.wait_for_url("**/?*")
    assert page.text("#carbon .value") == "3.05 kg"
    assert page.query()["cloud_region"] == "europe-west1"


def test_a_bar_for_every_region_the_fewest_grams_first(what_if: Opener) -> None:
    page = what_if().open().fill(**BELGIUM)
    answer = page.server.estimate("gpu=A100&hours=100&provider=gcp&cloud_region=europe-west1&compare=provider")
    bars = page.bars()
    assert len(answer["regions"]) > 30
    assert [bar.region for bar in bars] == [f"{region['provider']}/{region['region']}" for region in answer["regions"]]
    assert [bar.grams for bar in bars] == sorted(bar.grams for bar in bars)
    # Lengths are grams.
    for bar in bars:
        assert bar.width == pytest.approx(bars[-1].width * bar.grams / bars[-1].grams, abs=0.6)
    assert page.page.locator("#regions .here").get_attribute("data-region") == "gcp/europe-west1"
    page.fill(provider="coreweave", cloud_region="")
    assert {bar.region.split("/")[0] for bar in page.bars()} == {"coreweave"}


def test_an_address_can_be_shared(what_if: Opener) -> None:
    page = what_if().open().fill(**BELGIUM, gpus="3", utilization="0.5", compare="aws")
    other = what_if().open(f"?{page.page.url.split('?')[1]}")
    for name, value in {**BELGIUM, "gpus": "3", "utilization": "0.5", "compare": "aws"}.items():
        assert other.page.locator(f"#{name}").input_value() == value, name
    assert other.text("#result") == page.text("#result")
    assert other.bars() == page.bars()
    # The link for programs asks the same.
    link = other.page.locator("#json").get_attribute("href")
    assert page.server.estimate(link.split("?")[1])["carbon_g"] == pytest.approx(37.5 * 122)


def test_what_is_wrong_is_told_beside_its_field(what_if: Opener) -> None:
    page = what_if().open().fill(**BELGIUM)
    page.fill(cloud_region="europe-wets1", hours="many")
    assert "did you mean `europe-west1`?" in page.error("cloud_region")
    assert "no number" in page.error("hours")
    assert page.page.locator("#hours").get_attribute("aria-invalid") == "true"
    assert page.bars() == []
    page.fill(cloud_region="europe-west1", hours="10")
    assert page.error("cloud_region") == page.error("hours") == ""
    assert page.text("#carbon .value") == "305 g"
    page.fill(gpu="<script>alert(1)</script>")
    assert "no accelerator" in page.error("gpu")


def test_the_keyboard_reaches_every_field_and_each_has_a_label(what_if: Opener) -> None:
    page = what_if().open()
    reached = set()
    for _ in range(40):
        page.page.keyboard.press("Tab")
        reached.add(page.page.evaluate("document.activeElement.name || ''"))
    fields = page.page.locator("form [name]")
    names = set(fields.evaluate_all("fields => fields.map(field => field.name)"))
    assert len(names) == 18
    assert names <= reached
    assert all(fields.evaluate_all("fields => fields.map(field => field.labels.length === 1)"))


@pytest.mark.parametrize("width", [360, 820, 1280])
def test_it_never_scrolls_sideways(what_if: Opener, width: int) -> None:
    page = what_if(width=width).open().fill(**BELGIUM, tariff="0.25", wue="0.2", embodied="server")
    assert page.sideways() <= 0
    page.fill(gpu="x" * 200)
    assert page.sideways() <= 0


def test_it_is_dark_where_that_is_preferred(what_if: Opener) -> None:
    assert what_if(color_scheme="light").open().brightness() > 0.8
    assert what_if(color_scheme="dark").open().brightness() < 0.25


def test_it_says_when_the_server_is_gone(browser: Browser) -> None:
    server = Server("--country", "ITA")
    page = WhatIfPage(browser.new_page(), server).open()
    assert page.page.locator("#country").input_value() == "ITA"
    assert server.stop() == 0
    page.page.locator("#hours").fill("7")
    page.page.locator("#trouble").wait_for(state="visible")
    assert "start it again" in page.text("#trouble")
    page.page.close()


@pytest.mark.skipif(not os.environ.get("JOULETREE_SCREENSHOTS"), reason="JOULETREE_SCREENSHOTS names no folder")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 820, 1280])
def test_pictures(what_if: Opener, width: int, scheme: str) -> None:
    """Not a test: pictures of the page for people to look at."""
    folder = pathlib.Path(os.environ["JOULETREE_SCREENSHOTS"])
    folder.mkdir(parents=True, exist_ok=True)
    page = what_if(width=width, color_scheme=scheme).open().fill(**BELGIUM, tariff="0.25", gpus="8")
    page.page.screenshot(path=folder / f"serve-{width}-{scheme}.png", full_page=True)
    page.fill(hours="many", pue="0.5")
    page.page.screenshot(path=folder / f"serve-wrong-{width}-{scheme}.png")
