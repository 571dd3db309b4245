// zipflow: the public interface of the compiler. It loads programs (`.zf`), encodes columns, makes code that decodes them, and
// runs queries.
//
// Objects. A `zf_compiler` belongs to a context, a `zf_program` to a compiler, a `zf_table_writer` to a program, a
// `zf_prepared_query` to a program and a container. Free programs, and close the context's containers, before the compiler; free
// the compiler before the context. Functions that free ignore NULL.
//
// Errors, ownership and structs that may grow: as in zipflow.h. NULL for an object, a path or an output of a function that
// returns a status is ZF_ERR_USAGE (ZF1101), unless its comment says that it may be NULL. Any call may return ZF_ERR_MEMORY and
// ZF_ERR_INTERNAL.
//
// Threads. Many threads may use one compiler and one program at once, except while it is freed.
//
// LLVM. The compiler uses LLVM, whose handlers of fatal errors and of missing memory are process-wide. Each call that enters
// LLVM, while no other does, installs its own: another user of the same libLLVM loses the ones that it installed, since LLVM does
// not tell them. A fatal error ends the call with ZF_ERR_INTERNAL, and the call's LLVM context is abandoned. If memory ends
// inside LLVM, the call returns ZF_ERR_MEMORY. After either, a thread sleeps for the rest of the process, and the stack on which
// LLVM was stays, since lists of LLVM may have objects on it. After missing memory the next call first has LLVM compile a
// small module; if LLVM cannot, because a lock of the process stayed taken, no compiler of the process makes code afterwards, and
// the error says this. C++'s handler of missing memory (std::set_new_handler) is process-wide, too; outside of these calls it
// does what the previous one did. A fatal error of another user ends the process, as it would without this library, but without
// LLVM's message. The library stays in the process after dlclose (it is linked with `-z nodelete`).
//
// Stacks. Text is read, and code is made, on threads of their own with deep stacks, all signals but those of faults blocked; so
// are blocks decoded if a kernel has large local arrays. A caller's stack of 128 KiB is enough.
#ifndef ZIPFLOW_COMPILE_H
#define ZIPFLOW_COMPILE_H

#include "zipflow/zipflow.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zf_compiler zf_compiler;         ///< a source of code for one context
typedef struct zf_program zf_program;           ///< a loaded `.zf` file, with everything that it imports
typedef struct zf_table_writer zf_table_writer; ///< a table that is encoded in batches of rows

/// Options of zf_compiler_create. Zeroes, or a NULL pointer in place of the struct, mean the defaults. Strings are copied.
typedef struct zf_compiler_options {
    size_t size;         ///< ZF_INIT
    const char *std_dir; ///< directory of std.zf; NULL: $ZIPFLOW_STD, else beside the program or the library
    unsigned optimise;   ///< 0: the default (3); 1..4 stand for -O0 .. -O3
    bool general_only;   ///< never specialise on shaping values
    /// GPU threads that walk a chunk of a program without lanes: 1 or 32. 32 threads share the elements of a range that is
    /// emitted, unless they are booleans, which share bytes. 0: chosen by the program's emits. Not together with WALK in
    /// `choices`.
    unsigned chunk_threads;
    /// Overrides how the GPU kernels of every column are lowered: KERNEL:NAME=VALUE,NAME=VALUE,...,KERNEL:..., such as
    /// "0:THREADS=128,L=8,1:REGISTERS=40". `zfc explain --choices` lists the kernels of a column and their legal values. A decode
    /// of a column without such a kernel, or with an illegal value, fails with ZF_ERR_USAGE. NULL: tuned results, else the
    /// defaults.
    const char *choices;
    /// A file of tuned results (`zfc tune -o`), used in place of those in the context's cache. Results of other GPU models and
    /// illegal ones are ignored. Tuned results change the speed of kernels, never their output.
    const char *tuned;
    bool untuned;  ///< use no tuned results; not together with `tuned`
    bool sanitize; ///< instrument generated host code with AddressSanitizer (the process must have its runtime)
    /// Tuples of shaping values that get code of their own: of each column under each vector of its alternatives, and of all
    /// files of its table together. The general form, which is slower, serves the blocks of further tuples. 1 to 256; 0: 8. Each
    /// tuple that occurs costs a compilation, memory for its code, and a launch more for each kernel of a decode on a GPU.
    size_t shaping_tuples;
    /// Processor seconds that compiling one column may take: for a file that is decoded all code of the column together, for a
    /// table that is encoded its encoders as well, for a module each code. A call whose column takes longer fails with
    /// ZF_ERR_UNSUPPORTED (ZF1411). LLVM ends between two of its passes, so one long pass may overrun. Many tuples of shaping
    /// values need more. 0: 20 seconds; INFINITY: no limit.
    double compile_budget;
} zf_compiler_options;

