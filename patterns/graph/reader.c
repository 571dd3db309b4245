#include "patterns/graph/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void zf_reader_init(zf_reader *reader, zf_arena *arena, const char *text, zf_text *message) {
    *reader = (zf_reader){.arena = arena, .at = text, .line = 1, .message = message};
}

void zf_reader_fail(zf_reader *reader, const char *format, ...) {
    if (reader->failed) return;
    reader->failed = true;
    if (reader->message == NULL) return;
    zf_text_printf(reader->message, "line %u: ", reader->line);
    va_list arguments;
    va_start(arguments, format);
    zf_text_vprintf(reader->message, format, arguments);
    va_end(arguments);
}

static void skip_spaces(zf_reader *reader) {
    while (*reader->at == ' ') reader->at++;
}

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool zf_reader_accept(zf_reader *reader, const char *word) {
    if (reader->failed) return false;
    skip_spaces(reader);
    size_t length = strlen(word);
    if (strncmp(reader->at, word, length) != 0) return false;
    // A word does not match the beginning of a longer one.
    if (is_word(word[length - 1]) && is_word(reader->at[length])) return false;
    reader->at += length;
    return true;
}

void zf_reader_expect(zf_reader *reader, const char *word) {
    if (!zf_reader_accept(reader, word)) zf_reader_fail(reader, "expected `%s`", word);
}

void zf_reader_letter(zf_reader *reader, char letter) {
    if (reader->failed) return;
    skip_spaces(reader);
    if (*reader->at == letter)
        reader->at++;
    else
        zf_reader_fail(reader, "expected `%c`", letter);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; } // in every locale

int64_t zf_reader_integer(zf_reader *reader, int64_t least, int64_t most) {
    if (reader->failed) return least;
    skip_spaces(reader);
    char *end;
    errno = 0;
    long long value = strtoll(reader->at, &end, 10);
    if (!is_digit(reader->at[*reader->at == '-']) || errno != 0) { // else a sign, or what stands in the next line
        zf_reader_fail(reader, "expected a number");
        return least;
    }
    if (value < least || value > most) {
        zf_reader_fail(reader, "%lld is not in %lld..=%lld", value, (long long)least, (long long)most);
        return least;
    }
    reader->at = end;
    return value;
}

uint64_t zf_reader_u64(zf_reader *reader) {
    if (reader->failed) return 0;
    skip_spaces(reader);
    char *end;
    errno = 0;
    unsigned long long value = strtoull(reader->at, &end, 10);
    if (!is_digit(*reader->at) || errno != 0) {
        zf_reader_fail(reader, "expected an unsigned number");
        return 0;
    }
    reader->at = end;
    return value;
}

uint32_t zf_reader_number(zf_reader *reader, uint32_t limit) {
    if (limit == 0) {
        zf_reader_fail(reader, "nothing can stand here");
        return 0;
    }
    return (uint32_t)zf_reader_integer(reader, 0, (int64_t)limit - 1);
}

/// The byte that an escape stands for; -1 when it is none. Printers only write \u00XX.
static int unescape(const char **at) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = *(*at)++;
    if (c == '\0') return -1;
    const char *found = strchr(from, c);
    if (found != NULL) return to[found - from];
    if (c != 'u') return -1;
    int value = 0;
    for (int k = 0; k < 4; k++) {
        char digit = **at;
        int v = digit >= '0' && digit <= '9'   ? digit - '0'
                : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                               : -1;
        if (v < 0) return -1;
        value = value * 16 + v;
        (*at)++;
    }
    return value > 0 && value < 128 ? value : -1;
}

const char *zf_reader_quoted(zf_reader *reader) {
    if (reader->failed) return "";
    skip_spaces(reader);
    if (*reader->at != '"') {
        zf_reader_fail(reader, "expected a text in quotes");
        return "";
    }
    const char *at = reader->at + 1;
    char *out = zf_arena_copy(reader->arena, at, strcspn(at, "\n")); // at least as long as what is quoted
    size_t length = 0;
    while (*at != '"') {
        int c = (unsigned char)*at;
        if (c == '\0' || c == '\n')
            c = -1;
        else if (c != '\\')
            at++;
        else {
            at++;
            c = unescape(&at);
        }
        if (c < 0) {
            zf_reader_fail(reader, "a quoted text that does not end, or a bad escape in it");
            return "";
        }
        out[length++] = (char)c;
    }
    out[length] = '\0';
    reader->at = at + 1;
    return out;
}

const char *zf_reader_rest(zf_reader *reader) {
    if (reader->failed) return "";
    skip_spaces(reader);
    size_t length = strcspn(reader->at, "\n");
    const char *rest = zf_arena_copy(reader->arena, reader->at, length);
    reader->at += length;
    return rest;
}

zf_type zf_reader_type(zf_reader *reader) {
    zf_type type = {.kind = ZF_K_ERROR};
    if (zf_reader_accept(reader, "date32"))
        type = (zf_type){.kind = ZF_K_I32, .logical = ZF_LOGICAL_DATE32};
    else if (zf_reader_accept(reader, "timestamp"))
        type = (zf_type){.kind = ZF_K_I64, .logical = ZF_LOGICAL_TIMESTAMP};
    else if (zf_reader_accept(reader, "decimal")) {
        type = (zf_type){.kind = ZF_K_I64, .logical = ZF_LOGICAL_DECIMAL};
        zf_reader_expect(reader, "(");
        type.precision = (uint8_t)zf_reader_number(reader, 256);
        zf_reader_expect(reader, ",");
        type.scale = (uint8_t)zf_reader_number(reader, 256);
        zf_reader_expect(reader, ")");
    } else {
        for (zf_kind kind = 0; kind <= ZF_K_STRING && type.kind == ZF_K_ERROR; kind++) {
            if (zf_reader_accept(reader, zf_kind_name(kind))) type.kind = kind;
        }
        if (type.kind == ZF_K_ERROR) zf_reader_fail(reader, "expected a type");
    }
    type.nullable = zf_reader_accept(reader, "?");
    return type;
}

uint32_t zf_reader_choice(zf_reader *reader, const char *const *names, uint32_t count, const char *what) {
    for (uint32_t k = 0; k < count; k++) {
        if (zf_reader_accept(reader, names[k])) return k;
    }
    zf_reader_fail(reader, "expected %s", what);
    return 0;
}

void zf_reader_end_line(zf_reader *reader) {
    if (reader->failed) return;
    skip_spaces(reader);
    if (*reader->at == '\n') {
        reader->at++;
        reader->line++;
    } else if (*reader->at != '\0') {
        zf_reader_fail(reader, "unexpected `%.*s`", (int)strcspn(reader->at, "\n"), reader->at);
    }
}

bool zf_reader_at_end(const zf_reader *reader) { return reader->failed || *reader->at == '\0'; }
