// zipflow: the public interface of the runtime. It opens containers of compressed columns and decodes them on CPUs and GPUs.
//
// Objects. A `zf_context` owns devices, the place of the code cache and the log callback. A `zf_container` is one open `.zfd`
// container. Free or close each object before the context that it came from. Functions that free or close ignore NULL.
//
// Errors. A function that can fail returns a `zf_status` and fills `*error`, unless `error` is NULL. No function prints or exits.
// NULL for an object, a path or an output of such a function is ZF_ERR_USAGE (ZF1101), unless its comment says that it may be
// NULL. Any of them may return ZF_ERR_MEMORY (ZF1102) and ZF_ERR_INTERNAL. A function that makes an object sets `*out` to NULL
// after an error.
//
// Ownership. No function keeps a pointer to the caller's memory after it returns, unless its comment says so.
//
// Threads. Any thread may call any function. Several threads may use one context, one container and one module at the same time;
// comments name the exceptions. No call may use an object while it is freed. A `zf_error` belongs to its caller.
//
// Devices. A parameter `device` is a name of zf_device_info; "auto" or NULL: the first GPU, else the CPU. An unknown name is
// ZF_ERR_DEVICE (ZF1103), an absent device ZF1104.
//
// Structs that may grow begin with their size. Initialise them with ZF_INIT: {ZF_INIT(zf_decode_options), .threads = 4}.
// - A size of 0 stands for the struct of version 0.1. {0} and {.threads = 4} work, too. A smaller size is ZF_ERR_USAGE (ZF1119).
// - A library that is newer than the program uses defaults for the members that the program's struct lacks.
// - A library that is older than the program refuses a struct with a member that it does not know, unless that member is 0
//   (ZF_ERR_USAGE, ZF1119).
// - Initialise also the structs that a function fills: it reads their size.
// - A struct that contains others by value has one size for each version of the library.
// - zf_error, zf_column_type, zf_unit_times, zf_pipeline_allocator, zf_encode_column and zf_tile_column have no size. They do not
//   change.
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

/// Initialises the size of a struct that may grow: {ZF_INIT(zf_decode_options), .threads = 4}.
#define ZF_INIT(type) .size = sizeof(type)

/// The kind of an error. `zf_error` has the details.
///
/// `zfc` exits with 2 for ZF_ERR_USAGE, with 3 for ZF_ERR_DEVICE, and with 1 for all others. It cancels no call itself: an
/// interrupt ends it by its signal.
typedef enum zf_status {
    ZF_OK = 0,
    ZF_ERR_INPUT = 1,       ///< a file, text or value of the caller is wrong
    ZF_ERR_USAGE = 2,       ///< the call is wrong: an argument out of range, an unknown name
    ZF_ERR_DEVICE = 3,      ///< a device is absent or failed
    ZF_ERR_MEMORY = 4,      ///< no memory
    ZF_ERR_IO = 5,          ///< the operating system failed to open, read, write or rename
    ZF_ERR_UNSUPPORTED = 6, ///< valid, but this build or device does not support it
    ZF_ERR_INTERNAL = 7,    ///< a fault of zipflow; please report it
    ZF_ERR_CANCELLED = 8,   ///< the caller cancelled the call
} zf_status;

/// One error.
///
/// `code` ("ZF1104") and `number` (1104, ZF_ERROR_DEVICE_ABSENT) are the same and stable; docs/errors.md explains each code.
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

/// Returns the version of the library, "0.1.0". Static.
ZF_API const char *zf_version(void);

/// Returns the name of a status, "bad input". Static, never NULL.
ZF_API const char *zf_status_name(zf_status status);

// ---- Context --------------------------------------------------------------------------------------------------

typedef struct zf_context zf_context;

typedef enum zf_log_level { ZF_LOG_ERROR, ZF_LOG_WARNING, ZF_LOG_INFO, ZF_LOG_DEBUG } zf_log_level;

/// Receives one line of the log, without a newline.
///
/// Any thread of the library may call it, one at a time: the others wait. It may call the library; lines about such calls are
/// dropped. It must not wait for another thread that uses this context (encoding and decoding with several threads do), because
/// that thread may wait for the log.
typedef void (*zf_log_fn)(void *user, zf_log_level level, const char *line);

/// Options of zf_context_create. Zeroes mean the defaults.
typedef struct zf_context_options {
    size_t size;   ///< ZF_INIT
    zf_log_fn log; ///< NULL: no log
    void *log_user;
    /// Directory for compiled code, tuning results and measured rates; "": none. A relative path is resolved once, against the
    /// current directory of zf_context_create. NULL: $ZIPFLOW_CACHE_DIR (may be ""), else
    /// $XDG_CACHE_HOME/zipflow, else $HOME/.cache/zipflow. Variables that are not absolute paths are ignored; a setuid program
    /// ignores all of them. $ZIPFLOW_CACHE_SIZE ("512M"; default 1 GiB) limits the compiled code; a value that is not a size is
    /// ZF_ERR_USAGE.
    const char *cache_dir;
    unsigned threads; ///< for encoding and CPU decoding; more than 256 count as 256; 0: one per core that this process may use
} zf_context_options;

