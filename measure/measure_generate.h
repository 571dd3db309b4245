// Generated columns for `zfc bench --generate`.
#ifndef ZF_MEASURE_MEASURE_GENERATE_H
#define ZF_MEASURE_MEASURE_GENERATE_H

#include "measure/measure.h"

typedef struct zf_generating zf_generating;

/// A column that can be generated.
typedef struct zf_generator {
    const char *name; ///< unique: "bitpack-7-u32"
    zf_element element;
    const char *codec; ///< as in a `.zf` text
    void (*make)(zf_generating *generating, unsigned parameter);
    unsigned parameter; ///< bits of a value, or the length of runs
} zf_generator;

/// Calls `take` for every generator that `names` selects. `names` are separated by commas; each is a generator's name, the part
/// of one before a dash ("bitpack" selects "bitpack-7-u32"), or `all`. `take` may be NULL; false from it ends the selection.
/// Returns false if a name selects no generator, and points `*unknown` at it.
bool zf_generators_select(const char *names, bool (*take)(void *user, const zf_generator *generator), void *user,
                          const char **unknown);

/// Generates at most `bytes` of plain data (and at most 16 MiB, one block) and encodes them to `container_path`, which is
/// overwritten. The program of the table is written to `program_path`. The caller frees `plain->values`, also after an error.
zf_status zf_generate(const zf_generator *generator, zf_compiler *compiler, uint64_t bytes, const char *program_path,
                      const char *container_path, zf_measure_plain *plain, zf_error *error);

#endif
