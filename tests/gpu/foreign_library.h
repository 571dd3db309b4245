// The libraries of formats that others have: they make chunks, and judge changed ones. Each is opened where the system has it.
#ifndef ZF_TESTS_FOREIGN_LIBRARY_H
#define ZF_TESTS_FOREIGN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum foreign_format {
    FOREIGN_LZ4,
    FOREIGN_SNAPPY,
    FOREIGN_DEFLATE,
    FOREIGN_ZLIB,
    FOREIGN_GZIP,
    FOREIGN_ZSTD,
    FOREIGN_FORMATS
} foreign_format;

/// "lz4".
const char *foreign_name(foreign_format format);
/// Opens the format's library. False: the system lacks it, and `*why` says so.
bool foreign_open(foreign_format format, const char **why);
/// Compresses; `way` chooses among levels and strategies. The bytes that were made.
size_t foreign_pack(foreign_format format, unsigned way, const uint8_t *from, size_t bytes, uint8_t *to, size_t room);
/// Has frames of Zstandard compressed with a dictionary, which stays the caller's, until NULL is given.
void foreign_use_dictionary(const uint8_t *bytes, size_t size);
/// Whether the library makes exactly `rows` bytes of all of these. `to` has room for them.
bool foreign_judge(foreign_format format, const uint8_t *from, size_t bytes, uint8_t *to, size_t rows);

#endif
