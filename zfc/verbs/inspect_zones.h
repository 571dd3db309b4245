// Zones of a block, as `zfc inspect` shows them.
#ifndef ZF_ZFC_INSPECT_ZONES_H
#define ZF_ZFC_INSPECT_ZONES_H

#include <jansson.h>

#include "runtime/container/container_index.h"

/// Prints a line for each zone. False: no memory.
bool zf_print_zones(zf_column_type type, const zf_index_block *block);
/// Returns an array of the zones; values are text. NULL: no memory, or there are none.
json_t *zf_zones_json(zf_column_type type, const zf_index_block *block);

#endif
