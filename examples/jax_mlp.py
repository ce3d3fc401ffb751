"""Trains a multilayer perceptron with JAX alone, on made-up data.

Layers are named by `jax.named_scope`, and so are the loss and the optimizer, Adam:

    jouletree run -- python examples/jax_mlp.py
    jouletree run --level op --steps 10..20 -- python examples/jax_mlp.py --layers 8 --hidden 2048
"""

from __future__ import annotations

import argparse
import functools
import time

import jax
import jax.numpy as jnp
import numpy


def initial_parameters(random: numpy.random.Generator, sizes: list[int]) -> dict:
    """Weights and biases of every layer, by its name."""
    return {
        f"dense_{layer}": {
            "kernel": jnp.asarray(random.normal(0, (2 / inputs) ** 0.5, (inputs, outputs)), jnp.float32),
            "bias": jnp.zeros(outputs, jnp.float32),
        }
        for layer, (inputs, outputs) in enumerate(zip(sizes, sizes[1:]))
    }


def logits_of(parameters: dict, inputs: jax.Array) -> jax.Array:
    """The model."""
    hidden = inputs
    last = len(parameters) - 1
    with jax.named_scope("mlp"):
        for layer in range(last + 1):
            own = parameters[f"dense_{layer}"]
            with jax.named_scope(f"dense_{layer}"):
                hidden = hidden @ own["kernel"] + own["bias"]
                if layer < last:
                    hidden = jax.nn.gelu(hidden)
    return hidden


def loss_of(parameters: dict, inputs: jax.Array, labels: jax.Array) -> jax.Array:
    """The mean cross entropy."""
    logits = logits_of(parameters, inputs)
    with jax.named_scope("loss"):
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
        return -chosen.mean()


def adam(parameters: dict, gradients: dict, state: dict, rate: float = 1e-3) -> tuple[dict, dict]:
    """One step of Adam."""
    count = state["count"] + 1
    mean = jax.tree_util.tree_map(lambda old, new: 0.9 * old + 0.1 * new, state["mean"], gradients)
    square = jax.tree_util.tree_map(lambda old, new: 0.999 * old + 0.001 * new * new, state["square"], gradients)
    scale = rate * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    parameters = jax.tree_util.tree_map(
        lambda value, m, v: value - scale * m / (jnp.sqrt(v) + 1e-8), parameters, mean, square
    )
    return parameters, {"count": count, "mean": mean, "square": square}


@functools.partial(jax.jit, donate_argnums=(0, 1))
def train_step(parameters: dict, state: dict, inputs: jax.Array, labels: jax.Array) -> tuple[dict, dict, jax.Array]:
    """One training step."""
    loss, gradients = jax.value_and_grad(loss_of)(parameters, inputs, labels)
    with jax.named_scope("optimizer"):
        parameters, state = adam(parameters, gradients, state)
    return parameters, state, loss


@jax.jit
def evaluate(parameters: dict, inputs: jax.Array, labels: jax.Array) -> jax.Array:
    """How many of the labels are found."""
    logits = logits_of(parameters, inputs)
    with jax.named_scope("accuracy"):
        return (logits.argmax(-1) == labels).mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--features", type=int, default=784)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()

    random = numpy.random.default_rng(0)
    sizes = [arguments.features] + [arguments.hidden] * (arguments.layers - 1) + [arguments.classes]
    parameters = initial_parameters(random, sizes)
    zeros = jax.tree_util.tree_map(jnp.zeros_like, parameters)
    state = {"count": jnp.zeros((), jnp.float32), "mean": zeros, "square": jax.tree_util.tree_map(jnp.copy, zeros)}
    # What is to be learnt: which of some random directions the input lies nearest to.
    directions = random.normal(size=(arguments.features, arguments.classes))

    def batch() -> tuple[numpy.ndarray, numpy.ndarray]:
        inputs = random.standard_normal((arguments.batch, arguments.features), dtype=numpy.float32)
        return inputs, (inputs @ directions).argmax(-1).astype(numpy.int32)

    batches = [batch() for _ in range(8)]
    began = time.perf_counter()
    for step in range(1, arguments.steps + 1):
        parameters, state, loss = train_step(parameters, state, *batches[step % len(batches)])
        if step % 20 == 0 or step == arguments.steps:
            print(f"step {step:4}  loss {loss:.4f}  {time.perf_counter() - began:.1f} s", flush=True)
    accuracy = numpy.mean([evaluate(parameters, *one) for one in batches])
    print(f"accuracy on what it has seen: {accuracy:.3f}")


if __name__ == "__main__":
    main()
