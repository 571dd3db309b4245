// The output of `zfc tune`: results, earlier results, replayed records.
#ifndef ZF_ZFC_TUNE_REPORT_H
#define ZF_ZFC_TUNE_REPORT_H

#include <jansson.h>

#include "tuner/tuner.h"

/// A run of `zfc tune`.
typedef struct zf_tune_run {
    const zf_tuner *tuner;
    json_t *left_out; ///< names of columns for which, or for some of whose alternatives, no time was left
    json_t *empty;    ///< containers without rows
    double begin;     ///< clock
} zf_tune_run;

/// Prints the results: a table, or JSON, which is a record too.
void zf_tune_print_table(const zf_tune_run *run);
zf_status zf_tune_print_json(const zf_tune_run *run, zf_error *error);

/// Prints a measurement to standard error; a callback of the tuner.
void zf_tune_print_probe(void *user, const zf_tuner_probe *probe);

/// Prints what is known of the device, or of its model behind another driver.
zf_status zf_tune_show(const zf_tuner *tuner, bool as_json, zf_error *error);

/// Searches the kernels of a record again, and prints how near to the best of them that comes.
zf_status zf_tune_print_replay(const char *path, uint32_t probes, bool as_json, zf_error *error);

#endif
