// FSST decoded a second time: from the format's description alone (Boncz, Neumann, Leis, PVLDB 13(11), 2020, and the layout in
// which the reference library exports a table of symbols), sharing nothing with the rest of the project.
#ifndef ZF_TESTS_FSST_PLAIN_H
#define ZF_TESTS_FSST_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The symbol of each code below 255. A length of 0: nothing.
typedef struct fsst_plain_table {
    uint8_t bytes[255][8];
    uint8_t length[255];
    unsigned count;
} fsst_plain_table;

/// Reads an exported table: a version of 8 bytes, whether texts end in zero, how many symbols have 1 to 8 bytes, and the symbols
/// of 2, 3, ... 8 bytes and then of 1. False where that is not all of it, or texts end in zero.
bool fsst_plain_import(const uint8_t *bytes, size_t size, fsst_plain_table *out);
/// Decodes codes into at most `room` bytes and returns how many; SIZE_MAX where a code has no symbol, the last byte is an
/// escape without its literal, or there is no room. `marks[k]` (may be NULL) becomes how many codes make the first k * step
/// bytes, for all k from 1 on that such a number exists for, else it is left as it is.
size_t fsst_plain_decode(const fsst_plain_table *table, const uint8_t *codes, size_t count, uint8_t *out, size_t room,
                         size_t step, size_t *marks);

#endif
