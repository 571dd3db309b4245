// Parsing texts in tests, and the `.zf` files that tests run over.
#ifndef ZF_TESTS_PARSE_TEXT_H
#define ZF_TESTS_PARSE_TEXT_H

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/spec/spec_internal.h"
#include "tests/unit/check.h"

/// A text, parsed in a compilation of its own.
typedef struct parsed {
    zf_spec *spec;
    zf_source *source; ///< in the compilation's arena
    zf_ast_unit *unit; ///< NULL when it could not be parsed at all
    uint32_t errors;
} parsed;

static inline bool parse_work(zf_spec *spec, void *data) {
    parsed *p = data;
    p->unit = zf_parse(spec, p->source);
    return true;
}

/// `text` must live as long as the result, and have a 0 behind its `length` bytes.
static inline parsed parse_bytes(const char *text, size_t length) {
    parsed p = {.spec = zf_spec_create(NULL)};
    p.source = p.spec ? ZF_NEW(zf_spec_arena(p.spec), zf_source) : NULL;
    if (!p.source) {
        printf("no memory\n");
        exit(1);
    }
    *p.source = (zf_source){.path = "t.zf", .text = text, .length = length};
    zf_guarded(p.spec, parse_work, &p);
    p.errors = zf_spec_diags(p.spec)->errors;
    return p;
}

static inline parsed parse_text(const char *text) { return parse_bytes(text, strlen(text)); }
static inline void parsed_free(parsed *p) { zf_spec_destroy(p->spec); }

/// All diagnostics, one a line; the caller frees it.
static inline zf_text diagnostics_of(const parsed *p, zf_diag_form form) {
    zf_text text = {0};
    zf_text_puts(&text, "");
    zf_diags_render(zf_spec_diags(p->spec), form, false, &text);
    return text;
}

static inline char *read_whole_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *text = NULL;
    long size = -1;
    if (fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) text = malloc((size_t)size + 1);
    if (text) {
        *length = fread(text, 1, (size_t)size, file);
        text[*length] = 0;
    }
    fclose(file);
    return text;
}

static inline int is_zf_file(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 3 && strcmp(entry->d_name + length - 3, ".zf") == 0;
}

/// Calls `visit` with every `.zf` file of a directory; 0 when there is no such directory.
static inline int for_each_zf_file(const char *directory, void (*visit)(const char *path, const char *text, size_t length)) {
    struct dirent **entries = NULL;
    int found = scandir(directory, &entries, is_zf_file, alphasort), visited = 0;
    for (int i = 0; i < found; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        size_t length = 0;
        char *text = read_whole_file(path, &length);
        if (text) {
            visit(path, text, length);
            visited++;
        }
        free(text);
        free(entries[i]);
    }
    free(entries);
    return visited;
}

/// The library, and larger drafts where they are.
static inline int for_each_library_file(void (*visit)(const char *path, const char *text, size_t length)) {
    return for_each_zf_file(ZF_SOURCE_DIR "/dsl/std", visit) + for_each_zf_file(ZF_SOURCE_DIR "/tests/lang/ok/drafts", visit) +
           for_each_zf_file(ZF_SOURCE_DIR "/tests/lang/ok/queries", visit);
}

#endif
