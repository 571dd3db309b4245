// Storing rows that the lanes of a coder made, a lane an element of each: they are turned around by shuffles, so that a lane has
// neighbours of one row, and stores as many of them at once as it can. Where these hold elements of the column (zf_plan_unpacks)
// it stores those (simt_unpack.c), and so few rows are turned around as make 16 bytes a lane.
#include "codegen/simt/chunks/simt_rows.h"
#include "codegen/body/cg_frame.h"

enum { MOST_ROWS = 4 };

// ---- Turning rows around --------------------------------------------------------------------------------------

/// One step of a transposition. A lane's bytes of a word are those of consecutive rows; in the end they are those of
/// consecutive lanes of one row. Each lane exchanges with the one whose number differs by `distance`. Even lanes (by that bit)
/// keep the bytes that `even` selects, odd lanes those of `odd`.
static LLVMValueRef exchange(zf_kernel_build *lower, LLVMValueRef v_lane, LLVMValueRef v, uint32_t distance, uint32_t even,
                             uint32_t odd) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_step = zf_cg_i32(cg, distance);
    LLVMValueRef v_other = zf_simt_shuffle(lower, v, LLVMBuildXor(cg->builder, v_lane, v_step, ""));
    LLVMValueRef v_is_even = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_and(cg, v_lane, v_step), zf_cg_i32(cg, 0));
    return zf_simt_permute(lower, v, v_other, zf_cg_select(cg, v_is_even, zf_cg_i32(cg, even), zf_cg_i32(cg, odd)));
}

/// The word (i32) of which an element is a part, and the first of its bytes: what was cut out of a word need not be cut out
/// again.
static LLVMValueRef word_of(zf_cg *cg, LLVMValueRef v, uint32_t size, uint32_t *byte) {
    *byte = 0;
    LLVMValueRef v_wide = LLVMIsATruncInst(v) != NULL ? LLVMGetOperand(v, 0) : v;
    uint32_t bits = LLVMGetIntTypeWidth(LLVMTypeOf(v_wide));
    if (bits > 32) return zf_cg_resize(cg, v, cg->ty_i32, false);
    if (LLVMIsABinaryOperator(v_wide) != NULL && LLVMGetInstructionOpcode(v_wide) == LLVMLShr) {
        LLVMValueRef v_count = LLVMGetOperand(v_wide, 1);
        uint64_t count = LLVMIsAConstantInt(v_count) != NULL ? LLVMConstIntGetZExtValue(v_count) : 1;
        if (count % 8 == 0 && count / 8 + size <= bits / 8) {
            *byte = (uint32_t)count / 8;
            v_wide = LLVMGetOperand(v_wide, 0);
        }
    }
    return zf_cg_resize(cg, v_wide, cg->ty_i32, false);
}

/// Two elements of at most two bytes, one behind the other, in the low bytes of a word.
static LLVMValueRef join(zf_kernel_build *lower, const zf_cg_value *values, uint32_t size) {
    uint32_t low, high, selector = 0;
    LLVMValueRef v_low = word_of(lower->cg, zf_lower_memory_form(lower, lower->type, values[0]), size, &low);
    LLVMValueRef v_high = word_of(lower->cg, zf_lower_memory_form(lower, lower->type, values[1]), size, &high);
    for (uint32_t k = 0; k < size; k++) selector |= (low + k) << 4 * k | (4 + high + k) << 4 * (size + k);
    return zf_simt_permute(lower, v_low, v_high, zf_cg_i32(lower->cg, selector));
}

/// One element of each of `rows` rows becomes so many neighbours of row l % rows, for lane l: the l / rows-th so many. Bytes in
/// the low bytes of a word, halves as such, and single elements as they are.
static LLVMValueRef turn(zf_kernel_build *lower, LLVMValueRef v_lane, unsigned rows, const zf_cg_value *values) {
    zf_cg *cg = lower->cg;
    uint32_t size = zf_kind_size(lower->type.kind);
    if (rows == 1) return zf_lower_memory_form(lower, lower->type, values[0]);
    LLVMValueRef v_word = join(lower, values, size);
    if (size == 2) return exchange(lower, v_lane, v_word, 1, 0x5410, 0x3276);
    if (rows == 2) return exchange(lower, v_lane, v_word, 1, 0x0040, 0x0015);
    v_word = zf_simt_permute(lower, v_word, join(lower, values + 2, size), zf_cg_i32(cg, 0x5410));
    v_word = exchange(lower, v_lane, v_word, 1, 0x6240, 0x3715);
    return exchange(lower, v_lane, v_word, 2, 0x5410, 0x3276);
}

/// Where in the rows a lane's neighbours begin (i32).
static LLVMValueRef place_of(zf_cg *cg, LLVMValueRef v_lane, unsigned rows) {
    LLVMValueRef v_row = zf_cg_and(cg, v_lane, zf_cg_i32(cg, rows - 1));
    LLVMValueRef v_in_row = LLVMBuildUDiv(cg->builder, v_lane, zf_cg_i32(cg, rows), "");
    return zf_cg_add(cg, zf_cg_mul(cg, v_row, zf_cg_i32(cg, cg->wave)), zf_cg_mul(cg, v_in_row, zf_cg_i32(cg, rows)));
}

// ---- Rows -----------------------------------------------------------------------------------------------------

/// Bytes of the column that an element of the kernel makes.
static uint32_t bytes_each(const zf_kernel_build *lower) {
    if (lower->unpacks == 0) return zf_kind_size(lower->type.kind);
    return lower->unpacks * zf_kind_size(lower->graph->edges[0].type.kind);
}

unsigned zf_simt_rows_together(const zf_kernel_build *lower) {
    uint32_t size = zf_kind_size(lower->type.kind), each = bytes_each(lower), rows = 1;
    if (lower->unpacks == 0) return size < 4 ? 4 / size : 1;
    while (size == 1 && rows < MOST_ROWS && rows * each < 16) rows *= 2;
    return rows;
}

bool zf_simt_rows_fit(const zf_kernel_build *lower) {
    uint64_t bytes = lower->kernel->tile * (uint64_t)bytes_each(lower);
    if (zf_kernel_is_uneven(lower->plan, lower->kernel)) return true; // zf_simt_tile says of each chunk whether it is aligned
    return lower->unpacks == 0 ? bytes % 4 == 0 : bytes % 16 == 0;
}

void zf_simt_store_rows(zf_kernel_build *lower, LLVMValueRef v_lane, LLVMValueRef v_from, const zf_cg_value *values) {
    zf_cg *cg = lower->cg;
    unsigned rows = zf_simt_rows_together(lower);
    LLVMValueRef v = turn(lower, v_lane, rows, values);
    LLVMValueRef v_place = zf_cg_resize(cg, place_of(cg, v_lane, rows), cg->ty_i64, false);
    if (lower->unpacks > 0) {
        zf_simt_unpack(lower, v, rows, v_from, v_place);
        return;
    }
    LLVMValueRef v_to = zf_cg_at_sink(cg, zf_cg_memory_type(cg, lower->type), lower->v_sink, v_from);
    v_to = zf_cg_at_sink(cg, zf_cg_memory_type(cg, lower->type), v_to, v_place);
    zf_cg_store(cg, v, v_to, rows * zf_kind_size(lower->type.kind));
}