/// Creates a compiler, and makes it the context's source of code: containers of the context can then be decoded.
///
/// `options` may be NULL. A context has one compiler at a time: a second is ZF_ERR_USAGE until the first is freed. The compiler
/// keeps up to 256 idle decoders, found by the text of the codecs: files of one table share plans and code. Free it with
/// zf_compiler_free.
///
/// Errors: ZF_ERR_USAGE for options that are invalid or contradict each other, or for a second compiler; ZF_ERR_IO or
/// ZF_ERR_INPUT (ZF1217) for the file `tuned`; ZF_ERR_MEMORY. `*out` is NULL then.
ZF_API zf_status zf_compiler_create(zf_context *context, const zf_compiler_options *options, zf_compiler **out, zf_error *error);
/// Frees a compiler. Close the context's containers and free the compiler's programs first; no call may use it meanwhile.
///
/// The context may then get another compiler. The code of loaded modules still decodes.
ZF_API void zf_compiler_free(zf_compiler *compiler);

/// Returns LLVM's version, "19.1.7". Static, never NULL. Any thread.
ZF_API const char *zf_compiler_llvm_version(void);
/// Returns the names of this build's targets, separated by spaces. Static, never NULL. Any thread.
ZF_API const char *zf_compiler_targets(void);

/// Loads the program in the file `path` with everything that it imports, and checks it.
///
/// Free `*out` with zf_program_free before the compiler, also after ZF_ERR_INPUT: it then has all diagnostics
/// (zf_program_diagnostics), and no other call takes it. The files may change or go afterwards.
///
/// Errors: ZF_ERR_INPUT with the first error of the text, also for a file that cannot be read; ZF_ERR_USAGE and ZF_ERR_MEMORY,
/// where `*out` is NULL.
ZF_API zf_status zf_program_load(zf_compiler *compiler, const char *path, zf_program **out, zf_error *error);
/// Loads a program from `bytes` bytes of text in memory, as zf_program_load does from a file.
///
/// `name` stands for the path in diagnostics, and imports are found beside it, else in the standard library. It and the text may
/// go afterwards. Errors as for zf_program_load. Any thread.
ZF_API zf_status zf_program_load_text(zf_compiler *compiler, const char *name, const char *text, size_t bytes, zf_program **out,
                                      zf_error *error);
/// Returns the number of columns of a table, each part of a column of lists (zf_list_part) being one; 0 for a table that does not
/// exist, for a program with errors, and for NULL.
///
/// `table`: its name; NULL: the program's only one. Any thread.
ZF_API size_t zf_program_columns(const zf_program *program, const char *table);
/// Describes a column of a table: `name`, `full_name`, `type`, `type_name`, `codec` and `part`; other members are 0.
///
/// `index`: 0 to zf_program_columns - 1; others are ZF_ERR_USAGE (ZF1105). Strings live as long as the program. Any thread.
ZF_API zf_status zf_program_column(zf_program *program, const char *table, size_t index, zf_column_info *out, zf_error *error);
/// Frees a program, before its compiler. No call may use it meanwhile. Files and modules that were made of it stay valid.
ZF_API void zf_program_free(zf_program *program);

/// The form of diagnostics as text.
typedef enum zf_diagnostic_form {
    ZF_DIAGNOSTICS_HUMAN, ///< with the lines of the source and hints
    ZF_DIAGNOSTICS_LINE,  ///< one line each, for editors
    ZF_DIAGNOSTICS_JSON,  ///< an array of JSON objects, "[]" if there are none
} zf_diagnostic_form;
/// Returns all diagnostics of a program as text: errors, warnings and notes.
///
/// "" if there are none (as JSON "[]"), if memory ends, or for NULL; never NULL. The text lives as long as the program. Any
/// thread.
ZF_API const char *zf_program_diagnostics(zf_program *program, zf_diagnostic_form form);

// ---- Encoders outside of the language -------------------------------------------------------------------------

/// A param of an algorithm, in a call of an encoder. Does not change.
typedef struct zf_extern_param {
    const char *name;
    zf_column_type type; ///< a number or a boolean
    bool given;          ///< by the signature or the codec: the encoder reads it. Else the encoder sets it
    uint64_t bits; ///< integers: extended by their sign to 64 bits; f64: its bits; f32: its bits, then zeroes; booleans: 0 or 1
} zf_extern_param;

/// A stream of an algorithm, in a call of an encoder. Does not change.
typedef struct zf_extern_stream {
    const char *name;
    zf_column_type type; ///< a number or a boolean
    void *elements;      ///< room for `capacity` elements in a row, little-endian, aligned to one; booleans: a byte each
    uint64_t capacity;   ///< as zf_extern_encoder.bound said
    uint64_t count;      ///< elements that `encode` wrote, from the first on: at most `capacity`. 0 before the call
} zf_extern_stream;

