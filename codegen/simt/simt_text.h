// Strings on accelerators: a warp brings together where ZF_TEXT_EACH of them a lane lie and copies all their bytes, so that
// neither long ones nor short ones leave lanes idle. It copies row after row to one place: bytes that do not fill what a lane
// stores at once remain in shared memory until the next row's follow them.
#ifndef ZF_CODEGEN_SIMT_TEXT_H
#define ZF_CODEGEN_SIMT_TEXT_H

#include "codegen/simt/simt.h"

enum {
    ZF_TEXT_EACH = 4,   ///< strings a lane brings
    ZF_TEXT_ALONE = 64, ///< bytes of a string that its lane puts alone, at most
};

/// The place to which a warp copies, and the shared memory that it takes. All lanes use it together.
typedef struct zf_simt_text {
    zf_kernel_build *lower;
    LLVMValueRef v_stage;   ///< shared: where short strings are put together
    LLVMValueRef v_ends;    ///< there, else (i32): where each string ends, counted from the first one's begin
    LLVMValueRef v_sources; ///< there, else (i64): where byte 0 of all would be, if it were this string's
    bool limited;           ///< v_stop holds; else all bytes are stored

    // ---- Slots; the same in all lanes
    LLVMValueRef v_base; ///< pointer: where the stage's first byte goes, a multiple of what is stored at once
    LLVMValueRef v_lead; ///< i32: bytes of the stage that are there, less than that
    LLVMValueRef v_word; ///< i32: the last of them, as a word of four bytes with zeros behind
    LLVMValueRef v_from; ///< i32: the first byte of the stage that is stored,
    LLVMValueRef v_stop; ///< and behind the last one
} zf_simt_text;

/// Shared memory that it takes; `zf_simt_text_tables` sets it up from byte `at` of it.
uint32_t zf_simt_text_bytes(uint32_t wave);
void zf_simt_text_tables(zf_simt_text *text, zf_kernel_build *lower, uint32_t at);

/// Begins to copy to v_to. Bytes v_skip..v_stop (i32) of what is copied are stored; v_stop NULL: all from v_skip on.
void zf_simt_text_begin(zf_simt_text *text, LLVMValueRef v_to, LLVMValueRef v_skip, LLVMValueRef v_stop);
/// Stores what remains.
void zf_simt_text_end(const zf_simt_text *text);

/// The strings of a row: lane l has number l * ZF_TEXT_EACH + k.
typedef struct zf_simt_text_row {
    LLVMValueRef v_sources[ZF_TEXT_EACH]; ///< i64: addresses
    LLVMValueRef v_lengths[ZF_TEXT_EACH]; ///< i64
    LLVMValueRef v_before;                ///< i64: bytes of the strings before this lane's
    LLVMValueRef v_total;                 ///< i64: of all, the same in all lanes
} zf_simt_text_row;
/// Fills v_before and v_total.
void zf_simt_text_sum(const zf_simt_text *text, zf_simt_text_row *row);
/// Copies the row's first `v_total` bytes (no more than there are) to the place, which has room for as many.
void zf_simt_text_copy(const zf_simt_text *text, const zf_simt_text_row *row, LLVMValueRef v_total);
/// The same, by a way for long strings: more than ZF_TEXT_ALONE bytes, or a row that does not fit into the stage.
void zf_simt_text_copy_long(const zf_simt_text *text, const zf_simt_text_row *row, LLVMValueRef v_total);
/// Whether a row of v_total bytes (i32 or i64) fits into the stage.
LLVMValueRef zf_simt_text_fits(const zf_simt_text *text, LLVMValueRef v_total);

// ---- Rows that are put into the stage otherwise (simt_text_handles.c), before zf_simt_text_flush

/// The row has v_total bytes (i32): stores all that fill what a lane stores at once.
void zf_simt_text_flush(const zf_simt_text *text, LLVMValueRef v_total);
/// The word of the stage that has byte v_byte (i32).
LLVMValueRef zf_simt_text_word_at(const zf_simt_text *text, LLVMValueRef v_byte);

#endif
