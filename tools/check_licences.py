#!/usr/bin/env python3
"""Fails if the workspace depends on a package whose licence is not on the list below.

check_licences.py               checks what `cargo metadata` resolves, for every platform
check_licences.py --self-test   checks the reading of licence expressions
"""

import argparse
import collections
import json
import re
import subprocess
import sys

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
}


class BadExpression(ValueError):
    """A licence expression that does not follow SPDX."""


def allows(expression, allowed=ALLOWED):
    """Whether the SPDX `expression` can be met with `allowed` licences alone."""
    # Before SPDX expressions, packages wrote MIT/Apache-2.0 and meant OR.
    tokens = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))
    met, rest = either(tokens, allowed)
    if rest:
        raise BadExpression(f"`{expression}`: nothing should follow before `{rest[0]}`")
    return met


def either(tokens, allowed):
    met, tokens = both(tokens, allowed)
    while tokens[:1] == ["OR"]:
        other, tokens = both(tokens[1:], allowed)
        met = met or other
    return met, tokens


def both(tokens, allowed):
    met, tokens = single(tokens, allowed)
    while tokens[:1] == ["AND"]:
        other, tokens = single(tokens[1:], allowed)
        met = met and other
    return met, tokens


def single(tokens, allowed):
    if not tokens or tokens[0] in (")", "AND", "OR", "WITH"):
        raise BadExpression(f"a licence is missing before `{' '.join(tokens) or 'the end'}`")
    first, *tokens = tokens
    if first == "(":
        met, tokens = either(tokens, allowed)
        if tokens[:1] != [")"]:
            raise BadExpression("a parenthesis is not closed")
        return met, tokens[1:]
    if tokens[:1] == ["WITH"]:
        if len(tokens) < 2:
            raise BadExpression(f"an exception is missing after `{first} WITH`")
        return f"{first} WITH {tokens[1]}" in allowed, tokens[2:]
    # `X+` is X or any later version, so X itself will do.
    return first.removesuffix("+") in allowed, tokens


def objection(package):
    """What is wrong with a package's licence; `None` if nothing is."""
    expression = package["license"]
    if not expression:
        where = f" (it only names the file {package['license_file']})" if package["license_file"] else ""
        return f"states no licence{where}"
    try:
        return None if allows(expression) else f"is under {expression}"
    except BadExpression as error:
        return f"has a licence expression that cannot be read: {error}"


def dependency_paths(metadata):
    """For every package the shortest way to it from a member of the workspace, as package ids."""
    uses = {node["id"]: node["dependencies"] for node in metadata["resolve"]["nodes"]}
    paths = {member: [member] for member in metadata["workspace_members"]}
    queue = collections.deque(paths)
    while queue:
        user = queue.popleft()
        for used in uses[user]:
            if used not in paths:
                paths[used] = [*paths[user], used]
                queue.append(used)
    return paths


def check():
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    paths = dependency_paths(metadata)
    offenders = 0
    for identity, path in sorted(paths.items(), key=lambda item: packages[item[0]]["name"]):
        package = packages[identity]
        if complaint := objection(package):
            offenders += 1
            way = " > ".join(packages[step]["name"] for step in path)
            print(f"{package['name']} {package['version']} {complaint}\n    by way of {way}", file=sys.stderr)
    if offenders:
        print(
            f"{offenders} of {len(paths)} packages may not be used; see ALLOWED in tools/check_licences.py",
            file=sys.stderr,
        )
        return 1
    print(f"licences of {len(paths)} packages are allowed")
    return 0


def self_test():
    allowed = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"}
    for expression, expected in [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT/Apache-2.0", True),
        ("GPL-2.0/MIT", True),
        ("Apache-2.0+", True),
        ("(MIT OR GPL-2.0-only) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND GPL-2.0-only", False),
        ("GPL-2.0-only AND MIT OR Apache-2.0", True),  # AND binds tighter than OR
        ("Apache-2.0 OR MIT AND GPL-2.0-only", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("MIT WITH LLVM-exception", False),
        ("((MIT))", True),
    ]:
        assert allows(expression, allowed) is expected, expression
    for wrong in ["", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT Apache-2.0", "Apache-2.0 WITH"]:
        try:
            allows(wrong, allowed)
        except BadExpression:
            continue
        raise AssertionError(f"{wrong!r} was accepted")
    assert objection({"license": None, "license_file": None}) == "states no licence"
    assert "COPYING" in objection({"license": None, "license_file": "COPYING"})
    assert objection({"license": "MIT", "license_file": None}) is None
    metadata = {
        "workspace_members": ["a"],
        "resolve": {
            "nodes": [
                {"id": "a", "dependencies": ["b", "c"]},
                {"id": "b", "dependencies": ["c"]},
                {"id": "c", "dependencies": ["d"]},
                {"id": "d", "dependencies": []},
            ]
        },
    }
    assert dependency_paths(metadata)["d"] == ["a", "c", "d"]
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="check the checker")
    return self_test() if parser.parse_args().self_test else check()


if __name__ == "__main__":
    sys.exit(main())