/// Makes a context. Free it with zf_context_free.
///
/// `options` may be NULL and is copied; `log` and `log_user` must work until the context is freed. Starts no device
/// and no thread. Errors: ZF_ERR_USAGE for options (ZF1119) or a $ZIPFLOW_CACHE_SIZE (ZF1101) that are invalid;
/// ZF_ERR_MEMORY. Any thread; after fork, not before.
ZF_API zf_status zf_context_create(const zf_context_options *options, zf_context **out, zf_error *error);
/// Frees a context. Free everything that came from it first; no call may use it meanwhile.
ZF_API void zf_context_free(zf_context *context);

// ---- Devices --------------------------------------------------------------------------------------------------

/// A device. Its strings live as long as the context.
typedef struct zf_device_info {
    size_t size;             ///< ZF_INIT
    const char *name;        ///< "cpu", "cuda:0": the name for functions and for `zfc --device`
    const char *description; ///< model and features
    bool present;
    bool emulated;      ///< an emulator for tests: slow, and never chosen by "auto"
    const char *reason; ///< why it is absent; "" when present
    uint64_t memory;    ///< bytes
    unsigned cores;     ///< cores, or streaming multiprocessors
} zf_device_info;

/// Returns the number of devices that zf_device_get describes; 0 for NULL. The first call may load a GPU's driver. Any thread.
ZF_API size_t zf_device_count(const zf_context *context);
/// Describes a device. `index`: 0 to zf_device_count - 1; others are ZF_ERR_USAGE (ZF1101). Any thread.
ZF_API zf_status zf_device_get(const zf_context *context, size_t index, zf_device_info *out, zf_error *error);

// Memory of a device, for callers that have no allocator of their own. It belongs to the caller, who gives it back before the
// context is freed. `device`: as everywhere; NULL: "auto". `stream`: CUDA: a CUstream of that GPU's primary context; NULL: the
// legacy default stream, which waits for streams that were made without CU_STREAM_NON_BLOCKING, and they for it.
// CU_STREAM_PER_THREAD names another stream on each thread. Any thread.

/// Allocates `bytes` bytes of device memory, aligned to 256; at least one byte.
///
/// Stream order: work that is enqueued on `stream` after this call may use it, work on other streams once it follows such work.
/// CUDA: from the driver's pool (cuMemAllocAsync), where the GPU has one. Errors: ZF_ERR_USAGE; ZF_ERR_DEVICE, also where the
/// memory does not suffice (ZF1108); ZF_ERR_UNSUPPORTED for a device without memory of its own (ZF1406).
ZF_API zf_status zf_device_allocate(zf_context *context, const char *device, void *stream, uint64_t bytes, uint64_t *address,
                                    zf_error *error);
/// Gives memory of zf_device_allocate back. Stream order: others use it after the work that is on `stream` now.
///
/// Other streams that use it must be followed by `stream` first (zf_device_follow). `address` may be 0. Where the GPU has no
/// pool, or is lost, the call waits for `stream`, or does nothing.
ZF_API void zf_device_release(zf_context *context, const char *device, void *stream, uint64_t address);
/// Lets a stream wait for the work that is on another stream now: work that is enqueued on `stream` later runs behind it. Does
/// not block.
///
/// Both streams must exist: CUDA's driver crashes on one that was destroyed, or takes its handle for a later stream. Errors:
/// ZF_ERR_USAGE; ZF_ERR_DEVICE; ZF_ERR_UNSUPPORTED (ZF1406).
ZF_API zf_status zf_device_follow(zf_context *context, const char *device, void *stream, void *other, zf_error *error);
/// Waits for all work on a GPU, on every stream of its primary context, also on streams that were destroyed meanwhile. Blocks.
///
/// Errors: ZF_ERR_USAGE; ZF_ERR_DEVICE: work may go on; ZF_ERR_UNSUPPORTED (ZF1406).
ZF_API zf_status zf_device_wait(zf_context *context, const char *device, zf_error *error);
/// Copies `bytes` bytes of the host to device memory behind the work that is on `stream`, and waits for it.
///
/// Errors: ZF_ERR_USAGE; ZF_ERR_DEVICE; ZF_ERR_UNSUPPORTED (ZF1406).
ZF_API zf_status zf_device_copy_in(zf_context *context, const char *device, void *stream, uint64_t to, const void *from,
                                   uint64_t bytes, zf_error *error);
/// Copies `bytes` bytes of device memory to the host behind the work that is on `stream`, and waits for it.
///
/// Errors: ZF_ERR_USAGE; ZF_ERR_DEVICE; ZF_ERR_UNSUPPORTED (ZF1406).
ZF_API zf_status zf_device_copy_out(zf_context *context, const char *device, void *stream, void *to, uint64_t from,
                                    uint64_t bytes, zf_error *error);

// ---- Containers -----------------------------------------------------------------------------------------------

typedef struct zf_container zf_container;

/// The type of a column's elements as they are delivered.
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

/// The declared meaning of elements: an i32 may be a date, an i64 a timestamp or a decimal.
typedef enum zf_logical { ZF_LOGICAL_NONE, ZF_LOGICAL_DATE32, ZF_LOGICAL_TIMESTAMP, ZF_LOGICAL_DECIMAL } zf_logical;

