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

/// A column's plain data, in memory. `values` of booleans is one byte each (0 or 1); of strings the characters, with
/// `offsets` (rows + 1). `validity` (bitmap, bit 0 first; 1 is a value, 0 null) is NULL
/// where nothing is null.
typedef struct zf_encode_column {
    const char *name;
    const void *values;
    const int64_t *offsets;
    const uint8_t *validity;
} zf_encode_column;

typedef struct zf_encode_options {
    size_t size;             ///< ZF_INIT
    uint64_t rows_per_block; ///< 0: 16 MiB of plain data; otherwise a multiple of 4096
    /// Elements between the states that ordered stages keep, with which decoding begins in the middle: a power of two from 256 to
    /// 65536; 0: 4096, or 1024 where the column is a scan. Fewer states are fewer stored bytes; how fast a GPU decodes depends on
    /// it.
    unsigned seek_interval;
    unsigned threads; ///< 0: the context's
    bool overwrite;   ///< replace an existing file
    /// Ordered stages that are decoded by kernels of their own into memory, each with states of its own, where they would be
    /// steps of what reads them: the streams that they make, as "COLUMN.STREAM" or "COLUMN.STREAM.STREAM" between commas, or
    /// "all"; NULL: none. GPUs decode fused stages faster, CPUs often those that are not. Read during the call alone. A stream
    /// that no ordered stage makes is ZF_ERR_USAGE.
    const char *unfused;
    /// Called after every block, from one thread at a time; returns false to cancel the encoding, which then returns
    /// ZF_ERR_CANCELLED (ZF1115) and leaves no file. May be NULL.
    bool (*progress)(void *user, uint64_t blocks_done, uint64_t blocks);
    void *progress_user;
} zf_encode_options;

/// What encoding one column took.
typedef struct zf_encode_stats {
    size_t size;           ///< ZF_INIT
    double encode_seconds; ///< of a core, over all blocks: encode bodies and seek states
    double verify_seconds; ///< decoding and comparing
    uint64_t plain_bytes, stored_bytes, blocks;
} zf_encode_stats;

/// Encodes `rows` rows of the columns of `table` (NULL: the program's only one) to `path`. Every column of the table must be
/// given once, in any order. Every block is decoded and compared before it is written. The file appears under its name only
/// when it is complete; after an error nothing new is there, but for ZF1507: it is there, and its name may not survive a crash.
/// `stats` may be NULL, else one per column of the table, in the table's order.
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
