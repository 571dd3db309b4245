// Making units: blocks are checked over the host's threads, grouped by plan and code, and given places in memory.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "runtime/context/context.h"
#include "runtime/decode/block_check.h"
#include "runtime/decode/block_run.h"
#include "runtime/decode/decode_unit_internal.h"
#include "runtime/decode/failure.h"
#include "runtime/device/kept_codes.h"

typedef unsigned long long ull;

enum { ALIGNMENT = 256, GAP = 256 }; ///< between pieces of memory, so that what leaves one does not end in the next

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the tables of a launch"); }

zf_passes *zf_units_passes(const zf_units *units) {
    const zf_container *container = units->column->selection.container;
    return container != NULL ? zf_context_passes(container->context) : NULL;
}

uint64_t zf_unit_words(const zf_abi_plan *plan) { return ZF_SIMT_HEAD + (uint64_t)plan->slot_count + plan->work_count; }

bool zf_unit_place(uint64_t *next, uint64_t bytes, uint64_t *at) {
    *at = *next;
    uint64_t end;
    return !__builtin_add_overflow(*next, bytes, &end) && !__builtin_add_overflow(end, (uint64_t)GAP, &end) &&
           zf_align_up(end, ALIGNMENT, next);
}

// ---- One block ------------------------------------------------------------------------------------------------

static uint64_t load_entry(const uint8_t *at, unsigned width) {
    uint64_t value = 0;
    memcpy(&value, at, width); // little-endian
    return value;
}

/// The first of some tiles of a tree that ends in a group before the one that it begins in; `end` where none does.
static uint64_t first_backwards(const zf_abi_tree *tree, const zf_block_view *view, const zf_seek_view *seek, uint64_t begin,
                                uint64_t end) {
    for (uint32_t f = 0; f < tree->field_count; f++) {
        unsigned width = seek->widths[f];
        if (tree->fields[f].kind != ZF_FIELD_GROUP || width == 0) continue;
        const uint8_t *entries = view->base + seek->offsets[f]; // entry n - 1: where tile n begins; tile 0 at 0
        for (uint64_t n = begin > 0 ? begin : 1; n < end && n < seek->entries; n++) {
            if (load_entry(entries + n * width, width) < load_entry(entries + (n - 1) * width, width)) end = n;
        }
    }
    return end;
}

/// Groups at tiles never decrease. Otherwise a small file could make every tile walk all groups: kernels make the tiles before
/// the first that goes back, which fails without them, as what its block is still wanted for does.
static zf_status cut_backwards(zf_unit_block *block, const zf_block_view *view, zf_error *error) {
    const zf_abi_plan *plan = block->plan;
    bool cut = false;
    block->backwards = ZF_ABI_NO_FAILURE;
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        zf_unit_tiles *tiles = &block->tiles[k];
        int32_t tree = plan->kernels[k].tree;
        if (cut) tiles->count = 0;
        if (cut || tree < 0) continue;
        uint64_t end = tiles->first + tiles->count;
        uint64_t last = first_backwards(&plan->trees[tree], view, &view->seeks[tree], tiles->first, end);
        cut = last < end;
        if (!cut) continue;
        tiles->count = last - tiles->first;
        block->backwards_kernel = k;
        ZF_TRY(zf_state_failure(plan, view->shape, (uint32_t)tree, last, &block->backwards, error));
    }
    return ZF_OK;
}

static zf_status check_whole_block(const zf_units *units, const zf_unit_block *block, const zf_block_view *view,
                                   const char *where, zf_error *error) {
    uint32_t failed = zf_block_check_run(&block->plan->block_checks, block->words + ZF_SIMT_HEAD);
    if (failed == ZF_CHECKS_HOLD) return ZF_OK;
    zf_failure what = {.plan = block->plan,
                       .shape = view->shape,
                       .first_row = view->first_row,
                       .where = where,
                       .file = zf_selection_file(&units->column->selection),
                       .slots = block->words + ZF_SIMT_HEAD};
    return zf_report_failure(&what, failed, error);
}

/// Whether a kernel of the code stores the column in place of what work buffer `work` would hold.
static bool is_left_out(const zf_unit_block *block, uint32_t work) {
    for (uint32_t k = 0; k < block->plan->kernel_count; k++) {
        if (block->plan->kernels[k].sink == (int32_t)work && block->code->simt[k].to_column) return true;
    }
    return false;
}

