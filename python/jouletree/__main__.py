"""``python -m jouletree``: the ``jouletree`` command that belongs to this Python."""

from __future__ import annotations

import os
import sys

from . import _binary


def main() -> int:
    """Becomes the command; returns only if that fails."""
    binary = _binary.find()
    if binary is None:
        print(f"error: {_binary.MISSING}", file=sys.stderr)
        return 127
    sys.stdout.flush()
    try:
        os.execv(binary, ["jouletree", *sys.argv[1:]])
    except OSError as error:
        print(f"error: cannot run {binary}: {error}", file=sys.stderr)
        return 126


if __name__ == "__main__":
    sys.exit(main())
