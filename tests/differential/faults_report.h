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

/// Sites by verdict; the others survived.
typedef struct fault_counts {
    unsigned sites, same, redundant, found;
} fault_counts;

/// Adds a site, as a line of a worker: number of the column, table, type, codec, target, form, function, number of the site,
/// kind, what it is for, verdict ("found", "same", "redundant", "survived"), and how it was found, with tabs between.
void fault_results_add(fault_results *results, const char *line);
/// The sites of a target, "emu" or "host"; NULL: of both.
fault_counts fault_results_count(const fault_results *results, const char *target);
/// Writes JSON.
void fault_results_print(const fault_results *results, const char *commit, const char *command, FILE *out);
void fault_results_free(fault_results *results);

// ---- Redundant sites ------------------------------------------------------------------------------------------

// Safeguards that no test can miss: omitting one changes no outcome, by an argument (docs/internals/fault-switch.md).

/// Sites of one purpose. NULL stands for anything.
typedef struct redundant_site {
    zf_fault_site_kind kind; ///< ZF_SITE_KINDS: any
    const char
        *what; ///< the purpose, as zf-faults prints it; "*TEXT": all that end so; "TEXT at `LINE`": in a line that begins so
    const char *target; ///< "emu", "host", or "fast": "emu", but not the slow path of a kernel that has one
    const char *codecs; ///< which codecs of columns: a list (faults_report.c)
    const char *where;  ///< the same for the page
    const char *reason; ///< why nothing can differ without it
} redundant_site;

/// The row for a site of this purpose, or NULL.
const redundant_site *redundant_site_find(const zf_fault_site *site, const char *what, const char *target, const char *codec);
/// Compares the rows with those of a page. False, with the right rows on `out`, when they differ.
bool redundant_sites_are_on(const char *page, FILE *out);

/// Whether two sites have one purpose in the same function.
bool fault_same_site(const zf_fault_site *a, const zf_fault_site *b);
/// Copies a difference, with paths from the root of the tree on: the tree's place does not matter, and takes the room.
void fault_put_message(char *to, size_t room, const char *message);
/// The purpose of a site, and its stream.
const char *fault_purpose_of(const zf_fault_site *site, char text[120]);

#endif
