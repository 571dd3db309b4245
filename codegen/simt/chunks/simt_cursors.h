// The other streams that guessed steps read at a cursor (simt_guess.c). For files of chunks only.
#ifndef ZF_CODEGEN_SIMT_CURSORS_H
#define ZF_CODEGEN_SIMT_CURSORS_H

#include "codegen/simt/chunks/simt_records.h"

typedef struct zf_record_cursors {
    zf_records *r;
    LLVMValueRef v_real[ZF_RECORD_OTHERS];  ///< slots of the walk
    LLVMValueRef v_start[ZF_RECORD_OTHERS]; ///< i32: where the step begins in the stream
    LLVMValueRef v_taken[ZF_RECORD_OTHERS]; ///< i32: elements that it takes
    LLVMValueRef v_used[ZF_RECORD_OTHERS];  ///< i32: elements that it took in the round before; NULL: steps take as much
    LLVMValueRef v_used_next;               ///< i32: the distance to the next step in the round before; NULL: there was none
} zf_record_cursors;

/// Rounds in which the lanes build their steps.
uint32_t zf_record_cursors_rounds(const zf_record_program *program);
/// Begins the first round.
void zf_record_cursors_begin(zf_record_cursors *cursors, zf_records *records);
/// Begins the next round, where v_true (i1) says whether this lane's step is one of the first lane's, and v_next how far it led:
/// neither is asked for where steps are consecutive.
void zf_record_cursors_follow(zf_record_cursors *cursors, LLVMValueRef v_true, LLVMValueRef v_next);
/// Around the code of a step: cursors are the lane's own.
void zf_record_cursors_enter(zf_record_cursors *cursors);
void zf_record_cursors_leave(zf_record_cursors *cursors);
/// Whether the steps behind this lane's begin right if it does (i1), where it led as far as v_next says.
LLVMValueRef zf_record_cursors_settled(const zf_record_cursors *cursors, LLVMValueRef v_next);
/// Moves the cursors of the walk to lane v_last's step, or behind it unless v_open (i1).
void zf_record_cursors_move(const zf_record_cursors *cursors, LLVMValueRef v_open, LLVMValueRef v_last);

#endif
