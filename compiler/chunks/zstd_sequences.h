// Sequences of a block of Zstandard on the host, as far as the next block must know them (RFC 8878, sections 3.1.1.3.2 and 4.1).
#ifndef ZF_COMPILER_ZSTD_SEQUENCES_H
#define ZF_COMPILER_ZSTD_SEQUENCES_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/chunks/zstd_bits.h"

/// Numbers of a sequence: lengths of literals, distances, lengths of copies, in this order.
enum { ZF_ZSTD_KINDS = 3, ZF_ZSTD_SYMBOLS = 53, ZF_ZSTD_ROWS = 512 };

/// How many rows each symbol has in a table of 2^log rows; -1: a row behind those of all others.
typedef struct zf_zstd_counts {
    int16_t of[ZF_ZSTD_SYMBOLS];
    uint8_t log;
} zf_zstd_counts;

/// A table: by row the symbol, and how many bits give the next row from `base` on.
typedef struct zf_zstd_table {
    uint8_t log;
    uint8_t symbol[ZF_ZSTD_ROWS], bits[ZF_ZSTD_ROWS];
    uint16_t base[ZF_ZSTD_ROWS];
} zf_zstd_table;

/// The highest symbol, and the logarithm of the most rows.
unsigned zf_zstd_symbol_most(unsigned kind);
unsigned zf_zstd_log_most(unsigned kind);

/// The format's own table.
void zf_zstd_table_own(unsigned kind, zf_zstd_table *out);
/// One symbol for all sequences.
void zf_zstd_table_one(unsigned symbol, zf_zstd_table *out);
/// A table of counts that add up to its rows.
void zf_zstd_table_make(const zf_zstd_counts *counts, zf_zstd_table *out);

/// A frame up to a block.
typedef struct zf_zstd_state {
    uint32_t recent[3]; ///< the last distances
    uint64_t made;      ///< bytes
} zf_zstd_state;

enum {
    ZF_ZSTD_PIECE = 1024,       ///< sequences of a piece, but for the last of a block
    ZF_ZSTD_DISTANCE_BITS = 28, ///< of the longest distance
};

/// Sequences that follow each other: where the decoder is in front of them.
typedef struct zf_zstd_piece {
    uint64_t high, low;          ///< bits of the block: its own are those from `low` to below `high`
    uint32_t recent[3];          ///< the last distances
    uint16_t row[ZF_ZSTD_KINDS]; ///< of the first sequence
    uint16_t sequences;
} zf_zstd_piece;

/// A block's sequences, at least one, and the bits that they are coded by.
typedef struct zf_zstd_coded {
    zf_zstd_bits bits; ///< which are read from their end
    uint64_t sequences, literals;
    uint64_t before; ///< bytes of a dictionary, which copies may reach
} zf_zstd_coded;

/// Brings the state behind a block, and notes its pieces, for which there is room. Leaves the literals behind the last sequence.
/// False: the bits are not such sequences, copy from before the frame and the dictionary, or from as far as no decoder reaches.
bool zf_zstd_sequences(const zf_zstd_table tables[ZF_ZSTD_KINDS], zf_zstd_coded *block, zf_zstd_state *state,
                       zf_zstd_piece *pieces);

#endif