/// One call of an encoder: a chunk of a `non_parallel` algorithm, or all elements of a block of another one.
///
/// All pointers are the library's, and valid during the call. The encoder writes `bits` of params that are not given, the
/// elements and `count` of the streams, and `reason`; nothing else.
typedef struct zf_extern_call {
    size_t size;               ///< ZF_INIT
    const char *algorithm;     ///< its name with its types: "lz4_lib", "packed<u32>"
    zf_column_type type;       ///< of the elements
    const void *values;        ///< `count` elements, little-endian; booleans: a byte each, 0 or 1; strings: the characters
    const uint64_t *offsets;   ///< strings: count + 1 offsets into `values`, of which the first need not be 0; else NULL
    const uint8_t *validity;   ///< nullable elements: a byte each, 1 for a value and 0 for null; else NULL
    uint64_t count;            ///< of a chunk: 1 to the codec's `chunk: N`; of a block: 0 or more
    uint64_t chunk;            ///< number of the chunk in its block, from 0; 0 of another algorithm
    zf_extern_param *params;   ///< as declared
    zf_extern_stream *streams; ///< as declared
    size_t param_count, stream_count;
    char reason[240]; ///< why the encoder refuses: UTF-8, one line; the library ends it with a 0 where that is missing
} zf_extern_call;

/// An encoder for algorithms that say `encode extern "name";`, whose decoder is in the language.
///
/// Algorithms. The streams of a `non_parallel` algorithm must all be `per chunk`; no stream may be of strings or nullable values.
/// An encoder is called with any algorithm that names it, so it looks at types and names of streams and params.
///
/// Chunks. Those of a block are encoded in their order, one call each. A param that is not given has the value that an earlier
/// chunk of the block set (0 before the first), and no call may change it afterwards. Elements are appended to each stream.
///
/// Trials. A block may be encoded several times, and so may 512 rows of it alone, to find the smallest alternative.
///
/// Nothing is trusted. Each block is decoded and compared before it is written, so an encoder that makes wrong streams is
/// refused, as is one that fails, that reports more elements than its bound, or that changes a given param. A write behind the
/// bound is found where it is close, but like any write to foreign memory it may end the process.
///
/// Threads. Several threads call an encoder at the same time, with chunks of different blocks; their stacks may be as small as
/// 128 KiB. An encoder may not throw, and not use the compiler that calls it.
typedef struct zf_extern_encoder {
    size_t size;      ///< ZF_INIT
    const char *name; ///< of `encode extern "name"`; 1 to 255 bytes; copied
    /// Returns how many elements the call may write to stream number `stream` at most. `streams[].elements`, `capacity` and
    /// `count` are not yet set. All bounds of a call together are at most 64 times the block and 256 MiB.
    uint64_t (*bound)(void *user, const zf_extern_call *call, size_t stream);
    /// Encodes. ZF_OK: the streams are written. ZF_ERR_MEMORY: no memory, which ends the encoding. ZF_ERR_UNSUPPORTED: the
    /// encoder cannot run on this machine (ZF0605). Any other status: it refuses the block, which the next alternative gets
    /// (ZF0602). `call->reason` says why.
    zf_status (*encode)(void *user, zf_extern_call *call);
    void *user;
    void (*free_user)(void *user); ///< called once, when the compiler is freed; NULL: nothing
} zf_extern_encoder;

/// Registers an encoder with a compiler, which keeps it until it is freed.
///
/// Encodes that begin afterwards find it. The compiler has encoders of its own, which use shared libraries of the system where
/// they are installed: "lz4", "snappy", "deflate", "zlib", "gzip" and "zstd" (docs/language.md); an encoder of yours with such a
/// name replaces it.
///
/// Errors: ZF_ERR_USAGE for an encoder without `name`, `bound` or `encode`, or for a name that was registered before; `free_user`
/// is not called then. Any thread.
ZF_API zf_status zf_encoder_register(zf_compiler *compiler, const zf_extern_encoder *encoder, zf_error *error);

// ---- Encoding -------------------------------------------------------------------------------------------------

/// The plain data of a column, in memory of the caller, which must not change during the call.
///
/// `values`: numbers: one element per row; booleans: one byte per row, 0 or 1 (any for a null); strings: the characters.
/// `offsets`: strings: rows
/// + 1 offsets into `values`, which do not decrease; NULL for other types. `validity`: nullable columns: (rows + 7) / 8 bytes,
/// lowest bit of a byte first, 1 for a value and 0 for null; NULL: no nulls. `full_name`: the column's name where the data came
/// from, UTF-8 of one line, at most 4,096 bytes, unlike those of other columns; NULL: `name`.
///
/// Columns of lists: `name` is the column's, and `values` is a zf_encode_column of the values, whose own `name` and `full_name`
/// are ignored. `offsets`: rows + 1 rows of the values, which do not decrease: list k has values offsets[k] to offsets[k + 1]
/// - 1. `validity`: of the lists; the values of a null list are left out.
typedef struct zf_encode_column {
    const char *name;
    const void *values;
    const int64_t *offsets;
    const uint8_t *validity;
    const char *full_name;
} zf_encode_column;

