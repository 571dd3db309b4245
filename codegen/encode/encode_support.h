// The data of a compiled `encode` body, and the C functions that it calls where inlining gains nothing: growing a buffer,
// interning, sorting, strings. The layout of these structs is known to the generated code (cg_encode.c).
//
// Memory. Buffers belong to the frame. A buffer that grows leaves its old memory in place until the frame is cleared, so that
// an earlier slice stays readable. The frame limits sizes, not the body.
#ifndef ZF_CODEGEN_ENCODE_SUPPORT_H
#define ZF_CODEGEN_ENCODE_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/// Bytes behind the capacity of every buffer: bits are written and read by whole words.
enum { ZF_ENCODE_SLACK = 64 };

/// A hash table of the values in a buffer, with open addressing. A slot is the number + 1 of an element in its high 32 bits (0:
/// empty) and a tag of 32 bits of the value's hash, whose highest bits are the slot where the value is looked for first.
/// `slots` is never NULL.
typedef struct zf_encode_index {
    uint64_t *slots;
    uint64_t mask;    ///< slots - 1, a power of two less one
    uint64_t shift;   ///< 32 - log2(slots)
    uint64_t left;    ///< values that may still be entered before the table must grow
    uint64_t entered; ///< elements of the buffer that were looked at
} zf_encode_index;

/// The multipliers of tags, both odd. The tag of a value above 32 bits is the high half of ((v * a) ^ (v * a >> 32)) * b. The
/// tag of another value is the same in 32 bits with a shift by 16, all of it. Generated code computes the same. They are drawn
/// anew for every frame, so that nobody can choose values that all hash to one slot. The output does not depend on them, since
/// elements are numbered by their first occurrence.
typedef struct zf_encode_hash {
    uint64_t a, b;
} zf_encode_hash;

/// Tables of fewer slots lie in the caches: prefetching their slots does not pay.
#define ZF_ENCODE_INDEX_SMALL 4096u
/// The prefetch distance of a loop in elements: the time of a miss over that of an element.
#define ZF_ENCODE_PREFETCH_DISTANCE 24u

/// A stream being written, or a growing local array. Elements of scalars lie one after the other (bool: a byte each), nullable
/// ones with a byte of validity each. Strings: `data` holds offsets (u64, one more than strings) into `text`.
typedef struct zf_encode_buffer {
    uint8_t *data;
    uint64_t length;        ///< whole elements
    uint64_t capacity;      ///< elements; of strings, without the last offset
    uint64_t pending, bits; ///< bits written beyond `length`, fewer than 64, and what they are
    uint8_t *validity;      ///< or NULL
    uint8_t *text;          ///< strings
    uint64_t text_length, text_capacity;
    uint64_t most;                     ///< elements that it may have; of strings, bytes of text
    uint64_t chunk_start;              ///< first element of the current chunk
    uint32_t element;                  ///< bytes of an element; strings: 8
    uint32_t nullable, is_text, width; ///< width: bits that an element counts for
    zf_encode_index index;             ///< of intern
    uint64_t *starts;                  ///< of chunks, in elements
    uint64_t start_count, start_capacity;
    uint64_t *parts; ///< end of each piece that was appended, in elements; stretches pushed between are pieces
    uint64_t part_count, part_capacity;
    /// Above 0: `data` is the frame's input, which all elements were appended from, one behind the other, and of which so many
    /// elements may be appended by counting alone. The buffer then has no capacity, so that what else is pushed copies them
    /// first.
    uint64_t lent;
    uint64_t may_lend; ///< set by generated code that never reads the buffer, which would find no slack behind it
    bool no_parts;     ///< nobody looks at the pieces: they are not noted
} zf_encode_buffer;

/// Why a body ended.
typedef enum zf_encode_outcome {
    ZF_ENCODE_DONE,
    ZF_ENCODE_REFUSED, ///< `refuse`, or more symbols than codes
    ZF_ENCODE_FAILED,  ///< a check of the body failed
    ZF_ENCODE_MEMORY,
    ZF_ENCODE_LIMIT, ///< more output or more work than a block may take
    ZF_ENCODE_MORE,  ///< a stream would have more than its `most`
} zf_encode_outcome;

