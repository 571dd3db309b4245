#!/bin/sh
# The headers of codegen/ that other rooms include compile without LLVM's, each alone.
# Usage: codegen_headers.sh ROOT COMPILER
cd "$1" || exit 2
for header in codegen/codegen.h codegen/codegen_encode.h codegen/codegen_query.h codegen/codegen_tile.h; do
    used=$(echo "#include \"$header\"" | "$2" -D_GNU_SOURCE -std=gnu17 -I. -Iruntime/include -x c -M -) || exit 1
    echo "#include \"$header\"" | "$2" -D_GNU_SOURCE -std=gnu17 -I. -Iruntime/include -x c -fsyntax-only - || exit 1
    case $used in
    *llvm-c*) echo "$header includes LLVM"; exit 1 ;;
    *codegen/llvm/jit.h*) ;;
    *) echo "the headers of $header were not seen"; exit 1 ;;
    esac
done
