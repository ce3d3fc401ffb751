"""TensorFlow: sessions and estimators, and functions of TensorFlow 2.

Under ``jouletree run`` nothing of this is needed. Steps are found in ``Session.run``, which tf.estimator and
``MonitoredSession`` end in, and in calls of a ``tf.function``, which Keras ends in; operations come from TensorFlow's
own run metadata and profiler. :class:`EnergyHook` is for those who want to say it themselves.
"""

from __future__ import annotations

from ._session import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Optional
    from ._session import Session
    from ._tensorflow.functions import Functions
    from ._tensorflow.profiler import Windows
    from ._tensorflow.sessions import Sessions

__all__ = ["EnergyHook", "adapt"]

_sessions: Optional[Sessions] = None
_functions: Optional[Functions] = None


def adapt(tensorflow: ModuleType) -> None:
    """Begins to record what TensorFlow does in this process."""
    session = current()
    if session is None or _sessions is not None:
        return
    version = str(getattr(tensorflow, "__version__", "?"))
    try:
        _begin(session, tensorflow)
    except Exception as error:  # noqa: BLE001: what is built differently may fail in any way
        session.warn(
            f"TensorFlow {version} is not known ({type(error).__name__}: {error}); its operations are not recorded"
        )
        return
    session.uses("tensorflow", version)
    if session.level == "module":
        session.warn("TensorFlow runs graphs as a whole: with --level module there are steps, but no modules in them")


def _begin(session: Session, tensorflow: Any) -> None:
    global _sessions, _functions
    from ._tensorflow.functions import Functions
    from ._tensorflow.sessions import Sessions

    sessions = Sessions(session, tensorflow)
    watched = Functions(session, tensorflow, _windows(session, tensorflow))
    sessions.watch()
    _sessions = sessions
    watched.watch()
    _functions = watched


def functions() -> Optional[Functions]:
    """The functions that are watched, if any are."""
    return _functions


def _windows(session: Session, tensorflow: Any) -> Optional[Windows]:
    if session.level != "op":
        return None
    from ._tensorflow.profiler import Windows

    return Windows(session, tensorflow)


def __getattr__(name: str) -> Any:
    if name != "EnergyHook":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import tensorflow
    from ._tensorflow.hook import make_hook_class

    made = make_hook_class(tensorflow, lambda: _sessions)
    globals()[name] = made
    return made