#define ZF_ENCODE_NO_ROW UINT64_MAX

typedef struct zf_encode_block zf_encode_block;

/// Large pieces of memory that nobody uses now, at most 48 MiB in pieces of at most 20, the one that was used last first. All
/// zero: empty. One thread at a time.
typedef struct zf_encode_pool {
    zf_encode_block *idle;
    uint64_t idle_bytes;
} zf_encode_pool;

/// Returns memory for so many bytes, aligned to 64, with any content; NULL on failure. `pool` may be NULL.
void *zf_encode_pool_take(zf_encode_pool *pool, uint64_t bytes);
/// Returns memory for `bytes` bytes with the first `used` bytes of other memory, which is gone then; NULL on failure, where it
/// stays.
void *zf_encode_pool_grow(zf_encode_pool *pool, void *memory, uint64_t used, uint64_t bytes);
/// Leaves memory its first `bytes` bytes, and may free those behind them.
void zf_encode_pool_shrink(void *memory, uint64_t bytes);
/// Gives memory back to the pool that it was taken from. NULL: does nothing.
void zf_encode_pool_give(zf_encode_pool *pool, void *memory);
/// Frees what a pool has beyond so many bytes.
void zf_encode_pool_trim(zf_encode_pool *pool, uint64_t most);
/// Frees what a pool has.
void zf_encode_pool_empty(zf_encode_pool *pool);

/// One run of an encode body over one block (or one edge of it).
typedef struct zf_encode_frame {
    // what is encoded
    const uint8_t *values;   ///< elements; of strings the characters
    const uint8_t *validity; ///< a byte each, or NULL when the type is not nullable
    const uint64_t *offsets; ///< strings: rows + 1
    const uint8_t *values_end;
    uint64_t rows;
    const uint64_t *parts; ///< ends of pieces, or NULL: all rows are one
    uint64_t part_count;
    uint64_t chunk_size;
    // what comes out
    uint64_t *params;          ///< by slot, as 64 bits
    zf_encode_buffer *streams; ///< by slot
    zf_encode_buffer *locals;  ///< growing arrays, by number
    // how it ended
    uint64_t outcome;    ///< zf_encode_outcome
    uint64_t violation;  ///< FAILED: 1 for V01
    uint64_t span;       ///< where: source id << 32 | offset
    uint64_t row;        ///< of the input, or ZF_ENCODE_NO_ROW
    uint64_t work;       ///< iterations left. Generated code counts down a copy; what is left here is for the functions below
    uint64_t bytes_left; ///< that buffers may still take
    zf_encode_hash hash;
    uint32_t local_count, stream_count;
    zf_encode_block *garbage; ///< all memory of the frame
    zf_encode_pool *pool;     ///< which it comes from; NULL: none
} zf_encode_frame;

typedef void (*zf_encode_fn)(zf_encode_frame *frame);

/// Memory of the frame, or NULL (outcome set).
void *zf_encode_alloc(zf_encode_frame *frame, uint64_t bytes);
/// The same, zeroed.
void *zf_encode_alloc_zeroed(zf_encode_frame *frame, uint64_t bytes);
/// Memory that the caller frees before it returns, or NULL (outcome set): it must fit what the frame may still take.
void *zf_encode_scratch(zf_encode_frame *frame, uint64_t bytes);
/// Takes iterations from what the body may still do; false (outcome set) when there are fewer.
bool zf_encode_work(zf_encode_frame *frame, uint64_t count);
/// The place of a text. `text` may be NULL, or end before it, where no text has a character: nobody reads there.
static inline const uint8_t *zf_encode_text_at(const uint8_t *text, uint64_t offset) {
    return (const uint8_t *)((uintptr_t)text + offset);
}
/// A hash that nobody outside this process knows.
zf_encode_hash zf_encode_hash_draw(void);
/// Frees all memory of the frame, or gives it back to its pool.
void zf_encode_clear(zf_encode_frame *frame);
/// Frees the frame's memory except that of these `count` buffers: earlier memory of theirs, too.
void zf_encode_clear_but(zf_encode_frame *frame, const zf_encode_buffer *const *kept, uint32_t count);
/// Forgets what was interned: numbers of elements have changed, or a chunk began.
void zf_encode_index_reset(zf_encode_buffer *buffer);
/// An element of a buffer as a word.
static inline uint64_t zf_encode_word(const zf_encode_buffer *buffer, uint64_t at) {
    uint64_t word = 0;
    memcpy(&word, buffer->data + at * buffer->element, buffer->element); // little-endian
    return word;
}
/// Ends every stream: pending bits become elements, padded with zeroes.
void zf_encode_finish(zf_encode_buffer *buffer);

