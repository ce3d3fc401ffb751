"""Where the ``jouletree`` command is."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

#: The environment variable that names the command, where it is neither beside Python nor on the path.
BINARY = "JOULETREE_BINARY"


def find() -> Optional[str]:
    """The path of the command; ``None`` when there is none."""
    import shutil
    import sysconfig

    named = os.environ.get(BINARY)
    if named:
        return shutil.which(named)
    for folder in (os.path.dirname(sys.executable), sysconfig.get_path("scripts")):
        found = shutil.which("jouletree", path=folder) if folder else None
        if found:
            return found
    return shutil.which("jouletree")


#: What to say where there is none.
MISSING = f"there is no `jouletree` command; install it beside this Python, or name it in {BINARY}"
