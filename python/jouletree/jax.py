"""JAX: steps of jitted functions, and their operations by `jax.profiler`.

What a step is, is defined in ``_jax/calls.py``; when it ends, in ``_jax/steps.py``. Operations and layers come from the
compiled programs in the profiler's files: layers are what the program names by `jax.named_scope`, or what its library
(Flax's linen, Haiku) does; modules of Flax NNX and Equinox are named in ``_jax/modules.py``. A compiled program runs no
Python for each layer, so that ``--level module`` knows steps and compilation only.

Tried with JAX 0.10, 0.4.34 and 0.4.30, on CPUs only. Profiles of 0.4.30 hold no operations of CPUs, and XLA of these
old versions writes a line to stderr whenever its profiler starts without TensorFlow.
"""

from __future__ import annotations

from ._session import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def adapt(jax: Any) -> None:
    """Sees the calls of jitted functions from here on."""
    session = current()
    if session is None or session.level == "process":
        return
    from ._jax.compilation import Compilation
    from ._jax.functions import see_compiled, seeing
    from ._jax.modules import Modules
    from ._jax.steps import Steps

    steps = Steps(session, jax)
    Compilation(session, jax, steps)
    jax.jit = seeing(jax.jit, steps)
    jax.pmap = seeing(jax.pmap, steps)
    see_compiled(jax.stages.Compiled, steps)
    if session.level == "op":
        Modules(jax)
    _stay_out_of_tracebacks()
    session.uses("jax", jax.__version__)
    if _version_of(jax) < (0, 4, 34):
        session.warn(f"JAX {jax.__version__} may not record operations of CPUs; 0.4.34 and later do")


def _version_of(jax: ModuleType) -> tuple[int, ...]:
    return tuple(int(part) for part in jax.__version__.split(".")[:3] if part.isdigit())


def _stay_out_of_tracebacks() -> None:
    """Has JAX leave these files out of the tracebacks that it shortens, and of the places that it names in programs."""
    from jax._src import source_info_util, traceback_util

    from ._jax import functions, modules, steps

    for module in (functions, modules, steps):
        traceback_util.register_exclusion(module.__file__)
        source_info_util.register_exclusion(module.__file__)