/// Fills the descriptor, but for what depends on the block's place in its unit.
static zf_status describe(const zf_units *units, uint64_t number, zf_unit_block *block, const zf_block_view *view,
                          zf_error *error) {
    const zf_selection *s = &units->column->selection;
    const zf_abi_plan *plan = block->plan;
    block->words = calloc(zf_unit_words(plan), sizeof *block->words);
    block->tiles = calloc((size_t)plan->kernel_count + 1, sizeof *block->tiles);
    if (block->words == NULL || block->tiles == NULL) return no_memory(error);
    uint64_t *words = block->words, begin, end;
    zf_selection_rows(s, number, &begin, &end);
    bool whole = units->column->whole;
    if (zf_block_is_aside(units->column, number)) { // its places follow from those of the unit's other blocks
        ZF_TRY(zf_aside_describe(units->column, block, number, error));
    } else {
        uint64_t row = zf_units_origin(units->column);                                    // of the first bit of bitmaps
        uint64_t from = whole ? row : s->begin;                                           // of the output's first element
        words[ZF_SIMT_OUT] = (view->first_row - from) * (s->bits == 1 ? 1 : s->bits / 8); // modulo 2^64
        if (s->bits == 1) words[ZF_SIMT_OUT] /= 8;
        if (units->column->nullable) words[ZF_SIMT_VALIDITY] = (view->first_row - row) / 8;
    }
    if (units->column->is_text && s->begin < s->end) {
        words[ZF_SIMT_OUT] = words[ZF_SIMT_OFFSET_BASE] = units->column->text.bases[number - s->first_block];
        words[ZF_SIMT_OFFSETS] = (view->first_row - s->begin) * sizeof(int64_t); // modulo 2^64
        zf_text_extent_block(s, &units->column->text, number, &words[ZF_SIMT_BYTE_BEGIN], &words[ZF_SIMT_BYTE_END]);
    }
    words[ZF_SIMT_ROW_BEGIN] = begin;
    words[ZF_SIMT_ROW_END] = end;
    for (uint32_t i = 0; i < plan->slot_count; i++) words[ZF_SIMT_HEAD + i] = zf_slot_value(&plan->slots[i], view);
    for (uint32_t w = 0; w < plan->work_count; w++) {
        uint64_t bytes = zf_work_buffer_bytes(&plan->works[w], view->counts[plan->works[w].edge]);
        if (plan->works[w].characters || is_left_out(block, w)) bytes = 0;
        words[ZF_SIMT_HEAD + plan->slot_count + w] = block->work_bytes;
        if (!zf_align_up(bytes, ALIGNMENT, &bytes) || __builtin_add_overflow(block->work_bytes, bytes, &block->work_bytes))
            return zf_raise(error, ZF_E_TOO_LARGE, "the workspace of a block is larger than can be addressed");
    }
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_abi_kernel *kernel = &plan->kernels[k];
        if (block->code->simt[k].threads == 0) continue;
        block->tiles[k] = (zf_unit_tiles){0, zf_tile_count(kernel, view)};
        if (kernel->sink >= 0 || view->rows == 0) continue;
        uint64_t first = zf_tile_of(kernel, view, begin), last = zf_tile_of(kernel, view, end - 1);
        if (last < first) last = first; // the directory of uneven chunks changes at this moment
        block->tiles[k] = (zf_unit_tiles){first, last - first + 1};
        words[ZF_SIMT_FIRST_TILE] = first;
        if (!whole) continue;
        // Whole tiles, but none behind them: their failures are not those of the range.
        words[ZF_SIMT_ROW_BEGIN] = zf_tile_begin(kernel, view, first);
        words[ZF_SIMT_ROW_END] = zf_tile_begin(kernel, view, last + 1);
    }
    return ZF_OK;
}

/// `provider` gave the plan; it is not asked where the block has its code.
static zf_status check_view(zf_units *units, uint64_t number, zf_unit_block *block, const zf_block_view *view,
                            const zf_abi_provider *provider, const char *where, zf_error *error) {
    block->stored = view->base;
    block->bytes = view->bytes;
    block->first_row = view->first_row;
    ZF_TRY(zf_seeks_fit(block->plan, view, true, where, error));
    if (block->code == NULL) ZF_TRY(zf_code_book_find(&units->column->book, provider, block->plan, view, &block->code, error));
    if (block->code->simt == NULL) return zf_raise(error, ZF_E_INTERNAL, "the code provider returned no kernels for the device");
    ZF_TRY(describe(units, number, block, view, error));
    ZF_TRY(check_whole_block(units, block, view, where, error));
    return cut_backwards(block, view, error);
}

