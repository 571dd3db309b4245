#include "patterns/plan/choices.h"

#include <string.h>
#include <strings.h>

const char *const zf_choice_names[ZF_CHOICE_KINDS] = {"L",     "C",        "THREADS", "REGISTERS", "WALK",
                                                      "STAGE", "PREFETCH", "TABLE",   "RECORDS",   "WARPS"};

bool zf_is_chosen(const zf_choice *choice, zf_choice_kind kind) { return (choice->chosen >> kind & 1) != 0; }

uint32_t zf_choice_value(const zf_choice *choice, zf_choice_kind kind, uint32_t fallback) {
    return zf_is_chosen(choice, kind) ? choice->values[kind] : fallback;
}

void zf_choose(zf_choice *choice, zf_choice_kind kind, uint32_t value) {
    choice->chosen |= UINT32_C(1) << kind;
    choice->values[kind] = value;
}

const zf_choice *zf_choices_find(const zf_choices *choices, uint32_t number) {
    for (uint32_t k = 0; choices != NULL && k < choices->count; k++) {
        if (choices->kernels[k] == number) return &choices->of[k];
    }
    return NULL;
}

// Decimal digits at *at, which it leaves behind them. False where there are none, or more than `most`.
static bool read_number(const char **at, uint32_t most, uint32_t *out) {
    const char *begin = *at;
    for (*out = 0; **at >= '0' && **at <= '9'; (*at)++) {
        *out = *out * 10 + (uint32_t)(**at - '0');
        if (*out > most) return false;
    }
    return *at > begin;
}

static zf_choice_kind read_kind(const char *name, size_t length) {
    unsigned kind = 0;
    while (kind < ZF_CHOICE_KINDS &&
           (strlen(zf_choice_names[kind]) != length || strncasecmp(zf_choice_names[kind], name, length) != 0))
        kind++;
    return (zf_choice_kind)kind;
}

// The entry of a kernel, made where there is none; NULL: there are too many.
static zf_choice *entry_of(zf_choices *choices, uint32_t number) {
    for (uint32_t k = 0; k < choices->count; k++) {
        if (choices->kernels[k] == number) return &choices->of[k];
    }
    if (choices->count == ZF_CHOICES_KERNELS) return NULL;
    choices->kernels[choices->count] = number;
    return &choices->of[choices->count++];
}

bool zf_choices_read(const char *text, zf_choices *out, zf_text *message) {
    *out = (zf_choices){0};
    zf_choice *choice = NULL;
    for (const char *at = text;; at++) {
        const char *item = at;
        int shown = (int)strcspn(item, ",");
        if (shown > 40) shown = 40;
        uint32_t number, value;
        if (*at >= '0' && *at <= '9') {
            if (!read_number(&at, ZF_CHOICE_MOST, &number) || *at != ':') {
                zf_text_printf(message, "`%.*s` begins with no number of a kernel and `:`", shown, item);
                return false;
            }
            choice = entry_of(out, number);
            at++;
        } else if (choice == NULL) {
            zf_text_printf(message, "`%.*s` is of no kernel: the first choice is KERNEL:NAME=VALUE", shown, item);
            return false;
        }
        size_t length = strcspn(at, "=,");
        zf_choice_kind kind = read_kind(at, length);
        if (choice == NULL) {
            zf_text_printf(message, "choices are for more than %d kernels", ZF_CHOICES_KERNELS);
        } else if (kind == ZF_CHOICE_KINDS || at[length] != '=') {
            zf_text_printf(message, "`%.*s` is not a choice: one is NAME=VALUE, NAME is", shown, item);
            for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
                zf_text_printf(message, "%s%s", k == 0 ? " " : k + 1 == ZF_CHOICE_KINDS ? " or " : ", ", zf_choice_names[k]);
            }
        } else if (at += length + 1, !read_number(&at, ZF_CHOICE_MOST, &value) || (*at != 0 && *at != ',')) {
            zf_text_printf(message, "`%.*s`: the value is not a number up to %d", shown, item, ZF_CHOICE_MOST);
        } else if (zf_is_chosen(choice, kind)) {
            zf_text_printf(message, "`%.*s`: this is chosen twice for a kernel", shown, item);
        } else {
            zf_choose(choice, kind, value);
            if (*at == 0) return true;
            continue;
        }
        return false;
    }
}

static void print(const zf_choice *choice, const char *sign, const char *separator, zf_text *out) {
    const char *between = "";
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        if (!zf_is_chosen(choice, (zf_choice_kind)k)) continue;
        zf_text_printf(out, "%s%s%s%u", between, zf_choice_names[k], sign, choice->values[k]);
        between = separator;
    }
}

void zf_choice_print(const zf_choice *choice, zf_text *out) { print(choice, " ", ", ", out); }

void zf_choice_text(const zf_choice *choice, zf_text *out) {
    if (choice->chosen == 0) zf_text_puts(out, "default");
    print(choice, "=", ",", out);
}
