// The interface between kernels and their launcher. A provider of code (the compiler, or a module) hands the runtime a
// `zf_abi_plan`, which says how to fill a kernel's arguments, and function pointers. Version it with every change.
#ifndef ZF_RUNTIME_ABI_H
#define ZF_RUNTIME_ABI_H

#include "zipflow/zipflow.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ZF_ABI_VERSION 13

/// A word of a block's descriptor: 64 bits each, filled by the launcher from the block's header. Numbers (of params, stored
/// streams, edges, trees) are those of docs/format.md.
typedef enum zf_abi_slot_kind {
    ZF_SLOT_PARAM,       ///< value of param `a`, as 64 bits
    ZF_SLOT_OFFSET,      ///< byte offset of stored stream `a` from the block's base
    ZF_SLOT_COUNT,       ///< elements of edge `a`
    ZF_SLOT_SEEK_OFFSET, ///< byte offset of field `b` of tree `a` (states or directory) from the block's base
    ZF_SLOT_SEEK_WIDTH,  ///< its bytes an entry: 1, 2, 4 or 8 (0: all entries are 0, none stored)
    ZF_SLOT_CHARACTERS,  ///< string columns: the bytes of all of the block's strings together
    ZF_SLOT_CHUNKS,      ///< chunks of tree `a`, an uneven directory
} zf_abi_slot_kind;

typedef struct zf_abi_slot {
    zf_abi_slot_kind kind;
    uint32_t a, b;
} zf_abi_slot;

/// Where a kernel reports its first violation: position << 16 | check, the smallest wins (atomic minimum). Starts as
/// ZF_ABI_NO_FAILURE. The position is an output index of the kernel's root within the block.
#define ZF_ABI_NO_FAILURE UINT64_MAX
#define ZF_EDGE_ELEMENTS_MOST (UINT64_C(1) << 32) ///< elements of an edge in a block: a container of more is refused

typedef enum zf_abi_mode {
    ZF_ABI_DECODE, ///< start each tile from its stored state, and demand that it ends in the next one
    ZF_ABI_RECORD, ///< start from the first state, run all tiles in order, write states to `record`
    ZF_ABI_STATES, ///< the same, for the states alone: elements of the column need not be made, and may not be checked
} zf_abi_mode;

/// Arguments of a kernel for one block.
typedef struct zf_abi_args {
    const uint8_t *base;   ///< first byte of the block, aligned to 256; readable 16 bytes past any stream's end
    const uint64_t *slots; ///< descriptor words
    void *const *work;     ///< work buffers, aligned to 64
    uint8_t *out;          ///< where element 0 of the block goes, if it is decoded; bool: bit 0 of this byte
    uint64_t *record;      ///< RECORD: entry t - 1 of field f at [f * (tiles - 1) + t - 1], t = 1 .. tiles - 1
    uint64_t *failure;
    uint64_t tiles; ///< tiles of the kernel in this block: at least 1, also where its edge is empty
    uint32_t mode;  ///< zf_abi_mode
    uint32_t reserved;
    uint8_t *validity; ///< kernels of nullable columns: where bit 0 of the block goes, if it is decoded
    /// Kernels of string columns: row i ends at offsets[i + 1], where row 0 would have its begin at offsets[0]. `out` is the
    /// place of the block's first byte; of its bytes those from byte_begin to byte_end have a place, and nothing else is written.
    int64_t *offsets;
    uint64_t offset_base; ///< what is added to a place in the block's bytes (modulo 2^64) to give an offset
    /// Kernels of uneven chunks: the elements that have a place, whatever a directory says that was changed since its check.
    uint64_t byte_begin, byte_end;
} zf_abi_args;

/// Decodes tiles begin..end: the outputs begin * tile .. min(end * tile, count). Writes those elements only (bits: whole
/// bytes, the last one's spare bits 0); nullable: 0 where there is no value.
typedef void (*zf_abi_kernel_fn)(const zf_abi_args *args, uint64_t begin, uint64_t end);

typedef struct zf_abi_kernel {
    const char *name;
    uint32_t edge; ///< whose elements it makes
    uint32_t tile; ///< elements a tile; of an uneven directory's the most
    int32_t sink;  ///< -1: the column's buffer, else a work buffer
    int32_t tree;  ///< -1, or the number of its seek tree
    /// 1: it reads what it stored, so all elements of its tiles must have a place, also rows that are not wanted.
    uint32_t rereads;
} zf_abi_kernel;

