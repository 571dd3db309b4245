// The code of a column's plan: a module is built of its kernels, loaded into this process or assembled for a GPU, and
// kept per tuple of shaping values.
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/body/cg_lines.h"
#include "codegen/body/cg_sites.h"
#include "codegen/host/host.h"
#include "codegen/simt/simt.h"
#include "compiler/compiler.h"
#include "compiler/decoder_internal.h"
#include "compiler/program.h"
#include "runtime/base/error_codes.h"

enum { MOST_TUPLES = 8 }; ///< of shaping values that get code of their own

typedef enum code_state { CODE_BUILDING, CODE_READY, CODE_FAILED } code_state;

struct zf_decoder_code {
    uint64_t *shaping; ///< NULL: the general form
    code_state state;
    zf_error error; ///< FAILED
    zf_abi_code code;
    zf_jit_code *loaded;
    char (*names)[24];  ///< of the kernels of accelerators
    const char **files; ///< of places in emulated kernels
    zf_text image;      ///< PTX
    struct zf_decoder_code *next;
};

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated code"); }

typedef struct building {
    decoder *d;
    const uint64_t *shaping;
    zf_arena *arena;
    bool no_lines;
    bool compiled;            ///< out: some of it was not in the cache
    bool exported;            ///< into a module, whose code is checked whatever else is
    const char *const *files; ///< out: what the kernels' places mean, in the arena
} building;

// What a container's text is called where code names it. Its path would make other code, in every cache, of each copy of a file.
static const char *name_of_text(const building *b) {
    const zf_table *table = b->d->base.graph->column->table;
    return table == NULL ? NULL : zf_arena_printf(b->arena, "%s.zf", table->name);
}

static zf_status build_module(void *user, LLVMModuleRef module, zf_error *error) {
    building *b = user;
    jmp_buf escape;
    zf_diags diags;
    zf_cg cg;
    zf_diags_init(&diags, b->arena);
    zf_cg_init(&cg, module, b->arena, &diags);
    if (setjmp(escape) != 0) {
        zf_cg_dispose(&cg);
        return out_of_memory(error);
    }
    zf_arena_set_escape(b->arena, &escape);
    zf_kernel_input input = {.plan = b->d->base.plan, .shaping = b->shaping};
    cg.sites = b->d->request.sites;
    if (cg.sites != NULL) cg.sites->count = 0;
    cg.unchecked = b->d->request.unchecked && !b->exported;
    zf_cg_aim(&cg, b->d->base.plan->target);
    bool lines = cg.target->simt != NULL && !b->no_lines;
    if (lines) zf_cg_lines_begin(&cg, name_of_text(b));
    for (uint32_t k = 0; k < input.plan->kernel_count; k++) {
        if (!zf_plan_leaves_out(input.plan, input.shaping, k)) cg.target->kernel(&cg, &input, &input.plan->kernels[k]);
    }
    if (lines) b->files = zf_cg_lines_files(&cg);
    if (lines) zf_cg_lines_end(&cg, cg.target->simt->keeps_lines);
    zf_cg_dispose(&cg);
    zf_arena_set_escape(b->arena, NULL);
    return cg.failed ? zf_program_error(zf_diags_first_error(&diags), ZF_ERR_UNSUPPORTED, error) : ZF_OK;
}

// Whether a device loads the kernels, as an image; else they are functions of this process.
static bool has_image(const decoder *d) { return d->base.plan->target->image != ZF_IMAGE_NONE; }

static const char *module_name(const decoder *d) {
    return d->base.graph->column->name != NULL ? d->base.graph->column->name : "column";
}

// What is loaded into this process: the host's kernels or the emulator's. `addresses` has them in order.
static zf_status load_here(decoder *d, struct zf_decoder_code *code, building *b, char (*names)[24], void **addresses,
                           zf_error *error) {
    uint32_t count = d->base.plan->kernel_count;
    const char **symbols = calloc(count + 1, sizeof(*symbols));
    if (symbols == NULL) return out_of_memory(error);
    for (uint32_t k = 0; k < count; k++) symbols[k] = names[k];
    zf_jit_request request = {.name = module_name(d),
                              .key = "",
                              .build = build_module,
                              .user = b,
                              .compiled = &b->compiled,
                              .symbols = symbols,
                              .symbol_count = count};
    zf_status status = zf_jit_load(zf_compiler_jit(d->compiler), &request, addresses, &code->loaded, error);
    for (uint32_t k = 0; k < count && status == ZF_OK; k++) {
        bool none = zf_plan_leaves_out(d->base.plan, code->shaping, k);
        if (addresses[k] == NULL && !none) status = zf_raise(error, ZF_E_INTERNAL, "the code of kernel %u is missing", k);
    }
    free(symbols);
    return status;
}