/// Options of zf_encode and zf_table_writer_create. Zeroes, or a NULL pointer in place of the struct, mean the defaults.
typedef struct zf_encode_options {
    size_t size; ///< ZF_INIT
    /// At most 2^31. Multiples of 4096 decode fastest: a GPU decodes other blocks to a place of their own, and moves them
    /// (strings only where they have nulls). 0: 16 MiB of plain data; where strings differ so much in length that a block would
    /// have more than 32 MiB, blocks are cut by bytes. Version 1 of the format has multiples of 4096 only.
    uint64_t rows_per_block;
    /// Elements between the stored states of ordered stages, at which decoding can start: a power of two from 256 to 65536.
    /// 0: 4096, or 1024 for columns that are scans, or 512 for scans of eight-byte elements. A larger interval stores fewer bytes
    /// and gives a GPU fewer tiles.
    unsigned seek_interval;
    unsigned threads; ///< more than 256 count as 256; 0: the context's number
    bool overwrite;   ///< replace an existing file
    /// Ordered stages that are not fused with their consumer: they get kernels and states of their own. Each is named by the
    /// stream that it makes, "COLUMN.STREAM" or "COLUMN.STREAM.STREAM", separated by commas; "all"; NULL: none. GPUs decode fused
    /// stages faster, CPUs often the others. A stream that no ordered stage makes is ZF_ERR_USAGE.
    const char *unfused;
    /// Receives the progress after each block; `blocks` is 0 where their number is not known (zf_table_writer, and tables with
    /// lists). Returns false to cancel the encoding, which then returns ZF_ERR_CANCELLED (ZF1115) and leaves no file. NULL: no
    /// reports. Any thread of the encoding calls it, one at a time; the others wait, so it must be fast.
    bool (*progress)(void *user, uint64_t blocks_done, uint64_t blocks);
    void *progress_user;
    /// The version of the format (docs/format.md): 1 or 2; 0: the newest. Version 1 has no place for full names, a schema and
    /// metadata: ZF_ERR_USAGE (ZF1505).
    unsigned format;
    /// The table's Arrow schema, an encapsulated IPC message of at most 16 MiB, which the file keeps as it is; NULL: none.
    const void *schema;
    size_t schema_bytes;
    const zf_metadata *metadata; ///< keys and values that the file keeps, at most 65,536 and 16 MiB
    size_t metadata_count;
    /// Not 0: the file keeps zones of all columns (zf_container_zone), 24 bytes for 65,536 rows. A decode then also compares its
    /// rows with them. Not in version 1 of the format.
    size_t zones;
} zf_encode_options;

/// Statistics of encoding one column.
typedef struct zf_encode_stats {
    size_t size;           ///< ZF_INIT
    double encode_seconds; ///< of all threads together: encode bodies and seek states
    double verify_seconds; ///< of all threads together: decoding and comparing
    uint64_t plain_bytes, stored_bytes, blocks;
} zf_encode_stats;

/// Encodes a table to the file `path`, over several threads, and returns when the file is complete.
///
/// `table`: its name; NULL: the program's only one. `columns`: every column of the table once, in any order, with `rows` rows
/// each; one of lists is one here. An array of more than PTRDIFF_MAX bytes is ZF_ERR_USAGE. `options` may be NULL. `stats` may be
/// NULL; if not, it has zf_program_columns entries, in the table's order, and the size of the first is that of all. They count
/// the work until an error, and are zero if arguments are wrong.
///
/// A block may take the params of an earlier block of its column, if it only needs wider fields for them and grows by less than
/// 1%: each tuple of shaping values costs readers a compilation. The same input gives the same file on any number of threads.
///
/// Each block is decoded and compared before it is written. The file appears under its name when it is complete. After an error
/// nothing new is there, except after ZF1507: the file is there, but its name may not survive a crash.
///
/// Errors: ZF_ERR_USAGE for columns or options that do not fit the table, or a program with errors; ZF_ERR_INPUT for values that
/// the codec refuses (ZF0602, ZF13nn) or changes (ZF0601); ZF_ERR_UNSUPPORTED for a codec that is not lowered; ZF_ERR_IO,
/// also for an existing file without `overwrite` (ZF1501); ZF_ERR_CANCELLED. Several threads may encode tables of one program at
/// the same time.
ZF_API zf_status zf_encode(zf_program *program, const char *table, const zf_encode_column *columns, size_t column_count,
                           uint64_t rows, const zf_encode_options *options, const char *path, zf_encode_stats *stats,
                           zf_error *error);

/// Creates a writer of a table whose rows come in batches, and starts the file.
///
/// `table`: its name; NULL: the program's only one. `columns`: every column of the table once, in the order in which batches have
/// them; `name` and `full_name` are read, data is not. `options` may be NULL. All arguments are copied, but for `progress_user`.
/// Free `*out` with zf_table_writer_free, before the program.
///
/// Blocks are decided from the rows so far. By default a block has 16 MiB of plain data. Strings get as many rows a block as the
/// mean length of the first 16 MiB says, where zf_encode takes the mean of all rows; from the first block on that would have more
/// than 32 MiB they are cut by bytes, except in version 1 of the format. The alternatives and params of a block depend on this
/// block and on earlier ones of its column, as in zf_encode. A column's blocks are written together when they have 16 MiB, so
/// that decodes read runs of blocks; a smaller table has its columns one after the other. The same rows give the same file in
/// batches of any size, on any number of threads.
///
/// Memory: for each column the rows of the block that is not full, up to 16 MiB and a block of encoded blocks, and at most four
/// full blocks (more where there are more than four threads for each column: a block a thread), at most four full blocks a thread
/// together, or one a column if that is more; and that of zf_encode for each thread. A string that waits takes
/// eight bytes besides its characters, a boolean a bit.
///
/// Errors: those of zf_encode that need no rows. `*out` is NULL then, and there is no file.
ZF_API zf_status zf_table_writer_create(zf_program *program, const char *table, const zf_encode_column *columns,
                                        size_t column_count, const zf_encode_options *options, const char *path,
                                        zf_table_writer **out, zf_error *error);
