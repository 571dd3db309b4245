#include "codegen/query/query_support.h"

#include <stdlib.h>
#include <string.h>

uint64_t zf_cg_query_select(zf_query_frame *frame, const uint64_t *words) {
    enum { FIRST_ROOM = 1024 };
    zf_query_selected *selected = frame->selected;
    size_t row = selected->columns * sizeof *words;
    if (selected->rows == selected->room) {
        uint64_t room = selected->room == 0 ? FIRST_ROOM : 2 * selected->room;
        uint64_t *grown = realloc(selected->words, room * row);
        if (grown == NULL) return 0;
        selected->words = grown;
        selected->room = room;
    }
    memcpy(selected->words + selected->rows * selected->columns, words, row);
    selected->rows++;
    return 1;
}

static bool grow(zf_query_domain *domain) {
    enum { FIRST_ROOM = 1024 };
    uint64_t room = domain->room == 0 ? FIRST_ROOM : 2 * domain->room;
    zf_query_pair_row *grown = realloc(domain->rows, room * sizeof *grown);
    if (grown == NULL) return false;
    domain->rows = grown;
    domain->room = room;
    return true;
}

uint64_t zf_cg_query_pairs(zf_query_frame *frame, uint64_t first, uint64_t lo, uint64_t hi, uint64_t inclusive) {
    zf_query_domain *domain = frame->domain;
    uint64_t more = inclusive ? (lo <= hi ? hi - lo : UINT64_MAX) + 1 : lo < hi ? hi - lo : 0; // 0 also of all 2^64
    bool all = inclusive && lo <= hi && more == 0;
    if (all || more > ZF_QUERY_PAIRS_MOST - domain->pairs || domain->count == ZF_QUERY_FIRSTS_MOST) return ZF_QUERY_TOO_MANY;
    if (domain->count == domain->room && !grow(domain)) return ZF_QUERY_NO_MEMORY;
    if (domain->count == 0) domain->first = first;
    domain->rows[domain->count++] = (zf_query_pair_row){domain->pairs, lo};
    domain->pairs += more;
    return 0;
}

// -0.0 is below 0.0.
static bool is_below(double a, double b) {
    uint64_t bits_a, bits_b;
    memcpy(&bits_a, &a, sizeof a);
    memcpy(&bits_b, &b, sizeof b);
    return a == b ? bits_a >> 63 > bits_b >> 63 : a < b;
}

static void keep(uint64_t *word, uint8_t *touched, double value, bool smaller) {
    double now;
    memcpy(&now, word, sizeof now);
    if (value != value || (*touched && !(smaller ? is_below(value, now) : is_below(now, value)))) return;
    memcpy(word, &value, sizeof value);
    *touched = 1;
}

void zf_cg_query_min(uint64_t *word, uint8_t *touched, double value) { keep(word, touched, value, true); }
void zf_cg_query_max(uint64_t *word, uint8_t *touched, double value) { keep(word, touched, value, false); }
