"""Graphs and sessions of TensorFlow 1, through its compatible names."""
import tensorflow.compat.v1 as tf1
import tensorflow as tf

graph = tf.Graph()
with graph.as_default():
    a = tf1.placeholder(tf.float32, shape=(2,), name="a")
    w = tf1.get_variable("w", initializer=tf.constant([2.0, 3.0]))
    y = tf.reduce_sum(a * w)
    start = tf1.global_variables_initializer()
with tf1.Session(graph=graph) as session:
    session.run(start)
    print(session.run(y, feed_dict={a: [1.0, 1.0]}))
    print(len(graph.get_operations()) > 3, session.run([w, y], {a: [0.0, 1.0]})[1])