typedef struct zf_column_type {
    zf_element element;
    zf_logical logical;
    uint8_t precision, scale; ///< of a decimal
    bool nullable;
} zf_column_type;

/// The part that a column is of a column of lists, which is several columns that follow each other: its ends, whether its lists
/// are null (if its type says that they may be), and their values.
typedef enum zf_list_part {
    ZF_LIST_NONE,     ///< a column of its own
    ZF_LIST_ENDS,     ///< i64, for each row the number of values of all lists up to and with this one. Has the name of the column
    ZF_LIST_VALIDITY, ///< bool, for each row: true for a list, false for null. Called COLUMN.valid
    ZF_LIST_VALUES    ///< any type but a list, with rows of its own. Called COLUMN.values
} zf_list_part;

/// A column of a container. Its strings live as long as the container.
typedef struct zf_column_info {
    size_t size; ///< ZF_INIT
    const char *name;
    zf_column_type type;
    const char
        *type_name;    ///< "i64", "decimal(15, 2)", "date32?"; of a column of lists "list<i64>", where `type` is that of the ends
    const char *codec; ///< canonical text of its codec
    uint64_t rows;     ///< the table's; of the values of lists their own
    uint64_t blocks;
    uint64_t rows_per_block; ///< of every block but the last; 0: blocks have different numbers
    uint64_t plain_bytes;    ///< the numerator of every ratio; see docs/format.md
    uint64_t stored_bytes;   ///< all bytes of the container that belong to this column, index and padding included
    const char *full_name;   ///< the column's name where it came from: any UTF-8 of one line. `name` where it had no other
    zf_list_part part;       ///< what it is to a column of lists
} zf_column_info;

/// The contents of a column's rows first_row .. first_row + rows - 1: 65,536 rows of a block, or those that it has left.
///
/// Values are 64 bits: integers extended, floats as the bits of an f64, booleans 0 or 1; of strings their first eight bytes, the
/// first the most significant, with zeros behind their end. They are in the order of the type (-0.0 before 0.0; strings as
/// unsigned bytes), without nulls and NaNs.
typedef struct zf_zone {
    size_t size; ///< ZF_INIT
    uint64_t first_row, rows;
    uint64_t nulls;
    uint64_t minimum, maximum;         ///< no value is below or above; 0 where there is none
    bool has_values;                   ///< else every row is null or NaN
    bool has_nan;                      ///< a row is NaN
    bool minimum_exact, maximum_exact; ///< a row has this value; a string of at most eight bytes has it
} zf_zone;

/// A key of a table's metadata, UTF-8 of one line, and its value: any bytes.
typedef struct zf_metadata {
    const char *key;
    const void *value;
    size_t bytes; ///< of `value`
} zf_metadata;

/// Opens a file as a container and checks its index. Close it with zf_container_close.
///
/// The index is checked whole: magic, version, every offset, count and size, and its checksum. Blocks are read into memory and
/// checked when they are used. The file must not change while it is open: a change is ZF_ERR_INPUT (ZF1208) of the call that
/// meets it. A disk or network that fails is ZF_ERR_IO (ZF1210). Both name file, column, block and byte; neither is a signal.
///
/// Errors: ZF_ERR_IO for a file that cannot be opened or read (ZF1201, ZF1210); ZF_ERR_INPUT for one that is not a container, is
/// of another version, or is damaged (ZF1202 to ZF1208); ZF_ERR_USAGE; ZF_ERR_MEMORY. Any thread.
ZF_API zf_status zf_container_open(zf_context *context, const char *path, zf_container **out, zf_error *error);

/// Programs that a container may bring: the algorithms, functions and constants of the text that it carries.
typedef enum zf_programs {
    ZF_PROGRAMS_ALL,   ///< any
    ZF_PROGRAMS_KNOWN, ///< those of the library (dsl/std), by the hash of their text
} zf_programs;

/// Options of zf_container_open_file, zf_container_open_memory and zf_container_open_reader. Zeroes mean the defaults.
typedef struct zf_open_options {
    size_t size;      ///< ZF_INIT
    const char *name; ///< stands for the path in errors and in zf_container_path; copied. NULL: "(memory)" or "(reader)".
                      ///< NULL for a file
    bool copy;        ///< read all bytes now; the caller's file, bytes or reader are not used after the call
    /// Not 0: map the file and use its blocks in place, which saves a copy of each. Whoever cuts the file, and a disk or network
    /// that fails, then ends the process with SIGBUS. The file must not be changed in place (docs/safety.md). For files alone,
    /// without `copy`. No bool: it would lie in the padding behind `copy`, which older callers do not set.
    size_t map;
    /// ZF_PROGRAMS_ALL or ZF_PROGRAMS_KNOWN. With the latter a compiler refuses a file that has another program, or states one in
    /// its index, before it compiles anything of it: calls that need its code fail with ZF_ERR_INPUT (ZF1218). The compiler
    /// hashes the file's text itself. A module brings code of its own and compiles nothing, so its columns decode whatever the
    /// text says. A size_t for the reason of `map`.
    size_t programs;
} zf_open_options;

