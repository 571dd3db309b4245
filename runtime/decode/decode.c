// Decoding a column, or some of its rows: which blocks are needed, which code runs them, and over which threads.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/base/sized.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "runtime/container/text_extent.h"
#include "runtime/context/context.h"
#include "runtime/decode/block_run.h"
#include "runtime/decode/decode_device.h"
#include "runtime/decode/decode_host.h"
#include "runtime/decode/selection.h"
#include "runtime/device/device.h"
#include "runtime/module/code_book.h"

typedef unsigned long long ull;

typedef struct job {
    zf_selection selection;
    bool is_text;
    zf_text_extent text;  ///< strings
    unsigned lead;        ///< bits before that of row `begin`, so that blocks start at a byte
    unsigned shift;       ///< booleans: rows decoded before `begin`, as many; else 0
    zf_split split;       ///< of the threads over the blocks
    uint64_t work_bytes;  ///< per worker
    uint64_t block_bytes; ///< of the largest block
    bool joined; ///< blocks begin within bytes of the first one's: each worker decodes bits to bitmaps of its own, from where
                 ///< they are moved
    uint64_t bitmap_bytes; ///< of a worker's bitmap of a block, or of the bitmap that must be shifted, before the shift
    unsigned bitmaps;      ///< how many of them lie before the workspace, for each worker if `joined`
    // while it runs
    zf_device device;
    zf_device_state *state;
    uint8_t *out;      ///< of row begin - shift
    uint8_t *validity; ///< of row begin - lead; NULL: not nullable
    int64_t *offsets;  ///< strings: of row begin
    uint8_t *own;      ///< the workers' bitmaps
    uint8_t *work;
    uint8_t **rooms; ///< per worker: memory of `block_bytes` for the block that it reads; NULL: it has read none
    zf_code_book book;
    const zf_decode_watch *watch; ///< NULL: nobody
    pthread_mutex_t lock;         ///< guards what follows, and bytes of bitmaps that blocks share
    zf_error *error;
    zf_status status;
    atomic_uint_fast64_t failed; ///< least index of a block that failed
    zf_decode_stats stats;
} job;

// ---- The request ----------------------------------------------------------------------------------------------

/// The workspace of the largest block, and the most kernels of a plan.
static zf_status size_work(job *j, zf_error *error) {
    const zf_selection *s = &j->selection;
    for (uint32_t shape = 0; shape < s->column->shape_count; shape++) {
        const zf_index_shape *entry = &s->column->shapes[shape];
        const zf_abi_plan *plan = s->plans[shape];
        uint64_t bytes = 0;
        if (plan == NULL) continue;
        ZF_TRY(zf_plan_work_bytes(plan, &entry->shape, entry->most, &bytes, error));
        if (bytes > j->work_bytes) j->work_bytes = bytes;
        if (plan->kernel_count > j->stats.kernels) j->stats.kernels = plan->kernel_count;
    }
    return ZF_OK;
}

/// Sizes the strings of a text column, from the index where there is no plan.
static zf_status size_text(job *j, zf_error *error) {
    j->is_text = j->selection.column->type.element == ZF_STRING;
    return j->is_text ? zf_text_extent_make(&j->selection, &j->text, error) : ZF_OK;
}

/// Whether a block behind the first begins within a byte of bits that begin with the first block's.
static bool begins_within_byte(const zf_selection *s) {
    uint64_t first_row = zf_index_first_row(s->column, s->first_block);
    for (uint64_t b = s->first_block + 1; b < s->last_block; b++) {
        if ((zf_index_first_row(s->column, b) - first_row) % 8 != 0) return true;
    }
    return false;
}

