// Queueing units on a stream, and what their failure words say.
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/decode/decode_unit_internal.h"
#include "runtime/decode/failure.h"

enum { POSITION_BITS = 32, CHECK_BITS = 16 };

zf_status zf_units_start(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error) {
    const zf_accelerator_ops *ops = units->accelerator->ops;
    if (units->column->is_text &&
        units->column->selection.begin == units->column->selection.end) // no row says where the first begins
        ZF_TRY(ops->fill(units->accelerator, stream, memory->offsets, 0, sizeof(int64_t), error));
    if (units->owns_column) ZF_TRY(zf_units_column_clear(units->column, stream, memory, error));
    if (units->words == 0) return ZF_OK;
    return ops->fill(units->accelerator, stream, zf_units_head(memory), 0xff, units->words * UINT64_C(8), error);
}

/// Tables and blocks are gathered in the staging memory and go in two copies.
static zf_status upload_staged(const zf_units *units, const zf_unit *unit, void *stream, const zf_units_memory *memory,
                               zf_error *error) {
    const zf_accelerator_ops *ops = units->accelerator->ops;
    uint8_t *tables = (uint8_t *)memory->staging + unit->staged_tables,
            *stored = (uint8_t *)memory->staging + unit->staged_blocks;
    memcpy(tables, unit->tables, unit->table_bytes);
    ZF_TRY(ops->copy_in(units->accelerator, stream, memory->workspace + unit->at_tables, tables, unit->table_bytes, error));
    uint64_t at = 0;
    for (uint32_t b = 0; b < unit->block_count; b++) {
        const zf_unit_block *block = &units->blocks[unit->blocks[b]];
        memcpy(stored + at, block->stored, block->bytes);
        at += block->bytes;
    }
    return ops->copy_in(units->accelerator, stream, memory->workspace + unit->at_stored, stored, at, error);
}

/// The number of a unit's blocks that must be copied from the host. The other blocks repeat these in the same order.
static uint32_t different_blocks(const zf_units *units, const zf_unit *unit) {
    uint32_t copies = units->column->options.copies, different = unit->block_count / copies;
    if (different * copies != unit->block_count) return unit->block_count;
    for (uint32_t b = different; b < unit->block_count; b++) {
        const zf_unit_block *block = &units->blocks[unit->blocks[b]], *first = &units->blocks[unit->blocks[b % different]];
        if (block->stored != first->stored || block->bytes != first->bytes) return unit->block_count;
    }
    return different;
}

/// Copies blocks to places one behind the other; those that follow each other in the host's memory go in one copy. `numbers`: of
/// the blocks; NULL: the first ones.
static zf_status copy_blocks(const zf_units *units, const uint64_t *numbers, uint64_t count, void *stream, uint64_t to,
                             zf_error *error) {
    const zf_accelerator_ops *ops = units->accelerator->ops;
    for (uint64_t b = 0, next; b < count; b = next) {
        const zf_unit_block *block = &units->blocks[numbers != NULL ? numbers[b] : b];
        uint64_t bytes = block->bytes;
        for (next = b + 1; next < count; next++) {
            const zf_unit_block *other = &units->blocks[numbers != NULL ? numbers[next] : next];
            if (other->stored != block->stored + bytes) break;
            bytes += other->bytes;
        }
        ZF_TRY(ops->copy_in(units->accelerator, stream, to, block->stored, bytes, error));
        to += bytes;
    }
    return ZF_OK;
}

/// Blocks go from where they are, further copies of them within the device.
static zf_status upload_blocks(const zf_units *units, const zf_unit *unit, void *stream, const zf_units_memory *memory,
                               zf_error *error) {
    const zf_accelerator_ops *ops = units->accelerator->ops;
    uint32_t different = different_blocks(units, unit);
    uint64_t to = memory->workspace + unit->at_stored, there = 0;
    ZF_TRY(copy_blocks(units, unit->blocks, different, stream, to, error));
    if (different == unit->block_count) return ZF_OK;
    for (uint32_t b = 0; b < different; b++) there += units->blocks[unit->blocks[b]].bytes;
    uint64_t all = there * units->column->options.copies;
    for (uint64_t more; there < all; there += more) {
        more = there < all - there ? there : all - there;
        ZF_TRY(ops->copy_within(units->accelerator, stream, to + there, to, more, error));
    }
    return ZF_OK;
}

static zf_status copy_unit(const zf_units *units, const zf_unit *unit, void *stream, const zf_units_memory *memory,
                           zf_error *error) {
    const zf_accelerator_ops *ops = units->accelerator->ops;
    if (memory->staging != NULL) return upload_staged(units, unit, stream, memory, error);
    ZF_TRY(ops->copy_in(units->accelerator, stream, memory->workspace + unit->at_tables, unit->tables, unit->table_bytes, error));
    return upload_blocks(units, unit, stream, memory, error);
}

zf_passes *zf_units_first(const zf_units *units, atomic_bool *done) {
    if (atomic_load_explicit(done, memory_order_relaxed) || atomic_exchange(done, true)) return NULL;
    return zf_units_passes(units);
}

