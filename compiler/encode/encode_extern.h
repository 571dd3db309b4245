// An encoder outside of the language in the place of an encode body (zf_extern_encoder): its calls, and what it may not do.
#ifndef ZF_COMPILER_ENCODE_EXTERN_H
#define ZF_COMPILER_ENCODE_EXTERN_H

#include "compiler/encode/encode_tree.h"
#include "zipflow/compile.h"

/// How an encoder ended, beside the frame's outcome.
typedef struct zf_extern_end {
    bool unable;      ///< REFUSED: it cannot serve this algorithm, or not on this machine
    char reason[400]; ///< REFUSED: one line; "" of another outcome
} zf_extern_end;

/// Runs an encoder over the input of a frame: once a chunk of a `non_parallel` algorithm, else once. Writes the frame's params
/// and streams, and its outcome: DONE, REFUSED, MEMORY, LIMIT or MORE. Nothing that the encoder reports is trusted. Any thread.
void zf_encode_extern_run(const zf_extern_encoder *encoder, const zf_codec_node *codec, zf_type type, zf_encode_frame *frame,
                          zf_extern_end *end);

#endif
