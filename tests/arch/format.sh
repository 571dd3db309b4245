#!/bin/sh
# Every C source of the project is as `.clang-format` lays it out. Skipped (77) where clang-format 19 is missing.
# Usage: format.sh SOURCE_DIR
set -u
cd "$1" || exit 1
tool=$(command -v clang-format-19) || { echo "clang-format-19 is not here"; exit 77; }
files=$(find bench examples tests scheduler runtime emulator frontend patterns codegen compiler measure tuner zfc python -name '*.[ch]')
[ -n "$files" ] || { echo "no sources found"; exit 1; }
# shellcheck disable=SC2086
"$tool" --dry-run -Werror $files || { echo "to mend: clang-format-19 -i FILE"; exit 1; }