/// Appends `rows` rows, any number. It copies them, and may encode and write full blocks before it returns.
///
/// `columns`: as many as at creation, in that order, with arrays of `rows` rows as zf_encode takes them; NULL if there are no
/// rows. Names are compared with those at creation unless they are NULL; full names are ignored. The arrays may change after the
/// call.
///
/// Errors: ZF_ERR_USAGE for columns that do not fit the table, with the row counted from the table's first: nothing was appended,
/// and the writer goes on. After other errors, those of zf_encode, it takes no more rows (ZF1506). One thread at a time may use
/// a writer.
ZF_API zf_status zf_table_writer_append(zf_table_writer *writer, const zf_encode_column *columns, size_t column_count,
                                        uint64_t rows, zf_error *error);
/// Returns the rows that were appended; 0 for NULL.
ZF_API uint64_t zf_table_writer_rows(const zf_table_writer *writer);
/// Encodes what is left, and completes the file: it appears under its name. Free the writer afterwards.
///
/// `stats`: as in zf_encode, in the table's order; NULL: none. Errors: those of zf_encode; ZF_ERR_IO (ZF1506) after an earlier
/// failure or a finish. Nothing new is under the name then, except after ZF1507.
ZF_API zf_status zf_table_writer_finish(zf_table_writer *writer, zf_encode_stats *stats, zf_error *error);
/// Frees a writer. If it was not finished, the table is abandoned: nothing of it stays on disk.
ZF_API void zf_table_writer_free(zf_table_writer *writer);

// ---- Queries --------------------------------------------------------------------------------------------------
//
// docs/queries.md has the language. A query is prepared once for a container and a device, and runs many times, with other params
// and inputs each time:
//
//   zf_query_prepare        finds the columns and makes code; an accelerator gets the columns, and keeps them
//   zf_query_describe       names and types of params, inputs and results
//   zf_query_run            runs over the rows, and waits for the end
//   zf_query_result_size    shape and bytes of a result of the last run
//   zf_query_take           copies a result to the host, or to the device's memory, as often as wanted
//   zf_query_free

/// A query of a program, prepared for a container and a device. It belongs to the caller; its program and its container must live
/// as long. Use it from one thread at a time.
typedef struct zf_prepared_query zf_prepared_query;

/// Options of zf_query_prepare. Zeroes, or a NULL pointer in place of the struct, mean the defaults.
typedef struct zf_query_options {
    size_t size;                   ///< ZF_INIT
    const char *device;            ///< that runs it; NULL: "cpu"
    bool some_rows;                ///< only rows row_begin .. row_begin + row_count - 1
    uint64_t row_begin, row_count; ///< row_count UINT64_MAX: to the last row
    unsigned threads;              ///< that decode and run rows on a CPU, and read blocks; 0: the context's
    bool decode_first;             ///< on an accelerator: columns are decoded to its memory, and the query's kernels decode none
    bool no_skip;                  ///< run also rows that cannot matter by the zones of the container
    /// On an accelerator: the stored blocks of the columns stay in pinned memory of the host, and every run brings those of rows
    /// that may matter, in units whose kernels run while the next ones are copied. The device's memory holds four units, of a
    /// query that selects all of them if it can. Blocks of a container that zf_container_load loaded are not copied once more.
    bool from_host;
    uint64_t unit_bytes; ///< from_host: stored bytes of a unit, which is at least a block of each column; 0: 32 MiB
} zf_query_options;

/// The members of a query.
typedef enum zf_query_role { ZF_QUERY_PARAM, ZF_QUERY_INPUT, ZF_QUERY_RESULT } zf_query_role;

/// How rows make a result.
typedef enum zf_query_kind {
    ZF_QUERY_SUM,
    ZF_QUERY_MIN, ///< an element that no row gave a value has none
    ZF_QUERY_MAX, ///< the same
    ZF_QUERY_XOR,
    ZF_QUERY_ANY,
    ZF_QUERY_ALL,
    ZF_QUERY_SET,
    ZF_QUERY_MASK,   ///< a bool for each row
    ZF_QUERY_SELECT, ///< as many elements as rows were selected
} zf_query_kind;

