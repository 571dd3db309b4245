#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/diag/diag.h"
#include "runtime/base/cache_limit.h"
#include "zfc/driver_codes.h"
#include "zfc/report.h"

static const zf_option *find_long(const zf_verb *verb, const char *name, size_t length) {
    for (int i = 0; verb->options[i]; i++) {
        const zf_option *option = verb->options[i];
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0) return option;
    }
    return NULL;
}

static const zf_option *find_letter(const zf_verb *verb, char letter) {
    for (int i = 0; verb->options[i]; i++) {
        if (verb->options[i]->letter == letter) return verb->options[i];
    }
    return NULL;
}

static bool usage(const zf_verb *verb, const char *what, const char *word, const char *nearest) {
    if (!nearest) {
        zf_report_usage(verb->name, "%s %s", what, word);
        return false;
    }
    zf_print_line(stderr, "zfc %s: error[%s]: %s %s", verb->name, ZFC_BAD_ARGUMENT, what, word);
    fprintf(stderr, "  did you mean --%s?\n  see: zfc %s --help\n", nearest, verb->name);
    return false;
}

static const char *nearest_option(const zf_verb *verb, const char *name) {
    const char *names[MOST_VERB_OPTIONS];
    size_t count = 0;
    for (; verb->options[count]; count++) names[count] = verb->options[count]->name;
    return zf_nearest_name(name, names, count);
}

// True when `value` is one of "a|b|c".
static bool is_choice(const char *choices, const char *value) {
    size_t length = strlen(value);
    for (const char *at = choices; *at;) {
        size_t part = strcspn(at, "|");
        if (part == length && memcmp(at, value, length) == 0) return true;
        at += part;
        if (*at) at++;
    }
    return false;
}

static bool add(zf_arguments *out, const zf_option *option, const char *value) {
    const char *verb = out->verb->name;
    bool may_be_empty = strcmp(option->name, "null") == 0; // an empty field is a null word
    if (option->choices && !is_choice(option->choices, value)) {
        zf_report_usage(verb, "--%s takes one of %s, not `%s`", option->name, option->choices, value);
        return false;
    }
    if (option->argument && !*value && !may_be_empty) {
        zf_report_usage(verb, "--%s is given nothing: it needs %s", option->name, option->argument);
        return false;
    }
    if (out->given_count == MOST_GIVEN) {
        zf_report_usage(verb, "more than %d options, at --%s", MOST_GIVEN, option->name);
        return false;
    }
    out->given[out->given_count].option = option;
    out->given[out->given_count++].value = value;
    return true;
}

bool zf_arguments_read(const zf_verb *verb, int count, char **words, zf_arguments *out) {
    *out = (zf_arguments){.verb = verb, .operands = words};
    bool only_operands = false;
    for (int i = 0; i < count; i++) {
        char *word = words[i];
        if (only_operands || word[0] != '-' || word[1] == 0) {
            words[out->operand_count++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (word[1] == '-') {
            size_t length = strcspn(word + 2, "=");
            const zf_option *option = find_long(verb, word + 2, length);
            if (!option) return usage(verb, "no such option:", word, nearest_option(verb, word + 2));
            const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
            if (!option->argument && value) return usage(verb, "this option takes no argument:", word, NULL);
            if (option->argument && !value) {
                if (i + 1 == count) return usage(verb, "this option needs an argument:", word, NULL);
                value = words[++i];
            }
            if (!add(out, option, value ? value : "")) return false;
        } else {
            for (char *letter = word + 1; *letter; letter++) {
                const zf_option *option = find_letter(verb, *letter);
                if (!option) return usage(verb, "no such option:", word, NULL);
                if (!option->argument) {
                    if (!add(out, option, "")) return false;
                    continue;
                }
                const char *value = letter[1] ? letter + 1 : NULL;
                if (!value && i + 1 == count) return usage(verb, "this option needs an argument:", word, NULL);
                if (!value) value = words[++i];
                if (!add(out, option, value)) return false;
                break;
            }
        }
    }
    if (out->operand_count < verb->least) return usage(verb, "needs more:", verb->operands, NULL);
    if (verb->most >= 0 && out->operand_count > verb->most) {
        if (verb->most == 0) return usage(verb, "takes no operand, so this is too many:", words[0], NULL);
        zf_report_usage(verb->name, "takes one %s, but `%s` is given too", verb->operands, words[verb->most]);
        return false;
    }
    return zf_options_agree(out);
}

const char *zf_argument(const zf_arguments *arguments, const char *name) {
    for (int i = arguments->given_count; i-- > 0;) {
        if (strcmp(arguments->given[i].option->name, name) == 0) return arguments->given[i].value;
    }
    return NULL;
}

bool zf_argument_number(const zf_arguments *arguments, const char *name, uint64_t unit, uint64_t most, uint64_t by_default,
                        uint64_t *out) {
    const char *text = zf_argument(arguments, name);
    *out = by_default;
    if (!text) return true;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value == 0 || value > most || value % unit != 0) {
        char kind[64] = "number";
        if (unit > 1) snprintf(kind, sizeof kind, "multiple of %llu", (unsigned long long)unit);
        zf_report_usage(arguments->verb->name, "--%s needs a %s from %llu to %llu, not `%s`", name, kind,
                        (unsigned long long)unit, (unsigned long long)most, text);
        return false;
    }
    *out = value;
    return true;
}

bool zf_argument_bytes(const zf_arguments *arguments, const char *name, uint64_t most, uint64_t by_default, uint64_t *out) {
    const char *text = zf_argument(arguments, name);
    *out = by_default;
    if (!text || (zf_cache_size_read(text, out) && *out <= most)) return true;
    zf_report_usage(arguments->verb->name, "--%s needs bytes, 1 to %llu, such as 1048576 or 512M (K, M and G), not `%s`", name,
                    (unsigned long long)most, text);
    return false;
}

bool zf_read_seconds(const char *text, double *out) {
    static const char digits[] = "0123456789";
    const char *end = text + strspn(text, digits);
    if (end > text && end[0] == '.' && end[1] >= '0' && end[1] <= '9') end += 1 + strspn(end + 1, digits);
    double value = end > text ? strtod(text, NULL) : 0;
    if (!isfinite(value) || value <= 0) return false;
    double unit = strcmp(end, "") == 0 || strcmp(end, "s") == 0 ? 1
                  : strcmp(end, "ms") == 0                      ? 1e-3
                  : strcmp(end, "m") == 0                       ? 60
                                                                : 0;
    *out = value * unit;
    return unit > 0;
}
