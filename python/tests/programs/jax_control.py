"""Control flow that is traced, and eager NumPy-like code beside it."""
import jax
import jax.numpy as jnp
from jax import lax


def body(carry, x):
    carry = carry + jnp.sin(x)
    return carry, jnp.square(x)


total, squares = lax.scan(body, 0.0, jnp.arange(3.0))
print(round(float(total), 4), squares.tolist())
print(int(lax.fori_loop(0, 4, lambda i, acc: acc + i, 0)))
print(float(lax.cond(True, lambda v: v * 2, lambda v: v, 3.0)))
a = jnp.array([[1.0, 2.0], [3.0, 4.0]])
print(jnp.linalg.det(a).round(3).item(), a.T.sum(axis=0).tolist())
print(a.at[0, 0].set(9.0)[0].tolist(), jnp.where(a > 2, a, 0).sum().item())
print(jax.devices()[0].platform in ("cpu", "gpu", "tpu"), jax.numpy.allclose(a, a))


class Counter:
    def __init__(self, start):
        self.value = jnp.asarray(start)

    def add(self, other):
        self.value = jnp.add(self.value, other)
        return self


print(Counter(1).add(2).add(jnp.ones(())).value.item())
