"""Calls of libraries, recorded one by one: programs are patched as Python loads them, and every call is noted.

Begun by ``jouletree run --libraries …``. `importer` has the program's files patched, `recorder` notes calls, `sizes` says
how large arguments are.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._session import Session


def begin(session: Session, libraries: str, command: str) -> None:
    """Has this process's calls of `libraries`, separated by commas, recorded; `command` is jouletree itself."""
    from .. import calls
    from .importer import Patcher, install
    from .recorder import CallRecorder

    patcher = Patcher(session, libraries.split(","), command)
    calls.install(CallRecorder(session, patcher))
    install(patcher)
