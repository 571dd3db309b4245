// The arguments of libzstd's streaming functions, declared here so that building needs no header of libzstd.
#ifndef ZF_COMPILER_ZSTD_BUFFERS_H
#define ZF_COMPILER_ZSTD_BUFFERS_H

#include <stddef.h>

/// libzstd's ZSTD_inBuffer.
typedef struct zf_zstd_in {
    const void *bytes;
    size_t size, at;
} zf_zstd_in;

/// libzstd's ZSTD_outBuffer.
typedef struct zf_zstd_out {
    void *bytes;
    size_t size, at;
} zf_zstd_out;

#endif