enum { ZF_ABI_HANDLE_BYTES = 16, ZF_ABI_WORK_PADDING = 16 };
/// Elements side by side; a buffer without any begins with 16 bytes of zeros, because kernels may read element 0 wherever an
/// index was wrong. Nullable ones are followed, at the next multiple of 64 bytes, by a byte each: 1, or 0 for null.
/// Kernels may read ZF_ABI_WORK_PADDING bytes behind the last element, since they read packed bits and characters by words, and
/// mask them. On accelerators the kernel that makes the elements clears them, except behind:
/// - nullable buffers. They have neither bits nor slices: kernels read their elements and their bytes one by one. Where LLVM
///   loads 16 bytes that are not aligned at once, NVPTX reads the words in which they lie, and shifts the others out
///   (nvptx_loads.h);
/// - elements that hold the column's, whose kernel stores those (zf_abi_simt_kernel.to_column): there is no buffer to read;
/// - the column's characters: there is no buffer either, no kernel reads them again, and behind them are the caller's bytes.
typedef struct zf_abi_work {
    uint32_t edge;
    uint32_t element;  ///< bytes an element; 0: bits; strings ZF_ABI_HANDLE_BYTES: where the bytes are, and how many
    uint32_t extra;    ///< elements beyond the edge's count
    uint32_t nullable; ///< 1 or 0
    /// 1: its bytes are the column's characters, so its kernel gets the column's `out`. Accelerators have no such buffer and
    /// store only the bytes that have a place, so their kernel must not read them again. On a CPU the buffer is NULL if all
    /// characters of the block are decoded; the column's kernel then copies none.
    uint32_t characters;
} zf_abi_work;

/// The meaning of a field of a seek state.
typedef enum zf_abi_field_kind {
    ZF_FIELD_GROUP,  ///< number of a group: from tile to tile it never decreases
    ZF_FIELD_OFFSET, ///< elements of that group that were made
    ZF_FIELD_SCAN,   ///< an accumulator
    ZF_FIELD_CHUNK,  ///< of a directory: where a chunk starts in a stream, in elements
    ZF_FIELD_BYTES,  ///< bytes of the strings before: from tile to tile it never decreases
    ZF_FIELD_OUTPUT, ///< of an uneven directory: the output with which a chunk starts
    ZF_FIELD_LENGTH, ///< of an uneven directory: the elements of a chunk in a stream
} zf_abi_field_kind;

typedef struct zf_abi_field {
    uint32_t bytes;   ///< widest entry: 8, 4, 2 or 1
    const char *name; ///< for people: "values.group", "scan 0"
    zf_abi_field_kind kind;
} zf_abi_field;

typedef enum zf_abi_directory {
    ZF_DIRECTORY_NONE,   ///< seek states
    ZF_DIRECTORY_EVEN,   ///< all fields are CHUNK, and entry c - 1 of each is the start of chunk c
    ZF_DIRECTORY_UNEVEN, ///< OUTPUT, then CHUNK and LENGTH of each stream; entry c is that of chunk c
} zf_abi_directory;

/// States of an ordered kernel, one every A outputs of `edge`; or the directory of an edge whose outputs are made in chunks. A
/// tile of the latter's kernel is one chunk, or several whole ones where chunks are even.
typedef struct zf_abi_tree {
    uint32_t edge;
    uint32_t interval;  ///< A, or the outputs of a chunk, or the most that one has
    uint32_t directory; ///< zf_abi_directory
    uint32_t field_count;
    const zf_abi_field *fields;
} zf_abi_tree;

/// The subject of a check in an error message.
typedef struct zf_abi_check {
    uint32_t violation; ///< 1 for V01
    const char *path;   ///< of the node: "values.counts"
    const char *algorithm;
    const char *text; ///< "index of packed"
    const char *file; ///< "": the text that the container carries, which errors call by the container's path
    uint32_t line, column;
} zf_abi_check;

// ---- Checks of a whole block ----------------------------------------------------------------------------------
//
// Some checks hold for a whole block: accesses that are monotone in the domain index, ranges of params, lengths, amounts of work.
// The runtime makes them before any kernel runs (runtime/decode/block_check.h). They are a postfix program over the block's
// descriptor: steps push and pop 64-bit words on a stack. Narrow signed integers are sign-extended, other narrow values
// zero-extended. Jumps lead forward, so a program runs each step at most once.