/// Flags for zf_cg_sort, added to the bytes of an element by generated code.
enum { ZF_SORT_SIGNED = 256, ZF_SORT_FLOAT = 512 };

/// Every function that generated code calls: X(name, returns, arguments).
#define ZF_ENCODE_FUNCTIONS(X)                                                                                                   \
    X(zf_cg_grow, uint64_t, (zf_encode_frame *, zf_encode_buffer *, uint64_t))                                                   \
    X(zf_cg_reserve, uint64_t, (zf_encode_frame *, zf_encode_buffer *, uint64_t))                                                \
    X(zf_cg_push_null, uint64_t, (zf_encode_frame *, zf_encode_buffer *, uint64_t, uint64_t))                                    \
    X(zf_cg_push_text, uint64_t, (zf_encode_frame *, zf_encode_buffer *, const uint8_t *, uint64_t, uint64_t))                   \
    X(zf_cg_push_bools, uint64_t, (zf_encode_frame *, zf_encode_buffer *, uint64_t, uint64_t))                                   \
    X(zf_cg_push_varint, uint64_t, (zf_encode_frame *, zf_encode_buffer *, uint64_t))                                            \
    X(zf_cg_append, uint64_t, (zf_encode_frame *, zf_encode_buffer *, const uint8_t *, const uint8_t *, uint64_t))               \
    X(zf_cg_append_texts, uint64_t,                                                                                              \
      (zf_encode_frame *, zf_encode_buffer *, const uint8_t *, const uint64_t *, const uint8_t *, uint64_t))                     \
    X(zf_cg_intern, uint64_t, (zf_encode_frame *, zf_encode_buffer *, uint64_t, uint64_t))                                       \
    X(zf_cg_intern_text, uint64_t, (zf_encode_frame *, zf_encode_buffer *, const uint8_t *, uint64_t, uint64_t))                 \
    X(zf_cg_intern_texts, uint64_t,                                                                                              \
      (zf_encode_frame *, zf_encode_buffer *, zf_encode_buffer *, const uint8_t *, const uint64_t *, const uint8_t *, uint64_t)) \
    X(zf_cg_start_chunk, uint64_t, (zf_encode_frame *, zf_encode_buffer *))                                                      \
    X(zf_cg_reverse, uint64_t, (zf_encode_frame *, zf_encode_buffer *, uint64_t))                                                \
    X(zf_cg_sort, uint64_t, (zf_encode_frame *, uint8_t *, uint64_t, uint64_t))                                                  \
    X(zf_cg_code_lengths, uint64_t,                                                                                              \
      (zf_encode_frame *, const uint8_t *, uint64_t, uint64_t, uint8_t *, uint64_t, uint64_t, uint64_t))                         \
    X(zf_cg_text_equal, uint64_t, (const uint8_t *, uint64_t, const uint8_t *, uint64_t))                                        \
    X(zf_cg_text_order, uint64_t, (const uint8_t *, uint64_t, const uint8_t *, uint64_t))                                        \
    X(zf_cg_read_bits, uint64_t, (const uint8_t *, uint64_t, uint64_t, uint64_t))

#define X(name, returns, arguments) returns name arguments;
ZF_ENCODE_FUNCTIONS(X)
#undef X

#endif
