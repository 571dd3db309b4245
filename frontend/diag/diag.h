// Diagnostics: errors are values in a list; three renderers turn them into text. Nothing here prints.
#ifndef ZF_FRONTEND_DIAG_H
#define ZF_FRONTEND_DIAG_H

#include <stdbool.h>
#include <stdint.h>

#include "frontend/syntax/source.h"
#include "runtime/base/text.h"
#include "zipflow/errors.h"

/// Every code, from diag_codes.def: X(number, name, "what it is about"). ZF_D_UNKNOWN_NAME is 201, shown as ZF0201.
typedef enum zf_diag_code {
#define X(number, name, subject) ZF_D_##name = number,
#include "frontend/diag/diag_codes.def"
#undef X
} zf_diag_code;
#define X(number, name, subject) _Static_assert((int)ZF_ERROR_PROGRAM_##name == number, "zipflow/errors.h is out of date");
#include "frontend/diag/diag_codes.def"
#undef X

typedef enum zf_severity { ZF_ERROR, ZF_WARNING, ZF_NOTE } zf_severity;

/// A remark attached to a diagnostic: "declared here", at a place of its own, or without one ("width is in 0..=64").
typedef struct zf_remark {
    const char *text;
    zf_span span; ///< span.source NULL: no place
    struct zf_remark *next;
} zf_remark;

typedef struct zf_diag {
    zf_severity severity;
    zf_diag_code code;
    zf_span span;
    const char *message; ///< one line, no full stop
    zf_remark *remarks;  ///< the facts known
    const char *hint;    ///< one suggestion, or NULL
    struct zf_diag *next;
    struct zf_diag *same_bucket; ///< in zf_diags.places
} zf_diag;

/// A list of diagnostics. The same code at the same place is kept once (a generic body is checked for many types).
typedef struct zf_diags {
    zf_arena *arena;
    zf_diag *first, **last;
    zf_diag **places; ///< those with a place, by code and place; NULL before the first
    uint32_t errors, warnings, notes;
    uint32_t limit;              ///< errors kept at most; further ones are counted only
    bool muted;                  ///< nothing is added: for tries
    const zf_diag_code *ignored; ///< codes whose warnings and notes are not added
    uint32_t ignored_count;
} zf_diags;

void zf_diags_init(zf_diags *diags, zf_arena *arena);

/// Adds a diagnostic; returns it for remarks and a hint, never NULL (a muted or duplicate one goes nowhere).
zf_diag *zf_diag_add(zf_diags *diags, zf_severity severity, zf_diag_code code, zf_span span, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#define zf_diag_error(diags, code, span, ...) zf_diag_add((diags), ZF_ERROR, (code), (span), __VA_ARGS__)

void zf_diag_remark(zf_diags *diags, zf_diag *diag, zf_span span, const char *format, ...) __attribute__((format(printf, 4, 5)));
void zf_diag_hint(zf_diags *diags, zf_diag *diag, const char *format, ...) __attribute__((format(printf, 3, 4)));

/// The first error, or NULL.
const zf_diag *zf_diags_first_error(const zf_diags *diags);

typedef enum zf_diag_form { ZF_DIAG_HUMAN, ZF_DIAG_LINE, ZF_DIAG_JSON } zf_diag_form;

/// Renders all of them. HUMAN: header, excerpt, carets, remarks, hint, coloured if asked; LINE: `path:l:c: error[ZF0201]:
/// text`, one line each; JSON: one array of objects.
void zf_diags_render(const zf_diags *diags, zf_diag_form form, bool colour, zf_text *out);

/// Whether a diagnostic of the language has this number.
bool zf_diag_code_exists(unsigned number);
/// "ZF0201".
void zf_diag_code_text(zf_diag_code code, char out[8]);
/// The nearest of `count` names to `name` by edit distance (at most a third of its length), or NULL: for hints.
const char *zf_nearest_name(const char *name, const char *const *names, size_t count);

#endif
