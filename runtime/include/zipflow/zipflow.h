// zipflow: compressed columns, decoded where they are needed. The public interface of the runtime.
//
// Objects: a `zf_context` owns devices, the code cache's place and the log callback; a `zf_container` is one open `.zfd`
// file. Every function that can fail returns a `zf_status` and fills `*error` where that pointer is not NULL. No function
// prints, exits or keeps a pointer to the caller's buffers after it returned, unless its comment says so.
//
// Structs: those that may grow begin with their size, which {ZF_INIT(zf_decode_options), .threads = 4} sets. A size of 0 stands
// for the struct as version 0.1 had it, so that {0} and {.threads = 4} work, too. A library that is newer than the program gives
// what the program's struct lacks its default; an older one refuses a struct of which it does not know a member that is not 0
// (ZF_ERR_USAGE, ZF1119). Structs that a function fills must be initialised before: it reads their size. A struct that contains
// others by value has one size for each version. zf_error, zf_column_type, zf_unit_times, zf_pipeline_allocator and
// zf_encode_column have no size: they never change.
//
// Threads: a context may be used by many threads at once; so may a container (it is read-only once open). A `zf_error` is
// a plain value that belongs to its caller.
#ifndef ZIPFLOW_ZIPFLOW_H
#define ZIPFLOW_ZIPFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zipflow/errors.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ZF_API __attribute__((visibility("default")))
#else
#define ZF_API
#endif

#define ZF_VERSION_MAJOR 0
#define ZF_VERSION_MINOR 1
#define ZF_VERSION_PATCH 0

/// Begins a struct that may grow: {ZF_INIT(zf_decode_options), .threads = 4}.
#define ZF_INIT(type) .size = sizeof(type)

/// The kind of an error; the details are in `zf_error`. `zfc` exits with 2 for ZF_ERR_USAGE, 3 for ZF_ERR_DEVICE, 1 for all
/// others. It cancels nothing itself: a signal ends it.
typedef enum zf_status {
    ZF_OK = 0,
    ZF_ERR_INPUT = 1,       ///< a file, text or value that the caller passed on is wrong
    ZF_ERR_USAGE = 2,       ///< the call itself is wrong: an argument out of its range, an unknown name
    ZF_ERR_DEVICE = 3,      ///< a device is absent or failed
    ZF_ERR_MEMORY = 4,      ///< no memory
    ZF_ERR_IO = 5,          ///< the operating system refused: open, read, write, rename
    ZF_ERR_UNSUPPORTED = 6, ///< legal, but this build or device does not do it
    ZF_ERR_INTERNAL = 7,    ///< a fault of zipflow itself; please report it
    ZF_ERR_CANCELLED = 8,   ///< the caller cancelled the call; what was asked for is not done, and nothing is wrong
} zf_status;

/// One error. Its layout is fixed.
///
/// `code` ("ZF1104") and `number` (1104, ZF_ERROR_DEVICE_ABSENT) say the same and are stable; docs/errors.md explains each code.
/// `message` is one line without a full stop. `place` names file, column, block, stream, byte, or line and column of text. `hint`
/// may be empty.
typedef struct zf_error {
    zf_status status;
    zf_error_code number; ///< for a switch; 0 where `code` is not "ZF" and a number
    char code[8];
    char message[512];
    char place[256];
    char hint[256];
} zf_error;

/// The version of the library in use, "0.1.0". Never NULL; static.
ZF_API const char *zf_version(void);

/// The name of a status, "bad input". Never NULL; static.
ZF_API const char *zf_status_name(zf_status status);

// ---- Context --------------------------------------------------------------------------------------------------

typedef struct zf_context zf_context;

typedef enum zf_log_level { ZF_LOG_ERROR, ZF_LOG_WARNING, ZF_LOG_INFO, ZF_LOG_DEBUG } zf_log_level;

/// Receives one line of log, without a newline. May be called from any thread of the library, one call at a time: the others
/// wait. It may call the library, for instance to open a container; lines about that are dropped. What it must not do is wait for
/// another thread that uses this context, as encoding or decoding with several threads does: that thread may wait for the log.
typedef void (*zf_log_fn)(void *user, zf_log_level level, const char *line);

