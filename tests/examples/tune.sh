#!/bin/sh
# An application tunes on the emulated GPU; zfc decodes with its results.
# Usage: tune.sh ZFC TUNE
zfc=$1 tune=$2
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
ZIPFLOW_CACHE_DIR=$tree/cache
export ZIPFLOW_CACHE_DIR
{ echo key; seq 1 3 30000; } > "$tree/t.csv"
echo 'table t { key: i64 = delta(bitpack); }' > "$tree/t.zf"
"$zfc" encode -q -c "$tree/t.zf" -o "$tree/t.zfd" "$tree/t.csv" || exit 1
ldd "$tune" | grep -q 'libzipflow-tune\.so' || { echo "tune does not use libzipflow-tune"; exit 1; }
"$tune" "$tree/t.zfd" "$tree/found.txt" emu 2> "$tree/probes" > "$tree/out" || { cat "$tree/probes"; exit 1; }
grep -q '^key 0: default: .* us$' "$tree/probes" || { echo "no probe of the default:"; cat "$tree/probes"; exit 1; }
[ "$(grep -c '^key 0: ' "$tree/probes")" -gt 3 ] || { echo "hardly anything was measured:"; cat "$tree/probes"; exit 1; }
grep -q '^key 0: .* choices measured$' "$tree/out" || { cat "$tree/out"; exit 1; }
head -n 1 "$tree/found.txt" | grep -q '^zipflow tuned kernels, format 1$' || { cat "$tree/found.txt"; exit 1; }
grep -q '^kernel ' "$tree/found.txt" || { cat "$tree/found.txt"; exit 1; }
"$zfc" decode -q --device emu --tuned "$tree/found.txt" -o "$tree/rows" "$tree/t.zfd" || exit 1
"$zfc" decode -q --device cpu -o "$tree/wanted" "$tree/t.zfd" && cmp "$tree/rows/key.i64" "$tree/wanted/key.i64" || exit 1
"$tune" "$tree/t.zfd" "$tree/cpu.txt" cpu 2> "$tree/error" && { echo "the CPU was tuned for"; exit 1; }
grep -q 'ZF2018' "$tree/error" || { cat "$tree/error"; exit 1; }
[ ! -e "$tree/cpu.txt" ] || { echo "results of nothing were written"; exit 1; }
"$tune" "$tree/t.zfd" "$tree/nowhere/found.txt" emu 0.001 2> "$tree/error" > "$tree/out" && { echo "a file that cannot be written is no failure"; exit 1; }
tail -n 2 "$tree/error" | grep -q 'ZF15' || { cat "$tree/error"; exit 1; }
exit 0
