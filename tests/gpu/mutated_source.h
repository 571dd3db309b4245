// The files that gpu_mutated changes: a table each, and what a decode of a column gives, in the same form from every device.
#ifndef ZF_TESTS_MUTATED_SOURCE_H
#define ZF_TESTS_MUTATED_SOURCE_H

#include "tests/gpu/gpu_decode.h"
#include "tests/hostile/mutate.h"

enum { SOURCE_COLUMNS_MOST = 64, SOURCE_PARTS_MOST = 8192, HOST_CANARY = 256 };

/// The result of a decode. Offsets begin at 0, bits behind the last row are 0.
typedef struct outcome {
    zf_status status;
    zf_error error;
    uint64_t launches, rows;
    double seconds;
    uint8_t *values, *validity;
    int64_t *offsets;
    size_t bytes; ///< of `values`
    bool outside; ///< a canary was touched
} outcome;

typedef struct mutated_source {
    const char *table;
    mutated file;
    zf_container *good; ///< the machine's
    zf_container_part parts[SOURCE_PARTS_MOST];
    size_t part_count, column_count;
    const gpu_column *columns; ///< of `forms`; NULL
    outcome wanted[SOURCE_COLUMNS_MOST];
    double good_seconds[SOURCE_COLUMNS_MOST]; ///< the least of a device's good decodes
} mutated_source;

/// Encodes the table `forms`, `states` or `library`, decodes it on the CPU, and compiles its code for the machine's accelerator,
/// on several threads. False after a failed check.
bool source_open(gpu_machine *machine, const char *table, mutated_source *out);
void source_close(mutated_source *source);

/// Decodes on the CPU between canaries, in buffers of the sizes that zf_decode_size says.
void outcome_here(zf_container *container, size_t column, const zf_decode_options *options, const zf_decode_sizes *sizes,
                  outcome *out);
/// Decodes on the accelerator between canaries of so many bytes. `changed`: a kernel may fail, and those behind it read what it
/// left out: the workspace is written before, also without canaries, for tools that see what nobody wrote.
void outcome_there(gpu_machine *machine, zf_container *container, size_t column, const zf_decode_options *options,
                   const zf_decode_sizes *sizes, uint64_t canary, bool changed, outcome *out);
bool outcome_same(const outcome *a, const outcome *b);
void outcome_free(outcome *outcome);

#endif
