"""Subclasses of models and layers: what Keras compiles is traced."""
import numpy as np
import tensorflow as tf


class Scale(tf.keras.layers.Layer):
    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1],), initializer="ones")

    def call(self, inputs):
        return tf.multiply(inputs, self.w) * self.factor


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = tf.keras.layers.Dense(4, activation="tanh")
        self.scale = Scale(2.0)
        self.last = tf.keras.layers.Dense(1)

    def call(self, x, training=False):
        return self.last(self.scale(self.first(x)))

    def describe(self):
        return f"{len(self.weights)} weights, {self.count_params()} parameters"


class Deeper(Net):
    """Nothing of its own."""


tf.random.set_seed(1)
tf.keras.utils.set_random_seed(1)
model = Deeper()
x = np.linspace(0, 1, 24, dtype="float32").reshape(8, 3)
print(model(x).shape)
model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss="mse")
model.fit(x, x.sum(axis=1, keepdims=True), epochs=1, verbose=0)
print(model.describe())
print(np.round(model.predict(x, verbose=0)[:2], 4).tolist())
