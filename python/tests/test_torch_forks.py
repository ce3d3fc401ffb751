"""Processes that fork after steps were recorded go on, and so do their children, however these end. Needs torch
(environment `frameworks` or `torch-2.2`)."""

from __future__ import annotations

import pytest
from torch_programs import ran

pytest.importorskip("torch", reason="torch is not installed")

#: Every child is waited for; one that hangs is killed, and its line says so.
PROGRAM = """
import multiprocessing, subprocess, threading, time
net = Net(); optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def step():
    optimizer.zero_grad(); net(torch.randn(4, 64)).sum().backward(); optimizer.step()

def wait(pid, name):
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            print(name, os.waitstatus_to_exitcode(status), flush=True)
            return
        time.sleep(0.01)
    os.kill(pid, 9)
    print(name, "hangs", flush=True)

def twice():
    pid = os.fork()
    if pid == 0:
        sys.exit(3)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

def error():
    sys.stderr = open(os.devnull, "w")
    raise KeyError("on purpose")

def replaced():
    os.execv(sys.executable, [sys.executable, "-S", "-c", "raise SystemExit(3)"])

def steps():
    step(); step(); sys.exit(3)

ways = {"exit": lambda: sys.exit(3), "end": None, "error": error, "hard": lambda: os._exit(3), "exec": replaced,
        "steps": steps, "twice": twice}
for name, way in ways.items():
    step()
    pid = os.fork()
    if pid == 0:
        if way is None:
            # The child goes on to the end of the program.
            break
        way()
    wait(pid, name)
else:
    class Forking(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Net()
        def forward(self, x):
            self.child = os.fork()
            if self.child == 0:
                sys.exit(3)
            return self.inner(x)
    forking = Forking()
    loss = forking(torch.randn(4, 64)).sum()
    wait(forking.child, "inside")
    loss.backward(); optimizer.step()

    def in_thread():
        pid = os.fork()
        if pid == 0:
            os._exit(3)
        wait(pid, "thread")
    step()
    thread = threading.Thread(target=in_thread)
    thread.start(); thread.join()
    step()
    process = multiprocessing.get_context("fork").Process(target=step)
    process.start(); process.join(100)
    print("multiprocessing", process.exitcode)
    command = [sys.executable, "-S", "-c", "raise SystemExit(3)"]
    print("subprocess", subprocess.run(command, preexec_fn=lambda: None).returncode)
    step()
    print("parent")
    # C's own buffers are flushed in children, too.
    import ctypes
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).printf(b"buffered 3\\n")
        sys.exit(3)
    os.waitpid(pid, 0)
    # A fork of which Python does not know.
    step()
    sys.stdout.flush()
    pid = ctypes.PyDLL(None).fork()
    if pid == 0:
        sys.exit(3)
    wait(pid, "foreign")
"""


def test_children_end_as_they_would(tmp_path):
    run = ran(tmp_path, PROGRAM)
    lines = dict(line.split() for line in run.out.splitlines() if " " in line)
    assert lines == {
        **{name: "3" for name in ("exit", "hard", "exec", "steps", "twice", "inside", "thread", "subprocess", "buffered")},
        "foreign": "3",
        "end": "0",
        "error": "1",
        "multiprocessing": "0",
    }
    assert run.out.splitlines().count("parent") == 1
    # The parent's steps are recorded as before, but for the one in which it forked.
    parent = next(folder for folder in run.folders if (folder / "model-1.json").is_file())
    assert (parent / "torch-2.json").is_file()
    rows = (parent / "steps.csv").read_text().splitlines()
    assert len(set(rows)) == len(rows), "no child writes its parent's steps again"
    # A child has its modules recorded without the profiler, which does not survive a fork.
    children = [folder for folder in run.folders if folder != parent]
    assert len(children) == 2
    for child in children:
        assert (child / "spans.csv").is_file() and not list(child.glob("torch-*.json"))
        assert "forked" in (child / "warnings.txt").read_text()
