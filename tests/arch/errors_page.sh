#!/bin/sh
# Prints docs/errors.md from the tables of codes. After adding a code: sh tests/arch/errors_page.sh . > docs/errors.md
# Usage: errors_page.sh ROOT
cd "$1" || exit 2

# table FIRST LAST: the rows of all tables with numbers in between.
table() {
    echo '| code | meaning |'
    echo '|---|---|'
    {
        sed -n 's/^X(\([0-9]*\), .*, "\(.*\)")$/\1|\2/p' runtime/base/error_codes.def frontend/diag/diag_codes.def \
            measure/measure_codes.def tuner/tuner_codes.def zfc/driver_codes.def
    } | awk -F'|' -v first="$1" -v last="$2" '$1 + 0 >= first && $1 + 0 <= last { printf "| ZF%04d | %s |\n", $1, $2 }' | sort
    echo
}

cat <<'END'
# Error codes

For everybody who got an error from `zfc` or from the C interface.
After this page you know what its code means and, for the common ones, how to mend the program, file or call.

Every error has a code whose meaning never changes, a message of one line, a place if there is one, and often a hint. In C they
are the fields of `zf_error` (`zipflow/zipflow.h`). `zfc` prints them. It exits with 2 for wrong use (`ZF_ERR_USAGE`), 3 when a device is absent or
failed (`ZF_ERR_DEVICE`), and 1 for all other errors.

This page is generated from `runtime/base/error_codes.def` (ZF1xxx), `frontend/diag/diag_codes.def` (ZF0xxx), `measure/measure_codes.def`, `tuner/tuner_codes.def` and `zfc/driver_codes.def` (ZF2xxx) by `tests/arch/errors_page.sh`, with the examples of `tests/arch/error_examples.md`; a test compares them.

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

The place names the file and a byte, or a column and a block. [format.md](format.md#what-a-reader-checks) says what a reader checks, and when.

END
table 1200 1299
cat <<'END'
- ZF1203: a newer zipflow wrote the file.
- ZF1204 after a transfer: compare the sizes, and transfer again in binary mode.
- ZF1208: another process wrote to the file while it was open. Open it again.

## Violations

A violation is data that the codec's decoder does not allow: a damaged or lying block. The number after ZF13 is the violation's number in
[language.md](language.md#safety) (V09 is ZF1309). The place names file, column, block, row (or element of an inner stream), the path in the codec, the
algorithm, and the line of the `.zf` text that demands it. The first violation by position is reported. The output of the block is unspecified;
nothing outside the caller's buffers was written.

END
table 1300 1399
echo '## Decoding'; echo; table 1400 1499
cat <<'END'
## Writing containers

A container that could not be finished leaves nothing new under its name. After ZF1507 the complete container is there, but its name may not survive a crash.

END
table 1500 1599
cat <<'END'
## Faults of zipflow

Please report these with the program and, if possible, the data.

END
table 1900 1999
echo '## Measuring, tuning, and `zfc`'; echo; table 2000 2999 | sed '$d'
