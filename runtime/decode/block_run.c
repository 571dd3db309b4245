// Running a plan's kernels on one block, on the CPU.
#include "runtime/decode/block_run.h"

#include <stdatomic.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/clock.h"
#include "runtime/base/deep.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "runtime/decode/block_check.h"
#include "runtime/decode/failure.h"

typedef unsigned long long ull;

enum { WORK_ELEMENT_MOST = 16 }; ///< bytes: of a string's handle

// ---- The plan -------------------------------------------------------------------------------------------------

static zf_status misfit(zf_error *error, const char *what, uint64_t index) {
    return zf_raise(error, ZF_E_INTERNAL, "the code's plan does not fit the column: %s %llu", what, (ull)index);
}

static bool slot_fits(const zf_abi_slot *slot, const zf_shape *shape) {
    switch (slot->kind) {
    case ZF_SLOT_PARAM: return slot->a < shape->param_count;
    case ZF_SLOT_OFFSET: return slot->a < shape->stored_count;
    case ZF_SLOT_COUNT: return slot->a < shape->edge_count;
    case ZF_SLOT_SEEK_OFFSET:
    case ZF_SLOT_SEEK_WIDTH: return slot->a < shape->tree_count && slot->b < shape->trees[slot->a].field_count;
    case ZF_SLOT_CHARACTERS: return shape->edges[0].type == ZF_STRING;
    case ZF_SLOT_CHUNKS: return slot->a < shape->tree_count && shape->trees[slot->a].directory == ZF_DIRECTORY_UNEVEN;
    }
    return false;
}

static bool kernel_fits(const zf_abi_plan *plan, const zf_abi_kernel *kernel, const zf_shape *shape) {
    bool bits;
    if (kernel->edge >= shape->edge_count || kernel->tile == 0 || kernel->tile > ZF_TILE_MOST) return false;
    if (kernel->tree < -1 || kernel->tree >= (int64_t)plan->tree_count) return false;
    // A tile's state is an entry of its tree; tiles are whole chunks.
    const zf_abi_tree *tree = kernel->tree < 0 ? NULL : &plan->trees[kernel->tree];
    if (tree != NULL && tree->edge != kernel->edge) return false;
    bool even = tree != NULL && tree->directory == ZF_DIRECTORY_EVEN;
    bool uneven = tree != NULL && tree->directory == ZF_DIRECTORY_UNEVEN;
    if (tree != NULL && (even ? kernel->tile % tree->interval != 0 : tree->interval != kernel->tile)) return false;
    if (kernel->sink == -1) {
        if (kernel->edge != 0) return false;
        bits = shape->edges[0].type == ZF_BOOL;
    } else {
        if (kernel->sink < 0 || (uint32_t)kernel->sink >= plan->work_count) return false;
        bits = plan->works[kernel->sink].element == 0;
    }
    return !bits || uneven || kernel->tile % 8 == 0; // two tiles must not share a byte; a reader checks uneven chunks
}

/// A column's characters are bytes.
static bool holds_characters(const zf_abi_work *work, const zf_shape *shape) {
    return shape->edges[0].type == ZF_STRING && work->element == 1 && work->extra == 0 && work->nullable == 0;
}

