#!/bin/sh
# The check of include guards must be able to fail: each line is a header, its guard and what the check must return.
# Usage: guards_red.sh DIRECTORY PYTHON
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
status=0
while read -r expected file guard defined; do
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/$(dirname "$file")"
    printf '// A header.\n#ifndef %s\n#define %s\n#endif\n' "$guard" "$defined" > "$tree/$file"
    "$2" "$1/guards.py" "$tree" few > /dev/null
    found=$?
    [ "$found" -eq "$expected" ] || { echo "$file with $guard gives $found, not $expected"; status=1; }
done <<'END'
0 patterns/plan/plan.h ZF_PATTERNS_PLAN_H ZF_PATTERNS_PLAN_H
1 patterns/plan/plan.h ZF_SCHEDULER_PLAN_H ZF_SCHEDULER_PLAN_H
1 patterns/plan/plan.h ZF_PATTERNS_PLAN_PLAN_H ZF_PATTERNS_PLAN_PLAN_H
1 patterns/plan/plan.h ZF_PATTERNS_PLAN_H ZF_PATTERNS_PLANS_H
1 codegen/simt/scans/simt_popcount.h ZF_CODEGEN_SIMT_TALLY_H ZF_CODEGEN_SIMT_TALLY_H
0 zfc/verbs/verbs.h ZF_ZFC_VERBS_H ZF_ZFC_VERBS_H
1 zfc/verbs/verbs.h ZF_DRIVER_VERBS_H ZF_DRIVER_VERBS_H
0 tuner/include/zipflow/tune.h ZIPFLOW_TUNE_H ZIPFLOW_TUNE_H
1 tuner/include/zipflow/tune.h ZF_TUNER_TUNE_H ZF_TUNER_TUNE_H
0 examples/query/query_rows.h QUERY_ROWS_H QUERY_ROWS_H
1 examples/query/query_rows.h ZF_EXAMPLES_QUERY_ROWS_H ZF_EXAMPLES_QUERY_ROWS_H
END
mkdir -p "$tree/zfc"
echo 'int zf_f(void);' > "$tree/zfc/a.h"
"$2" "$1/guards.py" "$tree" few > /dev/null && { echo "a header without a guard was not noticed"; status=1; }
exit $status
