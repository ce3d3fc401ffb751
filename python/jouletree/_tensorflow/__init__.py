"""The parts of the TensorFlow adapter: sessions, functions, the profiler, and what graphs are for."""
