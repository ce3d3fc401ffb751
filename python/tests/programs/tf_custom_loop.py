"""A training loop of one's own, without a graph."""
import tensorflow as tf

tf.random.set_seed(4)
w = tf.Variable([[0.5], [0.25]])
b = tf.Variable(tf.zeros(1))
optimizer = tf.keras.optimizers.SGD(learning_rate=0.1)
loss_fn = tf.keras.losses.MeanSquaredError()
metric = tf.keras.metrics.Mean()


def predict(x):
    return tf.matmul(x, w) + b


x = tf.random.stateless_uniform((16, 2), seed=(1, 2))
y = tf.reduce_sum(x, axis=1, keepdims=True)
for epoch in range(3):
    metric.reset_state()
    with tf.GradientTape() as tape:
        loss = loss_fn(y, predict(x))
    gradients = tape.gradient(loss, [w, b])
    optimizer.apply_gradients(zip(gradients, [w, b]))
    metric.update_state(loss)
    print(epoch, round(float(metric.result()), 4))
w.assign_add(tf.ones_like(w))
print(w.numpy().round(3).tolist())
