// Tables and codes of Zstandard as they are described in frames and dictionaries (RFC 8878, sections 4.1.1 and 4.2.1).
#ifndef ZF_COMPILER_ZSTD_DESCRIBED_H
#define ZF_COMPILER_ZSTD_DESCRIBED_H

#include "compiler/chunks/zstd_reader.h"
#include "compiler/chunks/zstd_sequences.h"

/// Bytes of a table's description: how, and 4 bits and at most 11 for each of 53 symbols.
enum { ZF_ZSTD_TABLE_MOST = 80 };

/// Three tables, and their descriptions.
typedef struct zf_zstd_described {
    zf_zstd_table rows[ZF_ZSTD_KINDS];
    uint8_t text[ZF_ZSTD_KINDS][ZF_ZSTD_TABLE_MOST];
    unsigned bytes[ZF_ZSTD_KINDS];
} zf_zstd_described;

/// How a table stands in front of a block.
typedef enum zf_zstd_how { ZF_ZSTD_OWN, ZF_ZSTD_ONE, ZF_ZSTD_DESCRIBED, ZF_ZSTD_AGAIN } zf_zstd_how;

/// Reads a table of a kind, which is not AGAIN. Errors: those of zf_zstd_refuse.
zf_status zf_zstd_take_table(zf_zstd_described *to, zf_zstd_reader *r, unsigned kind, zf_zstd_how how, zf_error *error);
/// Passes the description of a code of literals, its weights. Returns where it begins; it has `*bytes` bytes. Where it is cut,
/// `r->bad` is set.
const uint8_t *zf_zstd_pass_code(zf_zstd_reader *r, uint64_t *bytes);
/// Whether so many bytes, at least one, are weights of a code.
bool zf_zstd_code_holds(const uint8_t *bytes, uint64_t size);

#endif
