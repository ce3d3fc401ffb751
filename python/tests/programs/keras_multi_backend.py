"""Keras by its own name: ops, random numbers, metrics, regularisers."""
import keras
from keras import ops

keras.utils.set_random_seed(9)
x = ops.reshape(ops.arange(6, dtype="float32"), (2, 3))
print(ops.convert_to_numpy(ops.matmul(x, ops.transpose(x))).tolist())
metric = keras.metrics.SparseCategoricalAccuracy()
metric.update_state([0, 1], [[0.9, 0.1], [0.8, 0.2]])
print(float(metric.result()))
layer = keras.layers.Dense(2, kernel_regularizer=keras.regularizers.L2(0.01))
layer.build((None, 3))
print([tuple(w.shape) for w in layer.weights], layer.count_params())
initializer = keras.initializers.GlorotUniform(seed=1)
print(initializer(shape=(2, 2)).shape, keras.losses.mean_squared_error([1.0], [2.0]).shape)
if hasattr(keras, "config"):
    print(keras.config.floatx(), keras.backend.backend() in ("tensorflow", "jax", "torch"))
