#!/bin/sh
# An installed zipflow is found by pkg-config and by CMake, and a program outside the tree builds and runs against it.
# Usage: install.sh CMAKE BUILD CONSUMER.c CC LIBDIR HELLO, the directory of an application with the compiler
cmake=$1 build=$2 consumer=$3 cc=$4 libdir=$5 hello=$6
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
[ -e "$build/lib/libzipflow.so" ] || { echo "libzipflow.so was not built: build everything first"; exit 1; }
# Only what is built: an install of everything would demand targets that a partial build does not have.
"$cmake" --install "$build" --prefix "$tree/usr" > "$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
for file in include/zipflow/zipflow.h "$libdir/libzipflow.so" "$libdir/libzipflow.so.0" \
    "$libdir/pkgconfig/zipflow.pc" "$libdir/cmake/zipflow/zipflow-config.cmake"; do
    [ -e "$tree/usr/$file" ] || { echo "$file is not installed"; exit 1; }
done
LD_LIBRARY_PATH=$tree/usr/$libdir
export LD_LIBRARY_PATH

# pkg-config, of a tree that was moved since: nothing of where it was may be left.
mv "$tree/usr" "$tree/moved" && mkdir "$tree/usr" && mv "$tree/moved" "$tree/usr/local" || exit 2
prefix=$tree/usr/local
LD_LIBRARY_PATH=$prefix/$libdir
if command -v pkg-config > /dev/null; then
    flags=$(PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig" pkg-config --cflags --libs zipflow) || exit 1
    case $flags in *"-L$prefix/"*) ;; *) echo "pkg-config does not follow a tree that was moved: $flags"; exit 1 ;; esac
    # shellcheck disable=SC2086
    "$cc" -std=c17 -Wall -Werror "$consumer" -o "$tree/by-pkg-config" $flags || exit 1
    "$tree/by-pkg-config" || exit 1
fi

# CMake.
mkdir "$tree/consumer" && cp "$consumer" "$tree/consumer/consumer.c"
cat > "$tree/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(zipflow 0.1 REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE zipflow::zipflow)
END
"$cmake" -S "$tree/consumer" -B "$tree/consumer/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" > "$tree/log" 2>&1 &&
    "$cmake" --build "$tree/consumer/build" >> "$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
"$tree/consumer/build/consumer" || exit 1
# The compiler, where it was built: examples/hello on a file and a module that the installed zfc writes, standing alone; and a
# program that has the compiler in it.
mkdir "$tree/wants"
cat > "$tree/wants/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(wants LANGUAGES C)
find_package(zipflow 0.1 REQUIRED COMPONENTS compile)
add_executable(wants wants.c)
target_link_libraries(wants PRIVATE zipflow::zipflow-compile zipflow::zipflow)
END
cat > "$tree/wants/wants.c" <<'END'
#include <stddef.h>
#include <zipflow/compile.h>
int main(int argc, char **argv) {
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_status status = zf_context_create(NULL, &context, NULL);
    if (status == ZF_OK) status = zf_compiler_create(context, NULL, &compiler, NULL);
    zf_program *program = NULL; // which finds the installed library of codecs
    if (status == ZF_OK && argc == 2) status = zf_program_load(compiler, argv[1], &program, NULL);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return (int)status;
}
END
if [ -e "$build/lib/libzipflow-compile.so" ]; then
    echo 'table t { key: i64 = delta(bitpack); }' > "$tree/t.zf"
    printf 'key\n1\n4\n7\n' > "$tree/t.csv"
    "$prefix/bin/zfc" encode -q --no-cache -c "$tree/t.zf" -o "$tree/t.zfd" "$tree/t.csv" || exit 1
    "$cmake" -S "$hello" -B "$tree/hello" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" > "$tree/log" 2>&1 &&
        "$cmake" --build "$tree/hello" >> "$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
    "$cmake" -S "$hello/../query" -B "$tree/query" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" -DNVCC=NVCC-NOTFOUND > "$tree/log" 2>&1 &&
        "$cmake" --build "$tree/query" >> "$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
    "$tree/query/query" q6 "$tree/t.zfd" 2> "$tree/error" && { echo "a query found columns that are not there"; exit 1; }
    grep -q 'ZF1105' "$tree/error" || { cat "$tree/error"; exit 1; }
    "$prefix/bin/zfc" compile -q --no-cache --target host -o "$tree/t.zfm" "$tree/t.zf" || exit 1
    "$tree/hello/hello" "$tree/t.zfd" key "$tree/t.zfm" > "$tree/out" && tail -n 1 "$tree/out" | grep -qx 7 || { cat "$tree/out"; exit 1; }
    "$cmake" -S "$tree/wants" -B "$tree/wants/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" > "$tree/log" 2>&1 &&
        "$cmake" --build "$tree/wants/build" >> "$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
    ZIPFLOW_CACHE_DIR='' "$tree/wants/build/wants" "$tree/t.zf" || { echo "the installed compiler does not start"; exit 1; }
    "$cmake" -S "$hello/../tune" -B "$tree/tune" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" > "$tree/log" 2>&1 &&
        "$cmake" --build "$tree/tune" >> "$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
    ZIPFLOW_CACHE_DIR='' "$tree/tune/tune" "$tree/t.zfd" "$tree/found.txt" emu 1 > "$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
    grep -q '^kernel ' "$tree/found.txt" || { echo "the installed tuner found nothing"; cat "$tree/log"; exit 1; }
    if command -v pkg-config > /dev/null; then
        flags=$(PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig" pkg-config --cflags --libs zipflow) || exit 1
        # shellcheck disable=SC2086
        "$cc" -std=c17 -Wall -Werror "$hello/hello.c" -o "$tree/hello-by-pkg-config" $flags || exit 1
        "$tree/hello-by-pkg-config" "$tree/t.zfd" key "$tree/t.zfm" > "$tree/again" && cmp "$tree/out" "$tree/again" || exit 1
        flags=$(PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig" pkg-config --cflags --libs zipflow-compile zipflow) || exit 1
        # shellcheck disable=SC2086
        "$cc" -std=c17 -Wall -Werror "$tree/wants/wants.c" -o "$tree/wants-by-pkg-config" $flags || exit 1
        ZIPFLOW_CACHE_DIR='' "$tree/wants-by-pkg-config" "$tree/t.zf" || exit 1
        flags=$(PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig" pkg-config --cflags --libs zipflow-tune zipflow-compile zipflow-emulator zipflow) || exit 1
        # shellcheck disable=SC2086
        "$cc" -std=c17 -Wall -Werror "$hello/../tune/tune.c" -o "$tree/tune-by-pkg-config" $flags || exit 1
    fi
elif "$cmake" -S "$tree/wants" -B "$tree/wants/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" > "$tree/log" 2>&1; then
    echo "the component compile was found though it was not built"
    exit 1
fi
# The header works from C++, too.
if command -v c++ > /dev/null; then
    printf '#include <zipflow/zipflow.h>\n#include <zipflow/pipeline.h>\nint main() { return zf_version()[0] == 0; }\n' > "$tree/a.cpp"
    c++ -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" "$tree/a.cpp" -L"$prefix/$libdir" -lzipflow -o "$tree/cpp" || exit 1
    "$tree/cpp" || exit 1
    if [ -e "$prefix/include/zipflow/tune.h" ]; then
        printf '#include <zipflow/tune.h>\nzf_tuner_options none() { return {}; }\n' > "$tree/b.cpp"
        c++ -Wall -Wextra -Wpedantic -Werror -c -I"$prefix/include" "$tree/b.cpp" -o "$tree/b.o" || exit 1
    fi
fi
exit 0
