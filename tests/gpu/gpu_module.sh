#!/bin/sh
# gpu_module on the CPU: a table of five columns, through a general module and one made from the file, gives the bytes that `zfc decode`
# gives with its compiler, and these the source's. Then what it must not decode: another table's file, and a file that is no module.
# Usage: gpu_module.sh ZFC GPU_MODULE
zfc=$1 program=$2
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
ZIPFLOW_CACHE_DIR=$tree/cache
export ZIPFLOW_CACHE_DIR
cd "$tree" || exit 2
awk 'BEGIN {
    print "steps,runs,codes,words,holes"
    for (i = 0; i < 9001; i++) print i * 3 + i % 5 "," int(i / 40) % 7 "," i * 31 % 500 - 250 ",word" i % 13 * i % 13 "," (i % 5 ? i % 99 : "")
}' > t.csv
echo 'import "std.zf"; table t { steps: i64 = delta(bitpack); runs: u8 = rle(values: bitpack, counts: bitpack); codes: i32 = dictionary(codes: bitpack);
    words: string = dictionary(codes: bitpack, entries: strings(bitpack)); holes: i32? = nullable(values: bitpack); }' > t.zf
echo 'table u { steps: i64 = delta_stride(start: bitpack, stride: bitpack, count: bitpack); }' > u.zf
"$zfc" encode -q -c t.zf --rows-per-block 4096 -o t.zfd t.csv && "$zfc" encode -q -c u.zf -o u.zfd t.csv || exit 1
"$zfc" decode -q --device cpu -o wanted t.zfd || exit 1
"$zfc" compile -q -o general.zfm t.zf && "$zfc" compile -q -o special.zfm t.zfd || exit 1
od -An -v -td8 -w8 wanted/steps.* > steps && od -An -v -tu1 -w1 wanted/runs.* > runs && od -An -v -td4 -w4 wanted/codes.* > codes || exit 1
paste -d , steps runs codes | tr -d ' ' > decoded
tail -n +2 t.csv | cut -d , -f 1-3 | cmp - decoded || { echo "zfc decodes something else than was encoded"; exit 1; }
for form in general special; do
    mkdir "$form" || exit 1
    "$program" cpu t.zfd "$form.zfm" "$form" > said || { echo "$form: failed"; exit 1; }
    grep -q "\"device\": \"cpu\", \"columns\": 5, \"bytes\": $(cat wanted/* | wc -c)," said || { cat said; exit 1; }
    [ "$(ls "$form" | wc -l)" = "$(ls wanted | wc -l)" ] || { ls "$form" wanted; exit 1; }
    for part in "$form"/*.offsets "$form"/*.valid; do
        cmp "$part" "wanted/${part##*/}" || { echo "${part##*/} differs through the $form module"; exit 1; }
    done
    for column in steps.i64 runs.u8 codes.i32 words.bytes holes.i32; do
        cmp "$form/${column%.*}.values" "wanted/$column" || { echo "$column differs through the $form module"; exit 1; }
    done
done
mkdir none || exit 1
"$program" cpu u.zfd general.zfm none > said 2> error && { echo "another table's file was decoded"; exit 1; }
grep -q ZF1407 error || { cat error; exit 1; }
"$program" cpu t.zfd t.csv none > said 2> error && { echo "a text was loaded as a module"; exit 1; }
grep -q ZF1211 error || { cat error; exit 1; }
[ -z "$(ls none)" ] || { echo "something was written all the same"; exit 1; }
