"""What happens at the start of Python under ``jouletree run``: programs run as before, whatever they are.

Needs pytest and any Python; no framework.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

from conftest import AUTO, PACKAGES, PYTHON, environment_of, run_alone, run_recorded

#: Notes a step, so that a process leaves something.
STEP = """
import time
from jouletree import _session
def note(*numbers):
    session = _session.current()
    for _ in numbers or (1,):
        session.ran_step(session.next_step(), time.time_ns(), time.time_ns(), "train", False, 4)
"""


def test_a_program_without_frameworks_leaves_nothing(tmp_path):
    outcome = run_recorded(PYTHON, "print('hello')\n", tmp_path)
    assert (outcome.code, outcome.out, outcome.err) == (0, "hello\n", "")
    assert outcome.processes == []


def test_steps_are_noted(tmp_path):
    outcome = run_recorded(PYTHON, STEP + "note(1, 2, 3)\n", tmp_path)
    assert outcome.code == 0, outcome.err
    assert [step["step"] for step in outcome.only.steps] == [1, 2, 3]
    assert outcome.only.steps[0]["samples"] == "4"
    assert outcome.only.about["python"] == sys.version.split()[0]


@pytest.mark.parametrize("end", ["raise KeyError('lost')", "raise SystemExit(7)", "import sys; sys.exit('so long')"])
def test_a_crash_is_as_before(tmp_path, end):
    outcome = run_recorded(PYTHON, STEP + f"note()\ndef inner():\n    {end}\ninner()\n", tmp_path)
    # Without a session there is nobody to tell; all else is the same program.
    (tmp_path / "alone.py").write_text((tmp_path / "program.py").read_text().replace("note()", "pass     ", 1))
    (tmp_path / "alone.py").rename(tmp_path / "program.py")
    alone = run_alone(PYTHON, tmp_path / "program.py", PYTHONPATH=str(PACKAGES))
    assert (outcome.code, outcome.out) == (alone.code, alone.out)
    assert outcome.err == alone.err
    assert len(outcome.only.steps) == 1


def test_a_killed_program_keeps_what_was_written(tmp_path):
    script = STEP + """
import os, signal
note()
_session.current().write()
note()
os.kill(os.getpid(), signal.SIGKILL)
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert outcome.code == -9
    assert [step["step"] for step in outcome.only.steps] == [1]


def test_rows_are_written_within_a_second_or_so(tmp_path):
    script = STEP + """
import os, signal
note()
time.sleep(1.1)
note()
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert len(run_recorded(PYTHON, script, tmp_path).only.steps) == 2


def test_a_terminated_program_ends_by_the_signal(tmp_path):
    script = STEP + "import os, signal\nnote()\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(9)\n"
    assert run_recorded(PYTHON, script, tmp_path).code == -15


def test_an_interrupted_program_writes_its_end(tmp_path):
    # Whoever starts the tests in the background has them ignore the signal.
    heeded = "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script = STEP + heeded + "note()\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n"
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert "KeyboardInterrupt" in outcome.err
    assert len(outcome.only.steps) == 1


def test_a_hard_exit_writes_its_end(tmp_path):
    outcome = run_recorded(PYTHON, STEP + "import os\nnote()\nos._exit(status=3)\n", tmp_path)
    assert (outcome.code, outcome.err) == (3, "")
    assert len(outcome.only.steps) == 1


def test_a_program_that_becomes_another_writes_first(tmp_path):
    script = STEP + """
import os, sys
note()
try:
    os.execv("/nowhere/at/all", ["nothing"])
except OSError:
    note()
os.execlp(sys.executable, sys.executable, "-c", "print('the other')")
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert (outcome.code, outcome.out) == (0, "the other\n")
    assert len(outcome.only.steps) == 2


