"""Runs programs one after another in this process and tells what each prints, as JSON; for ``test_patch``."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import runpy
import sys
import traceback

sys.dont_write_bytecode = True
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")


def output_of(program: pathlib.Path) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_path(str(program), run_name="__main__")
        except SystemExit as exit:
            print("exit", exit.code)
        except BaseException:  # noqa: BLE001 -- what a program raises is part of its output
            traceback.print_exc()
            print("failed:", traceback.format_exc(limit=0))
    return out.getvalue()


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    answers = {name: output_of(folder / name) for name in sys.argv[2:]}
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main()
