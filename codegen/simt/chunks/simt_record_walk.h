// The walk of a chunk whose warp appends records (simt_records.h): which steps lanes guess, which all of them walk, and when the
// executor makes elements. For the form `records` only.
#ifndef ZF_CODEGEN_SIMT_RECORD_WALK_H
#define ZF_CODEGEN_SIMT_RECORD_WALK_H

#include "codegen/body/cg_frame.h"
#include "codegen/simt/chunks/simt_records.h"

/// A chunk with its records.
typedef struct zf_record_walk {
    zf_chunk chunk; ///< first: callbacks get a pointer to its environment
    zf_records records;
    LLVMBasicBlockRef bb_none; ///< behind the chunk
    // ---- of zf_record_walk_body
    bool (*statement)(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt); ///< of chunks in general
    LLVMValueRef v_walks;  ///< slot (i1), of a program with steps that no record says: the next step is walked; or NULL
    zf_cg_put_off put_off; ///< what all lanes walk together checks
    zf_cg_frame frame;     ///< as the last statement had it, for the elements that are made behind it
    const zf_stmt *read;   ///< a statement that reads the output, in front of which all elements were made; NULL: none yet
} zf_record_walk;

/// Builds the chunk's program and makes all its elements, behind zf_chunk_begin. Leaves by the chunk's bb_stop where a check
/// fails, and by bb_none in the warps that only make elements.
void zf_record_walk_body(zf_record_walk *walk, const zf_simt_shape *shape);

#endif
