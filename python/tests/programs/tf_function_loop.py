"""The same compiled: only the calls of the compiled function are seen from outside."""
import tensorflow as tf


class Model(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(2.0)
        self.b = tf.Variable(1.0)

    def __call__(self, x):
        return helper(self.w * x) + self.b


def helper(x):
    return tf.identity(x)


@tf.function
def step(model, x, y, rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    dw, db = tape.gradient(loss, [model.w, model.b])
    model.w.assign_sub(rate * dw)
    model.b.assign_sub(rate * db)
    return loss


@tf.function(reduce_retracing=True)
def double(x):
    return tf.add(x, x)


model = Model()
x = tf.constant([1.0, 2.0, 3.0])
for _ in range(3):
    loss = step(model, x, 3.0 * x, 0.05)
    print(round(float(loss), 4))
print(double(x).numpy().tolist(), double(tf.constant(2.0)).numpy())
fast = tf.function(lambda v: tf.sqrt(v))
print(round(float(fast(tf.constant(4.0))), 3), len(step.get_concrete_function(model, x, x, 0.1).inputs) > 0)
