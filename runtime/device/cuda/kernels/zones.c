// Computes zones (zf_accelerator_ops.zones). Thread block x computes zone x, by the rules of runtime/container/zone.c.
#include "runtime/device/cuda/kernels/nvptx.h"

enum { THREADS = 1024 };
enum { U8, U16, U32, U64, I8, I16, I32, I64, F32, F64, BOOL, STRING }; // zf_element

#define SIGN ((u64)1 << 63)

typedef struct found {
    u64 least, most; ///< keys: numbers in the order of the values
    u32 nulls, nans;
    u32 least_short, most_long; ///< strings: one with the least prefix is no longer; one with the largest is
} found;

typedef struct rows {
    const u8 *values;
    const i64 *offsets;
    const u8 *validity; ///< NULL: no row is null
    u64 skip, validity_skip;
} rows;

static inline int is_null(const rows *r, u64 k) {
    u64 bit = r->validity_skip + k;
    return r->validity != 0 && (r->validity[bit / 8] >> bit % 8 & 1) == 0;
}

static inline void add(found *f, u64 key) {
    f->least = key < f->least ? key : f->least;
    f->most = key > f->most ? key : f->most;
}

static inline void add_float(found *f, double value) {
    u64 bits = (u64) __builtin_bit_cast(long long, value);
    if (value != value)
        f->nans++;
    else
        add(f, (bits & SIGN) != 0 ? ~bits : bits | SIGN);
}

/// Does `what` with the value `v` of each row that is not null, and counts the others.
#define EACH(type, what)                                                                                                         \
    for (u64 k = begin + thread; k < end; k += THREADS) {                                                                        \
        if (is_null(r, k)) {                                                                                                     \
            f->nulls++;                                                                                                          \
            continue;                                                                                                            \
        }                                                                                                                        \
        type v = ((const type *)r->values)[r->skip + k];                                                                         \
        what;                                                                                                                    \
    }                                                                                                                            \
    break

static inline u64 prefix_of(const u8 *text, u64 length) {
    u64 prefix = 0;
    for (u64 k = 0; k < 8; k++) prefix = prefix << 8 | (k < length ? text[k] : 0);
    return prefix;
}

static inline void strings(const rows *r, u64 begin, u64 end, u32 thread, found *f) {
    for (u64 k = begin + thread; k < end; k += THREADS) {
        if (is_null(r, k))
            f->nulls++;
        else
            add(f, prefix_of(r->values + r->offsets[k], (u64)(r->offsets[k + 1] - r->offsets[k])));
    }
}

/// Looks at strings with the prefixes that were found: does the prefix say them whole?
static inline void lengths(const rows *r, u64 begin, u64 end, u32 thread, found *f) {
    for (u64 k = begin + thread; k < end; k += THREADS) {
        if (is_null(r, k)) continue;
        const u8 *text = r->values + r->offsets[k];
        u64 length = (u64)(r->offsets[k + 1] - r->offsets[k]), prefix = prefix_of(text, length);
        if (prefix != f->least && prefix != f->most) continue;
        int is_long = length > 8 || (length > 0 && text[length - 1] == 0);
        if (prefix == f->least && !is_long) f->least_short = 1;
        if (prefix == f->most && is_long) f->most_long = 1;
    }
}

static SHARED found shared[THREADS];

/// Joins what all threads found. Every thread gets it.
static inline void join(u32 thread, found *f) {
    shared[thread] = *f;
    for (u32 half = THREADS / 2; half > 0; half /= 2) {
        barrier();
        if (thread >= half) continue;
        SHARED found *a = &shared[thread], *b = &shared[thread + half];
        a->least = b->least < a->least ? b->least : a->least;
        a->most = b->most > a->most ? b->most : a->most;
        a->nulls += b->nulls;
        a->nans += b->nans;
        a->least_short |= b->least_short;
        a->most_long |= b->most_long;
    }
    barrier();
    *f = shared[0];
    barrier();
}

/// `spans`: first row and number of rows of each zone. `words`: failure words of the kernels that made the rows; where one of
/// them has failed, there may be no rows.
KERNEL void zf_zones(const u64 *spans, const u8 *values, const i64 *offsets, const u8 *validity, u64 skip, u64 validity_skip,
                     const u64 *words, found *out, u32 word_count, u32 element) {
    u32 zone = block_number(), thread = thread_number();
    u64 begin = spans[2 * zone], end = begin + spans[2 * zone + 1];
    const rows all = {values, offsets, validity, skip, validity_skip}, *r = &all;
    found made = {~(u64)0, 0, 0, 0, 0, 0}, *f = &made;
    for (u32 k = 0; k < word_count; k++) {
        if (words[k] != ~(u64)0) return;
    }
    switch (element) {
    case U8: EACH(u8, add(f, v));
    case U16: EACH(u16, add(f, v));
    case U32: EACH(u32, add(f, v));
    case U64: EACH(u64, add(f, v));
    case I8: EACH(i8, add(f, (u64)(i64)v ^ SIGN));
    case I16: EACH(i16, add(f, (u64)(i64)v ^ SIGN));
    case I32: EACH(i32, add(f, (u64)(i64)v ^ SIGN));
    case I64: EACH(i64, add(f, (u64)v ^ SIGN));
    case F32: EACH(float, add_float(f, (double)v));
    case F64: EACH(double, add_float(f, v));
    case BOOL:
        for (u64 k = begin + thread; k < end; k += THREADS) {
            u64 bit = skip + k;
            if (is_null(r, k))
                f->nulls++;
            else
                add(f, values[bit / 8] >> bit % 8 & 1);
        }
        break;
    default: strings(r, begin, end, thread, f);
    }
    join(thread, f);
    if (element == STRING) {
        lengths(r, begin, end, thread, f);
        f->nulls = thread == 0 ? f->nulls : 0;
        join(thread, f);
    }
    if (thread == 0) out[zone] = *f;
}