/// How to make a context. Zeroes mean the defaults.
typedef struct zf_context_options {
    size_t size;   ///< ZF_INIT
    zf_log_fn log; ///< NULL: silent
    void *log_user;
    /// NULL: $ZIPFLOW_CACHE_DIR (which may be ""), else $XDG_CACHE_HOME/zipflow, else $HOME/.cache/zipflow; variables that are
    /// not absolute paths are ignored, and all of them in a program with more rights than who starts it (setuid). "": none.
    /// Compiled code lies there, of at most $ZIPFLOW_CACHE_SIZE bytes ("512M"; by default 1 GiB), and how fast devices were seen
    /// to be (docs/pipeline.md). A $ZIPFLOW_CACHE_SIZE that is not a size is ZF_ERR_USAGE.
    const char *cache_dir;
    unsigned
        threads; ///< threads for encoding and CPU decoding; 0: one per core that this process may use; more than 256 count as 256
} zf_context_options;

/// Makes a context; `options` may be NULL. Free it with `zf_context_free` after everything that came from it.
ZF_API zf_status zf_context_create(const zf_context_options *options, zf_context **out, zf_error *error);
/// NULL is nothing, here and in every other function of zipflow that frees or closes.
ZF_API void zf_context_free(zf_context *context);

// ---- Devices --------------------------------------------------------------------------------------------------

/// A device as `zf_device_get` describes it. Strings live as long as the context.
typedef struct zf_device_info {
    size_t size;             ///< ZF_INIT
    const char *name;        ///< "cpu", what `--device` takes
    const char *description; ///< model, features
    bool present;
    bool emulated;      ///< an emulator, for tests: slow, and used only when it is named
    const char *reason; ///< why it is absent; "" when present
    uint64_t memory;    ///< bytes
    unsigned cores;     ///< cores, or streaming multiprocessors
} zf_device_info;

/// How many devices zf_device_get knows; 0 for NULL.
ZF_API size_t zf_device_count(const zf_context *context);
/// Device number `index`, below zf_device_count; others are ZF_ERR_USAGE.
ZF_API zf_status zf_device_get(const zf_context *context, size_t index, zf_device_info *out, zf_error *error);

// ---- Containers -----------------------------------------------------------------------------------------------

typedef struct zf_container zf_container;

/// What a column's elements are, as delivered.
typedef enum zf_element {
    ZF_U8,
    ZF_U16,
    ZF_U32,
    ZF_U64,
    ZF_I8,
    ZF_I16,
    ZF_I32,
    ZF_I64,
    ZF_F32,
    ZF_F64,
    ZF_BOOL,   ///< delivered as a bitmap, least significant bit first
    ZF_STRING, ///< delivered as offsets (i64, rows + 1) and bytes
} zf_element;

/// The name under which a type is declared and written: i32 may be a date, i64 a timestamp or a decimal.
typedef enum zf_logical { ZF_LOGICAL_NONE, ZF_LOGICAL_DATE32, ZF_LOGICAL_TIMESTAMP, ZF_LOGICAL_DECIMAL } zf_logical;

typedef struct zf_column_type {
    zf_element element;
    zf_logical logical;
    uint8_t precision, scale; ///< of a decimal
    bool nullable;
} zf_column_type;

/// Facts of one column. Strings live as long as the container.
typedef struct zf_column_info {
    size_t size; ///< ZF_INIT
    const char *name;
    zf_column_type type;
    const char *type_name; ///< "i64", "decimal(15, 2)", "date32?"
    const char *codec;     ///< canonical text of its codec
    uint64_t rows;
    uint64_t blocks;
    uint64_t rows_per_block; ///< of every block but the last
    uint64_t plain_bytes;    ///< the numerator of every ratio; see docs/format.md
    uint64_t stored_bytes;   ///< every byte of the file that belongs to this column, index and padding included
} zf_column_info;

/// Opens a file as a container and checks its index.
///
/// The index is checked whole: magic, version, every offset, count and size, and its checksum. Blocks are checked when they are
/// used. The file must not change while it is open. A file that was cut shorter gives ZF_ERR_INPUT (ZF1208), not a signal, if
/// the change is seen before a block is read.
ZF_API zf_status zf_container_open(zf_context *context, const char *path, zf_container **out, zf_error *error);

