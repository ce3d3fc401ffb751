"""A report as somebody sees it who has a browser: what the page shows, by the attributes that it promises.

Whatever the tests know about the page's structure stands here and nowhere else.
"""

from __future__ import annotations

import json
import pathlib
from dataclasses import dataclass

from playwright.sync_api import Locator, Page

SECTIONS = ("headline", "try", "stages", "layers", "kinds", "top", "timeline", "operations", "provenance")
PASSES = ("both", "forward", "backward", "optimizer")
CONTROLS = ("#filter [data-pass]", "#find", "#tab-tree", "#operations-copy")
# The layers as a diagram of their data flow, and as a tree.
FLOW, TREE = "#show=flow", ""
# How the icicle marks what its search has found.
FOUND = "#icicle .slice.match"

READY = "() => document.body.dataset.ready === 'true'"
INSIDE = """path => {
    const boxes = [...document.querySelectorAll('#diagram [data-box]')];
    const begin = path ? path + '/' : '';
    const inside = box => box.dataset.own === 'true' ? box.dataset.path === path : box.dataset.path.startsWith(begin);
    const depth = path ? path.split('/').length + 1 : 1;
    const child = box => box.dataset.own === 'true' || box.dataset.others === 'true'
        || box.dataset.path.split('/').length === depth;
    return boxes.length > 0 && boxes.every(box => inside(box) && child(box));
}"""


def quoted(text: str) -> str:
    """A text as a string of CSS, which knows no `\\u2028`."""
    return json.dumps(text, ensure_ascii=False)


@dataclass
class Box:
    """A box of the diagram."""

    path: str
    joules: float
    share: float
    composite: bool
    own: bool
    others: bool
    text: str
    tabindex: str | None


