"""Pure functions, gradients and compilation."""
from functools import partial

import jax
import jax.numpy as jnp
from jax import grad, jit, random, value_and_grad, vmap


def predict(params, x):
    w, b = params
    return jnp.dot(x, w) + b


def loss(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


@jit
def update(params, x, y, rate=0.1):
    value, grads = value_and_grad(loss)(params, x, y)
    return value, [p - rate * g for p, g in zip(params, grads)]


@partial(jax.jit, static_argnums=1)
def power(x, n):
    return jnp.power(x, n)


key = random.PRNGKey(0)
key, sub = random.split(key)
x = random.normal(sub, (8, 3))
y = jnp.sum(x, axis=1)
params = [jnp.zeros(3), jnp.zeros(())]
for _ in range(3):
    value, params = update(params, x, y)
    print(round(float(value), 4))
print(power(jnp.arange(3.0), 2).tolist())
print(float(grad(lambda v: jnp.sin(v))(0.0)))
print(vmap(lambda row: jnp.sum(row))(jnp.ones((2, 3))).tolist())
print(jax.tree_util.tree_map(jnp.shape, {"a": jnp.ones(2)}))
