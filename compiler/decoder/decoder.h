// The decoder of one column under one vector of branches: graph, plan, what the runtime launches, and code for tuples of shaping
// values. Everybody gets them from the cache (decoder_cache.h), which shares them.
#ifndef ZF_COMPILER_DECODER_H
#define ZF_COMPILER_DECODER_H

#include "codegen/codegen.h"
#include "codegen/codegen_tile.h"
#include "compiler/decoder/plan_request.h"
#include "patterns/plan/plan.h"
#include "runtime/container/container.h"
#include "zipflow/compile.h"

/// Read-only once made, except for the code that is added to it. All pointers live as long as the decoder.
typedef struct zf_decoder {
    const zf_graph *graph;
    const zf_plan *plan;
    zf_abi_plan abi;               ///< provider_data is the decoder
    zf_shape shape;                ///< the shape of blocks that it decodes
    struct zf_decoder_code *codes; ///< compiled so far
    zf_compile_budget *budget;     ///< of the column: all of its code is charged to it; NULL: each code has a budget of its own
} zf_decoder;

/// Reads the states of a file from the shape of its blocks, or the defaults from NULL.
/// `*edges` is the memory of all edges in `out`; the caller frees it. False: no memory.
bool zf_decoder_states_of(const zf_shape *shape, uint32_t **edges, zf_decoder_states *out);

/// Builds the graph and the plan of a column; compiles nothing.
/// `branches` has `branch_count` bytes. The spec of `column` must outlive the decoder; all else is copied. A NULL `request` is
/// the default. The plan may have other seek trees than `request->states` names: compare the shapes. Errors: ZF_ERR_UNSUPPORTED
/// with the diagnostic (ZF08xx) where a form is not lowered, ZF_ERR_USAGE where a branch does not exist or a kernel may not have
/// its choice. Any thread; one thread at a time for a spec.
zf_status zf_decoder_create(zf_compiler *compiler, const zf_column *column, const uint8_t *branches, size_t branch_count,
                            const zf_plan_request *request, zf_decoder **out, zf_error *error);
/// Frees a decoder and its code. Nothing may run the code any more.
void zf_decoder_free(zf_decoder *decoder);

/// Returns the code for shaping values (in the order of abi.shaping), or the general form for NULL.
/// Compiles on first use, under no lock; other callers for the same values wait. After zf_compiler_tuples tuples the general
/// form serves further ones. The code lives as long as the decoder. ZF_ERR_UNSUPPORTED and ZF_ERR_INPUT are kept and returned
/// again, but for ZF1411: the budget may be renewed. After that and other failures the next call tries again. Any thread.
zf_status zf_decoder_code_for(zf_decoder *decoder, const uint64_t *shaping, const zf_abi_code **out, zf_error *error);

/// Returns the shaping values of code that zf_decoder_code_for gave; NULL: the general form. They live as long as the decoder.
const uint64_t *zf_decoder_shaping(zf_decoder *decoder, const zf_abi_code *code);

/// Compiles the loader of the column's tiles (codegen_tile.h), with all checks, for shaping values or any (NULL). The decoder is
/// for NVPTX, and its column fuses. Free `*out` with zf_codegen_tile_free, also after an error. Any thread.
zf_status zf_decoder_tile_loader(zf_decoder *decoder, const uint64_t *shaping, zf_tile_loader *out, zf_error *error);

/// Appends the text of that code at a stage: LLVM IR or assembly.
/// `lines`: kernels of accelerators name the lines of the `.zf` text. Any thread.
zf_status zf_decoder_print(zf_decoder *decoder, const uint64_t *shaping, zf_jit_stage stage, bool lines, zf_text *out,
                           zf_error *error);

/// Compiles code for a module, with all checks and a budget of its own. `cpu`: "x86-64-v3". Free `*out` with
/// zf_exported_code_free. Any thread.
zf_status zf_decoder_export(zf_decoder *decoder, const uint64_t *shaping, const char *cpu, zf_exported_code *out,
                            zf_error *error);

#endif
