// Modules: code for containers that comes from a file. A loaded module is a provider of code; it makes none and knows no
// container.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"
#include "runtime/device/device.h"
#include "runtime/module/module_open.h"

typedef unsigned long long ull;

enum {
    MOST_AT_ONCE = 1 << 30, ///< bytes of one pread
    MOST_IN_HINT = 180,     ///< bytes of a path: a command that is to be pasted is whole, or none
};

struct zf_module {
    zf_context *context; ///< that asks it, or NULL
    char *path;
    uint8_t *bytes; ///< the file
    zf_arena *arena;
    zf_module_content content;
    zf_native native;
};

// ---- Which code -----------------------------------------------------------------------------------------------

static zf_status absent(const zf_module *m, zf_runtime_code code, const zf_container *container, const char *column,
                        const char *what, zf_error *error) {
    zf_status status = zf_raise(error, code, "module %.160s has no code for %s", m->path, what);
    zf_fail_place(error, status, "%s: column %s", zf_container_path(container), column);
    const char *path = zf_container_path(container);
    if (strlen(path) > MOST_IN_HINT) return zf_fail_hint(error, status, "compile a module for this file with zfc compile");
    return zf_fail_hint(error, status, "compile a module for this file: zfc compile %s -o OUT.zfm", path);
}

static const zf_module_table *find_table(const zf_module *m, const zf_container *container) {
    zf_unit_identity wanted = zf_container_unit_identity(container);
    for (uint32_t t = 0; t < m->content.table_count; t++) {
        const zf_module_table *table = &m->content.tables[t];
        if (table->text.bytes == wanted.bytes && memcmp(table->text.hash, wanted.hash, sizeof wanted.hash) == 0 &&
            strcmp(table->name, zf_container_table(container)) == 0) {
            return table;
        }
    }
    return NULL;
}

static const zf_module_column *find_column(const zf_module_table *table, const char *name) {
    for (uint32_t c = 0; c < table->column_count; c++) {
        if (strcmp(table->columns[c].name, name) == 0) return &table->columns[c];
    }
    return NULL;
}

/// PTX runs on its architecture and all later ones.
static bool runs_on(zf_abi_target made, zf_abi_target device) {
    if (made.family != device.family) return false;
    return made.family == ZF_TARGET_NVPTX ? made.arch <= device.arch : made.arch == device.arch;
}

/// How near a plan of a module comes to the shape of a file: what is the first thing that differs.
typedef enum nearness {
    OTHER_DEVICE,
    OTHER_BRANCHES,
    OTHER_CODEC,    ///< streams or chunks: the file contradicts its text
    OTHER_CHUNKS,   ///< chunks of a stage are uneven in one of them
    OTHER_STAGES,   ///< that have seek states
    OTHER_INTERVAL, ///< of seek states
    SAME,
} nearness;

static bool has_uneven_chunks(const zf_shape *shape) {
    bool has = false;
    for (uint32_t t = 0; t < shape->tree_count; t++) has = has || shape->trees[t].directory == ZF_DIRECTORY_UNEVEN;
    return has;
}

/// Whether the same trees of both are of uneven chunks. Both stand in the order of the codec's stages.
static bool same_uneven_chunks(const zf_shape *a, const zf_shape *b) {
    for (uint32_t t = 0, u = 0;; t++, u++) {
        while (t < a->tree_count && a->trees[t].directory != ZF_DIRECTORY_UNEVEN) t++;
        while (u < b->tree_count && b->trees[u].directory != ZF_DIRECTORY_UNEVEN) u++;
        if (t == a->tree_count || u == b->tree_count) return t == a->tree_count && u == b->tree_count;
        if (a->trees[t].edge != b->trees[u].edge) return false;
    }
}

/// The encoder chooses which stages have seek states, and their interval. The size of chunks is the codec's.
static nearness compare(const zf_module_plan *plan, const zf_shape *shape, zf_abi_target target) {
    const zf_shape *own = &plan->shape;
    if (!runs_on(plan->abi.target, target)) return OTHER_DEVICE;
    if (!zf_shape_has_branches(own, shape->branches, shape->branch_count)) return OTHER_BRANCHES;
    if (!same_uneven_chunks(own, shape)) return OTHER_CHUNKS;
    if (!zf_shape_same_codec(own, shape)) return OTHER_CODEC;
    if (own->tree_count != shape->tree_count) return OTHER_STAGES;
    for (uint32_t t = 0; t < own->tree_count; t++) {
        if (own->trees[t].edge != shape->trees[t].edge || own->trees[t].directory != shape->trees[t].directory)
            return OTHER_STAGES;
    }
    for (uint32_t t = 0; t < own->tree_count; t++) {
        if (!own->trees[t].directory && own->trees[t].interval != shape->trees[t].interval) return OTHER_INTERVAL;
    }
    return SAME;
}

