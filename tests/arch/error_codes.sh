#!/bin/sh
# docs/errors.md is what the tables of codes say, every code that sources name is in it, and every code in it is named by sources.
# Usage: error_codes.sh ROOT
cd "$1" || exit 2
status=0
sh tests/arch/errors_page.sh . | diff - docs/errors.md || { echo "make it again: sh tests/arch/errors_page.sh . > docs/errors.md"; status=1; }
sh tests/arch/errors_header.sh . | diff - runtime/include/zipflow/errors.h || { echo "make it again: sh tests/arch/errors_header.sh . > runtime/include/zipflow/errors.h"; status=1; }
for code in $(grep -rhoE '"ZF[0-9]{4}"' --include='*.c' --include='*.h' scheduler runtime emulator frontend patterns codegen compiler measure tuner zfc | tr -d '"' | sort -u); do
    grep -qF "| $code |" docs/errors.md || { echo "$code is used and stands in no table"; status=1; }
done
# Codes are raised by their names in the tables: a literal escapes them, and with them its status and its line in the page.
literals=$(grep -rnE '"ZF[0-9]{2}' --include='*.c' --include='*.h' --include='*.l' --include='*.y' \
    scheduler runtime emulator frontend patterns codegen compiler measure tuner zfc | grep -vE ':[0-9]+: *///?')
[ -z "$literals" ] || { echo "codes as literals, where the tables' names belong (zf_raise, zf_raise_diag):"; echo "$literals"; status=1; }
duplicates=$(grep -oE '^\| ZF[0-9]{4} ' docs/errors.md | sort | uniq -d)
[ -z "$duplicates" ] || { echo "two meanings: $duplicates"; status=1; }
# Violations (13xx) are raised by their numbers; 0801 is of targets that this version does not have.
sources=$(find scheduler runtime emulator frontend patterns codegen compiler measure tuner zfc -name '*.[chly]')
unused=$({
    sed -n 's/^X(\([0-9]*\), \([A-Z0-9_]*\),.*/\1 ZF_D_\2/p' frontend/diag/diag_codes.def
    sed -n 's/^X(\([0-9]*\), \([A-Z0-9_]*\),.*/\1 ZF_E_\2/p' runtime/base/error_codes.def
    sed -n 's/^X(\([0-9]*\), \([A-Z0-9_]*\),.*/\1 ZFM_\2/p' measure/measure_codes.def
    sed -n 's/^X(\([0-9]*\), \([A-Z0-9_]*\),.*/\1 ZFT_\2/p' tuner/tuner_codes.def
    sed -n 's/^X(\([0-9]*\), \([A-Z0-9_]*\),.*/\1 ZFC_\2/p' zfc/driver_codes.def
} | while read -r number name; do
    [ "$number" = 801 ] || [ "${number#13}" != "$number" ] && continue
    # shellcheck disable=SC2086
    grep -qE "\b$name\b|\"ZF0*$number\"" $sources || echo "$name (ZF$number) is in a table, and nothing raises it"
done)
[ -z "$unused" ] || { echo "$unused"; status=1; }
[ "$(grep -c '^| ZF' docs/errors.md)" -gt 80 ] || { echo "hardly any codes were seen"; status=1; }
exit $status
