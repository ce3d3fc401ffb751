"""A small classifier, fitted, evaluated and used."""
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(7)
x = np.random.rand(64, 8).astype("float32")
y = (x.sum(axis=1) > 4).astype("int32")

model = tf.keras.Sequential([
    tf.keras.layers.Input((8,)),
    tf.keras.layers.Dense(16, activation="relu"),
    tf.keras.layers.Dense(2),
])
model.compile(
    optimizer="adam",
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(x, y, epochs=2, batch_size=16, verbose=0)
print([round(v, 4) for v in history.history["loss"]])
print(round(history.history["loss"].index(min(history.history["loss"])), 1))
loss, accuracy = model.evaluate(x, y, verbose=0)
print(round(float(loss), 4), round(float(accuracy), 4))
print(model.predict(x[:2], verbose=0).argmax(axis=1).tolist())
print(tf.nn.softmax(model(x[:1])).numpy().shape)
