// Code generation for tile loaders, as other rooms see it: functions that somebody else's GPU kernel has inline, to make the
// elements of a fused column (codegen_query.h) from its stored blocks.
//
// `open` finds the block of a tile and gives the values that hold for the whole tile: words of 32 or 64 bits, which the caller
// keeps in registers. The other functions take them and make elements of the tile. Each is inline assembly of PTX, in braces, in
// which `%0` and so on are operands.
#ifndef ZF_CODEGEN_CODEGEN_TILE_H
#define ZF_CODEGEN_CODEGEN_TILE_H

#include "codegen/codegen_query.h"

enum {
    ZF_TILE_TOGETHER = 8, ///< elements that a thread makes at a time; ZF_TILE_ROWS (zipflow.h) is a multiple
    ZF_TILE_WORDS = 64,   ///< values of an open tile, at most
};

typedef struct zf_tile_request {
    zf_query_source source; ///< of a column that fuses
    zf_abi_target target;   ///< the plan's: NVPTX
    zf_compile_budget *budget;
} zf_tile_request;

/// The functions of a loader.
typedef enum zf_tile_function {
    ZF_TILE_OPEN,
    ZF_TILE_LOAD,  ///< ZF_TILE_TOGETHER elements; those that do not exist are 0
    ZF_TILE_WHOLE, ///< the same where all of them exist: without a branch
    ZF_TILE_GET,   ///< one element, which exists
    ZF_TILE_FUNCTIONS
} zf_tile_function;

/// `open` takes the addresses of blocks, descriptors and work buffers (u64), the number of the tile and the tiles of a block
/// (u32). The others take the values of the tile, and from ZF_TILE_ROW on the first row in the tile and the rows that it has.
enum { ZF_TILE_OPEN_INPUTS = 5, ZF_TILE_ROW = ZF_TILE_WORDS, ZF_TILE_INPUTS = ZF_TILE_ROW + 2 };

/// The text of a loader. Operands are the outputs, and behind them the inputs that are used.
///
/// `open` gives the values of the tile, then an u32 that is 1 where a check failed. The others give elements (u32 where they are
/// integers of 32 bits or less, 0 or 1 where they are bools); of a nullable column an u32 of bits of those that have a value;
/// then an u32 that is 1 where a check failed. Nulls give 0.
typedef struct zf_tile_loader {
    zf_text texts[ZF_TILE_FUNCTIONS];
    bool used[ZF_TILE_FUNCTIONS][ZF_TILE_INPUTS];
    uint32_t word_count;
    uint8_t word_bits[ZF_TILE_WORDS]; ///< 32 or 64
    zf_type type;                     ///< of elements
} zf_tile_loader;

/// Builds, or finds in the disk cache, the loader of a column. Free `*out` with zf_codegen_tile_free, also after an error.
/// ZF_ERR_UNSUPPORTED where a form is not lowered, or cannot be inline assembly. Any thread.
zf_status zf_codegen_tile_loader(zf_jit *jit, const zf_tile_request *request, zf_tile_loader *out, zf_error *error);
void zf_codegen_tile_free(zf_tile_loader *loader);

/// Makes inline assembly of the function `name` in PTX of LLVM. Its inputs and outputs are named in the text: `ZF_IN_k` and
/// `ZF_OUT_k`. Outputs are the operands from 0 on, `outputs` of them, and inputs follow. `used` (may be NULL) says for each of
/// `inputs` whether the function reads it. ZF_ERR_UNSUPPORTED where the function calls others, or has variables in memory.
zf_status zf_tile_asm(const char *ptx, const char *name, uint32_t outputs, uint32_t inputs, bool *used, zf_text *out,
                      zf_error *error);

#endif