/// How a container that is no file is opened. Zeroes, or a NULL pointer in place of it, mean the defaults.
typedef struct zf_open_options {
    size_t size;      ///< ZF_INIT
    const char *name; ///< stands for the path in errors and in zf_container_path; copied. NULL: "(memory)" or "(reader)"
    bool copy;        ///< read all bytes now: the caller's bytes or reader are not used after the call
} zf_open_options;

/// Opens a container of `size` bytes in memory, and checks its index as zf_container_open does.
///
/// The bytes must stay as they are until the container is closed, unless `options->copy` is set. Blocks are used in place where
/// `bytes` is aligned to 256, and are copied for each use elsewhere.
ZF_API zf_status zf_container_open_memory(zf_context *context, const void *bytes, uint64_t size, const zf_open_options *options,
                                          zf_container **out, zf_error *error);

/// A function of the caller that reads a container, for instance from an object store.
typedef struct zf_byte_reader {
    size_t size;    ///< ZF_INIT
    uint64_t bytes; ///< of the container, below 2^63
    /// Reads up to `bytes` bytes at `offset` into `to`, and returns how many it read. May read fewer: it is called again for the
    /// rest. Returns 0 where there are no more, and a negative number after a failure, of which it may write `error->message`.
    /// zipflow reports both as ZF_ERR_IO (ZF1210) with the offset, and more bytes than asked for as ZF_ERR_USAGE (ZF1118). Called
    /// by several threads at once; never outside the bytes announced; must not use the container.
    int64_t (*read)(void *user, uint64_t offset, void *to, uint64_t bytes, zf_error *error);
    void *user; ///< passed to `read`
} zf_byte_reader;

/// Opens a container that a function of the caller reads, and checks its index as zf_container_open does.
///
/// `*reader` is copied; the function and what `user` points to must work until the container is closed, unless `options->copy`
/// is set. Each decode reads each block that it needs once, into memory of its own.
ZF_API zf_status zf_container_open_reader(zf_context *context, const zf_byte_reader *reader, const zf_open_options *options,
                                          zf_container **out, zf_error *error);
/// Closes it. No call with it may be under way, nor any decode, batch or prepared decode of its columns be left. Before its
/// context is freed.
ZF_API void zf_container_close(zf_container *container);
/// Reads a whole container into host memory from which a device copies at full speed.
///
/// `device`: "auto", or a name that zf_device_get gives; for a GPU the memory is pinned. Later decodes use this copy: the file,
/// memory or reader may change or go. Checksums are verified here, once; decodes report the blocks that are damaged. No decode of
/// the container may be under way or prepared. Call it once; after an error the container can only be closed.
ZF_API zf_status zf_container_load(zf_container *container, const char *device, zf_error *error);
/// Returns the path of the file, or the name of a container that is none. Lives as long as the container. NULL for NULL.
ZF_API const char *zf_container_path(const zf_container *container);
ZF_API const char *zf_container_table(const zf_container *container); ///< name of the table it holds
ZF_API uint64_t zf_container_rows(const zf_container *container);
ZF_API uint64_t zf_container_bytes(const zf_container *container); ///< size of the file
ZF_API size_t zf_container_columns(const zf_container *container);
/// Column number `index`, below zf_container_columns; others are ZF_ERR_USAGE. Strings live as long as the container.
ZF_API zf_status zf_container_column(const zf_container *container, size_t index, zf_column_info *out, zf_error *error);
/// Index of the column of that name, or ZF_ERR_USAGE with the nearest name as a hint.
ZF_API zf_status zf_container_find(const zf_container *container, const char *name, size_t *index, zf_error *error);

// ---- Modules --------------------------------------------------------------------------------------------------

/// A compiled module (`.zfm`, `zfc compile`): code for the columns of tables, without the compiler and what it needs. A module is
/// code, to be trusted as a shared library is.
typedef struct zf_module zf_module;

