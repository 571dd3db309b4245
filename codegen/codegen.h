// Code generation for kernels, as other rooms see it: code for a plan, the form of a kernel, and its choices. The JIT comes with
// it. Encoders have codegen_encode.h.
#ifndef ZF_CODEGEN_CODEGEN_H
#define ZF_CODEGEN_CODEGEN_H

#include "codegen/llvm/jit.h"
#include "patterns/plan/plan.h"
#include "runtime/base/private.h"

/// How a kernel runs on a GPU. All texts are static, without a full stop.
typedef struct zf_codegen_form_info {
    const char *name; ///< of the form: "map"
    const char *use;  ///< what the form runs: "elements that do not depend on each other"
    const char *tile; ///< who makes a tile: "a thread block; each thread makes up to 16 contiguous bytes at a time"
    bool parallel;    ///< false: the form is `sequential`, where one thread makes a whole tile or chunk
    uint32_t node;    ///< graph node that keeps the kernel from being parallel; the kernel's root where it is parallel
    const char
        *why; ///< not parallel: the reason, with the algorithm of `node` as its subject ("adds floats in order, ..."); else NULL
    const char *hint;      ///< a rewrite that would make it parallel, in the imperative mood; NULL: none is known
    const char *walk;      ///< of chunks without lanes that a warp walks: how it does; else NULL
    const char *walk_why;  ///< why it does not in the fastest way; NULL: it does, or nothing is known
    uint32_t warps;        ///< of a chunk with records: 1, or one that walks it and others that make its elements; else 0
    const char *warps_why; ///< why so many; NULL where `warps` is 0
} zf_codegen_form_info;

/// Describes how a kernel of a plan for a GPU runs. Returns false for a plan of the host, whose kernels are loops over tiles.
/// Depends on nothing but the plan and its choices.
bool zf_codegen_form(const zf_plan *plan, const zf_kernel *kernel, zf_codegen_form_info *out);

enum { ZF_CODEGEN_NAME = 24 }; ///< bytes of a kernel's name

/// Which code of a plan is wanted. All pointers are the caller's.
typedef struct zf_codegen_request {
    const zf_plan *plan;
    zf_abi_target target;         ///< the plan's, with the architecture
    const uint64_t *shaping;      ///< values in the order of plan->shaping; NULL: the general form
    bool unchecked;               ///< leaves checks of stream contents out
    bool no_lines;                ///< kernels of accelerators do not name lines of the `.zf` text
    struct zf_fault_sites *sites; ///< the fault switch of tests; NULL: none
    zf_compile_budget *budget;    ///< of the column; NULL: no limit
} zf_codegen_request;

/// Code that can run. `abi` points into the other members.
typedef struct zf_codegen_code {
    zf_abi_code abi;
    zf_jit_code *loaded;
    char (*names)[ZF_CODEGEN_NAME]; ///< of the kernels of accelerators
    const char **files;             ///< of places in emulated kernels
    zf_text image;                  ///< PTX
} zf_codegen_code;

/// Builds, or finds in the disk cache, the code of all kernels of a plan, for this process or a GPU.
/// Free `*out` with zf_codegen_free, also after an error. Errors: ZF_ERR_UNSUPPORTED with the diagnostic where a form is not
/// lowered. Any thread.
zf_status zf_codegen_build(zf_jit *jit, const zf_codegen_request *request, zf_codegen_code *out, zf_error *error);
/// Frees code that nothing runs any more, and empties it.
void zf_codegen_free(zf_jit *jit, zf_codegen_code *code);

/// Code for a module: for any machine of a CPU level instead of the machine at hand.
typedef struct zf_exported_code {
    zf_text object;                 ///< ELF: the kernels of the host
    uint32_t stack_bytes;           ///< theirs, as zf_abi_code has it
    zf_text image;                  ///< NVPTX: PTX
    zf_abi_simt_kernel *simt;       ///< NVPTX: per kernel
    char (*names)[ZF_CODEGEN_NAME]; ///< theirs
} zf_exported_code;
/// Compiles code for a module. `cpu`: "x86-64-v3". Free `*out` with zf_exported_code_free. Any thread.
zf_status zf_codegen_export(zf_jit *jit, const zf_codegen_request *request, const char *cpu, zf_exported_code *out,
                            zf_error *error);
void zf_exported_code_free(zf_exported_code *code);

/// Appends the text of the code at a stage: LLVM IR or assembly. Any thread.
zf_status zf_codegen_print(zf_jit *jit, const zf_codegen_request *request, zf_jit_stage stage, zf_text *out, zf_error *error);

/// Writes the name of the function of kernel `index`.
void zf_codegen_kernel_name(uint32_t index, char name[ZF_CODEGEN_NAME]);

enum { ZF_CODEGEN_VERSION = 32 };
/// Writes the version of LLVM: "19.1.7".
void zf_codegen_llvm_version(char text[ZF_CODEGEN_VERSION]);

// ---- Choices (patterns/plan/choices.h) ----------------------------------------------------------------------------

enum { ZF_CHOICE_VALUES = 16 };

/// The values that each choice of a kernel may have, ascending. Some combinations are illegal: zf_choice_space_allows.
typedef struct zf_choice_space {
    uint32_t kernel;                  ///< number in its plan
    const char *form;                 ///< name of the form that the kernel has by default; static
    uint32_t warp;                    ///< threads of a warp
    uint32_t counts[ZF_CHOICE_KINDS]; ///< 0: the form has no such choice
    uint32_t values[ZF_CHOICE_KINDS][ZF_CHOICE_VALUES];
    uint32_t least_tile;     ///< outputs of a tile, at least; 0: any number
    uint32_t staged_outputs; ///< STAGE copies the words of a multiple of so many outputs; 0: any number
    zf_choice defaults;      ///< values of choices that are not made; a kind without one is decided case by case
} zf_choice_space;

/// Returns the choices of a kernel of a plan for a GPU. They do not depend on what is chosen. Every legal combination makes the
/// same bytes and, where whole blocks are decoded, the same errors. A tile that a range of rows cuts is checked whole, and its
/// length is a choice: a violation in a row outside the range is reported under some choices only. Any thread.
ZF_PRIVATE_API zf_choice_space zf_codegen_space(const zf_plan *plan, const zf_kernel *kernel);
/// Returns whether a kernel may have a choice. If not, appends the reason to `reason` (may be NULL).
ZF_PRIVATE_API bool zf_choice_space_allows(const zf_choice_space *space, const zf_choice *choice, zf_text *reason);
/// Returns `registers`, or the most with which a thread block of so many threads fits into a multiprocessor. 0: no limit.
uint32_t zf_codegen_registers_within(uint32_t registers, uint32_t threads);
/// Checks that the kernels of a plan, which was made with `choices` (may be NULL), may have them. ZF_ERR_USAGE names the column.
/// A plan of the host ignores choices.
zf_status zf_codegen_choices_check(const zf_plan *plan, const zf_choices *choices, zf_error *error);
/// Appends a list of the kernels of a plan for a GPU with their choices: text, or a JSON object.
void zf_codegen_choices_text(const zf_plan *plan, zf_text *out);
void zf_codegen_choices_json(const zf_plan *plan, zf_text *out);

/// Returns the type of what a kernel of a plan for an accelerator stores.
zf_type zf_codegen_stored_type(const zf_plan *plan, const zf_kernel *kernel);

#endif