/// Opens a file as zf_container_open does, with options, which may be NULL. Errors as for zf_container_open. Any thread.
ZF_API zf_status zf_container_open_file(zf_context *context, const char *path, const zf_open_options *options, zf_container **out,
                                        zf_error *error);

/// Opens a container in memory and checks its index as zf_container_open does.
///
/// `bytes`: `size` bytes, which must not change until the container is closed, unless `options->copy` is set. Blocks are used in
/// place if `bytes` is aligned to 256; otherwise each use copies them. `options` may be NULL. Errors as for zf_container_open,
/// without ZF_ERR_IO; ZF_ERR_USAGE for a size that no memory has. Any thread.
ZF_API zf_status zf_container_open_memory(zf_context *context, const void *bytes, uint64_t size, const zf_open_options *options,
                                          zf_container **out, zf_error *error);

/// A function of the caller that reads a container, for example from an object store.
typedef struct zf_byte_reader {
    size_t size;    ///< ZF_INIT
    uint64_t bytes; ///< of the container, below 2^63
    /// Reads up to `bytes` bytes at `offset` into `to` and returns their number.
    ///
    /// It may read fewer bytes: zipflow calls it again for the rest. It returns 0 if there are no more bytes, and a negative
    /// number after a failure, for which it may write `error->message`. Both are ZF_ERR_IO (ZF1210), with the offset as the
    /// place. More bytes than requested are ZF_ERR_USAGE (ZF1118). Several threads call it at once. It must not use the
    /// container.
    int64_t (*read)(void *user, uint64_t offset, void *to, uint64_t bytes, zf_error *error);
    void *user; ///< passed to `read`
} zf_byte_reader;

/// Opens a container through a read function and checks its index as zf_container_open does.
///
/// Opening requests the last 65,536 bytes and, if the index is larger, the rest of it: two requests at most, if `read` returns
/// all bytes.
///
/// `*reader` is copied. Its function and `user` must work until the container is closed, unless `options->copy` is set. A decode
/// reads each block that it needs into memory of its own, once. A range of rows of strings reads its first and last block up to
/// twice: their seek states decide the number of characters. `options` may be NULL. Errors as for zf_container_open; those of
/// reading are ZF1210 and ZF1118. Any thread.
ZF_API zf_status zf_container_open_reader(zf_context *context, const zf_byte_reader *reader, const zf_open_options *options,
                                          zf_container **out, zf_error *error);

/// Closes a container. End all calls, decodes, batches and prepared decodes of its columns first. Before its context is freed.
ZF_API void zf_container_close(zf_container *container);

/// Reads a whole container into host memory from which a device copies at full speed.
///
/// For a GPU the memory is pinned; the container owns it. Later decodes use this copy: the file, memory or reader may change or
/// go. Checksums are verified here, once; decodes report the blocks that are damaged. No decode of the container may be in
/// progress or prepared. Call it once. After an error only close the container.
///
/// Errors: ZF_ERR_USAGE for a second call; ZF_ERR_DEVICE; ZF_ERR_MEMORY; ZF_ERR_IO or ZF_ERR_INPUT (ZF1208) where the bytes
/// cannot be read. One thread: no other call may use the container meanwhile.
ZF_API zf_status zf_container_load(zf_container *container, const char *device, zf_error *error);

/// Returns the path, or the name of a container that is not a file. Lives as long as the container. NULL for NULL.
ZF_API const char *zf_container_path(const zf_container *container);
/// Returns the name of the container's table. Lives as long as the container. NULL for NULL.
ZF_API const char *zf_container_table(const zf_container *container);
/// Returns the number of rows of the table; 0 for NULL.
ZF_API uint64_t zf_container_rows(const zf_container *container);
/// Returns the size of the container in bytes; 0 for NULL.
ZF_API uint64_t zf_container_bytes(const zf_container *container);
/// Returns the number of columns, each part of a column of lists (zf_list_part) being one; 0 for NULL.
ZF_API size_t zf_container_columns(const zf_container *container);
/// Describes a column. `index`: 0 to zf_container_columns - 1; others are ZF_ERR_USAGE (ZF1105). Any thread.
ZF_API zf_status zf_container_column(const zf_container *container, size_t index, zf_column_info *out, zf_error *error);
/// Finds the block of a column that has a row: `*first` gets the block's first row, `*rows` its number of rows, at least 1.
///
/// `column`: 0 to zf_container_columns - 1; others are ZF_ERR_USAGE (ZF1105). `row`: below the column's rows (zf_column_info);
/// others are ZF_ERR_USAGE (ZF1101). Reads no block. Any thread.
ZF_API zf_status zf_container_block_of(const zf_container *container, size_t column, uint64_t row, uint64_t *first,
                                       uint64_t *rows, zf_error *error);
/// Finds where the block of a column that has a row is stored: `*offset` gets its first byte in the container, `*bytes` its size.
///
/// Readers of far files can read blocks that lie side by side at once. `column`, `row`, errors and threads as for
/// zf_container_block_of.
ZF_API zf_status zf_container_block_place(const zf_container *container, size_t column, uint64_t row, uint64_t *offset,
                                          uint64_t *bytes, zf_error *error);
