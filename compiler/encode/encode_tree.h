// Encodes one block: the root's encode body runs first, then each child's on the elements that its parent pushed. Alternatives
// are tried, and the smallest result is kept.
#ifndef ZF_COMPILER_ENCODE_TREE_H
#define ZF_COMPILER_ENCODE_TREE_H

#include "codegen/codegen_encode.h"
#include "frontend/spec/spec.h"
#include "runtime/base/error.h"
#include "zipflow/compile.h"

/// The input of an edge: rows of the column, or elements that the parent pushed.
typedef struct zf_encode_input {
    zf_type type;
    const uint8_t *values, *validity;
    const uint64_t *offsets;
    uint64_t rows;
    const uint64_t *parts;
    uint64_t part_count;
} zf_encode_input;

/// One encoded node. Owns its frame's memory.
typedef struct zf_encode_node {
    const zf_codec_node *codec;
    uint32_t branch;
    const zf_codec_choice *choice;
    uint64_t count; ///< elements of its output
    zf_encode_frame frame;
    zf_encode_buffer *streams, *locals;
    uint64_t *params;
    struct zf_encode_node **children; ///< by slot; NULL: stored
    uint64_t stored_bytes;            ///< of the subtree, about
} zf_encode_node;

/// Finds the encode function of an instance; NULL with a reason if it has none.
typedef zf_encode_fn (*zf_encode_find)(void *user, const zf_inst *inst, const char **reason);
/// Finds the encoder of an instance that says `encode extern`; NULL if no encoder has that name.
typedef const zf_extern_encoder *(*zf_encode_find_extern)(void *user, const zf_inst *inst);

/// Why one alternative refused the block.
typedef struct zf_encode_refusal {
    char code[16];
    char reason[400];
    zf_span span;          ///< where; source NULL when not known
    uint64_t row;          ///< of the block, or ZF_ENCODE_NO_ROW
    const zf_inst *unable; ///< whose encoder is missing, or cannot run on this machine; NULL: another reason
} zf_encode_refusal;

/// Refusals that are kept for the message.
enum { ZF_ENCODE_REFUSALS = 8 };

typedef struct zf_encode_task {
    zf_encode_find find;
    zf_encode_find_extern find_extern;              ///< NULL: there are none
    void (*extern_names)(void *user, zf_text *out); ///< appends the names of all encoders, for a message; NULL: nothing
    void *user;
    uint64_t skip; ///< alternatives of the root that are not tried, one bit each
    /// Receives each refusal of an input that another alternative took. May be NULL.
    void (*passed_over)(void *user, const zf_encode_refusal *refusal);
    zf_encode_pool *pool; ///< of the bodies' memory, which outlives the tree; NULL: none
    zf_encode_hash hash;  ///< of intern, given by tests; 0: drawn anew for each body
    // why every alternative refused the block, in the order of the codec
    uint32_t refusal_count;                             ///< also of those that are not kept
    zf_encode_refusal refusals[ZF_ENCODE_REFUSALS + 1]; ///< the last one is overwritten
} zf_encode_task;

/// Encodes an input by a choice of a codec, and its children. Free `*out` with zf_encode_tree_free.
/// Errors: ZF_ERR_INPUT with task->refusals where every alternative refused or a body failed, ZF_ERR_MEMORY. Any thread.
zf_status zf_encode_tree(zf_encode_task *task, const zf_codec_choice *choice, const zf_encode_input *input, zf_encode_node **out);
/// Frees the elements that children have encoded, and what bodies kept for themselves. Stored streams and those with directories
/// of chunks stay; others cannot be read any more.
void zf_encode_tree_release(zf_encode_node *node);
void zf_encode_tree_free(zf_encode_node *node);

/// Alternatives that a choice has, at most 64 tried.
enum { ZF_ENCODE_ALTERNATIVES = 64 };

#endif
