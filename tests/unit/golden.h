// Comparing a printed stage with the file that holds what it should be. `ZF_UPDATE_GOLDEN=1` writes the files instead: look at
// the difference before you commit it.
#ifndef ZF_TESTS_GOLDEN_H
#define ZF_TESTS_GOLDEN_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"
#include "tests/unit/check.h"

/// The whole of a file, 0-terminated, or NULL; free it.
static inline char *golden_read(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    zf_text text = {0};
    char buffer[4096];
    size_t n;
    while ((n = fread(buffer, 1, sizeof buffer, file)) > 0) zf_text_add(&text, buffer, n);
    fclose(file);
    if (text.data == NULL) zf_text_puts(&text, "");
    return text.data;
}

/// Compares with tests/golden/KIND/NAME.KIND.
static inline void golden_compare(const char *kind, const char *name, const char *text) {
    char path[1024];
    snprintf(path, sizeof path, ZF_SOURCE_DIR "/tests/golden/%s/%s.%s", kind, name, kind);
    if (getenv("ZF_UPDATE_GOLDEN") != NULL) {
        FILE *file = fopen(path, "wb");
        CHECK(file != NULL, "%s: %s", path, strerror(errno));
        if (file == NULL) return;
        fputs(text, file);
        fclose(file);
        return;
    }
    char *expected = golden_read(path);
    CHECK(expected != NULL, "%s: %s", path, strerror(errno));
    if (expected == NULL) return;
    size_t at = 0, line = 1;
    while (text[at] != '\0' && text[at] == expected[at]) line += text[at++] == '\n';
    CHECK(strcmp(text, expected) == 0, "%s differs from line %zu on:\n  is:        %.*s\n  should be: %.*s", path, line,
          (int)strcspn(text + at, "\n"), text + at, (int)strcspn(expected + at, "\n"), expected + at);
    free(expected);
}

/// Replaces the first occurrence of a text; NULL when there is none. Free it.
static inline char *golden_replaced(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    if (at == NULL) return NULL;
    zf_text out = {0};
    zf_text_add(&out, text, (size_t)(at - text));
    zf_text_puts(&out, to);
    zf_text_puts(&out, at + strlen(from));
    return out.data;
}

#endif
