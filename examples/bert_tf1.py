"""The parts that BERT and ALBERT share in graph mode: layers, heads, synthetic data, the optimizer and the stages.

The names of variables and scopes are those of the published models, so that a trace of these programs reads like one of
theirs: ``bert/encoder/layer_0/attention/self/query/MatMul``. Needs TensorFlow up to 2.15, the last with tf.estimator.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.logging.set_verbosity(v1.logging.ERROR)

try:
    from jouletree import stage as begin_stage
except ImportError:  # the program runs without jouletree as well

    def begin_stage(name: str) -> None:
        """Without a recorder there is no energy."""


STAGES = ("pre-training", "fine-tuning", "prediction")
CLASSES = 2
#: How many tokens of a sequence are hidden from the model and to be guessed, as a share.
HIDDEN_SHARE = 0.15
#: How many different batches there are; they come round again.
BATCHES = 4


def arguments(description: str) -> argparse.Namespace:
    """The options that both programs take."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--seq", type=int, default=128, help="tokens of a sequence")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--embedding", type=int, default=128, help="width of the embeddings (ALBERT)")
    parser.add_argument("--steps", type=int, default=6, help="steps of every stage")
    parser.add_argument("--stage", choices=(*STAGES, "all"), default="all")
    parser.add_argument(
        "--fused",
        action="store_true",
        help="let TensorFlow fuse a layer's operations; they then have other names than in the papers",
    )
    return parser.parse_args()


# Layers


def initializer():
    return v1.truncated_normal_initializer(stddev=0.02)


def dense(x, width: int, name: str, activation=None):
    """A layer that multiplies the last dimension; `x` is a matrix."""
    with v1.variable_scope(name):
        kernel = v1.get_variable("kernel", [x.shape[-1], width], initializer=initializer())
        bias = v1.get_variable("bias", [width], initializer=v1.zeros_initializer())
        y = tf.nn.bias_add(tf.matmul(x, kernel, name="MatMul"), bias, name="BiasAdd")
        return y if activation is None else activation(y)


def layer_norm(x, name: str = "LayerNorm"):
    with v1.variable_scope(name):
        gamma = v1.get_variable("gamma", [x.shape[-1]], initializer=v1.ones_initializer())
        beta = v1.get_variable("beta", [x.shape[-1]], initializer=v1.zeros_initializer())
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-12, name="batchnorm")


def gelu(x):
    """The smooth rectifier in its tanh form."""
    return 0.5 * x * (1.0 + tf.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


def dropout(x, training: bool):
    return tf.nn.dropout(x, rate=0.1) if training else x


def embeddings(features, options, width: int, training: bool):
    """Tokens, segments and places become vectors; also returns the table of tokens, which the head uses again."""
    ids, segments = features["input_ids"], features["segment_ids"]
    with v1.variable_scope("embeddings"):
        table = v1.get_variable("word_embeddings", [options.vocabulary, width], initializer=initializer())
        kinds = v1.get_variable("token_type_embeddings", [2, width], initializer=initializer())
        places = v1.get_variable("position_embeddings", [max(512, options.seq), width], initializer=initializer())
        flat = tf.reshape(tf.gather(table, tf.reshape(ids, [-1])), [options.batch, options.seq, width])
        kind = tf.matmul(tf.one_hot(tf.reshape(segments, [-1]), depth=2), kinds)
        x = flat + tf.reshape(kind, [options.batch, options.seq, width])
        x += tf.slice(places, [0, 0], [options.seq, -1])
        x = dropout(layer_norm(x), training)
        return tf.reshape(x, [-1, width]), table


def attention_mask(features):
    """What is added to scores so that padding is not attended to."""
    mask = tf.cast(features["input_mask"], tf.float32)
    return (1.0 - mask[:, None, None, :]) * -10000.0


def self_attention(x, mask, options, training: bool):
    """Every token looks at every other; `x` is a matrix with a row for each token."""
    size = options.hidden // options.heads

    def heads(y):
        return tf.transpose(tf.reshape(y, [options.batch, options.seq, options.heads, size]), [0, 2, 1, 3])

    with v1.variable_scope("self"):
        query = heads(dense(x, options.hidden, "query"))
        key = heads(dense(x, options.hidden, "key"))
        value = heads(dense(x, options.hidden, "value"))
        scores = tf.matmul(query, key, transpose_b=True) * (1.0 / math.sqrt(size)) + mask
        weights = dropout(tf.nn.softmax(scores), training)
        context = tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3])
        return tf.reshape(context, [-1, options.hidden])


