// Options that would do nothing beside another one, or without it. The verbs check what depends on values.
#include <string.h>

#include "zfc/report.h"

static const struct rule {
    const char *verb, *option; // verb NULL: all that have the option
    const char *needs[3];      // one of them
    const char *excludes[6];   // none of them; NULL ends them
    const char *reason;
} rules[] = {
    {"fmt", "quiet", {"in-place"}, {0}, "the program is printed otherwise"},
    {"pipeline", "force", {"trace", "svg"}, {0}, "nothing else is written"},
    {"tune", "force", {"output"}, {0}, "nothing else is written"},
    {"query", "force", {"output"}, {0}, "nothing else is written"},
    {"query", "repeat", {"device"}, {0}, "times are those of a device"},
    {"query", "decode-first", {"device"}, {0}, "the CPU always does"},
    {"query", "from-host", {"device"}, {0}, "the CPU always does"},
    {"query", "unit", {"from-host"}, {0}, "columns stay on the device otherwise"},
    {"inspect", "program", {0}, {"json", "columns", "verbose", "programs", "html"}, "the program is text, of all columns"},
    {"inspect", "html", {0}, {"json", "verbose"}, "the page has all of it"},
    {"compile", "columns", {"device-functions"}, {0}, "a module has all columns"},
    {"compile",
     "device-functions",
     {0},
     {"seek-interval", "unfused", "target", "cpu"},
     "its functions are for GPUs, and for the file as it is"},
    {"bench", "general", {0}, {"shaping-tuples"}, "no tuple gets code of its own"},
    {NULL,
     "module",
     {0},
     {"untuned", "chunk-threads", "shaping-tuples", "compile-budget", "programs"},
     "a module's code is fixed"},
};

bool zf_options_agree(const zf_arguments *arguments) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *rule = &rules[i];
        const char *verb = arguments->verb->name;
        if ((rule->verb && strcmp(rule->verb, verb) != 0) || !zf_argument(arguments, rule->option)) continue;
        const char *first = rule->needs[0], *second = rule->needs[1];
        if (first && !zf_argument(arguments, first) && !(second && zf_argument(arguments, second))) {
            zf_report_usage(verb, "--%s goes with --%s%s%s: %s", rule->option, first, second ? " or --" : "",
                            second ? second : "", rule->reason);
            return false;
        }
        for (size_t k = 0; rule->excludes[k]; k++) {
            if (!zf_argument(arguments, rule->excludes[k])) continue;
            zf_report_usage(verb, "--%s goes without --%s: %s", rule->option, rule->excludes[k], rule->reason);
            return false;
        }
    }
    return true;
}
