// The code of a query's kernels: a module of them, loaded into this process for the emulator or assembled for a GPU.
#include <stdlib.h>
#include <string.h>

#include "codegen/query/query_kernel.h"
#include "runtime/base/error_codes.h"

typedef struct building {
    const zf_query_kernels_request *request;
    const zf_target *target;
} building;

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the code of a query"); }

static void add_kernels(zf_cg *cg, void *user) {
    const building *b = user;
    zf_cg_aim(cg, b->target);
    zf_cg_query_kernels(cg, b->request);
}

static zf_status build_module(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    return zf_cg_build_alone(module, compact, add_kernels, user, error);
}

static zf_status load_here(building *b, zf_jit *jit, zf_query_kernels *out, zf_abi_simt_kernel *kernels, zf_error *error) {
    const char *symbols[ZF_QUERY_KERNELS];
    void *addresses[ZF_QUERY_KERNELS] = {NULL};
    for (uint32_t k = 0; k < out->plan.kernel_count; k++) symbols[k] = kernels[k].name;
    zf_jit_request request = {.name = b->request->query->name,
                              .key = "",
                              .build = build_module,
                              .user = b,
                              .symbols = symbols,
                              .symbol_count = out->plan.kernel_count,
                              .budget = b->request->budget};
    ZF_TRY(zf_jit_load(jit, &request, addresses, &out->code.loaded, error));
    for (uint32_t k = 0; k < out->plan.kernel_count; k++) {
        if (addresses[k] == NULL) return zf_raise(error, ZF_E_INTERNAL, "the code of `%s` was not made", request.name);
        memcpy(&kernels[k].emulated, &addresses[k], sizeof addresses[k]);
    }
    return ZF_OK;
}

static zf_status assemble(building *b, zf_jit *jit, zf_query_kernels *out, zf_error *error) {
    zf_jit_request request = {.name = b->request->query->name,
                              .key = "",
                              .build = build_module,
                              .user = b,
                              .target = zf_cg_target_of(b->target),
                              .abi_target = b->request->target,
                              .budget = b->request->budget};
    ZF_TRY(zf_jit_assemble(jit, &request, &out->code.image, error));
    out->code.abi.image_kind = b->target->image;
    out->code.abi.image = out->code.image.data;
    out->code.abi.image_bytes = out->code.image.length + 1; // its zero byte
    return ZF_OK;
}

zf_status zf_codegen_query_kernels(zf_jit *jit, const zf_query_kernels_request *request, zf_query_kernels *out, zf_error *error) {
    *out = (zf_query_kernels){.plan = {.target = request->target}};
    building b = {request, zf_target_for(request->target)};
    uint32_t count = request->query->selected_count > 0 ? ZF_QUERY_KERNELS : 1;
    out->plan.kernel_count = count;
    out->code.names = calloc(count, sizeof *out->code.names);
    out->code.files = calloc(ZF_ABI_FILES_MOST + 1, sizeof *out->code.files);
    zf_abi_simt_kernel *kernels = calloc(count, sizeof *kernels);
    out->code.abi.simt = kernels;
    if (out->code.names == NULL || out->code.files == NULL || kernels == NULL) return no_memory(error);
    for (uint32_t k = 0; k < count; k++) {
        zf_codegen_kernel_name(k, out->code.names[k]);
        kernels[k] = (zf_abi_simt_kernel){.name = out->code.names[k],
                                          .threads = ZF_QUERY_WARPS * ZF_QUERY_LANES,
                                          .tiles = 1,
                                          .warp = ZF_QUERY_LANES,
                                          .shared_bytes = zf_query_shared_bytes(request),
                                          .files = out->code.files};
    }
    return b.target->image == ZF_IMAGE_NONE ? load_here(&b, jit, out, kernels, error) : assemble(&b, jit, out, error);
}
