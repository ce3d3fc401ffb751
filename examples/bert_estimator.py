"""BERT with tf.estimator on synthetic data: pre-training, fine-tuning, prediction.

    jouletree run -- python examples/bert_estimator.py
    jouletree run -- python examples/bert_estimator.py --layers 12 --hidden 768 --heads 12 --stage pre-training

Needs TensorFlow up to 2.15; it runs without jouletree, too.
"""

from bert_tf1 import (
    arguments,
    attention_mask,
    dense,
    dropout,
    embeddings,
    gelu,
    layer_norm,
    pooler,
    run,
    self_attention,
    v1,
)


def encoder_layer(x, mask, options, training: bool):
    with v1.variable_scope("attention"):
        attended = self_attention(x, mask, options, training)
        with v1.variable_scope("output"):
            x = layer_norm(dropout(dense(attended, options.hidden, "dense"), training) + x)
    with v1.variable_scope("intermediate"):
        wide = dense(x, 4 * options.hidden, "dense", gelu)
    with v1.variable_scope("output"):
        return layer_norm(dropout(dense(wide, options.hidden, "dense"), training) + x)


def encode(features, options, training: bool):
    """BERT: every layer has weights of its own."""
    x, table = embeddings(features, options, options.hidden, training)
    with v1.variable_scope("encoder"):
        mask = attention_mask(features)
        for layer in range(options.layers):
            with v1.variable_scope(f"layer_{layer}"):
                x = encoder_layer(x, mask, options, training)
    return x, pooler(x, options), table


if __name__ == "__main__":
    run(encode, arguments("BERT with tf.estimator on synthetic data"))
