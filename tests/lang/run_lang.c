// Checks `.zf` files against the diagnostics that their comments expect; README.md says how those are written.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "frontend/spec/spec.h"
#include "tests/unit/parse_text.h"

enum { EXPECTED_LIMIT = 1000 };

typedef struct expected {
    zf_severity severity;
    unsigned code;
    uint32_t line;
    const char *text; // in the file
    size_t length;
    const char *hint; // in the file, or NULL
    size_t hint_length;
    bool met;
} expected;

typedef struct expectations {
    expected rows[EXPECTED_LIMIT];
    size_t count;
    bool notes;
} expectations;

static char *read_file(const char *path, size_t *length) {
    char *text = read_whole_file(path, length);
    for (size_t i = 0; text && i < *length; i++) { // zeros are no end to what is expected
        if (text[i] == 0) text[i] = ' ';
    }
    return text;
}

static const struct {
    const char *word;
    zf_severity severity;
} words[] = {{"// ERROR", ZF_ERROR}, {"// WARNING", ZF_WARNING}, {"// NOTE", ZF_NOTE}};

static const char *without_spaces(const char *begin, const char *end) {
    while (end > begin && (end[-1] == ' ' || end[-1] == '\r')) end--;
    return end;
}

// Reads the expectation at `at`, which starts with one of the words. False when it is not written as it should be.
static bool read_expected(const char *at, const char *line_end, uint32_t line, zf_severity severity, size_t word,
                          expectations *all) {
    const char *p = at + word;
    long shift = 0;
    if (*p == '@') {
        char *end;
        shift = strtol(p + 1, &end, 10);
        p = end;
    }
    unsigned code;
    int used = 0;
    if (sscanf(p, "(ZF%4u):%n", &code, &used) != 1 || used == 0) return false;
    p += used;
    while (p < line_end && *p == ' ') p++;
    const char *end = line_end;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) { // another expectation on the same line ends this one
        const char *other = strstr(p, words[i].word);
        if (other && other < end) end = other;
    }
    end = without_spaces(p, end);
    expected row = {.severity = severity, .code = code, .line = (uint32_t)((long)line + shift), .text = p};
    static const char hint_word[] = "// HINT: ";
    const char *hint = memmem(p, (size_t)(end - p), hint_word, sizeof hint_word - 1);
    if (hint) {
        row.hint = hint + sizeof hint_word - 1;
        row.hint_length = (size_t)(end - row.hint);
        end = without_spaces(p, hint);
        if (row.hint_length == 0) return false;
    }
    row.length = (size_t)(end - p);
    if (end == p || all->count == EXPECTED_LIMIT) return false;
    all->rows[all->count++] = row;
    all->notes |= severity == ZF_NOTE;
    return true;
}

static bool read_expectations(const char *path, const char *text, expectations *all) {
    uint32_t line = 1;
    bool ok = true;
    for (const char *at = text; *at;) {
        const char *line_end = strchr(at, '\n');
        if (!line_end) line_end = at + strlen(at);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            size_t length = strlen(words[i].word);
            for (const char *p = strstr(at, words[i].word); p && p < line_end; p = strstr(p + length, words[i].word)) {
                if (p[length] != '(' && p[length] != '@') continue;
                if (!read_expected(p, line_end, line, words[i].severity, length, all)) {
                    printf("%s:%u: an expectation that cannot be read\n", path, line);
                    ok = false;
                }
            }
        }
        line++;
        at = *line_end ? line_end + 1 : line_end;
    }
    return ok;
}

static bool is_expected(expectations *all, const zf_diag *diag, uint32_t line) {
    for (size_t i = 0; i < all->count; i++) {
        expected *row = &all->rows[i];
        if (row->met || row->severity != diag->severity || row->code != (unsigned)diag->code || row->line != line) continue;
        if (!memmem(diag->message, strlen(diag->message), row->text, row->length)) continue;
        if (row->hint && (!diag->hint || !memmem(diag->hint, strlen(diag->hint), row->hint, row->hint_length))) continue;
        row->met = true;
        return true;
    }
    return false;
}

static const char *const severity_names[] = {"error", "warning", "note"};

// Number of complaints about one file.
static int run_file(const char *path, bool ok_only) {
    size_t length = 0;
    char *text = read_file(path, &length);
    if (!text) {
        printf("%s: cannot be read\n", path);
        return 1;
    }
    int failures = 0;
    expectations *all = calloc(1, sizeof *all);
    zf_spec *spec = NULL;
    if (!all || !read_expectations(path, text, all)) {
        failures++;
        goto done;
    }
    if (ok_only != (all->count == 0)) {
        printf("%s: %s\n", path, ok_only ? "expects diagnostics but stands under ok/" : "expects nothing; it belongs under ok/");
        failures++;
    }
    zf_spec_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .notes = all->notes};
    spec = zf_spec_create(&options);
    if (!spec) {
        failures++;
        goto done;
    }
    zf_spec_add_file(spec, path);
    zf_spec_check(spec); // as `zfc check` does: what was read is checked, also after errors of syntax
    for (const zf_diag *diag = zf_spec_diags(spec)->first; diag; diag = diag->next) {
        if (diag->severity == ZF_NOTE && !all->notes) continue;
        bool here = diag->span.source && strcmp(diag->span.source->path, path) == 0;
        uint32_t line = here ? zf_source_position(diag->span.source, diag->span.begin).line : 0;
        if (here && is_expected(all, diag, line)) continue;
        const char *place = here || !diag->span.source ? path : diag->span.source->path;
        if (!here && diag->span.source) line = zf_source_position(diag->span.source, diag->span.begin).line;
        printf("%s:%u: not expected: %s[ZF%04u]: %s (hint: %s)\n", place, line, severity_names[diag->severity],
               (unsigned)diag->code, diag->message, diag->hint ? diag->hint : "none");
        failures++;
    }
    for (size_t i = 0; i < all->count; i++) {
        const expected *row = &all->rows[i];
        if (row->met) continue;
        printf("%s:%u: missing: %s[ZF%04u]: %.*s\n", path, row->line, severity_names[row->severity], row->code, (int)row->length,
               row->text);
        if (row->hint) printf("    with the hint: %.*s\n", (int)row->hint_length, row->hint);
        failures++;
    }
done:
    zf_spec_destroy(spec);
    free(all);
    free(text);
    return failures;
}

static int is_test(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 3 && strcmp(entry->d_name + length - 3, ".zf") == 0;
}

static bool stands_under_ok(const char *path) { return strncmp(path, "ok/", 3) == 0 || strstr(path, "/ok/") != NULL; }

int main(int count, char **arguments) {
    int files = 0, failures = 0;
    for (int i = 1; i < count; i++) {
        struct stat status;
        if (stat(arguments[i], &status) == 0 && !S_ISDIR(status.st_mode)) {
            files++;
            failures += run_file(arguments[i], stands_under_ok(arguments[i]));
            continue;
        }
        struct dirent **entries = NULL;
        int found = scandir(arguments[i], &entries, is_test, alphasort);
        if (found < 0) {
            printf("%s: cannot be read\n", arguments[i]);
            failures++;
        }
        for (int k = 0; k < found; k++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", arguments[i], entries[k]->d_name);
            files++;
            failures += run_file(path, stands_under_ok(path));
            free(entries[k]);
        }
        free(entries);
    }
    printf("%d files, %d complaints\n", files, failures);
    return files > 0 && failures == 0 ? 0 : 1;
}