/// Loads a module and makes it a source of code for all containers of the context. Modules are asked in the order in which they
/// were loaded, a compiler of the context last. The file is read whole: it may change or go afterwards. A module for CPUs above
/// the one at hand is ZF_ERR_DEVICE (ZF1113); see docs/module.md for what else is refused.
ZF_API zf_status zf_module_load(zf_context *context, const char *path, zf_module **out, zf_error *error);
/// Frees it. No decode may be under way, and what zf_decode_prepare gave must be freed before; containers may stay open. Before
/// its context.
ZF_API void zf_module_free(zf_module *module);

// ---- Decoding -------------------------------------------------------------------------------------------------

/// Which rows and how. Zeroes, or a NULL pointer in place of it, mean the defaults: all rows, checksums on.
typedef struct zf_decode_options {
    size_t size;    ///< ZF_INIT
    bool some_rows; ///< decode `row_count` rows from row `row_begin` on; without it both are ignored
    uint64_t row_begin;
    uint64_t row_count;  ///< how many, 0 is none; UINT64_MAX: up to the end
    bool skip_checksums; ///< do not verify the checksums of blocks
    unsigned threads;    ///< 0: the context's; more than 256 count as 256
    /// Returns true to cancel the call, which then returns ZF_ERR_CANCELLED (ZF1115). NULL: the call runs to its end. Called
    /// before each block and before each kernel of a block, by several threads at once; must be quick, and must not call zipflow.
    /// A GPU finishes the kernels that are queued already. zf_decode, zf_decode_prepare and zf_code_obtain call it until they
    /// return; pipelines have zf_batch_cancel instead.
    bool (*cancelled)(void *user);
    void *cancelled_user;
    /// zf_decode on a GPU: the stream for its copies and kernels (CUDA: a CUstream of the primary context). They run behind what
    /// is on it already, and zf_decode waits for it. NULL: a stream of the call's own, which waits for no other, so that decodes
    /// of several threads overlap. CU_STREAM_LEGACY names CUDA's default stream. Ignored on the CPU, and by all other calls.
    void *stream;
} zf_decode_options;

/// Bytes that the caller must provide. For numbers `values` is rows times the element's size; for booleans
/// (rows + 7) / 8; for strings `values` holds the characters and `offsets` (rows + 1) * 8; nullable columns also want
/// `validity`, (rows + 7) / 8. `values` is exact but for a range of rows of a string column, where it is a bound: then the last
/// offset says how many bytes there are.
typedef struct zf_decode_sizes {
    size_t size; ///< ZF_INIT
    size_t values, offsets, validity, workspace;
} zf_decode_sizes;

/// Where a column is decoded to, and how many bytes each buffer has. The buffers belong to the caller. A decode refuses a buffer
/// that is smaller than it needs with ZF_ERR_USAGE (ZF1117) before it writes. `values` and `workspace` must be aligned to 64
/// bytes, `offsets` to 8. A buffer of which zf_decode_size says 0 bytes may be NULL. String k of the decoded rows has bytes
/// offsets[k] .. offsets[k + 1] of `values`; offsets[0] is 0. Bit k of `validity`, the lowest of a byte first, is 1 where row k
/// has a value, 0 where it is null.
typedef struct zf_decode_buffers {
    size_t size; ///< ZF_INIT
    void *values;
    int64_t *offsets;
    uint8_t *validity;
    void *workspace;
    size_t values_bytes, offsets_bytes, validity_bytes, workspace_bytes; ///< ZF_DECODE_BYTES sets all four
} zf_decode_buffers;

/// Initialises the four sizes of a zf_decode_buffers from a zf_decode_sizes: {.values = values, ZF_DECODE_BYTES(sizes)}.
#define ZF_DECODE_BYTES(sizes)                                                                                                   \
    .values_bytes = (sizes).values, .offsets_bytes = (sizes).offsets, .validity_bytes = (sizes).validity,                        \
    .workspace_bytes = (sizes).workspace

