#include "tests/gpu/gpu_machine.h"
#include "tests/support/emulated.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// ---- Options --------------------------------------------------------------------------------------------------

static bool read_option(const char *name, const char *value, const gpu_option *options) {
    for (const gpu_option *o = options; o->name != NULL; o++) {
        if (strncmp(name, "--", 2) != 0 || strcmp(name + 2, o->name) != 0) continue;
        char *end = NULL;
        if (o->text != NULL) {
            *o->text = value;
            return true;
        }
        *o->number = strtoull(value, &end, 10);
        if (*value >= '0' && *value <= '9' && *end == 0) return true;
        fprintf(stderr, "%s needs a number, not %s\n", name, value);
        return false;
    }
    fprintf(stderr, "no option %s; there are", name);
    for (const gpu_option *o = options; o->name != NULL; o++) fprintf(stderr, " --%s", o->name);
    fputs("\n", stderr);
    return false;
}

bool gpu_options_read(int count, char **arguments, const gpu_option *options) {
    for (int k = 1; k < count; k += 2) {
        if (!read_option(arguments[k], k + 1 < count ? arguments[k + 1] : "nothing", options)) return false;
    }
    return true;
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double gpu_seconds(void) { return seconds_of(CLOCK_MONOTONIC); }

double gpu_work_seconds(const gpu_machine *machine) {
    return seconds_of(machine->emulated ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC);
}

// ---- Code that serves for several files -----------------------------------------------------------------------

static const zf_shape *shape_of(const zf_container *container, size_t column, const uint8_t *branches, size_t count,
                                size_t *alike) {
    const zf_shape *found = NULL;
    *alike = 0;
    for (size_t s = 0; s < zf_container_shapes(container, column); s++) {
        const zf_shape *shape = zf_container_shape(container, column, s);
        if (!zf_shape_has_branches(shape, branches, count)) continue;
        found = shape;
        ++*alike;
    }
    return found;
}

static bool same_intervals(const zf_shape *a, const zf_shape *b) {
    for (uint32_t t = 0; t < a->tree_count; t++) {
        if (a->trees[t].interval != b->trees[t].interval) return false;
    }
    return true;
}

/// Whether the compiler would make the same code for both: it goes by text, table, type, shape and intervals.
static bool serves(const zf_container *model, const zf_container *container, size_t column, const uint8_t *branches,
                   size_t count) {
    size_t a_length, b_length, a_alike, b_alike;
    zf_column_info a = {0}, b = {0};
    zf_error error;
    const char *a_text = zf_container_unit(model, &a_length), *b_text = zf_container_unit(container, &b_length);
    if (a_length != b_length || memcmp(a_text, b_text, a_length) != 0) return false;
    if (strcmp(zf_container_table(model), zf_container_table(container)) != 0) return false;
    if (zf_container_column(model, column, &a, &error) != ZF_OK || zf_container_column(container, column, &b, &error) != ZF_OK)
        return false;
    bool typed = a.type.element == b.type.element && a.type.logical == b.type.logical && a.type.nullable == b.type.nullable &&
                 a.type.precision == b.type.precision && a.type.scale == b.type.scale;
    if (strcmp(a.name, b.name) != 0 || !typed) return false;
    const zf_shape *own = shape_of(model, column, branches, count, &a_alike);
    const zf_shape *other = shape_of(container, column, branches, count, &b_alike);
    return a_alike == 1 && b_alike == 1 && zf_shape_matches(own, other) && same_intervals(own, other);
}

static zf_status plan(void *self, zf_container *container, size_t column, const uint8_t *branches, size_t count,
                      zf_abi_device device, const zf_abi_plan **out, zf_error *error) {
    gpu_machine *m = self;
    for (size_t k = 0; k < m->model_count; k++) {
        if (!serves(m->models[k], container, column, branches, count)) continue;
        return m->compiled.plan(m->compiled.self, m->models[k], column, branches, count, device, out, error);
    }
    return m->compiled.plan(m->compiled.self, container, column, branches, count, device, out, error);
}

static zf_status code(void *self, const zf_abi_plan *abi, const uint64_t *shaping, const zf_abi_code **out, zf_error *error) {
    gpu_machine *m = self;
    return m->compiled.code(m->compiled.self, abi, shaping, out, error);
}

static void forget(void *self, zf_container *container) {
    gpu_machine *m = self;
    m->compiled.forget(m->compiled.self, container);
}

zf_container *gpu_model_open(gpu_machine *m, const char *path) {
    zf_error error;
    zf_container *container = NULL;
    if (m->model_count == GPU_MODELS || zf_container_open(m->context, path, &container, &error) != ZF_OK) {
        printf("%s cannot be opened: %s\n", path, m->model_count == GPU_MODELS ? "too many models" : error.message);
        exit(2);
    }
    m->models[m->model_count++] = container;
    return container;
}

// ---- The machine ----------------------------------------------------------------------------------------------

static void must(zf_status status, const zf_error *error) {
    if (status == ZF_OK) return;
    printf("%s: %s (%s)\n", error->code, error->message, error->place);
    exit(2);
}

void gpu_machine_open(gpu_machine *m, const char *device, bool general_only) {
    zf_error error = {0};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *m = (gpu_machine){.device = device, .threads = cores > 32 ? 32 : cores > 1 ? (unsigned)cores : 1};
    const char *parent = getenv("TMPDIR");
    snprintf(m->directory, sizeof m->directory, "%.32s/zf-gpu-XXXXXX", parent != NULL && *parent != 0 ? parent : "/tmp");
    if (mkdtemp(m->directory) == NULL) {
        printf("no directory %s\n", m->directory);
        exit(2);
    }
    must(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = m->threads}, &m->context, &error), &error);
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .general_only = general_only};
    zf_device found;
    must(zf_device_find(m->context, device, &found, &error), &error);
    m->emulated = strncmp(found.ops->name, "emu", 3) == 0; // emu, emu64
