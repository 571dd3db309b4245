// The private part of a decoder, for decoder.c and decoder_code.c.
#ifndef ZF_COMPILER_DECODER_INTERNAL_H
#define ZF_COMPILER_DECODER_INTERNAL_H

#include <pthread.h>

#include "compiler/decoder/decoder.h"

typedef struct decoder {
    zf_decoder base; ///< first
    zf_compiler *compiler;
    zf_arena *arena;
    pthread_mutex_t lock; ///< of base.codes
    pthread_cond_t changed;
    zf_plan_request request; ///< its pointers are the arena's, except `sites`
    unsigned tuples;
} decoder;

/// Frees all code of a decoder.
void zf_decoder_codes_free(zf_decoder *base);

#endif
