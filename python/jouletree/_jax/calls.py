"""Which calls of jitted functions begin a step.

JAX does not know steps: a program calls functions that it has compiled, and some of these calls are what people would
name a training step or an inference. What is taken for a step:

- Only outermost calls of functions that code outside of JAX has jitted (`jax.jit`, `jax.pmap`, or ahead of time by
  ``lower(…).compile()``). Calls within a transformation that is being traced are not calls at all, and what
  `jax.numpy` compiles for itself is not seen.
- The first call of a function begins a step: it compiles, and may be the only call, as in a program that trains
  within one `lax.scan`.
- A call of a *light* function belongs to the step that is under way. Light is what takes less than a tenth of the
  time of the function that began the step; every function is timed at its second and its third call, the only times
  that the program is made to wait. After twenty light calls in a row a light function has become the main thing, and
  begins steps.
- Functions that take turns (gradients and update, discriminator and generator) make a step together, which begins
  with the first of them. A function takes turns with the one that began the step if it ran exactly once between that
  one's last two calls. This shows at its second call; its first one, which began a step, then joins the step before it.
- Every other call begins a step.

This errs in a program whose helper is as heavy as its training step and is called at irregular times: it begins steps
of its own. A training step that is always followed by one evaluation is one step with it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

#: A function that takes less than this part of the step's first one does not begin a step…
_LIGHT = 0.1
#: … unless it is called so often in a row.
_IN_A_ROW = 20
#: The calls by which a function is timed: the first one compiles, and the second may once more.
_TIMED = (1, 2)

_EVALUATE = ("eval", "valid", "test")
_PREDICT = ("predict", "infer", "forward", "apply", "generate", "sample", "decode", "prefill", "logits", "serve")


class Function:
    """What is known of a jitted function."""

    __slots__ = ("label", "phase", "calls", "last", "previous", "seconds", "longest_ns")

    def __init__(self, name: str, label: Optional[str] = None) -> None:
        #: What its steps are called: its name, unless another function has the same.
        self.label = name if label is None else label
        self.phase = phase_of(name)
        self.calls = 0
        #: The numbers, among all calls, of the last call and of the one before it.
        self.last = -1
        self.previous = -1
        #: How long a call takes until its results are there.
        self.seconds: Optional[float] = None
        #: The longest step that it began, those apart in which it was compiled.
        self.longest_ns = 0

    def was_called_once(self) -> bool:
        """Whether it was called for the first time and not since."""
        return self.last >= 0 > self.previous

    def is_to_be_timed(self) -> bool:
        """Whether the call that comes now is one by which the function is timed."""
        return self.calls in _TIMED

    def took(self, seconds: float) -> None:
        """Notes a timed call."""
        self.seconds = seconds if self.seconds is None else min(self.seconds, seconds)


class Calls:
    """The calls so far."""

    def __init__(self) -> None:
        self.leader: Optional[Function] = None
        #: Called with a function whose second call shows that it takes turns with the one that leads.
        self.when_in_turn: Optional[Callable[[Function], Any]] = None
        self._number = 0
        self._light = 0

    def begins_step(self, function: Function) -> bool:
        """Whether the call of this function that comes now begins a step; counts the call."""
        begins = self._begins(function)
        if begins:
            self.leader = function
            self._light = 0
        function.previous, function.last = function.last, self._number
        function.calls += 1
        self._number += 1
        return begins

    def _begins(self, function: Function) -> bool:
        leader = self.leader
        if leader is None or function is leader or function.calls == 0:
            return True
        if function.seconds is not None and leader.seconds is not None and function.seconds < _LIGHT * leader.seconds:
            self._light += 1
            return self._light > _IN_A_ROW
        if not 0 <= leader.previous < function.last < leader.last or function.previous > leader.previous:
            return True
        if function.was_called_once() and self.when_in_turn is not None:
            self.when_in_turn(function)
        return False


def phase_of(name: str) -> str:
    """What a function does, by its name: nothing else shows it."""
    words = name.lower()
    if "train" in words:
        return "train"
    if any(word in words for word in _EVALUATE):
        return "evaluate"
    if any(word in words for word in _PREDICT):
        return "predict"
    return "train"
