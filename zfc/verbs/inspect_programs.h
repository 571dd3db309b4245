// The programs that a container brings, as `zfc inspect` shows them.
#ifndef ZF_ZFC_INSPECT_PROGRAMS_H
#define ZF_ZFC_INSPECT_PROGRAMS_H

#include <jansson.h>

#include "frontend/spec/spec.h"
#include "zipflow/zipflow.h"

/// The declarations of a container's text.
typedef struct zf_file_programs {
    zf_spec *spec; ///< NULL: the text is damaged
    zf_declarations declared;
} zf_file_programs;

/// Reads the text of a container. Errors: those of a damaged text, of an index that states other programs (ZF1207), and of
/// programs that the container was not opened for (ZF1218). `*out` is to be freed in every case.
zf_status zf_file_programs_read(const zf_container *container, zf_file_programs *out, zf_error *error);
void zf_file_programs_free(zf_file_programs *programs);

/// Prints how many programs are the library's, and those that are not; `all`: each with its identity.
void zf_print_programs(const zf_file_programs *programs, bool all);
/// Returns an array of the programs; JSON's null where the text is damaged. NULL: no memory.
json_t *zf_programs_json(const zf_file_programs *programs);

#endif
