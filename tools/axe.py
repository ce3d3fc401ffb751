#!/usr/bin/env python3
"""Gets axe-core, the rules of accessibility that tests hold pages against, and prints the path of its script.

JOULETREE_AXE names one. Else it is in the cache folder, or npm gets the pinned version there, whose digest is checked.
It is used by tests only, and its licence (MPL-2.0) is beside it.

Where none of this works, what is printed is the reason, and the exit status is 69: tests are skipped then.
"""

import base64
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

from environment import cache_folder

UNAVAILABLE = 69
VERSION = "4.14.1"
# As registries publish it.
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
SCRIPT, LICENCE = "axe.min.js", "LICENSE"
REMEDY = "install npm, or name an axe.min.js in JOULETREE_AXE"


class Unavailable(Exception):
    """Why there is no axe-core."""


def get(place: pathlib.Path) -> None:
    """Downloads the package with npm and keeps its script and its licence."""
    npm = shutil.which("npm")
    if not npm:
        raise Unavailable(f"there is no npm to get axe-core with; {REMEDY}")
    print(f"axe-core {VERSION}: downloading, once ...", file=sys.stderr, flush=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        words = [npm, "pack", "--silent", f"axe-core@{VERSION}"]
        try:
            ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"npm did not get axe-core: {error}; {REMEDY}") from error
        package = next(pathlib.Path(folder).glob("*.tgz"), None)
        if ended.returncode or package is None:
            last = ended.stderr.strip().splitlines()[-1:] or ["no message"]
            raise Unavailable(f"npm did not get axe-core: {last[0]}; {REMEDY}")
        digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
        if digest != SHA512:
            raise Unavailable(f"the axe-core that npm got is not the pinned one: its digest is {digest}")
        made = pathlib.Path(folder) / "made"
        made.mkdir()
        with tarfile.open(package) as archive:
            for name in (SCRIPT, LICENCE):
                content = archive.extractfile(f"package/{name}")
                if content is None:
                    raise Unavailable(f"axe-core {VERSION} has no {name}")
                (made / name).write_bytes(content.read())
        # Another process may have been faster.
        try:
            made.rename(place)
        except OSError:
            if not (place / SCRIPT).is_file():
                raise


def main() -> int:
    named = os.environ.get("JOULETREE_AXE")
    place = cache_folder().absolute() / f"axe-core-{VERSION}"
    try:
        if named and not pathlib.Path(named).is_file():
            raise Unavailable(f"JOULETREE_AXE names no file: {named}")
        if not named and not (place / SCRIPT).is_file():
            get(place)
        print(named or place / SCRIPT)
    except Unavailable as reason:
        print(reason)
        return UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
