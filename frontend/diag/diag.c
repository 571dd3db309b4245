// The list of diagnostics. Rendering is in diag_render.c.
#include "frontend/diag/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    ERROR_LIMIT = 100,     // errors kept
    OTHER_LIMIT = 10000,   // warnings and notes kept: they come from the input too
    PLACE_BUCKETS = 16384, // a power of two above both: a program with thousands of warnings asks about each
};

void zf_diags_init(zf_diags *diags, zf_arena *arena) {
    *diags = (zf_diags){.arena = arena, .limit = ERROR_LIMIT};
    diags->last = &diags->first;
}

const zf_diag *zf_diags_first_error(const zf_diags *diags) {
    const zf_diag *diag = diags->first;
    while (diag != NULL && diag->severity != ZF_ERROR) diag = diag->next;
    return diag;
}

static zf_diag **bucket_of(const zf_diags *diags, zf_diag_code code, zf_span span) {
    uint64_t hash = ((uint64_t)span.begin << 32 | span.end) * 31 + (uint64_t)code + span.source->id;
    hash *= 0x9e3779b97f4a7c15u;
    return &diags->places[(hash >> 32) & (PLACE_BUCKETS - 1)];
}

/// Without a place nothing tells two of them apart: those are never known.
static bool is_known(const zf_diags *diags, zf_diag_code code, zf_span span) {
    if (span.source == NULL || diags->places == NULL) return false;
    for (const zf_diag *diag = *bucket_of(diags, code, span); diag; diag = diag->same_bucket) {
        if (diag->code == code && diag->span.source == span.source && diag->span.begin == span.begin &&
            diag->span.end == span.end) {
            return true;
        }
    }
    return false;
}

static void remember_place(zf_diags *diags, zf_diag *diag) {
    if (diag->span.source == NULL) return;
    if (diags->places == NULL) diags->places = ZF_NEW_ARRAY(diags->arena, zf_diag *, PLACE_BUCKETS);
    zf_diag **bucket = bucket_of(diags, diag->code, diag->span);
    diag->same_bucket = *bucket;
    *bucket = diag;
}

zf_diag *zf_diag_add(zf_diags *diags, zf_severity severity, zf_diag_code code, zf_span span, const char *format, ...) {
    zf_diag *diag = ZF_NEW(diags->arena, zf_diag);
    diag->severity = severity;
    diag->code = code;
    diag->span = span;
    diag->message = "";
    for (uint32_t k = 0; severity != ZF_ERROR && k < diags->ignored_count; k++)
        if (diags->ignored[k] == code) return diag;
    if (diags->muted || is_known(diags, code, span)) return diag;

    uint32_t *count = severity == ZF_ERROR ? &diags->errors : severity == ZF_WARNING ? &diags->warnings : &diags->notes;
    (*count)++;
    bool kept = severity == ZF_ERROR ? diags->errors <= diags->limit : diags->warnings + diags->notes <= OTHER_LIMIT;
    if (!kept) return diag;

    va_list arguments;
    va_start(arguments, format);
    diag->message = zf_arena_vprintf(diags->arena, format, arguments);
    va_end(arguments);
    *diags->last = diag;
    diags->last = &diag->next;
    remember_place(diags, diag);
    return diag;
}

void zf_diag_remark(zf_diags *diags, zf_diag *diag, zf_span span, const char *format, ...) {
    if (diags->muted) return;
    zf_remark *remark = ZF_NEW(diags->arena, zf_remark);
    va_list arguments;
    va_start(arguments, format);
    remark->text = zf_arena_vprintf(diags->arena, format, arguments);
    va_end(arguments);
    remark->span = span;
    zf_remark **last = &diag->remarks;
    while (*last) last = &(*last)->next;
    *last = remark;
}

void zf_diag_hint(zf_diags *diags, zf_diag *diag, const char *format, ...) {
    if (diags->muted) return;
    va_list arguments;
    va_start(arguments, format);
    diag->hint = zf_arena_vprintf(diags->arena, format, arguments);
    va_end(arguments);
}

bool zf_diag_code_exists(unsigned number) {
    switch (number) {
#define X(value, name, subject) case value:
#include "frontend/diag/diag_codes.def"
#undef X
        return true;
    default: return false;
    }
}

void zf_diag_code_text(zf_diag_code code, char out[8]) { snprintf(out, 8, "ZF%04u", (unsigned)code % 10000u); }

// ---- The nearest name -----------------------------------------------------------------------------------------

const char *zf_nearest_name(const char *name, const char *const *names, size_t count) {
    size_t length = strlen(name);
    if (length > ZF_EDIT_LENGTH) return NULL; // longer names get no hint
    size_t best_distance = length / 3 + 1;
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance = zf_edit_distance(name, names[i], best_distance - 1);
        if (distance < best_distance && distance > 0) {
            best_distance = distance;
            best = names[i];
        }
    }
    return best;
}