/// `stored`: where the bytes of the units' first block are, and behind them those of the others as in the file; NULL: where the
/// container has or reads them.
static zf_status check_block(zf_units *units, const uint8_t *stored, uint64_t index, zf_error *error) {
    const zf_selection *s = &units->column->selection;
    uint64_t number = units->first_block + index;
    const zf_index_block *blocks = s->column->blocks;
    const uint8_t *at = stored != NULL ? stored + (blocks[number].offset - blocks[units->first_block].offset) : NULL;
    char where[ZF_WHERE_BYTES];
    zf_block_view view;
    zf_selection_where(s, number, where);
    ZF_TRY(zf_selection_go_on(s, error));
    unsigned pass = zf_pass_begin(zf_units_passes(units), ZF_PASS_DECODE);
    zf_status status = zf_selection_block(s, number, at, &view, error);
    if (status == ZF_OK) {
        uint32_t shape = s->column->blocks[number].shape;
        units->blocks[index].plan = s->plans[shape];
        status = check_view(units, number, &units->blocks[index], &view, &s->providers[shape], where, error);
        units->blocks[index].owned = view.owned; // what is uploaded later
        view.owned = NULL;
        zf_block_view_free(&view);
    }
    zf_pass_end(zf_units_passes(units), pass);
    return status;
}

static zf_status check_one(void *user, uint64_t index, unsigned worker, zf_error *error) {
    (void)worker;
    return check_block(user, NULL, index, error);
}

static zf_status check_blocks(zf_units *units, unsigned threads, zf_error *error) {
    zf_status status = zf_parallel_try(threads, units->block_count, check_one, units, error);
    return status == ZF_OK ? ZF_OK : zf_container_explain(units->column->selection.container, status, error);
}

/// Further copies of all blocks, each with its own descriptor.
static zf_status copy_blocks(zf_units *units, zf_error *error) {
    for (uint64_t i = units->block_count; i < units->block_count * units->column->options.copies; i++) {
        const zf_unit_block *from = &units->blocks[i % units->block_count];
        zf_unit_block *to = &units->blocks[i];
        size_t words = zf_unit_words(from->plan);
        size_t kernels = (size_t)from->plan->kernel_count + 1;
        *to = *from;
        to->words = malloc(words * sizeof *to->words);
        to->tiles = malloc(kernels * sizeof *to->tiles);
        if (to->words == NULL || to->tiles == NULL) return no_memory(error);
        memcpy(to->words, from->words, words * sizeof *to->words);
        memcpy(to->tiles, from->tiles, kernels * sizeof *to->tiles);
        uint64_t away = i / units->block_count * units->column->options.copy_stride;
        to->words[ZF_SIMT_OFFSETS] += away;
        to->move_values.to += away * 8;
        to->move_validity.to += away * 8;
        if (to->aside_values == 0) to->words[ZF_SIMT_OUT] += away;
        if (to->aside_validity == 0) to->words[ZF_SIMT_VALIDITY] += away;
    }
    return ZF_OK;
}

// ---- Grouping -------------------------------------------------------------------------------------------------

/// Exactly one kernel may make the column, since a descriptor has one first tile, and one store it.
static zf_status check_plan(const zf_abi_plan *plan, const zf_abi_code *code, zf_error *error) {
    uint32_t makers = 0;
    for (uint32_t k = 0; k < plan->kernel_count; k++) makers += plan->kernels[k].sink < 0;
    if (makers != 1)
        return zf_raise(error, ZF_E_INTERNAL, "the code's plan has %u kernels that make the column, and needs one", makers);
    if (zf_characters_reread(plan))
        return zf_raise(error, ZF_E_INTERNAL, "the code's plan reads characters that may have no place");
    if (zf_one_stores_column(plan, code->simt)) return ZF_OK;
    return zf_raise(error, ZF_E_INTERNAL, "the code does not store the column with exactly one kernel");
}

