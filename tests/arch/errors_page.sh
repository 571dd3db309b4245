#!/bin/sh
# Prints docs/errors.md from the tables of codes. After adding a code: sh tests/arch/errors_page.sh . > docs/errors.md
# Usage: errors_page.sh ROOT
cd "$1" || exit 2

# table FIRST LAST: the rows of all tables with numbers in between.
table() {
    echo '| code | what |'
    echo '|---|---|'
    {
        sed -n 's/^X(\([0-9]*\), .*, "\(.*\)")$/\1|\2/p' runtime/base/error_codes.def frontend/diag/diag_codes.def \
            measure/measure_codes.def zfc/driver_codes.def
    } | awk -F'|' -v first="$1" -v last="$2" '$1 + 0 >= first && $1 + 0 <= last { printf "| ZF%04d | %s |\n", $1, $2 }' | sort
    echo
}

cat <<'END'
# Codes of errors

Every error has a code that never changes its meaning, a message of one line, a place where there is one, and often a hint. In C they are the fields of `zf_error` (`zipflow/zipflow.h`); `zfc` prints them and exits with 2 for wrong use (`ZF_ERR_USAGE`), 3 when a device is absent or failed (`ZF_ERR_DEVICE`) and 1 for everything else.

This page is made from `runtime/base/error_codes.def` (ZF1xxx), `frontend/diag/diag_codes.def` (ZF0xxx), `measure/measure_codes.def` and `zfc/driver_codes.def` (ZF2xxx) by `tests/arch/errors_page.sh`, with the examples of `tests/arch/error_examples.md`; a test compares them.

## Programs (`.zf`)

Diagnostics of the compiler, with file, line and column.

### Characters and syntax

END
table 100 199
echo '### Names'; echo; table 200 299
echo '### Types'; echo; table 300 399
echo '### Ranges'; echo; table 400 499
echo '### Patterns'; echo; table 500 599
echo '### Encoding'; echo; table 600 699
echo '### Codecs and tables'; echo; table 700 799
echo '### Limits, and what is not lowered'; echo; table 800 899
cat tests/arch/error_examples.md
echo '## Calls, contexts, devices'; echo; table 1100 1199
cat <<'END'
## Containers (`.zfd`)

The place names the file and a byte of it, or a column and a block. What a reader checks, and when, is in [format.md](format.md).

END
table 1200 1299
cat <<'END'
ZF1204 after a transfer: compare sizes, and transfer again in binary mode. ZF1208: somebody wrote to the file while it was open; open it again. ZF1203: a newer zipflow wrote it.

## Violations

Data that a codec's decoder does not allow: a damaged or lying block. The number behind ZF13 is that of the violation in the language (V09 is ZF1309). The place names file, column, block, row (or element of an inner stream), the path in the codec, the algorithm, and the line of the `.zf` text that demands it. The first by position is reported. What the block decoded to is unspecified; nothing outside the caller's buffers was written.

END
table 1300 1399
echo '## Decoding'; echo; table 1400 1499
cat <<'END'
## Writing containers

A container that could not be finished leaves nothing new under its name. After ZF1507 the complete container is there.

END
table 1500 1599
cat <<'END'
## Faults of zipflow

Please report these, with the program and the data where that is possible.

END
table 1900 1999
echo '## `zfc`'; echo; table 2000 2999 | sed '$d'
