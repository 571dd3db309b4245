// Columns and inputs in a query's kernel: elements of fused columns are made where they are pulled, others are loaded.
#include "codegen/query/query_kernel.h"

#include <stddef.h>
#include <string.h>

#include "codegen/query/query_square.h"
#include "codegen/simt/memory/simt_memory.h"
#include "frontend/check/walk.h"

// ---- The frame ------------------------------------------------------------------------------------------------

enum { WORD = sizeof(uint64_t), INPUT = sizeof(zf_query_device_input) / WORD, COLUMN = sizeof(zf_query_device_column) / WORD };

#define COLUMN_WORD(member) zf_query_word(b, at + (uint32_t)(offsetof(zf_query_device_column, member) / WORD))

static LLVMValueRef place(zf_query_build *b, LLVMValueRef v_offset) {
    return zf_cg_at_sink(b->cg, b->cg->ty_i8, b->v_base, v_offset);
}

static void begin_column(zf_query_build *b, uint32_t c) {
    zf_query_column_build *column = &b->columns[c];
    uint32_t at = zf_query_frame_places_of(b->query).columns + COLUMN * c;
    column->fused = b->sources[c].plan != NULL;
    column->v_base = place(b, COLUMN_WORD(values));
    column->v_blocks = place(b, COLUMN_WORD(validity));
    column->v_work = place(b, COLUMN_WORD(offsets));
    if (column->fused) {
        column->v_first_tile = COLUMN_WORD(skip);
        column->v_block_tiles = COLUMN_WORD(block_tiles);
    } else {
        column->v_skip = COLUMN_WORD(skip);
        column->v_validity_skip = COLUMN_WORD(block_tiles);
    }
}

void zf_query_columns_begin(zf_query_build *b) {
    const zf_query *query = b->query;
    b->inputs = ZF_NEW_ARRAY(b->cg->arena, zf_query_input_build, query->input_count + 1);
    b->columns = ZF_NEW_ARRAY(b->cg->arena, zf_query_column_build, query->column_count + 1);
    for (uint32_t k = 0; k < query->input_count; k++) {
        uint32_t at = zf_query_frame_places_of(query).inputs + INPUT * k;
        b->inputs[k].v_values = place(b, zf_query_word(b, at + (uint32_t)(offsetof(zf_query_device_input, values) / WORD)));
        b->inputs[k].v_length = zf_query_word(b, at + (uint32_t)(offsetof(zf_query_device_input, length) / WORD));
        LLVMValueRef v_length = zf_cg_low_half(b->cg, b->inputs[k].v_length), v_one = zf_cg_i32(b->cg, 1);
        LLVMValueRef v_is_empty = zf_cg_icmp(b->cg, LLVMIntEQ, v_length, zf_cg_i32(b->cg, 0));
        b->inputs[k].v_most = zf_cg_sub(b->cg, zf_cg_select(b->cg, v_is_empty, v_one, v_length), v_one);
    }
    for (uint32_t c = 0; c < query->column_count; c++) begin_column(b, c);
}

typedef struct named {
    const zf_expr *but;
    uint32_t input;
    bool found;
} named;

static bool sees_input(zf_visitor *visitor, zf_expr *expr) {
    named *n = visitor->user;
    if (expr == n->but) return false;
    n->found = n->found || (expr->kind == ZF_X_STREAM && expr->port->slot == n->input);
    return true;
}

bool zf_codegen_query_reads(const zf_query *query, uint32_t input, bool squares) {
    named n = {.but = squares ? zf_query_square_of(query).sum : NULL, .input = input};
    zf_visitor visitor = {.user = &n, .expr = sees_input};
    zf_visit_body(&visitor, &query->inst->decode);
    return n.found;
}

_Static_assert((int)ZF_QUERY_SHARED_PIECE == (int)ZF_SIMT_PIECE, "a thread copies a piece at once");