/// Returns the number of keys in the table's metadata; 0 for NULL.
ZF_API size_t zf_container_metadata_count(const zf_container *container);
/// Copies key `index` of the table's metadata and its value to `*out`; both live as long as the container. `index`: 0 to
/// zf_container_metadata_count - 1; others are ZF_ERR_USAGE (ZF1101). Any thread.
ZF_API zf_status zf_container_metadata(const zf_container *container, size_t index, zf_metadata *out, zf_error *error);
/// Returns the table's Arrow schema, the bytes of an encapsulated IPC message, and their number; NULL and 0 where the file has
/// none. The message's frame was checked, its contents were not. Lives as long as the container.
ZF_API const void *zf_container_schema(const zf_container *container, size_t *bytes);
/// Returns the number of zones of a column; 0 where the file has none of it, for a column that does not exist, and for NULL.
ZF_API uint64_t zf_container_zones(const zf_container *container, size_t column);
/// Copies zone `index` of a column to `*out`. `index`: 0 to zf_container_zones - 1; others are ZF_ERR_USAGE (ZF1101).
///
/// Zones were checked against the type. They are compared with the rows when those are decoded: unless
/// zf_decode_options.skip_zones is set, a decode fails (ZF1326) where whole zones of the rows wanted say something else than the
/// rows. Any thread.
ZF_API zf_status zf_container_zone(const zf_container *container, size_t column, uint64_t index, zf_zone *out, zf_error *error);
/// Finds a column by its full name, or by its name where no column has that full name. An unknown name is ZF_ERR_USAGE (ZF1105),
/// with the nearest name as a hint. Any thread.
ZF_API zf_status zf_container_find(const zf_container *container, const char *name, size_t *index, zf_error *error);

// ---- Modules --------------------------------------------------------------------------------------------------

/// A compiled module (`.zfm`, made by `zfc compile`): code for the columns of tables, so that decoding needs no compiler.
///
/// A module is code: trust it as you trust a shared library.
typedef struct zf_module zf_module;

/// Loads a module for all containers of a context. Free it with zf_module_free, before the context.
///
/// Decodes search modules in the order in which they were loaded, and a compiler of the context last. The file is read whole: it
/// may change or go afterwards.
///
/// Errors: ZF_ERR_IO for a file that cannot be opened or read (ZF1201, ZF1210); ZF_ERR_INPUT for one that is not a module, is of
/// another version, or is damaged (ZF1211 to ZF1216); ZF_ERR_DEVICE for a module for CPUs of a higher level than this one
/// (ZF1113). Any thread, also while others decode.
ZF_API zf_status zf_module_load(zf_context *context, const char *path, zf_module **out, zf_error *error);
/// Frees a module. End all decodes and batches, and free all prepared decodes, first; containers may stay open.
ZF_API void zf_module_free(zf_module *module);

// ---- Decoding -------------------------------------------------------------------------------------------------

/// Options of a decode. Zeroes, or a NULL pointer in place of the struct, mean the defaults: all rows, with checksums.
typedef struct zf_decode_options {
    size_t size;         ///< ZF_INIT
    bool some_rows;      ///< decode only the rows below; otherwise `row_begin` and `row_count` are ignored
    uint64_t row_begin;  ///< first row, 0 to the column's rows
    uint64_t row_count;  ///< number of rows; UINT64_MAX: to the end
    bool skip_checksums; ///< do not verify the checksums of blocks
    bool skip_zones;     ///< do not compare rows with the zones of the file (zf_container_zone)
    unsigned threads;    ///< for CPUs and for checking blocks; more than 256 count as 256; 0: the context's number
    /// Returns true to cancel the call, which then returns ZF_ERR_CANCELLED (ZF1115). NULL: never.
    ///
    /// Called before each block and before each kernel of a block, by several threads at once; on a CPU also between the tiles of
    /// a kernel (thousands of rows), about once a millisecond. It must be fast and must not call zipflow. A GPU finishes the
    /// kernels that are already enqueued. zf_decode, zf_decode_prepare and zf_code_obtain call it until they return. Pipelines
    /// ignore it: use zf_batch_cancel.
    bool (*cancelled)(void *user);
    void *cancelled_user; ///< passed to `cancelled`
    /// The stream for the copies and kernels of zf_decode on a GPU (CUDA: a CUstream of the primary context).
    ///
    /// They run after the work that is already on the stream, and zf_decode waits for them. NULL: a stream of the call's own, so
    /// that decodes of several threads overlap. CU_STREAM_LEGACY names CUDA's default stream. CPUs and all other functions ignore
    /// it.
    void *stream;
} zf_decode_options;

/// The bytes that a decode needs in each buffer.
///
/// `values`: numbers: rows times the element's size; booleans: (rows + 7) / 8; strings: the characters. `offsets`: strings:
/// (rows + 1) * 8. `validity`: nullable columns: (rows + 7) / 8. `workspace`: CPUs only. All are exact, except `values` of a
/// range of rows of strings, which is an upper bound: the last offset is the exact number.
typedef struct zf_decode_sizes {
    size_t size; ///< ZF_INIT
    size_t values, offsets, validity, workspace;
} zf_decode_sizes;