zf_status zf_plan_fits(const zf_abi_plan *plan, const zf_shape *shape, zf_error *error) {
    if (plan->version != ZF_ABI_VERSION) return misfit(error, "ABI version", plan->version);
    if (plan->tree_count != shape->tree_count) return misfit(error, "number of seek trees", plan->tree_count);
    for (uint32_t i = 0; i < plan->slot_count; i++) {
        if (!slot_fits(&plan->slots[i], shape)) return misfit(error, "slot", i);
    }
    for (uint32_t i = 0; i < plan->work_count; i++) {
        if (plan->works[i].edge >= shape->edge_count || plan->works[i].element > WORK_ELEMENT_MOST)
            return misfit(error, "work buffer", i);
        if (plan->works[i].characters != 0 && !holds_characters(&plan->works[i], shape))
            return misfit(error, "buffer of characters", i);
    }
    for (uint32_t i = 0; i < plan->tree_count; i++) {
        if (plan->trees[i].edge != shape->trees[i].edge || plan->trees[i].field_count != shape->trees[i].field_count ||
            plan->trees[i].directory != shape->trees[i].directory ||
            !zf_tree_interval_valid(shape->trees[i].directory, plan->trees[i].interval)) {
            return misfit(error, "seek tree", i);
        }
    }
    for (uint32_t i = 0; i < plan->kernel_count; i++) {
        if (!kernel_fits(plan, &plan->kernels[i], shape)) return misfit(error, "kernel", i);
    }
    for (uint32_t i = 0; i < plan->shaping_count; i++) {
        if (plan->shaping[i] >= shape->param_count) return misfit(error, "shaping param", i);
    }
    return ZF_OK;
}

bool zf_one_stores_column(const zf_abi_plan *plan, const zf_abi_simt_kernel *kernels) {
    uint32_t stores = 0;
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        int32_t sink = plan->kernels[k].sink;
        if (sink < 0 ? kernels[k].to_column != 0 : kernels[k].threads == 0) return false;
        if (kernels[k].to_column != 0 && plan->works[sink].characters != 0) return false;
        stores += sink < 0 ? kernels[k].threads != 0 : kernels[k].to_column;
    }
    return stores == 1;
}

bool zf_characters_reread(const zf_abi_plan *plan) {
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_abi_kernel *kernel = &plan->kernels[k];
        if (kernel->sink >= 0 && plan->works[kernel->sink].characters != 0 && kernel->rereads != 0) return true;
    }
    return false;
}

// ---- Work memory ----------------------------------------------------------------------------------------------

/// Takes the next piece of workspace. Returns where it starts; a sum that does not fit sticks at UINT64_MAX.
static uint64_t take(uint64_t *total, uint64_t bytes) {
    uint64_t start = *total, aligned;
    if (!zf_align_up(bytes, ZF_WORK_ALIGNMENT, &aligned) || __builtin_add_overflow(start, aligned, total)) *total = UINT64_MAX;
    return start;
}

uint64_t zf_work_buffer_bytes(const zf_abi_work *work, uint64_t count) {
    uint64_t elements = count + work->extra, bytes = 0; // at most 2^32 each
    if (!zf_elements_bytes(elements, work->element == 0 ? 1 : work->element * 8, &bytes)) return UINT64_MAX;
    if (work->nullable != 0 &&
        (!zf_align_up(bytes, ZF_WORK_ALIGNMENT, &bytes) || __builtin_add_overflow(bytes, elements, &bytes)))
        return UINT64_MAX;
    return __builtin_add_overflow(bytes, (uint64_t)ZF_ABI_WORK_PADDING, &bytes) ? UINT64_MAX : bytes;
}

/// The longest tile of the column's, in a block of so many elements: those of chunks may be far longer than their block.
static uint64_t longest_tile(const zf_abi_plan *plan, uint64_t count) {
    enum { LONG = 65536 };
    uint64_t most = 0;
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        if (plan->kernels[k].sink == -1 && plan->kernels[k].tile > most) most = plan->kernels[k].tile;
    }
    if (most <= LONG || count >= most) return most;
    return count < LONG ? LONG : count;
}

/// The bytes for a tile that is cut by the range of rows: its values, or the offsets of its strings.
static uint64_t scratch_bytes(const zf_abi_plan *plan, const zf_shape *shape, uint64_t count) {
    uint64_t bytes = 0;
    if (shape->edges[0].type == ZF_STRING) return (longest_tile(plan, count) + 1) * sizeof(int64_t);
    return zf_elements_bytes(longest_tile(plan, count), zf_element_bits(shape->edges[0].type), &bytes) ? bytes : UINT64_MAX;
}

