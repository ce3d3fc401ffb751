#!/usr/bin/env python3
"""Fails if a Markdown file of the repository links to a file or a heading of the repository that does not exist, or if a
page of docs/ is missing in docs/README.md. `--self-test` checks the check."""

import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = {"target", "node_modules", ".git"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")


def prose(text: str) -> str:
    """The text without code, whose brackets are no links."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """The headings of a file as GitHub names them."""
    found = set()
    without_blocks = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ +(.*)$", without_blocks, re.MULTILINE):
        plain = re.sub(r"[`*_]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        kept = (c for c in plain if c in " -_" or unicodedata.category(c)[0] in "LN")
        found.add("".join(kept).replace(" ", "-"))
    return found


def broken(path: Path, text: str, root: Path) -> Iterator[str]:
    for groups in LINK.findall(prose(text)):
        target = groups[0] or groups[1]
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name) if name else path
        if not file.exists():
            yield f"{path.relative_to(root)}: {target} does not exist"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield f"{path.relative_to(root)}: {target}: no such heading"


def self_test() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "a.md").write_text("# The `first` one\n```\n[x](no)\n```\n")
        text = "[a](a.md) [b](a.md#the-first-one) [c](https://example.org) [d](a.md#second) [e](no.md) <img src=\"no.png\">"
        found = list(broken(root / "b.md", text, root))
        assert found == [
            "b.md: a.md#second: no such heading",
            "b.md: no.md does not exist",
            "b.md: no.png does not exist",
        ], found


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    files = [path for path in ROOT.rglob("*.md") if not SKIPPED & set(path.relative_to(ROOT).parts)]
    lines = [line for path in sorted(files) for line in broken(path, path.read_text(), ROOT)]
    index = (ROOT / "docs/README.md").read_text()
    lines += [
        f"docs/README.md: no link to {path.name}"
        for path in sorted((ROOT / "docs").glob("*.md"))
        if path.name != "README.md" and f"({path.name}" not in index
    ]
    for line in lines:
        print(line, file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