/// The buffers that a column is decoded to, and their sizes in bytes. They belong to the caller.
///
/// `values` must be aligned to the size of an element (characters and booleans: any address), `offsets` to 8 bytes, `workspace`
/// to 64. A buffer that needs 0 bytes may be NULL. A decode refuses a buffer that is too small before it writes (ZF_ERR_USAGE,
/// ZF1117). String k has the bytes offsets[k] to offsets[k + 1] - 1 of `values`; offsets[0] is 0. Bit k of `validity`, lowest bit
/// of a byte first, is 1 if row k has a value and 0 if it is null.
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

/// Statistics of a decode.
typedef struct zf_decode_stats {
    size_t size;              ///< ZF_INIT
    uint64_t blocks_read;     ///< blocks whose bytes were read
    uint64_t bytes_read;      ///< stored bytes of those blocks
    uint64_t kernels;         ///< kernels of a block's plan; the largest number among the plans
    uint64_t launches;        ///< kernel launches: one per block on CPUs, one for all blocks with the same code on GPUs
    uint64_t kernel_variants; ///< distinct kernels: tuples of shaping values times the plan's kernels
    double compile_seconds;   ///< time to get the code, compiled or from the cache
    uint64_t codes;           ///< distinct codes used: one for each tuple of shaping values and branches
    uint64_t compiled;        ///< codes that this process compiled, now or before
    uint64_t cached;          ///< codes that this process found in the disk cache
    double load_seconds;      ///< time to load the code to the device; a GPU's driver compiles PTX here
} zf_decode_stats;

/// Returns the sizes of the buffers for a decode.
///
/// Reads the index, and no block, except that a range of rows of strings reads two. Gets the column's plans from a module or the
/// compiler, but makes no code. `workspace` is for CPUs: decode with exactly the same `threads`, because it grows with them. It
/// is 0 if a module has no code for CPUs. Any thread.
///
/// Errors: ZF_ERR_USAGE for a column or rows that the container lacks (ZF1105, ZF1106); ZF_ERR_UNSUPPORTED without a module or a
/// compiler that has the column (ZF14nn); ZF_ERR_INPUT and ZF_ERR_IO for the blocks that it reads.
ZF_API zf_status zf_decode_size(zf_container *container, size_t column, const zf_decode_options *options, zf_decode_sizes *out,
                                zf_error *error);

/// Decodes a column, or some of its rows, into host memory.
///
/// Returns when the rows are in the buffers; stream order is that of `options->stream`. GPUs allocate their own memory and ignore
/// `workspace`. After an error the contents of the buffers are unspecified; memory outside of them is unchanged. `options` and
/// `stats` may be NULL. `stats` counts the work until an error; it is zero if the arguments or the device are wrong. Any thread;
/// decodes of several threads run at the same time.
///
/// Errors: those of zf_decode_size; ZF_ERR_USAGE for buffers (ZF1107, ZF1117); ZF_ERR_DEVICE (ZF11nn); ZF_ERR_INPUT for a damaged
/// block (ZF12nn, ZF13nn), the first one of the rows; ZF_ERR_IO of a reader; ZF_ERR_CANCELLED (ZF1115).
ZF_API zf_status zf_decode(zf_container *container, size_t column, const char *device, const zf_decode_options *options,
                           const zf_decode_buffers *buffers, zf_decode_stats *stats, zf_error *error);

/// The rows of the values that some lists have, which follow each other: ZF_LIST_VALUES of their column.
typedef struct zf_list_values {
    size_t size; ///< ZF_INIT
    uint64_t row_begin, row_count;
} zf_list_values;

/// Decodes which values the lists of a column have, of all rows or some, into host memory.
///
/// `column`: the ends of the lists (ZF_LIST_ENDS). `buffers`: `offsets` gets rows + 1 offsets, the first 0; list k has the values
/// offsets[k] to offsets[k + 1] - 1 of those that `*out` says. `validity`, where lists may be null, gets (rows + 7) / 8 bytes; a
/// null list is empty. Other buffers are ignored. To decode the values, pass the rows of `*out` to zf_decode, or to any other
/// decode, of the column that follows (its part is ZF_LIST_VALUES).
///
/// Ends decode on `device`; they are checked on the host, where they take 8 bytes a row more. `stats` counts those of ends and
/// validity together. `options` and `stats` may be NULL. Any thread.
///
/// Errors: those of zf_decode; ZF_ERR_USAGE for another column (ZF1101); ZF_ERR_INPUT (ZF1327) for ends that fall or do not fit
/// the values, and for null lists that have some.
ZF_API zf_status zf_decode_lists(zf_container *container, size_t column, const char *device, const zf_decode_options *options,
                                 const zf_decode_buffers *buffers, zf_list_values *out, zf_decode_stats *stats, zf_error *error);

// ---- Code before decodes --------------------------------------------------------------------------------------
//
// A decode gets its code when it meets the first block that needs it. Getting the code of many columns before, over several
// threads, shortens the wait, and separates the time to the first byte from the time of decoding.

