// The standard library under other names: every algorithm, stream, param, function, constant and codec is renamed by a seeded
// map, for tests that no name means anything to the compiler.
#ifndef ZF_TESTS_RENAMING_H
#define ZF_TESTS_RENAMING_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/text.h"
#include "tests/unit/check.h"
#include "tests/unit/golden.h"

enum { NAME_LIMIT = 512, WORD_LIMIT = 64, RENAMING_FILES = 64 };

typedef struct renaming {
    char from[NAME_LIMIT][WORD_LIMIT], to[NAME_LIMIT][WORD_LIMIT];
    int count;
    uint64_t seed;
    char *pages[RENAMING_FILES], names[RENAMING_FILES][256]; ///< of std: texts and file names
    int page_count;
} renaming;

static inline bool renaming_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static inline int renaming_find(char names[][WORD_LIMIT], int count, const char *word, size_t length) {
    for (int k = 0; k < count; k++) {
        if (strlen(names[k]) == length && memcmp(names[k], word, length) == 0) return k;
    }
    return -1;
}

static inline void renaming_add(renaming *map, const char *word, size_t length) {
    if (length >= WORD_LIMIT || map->count == NAME_LIMIT || renaming_find(map->from, map->count, word, length) >= 0) return;
    memcpy(map->from[map->count], word, length);
    // xorshift64*: a new name has nothing of the old one, not even its length.
    map->seed ^= map->seed >> 12;
    map->seed ^= map->seed << 25;
    map->seed ^= map->seed >> 27;
    unsigned long long noise = (map->seed * UINT64_C(2685821657736338717)) >> 40;
    snprintf(map->to[map->count], WORD_LIMIT, "q%llx_%d", noise, map->count);
    map->count++;
}

/// Length of the comment or quoted thing that begins here, 0 when there is none.
static inline size_t renaming_skipped(const char *at) {
    if (at[0] == '/' && at[1] == '/') return strcspn(at, "\n");
    if (at[0] != '"' && at[0] != '\'') return 0;
    size_t length = 1;
    while (at[length] != '\0' && at[length] != at[0]) length += at[length] == '\\' ? 2 : 1;
    return length + 1;
}

/// Collects what a text declares: the word after `algorithm`, `fn`, `const`, `codec`, and the ports of algorithms.
static inline void renaming_collect(renaming *map, const char *text) {
    const char *previous = "";
    size_t previous_length = 0;
    bool in_head = false; // between `algorithm` and its `{`
    for (const char *at = text; *at != '\0';) {
        size_t length = renaming_skipped(at);
        if (length > 0) {
            at += length;
            continue;
        }
        if (!renaming_is_word(*at)) {
            if (*at == '{') in_head = false;
            at++;
            continue;
        }
        while (renaming_is_word(at[length])) length++;
        static const char *const words[] = {"algorithm", "fn", "const", "codec"};
        for (int k = 0; k < 4; k++) {
            if (previous_length == strlen(words[k]) && memcmp(previous, words[k], previous_length) == 0) {
                renaming_add(map, at, length);
                if (k == 0) in_head = true;
            }
        }
        const char *after = at + length;
        while (*after == ' ') after++;
        bool generic = length == 1 && *at >= 'A' && *at <= 'Z'; // T: integer
        if (in_head && *after == ':' && !generic) renaming_add(map, at, length);
        previous = at;
        previous_length = length;
        at += length;
    }
}

/// Rewrites every word of `from` to `to`, except after a dot, where members stand. In printed stages (`everywhere`) dots join
/// paths.
static inline void renaming_rewrite(const char *text, char from[][WORD_LIMIT], char to[][WORD_LIMIT], int count, bool everywhere,
                                    zf_text *out) {
    for (const char *at = text; *at != '\0';) {
        size_t length = everywhere ? 0 : renaming_skipped(at);
        if (length > 0) {
            zf_text_add(out, at, length);
            at += length;
            continue;
        }
        if (!renaming_is_word(*at)) {
            zf_text_add(out, at++, 1);
            continue;
        }
        while (renaming_is_word(at[length])) length++;
        bool member = !everywhere && at > text && at[-1] == '.' && !(at > text + 1 && at[-2] == '.');
        int k = member ? -1 : renaming_find(from, count, at, length);
        if (k >= 0)
            zf_text_puts(out, to[k]);
        else
            zf_text_add(out, at, length);
        at += length;
    }
}

/// A text under the new names, and a printed stage under the old ones. The caller frees both.
static inline void renaming_forth(const renaming *map, const char *text, zf_text *out) {
    renaming *m = (renaming *)(uintptr_t)map; // only read
    renaming_rewrite(text, m->from, m->to, m->count, false, out);
}
static inline void renaming_back(const renaming *map, const char *text, zf_text *out) {
    renaming *m = (renaming *)(uintptr_t)map;
    renaming_rewrite(text, m->to, m->from, m->count, true, out);
}

static inline void renaming_write(const renaming *map, const char *text, const char *path) {
    zf_text out = {0};
    renaming_forth(map, text, &out);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL, "%s", path);
    if (file != NULL) {
        fwrite(out.data, 1, out.length, file);
        fclose(file);
    }
    zf_text_free(&out);
}

/// New names for every page of std and for `program`. renaming_free releases it.
static inline renaming *renaming_make(uint64_t seed, const char *program) {
    renaming *map = calloc(1, sizeof *map);
    map->seed = seed;
    DIR *directory = opendir(ZF_SOURCE_DIR "/dsl/std");
    CHECK(directory != NULL, "no standard library");
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 3, ".zf") != 0) continue;
        char path[512];
        snprintf(path, sizeof path, "%s/dsl/std/%s", ZF_SOURCE_DIR, entry->d_name);
        CHECK(map->page_count < RENAMING_FILES, "more pages than %d", RENAMING_FILES);
        if (map->page_count == RENAMING_FILES) break;
        snprintf(map->names[map->page_count], sizeof map->names[0], "%s", entry->d_name);
        map->pages[map->page_count] = golden_read(path);
        CHECK(map->pages[map->page_count] != NULL, "%s", path);
        if (map->pages[map->page_count] != NULL) renaming_collect(map, map->pages[map->page_count++]);
    }
    if (directory != NULL) closedir(directory);
    renaming_collect(map, program);
    CHECK(map->count > 25 && map->count < NAME_LIMIT, "%d names", map->count);
    return map;
}

static inline void renaming_free(renaming *map) {
    for (int k = 0; k < map->page_count; k++) free(map->pages[k]);
    free(map);
}

/// Writes the renamed library to a directory, and removes it.
static inline void renaming_write_std(const renaming *map, const char *root) {
    char path[600];
    for (int k = 0; k < map->page_count; k++) {
        snprintf(path, sizeof path, "%s/%s", root, map->names[k]);
        renaming_write(map, map->pages[k], path);
    }
}
static inline void renaming_remove_std(const renaming *map, const char *root) {
    char path[600];
    for (int k = 0; k < map->page_count; k++) {
        snprintf(path, sizeof path, "%s/%s", root, map->names[k]);
        unlink(path);
    }
}

#endif
