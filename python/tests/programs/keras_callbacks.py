"""Callbacks run as Python, not as a graph."""
import tensorflow as tf
import numpy as np


class Watch(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_epoch_end(self, epoch, logs=None):
        self.seen.append(round(float(logs["loss"]), 4))
        rate = tf.convert_to_tensor(self.model.optimizer.learning_rate)
        self.seen.append(round(float(rate.numpy()), 5))


def schedule(epoch, rate):
    return rate * 0.5 if epoch else rate


tf.keras.utils.set_random_seed(11)
watch = Watch()
callbacks = [
    watch,
    tf.keras.callbacks.LearningRateScheduler(schedule),
    tf.keras.callbacks.LambdaCallback(on_train_end=lambda logs: print("ended", tf.add(1, 1).numpy())),
    tf.keras.callbacks.EarlyStopping(monitor="loss", patience=5),
]
model = tf.keras.models.Sequential()
model.add(tf.keras.Input((2,)))
model.add(tf.keras.layers.Dense(3))
model.add(tf.keras.layers.Dense(1))
model.compile(loss="mse", optimizer="sgd")
x = np.arange(20, dtype="float32").reshape(10, 2) / 20
model.fit(x, x[:, :1], epochs=2, verbose=0, shuffle=False, callbacks=callbacks)
print(watch.seen)