/// What a decode did.
typedef struct zf_decode_stats {
    size_t size;              ///< ZF_INIT
    uint64_t blocks_read;     ///< blocks whose bytes were touched
    uint64_t bytes_read;      ///< stored bytes of those blocks
    uint64_t kernels;         ///< kernels of the plan that ran for a block; the largest of all branch vectors
    uint64_t launches;        ///< kernel launches; on the CPU one covers a block, elsewhere all blocks with the same code
    uint64_t kernel_variants; ///< distinct kernels: tuples of shaping values times the plan's kernels
    double compile_seconds;   ///< within the call, until the source of code gave code: compiled, or from the cache
    uint64_t codes;           ///< distinct ones that the source of code gave: one a tuple of shaping values and branches
    uint64_t compiled;        ///< of these, compiled by this process, now or before
    uint64_t cached;          ///< of these, found in the cache on disk by this process
    double load_seconds;      ///< then until the device had loaded it; a GPU's driver compiles PTX here, or has it in its cache
} zf_decode_stats;

/// Asks the sizes of the buffers for a decode. Reads the index and no block. `workspace` is what the CPU wants, 0 where a module
/// has no code for it: to know that, the source of code is asked for its plans of the column (no code is made), which a compiler
/// makes from the program that the file carries when it first meets the column. Without a source of code it fails, as zf_decode
/// does.
ZF_API zf_status zf_decode_size(zf_container *container, size_t column, const zf_decode_options *options, zf_decode_sizes *out,
                                zf_error *error);

/// Decodes a column, or some of its rows, on device `device` ("auto", which NULL is too, or a name that zf_device_get gives).
/// Returns when the data is there, in memory of the host whatever the device. On an error the buffers' contents are unspecified,
/// but nothing outside them was written. Devices with memory of their own allocate there and do not use `workspace`. `stats` may
/// be NULL.
ZF_API zf_status zf_decode(zf_container *container, size_t column, const char *device, const zf_decode_options *options,
                           const zf_decode_buffers *buffers, zf_decode_stats *stats, zf_error *error);

// ---- Code ahead of decodes ------------------------------------------------------------------------------------
//
// A decode gets its code when it meets the first block that needs it. Whoever decodes many columns waits less by getting the code
// of all of them before, over several threads; that is also how what comes before the first byte is told from decoding.

typedef struct zf_code_request {
    size_t size; ///< ZF_INIT
    zf_container *container;
    size_t column;
    zf_decode_options options; ///< of the decode to come: its rows, and `cancelled`. Others do not matter
} zf_code_request;

typedef struct zf_code_stats {
    size_t size;                      ///< ZF_INIT
    uint64_t codes, compiled, cached; ///< as in zf_decode_stats
    double compile_seconds; ///< until the source of code gave it; of one request that of all threads, of all together the
                            ///< time in which any thread waited
    double load_seconds;    ///< the same of loading it to the device, which is done side by side with the former
} zf_code_stats;

/// Gets and loads the code that later decodes of these requests need, over several threads.
///
/// `threads`: at most so many; 0: the context's number. Examines at most 256 blocks per column. Failures are reported by the
/// decode that needs the code: this call changes neither which errors there are nor which comes first. It fails only for wrong
/// arguments, an absent device, missing memory, or when a request's `cancelled` says so (ZF_ERR_CANCELLED). `each` (may be NULL)
/// has room for one entry per request, `all` may be NULL; both are zero where arguments or the device are wrong. Codes are
/// counted per request: those of a column that is requested twice count twice in `all`.
ZF_API zf_status zf_code_obtain(zf_context *context, const char *device, const zf_code_request *requests, size_t request_count,
                                unsigned threads, zf_code_stats *each, zf_code_stats *all, zf_error *error);

// ---- Decoding into a device's memory --------------------------------------------------------------------------
//
// For devices with memory and streams of their own. The caller owns both; zipflow neither allocates nor waits on the path:
//
//   zf_decode_prepare       on the host: finds and checks the blocks, gets and loads their code
//   zf_decode_device_size   how much memory the caller must provide
//   zf_decode_async         queues copies and kernels on a stream, and returns
//   (the caller waits for the stream, or queues its own work behind)
//   zf_decode_status        what the kernels found
//   zf_prepared_free

/// A decode that is ready to be queued. Belongs to its caller; its container must stay open. One call at a time may use it; what
/// its calls queued may be under way on several streams at once.
typedef struct zf_prepared zf_prepared;

