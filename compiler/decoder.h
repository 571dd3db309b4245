// The decoder of one column under one vector of branches: graph, plan, what the runtime launches, and code per tuple of shaping
// values. The provider (for containers) and the encoder (for what it has just laid out) use the same.
#ifndef ZF_CODEGEN_DECODER_H
#define ZF_CODEGEN_DECODER_H

#include "codegen/llvm/jit.h"
#include "patterns/plan/plan.h"
#include "runtime/container/container.h"
#include "zipflow/compile.h"

/// Everything lives as long as the decoder. Read-only once made, but for the code that is added to it.
typedef struct zf_decoder {
    const zf_graph *graph;
    const zf_plan *plan;
    zf_abi_plan abi;               ///< provider_data is the decoder
    zf_shape shape;                ///< as the writer wants it
    struct zf_decoder_code *codes; ///< made so far
} zf_decoder;

/// Which states a file has.
typedef struct zf_decoder_states {
    uint32_t seek_interval; ///< 0: the usual
    const char *unfused;    ///< zf_plan_options.unfused
} zf_decoder_states;

/// Builds the graph and the plan for a target; compiles nothing. `spec` holds the column; `states` NULL: the usual ones.
/// ZF_ERR_UNSUPPORTED with the diagnostic (ZF08xx) where a form is not lowered, ZF_ERR_USAGE where a branch does not exist.
zf_status zf_decoder_create(zf_compiler *compiler, zf_spec *spec, const zf_column *column, const uint8_t *branches,
                            size_t branch_count, zf_abi_target target, const zf_decoder_states *states, zf_decoder **out,
                            zf_error *error);
/// The same for blocks of a file, whose `shape` for these branches says how the plan was cut: with which seek interval, and
/// which ordered stages have a tree of their own. NULL: the usual. Where no plan has that shape, the decoder has another one:
/// compare. By `block`, one of theirs, what was found of kernels is looked up; NULL: it is not.
zf_status zf_decoder_create_for(zf_compiler *compiler, zf_spec *spec, const zf_column *column, const uint8_t *branches,
                                size_t branch_count, zf_abi_target target, const zf_shape *shape, const zf_block_view *block,
                                zf_decoder **out, zf_error *error);
void zf_decoder_free(zf_decoder *decoder);

/// Code for the shaping values (in the order of abi.shaping), or the general form when NULL: compiled on first use, then kept.
/// After eight tuples the general form serves further ones. Any thread.
zf_status zf_decoder_code_for(zf_decoder *decoder, const uint64_t *shaping, const zf_abi_code **out, zf_error *error);

/// The text of that code at a stage: LLVM IR or assembly. `lines`: with the places in the `.zf` text that kernels of accelerators
/// have.
zf_status zf_decoder_print(zf_decoder *decoder, const uint64_t *shaping, zf_jit_stage stage, bool lines, zf_text *out,
                           zf_error *error);

/// The same code to be kept in a module: for any machine of a CPU level instead of the one at hand.
typedef struct zf_exported_code {
    zf_text object;           ///< ELF: the kernels of the host, and the checks
    zf_text image;            ///< NVPTX: PTX
    zf_abi_simt_kernel *simt; ///< NVPTX: per kernel
    char (*names)[24];        ///< theirs
} zf_exported_code;
zf_status zf_decoder_export(zf_decoder *decoder, const uint64_t *shaping, const char *cpu, zf_exported_code *out,
                            zf_error *error);
void zf_exported_code_free(zf_exported_code *code);

/// The compiler's linker and context.
zf_jit *zf_compiler_jit(zf_compiler *compiler);
zf_context *zf_compiler_context(zf_compiler *compiler);
const zf_compiler_options *zf_compiler_options_of(const zf_compiler *compiler);

/// The fault switch (cg_sites.h) of the code that is made from now on; NULL: none. For one thread at a time.
struct zf_fault_sites *zf_compiler_sites(const zf_compiler *compiler);
void zf_compiler_set_sites(zf_compiler *compiler, struct zf_fault_sites *sites);

/// Leaves the checks of what streams hold out of kernels that are made from now on, so that their cost can be measured. Such a
/// kernel reads and writes anywhere when its file lies: only for files that this process has decoded with checks before. What is
/// checked once a block, before kernels run, stays, and so does everything in modules. For one thread at a time.
bool zf_compiler_unchecked(const zf_compiler *compiler);
void zf_compiler_set_unchecked(zf_compiler *compiler, bool unchecked);

/// Gives every stage of decoders that are made from now on a kernel of its own, whose elements lie in memory before the next one
/// takes them, so that what fusing is worth can be measured. Such plans have a seek tree for each ordered stage: files that were
/// written for fused ones fit where they have no more than one such stage. For one thread at a time.
bool zf_compiler_unfused(const zf_compiler *compiler);
void zf_compiler_set_unfused(zf_compiler *compiler, bool unfused);

/// What decoders that are made from now on choose for the kernels of accelerators: at first what zf_compiler_options says. NULL:
/// nothing. For one thread at a time.
const zf_choices *zf_compiler_choices(const zf_compiler *compiler);
void zf_compiler_set_choices(zf_compiler *compiler, const zf_choices *choices);

/// What was found of kernels of the device that wants code for a target (tuned.h): in the file that the options name, or else in
/// the cache. NULL: nothing, or it is not wanted, or choices were made by the above. It lives as long as the compiler.
const struct zf_tuned_device *zf_compiler_tuned(zf_compiler *compiler, zf_abi_target target);

/// Has a line logged once no lock of the compiler is held: who logs may use the library.
void zf_compiler_note(zf_compiler *compiler, zf_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));
/// Logs what was noted. Called without locks.
void zf_compiler_log_noted(zf_compiler *compiler);

/// The C functions that compiled encode bodies call: for zf_jit_options.symbols (encode_symbols.c).
/// Fills `out` (may be NULL) and returns how many there are.
size_t zf_encode_symbols(zf_jit_symbol *out);

#endif
