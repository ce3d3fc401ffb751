"""ALBERT with tf.estimator on synthetic data: all layers share one set of weights, and embeddings are narrow.

    jouletree run -- python examples/albert_estimator.py --stage pre-training

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


def attention_and_feed_forward(x, mask, options, training: bool):
    with v1.variable_scope("attention_1"):
        attended = self_attention(x, mask, options, training)
        with v1.variable_scope("output"):
            attended = dropout(dense(attended, options.hidden, "dense"), training)
    x = layer_norm(attended + x)
    with v1.variable_scope("ffn_1"), v1.variable_scope("intermediate"):
        wide = dense(x, 4 * options.hidden, "dense", gelu)
        with v1.variable_scope("output"):
            narrow = dropout(dense(wide, options.hidden, "dense"), training)
    return layer_norm(narrow + x, "LayerNorm_1")


def encode(features, options, training: bool):
    """ALBERT: one group of weights, used by every layer."""
    x, table = embeddings(features, options, options.embedding, training)
    with v1.variable_scope("encoder"):
        mask = attention_mask(features)
        x = dense(x, options.hidden, "embedding_hidden_mapping_in")
        with v1.variable_scope("transformer", reuse=v1.AUTO_REUSE):
            for layer in range(options.layers):
                with v1.variable_scope("group_0"), v1.name_scope(f"layer_{layer}"), v1.variable_scope("inner_group_0"):
                    x = attention_and_feed_forward(x, mask, options, training)
    return x, pooler(x, options), table


if __name__ == "__main__":
    run(encode, arguments("ALBERT with tf.estimator on synthetic data"))