def pooler(x, options):
    """The first token's vector represents its sequence."""
    with v1.variable_scope("pooler"):
        first = tf.reshape(x, [options.batch, options.seq, options.hidden])[:, 0, :]
        return dense(first, options.hidden, "dense", tf.tanh)


# What the stages learn


def masked_language_loss(x, table, features, options):
    """Guesses the hidden tokens."""
    with v1.variable_scope("cls/predictions"):
        hidden = features["masked_positions"].shape[1]
        starts = tf.reshape(tf.range(options.batch) * options.seq, [-1, 1])
        chosen = tf.gather(x, tf.reshape(features["masked_positions"] + starts, [-1]))
        with v1.variable_scope("transform"):
            chosen = layer_norm(dense(chosen, table.shape[-1], "dense", gelu))
        bias = v1.get_variable("output_bias", [options.vocabulary], initializer=v1.zeros_initializer())
        logits = tf.nn.bias_add(tf.matmul(chosen, table, transpose_b=True), bias)
        labels = tf.reshape(features["masked_ids"], [options.batch * hidden])
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def classification(pooled, labels, scope: str):
    """The loss of choosing a class, and the probabilities."""
    with v1.variable_scope(scope):
        weights = v1.get_variable("output_weights", [CLASSES, pooled.shape[-1]], initializer=initializer())
        bias = v1.get_variable("output_bias", [CLASSES], initializer=v1.zeros_initializer())
        logits = tf.nn.bias_add(tf.matmul(pooled, weights, transpose_b=True), bias)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        return loss, tf.nn.softmax(logits)


class AdamWeightDecay(v1.train.Optimizer):
    """Adam without correction of its moments, which also shrinks the weights; what is named so stays as large."""

    def __init__(self, rate, decay: float = 0.01, beta_1: float = 0.9, beta_2: float = 0.999) -> None:
        super().__init__(False, "AdamWeightDecay")
        self._rate, self._decay, self._beta_1, self._beta_2 = rate, decay, beta_1, beta_2

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        updates = []
        for gradient, variable in grads_and_vars:
            if gradient is None:
                continue
            title = re.sub(r":\d+$", "", variable.name)
            zeros = v1.zeros_initializer()
            first, second = (
                v1.get_variable(f"{title}/adam_{moment}", variable.shape, trainable=False, initializer=zeros)
                for moment in "mv"
            )
            next_first = self._beta_1 * first + (1.0 - self._beta_1) * gradient
            next_second = self._beta_2 * second + (1.0 - self._beta_2) * tf.square(gradient)
            update = next_first / (tf.sqrt(next_second) + 1e-6)
            if not re.search("LayerNorm|bias", title):
                update += self._decay * variable
            updates += [
                variable.assign(variable - self._rate * update),
                first.assign(next_first),
                second.assign(next_second),
            ]
        return tf.group(*updates, global_step.assign_add(1), name=name)


def training(loss, steps: int):
    """One step of learning: a rate that warms up and falls, clipped gradients, AdamWeightDecay."""
    step = v1.train.get_or_create_global_step()
    done = tf.cast(step, tf.float32)
    warm = max(1.0, steps / 10)
    falling = v1.train.polynomial_decay(1e-4, step, max(2, steps), end_learning_rate=0.0)
    rate = tf.where(done < warm, 1e-4 * done / warm, falling)
    variables = v1.trainable_variables()
    gradients, _ = tf.clip_by_global_norm([tf.convert_to_tensor(g) for g in tf.gradients(loss, variables)], 1.0)
    return AdamWeightDecay(rate).apply_gradients(zip(gradients, variables), global_step=step)


# Data, and the stages


