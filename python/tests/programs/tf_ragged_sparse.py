"""Tensors that are not plain, saved and read in TFRecord files."""
import os
import tempfile

import tensorflow as tf


def example(value):
    feature = {"v": tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parse(raw):
    return tf.io.parse_single_example(raw, {"v": tf.io.FixedLenFeature([], tf.int64)})["v"]


ragged = tf.ragged.constant([[1, 2], [3]])
print(ragged.to_list(), int(ragged.bounding_shape()[1]))
sparse = tf.sparse.from_dense([[0, 1], [2, 0]])
print(tf.sparse.to_dense(sparse).numpy().tolist())
with tempfile.TemporaryDirectory() as folder:
    name = os.path.join(folder, "x.tfrecord")
    with tf.io.TFRecordWriter(name) as writer:
        for value in (3, 4):
            writer.write(example(value))
    records = tf.data.TFRecordDataset(name).map(parse)
    print([int(record) for record in records], tf.io.gfile.exists(name))
