"""Weights and models, kept and read again in a folder of their own."""
import os
import tempfile

import numpy as np
from tensorflow.keras.models import Sequential, load_model
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.utils import set_random_seed

set_random_seed(2)


def make():
    model = Sequential([Input((3,)), Dense(2, name="d1"), Dense(1, name="d2")])
    model.compile("sgd", "mse")
    return model


with tempfile.TemporaryDirectory() as folder:
    first = make()
    path = os.path.join(folder, "model.keras")
    first.save(path)
    second = load_model(path)
    x = np.ones((1, 3), "float32")
    print(np.allclose(first.predict(x, verbose=0), second.predict(x, verbose=0)))
    first.save_weights(os.path.join(folder, "w.weights.h5"))
    third = make()
    third.load_weights(os.path.join(folder, "w.weights.h5"))
    print(np.allclose(first.get_weights()[0], third.get_weights()[0]))
    print(second.get_layer("d1").get_config()["units"])
