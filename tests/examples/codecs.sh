#!/bin/sh
# examples/custom_codec and examples/tpch through zfc: encode made tables, verify them, and read the same columns back.
# Usage: codecs.sh ZFC EXAMPLES
zfc=$1 examples=$2
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
ZIPFLOW_CACHE_DIR=$tree/cache
export ZIPFLOW_CACHE_DIR

# Tables as tpchgen-cli names their columns.
awk 'BEGIN {
    print "o_orderkey,o_custkey,o_orderstatus,o_totalprice,o_orderdate,o_orderpriority,o_clerk,o_shippriority,o_comment"
    for (i = 0; i < 5000; i++)
        printf "%d,%d,%s,%d.%02d,199%d-%02d-%02d,\"%d-HIGH, or so\",Clerk#%09d,0,%s some %d words.\n", int(i / 8) * 32 + i % 8 + 1, i * 7919 % 15000 + 1,
            substr("OFP", i * i % 3 + 1, 1), i * 7907 % 50000 + 900, i * 31 % 100, i % 8, i % 12 + 1, i % 28 + 1, i % 5 + 1,
            i * 13 % 1000, i % 3 ? "quick" : "even", i % 100
}' > "$tree/orders.csv"
awk 'BEGIN {
    print "ps_partkey,ps_suppkey,ps_availqty,ps_supplycost,ps_comment"
    for (i = 0; i < 5000; i++)
        printf "%d,%d,%d,%d.%02d,none\n", int(i / 4) + 1, (i * 251 + int(i / 4)) % 1000 + 1, i * 7919 % 9999 + 1, i * 37 % 1000, i * 31 % 100
}' > "$tree/partsupp.csv"
awk 'BEGIN {
    print "l_orderkey,l_partkey,l_suppkey,l_linenumber,l_quantity,l_extendedprice,l_discount,l_tax,l_returnflag,l_linestatus,l_shipdate,l_commitdate,l_receiptdate,l_shipinstruct,l_shipmode,l_comment"
    for (i = 0; i < 5000; i++)
        printf "%d,%d,%d,%d,%d,%d.%02d,0.%02d,0.%02d,%s,%s,199%d-%02d-%02d,199%d-%02d-%02d,199%d-%02d-%02d,%s,%s,line %d. of an order\n",
            int(i / 4 / 8) * 32 + int(i / 4) % 8 + 1, i * 7919 % 20000 + 1, i * 251 % 1000 + 1, i % 4 + 1, i % 50 + 1,
            i * 7907 % 90000 + 900, i * 31 % 100, i % 11, i % 9, substr("ANR", i * i % 3 + 1, 1), substr("OF", i % 2 + 1, 1),
            i % 8, i % 12 + 1, i % 28 + 1, i % 7, i % 11 + 1, i % 27 + 1, i % 6, i % 10 + 1, i % 26 + 1,
            i % 5 ? "NONE" : "TAKE BACK", i % 7 ? "AIR" : "REG AIR", i % 300
}' > "$tree/lineitem.csv"

# A module of all tables of a program, in the general form: every file of theirs decodes through it.
"$zfc" compile -q --target host -o "$tree/tpch.zfm" "$examples/tpch/tpch.zf" || exit 1
"$zfc" compile -q --target host -o "$tree/line.zfm" "$examples/custom_codec/line.zf" || exit 1

# through PROGRAM TABLE: the columns of the table, as text, are what they were. Money loses no digit but zeros behind the point.
through() {
    rm -rf "$tree/out" "$tree/t.zfd"
    "$zfc" check "$examples/$1" > "$tree/log" || { cat "$tree/log"; exit 1; }
    "$zfc" encode -q -c "$examples/$1:$2" -o "$tree/t.zfd" "$tree/$2.csv" || exit 1
    "$zfc" verify -q "$tree/t.zfd" || exit 1
    "$zfc" decode -q --format csv -o "$tree/out" "$tree/t.zfd" || exit 1
    rm -rf "$tree/raw" "$tree/by_module"
    "$zfc" decode -q -o "$tree/raw" "$tree/t.zfd" || exit 1
    "$zfc" decode -q --module "$tree/$(basename "$1" .zf).zfm" -o "$tree/by_module" "$tree/t.zfd" || exit 1
    diff -r "$tree/raw" "$tree/by_module" || { echo "$1:$2 is something else through a module"; exit 1; }
    # Flags are bytes: 65 is A. Fields between quotes are none of the columns that are compared.
    awk -F, 'function plain(v) { if (v ~ /^[A-Z]$/) return index("ABCDEFGHIJKLMNOPQRSTUVWXYZ", v) + 64
                 if (v ~ /^[0-9]+\.[0-9]+$/) { sub(/0+$/, "", v); sub(/\.$/, "", v) } return v }
        { gsub(/"[^"]*"/, "text") }
        FNR == 1 { file++; for (i = 1; i <= NF; i++) if (file == 1) at[$i] = i; else { from[i] = at[$i]; columns = NF } }
        file == 1 { for (i = 1; i <= NF; i++) source[FNR, i] = plain($i); rows = FNR; next }
        { for (i = 1; i <= NF; i++) if (plain($i) != source[FNR, from[i]]) { print "row " FNR ", column " i ": " $i; exit bad = 1 } seen = FNR }
        END { exit bad || seen != rows || columns == 0 }' "$tree/$2.csv" "$tree/out/$2.csv" || { echo "$1:$2 came back changed"; exit 1; }
}
through custom_codec/line.zf orders
through custom_codec/line.zf partsupp
through tpch/tpch.zf lineitem
through tpch/tpch.zf orders
through tpch/tpch.zf partsupp
exit 0