/// The same: its validity.
static uint64_t scratch_validity_bytes(const zf_abi_plan *plan, const zf_shape *shape, uint64_t count) {
    return shape->edges[0].nullable ? (longest_tile(plan, count) + 7) / 8 : 0;
}

zf_status zf_plan_work_bytes(const zf_abi_plan *plan, const zf_shape *shape, const uint64_t *counts, uint64_t *bytes,
                             zf_error *error) {
    uint64_t total = 0;
    take(&total, UINT64_C(8) * plan->slot_count);
    take(&total, sizeof(void *) * (uint64_t)plan->work_count);
    take(&total, scratch_bytes(plan, shape, counts[0]));
    take(&total, scratch_validity_bytes(plan, shape, counts[0]));
    for (uint32_t w = 0; w < plan->work_count; w++) {
        uint64_t size = zf_work_buffer_bytes(&plan->works[w], counts[plan->works[w].edge]);
        if (total != UINT64_MAX) take(&total, size);
    }
    *bytes = total;
    if (total != UINT64_MAX) return ZF_OK;
    return zf_raise(error, ZF_E_TOO_LARGE, "the workspace of a block is larger than can be addressed");
}

zf_status zf_block_work_bytes(const zf_abi_plan *plan, const zf_block_view *view, uint64_t *bytes, zf_error *error) {
    *bytes = 0;
    ZF_TRY(zf_plan_fits(plan, view->shape, error));
    return zf_plan_work_bytes(plan, view->shape, view->counts, bytes, error);
}

// ---- Kernels --------------------------------------------------------------------------------------------------

/// Whether the caller cancels the block's decode; `stopped` then keeps all threads from going on.
typedef struct cancelling {
    bool (*cancelled)(void *user); ///< NULL: never
    void *user;
    atomic_bool stopped;
} cancelling;

static bool is_cancelled(cancelling *c) {
    if (c->cancelled == NULL) return false;
    if (atomic_load_explicit(&c->stopped, memory_order_relaxed)) return true;
    if (!c->cancelled(c->user)) return false;
    atomic_store(&c->stopped, true);
    return true;
}

/// One kernel over a range of tiles, cut into batches for threads.
typedef struct launch {
    const zf_abi_args *args;
    zf_abi_kernel_fn kernel;
    uint64_t begin, end, batch;
    cancelling *cancel;
    atomic_uint_fast64_t failure;
} launch;

/// Runs tiles a few at a time, and asks between them whether to go on: after the first tile, and about once a millisecond. The
/// time of a tile differs a thousandfold between kernels.
static void run_pieces(const launch *l, zf_abi_args *args, uint64_t begin, uint64_t end) {
    static const double short_piece = 0.5e-3, long_piece = 2e-3; // seconds
    uint64_t tiles = 1;
    double before = zf_clock_seconds();
    while (begin < end) {
        uint64_t now = end - begin < tiles ? end - begin : tiles;
        l->kernel(args, begin, begin + now);
        begin += now;
        if (begin == end || is_cancelled(l->cancel)) return;
        double after = zf_clock_seconds();
        if (after - before < short_piece)
            tiles *= 2;
        else if (after - before > long_piece && tiles > 1)
            tiles /= 2;
        before = after;
    }
}

static void run_batch(void *user, uint64_t index, unsigned worker) {
    (void)worker;
    launch *l = user;
    uint64_t begin = l->begin + index * l->batch, end = l->end - begin < l->batch ? l->end : begin + l->batch;
    uint64_t failure = ZF_ABI_NO_FAILURE; // its own, so that threads do not share a word in ordinary use
    zf_abi_args args = *l->args;
    args.failure = &failure;
    if (l->cancel == NULL || l->cancel->cancelled == NULL || args.mode != ZF_ABI_DECODE)
        l->kernel(&args, begin, end);
    else if (!atomic_load_explicit(&l->cancel->stopped, memory_order_relaxed))
        run_pieces(l, &args, begin, end);
    uint64_t least = atomic_load_explicit(&l->failure, memory_order_relaxed);
    while (failure < least && !atomic_compare_exchange_weak(&l->failure, &least, failure)) {
    }
}

