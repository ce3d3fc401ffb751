"""``jouletree calibrate`` from outside, with PyTorch: what it measures, what it leaves out, and what it says.

JOULETREE_BINARY names the command. Repetitions are far too short for good numbers; nothing here depends on them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

BINARY = os.environ.get("JOULETREE_BINARY")
pytestmark = [
    pytest.mark.skipif(not BINARY, reason="JOULETREE_BINARY does not name the jouletree command"),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
]

QUICK = ["--seconds", "0.05", "--rounds", "2", "--cool-down", "0", "--standby-timeout", "0", "--threads", "1"]


def jouletree(*arguments: str, folder: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([BINARY, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)


def calibrate(folder: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess:
    return jouletree("calibrate", *arguments, *QUICK, "--python", sys.executable, "-o", "C", folder=folder)


def found(folder: pathlib.Path) -> dict:
    return json.loads((folder / "C" / "calibration.json").read_text())


@pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers is not installed")
def test_a_transformer_is_measured_trained_on_and_predicted(tmp_path):
    sizes = ["--batch", "1,2", "--seq", "8", "--layers", "2", "--hidden", "64"]
    done = calibrate(tmp_path, "bert", *sizes, "--format", "json")
    assert done.returncode == 0, done.stderr
    calibration = found(tmp_path)
    assert json.loads(done.stdout) == calibration
    assert [(tree["model"], tree["batch"], tree["sequence"]) for tree in calibration["trees"]] == [
        ("bert", 1, 8),
        ("bert", 2, 8),
    ]
    assert calibration["standby"] and calibration["protocol"]["rounds"] == 2
    nodes = {node["path"]: node for node in calibration["trees"][0]["nodes"]}
    # The model, its layers, their modules, and the attention between modules.
    attention = "encoder/layer.0/attention/self"
    assert {"", "encoder", "encoder/layer.0", attention, f"{attention}/query"} <= set(nodes)
    assert any(path.startswith(f"{attention}/aten::") and "scaled_dot_product" in path for path in nodes)
    # What is alike is measured once.
    assert nodes["encoder/layer.1"]["same_as"] == "encoder/layer.0"
    assert nodes[f"{attention}/key"]["same_as"] == f"{attention}/query"
    assert all(node["calls"] > 0 and node["seconds"] > 0 for node in nodes.values())
    assert nodes[""]["seconds"] > nodes[f"{attention}/query"]["seconds"]
    # The run keeps the repetitions as windows.
    windows = json.loads(jouletree("show", "C", "--by", "window", "--format", "json", folder=tmp_path).stdout)
    assert {window["window"] for window in windows} >= {"(model)", f"{attention}/query"}

    trained = jouletree("train", "C", "-o", "profile.json", folder=tmp_path)
    assert trained.returncode == 0, trained.stderr
    asked = ["bert", "--batch", "2", "--seq", "8", "--layers", "2", "--hidden", "64"]
    told = jouletree("predict", *asked, "--profile", "profile.json", "--format", "json", folder=tmp_path)
    assert told.returncode == 0, told.stderr
    prediction = json.loads(told.stdout)
    assert prediction["energy_j"] > 0
    kinds = {node["kind"] for node in prediction["passes"][0]["nodes"]}
    assert {"linear", "layernorm", "gelu", "attention", "embedding", "tanh"} <= kinds
    assert "matmul" not in kinds


def test_a_model_of_ones_own_is_measured(tmp_path):
    (tmp_path / "own.py").write_text(
        textwrap.dedent(
            """
            import torch

            class Twice(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.shared = torch.nn.Linear(8, 8)
                    self.once = torch.nn.Linear(8, 8)

                def forward(self, x, scale):
                    return self.once(self.shared(self.shared(x))) * scale

            def build(batch, sequence):
                return Twice(), {"x": torch.rand(batch, sequence, 8), "scale": 2.0}
            """
        )
    )
    done = calibrate(tmp_path, "own.py:build", "--batch", "3", "--seq", "5")
    assert done.returncode == 0, done.stderr
    (tree,) = found(tmp_path)["trees"]
    assert (tree["model"], tree["batch"], tree["sequence"]) == ("build", 3, 5)
    paths = {node["path"] for node in tree["nodes"]}
    # A part that runs twice in a call has no energy of its own.
    assert paths == {"", "once"}
    assert "several times" in done.stderr


def test_what_cannot_be_measured_is_said(tmp_path):
    unknown = calibrate(tmp_path, "no-such-model")
    assert unknown.returncode == 1 and "gpt2" in unknown.stderr, unknown.stderr
    (tmp_path / "wrong.py").write_text("def build(batch, sequence):\n    return 7\n")
    wrong = jouletree("calibrate", "wrong.py:build", *QUICK, "--python", sys.executable, "-o", "D", folder=tmp_path)
    assert wrong.returncode == 1 and "a model and its inputs" in wrong.stderr, wrong.stderr
    missing = jouletree("calibrate", "wrong.py:other", *QUICK, "--python", sys.executable, "-o", "E", folder=tmp_path)
    assert missing.returncode == 1 and "no function 'other'" in missing.stderr, missing.stderr
    nowhere = jouletree("calibrate", *QUICK, "--python", "/no/python", "-o", "F", folder=tmp_path)
    assert nowhere.returncode != 0 and "/no/python" in nowhere.stderr, nowhere.stderr
