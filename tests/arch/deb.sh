#!/bin/sh
# The Debian package of a build has the command, libraries, headers, the library of codecs and files for pkg-config and CMake, and
# depends on what it needs. Unpacked anywhere, it encodes, and an application compiles against it and decodes.
# Usage: deb.sh CMAKE BUILD CC LIBDIR VERSION HELLO, the directory of an application; or deb.sh CMAKE FILE.deb CC ...
cmake=$1 build=$2 cc=$3 libdir=$4 version=$5 hello=$6
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool > /dev/null || { echo "skipped: $tool is missing (dpkg-dev)"; exit 77; }
done
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
case $build in
*.deb) deb=$build ;;
*)
    [ -e "$build/lib/libzipflow-compile.so" ] || { echo "libzipflow-compile.so was not built: build everything first"; exit 1; }
    "${cmake%cmake}cpack" --config "$build/CPackConfig.cmake" -G DEB -B "$tree/pack" > "$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
    deb=$(find "$tree/pack" -maxdepth 2 -name '*.deb') ;;
esac
[ -s "$deb" ] || { echo "there is no package"; exit 1; }
status=0
bad() { echo "$*"; status=1; }
field() { dpkg-deb -f "$deb" "$1"; }
[ "$(field Package) $(field Version) $(field Architecture)" = "zipflow $version $(dpkg --print-architecture)" ] || bad "it is $(field Package) $(field Version) for $(field Architecture)"
for package in libc6 libllvm19 libxxhash0 libjansson4 libmd0; do
    field Depends | grep -Eq "(^|, )$package( |,|$)" || bad "it does not depend on $package: $(field Depends)"
done
case $(field Depends) in *zipflow*|*stdc++*) bad "it depends on its own libraries, or on C++'s: $(field Depends)" ;; esac

dpkg-deb -R "$deb" "$tree/unpacked" || exit 1
usr=$tree/unpacked/usr
for file in bin/zfc include/zipflow/zipflow.h include/zipflow/pipeline.h include/zipflow/compile.h include/zipflow/tune.h \
    share/zipflow/std/std.zf share/zipflow/std/defaults.zf "$libdir/cmake/zipflow/zipflow-config.cmake" share/doc/zipflow/copyright \
    share/doc/zipflow/changelog.gz; do
    [ -s "$usr/$file" ] || bad "$file is missing"
done
for library in zipflow zipflow-compile zipflow-tune zipflow-emulator; do
    real=$usr/$libdir/lib$library.so.$version
    [ -s "$real" ] || { bad "lib$library.so.$version is missing"; continue; }
    readelf -d "$real" | grep -q "SONAME.*\[lib$library.so.${version%%.*}\]" || bad "lib$library has another SONAME"
    [ "$(readlink -f "$usr/$libdir/lib$library.so")" = "$(readlink -f "$real")" ] || bad "lib$library.so is no link to it"
    [ -s "$usr/$libdir/pkgconfig/$library.pc" ] || bad "$library.pc is missing"
    grep -q "^lib$library ${version%%.*} zipflow (>= ${version%.*}), zipflow (<< " "$tree/unpacked/DEBIAN/shlibs" || bad "lib$library is not in shlibs"
done
grep -q 'ldconfig$' "$tree/unpacked/DEBIAN/triggers" || bad "it does not have ldconfig called"
for file in "$usr"/bin/* "$usr/$libdir"/*.so; do
    ! readelf -d "$file" | grep -Eq '\((RPATH|RUNPATH)\)' || bad "${file##*/} has a search path for libraries"
    ! readelf -S "$file" | grep -q '\.debug_info' || bad "${file##*/} is not stripped"
done
[ -z "$(find "$usr" ! -type l \( -perm /022 -o ! -perm -004 \))" ] || bad "files may be written by others, or not be read"
[ $status = 0 ] || exit 1

# Where it was unpacked, without being installed.
LD_LIBRARY_PATH=$usr/$libdir
export LD_LIBRARY_PATH
echo 'table t { key: i64 = delta(bitpack); }' > "$tree/t.zf"
printf 'key\n1\n4\n7\n' > "$tree/t.csv"
"$usr/bin/zfc" encode -q --no-cache -c "$tree/t.zf" -o "$tree/t.zfd" "$tree/t.csv" &&
    "$usr/bin/zfc" compile -q --no-cache --target host -o "$tree/t.zfm" "$tree/t.zf" || exit 1
decoded() { "$1" "$tree/t.zfd" key "$tree/t.zfm" > "$tree/out" && tail -n 1 "$tree/out" | grep -qx 7 || { cat "$tree/out"; exit 1; }; }
"$cmake" -S "$hello" -B "$tree/hello" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$usr" > "$tree/log" 2>&1 &&
    "$cmake" --build "$tree/hello" >> "$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
grep -q "zipflow_DIR:PATH=$usr/" "$tree/hello/CMakeCache.txt" || { echo "CMake found another zipflow"; exit 1; }
decoded "$tree/hello/hello"
if command -v pkg-config > /dev/null; then
    flags=$(PKG_CONFIG_PATH="$usr/$libdir/pkgconfig" pkg-config --cflags --libs zipflow) || exit 1
    # shellcheck disable=SC2086
    "$cc" -std=c17 -Wall -Werror "$hello/hello.c" -o "$tree/by-pkg-config" $flags || exit 1
    decoded "$tree/by-pkg-config"
fi
echo "${deb##*/}: $(wc -c < "$deb") bytes; depends on $(field Depends)"
