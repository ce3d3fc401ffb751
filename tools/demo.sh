#!/usr/bin/env bash
# The main job, from nothing: builds jouletree, installs TensorFlow into a cache folder, trains a small BERT under
# `jouletree run` and says where its joules went. A second call finds everything and starts at once.
#
#   tools/demo.sh TARGET_DIR      CARGO and PYTHON name the programs to use
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$1
run=$target/demo/run

say() { printf 'demo: %s\n' "$*" >&2; }

say 'building jouletree (some minutes, once) ...'
"$CARGO" build --release --locked -p jouletree

# tf.estimator, in which the paper's models are written, ends with TensorFlow 2.15, and that with Python 3.11.
if "$PYTHON" -c 'import sys; sys.exit(sys.version_info >= (3, 12))'; then
    environment=tensorflow-2.15
    program=(examples/bert_estimator.py)
else
    environment=tensorflow
    program=(examples/bert_keras.py)
fi
python=$("$PYTHON" tools/environment.py "$environment")

say "training a small BERT under jouletree: ${program[*]}"
rm -rf "$run"
mkdir -p "$(dirname "$run")"
"$target/release/jouletree" run -o "$run" -- "$python" "${program[@]}"