zf_status zf_units_block_bounds(const zf_units_column *column, uint64_t block, zf_units_bounds *out, zf_error *error) {
    const zf_selection *s = &column->selection;
    const zf_index_block *entry = &s->column->blocks[s->first_block + block];
    const zf_abi_plan *plan = s->plans[entry->shape];
    uint64_t work = 0, next = 0, at, values = 0, validity = 0;
    bool aside = zf_block_is_aside(column, s->first_block + block), fits = true;
    for (uint32_t w = 0; w < plan->work_count; w++) {
        uint64_t bytes = zf_work_buffer_bytes(&plan->works[w], s->column->shapes[entry->shape].most[plan->works[w].edge]);
        if (plan->works[w].characters) bytes = 0;
        fits = fits && zf_align_up(bytes, ALIGNMENT, &bytes) && !__builtin_add_overflow(work, bytes, &work);
    }
    out->words = plan->kernel_count + zf_units_zone_words(column, entry->rows);
    uint64_t tables = zf_unit_words(plan) * 8 + UINT64_C(16) * plan->kernel_count; // of a unit of this block alone
    if (aside) {
        fits = fits && zf_aside_bytes(column, entry->rows, &values, &validity);
        tables += zf_aside_table_bytes(column, 1);
    }
    fits = fits && zf_unit_place(&next, out->words * 8, &at) && zf_unit_place(&next, tables, &at) &&
           zf_unit_place(&next, zf_units_span_bytes(column, entry->rows), &at);
    out->head = next;
    fits = fits && zf_unit_place(&next, entry->bytes, &at) && zf_unit_place(&next, work, &at);
    if (aside) fits = fits && zf_unit_place(&next, values, &at) && zf_unit_place(&next, validity, &at);
    out->workspace = next;
    if (fits) return ZF_OK;
    return zf_raise(error, ZF_E_TOO_LARGE, "column %s is larger than can be addressed", s->column->shown);
}

static bool has_room(const zf_units *units, const zf_unit *unit, const zf_unit_block *block) {
    if (unit->block_count >= units->column->options.unit_blocks) return false;
    uint64_t bytes = unit->stored_bytes + unit->work_bytes + unit->aside_values + unit->aside_validity, more;
    if (__builtin_add_overflow(block->bytes, block->work_bytes, &more) ||
        __builtin_add_overflow(more, block->aside_values + block->aside_validity, &more)) // each below 2^61
        return false;
    if (bytes > units->column->options.unit_bytes || more > units->column->options.unit_bytes - bytes) return false;
    for (uint32_t k = 0; k < unit->plan->kernel_count; k++) {
        if (block->tiles[k].count > ZF_SIMT_MOST_TILES - unit->tiles[k]) return false;
    }
    return true;
}

static zf_status new_unit(zf_units *units, const zf_unit_block *block, zf_unit **out, zf_error *error) {
    if (units->unit_count == units->unit_room) {
        uint32_t room = units->unit_room == 0 ? 8 : units->unit_room * 2;
        zf_unit *grown = realloc(units->units, room * sizeof *grown);
        if (grown == NULL) return no_memory(error);
        units->units = grown;
        units->unit_room = room;
    }
    zf_unit *unit = &units->units[units->unit_count++];
    uint32_t kernels = block->plan->kernel_count;
    *unit = (zf_unit){.plan = block->plan, .code = block->code, .first_word = units->words};
    unit->tiles = calloc((size_t)kernels + 1, sizeof *unit->tiles);
    unit->firsts = calloc((size_t)kernels + 1, sizeof *unit->firsts);
    unit->even = calloc((size_t)kernels + 1, sizeof *unit->even);
    if (unit->tiles == NULL || unit->firsts == NULL || unit->even == NULL) return no_memory(error);
    ZF_TRY(check_plan(unit->plan, unit->code, error));
    units->words += kernels;
    *out = unit;
    zf_passes *passes = zf_units_passes(units);
    unsigned pass = zf_pass_begin(passes, ZF_PASS_LOAD);
    double begin = zf_clock_seconds();
    zf_status status = units->accelerator->ops->load(units->accelerator, unit->plan, unit->code, &unit->loaded, error);
    units->stats.load_seconds += zf_clock_seconds() - begin;
    zf_pass_end(passes, pass);
    return status;
}

