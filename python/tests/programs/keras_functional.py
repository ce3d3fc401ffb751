"""The functional way, with two inputs and a layer called where it is made."""
from __future__ import annotations

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(3)
a = keras.Input(shape=(4,), name="a")
b = keras.Input(shape=(3,), name="b")
h = layers.Dense(8, activation="relu")(a)
g = layers.Dense(8)(b)
joined = layers.Concatenate()([h, g])
for width in (6, 4):
    joined = layers.Dense(width)(layers.LayerNormalization()(joined))
out = layers.Dense(1)(joined)
model = keras.Model(inputs=[a, b], outputs=out)
model.compile(keras.optimizers.SGD(0.1), "mse")
rng = np.random.default_rng(0)
data = [rng.random((16, 4), "float32"), rng.random((16, 3), "float32")]
model.fit(data, rng.random((16, 1), "float32"), epochs=1, verbose=0)
print(model.count_params())
print([layer.name.split("_")[0] for layer in model.layers][:4])
print(sum(weight.shape.num_elements() if hasattr(weight.shape, "num_elements") else int(np.prod(weight.shape)) for weight in model.trainable_weights))
