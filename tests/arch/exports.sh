#!/bin/sh
# A shared library exports names that start with zf_, the public functions among them, and nothing else.
# Usage: exports.sh TUNE.h LIBRARY...
header=$1; shift
status=0
for library in "$@"; do
    names=$(nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }')
    [ -n "$names" ] || { echo "$library exports nothing"; status=1; }
    for name in $names; do
        case $name in
        zf_*) ;;
        __asan_*|__ubsan_*|__sanitizer_*|__odr_asan*) ;; # of the sanitized build
        *) echo "$library exports $name"; status=1 ;;
        esac
    done
    readelf -d "$library" | grep -Eq 'SONAME.*\.so\.[0-9]+\]' || { echo "$library has no SONAME with a major version"; status=1; }
    # Forbidden dependencies: the runtime needs no LLVM, and neither CUDA nor its driver at link time.
    case $library in
    *libzipflow-tune.so*) # the public functions alone, and no LLVM of its own
        [ "$names" = "$(grep -ohE '\bzf_[a-z_]+\(' "$header" | tr -d '(' | sort -u)" ] || { echo "$library exports other functions than $header has:" $names; status=1; }
        if readelf -d "$library" | grep NEEDED | grep -Eqi 'llvm|cuda'; then
            echo "$library needs more than it may"
            status=1
        fi ;;
    *libzipflow.so*)
        echo "$names" | grep -qx zf_decode || { echo "zf_decode is not exported"; status=1; }
        if readelf -d "$library" | grep NEEDED | grep -Eqi 'llvm|cuda|nvrtc|flex|bison'; then
            echo "$library needs more than it may"
            status=1
        fi ;;
    esac
done
exit $status