/// A decode to come: its column and rows.
typedef struct zf_code_request {
    size_t size; ///< ZF_INIT
    zf_container *container;
    size_t column;
    zf_decode_options options; ///< its rows and `cancelled`; other members are ignored
} zf_code_request;

/// Statistics of getting code.
typedef struct zf_code_stats {
    size_t size;                      ///< ZF_INIT
    uint64_t codes, compiled, cached; ///< as in zf_decode_stats
    double compile_seconds;           ///< time to get code: per request the sum over threads, in total the time of the call
    double load_seconds;              ///< time to load it to the device, likewise; overlaps with the former
} zf_code_stats;

/// Gets and loads the code that later decodes of these requests need, over several threads.
///
/// `threads`: more than 256 count as 256; 0: the context's number. Examines at most 256 blocks per column. Failures are reported
/// by the decode that needs the code, also those of columns and rows that do not exist: this call changes neither which errors
/// occur nor which comes first. It fails only for wrong pointers and structs, an absent device, missing memory, or if `cancelled`
/// of a request returns true (ZF_ERR_CANCELLED). `each` (may be NULL) has one entry per request; the size of the first is that of
/// all. `all` may be NULL. Both are zero where arguments or the device are wrong. Codes are counted per request: those of a
/// column that is requested twice count twice in `all`. The context owns the code. Host-blocking, ordered with no stream. Any
/// thread, also while others decode.
ZF_API zf_status zf_code_obtain(zf_context *context, const char *device, const zf_code_request *requests, size_t request_count,
                                unsigned threads, zf_code_stats *each, zf_code_stats *all, zf_error *error);

// ---- Decoding into device memory ------------------------------------------------------------------------------
//
// For devices with memory and streams of their own. The caller owns both. After zf_decode_prepare nothing allocates and nothing
// blocks the host, except the copy into `staging`:
//
//   zf_decode_prepare       finds and checks the blocks on the host, gets and loads their code
//   zf_decode_device_size   returns the memory that the caller must provide
//   zf_decode_async         enqueues copies and kernels on a stream, and returns
//   (the caller waits for the stream, or enqueues its own work after the decode)
//   zf_decode_status        returns what the kernels reported
//   zf_prepared_free

/// A decode that is ready to be enqueued. It belongs to the caller; its container must stay open.
///
/// Use it from one thread at a time. Its decodes may be in progress on several streams at once.
typedef struct zf_prepared zf_prepared;

/// The bytes that one decode needs.
typedef struct zf_device_sizes {
    size_t size;     ///< ZF_INIT
    uint64_t values; ///< device memory: the rows, and `skip` before them
    /// Bytes of `values` before the first row (booleans: bits). Kernels store whole vectors, so blocks begin at a multiple of
    /// 256; booleans, and algorithms that read their own output (`out[..]`), store whole blocks. 0 if all rows are decoded.
    uint64_t skip;
    uint64_t offsets;  ///< device memory, strings: i64, rows + 1. The first is the byte of `values` at which the first row begins
    uint64_t validity; ///< device memory, nullable columns: one bit per row, and `validity_skip` bits before the first
    uint64_t validity_skip;
    uint64_t workspace; ///< device memory: stored bytes, tables, intermediate results
    uint64_t staging;   ///< host memory: stored bytes and tables before their copy, failure words after theirs
} zf_device_sizes;

/// The buffers of one decode, and their sizes in bytes.
///
/// All but `staging` are addresses of device memory (CUDA: CUdeviceptr of the primary context), aligned to 256. `staging` is host
/// memory, aligned to 8; if it is not pinned, copies may block the host. `offsets` and `validity` are for columns that have them.
/// A buffer that is too small is refused (ZF_ERR_USAGE, ZF1117). The emulator gives callers no memory: use zf_decode there.
typedef struct zf_device_buffers {
    size_t size; ///< ZF_INIT
    uint64_t values, workspace;
    uint64_t offsets, validity;
    void *staging;
    uint64_t values_bytes, workspace_bytes, offsets_bytes, validity_bytes, staging_bytes; ///< ZF_DEVICE_BYTES sets all five
} zf_device_buffers;

/// Initialises the five sizes of a zf_device_buffers from a zf_device_sizes.
#define ZF_DEVICE_BYTES(sizes)                                                                                                   \
    .values_bytes = (sizes).values, .workspace_bytes = (sizes).workspace, .offsets_bytes = (sizes).offsets,                      \
    .validity_bytes = (sizes).validity, .staging_bytes = (sizes).staging

/// Prepares a decode of a column, or some of its rows, for a device with memory of its own.
///
/// Reads the blocks and reports the faults that the host can see. Keeps the stored bytes in host memory, unless the container has
/// them in memory already. May compile. `options` may be NULL and is not kept. Free the result with zf_prepared_free, before the
/// container is closed. Host-blocking, ordered with no stream. Any thread.
///
/// Errors: those of zf_decode but for buffers; ZF_ERR_UNSUPPORTED for a device without memory of its own (ZF1406).
ZF_API zf_status zf_decode_prepare(zf_container *container, size_t column, const char *device, const zf_decode_options *options,
                                   zf_prepared **out, zf_error *error);
