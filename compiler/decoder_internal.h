// What a decoder is beside what others see of it: for decoder.c and decoder_code.c.
#ifndef ZF_CODEGEN_DECODER_INTERNAL_H
#define ZF_CODEGEN_DECODER_INTERNAL_H

#include <pthread.h>

#include "compiler/decoder.h"

typedef struct decoder {
    zf_decoder base; ///< first
    zf_compiler *compiler;
    zf_arena *arena;
    pthread_mutex_t lock; ///< of base.codes
    pthread_cond_t changed;
    zf_abi_target target;
    unsigned tuples;
} decoder;

/// Frees all code that was made.
void zf_decoder_codes_free(zf_decoder *base);

#endif
