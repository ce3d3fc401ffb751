"""TensorFlow: sessions and estimators, and functions of TensorFlow 2.

Under ``jouletree run`` nothing of this is needed. Steps are found in ``Session.run``, which tf.estimator and
``MonitoredSession`` end in, in calls of a ``tf.function``, which Keras ends in, and where neither is used in tapes
and calls of models; operations come from TensorFlow's own run metadata and profiler. :class:`EnergyHook` is for those
who want to say it themselves.
"""

from __future__ import annotations

import os
from ._imports import when_imported
from ._session import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Optional
    from ._session import Session
    from ._tensorflow.eager import Eager
    from ._tensorflow.functions import Functions
    from ._tensorflow.profiler import Windows
    from ._tensorflow.scopes import Scopes
    from ._tensorflow.sessions import Sessions

    #: Made when it is first asked for.
    EnergyHook: Any

__all__ = ["EnergyHook", "adapt"]

_sessions: Optional[Sessions] = None
_functions: Optional[Functions] = None
_eager: Optional[Eager] = None
_scopes: Optional[Scopes] = None


def adapt(tensorflow: ModuleType) -> None:
    """Begins to record what TensorFlow does in this process."""
    session = current()
    if session is None or _sessions is not None:
        return
    version = str(getattr(tensorflow, "__version__", "?"))
    try:
        _begin(session, tensorflow)
    except Exception as error:  # noqa: BLE001 -- what is built differently may fail in any way
        session.warn(
            f"TensorFlow {version} is not known ({type(error).__name__}: {error}); its operations are not recorded"
        )
        return
    session.uses("tensorflow", version)


def _begin(session: Session, tensorflow: Any) -> None:
    global _sessions, _functions, _eager, _scopes
    from ._tensorflow import lite
    from ._tensorflow.eager import Eager
    from ._tensorflow.functions import Functions
    from ._tensorflow.scopes import Scopes
    from ._tensorflow.sessions import Sessions
    from ._tensorflow.tracing import Tracing

    process = os.getpid()
    # The first to be asked for is the last to be done, when all steps are known.
    session.at_end(lambda: _say_what_is_missing(session, tensorflow, process))
    sessions, scopes, tracing = Sessions(session, tensorflow), Scopes(tensorflow), Tracing(session)
    windows = _windows(session, tensorflow, scopes)
    watched = Functions(session, tensorflow, windows, scopes)
    tracing.traced = watched.traced
    sessions.watch()
    _sessions = sessions
    watched.watch()
    tracing.watch()
    _functions = watched
    scopes.watch()
    _scopes = scopes
    eager = Eager(session, tensorflow, watched, windows, scopes)
    eager.watch()
    _eager = eager
    when_imported("tensorflow.lite.python.interpreter", lambda module: lite.watch(session, module))


def _say_what_is_missing(session: Session, tensorflow: Any, process: int) -> None:
    """A program that ran operations but no step should not look for them in vain."""
    if os.getpid() != process:
        # The operations of a forked process may be those of the process that it comes from.
        return
    from tensorflow.python.eager import context

    if session.level == "op" and not session.has_steps() and context.context()._context_handle is not None:
        session.warn(
            "TensorFlow was used, but no step was found: no tf.function, no Keras model and no GradientTape ran; "
            "run the program's work in one of them to see its operations"
        )


def functions() -> Optional[Functions]:
    """The functions that are watched, if any are."""
    return _functions


def eager() -> Optional[Eager]:
    """The steps without functions that are watched, if any are."""
    return _eager


def scopes() -> Optional[Scopes]:
    """The scopes that are watched, if any are."""
    return _scopes


def _windows(session: Session, tensorflow: Any, scopes: Scopes) -> Optional[Windows]:
    if session.level != "op":
        return None
    from ._tensorflow.profiler import Windows

    return Windows(session, tensorflow, scopes)


def __getattr__(name: str) -> Any:
    if name != "EnergyHook":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import tensorflow
    from ._tensorflow.hook import make_hook_class

    made = make_hook_class(tensorflow, lambda: _sessions)
    globals()[name] = made
    return made
