"""PyTorch programs of unusual kinds run as before. Needs torch (environment `frameworks` or `torch-2.2`)."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys

import pytest
from torch_programs import PACKAGE, ran, run

pytest.importorskip("torch", reason="torch is not installed")

STEP = """
net = Net(); optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def step(model=net):
    optimizer.zero_grad(); model(torch.randn(4, 64)).sum().backward(); optimizer.step()
"""


@pytest.mark.parametrize("level", ["op", "module"])
def test_compiled_models(tmp_path, level):
    program = """
    import torch._dynamo.testing
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(net, backend=counter, fullgraph=True)
    for _ in range(3): step(compiled)
    print(counter.frame_count)
    net.compile(backend="eager")
    step()
    """
    result = ran(tmp_path, STEP + program.replace("\n    ", "\n"), level=level)
    assert result.out.split() == ["1"], "hooks must not break graphs"
    assert result.phases == ["train"] * 4
    paths = result.modules if level == "op" else {span["op"] for span in result.spans}
    assert "Net" in paths
    assert "global hooks" not in result.err
    if importlib.util.find_spec("torch._dynamo.callback") is None:
        return  # Old versions do not say when they compile.
    # Compilation is a stage of its own. Steps in which something was compiled begin after it and are not recorded.
    compiled = [row for row in result.rows("windows.csv") if row["kind"] == "compilation"]
    assert len(compiled) == 2
    steps = [(int(step["start_ns"]), int(step["end_ns"])) for step in result.steps]
    assert [step["recorded"] for step in result.steps] == ["0", "1", "1", "0"]
    for row in compiled:
        assert all(end <= int(row["start_ns"]) or int(row["end_ns"]) <= start for start, end in steps)
    assert result.warnings == ["compiled by torch.compile: layers inside are not known"]


def test_exported_traced_scripted_and_transformed_models(tmp_path):
    program = """
    net = Net()
    x = torch.randn(4, 64)
    expected = net(x)
    exported = torch.export.export(net, (x,)).module()
    traced = torch.jit.trace(net, x)
    assert torch.equal(traced(x), expected) and torch.equal(exported(x), expected)
    assert "aten::size" not in str(traced.inlined_graph), "nothing of ours is in the trace"
    torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))(torch.randn(4, 4))
    import torch.fx
    assert torch.equal(torch.fx.symbolic_trace(net)(x), expected)
    from torch.func import functional_call, grad, vmap
    def loss(parameters, sample):
        return functional_call(net, parameters, (sample.unsqueeze(0),)).sum()
    gradients = vmap(grad(loss), in_dims=(None, 0))(dict(net.named_parameters()), x)
    assert gradients["head.bias"].shape == (4, 8)
    """
    for level in ("op", "module"):
        folder = tmp_path / level
        folder.mkdir()
        # Each has its warning once.
        warnings = sorted(ran(folder, program, level=level).warnings)
        assert warnings == [f"compiled by torch.{tool}: layers inside are not known" for tool in ("export", "jit")]


@pytest.mark.parametrize("level", ["op", "module"])
def test_checkpoints_exceptions_and_threads(tmp_path, level):
    program = """
    import threading
    from torch.utils.checkpoint import checkpoint
    class Saving(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Block(64), Block(64)
        def forward(self, x):
            return checkpoint(self.b, checkpoint(self.a, x, use_reentrant=False), use_reentrant=True)
    class Failing(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Saving()
        def forward(self, x):
            self.inner(x)
            raise KeyError("on purpose")
    net = Saving(); optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad(); net(torch.randn(4, 64, requires_grad=True)).sum().backward(); optimizer.step()
    failing = Failing().eval()
    for _ in range(2):
        try:
            failing(torch.randn(4, 64))
        except KeyError:
            print("failed")
    calls = [threading.Thread(target=lambda: [net.eval()(torch.randn(4, 64)) for _ in range(3)]) for _ in range(3)]
    for call in calls: call.start()
    for call in calls: call.join()
    """
    result = ran(tmp_path, program, level=level)
    assert result.out == "failed\n" * 2
    assert result.phases[:4] == ["train", "train", "evaluate", "evaluate"]
    assert result.phases.count("evaluate") == 2 + 9
    # Other threads than the first have spans of their modules at both levels.
    assert len({span["lane"] for span in result.spans}) == (4 if level == "module" else 3)
    assert sum("threads" in warning for warning in result.warnings) == (level == "op")
    assert [step["recorded"] for step in result.steps] == ["1"] * 13
    if level == "module":
        backward = {span["op"].split("Saving/")[-1] for span in result.spans if span["pass"] == "backward"}
        assert {"a/dense", "b/norm"} <= backward


def test_the_programs_own_profiler_comes_first(tmp_path):
    program = """
    from torch.profiler import profile, schedule
    step(); step()
    with profile(record_shapes=True) as own:
        step(); step()
    assert any(event.key == "aten::addmm" for event in own.key_averages())
    step()
    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1)) as own:
        for _ in range(5):
            step(); own.step()
    assert any(event.key == "aten::addmm" for event in own.key_averages())
    step()
    """
    result = ran(tmp_path, STEP + program.replace("\n    ", "\n"))
    assert len(result.steps) == 11
    recorded = [step["recorded"] for step in result.steps]
    assert recorded[:5] == ["1", "1", "0", "0", "1"] and recorded[-1] == "1"
    assert any("profiler itself" in warning for warning in result.warnings)


def test_forks_and_workers(tmp_path):
    program = """
    from torch.utils.data import DataLoader, TensorDataset
    data = TensorDataset(torch.randn(16, 64))
    for epoch in range(2):
        for (x,) in DataLoader(data, batch_size=4, num_workers=2):
            optimizer.zero_grad(); net(x).sum().backward(); optimizer.step()
    pid = os.fork()
    if pid == 0:
        net.eval()(torch.randn(4, 64))
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    """
    result = ran(tmp_path, STEP + program.replace("\n    ", "\n"))
    assert result.phases.count("train") == 8 and all(step["recorded"] == "1" for step in result.steps)
    assert len(result.folders) == 2, "the program, and the child that used its model"


def test_hard_exits_and_crashes_keep_what_was_recorded(tmp_path):
    for name, ending, status in (
        ("exit", "os._exit(3)", 3),
        ("error", "1 / 0", 1),
    ):
        folder = tmp_path / name
        folder.mkdir()
        result = run(folder, STEP + f"step(); step()\nos.chdir('/')\n{ending}\n")
        assert result.status == status
        assert len(result.steps) == 2 and "Net" in result.modules


def test_a_killed_program_keeps_all_but_its_last_window(tmp_path):
    program = "for _ in range(400): step()\nprint('ready', flush=True)\nimport time\ntime.sleep(60)\n"
    from torch_programs import MODELS

    file = tmp_path / "program.py"
    file.write_text(MODELS + STEP + program)
    environment = {
        **os.environ,
        "JOULETREE_TRACES": str(tmp_path / "traces"),
        "PYTHONPATH": os.pathsep.join([str(PACKAGE / "jouletree" / "_auto"), str(PACKAGE)]),
        "JOULETREE_LEVEL": "module",
    }
    with subprocess.Popen([sys.executable, file], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    written = [file for file in (tmp_path / "traces").glob("*/*.csv") if file.stat().st_size > 100]
    assert {file.name for file in written} >= {"spans.csv"}


def test_a_version_without_what_is_needed(tmp_path):
    """A torch that we do not know: the program runs as before, and it is said that no operations are recorded."""
    program = """
    from jouletree import _start
    from jouletree._torch import recorder
    from torch.optim import optimizer
    del optimizer.register_optimizer_step_post_hook
    ours = nn.Module._call_impl
    recorder._installed.remove()
    recorder._installed = None
    before = nn.Module._call_impl
    _start._adapter("torch")(torch)
    assert nn.Module._call_impl is before is not ours
    print(Net()(torch.randn(4, 64)).shape[0])
    """
    result = ran(tmp_path, program)
    assert result.out == "4\n"
    assert any("none of its operations" in warning for warning in result.warnings)


@pytest.mark.skipif(not os.environ.get("JOULETREE_BINARY"), reason="JOULETREE_BINARY does not name the command")
def test_a_call_is_opened_into_its_operations(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\n"
        "model = torch.nn.Linear(256, 256)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for _ in range(3):\n"
        "    optimizer.zero_grad()\n"
        "    loss = model(torch.ones(64, 256)).sum()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
    )

    def jouletree(*words: str) -> str:
        command = [os.environ["JOULETREE_BINARY"], *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    jouletree("run", "-q", "--level", "op,call", "--libraries", "torch", "-o", "RUN", "--", sys.executable, "program.py")
    calls = json.loads(jouletree("calls", "RUN", "--format", "json"))
    names = [call["function"] for call in calls]
    assert names.count("torch.Tensor.backward") == 3
    place = max(index for index, name in enumerate(names) if name == "torch.nn.Linear.__call__")
    words = ["calls", "RUN", "--by", "operation", "--call", str(place + 1), "--format", "json"]
    operations = json.loads(jouletree(*words))
    # Unless one is named, it is one that has operations, however much others used.
    assert json.loads(jouletree("calls", "RUN", "--by", "operation", "--format", "json"))
    matrix = [row for row in operations if row["type"] == "aten::addmm"]
    # One call of the module has one product, though the run has three.
    assert [(row["pass"], row["count"]) for row in matrix] == [("forward", 1)]
    # The operations of a call are a part of what was used during it.
    device = [call for call in calls if call["call"] == calls[place]["call"]]
    assert 0 < sum(row["energy_j"] for row in operations) <= sum(call["gross_j"] for call in device) * (1 + 1e-6)


def test_modules_inside_of_a_call_that_is_not_recorded(tmp_path):
    """Each costs one function of ours and leaves torch's fast path for modules without hooks; counted, not timed."""
    program = """
    import collections, torch.nn.modules.module as modules
    assert not modules._global_forward_pre_hooks and not modules._global_forward_hooks
    net = Net(layers=20).eval()
    with torch.no_grad():
        for _ in range(3): net(torch.randn(4, 64))
        calls = collections.Counter()
        def count(frame, event, argument):
            if event == "call": calls[frame.f_code.co_filename.rpartition(os.sep)[2], frame.f_code.co_name] += 1
        sys.setprofile(count)
        net(torch.randn(4, 64))
        sys.setprofile(None)
    assert calls["module.py", "inner"] == 0
    print(calls["hooks.py", "_call_impl"], calls["hooks.py", "enter"], calls["hooks.py", "exit"])
    """
    # The model, its head, and 20 blocks of three modules.
    assert ran(tmp_path, program, steps="1..2").out.split() == ["62", "1", "1"]