class ReportPage:
    """An open report. What goes wrong in it gathers in `troubles`, what it asks for in `requests`."""

    def __init__(self, page: Page, file: pathlib.Path) -> None:
        self.page = page
        self.file = file
        self.troubles: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("crash", lambda _: self.troubles.append("the page crashed"))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.requests.append(request.url))

    def _console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.troubles.append(f"console: {message.text}")

    def _dialog(self, dialog) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, address: str = FLOW, timeout_s: float = 30) -> ReportPage:
        """Opens the file at an address and waits until the page says that it has drawn."""
        self.page.goto(self.file.as_uri() + address)
        self.page.wait_for_function(READY, timeout=timeout_s * 1000)
        return self

    def open_milliseconds(self) -> float:
        """From the beginning of the navigation to the page's word that it has drawn."""
        # Set before the page's own scripts run, so that no instant between is lost to the way to the browser and back.
        self.page.add_init_script(
            "new MutationObserver(() => { if (document.body?.dataset.ready === 'true')"
            " window.readyAt ??= performance.now(); })"
            ".observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['data-ready']})"
        )
        self.open()
        return self.page.evaluate("() => window.readyAt ?? performance.now()")

    def expect_peace(self) -> None:
        """Nothing was complained of, and nothing was asked for but the file itself."""
        assert self.troubles == []
        assert {request.split("#")[0] for request in self.requests} <= {self.file.as_uri()}

    def sections(self) -> list[str]:
        return self.page.eval_on_selector_all("section[id]", "all => all.map(section => section.id)")

    # The diagram ----------------------------------------------------------------------------------------------

    def boxes(self) -> dict[str, Box]:
        """The boxes that are shown by path; the shown layer's own energy is under `(own)`, small parts that share a box
        are under `(others)`."""
        found = self.page.eval_on_selector_all(
            "#diagram [data-box]",
            "all => all.map(box => ({...box.dataset, text: box.textContent, tabindex: box.getAttribute('tabindex')}))",
        )
        boxes = [
            Box(
                path=box["path"],
                joules=float(box["joules"]),
                share=float(box["share"]),
                composite=box["composite"] == "true",
                own=box.get("own") == "true",
                others=box.get("others") == "true",
                text=box["text"],
                tabindex=box["tabindex"],
            )
            for box in found
        ]
        named = {"(own)" if box.own else "(others)" if box.others else box.path: box for box in boxes}
        assert len(named) == len(boxes), "two boxes have one path"
        return named

    def box(self, path: str) -> Locator:
        return self.page.locator(f"#diagram [data-box][data-path={quoted(path)}]:not([data-own='true'])")

    def crumb(self, path: str) -> Locator:
        one = f"[data-path={quoted(path)}]"
        return self.page.locator(f"#layers nav.breadcrumb button{one}")

    def wait_inside(self, path: str) -> None:
        """Waits until the diagram shows the inside of a layer."""
        self.page.wait_for_function(INSIDE, arg=path, timeout=10_000)

    def click_into(self, path: str) -> None:
        self.box(path).click()
        self.wait_inside(path)

    def choose_pass(self, name: str) -> None:
        self.page.locator(f"#filter [data-pass={name}]").click()
        assert self.pressed_pass() == [name]

    def pressed_pass(self) -> list[str]:
        return self.page.eval_on_selector_all(
            '#filter [data-pass][aria-pressed="true"]', "all => all.map(button => button.dataset.pass)"
        )

    # The filter and the address -------------------------------------------------------------------------------

    def find(self, text: str) -> None:
        """Searches for a text, which filters the table and marks layers."""
        self.page.locator("#find").fill(text)

    def address(self) -> str:
        """The end of the address, by which a link leads to what is shown."""
        return self.page.evaluate("() => decodeURIComponent(location.hash)")

    def says(self) -> str:
        """What the filter says is shown."""
        return self.page.locator("#filter-says").inner_text()

    def joules(self, selector: str) -> float:
        """The joules that an element shows, in full."""
        return float(self.page.locator(selector).first.get_attribute("data-joules"))

    def all_joules(self, selector: str, name: str) -> dict[str, float]:
        """The joules of elements by one of their attributes, which tells them apart."""
        found = self.page.eval_on_selector_all(
            selector, f"all => all.map(one => [one.getAttribute('{name}'), Number(one.dataset.joules)])"
        )
        assert len(dict(found)) == len(found), f"two of {selector} have one {name}"
        return dict(found)

    # The keyboard ---------------------------------------------------------------------------------------------

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def focused(self, selector: str) -> bool:
        return self.page.evaluate("selector => !!document.activeElement?.closest(selector)", selector)

    def tab_to_box(self, path: str, most: int = 300) -> None:
        """Walks with Tab until a box has the focus."""
        has = (
            "path => document.activeElement?.matches('[data-box]:not([data-own=true])') && "
            "document.activeElement.dataset.path === path"
        )
        for _ in range(most):
            if self.page.evaluate(has, path):
                return
            self.press("Tab")
        raise AssertionError(f"Tab does not reach the box of {path}")

    # Table and copies -----------------------------------------------------------------------------------------

    def rows(self) -> list[list[str]]:
        """The texts of the rows that are in the document."""
        return self.page.eval_on_selector_all(
            "#operations table tbody tr:not([aria-hidden=true])",
            "all => all.map(row => [...row.querySelectorAll('td, th')].map(cell => cell.innerText.trim()))"
            ".filter(row => row.length > 1)",
        )

    def paths(self) -> list[str]:
        """The paths of the rows that are in the document, in full."""
        cells = "#operations table tbody tr:not([aria-hidden=true]) th button"
        return self.page.eval_on_selector_all(cells, "all => all.map(cell => cell.dataset.path)")

    def header(self, part: str) -> Locator:
        """The button that sorts by the column whose title holds `part`."""
        buttons = self.page.locator("#operations table thead button")
        return buttons.filter(has_text=part).first

    def copied(self) -> str:
        """Presses the button and returns the text that was copied."""
        self.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page.evaluate("() => navigator.clipboard.writeText('')")
        self.page.locator("#operations-copy").click()
        for _ in range(100):
            if text := self.page.evaluate("() => navigator.clipboard.readText()"):
                return text
            self.page.wait_for_timeout(50)
        raise AssertionError("nothing was copied")

    # Looks ----------------------------------------------------------------------------------------------------

    def sideways(self) -> int:
        """By how many pixels the page is wider than the window."""
        return self.page.evaluate("() => document.scrollingElement.scrollWidth - window.innerWidth")

    def brightness(self) -> tuple[float, float]:
        """How bright the background and the text are, from 0 to 1."""
        return tuple(
            self.page.evaluate(
                """() => {
                    // A canvas knows every way to write a colour.
                    const brush = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
                    const painted = colour => {
                        brush.fillStyle = 'white';
                        brush.fillRect(0, 0, 1, 1);
                        brush.fillStyle = colour;
                        brush.fillRect(0, 0, 1, 1);
                        const [r, g, b] = brush.getImageData(0, 0, 1, 1).data;
                        return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
                    };
                    const body = getComputedStyle(document.body);
                    const root = getComputedStyle(document.documentElement);
                    const clear = /^(transparent|rgba\\(0, 0, 0, 0\\))$/;
                    const back = clear.test(body.backgroundColor) ? root.backgroundColor : body.backgroundColor;
                    return [painted(back), painted(body.color)];
                }"""
            )
        )

    def scroll_to(self, selector: str) -> None:
        """Brings a part of the page into sight and lets it come to rest: tooltips go away while it moves."""
        before = None
        self.page.eval_on_selector(selector, "part => part.scrollIntoView()")
        while before != (now := self.page.evaluate("() => window.scrollY")):
            before = now
            self.page.wait_for_timeout(150)

    def tooltip(self) -> str:
        """The text of the tooltip once it is seen."""
        tip = self.page.locator("#tooltip")
        tip.wait_for(state="visible", timeout=5_000)
        return tip.inner_text()
