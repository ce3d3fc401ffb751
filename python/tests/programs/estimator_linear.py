"""Estimators, as they were until TensorFlow 2.15."""
import tempfile

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
tf.get_logger().setLevel("ERROR")
x = np.linspace(0, 1, 16, dtype="float32")
columns = [tf.feature_column.numeric_column("x")]


def input_fn(epochs=1):
    def wrapped():
        ds = tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x))
        return ds.repeat(epochs).batch(4)

    return wrapped


with tempfile.TemporaryDirectory() as folder:
    config = tf.estimator.RunConfig(tf_random_seed=1, model_dir=folder, save_summary_steps=1000)
    regressor = tf.estimator.LinearRegressor(feature_columns=columns, config=config)
    regressor.train(input_fn(2))
    result = regressor.evaluate(input_fn())
    print(sorted(k for k in result if "loss" in k), int(result["global_step"]))
    predictions = list(regressor.predict(input_fn()))
    print(len(predictions), predictions[0]["predictions"].shape)