/// Frees a prepared decode. Wait for its enqueued work first: kernels use its code and the caller's buffers. One thread.
ZF_API void zf_prepared_free(zf_prepared *prepared);

/// Returns the sizes of the buffers for zf_decode_async. Errors: ZF_ERR_USAGE.
ZF_API zf_status zf_decode_device_size(const zf_prepared *prepared, zf_device_sizes *out, zf_error *error);

/// Enqueues a prepared decode on a stream.
///
/// `stream`: CUDA: a CUstream of the primary context; NULL: the default stream. Stream order: the decode runs after the work that
/// is already on `stream`. The host copies the stored bytes into `staging` first; this is all that takes its time. A file that
/// changed since zf_decode_prepare is ZF_ERR_INPUT (ZF1208).
///
/// The buffers belong to the decode until `stream` has passed it. Then, or with other buffers on another stream, the call may be
/// repeated; zf_decode_status reports the last call. After an error a part of the decode may be enqueued, and zf_decode_status
/// returns that error.
///
/// Parts of the decode may run on streams of its own, which begin after the work on `stream` and which `stream` waits for. They
/// have no priority. All decodes of one zf_prepared share them, so one may wait for another on the device.
///
/// Errors: ZF_ERR_USAGE for buffers (ZF1107, ZF1117); ZF_ERR_INPUT (ZF1208); ZF_ERR_DEVICE (ZF1109, ZF1110). One thread at a time
/// for each zf_prepared.
ZF_API zf_status zf_decode_async(zf_prepared *prepared, void *stream, const zf_device_buffers *buffers, zf_error *error);

/// Returns the result of the last zf_decode_async, once its stream has passed the decode.
///
/// ZF_OK, or the first violation of the first block that has one; `values` is unspecified then. If zf_decode_async failed, its
/// error. Booleans: bits after the last row are unspecified. `stats` may be NULL; its launches are those of all calls.
///
/// Errors: ZF_ERR_INPUT (ZF13nn; ZF1208 for a file that changed); ZF_ERR_USAGE before the first zf_decode_async. Does not block.
/// One thread at a time for each zf_prepared.
ZF_API zf_status zf_decode_status(const zf_prepared *prepared, zf_decode_stats *stats, zf_error *error);

// ---- Tiles for other kernels ----------------------------------------------------------------------------------
//
// A kernel of the caller decodes a column itself, a tile at a time, with a loader from a header of `zfc compile
// --device-functions` (docs/queries.md). These functions bring the column's stored blocks to the device.

#define ZF_TILE_ROWS 2048 ///< rows of a tile; the last one of a column may have fewer

/// A column as tile loaders read it: pass it to a kernel by value. Addresses are of device memory; all zero for a column without
/// rows. The headers of `zfc compile --device-functions` have the same struct, so that a kernel needs no other header.
#ifndef ZF_TILE_COLUMN
#define ZF_TILE_COLUMN
typedef struct zf_tile_column {
    uint64_t blocks;      ///< stored blocks
    uint64_t table;       ///< a descriptor for each block
    uint64_t work;        ///< what blocks have that was decoded before, such as dictionaries
    uint64_t rows;        ///< of the column
    uint32_t tiles;       ///< of the column: rows / ZF_TILE_ROWS, rounded up
    uint32_t block_tiles; ///< of every block but the last
} zf_tile_column;
#endif

/// A column in a device's memory, for tile loaders. It belongs to the caller; its container must stay open.
typedef struct zf_prepared_tiles zf_prepared_tiles;

/// Checks the blocks of a column, copies them to the memory of a device, and decodes what their tiles share (dictionaries).
///
/// `key`: ZF_TILE_KEY_NAME of the header, which names the column and the codes that its loader is for. `device`: NULL: "auto".
/// Code for the shared parts comes from a module or a compiler of the context, as for zf_decode. The memory is allocated here,
/// and holds the column until zf_tiles_free. Host-blocking: when the call returns, kernels on any stream may read the column. Any
/// thread. Free `*out` with zf_tiles_free, before the container is closed.
///
/// Errors: ZF_ERR_USAGE for a text that is no such key (ZF1101) or an unknown column (ZF1105); ZF_ERR_UNSUPPORTED where the file
/// has other codecs, or blocks with other params, than the header (ZF1413), where blocks do not begin at whole tiles or have
/// different rows (ZF1414), without code, and for a device without memory of its own (ZF1406); ZF_ERR_DEVICE, also where its
/// memory does not suffice (ZF1108); ZF_ERR_INPUT and ZF_ERR_IO for the blocks.
ZF_API zf_status zf_tiles_prepare(zf_container *container, const char *key, const char *device, zf_prepared_tiles **out,
                                  zf_error *error);
/// Describes the column for kernels. The addresses are valid until zf_tiles_free. Errors: ZF_ERR_USAGE. Any thread.
ZF_API zf_status zf_tiles_column(const zf_prepared_tiles *tiles, zf_tile_column *out, zf_error *error);
/// Frees the column's memory. Wait for kernels that read it first. One thread.
ZF_API void zf_tiles_free(zf_prepared_tiles *tiles);

#ifdef __cplusplus
}
#endif
#endif
