#!/bin/sh
# The check of includes must be able to fail: each line below is a file that breaks a rule.
# Usage: includes_red.sh DIRECTORY
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
status=0
while read -r file include; do
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/runtime/base" "$tree/frontend/driver" "$tree/patterns" "$tree/scheduler/order" "$tree/scheduler/search" "$tree/codegen"
    echo "#include $include" > "$tree/$file"
    if sh "$1/includes.sh" "$tree" few > /dev/null; then
        echo "$file with $include was not noticed"
        status=1
    fi
done <<'END'
runtime/a.c "frontend/spec/spec.h"
runtime/base/a.h "codegen/body/cg.h"
scheduler/order/a.c "runtime/base/arena.h"
scheduler/order/a.c "patterns/plan/plan.h"
scheduler/order/a.c "zipflow/zipflow.h"
scheduler/search/a.c "runtime/base/text.h"
scheduler/search/a.c "patterns/plan/choices.h"
runtime/a.c "scheduler/order/order_internal.h"
runtime/a.c "patterns/plan/plan.h"
runtime/a.c <llvm-c/Core.h>
runtime/a.c <cuda.h>
runtime/device/cuda/device_cuda.c <cuda.h>
runtime/a.c "runtime/device/cuda/cuda_driver.h"
codegen/a.c "runtime/device/cuda/cuda_driver.h"
runtime/a.c "zipflow/compile.h"
frontend/a.c "patterns/graph/graph.h"
frontend/a.c "runtime/container/container.h"
frontend/a.c "zfc/output.h"
patterns/a.c "patterns/plan/plan.h"
scheduler/a.c "codegen/body/cg.h"
scheduler/a.c <llvm-c/Core.h>
codegen/a.c "zfc/output.h"
codegen/a.c <cuda.h>
frontend/driver/a.c <llvm-c/Core.h>
frontend/a.c <glib.h>
END
echo '#include "runtime/device/cuda/cuda_driver.h"' > "$tree/runtime/device_cuda.c"
rm -f "$tree"/frontend/a.c "$tree"/frontend/driver/a.c
sh "$1/includes.sh" "$tree" few > /dev/null || { echo "device_cuda may know CUDA"; status=1; }
exit $status
