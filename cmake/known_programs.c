// The table of the library's programs, made at build: from the library itself and the list of earlier releases.
//
// Usage: zf-known STD EARLIER OUT
// STD: the directory of std.zf. EARLIER: lines `IDENTITY NAME`; those that begin with `#` are comments. OUT: rows of
// zf_known_program, sorted by identity, without repetitions.
//
//        zf-known --release STD EARLIER
// Prints the lines that EARLIER lacks, for a release.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/known/known.h"

typedef struct table {
    zf_known_program *rows;
    size_t count, room;
} table;

static void add(table *to, const uint8_t *identity, const char *name, bool earlier) {
    if (to->count == to->room) {
        to->room = 2 * to->room + 64;
        to->rows = realloc(to->rows, to->room * sizeof *to->rows);
        if (to->rows == NULL) abort(); // the build has no memory
    }
    zf_known_program *row = &to->rows[to->count++];
    memcpy(row->identity, identity, sizeof row->identity);
    row->name = strdup(name);
    row->earlier = earlier;
}

static bool read_identity(const char *hex, uint8_t *out) {
    for (size_t k = 0; k < 2 * ZF_IDENTITY_BYTES; k++) {
        const char *digits = "0123456789abcdef", *digit = hex[k] != 0 ? strchr(digits, hex[k]) : NULL;
        if (digit == NULL) return false;
        out[k / 2] = (uint8_t)(out[k / 2] << 4 | (digit - digits));
    }
    return hex[2 * ZF_IDENTITY_BYTES] == ' ';
}

static bool add_earlier(const char *path, table *to) {
    char line[512];
    unsigned number = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        return false;
    }
    bool good = true;
    while (good && fgets(line, sizeof line, file) != NULL) {
        uint8_t identity[ZF_IDENTITY_BYTES] = {0};
        char *name = line + 2 * ZF_IDENTITY_BYTES + 1;
        number++;
        if (line[0] == '#' || line[0] == '\n') continue;
        good = strlen(line) > 2 * ZF_IDENTITY_BYTES + 2 && read_identity(line, identity);
        if (good) name[strcspn(name, " \n")] = 0;
        for (const char *at = name; good && *at != 0; at++) good = isalnum((unsigned char)*at) || *at == '_';
        if (good) add(to, identity, name, true);
    }
    fclose(file);
    if (!good) fprintf(stderr, "%s:%u: not an identity of 64 hexadecimal digits, a space and a name\n", path, number);
    return good;
}

static bool add_library(const char *directory, table *to) {
    static const char text[] = "zf 1;";
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.std_dir = directory});
    zf_declarations all = {0};
    bool good = spec != NULL && zf_spec_add_text(spec, "none", text, sizeof text - 1) && zf_spec_check(spec) &&
                zf_text_declarations(spec, true, &all) && all.count > 0;
    for (uint32_t k = 0; good && k < all.count; k++) add(to, all.items[k].identity, all.items[k].name, false);
    if (!good) fprintf(stderr, "zf-known: the library in %s cannot be read\n", directory);
    if (spec != NULL) zf_spec_destroy(spec);
    return good;
}

static int compare(const void *a, const void *b) {
    const zf_known_program *x = a, *y = b;
    int order = memcmp(x->identity, y->identity, sizeof x->identity);
    if (order != 0) return order;
    return x->earlier != y->earlier ? x->earlier - y->earlier : strcmp(x->name, y->name);
}

static bool print(const table *from, const char *path) {
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return false;
    }
    for (size_t k = 0; k < from->count; k++) {
        const zf_known_program *row = &from->rows[k];
        if (k > 0 && memcmp(row->identity, row[-1].identity, sizeof row->identity) == 0) continue;
        fputs("{{", file);
        for (size_t b = 0; b < ZF_IDENTITY_BYTES; b++) fprintf(file, "0x%02x,", row->identity[b]);
        fprintf(file, "}, \"%s\", %s},\n", row->name, row->earlier ? "true" : "false");
    }
    bool good = ferror(file) == 0;
    return (fclose(file) == 0) & good;
}

/// Prints the library's rows that have no equal one among those of earlier releases, which is sorted behind them.
static void print_release(const table *from) {
    for (size_t k = 0; k < from->count; k++) {
        const zf_known_program *row = &from->rows[k];
        bool first = k == 0 || memcmp(row->identity, row[-1].identity, sizeof row->identity) != 0;
        bool listed = false;
        for (size_t n = k; n < from->count && memcmp(row->identity, from->rows[n].identity, sizeof row->identity) == 0; n++)
            listed = listed || from->rows[n].earlier;
        if (!first || listed) continue;
        for (size_t b = 0; b < ZF_IDENTITY_BYTES; b++) printf("%02x", row->identity[b]);
        printf(" %s\n", row->name);
    }
}

int main(int argc, char **argv) {
    table all = {0};
    if (argc != 4) {
        fprintf(stderr, "usage: zf-known STD EARLIER OUT\n       zf-known --release STD EARLIER\n");
        return 2;
    }
    bool release = strcmp(argv[1], "--release") == 0;
    bool good = add_library(argv[release ? 2 : 1], &all) && add_earlier(argv[release ? 3 : 2], &all);
    if (good) {
        qsort(all.rows, all.count, sizeof *all.rows, compare);
        if (release)
            print_release(&all);
        else
            good = print(&all, argv[3]);
    }
    for (size_t k = 0; k < all.count; k++) free((void *)(uintptr_t)all.rows[k].name);
    free(all.rows);
    return good ? 0 : 1;
}
