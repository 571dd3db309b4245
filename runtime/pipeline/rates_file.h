// Rates as text, which is what is kept of them: a line a rate, behind lines that say of what, and before one with a checksum.
#ifndef ZF_RUNTIME_RATES_FILE_H
#define ZF_RUNTIME_RATES_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"

enum {
    ZF_RATES_CODECS = 1024,         ///< most codecs that are remembered; beyond them the oldest is forgotten
    ZF_RATES_NAME = 64,             ///< bytes of a codec's name, with its 0
    ZF_RATES_FILE_BYTES = 256 << 10 ///< no text of rates has more
};

/// Bytes a second.
typedef struct zf_seen_rate {
    double value; ///< 0: not measured
    bool first;   ///< by first runs alone
    bool here;    ///< in this context, since it was made; not part of the text
} zf_seen_rate;

typedef struct zf_codec_rate {
    uint64_t codec;
    char name[ZF_RATES_NAME]; ///< for people: its type and text, as far as there is room
    zf_seen_rate rate;
    double cost; ///< seconds of a unit besides; 0: not measured. As text, whole nanoseconds
} zf_codec_rate;

typedef struct zf_rates_table {
    zf_seen_rate link, read;
    zf_codec_rate codecs[ZF_RATES_CODECS];
    uint32_t count, next; ///< `next`: the oldest, once all places are taken
} zf_rates_table;

/// NULL: it is not there.
zf_codec_rate *zf_rates_table_find(zf_rates_table *table, uint64_t codec);
/// Adds a codec that is not in the table, without a rate. In the name, bytes outside ASCII become question marks, and white
/// space becomes blanks.
zf_codec_rate *zf_rates_table_add(zf_rates_table *table, uint64_t codec, const char *name);

/// `device` is one line of text, of which the device's rates are.
void zf_rates_table_print(const zf_rates_table *table, const char *device, zf_text *out);
/// False, and an empty table: the text is damaged, of another version, or another device's.
bool zf_rates_table_parse(const char *text, size_t length, const char *device, zf_rates_table *out);

#endif
