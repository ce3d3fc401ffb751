"""Modules of PyTorch by their names, forward and backward, at both levels. Needs torch (environment `frameworks` or
`torch-2.2`)."""

from __future__ import annotations

import pathlib
import sys

import pytest
from torch_programs import ran

pytest.importorskip("torch", reason="torch is not installed")

TRAINING = """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block(SIZE)
        self.again = self.first
        self.loose = [nn.Linear(SIZE, SIZE)]
        self.head = nn.Linear(SIZE, 8)
    def forward(self, x):
        x = self.again(self.first(x))
        x = self.loose[0](x)
        return nn.CrossEntropyLoss()(self.head(x), torch.zeros(len(x), dtype=torch.long))
net = Tied()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(3):
    optimizer.zero_grad(); net(torch.randn(256, SIZE)).backward(); optimizer.step()
"""
NAMES = {"Tied", "first", "first/dense", "first/norm", "head", "Tied/Linear", "Tied/CrossEntropyLoss"}


@pytest.mark.alone
def test_operations(tmp_path):
    run = ran(tmp_path, "SIZE = 512" + TRAINING)
    paths = {name.replace(".", "/") for name in run.modules}
    # A module that is used twice has its first name; one that is made on the fly, its caller's and its class.
    assert paths == NAMES
    names = {event["name"] for event in run.events}
    assert "Optimizer.step#AdamW.step" in names and "Optimizer.zero_grad#AdamW.zero_grad" in names
    assert any(name.startswith("autograd::engine::evaluate_function") for name in names)
    assert any("Sequence number" in event.get("args", {}) for event in run.events)
    assert any("Input Dims" in event.get("args", {}) for event in run.events), "shapes are needed to count operations"
    assert run.coverage() > 0.9
    assert run.err == "", "nothing is printed into the program's output"


@pytest.mark.alone
def test_spans_without_a_profiler(tmp_path):
    run = ran(tmp_path, "SIZE = 512" + TRAINING, level="module")
    assert not run.events
    forward = {span["op"] for span in run.spans if span["pass"] == "forward"}
    backward = {span["op"] for span in run.spans if span["pass"] == "backward"}
    assert forward == NAMES
    assert {"first/dense", "first/norm", "head", "Tied/CrossEntropyLoss"} <= backward
    optimizer = {span["op"] for span in run.spans if span["pass"] == "optimizer"}
    assert optimizer == {"optimizer/AdamW.step", "optimizer/AdamW.zero_grad"}
    assert run.coverage() > 0.8, "what is missing is the program's own: it makes its data between modules"
    # Spans of a lane nest or are apart.
    open_until: list[int] = []
    for span in sorted(run.spans, key=lambda span: (int(span["start_ns"]), -int(span["end_ns"]))):
        start, end = int(span["start_ns"]), int(span["end_ns"])
        while open_until and open_until[-1] <= start:
            open_until.pop()
        assert not open_until or end <= open_until[-1]
        open_until.append(end)


def test_backward_goes_where_the_profiler_says(tmp_path):
    """Two layers, one with sixteen times the work: both levels must find so in the backward pass."""
    program = """
    class Uneven(nn.Module):
        def __init__(self):
            super().__init__()
            self.small, self.large, self.out = nn.Linear(256, 256), nn.Linear(256, 4096), nn.Linear(4096, 4)
        def forward(self, x):
            return self.out(self.large(torch.relu(self.small(x)) + x))
    net = Uneven(); optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        optimizer.zero_grad(); net(torch.randn(512, 256)).sum().backward(); optimizer.step()
    """
    run = ran(tmp_path, program, level="module")
    spent: dict[str, int] = {}
    for span in run.spans:
        if span["pass"] == "backward":
            spent[span["op"]] = spent.get(span["op"], 0) + int(span["end_ns"]) - int(span["start_ns"])
    assert spent["large"] > 4 * spent["small"] > 0


def test_results_are_the_same(tmp_path):
    program = """
    net = Net(); optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(4):
        optimizer.zero_grad(); net(torch.randn(8, 64)).pow(2).mean().backward(); optimizer.step()
    for values in (net.parameters(), (p.grad for p in net.parameters())):
        print(sum(value.double().sum().item() for value in values))
    """
    outputs = set()
    for level in ("op", "module", "process"):
        folder = tmp_path / level
        folder.mkdir()
        outputs.add(ran(folder, program, level=level).out)
    assert len(outputs) == 1


def test_the_tree_of_the_model(tmp_path):
    program = """
    net = Net()
    net(torch.randn(4, 64)).sum().backward()
    """
    run = ran(tmp_path, program, level="module")
    (model,) = run.models
    nodes = {node["path"]: node for node in model["nodes"]}
    assert nodes["Net"]["parameters"] == 2 * (64 * 64 + 64 + 128) + 64 * 8 + 8
    head = nodes["head"]
    assert head["type"] == "Linear" and head["name"] == "head" and head["is_module"]
    assert head["inputs"] == [{"type": "float32", "dims": [4, 64]}]
    assert head["outputs"] == [{"type": "float32", "dims": [4, 8]}]
    assert head["output_bytes"] == 4 * 8 * 4
    assert head["flops"] == 2 * 4 * 8 * 64 + 4 * 8
    edges = {(model["nodes"][edge["from"]]["path"], model["nodes"][edge["to"]]["path"]) for edge in model["edges"]}
    # From dense to norm only through an addition that belongs to the block itself.
    assert ("layers.0/dense", "layers.0/norm") in edges
    assert {("layers.0/norm", "layers.1/dense"), ("layers.1/norm", "head")} <= edges


def test_attached_models_have_their_names(tmp_path):
    program = """
    import jouletree.torch
    a, b = Net(), Net()
    with jouletree.torch.attach(a, "student"), jouletree.torch.attach(b, "judge"):
        a(torch.randn(4, 64)); b(torch.randn(4, 64))
    jouletree.torch.attach(a).detach()
    """
    run = ran(tmp_path, program, level="module")
    assert {"student", "student/layers.0/dense", "judge/head"} <= {span["op"] for span in run.spans}


def test_attach_outside_of_a_run_warns_and_does_nothing():
    import torch

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
    import jouletree.torch

    model = torch.nn.Linear(2, 2)
    with pytest.warns(UserWarning, match="jouletree run"):
        handle = jouletree.torch.attach(model)
    assert not model._forward_hooks
    handle.detach()
    handle.detach()