/// Sizes the bitmaps that are not the caller's.
static void size_bitmaps(job *j) {
    const zf_selection *s = &j->selection;
    bool nullable = s->column->type.nullable, bits = s->bits == 1;
    if ((!bits && !nullable) || s->first_block == s->last_block) return;
    j->joined = begins_within_byte(s);
    if (!j->joined) j->lead = (unsigned)((s->begin - zf_index_first_row(s->column, s->first_block)) % 8);
    j->shift = bits ? j->lead : 0;
    if (!j->joined && j->lead == 0) return;
    uint64_t rows = j->joined ? 0 : s->end - s->begin;
    for (uint64_t b = s->first_block; j->joined && b < s->last_block; b++) {
        if (s->column->blocks[b].rows > rows) rows = s->column->blocks[b].rows;
    }
    zf_elements_bytes(rows + 7, 1, &j->bitmap_bytes);
    j->bitmap_bytes = (j->bitmap_bytes + ZF_WORK_ALIGNMENT - 1) / ZF_WORK_ALIGNMENT * ZF_WORK_ALIGNMENT;
    j->bitmaps = (bits ? 1u : 0u) + (nullable ? 1u : 0u);
}

/// Bytes of all bitmaps. They lie before the workspace.
static bool all_bitmaps(const job *j, uint64_t *out) {
    return !__builtin_mul_overflow(j->bitmap_bytes * j->bitmaps, j->joined ? (uint64_t)j->split.workers : 1, out);
}

/// Fills everything of the job that the index and the options decide.
static zf_status prepare(job *j, zf_container *container, size_t column, const zf_decode_options *options, zf_abi_device device,
                         zf_error *error) {
    *j = (job){.status = ZF_OK};
    ZF_TRY(zf_selection_make(container, column, options, device, NULL, &j->selection, error));
    ZF_TRY(size_work(j, error));
    const zf_selection *s = &j->selection;
    unsigned threads = zf_context_threads(container->context, options != NULL ? options->threads : 0);
    j->split = zf_split_threads(threads, s->last_block - s->first_block);
    ZF_TRY(size_text(j, error));
    size_bitmaps(j);
    return ZF_OK;
}

static void job_free(job *j) {
    for (unsigned w = 0; j->rooms != NULL && w < j->split.workers; w++) free(j->rooms[w]);
    free(j->rooms);
    zf_selection_free(&j->selection);
    zf_text_extent_free(&j->text);
}

static zf_status sizes_of(const job *j, zf_decode_sizes *out, zf_error *error) {
    *out = (zf_decode_sizes){0};
    uint64_t values = j->text.total, offsets = 0, validity = 0, workspace = 0, rows = j->selection.end - j->selection.begin;
    uint64_t bitmaps;
    bool fits = j->is_text ? zf_elements_bytes(rows + 1, 64, &offsets) : zf_elements_bytes(rows, j->selection.bits, &values);
    if (j->selection.column->type.nullable) zf_elements_bytes(rows, 1, &validity);
    fits = fits && !__builtin_mul_overflow(j->work_bytes, (uint64_t)j->split.workers, &workspace);
    fits = fits && all_bitmaps(j, &bitmaps) && !__builtin_add_overflow(workspace, bitmaps, &workspace);
    if (!fits) return zf_raise(error, ZF_E_TOO_LARGE, "column %s is larger than can be addressed", j->selection.column->shown);
    out->values = values;
    out->offsets = offsets;
    out->validity = validity;
    out->workspace = workspace;
    return ZF_OK;
}

