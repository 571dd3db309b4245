// The memory of one decoded column. Counted, so that Python objects, Arrow arrays and DLPack tensors share it; whoever releases
// it last frees it, on any thread and without the GIL.
#ifndef ZF_PYTHON_STORAGE_H
#define ZF_PYTHON_STORAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zipflow/zipflow.h"

typedef struct zf_py_storage {
    atomic_size_t references;
    int64_t rows, null_count;
    zf_element element;
    int offset_width;                                   ///< strings and lists: 4 or 8, else 0
    void *values, *offsets, *validity;                  ///< aligned to 64; `offsets`, `validity` may be NULL
    size_t values_bytes, offsets_bytes, validity_bytes; ///< that hold data
    struct zf_py_storage *child;                        ///< lists: the values, with a reference; NULL: none
} zf_py_storage;

/// A decode, and the form of its result.
typedef struct zf_py_decode {
    zf_container *container;
    size_t column;
    zf_decode_options options;
    bool bytes; ///< strings are bytes: they need not be UTF-8
    bool wide;  ///< values of decimals become 128 bits. In a decode of lists both are for their values
    zf_py_storage *out;
} zf_py_decode;

/// Decodes a column into new memory, `d->out`, with one reference. Without the GIL.
///
/// Offsets of strings and lists become 32 bits where those suffice. The values of lists are those that the rows have. Errors:
/// those of zf_decode; ZF_ERR_INPUT for strings that are not UTF-8.
zf_status zf_py_decode_run(zf_py_decode *d, zf_error *error);

/// Returns how many of the first `rows` bits of a bitmap are 0.
int64_t zf_py_count_nulls(const uint8_t *validity, int64_t rows);

zf_py_storage *zf_py_storage_hold(zf_py_storage *storage);
/// Any thread, with or without the GIL. NULL: nothing.
void zf_py_storage_release(zf_py_storage *storage);
#ifdef ZF_PY_COUNT_STORAGES
/// Returns how many storages the process holds: tests look for leaks by it. A wheel has it not.
size_t zf_py_storage_count(void);
#endif

#endif
