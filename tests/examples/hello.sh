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
rm "$tree/t.zf" # the file brings its codec along
"$hello" "$tree/t.zfd" key > "$tree/out" || exit 1
printf '%s\n' 'key: i64 = delta(deltas: bitpack), 33334 rows' 1 4 7 10 13 > "$tree/wanted"
sed '1s/ = .*, / = CODEC, /' "$tree/out" > "$tree/a"
sed '1s/ = .*, / = CODEC, /' "$tree/wanted" > "$tree/b"
cmp "$tree/a" "$tree/b" || { cat "$tree/out"; exit 1; }
"$hello" "$tree/t.zfd" kay 2> "$tree/error" && { echo "a column that does not exist was decoded"; exit 1; }
grep -q 'ZF1105' "$tree/error" && grep -q 'key' "$tree/error" || { cat "$tree/error"; exit 1; }
"$hello" "$tree/t.csv" key 2> "$tree/error" && { echo "a text was opened"; exit 1; }
grep -q 'ZF1202' "$tree/error" || { cat "$tree/error"; exit 1; }
exit 0