uint32_t zf_query_inputs_ready(zf_query_build *b, uint32_t offset) {
    zf_cg *cg = b->cg;
    uint32_t begin = offset;
    for (uint32_t k = 0; k < b->query->input_count; k++) {
        uint32_t bytes = b->shared_inputs[k];
        if (bytes == 0) continue;
        LLVMValueRef v_shared = cg->target->simt->shared(cg, offset, bytes);
        zf_query_turn turn;
        zf_query_turn_begin(b, &turn, bytes / ZF_SIMT_PIECE);
        LLVMValueRef v_from = zf_simt_piece_at(cg, b->inputs[k].v_values, turn.v_at);
        zf_simt_copy(cg, zf_simt_piece_at(cg, v_shared, turn.v_at), v_from);
        zf_query_turn_end(b, &turn);
        b->inputs[k].v_values = v_shared;
        offset += bytes;
    }
    if (offset > begin) zf_simt_copy_wait(cg, 0);
    return offset;
}

// ---- Tiles ----------------------------------------------------------------------------------------------------

// The block of a fused column in which the tile lies.
static void open_block(zf_query_build *b, zf_query_column_build *column, const zf_query_source *source) {
    zf_query_fused_place place = {.v_stored = column->v_base,
                                  .v_table = column->v_blocks,
                                  .v_work = column->v_work,
                                  .v_tile = zf_cg_sub(b->cg, zf_cg_add(b->cg, b->v_first_tile, b->v_tile), column->v_first_tile),
                                  .v_block_tiles = column->v_block_tiles,
                                  .tile_rows = zf_codegen_query_tile(b->query)};
    zf_query_fused_open(&column->of, b->cg, source, &b->simt, b->v_any, &place);
    column->of.lower.v_failure = b->v_failure;
    column->v_begin = column->of.v_begin;
}

void zf_query_columns_tile(zf_query_build *b, LLVMBasicBlockRef *bb_setups) {
    for (uint32_t c = 0; c < b->query->column_count; c++) {
        zf_query_column_build *column = &b->columns[c];
        bb_setups[c] = zf_cg_block(b->cg, "column");
        zf_cg_enter(b->cg, bb_setups[c]);
        if (column->fused)
            open_block(b, column, &b->sources[c]);
        else
            column->v_begin = zf_cg_sub(b->cg, b->v_row0, b->v_first_row);
        column->of.lower.bb_setup = zf_cg_here(b->cg); // where the block's values go from now on
    }
}

void zf_query_columns_tile_end(zf_query_build *b, LLVMBasicBlockRef *bb_setups, LLVMBasicBlockRef bb_body) {
    uint32_t count = b->query->column_count;
    for (uint32_t c = 0; c < count; c++) {
        zf_cg_enter(b->cg, b->columns[c].of.lower.bb_setup);
        zf_cg_br(b->cg, c + 1 < count ? bb_setups[c + 1] : bb_body);
    }
}

// ---- Elements -------------------------------------------------------------------------------------------------

static LLVMValueRef number_at(zf_cg *cg, zf_type type, LLVMValueRef v_values, LLVMValueRef v_index) {
    if (type.kind == ZF_K_BOOL) return zf_cg_bit_at(cg, v_values, v_index);
    LLVMTypeRef ty = zf_cg_memory_type(cg, type);
    return zf_cg_load(cg, ty, zf_cg_at(cg, ty, v_values, v_index), zf_kind_size(type.kind));
}

// ptxas tests a bit by one instruction where it is compared with 0, but LLVM compares with 1, unless it does not know the value.
static LLVMValueRef input_bit(zf_cg *cg, LLVMValueRef v_bits, LLVMValueRef v_index) {
    if (cg->target->simt->hold == NULL) return zf_cg_bit_at(cg, v_bits, v_index);
    LLVMValueRef v_bit = zf_cg_and(cg, zf_cg_byte_of_bit(cg, v_bits, v_index), zf_cg_i32(cg, 1));
    return zf_cg_icmp(cg, LLVMIntNE, cg->target->simt->hold(cg, v_bit, false), zf_cg_i32(cg, 0));
}