/// Names the stages that have seek states besides the column's kernel, as `zfc encode --unfused` names them.
static zf_status no_stages(const zf_module *m, const zf_container *container, const char *column, const zf_shape *shape,
                           zf_error *error) {
    zf_text what = {0};
    const char *between = "this file's plan, with seek states of ";
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        const zf_shape_tree *tree = &shape->trees[t];
        if (tree->directory || tree->edge == 0) continue;
        if (what.length > MOST_IN_HINT) {
            zf_text_puts(&what, ", ...");
            break;
        }
        zf_text_printf(&what, "%s%.64s.%.128s", between, column, shape->edges[tree->edge].path);
        between = ",";
    }
    if (what.length == 0) zf_text_puts(&what, "this file's plan, in which all stages are fused");
    zf_status status = absent(m, ZF_E_NO_CODE_FOR_STAGES, container, column, what.failed ? "this file's plan" : what.data, error);
    zf_text_free(&what);
    return status;
}

static zf_status no_device(const zf_module *m, const zf_container *container, const char *column, zf_abi_target target,
                           zf_error *error) {
    char what[96];
    const char *hint = "compile it with --target nvptx; a module's PTX is for compute capability 8.0 and later";
    snprintf(what, sizeof what, "GPUs of compute capability %u.%u", target.arch / 10, target.arch % 10);
    if (target.family == ZF_TARGET_EMU) {
        snprintf(what, sizeof what, "the emulated GPU");
        hint = "modules hold code for CPUs and NVIDIA GPUs only; the emulator needs the compiler";
    } else if (target.family == ZF_TARGET_HOST) {
        snprintf(what, sizeof what, "the CPU");
        hint = "compile it with --target host";
    }
    zf_status status = absent(m, ZF_E_NO_CODE_FOR_DEVICE, container, column, what, error);
    return zf_fail_hint(error, status, "%s", hint);
}

/// Code takes types and numbers from the text, the runtime checks blocks by the file's shape: the two must agree.
static zf_status contradicts(const zf_container *container, const char *column, zf_error *error) {
    zf_raise(error, ZF_E_INDEX_CONTENT, "the index describes other streams of column `%s` than its codec", column);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s: column %s", zf_container_path(container), column);
}

/// The plan of a column that suits the device, the branches and the seek states. Or what there is no code for.
static zf_status choose(const zf_module *m, const zf_module_column *column, const zf_shape *shape, zf_abi_target target,
                        const zf_container *container, const zf_module_plan **out, zf_error *error) {
    char what[64];
    nearness nearest = OTHER_DEVICE;
    *out = NULL;
    for (uint32_t p = 0; p < column->plan_count; p++) {
        const zf_module_plan *entry = &column->plans[p];
        nearness near = compare(entry, shape, target);
        if (near > nearest) nearest = near;
        if (near == SAME && (*out == NULL || entry->abi.target.arch > (*out)->abi.target.arch)) *out = entry;
    }
    switch (nearest) {
    case OTHER_DEVICE: return no_device(m, container, column->name, target, error);
    case OTHER_BRANCHES:
        return absent(m, ZF_E_NO_CODE_FOR_BRANCHES, container, column->name, "the alternatives that blocks took", error);
    case OTHER_CODEC: return contradicts(container, column->name, error);
    case OTHER_CHUNKS:
        return absent(m, ZF_E_NO_CODE_FOR_STAGES, container, column->name,
                      has_uneven_chunks(shape) ? "this file's plan, with chunks of any length"
                                               : "this file's plan, with even chunks",
                      error);
    case OTHER_STAGES: return no_stages(m, container, column->name, shape, error);
    case OTHER_INTERVAL:
        snprintf(what, sizeof what, "this file's plan, with seek states every %u elements", zf_shape_interval(shape));
        return absent(m, ZF_E_SEEK_INTERVAL, container, column->name, what, error);
    case SAME: break;
    }
    return ZF_OK;
}

