// The code of a plan's kernels: a module is built of them, then loaded into this process, assembled for a GPU, exported or
// printed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_lines.h"
#include "codegen/codegen.h"
#include "codegen/host/host.h"
#include "codegen/simt/simt.h"
#include "runtime/base/error_codes.h"

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated code"); }

typedef struct building {
    const zf_codegen_request *request;
    zf_jit *jit;
    zf_arena *arena;
    const char *cpu;          ///< the code is for any machine of this level; NULL: for this one
    bool compiled;            ///< out: some of it was not in the cache
    uint32_t stack_bytes;     ///< out: as zf_abi_code has it
    const char *const *files; ///< out: what the kernels' places mean, in the arena
} building;

// The name of a container's text in code. It is not the path, because each copy of a file would then have its own code in every
// cache.
static const char *name_of_text(const building *b) {
    const zf_table *table = b->request->plan->graph->column->table;
    return table == NULL ? NULL : zf_arena_printf(b->arena, "%s.zf", table->name);
}

static void add_kernels(zf_cg *cg, void *user) {
    building *b = user;
    zf_kernel_input input = {.plan = b->request->plan, .shaping = b->request->shaping};
    cg->sites = b->request->sites;
    if (cg->sites != NULL) cg->sites->count = 0;
    cg->unchecked = b->request->unchecked;
    zf_cg_aim(cg, b->request->plan->target);
    cg->halves = cg->target->simt == NULL && zf_cg_host_has_halves(b->cpu);
    bool lines = cg->target->simt != NULL && !b->request->no_lines;
    if (lines) zf_cg_lines_begin(cg, name_of_text(b));
    for (uint32_t k = 0; k < input.plan->kernel_count; k++) {
        if (!zf_plan_leaves_out(input.plan, input.shaping, k)) cg->target->kernel(cg, &input, &input.plan->kernels[k]);
    }
    if (lines) b->files = zf_cg_lines_files(cg);
    if (lines) zf_cg_lines_end(cg, cg->target->simt->keeps_lines);
}

static zf_status build_module(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    return zf_cg_build(module, ((building *)user)->arena, compact, add_kernels, user, error);
}

// Whether a device loads the kernels, as an image; else they are functions of this process.
static bool has_image(const zf_plan *plan) { return plan->target->image != ZF_IMAGE_NONE; }

static const char *module_name(const zf_plan *plan) {
    return plan->graph->column->name != NULL ? plan->graph->column->name : "column";
}

// Loads the host's or the emulator's kernels into this process. `addresses` has them in order.
static zf_status load_here(building *b, zf_codegen_code *code, char (*names)[ZF_CODEGEN_NAME], void **addresses,
                           zf_error *error) {
    const zf_plan *plan = b->request->plan;
    uint32_t count = plan->kernel_count;
    const char **symbols = calloc(count + 1, sizeof(*symbols));
    if (symbols == NULL) return out_of_memory(error);
    for (uint32_t k = 0; k < count; k++) symbols[k] = names[k];
    zf_jit_request request = {.name = module_name(plan),
                              .key = "",
                              .build = build_module,
                              .user = b,
                              .compiled = &b->compiled,
                              .stack_bytes = &b->stack_bytes,
                              .symbols = symbols,
                              .symbol_count = count,
                              .budget = b->request->budget};
    zf_status status = zf_jit_load(b->jit, &request, addresses, &code->loaded, error);
    for (uint32_t k = 0; k < count && status == ZF_OK; k++) {
        bool none = zf_plan_leaves_out(plan, b->request->shaping, k);
        if (addresses[k] == NULL && !none) status = zf_raise(error, ZF_E_INTERNAL, "the code of kernel %u is missing", k);
    }
    free(symbols);
    return status;
}

static zf_abi_simt_kernel *launchable(const zf_plan *plan, const uint64_t *shaping, char (*names)[ZF_CODEGEN_NAME]) {
    zf_abi_simt_kernel *kernels = calloc(plan->kernel_count + 1u, sizeof(*kernels));
    for (uint32_t k = 0; k < plan->kernel_count && kernels != NULL; k++) {
        zf_simt_shape shape = zf_simt_shape_of(plan, &plan->kernels[k]);
        kernels[k] = (zf_abi_simt_kernel){.name = names[k],
                                          .threads = shape.threads,
                                          .warp = shape.warp,
                                          .tiles = shape.tiles,
                                          .shared_bytes = shape.shared_bytes,
                                          .span = shape.span,
                                          .to_column = zf_plan_unpacks(plan, shaping, k) > 0};
        if (zf_plan_leaves_out(plan, shaping, k)) kernels[k].threads = 0;
    }
    return kernels;
}

static zf_status assemble(building *b, zf_text *image, zf_error *error) {
    const zf_plan *plan = b->request->plan;
    zf_jit_request request = {.name = module_name(plan),
                              .key = "",
                              .build = build_module,
                              .user = b,
                              .compiled = &b->compiled,
                              .target = zf_cg_target_of(plan->target),
                              .abi_target = b->request->target,
                              .budget = b->request->budget};
    return zf_jit_assemble(b->jit, &request, image, error);
}

