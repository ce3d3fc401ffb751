#!/usr/bin/env bash
# The inner loop: format, clippy and the tests of the crates that differ from BASE (default: the last commit).
#
#   tools/check.sh               what is not committed yet
#   BASE=origin/main tools/check.sh     everything since that commit
#   tools/check.sh jouletree-run        these crates, changed or not
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cargo=${CARGO:-cargo}
base=${BASE:-HEAD}

packages=()
if [ $# -gt 0 ]; then
    packages=("$@")
else
    folders=$({ git diff --name-only "$base" -- crates benches; git ls-files --others --exclude-standard -- crates benches; } |
        sed -n 's#^\(crates/[^/]*\|benches\)/.*#\1#p' | sort -u)
    for folder in $folders; do
        # A removed crate has no manifest.
        [ -f "$folder/Cargo.toml" ] || continue
        packages+=("$(sed -n 's/^name = "\(.*\)"/\1/p' "$folder/Cargo.toml" | head -n 1)")
    done
fi

$cargo fmt --all --check
if [ ${#packages[@]} -eq 0 ]; then
    echo "check: no crate differs from $base; format is right"
    exit 0
fi
selected=()
for package in "${packages[@]}"; do selected+=(-p "$package"); done
echo "check: ${packages[*]}"
$cargo clippy "${selected[@]}" --all-targets --locked -- -D warnings
$cargo test "${selected[@]}" --locked