static zf_status plan(void *self, zf_container *container, size_t number, const uint8_t *branches, size_t branch_count,
                      zf_abi_device device, const zf_abi_plan **out, zf_error *error) {
    const zf_module *m = self;
    zf_column_info info = {0};
    *out = NULL;
    ZF_TRY(zf_container_column(container, number, &info, error));
    const zf_module_table *table = find_table(m, container);
    if (table == NULL) return absent(m, ZF_E_NOT_IN_MODULE, container, info.name, "a table with these codecs", error);
    const zf_module_column *column = find_column(table, info.name);
    if (column == NULL) return absent(m, ZF_E_NOT_IN_MODULE, container, info.name, "this column", error);
    const zf_shape *shape = zf_container_shape_for(container, number, branches, branch_count);
    if (!zf_column_type_same(column->type, info.type) || shape == NULL) {
        zf_raise(error, ZF_E_INDEX_CONTENT, "the type or shape of column `%s` in the file's text differs from the index",
                 info.name);
        return zf_fail_place(error, ZF_ERR_INPUT, "%s", zf_container_path(container));
    }
    if (!zf_branches_exist(branches, branch_count, column->alternatives, column->choice_count))
        return zf_raise(error, ZF_E_INDEX_CONTENT, ZF_NO_SUCH_BRANCHES, info.name);
    const zf_module_plan *entry;
    ZF_TRY(choose(m, column, shape, device.target, container, &entry, error));
    if (!zf_shape_matches(shape, &entry->shape)) return contradicts(container, info.name, error);
    *out = &entry->abi;
    return ZF_OK;
}

static zf_status code(void *self, const zf_abi_plan *abi, const uint64_t *shaping, const zf_abi_code **out, zf_error *error) {
    const zf_module_plan *entry = abi->provider_data;
    (void)self, (void)error;
    *out = &entry->loaded[0]; // the general form
    for (uint32_t k = 1; k < entry->code_count && shaping != NULL; k++) {
        const zf_module_code *made = &entry->codes[k];
        if (made->is_general || memcmp(made->shaping, shaping, abi->shaping_count * sizeof *shaping) != 0) continue;
        *out = &entry->loaded[k];
        break;
    }
    return ZF_OK;
}

zf_abi_provider zf_module_provider(zf_module *module) { return (zf_abi_provider){.self = module, .plan = plan, .code = code}; }

// ---- Reading --------------------------------------------------------------------------------------------------

static zf_status read_part(const zf_module *m, int file, uint8_t *to, size_t begin, size_t end, zf_error *error) {
    while (begin < end) {
        ssize_t got = pread(file, to + begin, end - begin < MOST_AT_ONCE ? end - begin : MOST_AT_ONCE, (off_t)begin);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return zf_raise_system(error, ZF_E_READ_FAILED, "read", m->path, errno);
        if (got == 0) {
            zf_status status = zf_raise(error, ZF_E_MODULE_CUT, "the module was cut shorter while it was read");
            return zf_fail_place(error, status, "%s", m->path);
        }
        begin += (size_t)got;
    }
    return ZF_OK;
}

