"""The package as a whole: what it says of itself.

Needs pytest and any Python; no framework.
"""

from __future__ import annotations

import pathlib
import tomllib

import jouletree

CARGO = pathlib.Path(__file__).resolve().parents[2] / "Cargo.toml"


def test_the_package_has_the_version_of_the_command():
    assert jouletree.__version__ == tomllib.loads(CARGO.read_text())["workspace"]["package"]["version"]
