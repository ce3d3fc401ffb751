"""The what-if page as somebody sees it who has a browser, and the server behind it.

Whatever the tests know about the page's structure stands here and nowhere else.
"""

from __future__ import annotations

import json
import signal
import subprocess
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

from playwright.sync_api import Page
from tool import binary


class Server:
    """`jouletree serve`, until it is stopped."""

    def __init__(self, *arguments: str) -> None:
        words = [str(binary()), "serve", "--port", "0", *arguments]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split("/ ")[0]
        assert self.address.startswith("http://127.0.0.1:"), self.address

    def estimate(self, query: str) -> dict:
        with urlopen(f"{self.address}/estimate?{query}", timeout=30) as answer:
            return json.load(answer)

    def stop(self) -> int:
        """Ends it as Ctrl-C does; its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=30)


@dataclass
class Bar:
    """A bar of the chart."""

    region: str
    grams: float
    width: float


class WhatIfPage:
    """The open page. What goes wrong in it gathers in `troubles`, what it asks for in `requests`."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.server = server
        self.troubles: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("request", lambda request: self.requests.append(request.url))

    def _console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.troubles.append(f"console: {message.text}")

    def open(self, query: str = "", ready: bool = True) -> WhatIfPage:
        self.page.goto(f"{self.server.address}/{query}")
        if ready:
            self.page.wait_for_function("document.body.dataset.ready === 'true'")
        return self

    def fill(self, **fields: str) -> WhatIfPage:
        """Types into fields and waits for the answer to all of them."""
        for name, value in fields.items():
            field = self.page.locator(f"#{name}")
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)
        self.page.wait_for_function(
            "() => document.body.dataset.settled === "
            "(location.search.slice(1) || null) && [...document.querySelector('form').elements].every("
            "field => !field.name || field.type === 'checkbox' || !field.value.trim() && field.name !== 'hours'"
            " || new URLSearchParams(location.search).get(field.name) === field.value)"
        )
        return self

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def error(self, name: str) -> str:
        """What the page says beside a field."""
        return self.page.locator(f"#{name}-error").text_content()

    def bars(self) -> list[Bar]:
        read = """items => items.map(item => [item.dataset.region, Number(item.dataset.grams),
            item.querySelector('rect').getBoundingClientRect().width])"""
        return [Bar(*bar) for bar in self.page.locator("#regions li").evaluate_all(read)]

    def query(self) -> dict[str, str]:
        """What the address says."""
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.page.url).query).items()}

    def sideways(self) -> int:
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def brightness(self) -> float:
        """How bright the page is, from 0 to 1."""
        colour = self.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(float(part) for part in colour[4:-1].split(",")[:3]) / 3 / 255

    def expect_peace(self) -> None:
        assert self.troubles == []
        foreign = [url for url in self.requests if not url.startswith((self.server.address, "data:"))]
        assert foreign == []
