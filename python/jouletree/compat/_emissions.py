"""Questions to ``jouletree emissions``, which knows carbon, configuration and files: one JSON object each way.

A question that fails costs the answer and never the program; the reason is shown once.
"""

from __future__ import annotations

import sys

from ._notices import warn, warn_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._meter import Reading

_VERSION = 1
#: A command that takes longer than this is stuck, on a folder that does not answer, say.
_PATIENCE = 60.0


class Refused(Exception):
    """What the command says when it cannot do what it was asked."""


def ask(
    settings: dict[str, Any],
    run_id: str,
    reading: Reading,
    write: Optional[list[dict[str, Any]]] = None,
    about: Optional[dict[str, str]] = None,
    **more: Any,
) -> Optional[dict[str, Any]]:
    """What a reading means in carbon, and files with it; ``None`` where that cannot be known.

    `about` says more about the run. A row that cannot be written causes a warning; the answer comes all the same.
    """
    request = {
        "version": _VERSION,
        "settings": settings,
        "run": {
            "run_id": run_id,
            "start_ns": reading.end_ns - round(reading.seconds * 1e9),
            "end_ns": reading.end_ns,
            "python_version": sys.version.split()[0],
            **(about or {}),
        },
        "devices": reading.rows,
        "write": write or [],
        **{name: value for name, value in more.items() if value is not None},
    }
    if reading.missed > 0 and reading.rows:
        warn_once(f"{reading.missed:.1f} s of {reading.seconds:.1f} s are missing: the recorder did not answer")
    try:
        answer = _answer(request)
    except Refused as refusal:
        paths = ", ".join(target["path"] for target in write or ())
        warn(f"{refusal}; nothing was written to {paths}") if paths else warn_once(str(refusal))
        return None
    for warning in answer.get("warnings") or ():
        warn_once(str(warning))
    return answer


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    import json
    import subprocess

    from .. import _binary

    binary = _binary.find()
    if binary is None:
        raise Refused(_binary.MISSING)
    try:
        done = subprocess.run(
            [binary, "emissions"],
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Refused(f"`jouletree emissions` cannot be run: {error}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise Refused(said or f"`jouletree emissions` ended with status {done.returncode}")
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        raise Refused(f"the answer of `jouletree emissions` is no JSON: {error}") from None
    if answer.get("version") != _VERSION:
        raise Refused(
            f"`jouletree emissions` answers in version {answer.get('version')}, and this package reads {_VERSION}; "
            "install the command and the package from the same release"
        )
    return answer
