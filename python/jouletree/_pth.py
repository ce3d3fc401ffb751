"""Begins the recording of a process in which Python does not run the ``sitecustomize`` of ``jouletree run``.

``jouletree.pth``, which is installed beside this package, imports this module when Python starts under ``jouletree run``.
So a program is followed that replaces ``PYTHONPATH`` or has a ``sitecustomize`` of its own, and ``python -I`` and ``-E``.
"""

from __future__ import annotations

import os
import sys

from ._session import TRACES
from ._start import start


def _begin() -> None:
    start()
    own = os.path.dirname(os.path.abspath(__file__))
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if not sys.flags.ignore_environment and paths[0] == os.path.join(own, "_auto"):
        return
    # The recorder reports Python processes that are not followed, unless there is this mark.
    try:
        with open(os.path.join(os.environ[TRACES], f"followed-{os.getpid()}"), "w"):
            pass
    except OSError:
        pass


try:
    _begin()
except Exception as error:  # noqa: BLE001 -- the user's program matters more than its recording
    if not os.environ.get("JOULETREE_QUIET"):
        sys.stderr.write(f"jouletree: this process is recorded without its operations: {error}\n")
