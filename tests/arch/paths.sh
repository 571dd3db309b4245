#!/bin/sh
# No file that is kept names the directories of a machine where it was made: records are written elsewhere and read by anybody.
# Names in /tmp that end in capitals are templates of mkdtemp.
# And no file has a name that a test made up.
# Usage: paths.sh ROOT
cd "$1" || exit 2
git rev-parse --is-inside-work-tree > /dev/null 2>&1 || { echo "no checkout: what is kept is not known"; exit 77; }
files=$(git ls-files | wc -l)
[ "$files" -gt 300 ] || { echo "only $files files"; exit 1; }
placed='(^|[^A-Za-z0-9_.])/(wor[k]|roo[t])/|/tmp/zf-[a-z-]*[a-z0-9_]{8}(/|"|$)'
git grep -nIE "$placed" -- . | cut -c1-160
found=$(git grep -lIE "$placed" -- . | wc -l)
odd=$(git -c core.quotePath=true ls-files | grep -c '^"') # names with control characters, quotes or letters beyond ASCII
echo "$files files, $found with a machine's directories, $odd with odd names"
[ "$found" -eq 0 ] && [ "$odd" -eq 0 ]