def test_a_fork_has_a_folder_of_its_own(tmp_path):
    script = STEP + """
import os
note(1, 2)
child = os.fork()
note()
if child:
    os.waitpid(child, 0)
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert outcome.code == 0, outcome.err
    numbers = {process.about["pid"] for process in outcome.processes}
    counts = {process.about["parent"] in numbers: process for process in outcome.processes}
    assert [step["step"] for step in counts[False].steps] == [1, 2, 3]
    # The child's steps begin anew, and the parent's are not written twice.
    assert [step["step"] for step in counts[True].steps] == [1]


def test_a_process_is_described_whatever_its_arguments(tmp_path):
    arguments = ("plain", 'quoted "so"', "back\\slash", "new\nline", "Größe 🙂", "\x01", os.fsdecode(b"\xff\xfe"))
    script = STEP + "note()\n_session.current().uses('some', '1.0')\n"
    outcome = run_recorded(PYTHON, script, tmp_path, arguments=arguments, env={"RANK": "3"})
    assert outcome.code == 0, outcome.err
    about = outcome.only.about
    assert tuple(about["command"][-len(arguments) :]) == (*arguments[:-1], "\ufffd\ufffd")
    assert (about["rank"], about["frameworks"]) == ("3", {"some": "1.0"})


def test_forks_from_threads_that_write(tmp_path):
    script = STEP + """
import os, threading
def work():
    for _ in range(3000):
        note()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
children = []
for _ in range(5):
    child = os.fork()
    if not child:
        note()
        os._exit(0)
    children.append(child)
for thread in threads: thread.join()
print([os.waitpid(child, 0)[1] for child in children])
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert outcome.out == "[0, 0, 0, 0, 0]\n", outcome.err
    assert sorted(len(process.steps) for process in outcome.processes) == [1, 1, 1, 1, 1, 12000]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_are_followed(tmp_path, method):
    script = STEP + f"""
import multiprocessing
def work(number):
    note()
    return number * number
if __name__ == "__main__":
    note()
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        print(pool.map(work, range(4), chunksize=2))
        pool.close()
        pool.join()
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert (outcome.code, outcome.out, outcome.err) == (0, "[0, 1, 4, 9]\n", "")
    # All steps are there: one of the program, four of the workers, of which each has a folder.
    assert sum(len(process.steps) for process in outcome.processes) == 5
    assert 2 <= len(outcome.processes) <= 3


def test_subprocesses_are_followed(tmp_path):
    script = STEP + """
import subprocess, sys
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "again"], check=True)
note()
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert outcome.code == 0, outcome.err
    assert len(outcome.processes) == 2


def test_another_folder_changes_nothing(tmp_path):
    script = STEP + """
import os
os.mkdir("elsewhere")
os.chdir("elsewhere")
note()
print(os.listdir("."))
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert (outcome.out, len(outcome.only.steps)) == ("[]\n", 1)


def test_a_relative_folder_for_traces_is_that_of_the_start(tmp_path):
    (tmp_path / "program.py").write_text(STEP + "import os\nos.mkdir('elsewhere')\nos.chdir('elsewhere')\nnote()\n")
    environment = {**environment_of(tmp_path), "JOULETREE_TRACES": "here"}
    subprocess.run([PYTHON, "program.py"], cwd=tmp_path, env=environment, check=True)
    assert len(list((tmp_path / "here").glob("*/steps.csv"))) == 1


def test_a_folder_that_cannot_be_written_is_no_harm(tmp_path):
    (tmp_path / "file").write_text("")
    script = STEP + "note()\nprint('done')\n"
    outcome = run_recorded(PYTHON, script, tmp_path, env={"JOULETREE_TRACES": str(tmp_path / "file" / "below")})
    assert (outcome.code, outcome.out, outcome.err) == (0, "done\n", "")


def test_a_stage_of_the_environment(tmp_path):
    outcome = run_recorded(PYTHON, "pass\n", tmp_path, env={"JOULETREE_STAGE": "fine-tuning"})
    assert (outcome.code, outcome.err) == (0, "")
    assert "fine-tuning" in (outcome.only.folder / "windows.csv").read_text()


@pytest.mark.parametrize(
    "variable, value",
    [("JOULETREE_STEPS", "none of this"), ("JOULETREE_MAX_TRACE", "much"), ("JOULETREE_STEPS", "every:x")],
)
def test_nonsense_in_the_environment_is_told(tmp_path, variable, value):
    outcome = run_recorded(PYTHON, "print('done')\n", tmp_path, env={variable: value})
    assert (outcome.code, outcome.out) == (0, "done\n")
    assert outcome.err.startswith("jouletree: this process is recorded without its operations")


def test_under_pytest(tmp_path):
    (tmp_path / "test_something.py").write_text(STEP + "def test_it():\n    note()\n")
    arguments = ("pytest", "-q", "-p", "no:cacheprovider", "test_something.py")
    outcome = run_recorded(PYTHON, "-m", tmp_path, arguments=arguments)
    assert outcome.code == 0, outcome.out + outcome.err
    assert "1 passed" in outcome.out
    assert len(outcome.only.steps) == 1


# The start itself


@pytest.mark.parametrize("level, told", [("op", 1), ("call", 1), ("process", 0)])
def test_a_python_that_is_too_old_is_told_once(tmp_path, level, told):
    start = f"import sys; sys.version_info = (3, 8, 18); sys.path.insert(0, {str(AUTO)!r}); import sitecustomize"
    environment = {**os.environ, "JOULETREE_TRACES": str(tmp_path), "JOULETREE_LEVEL": level}
    for _ in range(2):
        done = subprocess.run([PYTHON, "-S", "-c", start], env=environment, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    folders = sorted(tmp_path.iterdir())
    assert [folder.name for folder in folders] == ["python-3.8"] * told
    for folder in folders:
        assert "older than 3.9" in (folder / "warnings.txt").read_text()
        assert json.loads((folder / "process.json").read_text())["python"] == "3.8"


def test_their_sitecustomize_runs_once_and_is_the_one(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("import sys\nsys.times = getattr(sys, 'times', 0) + 1\nMARK = 'theirs'\n")
    script = """
