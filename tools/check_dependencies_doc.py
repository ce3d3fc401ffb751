#!/usr/bin/env python3
"""Fails if docs/dependencies.md and the workspace's dependencies in Cargo.toml name different packages."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    used = {
        name
        for name, wanted in manifest["workspace"]["dependencies"].items()
        if not (isinstance(wanted, dict) and "path" in wanted)
    }
    explained = set(re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE))
    for name in sorted(used - explained):
        print(f"docs/dependencies.md does not say why {name} is used; add a row for it", file=sys.stderr)
    for name in sorted(explained - used):
        print(
            f"docs/dependencies.md explains {name}, which Cargo.toml does not use; remove its row", file=sys.stderr
        )
    return 1 if used != explained else 0


if __name__ == "__main__":
    sys.exit(main())
