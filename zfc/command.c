// The command but for its name `main`: reads the verb, hands the rest to it.
#include <signal.h>
#include <string.h>

#include "zfc/command.h"
#include "zfc/driver_codes.h"
#include "zfc/report.h"
#include "zfc/signals.h"
#include "zfc/stack.h"
#include "zfc/time_passes.h"

// Output must have arrived: a full disk behind a redirection is an error. An earlier write may have failed.
static int finish(const char *verb, int status) {
    if ((fflush(stdout) == 0 && !ferror(stdout)) || status != EXIT_GOOD) return status;
    fprintf(stderr, "zfc%s%s: cannot write to standard output\n", verb[0] != 0 ? " " : "", verb);
    return EXIT_BAD_INPUT;
}

static int print_version(void) {
    printf("zfc %s\nLLVM %s\ntargets %s\nlanguage zf 1\ncontainer formats 1 and 2\n", zf_version(), zf_compiler_llvm_version(),
           zf_compiler_targets());
    return EXIT_GOOD;
}

static const zf_verb *find_verb(const char *name) {
    for (size_t i = 0; i < zf_verb_count; i++) {
        if (strcmp(zf_verbs[i].name, name) == 0) return &zf_verbs[i];
    }
    return NULL;
}

static int unknown_verb(const char *name) {
    const char *names[32];
    size_t count = 0;
    for (; count < zf_verb_count && count < 32; count++) names[count] = zf_verbs[count].name;
    const char *nearest = zf_nearest_name(name, names, count);
    zf_print_line(stderr, "zfc: error[%s]: no verb `%s`", ZFC_BAD_ARGUMENT, name);
    if (nearest) fprintf(stderr, "  did you mean `zfc %s`?\n", nearest);
    fprintf(stderr, "  see: zfc --help\n");
    return EXIT_BAD_USAGE;
}

int zf_command(int count, char **words) {
    // A limit on the size of files is an error of the write that meets it, like a full disk, not a signal.
    signal(SIGXFSZ, SIG_IGN);
    if (!zf_stack_take()) {
        fprintf(stderr, "zfc: error[%s]: no memory for the stack\n", ZFC_NO_MEMORY);
        return EXIT_BAD_INPUT;
    }
    if (count < 2) {
        zf_print_help(stderr);
        return EXIT_BAD_USAGE;
    }
    if (strcmp(words[1], "--version") == 0) return finish("", print_version());
    if (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0 || strcmp(words[1], "help") == 0) {
        const zf_verb *verb = count > 2 ? find_verb(words[2]) : NULL;
        if (count > 2 && !verb) return unknown_verb(words[2]);
        if (verb)
            zf_print_verb_help(verb, stdout);
        else
            zf_print_help(stdout);
        return finish("", EXIT_GOOD);
    }
    const zf_verb *verb = find_verb(words[1]);
    if (!verb) return unknown_verb(words[1]);
    for (int i = 2; i < count && strcmp(words[i], "--") != 0; i++) {
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0) {
            zf_print_verb_help(verb, stdout);
            return finish(verb->name, EXIT_GOOD);
        }
    }
    zf_arguments arguments;
    if (!zf_arguments_read(verb, count - 2, words + 2, &arguments)) return EXIT_BAD_USAGE;
    if (zf_argument(&arguments, "time-passes")) arguments.passes = zf_passes_create();
    zf_signals_start();
    int status = verb->run(&arguments);
    zf_time_passes_print(arguments.passes, zf_argument(&arguments, "json") != NULL, stderr);
    zf_passes_free(arguments.passes);
    return finish(verb->name, status);
}
