"""The jouletree command under test: JOULETREE_BINARY, else what `cargo build` left in the checkout."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def binary() -> pathlib.Path:
    named = os.environ.get("JOULETREE_BINARY")
    return pathlib.Path(named) if named else ROOT / "target" / "debug" / "jouletree"


def jouletree(*arguments: object) -> str:
    """What a command prints; a failure shows its messages."""
    words = [str(binary()), *map(str, arguments)]
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, f"{words}: exit status {ended.returncode}\n{ended.stderr}"
    return ended.stdout


@functools.cache
def jouletree_json(*arguments: object) -> list | dict:
    """What a command prints as JSON."""
    return json.loads(jouletree(*arguments, "--format", "json"))


@functools.cache
def layers_of(run: pathlib.Path, *options: str) -> dict[str, dict]:
    """The nodes of a run's tree by path, as `show` tells them; the root's path is empty."""
    words = ["show", run, "--by", "layer", "--depth", 50, "--format", "json", *options]
    nodes, open_ = {}, [json.loads(jouletree(*words))]
    while open_:
        node = open_.pop()
        nodes[node["path"]] = node
        open_ += node["children"]
    return nodes


@functools.cache
def operations_of(run: pathlib.Path) -> list[dict]:
    """The operations of a run, the largest first."""
    return jouletree_json("show", run, "--by", "op")