import sys
import sitecustomize
print(sys.times, sitecustomize.MARK, sitecustomize.__file__ == sitecustomize.__spec__.origin)
import jouletree._session
print(jouletree._session.current() is not None)
"""
    outcome = run_recorded(PYTHON, script, tmp_path, env={"PYTHONPATH": str(theirs)})
    assert (outcome.code, outcome.out, outcome.err) == (0, "1 theirs True\nTrue\n", "")


def test_their_sitecustomize_may_fail(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("raise ValueError('theirs is broken')\n")
    outcome = run_recorded(PYTHON, "print('done')\n", tmp_path, env={"PYTHONPATH": str(theirs)})
    alone = run_alone(PYTHON, tmp_path / "program.py", PYTHONPATH=str(theirs))
    assert (outcome.code, outcome.out, outcome.err) == (alone.code, alone.out, alone.err)
    assert "theirs is broken" in alone.err


def test_their_sitecustomize_may_be_a_package(tmp_path):
    theirs = tmp_path / "theirs" / "sitecustomize"
    theirs.mkdir(parents=True)
    (theirs / "__init__.py").write_text("from . import part\n")
    (theirs / "part.py").write_text("import sys\nsys.part = __name__\n")
    outcome = run_recorded(PYTHON, "import sys\nprint(sys.part)\n", tmp_path, env={"PYTHONPATH": str(theirs.parent)})
    assert (outcome.out, outcome.err) == ("sitecustomize.part\n", "")


def test_usercustomize_runs(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "usercustomize.py").write_text("import sys\nsys.user = 1\n")
    program = "import site, sys\nprint(getattr(sys, 'user', 0) == int(bool(site.ENABLE_USER_SITE)))\n"
    outcome = run_recorded(PYTHON, program, tmp_path, env={"PYTHONPATH": str(theirs)})
    assert (outcome.out, outcome.err) == ("True\n", "")


def test_their_path_is_kept(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "helper.py").write_text("NAME = 'helper'\n")
    outcome = run_recorded(PYTHON, "import helper\nprint(helper.NAME)\n", tmp_path, env={"PYTHONPATH": str(theirs)})
    assert (outcome.code, outcome.out) == (0, "helper\n")


@pytest.mark.parametrize("option", ["-S", "-I", "-E"])
def test_a_python_that_shuts_itself_off(tmp_path, option):
    script = "import sys\nprint('jouletree' in sys.modules)\n"
    outcome = run_recorded(PYTHON, script, tmp_path, options=(option,))
    assert (outcome.code, outcome.out, outcome.err) == (0, "False\n", "")
    assert outcome.processes == []


def test_a_script_of_our_name(tmp_path):
    (tmp_path / "jouletree.py").write_text("print('theirs', __name__)\n")
    outcome = run_recorded(PYTHON, str(tmp_path / "jouletree.py"), tmp_path)
    assert (outcome.code, outcome.out, outcome.err) == (0, "theirs __main__\n", "")


def test_a_module_that_is_run_by_name(tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "__main__.py").write_text(STEP + "note()\nprint(__name__, __package__)\n")
    outcome = run_recorded(PYTHON, "-m", tmp_path, arguments=("pack",))
    assert (outcome.code, outcome.out) == (0, "__main__ pack\n")
    assert len(outcome.only.steps) == 1


def test_start_needs_no_heavy_modules_and_little_time(tmp_path):
    script = f"""
