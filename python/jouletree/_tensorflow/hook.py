"""``EnergyHook``: says of a monitored session that its runs are steps."""

from __future__ import annotations

import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional
    from .sessions import Sessions


def make_hook_class(tensorflow: Any, sessions_of: Any) -> type:
    """Makes the class, which derives from one of TensorFlow's; `sessions_of()` are the watched sessions, if any."""

    class EnergyHook(tensorflow.compat.v1.train.SessionRunHook):
        """A hook for tf.estimator and ``MonitoredSession`` whose steps are recorded.

        Under ``jouletree run`` steps are found without it; with it every run of the session is one, whatever its graph
        looks like, and of the phase that is given (``train``, ``evaluate``, ``predict``) if the graph does not show it.
        Operations of the chosen steps are recorded as TensorFlow's own run metadata. Without ``jouletree run`` it does
        nothing.
        """

        def __init__(self, phase: Optional[str] = None) -> None:
            self._phase = phase
            self._sessions: Optional[Sessions] = sessions_of()
            if self._sessions is None:
                warnings.warn("EnergyHook does nothing: start the program with `jouletree run`", stacklevel=2)

        def before_run(self, run_context: Any) -> None:
            if self._sessions is not None:
                self._sessions.announce(self._phase)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            if self._sessions is not None:
                self._sessions.unsay()

    EnergyHook.__module__ = "jouletree.tensorflow"
    EnergyHook.__qualname__ = "EnergyHook"
    return EnergyHook
