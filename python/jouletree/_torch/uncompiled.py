"""Has torch's compiler leave our functions alone.

Where a program's function is compiled only in part, everything it calls is looked at as well, our hooks among it: each
would be compiled in vain, and an export, which allows for one function only, would fail.
"""

from __future__ import annotations

import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator


def leave_alone(torch: Any) -> None:
    """Marks all functions of this package, as they are now, as not to be compiled."""
    frames = torch._C._dynamo.eval_frame
    skip = getattr(frames, "skip_code", None)
    if skip is None:
        # Newer versions derive what is to become of a function from what is to become of those that it calls.
        action = frames._FrameAction
        strategy = frames._FrameExecStrategy(action.SKIP, action.DEFAULT)

        def skip(code: types.CodeType) -> None:
            frames.set_code_exec_strategy(code, strategy)

    package = __name__.partition(".")[0]
    met: set[types.CodeType] = set()
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            for code in _codes(vars(module).values(), module.__name__):
                if code not in met:
                    met.add(code)
                    skip(code)


def _codes(values: Any, module: str) -> Iterator[types.CodeType]:
    for value in list(values):
        if isinstance(value, types.FunctionType) and value.__module__ == module:
            yield from _nested(value.__code__)
        elif isinstance(value, type) and value.__module__ == module:
            for member in list(vars(value).values()):
                function = getattr(member, "__func__", member)
                if isinstance(function, types.FunctionType):
                    yield from _nested(function.__code__)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)
