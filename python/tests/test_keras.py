"""Keras 2 and 3 on TensorFlow under ``jouletree run``.

Needs an environment with TensorFlow: ``tensorflow-2.15`` (Keras 2) or ``frameworks`` (Keras 3).
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

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


@pytest.mark.alone
def test_the_example_is_recorded_by_layer(tmp_path):
    options = ["--layers", "2", "--hidden", "128", "--heads", "2", "--seq", "64", "--steps", "4"]
    found = run(tmp_path, [EXAMPLES / "bert_keras.py", *options])
    assert found.done.returncode == 0, found.done.stderr
    counts = [found.count(phase, True) for phase in ("train", "evaluate", "predict")]
    assert (counts, len(found.steps)) == ([8, 4, 4], 16)
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
    # All of them, though each function is traced in its first call, and again for batches of another size.
    assert [found.count(phase, True) for phase in ("train", "evaluate", "predict")] == [11, 13, 5]
    assert len(found.steps) == 29
    assert {row["samples"] for row in found.steps} == {"16", "64"}
    # Keras 3 has a function of its own for single batches.
    assert {row["function"] for row in found.steps} <= {"net", "net (2)"}


def test_steps_are_batches_and_are_chosen_for_each_function(tmp_path):
    program = MODEL + """
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            print("epoch", epoch)
    model.compile(optimizer="adam", loss="mse", steps_per_execution=3)
    model.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[Stop()])
    model.predict(x[:8], verbose=0)
    other = keras.Sequential([keras.Input((64,)), keras.layers.Dense(8), keras.layers.Dense(1)], name="other")
    other.compile("sgd", "mse", run_eagerly=True)
    other.fit(x, y, batch_size=32, verbose=0)
    other.evaluate(x, y, batch_size=32, verbose=0)
    """
    found = run(tmp_path, program, steps="1..4")
    assert found.done.returncode == 0, found.done.stderr
    steps = collections.Counter((row["phase"], row["function"], row["recorded"]) for row in found.steps)
    # Three executions of three, three and two batches: the plan is asked before each.
    assert steps.pop(("train", "net", True)) + steps.pop(("train", "net", False)) == 16
    assert found.count("train", True) >= 4 + 2
    assert steps == {
        ("predict", "net", True): 1,
        ("train", "other", True): 2,
        ("evaluate", "other", True): 2,
    }
    assert {row["samples"] for row in found.steps if row["phase"] == "train"} == {"8", "32"}
    assert found.warnings == ""
    lengths = [row["end"] - row["start"] for row in found.steps[3:6]]
    assert max(lengths) - min(lengths) <= 1, "batches of one execution take equal parts of it"


TORCH = """
    import numpy as np, keras
    layers = keras.layers
    images = keras.Input((8, 8, 1))
    hidden = layers.Flatten()(layers.MaxPooling2D()(layers.Conv2D(4, 3, name="c1")(images)))
    model = keras.Model(images, layers.Dense(2, name="head")(hidden), name="net")
    model.compile("adam", "mse")
    x, y = np.ones([48, 8, 8, 1], "float32"), np.ones([48, 2], "float32")
    model.fit(x, y, batch_size=16, epochs=2, verbose=0)
    model.evaluate(x, y, batch_size=16, verbose=0)
    model.predict(x, batch_size=16, verbose=0)
