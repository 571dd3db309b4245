// Cursors: positions in bits from the start of the chunk. Reads of elements and bytes begin at the next whole element
// or byte, as an ordinary push does in `encode`.
#include "tests/interp/interp_internal.h"

typedef struct cursor_state {
    interp_env *env;
    const zf_expr *expr;
    interp_seq seq;
    unsigned width; // bits an element
    uint64_t total; // bits of the chunk
    uint64_t *at;
} cursor_state;

static uint64_t round_up(uint64_t at, uint64_t to) { return (at + to - 1) / to * to; }

// Moves over `bits` from the next multiple of `to`; gives where they begin. V02 when they are not there.
static uint64_t take(cursor_state *c, uint64_t to, uint64_t bits) {
    uint64_t from = round_up(*c->at, to);
    if (from > c->total || bits > c->total - from) interp_env_violate_at(c->env, 2, c->expr, "cursor past the end of the chunk");
    *c->at = from + bits;
    uint64_t first = from / c->width;
    if (bits) interp_seq_check_range(c->env, c->seq, first, (from + bits - 1) / c->width - first + 1);
    return from;
}

static uint64_t bits_at(const cursor_state *c, uint64_t bit, unsigned count) {
    return interp_stream_bit_read(c->seq.base, c->seq.start * c->width + bit, count);
}

static uint64_t bit_count(cursor_state *c, uint64_t count) {
    if (count > 64) interp_env_violate_at(c->env, 2, c->expr, "more than 64 bits");
    return count;
}

static interp_value read_bytes(cursor_state *c, uint64_t count, bool big) {
    if (count > 8) interp_env_violate_at(c->env, 2, c->expr, "more than 8 bytes");
    uint64_t from = take(c, 8, 8 * count), value = 0;
    for (uint64_t k = 0; k < count; k++) {
        uint64_t byte = bits_at(c, from + 8 * k, 8);
        value = big ? value << 8 | byte : value | byte << (8 * k);
    }
    return of_bits(value);
}

static interp_value read_varint(cursor_state *c) {
    uint64_t value = 0;
    for (unsigned k = 0; k < 10; k++) {
        uint64_t byte = bits_at(c, take(c, 8, 8), 8);
        value |= (byte & 127) << (7 * k);
        if (byte < 128) return of_bits(value);
    }
    interp_env_violate_at(c->env, 2, c->expr, "a varint of more than 10 bytes");
}

static interp_value peek(cursor_state *c, uint64_t count) {
    uint64_t left = c->total - *c->at;
    unsigned have = (unsigned)(count < left ? count : left);
    if (have) interp_seq_check_range(c->env, c->seq, *c->at / c->width, (*c->at + have - 1) / c->width - *c->at / c->width + 1);
    return of_bits(have ? bits_at(c, *c->at, have) : 0);
}

static interp_value skip(cursor_state *c, uint64_t count) {
    uint64_t from = round_up(*c->at, c->width), left = from > c->total ? 0 : (c->total - from) / c->width;
    if (from > c->total || count > left) interp_env_violate_at(c->env, 2, c->expr, "cursor past the end of the chunk");
    *c->at = from + count * c->width;
    return of_bits(0);
}

interp_value interp_eval_cursor(interp_env *env, const zf_expr *expr) {
    cursor_state c = {.env = env, .expr = expr, .seq = interp_env_stream(env, expr->port), .at = &env->cursor[expr->port->slot]};
    c.width = c.seq.base->width;
    c.total = c.seq.length * c.width;
    uint64_t argument = expr->a ? interp_eval_bits(env, expr->a) : 0;
    switch (expr->cursor) {
    case ZF_C_NEXT: {
        uint64_t from = take(&c, c.width, c.width);
        return interp_seq_get(env, c.seq, from / c.width, expr->span, expr);
    }
    case ZF_C_U8:
    case ZF_C_I8: return read_bytes(&c, 1, false);
    case ZF_C_U16:
    case ZF_C_I16: return read_bytes(&c, 2, false);
    case ZF_C_U32:
    case ZF_C_I32: return read_bytes(&c, 4, false);
    case ZF_C_U64:
    case ZF_C_I64: return read_bytes(&c, 8, false);
    case ZF_C_LE: return read_bytes(&c, argument, false);
    case ZF_C_BE: return read_bytes(&c, argument, true);
    case ZF_C_VARINT: return read_varint(&c);
    case ZF_C_READ: {
        unsigned count = (unsigned)bit_count(&c, argument);
        return of_bits(bits_at(&c, take(&c, 1, count), count));
    }
    case ZF_C_READ_MSB: {
        unsigned count = (unsigned)bit_count(&c, argument);
        return of_bits(interp_stream_bit_read_msb(c.seq.base, c.seq.start * c.width + take(&c, 1, count), count));
    }
    case ZF_C_PEEK: return peek(&c, bit_count(&c, argument));
    case ZF_C_SKIP: return skip(&c, argument);
    case ZF_C_ALIGN: *c.at = round_up(*c.at, c.width); return of_bits(0);
    case ZF_C_AT_END: return of_bits(*c.at >= c.total);
    case ZF_C_POS: return of_bits(*c.at / c.width);
    case ZF_C_BIT_POS: return of_bits(*c.at);
    case ZF_C_COUNT: break;
    }
    interp_stop(env->in, INTERP_MISUSE, "an unknown cursor operation");
}
