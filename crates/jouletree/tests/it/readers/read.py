"""Reads an exported file as others do and prints what it found, as JSON; fails when they would.

read.py pprof FILE      by `go tool pprof`
read.py parquet FILE    by Arrow
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig


def pprof(file):
    tools = pathlib.Path(sysconfig.get_paths()["purelib"]) / "go" / "pkg" / "tool"
    tool = next(tools.glob("*/pprof"))
    # Installers differ in whether they keep the right to run a file.
    tool.chmod(tool.stat().st_mode | 0o111)
    environment = {**os.environ, "PPROF_TMPDIR": os.path.dirname(file)}

    def told(*arguments):
        words = [tool, "-symbolize=none", *arguments, file]
        return subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout

    totals = {}
    for kind in ("energy", "time", "count"):
        raw = told("-raw", f"-sample_index={kind}")
        order = re.search(r"^Samples:\n(.*)$", raw, re.M).group(1).split()
        column = next(place for place, name in enumerate(order) if name.startswith(kind))
        rows = re.findall(r"^\s*(\d+(?:\s+\d+)*): [\d ]+$", raw, re.M)
        totals[order[column].removesuffix("[dflt]")] = sum(int(row.split()[column]) for row in rows)
    return {"totals": totals, "top": told("-top", "-sample_index=energy"), "tags": told("-tags")}


def parquet(file):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(file)
    energy = table["energy_j"].to_pylist()
    return {"columns": table.column_names, "rows": table.num_rows, "energy_j": sum(filter(None, energy))}


print(json.dumps({"pprof": pprof, "parquet": parquet}[sys.argv[1]](sys.argv[2])))
