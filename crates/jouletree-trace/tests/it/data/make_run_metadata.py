#!/usr/bin/env python3
"""Records two training steps of a small network in every form in which TensorFlow 1 sessions give them.

    python -m venv tf && tf/bin/pip install tensorflow-cpu==2.15.1
    tf/bin/python make_run_metadata.py        # writes beside itself

Made with Python 3.11.7, tensorflow-cpu 2.15.1, numpy 1.26.4. Times differ from run to run, everything else stays.

tiny_timeline-2.json.gz, tiny_timeline-3.json.gz
    the timelines of global steps 2 and 3
tiny_events.gz
    an event file as `ProfilerHook` leaves it: the graph, and the same two steps as run metadata; like the hook, the
    script makes the timeline first, which numbers the lanes in the run metadata
tiny_run_metadata.pb.gz
    step 2 as `Session.run` returned it, with partition graphs and without lanes
"""

import glob
import gzip
import os
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.client import timeline

HERE = Path(__file__).parent
FEATURES, HIDDEN, CLASSES, BATCH = 16, 32, 4, 8


def network(features):
    with tf.variable_scope("net"):
        hidden = features
        for number in range(2):
            with tf.variable_scope(f"layer_{number}"):
                hidden = tf.layers.dense(hidden, HIDDEN, tf.nn.relu, name="dense")
        return tf.layers.dense(hidden, CLASSES, name="logits")


def adam(loss, rate=0.01, first=0.9, second=0.99):
    """Adam by hand: its operations have no scope of their own, only its moments carry the names of their variables."""
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
    updates = []
    for variable, gradient in zip(variables, gradients):
        name = variable.op.name
        zeros = dict(shape=variable.shape, trainable=False, initializer=tf.zeros_initializer())
        mean = tf.get_variable(name + "/adam_m", **zeros)
        square = tf.get_variable(name + "/adam_v", **zeros)
        next_mean = first * mean + (1.0 - first) * gradient
        next_square = second * square + (1.0 - second) * tf.square(gradient)
        updated = variable - rate * next_mean / (tf.sqrt(next_square) + 1e-6)
        updates += [variable.assign(updated), mean.assign(next_mean), square.assign(next_square)]
    return tf.group(*updates, tf.train.get_global_step().assign_add(1))


def pack(name, content):
    with open(HERE / name, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(content)


def main():
    with tf.Graph().as_default() as graph, tempfile.TemporaryDirectory() as folder:
        tf.train.get_or_create_global_step()
        features = tf.placeholder(tf.float32, [BATCH, FEATURES], "features")
        labels = tf.placeholder(tf.int32, [BATCH], "labels")
        logits = network(features)
        with tf.variable_scope("loss"):
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
        train = adam(loss)
        random = np.random.default_rng(1)
        feed = {
            features: random.normal(size=(BATCH, FEATURES)).astype("float32"),
            labels: random.integers(0, CLASSES, BATCH).astype("int32"),
        }
        writer = tf.summary.FileWriter(folder, graph)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
        with tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=2)) as session:
            session.run(tf.global_variables_initializer())
            session.run(train, feed)
            # The first traced run is discarded: it carries the cost of starting the profiler.
            session.run(loss, feed, options=options, run_metadata=tf.RunMetadata())
            for step in (2, 3):
                metadata = tf.RunMetadata()
                session.run(train, feed, options=options, run_metadata=metadata)
                if step == 2:
                    pack("tiny_run_metadata.pb.gz", metadata.SerializeToString())
                metadata.ClearField("partition_graphs")
                written = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format(show_dataflow=True)
                pack(f"tiny_timeline-{step}.json.gz", written.encode())
                writer.add_run_metadata(metadata, f"step_{step}")
        writer.close()
        (events,) = glob.glob(folder + "/events.out.tfevents.*")
        pack("tiny_events.gz", Path(events).read_bytes())


if __name__ == "__main__":
    main()
