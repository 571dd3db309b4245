// zipflow: the compiler. It loads programs (`.zf`), encodes columns, and makes code that decodes them.
//
// The compiler uses LLVM, whose handler of fatal errors is process-wide. zf_compiler_create installs a handler that ends the call
// with ZF_ERR_INTERNAL and abandons the call's LLVM context. C++'s handler of missing memory (std::set_new_handler) is
// process-wide, too: if memory ends inside LLVM, the call returns ZF_ERR_MEMORY, and no compiler of the process makes code
// afterwards. Outside of these calls both handlers do what the previous ones did.
//
// Threads: many threads may use one compiler and one program at once.
#ifndef ZIPFLOW_COMPILE_H
#define ZIPFLOW_COMPILE_H

#include "zipflow/zipflow.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zf_compiler zf_compiler;
typedef struct zf_program zf_program;

typedef struct zf_compiler_options {
    size_t size;         ///< ZF_INIT
    const char *std_dir; ///< directory of std.zf; NULL: $ZIPFLOW_STD, else beside the program, else as installed
    unsigned optimise;   ///< 0: the default (3); 1..4 stand for -O0 .. -O3
    bool general_only;   ///< never specialise on shaping values
    /// GPU threads that walk a chunk of a program without lanes: 1, or 32, which share the elements that are emitted over ranges
    /// where they can (booleans share bytes). 0: as the program's emits suggest. Not together with WALK in `choices`.
    unsigned chunk_threads;
    /// How the GPU kernels of every column are lowered: KERNEL:NAME=VALUE,NAME=VALUE,...,KERNEL:..., such as
    /// "0:THREADS=128,L=8,1:REGISTERS=40". `zfc explain --choices` lists the kernels of a column and their legal values. A column
    /// without such a kernel, or with an illegal value, is not decoded (ZF_ERR_USAGE). NULL: tuned results, else the defaults.
    const char *choices;
    /// A file of tuned results (`zfc tune -o`), in place of those in the context's cache. Results of other GPU models and illegal
    /// ones are ignored. It decides how fast kernels run, never what they make.
    const char *tuned;
    bool untuned;  ///< use no tuned results; not together with `tuned`
    bool sanitize; ///< instrument generated host code with AddressSanitizer (the process must have its runtime)
} zf_compiler_options;

/// Creates a compiler, and makes it the context's source of code: containers of the context can then be decoded.
/// A context has one compiler at a time: a second is ZF_ERR_USAGE until the first is freed.
/// NULL options are the defaults. Free the compiler after the context's containers and programs, and before the context.
/// The compiler keeps up to 256 idle decoders, found by the text of the codecs: files of one table share plans and code.
/// Errors: ZF_ERR_USAGE for options that contradict each other or a second compiler, ZF_ERR_IO or ZF_ERR_INPUT for `tuned`,
/// ZF_ERR_MEMORY.
ZF_API zf_status zf_compiler_create(zf_context *context, const zf_compiler_options *options, zf_compiler **out, zf_error *error);
ZF_API void zf_compiler_free(zf_compiler *compiler);

/// Returns LLVM's version, or the targets of this build separated by spaces. Static texts.
ZF_API const char *zf_compiler_llvm_version(void);
ZF_API const char *zf_compiler_targets(void);

/// Loads and checks a program. Free `*out` with zf_program_free, also after an error, before the compiler.
/// Errors: ZF_ERR_INPUT with the first diagnostic of the text; `*out` has all of them (zf_program_diagnostics).
ZF_API zf_status zf_program_load(zf_compiler *compiler, const char *path, zf_program **out, zf_error *error);
ZF_API void zf_program_free(zf_program *program);
typedef enum zf_diagnostic_form { ZF_DIAGNOSTICS_HUMAN, ZF_DIAGNOSTICS_LINE, ZF_DIAGNOSTICS_JSON } zf_diagnostic_form;
/// Returns all diagnostics as text, "" if there are none; it lives as long as the program. Any thread.
ZF_API const char *zf_program_diagnostics(zf_program *program, zf_diagnostic_form form);

// ---- Encoding -------------------------------------------------------------------------------------------------

/// The plain data of a column, in memory of the caller.
///
/// `values`: numbers: one element per row; booleans: one byte per row, 0 or 1; strings: the characters. `offsets`: strings: rows
/// + 1 offsets into `values`, which do not decrease. `validity`: a bitmap, bit 0 first, 1 for a value and 0 for null; NULL: no
/// nulls.
typedef struct zf_encode_column {
    const char *name;
    const void *values;
    const int64_t *offsets;
    const uint8_t *validity;
} zf_encode_column;

