#!/bin/sh
# Usage: hello.sh ZFC HELLO
zfc=$1 hello=$2
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
ZIPFLOW_CACHE_DIR=$tree/cache
export ZIPFLOW_CACHE_DIR
seq 1 3 100000 > "$tree/key.txt" && { echo key; cat "$tree/key.txt"; } > "$tree/t.csv"
echo 'table t { key: i64 = delta(bitpack); }' > "$tree/t.zf"
"$zfc" encode -q -c "$tree/t.zf" -o "$tree/t.zfd" "$tree/t.csv" || exit 1
"$zfc" compile -q -o "$tree/general.zfm" "$tree/t.zf" || exit 1
rm "$tree/t.zf" # the file brings its codec along
"$zfc" compile -q -o "$tree/t.zfm" "$tree/t.zfd" || exit 1
# The program's dependencies: neither LLVM nor CUDA, nor a C++ runtime that LLVM would need. zfc shows that this can be seen.
ldd "$hello" > "$tree/needs" || exit 1
grep -q 'libc\.so' "$tree/needs" || { echo "ldd says nothing of $hello"; exit 1; }
grep -Eiq 'llvm|cuda|nvrtc|stdc\+\+' "$tree/needs" && { echo "hello needs more than it may:"; cat "$tree/needs"; exit 1; }
grep -q 'libzipflow\.so' "$tree/needs" || { echo "hello does not use libzipflow"; cat "$tree/needs"; exit 1; }
ldd "$zfc" | grep -Eiq 'llvm' || { echo "zfc shows no LLVM, so the check above says nothing"; exit 1; }
"$hello" "$tree/t.zfd" key "$tree/t.zfm" > "$tree/out" || exit 1
"$hello" "$tree/t.zfd" key "$tree/general.zfm" | cmp - "$tree/out" || { echo "the general form differs"; exit 1; }
printf '%s\n' 'key: i64 = delta(deltas: bitpack), 33334 rows' 1 4 7 10 13 > "$tree/wanted"
sed '1s/ = .*, / = CODEC, /' "$tree/out" > "$tree/a"
sed '1s/ = .*, / = CODEC, /' "$tree/wanted" > "$tree/b"
cmp "$tree/a" "$tree/b" || { cat "$tree/out"; exit 1; }
if [ -w /dev/full ]; then
    "$hello" "$tree/t.zfd" key "$tree/t.zfm" > /dev/full 2> "$tree/error" && { echo "rows that were not written are no failure"; exit 1; }
    grep -q 'standard output' "$tree/error" || { cat "$tree/error"; exit 1; }
fi
"$hello" "$tree/t.zfd" kay "$tree/t.zfm" 2> "$tree/error" && { echo "a column that does not exist was decoded"; exit 1; }
grep -q 'ZF1105' "$tree/error" && grep -q 'key' "$tree/error" || { cat "$tree/error"; exit 1; }
"$hello" "$tree/t.csv" key "$tree/t.zfm" 2> "$tree/error" && { echo "a text was opened"; exit 1; }
grep -q 'ZF1202' "$tree/error" || { cat "$tree/error"; exit 1; }
"$hello" "$tree/t.zfd" key "$tree/t.zfd" 2> "$tree/error" && { echo "a container was loaded as a module"; exit 1; }
grep -q 'ZF1211' "$tree/error" || { cat "$tree/error"; exit 1; }
exit 0