/// Reads the file: its header first, so that a large file that is no module, or not this one, takes no memory.
static zf_status read_bytes(zf_module *m, int file, size_t size, zf_error *error) {
    uint8_t header[ZF_MODULE_HEADER_BYTES] = {0};
    size_t first = size < sizeof header ? size : sizeof header;
    ZF_TRY(read_part(m, file, header, 0, first, error));
    ZF_TRY(zf_module_check_header(header, size, m->path, error));
    m->bytes = malloc(size);
    if (m->bytes == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a module of %zu bytes", size);
    memcpy(m->bytes, header, first);
    return read_part(m, file, m->bytes, first, size, error);
}

static zf_status read_module(zf_module *m, zf_error *error) {
    int file = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return zf_raise_system(error, ZF_E_OPEN_FAILED, "open", m->path, errno);
    struct stat facts;
    zf_status status = fstat(file, &facts) == 0 ? ZF_OK : zf_raise_system(error, ZF_E_OPEN_FAILED, "look at", m->path, errno);
    if (status == ZF_OK && !S_ISREG(facts.st_mode)) {
        status = zf_raise(error, ZF_E_NOT_A_MODULE, "this is not a regular file");
        zf_fail_place(error, status, "%s", m->path);
    }
    size_t size = status == ZF_OK ? (size_t)facts.st_size : 0;
    if (status == ZF_OK) status = read_bytes(m, file, size, error);
    close(file);
    if (status != ZF_OK) return status;
    m->arena = zf_arena_create();
    if (m->arena == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a module");
    return zf_module_parse(m->arena, m->bytes, size, m->path, &m->content, error);
}

// ---- Loading --------------------------------------------------------------------------------------------------

static zf_status describe_code(zf_module *m, const zf_module_plan *entry, const zf_module_code *made, zf_abi_code *out,
                               zf_error *error) {
    const uint8_t *native = m->native.memory != NULL ? m->native.memory + ZF_MODULE_PAGE : NULL;
    out->general = made->is_general && entry->abi.shaping_count > 0;
    if (entry->abi.target.family == ZF_TARGET_HOST) {
        zf_abi_kernel_fn *kernels = ZF_NEW_ARRAY(m->arena, zf_abi_kernel_fn, entry->abi.kernel_count + 1);
        if (kernels == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a module");
        for (uint32_t k = 0; k < entry->abi.kernel_count; k++)
            kernels[k] = (zf_abi_kernel_fn)(uintptr_t)(native + made->kernels[k]);
        out->kernels = kernels;
        out->stack_bytes = made->stack_bytes;
        return ZF_OK;
    }
    out->simt = made->simt;
    out->image_kind = ZF_IMAGE_PTX;
    out->image = m->content.images + made->image;
    out->image_bytes = made->image_bytes;
    return ZF_OK;
}

static zf_status describe_column(zf_module *m, zf_module_column *column, zf_error *error) {
    for (uint32_t p = 0; p < column->plan_count; p++) {
        zf_module_plan *entry = &column->plans[p];
        entry->abi.provider_data = entry;
        entry->loaded = ZF_NEW_ARRAY(m->arena, zf_abi_code, entry->code_count + 1);
        if (entry->loaded == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a module");
        for (uint32_t k = 0; k < entry->code_count; k++)
            ZF_TRY(describe_code(m, entry, &entry->codes[k], &entry->loaded[k], error));
    }
    return ZF_OK;
}

static zf_status make_ready(zf_module *m, zf_error *error) {
    uint32_t level, machine = zf_cpu_here(&level);
    ZF_TRY(zf_cpu_fits(m->content.machine, m->content.cpu_level, machine, level, m->path, error));
    ZF_TRY(zf_native_map(&m->content, m->path, &m->native, error));
    for (uint32_t t = 0; t < m->content.table_count; t++) {
        for (uint32_t c = 0; c < m->content.tables[t].column_count; c++)
            ZF_TRY(describe_column(m, &m->content.tables[t].columns[c], error));
    }
    return ZF_OK;
}

void zf_module_close(zf_module *module) {
    if (module == NULL) return;
    zf_native_unmap(&module->native);
    if (module->arena != NULL) zf_arena_destroy(module->arena);
    free(module->bytes);
    free(module->path);
    free(module);
}

static zf_status open_module(const char *path, bool run, zf_module **out, zf_error *error) {
    *out = NULL;
    zf_module *m = calloc(1, sizeof *m);
    if (m == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a module");
    m->path = strdup(path);
    zf_status status = m->path != NULL ? ZF_OK : zf_raise(error, ZF_E_NO_MEMORY, "no memory for a path");
    if (status == ZF_OK) status = read_module(m, error);
    if (status == ZF_OK && run) status = make_ready(m, error);
    if (status == ZF_OK)
        *out = m;
    else
        zf_module_close(m);
    return status;
}

zf_status zf_module_open(const char *path, zf_module **out, zf_error *error) { return open_module(path, true, out, error); }
zf_status zf_module_look(const char *path, zf_module **out, zf_error *error) { return open_module(path, false, out, error); }
const zf_module_content *zf_module_content_of(const zf_module *module) { return &module->content; }

zf_status zf_module_load(zf_context *context, const char *path, zf_module **out, zf_error *error) {
    if (out != NULL) *out = NULL;
    if (context == NULL || path == NULL || out == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_module_load needs a context, a path and a place for the module");
    zf_module *m;
    ZF_TRY(zf_module_open(path, &m, error));
    zf_abi_provider provider = zf_module_provider(m);
    zf_status status = zf_context_add_provider(context, &provider, error);
    if (status != ZF_OK) {
        zf_module_close(m);
        return status;
    }
    m->context = context;
    zf_context_log(context, ZF_LOG_DEBUG, "loaded %s: tables: %u, native code: %llu bytes, PTX: %llu bytes", path,
                   m->content.table_count, (ull)m->content.native_bytes, (ull)m->content.image_bytes);
    *out = m;
    return ZF_OK;
}

/// Has the devices of the context unload the module's code. Decodes have ended, so references to it are kept ones.
static void drop_codes(const zf_module *m) {
    for (uint32_t t = 0; t < m->content.table_count; t++) {
        const zf_module_table *table = &m->content.tables[t];
        for (uint32_t c = 0; c < table->column_count; c++) {
            for (uint32_t p = 0; p < table->columns[c].plan_count; p++) {
                const zf_module_plan *entry = &table->columns[c].plans[p];
                for (uint32_t k = 0; k < entry->code_count; k++) {
                    if (entry->loaded[k].simt != NULL) zf_context_drop_code(m->context, &entry->loaded[k]);
                }
            }
        }
    }
}

void zf_module_free(zf_module *module) {
    if (module == NULL) return;
    if (module->context != NULL) {
        zf_context_remove_provider(module->context, module);
        drop_codes(module);
    }
    zf_module_close(module);
}
