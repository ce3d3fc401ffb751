"""An estimator with a model function, which builds a graph."""
import tempfile

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.logging.set_verbosity(v1.logging.ERROR)


def model_fn(features, labels, mode):
    dense = v1.layers.dense(features["x"], 1, name="d")
    loss = tf.reduce_mean(tf.square(dense - labels))
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(loss, global_step=v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode=mode, loss=loss, train_op=train_op)


def data():
    x = np.ones((8, 2), "float32")
    return tf.data.Dataset.from_tensor_slices(({"x": x}, x[:, :1])).batch(4)


with tempfile.TemporaryDirectory() as folder:
    estimator = tf.estimator.Estimator(model_fn, folder, tf.estimator.RunConfig(tf_random_seed=3))
    estimator.train(data)
    loss = estimator.evaluate(data)["loss"]
    print(loss >= 0, sorted(estimator.get_variable_names())[:2])
