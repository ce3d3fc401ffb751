//! Reads the traces of deep-learning frameworks.
