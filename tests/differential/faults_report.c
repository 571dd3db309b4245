#include "tests/differential/faults_report.h"

#include <stdlib.h>
#include <string.h>

// Columns of a worker's line.
enum { NUMBER, TABLE, TYPE, CODEC, TARGET, FORM, FUNCTION, SITE, KIND, WHAT, VERDICT, TEXT, FIELDS };

// Sites of one place of a kernel: a site per lane, say.
struct fault_result {
    char *line, *fields[FIELDS];
    unsigned sites, found, same;
};
typedef struct fault_result result;

const char *fault_kind_name(zf_fault_site_kind kind) {
    static const char *const names[ZF_SITE_KINDS] = {"barrier", "mask", "guard", "check"};
    return names[kind];
}

static bool same_place(const result *a, char *const fields[FIELDS]) {
    for (unsigned k = 0; k < VERDICT; k++)
        if (k != SITE && strcmp(a->fields[k], fields[k]) != 0) return false;
    return true;
}

void fault_results_add(fault_results *r, const char *line) {
    char *copy = strdup(line), *at = copy, *fields[FIELDS];
    if (copy == NULL) abort();
    for (unsigned k = 0; k < FIELDS; k++) {
        fields[k] = at;
        at += strcspn(at, "\t\n");
        if (*at != 0) *at++ = 0;
    }
    bool found = strcmp(fields[VERDICT], "found") == 0, same = strcmp(fields[VERDICT], "same") == 0;
    size_t n = r->count;
    while (n > 0 && strcmp(r->all[n - 1].fields[NUMBER], fields[NUMBER]) == 0 && !same_place(&r->all[n - 1], fields)) n--;
    if (n > 0 && same_place(&r->all[n - 1], fields)) {
        result *known = &r->all[n - 1];
        if (known->found == 0 && found) { // its line says how
            free(known->line);
            known->line = copy;
            memcpy(known->fields, fields, sizeof fields);
        } else {
            free(copy);
        }
        known->sites++;
        known->found += found;
        known->same += same;
        return;
    }
    if (r->count == r->room) {
        r->room = 2 * r->room + 64;
        r->all = realloc(r->all, r->room * sizeof *r->all);
        if (r->all == NULL) abort();
    }
    r->all[r->count] = (result){.line = copy, .sites = 1, .found = found, .same = same};
    memcpy(r->all[r->count++].fields, fields, sizeof fields);
}

static void put_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text != 0; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        if ((uint8_t)*text >= ' ') fputc(*text, out);
    }
    fputc('"', out);
}

void fault_results_print(const fault_results *r, const char *commit, const char *command, FILE *out) {
    static const char *const names[] = {"column", "type", "codec", "target", "form", "function", "kind", "what"};
    static const unsigned fields[] = {TABLE, TYPE, CODEC, TARGET, FORM, FUNCTION, KIND, WHAT};
    fprintf(out, "{\n  \"commit\": ");
    put_text(out, commit);
    fprintf(out, ",\n  \"command\": ");
    put_text(out, command);
    fprintf(out, ",\n  \"kinds\": {");
    for (unsigned kind = 0; kind < ZF_SITE_KINDS; kind++) {
        unsigned sites = 0, found = 0, same = 0;
        for (size_t k = 0; k < r->count; k++) {
            if (strcmp(r->all[k].fields[KIND], fault_kind_name((zf_fault_site_kind)kind)) != 0) continue;
            sites += r->all[k].sites;
            found += r->all[k].found;
            same += r->all[k].same;
        }
        fprintf(out, "%s\"%s\": {\"sites\": %u, \"same_code\": %u, \"found\": %u}", kind > 0 ? ", " : "",
                fault_kind_name((zf_fault_site_kind)kind), sites, same, found);
    }
    fprintf(out, "},\n  \"places\": [");
    for (size_t k = 0; k < r->count; k++) {
        const result *one = &r->all[k];
        fprintf(out, "%s\n    {", k > 0 ? "," : "");
        for (unsigned n = 0; n < sizeof fields / sizeof fields[0]; n++) {
            fprintf(out, "\"%s\": ", names[n]);
            put_text(out, one->fields[fields[n]]);
            fprintf(out, ", ");
        }
        fprintf(out, "\"sites\": %u, \"same_code\": %u, \"found\": %u, \"by\": ", one->sites, one->same, one->found);
        put_text(out, one->found > 0 ? one->fields[TEXT] : "");
        fputc('}', out);
    }
    fprintf(out, "\n  ]\n}\n");
}

void fault_results_free(fault_results *r) {
    for (size_t k = 0; k < r->count; k++) free(r->all[k].line);
    free(r->all);
    *r = (fault_results){0};
}
