// Decoding a column, or some of its rows: which blocks are needed, which code runs them, and over which threads.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/pool.h"
#include "runtime/block_run.h"
#include "runtime/container_format.h"
#include "runtime/container_open.h"
#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/element.h"
#include "runtime/error_codes.h"

typedef unsigned long long ull;

/// Code for one tuple of shaping values, as the provider gave it.
typedef struct known_code {
    uint32_t shape;
    uint64_t *values;
    const zf_abi_code *code;
    struct known_code *next;
} known_code;

/// More tuples than this are not remembered here: the provider is asked again for each block.
enum { MOST_KNOWN = 64 };

typedef struct job {
    zf_container *container;
    const zf_index_column *column;
    size_t column_number;
    zf_abi_provider provider;
    const zf_abi_plan **plans;        ///< per shape; NULL where no block of the range has it
    uint64_t begin, end;              ///< rows
    uint64_t first_block, last_block; ///< first .. last - 1
    unsigned bits;
    unsigned shift;        ///< booleans: rows decoded before `begin`, so that blocks start at a byte
    unsigned workers;      ///< blocks at once
    unsigned tile_threads; ///< threads within a block
    uint64_t work_bytes;   ///< per worker
    uint64_t bitmap_bytes; ///< booleans that must be shifted: the bitmap before the shift
    bool checksums;
    // while it runs
    zf_device device;
    zf_device_state *state;
    uint8_t *out; ///< of row begin - shift
    uint8_t *work;
    pthread_mutex_t lock; ///< guards what follows
    known_code *known;
    unsigned known_count;
    zf_error *error;
    zf_status status;
    atomic_uint_fast64_t failed; ///< least index of a block that failed
    zf_decode_stats stats;
} job;

// ---- What is to be done ---------------------------------------------------------------------------------------

static zf_status check_column(const zf_container *container, size_t column, zf_error *error) {
    if (container == NULL) return zf_raise(error, ZF_E_ARGUMENT, "decoding needs a container");
    zf_column_info info;
    ZF_TRY(zf_container_column(container, column, &info, error));
    if (zf_element_bits(info.type.element) != 0 && !info.type.nullable) return ZF_OK;
    zf_status status = zf_raise(error, ZF_E_TYPE_NOT_DELIVERED, "column %.128s is of type %.64s, which this build cannot deliver",
                                info.name, info.type_name);
    return zf_fail_hint(error, status, "numbers and booleans without nulls can be decoded");
}

static zf_status choose_rows(job *j, const zf_decode_options *options, zf_error *error) {
    uint64_t rows = j->container->index.rows;
    j->begin = 0;
    j->end = rows;
    if (options != NULL && options->some_rows) {
        bool fits = options->row_begin <= rows;
        if (fits && options->row_count != UINT64_MAX) fits = options->row_count <= rows - options->row_begin;
        if (!fits) {
            zf_status status = options->row_count == UINT64_MAX
                                   ? zf_raise(error, ZF_E_ROW_RANGE, "row %llu of %llu", (ull)options->row_begin, (ull)rows)
                                   : zf_raise(error, ZF_E_ROW_RANGE, "%llu rows from row %llu of %llu", (ull)options->row_count,
                                              (ull)options->row_begin, (ull)rows);
            return zf_fail_place(error, status, "%s: column %s", j->container->path, j->column->name);
        }
        j->begin = options->row_begin;
        if (options->row_count != UINT64_MAX) j->end = options->row_begin + options->row_count;
    }
    // Blocks are even (the last may be short), so a row's block is a division.
    j->first_block = j->last_block = 0;
    if (j->begin < j->end) {
        j->first_block = j->begin / j->column->rows_per_block;
        j->last_block = (j->end - 1) / j->column->rows_per_block + 1;
    }
    j->shift = j->bits == 1 ? (unsigned)(j->begin % 8) : 0;
    return ZF_OK;
}

/// Names file and column where an error has no place yet.
static zf_status place_column(const job *j, zf_status status, zf_error *error) {
    if (error == NULL || error->place[0] != 0) return status;
    return zf_fail_place(error, status, "%s: column %s", j->container->path, j->column->name);
}

