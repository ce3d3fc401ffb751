"""Generators, iterators and context managers that hand on what belongs to the library."""
import contextlib

import tensorflow as tf


def tensors(count):
    for i in range(count):
        yield tf.fill((2,), i)


def doubled(source):
    for tensor in source:
        yield tf.add(tensor, tensor)


@contextlib.contextmanager
def recording(variable):
    with tf.GradientTape() as tape:
        tape.watch(variable)
        yield tape


def both():
    yield from tensors(1)
    yield from doubled(tensors(2))


for tensor in both():
    print(tensor.numpy().tolist())
x = tf.constant(3.0)
with recording(x) as tape:
    y = x * x
print(float(tape.gradient(y, x)))
iterator = iter(tf.data.Dataset.range(3))
print(int(next(iterator)), int(iterator.get_next()))
made = tf.data.Dataset.from_generator(lambda: (i for i in range(2)), output_signature=tf.TensorSpec((), tf.int32))
print(sum(int(t) for t in made), sum(map(int, map(tf.square, [tf.constant(2)]))))
