// Links: zipflow-base
// Checksums are those of the xxHash library, wherever bytes lie and however many there are.
#include <stdlib.h>
#include <xxhash.h>

#include "runtime/base/checksum.h"
#include "tests/unit/check.h"

enum { MOST = 1 << 20, SHIFTS = 67 };

int main(void) {
    uint8_t *bytes = malloc(MOST + SHIFTS);
    if (bytes == NULL) return 1;
    for (size_t i = 0; i < MOST + SHIFTS; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t length = 0; length < 4200; length++)
        CHECK(zf_checksum(bytes + length % SHIFTS, length) == XXH3_64bits(bytes + length % SHIFTS, length), "%zu bytes", length);
    for (size_t length = MOST; length > 4200; length -= length / 5)
        CHECK(zf_checksum(bytes + length % SHIFTS, length) == XXH3_64bits(bytes + length % SHIFTS, length), "%zu bytes", length);
    free(bytes);
    return check_result();
}
