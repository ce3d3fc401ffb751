#!/usr/bin/env bash
# Builds the wheel, installs it into an empty environment, and tries what users try first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$TARGET_DIR/package
builder=$TARGET_DIR/maturin-venv
if [ ! -x "$builder/bin/maturin" ]; then
    "$PYTHON" -m venv "$builder"
    "$builder/bin/python" -m pip install --quiet --disable-pip-version-check maturin==1.16.0
fi
rm -rf "$work"
mkdir -p "$work"
CARGO_TARGET_DIR=$TARGET_DIR "$builder/bin/maturin" build --release --out "$work"
"$PYTHON" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$work"/*.whl

cd "$work"
"$work/venv/bin/jouletree" --version
"$work/venv/bin/python" -m jouletree --version
"$work/venv/bin/python" - <<'PYTHON'
import jouletree

with jouletree.window("a window") as window:
    sum(range(3_000_000))
print(f"a window in a program of its own: {window.measurement}")
assert window.measurement is not None and window.measurement.joules >= 0
PYTHON
"$work/venv/bin/jouletree" run -q -o "$work/run" -- "$work/venv/bin/python" -c 'import jouletree; print(jouletree.__file__)'
# An installed package follows a Python that replaces its search path, and one that ignores it.
for start in 'PYTHONPATH=. python' 'python -I'; do
    rm -rf "$work/followed"
    PATH=$work/venv/bin:$PATH "$work/venv/bin/jouletree" run -q -o "$work/followed" -- sh -c \
        "$start -c 'from jouletree import _session as s; assert s.current() is not None'"
done
echo 'package: built, installed and tried'
