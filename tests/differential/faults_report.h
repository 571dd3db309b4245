// The results of zf-faults, put together: a line for each place of a kernel, which may have several sites.
#ifndef ZF_TESTS_FAULTS_REPORT_H
#define ZF_TESTS_FAULTS_REPORT_H

#include <stdio.h>

#include "codegen/body/cg_fault_sites.h"

/// The name of a kind of sites. Static.
const char *fault_kind_name(zf_fault_site_kind kind);

typedef struct fault_results {
    struct fault_result *all;
    size_t count, room;
} fault_results;

/// Adds a site, as a line of a worker: number of the column, table, type, codec, target, form, function, number of the site,
/// kind, what it is for, verdict ("found", "same", "survived"), and how it was found, with tabs between.
void fault_results_add(fault_results *results, const char *line);
/// Writes JSON.
void fault_results_print(const fault_results *results, const char *commit, const char *command, FILE *out);
void fault_results_free(fault_results *results);

#endif
