#!/bin/sh
# Fuzzes every target of fuzz/, each for the given number of seconds.
#
# Works with a stable toolchain: without a sanitizer, cargo-fuzz needs only flags that stable rustc knows. What is
# learned (the corpus) and the cargo-fuzz program are kept in JOULETREE_CACHE if that is set; inputs that crash a
# target are left in fuzz/artifacts. Seeds in fuzz/seeds/<target>, if there are any, are read and never written.
set -eu

seconds=$1
cargo=${CARGO:-cargo}
cd "$(dirname "$0")/.."
target_dir=${TARGET_DIR:-$PWD/target}

if [ ! -f fuzz/Cargo.toml ]; then
    echo 'fuzz: fuzz/Cargo.toml is missing; restore it from the repository' >&2
    exit 1
fi

tools=${JOULETREE_CACHE:-$target_dir}/tools
PATH="$tools/bin:$PATH"
export PATH
if ! command -v cargo-fuzz >/dev/null 2>&1; then
    env -u CARGO_TARGET_DIR "$cargo" install cargo-fuzz --locked --root "$tools"
fi

# Instrumented code is kept apart from ordinary builds.
CARGO_TARGET_DIR="$target_dir/fuzz"
export CARGO_TARGET_DIR

# All at once: linking one after the other leaves processors idle.
"$cargo" fuzz build --sanitizer none
targets=$("$cargo" fuzz list)
for target in $targets; do
    corpus=${JOULETREE_CACHE:-$PWD/fuzz}/corpus/$target
    mkdir -p "$corpus"
    set -- "$corpus"
    if [ -d "fuzz/seeds/$target" ]; then
        set -- "$@" "fuzz/seeds/$target"
    fi
    echo "fuzz: $target for $seconds s"
    "$cargo" fuzz run "$target" --sanitizer none "$@" -- \
        -max_total_time="$seconds" -rss_limit_mb=4096 -max_len=65536 -print_final_stats=1
done
