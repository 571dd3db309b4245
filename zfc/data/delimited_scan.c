#include "zfc/data/delimited_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zfc/driver_codes.h"

enum { FIRST_CAPACITY = 1 << 18, SKIPPED_MOST = 1 << 16 };

/// The end of a field in the buffer.
typedef enum ending {
    END_DELIMITER,
    END_LINE,
    END_FILE,
    END_UNKNOWN, ///< beyond the bytes that are read
    END_BAD,
} ending;

/// Reads until the buffer is full or the file ends. The field being read moves to the front; a field that fills the buffer
/// doubles it.
static zf_status fill(zf_delimited_scan *scan, zf_error *error) {
    size_t kept = scan->end - scan->begin;
    if (kept > 0 && scan->begin > 0) memmove(scan->buffer, scan->buffer + scan->begin, kept);
    scan->begin = 0;
    scan->end = kept;
    if (scan->end == scan->capacity) {
        size_t wish = scan->capacity ? 2 * scan->capacity : FIRST_CAPACITY;
        char *buffer = zf_input_grow(scan->memory, scan->path, scan->buffer, &scan->capacity, scan->capacity + 1, wish, error);
        if (!buffer) return ZF_ERR_MEMORY;
        scan->buffer = buffer;
    }
    size_t count = fread(scan->buffer + scan->end, 1, scan->capacity - scan->end, scan->file);
    if (ferror(scan->file)) return zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_READ, "cannot read %s: %s", scan->path, strerror(errno));
    scan->at_end = count < scan->capacity - scan->end;
    scan->end += count;
    scan->total += count;
    return ZF_OK;
}

zf_status zf_delimited_start(zf_delimited_scan *scan, zf_error *error) {
    scan->line = 1;
    scan->stops[(unsigned char)scan->delimiter] = true;
    scan->stops['\n'] = scan->stops['\r'] = scan->stops['"'] = true;
    return fill(scan, error);
}

void zf_delimited_free(zf_delimited_scan *scan) {
    zf_input_release(scan->memory, scan->buffer, scan->capacity);
    scan->buffer = NULL;
    scan->capacity = 0;
}

static ending bad(zf_delimited_scan *scan, uint64_t line, const char *message) {
    scan->bad_line = line;
    if (scan->message != message) snprintf(scan->message, sizeof scan->message, "%s", message);
    return END_BAD;
}

static uint64_t newlines(const char *text, const char *end) {
    uint64_t count = 0;
    while ((text = memchr(text, '\n', (size_t)(end - text))) != NULL) {
        count++;
        text++;
    }
    return count;
}

/// The ending at `at`, the first character behind a field. `*next` becomes where the next field begins. Returns END_BAD, without
/// a message, where a field cannot end.
static ending ending_at(zf_delimited_scan *scan, const char *at, uint64_t line, const char **next) {
    const char *end = scan->buffer + scan->end;
    *next = at;
    if (at == end) return scan->at_end ? END_FILE : END_UNKNOWN;
    *next = at + 1;
    if (*at == scan->delimiter) return END_DELIMITER;
    if (*at == '\n') return END_LINE;
    scan->message[0] = 0;
    if (*at != '\r') return END_BAD;
    if (at + 1 == end && !scan->at_end) return END_UNKNOWN;
    *next = at + 2;
    if (at + 1 < end && at[1] == '\n') return END_LINE;
    return bad(scan, line, "a carriage return that is not followed by a line feed");
}

/// The field is at `at`, or began before it.
static ending find_unquoted(zf_delimited_scan *scan, const char *at, const char **text_end, const char **next) {
    const char *end = scan->buffer + scan->end;
    for (;;) {
        while (at < end && !scan->stops[(unsigned char)*at]) at++;
        if (at == end || *at != '"') break;
        if (!scan->lenient) return bad(scan, scan->line, "a quote in the middle of a field");
        at++;
    }
    *text_end = at;
    scan->seen = (size_t)(at - (scan->buffer + scan->begin));
    return ending_at(scan, at, scan->line, next);
}

