// The report of `zfc inspect` as a page of HTML that needs no other file (inspect_page.html).
#ifndef ZF_ZFC_INSPECT_PAGE_H
#define ZF_ZFC_INSPECT_PAGE_H

#include <jansson.h>

#include "runtime/base/error.h"

/// Prints the page of a report as `--json` has it to standard output. Streams are added up over the blocks of a column, and many
/// blocks are lines of several. `report` NULL, or no memory: ZF_ERR_MEMORY.
zf_status zf_print_page(const json_t *report, zf_error *error);

#endif
