#include "tests/differential/fsst_plain.h"

#include <string.h>

bool fsst_plain_import(const uint8_t *bytes, size_t size, fsst_plain_table *out) {
    enum { VERSION = 8, HEADER = VERSION + 1 + 8 };
    memset(out, 0, sizeof *out);
    if (size < HEADER || (bytes[VERSION] & 1) != 0) return false;
    size_t at = HEADER;
    for (unsigned k = 1; k <= 8; k++) {
        unsigned length = k % 8 + 1; // those of one byte come last
        for (unsigned n = bytes[VERSION + length]; n > 0; n--, out->count++) {
            if (out->count == 255 || size - at < length) return false;
            memcpy(out->bytes[out->count], bytes + at, length);
            out->length[out->count] = (uint8_t)length;
            at += length;
        }
    }
    return at == size;
}

size_t fsst_plain_decode(const fsst_plain_table *table, const uint8_t *codes, size_t count, uint8_t *out, size_t room,
                         size_t step, size_t *marks) {
    size_t made = 0;
    for (size_t at = 0; at < count;) {
        unsigned code = codes[at++];
        const uint8_t *bytes = code < 255 ? table->bytes[code] : codes + at;
        size_t length = code < 255 ? table->length[code] : 1;
        if (length == 0 || made + length > room) return SIZE_MAX;
        if (code == 255 && at++ == count) return SIZE_MAX;
        memcpy(out + made, bytes, length);
        made += length;
        if (marks != NULL && made % step == 0) marks[made / step] = at;
    }
    return made;
}