static zf_status upload_unit(const zf_units *units, const zf_unit *unit, void *stream, const zf_units_memory *memory,
                             zf_error *error) {
    zf_passes *passes = zf_units_first(units, &units->accelerator->copied);
    unsigned pass = zf_pass_begin(passes, ZF_PASS_FIRST_COPY);
    zf_status status = copy_unit(units, unit, stream, memory, error);
    zf_pass_end(passes, pass);
    return status;
}

// ---- Parts ----------------------------------------------------------------------------------------------------

void zf_units_move_blocks(zf_units *units, uint8_t *to) {
    for (uint64_t b = 0; b < units->block_count; b++) {
        zf_unit_block *block = &units->blocks[b];
        block->stored = memcpy(to + block->at, block->stored, block->bytes);
        free(block->owned);
        block->owned = NULL;
    }
}

void zf_units_write_head(const zf_units *units, uint8_t *to) {
    memset(to, 0, units->sizes.head);
    memset(to, 0xff, units->words * UINT64_C(8));
    if (units->zone_count > 0) memcpy(to + units->at_spans, units->spans, units->zone_count * sizeof *units->spans);
    for (uint32_t u = 0; u < units->unit_count; u++)
        memcpy(to + units->units[u].at_tables, units->units[u].tables, units->units[u].table_bytes);
}

zf_status zf_units_upload_blocks(const zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error) {
    if (units->unit_count == 0) return ZF_OK;
    uint64_t to = memory->workspace + units->units[0].at_stored; // blocks of all units lie together
    return copy_blocks(units, NULL, units->block_count, stream, to, error);
}

void zf_units_restart(zf_units *units) {
    units->stats.launches = 0;
    units->stats.load_seconds = units->stats.compile_seconds = 0;
}

// ---- Launches -------------------------------------------------------------------------------------------------

static const uint32_t ALL_KERNELS = UINT32_MAX, WORK_KERNELS = UINT32_MAX - 1; // enumerators would be ints

/// Launches kernel `only` of a unit, all, or all but the one that makes the column.
static zf_status launch_unit(zf_units *units, const zf_unit *unit, uint32_t only, void *stream, const zf_units_memory *memory,
                             zf_error *error) {
    const zf_abi_plan *plan = unit->plan;
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        if (only < WORK_KERNELS && k != only) continue;
        int32_t sink = plan->kernels[k].sink;
        if (only == WORK_KERNELS && sink < 0) continue;
        bool column = sink < 0 || plan->works[sink].characters || unit->code->simt[k].to_column;
        zf_simt_args args = {.base = memory->workspace + unit->at_stored,
                             .blocks = zf_units_head(memory) + unit->at_tables,
                             .first = zf_units_head(memory) + unit->at_tables + unit->firsts[k],
                             .work = memory->workspace + unit->at_work,
                             .failure = zf_units_head(memory) + (unit->first_word + k) * UINT64_C(8),
                             .failures = zf_units_head(memory) + unit->first_word * UINT64_C(8),
                             .failures_bytes = plan->kernel_count * UINT64_C(8),
                             .block_count = unit->block_count,
                             .even = unit->even[k],
                             .base_bytes = unit->base_bytes,
                             .blocks_bytes = unit->firsts[0],
                             .first_bytes = 4 * ((uint64_t)unit->block_count + 1),
                             .work_bytes = unit->work_bytes};
        args.out = column ? memory->values + (units->column->whole ? 0 : units->sizes.skip) : args.work;
        args.out_bytes = column ? units->column->out_bytes : args.work_bytes;
        if (column && unit->aside_values != 0) {
            args.out = memory->workspace + unit->at_values;
            args.out_bytes = unit->aside_values;
        }
        if (column) {
            bool aside = unit->aside_validity != 0;
            args.validity = aside ? memory->workspace + unit->at_validity : memory->validity;
            args.validity_bytes = aside ? unit->aside_validity : units->sizes.validity;
            args.offsets = memory->offsets;
            args.offsets_bytes = units->sizes.offsets;
        }
        uint64_t tiles = unit->code->simt[k].tiles, groups = (unit->tiles[k] + tiles - 1) / tiles;
        if (groups == 0) continue;
        zf_passes *passes = zf_units_first(units, &units->accelerator->launched);
        unsigned pass = zf_pass_begin(passes, ZF_PASS_FIRST_LAUNCH);
        zf_status status =
            units->accelerator->ops->launch(units->accelerator, stream, unit->loaded, k, (uint32_t)groups, &args, error);
        zf_pass_end(passes, pass);
        ZF_TRY(status);
        units->stats.launches++;
    }
    bool last = only == ALL_KERNELS || (only < WORK_KERNELS && only + 1 == plan->kernel_count);
    return last ? zf_aside_move(units, unit, stream, memory, error) : ZF_OK;
}

zf_status zf_units_upload(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error) {
    for (uint32_t u = 0; u < units->unit_count; u++) ZF_TRY(upload_unit(units, &units->units[u], stream, memory, error));
    return zf_units_upload_zones(units, stream, memory, error);
}