/// A field in quotes, which begins at `begin`. An open quote swallows lines, and the fault shows only at the next quote or at the
/// end of the file; the error is where the field began. In a row that is skipped, the first quote of a field that does not end as
/// one, or is longer than SKIPPED_MOST, is a character: rows behind it are not skipped with it.
static ending find_quoted(zf_delimited_scan *scan, const char *begin, const char **text_end, const char **next) {
    const char *end = scan->buffer + scan->end, *at = begin + (scan->seen > 1 && !scan->lenient ? scan->seen : 1);
    bool is_cut = scan->lenient && end - begin > SKIPPED_MOST;
    if (is_cut) end = begin + SKIPPED_MOST;
    for (;;) {
        at = memchr(at, '"', (size_t)(end - at));
        if (!at) {
            scan->seen = (size_t)(end - begin);
            if (!scan->at_end && !is_cut) return END_UNKNOWN;
            if (scan->lenient) return find_unquoted(scan, begin + 1, text_end, next);
            return bad(scan, scan->line, "a quoted field that does not end");
        }
        if (at + 1 == end || at[1] != '"') break;
        at += 2;
    }
    if (at + 1 == end && is_cut) return find_unquoted(scan, begin + 1, text_end, next);
    scan->seen = (size_t)(at - begin);
    if (at + 1 == end && !scan->at_end) return END_UNKNOWN;
    *text_end = at;
    uint64_t line = scan->line + newlines(begin, at);
    ending found = ending_at(scan, at + 1, line, next);
    if (found != END_BAD || scan->message[0] != 0) return found;
    if (scan->lenient) return find_unquoted(scan, begin + 1, text_end, next);
    if (line == scan->line) return bad(scan, line, "a quoted field with a quote in its middle");
    snprintf(scan->message, sizeof scan->message,
             "a quoted field with a quote in its middle, at line %llu: is its own quote left open?", (unsigned long long)line);
    return bad(scan, scan->line, scan->message);
}

/// Makes doubled quotes single, in place. Returns the new length.
static size_t unquote(char *text, size_t length) {
    char *from = memchr(text, '"', length), *to = from, *end = text + length;
    if (!from) return length;
    while (from < end) {
        *to++ = *from;
        from += *from == '"' ? 2 : 1;
    }
    return (size_t)(to - text);
}

zf_delimited_result zf_delimited_next(zf_delimited_scan *scan, zf_field *out, zf_error *error) {
    for (;;) {
        char *begin = scan->buffer + scan->begin;
        bool none = scan->begin == scan->end;
        if (none && scan->at_end && !scan->in_row) return ZF_DELIMITED_END;
        bool quoted = !none && *begin == '"';
        const char *text_end = begin, *next = begin;
        ending found = none && !scan->at_end ? END_UNKNOWN
                       : quoted              ? find_quoted(scan, begin, &text_end, &next)
                                             : find_unquoted(scan, begin + scan->seen, &text_end, &next);
        if (found == END_BAD) return ZF_DELIMITED_BAD;
        if (found == END_UNKNOWN) {
            if (fill(scan, error) != ZF_OK) return ZF_DELIMITED_FAILED;
            continue;
        }
        scan->seen = 0;
        out->quoted = quoted;
        out->line = scan->line;
        out->ends_row = found != END_DELIMITER;
        out->text = begin + quoted;
        if (quoted) scan->line += newlines(begin, text_end);
        if (found == END_LINE) scan->line++;
        out->length = (size_t)(text_end - out->text);
        if (quoted) out->length = unquote(begin + 1, out->length);
        scan->in_row = found == END_DELIMITER;
        scan->begin = (size_t)(next - scan->buffer);
        return ZF_DELIMITED_FIELD;
    }
}
