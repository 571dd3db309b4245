// The code of a query's kernels: a module of them, loaded into this process for the emulator or assembled for a GPU.
#include <stdlib.h>
#include <string.h>

#include "codegen/query/query_square.h"
#include "runtime/base/error_codes.h"

// A module of kernels.
typedef struct building {
    const char *name;
    void (*add)(zf_cg *cg, const void *request);
    const void *request;
    const zf_target *target;
    zf_abi_target abi_target;
    uint32_t kernel_count, threads, shared_bytes;
    uint32_t square_bytes; // shared memory of the last kernel, if it makes squares; else 0
} building;

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the code of a query"); }

static void add_kernels(zf_cg *cg, void *user) {
    const building *b = user;
    zf_cg_aim(cg, b->target);
    b->add(cg, b->request);
}

static zf_status build_module(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    return zf_cg_build_alone(module, compact, add_kernels, user, error);
}

static zf_status load_here(building *b, zf_jit *jit, zf_query_kernels *out, zf_abi_simt_kernel *kernels, zf_error *error) {
    const char *symbols[ZF_QUERY_KERNELS];
    void *addresses[ZF_QUERY_KERNELS] = {NULL};
    for (uint32_t k = 0; k < out->plan.kernel_count; k++) symbols[k] = kernels[k].name;
    zf_jit_request request = {
        .name = b->name, .key = "", .build = build_module, .user = b, .symbols = symbols, .symbol_count = out->plan.kernel_count};
    ZF_TRY(zf_jit_load(jit, &request, addresses, &out->code.loaded, error));
    for (uint32_t k = 0; k < out->plan.kernel_count; k++) {
        if (addresses[k] == NULL) return zf_raise(error, ZF_E_INTERNAL, "the code of `%s` was not made", request.name);
        memcpy(&kernels[k].emulated, &addresses[k], sizeof addresses[k]);
    }
    return ZF_OK;
}

static zf_status assemble(building *b, zf_jit *jit, zf_query_kernels *out, zf_error *error) {
    zf_jit_request request = {.name = b->name,
                              .key = "",
                              .build = build_module,
                              .user = b,
                              .target = zf_cg_target_of(b->target),
                              .abi_target = b->abi_target};
    ZF_TRY(zf_jit_assemble(jit, &request, &out->code.image, error));
    out->code.abi.image_kind = b->target->image;
    out->code.abi.image = out->code.image.data;
    out->code.abi.image_bytes = out->code.image.length + 1; // its zero byte
    return ZF_OK;
}

static zf_status build(building *b, zf_jit *jit, zf_query_kernels *out, zf_error *error) {
    *out = (zf_query_kernels){.plan = {.target = b->abi_target, .kernel_count = b->kernel_count}};
    out->code.names = calloc(b->kernel_count, sizeof *out->code.names);
    out->code.files = calloc(ZF_ABI_FILES_MOST + 1, sizeof *out->code.files);
    zf_abi_simt_kernel *kernels = calloc(b->kernel_count, sizeof *kernels);
    out->code.abi.simt = kernels;
    if (out->code.names == NULL || out->code.files == NULL || kernels == NULL) return no_memory(error);
    b->target = zf_target_for(b->abi_target);
    for (uint32_t k = 0; k < b->kernel_count; k++) {
        zf_codegen_kernel_name(k, out->code.names[k]);
        kernels[k] = (zf_abi_simt_kernel){.name = out->code.names[k],
                                          .threads = b->threads,
                                          .tiles = 1,
                                          .warp = ZF_QUERY_LANES,
                                          .shared_bytes = b->shared_bytes,
                                          .dynamic_bytes = b->shared_bytes > ZF_QUERY_SHARED ? b->shared_bytes : 0,
                                          .files = out->code.files};
    }
    if (b->square_bytes > 0) kernels[b->kernel_count - 1].shared_bytes = b->square_bytes;
    return b->target->image == ZF_IMAGE_NONE ? load_here(b, jit, out, kernels, error) : assemble(b, jit, out, error);
}

static void add_query(zf_cg *cg, const void *request) { zf_cg_query_kernels(cg, request); }

zf_status zf_codegen_query_kernels(zf_jit *jit, const zf_query_kernels_request *request, zf_query_kernels *out, zf_error *error) {
    building b = {.name = request->query->name,
                  .add = add_query,
                  .request = request,
                  .abi_target = request->target,
                  .kernel_count = request->query->selected_count > 0 ? 2 : 1,
                  .threads = request->warps * ZF_QUERY_LANES,
                  .shared_bytes = zf_query_shared_bytes(request)};
    if (request->squares) {
        b.kernel_count++;
        b.square_bytes = zf_query_square_bytes(request->query);
    }
    return build(&b, jit, out, error);
}

static void add_final(zf_cg *cg, const void *form) { zf_cg_query_final(cg, *(const zf_query_final *)form); }

zf_status zf_codegen_query_final(zf_jit *jit, zf_abi_target target, zf_query_final form, zf_query_kernels *out, zf_error *error) {
    building b = {.name = "results",
                  .add = add_final,
                  .request = &form,
                  .abi_target = target,
                  .kernel_count = 1,
                  .threads = ZF_QUERY_FINAL_THREADS};
    return build(&b, jit, out, error);
}
