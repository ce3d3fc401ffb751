"""What the tests share: the browser, the runs, and reports of them that are made once and opened often."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

# What they assert tells why it fails, as in a test.
pytest.register_assert_rewrite("report_page", "tool")

import runs  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402
from report_page import TREE, ReportPage  # noqa: E402
from tool import ROOT, jouletree  # noqa: E402

UNAVAILABLE = 69


@pytest.fixture(scope="session")
def chromium(request: pytest.FixtureRequest) -> str:
    """The command of a browser; without one, tests are skipped for the reason that is told."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    # To get one takes minutes, and whoever waits is to see why.
    with capture.global_and_fixture_disabled():
        words = [sys.executable, ROOT / "tools" / "browser.py"]
        ended = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    told = ended.stdout.strip()
    if ended.returncode == UNAVAILABLE:
        pytest.skip(told)
    assert ended.returncode == 0, told
    return told


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core; without it, tests are skipped for the reason that is printed."""
    words = [sys.executable, ROOT / "tools" / "axe.py"]
    ended = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    told = ended.stdout.strip()
    if ended.returncode == UNAVAILABLE:
        pytest.skip(told)
    assert ended.returncode == 0, told
    return pathlib.Path(told).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--headless=new", "--no-sandbox"])
        yield browser
        browser.close()


Opener = Callable[..., ReportPage]


@pytest.fixture
def look_at(browser: Browser) -> Iterator[Opener]:
    """Makes a page for a file, not opened yet, in a browser that knows nothing of earlier ones. Whatever a test does
    to it, in the end it must have been at peace."""
    pages: list[ReportPage] = []

    def look_at(file: pathlib.Path, width: int = 1280, height: int = 900, **options: object) -> ReportPage:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        pages.append(ReportPage(context.new_page(), file))
        return pages[-1]

    yield look_at
    for page in pages:
        page.page.context.close()
    for page in pages:
        page.expect_peace()


class Reports:
    """Makes runs and reports of them, each once in a session."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.made: dict[str, pathlib.Path] = {}

    def run(self, name: str, make: Callable[[pathlib.Path], pathlib.Path]) -> pathlib.Path:
        """The run of this name, made in a folder of its own when it is first asked for."""
        if name not in self.made:
            folder = self.folder / name
            folder.mkdir()
            self.made[name] = make(folder)
        return self.made[name]

    def of(self, *of: pathlib.Path) -> pathlib.Path:
        """The report of runs."""
        name = " ".join(map(str, of))
        if name not in self.made:
            file = self.folder / f"report-{len(self.made)}.html"
            jouletree("report", *of, "-o", file)
            self.made[name] = file
        return self.made[name]

    def bert(self, seed: int = 0) -> pathlib.Path:
        """Two steps of BERT-base; another seed is another run of the same program."""
        return self.run(f"bert-{seed}", lambda folder: runs.bert_base(folder, steps=2, seed=seed))

    def big(self) -> pathlib.Path:
        """Sixteen steps of BERT-base."""
        return self.run("big", lambda folder: runs.bert_base(folder, steps=16))

    def staged(self) -> pathlib.Path:
        """A program with two stages, and steps of which not all were recorded."""
        return self.run("staged", runs.staged)


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return Reports(tmp_path_factory.mktemp("reports"))


@pytest.fixture
def bert(reports: Reports, look_at: Opener) -> ReportPage:
    """The open report of two steps of BERT-base."""
    return look_at(reports.of(reports.bert())).open()


@pytest.fixture
def staged(reports: Reports, look_at: Opener) -> ReportPage:
    """The open report of a program with stages and steps."""
    return look_at(reports.of(reports.staged())).open(TREE)
