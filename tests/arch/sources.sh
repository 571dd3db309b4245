#!/bin/sh
# Libraries do not print, exit or abort, and keep no state of their own; files of code and of
# programs stay small enough to be one thing.
# Usage: sources.sh ROOT
cd "$1" || exit 2
status=0
files=$(find scheduler runtime emulator frontend patterns codegen compiler measure tuner python -name '*.c')
[ -n "$files" ] || { echo "no sources"; exit 1; }

# shellcheck disable=SC2086
if grep -nE '(^|[^a-zA-Z0-9_>.])(printf|puts|putchar|vprintf|perror|exit|_exit|quick_exit|abort|system)[[:space:]]*\(' $files |
    grep -vE '^[^:]+:[0-9]+:[[:space:]]*(//|\*)' | grep -vE '".*(exit|abort|printf|puts|system)[[:space:]]*\(.*"'; then
    echo "libraries do not print or exit"
    status=1
fi
# shellcheck disable=SC2086
if grep -nE '(^|[^a-zA-Z0-9_])(stdout|stderr)([^a-zA-Z0-9_]|$)' $files | grep -vE '^[^:]+:[0-9]+:[[:space:]]*//'; then
    echo "libraries do not write to the standard streams"
    status=1
fi
# shellcheck disable=SC2086
if grep -nE "\"[^\"]*'%([.][*])?s'[^\"]*\"" $files; then
    echo "names and code stand in backticks in messages"
    status=1
fi
long=$(find scheduler runtime emulator frontend patterns codegen compiler measure tuner zfc python dsl examples tests bench cmake script -type f \
    \( -name '*.[chly]' -o -name '*.def' -o -name '*.py' -o -name '*.sh' -o -name '*.zf' -o -name '*.cmake' -o -name 'CMakeLists.txt' \
    -o -path 'script/*' ! -name '*.md' ! -name '*.pyc' \) -exec wc -l {} + | awk '$2 != "total" && $1 > 800')
[ -z "$long" ] || { echo "$long" | sed 's/$/: two things live together, above 800 lines/'; status=1; }
exit $status