import json, subprocess, sys, os, time
environment = dict(os.environ, PYTHONPYCACHEPREFIX={str(tmp_path / "cache")!r})
environment.pop("PYTHONDONTWRITEBYTECODE", None)
environment.pop("JOULETREE_TRACES")
environment["PYTHONPATH"] = {str(PACKAGES)!r}
program = '''
import sys, time
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6
before = set(sys.modules)
memory = resident()
began = time.perf_counter()
import jouletree
import jouletree._start
took = time.perf_counter() - began
memory = resident() - memory
print(repr([took * 1e3, memory, sorted(set(sys.modules) - before)]).replace("'", '"'))
'''
runs = [json.loads(subprocess.check_output([sys.executable, "-S", "-c", program], env=environment)) for _ in range(6)]
print(json.dumps(min(runs[1:])))
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert outcome.code == 0, outcome.err
    milliseconds, megabytes, modules = json.loads(outcome.out)
    print(f"import jouletree and its start: {milliseconds:.1f} ms, {megabytes:.1f} MB, {modules}")
    assert milliseconds < 60
    assert megabytes < 5
    heavy = {"asyncio", "dataclasses", "inspect", "json", "logging", "re", "socket", "threading", "typing"}
    assert not heavy & set(modules), heavy & set(modules)


# Imports


