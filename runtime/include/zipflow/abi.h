// What kernels and their launcher agree on. A provider of code (the compiler, or later a module) hands the runtime a
// `zf_abi_plan`, which says how to fill a kernel's arguments, and function pointers. Version it with every change.
#ifndef ZIPFLOW_ABI_H
#define ZIPFLOW_ABI_H

#include "zipflow/zipflow.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ZF_ABI_VERSION 1

/// A word of a block's descriptor: 64 bits each, filled by the launcher from the block's header. Numbers (of params, stored
/// streams, edges, trees) are those of docs/format.md.
typedef enum zf_abi_slot_kind {
    ZF_SLOT_PARAM,       ///< value of param `a`, as 64 bits
    ZF_SLOT_OFFSET,      ///< byte offset of stored stream `a` from the block's base
    ZF_SLOT_COUNT,       ///< elements of edge `a`
    ZF_SLOT_SEEK_OFFSET, ///< byte offset of field `b` of tree `a` from the block's base
    ZF_SLOT_SEEK_WIDTH,  ///< its bytes an entry: 1, 2, 4 or 8 (0: all entries are 0, none stored)
} zf_abi_slot_kind;

typedef struct zf_abi_slot {
    zf_abi_slot_kind kind;
    uint32_t a, b;
} zf_abi_slot;

/// Where a kernel reports its first violation: position << 16 | check, the smallest wins (atomic minimum). Starts as
/// ZF_ABI_NO_FAILURE. The position is an output index of the kernel's root within the block.
#define ZF_ABI_NO_FAILURE UINT64_MAX

typedef enum zf_abi_mode {
    ZF_ABI_DECODE, ///< start each tile from its stored state, and demand that it ends in the next one
    ZF_ABI_RECORD, ///< start from the first state, run all tiles in order, write states to `record`
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
} zf_abi_args;

/// Decodes tiles begin..end: the outputs begin * tile .. min(end * tile, count). Writes those elements only (for bool: whole
/// bytes, the last one's spare bits 0).
typedef void (*zf_abi_kernel_fn)(const zf_abi_args *args, uint64_t begin, uint64_t end);

/// The hoisted checks of a block, all kernels of the plan: reports to args->failure. Runs before any kernel.
typedef void (*zf_abi_check_fn)(const zf_abi_args *args);

typedef struct zf_abi_kernel {
    const char *name;
    uint32_t edge; ///< whose elements it makes
    uint32_t tile; ///< elements a tile
    int32_t sink;  ///< -1: the column's buffer, else a work buffer
    int32_t tree;  ///< -1, or the number of its seek tree
} zf_abi_kernel;

typedef struct zf_abi_work {
    uint32_t edge;
    uint32_t element; ///< bytes an element; 0: bits
    uint32_t extra;   ///< elements beyond the edge's count
    uint32_t reserved;
} zf_abi_work;

typedef struct zf_abi_field {
    uint32_t bytes;   ///< widest entry: 8, 4, 2 or 1
    const char *name; ///< "values.group", "scan 0"
} zf_abi_field;

typedef struct zf_abi_tree {
    uint32_t edge;
    uint32_t interval; ///< A
    uint32_t field_count;
    const zf_abi_field *fields;
} zf_abi_tree;

/// What a check is called in an error.
typedef struct zf_abi_check {
    uint32_t violation; ///< 1 for V01
    const char *path;   ///< of the node: "values.counts"
    const char *algorithm;
    const char *text; ///< "index of packed"
    const char *file;
    uint32_t line, column;
} zf_abi_check;

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
} zf_abi_plan;

/// The code for one tuple of shaping values, or for all (the general form). Lives as long as its plan.
typedef struct zf_abi_code {
    const zf_abi_kernel_fn *kernels; ///< plan->kernel_count
    zf_abi_check_fn check;           ///< NULL: nothing was hoisted
} zf_abi_code;

/// A source of code for containers. All functions may be called from many threads at once.
typedef struct zf_abi_provider {
    void *self;
    /// The plan for a column of an open container under vector `branches` (`branch_count` bytes).
    zf_status (*plan)(void *self, zf_container *container, size_t column, const uint8_t *branches, size_t branch_count,
                      const zf_abi_plan **out, zf_error *error);
    /// Code for the shaping values `shaping` (in the order of plan->shaping), or the general form when NULL.
    zf_status (*code)(void *self, const zf_abi_plan *plan, const uint64_t *shaping, const zf_abi_code **out, zf_error *error);
    /// The container is being closed: free the plans and code that were made for it. Nothing decodes it any more.
    void (*forget)(void *self, zf_container *container);
} zf_abi_provider;

/// Makes `provider` the context's source of code; NULL removes it. It must outlive the containers of the context.
ZF_API zf_status zf_context_set_provider(zf_context *context, const zf_abi_provider *provider, zf_error *error);

#ifdef __cplusplus
}
#endif
#endif
