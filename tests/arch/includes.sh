#!/bin/sh
# Includes run one way: scheduler/order <- runtime <- frontend <- patterns <- scheduler <- codegen <- frontend/driver. The first is a
# leaf, of which its users see one header; scheduler/search is another. Only codegen includes LLVM; only runtime/device_cuda* and
# runtime/cuda_* know CUDA, and nobody needs its headers. Headers of others are those of the table, libc's and the system's.
# Usage: includes.sh ROOT
cd "$1" || exit 2
grep -rHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' --include='*.[chly]' --include='*.def' \
    runtime frontend patterns scheduler codegen 2>/dev/null |
awk '
BEGIN {
    # What each part may include, as regular expressions: ours | headers of others.
    part("scheduler/order", "scheduler/order/", "-")
    part("scheduler/search",  "scheduler/search/", "-")
    part("runtime",         "runtime/|scheduler/order/order[.]h$|zipflow/(zipflow|abi|pipeline)[.]h", "xxhash[.]h")
    part("frontend",        "runtime/base/|frontend/[^/]+$|zipflow/zipflow[.]h|(parser|lexer)[.]h", "sha256[.]h")
    part("patterns",        "runtime/base/|frontend/[^/]+$|patterns/|zipflow/zipflow[.]h", "-")
    part("scheduler",       "runtime/base/|frontend/[^/]+$|patterns/|scheduler/|zipflow/(zipflow|abi)[.]h", "-")
    part("codegen",         "runtime/|frontend/[^/]+$|patterns/|scheduler/|codegen/|zipflow/", "llvm-c/|xxhash[.]h")
    part("frontend/driver", "runtime/|frontend/|patterns/|scheduler/|codegen/|zipflow/", "jansson[.]h|csv[.]h|xxhash[.]h")
    libc = "assert|ctype|dirent|dlfcn|elf|errno|fcntl|fenv|float|inttypes|libgen|limits|link|locale|math|poll|pthread|sched|setjmp|" \
           "signal|std(align|arg|atomic|bool|def|int|io|lib|noreturn)|strings?|termios|time|unistd|wchar"
}
function part(name, ours, others) { may[name] = ours; foreign[name] = others }
{
    file = substr($0, 1, index($0, ":") - 1)
    text = substr($0, index($0, ":") + 1)
    quoted = text ~ /include[ \t]*"/
    sub(/^[^<"]*[<"]/, "", text)
    sub(/[>"].*$/, "", text)
    name = ""
    for (p in may) if (index(file, p "/") == 1 && length(p) > length(name)) name = p
    seen++
    used[name]++
    cuda = text ~ /^runtime\/cuda_/ && file !~ /^runtime\/(device_cuda|cuda_)/
    if (!cuda && text ~ ("^(" may[name] ")")) next
    if (text ~ ("^(" foreign[name] ")")) next
    if (!quoted && text ~ ("^((" libc ")[.]h$|sys/|asm/|linux/|sanitizer/)")) next
    print file " must not include " text
    bad = 1
}
END {
    for (p in may) if (!used[p] && !few) { print "no include of " p " was seen"; bad = 1 }
    print seen " includes"
    exit bad
}' few="${2:-}"