@pytest.fixture
def frameworks(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder for made-up frameworks."""
    folder = tmp_path / "frameworks"
    folder.mkdir()
    return folder


def framework(folder: pathlib.Path, name: str, text: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)


# Trainers are only asked to log; one that has nothing to ask goes without.
@pytest.mark.parametrize("name", ["torch", "tensorflow", "keras", "jax", "onnxruntime"])
@pytest.mark.parametrize("level", ["op", "module"])
def test_a_version_that_nobody_knows(tmp_path, frameworks, name, level):
    framework(frameworks, name, "__version__ = '99'\n")
    script = f"import {name}\nprint({name}.__version__)\n"
    outcome = run_recorded(PYTHON, script, tmp_path, level=level, env={"PYTHONPATH": str(frameworks)})
    assert (outcome.code, outcome.out, outcome.err) == (0, "99\n", "")
    assert any(name in warning for warning in outcome.warnings), outcome.warnings


def test_an_unknown_version_is_told_by_name(tmp_path, frameworks):
    framework(frameworks, "jax", "__version__ = '99'\n")
    outcome = run_recorded(PYTHON, "import jax\n\n", tmp_path, env={"PYTHONPATH": str(frameworks)})
    (warning,) = outcome.warnings
    assert warning.startswith("jax 99 is not known to this version of jouletree")


@pytest.mark.parametrize("failure", ["raise ImportError('half of it')", "import is_not_there", "1 / 0", "def broken(:"])
def test_a_framework_that_fails_fails_as_before(tmp_path, frameworks, failure):
    text = failure if "broken" in failure else f"def load():\n    {failure}\nload()"
    framework(frameworks, "torch", text + "\n")
    outcome = run_recorded(PYTHON, "def go():\n    import torch\ngo()\n", tmp_path, env={"PYTHONPATH": str(frameworks)})
    alone = run_alone(PYTHON, tmp_path / "program.py", PYTHONPATH=str(frameworks))
    assert outcome.code == alone.code == 1
    assert outcome.err == alone.err
    assert "Traceback" in alone.err
    assert outcome.processes == []


def test_a_framework_that_fails_may_be_tried_again(tmp_path, frameworks):
    text = "import os\nif 'READY' not in os.environ: raise ImportError('not yet')\n__version__ = '98'\n"
    framework(frameworks, "torch", text)
    script = """
import os
try:
    import torch
except ImportError as error:
    print(error)
os.environ["READY"] = "1"
import torch
print(torch.__version__)
"""
    outcome = run_recorded(PYTHON, script, tmp_path, env={"PYTHONPATH": str(frameworks)})
    assert outcome.out == "not yet\n98\n"
    assert any("98" in warning for warning in outcome.warnings)


def test_the_adapter_is_called_once_whatever_is_done_to_the_module(tmp_path, frameworks):
    framework(frameworks, "torch", "__version__ = '99'\nimport torch.nn\n")
    (frameworks / "torch" / "nn").mkdir()
    (frameworks / "torch" / "nn" / "__init__.py").write_text("import torch\n")
    script = """
import sys
import jouletree._imports as imports
calls = []
imports._adapters["torch"] = [lambda module: calls.append(module.__name__)]
import importlib.util
found = importlib.util.find_spec("torch")
print(type(found).__name__, isinstance(found, importlib.machinery.ModuleSpec), type(found.loader).__name__, calls)
import torch.nn
print(calls)
import torch, importlib
print(type(torch.__spec__) is importlib.machinery.ModuleSpec, torch.__spec__._initializing)
print(torch.__loader__ is torch.__spec__.loader, torch.__loader__.get_filename("torch") == torch.__file__)
again = importlib.reload(torch)
print(again is torch, calls)
del sys.modules["torch"]
import torch
print(calls)
"""
    outcome = run_recorded(PYTHON, script, tmp_path, env={"PYTHONPATH": str(frameworks)})
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "ModuleSpec True SourceFileLoader []",
        "['torch']",
        "True False",
        "True True",
        "True ['torch']",
        "['torch']",
    ]


@pytest.mark.skipif(importlib.util.find_spec("pytorch_lightning") is not None, reason="the real one would be found")
def test_a_folder_of_the_name_is_not_the_framework(tmp_path):
    (tmp_path / "pytorch_lightning").mkdir()
    outcome = run_recorded(PYTHON, "import pytorch_lightning\nprint(len(pytorch_lightning.__path__))\n", tmp_path)
    assert (outcome.code, outcome.out, outcome.err) == (0, "1\n", "")
    assert outcome.processes == []


def test_a_framework_in_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("torch/__init__.py", "__version__ = '99'\nfrom . import part\n")
        archive.writestr("torch/part.py", "")
    script = "import torch, zipimport\nprint(torch.__version__, isinstance(torch.__loader__, zipimport.zipimporter))\n"
    outcome = run_recorded(PYTHON, script, tmp_path, env={"PYTHONPATH": str(tmp_path / "packed.zip")})
    assert (outcome.code, outcome.out, outcome.err) == (0, "99 True\n", "")
    assert len(outcome.warnings) == 1


def test_threads_that_import_at_the_same_time(tmp_path, frameworks):
    framework(frameworks, "torch", "import time\ntime.sleep(0.2)\n__version__ = '99'\nREADY = True\n")
    script = """
import importlib.util, threading
import jouletree._imports as imports
calls, seen = [], []
imports._adapters["torch"] = [lambda module: calls.append(module.READY)]
def work(number):
    if number % 2:
        importlib.util.find_spec("torch")
    import torch
    seen.append(torch.READY)
threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(calls, len(seen))
"""
    outcome = run_recorded(PYTHON, script, tmp_path, env={"PYTHONPATH": str(frameworks)})
    assert (outcome.code, outcome.out, outcome.err) == (0, "[True] 16\n", "")


def test_other_hooks_into_imports(tmp_path, frameworks):
    framework(frameworks, "torch", "__version__ = '99'\n")
    script = """
import sys
import jouletree._imports as imports
calls = []
imports._adapters["torch"] = [lambda module: calls.append(module.__version__)]

class Old:
    # As it was before there were specifications.
    def find_module(self, name, path=None):
        return None

class Greedy:
    # Asks all the others, as the one of jouletree does.
    busy = False
    def find_spec(self, name, path=None, target=None):
        if self.busy or name != "torch":
            return None
        self.busy = True
        try:
            for finder in sys.meta_path:
                if finder is not self and hasattr(finder, "find_spec"):
                    found = finder.find_spec(name, path, target)
                    if found is not None:
                        return found
        finally:
            self.busy = False

sys.meta_path.insert(0, Greedy())
sys.meta_path.insert(0, Old())
import torch
print(torch.__version__, calls)
"""
    outcome = run_recorded(PYTHON, script, tmp_path, env={"PYTHONPATH": str(frameworks)}, options=("-W", "ignore"))
    assert (outcome.code, outcome.out, outcome.err) == (0, "99 ['99']\n", "")


def test_a_program_that_removes_all_hooks(tmp_path, frameworks):
    framework(frameworks, "torch", "__version__ = '99'\n")
    script = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if isinstance(finder, type)]
import torch
print(torch.__version__)
"""
    outcome = run_recorded(PYTHON, script, tmp_path, env={"PYTHONPATH": str(frameworks)})
    assert (outcome.code, outcome.out, outcome.err) == (0, "99\n", "")


def test_the_start_reads_in_any_python():
    # Other interpreters that a program starts read this file, too: nothing in it may be newer than they are.
    text = (AUTO / "sitecustomize.py").read_text()
    compile(text, "sitecustomize", "exec", dont_inherit=True)
    assert " -> " not in text
    assert 'f"' not in text


def test_a_child_that_cannot_write_is_no_harm(tmp_path):
    script = STEP + """
import os
child = os.fork()
if not child:
    os.environ["PATH"] = ""
    _session.current().root = "/proc/nothing"
    note()
    os._exit(5)
print(os.waitpid(child, 0)[1] >> 8)
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert (outcome.code, outcome.out, outcome.err) == (0, "5\n", "")


def test_an_installed_package_follows_a_python_that_replaces_its_search_path(tmp_path):
    """``jouletree.pth`` begins what the sitecustomize cannot, and is not noticed otherwise."""
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    python = str(tmp_path / "env" / "bin" / "python")
    (site,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    pth = PACKAGES.parent / "packaging" / "wheel" / "purelib" / "jouletree.pth"
    (site / "jouletree.pth").write_text(pth.read_text())
    (site / "jouletree").symlink_to(PACKAGES / "jouletree")
    program = tmp_path / "program.py"
    program.write_text(STEP + "note()\nprint('done')\n")
    traces = tmp_path / "traces"
    traces.mkdir()
    environment = environment_of(traces)

    def run(*options, **variables):
        # Whatever it says is the program's own.
        ended = subprocess.run(
            [python, *options, str(program)], env={**environment, **variables}, capture_output=True, text=True
        )
        left = {file.name: file for file in traces.iterdir()}
        return ended.returncode, ended.stdout, ended.stderr, left

    for number, (options, variables) in enumerate(
        [((), {"PYTHONPATH": "."}), (("-I",), {}), (("-E",), {}), ((), {"PYTHONPATH": ""})], 1
    ):
        code, out, err, left = run(*options, **variables)
        assert (code, out, err) == (0, "done\n", ""), (options, variables)
        # A mark for the recorder, and what the process left, once.
        assert len(left) == 2 * number, left
        steps = [file for name, file in left.items() if name[0].isdigit()]
        assert all(len((folder / "steps.csv").read_text().splitlines()) == 2 for folder in steps)
    # With the search path of the run there is nothing to mark, and all begins once.
    code, out, err, left = run()
    assert (code, out, err, len(left)) == (0, "done\n", "", 9), left
    # Without a run nothing of it is loaded; a package that is broken harms nothing.
    program.write_text("import sys\nprint('jouletree' in sys.modules)\n")
    environment = {name: value for name, value in environment.items() if not name.startswith("JOULETREE_")}
    assert run("-I")[:3] == (0, "False\n", "")
    (site / "jouletree").unlink()
    (site / "jouletree").mkdir()
    (site / "jouletree" / "__init__.py").write_text("raise SystemError('broken')\n")
    environment = environment_of(traces)
    assert run("-I")[:3] == (0, "False\n", "")