def synthetic_data(options, steps: int):
    """Sentences of random tokens, with everything that any stage asks for."""
    random = np.random.default_rng(7)
    rows = options.batch * min(BATCHES, steps)
    hidden = max(1, int(options.seq * HIDDEN_SHARE))
    lengths = random.integers(options.seq // 2, options.seq + 1, (rows, 1))
    places = np.arange(options.seq)
    features = {
        "input_ids": random.integers(5, options.vocabulary, (rows, options.seq)),
        "input_mask": places < lengths,
        "segment_ids": places >= lengths // 2,
        "masked_positions": random.integers(0, options.seq // 2, (rows, hidden)),
        "masked_ids": random.integers(5, options.vocabulary, (rows, hidden)),
        "labels": random.integers(0, CLASSES, (rows,)),
    }
    data = tf.data.Dataset.from_tensor_slices({name: values.astype(np.int32) for name, values in features.items()})
    return data.repeat().batch(options.batch, drop_remainder=True).take(steps).prefetch(1)


class Progress(v1.train.SessionRunHook):
    """Says how far a stage is, in one line, and how long a step takes."""

    def __init__(self, name: str, steps: int, loss=None) -> None:
        self._name, self._steps, self._loss = name, steps, loss
        self._times: list[float] = []

    def before_run(self, run_context):
        self._began = time.perf_counter()
        return None if self._loss is None else v1.train.SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        self._times.append(time.perf_counter() - self._began)
        done = len(self._times)
        if done == self._steps or done % max(1, self._steps // 3) == 0:
            loss = "" if self._loss is None else f", loss {float(run_values.results):.3f}"
            typical = sorted(self._times)[done // 2] * 1e3
            print(f"{self._name}: step {done} of {self._steps}, {typical:.0f} ms{loss}", flush=True)


class KeepWeights(v1.train.SessionRunHook):
    """Leaves the weights for the next stage."""

    def __init__(self, path: str) -> None:
        self._path = path

    def begin(self):
        self._saver = v1.train.Saver(v1.trainable_variables())

    def end(self, session):
        self._saver.save(session, self._path, write_meta_graph=False)


def take_weights(path: str) -> None:
    """Begins with what the last stage left, where this one's model has the same variables."""
    if not os.path.exists(f"{path}.index"):
        return
    kept = {name for name, _ in tf.train.list_variables(path)}
    here = [re.sub(r":\d+$", "", variable.name) for variable in v1.trainable_variables()]
    v1.train.init_from_checkpoint(path, {name: name for name in here if name in kept})


def model_function(encode, options, stage: str, weights: str):
    """The model of a stage as an estimator wants it; `encode(features, options, training)` is BERT or ALBERT, and
    returns a row for each token, a row for each sequence, and the table of tokens."""

    def build(features, labels, mode):
        learns = mode == tf.estimator.ModeKeys.TRAIN
        with v1.variable_scope("bert"):
            x, pooled, table = encode(features, options, learns)
        if stage == "pre-training":
            loss = masked_language_loss(x, table, features, options)
            loss += classification(pooled, features["labels"], "cls/seq_relationship")[0]
            probabilities = None
        else:
            loss, probabilities = classification(dropout(pooled, learns), features["labels"], "loss")
        take_weights(weights)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"probabilities": probabilities})
        hooks = [Progress(stage, options.steps, loss), KeepWeights(weights)]
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=training(loss, options.steps), training_hooks=hooks
        )

    return build


def settings(options, folder: str):
    """How the estimator runs: it leaves no checkpoints and no summaries, and operations keep their names."""
    session = v1.ConfigProto()
    if not options.fused:
        from tensorflow.core.protobuf import rewriter_config_pb2

        session.graph_options.rewrite_options.remapping = rewriter_config_pb2.RewriterConfig.OFF
    return tf.estimator.RunConfig(
        model_dir=folder,
        session_config=session,
        save_checkpoints_steps=None,
        save_checkpoints_secs=None,
        save_summary_steps=None,
        log_step_count_steps=None,
        tf_random_seed=7,
    )


def run(encode, options) -> None:
    """Runs the stages that were asked for, one after the other."""
    folder = tempfile.mkdtemp(prefix="bert-")
    weights = os.path.join(folder, "weights")
    try:
        for stage in STAGES if options.stage == "all" else (options.stage,):
            begin_stage(stage)
            model = model_function(encode, options, stage, weights)
            estimator = tf.estimator.Estimator(model, config=settings(options, os.path.join(folder, stage)))
            if stage == "prediction":
                progress = [Progress(stage, options.steps)]
                found = estimator.predict(lambda: synthetic_data(options, options.steps), hooks=progress)
                chosen = [int(np.argmax(each["probabilities"])) for each in found]
                print(f"{stage}: {len(chosen)} sequences, {sum(chosen)} of them of class 1", flush=True)
            else:
                estimator.train(lambda: synthetic_data(options, options.steps))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