/// The tiles of a block, or spans of tiles, that a launch of the kernel counts.
static uint64_t turns_of(const zf_unit_block *block, uint32_t kernel) {
    uint64_t span = block->code->simt[kernel].span;
    return span > 1 ? (block->tiles[kernel].count + span - 1) / span : block->tiles[kernel].count;
}

/// Whether blocks of both kinds store to one place: the column's, or places of their own.
static bool store_alike(const zf_unit *unit, const zf_unit_block *block) {
    return (unit->aside_values != 0) == (block->aside_values != 0) && (unit->aside_validity != 0) == (block->aside_validity != 0);
}

static zf_status add_block(zf_units *units, uint64_t index, zf_error *error) {
    const zf_unit_block *block = &units->blocks[index];
    zf_unit *unit = NULL;
    for (uint32_t u = 0; u < units->unit_count && unit == NULL; u++) {
        zf_unit *known = &units->units[u];
        if (known->full || known->code != block->code || known->plan != block->plan || !store_alike(known, block)) continue;
        if (has_room(units, known, block))
            unit = known;
        else
            known->full = true; // units stay in the order of their blocks
    }
    if (unit == NULL) ZF_TRY(new_unit(units, block, &unit, error));
    if (unit->block_count == unit->block_room) {
        uint32_t room = unit->block_room == 0 ? 16 : unit->block_room * 2;
        uint64_t *grown = realloc(unit->blocks, room * sizeof *grown);
        if (grown == NULL) return no_memory(error);
        unit->blocks = grown;
        unit->block_room = room;
    }
    unit->blocks[unit->block_count++] = index;
    unit->stored_bytes += block->bytes;
    unit->work_bytes += block->work_bytes;
    unit->aside_values += block->aside_values;
    unit->aside_validity += block->aside_validity;
    for (uint32_t k = 0; k < unit->plan->kernel_count; k++) {
        unit->tiles[k] += turns_of(block, k);
        if (unit->tiles[k] > ZF_SIMT_MOST_TILES) // of this block alone
            return zf_raise(error, ZF_E_TOO_LARGE, "block %llu has %llu tiles, more than a launch can have",
                            (ull)(units->first_block + index % units->block_count), (ull)unit->tiles[k]);
    }
    return ZF_OK;
}

// ---- Tables ---------------------------------------------------------------------------------------------------

/// Tiles of each block but the last, where they are equal and the last has no more.
static uint32_t even_tiles(const zf_units *units, const zf_unit *unit, uint32_t kernel) {
    uint64_t even = turns_of(&units->blocks[unit->blocks[0]], kernel);
    for (uint32_t b = 1; b < unit->block_count; b++) {
        uint64_t count = turns_of(&units->blocks[unit->blocks[b]], kernel);
        if (b + 1 < unit->block_count ? count != even : count > even) return 0;
    }
    return (uint32_t)even;
}

static zf_status make_tables(zf_units *units, zf_unit *unit, zf_error *error) {
    const zf_abi_plan *plan = unit->plan;
    uint64_t row = zf_unit_words(plan) * 8, at = row * unit->block_count, stored = 0, work = 0, values = 0, validity = 0;
    bool aside = unit->aside_values != 0 || unit->aside_validity != 0;
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        unit->firsts[k] = at;
        at += (4 * ((uint64_t)unit->block_count + 1) + 7) / 8 * 8;
    }
    unit->move_values = unit->move_validity = at;
    if (unit->aside_values != 0) unit->move_validity += unit->block_count * sizeof(zf_bit_run);
    if (aside) at += zf_aside_table_bytes(units->column, unit->block_count);
    unit->table_bytes = at;
    unit->tables = calloc(1, at + 1);
    if (unit->tables == NULL) return no_memory(error);
    for (uint32_t b = 0; b < unit->block_count; b++) {
        zf_unit_block *block = &units->blocks[unit->blocks[b]];
        block->words[ZF_SIMT_BASE] = (units->owns_column ? stored : block->at) / ALIGNMENT;
        for (uint32_t w = 0; w < plan->work_count; w++) block->words[ZF_SIMT_HEAD + plan->slot_count + w] += work;
        if (aside) zf_aside_enter(units, unit, b, values, validity);
        if (block->aside_values != 0) block->words[ZF_SIMT_OUT] = values;
        if (block->aside_validity != 0) block->words[ZF_SIMT_VALIDITY] = validity;
        memcpy(unit->tables + row * b, block->words, row);
        stored += block->bytes;
        work += block->work_bytes;
        values += block->aside_values;
        validity += block->aside_validity;
        free(block->words);
        block->words = NULL;
    }
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        uint32_t *first = (uint32_t *)(void *)(unit->tables + unit->firsts[k]), tile = 0;
        for (uint32_t b = 0; b < unit->block_count; b++) {
            first[b] = tile;
            tile += (uint32_t)turns_of(&units->blocks[unit->blocks[b]], k);
        }
        first[unit->block_count] = tile;
        unit->even[k] = even_tiles(units, unit, k);
    }
    return ZF_OK;
}