/// A param, an input or a result. Strings live as long as the program.
typedef struct zf_query_member {
    size_t size; ///< ZF_INIT
    const char *name;
    zf_column_type type; ///< of the value, or of an element: a number or a boolean
    bool has_default;    ///< params: it need not be given
    uint64_t bits;       ///< params: the default, as zf_query_param has values
    zf_query_kind kind;  ///< results
    uint32_t dimensions; ///< results: 0 to 4; 1 of ZF_QUERY_MASK and ZF_QUERY_SELECT
} zf_query_member;

/// The value of a param.
typedef struct zf_query_param {
    const char *name;
    const char *text; ///< "19940101", "-0.5", "true"; NULL: `bits` counts
    uint64_t
        bits; ///< integers: extended to 64 bits, by their sign if they have one; f64: its bits; f32: its bits; booleans: 0 or 1
} zf_query_param;

/// An input: elements one after the other, little-endian, aligned to one; booleans are bits, the lowest of a byte first.
typedef struct zf_query_array {
    const char *name;
    const void *values; ///< in host memory; NULL: `address` counts
    size_t bytes;       ///< 8 booleans a byte
    uint64_t address;   ///< in the memory of the query's device
} zf_query_array;

/// The shape of a result, and the bytes of its buffers.
typedef struct zf_query_sizes {
    size_t size;         ///< ZF_INIT
    uint32_t dimensions; ///< 0: one element
    uint64_t lengths[4]; ///< of the dimensions; elements lie row after row
    uint64_t count;      ///< elements
    uint64_t values;     ///< bytes: elements of the result's type; booleans: count / 8, rounded up
    uint64_t validity;   ///< bytes: ZF_QUERY_MIN and ZF_QUERY_MAX: a bit for each element; 0 of others
} zf_query_sizes;

/// Where zf_query_take copies a result to. Host memory, or addresses of the device's where the pointer is NULL; aligned to an
/// element.
typedef struct zf_query_buffers {
    size_t size;      ///< ZF_INIT
    void *values;     ///< the elements, little-endian; booleans: bits, the lowest of a byte first, with zeroes behind the last
    uint64_t address; ///< in place of `values`
    void *validity;   ///< of ZF_QUERY_MIN and ZF_QUERY_MAX: bits, 1 for a value, zeroes behind the last
    uint64_t validity_address;             ///< in place of `validity`. Both 0: the validity is not wanted
    uint64_t values_bytes, validity_bytes; ///< at those places: at least those of zf_query_sizes
} zf_query_buffers;

/// Returns the name of the table over which a query runs, "" of one of pairs; NULL: there is no such query, or the program has
/// errors.
///
/// `query`: its name; NULL: the program's only one. The string lives as long as the program. Any thread.
ZF_API const char *zf_program_query_table(const zf_program *program, const char *query);
/// Prepares a query of a program for the rows of a container.
///
/// `query`: its name; NULL: the program's only one. `container`: NULL for a query of pairs. `options` may be NULL; they are
/// copied. Columns are found by their names, and must have the types of the program's table; the container brings their codecs.
/// On a CPU the code is made here. On an accelerator the blocks of all rows wanted are checked and copied to its memory, which
/// holds them until zf_query_free, or with from_host to pinned memory; columns that the query's kernels cannot decode are decoded
/// there. The kernels are made by the first run, since they depend on lengths. Host-blocking, ordered with no stream. Any thread.
/// Free `*out` with zf_query_free.
///
/// Errors, where `*out` is NULL: ZF_ERR_USAGE for a query, options or rows that do not exist (ZF1101, ZF1106), and columns that
/// the container lacks or has with another type (ZF1105); ZF_ERR_UNSUPPORTED for a form that is not lowered; those of zf_decode,
/// and of devices.
ZF_API zf_status zf_query_prepare(zf_program *program, const char *query, zf_container *container,
                                  const zf_query_options *options, zf_prepared_query **out, zf_error *error);
/// Frees a query, and its memory on an accelerator. Before its program and its container.
ZF_API void zf_query_free(zf_prepared_query *query);
/// Returns the number of params, inputs or results of a query; 0 for NULL. Any thread.
ZF_API size_t zf_query_members(const zf_prepared_query *query, zf_query_role role);
/// Describes a param, an input or a result.
///
/// `index`: 0 to zf_query_members - 1, in the order of the text; others are ZF_ERR_USAGE (ZF1101). Any thread.
ZF_API zf_status zf_query_describe(const zf_prepared_query *query, zf_query_role role, size_t index, zf_query_member *out,
                                   zf_error *error);
/// Runs a query over its rows, and replaces the results of the run before.
///
/// `params`: in any order; those with defaults may be missing. `arrays`: all inputs, in any order, which the call only reads. An
/// input in the device's memory is copied there. Results stay with the query. The rows of a CPU are decoded by every run.
///
/// `stream`: CUDA: a CUstream of the primary context; NULL: the default stream. Stream order: the run begins after the work that
/// is on `stream` now, so inputs may be written there by earlier work. Blocks until the run has ended.
///
/// Where lengths of results or of inputs are others than in the run before, an accelerator may need other code, which is
/// compiled, or found in the cache. If a check fails on an accelerator, a CPU runs rows again to find the first one that fails.
///
/// Errors: ZF_ERR_USAGE for params and inputs that are missing, unknown, given twice or of wrong values, and lengths of results
/// out of range (ZF1101); ZF_ERR_INPUT (ZF13nn) with the row and the place in the text where a check fails; those of devices. The
/// query has no results then, and may run again.
ZF_API zf_status zf_query_run(zf_prepared_query *query, const zf_query_param *params, size_t param_count,
                              const zf_query_array *arrays, size_t array_count, void *stream, zf_error *error);
