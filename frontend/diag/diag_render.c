// Diagnostics as text: for people (with excerpts), one line each, and JSON. Bytes that come from the source are shown only as
// printable UTF-8, so that a file cannot drive the terminal it is shown on, nor turn around what it shows.
#include "frontend/diag/diag.h"

#include <string.h>

static const char *const severity_names[] = {[ZF_ERROR] = "error", [ZF_WARNING] = "warning", [ZF_NOTE] = "note"};

// ANSI sequences; all empty without colour.
struct style {
    const char *severity[3], *bold, *dim, *caret, *hint, *end;
};

static const struct style plain_style = {{"", "", ""}, "", "", "", "", ""};
static const struct style colour_style = {
    {"\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m"}, "\x1b[1m", "\x1b[2m", "\x1b[1;32m", "\x1b[1;34m", "\x1b[0m"};

// ---- Printable text -------------------------------------------------------------------------------------------

enum { TAB_COLUMNS = 4 };

// Appends the bytes as printable text and returns how many columns it takes. A tab takes TAB_COLUMNS.
static size_t add_printable(zf_text *out, const char *bytes, size_t length) {
    size_t columns = 0;
    for (size_t i = 0; i < length;) {
        size_t step = zf_utf8_length(bytes + i, length - i), unshown = zf_utf8_unshown(bytes + i, length - i);
        if (bytes[i] == '\t') {
            if (out) zf_text_puts(out, "    ");
            columns += TAB_COLUMNS;
            i++;
            continue;
        }
        if (step == 0 || unshown > 0) {
            if (out) zf_text_puts(out, "\xef\xbf\xbd"); // U+FFFD
            if (step == 0) step = 1;
        } else if (out) {
            zf_text_add(out, bytes + i, step);
        }
        columns++;
        i += step;
    }
    return columns;
}

static void add_clean(zf_text *out, const char *string) { add_printable(out, string, strlen(string)); }

// ---- Excerpts -------------------------------------------------------------------------------------------------

enum {
    EXCERPT_COLUMNS = 140, // of a longer line only the surroundings of the span are shown
    EXCERPT_BEFORE = 60,
};

/// The end of the line, or a place beyond what is shown of it: a line may be as long as a file.
static size_t line_end(const zf_source *source, size_t from, size_t offset) {
    size_t most = source->length - offset;
    if (most > EXCERPT_COLUMNS + 2) most = EXCERPT_COLUMNS + 2;
    const char *newline = memchr(source->text + offset, '\n', most);
    size_t end = newline ? (size_t)(newline - source->text) : offset + most;
    bool at_end = newline || end == source->length;
    if (at_end && end > from && source->text[end - 1] == '\r') end--;
    return end;
}

// Moves an offset to the start of the character that it lies in.
static size_t character_start(const zf_source *source, size_t offset, size_t least) {
    for (size_t i = 0; i < 3 && offset > least && ((unsigned char)source->text[offset] & 0xc0) == 0x80; i++) offset--;
    return offset;
}

static void add_repeated(zf_text *out, char c, size_t count) {
    char run[64];
    memset(run, c, sizeof run);
    while (count > 0) {
        size_t step = count < sizeof run ? count : sizeof run;
        zf_text_add(out, run, step);
        count -= step;
    }
}

// The line of a span's begin with carets under the span (to the end of that line when it goes on).
static void add_excerpt(zf_text *out, zf_span span, const struct style *style) {
    const zf_source *source = span.source;
    size_t begin = span.begin < source->length ? span.begin : source->length;
    size_t end = span.end < source->length ? span.end : source->length;
    zf_position position = zf_source_position(source, (uint32_t)begin);
    size_t from = begin - (position.column - 1);
    size_t to = line_end(source, from, begin);
    if (begin > to) begin = to;
    if (end > to) end = to;
    if (end < begin) end = begin;

    bool cut_before = false, cut_after = false;
    if (to - from > EXCERPT_COLUMNS) {
        if (begin - from > EXCERPT_BEFORE) {
            from = character_start(source, begin - EXCERPT_BEFORE, from);
            cut_before = true;
        }
        if (to - from > EXCERPT_COLUMNS) {
            to = character_start(source, from + EXCERPT_COLUMNS, begin);
            cut_after = true;
        }
        if (end > to) end = to;
    }
    zf_text_printf(out, "%s%6u |%s ", style->dim, position.line, style->end);
    if (cut_before) zf_text_puts(out, "...");
    size_t before = add_printable(out, source->text + from, begin - from) + (cut_before ? 3 : 0);
    size_t width = add_printable(out, source->text + begin, end - begin);
    add_printable(out, source->text + end, to - end);
    if (cut_after) zf_text_puts(out, "...");
    zf_text_printf(out, "\n%s       |%s ", style->dim, style->end);
    add_repeated(out, ' ', before);
    zf_text_puts(out, style->caret);
    add_repeated(out, '^', width > 0 ? width : 1);
    zf_text_printf(out, "%s\n", style->end);
}