/// Whether units have memory of their own: where they are to, and where they need no more than one may.
static bool are_apart(const zf_units *units) {
    uint64_t bytes = 0;
    bool fits = true;
    for (uint32_t u = 0; fits && u < units->unit_count; u++) {
        const zf_unit *unit = &units->units[u];
        fits = !__builtin_add_overflow(bytes, unit->stored_bytes, &bytes) &&
               !__builtin_add_overflow(bytes, unit->work_bytes, &bytes) &&
               !__builtin_add_overflow(bytes, unit->aside_values + unit->aside_validity, &bytes) &&
               bytes <= units->column->options.unit_bytes;
    }
    return fits || units->column->options.resident;
}

/// Places a part: first the tables of all units, then all blocks in the order of the file, whatever their units. One copy moves
/// all of them.
static bool place_part(zf_units *units, uint64_t *next) {
    bool fits = true;
    uint64_t at = 0;
    for (uint32_t u = 0; fits && u < units->unit_count; u++)
        fits = zf_unit_place(next, units->units[u].table_bytes, &units->units[u].at_tables);
    units->sizes.head = *next;
    const zf_unit_block *last = units->block_count > 0 ? &units->blocks[units->block_count - 1] : NULL;
    uint64_t bytes = last != NULL ? last->at + last->bytes : 0;
    fits = fits && zf_unit_place(next, bytes, &at);
    for (uint32_t u = 0; u < units->unit_count; u++) {
        units->units[u].at_stored = at;
        units->units[u].base_bytes = bytes;
    }
    return fits;
}

/// Places of all units in the workspace and in the staging memory, behind the failure words in both.
static zf_status lay_out(zf_units *units, bool apart, zf_error *error) {
    uint64_t words, device = 0, most = 0, staging = 0;
    bool fits =
        zf_unit_place(&device, units->words * UINT64_C(8), &words) && zf_unit_place(&staging, units->words * UINT64_C(8), &words);
    if (units->zone_count > 0) {
        uint64_t bytes = units->zone_count * sizeof *units->spans;
        fits = fits && zf_unit_place(&device, bytes, &units->at_spans) && zf_unit_place(&staging, bytes, &units->staged_spans);
    }
    uint64_t start = device;
    most = device;
    if (!units->owns_column) fits = fits && place_part(units, &device);
    for (uint32_t u = 0; fits && u < units->unit_count; u++) {
        zf_unit *unit = &units->units[u];
        if (!apart) device = start; // on a stream a unit is done before the next one's bytes come
        if (units->owns_column) {
            unit->base_bytes = unit->stored_bytes;
            fits = zf_unit_place(&device, unit->table_bytes, &unit->at_tables) &&
                   zf_unit_place(&device, unit->stored_bytes, &unit->at_stored);
        }
        fits = fits && zf_unit_place(&device, unit->work_bytes, &unit->at_work);
        if (unit->aside_values != 0) fits = fits && zf_unit_place(&device, unit->aside_values, &unit->at_values);
        if (unit->aside_validity != 0) fits = fits && zf_unit_place(&device, unit->aside_validity, &unit->at_validity);
        if (device > most) most = device;
        fits = fits && zf_unit_place(&staging, unit->table_bytes, &unit->staged_tables) &&
               zf_unit_place(&staging, unit->stored_bytes, &unit->staged_blocks);
        units->sizes.stored += unit->stored_bytes;
    }
    units->sizes.workspace = most;
    units->sizes.staging = staging;
    if (fits) return ZF_OK;
    return zf_raise(error, ZF_E_TOO_LARGE, "column %s is larger than can be addressed", units->column->selection.column->shown);
}

// ---- All ------------------------------------------------------------------------------------------------------

