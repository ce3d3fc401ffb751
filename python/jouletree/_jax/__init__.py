"""The parts of the adapter for JAX: jitted functions, the steps their calls make, and the profiler's windows."""