typedef enum zf_abi_check_op {
    ZF_CHECK_CONST,       ///< push constants[a]
    ZF_CHECK_SLOT,        ///< push descriptor word a
    ZF_CHECK_GET,         ///< push local a; 0 before it is set
    ZF_CHECK_SET,         ///< pop into local a
    ZF_CHECK_TABLE,       ///< pop index; push constants[a + index], or constants[a] unless index < b
    ZF_CHECK_DUP,         ///< push the top again
    ZF_CHECK_NARROW,      ///< keep the low a bits (8, 16 or 32) of the top; b = 1: sign-extend them
    ZF_CHECK_NOT,         ///< 1 if the top is 0, else 0
    ZF_CHECK_POPCOUNT,    ///< set bits of the top
    ZF_CHECK_BIT_WIDTH,   ///< bits that the top needs; 0 for 0
    ZF_CHECK_CTZ,         ///< zero bits below the lowest set bit of the top; a where none is set
    ZF_CHECK_ADD,         ///< from here to ZF_CHECK_MAX_S: pop right, pop left, push the result. Arithmetic wraps
    ZF_CHECK_SUB,         ///<
    ZF_CHECK_MUL,         ///<
    ZF_CHECK_DIV_U,       ///< divisions and remainders by 0 are those by 1
    ZF_CHECK_DIV_S,       ///< the smallest number by -1 wraps
    ZF_CHECK_REM_U,       ///<
    ZF_CHECK_REM_S,       ///<
    ZF_CHECK_AND,         ///<
    ZF_CHECK_OR,          ///<
    ZF_CHECK_XOR,         ///<
    ZF_CHECK_SHL,         ///< shifts by 64 or more give 0
    ZF_CHECK_SHR_U,       ///<
    ZF_CHECK_SHR_S,       ///< by 64 or more: as by 63
    ZF_CHECK_EQ,          ///<
    ZF_CHECK_LT_U,        ///<
    ZF_CHECK_LT_S,        ///<
    ZF_CHECK_LE_U,        ///<
    ZF_CHECK_LE_S,        ///<
    ZF_CHECK_MIN_U,       ///<
    ZF_CHECK_MIN_S,       ///<
    ZF_CHECK_MAX_U,       ///<
    ZF_CHECK_MAX_S,       ///<
    ZF_CHECK_JUMP,        ///< skip the next a steps
    ZF_CHECK_JUMP_UNLESS, ///< pop; skip the next a steps if it is 0
    ZF_CHECK_HOLDS,       ///< pop; if it is 0, check a failed. If several fail, the smallest number counts
    ZF_CHECK_STOP,        ///< end the program if a check failed
    ZF_CHECK_OPS,
} zf_abi_check_op;

enum {
    ZF_CHECK_STEPS_MOST = 65536,
    ZF_CHECK_CONSTANTS_MOST = 1 << 18,
    ZF_CHECK_LOCALS_MOST = 64,
    ZF_CHECK_STACK_MOST = 256,   ///< words
    ZF_CHECK_PENDING_MOST = 256, ///< jumps over one step
};

typedef struct zf_abi_check_step {
    uint32_t op; ///< zf_abi_check_op
    uint32_t a, b;
} zf_abi_check_step;

/// Ends with an empty stack. Without steps there is nothing to check.
typedef struct zf_abi_check_program {
    uint32_t step_count, constant_count, local_count;
    const zf_abi_check_step *steps;
    const uint64_t *constants;
} zf_abi_check_program;

/// The kind of device that code is made for.
typedef enum zf_abi_target_family { ZF_TARGET_HOST, ZF_TARGET_EMU, ZF_TARGET_NVPTX } zf_abi_target_family;
typedef struct zf_abi_target {
    zf_abi_target_family family;
    uint32_t arch; ///< which of the family: NVPTX: compute capability, 90 for 9.0; EMU: lanes of a wave (0: 32); HOST: 0
} zf_abi_target;

/// The device that a plan is for.
typedef struct zf_abi_device {
    zf_abi_target target;
    const char *description; ///< its model and driver, as zf_device_info has it, by which tuned results are found; NULL: unknown
} zf_abi_device;

/// A decoder of one column for one vector of branches. Lives until its provider forgets the container.
typedef struct zf_abi_plan {
    uint32_t version;
    uint32_t slot_count, kernel_count, work_count, tree_count, shaping_count, check_count;
    const zf_abi_slot *slots;
    const zf_abi_kernel *kernels; ///< in order
    const zf_abi_work *works;
    const zf_abi_tree *trees;
    const uint32_t *shaping; ///< numbers of params
    const zf_abi_check *checks;
    void *provider_data;
    zf_abi_target target;
    zf_abi_check_program block_checks; ///< run before the kernels
} zf_abi_plan;