static void count(zf_units *units) {
    uint64_t blocks = units->block_count;
    units->stats.blocks_read = blocks;
    zf_code_book *book = &units->column->book; // other parts of the column may be asking for code
    pthread_mutex_lock(&book->lock);
    units->stats.kernel_variants = book->kernel_variants;
    units->stats.codes = book->codes;
    units->stats.compiled = book->compiled;
    units->stats.cached = book->cached;
    units->stats.compile_seconds = units->column->selection.plan_seconds + book->seconds;
    pthread_mutex_unlock(&book->lock);
    for (uint64_t b = 0; b < blocks; b++) {
        units->stats.bytes_read += units->blocks[b].bytes;
        uint64_t kernels = 0;
        for (uint32_t k = 0; k < units->blocks[b].plan->kernel_count; k++) kernels += units->blocks[b].code->simt[k].threads != 0;
        if (kernels > units->stats.kernels) units->stats.kernels = kernels;
    }
}

/// Where the blocks of a part lie from its first one.
static void follow_blocks(zf_units *units) {
    for (uint64_t b = 1; b < units->block_count; b++) units->blocks[b].at = units->blocks[b - 1].at + units->blocks[b - 1].bytes;
}

/// Everything behind the checks of blocks.
static zf_status arrange(zf_units *units, zf_error *error) {
    if (!units->owns_column) follow_blocks(units);
    ZF_TRY(copy_blocks(units, error));
    for (uint64_t b = 0; b < units->block_count * units->column->options.copies; b++) ZF_TRY(add_block(units, b, error));
    for (uint32_t u = 0; u < units->unit_count; u++) ZF_TRY(make_tables(units, &units->units[u], error));
    ZF_TRY(zf_units_list_zones(units, error));
    count(units);
    bool apart = are_apart(units);
    ZF_TRY(lay_out(units, apart, error));
    if (apart && units->owns_column && units->unit_count > 1)
        zf_side_streams_open(&units->side, units->accelerator, units->unit_count - 1);
    return ZF_OK;
}

/// Hands the units over, or frees them.
static zf_status finish(zf_units *units, zf_status status, zf_units **out) {
    if (status == ZF_OK)
        *out = units;
    else
        zf_units_free(units);
    return status;
}

/// Units without a block checked. Also after a failure they free the column, with `owns`.
static zf_status new_units(zf_units_column *column, bool owns, uint64_t first, uint64_t count, zf_units **out, zf_error *error) {
    uint64_t room;
    zf_units *units = calloc(1, sizeof *units);
    if (units == NULL) {
        if (owns) zf_units_column_free(column);
        return no_memory(error);
    }
    units->column = column;
    units->owns_column = owns;
    units->accelerator = column->accelerator;
    units->first_block = column->selection.first_block + first;
    units->sizes = column->sizes;
    zf_status status = ZF_OK;
    if (__builtin_mul_overflow(count, (uint64_t)column->options.copies, &room) || room > SIZE_MAX / sizeof *units->blocks - 1)
        status = zf_raise(error, ZF_E_TOO_LARGE, "%llu blocks are more than can be addressed", (ull)count);
    if (status == ZF_OK && (units->blocks = calloc(room + 1, sizeof *units->blocks)) == NULL) status = no_memory(error);
    if (status == ZF_OK) units->block_count = count;
    return finish(units, status, out);
}

zf_status zf_units_make(zf_container *container, size_t number, const zf_decode_options *options,
                        const zf_units_options *unit_options, zf_accelerator *accelerator, zf_units **out, zf_error *error) {
    *out = NULL;
    zf_units_column *column;
    ZF_TRY(zf_units_column_make(container, number, options, unit_options, accelerator, &column, error));
    unsigned threads = zf_context_threads(container->context, options != NULL ? options->threads : 0);
    zf_units *units = NULL;
    ZF_TRY(new_units(column, true, 0, zf_units_column_blocks(column), &units, error));
    zf_status status = check_blocks(units, threads, error);
    if (status == ZF_OK) status = arrange(units, error);
    return finish(units, status, out);
}

zf_status zf_units_part_begin(zf_units_column *column, uint64_t first, uint64_t last, zf_units **out, zf_error *error) {
    *out = NULL;
    return new_units(column, false, first, last - first, out, error);
}

