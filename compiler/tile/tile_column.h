// A column whose tiles are loaded by others: its codes, its loader, and its part of the header.
#ifndef ZF_COMPILER_TILE_COLUMN_H
#define ZF_COMPILER_TILE_COLUMN_H

#include "codegen/codegen_tile.h"
#include "compiler/provider.h"
#include "runtime/decode/tiles.h"

typedef struct zf_tile_column_codes {
    const zf_abi_plan *plan;
    const zf_shape *shape;
    uint64_t *shaping; ///< of all blocks; NULL where blocks have different values, or there are no such params
    bool general;      ///< they have different ones
} zf_tile_column_codes;

/// Finds plan and codes of all blocks of a column. Free `*out` with zf_tile_column_free, also after an error. ZF1414 with the
/// reason where its tiles cannot be loaded.
zf_status zf_tile_column_find(zf_container *container, size_t column, const zf_abi_provider *provider, zf_tile_column_codes *out,
                              zf_error *error);
void zf_tile_column_free(zf_tile_column_codes *codes);

/// The description of a column in the header.
typedef struct zf_tile_column_text {
    const char *name; ///< a name of C++
    const char *key, *type_name, *codec;
    const zf_tile_loader *loader;
} zf_tile_column_text;
/// Appends words of a file to a comment, which they cannot end.
void zf_tile_text_words(zf_text *out, const char *words);
/// Appends the part of all columns: what the header is for, and how to call it.
void zf_tile_text_begin(zf_text *out, const char *table);
/// Appends a column's struct and functions.
void zf_tile_text_column(zf_text *out, const zf_tile_column_text *column);

#endif
