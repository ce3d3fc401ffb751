#!/bin/sh
# Generates the Rust code of the protocols in proto/. `--check` compares the digest of their sources with the recorded one
# instead, which needs no compiler.
set -eu
cd "$(dirname "$0")/.."
generated=crates/jouletree-daemon/src/wire/generated
digest=$(cat proto/jouletree/v1/meter.proto proto/smaragdine/sample.proto tools/protocol/src/main.rs tools/protocol/Cargo.lock |
    sha256sum | cut -d ' ' -f 1)

if [ "${1:-}" = --check ]; then
    if [ "$(cat "$generated/digest")" != "$digest" ]; then
        echo "the protocols in proto/ are newer than the code in $generated: run make protocol" >&2
        exit 1
    fi
    exit 0
fi

${CARGO:-cargo} run --quiet --locked --manifest-path tools/protocol/Cargo.toml --target-dir "${TARGET_DIR:-target}/protocol" \
    -- proto "$generated"
echo "$digest" >"$generated/digest"
