// The argument of zlib's functions, declared here so that building needs no header of zlib.
#ifndef ZF_COMPILER_ZLIB_STREAM_H
#define ZF_COMPILER_ZLIB_STREAM_H

/// zlib's z_stream.
typedef struct zf_zlib_stream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *state;
    void *(*alloc)(void *opaque, unsigned items, unsigned size);
    void (*release)(void *opaque, void *memory);
    void *opaque;
    int data_type;
    unsigned long adler, reserved;
} zf_zlib_stream;

#endif
