"""That everybody can use a report: the rules of axe-core, contrast among them, by day and by night."""

from __future__ import annotations

import pytest
from conftest import Opener, Reports
from report_page import FLOW, TREE, ReportPage

RUN = """async () => {
    const found = await axe.run(document, {resultTypes: ['violations', 'incomplete']});
    const told = rule => rule.nodes.map(node => `${rule.id}: ${node.target} ${node.failureSummary}`);
    return found.violations.flatMap(told);
}"""


def violations(page: ReportPage, axe: str) -> list[str]:
    # By the debugger: the page's own policy forbids every script but its own.
    page.page.evaluate(axe)
    return page.page.evaluate(RUN)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_is_broken(reports: Reports, look_at: Opener, axe: str, scheme: str) -> None:
    page = look_at(reports.of(reports.staged()), color_scheme=scheme).open(TREE)
    page.page.evaluate("() => document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    assert violations(page, axe) == []
    page.find("layer_1")
    page.page.locator("#whole .keys [data-segment=forward]").click()
    assert violations(page, axe) == []
    page = look_at(reports.of(reports.bert()), color_scheme=scheme).open(FLOW)
    page.click_into("bert")
    assert violations(page, axe) == []


def test_a_phone_breaks_no_rule_either(reports: Reports, look_at: Opener, axe: str) -> None:
    page = look_at(reports.of(reports.staged()), width=390, height=844).open(TREE)
    assert violations(page, axe) == []
