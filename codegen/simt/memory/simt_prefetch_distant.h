// Prefetches for later tiles of a map (the choice PREFETCH of maps that take bits at known places).
#ifndef ZF_CODEGEN_SIMT_PREFETCH_DISTANT_H
#define ZF_CODEGEN_SIMT_PREFETCH_DISTANT_H

#include "codegen/simt/simt.h"

enum { ZF_DISTANT_EDGES = 2 }; ///< that are asked for at most

/// The edges that a tile's bodies take bits of, element i's from bit i * stride on.
typedef struct zf_simt_distant {
    zf_kernel_build *lower;
    bool asks;
    uint32_t threads;
    uint32_t edge_count, edges[ZF_DISTANT_EDGES];
    uint64_t strides[ZF_DISTANT_EDGES];
} zf_simt_distant;

/// Whether a kernel that is a map can prefetch for later tiles.
bool zf_simt_distant_fits(const zf_plan *plan, const zf_kernel *kernel);
/// Begins with no edges; nothing is prefetched unless it was chosen.
zf_simt_distant zf_simt_distant_begin(zf_kernel_build *lower, const zf_simt_shape *shape);
/// Notes an edge, when bodies that read it are built. `later` may be NULL.
void zf_simt_distant_edge(zf_simt_distant *later, uint32_t edge, uint64_t stride);
/// Has the thread block ask, behind its stores.
void zf_simt_distant_ask(const zf_simt_distant *later);

#endif
