#!/usr/bin/env python3
"""Fails if the table of crates in docs/architecture.md and the workspace differ, or if a crate depends on one that it
must not know. Dependencies of tests do not count. `--self-test` checks the check."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOC = "docs/architecture.md"

# No path of normal dependencies leads from the crates on the left to those on the right.
FORBIDDEN = {
    **{
        f"jouletree-{crate}": {"jouletree-meter", "nvml-wrapper", "perf-event2", "thread-priority"}
        for crate in ("account", "carbon", "host", "model", "predict", "report", "run", "series", "trace")
    },
    "jouletree-live": {"jouletree-carbon"},
    "jouletree-meter": {"jouletree-carbon", "jouletree-run"},
}
# It has no code, only features.
FEATURES = "workspace-hack"
# The only crates of the workspace on which these depend directly.
ALLOWED = {
    "jouletree-model": set(),
    "jouletree-host": {"jouletree-model"},
    "jouletree-series": {"jouletree-model"},
}


def manifests(root):
    """The normal dependencies of every crate below crates/, by its name."""
    read = (tomllib.loads(path.read_text()) for path in sorted(root.glob("crates/*/Cargo.toml")))
    return {
        manifest["package"]["name"]: set(manifest.get("dependencies", {}))
        | {
            name
            for target in manifest.get("target", {}).values()
            for name in target.get("dependencies", {})
        }
        for manifest in read
    }


def listed(text):
    """The crates that the table under the heading `Crates` names."""
    section = re.search(r"^## Crates\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\|([^|]*)\|", section.group(1), re.MULTILINE) if section else []
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def reached(crate, crates):
    """Everything that a crate depends on, directly or not, as far as the workspace's manifests say."""
    seen, waiting = set(), [crate]
    while waiting:
        for name in crates.get(waiting.pop(), ()):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return seen


def problems(text, crates):
    names = listed(text)
    for crate in sorted(crates.keys() - names):
        yield f"{DOC} does not list the crate {crate}; add a row to the table under `## Crates`"
    for crate in sorted(names - crates.keys()):
        yield f"{DOC} lists {crate}, which is no crate of the workspace; remove its row"
    for crate, others in FORBIDDEN.items():
        for other in sorted(others & reached(crate, crates)):
            yield f"{crate} depends on {other}, directly or not; it must not (tools/check_architecture.py)"
    for crate, allowed in ALLOWED.items():
        for other in sorted((crates.get(crate, set()) & crates.keys()) - allowed - {FEATURES}):
            yield f"{crate} depends on {other}; it must not (tools/check_architecture.py)"


def self_test():
    text = "## Crates\n\n| crate | holds |\n|---|---|\n| `jouletree-run`, `jouletree-meter` | x `y` |\n| `gone` | |\n\n## Next\n| `other` |"
    crates = {
        "jouletree-run": {"jouletree-new", "serde"},
        "jouletree-new": {"jouletree-meter"},
        "jouletree-meter": {"nvml-wrapper"},
        "jouletree-series": {"jouletree-model", "jouletree-run"},
        "jouletree-model": set(),
    }
    found = [problem.split(";")[0] for problem in problems(text, crates)]
    wanted = [
        f"{DOC} does not list the crate jouletree-model",
        f"{DOC} does not list the crate jouletree-new",
        f"{DOC} does not list the crate jouletree-series",
        f"{DOC} lists gone, which is no crate of the workspace",
        "jouletree-run depends on jouletree-meter, directly or not",
        "jouletree-run depends on nvml-wrapper, directly or not",
        "jouletree-series depends on jouletree-meter, directly or not",
        "jouletree-series depends on nvml-wrapper, directly or not",
        "jouletree-series depends on jouletree-run",
    ]
    assert found == wanted, found


def main():
    if "--self-test" in sys.argv[1:]:
        self_test()
        return 0
    found = list(problems((ROOT / DOC).read_text(), manifests(ROOT)))
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
