// The shape of blocks as text.
#ifndef ZF_ZFC_SHAPE_TEXT_H
#define ZF_ZFC_SHAPE_TEXT_H

#include "runtime/container/container.h"

/// Appends the codec that blocks of this shape have, without types: "rle(counts: bitpack, values: bitpack)".
void zf_print_shape(const zf_shape *shape, zf_text *out);

#endif
