#!/bin/sh
# The runtime needs no compiler: it is configured and built without LLVM, flex and bison, and its tests pass.
# Usage: runtime_only.sh CMAKE SOURCE CC GENERATOR
cmake=$1 source=$2 cc=$3 generator=$4
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
run() { "$@" > "$tree/log" 2>&1 || { tail -n 40 "$tree/log"; echo "failed: $*"; exit 1; }; }
run "$cmake" -S "$source" -B "$tree/build" -G "$generator" -DCMAKE_C_COMPILER="$cc" -DZF_COMPILER=OFF -DZF_PYTHON=OFF \
    -DCMAKE_INSTALL_LIBDIR=/opt/zipflow/lib -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON -DCMAKE_DISABLE_FIND_PACKAGE_FLEX=ON -DCMAKE_DISABLE_FIND_PACKAGE_BISON=ON
run "$cmake" --build "$tree/build"
[ -e "$tree/build/lib/libzipflow.so" ] || { echo "no libzipflow.so"; exit 1; }
[ -e "$tree/build/bin/zfc" ] && { echo "zfc was built"; exit 1; }
# An absolute place of libraries stays what it is.
grep -q '^libdir=/opt/zipflow/lib$' "$tree/build/runtime/zipflow.pc" || { cat "$tree/build/runtime/zipflow.pc"; exit 1; }
cd "$tree/build" || exit 2
# Pipelines have nothing of a compiler anyway and take long, as does test_order_find in a build that is not optimised.
run ctest -R '^unit\.' -E 'pipeline|order_find' --output-on-failure --no-tests=error
[ "$(ctest -N -R '^unit\.' | grep -c 'Test *#')" -ge 2 ] || { echo "tests of the runtime are missing"; exit 1; }
