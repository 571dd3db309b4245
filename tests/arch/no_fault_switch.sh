#!/bin/sh
# Release builds have no fault switch (codegen/body/cg_fault_sites.h): no code counts sites or asks whether one is left out, and
# the words of guards are gone. Objects with most of the sites are compiled with and without assertions: the latter must have both.
# Usage: no_fault_switch.sh ROOT COMPILER LLVM_INCLUDE_DIRECTORY
cd "$1" || exit 2
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
wrong=0
for build in debug release; do
    [ $build = release ] && define=-DNDEBUG || define=-UNDEBUG
    for file in body/cg_fault_sites simt/groups/simt_group_starts; do
        object=$tree/$build-${file##*/}.o
        "$2" $define -O2 -D_GNU_SOURCE -std=gnu17 -I. -Iruntime/include -isystem "$3" -c "codegen/$file.c" -o "$object" || exit 1
    done
    symbols=$(nm "$tree/$build-cg_fault_sites.o" "$tree/$build-simt_group_starts.o" | grep -c zf_cg_site)
    words=$(grep -c "sizes larger than a tile" "$tree/$build-simt_group_starts.o")
    case $build in
    debug) [ "$symbols" -ge 2 ] && [ "$words" = 1 ] || { echo "debug: $symbols symbols, $words words: the test looks for nothing"; wrong=1; } ;;
    release) [ "$symbols" = 0 ] && [ "$words" = 0 ] || { echo "release: the fault switch is there: $symbols symbols, $words words"; wrong=1; } ;;
    esac
done
exit $wrong