/// How a process got code.
typedef enum zf_abi_origin {
    ZF_CODE_GIVEN,    ///< as from a module, which has it
    ZF_CODE_COMPILED, ///< some of it at least
    ZF_CODE_CACHED,   ///< found in the cache on disk
} zf_abi_origin;

/// Bytes of stack. A kernel that needs at most ZF_ABI_STACK_PLAIN runs on any thread, and no kernel needs more than
/// ZF_ABI_STACK_MOST.
enum { ZF_ABI_STACK_PLAIN = 16 << 10, ZF_ABI_STACK_MOST = 4 << 20 };

/// Outputs of a chunk of an even directory, and of any that a GPU decodes.
enum { ZF_CHUNK_MOST = 1 << 24 };

/// The code for one tuple of shaping values, or for all (the general form). Lives as long as its plan.
typedef struct zf_abi_code {
    const zf_abi_kernel_fn *kernels;       ///< HOST: plan->kernel_count
    const struct zf_abi_simt_kernel *simt; ///< accelerators: plan->kernel_count
    uint32_t image_kind;                   ///< zf_abi_image_kind
    const void *image;                     ///< PTX ends in a zero byte
    size_t image_bytes;
    uint32_t origin;  ///< zf_abi_origin
    uint32_t general; ///< 1: it is for all tuples of shaping values, and there are such values
    /// HOST: the stack that any of the kernels needs; 0 where that is at most ZF_ABI_STACK_PLAIN. Kernels of code with more run
    /// on threads whose stacks have a known size.
    uint32_t stack_bytes;
} zf_abi_code;

// ---- Kernels of accelerators ----------------------------------------------------------------------------------
//
// One launch of a kernel covers the tiles of all blocks of a *unit*: blocks of a column that share branches and shaping values,
// whose bytes lie in one piece of memory. A thread block finds its block by the table of first tiles. Arguments, in order:
//
//   const uint8_t *base      the unit's bytes, aligned to 256
//   const uint64_t *blocks   descriptors, one after the other, each of ZF_SIMT_HEAD words, the plan's slots, and the byte
//                            offset from `work` of each work buffer (a multiple of 256)
//   const uint32_t *first    of this kernel: first tile of block b in this launch at [b], the number of tiles at [block_count];
//                            where the kernel has a span, spans in place of tiles
//   const uint8_t *work      work buffers, aligned to 256
//   uint8_t *out             the column, or (kernels with a sink that do not store there) the same as `work`
//   uint8_t *validity        nullable columns: a bit a row
//   int64_t *offsets         string columns, whose bytes are `out`: where rows begin and end
//   uint64_t *failure        one word, ZF_ABI_NO_FAILURE before: block << 48 | position << 16 | check, the smallest wins. Those
//   of
//                            the plan's other kernels lie around it, in their order: a kernel that takes strings from a work
//                            buffer leaves alone the blocks in which the kernel that makes them failed
//   uint32_t block_count     1 .. ZF_SIMT_MOST_BLOCKS
//   uint32_t even            tiles of every block but the last where they are equal, so that a division finds the block; else 0
//
// Work group w makes tiles w * tiles .. (w + 1) * tiles - 1 (zf_abi_simt_kernel.tiles), those that exist; or a span, which is so
// many tiles of one block, or those that are left of it.

/// The first words of a block's descriptor.
typedef enum zf_simt_word {
    ZF_SIMT_BASE,       ///< offset of the block from `base`, in units of 256 bytes
    ZF_SIMT_OUT,        ///< added to `out` (modulo 2^64) gives where element 0 of the block goes; bool: bit 0 of that byte
    ZF_SIMT_ROW_BEGIN,  ///< kernels without a sink store elements ROW_BEGIN .. ROW_END only (bool, even tiles: the whole block)
    ZF_SIMT_ROW_END,    ///<
    ZF_SIMT_FIRST_TILE, ///< kernels without a sink: the block's tile that the launch begins with
    ZF_SIMT_VALIDITY,   ///< added to `validity` (modulo 2^64) gives the byte of the block's bit 0; the whole block has a place
    ZF_SIMT_OFFSETS, ///< added to `offsets` (modulo 2^64) gives where row 0's begin goes, and behind it where it ends. Strings:
                     ///< ROW_BEGIN .. ROW_END have theirs, and `out` is of the block's first byte
    ZF_SIMT_OFFSET_BASE, ///< what is added to a place in the block's bytes (modulo 2^64) to give an offset
    ZF_SIMT_BYTE_BEGIN,  ///< strings: of the block's bytes only these have a place
    ZF_SIMT_BYTE_END,    ///<
    ZF_SIMT_HEAD,
} zf_simt_word;
#define ZF_SIMT_MOST_BLOCKS 65535
#define ZF_SIMT_MOST_TILES 0x7fffffff ///< a launch

