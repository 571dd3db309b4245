#!/bin/sh
# A tag that a header defines (struct, union, enum) is defined nowhere else: a reader who looks it up finds the one that is meant,
# and no source can meet two through its headers. Several sources may define a tag that a header only declares, each its own: the
# code that an accelerator has loaded is an example.
# Usage: names.sh ROOT
cd "$1" || exit 2
find scheduler runtime emulator frontend patterns codegen compiler measure tuner zfc python tests -name '*.[chly]' -exec \
    grep -HoE '^[[:space:]]*(typedef[[:space:]]+)?(struct|union|enum)[[:space:]]+zf_[a-z0-9_]+[[:space:]]*[{]' {} + |
awk '
{
    file = substr($0, 1, index($0, ":") - 1)
    match($0, /zf_[a-z0-9_]+[ \t]*[{]$/)
    tag = substr($0, RSTART)
    sub(/[ \t]*[{]$/, "", tag)
    seen++
    if (tag in first && (file ~ /[.]h$/ || first[tag] ~ /[.]h$/)) { print tag " is defined in " first[tag] " and in " file; bad = 1 }
    first[tag] = file
}
END {
    if (seen < 100) { print "only " seen + 0 " definitions were seen"; bad = 1 }
    print seen " definitions"
    exit bad
}'
