"""Lightning's Trainer under a session. Needs torch and lightning (environment `frameworks`)."""

from __future__ import annotations

import ast

import pytest
from test_transformers import METER
from torch_programs import MODELS, ran

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("lightning", reason="lightning is not installed")

PROGRAM = """
import logging, warnings
warnings.filterwarnings("ignore")
import lightning
from lightning.pytorch.loggers.logger import Logger
from torch.utils.data import DataLoader, TensorDataset
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

class Kept(Logger):
    name, version = "kept", 0
    def __init__(self):
        super().__init__()
        self.rows = []
    def log_metrics(self, metrics, step=None): self.rows.append((step, dict(metrics)))
    def log_hyperparams(self, *arguments, **named): pass

class Lit(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()
    def training_step(self, batch, index): return self.net(batch[0]).pow(2).mean()
    def validation_step(self, batch, index): self.net(batch[0])
    def predict_step(self, batch, index): return self.net(batch[0])
    def configure_optimizers(self): return torch.optim.Adam(self.parameters())

def loader(): return DataLoader(TensorDataset(torch.randn(16, 64)), batch_size=4)
kept = Kept()
trainer = lightning.Trainer(max_epochs=2, logger=kept, log_every_n_steps=2, accelerator="cpu",
    enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False,
    num_sanity_val_steps=0, callbacks=CALLBACKS)
lit = Lit()
trainer.fit(lit, loader(), loader())
trainer.predict(lit, loader())
print(sum(type(callback).__name__ == "EnergyCallback" for callback in trainer.callbacks))
print(kept.rows)
"""


OWN = "[__import__('jouletree.lightning').lightning.EnergyCallback()]"
PHASES = (["train"] * 4 + ["evaluate"] * 4) * 2 + ["predict"] * 4


def test_joules_are_logged_where_the_program_asks_for_it(tmp_path):
    program = METER.replace("KIND", "'measured'") + PROGRAM.replace("CALLBACKS", OWN)
    run = ran(tmp_path, program, level="module", before=MODELS)
    count, rows = run.out.strip().splitlines()[-2:]
    assert count == "1"
    logged = [metrics for _, metrics in ast.literal_eval(rows)]
    steps = [metrics for metrics in logged if "energy_j_per_step" in metrics]
    # A joule for each step of four samples, logged for every other step.
    assert [metrics["energy_j_per_step"] for metrics in steps] == [1.0] * 4
    assert [metrics["energy_j_per_sample"] for metrics in steps] == [1 / 4] * 4
    assert [metrics["energy_j_per_epoch"] for metrics in logged if "energy_j_per_epoch" in metrics] == [4.0, 4.0]
    assert run.phases == PHASES
    assert {"net", "net/layers.0/dense", "net/head"} <= {span["op"] for span in run.spans}
    # Lightning's training step runs in a closure of the optimizer; it is a forward pass all the same.
    forward = [span for span in run.spans if span["op"] == "net" and span["pass"] == "forward"]
    assert len(forward) == len(PHASES)
    assert sum(span["op"] == "closure" and span["pass"] == "forward" for span in run.spans) == 8


def test_other_trainers_log_what_they_log(tmp_path):
    program = METER.replace("KIND", "'measured'") + PROGRAM.replace("CALLBACKS", "None")
    run = ran(tmp_path, program, level="op", before=MODELS)
    count, rows = run.out.strip().splitlines()[-2:]
    assert count == "0" and "energy_j" not in rows
    assert run.phases == PHASES
    assert all(step["recorded"] == "1" for step in run.steps)
    assert run.warnings == []