"""


def test_keras_on_torch_is_named_by_keras(tmp_path):
    pytest.importorskip("torch", reason="needs PyTorch")
    found = run(tmp_path, TORCH, KERAS_BACKEND="torch")
    assert found.done.returncode == 0, found.done.stderr
    # Building a model calls its layers, which is no step.
    assert [found.count(phase) for phase in ("train", "evaluate", "predict")] == [6, 3, 3]
    traces = "".join(path.read_text() for path in found.files("torch-*.json"))
    assert {"module::net", "module::net.c1", "module::net.head"} <= set(re.findall(r"module::[\w.]+", traces))
    assert "module::c1" not in traces and "module::head" not in traces
    assert traces.count("Optimizer.step#Adam.step") >= 6


#: Loops in graphs, layers with numbers in their names, a layer that is called twice, kernels that are fused.
NAMED = """
    import sys
    import numpy as np
    import tensorflow as tf
    keras, which = tf.keras, sys.argv[1]
    layers = keras.layers
    images = keras.Input((16, 16, 1))
    hidden = layers.MaxPooling2D()(layers.Conv2D(8, 3, activation="relu")(images))
    hidden = layers.Flatten()(layers.Conv2D(16, 3, activation="relu")(hidden))
    inner = keras.Sequential([keras.Input((16,)), layers.Dropout(0.5), layers.Dense(32, activation="relu")], name="block")
    hidden = layers.Dense(16, activation="relu")(layers.Dropout(0.5)(hidden))
    net = keras.Model(images, layers.Dense(4)(inner(hidden) + inner(hidden)), name="net")
    x, y = np.ones([128, 16, 16, 1], "float32"), np.ones([128, 4], "float32")
    if which == "executions":
        net.compile("adam", "mse", steps_per_execution=4)
        net.fit(x, y, batch_size=16, verbose=0)
        net.predict(x[:16], verbose=0)
        sequence = keras.Input((12, 8))
        recurrent = layers.Bidirectional(layers.GRU(8, recurrent_dropout=0.1, name="gru"), name="both")(sequence)
        rnn = keras.Model(sequence, layers.Dense(4)(recurrent), name="rnn")
        rnn.compile("sgd", "mse")
        rnn.fit(np.ones([64, 12, 8], "float32"), y[:64], batch_size=16, verbose=0)
    else:
        data = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (tf.abs(a), b)).batch(16)
        optimizer = keras.optimizers.SGD(0.01)

        @tf.function
        def epoch(data):
            for x, y in data:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((net(x, training=True) - y) ** 2)
                optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))

        for _ in range(3):
            epoch(data)
        net.compile("adam", "mse", jit_compile=True)
        net.fit(x, y, batch_size=16, verbose=0)
"""


@pytest.mark.skipif(not os.environ.get("JOULETREE_BINARY"), reason="JOULETREE_BINARY does not name the jouletree command")
@pytest.mark.parametrize("which", ["executions", "epoch"])
def test_layers_have_the_names_of_the_program(tmp_path, which):
    program, binary = tmp_path / "program.py", os.environ["JOULETREE_BINARY"]
    program.write_text(textwrap.dedent(NAMED))
    package = str(pathlib.Path(__file__).resolve().parents[1])
    words = [binary, "run", "-o", str(tmp_path / "run"), "--", sys.executable, str(program), which]
    environment = {**os.environ, "JOULETREE_PACKAGE": package, "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = subprocess.run([binary, "account", str(tmp_path / "run"), "--format", "json"], capture_output=True, text=True)
    ops = json.loads(shown.stdout)["ops"]
    paths = {(op["path"], op["pass"]) for op in ops}
    found = {"/".join(parts[:n]) for parts in (path.split("/") for path, _ in paths) for n in range(1, len(parts))}
    wanted = {"conv2d", "max_pooling2d", "conv2d_1", "flatten", "block", "block/dropout", "block/dense"}
    wanted |= {"dropout_1", "dense_1", "dense_2"}
    kinds = r"net/(block/)?(conv2d|max_pooling2d|flatten|block|dropout|dense)[_0-9]*"
    named = {layer.removeprefix("net/") for layer in found if re.fullmatch(kinds, layer)}
    # A compiled graph may leave nothing of a layer that only moves data.
    assert wanted - {"flatten", "block/dropout"} <= named <= wanted, sorted(named)
    loops = re.compile(r"(^|/)(while|body|cond|then|_\d+|StatefulPartitionedCall)(/|$)")
    strange = sorted(path for path, _ in paths if loops.search(path) and not path.startswith("data/"))
    assert not strange, strange[:20]
    # What is shared by all variables keeps the name of the optimizer.
    tops = {path.partition("/")[0].lower() for path, passed in paths if passed == "optimizer"}
    assert tops <= {"optimizer", "adam", "net", "rnn"}
    assert not any(re.match("data/(gradient_tape|net|sgd|SGD)", path) for path in found), "the model is no data"
    energies = collections.Counter()
    for op in ops:
        energies[op["path"].partition("/")[0], op["pass"]] += op["energy_j"] or 0
    assert min(energies["net", passed] for passed in ("forward", "backward", "optimizer")) > 0
    # The convolution costs, not its activation.
    fused = {op["path"] for op in ops if "Fused" in op["type"]}
    assert fused and all(re.search(r"/(MatMul|Conv2D|convolution)(_\d+)?$", path) for path in fused), fused
    if which == "executions":
        assert {"rnn/both/forward_gru", "rnn/both/backward_gru"} <= {"/".join(path.split("/")[:3]) for path in found}
    else:
        assert "eagerly" not in done.stderr


UPDATED = """
    import sys
    import numpy as np
    import tensorflow as tf
    keras = tf.keras
    layers = keras.layers
    net = keras.Sequential([keras.Input((512,)), layers.Dense(2048, name="wide"), layers.Dense(256, name="mid"),
                            layers.Dense(4, name="head")], name="net")
    net.compile("adam", "mse", **({"steps_per_execution": 4} if sys.argv[1] == "executions" else {}))
    net.fit(np.ones([128, 512], "float32"), np.ones([128, 4], "float32"), batch_size=16, epochs=2, verbose=0)
