#!/bin/sh
# Includes run one way, down the floors of docs/internals/architecture.md: a room includes itself and the rooms of its row below, no other.
# scheduler/order and scheduler/search are leaves. Only codegen includes LLVM; only runtime/device/cuda knows CUDA, and nobody else
# includes its headers. Rooms above codegen include its public headers only. Headers of others are those of the table, libc's and the system's.
# Usage: includes.sh ROOT
cd "$1" || exit 2
grep -rHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' --include='*.[chly]' --include='*.def' \
    scheduler runtime emulator frontend patterns codegen compiler measure tuner zfc python 2>/dev/null |
awk '
BEGIN {
    base = "runtime/base/|zipflow/(zipflow|errors)[.]h$"
    runtime = "runtime/|zipflow/(zipflow|pipeline|errors)[.]h$"
    # The headers that each room may include, as regular expressions: ours | headers of others.
    room("scheduler/order",  "scheduler/order/", "-")
    room("scheduler/search", "scheduler/search/", "-")
    room("runtime/base",     base, "xxhash[.]h")
    room("runtime",          runtime "|scheduler/order/order[.]h$", "xxhash[.]h")
    room("emulator",         "emulator/|zipflow/emulator[.]h$|" runtime, "-")
    room("frontend",         "frontend/|" base "|(parser|lexer)[.]h$", "sha256[.]h")
    room("patterns",         "patterns/|frontend/|" base, "-")
    room("codegen",          "codegen/|patterns/|frontend/|" base, "llvm-c/|xxhash[.]h")
    room("compiler",         "compiler/|known_rows[.]inc$|codegen/codegen(_encode|_query|_tile)?[.]h$|patterns/|frontend/|zipflow/compile[.]h$|" runtime, "xxhash[.]h")
    room("measure",          "measure/|compiler/|zipflow/compile[.]h$|" runtime, "-")
    room("tuner",            "tuner/|measure/|compiler/|codegen/codegen[.]h$|patterns/|frontend/|scheduler/search/search[.]h$|zipflow/|" runtime, "jansson[.]h")
    room("zfc",              "(zfc|tuner|measure|compiler|patterns|frontend|emulator|runtime|zipflow)/|codegen/codegen[.]h$|scheduler/search/search[.]h$",
                             "jansson[.]h|csv[.]h|xxhash[.]h")
    room("python",           "python/|zfc/command[.]h$|zipflow/(zipflow|pipeline|compile|emulator)[.]h$", "Python[.]h")
    room("python/packaging", "-", "malloc[.]h")
    # Kernels of the host and kernels of GPUs do not know each other; codegen/kernel knows neither.
    target = "codegen/(body|target|llvm)/|codegen/codegen[.]h$|patterns/|frontend/|" base
    room("codegen/kernel",   "codegen/kernel/|" target, "llvm-c/")
    room("codegen/host",     "codegen/(host|kernel)/|" target, "llvm-c/")
    room("codegen/simt",     "codegen/(simt|kernel)/|" target, "llvm-c/")
    libc = "assert|ctype|dirent|dlfcn|elf|errno|fcntl|fenv|float|inttypes|libgen|limits|link|locale|math|poll|pthread|sched|setjmp|" \
           "signal|std(align|arg|atomic|bool|def|int|io|lib|noreturn)|strings?|termios|time|unistd|wchar"
}
function room(name, ours, others) { may[name] = ours; foreign[name] = others }
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
    cuda = text ~ /^runtime\/device\/cuda\// && file !~ /^runtime\/device\/cuda\//
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