#ifdef ZF_SANITIZE
    options.sanitize = true; // what the CPU is compared with
#endif
    options.optimise = m->emulated ? 1 : 0; // for the emulator compiling would take longer than running
    must(zf_compiler_create(m->context, &options, &m->compiler, &error), &error);
    if (found.ops->start == NULL) {
        printf("device %s is not an accelerator\n", device);
        exit(2);
    }
    must(zf_device_accelerator(m->context, &found, &m->accelerator, &error), &error);
    must(zf_program_load(m->compiler, ZF_SOURCE_DIR "/tests/gpu/forms.zf", &m->program, &error), &error);
    if (!zf_context_provider(m->context, &m->compiled)) exit(2);
    zf_abi_provider knowing = {.self = m, .plan = plan, .code = code, .forget = forget};
    must(zf_context_set_provider(m->context, &knowing, &error), &error);
}

void gpu_machine_close(gpu_machine *m) {
    for (size_t k = 0; k < m->model_count; k++) zf_container_close(m->models[k]);
    zf_context_set_provider(m->context, NULL, NULL);
    zf_program_free(m->program);
    zf_compiler_free(m->compiler);
    zf_context_free(m->context);
    DIR *entries = opendir(m->directory);
    for (struct dirent *e; entries != NULL && (e = readdir(entries)) != NULL;) {
        if (e->d_name[0] != '.') unlink(gpu_machine_path(m, e->d_name));
    }
    if (entries != NULL) closedir(entries);
    rmdir(m->directory);
}

const char *gpu_machine_path(gpu_machine *m, const char *name) {
    static _Thread_local char path[sizeof m->directory + 260];
    snprintf(path, sizeof path, "%s/%s", m->directory, name);
    return path;
}

/// The plain data of the columns of a table: of all, or of the one after which it is named.
static size_t make_columns(gpu_machine *m, const char *table, uint64_t rows, uint64_t period, zf_encode_column *out) {
    size_t count = 1;
    const gpu_column *columns = strncmp(table, "large_", 6) == 0 ? gpu_column_find(table + 6) : gpu_columns(&count);
    for (size_t c = 0; columns != NULL && c < count; c++) {
        out[c].name = columns[c].name;
        out[c].values = gpu_column_make(&columns[c], 0, rows, period, m->threads);
    }
    return columns != NULL ? count : 0;
}

zf_status gpu_encode(gpu_machine *m, const char *table, uint64_t rows, uint64_t rows_per_block, uint64_t period, const char *path,
                     zf_error *error) {
    enum { MOST = 64 };
    zf_encode_column columns[MOST] = {0};
    size_t count = make_columns(m, table, rows, period, columns);
    // One thread writes blocks in the same order each time, so that a mutation's number is the same mutation.
    unsigned threads = rows < 1 << 20 ? 1 : m->threads;
    zf_encode_options options = {.rows_per_block = rows_per_block, .threads = threads, .overwrite = true};
    zf_status status = zf_encode(m->program, table, columns, count, rows, &options, path, NULL, error);
    for (size_t c = 0; c < count; c++) free((void *)(uintptr_t)columns[c].values);
    return status;
}
