"""What the tests of stand-ins share: a machine of their own, with or without meters, and programs that run on it."""

from __future__ import annotations

import contextlib
import csv
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
TRACKERS = pathlib.Path(__file__).resolve().parent / "trackers"
BINARY = shutil.which(os.environ.get("JOULETREE_BINARY") or "jouletree")
needs_binary = pytest.mark.skipif(BINARY is None, reason="no jouletree command; name it in JOULETREE_BINARY")

PRELUDE = """
import json, os, sys, threading, time, warnings

def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

def tell(**values):
    print(json.dumps(values))
"""


class Ended:
    """How a program ended."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.out = done.stdout
        self.err = done.stderr
        self.code = done.returncode


class World:
    """A machine without meters, a home folder without configuration, and programs that run there."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder / "here"
        self.folder.mkdir()
        self.system = folder / "sys"
        self.system.mkdir()
        left = ("JOULETREE_", "CODECARBON_", "CUDA_", "ROCR_")
        kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(left)}
        self.environment = {
            **kept,
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "PYTHONPATH": str(PACKAGE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JOULETREE_BINARY": str(BINARY),
            "JOULETREE_SYS_ROOT": str(self.system),
        }

    def start(self, program: str, *options: str, **environment: str) -> subprocess.Popen[str]:
        """Starts a program, given as its text."""
        script = self.folder / f"program-{time.monotonic_ns()}.py"
        script.write_text(PRELUDE + textwrap.dedent(program), encoding="utf-8")
        return subprocess.Popen(
            [sys.executable, *options, str(script)],
            env={**self.environment, **environment},
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, program: str, *options: str, stdin: str = "", code: int = 0, **environment: str) -> Ended:
        """Runs a program to its end."""
        started = self.start(program, *options, **environment)
        out, err = started.communicate(stdin, timeout=120)
        assert started.returncode == code, err
        return Ended(subprocess.CompletedProcess([], started.returncode, out, err))

    def rows(self, name: str) -> list[dict[str, str]]:
        """The rows of a table that a program left."""
        with open(self.folder / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def files(self) -> list[str]:
        """What programs left, apart from themselves and notes of the command's own."""
        names = (path.name for path in self.folder.iterdir())
        return sorted(name for name in names if not name.startswith("program-"))

    @contextlib.contextmanager
    def powered(self, script: str) -> Iterator[None]:
        """The same machine with counters that a script of power moves; a test double that `make test` builds.

        Where others use the machine, too, the double is late now and then: some hundredths of a second of power may be
        missing at either end of a window. It goes first where that may be asked for.
        """
        player = pathlib.Path(str(BINARY)).resolve().with_name("fake-powercap")
        if not player.is_file():
            pytest.skip("no fake-powercap beside the command; `make tested-binary` builds it")
        path = self.folder.parent / "power"
        path.write_text(script, encoding="utf-8")
        shutil.rmtree(self.system)
        words = [player, "--root", self.system, "--layout", "one-socket", "--script", path]
        playing = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, playing.pid, -15)
        try:
            until = time.monotonic() + 10
            while not any(self.system.glob("class/powercap/*/energy_uj")) and time.monotonic() < until:
                time.sleep(0.02)
            yield
        finally:
            playing.kill()
            playing.wait()