static void add_place(zf_text *out, zf_span span) {
    if (!span.source) return;
    zf_position position = zf_source_position(span.source, span.begin);
    add_clean(out, span.source->path);
    zf_text_printf(out, ":%u:%u: ", position.line, position.column);
}

// ---- The three forms ------------------------------------------------------------------------------------------

static void add_header(zf_text *out, const zf_diag *diag, const struct style *style) {
    char code[8];
    zf_diag_code_text(diag->code, code);
    zf_text_puts(out, style->bold);
    add_place(out, diag->span);
    zf_text_printf(out, "%s%s%s[%s]%s: %s", style->end, style->severity[diag->severity], severity_names[diag->severity], code,
                   style->end, style->bold);
    add_clean(out, diag->message);
    zf_text_printf(out, "%s\n", style->end);
}

static void render_human(const zf_diags *diags, bool colour, zf_text *out) {
    const struct style *style = colour ? &colour_style : &plain_style;
    for (const zf_diag *diag = diags->first; diag; diag = diag->next) {
        if (diag != diags->first) zf_text_puts(out, "\n");
        add_header(out, diag, style);
        if (diag->span.source) add_excerpt(out, diag->span, style);
        for (const zf_remark *remark = diag->remarks; remark; remark = remark->next) {
            zf_text_puts(out, remark->span.source ? "  " : "       = ");
            add_place(out, remark->span);
            zf_text_printf(out, "%sremark%s: ", style->severity[ZF_NOTE], style->end);
            add_clean(out, remark->text);
            zf_text_puts(out, "\n");
            if (remark->span.source) add_excerpt(out, remark->span, style);
        }
        if (diag->hint) {
            zf_text_printf(out, "       = %shint%s: ", style->hint, style->end);
            add_clean(out, diag->hint);
            zf_text_puts(out, "\n");
        }
    }
    if (diags->errors > diags->limit) {
        zf_text_printf(out, "\n%u more errors are not shown\n", diags->errors - diags->limit);
    }
}

static void render_lines(const zf_diags *diags, zf_text *out) {
    for (const zf_diag *diag = diags->first; diag; diag = diag->next) add_header(out, diag, &plain_style);
}

static void add_json_string(zf_text *out, const char *string) {
    zf_text clean = {0};
    add_clean(&clean, string);
    zf_text_json(out, clean.data ? clean.data : "");
    out->failed |= clean.failed;
    zf_text_free(&clean);
}

static void add_json_place(zf_text *out, zf_span span) {
    if (!span.source) return;
    zf_position begin = zf_source_position(span.source, span.begin);
    zf_position end = zf_source_position(span.source, span.end);
    zf_text_puts(out, ",\"path\":");
    add_json_string(out, span.source->path);
    zf_text_printf(out, ",\"line\":%u,\"column\":%u,\"end_line\":%u,\"end_column\":%u", begin.line, begin.column, end.line,
                   end.column);
}

static void render_json(const zf_diags *diags, zf_text *out) {
    zf_text_puts(out, "[");
    for (const zf_diag *diag = diags->first; diag; diag = diag->next) {
        char code[8];
        zf_diag_code_text(diag->code, code);
        zf_text_printf(out, "%s\n{\"severity\":\"%s\",\"code\":\"%s\"", diag == diags->first ? "" : ",",
                       severity_names[diag->severity], code);
        add_json_place(out, diag->span);
        zf_text_puts(out, ",\"message\":");
        add_json_string(out, diag->message);
        zf_text_puts(out, ",\"remarks\":[");
        for (const zf_remark *remark = diag->remarks; remark; remark = remark->next) {
            zf_text_puts(out, remark == diag->remarks ? "{\"message\":" : ",{\"message\":");
            add_json_string(out, remark->text);
            add_json_place(out, remark->span);
            zf_text_puts(out, "}");
        }
        zf_text_puts(out, "],\"hint\":");
        if (diag->hint)
            add_json_string(out, diag->hint);
        else
            zf_text_puts(out, "null");
        zf_text_puts(out, "}");
    }
    zf_text_puts(out, diags->first ? "\n]\n" : "]\n");
}

void zf_diags_render(const zf_diags *diags, zf_diag_form form, bool colour, zf_text *out) {
    switch (form) {
    case ZF_DIAG_HUMAN: render_human(diags, colour, out); break;
    case ZF_DIAG_LINE: render_lines(diags, out); break;
    case ZF_DIAG_JSON: render_json(diags, out); break;
    }
}
