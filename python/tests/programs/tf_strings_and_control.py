"""Calls in all kinds of places: conditions, returns, defaults, f-strings, comprehensions, lambdas."""
import tensorflow as tf


def largest(values, default=tf.constant(-1)):
    if not tf.size(values).numpy():
        return default
    return tf.reduce_max(values) if tf.rank(values) == 1 else tf.reduce_max(tf.reshape(values, [-1]))


print(f"{largest(tf.constant([1, 5, 2])).numpy()} and {largest(tf.constant([], tf.int32)).numpy():>3}")
pairs = {k: tf.constant(v) for k, v in {"a": 1, "b": 2}.items() if tf.greater(v, 1)}
print({k: int(v) for k, v in pairs.items()})
square = lambda v: tf.square(v)  # noqa: E731
print([int(square(tf.constant(i))) for i in range(3)], [int(t) for t in tf.unstack(tf.range(3))])
while (n := tf.random.stateless_uniform((), (1, 1), 0, 5, tf.int32)) < 0:
    pass
print(int(n) >= 0, tf.strings.join(["a", "b"]).numpy().decode(), (tf.ones((2, 2)) @ tf.ones((2, 1))).numpy().sum())
assert tf.executing_eagerly(), tf.constant("never")
total = 0
total += int(tf.add(1, 2))
try:
    tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))
except tf.errors.InvalidArgumentError:
    total += int(tf.constant(10))
print(total, *tf.constant([7, 8]).numpy(), sep="/")