// BATCH_ELEMENTS: the elements that are worth a hand-over to another thread. BATCHES_UNASKED: the batches per thread from which
// on threads are started without a measurement. With fewer batches the remaining work must be worth seconds_of_a_thread:
// starting and ending a thread took 30 us, in which half a million elements were unpacked.
enum { BATCH_ELEMENTS = 65536, BATCHES_UNASKED = 16 };
static const double seconds_of_a_thread = 100e-6;

// Runs a first batch on the caller's thread, and says how many threads what is left is worth.
static unsigned threads_worth(launch *l, uint64_t batch, unsigned threads) {
    double before = zf_clock_thread_seconds();
    l->batch = batch;
    run_batch(l, 0, 0);
    l->begin += batch;
    double each = (zf_clock_thread_seconds() - before) / (double)batch;
    double worth = each * (double)(l->end - l->begin) / seconds_of_a_thread;
    return worth < threads - 1 ? 1 + (unsigned)worth : threads;
}

/// Runs tiles begin..end and returns the least failure word. If there are few elements, the first ones are timed to decide
/// whether threads are worth starting for the others: the time of an element differs a hundredfold between kernels.
static uint64_t launch_tiles(const zf_abi_args *args, zf_abi_kernel_fn kernel, uint64_t begin, uint64_t end, uint32_t tile,
                             unsigned threads, cancelling *cancel) {
    if (begin >= end) return ZF_ABI_NO_FAILURE;
    launch l = {.args = args, .kernel = kernel, .begin = begin, .end = end, .cancel = cancel};
    atomic_init(&l.failure, ZF_ABI_NO_FAILURE);
    uint64_t least = tile < BATCH_ELEMENTS ? BATCH_ELEMENTS / tile : 1;
    if (threads > 1 && end - begin <= least) threads = 1;
    if (threads > 1 && (end - begin) / threads < least * BATCHES_UNASKED) threads = threads_worth(&l, (least + 3) / 4, threads);
    uint64_t tiles = l.end - l.begin;
    l.batch = tiles;
    if (threads > 1) { // enough batches to even out, each with enough elements to be worth a hand-over
        l.batch = tiles / (threads * UINT64_C(8));
        if (l.batch < least) l.batch = least;
    }
    zf_parallel_for(threads, (tiles + l.batch - 1) / l.batch, run_batch, &l);
    return atomic_load(&l.failure);
}

// ---- Tiles ----------------------------------------------------------------------------------------------------

static bool is_uneven(const zf_abi_kernel *kernel, const zf_block_view *view) {
    return kernel->tree >= 0 && view->shape->trees[kernel->tree].directory == ZF_DIRECTORY_UNEVEN;
}

uint64_t zf_tile_count(const zf_abi_kernel *kernel, const zf_block_view *view) {
    uint64_t count = view->counts[kernel->edge];
    if (count == 0) return 1;
    return is_uneven(kernel, view) ? view->seeks[kernel->tree].entries : (count - 1) / kernel->tile + 1;
}

uint64_t zf_tile_begin(const zf_abi_kernel *kernel, const zf_block_view *view, uint64_t tile) {
    uint64_t count = view->counts[kernel->edge], begin = 0;
    if (tile >= zf_tile_count(kernel, view)) return count;
    if (!is_uneven(kernel, view)) return tile * kernel->tile;
    const zf_seek_view *seek = &view->seeks[kernel->tree];
    if (count > 0) memcpy(&begin, view->base + seek->offsets[0] + tile * seek->widths[0], seek->widths[0]); // little-endian
    return begin < count ? begin : count;
}

