#!/usr/bin/env python3
"""Fails if a dependency has other features in one build than in another, because Cargo then compiles it twice.

`make demo` and `make package` build the package `jouletree`, `make bench` builds `jouletree-bench`. Each is compared with
the whole workspace. What differs belongs into crates/workspace-hack/Cargo.toml.
"""

import os
import subprocess
import sys
from collections.abc import Iterable

PACKAGES = ["jouletree", "jouletree-bench"]


def tree(*selection: str) -> set[tuple[str, str, str]]:
    command = [os.environ.get("CARGO", "cargo"), "tree", "--locked", "--edges", "normal,build", "--prefix", "none"]
    command += ["--format", "{p}|{f}", *selection]
    return parsed(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


def parsed(lines: Iterable[str]) -> set[tuple[str, str, str]]:
    """Name, version and features of each dependency; packages of the workspace have a path instead of a registry."""
    found = set()
    for line in filter(None, lines):
        package, _, features = line.removesuffix(" (*)").partition("|")
        name, version, *source = package.split(" ")
        if not any(part.startswith("(/") for part in source):
            found.add((name, version, features))
    return found


def differences(whole: set[tuple[str, str, str]], part: set[tuple[str, str, str]]) -> list[str]:
    return [
        f"{name} {version}: `{features}`, in the workspace "
        + " and ".join(f"`{other}`" for n, v, other in sorted(whole) if (n, v) == (name, version))
        for name, version, features in sorted(part - whole)
    ]


def self_test() -> None:
    whole = parsed(["a v1.0.0|default,std", "", "b v2.0.0|", "ours v0.1.0 (/checkout/ours)|x", "a v1.0.0|default,std (*)"])
    assert whole == {("a", "v1.0.0", "default,std"), ("b", "v2.0.0", "")}, whole
    assert differences(whole, whole) == []
    part = parsed(["a v1.0.0|std", "b v2.0.0|", "ours v0.1.0 (/checkout/ours)|"])
    assert differences(whole, part) == ["a v1.0.0: `std`, in the workspace `default,std`"]


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    whole = tree("--workspace")
    status = 0
    for package in PACKAGES:
        for line in differences(whole, tree("--package", package)):
            print(f"{package}: {line}", file=sys.stderr)
            status = 1
    if status:
        print("Name the features in crates/workspace-hack/Cargo.toml, so that every build shares them.", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