static zf_abi_simt_kernel *launchable(const decoder *d, const uint64_t *shaping, char (*names)[24]) {
    const zf_plan *plan = d->base.plan;
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

static zf_status assemble(decoder *d, building *b, zf_text *image, zf_error *error) {
    zf_jit_request request = {.name = module_name(d),
                              .key = "",
                              .build = build_module,
                              .user = b,
                              .compiled = &b->compiled,
                              .target = zf_cg_target_of(d->base.plan->target),
                              .abi_target = d->request.target};
    return zf_jit_assemble(zf_compiler_jit(d->compiler), &request, image, error);
}

// What accelerators launch.
static zf_status describe_kernels(decoder *d, struct zf_decoder_code *code, building *b, char (*names)[24], void **addresses,
                                  zf_error *error) {
    zf_abi_simt_kernel *kernels = launchable(d, b->shaping, names);
    bool emulated = d->request.target.family == ZF_TARGET_EMU;
    code->names = names;
    code->code.simt = kernels;
    if (emulated) code->files = calloc(ZF_ABI_FILES_MOST + 1, sizeof(*code->files));
    if (kernels == NULL || (emulated && code->files == NULL)) return out_of_memory(error);
    if (emulated) memcpy(code->files, b->files, (ZF_ABI_FILES_MOST + 1) * sizeof(*code->files));
    for (uint32_t k = 0; k < d->base.plan->kernel_count && emulated; k++) {
        kernels[k].files = code->files;
        memcpy(&kernels[k].emulated, &addresses[k], sizeof(addresses[k]));
    }
    if (!has_image(d)) return ZF_OK;
    ZF_TRY(assemble(d, b, &code->image, error));
    code->code.image_kind = d->base.plan->target->image;
    code->code.image = code->image.data;
    code->code.image_bytes = code->image.length + 1; // its zero byte
    return ZF_OK;
}

static zf_status compile(decoder *d, struct zf_decoder_code *code, zf_error *error) {
    uint32_t count = d->base.plan->kernel_count;
    char(*names)[24] = calloc(count + 1, sizeof(*names));
    void **addresses = calloc(count + 1, sizeof(*addresses));
    zf_abi_kernel_fn *kernels = calloc(count + 1, sizeof(*kernels));
    building b = {.d = d, .shaping = code->shaping, .arena = zf_arena_create()};
    zf_status status = ZF_OK;
    if (names == NULL || addresses == NULL || kernels == NULL || b.arena == NULL) {
        status = out_of_memory(error);
        goto done;
    }
    for (uint32_t k = 0; k < count; k++) zf_lower_kernel_name(k, names[k]);
    if (!has_image(d)) status = load_here(d, code, &b, names, addresses, error);
    if (status != ZF_OK) goto done;
    if (d->base.plan->target->wave == 0) {
        for (uint32_t k = 0; k < count; k++) kernels[k] = (zf_abi_kernel_fn)(uintptr_t)addresses[k];
        code->code.kernels = kernels;
        kernels = NULL;
    } else {
        status = describe_kernels(d, code, &b, names, addresses, error);
        names = NULL; // the code has them
    }
    code->code.origin = b.compiled ? ZF_CODE_COMPILED : ZF_CODE_CACHED;
done:
    if (b.arena != NULL) zf_arena_destroy(b.arena);
    free(names);
    free(kernels);
    free(addresses);
    return status;
}

static void free_code(decoder *d, struct zf_decoder_code *code) {
    zf_jit_unload(zf_compiler_jit(d->compiler), code->loaded);
    free((void *)(uintptr_t)code->code.kernels);
    free((void *)(uintptr_t)code->code.simt);
    free(code->names);
    free(code->files);
    zf_text_free(&code->image);
    free(code->shaping);
    free(code);
}

void zf_decoder_codes_free(zf_decoder *base) {
    while (base->codes != NULL) {
        struct zf_decoder_code *code = base->codes;
        base->codes = code->next;
        free_code((decoder *)base, code);
    }
}

static struct zf_decoder_code *find(decoder *d, const uint64_t *shaping) {
    size_t bytes = sizeof(*shaping) * d->base.plan->shaping_count;
    for (struct zf_decoder_code *code = d->base.codes; code != NULL; code = code->next) {
        if ((code->shaping == NULL) != (shaping == NULL)) continue;
        if (shaping == NULL || memcmp(code->shaping, shaping, bytes) == 0) return code;
    }
    return NULL;
}

// Adds an entry that is being built. With the lock held.
static struct zf_decoder_code *add(decoder *d, const uint64_t *shaping) {
    size_t bytes = sizeof(*shaping) * d->base.plan->shaping_count;
    struct zf_decoder_code *code = calloc(1, sizeof(*code));
    if (code == NULL) return NULL;
    if (shaping != NULL) {
        code->shaping = malloc(bytes + 1);
        if (code->shaping == NULL) {
            free(code);
            return NULL;
        }
        memcpy(code->shaping, shaping, bytes);
        d->tuples++;
    }
    code->next = d->base.codes;
    d->base.codes = code;
    return code;
}

// The entry for a tuple, in any state; after MOST_TUPLES that of the general form, and `*shaping` says so. With the lock held.
static struct zf_decoder_code *look_up(decoder *d, const uint64_t **shaping) {
    struct zf_decoder_code *code = find(d, *shaping);
    if (code != NULL || *shaping == NULL || d->tuples < MOST_TUPLES) return code;
    *shaping = NULL;
    return find(d, NULL);
}

// Compiles what an entry stands for. Without memory the entry is dropped: the next call tries again.
static zf_status fill(decoder *d, struct zf_decoder_code *code, zf_error *error) {
    zf_error failure = {0};
    zf_status status = compile(d, code, &failure); // with no lock held: others go on
    if (status != ZF_OK && error != NULL) *error = failure;
    pthread_mutex_lock(&d->lock);
    code->error = failure;
    code->state = status == ZF_OK ? CODE_READY : CODE_FAILED;
    if (status == ZF_ERR_MEMORY) {
        struct zf_decoder_code **at = &d->base.codes;
        while (*at != code) at = &(*at)->next;
        *at = code->next;
        if (code->shaping != NULL) d->tuples--;
        free_code(d, code);
    }
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    return status;
}

zf_status zf_decoder_code_for(zf_decoder *base, const uint64_t *shaping, const zf_abi_code **out, zf_error *error) {
    decoder *d = (decoder *)base;
    *out = NULL;
    if (base->plan->shaping_count == 0 || zf_compiler_options_of(d->compiler)->general_only) shaping = NULL;
    pthread_mutex_lock(&d->lock);
    struct zf_decoder_code *code = look_up(d, &shaping);
    while (code != NULL && code->state == CODE_BUILDING) {
        pthread_cond_wait(&d->changed, &d->lock);
        code = look_up(d, &shaping); // it may have been dropped
    }
    bool ours = code == NULL;
    if (ours) code = add(d, shaping);
    pthread_mutex_unlock(&d->lock);
    if (code == NULL) return out_of_memory(error);
    if (ours) {
        ZF_TRY(fill(d, code, error));
    } else if (code->state == CODE_FAILED) {
        if (error != NULL) *error = code->error;
        return code->error.status;
    }
    *out = &code->code;
    return ZF_OK;
}

zf_status zf_decoder_export(zf_decoder *base, const uint64_t *shaping, const char *cpu, zf_exported_code *out, zf_error *error) {
    decoder *d = (decoder *)base;
    bool simt = has_image(d);
    building b = {.d = d, .shaping = shaping, .arena = zf_arena_create(), .exported = true};
    *out = (zf_exported_code){.simt = NULL};
    if (b.arena == NULL) return out_of_memory(error);
    zf_jit_request request = {.name = module_name(d), .key = "", .build = build_module, .user = &b, .cpu = cpu};
    zf_status status =
        simt ? assemble(d, &b, &out->image, error) : zf_jit_object(zf_compiler_jit(d->compiler), &request, &out->object, error);
    if (status == ZF_OK && simt) {
        char(*names)[24] = calloc(base->plan->kernel_count + 1u, sizeof(*names));
        for (uint32_t k = 0; k < base->plan->kernel_count && names != NULL; k++) zf_lower_kernel_name(k, names[k]);
        out->names = names;
        out->simt = names != NULL ? launchable(d, shaping, names) : NULL;
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

zf_status zf_decoder_print(zf_decoder *base, const uint64_t *shaping, zf_jit_stage stage, bool lines, zf_text *out,
                           zf_error *error) {
    decoder *d = (decoder *)base;
    building b = {.d = d, .shaping = shaping, .arena = zf_arena_create(), .no_lines = !lines};
    if (b.arena == NULL) return out_of_memory(error);
    zf_jit_request request = {.name = module_name(d), .build = build_module, .user = &b};
    if (has_image(d)) {
        request.target = zf_cg_target_of(d->base.plan->target);
        request.abi_target = d->request.target;
    }
    zf_status status = zf_jit_print(zf_compiler_jit(d->compiler), &request, stage, out, error);
    zf_arena_destroy(b.arena);
    return status;
}
