// The compilers whose code is compared with the interpreter, and one run of one block through generated code, in memory that
// shows every stray access.
#ifndef ZF_TESTS_DIFF_MACHINE_H
#define ZF_TESTS_DIFF_MACHINE_H

#include "compiler/decoder/decoder.h"
#include "emulator/emu.h"
#include "tests/interp/interp.h"

/// Levels are those of the host, -O0 and -O3; DIFF_GPU is the emulated GPU (at -O0), or the one that the environment names in
/// ZF_TEST_DEVICE=cuda (at -O3). DIFF_FORMS count all.
enum { DIFF_LEVELS = 2, DIFF_GPU = DIFF_LEVELS, DIFF_FORMS };

/// A compiler for each level. Nothing is kept on disk.
typedef struct diff_machine {
    zf_context *contexts[DIFF_LEVELS];
    zf_compiler *compilers[DIFF_LEVELS];
    zf_accelerator *gpu;
    bool emulated;                  ///< the machine's own; else the first context's
    struct diff_choosing *choosing; ///< NULL: GPU kernels are as they are by default (diff_choose.c)
    uint32_t warps;                 ///< of chunks that may have as many; 0: the default
} diff_machine;

/// The compiler and the target of a form.
zf_compiler *diff_compiler(const diff_machine *m, unsigned form);
zf_abi_target diff_target(const diff_machine *m, unsigned form);

/// With the library of `std_dir`; NULL: the source tree's. ZF_TEST_CHUNK_THREADS is its zf_compiler_options.chunk_threads.
/// ZF_TEST_CHOICES, a number: GPU kernels have choices, others for each number. Else ZF_TEST_CHUNK_WARPS is the warps of chunks
/// that may have as many.
bool diff_machine_open(diff_machine *m, const char *std_dir, zf_text *message);
void diff_machine_close(diff_machine *m);
const char *diff_level_name(unsigned form); ///< "-O0"

typedef enum diff_kind {
    DIFF_BYTES,    ///< every element was made
    DIFF_VIOLATED, ///< a check failed, of the block or in a kernel
    DIFF_FAULT,    ///< it died, hung, wrote where it must not, or failed for another reason
} diff_kind;

/// The result of one run. `diff_result_free` releases the bytes.
typedef struct diff_result {
    diff_kind kind;
    uint8_t *bytes;
    uint64_t size;
    uint8_t *validity;  ///< nullable columns: (rows + 7) / 8 bytes
    int64_t *offsets;   ///< strings: rows + 1, the first 0
    unsigned violation; ///< VIOLATED: 1 for V01; 0: a header that contradicts itself
    bool at_row;        ///< VIOLATED: the kernel that makes the column reported it
    uint64_t row;       ///< there
    char text[900];     ///< VIOLATED, FAULT: for a person
} diff_result;

void diff_result_free(diff_result *result);

/// A block laid out as it stands in a file, in memory of its own that ends where it ends.
typedef struct diff_laid {
    uint8_t *bytes;
    uint64_t size;
} diff_laid;

/// Seek states, one array per tree as zf_abi_args.record has them. `diff_records_free` releases them.
typedef struct diff_records {
    uint64_t **values;
    uint64_t *entries;
    uint32_t trees;
} diff_records;

diff_records diff_records_make(const zf_decoder *decoder, const uint64_t *counts);
void diff_records_free(diff_records *records);

/// A param as it is laid out: the interpreter takes the bits of its type, whatever else a block says.
uint64_t diff_param(const zf_decoder *decoder, const interp_block *block, uint32_t param);
/// Lays out a block, with states when `records` is not NULL, also one whose counts lie. False with *result when it cannot be.
bool diff_lay_out(const zf_decoder *decoder, const interp_block *block, const diff_records *records, diff_laid *out,
                  diff_result *result);

/// How to run a block: on the host, or on the machine's GPU, whichever the decoder was made for.
typedef struct diff_call {
    const diff_machine *machine;
    const zf_decoder *decoder;
    const zf_abi_code *code;
    const diff_laid *laid;
    uint64_t begin, end;  ///< rows; end UINT64_MAX: all
    diff_records *record; ///< not NULL: mode RECORD
    bool states_alone;    ///< with `record`: mode STATES, which leaves the rows as they are or makes them
    unsigned threads;
    uint64_t order; ///< emulated: the seed of the order of threads
    bool unaligned; ///< on a GPU the output begins an element behind where vectors are aligned
    bool search;    ///< on a GPU kernels search the table for the tile's block, as they do where blocks have different sizes
} diff_call;

void diff_run(const diff_call *call, diff_result *out);

/// The text for a process that dies all the same: the command that repeats the case.
void diff_set_case(const char *command);

#endif
