"""Keras 2 and 3 on TensorFlow under ``jouletree run``.

Needs an environment with TensorFlow: ``tensorflow-2.15`` (Keras 2) or ``frameworks`` (Keras 3).
"""

from __future__ import annotations

import json

import pytest
from tensorflow_traces import EXAMPLES, run

pytest.importorskip("tensorflow", reason="needs TensorFlow")

MODEL = """
    import numpy as np
    import tensorflow as tf
    keras = tf.keras
    keras.utils.set_random_seed(3)
    model = keras.Sequential([
        keras.Input((64,)),
        keras.layers.Dense(256, activation="relu", name="wide"),
        keras.layers.Dense(1, name="narrow"),
    ], name="net")
    model.compile(optimizer="adam", loss="mse")
    x, y = np.ones([64, 64], "float32"), np.ones([64, 1], "float32")
"""


def test_the_example_is_recorded_by_layer(tmp_path):
    options = ["--layers", "2", "--hidden", "128", "--heads", "2", "--seq", "64", "--steps", "4"]
    found = run(tmp_path, [EXAMPLES / "bert_keras.py", *options])
    assert found.done.returncode == 0, found.done.stderr
    # The first call of each of the three functions traces it.
    counts = [found.count(phase, True) for phase in ("train", "evaluate", "predict")]
    assert (counts, len(found.steps)) == ([7, 3, 3], 13)
    assert {row["samples"] for row in found.steps} == {"8"}
    assert found.coverage() > 0.7
    names = {name for name, _, _ in found.operations}
    assert any("gradient_tape" in name and "layer_1" in name for name in names)
    layers = {node["path"]: node for node in json.loads(found.files("model-*.json")[0].read_text())["nodes"]}
    assert layers["bert/layer_0/attention/query"]["parameters"] == 128 * 128 + 128
    assert layers["bert/layer_0"]["type"] == "EncoderLayer"
    assert layers["bert/layer_0"]["outputs"][0]["dims"] == [-1, 64, 128]


def test_the_layers_of_a_model_are_connected(tmp_path):
    found = run(tmp_path, MODEL + "    model.fit(x, y, verbose=0)\n")
    assert found.done.returncode == 0, found.done.stderr
    tree = json.loads(found.files("model-*.json")[0].read_text())
    paths = [node["path"] for node in tree["nodes"]]
    assert ("net/wide", "net/narrow") in {(paths[edge["from"]], paths[edge["to"]]) for edge in tree["edges"]}


def test_every_way_to_run_a_model_has_its_phase(tmp_path):
    program = MODEL + """
    print(sorted(model.fit(x, y, batch_size=16, epochs=2, validation_data=(x, y), verbose=0).history))
    model.evaluate(x, y, batch_size=16, verbose=0)
    model.predict(x, batch_size=16, verbose=0)
    for _ in range(3):
        model.train_on_batch(x, y)
    model.test_on_batch(x, y)
    model.predict_on_batch(x)
    """
    found = run(tmp_path, program)
    assert found.done.returncode == 0, found.done.stderr
    assert "['loss', 'val_loss']" in found.done.stdout, "nobody asked for joules in the logs"
    # Each function is traced once, and again when it is given batches of another size.
    assert (found.count("train"), found.count("evaluate"), found.count("predict")) == (9, 11, 3)
    assert {row["samples"] for row in found.steps} == {"16", "64"}


def test_the_callback_adds_joules_when_somebody_measures(tmp_path):
    program = MODEL + """
    import collections, jouletree
    from jouletree.keras import EnergyCallback
    Measured = collections.namedtuple("Measured", "joules kind low high")
    began = []
    jouletree.begin_window = lambda name, quiet=False: began.append(name) or name
    jouletree.end_window = lambda window: Measured(8.0, "measured", 8.0, 8.0) if window == "epoch 1" else None
    logs = model.fit(x, y, batch_size=16, epochs=2, verbose=0, callbacks=[EnergyCallback()]).history
    print(began, logs["energy_j"], logs["energy_j_per_step"])
    """
    found = run(tmp_path, program)
    assert found.done.returncode == 0, found.done.stderr
    assert "['epoch 1', 'epoch 2'] [8.0] [2.0]" in found.done.stdout


def test_the_callback_alone_does_nothing(tmp_path):
    program = MODEL + """
    from jouletree.keras import EnergyCallback
    print(sorted(model.fit(x, y, verbose=0, callbacks=[EnergyCallback()]).history))
    """
    found = run(tmp_path, program, level="none")
    assert found.done.returncode == 0, found.done.stderr
    assert "['loss']" in found.done.stdout
    assert "jouletree run" in found.done.stderr


def test_training_gives_the_same_weights(tmp_path):
    program = MODEL + """
    model.fit(x, y, batch_size=16, epochs=2, verbose=0)
    print(repr(float(np.sum(model.get_weights()[0]))))
    """
    (tmp_path / "plain").mkdir()
    plain = run(tmp_path / "plain", program, level="none")
    found = run(tmp_path, program)
    assert found.done.returncode == plain.done.returncode == 0, found.done.stderr
    assert found.done.stdout == plain.done.stdout != ""


def test_tensorboard_may_profile(tmp_path):
    pytest.importorskip("tensorboard", reason="needs TensorBoard")
    program = MODEL + """
    import glob
    board = keras.callbacks.TensorBoard("logs", profile_batch=(3, 4))
    model.fit(x, y, batch_size=8, verbose=0, callbacks=[board])
    print("profiles", len(glob.glob("logs/**/*.xplane.pb", recursive=True)))
    """
    found = run(tmp_path, program)
    assert found.done.returncode == 0, found.done.stderr
    assert "profiles 1" in found.done.stdout
    assert "profiles itself" in found.warnings
    assert {row["recorded"] for row in found.steps[-2:]} == {True}
