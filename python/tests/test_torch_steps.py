"""What counts as a step in PyTorch programs of several kinds. Needs torch (environment `frameworks` or `torch-2.2`)."""

from __future__ import annotations

import pytest
from torch_programs import ran

pytest.importorskip("torch", reason="torch is not installed")


def test_training_with_accumulation_evaluation_and_prediction(tmp_path):
    program = """
    from torch.utils.data import DataLoader, TensorDataset
    net, data = Net(), TensorDataset(torch.randn(24, 64))
    optimizer = torch.optim.AdamW(net.parameters())
    for epoch in range(2):
        net.train()
        for number, (x,) in enumerate(DataLoader(data, batch_size=4)):
            net(x).sum().backward()
            if number % 2:
                optimizer.step()
                optimizer.zero_grad()
        net.eval()
        with torch.no_grad():
            for (x,) in DataLoader(data, batch_size=12):
                net(x)
    """
    run = ran(tmp_path, program)
    epoch = ["train"] * 3 + ["evaluate"] * 2
    assert run.phases == epoch + epoch
    assert [step["samples"] for step in run.steps[:5]] == ["8", "8", "8", "12", "12"]
    assert [int(step["step"]) for step in run.steps] == list(range(1, 11))
    assert all(step["recorded"] == "1" for step in run.steps)
    times = [(int(step["start_ns"]), int(step["end_ns"])) for step in run.steps]
    assert all(start < end for start, end in times)
    assert all(before[1] <= after[0] for before, after in zip(times, times[1:]))
    # The fetch of a batch is part of its step.
    fetches = [event for event in run.events if event["name"].startswith("enumerate(DataLoader)")]
    inside = [f for f in fetches if any(start <= f["start"] and f["end"] <= end for start, end in times)]
    assert len(inside) == 2 * (6 + 2), "each batch's fetch lies in a step; those that find nothing do not"
    assert run.warnings == []


def test_inference_is_a_step_for_each_call(tmp_path):
    program = """
    class Coder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = Block(64), Block(64)
        def forward(self, x):
            return self.decoder(self.encoder(x))
        def encode_and_decode(self, x):
            return self.decoder(self.encoder(x))
    coder = Coder()
    for _ in range(3):
        coder(torch.randn(2, 64))
    for _ in range(2):
        coder.encode_and_decode(torch.randn(5, 64))
    """
    run = ran(tmp_path, program, level="module")
    assert run.phases == ["predict"] * 5
    assert [step["samples"] for step in run.steps] == ["2"] * 3 + ["5"] * 2
    assert {span["op"] for span in run.spans} >= {"Coder", "encoder/dense", "decoder/norm"}


def test_a_teacher_belongs_to_the_training_step_and_an_evaluation_does_not(tmp_path):
    program = """
    import copy
    net = Net()
    teacher = copy.deepcopy(net).eval()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    def train():
        x = torch.randn(4, 64)
        with torch.no_grad():
            wanted = teacher(x)
        optimizer.zero_grad()
        (net(x) - wanted).pow(2).sum().backward()
        optimizer.step()
    train(); train()
    net.eval()
    with torch.no_grad():
        net(torch.randn(4, 64)); net(torch.randn(4, 64))
    net.train()
    train()
    """
    run = ran(tmp_path, program, level="module")
    assert run.phases == ["train", "train", "evaluate", "evaluate", "train"]
    first = run.steps[0]
    teachers = [span for span in run.spans if span["op"].startswith("teacher")]
    assert teachers and int(teachers[0]["start_ns"]) >= int(first["start_ns"])
    assert {span["op"].split("/")[0] for span in run.spans} >= {"teacher", "net", "optimizer"}


def test_another_optimizer_takes_over(tmp_path):
    program = """
    net = Net()
    x = torch.randn(4, 64)
    def step(optimizer):
        optimizer.zero_grad(); net(x).sum().backward(); optimizer.step()
    first = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3): step(first)
    second = torch.optim.Adam(net.parameters())
    for _ in range(5): step(second)
    # Two that always step together are one step.
    third = torch.optim.SGD(net.head.parameters(), lr=0.1)
    for _ in range(2):
        net(x).sum().backward(); second.step(); third.step()
    """
    run = ran(tmp_path, program, level="module")
    assert run.phases == ["train"] * (3 + 5 + 2)
    assert {step["function"] for step in run.steps} == {""}, "optimizers of one model do the same work"


def test_updates_by_hand_and_without_modules(tmp_path):
    program = """
    net = Net()
    for _ in range(3):
        net(torch.randn(4, 64)).sum().backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
                p.grad = None
    point = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.LBFGS([point])
    def closure():
        optimizer.zero_grad()
        loss = ((point - 1) ** 2).sum()
        loss.backward()
        return loss
    for _ in range(2):
        optimizer.step(closure)
    """
    run = ran(tmp_path, program, level="module")
    assert run.phases == ["train"] * 5


def test_chosen_steps_are_recorded_and_all_are_noted(tmp_path):
    program = """
    net = Net(); optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(12):
        optimizer.zero_grad(); net(torch.randn(4, 64)).sum().backward(); optimizer.step()
    """
    run = ran(tmp_path, program, steps="2..3,every:10")
    assert [step["recorded"] for step in run.steps] == ["0", "1", "1", "0", "0", "0", "0", "0", "0", "1", "0", "0"]
    chosen = [step for step in run.steps if step["recorded"] == "1"]
    roots = [event for event in run.events if event["name"] == "module::Net"]
    assert len(roots) == 3
    for root, step in zip(sorted(roots, key=lambda event: event["start"]), chosen):
        assert int(step["start_ns"]) <= root["start"] and root["end"] <= int(step["end_ns"])


@pytest.mark.parametrize(("budget", "recorded", "windows"), [(100, 1, 1), (700, 12, 3)])
def test_a_window_has_as_many_steps_as_recording_may_cost(tmp_path, budget, recorded, windows):
    """An event costs a second here, and the whole program may cost `budget` of them; a step has about 150 events."""
    program = f"""
    import jouletree._session, jouletree._torch.profiler
    jouletree._session._COST_SECONDS, jouletree._torch.profiler._EVENT_SECONDS = {budget}, 1.0
    net = Net(); optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(12):
        optimizer.zero_grad(); net(torch.randn(4, 64)).sum().backward(); optimizer.step()
    """
    run = ran(tmp_path, program, steps="1..20")
    assert [step["recorded"] for step in run.steps] == ["1"] * recorded + ["0"] * (12 - recorded)
    assert [warning for warning in run.warnings if "fewer steps are recorded" in warning] == run.warnings
    assert len(run.warnings) == (recorded < 12)
    assert len(list(run.folders[0].glob("torch-*.json"))) == pytest.approx(windows, abs=windows // 2)