static zf_cg_value load_decoded(zf_query_build *b, const zf_query_column_build *column, zf_type type, LLVMValueRef v_index) {
    zf_cg *cg = b->cg;
    zf_cg_value value = {.type = type};
    if (type.kind == ZF_K_STRING) {
        LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i64, column->v_work, v_index);
        value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY, .type = zf_type_of(ZF_K_U8)};
        value.seq.v_data = zf_lower_generic_pointer(&b->lower, column->v_base);
        value.seq.v_start = zf_cg_load(cg, cg->ty_i64, v_at, WORD);
        value.seq.v_length = zf_cg_sub(cg, zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, v_at, WORD), WORD), value.seq.v_start);
    } else {
        value.v = number_at(cg, type, column->v_base, zf_cg_add(cg, column->v_skip, v_index));
    }
    if (type.nullable) value.v_valid = zf_cg_bit_at(cg, column->v_blocks, zf_cg_add(cg, column->v_validity_skip, v_index));
    return value;
}

static zf_cg_value make_one(zf_query_build *b, zf_query_column_build *column, zf_type type, LLVMValueRef v_row) {
    LLVMValueRef v_index = zf_cg_add(b->cg, column->v_begin, zf_cg_sub(b->cg, v_row, b->v_row0));
    return column->fused ? zf_query_fused_one(&column->of, v_index) : load_decoded(b, column, type, v_index);
}

// Makes numbers of entries, or elements, of a fused column, for all rows that are being built.
static void make_lanes(zf_query_build *b, zf_query_column_build *column, LLVMValueRef *v_codes) {
    unsigned together = b->v_near != NULL ? b->count : 1;
    zf_query_loads loads = {.ahead = b->depth == 1 ? b->ahead : NULL}; // each step comes here
    if (b->tied != NULL && zf_simt_tied_fits(b->tied, b->count)) loads.tied = b->tied;
    for (unsigned k = 0; k < b->count; k += together) {
        LLVMValueRef v_near = b->rows[k].v_near;
        if (v_codes != NULL)
            zf_query_fused_codes(&column->of, v_near, together, loads, &v_codes[k]);
        else
            zf_query_fused_lanes(&column->of, v_near, together, loads, &column->values[k]);
    }
}

// Rows from a queue lie anywhere, so that each loads what it wants: all of it is tied.
static void tied_begin(zf_query_build *b, zf_simt_tied *tied) {
    if (!b->from_queue) return;
    zf_simt_tied_begin(b->cg, tied);
    b->tied = tied;
}

static void tied_end(zf_query_build *b) {
    if (b->tied == NULL) return;
    zf_simt_tied_end(b->cg, b->tied);
    b->tied = NULL;
}

void zf_query_tie(zf_query_build *b, LLVMValueRef *v_values) {
    if (!b->from_queue || b->cg->target->simt->tie == NULL) return;
    for (unsigned k = 0; k < b->count; k++)
        if (LLVMIsConstant(v_values[k]) || LLVMGetTypeKind(LLVMTypeOf(v_values[k])) != LLVMIntegerTypeKind) return;
    b->cg->target->simt->tie(b->cg, v_values, b->count);
}

void zf_query_pull_codes(zf_query_build *b, zf_query_column_build *column, LLVMValueRef *v_codes) {
    LLVMValueRef v_saved = b->cg->v_guard;
    zf_simt_tied tied;
    b->cg->v_guard = NULL;
    tied_begin(b, &tied);
    make_lanes(b, column, v_codes);
    tied_end(b);
    b->cg->v_guard = v_saved;
}

