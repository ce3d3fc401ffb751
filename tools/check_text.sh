#!/bin/sh
# Fails if a file of the repository names a directory of one machine.
set -eu
cd "$(dirname "$0")/.."

if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    echo 'check_text: not a git checkout, so there is no list of files to check; skipped'
    exit 0
fi

# A path is absolute when nothing path-like precedes its first slash. Put together from parts, so that this file
# does not match itself.
places='work|root|home'
pattern="(^|[^[:alnum:]_.~/-])/($places)/[[:alnum:]_.]"

status=0
git grep -n -I -E --untracked --exclude-standard -e "$pattern" || status=$?
case $status in
0)
    echo 'check_text: the lines above name a directory of one machine; use a relative path or a variable' >&2
    exit 1
    ;;
1) ;; # Nothing found.
*) exit "$status" ;;
esac
