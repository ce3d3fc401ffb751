#!/bin/sh
# Fails if a file of the repository names a directory of one machine, or uses words that are not the terms of the field.
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

# Words that hide the engineer's term: people search for "uncertainty", "reported", "timeout". docs/glossary.md has the terms;
# CONTRIBUTING.md says what to write instead. Tests may play with words, and so may names of files from elsewhere.
words='told|tells?|stands?|nobody|somebody|whoever|rooms|dear|at rest|haste|hurry|hurries|hurried|parting|is met|are met'
words="$words|gives? way|first word"
allowed=$(grep -vE '^(#|$)' tools/words_allowed.txt)
found=$(git grep -w -n -I -i -E --untracked --exclude-standard -e "$words" -- \
    '*.md' '*.rs' '*.py' '*.js' '*.css' '*.sh' '*.proto' Makefile .ci \
    ':!*/tests/*' ':!tests' ':!CHANGELOG.md' ':!tools/check_text.sh' ':!crates/*/data' |
    sed -E 's/^([^:]*):[0-9]+:/\1:/; s/[Ss]tand-ins?//g' | grep -w -i -E -e "$words" | grep -v -F -e "$allowed" || true)
if [ -n "$found" ]; then
    printf '%s\n' "$found" >&2
    echo 'check_text: the lines above use words that are not the terms of the field; see "Words" in CONTRIBUTING.md' >&2
    exit 1
fi