/// Returns the shape of a result of the last run, and the bytes that zf_query_take copies.
///
/// `result`: 0 to zf_query_members - 1. Errors: ZF_ERR_USAGE, also where the last run failed or there was none (ZF1101).
ZF_API zf_status zf_query_result_size(const zf_prepared_query *query, size_t result, zf_query_sizes *out, zf_error *error);
/// Copies a result of the last run to memory of the caller: to the host, or to the memory of the query's device.
///
/// Stream order: the copy to device memory runs after the work that is on `stream` now. Blocks until it is done: any stream may
/// read it then, and it may be an input of a query. The elements are made on the device, by a kernel that is compiled, or found
/// in the cache, when it is first wanted. Only sums of floats come to the host on their way, which adds up their tiles.
///
/// Errors: ZF_ERR_USAGE for buffers that are missing, not aligned (ZF1107) or too small (ZF1117), for device memory where the
/// query runs on a CPU (ZF1101), and as above; ZF_ERR_DEVICE.
ZF_API zf_status zf_query_take(zf_prepared_query *query, size_t result, const zf_query_buffers *buffers, void *stream,
                               zf_error *error);

// ---- Chunks that others compressed ----------------------------------------------------------------------------

/// A chunk that another program compressed: an LZ4 block, a Snappy block, any that the column's codec decodes.
typedef struct zf_wrapped_chunk {
    const void *bytes; ///< in memory of the caller; the file gets them as they are
    uint64_t size;     ///< bytes
    uint64_t rows;     ///< rows of the column that they decode to: 1 to the codec's `chunk: N`
} zf_wrapped_chunk;

/// A column as chunks, in the order of its rows. `full_name`: as in zf_encode_column. `dictionary`: for a codec that has one,
/// which its chunks were compressed with; NULL: none.
typedef struct zf_wrapped_column {
    const char *name, *full_name;
    const zf_wrapped_chunk *chunks;
    size_t chunk_count;
    const void *dictionary;
    uint64_t dictionary_size; ///< bytes, at most 16 MiB
} zf_wrapped_column;

/// Writes a table whose columns are chunks that others compressed to the file `path`, without touching the chunks, or taking
/// frames of Zstandard apart.
///
/// `table`: its name; NULL: the program's only one. `columns`: every column of the table once, in any order, with as many rows
/// each. The codec of a column must be a `non_parallel` algorithm with one stream `u8[] per chunk`, which is stored as it is, and
/// no alternatives. Rows may be neither strings nor nullable. The codec's encoder is not used, and need not exist in this
/// process. The one other codec is `zstd_split(steps: zstd_steps(rows: zstd_tables), literals: zstd_literals(code: zstd_codes))`
/// (dsl/std/zstd_split.zf), or one of other algorithms with these streams: its chunks are frames of Zstandard. Lengths and
/// checksums that their headers tell are compared with the rows. Frames that were compressed with a dictionary need
/// `zstd_split_dictionary` in place of `zstd_split`, and the dictionary; each is a chunk by itself. Chunks may have any number of
/// rows up to the codec's `chunk: N`; where values are booleans, multiples of 8, but for a block's last one.
///
/// Each block is decoded before it is written, so that sizes and bytes that are wrong are found here: the error names the chunk
/// and what its decode violates; elements of its stages count from the begin of the chunk. Rows are not compared: their source is
/// not known here.
///
/// `options` may be NULL. Its `rows_per_block` are the rows from which on a block takes no more chunks (0: 16 MiB of plain data);
/// `format` 1, `seek_interval` and `unfused` are ZF_ERR_USAGE. `stats`: as in zf_encode; its seconds are those of decoding.
/// Memory: a block, stored and decoded, the dictionary in it, besides the chunks. The file appears under its name when it is
/// complete. After an error nothing new is there, except after ZF1507.
///
/// Errors: ZF_ERR_USAGE for columns or options that do not fit the table, for a codec that cannot take chunks (ZF1509), or a
/// program with errors; ZF_ERR_INPUT for a chunk without rows, with too many, or that does not decode to its rows (ZF1508,
/// ZF13nn), or a dictionary that is damaged or too large (ZF1512); ZF_ERR_UNSUPPORTED for a codec that is not lowered; ZF_ERR_IO,
/// also for an existing file without `overwrite` (ZF1501); ZF_ERR_CANCELLED. Several threads may wrap tables of one program at
/// the same time.
ZF_API zf_status zf_wrap(zf_program *program, const char *table, const zf_wrapped_column *columns, size_t column_count,
                         const zf_encode_options *options, const char *path, zf_encode_stats *stats, zf_error *error);

