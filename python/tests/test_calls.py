"""Calls of libraries under ``jouletree run --level call``: programs do what they did, and every call is in the run.

JOULETREE_BINARY names the command. The library is a made-up one, so that nothing has to be installed.
"""

from __future__ import annotations

import csv
import io
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

BINARY = os.environ.get("JOULETREE_BINARY")
pytestmark = pytest.mark.skipif(not BINARY, reason="JOULETREE_BINARY does not name the jouletree command")

LIBRARY = """
import time


class Model:
    def fit(self, data, epochs=1):
        for _ in range(epochs):
            step(data)
        return len(data)

    async def serve(self):
        return "served"


def step(data):
    end = time.perf_counter() + 0.005
    while time.perf_counter() < end:
        pass


def broken():
    raise ValueError("broken")


def apply(function, value):
    return function(value)
"""


class Folder:
    """A folder with a program and the library, of which only the program is the user's."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.installed = path / "site-packages"
        self.installed.mkdir()
        (self.installed / "lib.py").write_text(LIBRARY)

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(textwrap.dedent(text))

    def ran(self, *command: str, under: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PYTHONPATH": str(self.installed)}
        words = [*under, sys.executable, *command]
        return subprocess.run(words, cwd=self.path, env=environment, capture_output=True, text=True, timeout=120)

    def recorded(self, *command: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        under = (BINARY, "run", "--level", "call", "--libraries", "lib", "-q", "-o", "RUN", *options, "--")
        return self.ran(*command, under=under)

    def calls(self, by: str = "call") -> list[dict[str, str]]:
        words = [BINARY, "calls", "RUN", "--by", by, "--format", "csv"]
        done = subprocess.run(words, cwd=self.path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        devices = {row["device"] for row in rows}
        return [row for row in rows if row["device"] == min(devices)]

    def alike(self, *command: str) -> subprocess.CompletedProcess:
        """A program that says and does the same with and without being recorded."""
        before, after = self.ran(*command), self.recorded(*command)
        assert (after.stdout, after.returncode) == (before.stdout, before.returncode), after.stderr
        return after


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> Folder:
    return Folder(tmp_path)


def test_every_call_is_recorded_with_what_is_inside_it(folder: Folder) -> None:
    folder.write(
        "train.py",
        '''\
        """A program."""
        from __future__ import annotations
        import lib, sys

        model = lib.Model()
        for size in (10, 1000):
            print(model.fit(b"x" * size, epochs=2))
        print(lib.apply(lambda value: lib.step(value), None))
        print(__name__, __file__, __spec__, __package__, sys.argv, sys.path[0])
        ''',
    )
    folder.alike("train.py", "--flag")
    calls = folder.calls()
    names = [call["function"] for call in calls]
    assert names == ["lib.Model", "lib.Model.fit", "lib.Model.fit", "lib.apply", "lib.step"]
    assert [call["input_bytes"] for call in calls[1:3]] == ["10", "1000"]
    assert [call["number"] for call in calls[1:3]] == ["1", "2"]
    # The last was made inside of the one before.
    assert calls[4]["parent"] == calls[3]["call"] and calls[3]["parent"] == ""
    assert float(calls[3]["duration_s"]) >= float(calls[4]["duration_s"]) > 0.004
    sites = folder.calls(by="site")
    fit = next(site for site in sites if site["function"] == "lib.Model.fit")
    assert (fit["site"], fit["calls"]) == ("train.py:7:10", "2")
    assert fit["source"] == 'print(model.fit(b"x" * size, epochs=2))'
    kept = sorted(file.name for file in (folder.path / "RUN" / "patched").iterdir())
    assert any(name.endswith("train.py") for name in kept), kept


def test_modules_packages_and_children_are_recorded_too(folder: Folder) -> None:
    # A package needs no __init__.py, and what is not there at first may be there later.
    folder.write("package/part.py", "import lib\n\ndef work():\n    return lib.Model().fit([1, 2])\n")
    folder.write("package/__main__.py", "from package.part import work\nprint(work())\n")
    folder.write("elsewhere/late.py", "import lib\nlib.apply(abs, -1)\n")
    folder.write(
        "children.py",
        """\
        import multiprocessing, subprocess, sys
        import lib

        def child(n):
            lib.step(n)
            return n

        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            with context.Pool(1) as pool:
                print(pool.map(child, [1, 2]))
            print(subprocess.run([sys.executable, "-m", "package"], capture_output=True, text=True).stdout)
            try:
                import late
            except ImportError:
                sys.path.append("elsewhere")
                import late
        """,
    )
    folder.alike("children.py")
    names = [call["function"] for call in folder.calls()]
    assert sorted(names) == ["lib.Model", "lib.Model.fit", "lib.apply", "lib.step", "lib.step"]
    files = {call["site"].split(":")[0] for call in folder.calls()}
    assert files == {"children.py", os.path.join("package", "part.py"), os.path.join("elsewhere", "late.py")}


def test_what_one_file_makes_is_known_in_another(folder: Folder) -> None:
    # The script does not name the library; a plugin is named by nobody, and is found when it is loaded.
    folder.write("parts/model.py", "import lib\n\nclass Net(lib.Model):\n    pass\n\ndef make():\n    return Net()\n")
    folder.write("plugin.py", "from parts import model\n\ndef run():\n    return model.make().fit([1])\n")
    folder.write(
        "train.py",
        """\
        import importlib, os
        from parts.model import make

        net = make()
        print(net.fit([1, 2]))
        print(importlib.import_module(os.environ.get("PLUGIN", "plugin")).run())
        """,
    )
    done = folder.alike("train.py")
    assert "not instrumented" not in done.stderr, done.stderr
    model = os.path.join("parts", "model.py")
    assert [(call["function"], call["site"]) for call in folder.calls()] == [
        ("lib.Model", f"{model}:7:11"),
        ("lib.Model.fit", "train.py:5:6"),
        ("lib.Model", f"{model}:7:11"),
        ("lib.Model.fit", "plugin.py:4:11"),
    ]


def test_what_was_patched_beforehand_is_recorded_too(folder: Folder) -> None:
    folder.write("package/__init__.py", "")
    folder.write("package/part.py", "import lib\n\ndef work():\n    return lib.Model().fit([1, 2])\n")
    folder.write("package/main.py", "import part, lib\nprint(part.work(), lib.apply(abs, -1))\n")
    folder.write("alone.py", "import lib\nprint(lib.apply(abs, -2))\n")
    for input in ("package", "alone.py"):
        words = [BINARY, "patch", input, "--libraries", "lib"]
        done = subprocess.run(words, cwd=folder.path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    done = folder.alike("package.patched/main.py")
    assert "not instrumented" not in done.stderr, done.stderr
    sites = {call["function"]: call["site"] for call in folder.calls()}
    assert sites == {
        "lib.Model": "part.py:4:11",
        "lib.Model.fit": "part.py:4:11",
        "lib.apply": "main.py:2:19",
    }
    folder.path.joinpath("RUN").rename(folder.path / "RUN1")
    folder.alike("alone.patched.py")
    (site,) = folder.calls(by="site")
    assert (site["site"], site["source"]) == ("alone.py:2:6", "print(lib.apply(abs, -2))")
    # The run keeps what ran; the file itself is not needed any more.
    folder.path.joinpath("alone.patched.py").unlink()
    assert folder.calls(by="site")[0]["source"] == "print(lib.apply(abs, -2))"
    # Without its table nobody knows what the numbers of calls mean.
    folder.path.joinpath("RUN").rename(folder.path / "RUN2")
    folder.path.joinpath("package.patched", "jouletree-sites.json").unlink()
    done = folder.alike("package.patched/main.py")
    assert "main.py was patched, but its table of sites is not beside it" in done.stderr, done.stderr


def test_warnings_are_those_of_the_line_that_calls(folder: Folder) -> None:
    with open(folder.installed / "lib.py", "a") as library:
        library.write("\ndef old():\n    import warnings\n    warnings.warn('old', DeprecationWarning, stacklevel=2)\n")
    folder.write("train.py", "import lib\nlib.old()\nlib.old()\n")
    done, before = folder.alike("train.py"), folder.ran("train.py")
    shown = [line for line in done.stderr.splitlines() if "Warning" in line]
    assert shown == [line for line in before.stderr.splitlines() if "Warning" in line]
    assert len(shown) == 2 and "train.py:3: DeprecationWarning: old" in shown[1]


def test_levels_are_recorded_together(folder: Folder) -> None:
    folder.write("train.py", "import lib\nlib.step(1)\n")
    for levels in (("--level", "op"), ("--level", "op,call")):
        under = (BINARY, "run", "--level", "call", *levels, "--libraries", "lib", "-q", "-o", "RUN", "--")
        done = folder.ran("train.py", under=under)
        assert done.returncode == 0, done.stderr
        assert [call["function"] for call in folder.calls()] == ["lib.step"]
        folder.path.joinpath("RUN").rename(folder.path / f"RUN-{len(levels[1])}")
    done = folder.ran("train.py", under=(BINARY, "run", "--stable", "-o", "RUN", "--"))
    assert done.returncode == 1 and "add --level call" in done.stderr, done.stderr


def test_errors_coroutines_and_threads(folder: Folder) -> None:
    folder.write(
        "odd.py",
        """\
        import asyncio, threading
        import lib

        async def main():
            return await lib.Model().serve()

        print(asyncio.run(main()))
        threads = [threading.Thread(target=lambda: lib.step(0)) for _ in range(3)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        values = (lib.apply(abs, n) for n in (-1, -2))
        print(next(values), list(values))
        try:
            lib.broken()
        except ValueError as error:
            print(repr(error))
        lib.broken()
        """,
    )
    done = folder.alike("odd.py")
    assert done.returncode == 1
    # The error is shown as Python shows it: from the script on.
    assert done.stderr.startswith('Traceback (most recent call last):\n  File "'), done.stderr
    assert done.stderr.splitlines()[1].endswith('odd.py", line 17, in <module>'), done.stderr
    calls = folder.calls()
    names = sorted(call["function"] for call in calls)
    assert names == ["lib.Model", "lib.Model.serve", *["lib.apply"] * 2, *["lib.broken"] * 2, *["lib.step"] * 3]
    assert len({call["thread"] for call in calls if call["function"] == "lib.step"}) >= 1


def test_what_cannot_be_patched_runs_as_it_is(folder: Folder) -> None:
    folder.write("wrong.py", "import lib\nprint('before')\ndef (:\n")
    done = folder.alike("wrong.py")
    assert done.returncode == 1 and "SyntaxError" in done.stderr
    folder.path.joinpath("RUN").rename(folder.path / "RUN1")
    folder.write("plain.py", "print('nothing is called here')\n")
    folder.alike("plain.py")
    folder.path.joinpath("RUN").rename(folder.path / "RUN2")
    done = subprocess.run([BINARY, "calls", "RUN2"], cwd=folder.path, capture_output=True, text=True)
    assert done.returncode == 1 and "no calls were recorded" in done.stderr


def test_calls_wait_for_rest_but_not_for_ever(folder: Folder) -> None:
    folder.write(
        "busy.py",
        """\
        import subprocess, sys
        import lib

        # Somebody else is at work: the power is never steady enough.
        other = subprocess.Popen([sys.executable, "-c", "import time\\nwhile True: sum(range(10**5)); time.sleep(0.2)"])
        lib.apply(lambda value: lib.step(value), None)
        lib.step(1)
        other.kill()
        """,
    )
    options = ("--stable", "--stable-timeout", "1", "--stable-variation", "0")
    done = folder.recorded("busy.py", options=options)
    assert done.returncode == 0, done.stderr
    outer, inner, last = folder.calls()
    assert [call["function"] for call in (outer, inner, last)] == ["lib.apply", "lib.step", "lib.step"]
    for call in (outer, last):
        assert float(call["waited_s"]) >= 1 and call["stability"] not in ("", "stable"), call
        # What was waited is not in the call.
        assert float(call["duration_s"]) < 0.5
    # What is inside of a call does not wait.
    assert (inner["waited_s"], inner["stability"]) == ("0.0", "")
