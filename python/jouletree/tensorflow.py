"""TensorFlow: sessions and estimators, and functions of TensorFlow 2.

Under ``jouletree run`` nothing of this is needed. Steps are found in ``Session.run``, which tf.estimator and
``MonitoredSession`` end in, and in calls of a ``tf.function``, which Keras ends in; operations come from TensorFlow's own
run metadata and profiler. :class:`EnergyHook` is for those who want to say it themselves.
"""

from __future__ import annotations

from ._session import current, guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Optional
    from ._tensorflow.functions import Functions
    from ._tensorflow.sessions import Sessions

__all__ = ["EnergyHook", "adapt"]

_OLDEST = (2, 4)

_sessions: Optional[Sessions] = None
_functions: Optional[Functions] = None


def adapt(tensorflow: ModuleType) -> None:
    """Begins to record what TensorFlow does in this process."""
    global _sessions, _functions
    session = current()
    if session is None or _sessions is not None:
        return
    version = getattr(tensorflow, "__version__", "?")
    if _release(version) < _OLDEST:
        session.warn(f"TensorFlow {version} is not known; its operations are not recorded")
        return
    from ._tensorflow.functions import Functions
    from ._tensorflow.sessions import Sessions

    session.uses("tensorflow", version)
    _sessions = Sessions(session, tensorflow)
    _functions = Functions(session, tensorflow, guarded(_windows, session, tensorflow))
    for watched in (_sessions, _functions):
        _watch(session, watched, version)
    if session.level == "module":
        session.warn("TensorFlow runs graphs as a whole: with --level module there are steps, but no modules in them")


def _watch(session: Any, watched: Any, version: str) -> None:
    try:
        watched.watch()
    except Exception as error:  # noqa: BLE001: what is built differently may fail in any way
        session.warn(
            f"TensorFlow {version} is not known ({type(error).__name__}: {error}); what its "
            f"{type(watched).__name__.lower()} do is not recorded"
        )


def functions() -> Optional[Functions]:
    """The functions that are watched, if any are."""
    return _functions


def _windows(session: Any, tensorflow: Any) -> Any:
    if session.level != "op":
        return None
    from ._tensorflow.profiler import Windows

    return Windows(session, tensorflow)


def _release(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


def __getattr__(name: str) -> Any:
    if name != "EnergyHook":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import tensorflow
    from ._tensorflow.hook import make_hook_class

    made = make_hook_class(tensorflow, lambda: _sessions)
    globals()[name] = made
    return made
