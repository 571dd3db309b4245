// Kernels of several ordered stages: what a tile of each of them looks like, while one element of the kernel is made.
#ifndef ZF_CODEGEN_SIMT_TREE_H
#define ZF_CODEGEN_SIMT_TREE_H

#include "codegen/simt/groups/simt_group_starts.h"

/// A scan along the groups of a stage, or along what is aligned with them: its values at all indices that the tile has there.
typedef struct zf_simt_array {
    zf_running *running;
    LLVMValueRef v_values; ///< shared
    uint32_t room;         ///< elements that it has room for
} zf_simt_array;

/// Elements of a stage by the root's group, a window that moves along the groups (simt_ring.c).
typedef struct zf_simt_ring {
    zf_type type;
    LLVMValueRef v_values; ///< shared
    uint32_t room;         ///< elements, a power of two
} zf_simt_ring;

/// The stages of a kernel, in the order of its steps.
typedef struct zf_simt_tree {
    zf_kernel_build *lower;
    const zf_simt_shape *shape;
    const zf_simt_tile *tile;
    zf_simt_group_starts *stages;
    uint32_t stage_count;
    zf_simt_array *arrays;
    uint32_t array_count;
} zf_simt_tree;

/// Where C contiguous outputs of one thread, all of which exist, are in a stage along the outputs.
typedef struct zf_simt_found {
    const zf_simt_group_starts *stage;
    zf_simt_place places[ZF_NEIGHBOURS];
    zf_simt_neighbours neighbours;
    struct zf_simt_found *next; ///< of another stage
} zf_simt_found;

/// Where a body is evaluated: its index among those that the tile has along its elements, and its groups (i32).
typedef struct zf_simt_position {
    zf_simt_tree *tree;
    LLVMValueRef v_i, v_g;
    zf_simt_found *found;   ///< not NULL: v_i is number `k` of those
    zf_simt_found *found_g; ///< v_g is
    unsigned k;
    bool exact;                    ///< the tile has that index; else it may be any number
    bool in_arrays_i, in_arrays_g; ///< v_i, v_g lie in the arrays of scans along them
    bool made;                     ///< what is asked for by the root's group stands in its window
} zf_simt_position;

/// Finds `count` outputs from v_q on in every stage along the outputs. zf_simt_found_end closes the loads that it opened.
zf_simt_found *zf_simt_found_begin(zf_simt_tree *tree, LLVMValueRef v_q, unsigned count);
void zf_simt_found_end(zf_kernel_build *lower, zf_simt_found *found);
/// The same of `count` indices of a level from v_from (i32) on, a multiple of `count`; those behind v_last are taken to be it
/// (NULL: none is).
zf_simt_found *zf_simt_found_along(zf_simt_tree *tree, uint32_t level, LLVMValueRef v_from, unsigned count, LLVMValueRef v_last);

/// The spot of a stage's group.
zf_simt_position zf_simt_position_of_group(const zf_simt_group_starts *stage, LLVMValueRef v_g);
/// The element of a stage that is a step of the kernel, for the consumer that `env` is of; `v_index` its index in the block.
/// `vouched`: a check has vouched for it.
zf_cg_value zf_simt_tree_element(const zf_kernel_env *env, const zf_graph_edge *edge, LLVMValueRef v_index, bool vouched);
/// Element v_index of `stage`, whose place there is known. v_has (i1, or NULL: it does): whether the tile has it.
zf_cg_value zf_simt_tree_element_at(const zf_kernel_env *env, zf_simt_group_starts *stage, const zf_simt_place *place,
                                    const zf_simt_relative *relative, LLVMValueRef v_has, LLVMValueRef v_index);
/// The value of a scan at the environment's index, from its array; NULL where it has none.
LLVMValueRef zf_simt_tree_scan(const zf_kernel_env *env, const zf_running *running);
/// The spot of what is inlined along `edge`.
zf_simt_position zf_simt_position_along(const zf_simt_position *position, const zf_graph_edge *edge);

/// Whether elements of `step`, of that type, are made once a group of the root for a row of outputs; and how many a window of
/// rows of `lanes` a thread has.
bool zf_simt_ring_fits(const zf_kernel *kernel, const zf_step *root, const zf_step *step, zf_type type);
uint32_t zf_simt_ring_room(uint32_t wave, unsigned lanes);
/// How far behind the first group that a window must have the last one may lie that is asked of it.
uint32_t zf_simt_ring_reach(uint32_t wave, unsigned lanes);
/// Rows that a window has room for whatever their groups are, of `lanes` outputs a thread each.
enum { ZF_SIMT_RING_ROWS = 2 };
unsigned zf_simt_ring_rows(unsigned lanes);
bool zf_simt_has_rings(const zf_simt_tree *tree);
/// Makes elements up to group v_last, the same for all threads; v_made (slot): behind those that are made.
void zf_simt_rings_fill(zf_simt_group_starts *root, LLVMValueRef v_made, LLVMValueRef v_last);
zf_cg_value zf_simt_ring_element(zf_kernel_build *lower, const zf_simt_ring *ring, LLVMValueRef v_group);

/// The stage that is the kernel's root; NULL where that is no group algorithm.
zf_simt_group_starts *zf_simt_tree_root(const zf_simt_tree *tree);
/// The rows of a tile, with the scans along its outputs (form_scan.c). `tree`: the stages that they take from, or NULL.
void zf_simt_rows(zf_kernel_build *lower, const zf_simt_shape *shape, const zf_simt_tile *tile, zf_simt_tree *tree);
/// An output of a root of groups, at its place: number `k` of `neighbours`, or alone (NULL) (simt_group_outputs.c).
zf_cg_value zf_simt_groups_output(zf_simt_group_starts *stage, const zf_simt_place *place, zf_simt_neighbours *neighbours,
                                  unsigned k);
/// The outputs of a root of groups, whose starts are marked.
void zf_simt_groups_outputs(zf_simt_group_starts *stage);

#endif
