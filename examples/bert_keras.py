"""BERT with Keras 2 or 3 on TensorFlow: learns to guess hidden tokens of synthetic sentences by ``fit``, then is
evaluated and predicts.

    jouletree run -- python examples/bert_keras.py
    jouletree run -- python examples/bert_keras.py --layers 12 --hidden 768 --heads 12

Runs without jouletree, too.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import numpy as np
import tensorflow as tf

keras = tf.keras
layers = keras.layers

try:
    from jouletree import stage as begin_stage
except ImportError:

    def begin_stage(name: str) -> None:
        """Without a recorder there is no energy."""


class SelfAttention(layers.Layer):
    """Every token looks at every other."""

    def __init__(self, hidden: int, heads: int, **about) -> None:
        super().__init__(**about)
        self.heads, self.size = heads, hidden // heads
        self.query = layers.Dense(hidden, name="query")
        self.key = layers.Dense(hidden, name="key")
        self.value = layers.Dense(hidden, name="value")

    def call(self, x, training=None):
        length, hidden = x.shape[1], x.shape[2]

        def heads(y):
            return tf.transpose(tf.reshape(y, [-1, length, self.heads, self.size]), [0, 2, 1, 3])

        query, key, value = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) * self.size**-0.5)
        return tf.reshape(tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3]), [-1, length, hidden])

    def compute_output_shape(self, shape):
        return shape


class EncoderLayer(layers.Layer):
    """Attention, then two dense layers, each with a way around it."""

    def __init__(self, hidden: int, heads: int, **about) -> None:
        super().__init__(**about)
        self.attention = SelfAttention(hidden, heads, name="attention")
        self.attention_output = layers.Dense(hidden, name="attention_output")
        self.attention_norm = layers.LayerNormalization(epsilon=1e-12, name="attention_norm")
        self.intermediate = layers.Dense(4 * hidden, activation="gelu", name="intermediate")
        self.narrow = layers.Dense(hidden, name="output")
        self.norm = layers.LayerNormalization(epsilon=1e-12, name="output_norm")
        self.dropout = layers.Dropout(0.1, name="dropout")

    def call(self, x, training=None):
        attended = self.attention_output(self.attention(x))
        x = self.attention_norm(x + self.dropout(attended, training=training))
        return self.norm(x + self.dropout(self.narrow(self.intermediate(x)), training=training))

    def compute_output_shape(self, shape):
        return shape


class Embeddings(layers.Layer):
    """Tokens and places become vectors."""

    def __init__(self, vocabulary: int, length: int, hidden: int, **about) -> None:
        super().__init__(**about)
        self.words = layers.Embedding(vocabulary, hidden, name="word_embeddings")
        self.places = layers.Embedding(length, hidden, name="position_embeddings")
        self.norm = layers.LayerNormalization(epsilon=1e-12, name="norm")
        self.length, self.hidden = length, hidden

    def call(self, ids):
        return self.norm(self.words(ids) + self.places(tf.range(self.length)))

    def compute_output_shape(self, shape):
        return (*shape, self.hidden)


def bert(options):
    """The model, a functional one whose layers are named."""
    ids = keras.Input((options.seq,), dtype="int32", name="input_ids")
    x = Embeddings(options.vocabulary, options.seq, options.hidden, name="embeddings")(ids)
    for number in range(options.layers):
        x = EncoderLayer(options.hidden, options.heads, name=f"layer_{number}")(x)
    x = layers.Dense(options.hidden, activation="gelu", name="transform")(x)
    return keras.Model(ids, layers.Dense(options.vocabulary, name="predictions")(x), name="bert")


class Progress(keras.callbacks.Callback):
    """Says how long an epoch took."""

    def on_epoch_begin(self, epoch, logs=None):
        self.began = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        seconds = time.perf_counter() - self.began
        print(f"training: epoch {epoch + 1}, {seconds:.1f} s, loss {float(logs['loss']):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="BERT with Keras on synthetic data", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--seq", type=int, default=128, help="tokens of a sequence")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=5, help="steps of every epoch")
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()

    random = np.random.default_rng(7)
    rows = options.batch * options.steps
    tokens = random.integers(5, options.vocabulary, (rows, options.seq)).astype("int32")
    hidden = random.random(tokens.shape) < 0.15
    shown = np.where(hidden, 1, tokens)

    model = bert(options)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(1e-4), loss=loss, jit_compile=False)
    begin_stage("training")
    model.fit(shown, tokens, batch_size=options.batch, epochs=options.epochs, verbose=0, callbacks=[Progress()])
    begin_stage("evaluation")
    found = model.evaluate(shown, tokens, batch_size=options.batch, verbose=0)
    print(f"evaluation: loss {float(found):.3f}", flush=True)
    begin_stage("prediction")
    guesses = model.predict(shown, batch_size=options.batch, verbose=0)
    print(f"prediction: {len(guesses)} sequences", flush=True)


if __name__ == "__main__":
    main()