/// The kernels of all units, or one of each, with `upload` behind its bytes. Without streams of their own they follow each other.
static zf_status run_units(zf_units *units, bool upload, uint32_t only, void *stream, const zf_units_memory *memory,
                           zf_error *error) {
    zf_status status = zf_side_streams_fork(&units->side, stream, error);
    units->enqueued = true;
    for (uint32_t u = 0; status == ZF_OK && u < units->unit_count; u++) {
        void *own = zf_side_stream(&units->side, u, stream);
        status = zf_selection_go_on(&units->column->selection, error);
        if (upload && status == ZF_OK) status = upload_unit(units, &units->units[u], own, memory, error);
        if (status == ZF_OK) status = launch_unit(units, &units->units[u], only, own, memory, error);
    }
    zf_status joined = zf_side_streams_join(&units->side, stream, status == ZF_OK ? error : NULL);
    if (status == ZF_OK) status = joined;
    if (status == ZF_OK && upload) status = zf_units_upload_zones(units, stream, memory, error);
    return status == ZF_OK && only == ALL_KERNELS ? zf_units_find_zones(units, stream, memory, error) : status;
}

zf_status zf_units_launch(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error) {
    return run_units(units, false, ALL_KERNELS, stream, memory, error);
}

zf_status zf_units_launch_work(zf_units *units, void *stream, const zf_units_memory *memory, zf_error *error) {
    return run_units(units, false, WORK_KERNELS, stream, memory, error);
}

zf_status zf_units_launch_kernel(zf_units *units, uint32_t kernel, void *stream, const zf_units_memory *memory, zf_error *error) {
    return run_units(units, false, kernel, stream, memory, error);
}

zf_status zf_units_end(zf_units *units, void *stream, const zf_units_memory *memory, uint64_t *words, zf_error *error) {
    if (units->words == 0) return ZF_OK;
    void *to = words != NULL ? (void *)words : memory->staging;
    return units->accelerator->ops->copy_out(units->accelerator, stream, to, zf_units_head(memory), units->words * UINT64_C(8),
                                             error);
}

zf_status zf_units_enqueue(zf_units *units, void *stream, const zf_units_memory *memory, uint64_t *words, zf_error *error) {
    ZF_TRY(zf_units_start(units, stream, memory, error));
    ZF_TRY(run_units(units, true, ALL_KERNELS, stream, memory, error));
    return zf_units_end(units, stream, memory, words, error);
}

// ---- Failures -------------------------------------------------------------------------------------------------

/// The failure word of a kernel for a unit, including the tiles that were skipped because their state is wrong.
static uint64_t word_of(const zf_units *units, const zf_unit *unit, uint32_t kernel, const uint64_t *words) {
    uint64_t word = words[unit->first_word + kernel];
    for (uint64_t b = 0; b < unit->block_count && b <= word >> (POSITION_BITS + CHECK_BITS); b++) {
        const zf_unit_block *block = &units->blocks[unit->blocks[b]];
        if (block->backwards == ZF_ABI_NO_FAILURE || block->backwards_kernel != kernel) continue;
        uint64_t own = b << (POSITION_BITS + CHECK_BITS) | block->backwards;
        return own < word ? own : word;
    }
    return word;
}

zf_status zf_units_status(const zf_units *units, const uint64_t *words, zf_error *error) {
    const zf_unit *unit = NULL;
    uint32_t kernel = 0;
    uint64_t least = UINT64_MAX, failure = 0; // index of the block
    for (uint32_t u = 0; u < units->unit_count; u++) {
        const zf_unit *this = &units->units[u];
        for (uint32_t k = 0; k < this->plan->kernel_count; k++) {
            uint64_t word = word_of(units, this, k, words);
            if (word == ZF_ABI_NO_FAILURE) continue;
            uint64_t block = word >> (POSITION_BITS + CHECK_BITS);
            if (block >= this->block_count) {
                return zf_raise(error, ZF_E_INTERNAL, "a kernel reported block %llu of %u", (unsigned long long)block,
                                this->block_count);
            }
            if (this->blocks[block] >= least) continue; // a later kernel of the same block read what an earlier one spoiled
            least = this->blocks[block];
            unit = this;
            kernel = k;
            failure = word;
        }
    }
    if (unit == NULL) return zf_units_check_zones(units, words, error);
    const zf_selection *s = &units->column->selection;
    uint64_t number = units->first_block + least % units->block_count;
    char where[ZF_WHERE_BYTES];
    zf_selection_where(s, number, where);
    zf_failure what = {.plan = unit->plan,
                       .kernel = &unit->plan->kernels[kernel],
                       .shape = &s->column->shapes[s->column->blocks[number].shape].shape,
                       .first_row = units->blocks[least].first_row,
                       .where = where,
                       .file = zf_selection_file(s)};
    return zf_report_failure(&what, failure & ((UINT64_C(1) << (POSITION_BITS + CHECK_BITS)) - 1), error);
}