/// Finds the chunks in a file that another program compressed: members of gzip, blocks of BGZF, frames of Zstandard.
///
/// `name`: of the file, for errors. `bytes`: all `size` bytes of the file; they stay the caller's, and the chunks point to them.
/// `dictionary`: `dictionary_size` bytes with which frames of Zstandard were compressed; NULL: none.
/// `*chunks`: an array of `*chunk_count` chunks for a column of bytes (a row is a byte), to be freed with zf_chunks_free. Their
/// bytes follow each other and are the whole file. A chunk is one member or frame; empty members and frames to be skipped belong
/// to the chunk behind them, at the end to the last one.
///
/// Blocks of BGZF say how long they are, and frames mostly how many bytes they make. Other members are inflated by zlib, other
/// frames decoded by libzstd, which are opened when they are first needed. Bytes that they make are kept nowhere.
///
/// Errors: ZF_ERR_INPUT for a file that is neither, is damaged or cut, has no bytes, or needs a dictionary that is not given
/// (ZF1510): `place` has the byte; ZF_ERR_UNSUPPORTED where a library is not installed (ZF1511); ZF_ERR_USAGE; ZF_ERR_MEMORY. Any
/// thread.
ZF_API zf_status zf_chunks_find(const char *name, const void *bytes, uint64_t size, const void *dictionary,
                                uint64_t dictionary_size, zf_wrapped_chunk **chunks, size_t *chunk_count, zf_error *error);
/// Frees what zf_chunks_find made. NULL is nothing.
ZF_API void zf_chunks_free(zf_wrapped_chunk *chunks);

// ---- Modules --------------------------------------------------------------------------------------------------

/// The seek states of files, by the options of zf_encode that decided them.
typedef struct zf_module_states {
    unsigned seek_interval; ///< zf_encode_options.seek_interval
    const char *unfused;    ///< zf_encode_options.unfused
} zf_module_states;

/// Options of the functions that compile modules (`.zfm`). Zeroes, or a NULL pointer in place of the struct, mean the defaults.
typedef struct zf_module_options {
    size_t size;      ///< ZF_INIT
    const char *cpu;  ///< native code runs on x86-64 CPUs of this level and above: "x86-64-v2", "x86-64-v3" (NULL), "x86-64-v4"
    bool no_host;     ///< no code for CPUs; not together with `no_nvptx`
    bool no_nvptx;    ///< no code for NVIDIA GPUs
    bool overwrite;   ///< replace an existing file
    unsigned threads; ///< 0: the context's
    /// Receives a line, without a newline, for code that the module lacks, with the reason. Called on the caller's thread; the
    /// line is valid until it returns. NULL: no reports.
    void (*note)(void *user, const char *line);
    void *note_user;
    /// The module also serves files with these seek states: it gets a plan more of each column where they make a difference. At
    /// most 16.
    const zf_module_states *states;
    size_t state_count;
} zf_module_options;

/// The contents and the size of a compiled module.
typedef struct zf_module_stats {
    size_t size;           ///< ZF_INIT
    uint64_t columns;      ///< that have code
    uint64_t general;      ///< codes for all params: one for each vector of alternatives, seek states and target
    uint64_t specialised;  ///< codes for one tuple of params
    uint64_t native_bytes; ///< code for CPUs
    uint64_t image_bytes;  ///< code for GPUs
    uint64_t bytes;        ///< of the file
} zf_module_stats;

/// Compiles tables of a program into the module `path`, which then decodes files of these tables without a compiler: those with
/// the default seek states, and those with the states that `options` names.
///
/// `table`: its name; NULL: all tables of the program. The module has the general code of every column under every vector of
/// alternatives, at most 64 for a column. Columns that this version does not lower are skipped, and `options->note` reports them.
/// `options` and `stats` may be NULL; `stats` is zero after an error. The file appears under its name when it is complete, as
/// zf_encode's does.
///
/// Errors: ZF_ERR_USAGE for an unknown table, an unknown CPU level, states that a table cannot have, or a program with errors;
/// ZF_ERR_UNSUPPORTED if no column is left; ZF_ERR_IO, also for an existing file without `overwrite` (ZF1501). Any thread.
ZF_API zf_status zf_module_compile(zf_program *program, const char *table, const zf_module_options *options, const char *path,
                                   zf_module_stats *stats, zf_error *error);
/// Compiles a module for the table of a container, from the text that the container carries.
///
/// The module serves the container with its own seek states. In addition to zf_module_compile's, it has code for each tuple of
/// shaping params of the container's blocks, at most 64 for a vector of alternatives. Other arguments, errors and threads are
/// those of zf_module_compile; a container whose text or index is damaged is ZF_ERR_INPUT.
ZF_API zf_status zf_module_compile_for(zf_compiler *compiler, zf_container *container, const zf_module_options *options,
                                       const char *path, zf_module_stats *stats, zf_error *error);

#ifdef __cplusplus
}
#endif
#endif
