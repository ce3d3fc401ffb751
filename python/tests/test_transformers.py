"""Hugging Face's Trainer and ``generate`` under a session. Needs torch, transformers and accelerate (environment
`frameworks`)."""

from __future__ import annotations

import ast
import pathlib

import pytest
from torch_programs import ran

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

#: Stands for the recorder: whenever an optimizer steps, a joule is spent.
METER = """
import types, jouletree, torch
from torch.optim.optimizer import register_optimizer_step_post_hook
spent = [0.0]
def spend(*arguments): spent[0] += 1
register_optimizer_step_post_hook(spend)
jouletree.begin_window = lambda name, quiet=False: [spent[0]]
jouletree.end_window = lambda window: types.SimpleNamespace(joules=spent[0] - window[0], kind=KIND, low=0, high=9)
"""

TRAINER = """
import os, logging
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import torch
torch.set_num_threads(1)
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
class Texts(torch.utils.data.Dataset):
    def __len__(self): return 16
    def __getitem__(self, index): return {"input_ids": torch.arange(1, 17), "labels": torch.tensor(index % 2)}
class Reporter(TrainerCallback):
    def __init__(self): self.seen = []
    def on_log(self, args, state, control, logs=None, **named): self.seen.append(dict(logs))
config = BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
reporter = Reporter()
arguments = TrainingArguments("out", per_device_train_batch_size=4, gradient_accumulation_steps=2, num_train_epochs=2,
    logging_steps=1, report_to="none", disable_tqdm=True, use_cpu=True, save_strategy="no", eval_strategy="epoch")
trainer = Trainer(model=BertForSequenceClassification(config), args=arguments, train_dataset=Texts(),
    eval_dataset=Texts(), callbacks=CALLBACKS)
trainer.train()
trainer.predict(Texts())
import sys
print(repr(reporter.seen), file=sys.stderr)
print(repr(trainer.state.log_history), file=sys.stderr)
"""


@pytest.mark.parametrize(("kind", "is_recorded"), [("measured", True), ("estimated", False)])
def test_the_trainer_logs_joules(tmp_path, kind, is_recorded):
    """Under ``jouletree run``, and outside of it, where the callback measures by itself."""
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    own = "__import__('jouletree.transformers').transformers.EnergyCallback()"
    program = METER.replace("KIND", repr(kind)) + TRAINER.replace("CALLBACKS", f"[reporter, {own}]")
    variables = {} if is_recorded else {"JOULETREE_TRACES": ""}
    run = ran(tmp_path, program, level="module", before="", variables=variables)
    seen, history = (ast.literal_eval(line) for line in run.err.strip().splitlines()[-2:])
    ending = "" if kind == "measured" else "_estimated"
    steps = [logs for logs in seen if "loss" in logs]
    assert len(steps) == 4
    # A joule for each step of eight samples; a reporter that comes after us sees it.
    assert all(logs["energy_j_per_step" + ending] == 1.0 for logs in steps)
    assert all(logs["energy_j_per_sample" + ending] == 1 / 8 for logs in steps)
    assert [logs["energy_j_per_epoch" + ending] for logs in seen if "energy_j_per_epoch" + ending in logs] == [2.0, 2.0]
    assert [logs["train_energy_j" + ending] for logs in seen if "train_runtime" in logs] == [4.0]
    assert any("energy_j_per_step" + ending in logs for logs in history)
    assert not any("eval_loss" in logs and "energy_j_per_step" + ending in logs for logs in seen)
    if not is_recorded:
        assert run.folders == []
        return
    assert run.phases.count("train") == 4
    assert run.phases.count("evaluate") == 2 * 2 and run.phases[-2:] == ["predict"] * 2
    assert {"bert/encoder/layer.0/attention/self/query", "classifier"} <= {span["op"] for span in run.spans}


def test_a_trainer_that_was_not_asked_logs_what_it_logs(tmp_path):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    program = TRAINER.replace("callbacks=CALLBACKS)", "callbacks=[reporter])")
    program += "print([type(callback).__name__ for callback in trainer.callback_handler.callbacks])"
    run = ran(tmp_path, METER.replace("KIND", "'measured'") + program, level="op", steps="2", before="")
    assert "energy_j" not in run.err and "EnergyCallback" not in run.out
    assert run.phases.count("train") == 4
    assert run.phases.count("evaluate") == 2 * 2 and run.phases[-2:] == ["predict"] * 2
    # The second step of each phase, not of the process.
    assert [step["phase"] for step in run.steps if step["recorded"] == "1"] == ["train", "evaluate", "predict"]
    assert "bert.encoder.layer.0.output.dense" in run.modules
    assert run.warnings == []


@pytest.mark.alone
@pytest.mark.parametrize("level", ["op", "module"])
def test_bert(tmp_path, level):
    arguments = ("--layers", 3, "--hidden", 128, "--heads", 2, "--steps", 6, "--seq", 64)
    run = ran(tmp_path, str(EXAMPLES / "bert_torch.py"), level=level, steps="2..", arguments=arguments)
    assert run.phases == ["train"] * 6
    assert [step["samples"] for step in run.steps] == ["8"] * 6
    assert run.coverage() > 0.95
    names = run.modules if level == "op" else {span["op"] for span in run.spans}
    paths = {name.replace(".", "/") for name in names}
    for layer in range(3):
        assert f"bert/encoder/layer/{layer}/attention/self/query" in paths
    assert run.warnings == [] and run.err == ""
    model = run.models[0]
    edges = {(model["nodes"][edge["from"]]["path"], model["nodes"][edge["to"]]["path"]) for edge in model["edges"]}
    attention = "bert/encoder/layer.1/attention"
    assert (f"{attention}/self", f"{attention}/output/dense") in edges
    assert ("bert/encoder/layer.0/output/LayerNorm", f"{attention}/self/query") in edges


@pytest.mark.alone
def test_gpt_trains_and_then_writes(tmp_path):
    arguments = ("--layers", 2, "--hidden", 256, "--heads", 2, "--steps", 3, "--seq", 128, "--tokens", 12)
    run = ran(tmp_path, str(EXAMPLES / "gpt_torch.py"), arguments=arguments)
    assert run.phases == ["train"] * 3 + ["predict"] * 12, "each token is a step"
    assert run.coverage() > 0.95
    assert {"transformer.h.0.attn.c_attn", "lm_head", "GPT2LMHeadModel"} <= run.modules
