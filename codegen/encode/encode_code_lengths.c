// code_lengths(counts, lengths, limit): optimal lengths of prefix codes of at most `limit` bits, by package-merge (Larmore and
// Hirschberg, 1990). In `limit` rounds the pairs of the round before are merged, by weight, with the symbols; how often a symbol
// is among the first 2n - 2 items of the last round, counted through the pairs, is its length.
#include <stdlib.h>
#include <string.h>

#include "codegen/encode/encode_support.h"

typedef struct symbol {
    uint64_t weight;
    uint32_t number;
} symbol;

static int by_weight(const void *a, const void *b) {
    const symbol *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/// One round: `is_pair` tells which of the merged items are pairs of the round before.
static uint64_t merge(const symbol *symbols, uint64_t count, const uint64_t *before, uint64_t before_count, uint64_t *weights,
                      uint8_t *is_pair) {
    uint64_t pairs = before_count / 2, p = 0, s = 0, made = 0;
    while (p < pairs || s < count) {
        uint64_t pair = p < pairs ? before[2 * p] + before[2 * p + 1] : 0;
        bool take_symbol = s < count && (p == pairs || symbols[s].weight <= pair);
        is_pair[made] = !take_symbol;
        weights[made++] = take_symbol ? symbols[s].weight : pair;
        if (take_symbol)
            s++;
        else
            p++;
    }
    return made;
}

static void assign(const symbol *symbols, uint64_t count, unsigned limit, const uint8_t *is_pair, const uint64_t *made,
                   uint64_t stride, uint8_t *lengths, uint64_t length_size) {
    uint64_t take = 2 * count - 2;
    for (unsigned round = limit; round-- > 0;) {
        uint64_t pairs = 0, s = 0;
        for (uint64_t k = 0; k < take && k < made[round]; k++) {
            if (is_pair[round * stride + k])
                pairs++;
            else
                lengths[symbols[s++].number * length_size]++; // symbols occur in ascending order
        }
        take = 2 * pairs;
    }
}

/// 1 on success. `counts` and `lengths` are arrays of `count_size` and `length_size` bytes an element.
uint64_t zf_cg_code_lengths(zf_encode_frame *frame, const uint8_t *counts, uint64_t count_size, uint64_t count, uint8_t *lengths,
                            uint64_t length_size, uint64_t length_count, uint64_t limit) {
    if (count != length_count || count > UINT32_MAX) {
        frame->outcome = ZF_ENCODE_FAILED;
        frame->violation = 1;
        return 0;
    }
    if (limit > 64) limit = 64;
    // Each round goes through the symbols and as many pairs; sorting them takes at most 32 rounds.
    if (!zf_encode_work(frame, count * (2 * limit + 33))) return 0;
    memset(lengths, 0, count * length_size);
    symbol *symbols = zf_encode_scratch(frame, count * sizeof *symbols);
    if (symbols == NULL) return 0;
    uint64_t used = 0;
    for (uint64_t k = 0; k < count; k++) {
        uint64_t weight = 0;
        memcpy(&weight, counts + k * count_size, count_size);
        if (weight > 0) symbols[used++] = (symbol){weight, (uint32_t)k};
    }
    bool fits = used <= 1 || (limit > 0 && limit < 64 && used <= 1ull << limit);
    uint64_t stride = 2 * used + 2;
    uint64_t ok = 0, made[64], *weights = NULL;
    uint8_t *is_pair = NULL;
    if (!fits) {
        frame->outcome = ZF_ENCODE_REFUSED;
    } else if ((weights = zf_encode_scratch(frame, 2 * stride * sizeof *weights)) != NULL &&
               (is_pair = zf_encode_scratch(frame, (limit + 1) * stride)) != NULL) {
        ok = 1;
        qsort(symbols, used, sizeof *symbols, by_weight);
        if (used == 1) lengths[symbols[0].number * length_size] = 1;
        uint64_t before = 0;
        for (uint64_t round = 0; used > 1 && round < limit; round++) {
            uint64_t *now = weights + (round & 1) * stride, *last = weights + (~round & 1) * stride;
            before = made[round] = merge(symbols, used, last, before, now, is_pair + round * stride);
        }
        if (used > 1) assign(symbols, used, (unsigned)limit, is_pair, made, stride, lengths, length_size);
    }
    free(symbols);
    free(weights);
    free(is_pair);
    return ok;
}
