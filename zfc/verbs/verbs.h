// The verbs and options of zfc: one table, from which the command line is read and help, docs/zfc.md and shell completion
// are made.
#ifndef ZF_ZFC_VERBS_H
#define ZF_ZFC_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base/passes.h"

/// Exit statuses.
enum { EXIT_GOOD = 0, EXIT_BAD_INPUT = 1, EXIT_BAD_USAGE = 2, EXIT_BAD_DEVICE = 3 };

typedef struct zf_option {
    const char *name;     ///< without the dashes
    char letter;          ///< 0: none
    const char *argument; ///< what to call its argument; NULL: a flag
    const char *choices;  ///< "auto|cpu": the only values, separated by bars; NULL: any
    const char *help;
} zf_option;

enum { MOST_VERB_OPTIONS = 32, MOST_GIVEN = 4096 };

typedef struct zf_arguments zf_arguments;

typedef struct zf_verb {
    const char *name, *operands, *summary;
    const char *text; ///< paragraphs for the manual
    int least, most;  ///< operands; most -1: any number
    int (*run)(zf_arguments *arguments);
    const zf_option *options[MOST_VERB_OPTIONS]; ///< NULL-terminated
} zf_verb;

/// A command line as read.
struct zf_arguments {
    const zf_verb *verb;
    struct {
        const zf_option *option;
        const char *value;
    } given[MOST_GIVEN];
    int given_count;
    char **operands;
    int operand_count;
    zf_passes *passes; ///< with --time-passes, else NULL
};

extern const zf_verb zf_verbs[];
extern const size_t zf_verb_count;

/// Reads the words after the verb; operands are moved to the front of `words`. Prints what is wrong and returns false.
bool zf_arguments_read(const zf_verb *verb, int count, char **words, zf_arguments *out);
/// Checks that no option is given that another one makes useless. Prints what is wrong and returns false.
bool zf_options_agree(const zf_arguments *arguments);
/// The last value of an option of that name, or NULL ("" for a flag that was given).
const char *zf_argument(const zf_arguments *arguments, const char *name);
/// A multiple of `unit` up to `most`, not 0, from an option, or `by_default` when it was not given. False after printing what is
/// wrong.
bool zf_argument_number(const zf_arguments *arguments, const char *name, uint64_t unit, uint64_t most, uint64_t by_default,
                        uint64_t *out);
/// The same for bytes, from 1, as a number or with K, M or G (powers of 1024).
bool zf_argument_bytes(const zf_arguments *arguments, const char *name, uint64_t most, uint64_t by_default, uint64_t *out);
/// Reads "5s", "500ms", "2m", or seconds: digits, perhaps with a point among them, and a unit, and none of what else strtod
/// takes. False: it is no such time, or 0.
bool zf_read_seconds(const char *text, double *out);

void zf_print_help(FILE *out);
void zf_print_verb_help(const zf_verb *verb, FILE *out);
void zf_print_manual(FILE *out); ///< docs/zfc.md
bool zf_print_completion(const char *shell, FILE *out);

int zf_run_check(zf_arguments *arguments);
int zf_run_fmt(zf_arguments *arguments);
int zf_run_explain(zf_arguments *arguments);
int zf_run_encode(zf_arguments *arguments);
int zf_run_wrap(zf_arguments *arguments);
int zf_run_compile(zf_arguments *arguments);
int zf_run_decode(zf_arguments *arguments);
int zf_run_verify(zf_arguments *arguments);
int zf_run_query(zf_arguments *arguments);
int zf_run_pipeline(zf_arguments *arguments);
int zf_run_tune(zf_arguments *arguments);
int zf_run_inspect(zf_arguments *arguments);
int zf_run_bench(zf_arguments *arguments);
int zf_run_devices(zf_arguments *arguments);
int zf_run_completion(zf_arguments *arguments);
int zf_run_manual(zf_arguments *arguments);

#endif