// Describes the kernels that accelerators launch.
static zf_status describe_kernels(building *b, zf_codegen_code *code, char (*names)[ZF_CODEGEN_NAME], void **addresses,
                                  zf_error *error) {
    const zf_plan *plan = b->request->plan;
    zf_abi_simt_kernel *kernels = launchable(plan, b->request->shaping, names);
    bool emulated = b->request->target.family == ZF_TARGET_EMU;
    code->names = names;
    code->abi.simt = kernels;
    if (emulated) code->files = calloc(ZF_ABI_FILES_MOST + 1, sizeof(*code->files));
    if (kernels == NULL || (emulated && code->files == NULL)) return out_of_memory(error);
    if (emulated) memcpy(code->files, b->files, (ZF_ABI_FILES_MOST + 1) * sizeof(*code->files));
    for (uint32_t k = 0; k < plan->kernel_count && emulated; k++) {
        kernels[k].files = code->files;
        memcpy(&kernels[k].emulated, &addresses[k], sizeof(addresses[k]));
    }
    if (!has_image(plan)) return ZF_OK;
    ZF_TRY(assemble(b, &code->image, error));
    code->abi.image_kind = plan->target->image;
    code->abi.image = code->image.data;
    code->abi.image_bytes = code->image.length + 1; // its zero byte
    return ZF_OK;
}

zf_status zf_codegen_build(zf_jit *jit, const zf_codegen_request *request, zf_codegen_code *code, zf_error *error) {
    const zf_plan *plan = request->plan;
    uint32_t count = plan->kernel_count;
    char(*names)[ZF_CODEGEN_NAME] = calloc(count + 1, sizeof(*names));
    void **addresses = calloc(count + 1, sizeof(*addresses));
    zf_abi_kernel_fn *kernels = calloc(count + 1, sizeof(*kernels));
    building b = {.request = request, .jit = jit, .arena = zf_arena_create()};
    *code = (zf_codegen_code){.loaded = NULL};
    zf_status status = ZF_OK;
    if (names == NULL || addresses == NULL || kernels == NULL || b.arena == NULL) {
        status = out_of_memory(error);
        goto done;
    }
    for (uint32_t k = 0; k < count; k++) zf_codegen_kernel_name(k, names[k]);
    if (!has_image(plan)) status = load_here(&b, code, names, addresses, error);
    if (status != ZF_OK) goto done;
    if (plan->target->wave == 0) {
        for (uint32_t k = 0; k < count; k++) kernels[k] = (zf_abi_kernel_fn)(uintptr_t)addresses[k];
        code->abi.kernels = kernels;
        code->abi.stack_bytes = b.stack_bytes;
        kernels = NULL;
    } else {
        status = describe_kernels(&b, code, names, addresses, error);
        names = NULL; // the code has them
    }
    code->abi.origin = b.compiled ? ZF_CODE_COMPILED : ZF_CODE_CACHED;
    code->abi.general = request->shaping == NULL && plan->shaping_count > 0;
done:
    if (b.arena != NULL) zf_arena_destroy(b.arena);
    free(names);
    free(kernels);
    free(addresses);
    return status;
}

void zf_codegen_free(zf_jit *jit, zf_codegen_code *code) {
    zf_jit_unload(jit, code->loaded);
    free((void *)(uintptr_t)code->abi.kernels);
    free((void *)(uintptr_t)code->abi.simt);
    free(code->names);
    free(code->files);
    zf_text_free(&code->image);
    *code = (zf_codegen_code){.loaded = NULL};
}

zf_status zf_codegen_export(zf_jit *jit, const zf_codegen_request *request, const char *cpu, zf_exported_code *out,
                            zf_error *error) {
    const zf_plan *plan = request->plan;
    bool simt = has_image(plan);
    building b = {.request = request, .jit = jit, .arena = zf_arena_create(), .cpu = cpu};
    *out = (zf_exported_code){.simt = NULL};
    if (b.arena == NULL) return out_of_memory(error);
    zf_jit_request object = {.name = module_name(plan),
                             .key = "",
                             .build = build_module,
                             .user = &b,
                             .cpu = cpu,
                             .stack_bytes = &out->stack_bytes,
                             .budget = request->budget};
    zf_status status = simt ? assemble(&b, &out->image, error) : zf_jit_object(jit, &object, &out->object, error);
    if (status == ZF_OK && simt) {
        char(*names)[ZF_CODEGEN_NAME] = calloc(plan->kernel_count + 1u, sizeof(*names));
        for (uint32_t k = 0; k < plan->kernel_count && names != NULL; k++) zf_codegen_kernel_name(k, names[k]);
        out->names = names;
        out->simt = names != NULL ? launchable(plan, request->shaping, names) : NULL;
        if (out->simt == NULL) status = out_of_memory(error);
    }
    zf_arena_destroy(b.arena);
    if (status != ZF_OK) zf_exported_code_free(out);
    return status;
}

void zf_exported_code_free(zf_exported_code *code) {
    zf_text_free(&code->object);
    zf_text_free(&code->image);
    free(code->simt);
    free(code->names);
    *code = (zf_exported_code){.simt = NULL};
}

zf_status zf_codegen_print(zf_jit *jit, const zf_codegen_request *request, zf_jit_stage stage, zf_text *out, zf_error *error) {
    const zf_plan *plan = request->plan;
    building b = {.request = request, .jit = jit, .arena = zf_arena_create()};
    if (b.arena == NULL) return out_of_memory(error);
    zf_jit_request text = {.name = module_name(plan), .build = build_module, .user = &b, .budget = request->budget};
    if (has_image(plan)) {
        text.target = zf_cg_target_of(plan->target);
        text.abi_target = request->target;
    }
    zf_status status = zf_jit_print(jit, &text, stage, out, error);
    zf_arena_destroy(b.arena);
    return status;
}

void zf_codegen_kernel_name(uint32_t index, char name[ZF_CODEGEN_NAME]) { zf_lower_kernel_name(index, name); }

void zf_codegen_llvm_version(char text[ZF_CODEGEN_VERSION]) {
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(text, ZF_CODEGEN_VERSION, "%u.%u.%u", major, minor, patch);
}

zf_type zf_codegen_stored_type(const zf_plan *plan, const zf_kernel *kernel) { return zf_simt_type_of(plan, kernel); }
