#!/bin/sh
# Libraries have no mutable state of their own: nothing of theirs lies in .data or .bss. (Constant tables with pointers lie in
# .data.rel.ro.) The exceptions are of the process by nature, one line each.
# Usage: state.sh ARCHIVE...
allowed='^(cg_error\.c\.o .*|apart\.c\.o here|compiler\.c\.o (version_text|targets_text|texts_once)|cache\.c\.o serial)(\.[0-9]+)?$'
#          LLVM's handlers of errors, and which thread is inside it; texts of LLVM's version and targets, made once; a number in names of temporary files
status=0
for archive in "$@"; do
    found=$(objdump -t "$archive" | awk '
        /file format/ { member = $1; sub(/:$/, "", member) }
        / O / && /[ \t]\.(t?data|t?bss)[^ \t]*[ \t]/ && !/[ \t]\.data\.rel\.ro/ && $NF !~ /^(__|\.)/ { print member " " $NF }' |
        grep -vE "$allowed")
    objdump -t "$archive" | grep -q ' F .*zf_' || { echo "no function was seen in $archive"; status=1; }
    [ -z "$found" ] || { echo "$archive has mutable state:"; echo "$found"; status=1; }
done
exit $status