/// Gets the plan of every shape in the range, and the work memory of the largest.
static zf_status get_plans(job *j, zf_error *error) {
    j->plans = calloc((size_t)j->column->shape_count + 1, sizeof *j->plans);
    if (j->plans == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for plans");
    if (j->first_block == j->last_block) return ZF_OK;
    if (!zf_context_provider(j->container->context, &j->provider)) {
        zf_status status = zf_raise(error, ZF_E_NO_CODE, "nothing gives code to decode column %.128s with", j->column->name);
        return zf_fail_hint(error, status, "make a compiler for the context: zf_compiler_create");
    }
    for (uint64_t b = j->first_block; b < j->last_block; b++) {
        uint32_t s = j->column->blocks[b].shape;
        const zf_index_shape *entry = &j->column->shapes[s];
        if (j->plans[s] != NULL) continue;
        const zf_abi_plan *plan = NULL;
        uint64_t bytes = 0;
        zf_status status = j->provider.plan(j->provider.self, j->container, j->column_number, entry->shape.branches,
                                            entry->shape.branch_count, (zf_abi_target){.family = ZF_TARGET_HOST}, &plan, error);
        if (status != ZF_OK) return place_column(j, status, error);
        if (plan == NULL) return zf_raise(error, ZF_E_INTERNAL, "the source of code gave no plan");
        if (zf_plan_fits(plan, &entry->shape, NULL) != ZF_OK) { // a plan is trusted, what the file says of itself is not
            status = zf_raise(error, ZF_E_INDEX_CONTENT, "the index gives the column another shape than its codec has");
            return place_column(j, status, error);
        }
        ZF_TRY(zf_plan_work_bytes(plan, &entry->shape, entry->most, &bytes, error));
        if (bytes > j->work_bytes) j->work_bytes = bytes;
        if (plan->kernel_count > j->stats.kernels) j->stats.kernels = plan->kernel_count;
        j->plans[s] = plan;
    }
    return ZF_OK;
}

/// Fills everything of the job that the index and the options decide.
static zf_status prepare(job *j, zf_container *container, size_t column, const zf_decode_options *options, zf_error *error) {
    *j = (job){.container = container, .column_number = column, .status = ZF_OK};
    ZF_TRY(check_column(container, column, error));
    j->column = &container->index.columns[column];
    j->bits = zf_element_bits(j->column->type.element);
    j->checksums = options == NULL || !options->skip_checksums;
    ZF_TRY(choose_rows(j, options, error));
    ZF_TRY(get_plans(j, error));
    unsigned threads = zf_context_threads(container->context, options != NULL ? options->threads : 0);
    uint64_t blocks = j->last_block - j->first_block;
    // Enough blocks keep the threads busy with one each; a few are better shared.
    bool many = blocks >= UINT64_C(2) * threads;
    j->workers = many ? threads : 1;
    j->tile_threads = many ? 1 : threads;
    uint64_t rows = j->end - j->begin;
    if (j->shift != 0) {
        zf_elements_bytes(rows + j->shift, 1, &j->bitmap_bytes);
        j->bitmap_bytes = (j->bitmap_bytes + ZF_WORK_ALIGNMENT - 1) / ZF_WORK_ALIGNMENT * ZF_WORK_ALIGNMENT;
    }
    return ZF_OK;
}

static zf_status sizes_of(const job *j, zf_decode_sizes *out, zf_error *error) {
    *out = (zf_decode_sizes){0};
    uint64_t values = 0, workspace = 0;
    bool fits = zf_elements_bytes(j->end - j->begin, j->bits, &values);
    fits = fits && !__builtin_mul_overflow(j->work_bytes, (uint64_t)j->workers, &workspace);
    fits = fits && !__builtin_add_overflow(workspace, j->bitmap_bytes, &workspace);
    if (!fits) return zf_raise(error, ZF_E_TOO_LARGE, "column %.128s is larger than can be addressed", j->column->name);
    out->values = values;
    out->workspace = workspace;
    return ZF_OK;
}

zf_status zf_decode_size(zf_container *container, size_t column, const zf_decode_options *options, zf_decode_sizes *out,
                         zf_error *error) {
    if (out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_size needs a place for the sizes");
    *out = (zf_decode_sizes){0};
    job j;
    zf_status status = prepare(&j, container, column, options, error);
    if (status == ZF_OK) status = sizes_of(&j, out, error);
    free(j.plans);
    return status;
}

// ---- Code -----------------------------------------------------------------------------------------------------

static bool same_values(const known_code *known, const zf_abi_plan *plan, const uint64_t *params) {
    for (uint32_t i = 0; i < plan->shaping_count; i++) {
        if (known->values[i] != params[plan->shaping[i]]) return false;
    }
    return true;
}

/// Remembers the code of a tuple, and counts it if it is new. Under the lock. Without memory it is just not remembered.
static void remember(job *j, uint32_t shape, uint64_t *values, const zf_abi_code *code) {
    const zf_abi_plan *plan = j->plans[shape];
    bool seen = false;
    for (const known_code *k = j->known; k != NULL && !seen; k = k->next) seen = k->code == code;
    if (!seen) j->stats.kernel_variants += plan->kernel_count;
    known_code *entry = !seen || j->known_count < MOST_KNOWN ? malloc(sizeof *entry) : NULL;
    if (entry == NULL) {
        free(values);
        return;
    }
    *entry = (known_code){shape, values, code, j->known};
    j->known = entry;
    j->known_count++;
}

static const zf_abi_code *known_for(const job *j, uint32_t shape, const zf_block_view *view) {
    for (const known_code *k = j->known; k != NULL; k = k->next) {
        if (k->shape == shape && same_values(k, j->plans[shape], view->params)) return k->code;
    }
    return NULL;
}

/// The code for a block. The provider may compile, so it is asked with no lock held: threads with code go on meanwhile.
static zf_status find_code(job *j, uint32_t shape, const zf_block_view *view, const zf_abi_code **out, zf_error *error) {
    const zf_abi_plan *plan = j->plans[shape];
    pthread_mutex_lock(&j->lock);
    *out = known_for(j, shape, view);
    pthread_mutex_unlock(&j->lock);
    if (*out != NULL) return ZF_OK;
    uint64_t *values = malloc(((size_t)plan->shaping_count + 1) * sizeof *values);
    if (values == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a tuple of params");
    for (uint32_t i = 0; i < plan->shaping_count; i++) values[i] = view->params[plan->shaping[i]];
    zf_status status = j->provider.code(j->provider.self, plan, values, out, error);
    if (status == ZF_OK && *out == NULL) status = zf_raise(error, ZF_E_INTERNAL, "the source of code gave no code");
    if (status != ZF_OK) {
        free(values);
        return status;
    }
    pthread_mutex_lock(&j->lock);
    if (known_for(j, shape, view) == NULL)
        remember(j, shape, values, *out);
    else
        free(values); // another thread was faster
    pthread_mutex_unlock(&j->lock);
    return ZF_OK;
}

// ---- Blocks ---------------------------------------------------------------------------------------------------

static zf_status run_block(job *j, uint64_t block, unsigned worker, const zf_block_view *view, const char *where,
                           zf_error *error) {
    uint32_t shape = j->column->blocks[block].shape;
    const zf_abi_code *code = NULL;
    zf_status status = find_code(j, shape, view, &code, error);
    if (status != ZF_OK) return status;
    uint64_t first = j->begin - j->shift; // row of the first bit or element of `out`
    uint64_t begin = view->first_row > first ? view->first_row : first;
    uint64_t end = view->first_row + view->rows < j->end ? view->first_row + view->rows : j->end;
    zf_block_run run = {
        .plan = j->plans[shape],
        .code = code,
        .view = view,
        .element = j->column->type.element,
        .out = j->out + (begin - first) * j->bits / 8, // booleans: every block but the first starts at a byte
        .begin = begin - view->first_row,
        .end = end - view->first_row,
        .work = j->work + (uint64_t)worker * j->work_bytes,
        .mode = ZF_ABI_DECODE,
        .where = where,
        .threads = j->tile_threads,
    };
    status = j->device.ops->run(j->state, &run, error);
    pthread_mutex_lock(&j->lock);
    j->stats.blocks_read++;
    j->stats.bytes_read += view->bytes;
    j->stats.launches += run.launches;
    pthread_mutex_unlock(&j->lock);
    return status;
}

static void decode_block(void *user, uint64_t index, unsigned worker) {
    job *j = user;
    // Blocks behind a failed one are left out; those before it go on, so that the first failure is always the one reported.
    if (index > atomic_load(&j->failed)) return;
    uint64_t block = j->first_block + index;
    char where[256];
    zf_error error;
    zf_block_view view;
    snprintf(where, sizeof where, "%s: column %.64s, block %llu", zf_container_short_path(j->container), j->column->name,
             (ull)block);
    zf_status status = zf_container_block(j->container, j->column_number, block, j->checksums, &view, &error);
    if (status == ZF_OK) {
        status = run_block(j, block, worker, &view, where, &error);
        zf_block_view_free(&view);
    }
    if (status == ZF_OK) return;
    pthread_mutex_lock(&j->lock);
    if (index < atomic_load(&j->failed)) {
        atomic_store(&j->failed, index);
        j->status = status;
        if (j->error != NULL) *j->error = error;
    }
    pthread_mutex_unlock(&j->lock);
}

static zf_status check_buffers(const zf_decode_sizes *sizes, const zf_decode_buffers *buffers, zf_error *error) {
    if (buffers == NULL) return zf_raise(error, ZF_E_BUFFER, "decoding needs buffers");
    const struct {
        const char *name;
        const void *at;
        size_t bytes;
    } needed[] = {{"values", buffers->values, sizes->values}, {"workspace", buffers->workspace, sizes->workspace}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (needed[i].bytes == 0) continue;
        if (needed[i].at == NULL) {
            return zf_raise(error, ZF_E_BUFFER, "the buffer `%s` is missing; %zu bytes are needed", needed[i].name,
                            needed[i].bytes);
        }
        if ((uintptr_t)needed[i].at % ZF_WORK_ALIGNMENT != 0) {
            return zf_raise(error, ZF_E_BUFFER, "the buffer `%s` is not aligned to %d bytes", needed[i].name, ZF_WORK_ALIGNMENT);
        }
    }
    return ZF_OK;
}

static zf_status run_job(job *j, const zf_decode_buffers *buffers, zf_error *error) {
    unsigned threads = j->tile_threads > j->workers ? j->tile_threads : j->workers;
    ZF_TRY(j->device.ops->open(j->container->context, threads, &j->state, error));
    uint8_t *workspace = buffers->workspace;
    j->out = j->shift != 0 ? workspace : buffers->values;
    j->work = workspace + j->bitmap_bytes;
    j->error = error;
    atomic_init(&j->failed, UINT64_MAX);
    pthread_mutex_init(&j->lock, NULL);
    zf_parallel_for(j->workers, j->last_block - j->first_block, decode_block, j);
    zf_status status = j->status;
    if (status == ZF_OK) status = j->device.ops->finish(j->state, error);
    // A file that changed meanwhile explains every other failure, and spoils a result without one.
    zf_error changed;
    if (zf_container_unchanged(j->container, &changed) != ZF_OK) {
        status = changed.status;
        if (error != NULL) *error = changed;
    }
    if (status == ZF_OK && j->shift != 0) {
        uint64_t rows = j->end - j->begin;
        uint8_t *values = buffers->values;
        zf_copy_bits(values, 0, j->out, j->shift, rows);
        if (rows % 8 != 0) values[rows / 8] &= (uint8_t)((1u << (rows % 8)) - 1);
    }
    for (known_code *k = j->known, *next; k != NULL; k = next) {
        next = k->next;
        free(k->values);
        free(k);
    }
    pthread_mutex_destroy(&j->lock);
    j->device.ops->close(j->state);
    return status;
}

zf_status zf_decode(zf_container *container, size_t column, const char *device, const zf_decode_options *options,
                    const zf_decode_buffers *buffers, zf_decode_stats *stats, zf_error *error) {
    if (stats != NULL) *stats = (zf_decode_stats){0};
    job j;
    zf_decode_sizes sizes;
    zf_status status = prepare(&j, container, column, options, error);
    if (status == ZF_OK) status = zf_device_find(container->context, device != NULL ? device : "auto", &j.device, error);
    if (status == ZF_OK) status = sizes_of(&j, &sizes, error);
    if (status == ZF_OK) status = check_buffers(&sizes, buffers, error);
    if (status == ZF_OK && j.begin < j.end) status = run_job(&j, buffers, error);
    if (stats != NULL) *stats = j.stats;
    free(j.plans);
    return status;
}