"""


@pytest.mark.skipif(not os.environ.get("JOULETREE_BINARY"), reason="JOULETREE_BINARY does not name the jouletree command")
@pytest.mark.parametrize("which", ["batches", "executions"])
def test_the_optimizer_is_charged_to_the_layers_of_its_variables(tmp_path, which):
    program, binary = tmp_path / "program.py", os.environ["JOULETREE_BINARY"]
    program.write_text(textwrap.dedent(UPDATED))
    package = str(pathlib.Path(__file__).resolve().parents[1])
    words = [binary, "run", "-o", str(tmp_path / "run"), "--", sys.executable, str(program), which]
    environment = {**os.environ, "JOULETREE_PACKAGE": package, "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = subprocess.run([binary, "account", str(tmp_path / "run"), "--format", "json"], capture_output=True, text=True)
    energies = collections.Counter()
    for op in json.loads(shown.stdout)["ops"]:
        if op["pass"] == "optimizer":
            energies["/".join(op["path"].split("/")[:3])] += op["energy_j"] or 0
    layers = {path: joules for path, joules in energies.items() if path.startswith("net/")}
    assert set(layers) == {f"net/{layer}/{name}" for layer in ("wide", "mid", "head") for name in ("kernel", "bias")}
    assert sum(layers.values()) >= 0.9 * sum(energies.values()), energies
    # 1 048 576, 524 288 and 1024 weights.
    assert layers["net/wide/kernel"] > layers["net/mid/kernel"] > layers["net/head/kernel"], energies
    assert layers["net/wide/kernel"] + layers["net/mid/kernel"] > 0.8 * sum(layers.values()), energies


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


def test_the_callback_measures_outside_of_a_run(tmp_path):
    program = MODEL + """
    import collections, jouletree, warnings
    from jouletree.keras import EnergyCallback
    real = jouletree.begin_window, jouletree.end_window
    jouletree.begin_window = lambda name, quiet=False: name
    jouletree.end_window = lambda window: collections.namedtuple("Measured", "joules")(8.0)
    print(model.fit(x, y, verbose=0, callbacks=[EnergyCallback()]).history["energy_j"])
    # Where there is no command, training goes on without joules, and a warning says why.
    jouletree.begin_window, jouletree.end_window = real
    os.environ["JOULETREE_BINARY"] = "nowhere"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        logs = model.fit(x, y, verbose=0, callbacks=[EnergyCallback()]).history
    messages = [str(warning.message) for warning in said if "jouletree" in str(warning.message)]
    print(sorted(logs), len(messages), "not measured" in messages[0])
    """
    found = run(tmp_path, "import os\n" + textwrap.dedent(program), level="none")
    assert found.done.returncode == 0, found.done.stderr
    assert "[8.0]" in found.done.stdout
    assert "['loss'] 1 True" in found.done.stdout


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