zf_status zf_decode_size(zf_container *container, size_t column, const zf_decode_options *options, zf_decode_sizes *out,
                         zf_error *error) {
    if (out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_size needs a place for the sizes");
    zf_decode_options own = {0};
    zf_decode_sizes sizes = {0};
    ZF_TRY(ZF_CHECK_GIVEN(zf_decode_sizes, out, error));
    ZF_GIVE(zf_decode_sizes, out, &sizes);
    ZF_TRY(ZF_TAKE(zf_decode_options, &own, options, error));
    job j;
    zf_error reason = {0};
    zf_status status = prepare(&j, container, column, &own, (zf_abi_device){.target = zf_device_cpu.target}, &reason);
    // A module may have code for GPUs only, and they take no workspace from the caller.
    if (status != ZF_OK && zf_error_is(&reason, ZF_E_NO_CODE_FOR_DEVICE)) status = size_text(&j, &reason);
    if (status != ZF_OK && error != NULL) *error = reason;
    if (status == ZF_OK) status = sizes_of(&j, &sizes, error);
    if (status == ZF_OK) ZF_GIVE(zf_decode_sizes, out, &sizes);
    job_free(&j);
    return status;
}

// ---- Blocks ---------------------------------------------------------------------------------------------------

/// Gives a run the worker's bitmaps in place of the caller's, from the byte on in which its first row's bit lies.
static void take_bitmaps(const job *j, unsigned worker, zf_block_run *run) {
    uint8_t *bitmap = j->own + (uint64_t)worker * j->bitmap_bytes * j->bitmaps;
    run->validity_bit = (unsigned)(run->begin % 8);
    if (j->selection.bits == 1) {
        run->begin -= run->validity_bit;
        run->validity_bit = 0;
        run->out = bitmap;
        bitmap += j->bitmap_bytes;
    }
    if (run->nullable) run->validity = bitmap;
}

/// Copies bits into a bitmap of which other threads fill other bits.
static void join_bits(job *j, uint8_t *to, uint64_t to_bit, const uint8_t *from, uint64_t from_bit, uint64_t count) {
    uint64_t head = (8 - to_bit % 8) % 8;
    if (head > count) head = count;
    uint64_t tail = (count - head) % 8, inner = count - head - tail;
    zf_copy_bits(to, to_bit + head, from, from_bit + head, inner);
    pthread_mutex_lock(&j->lock);
    zf_copy_bits(to, to_bit, from, from_bit, head);
    zf_copy_bits(to, to_bit + head + inner, from, from_bit + head + inner, tail);
    pthread_mutex_unlock(&j->lock);
}

/// Moves the bits of a run's rows from the worker's bitmaps to the caller's, where those rows begin at bit `to`.
static void give_bitmaps(job *j, const zf_block_run *run, uint64_t begin, uint64_t to) {
    uint64_t from = begin % 8, rows = run->end - begin;
    if (j->selection.bits == 1) join_bits(j, j->out, to, run->out, from, rows);
    if (run->nullable) join_bits(j, j->validity, to, run->validity, from, rows);
}

/// Compares the zones within a run's rows with these. Its outputs begin with row `run->begin` of the block.
static zf_status check_zones(const job *j, uint64_t block, const zf_block_run *run, zf_error *error) {
    const zf_selection *s = &j->selection;
    int64_t first_offset = (int64_t)run->offset_base; // of row 0, which the block before writes: maybe later
    if (j->is_text && run->begin != 0) first_offset = run->offsets[0];
    const zf_zone_rows rows = {.element = run->element,
                               .values = j->is_text ? j->out : run->out,
                               .offsets = run->offsets,
                               .first_offset = first_offset,
                               .validity = run->nullable ? run->validity : NULL,
                               .validity_bit = run->validity_bit};
    uint64_t zone, last;
    for (zf_selection_zones(s, block, run->begin, run->end, &zone, &last); zone < last; zone++) {
        const zf_zone *stated = &s->column->blocks[block].zones[zone];
        uint64_t begin = zone * ZF_ZONE_ROWS - run->begin;
        zf_zone_found found;
        zf_zone_find(&rows, begin, begin + stated->rows, &found);
        ZF_TRY(zf_selection_check_zone(s, block, zone, &found, error));
    }
    return ZF_OK;
}

static zf_status run_block(job *j, uint64_t block, unsigned worker, const zf_block_view *view, const char *where,
                           zf_error *error) {
    const zf_selection *s = &j->selection;
    uint32_t shape = s->column->blocks[block].shape;
    const zf_abi_plan *plan = s->plans[shape];
    const zf_abi_code *code = NULL;
    ZF_TRY(zf_code_book_find(&j->book, &s->providers[shape], plan, view, &code, error));
    uint64_t first = s->begin - j->shift; // row of the first bit or element of `out`
    uint64_t begin = view->first_row > first ? view->first_row : first;
    uint64_t end = view->first_row + view->rows < s->end ? view->first_row + view->rows : s->end;
    uint64_t bit = begin + j->lead - s->begin; // unless `joined`, blocks but the first start at a byte
    zf_block_run run = {
        .plan = plan,
        .code = code,
        .view = view,
        .element = s->column->type.element,
        .nullable = s->column->type.nullable,
        .validity = j->validity != NULL ? j->validity + bit / 8 : NULL,
        .validity_bit = (unsigned)(bit % 8),
        .out = j->out + (begin - first) * s->bits / 8,
        .begin = begin - view->first_row,
        .end = end - view->first_row,
        .work = j->work + (uint64_t)worker * j->work_bytes,
        .mode = ZF_ABI_DECODE,
        .where = where,
        .file = zf_selection_file(s),
        .threads = zf_split_share(&j->split, block - s->first_block),
        .cancelled = s->cancelled,
        .cancelled_user = s->cancelled_user,
    };
    if (j->is_text) {
        run.offset_base = j->text.bases[block - s->first_block];
        run.out = (uint8_t *)((uintptr_t)j->out + run.offset_base);
        run.offsets = j->offsets + (begin - s->begin);
        zf_text_extent_block(s, &j->text, block, &run.byte_begin, &run.byte_end);
    }
    if (j->joined) take_bitmaps(j, worker, &run);
    zf_status status = j->device.ops->run(j->state, &run, error);
    if (status == ZF_OK) status = check_zones(j, block, &run, error);
    if (j->joined && status == ZF_OK) give_bitmaps(j, &run, begin - view->first_row, begin - s->begin);
    pthread_mutex_lock(&j->lock);
    j->stats.blocks_read++;
    j->stats.bytes_read += view->bytes;
    j->stats.launches += run.launches;
    pthread_mutex_unlock(&j->lock);
    return status;
}

/// The bytes of a block: read to the worker's memory, or NULL where the container has them.
static zf_status read_block(job *j, uint64_t block, unsigned worker, const char *where, const uint8_t **out, zf_error *error) {
    const zf_selection *s = &j->selection;
    const zf_index_block *entry = &s->column->blocks[block];
    *out = NULL;
    if (s->container->source.map != NULL) return ZF_OK;
    ZF_TRY(zf_container_read_block(s->container, entry, entry->bytes, j->block_bytes, where, &j->rooms[worker], error));
    *out = j->rooms[worker];
    return ZF_OK;
}

static zf_status decode_block(job *j, uint64_t block, unsigned worker, zf_error *error) {
    char where[ZF_WHERE_BYTES];
    const uint8_t *stored;
    zf_block_view view;
    zf_selection_where(&j->selection, block, where);
    if (j->watch != NULL) ZF_TRY(j->watch->before(j->watch->user, block, error));
    ZF_TRY(zf_selection_go_on(&j->selection, error));
    ZF_TRY(read_block(j, block, worker, where, &stored, error));
    ZF_TRY(zf_selection_block(&j->selection, block, stored, &view, error));
    zf_status status = run_block(j, block, worker, &view, where, error);
    zf_block_view_free(&view);
    return status;
}

static void decode_index(void *user, uint64_t index, unsigned worker) {
    job *j = user;
    uint64_t block = j->selection.first_block + index;
    zf_error error;
    zf_status status = ZF_OK;
    // Blocks behind a failed one are left out; those before it go on, so that the first failure is always the one reported.
    zf_passes *passes = zf_context_passes(j->selection.container->context);
    unsigned pass = zf_pass_begin(passes, ZF_PASS_DECODE);
    if (index <= atomic_load(&j->failed)) status = decode_block(j, block, worker, &error);
    zf_pass_end(passes, pass);
    if (status != ZF_OK) {
        pthread_mutex_lock(&j->lock);
        if (index < atomic_load(&j->failed)) {
            atomic_store(&j->failed, index);
            j->status = status;
            if (j->error != NULL) *j->error = error;
        }
        pthread_mutex_unlock(&j->lock);
    }
    if (j->watch != NULL) j->watch->after(j->watch->user, block);
}

zf_status zf_decode_check_buffers(const zf_decode_sizes *sizes, zf_element element, const zf_decode_buffers *buffers,
                                  zf_error *error) {
    unsigned bits = element == ZF_STRING ? 8 : zf_element_bits(element); // blocks begin at any row, so code expects no more
    const struct {
        const char *name;
        const void *at;
        size_t has, bytes;
        unsigned alignment;
    } needed[] = {{"values", buffers->values, buffers->values_bytes, sizes->values, (bits + 7) / 8},
                  {"offsets", buffers->offsets, buffers->offsets_bytes, sizes->offsets, sizeof(int64_t)},
                  {"validity", buffers->validity, buffers->validity_bytes, sizes->validity, 1},
                  {"workspace", buffers->workspace, buffers->workspace_bytes, sizes->workspace, ZF_WORK_ALIGNMENT}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (needed[i].bytes == 0) continue;
        zf_status status = ZF_OK;
        if (needed[i].at == NULL)
            status =
                zf_raise(error, ZF_E_BUFFER, "the buffer `%s` is missing; %zu bytes are needed", needed[i].name, needed[i].bytes);
        else if ((uintptr_t)needed[i].at % needed[i].alignment != 0)
            status =
                zf_raise(error, ZF_E_BUFFER, "the buffer `%s` is not aligned to %u bytes", needed[i].name, needed[i].alignment);
        else if (needed[i].has < needed[i].bytes)
            status = zf_raise(error, ZF_E_BUFFER_SIZE, "the buffer `%s` has %zu bytes; the decode needs %zu", needed[i].name,
                              needed[i].has, needed[i].bytes);
        if (status == ZF_OK) continue;
        bool workspace = strcmp(needed[i].name, "workspace") == 0;
        return zf_fail_hint(error, status, "call zf_decode_size with exactly the same %s; ZF_DECODE_BYTES passes the sizes on",
                            workspace ? "`threads`" : "rows");
    }
    return ZF_OK;
}

static zf_status run_job(job *j, const zf_decode_buffers *buffers, zf_error *error) {
    j->rooms = calloc(j->split.workers, sizeof *j->rooms);
    if (j->rooms == NULL) return zf_raise_no_memory(error);
    for (uint64_t b = j->selection.first_block; b < j->selection.last_block; b++) {
        if (j->selection.column->blocks[b].bytes > j->block_bytes) j->block_bytes = j->selection.column->blocks[b].bytes;
    }
    ZF_TRY(j->device.ops->open(j->selection.container->context, j->split.threads, &j->state, error));
    uint8_t *workspace = buffers->workspace;
    uint8_t *bitmap = j->own = workspace;
    uint64_t bitmaps = 0;
    all_bitmaps(j, &bitmaps); // which fits: the sizes were made of it
    j->out = buffers->values;
    j->validity = buffers->validity;
    j->offsets = buffers->offsets;
    if (j->is_text) j->offsets[0] = 0;
    if (j->shift != 0) {
        j->out = bitmap;
        bitmap += j->bitmap_bytes;
    }
    if (!j->selection.column->type.nullable)
        j->validity = NULL;
    else if (j->lead != 0)
        j->validity = bitmap;
    j->work = workspace + bitmaps;
    j->error = error;
    atomic_init(&j->failed, UINT64_MAX);
    pthread_mutex_init(&j->lock, NULL);
    zf_code_book_init(&j->book);
    zf_split_for(&j->split, decode_index, j);
    zf_status status = j->status;
    if (status == ZF_OK) status = j->device.ops->finish(j->state, error);
    status = zf_container_explain(j->selection.container, status, error);
    if (status == ZF_OK && j->is_text) zf_text_cut(buffers->values, buffers->offsets, j->selection.end - j->selection.begin);
    uint64_t rows = j->selection.end - j->selection.begin; // of bitmaps, row `begin` to bit 0
    if (status == ZF_OK && j->joined && j->selection.bits == 1) zf_clear_behind(buffers->values, rows);
    if (status == ZF_OK && j->joined && j->validity != NULL) zf_clear_behind(buffers->validity, rows);
    if (status == ZF_OK && j->shift != 0) zf_place_bits(buffers->values, 0, j->out, j->lead, rows);
    if (status == ZF_OK && j->lead != 0 && j->validity != NULL) zf_place_bits(buffers->validity, 0, j->validity, j->lead, rows);
    j->stats.kernel_variants = j->book.kernel_variants;
    j->stats.codes = j->book.codes;
    j->stats.compiled = j->book.compiled;
    j->stats.cached = j->book.cached;
    j->stats.compile_seconds = j->selection.plan_seconds + j->book.seconds;
    zf_code_book_free(&j->book);
    pthread_mutex_destroy(&j->lock);
    j->device.ops->close(j->state);
    return status;
}

static zf_status decode_on_host(zf_container *container, size_t column, const zf_device *device, const zf_decode_options *options,
                                const zf_decode_watch *watch, const zf_decode_buffers *buffers, zf_decode_stats *stats,
                                zf_error *error) {
    job j;
    zf_decode_sizes sizes = {0};
    zf_status status = prepare(&j, container, column, options, (zf_abi_device){.target = device->ops->target}, error);
    j.device = *device;
    j.watch = watch;
    if (status == ZF_OK) status = sizes_of(&j, &sizes, error);
    if (status == ZF_OK) {
        status = zf_decode_check_buffers(&sizes, j.selection.column->type.element, buffers, error);
        if (status != ZF_OK) zf_fail_place(error, status, "column %s", j.selection.column->shown);
    }
    if (status == ZF_OK && j.selection.begin < j.selection.end)
        status = run_job(&j, buffers, error);
    else if (status == ZF_OK && j.is_text)
        buffers->offsets[0] = 0;
    *stats = j.stats;
    job_free(&j);
    return status;
}

zf_status zf_decode_watched(zf_container *container, size_t column, const zf_device *device, const zf_decode_options *options,
                            const zf_decode_watch *watch, const zf_decode_buffers *buffers, zf_decode_stats *stats,
                            zf_error *error) {
    return decode_on_host(container, column, device, options, watch, buffers, stats, error);
}

zf_status zf_decode(zf_container *container, size_t column, const char *device, const zf_decode_options *options,
                    const zf_decode_buffers *buffers, zf_decode_stats *stats, zf_error *error) {
    zf_decode_stats ours = {0};
    zf_device chosen;
    zf_accelerator *accelerator = NULL;
    zf_decode_options how = {0};
    zf_decode_buffers to = {0};
    if (stats != NULL) {
        ZF_TRY(ZF_CHECK_GIVEN(zf_decode_stats, stats, error));
        ZF_GIVE(zf_decode_stats, stats, &ours);
    }
    if (container == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode needs a container");
    if (buffers == NULL) return zf_raise(error, ZF_E_BUFFER, "zf_decode needs buffers");
    ZF_TRY(ZF_TAKE(zf_decode_options, &how, options, error));
    ZF_TRY(ZF_TAKE(zf_decode_buffers, &to, buffers, error));
    ZF_TRY(zf_device_find(container->context, device != NULL ? device : "auto", &chosen, error));
    zf_status status;
    if (chosen.ops->start == NULL) {
        status = decode_on_host(container, column, &chosen, &how, NULL, &to, &ours, error);
    } else {
        status = zf_device_accelerator(container->context, &chosen, &accelerator, error);
        if (status == ZF_OK) status = zf_decode_on(accelerator, container, column, &how, &to, &ours, error);
    }
    if (stats != NULL) ZF_GIVE(zf_decode_stats, stats, &ours);
    return status;
}
