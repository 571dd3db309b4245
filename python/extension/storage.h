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
    zf_element element;                                 ///< of dictionaries that of the indices
    int offset_width;                                   ///< strings and lists: 4 or 8, else 0
    int64_t width;                                      ///< of rows of one length: their bytes, or values; else 0
    bool nothing;                                       ///< Arrow's type null: there are no buffers
    void *values, *offsets, *validity;                  ///< aligned to 64 if they are ours; `offsets`, `validity` may be NULL
    size_t values_bytes, offsets_bytes, validity_bytes; ///< that hold data
    void *views;                                        ///< views of strings: 16 bytes a row, aligned to 64; NULL: none
    int64_t *view_sizes;                                ///< bytes of each piece of the characters
    struct zf_py_storage *child;                        ///< lists: the values, with a reference; NULL: none
    struct zf_py_storage *dictionary;                   ///< its entries, with a reference; NULL: none
    void *owners[3];                                    ///< Python objects whose memory values, offsets, validity are; NULL: ours
} zf_py_storage;

/// Memory of the caller that a part of a column is decoded to.
typedef struct zf_py_given {
    void *at;
    size_t bytes;
    void *owner; ///< a reference to a Python object; NULL: there is none, and memory is allocated
} zf_py_given;

#define ZF_PY_VIEW_PIECE (INT64_C(1) << 30) ///< characters between the beginnings of two buffers of an array of views
/// Returns the number of buffers that characters take.
int64_t zf_py_view_pieces(int64_t bytes);

struct zf_py_field;

/// A decode, and the form of its result.
typedef struct zf_py_decode {
    zf_container *container;
    size_t column;
    zf_decode_options options;
    const struct zf_py_field *field; ///< the Arrow type that the rows become
    const void *entries; ///< the entries that a dictionary begins with, as zf_py_input_entries returns them; NULL: none
    size_t entries_bytes;
    zf_py_given given[3];        ///< for values, offsets, validity; of lists their values'. The storage owns those that it takes
    struct zf_py_reader *reader; ///< that the container is read by; NULL: none
    zf_py_storage *out;
} zf_py_decode;

/// Decodes a column into new memory, `d->out`, with one reference, in the layout of its field. Without the GIL.
///
/// Offsets of utf8, binary and lists become 32 bits where those suffice. The values of lists are those that the rows have.
/// Rows are decoded in memory that is given, and offsets that are given stay 64 bits; the values of lists only where no list is
/// null. Errors: those of zf_decode; ZF_ERR_INPUT for strings that are not UTF-8, and for rows that the field's type does not
/// have; ZF_ERR_USAGE for memory that is too small; ZF_ERR_UNSUPPORTED for null lists with memory for their values.
zf_status zf_py_decode_run(zf_py_decode *d, zf_error *error);
/// Copies rows of a field's layout to that of another field: of text, of bytes, of decimals of the same digits, each plain or a
/// dictionary; and lists of them. A dictionary that stays one keeps all entries in their order, and gets wider indices than
/// `wanted` has where those do not count them. `*out` has one reference. Without the GIL. ZF_ERR_INPUT for rows that `wanted`
/// does not have.
zf_status zf_py_storage_convert(const zf_py_storage *from, const struct zf_py_field *field, const struct zf_py_field *wanted,
                                zf_py_storage **out, zf_error *error);

/// Returns how many of the first `rows` bits of a bitmap are 0.
int64_t zf_py_count_nulls(const uint8_t *validity, int64_t rows);

/// Returns a storage without memory, with one reference; NULL: no memory.
zf_py_storage *zf_py_storage_new(uint64_t rows, zf_element element);
/// Returns memory for `bytes` bytes, at least 64, a multiple of 64, whose last 64 bytes are zero: consumers may read whole
/// vectors. Free it with `free`; NULL: no memory.
void *zf_py_storage_memory(size_t bytes);
zf_py_storage *zf_py_storage_hold(zf_py_storage *storage);
/// Any thread, with or without the GIL. NULL: nothing.
void zf_py_storage_release(zf_py_storage *storage);
#ifdef ZF_PY_COUNT_STORAGES
/// Returns how many storages the process holds: tests look for leaks by it. A wheel has it not.
size_t zf_py_storage_count(void);
#endif

#endif
