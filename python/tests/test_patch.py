"""Programs before and after patching: the same output, and nearly every call that a reader counts."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import timeit
from collections import Counter

import pytest
from conftest import PACKAGES, PYTHON

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
BINARY = os.environ.get("JOULETREE_BINARY")
NEEDED = re.compile(r"^\s*(?:import|from) (tensorflow|keras|torch|jax|onnxruntime)\b", re.MULTILINE)
NAMES = sorted(path.name for path in PROGRAMS.glob("*.py"))

pytestmark = pytest.mark.skipif(not BINARY, reason="JOULETREE_BINARY names no command")


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def can_run(name: str) -> bool:
    """Whether this environment has what a program needs. Estimators ended with TensorFlow 2.15, Keras 3 began after."""
    text = (PROGRAMS / name).read_text()
    if any(importlib.util.find_spec(module) is None for module in set(NEEDED.findall(text))):
        return False
    if importlib.util.find_spec("tensorflow"):
        is_old = importlib.util.find_spec("tensorflow_estimator") is not None
        if name.startswith("estimator_") != is_old and ("keras" in name or name.startswith("estimator_")):
            return False
    return True


@functools.cache
def patched_folder() -> pathlib.Path:
    import tempfile

    folder = pathlib.Path(tempfile.mkdtemp(prefix="jouletree-programs-")) / "programs.patched"
    ended = command("patch", PROGRAMS, "-o", folder)
    assert ended.returncode == 0, ended.stderr
    return folder


@functools.cache
def outputs(folder: pathlib.Path) -> dict[str, str]:
    """What the programs of a folder print. One process for each framework runs all of its programs."""
    groups: dict[str, list[str]] = {}
    for name in filter(can_run, NAMES):
        text = (PROGRAMS / name).read_text()
        group = name if "\n# alone\n" in text else " ".join(sorted(set(NEEDED.findall(text))))
        groups.setdefault(group, []).append(name)
    answers: dict[str, str] = {}
    for names in groups.values():
        environment = {k: v for k, v in os.environ.items() if not k.startswith("JOULETREE_")}
        environment["PYTHONPATH"] = str(PACKAGES)
        driver = HERE / "programs_driver.py"
        if "\n# alone\n" in (PROGRAMS / names[0]).read_text():
            words = [PYTHON, str(folder / names[0])]
        else:
            words = [PYTHON, str(driver), str(folder), *names]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=900, env=environment, cwd=folder.parent)
        assert ended.returncode == 0, ended.stderr[-3000:]
        answers.update(json.loads(ended.stdout) if words[1] == str(driver) else {names[0]: ended.stdout})
    return answers


@pytest.mark.parametrize("name", NAMES)
def test_a_patched_program_prints_the_same(name: str) -> None:
    if not can_run(name):
        pytest.skip("needs another environment")
    original = outputs(PROGRAMS)[name]
    assert original and "failed:" not in original, original
    assert outputs(patched_folder())[name] == original


def sites_of(name: str) -> list[dict]:
    return json.loads(command("patch", PROGRAMS / name, "--list", "--format", "json").stdout)


def counted(name: str) -> dict[str, Counter[int]]:
    """The calls that a reader counts, by kind and line."""
    kinds: dict[str, Counter[int]] = {}
    for row in (PROGRAMS / name).with_suffix(".sites").read_text().splitlines():
        line, count, kind = row.split()
        kinds.setdefault(kind, Counter())[int(line)] += int(count)
    return kinds


def test_nearly_every_call_is_found() -> None:
    wanted = instrumented = all_counted = listed = extra = 0
    missing = []
    for name in NAMES:
        kinds, sites = counted(name), sites_of(name)
        hooks = Counter(site["line"] for site in sites if site["instrumented"])
        lines = Counter(site["line"] for site in sites)
        calls = kinds.get("call", Counter())
        every = sum(kinds.values(), Counter())
        wanted += calls.total() if hasattr(calls, "total") else sum(calls.values())
        instrumented += sum((calls & hooks).values())
        all_counted += sum(every.values())
        listed += sum((every & lines).values())
        missing += [f"{name}:{line} ({count})" for line, count in sorted((every - lines).items())]
        over = lines - every
        extra += sum(over.values())
        missing += [f"{name}:{line} (+{count})" for line, count in sorted(over.items())]
        wrong = hooks - calls
        missing += [f"{name}:{line} (hooked {count} too many)" for line, count in sorted(wrong.items())]
        assert all(site["reason"] for site in sites if not site["instrumented"])
    share, share_listed = instrumented / wanted, listed / all_counted
    print(
        f"\n{len(NAMES)} programs: {instrumented} of {wanted} calls instrumented ({100 * share:.1f} %), "
        f"{listed} of {all_counted} listed ({100 * share_listed:.1f} %), {extra} listed that no reader counts"
    )
    print("\n".join(missing))
    assert share >= 0.95 and share_listed >= 0.95


def test_the_way_back_gives_the_original(tmp_path: pathlib.Path) -> None:
    ended = command("patch", patched_folder(), "--undo", "-o", tmp_path / "back")
    assert ended.returncode == 0, ended.stderr
    for path in PROGRAMS.iterdir():
        if path.is_file():
            assert (tmp_path / "back" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_patched_program_runs_without_the_package(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import json\nprint(json.dumps([1]), json.JSONEncoder().encode({}))\n")
    assert command("patch", program, "--libraries", "json", "-o", tmp_path / "patched.py").returncode == 0
    words = [sys.executable, "-S", "-E", "-I", str(tmp_path / "patched.py")]
    ended = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert (ended.stdout, ended.stderr) == ("[1] {}\n", "")
    assert "__jouletree_call__(0, json.dumps)" in (tmp_path / "patched.py").read_text()


def test_a_traceback_names_the_original_line(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text('"""Doc."""\nimport json\n\n\ndef load():\n    return json.loads("{")\n\n\nload()\n')
    command("patch", program, "--libraries", "json", "-o", tmp_path / "patched.py")
    ended = subprocess.run([sys.executable, str(tmp_path / "patched.py")], capture_output=True, text=True)
    assert 'patched.py", line 6, in load' in ended.stderr and 'patched.py", line 9, in <module>' in ended.stderr


def test_whoever_records_is_told_of_every_call() -> None:
    sys.path.insert(0, str(PACKAGES))
    from jouletree import calls

    told = []
    calls.files.clear()

    class Recorder:
        def call(self, file, digest, site, callee):
            told.append((file, digest, site))
            return lambda *args, **named: ("seen", callee(*args, **named))

        def loaded(self, file, digest, path):
            told.append((file, digest))

        def program(self, file):
            told.append(file)

    hook = calls.patched("a.py", "00ff")
    assert hook(1, len) is len and calls.files["a.py", "00ff"] == __file__
    calls.program("whole.py")
    assert calls.install(Recorder()) is None
    try:
        assert hook(2, len)("abc") == ("seen", 3)
    finally:
        calls.install(None)
    assert told == [("a.py", "00ff"), "whole.py", ("a.py", "00ff", 2)] and hook(3, len) is len


def test_an_idle_hook_takes_less_than_two_microseconds() -> None:
    sys.path.insert(0, str(PACKAGES))
    from jouletree import calls

    hook = calls.patched("a.py", "")
    times = timeit.repeat("hook(7, f)", globals={"hook": hook, "f": len}, number=20_000, repeat=9)
    cost = min(times) / 20_000
    print(f"\nan idle hook takes {cost * 1e9:.0f} ns")
    assert cost < 2e-6


def test_what_is_patched_at_the_level_of_projects_begins_once(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    text = '''
        """Doc."""
        from __future__ import annotations
        import jouletree.calls
        print(jouletree.calls._programs, __doc__)
    '''
    program.write_text(textwrap.dedent(text).lstrip())
    assert command("patch", program, "--level", "project").returncode == 0
    words = [sys.executable, str(tmp_path / "program.patched.py")]
    ended = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PACKAGES)})
    assert ended.stdout == "['program.py'] Doc.\n", ended.stderr
