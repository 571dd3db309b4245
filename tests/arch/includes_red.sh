#!/bin/sh
# The check of includes must be able to fail: each line below is a file that breaks a rule.
# Usage: includes_red.sh DIRECTORY
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
status=0
while read -r file include; do
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/$(dirname "$file")"
    echo "#include $include" > "$tree/$file"
    if sh "$1/includes.sh" "$tree" few > /dev/null; then
        echo "$file with $include was not noticed"
        status=1
    fi
done <<'END'
scheduler/order/a.c "runtime/base/arena.h"
python/extension/a.c "runtime/base/arena.h"
python/extension/a.c "compiler/program.h"
python/extension/a.c <llvm-c/Core.h>
runtime/base/a.c <Python.h>
scheduler/order/a.c "scheduler/search/search.h"
scheduler/order/a.c "zipflow/zipflow.h"
scheduler/search/a.c "runtime/base/text.h"
runtime/base/a.h "codegen/body/cg.h"
runtime/base/a.c "runtime/container/container.h"
runtime/decode/a.c "frontend/spec/spec.h"
runtime/decode/a.c "scheduler/order/order_internal.h"
runtime/decode/a.c "scheduler/search/search.h"
runtime/decode/a.c "emulator/emu.h"
runtime/decode/a.c <llvm-c/Core.h>
runtime/decode/a.c <cuda.h>
runtime/device/cuda/a.c <cuda.h>
runtime/device/a.c "runtime/device/cuda/cuda_driver.h"
runtime/decode/a.c "zipflow/compile.h"
emulator/a.c "codegen/body/cg.h"
emulator/a.c "runtime/device/cuda/cuda_driver.h"
frontend/spec/a.c "patterns/graph/graph.h"
frontend/spec/a.c "runtime/container/container.h"
frontend/spec/a.c "zfc/output.h"
frontend/spec/a.c <glib.h>
patterns/plan/a.c "codegen/body/cg.h"
patterns/plan/a.c "runtime/container/container.h"
patterns/plan/a.c <llvm-c/Core.h>
codegen/host/a.c "codegen/simt/simt.h"
codegen/simt/a.c "codegen/host/host.h"
codegen/simt/forms/a.c "codegen/host/host.h"
codegen/kernel/a.c "codegen/host/host.h"
codegen/kernel/a.c "codegen/simt/simt.h"
codegen/host/a.c "compiler/decoder/decoder.h"
codegen/host/a.c "runtime/module/module_format.h"
codegen/host/a.c "zfc/output.h"
codegen/host/a.c <cuda.h>
compiler/a.c <llvm-c/Core.h>
compiler/a.c "measure/measure.h"
compiler/a.c "codegen/simt/simt_choices.h"
compiler/a.c "codegen/kernel/kernel.h"
compiler/a.c "codegen/encode/cg_encode.h"
compiler/a.c "codegen/encode/encode_support.h"
compiler/a.c "codegen/query/query_support.h"
compiler/a.c "codegen/llvm/jit.h"
compiler/a.c "codegen/target/codegen_target.h"
compiler/a.c "emulator/emu.h"
runtime/device/a.c "zipflow/emulator.h"
compiler/a.c "zipflow/tune.h"
compiler/a.c "runtime/device/cuda/cuda_driver.h"
measure/a.c "codegen/codegen.h"
measure/a.c "tuner/tuner.h"
measure/a.c "zipflow/tune.h"
measure/a.c "zfc/report.h"
measure/a.c "scheduler/search/search.h"
measure/a.c <jansson.h>
tuner/a.c "zfc/verbs/verbs.h"
tuner/a.c "zfc/report.h"
tuner/a.c "emulator/emu.h"
tuner/a.c "codegen/simt/simt_choices.h"
tuner/a.c "codegen/codegen_encode.h"
zfc/a.c "codegen/simt/simt_choices.h"
zfc/a.c "codegen/target/codegen_target.h"
zfc/a.c <llvm-c/Core.h>
END
mkdir -p "$tree/runtime/device/cuda"
rm -rf "${tree:?}"/zfc
echo '#include "runtime/device/cuda/cuda_driver.h"' > "$tree/runtime/device/cuda/a.c"
sh "$1/includes.sh" "$tree" few > /dev/null || { echo "runtime/device/cuda may know CUDA"; status=1; }
exit $status
