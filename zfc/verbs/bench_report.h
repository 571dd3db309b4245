// The report of `zfc bench`: a table, or JSON.
#ifndef ZF_ZFC_BENCH_REPORT_H
#define ZF_ZFC_BENCH_REPORT_H

#include "measure/measure.h"
#include "zfc/report.h"

/// The figures of a result.
typedef struct zf_bench_figures {
    double ratio;           ///< plain by stored bytes; every byte of the file that belongs to the column counts
    double gigabytes;       ///< plain gigabytes (1e9) a second
    double copy_gigabytes;  ///< of the copy, plain bytes counted once
    double percent_of_copy; ///< plain bytes a second, decoding by copying
    double fraction;        ///< (bytes read + bytes written) a second by those of the copy, which reads and writes
} zf_bench_figures;
zf_bench_figures zf_bench_figures_of(const zf_measure_result *result);

void zf_bench_print_head(const zf_measure_options *options);
void zf_bench_print_row(const char *name, const zf_measure_result *result);

/// Makes a report without results. Returns NULL when there is no memory.
json_t *zf_bench_json(const zf_measure_options *options, const zf_arguments *arguments);
zf_status zf_bench_json_add(json_t *report, const char *source, const char *name, const zf_measure_result *result,
                            const zf_measure_plain *plain, zf_error *error);
zf_status zf_bench_json_fail(json_t *report, const char *source, const char *name, const zf_error *failure, zf_error *error);
zf_status zf_bench_json_finish(json_t *report, zf_error *error); ///< adds the load at the end, and prints

#endif
