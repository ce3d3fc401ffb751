"""A train_step of one's own runs inside of what Keras compiles."""
import numpy as np
import tensorflow as tf


class Custom(tf.keras.Sequential):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = tf.reduce_mean(tf.square(y - predicted))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


def build(units):
    return Custom([tf.keras.Input((2,)), tf.keras.layers.Dense(units), tf.keras.layers.Dense(1)])


tf.keras.utils.set_random_seed(5)
net = build(4)
net.compile(optimizer=tf.keras.optimizers.Adam(0.05))
x = np.random.rand(32, 2).astype("float32")
history = net.fit(x, x[:, :1] * 2, epochs=3, verbose=0, shuffle=False)
print([round(float(v), 4) for v in history.history["loss"]])
