"""Pipelines: functions given to map and filter are traced."""
import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE


def scale(x):
    return tf.cast(x, tf.float32) / 10.0


def is_even(x):
    return tf.equal(x % 2, 0)


def load(count, batch=4):
    ds = tf.data.Dataset.range(count)
    ds = ds.filter(is_even)
    ds = ds.map(scale, num_parallel_calls=AUTOTUNE)
    return ds.batch(batch).prefetch(AUTOTUNE)


dataset = load(20)
for number, batch in enumerate(dataset):
    print(number, [round(v, 2) for v in batch.numpy().tolist()])
zipped = tf.data.Dataset.zip((load(8), load(12).skip(1)))
for a, b in zipped.take(1):
    print(a.shape, tf.reduce_sum(b).numpy())
print(dataset.cardinality().numpy() < 0, int(dataset.reduce(0.0, lambda s, x: s + tf.reduce_sum(x))))
print(list(tf.data.Dataset.from_tensor_slices([3, 1, 2]).shuffle(3, seed=1).as_numpy_iterator()).__len__())