uint64_t zf_tile_of(const zf_abi_kernel *kernel, const zf_block_view *view, uint64_t element) {
    if (!is_uneven(kernel, view)) return element / kernel->tile;
    uint64_t low = 0, high = zf_tile_count(kernel, view); // it begins at or behind tile `low`, and before tile `high`
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (zf_tile_begin(kernel, view, middle) <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/// The elements of a tile, about: chunks may have any number.
static uint32_t tile_elements(const zf_abi_kernel *kernel, const zf_block_view *view) {
    if (!is_uneven(kernel, view)) return kernel->tile;
    uint64_t mean = view->counts[kernel->edge] / zf_tile_count(kernel, view);
    return mean > 0 ? (uint32_t)mean : 1; // at most kernel->tile
}

// ---- The column -----------------------------------------------------------------------------------------------

/// The needs of kernels that write to the column, beside their arguments.
typedef struct output {
    const zf_abi_kernel *kernel;
    const zf_block_view *view;
    uint8_t *out;              ///< of row `begin`
    uint8_t *validity;         ///< nullable: row `begin` is bit `validity_bit`
    uint8_t *scratch;          ///< a tile
    uint8_t *scratch_validity; ///< a tile
    int64_t *offsets;          ///< strings: of row `begin`; `out` is then the place of the block's first byte
    uint64_t begin, end, count;
    unsigned bits, validity_bit;
    cancelling *cancel;
} output;

/// A tile of which only some rows are wanted: to the scratch, and from there.
static uint64_t run_cut_tile(const zf_abi_args *shared, zf_abi_kernel_fn fn, uint64_t t, const output *o) {
    zf_abi_args args = *shared;
    uint64_t first = zf_tile_begin(o->kernel, o->view, t), behind = zf_tile_begin(o->kernel, o->view, t + 1);
    uint64_t low = first > o->begin ? first : o->begin, high = behind < o->end ? behind : o->end;
    if (behind < first || behind - first > o->kernel->tile || low > high) return ZF_ABI_NO_FAILURE; // a mapped file was changed
    if (is_uneven(o->kernel, o->view)) args.byte_begin = first, args.byte_end = behind;
    // The kernel wants the place of element 0. It may lie outside any object, so it is computed as a number.
    args.out = (uint8_t *)((uintptr_t)o->scratch - first * o->bits / 8);
    if (o->offsets != NULL) { // the bytes go to their place
        args.out = o->out;
        args.offsets = (int64_t *)((uintptr_t)o->scratch - first * sizeof(int64_t));
    }
    args.validity = (uint8_t *)((uintptr_t)o->scratch_validity - first / 8);
    uint64_t failure = launch_tiles(&args, fn, t, t + 1, o->kernel->tile, 1, o->cancel);
    if (failure != ZF_ABI_NO_FAILURE) return failure;
    if (o->validity != NULL)
        zf_place_bits(o->validity, low - o->begin + o->validity_bit, o->scratch_validity, low - first, high - low);
    if (o->offsets != NULL) {
        const int64_t *offsets = (const int64_t *)(const void *)o->scratch + (low - first);
        if (low > first) o->offsets[low - o->begin] = offsets[0];
        memcpy(o->offsets + (low - o->begin) + 1, offsets + 1, (high - low) * sizeof *offsets);
    } else if (o->bits == 1) {
        zf_place_bits(o->out, low - o->begin, o->scratch, low - first, high - low);
    } else {
        uint64_t size = o->bits / 8;
        memcpy(o->out + (low - o->begin) * size, o->scratch + (low - first) * size, (high - low) * size);
    }
    return ZF_ABI_NO_FAILURE;
}

/// The tiles of the column that hold rows begin..end: whole ones straight to their place, cut ones through the scratch.
static uint64_t run_column(const zf_abi_args *shared, zf_abi_kernel_fn fn, const output *o, unsigned threads) {
    zf_abi_args args = *shared;
    uint32_t tile = tile_elements(o->kernel, o->view);
    bool shifted = o->bits == 1 && o->begin % 8 != 0; // no tile starts at a byte of the result
    shifted = shifted || (o->validity != NULL && o->begin % 8 != o->validity_bit);
    bool all = o->begin == 0 && o->end == o->count && !shifted;
    if (is_uneven(o->kernel, o->view)) args.byte_begin = o->begin, args.byte_end = o->end;
    if (all) {
        args.out = o->out;
        args.offsets = o->offsets;
        args.validity = o->validity;
        return launch_tiles(&args, fn, 0, args.tiles, tile, threads, o->cancel); // also the one tile of an empty block
    }
    if (o->begin >= o->end) return ZF_ABI_NO_FAILURE;
    uint64_t first = zf_tile_of(o->kernel, o->view, o->begin), last = zf_tile_of(o->kernel, o->view, o->end - 1) + 1;
    uint64_t whole_begin = first + (zf_tile_begin(o->kernel, o->view, first) < o->begin), whole_end = last;
    if (zf_tile_begin(o->kernel, o->view, last) > o->end) whole_end--;
    if (shifted || whole_begin > whole_end) whole_begin = whole_end = last;
    for (uint64_t t = first; t < whole_begin; t++) {
        if (t > first && is_cancelled(o->cancel)) return ZF_ABI_NO_FAILURE;
        uint64_t failure = run_cut_tile(shared, fn, t, o);
        if (failure != ZF_ABI_NO_FAILURE) return failure;
    }
    args.out = (uint8_t *)((uintptr_t)o->out - o->begin * o->bits / 8);
    args.offsets = (int64_t *)((uintptr_t)o->offsets - o->begin * sizeof(int64_t));
    args.validity = (uint8_t *)((uintptr_t)o->validity - o->begin / 8);
    uint64_t failure = launch_tiles(&args, fn, whole_begin, whole_end, tile, threads, o->cancel);
    for (uint64_t t = whole_end; t < last && failure == ZF_ABI_NO_FAILURE; t++) {
        if (t > first && is_cancelled(o->cancel)) return ZF_ABI_NO_FAILURE;
        failure = run_cut_tile(shared, fn, t, o);
    }
    return failure;
}

// ---- The block ------------------------------------------------------------------------------------------------

uint64_t zf_characters(bool nullable, uint64_t rows, uint64_t plain_bytes) {
    return plain_bytes - (nullable ? (rows + 7) / 8 : 0); // which a reader has checked not to be more
}

uint64_t zf_slot_value(const zf_abi_slot *slot, const zf_block_view *view) {
    switch (slot->kind) {
    case ZF_SLOT_PARAM: return view->params[slot->a];
    case ZF_SLOT_OFFSET: return view->streams[slot->a].offset;
    case ZF_SLOT_COUNT: return view->counts[slot->a];
    case ZF_SLOT_SEEK_OFFSET: return view->seeks[slot->a].offsets[slot->b];
    case ZF_SLOT_SEEK_WIDTH: return view->seeks[slot->a].widths[slot->b];
    case ZF_SLOT_CHARACTERS: return zf_characters(view->shape->edges[0].nullable, view->rows, view->plain_bytes);
    case ZF_SLOT_CHUNKS: return view->seeks[slot->a].entries;
    }
    return 0;
}

zf_status zf_seeks_fit(const zf_abi_plan *plan, const zf_block_view *view, bool states, const char *where, zf_error *error) {
    for (uint32_t t = 0; t < plan->tree_count; t++) {
        uint32_t interval = plan->trees[t].interval;
        if (view->seeks[t].interval != interval) {
            zf_status status =
                zf_raise(error, ZF_E_SEEK_INTERVAL, "the block has a %s every %u elements, the code needs one every %u",
                         plan->trees[t].directory ? "chunk" : "seek state", view->seeks[t].interval, interval);
            return zf_fail_place(error, status, "%s", where);
        }
        uint64_t entries = zf_seek_entries(view->counts[view->shape->trees[t].edge], interval);
        if (view->shape->trees[t].directory == ZF_DIRECTORY_UNEVEN) continue; // a reader has checked them
        if (states && view->seeks[t].entries != entries) {
            zf_status status = zf_raise(error, ZF_E_V23, "V23: seek tree %u has %llu states; its edge needs %llu", t,
                                        (ull)view->seeks[t].entries, (ull)entries);
            return zf_fail_place(error, status, "%s", where);
        }
    }
    return ZF_OK;
}

static zf_status report(const zf_block_run *run, const zf_abi_kernel *kernel, const uint64_t *slots, uint64_t failure,
                        zf_error *error) {
    zf_failure what = {.plan = run->plan,
                       .kernel = kernel,
                       .shape = run->view->shape,
                       .first_row = run->view->first_row,
                       .where = run->where != NULL ? run->where : "block",
                       .file = run->file,
                       .slots = slots};
    return zf_report_failure(&what, failure, error);
}

static zf_status check_run(const zf_block_run *run, zf_error *error) {
    const zf_block_view *view = run->view;
    ZF_TRY(zf_plan_fits(run->plan, view->shape, error));
    if (run->begin > run->end || run->end > view->rows) {
        return zf_raise(error, ZF_E_INTERNAL, "rows %llu..%llu of a block of %llu", (ull)run->begin, (ull)run->end,
                        (ull)view->rows);
    }
    bool fits = run->element == view->shape->edges[0].type && run->nullable == view->shape->edges[0].nullable;
    bool is_text = run->element == ZF_STRING;
    fits = fits && (is_text ? run->offsets != NULL : zf_element_bits(run->element) != 0);
    if (!fits || (run->nullable && run->validity == NULL)) {
        return zf_raise(error, ZF_E_INTERNAL, "the block's type differs from the requested one");
    }
    if ((uintptr_t)run->work % ZF_WORK_ALIGNMENT != 0) return zf_raise(error, ZF_E_BUFFER, "workspace that is not aligned to 64");
    if (run->mode != ZF_ABI_DECODE && (run->begin != 0 || run->end != view->rows)) {
        return zf_raise(error, ZF_E_INTERNAL, "only whole blocks can record states");
    }
    return zf_seeks_fit(run->plan, view, run->mode == ZF_ABI_DECODE, run->where != NULL ? run->where : "block", error);
}

/// Whether a buffer's bytes can go to the column at once: characters all of which are wanted, as many as the column has.
static bool goes_to_column(const zf_block_run *run, const zf_abi_work *work) {
    const zf_block_view *view = run->view;
    uint64_t all = zf_characters(run->nullable, view->rows, view->plain_bytes), count = view->counts[work->edge];
    return work->characters != 0 && run->mode != ZF_ABI_RECORD && run->begin == 0 && run->end == view->rows && count > 0 &&
           count == all && run->byte_begin == 0 && run->byte_end == all;
}

static zf_status report_cancelled(const zf_block_run *run, zf_error *error) {
    return zf_fail_place(error, zf_raise(error, ZF_E_CANCELLED, "the decode was cancelled"), "%s", run->where);
}

static zf_status run_block(void *user, zf_error *error) {
    zf_block_run *run = user;
    const zf_abi_plan *plan = run->plan;
    const zf_block_view *view = run->view;
    bool record = run->mode != ZF_ABI_DECODE, states_alone = run->mode == ZF_ABI_STATES;
    if (run->begin == run->end && view->rows != 0) return ZF_OK;
    // The workspace, in the order in which zf_plan_work_bytes counted it.
    uint8_t *work = run->work;
    uint64_t total = 0;
    uint64_t *slots = (uint64_t *)(void *)(work + take(&total, UINT64_C(8) * plan->slot_count));
    void **buffers = (void **)(void *)(work + take(&total, sizeof(void *) * (uint64_t)plan->work_count));
    uint8_t *scratch = work + take(&total, scratch_bytes(plan, view->shape, view->counts[0]));
    uint8_t *scratch_validity = work + take(&total, scratch_validity_bytes(plan, view->shape, view->counts[0]));
    for (uint32_t s = 0; s < plan->slot_count; s++) slots[s] = zf_slot_value(&plan->slots[s], view);
    for (uint32_t w = 0; w < plan->work_count; w++) {
        uint64_t count = view->counts[plan->works[w].edge];
        if (goes_to_column(run, &plan->works[w])) {
            buffers[w] = NULL;
            continue;
        }
        buffers[w] = work + take(&total, zf_work_buffer_bytes(&plan->works[w], count));
        // An index that failed its check becomes 0. Where there is no element 0, what is read must be no address.
        if (count == 0) memset(buffers[w], 0, ZF_FORMAT_PADDING);
    }
    uint32_t failed = zf_block_check_run(&plan->block_checks, slots);
    if (failed != ZF_CHECKS_HOLD) return report(run, NULL, slots, failed, error);
    uint64_t failure = ZF_ABI_NO_FAILURE;
    cancelling cancel = {.cancelled = run->cancelled, .user = run->cancelled_user};
    atomic_init(&cancel.stopped, false);
    zf_abi_args args = {.base = view->base, .slots = slots, .work = buffers, .failure = &failure, .mode = ZF_ABI_DECODE};
    output o = {.view = view,
                .out = run->out,
                .scratch = scratch,
                .begin = run->begin,
                .end = run->end,
                .count = view->rows,
                .cancel = &cancel,
                .bits = zf_element_bits(run->element)};
    if (run->element == ZF_STRING) {
        o.offsets = run->offsets;
        args.offset_base = run->offset_base;
        args.byte_begin = run->byte_begin;
        args.byte_end = run->byte_end;
    }
    if (run->nullable) {
        o.validity = run->validity;
        o.validity_bit = run->validity_bit;
        o.scratch_validity = scratch_validity;
    }
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_abi_kernel *kernel = &plan->kernels[k];
        if (is_cancelled(&cancel)) return report_cancelled(run, error);
        bool records = record && kernel->tree >= 0 && plan->trees[kernel->tree].directory == 0;
        bool of_column = kernel->sink < 0 || buffers[kernel->sink] == NULL; // nothing else reads what it makes
        if (states_alone && !records && of_column) continue;
        unsigned threads = records ? 1 : run->threads;
        args.tiles = zf_tile_count(kernel, view);
        args.mode = records ? run->mode : ZF_ABI_DECODE;
        args.record = records ? run->records[kernel->tree] : NULL;
        if (kernel->sink < 0) {
            o.kernel = kernel;
            failure = run_column(&args, run->code->kernels[k], &o, threads);
        } else {
            args.out = buffers[kernel->sink] != NULL ? buffers[kernel->sink] : run->out;
            uint32_t tile = tile_elements(kernel, view);
            if (is_uneven(kernel, view)) args.byte_begin = 0, args.byte_end = view->counts[kernel->edge];
            failure = launch_tiles(&args, run->code->kernels[k], 0, args.tiles, tile, threads, &cancel);
        }
        if (atomic_load(&cancel.stopped)) return report_cancelled(run, error);
        run->launches++;
        if (failure != ZF_ABI_NO_FAILURE) return report(run, kernel, NULL, failure, error);
    }
    return ZF_OK;
}

zf_status zf_block_run_cpu(zf_block_run *run, zf_error *error) {
    ZF_TRY(check_run(run, error));
    return run->code->stack_bytes <= ZF_ABI_STACK_PLAIN ? run_block(run, error) : zf_run_deep(run_block, run, error);
}