// All rows that are being built exist, so their elements do. One that cannot be decoded fails also where its own row does not ask
// for it, but another that is built with it does.
static void pull(zf_query_build *b, uint32_t c) {
    zf_query_column_build *column = &b->columns[c];
    if (column->depth != 0) return;
    LLVMValueRef v_saved = b->cg->v_guard;
    b->cg->v_guard = NULL;
    column->depth = b->depth;
    zf_type type = b->query->inst->streams[b->query->input_count + c]->type;
    if (column->fused && b->rows[0].v_near != NULL) { // as all of them have, or none
        make_lanes(b, column, NULL);
    } else {
        for (unsigned k = 0; k < b->count; k++) {
            column->values[k] = make_one(b, column, type, b->rows[k].v_row);
            b->cg->v_guard = NULL;
        }
    }
    b->cg->v_guard = v_saved;
}

uint32_t zf_query_column_of(const zf_query *query, const zf_expr *expr) {
    const zf_expr *of = expr->kind == ZF_X_INDEX ? expr->a : NULL;
    bool is_column = of != NULL && of->kind == ZF_X_STREAM && of->port->slot >= query->input_count;
    return is_column ? of->port->slot - query->input_count : UINT32_MAX;
}

static bool pull_named(zf_visitor *visitor, zf_expr *expr) {
    zf_query_build *b = visitor->user;
    uint32_t column = zf_query_column_of(b->query, expr);
    if (column != UINT32_MAX) pull(b, column);
    return true;
}

void zf_query_pull_expr(zf_query_build *b, zf_expr *expr) {
    zf_visitor visitor = {.user = b, .expr = pull_named};
    zf_simt_tied tied;
    tied_begin(b, &tied);
    zf_visit_expr(&visitor, expr);
    tied_end(b);
}

void zf_query_pull_stmt(zf_query_build *b, zf_stmt *stmt) {
    zf_visitor visitor = {.user = b, .expr = pull_named};
    zf_stmt alone = *stmt;
    alone.next = NULL;
    zf_simt_tied tied;
    tied_begin(b, &tied);
    zf_visit_stmts(&visitor, &alone);
    tied_end(b);
}

void zf_query_scope_begin(zf_query_build *b) { b->depth++; }

void zf_query_scope_end(zf_query_build *b) {
    for (uint32_t c = 0; c < b->query->column_count; c++)
        if (b->columns[c].depth == b->depth) b->columns[c].depth = 0;
    b->depth--;
}

void zf_query_columns_save(zf_query_build *b, zf_query_saved *saved) {
    saved->columns = ZF_NEW_ARRAY(b->cg->arena, zf_query_column_build, b->query->column_count + 1);
    for (uint32_t c = 0; c < b->query->column_count; c++) {
        saved->columns[c] = b->columns[c];
        b->columns[c].depth = 0;
    }
}

void zf_query_columns_restore(zf_query_build *b, const zf_query_saved *saved) {
    for (uint32_t c = 0; c < b->query->column_count; c++) {
        memcpy(b->columns[c].values, saved->columns[c].values, sizeof b->columns[c].values);
        b->columns[c].depth = saved->columns[c].depth;
    }
}

static zf_cg_value input_element(zf_query_build *b, const zf_port *port, LLVMValueRef v_index) {
    LLVMValueRef v_values = b->inputs[port->slot].v_values;
    bool is_bit = port->type.kind == ZF_K_BOOL;
    return zf_cg_scalar(port->type,
                        is_bit ? input_bit(b->cg, v_values, v_index) : number_at(b->cg, port->type, v_values, v_index));
}

zf_cg_value zf_query_element(zf_query_build *b, unsigned k, const zf_port *port, LLVMValueRef v_index) {
    if (port->slot < b->query->input_count) return input_element(b, port, v_index);
    zf_query_column_build *column = &b->columns[port->slot - b->query->input_count];
    return column->depth != 0 ? column->values[k] : make_one(b, column, port->type, b->rows[k].v_row);
}