typedef struct zf_abi_simt_kernel {
    const char *name; ///< the entry in the image
    uint32_t threads; ///< of a thread block, a multiple of 32; 0: there is no such kernel, since another one stores the column
    uint32_t tiles;   ///< of a thread block
    /// Emulated: runs one thread up to its end; `thread` is the emulator's. NULL in other images.
    void (*emulated)(void *thread, const uint8_t *base, const uint64_t *blocks, const uint32_t *first, const uint8_t *work,
                     uint8_t *out, uint8_t *validity, int64_t *offsets, uint64_t *failure, uint32_t block_count, uint32_t even);
    uint32_t warp;         ///< emulated: lanes that converge, 32 or 64: a wave of the device, or half of one
    uint32_t shared_bytes; ///< emulated: of shared memory that the kernel wants; else the image says it
    /// Bytes of shared memory that a launch gives, since the image does not say them: more than code for a GPU may declare. Such
    /// a kernel has no others. Else 0.
    uint32_t dynamic_bytes;
    uint32_t span; ///< tiles of one block that a thread block makes; 0: `tiles`
    /// Kernels with a sink: 1: what it makes holds the column's elements, and it stores those, so `out` is the column and the
    /// work buffer is not there. Then the kernel without a sink has no threads.
    uint32_t to_column;
    const char *const *files; ///< emulated: what ZF_ABI_PLACE_FILE gives, from 1, or NULL
} zf_abi_simt_kernel;

/// A line of a program in 32 bits, as emulated kernels tell where they are: 0 is no place, file 0 no file that has a name.
#define ZF_ABI_PLACE(file, line) ((uint32_t)(file) << 24 | (uint32_t)(line))
#define ZF_ABI_PLACE_FILE(place) ((place) >> 24)
#define ZF_ABI_PLACE_LINE(place) ((place) & 0xffffff)
#define ZF_ABI_FILES_MOST 255

typedef enum zf_abi_image_kind { ZF_IMAGE_NONE, ZF_IMAGE_PTX, ZF_IMAGE_CUBIN } zf_abi_image_kind;

/// Tuples of shaping values of a plan that get code of their own; the general form serves further ones.
enum {
    ZF_TUPLES_DEFAULT = 8,
    ZF_TUPLES_MOST = 256, ///< of zf_compiler_options.shaping_tuples
};

/// The tuples of shaping values of a column in a file.
typedef struct zf_tuple_count {
    uint64_t tuples;         ///< that occur; equal ones under other alternatives are others
    uint64_t most;           ///< under one vector of alternatives, which has a decoder
    uint64_t limit;          ///< of a decoder: so many get code of their own; 0: those of a module do
    uint64_t general_tuples; ///< without code of their own
    uint64_t blocks, general_blocks;
    uint64_t rows, general_rows;
} zf_tuple_count;

/// A source of code for containers. All functions may be called from many threads at once.
typedef struct zf_abi_provider {
    void *self;
    /// The plan for a column of an open container under vector `branches` (`branch_count` bytes), for a device.
    /// ZF_ERR_UNSUPPORTED where this provider has none: the next is asked.
    zf_status (*plan)(void *self, zf_container *container, size_t column, const uint8_t *branches, size_t branch_count,
                      zf_abi_device device, const zf_abi_plan **out, zf_error *error);
    /// Code for the shaping values `shaping` (in the order of plan->shaping), or the general form when NULL, for the plan's
    /// target.
    zf_status (*code)(void *self, const zf_abi_plan *plan, const uint64_t *shaping, const zf_abi_code **out, zf_error *error);
    /// The container is being closed: free the plans and code that were made for it. Nothing decodes it any more.
    /// It must not add or remove providers of the context, which may wait for it.
    void (*forget)(void *self, zf_container *container);
    /// Tuples for which code is obtained before decodes need it. 0: ZF_TUPLES_DEFAULT.
    uint32_t tuples;
} zf_abi_provider;

/// Makes `provider` the context's source of code where its modules have none; NULL removes it. It must outlive the containers of
/// the context.
ZF_API zf_status zf_context_set_provider(zf_context *context, const zf_abi_provider *provider, zf_error *error);

#ifdef __cplusplus
}
#endif
#endif
