#include "runtime/pipeline/rates_file.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "zipflow/zipflow.h"

typedef unsigned long long ull;

static const char head_format[] =
    "zipflow %s, format 2: how fast a device was seen to be. Whoever removes this file has it measured anew.\n"
    "device %s\n";

/// Bytes a second: no rate is kept that is faster.
static const uint64_t RATE_MOST = UINT64_C(1000000000000000000);
/// Nanoseconds: no unit is believed to cost more besides its bytes.
static const uint64_t COST_MOST = UINT64_C(1000000000);

// ---- The table ------------------------------------------------------------------------------------------------

zf_codec_rate *zf_rates_table_find(zf_rates_table *table, uint64_t codec) {
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->codecs[i].codec == codec) return &table->codecs[i];
    }
    return NULL;
}

zf_codec_rate *zf_rates_table_add(zf_rates_table *table, uint64_t codec, const char *name) {
    zf_codec_rate *added = &table->codecs[table->next];
    *added = (zf_codec_rate){.codec = codec};
    for (size_t i = 0; i + 1 < sizeof added->name && name[i] != 0; i++) {
        char c = name[i];
        added->name[i] = c == '\n' || c == '\t' || c == '\r' ? ' ' : c >= ' ' && c <= '~' ? c : '?';
    }
    table->next = (table->next + 1) % ZF_RATES_CODECS;
    if (table->count < ZF_RATES_CODECS) table->count++;
    return added;
}

// ---- Writing --------------------------------------------------------------------------------------------------

/// Begins a line: its subject, and the rate in whole bytes a second. False, and nothing: there is no rate, or an implausible
/// one.
static bool print_rate(const char *what, const zf_seen_rate *rate, zf_text *out) {
    if (!(rate->value >= 1 && rate->value <= (double)RATE_MOST)) return false;
    zf_text_printf(out, "%s %llu%s", what, (ull)rate->value, rate->first ? " first" : "");
    return true;
}

void zf_rates_table_print(const zf_rates_table *table, const char *device, zf_text *out) {
    zf_text_printf(out, head_format, zf_version(), device);
    if (print_rate("link", &table->link, out)) zf_text_puts(out, "\n");
    if (print_rate("read", &table->read, out)) zf_text_puts(out, "\n");
    for (uint32_t k = 0; k < table->count; k++) { // the oldest first
        const zf_codec_rate *c = &table->codecs[table->count < ZF_RATES_CODECS ? k : (table->next + k) % ZF_RATES_CODECS];
        if (!print_rate("decode", &c->rate, out)) continue;
        double cost = c->cost * 1e9;
        if (cost >= 1 && cost <= (double)COST_MOST) zf_text_printf(out, " besides %llu", (ull)cost);
        zf_text_printf(out, " %016llx %s\n", (ull)c->codec, c->name);
    }
    if (!out->failed) zf_text_printf(out, "sum %016llx\n", (ull)XXH3_64bits(out->data, out->length));
}

// ---- Reading --------------------------------------------------------------------------------------------------

/// The rest of a text.
typedef struct cursor {
    const char *at, *end;
} cursor;

static bool take(cursor *c, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

/// 1 to `most`.
static bool take_number(cursor *c, uint64_t most, uint64_t *out) {
    const char *begin = c->at;
    *out = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        *out = *out * 10 + (uint64_t)(*c->at - '0');
        if (*out > most) return false;
    }
    return c->at != begin && *out > 0;
}

static bool take_rate(cursor *c, zf_seen_rate *out) {
    uint64_t value;
    if (!take_number(c, RATE_MOST, &value)) return false;
    *out = (zf_seen_rate){.value = (double)value, .first = take(c, " first")};
    return true;
}

static bool take_hex(cursor *c, uint64_t *out) {
    static const char digits[] = "0123456789abcdef";
    *out = 0;
    for (int i = 0; i < 16; i++, c->at++) {
        const char *digit = c->at < c->end && *c->at != 0 ? strchr(digits, *c->at) : NULL;
        if (digit == NULL) return false;
        *out = *out << 4 | (uint64_t)(digit - digits);
    }
    return true;
}

static bool take_codec(cursor *c, zf_rates_table *table) {
    zf_seen_rate rate;
    uint64_t codec, cost = 0;
    char name[ZF_RATES_NAME];
    if (!take_rate(c, &rate) || (take(c, " besides ") && !take_number(c, COST_MOST, &cost)) || !take(c, " ") ||
        !take_hex(c, &codec) || !take(c, " "))
        return false;
    const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));
    if (newline == NULL || newline - c->at >= ZF_RATES_NAME || zf_rates_table_find(table, codec) != NULL) return false;
    snprintf(name, sizeof name, "%.*s", (int)(newline - c->at), c->at);
    zf_codec_rate *added = zf_rates_table_add(table, codec, name);
    added->rate = rate;
    added->cost = (double)cost / 1e9;
    c->at = newline;
    return true;
}

static bool take_line(cursor *c, zf_rates_table *table) {
    bool good = take(c, "link ")   ? take_rate(c, &table->link)
                : take(c, "read ") ? take_rate(c, &table->read)
                                   : take(c, "decode ") && take_codec(c, table);
    return good && take(c, "\n");
}

bool zf_rates_table_parse(const char *text, size_t length, const char *device, zf_rates_table *out) {
    static const size_t sum_bytes = sizeof "sum 0123456789abcdef\n" - 1;
    zf_text head = {0};
    uint64_t sum = 0;
    memset(out, 0, sizeof *out);
    if (length < sum_bytes) return false;
    cursor c = {text, text + length - sum_bytes}, last = {c.end, text + length};
    if (!take(&last, "sum ") || !take_hex(&last, &sum) || !take(&last, "\n")) return false;
    if (sum != XXH3_64bits(text, length - sum_bytes)) return false;
    zf_text_printf(&head, head_format, zf_version(), device);
    bool good = !head.failed && take(&c, head.data);
    zf_text_free(&head);
    while (good && c.at < c.end) good = take_line(&c, out);
    if (!good) memset(out, 0, sizeof *out);
    return good;
}