/// Options of zf_encode. Zeroes, or a NULL pointer in place of the struct, mean the defaults.
typedef struct zf_encode_options {
    size_t size;             ///< ZF_INIT
    uint64_t rows_per_block; ///< a multiple of 4096, at most 2^31; 0: 16 MiB of plain data
    /// Elements between the states of ordered stages, at which decoding can start: a power of two from 256 to 65536. 0: 4096, or
    /// 1024 for columns that are scans. Fewer states store fewer bytes; the interval affects the speed of GPUs.
    unsigned seek_interval;
    unsigned threads; ///< more than 256 count as 256; 0: the context's number
    bool overwrite;   ///< replace an existing file
    /// Ordered stages that get kernels and states of their own instead of being fused with their consumer, by the streams that
    /// they make: "COLUMN.STREAM" or "COLUMN.STREAM.STREAM" between commas, or "all"; NULL: none. GPUs decode fused stages
    /// faster, CPUs often the others. A stream that no ordered stage makes is ZF_ERR_USAGE.
    const char *unfused;
    /// Receives the progress after each block, from one thread at a time. Returns false to cancel the encoding, which then
    /// returns ZF_ERR_CANCELLED (ZF1115) and leaves no file. NULL: no reports.
    bool (*progress)(void *user, uint64_t blocks_done, uint64_t blocks);
    void *progress_user;
} zf_encode_options;

/// Statistics of encoding one column.
typedef struct zf_encode_stats {
    size_t size;           ///< ZF_INIT
    double encode_seconds; ///< of all threads together: encode bodies and seek states
    double verify_seconds; ///< of all threads together: decoding and comparing
    uint64_t plain_bytes, stored_bytes, blocks;
} zf_encode_stats;

/// Encodes a table to a file.
///
/// `table`: NULL: the program's only one. `columns`: every column of the table once, in any order, with `rows` rows each. An
/// array of more than PTRDIFF_MAX bytes is ZF_ERR_USAGE. Each block is decoded and compared before it is written. The file
/// appears under its name when it is complete; after an error nothing new is there, except after ZF1507: the file is there, but
/// its name may not survive a crash. `options` may be NULL. `stats` may be NULL; otherwise it has one entry per column, in the
/// table's order, and the size of the first is that of all.
ZF_API zf_status zf_encode(zf_program *program, const char *table, const zf_encode_column *columns, size_t column_count,
                           uint64_t rows, const zf_encode_options *options, const char *path, zf_encode_stats *stats,
                           zf_error *error);

// ---- Modules --------------------------------------------------------------------------------------------------

/// The contents of a module (`.zfm`). Zeroes, or a NULL pointer, are the defaults.
typedef struct zf_module_options {
    size_t size;      ///< ZF_INIT
    const char *cpu;  ///< native code runs on x86-64 CPUs of this level and above: "x86-64-v2", "x86-64-v3" (NULL), "x86-64-v4"
    bool no_host;     ///< no code to decode on CPUs
    bool no_nvptx;    ///< no code for NVIDIA GPUs
    bool overwrite;   ///< replace an existing file
    unsigned threads; ///< 0: the context's
    /// Receives a line for code that is left out, with the reason, on the caller's thread. May be NULL.
    void (*note)(void *user, const char *line);
    void *note_user;
} zf_module_options;

/// The contents and the size of a compiled module.
typedef struct zf_module_stats {
    size_t size;           ///< ZF_INIT
    uint64_t columns;      ///< that have code
    uint64_t general;      ///< codes for all params: one for each vector of alternatives and target
    uint64_t specialised;  ///< codes for one tuple of params
    uint64_t native_bytes; ///< code for CPUs
    uint64_t image_bytes;  ///< code for GPUs
    uint64_t bytes;        ///< of the file
} zf_module_stats;

/// Compiles `table` of a program (NULL: all its tables) into the module `path`, which serves any file of that table.
/// It has the general form of every column under every vector of alternatives, at most 64 for a column. Columns that this version
/// does not lower are left out. `stats` may be NULL. The file appears under its name when it is complete, as zf_encode's does.
/// Errors: ZF_ERR_UNSUPPORTED if no column is left, ZF_ERR_USAGE, ZF_ERR_IO, ZF_ERR_MEMORY.
ZF_API zf_status zf_module_compile(zf_program *program, const char *table, const zf_module_options *options, const char *path,
                                   zf_module_stats *stats, zf_error *error);
/// Compiles a module for the table of a container, from the text that it carries; else as zf_module_compile.
/// It has also code for each tuple of shaping params of the container's blocks, at most 64 for a vector of alternatives.
ZF_API zf_status zf_module_compile_for(zf_compiler *compiler, zf_container *container, const zf_module_options *options,
                                       const char *path, zf_module_stats *stats, zf_error *error);

#ifdef __cplusplus
}
#endif
#endif
