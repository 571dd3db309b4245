// Replaces the first OLD in a container's index, or with `blocks` in its blocks, by NEW, of the same length, and makes the
// checksums right again: what an attacker who knows the format can do. Usage: patch_container FILE OLD NEW [blocks], OLD and NEW
// as hexadecimal digits.
#include "tests/hostile/mutate.h"

static size_t read_hex(const char *text, uint8_t *out, size_t room) {
    size_t length = strlen(text) / 2;
    if (length == 0 || length > room) return 0;
    for (size_t i = 0; i < length; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1) return 0;
        out[i] = (uint8_t)byte;
    }
    return length;
}

int main(int argc, char **argv) {
    uint8_t old[512], new[512];
    mutated m;
    bool blocks = argc == 5 && strcmp(argv[4], "blocks") == 0;
    size_t length = argc == 4 || blocks ? read_hex(argv[2], old, sizeof old) : 0;
    if (length == 0 || read_hex(argv[3], new, sizeof new) != length || !mutate_read(argv[1], &m)) return 2;
    size_t end = blocks ? m.index : m.size - ZF_FORMAT_FOOTER_BYTES, at = blocks ? ZF_FORMAT_HEADER_BYTES : m.index;
    while (at + length <= end && memcmp(m.bytes + at, old, length) != 0) at++;
    bool found = at + length <= end;
    if (found) {
        memcpy(m.bytes + at, new, length);
        mutate_repair(&m);
        mutate_write(argv[1], m.bytes, m.size);
    }
    mutate_free(&m);
    return found ? check_failures != 0 : 2;
}