/// Bytes for one decode.
typedef struct zf_device_sizes {
    size_t size;     ///< ZF_INIT
    uint64_t values; ///< device memory: the rows, and `skip` before them
    /// Bytes of `values` before the first row wanted (booleans: bits), less than 256 bytes or a block: kernels store whole
    /// vectors, so a block begins at a multiple of 256 wherever the range begins; blocks of booleans, and of algorithms that read
    /// what they made (`out[..]`), are stored whole. 0 when all rows are wanted.
    uint64_t skip;
    uint64_t offsets;  ///< device memory, strings: rows + 1 of i64. The first is where the first row begins in `values`, where
                       ///< the bytes of rows before it may stand, too
    uint64_t validity; ///< device memory, nullable columns: a bit a row, and `validity_skip` before the first
    uint64_t validity_skip;
    uint64_t workspace; ///< device memory: stored bytes, tables, what kernels hand to each other
    uint64_t staging;   ///< host memory: stored bytes and tables on their way, failure words on their way back
} zf_device_sizes;

/// Where they are, and how many bytes each has. `values` and `workspace` are addresses of the device's memory (CUDA: CUdeviceptr
/// of the primary context), aligned to 256, as are the others. `staging` is memory of the host, aligned to 8; where it is not
/// pinned, copies may wait. A buffer that is smaller than the decode needs is refused with ZF_ERR_USAGE (ZF1117). The emulator
/// gives no memory of its own to callers: zf_decode is for it.
typedef struct zf_device_buffers {
    size_t size; ///< ZF_INIT
    uint64_t values, workspace;
    uint64_t offsets, validity; ///< likewise, where the column has them
    void *staging;
    uint64_t values_bytes, workspace_bytes, offsets_bytes, validity_bytes, staging_bytes; ///< ZF_DEVICE_BYTES sets all five
} zf_device_buffers;

/// Initialises the five sizes of a zf_device_buffers from a zf_device_sizes.
#define ZF_DEVICE_BYTES(sizes)                                                                                                   \
    .values_bytes = (sizes).values, .workspace_bytes = (sizes).workspace, .offsets_bytes = (sizes).offsets,                      \
    .validity_bytes = (sizes).validity, .staging_bytes = (sizes).staging

/// Prepares a decode of a column, or some of its rows, on a device with memory of its own; ZF_ERR_UNSUPPORTED (ZF1406) on others.
/// Reads the blocks and reports what is wrong with them as far as the host can see. May compile. Free with zf_prepared_free.
ZF_API zf_status zf_decode_prepare(zf_container *container, size_t column, const char *device, const zf_decode_options *options,
                                   zf_prepared **out, zf_error *error);
/// Frees it. What was queued must be done: kernels use the code and the caller's buffers.
ZF_API void zf_prepared_free(zf_prepared *prepared);

/// The sizes of the buffers.
ZF_API zf_status zf_decode_device_size(const zf_prepared *prepared, zf_device_sizes *out, zf_error *error);

/// Queues the decode on `stream` (CUDA: a CUstream of the primary context, NULL for the default one), behind what is there
/// already. Copies stored bytes into `staging` first, which is the host's work and all that takes its time. A file that changed
/// since zf_decode_prepare gives ZF_ERR_INPUT (ZF1208); one that is cut while its bytes are copied raises SIGBUS. The buffers
/// belong to the decode until the stream has come past it. May be called again then, or with other buffers on another stream;
/// zf_decode_status speaks of the last call. After an error part of it may be queued, and zf_decode_status gives that error.
///
/// Parts of it may run on streams of its own, which begin behind what is on `stream`, and which `stream` waits for. They have no
/// priority, and what several calls of the same prepared decode queued shares them: one may wait for the other on the device.
ZF_API zf_status zf_decode_async(zf_prepared *prepared, void *stream, const zf_device_buffers *buffers, zf_error *error);

/// Once the stream has come past the decode: ZF_OK, or the first violation of the first block that has one, in which case
/// `values` has unspecified contents; where zf_decode_async failed, the error that it gave. Booleans: bits behind the last row
/// are unspecified. `stats` may be NULL; launches are those of all calls.
ZF_API zf_status zf_decode_status(const zf_prepared *prepared, zf_decode_stats *stats, zf_error *error);

#ifdef __cplusplus
}
#endif
#endif
