// zipflow: the compiler. Programs (`.zf`), encoding, and code for the runtime on machines that have the compiler.
//
// The compiler uses LLVM. LLVM's handler of fatal errors is process-wide: `zf_compiler_create` installs one that leaves by
// longjmp and turns the error into a ZF_ERR_INTERNAL of the call that hit it; that call's LLVM context is abandoned. So it is
// where memory ends inside LLVM, by C++'s handler of that (std::set_new_handler), which is the process's, too: ZF_ERR_MEMORY, and
// no compiler of the process makes code from then on. Outside of these calls the handler does what the one before it did.
//
// Threads: a compiler may be used by many threads at once. A program is read-only once loaded.
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
    const char *std_dir; ///< where std.zf lies; NULL: $ZIPFLOW_STD, else beside the program, else as installed
    unsigned optimise;   ///< 0: the default (3); 1..4 stand for -O0 .. -O3
    bool general_only;   ///< never specialise on shaping values
    /// Threads of a GPU that walk a chunk of a program without lanes: 1, or 32, a warp, which shares what is emitted over ranges
    /// (wherever it can: booleans share bytes); 0: as the program's emits suggest. Not beside a WALK in `choices`.
    unsigned chunk_threads;
    /// How kernels of GPUs are lowered, of each column that is decoded: KERNEL:NAME=VALUE,NAME=VALUE,...,KERNEL:..., such as
    /// "0:THREADS=128,L=8,1:REGISTERS=40". `zfc explain --choices` lists the kernels of a column and what each may have; a column
    /// that has no such kernel, or whose kernel may not have it, is not decoded (ZF_ERR_USAGE). NULL: all by default.
    const char *choices;
    /// A file of kernels that `zfc tune -o` found to be best lowered so, used on GPUs of that model in place of what is kept in
    /// the context's cache. It says nothing of what kernels make: what it has of none, or may not have, is by default.
    const char *tuned;
    bool untuned;  ///< what is kept is not used either; not beside `tuned`
    bool sanitize; ///< instrument generated host code with AddressSanitizer (the process must have its runtime)
} zf_compiler_options;

/// Makes a compiler and makes it the context's source of code, so that containers of the context can be decoded. Free it
/// after the context's containers and before the context.
ZF_API zf_status zf_compiler_create(zf_context *context, const zf_compiler_options *options, zf_compiler **out, zf_error *error);
ZF_API void zf_compiler_free(zf_compiler *compiler);

/// LLVM's version, and the targets that this build has, separated by spaces. Static.
ZF_API const char *zf_compiler_llvm_version(void);
ZF_API const char *zf_compiler_targets(void);

/// Loads and checks a program. On an error in the text returns ZF_ERR_INPUT with the first diagnostic in `*error`, and still
/// sets `*out`, from which all can be read; free it either way.
ZF_API zf_status zf_program_load(zf_compiler *compiler, const char *path, zf_program **out, zf_error *error);
ZF_API void zf_program_free(zf_program *program);
typedef enum zf_diagnostic_form { ZF_DIAGNOSTICS_HUMAN, ZF_DIAGNOSTICS_LINE, ZF_DIAGNOSTICS_JSON } zf_diagnostic_form;
/// All diagnostics as text; lives as long as the program.
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
    unsigned threads; ///< at most 256; 0: the context's number
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
/// `table`: NULL: the program's only one. `columns`: every column of the table once, in any order, with `rows` rows each. Each
/// block is decoded and compared before it is written. The file appears under its name when it is complete; after an error
/// nothing new is there, except after ZF1507: the file is there, but its name may not survive a crash. `options` may be NULL.
/// `stats` may be NULL; otherwise it has one entry per column, in the table's order, and the size of the first is that of all.
ZF_API zf_status zf_encode(zf_program *program, const char *table, const zf_encode_column *columns, size_t column_count,
                           uint64_t rows, const zf_encode_options *options, const char *path, zf_encode_stats *stats,
                           zf_error *error);

// ---- Modules --------------------------------------------------------------------------------------------------

/// What a module (`.zfm`) is to hold. Zeroes, or a NULL pointer in place of it, mean the defaults.
typedef struct zf_module_options {
    size_t size;      ///< ZF_INIT
    const char *cpu;  ///< native code runs on x86-64 CPUs of this level and above: "x86-64-v2", "x86-64-v3" (NULL), "x86-64-v4"
    bool no_host;     ///< no code to decode on CPUs; checks that run before a GPU does are native all the same
    bool no_nvptx;    ///< no code for NVIDIA GPUs
    bool overwrite;   ///< replace an existing file
    unsigned threads; ///< 0: the context's
    /// Told of what is left out and why, one line each, from the caller's thread. May be NULL.
    void (*note)(void *user, const char *line);
    void *note_user;
} zf_module_options;

/// What a module came to hold.
typedef struct zf_module_stats {
    size_t size;           ///< ZF_INIT
    uint64_t columns;      ///< that have code
    uint64_t general;      ///< codes for all params: one for each vector of alternatives and target
    uint64_t specialised;  ///< codes for one tuple of params
    uint64_t native_bytes; ///< code for CPUs
    uint64_t image_bytes;  ///< code for GPUs
    uint64_t bytes;        ///< of the file
} zf_module_stats;

/// Compiles `table` of a program (NULL: all its tables) into a module: the general form of every column under every vector of
/// alternatives, of which at most 64 a column are compiled. It serves any file of that table. Columns that this version does not
/// lower are left out; that there is no other is ZF_ERR_UNSUPPORTED. The file appears under its name when it is complete, as
/// zf_encode's does. `stats` may be NULL.
ZF_API zf_status zf_module_compile(zf_program *program, const char *table, const zf_module_options *options, const char *path,
                                   zf_module_stats *stats, zf_error *error);
/// The same for the table of a file, from the text that it carries; besides, code for each tuple of params that occurs in its
/// blocks, at most 64 for a vector of alternatives.
ZF_API zf_status zf_module_compile_for(zf_compiler *compiler, zf_container *container, const zf_module_options *options,
                                       const char *path, zf_module_stats *stats, zf_error *error);

#ifdef __cplusplus
}
#endif
#endif