zf_status zf_units_part_check(zf_units *units, uint64_t index, const uint8_t *stored, zf_error *error) {
    return check_block(units, stored, index, error);
}

zf_status zf_units_part_end(zf_units *units, zf_error *error) { return arrange(units, error); }

zf_status zf_units_part_make(zf_units_column *column, uint64_t first, uint64_t last, unsigned threads, zf_units **out,
                             zf_error *error) {
    zf_units *units = NULL;
    *out = NULL;
    ZF_TRY(zf_units_part_begin(column, first, last, &units, error));
    zf_status status = check_blocks(units, zf_context_threads(column->selection.container->context, threads), error);
    if (status == ZF_OK) status = arrange(units, error);
    return finish(units, status, out);
}

zf_status zf_units_make_block(const zf_block_view *view, const zf_abi_plan *plan, const zf_abi_code *code, uint64_t begin,
                              uint64_t end, zf_accelerator *accelerator, zf_units **out, zf_error *error) {
    *out = NULL;
    zf_units_column *column;
    ZF_TRY(zf_units_column_of_block(view, plan, begin, end, accelerator, &column, error));
    zf_units *units = NULL;
    ZF_TRY(new_units(column, true, 0, zf_units_column_blocks(column), &units, error));
    zf_status status = ZF_OK;
    if (units->block_count > 0) {
        units->blocks[0].plan = plan;
        units->blocks[0].code = code;
        status = check_view(units, 0, &units->blocks[0], view, NULL, "block", error);
    }
    if (status == ZF_OK) status = arrange(units, error);
    return finish(units, status, out);
}

void zf_units_free(zf_units *units) {
    if (units == NULL) return;
    if (!units->enqueued) zf_units_retire(units);
    uint64_t blocks = units->blocks != NULL ? units->block_count * units->column->options.copies : 0;
    for (uint64_t b = 0; b < blocks; b++) {
        if (b < units->block_count) free(units->blocks[b].owned); // copies share it
        free(units->blocks[b].words);
        free(units->blocks[b].tiles);
    }
    for (uint32_t u = 0; u < units->unit_count; u++) {
        zf_unit *unit = &units->units[u];
        free(unit->blocks);
        free(unit->tiles);
        free(unit->tables);
        free(unit->firsts);
        free(unit->even);
    }
    zf_side_streams_close(&units->side);
    free(units->zones);
    free(units->spans);
    free(units->blocks);
    free(units->units);
    if (units->owns_column) zf_units_column_free(units->column);
    free(units);
}

void zf_units_ended(zf_units *units) { units->enqueued = false; }

void zf_units_unload(zf_units *units) {
    const zf_accelerator_ops *ops = units->accelerator->ops;
    for (uint32_t u = 0; u < units->unit_count && ops->unload != NULL; u++) {
        if (units->units[u].loaded != NULL) ops->unload(units->accelerator, units->units[u].loaded);
        units->units[u].loaded = NULL;
    }
}

void zf_units_retire(zf_units *units) {
    for (uint32_t u = 0; units != NULL && u < units->unit_count; u++) {
        zf_accelerator_keep(units->accelerator, units->units[u].code, units->units[u].loaded);
        units->units[u].loaded = NULL;
    }
}

zf_units_sizes zf_units_sizes_of(const zf_units *units) { return units->sizes; }
uint32_t zf_units_count(const zf_units *units) { return units->unit_count; }
uint32_t zf_units_words(const zf_units *units) { return units->words; }
zf_decode_stats zf_units_stats(const zf_units *units) { return units->stats; }

zf_unit_view zf_units_view(const zf_units *units, uint32_t unit) {
    const zf_unit *u = &units->units[unit];
    return (zf_unit_view){.plan = u->plan,
                          .code = u->code,
                          .block_count = u->block_count,
                          .stored = u->at_stored,
                          .work = u->at_work,
                          .tables = u->at_tables,
                          .row_bytes = zf_unit_words(u->plan) * sizeof(uint64_t)};
}

zf_unit_rows zf_units_rows(const zf_units *units, uint32_t unit, uint32_t block) {
    const zf_unit_block *b = &units->blocks[units->units[unit].blocks[block]];
    uint64_t number = units->first_block + units->units[unit].blocks[block] % units->block_count;
    return (zf_unit_rows){b->first_row, units->column->selection.column->blocks[number].rows};
}
