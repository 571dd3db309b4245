// Programs with one byte changed. Every `.zf` of the project, cut at any byte, with each byte inverted, with each byte set to
// another; of larger files a seeded sample. And words put where other words of the file were, lines left out or said twice, which
// more often gives a program. The compiler says what is wrong and where, or what it makes of it holds. Some of what still checks
// is compiled, and data encoded with it comes back.
//
// hostile_programs [EVERY:TURN] [-v] [FILE...]: of the changes, one in EVERY is tried, others at each turn; all turns together
// try what a run without this argument tries. -v names each change before it is tried. FILEs are tried exhaustively.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/emit.h"
#include "compiler/program.h"
#include "tests/hostile/program_stages.h"
#include "tests/support/sample.h"

enum {
    EXHAUSTIVE_SYNTAX = 1000, ///< bytes of files whose every change is parsed
    EXHAUSTIVE_CHECK = 320,   ///< bytes of files whose every change goes through all stages
    SAMPLE_SYNTAX = 900,      ///< changes of a larger file that are parsed
    SAMPLE_CHECK = 180,       ///< changes of a larger file that go through all stages
    COMPILE_ONE_OF = 4,       ///< changes of tables that could be compiled
    ROWS = 700,
    ONE_CHANGE_SECONDS = 5, ///< of the processor, instrumented
    HANG_SECONDS = 120,     ///< of the wall: nothing takes as long unless it never ends
};

static const char *const directories[] = {
    "dsl/std",
    "examples/tpch",
    "examples/custom_codec",
    "examples/published",
    "examples/hello",
    "tests/hostile",
    "tests/interp",
    "tests/lang/ok/bodies",
    "tests/lang/ok/drafts",
    "tests/lang/errors/codecs",
    "tests/lang/errors/encode",
    "tests/lang/errors/limits",
    "tests/lang/errors/names",
    "tests/lang/errors/patterns",
    "tests/lang/errors/ranges",
    "tests/lang/errors/syntax",
    "tests/lang/errors/types",
};

static bool verbose, exhaustive;
static sample taken = {1, 0};
static unsigned offered; ///< changes of which the sample takes some, counted alike at every turn
static unsigned changes, checked_good, compiled, encoded;
static double slowest;
static char slowest_subject[sizeof stages_subject];

static void on_alarm(int signal) {
    (void)signal;
    static const char text[] = "no end of: ";
    if (write(1, text, sizeof text - 1) < 0 || write(1, stages_subject, strlen(stages_subject)) < 0 || write(1, "\n", 1) < 0)
        _exit(3);
    _exit(2);
}

static uint32_t seed = 20240501;
static uint32_t random_number(void) {
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

// ---- Changes --------------------------------------------------------------------------------------------------

typedef enum change { CUT, INVERTED, SET, BYTES, WORD = BYTES, LINE_LESS, LINE_TWICE, CHANGES } change;
static const char *const change_names[CHANGES] = {"cut at",
                                                  "with an inverted byte",
                                                  "with another byte",
                                                  "with another word at",
                                                  "without the line of",
                                                  "with twice the line of"};

/// Signs and letters that mean something, so that more of the changed programs still parse.
static const char meaningful[] = "{}()[];:,.=<>+-*/%&|^~!?'\"0123456789abegikstuvx_ \n\t\\\xc3\0";

static bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The word, or single sign, that byte `at` belongs to.
static void word_around(const char *text, size_t length, size_t at, size_t *begin, size_t *end) {
    *begin = at;
    *end = at + 1;
    if (!is_word_byte(text[at])) return;
    while (*begin > 0 && is_word_byte(text[*begin - 1])) --*begin;
    while (*end < length && is_word_byte(text[*end])) ++*end;
}

static void line_around(const char *text, size_t length, size_t at, size_t *begin, size_t *end) {
    *begin = *end = at;
    while (*begin > 0 && text[*begin - 1] != '\n') --*begin;
    while (*end < length && text[*end] != '\n') ++*end;
    *end += *end < length;
}

/// The changed text, with a 0 behind it; the caller frees it.
static char *change_text(const char *text, size_t length, change kind, size_t at, size_t *changed) {
    uint32_t number =
        (uint32_t)(at * 7919 + length * 31 + (unsigned char)text[at]); // of this change alone, so that it can be run again
    size_t begin = at, end = at + 1, from = 0, to = 0;                 // begin..end becomes from..to
    if (kind == WORD) {
        word_around(text, length, at, &begin, &end);
        word_around(text, length, number * 2654435761u % length, &from, &to);
    } else if (kind == LINE_LESS || kind == LINE_TWICE) {
        line_around(text, length, at, &begin, &end);
        from = begin;
        to = kind == LINE_TWICE ? end : begin;
        if (kind == LINE_TWICE) end = begin;
    } else if (kind == CUT) {
        end = length;
    } else {
        to = 1;
    }
    *changed = begin + (to - from) + (length - end);
    char *copy = malloc(*changed + 1);
    if (!copy) exit(2);
    memcpy(copy, text, begin);
    memcpy(copy + begin, text + from, to - from);
    memcpy(copy + begin + (to - from), text + end, length - end);
    if (kind == INVERTED) copy[at] = (char)~text[at];
    if (kind == SET) copy[at] = meaningful[number % (sizeof meaningful - 1)];
    copy[*changed] = 0;
    return copy;
}

// ---- Compiling ------------------------------------------------------------------------------------------------

static zf_context *context;
static zf_compiler *compiler;
static char directory[64];

/// Small numbers, so that narrow types hold them and bodies find patterns in them.
static void fill(zf_kind kind, void *values) {
    for (int i = 0; i < ROWS; i++) {
        int value = (i / 7 * 13) % 50;
        switch (zf_kind_size(kind)) {
        case 1: ((uint8_t *)values)[i] = kind == ZF_K_BOOL ? value & 1 : (uint8_t)value; break;
        case 2: ((uint16_t *)values)[i] = (uint16_t)value; break;
        case 4:
            if (kind == ZF_K_F32)
                ((float *)values)[i] = (float)value / 4;
            else
                ((uint32_t *)values)[i] = (uint32_t)value;
            break;
        default:
            if (kind == ZF_K_F64)
                ((double *)values)[i] = (double)value / 4;
            else
                ((uint64_t *)values)[i] = (uint64_t)value;
        }
    }
}

static void check_error(const zf_error *error, const char *what) {
    bool whole = strncmp(error->code, "ZF", 2) == 0 && error->message[0] != 0;
    DEMAND(whole, "%s: an error without a code or message", what);
    DEMAND(error->status != ZF_ERR_INTERNAL, "%s: %s: %s", what, error->code, error->message);
    DEMAND(error->place[0] != 0, "%s: %s has no place: %s", what, error->code, error->message);
}

static void decode_back(const char *path, const zf_encode_column *columns, const zf_kind *kinds, size_t count) {
    zf_error error = {0};
    zf_container *container;
    if (zf_container_open(context, path, &container, &error) != ZF_OK) {
        DEMAND(false, "what was written does not open: %s", error.message);
        return;
    }
    zf_decode_options options = {.row_count = UINT64_MAX, .threads = 1};
    for (size_t c = 0; c < count; c++) {
        zf_decode_sizes sizes = {0};
        zf_status status = zf_decode_size(container, c, &options, &sizes, &error);
        void *values = aligned_alloc(64, (sizes.values + 127) / 64 * 64),
             *work = aligned_alloc(64, (sizes.workspace + 127) / 64 * 64);
        if (!values || !work) exit(2);
        zf_decode_buffers buffers = {.values = values, .workspace = work, ZF_DECODE_BYTES(sizes)};
        if (status == ZF_OK) status = zf_decode(container, c, "cpu", &options, &buffers, NULL, &error);
        DEMAND(status == ZF_OK, "column `%s` does not decode: %s", columns[c].name, error.message);
        if (status == ZF_OK && kinds[c] != ZF_K_BOOL) {
            DEMAND(memcmp(values, columns[c].values, ROWS * zf_kind_size(kinds[c])) == 0, "column `%s` is not what it was",
                   columns[c].name);
        }
        free(values);
        free(work);
    }
    zf_container_close(container);
}

static void encode_table(zf_program *program, const zf_table *table) {
    enum { COLUMNS = 16 };
    static uint64_t values[COLUMNS][ROWS];
    zf_encode_column columns[COLUMNS];
    zf_kind kinds[COLUMNS];
    size_t count = 0;
    for (const zf_column *column = table->columns; column; column = column->next, count++) {
        if (count == COLUMNS || column->type.nullable || column->type.kind > ZF_K_BOOL) return;
        kinds[count] = column->type.kind;
        fill(column->type.kind, values[count]);
        columns[count] = (zf_encode_column){.name = column->name, .values = values[count]};
    }
    char path[80];
    snprintf(path, sizeof path, "%s/t.zfd", directory);
    zf_error error = {0};
    zf_encode_options options = {.overwrite = true, .threads = 1};
    zf_status status = zf_encode(program, table->name, columns, count, ROWS, &options, path, NULL, &error);
    if (status != ZF_OK) {
        check_error(&error, "encoding");
        return;
    }
    encoded++;
    decode_back(path, columns, kinds, count);
}

/// Compiles every column, and encodes with every table.
static void compile(const char *text, size_t length) {
    char path[80];
    snprintf(path, sizeof path, "%s/t.zf", directory);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text, 1, length, file) != length || fclose(file) != 0) exit(2);
    zf_program *program = NULL;
    zf_error error = {0};
    if (zf_program_load(compiler, path, &program, &error) == ZF_OK) {
        compiled++;
        for (const zf_table *table = zf_spec_tables(zf_program_spec(program)); table; table = table->next) {
            for (const zf_column *column = table->columns; column; column = column->next) {
                zf_text code = {0};
                if (zf_emit_code(program, column, &(zf_emit_options){0}, &code, &error) != ZF_OK)
                    check_error(&error, "compiling");
                zf_text_free(&code);
            }
            encode_table(program, table);
        }
    }
    zf_program_free(program);
}

// ---- Files ----------------------------------------------------------------------------------------------------

static void try_one(const char *path, const char *text, size_t length, change kind, size_t at, bool all_stages, bool no_std,
                    bool compiles) {
    size_t changed;
    char *copy = change_text(text, length, kind, at, &changed);
    snprintf(stages_subject, sizeof stages_subject, "%s %s %zu", path, change_names[kind], at);
    if (verbose) {
        printf("%s\n", stages_subject);
        fflush(stdout);
    }
    alarm(HANG_SECONDS);
    double begin = stages_seconds();
    bool good = stages_syntax(copy, changed);
    if (all_stages) good = stages_check(path, copy, changed, no_std);
    double took = stages_seconds() - begin;
    DEMAND(took < (double)ONE_CHANGE_SECONDS, "%.1f seconds", took);
    if (took > slowest) {
        slowest = took;
        memcpy(slowest_subject, stages_subject, sizeof slowest_subject);
    }
    changes++;
    checked_good += all_stages && good;
    if (compiles && all_stages && good) compile(copy, changed);
    free(copy);
}

/// True when the file gives the same diagnostics without the standard library: then it need not be read again and again.
static bool needs_no_std(const char *path, const char *text, size_t length) {
    uint32_t errors[2];
    for (int no_std = 0; no_std < 2; no_std++) {
        zf_spec_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .no_std = no_std == 1};
        zf_spec *spec = zf_spec_create(&options);
        if (!spec) exit(2);
        zf_spec_add_text(spec, path, text, length);
        zf_spec_check(spec);
        errors[no_std] = zf_spec_diags(spec)->errors;
        zf_spec_destroy(spec);
    }
    return errors[0] == errors[1];
}

static void attack(const char *path, const char *text, size_t length) {
    size_t share = strstr(path, "/limits/") && !exhaustive ? 10 : 1; // what reaches for the limits takes long by design
    bool no_std = needs_no_std(path, text, length);
    bool has_table = strstr(text, "\ntable ") != NULL;
    size_t syntax = exhaustive || length <= EXHAUSTIVE_SYNTAX ? 0 : SAMPLE_SYNTAX;
    size_t check = exhaustive || length <= EXHAUSTIVE_CHECK ? 0 : SAMPLE_CHECK;
    for (size_t k = 0; k < length * CHANGES; k++) {
        change kind = (change)(k / length);
        size_t at = k % length;
        bool parses = kind < BYTES && (syntax == 0 || random_number() % (length * BYTES) < syntax);
        bool checks = check == 0 || random_number() % (length * CHANGES) < check * 2;
        if (kind >= BYTES && !exhaustive) checks = random_number() % (length * CHANGES) < SAMPLE_CHECK;
        bool compiles = has_table && kind >= SET && random_number() % COMPILE_ONE_OF == 0;
        checks = checks && (share == 1 || random_number() % share == 0);
        if ((parses || checks) && sample_has(taken, offered++)) try_one(path, text, length, kind, at, checks, no_std, compiles);
    }
}

static void visit(const char *path, const char *text, size_t length) {
    stages_subject[0] = 0;
    double begin = stages_seconds();
    unsigned before = changes;
    if (length > 0) attack(path, text, length);
    if (verbose) printf("FILE %s: %u changes, %.1f s\n", path, changes - before, stages_seconds() - begin);
}

int main(int count, char **arguments) {
    signal(SIGALRM, on_alarm);
    sample given;
    int first = count > 1 && sample_read(arguments[1], &given) ? 2 : 1, files = 0;
    if (first == 2) taken = given;
    verbose = count > first && strcmp(arguments[first], "-v") == 0;
    first += verbose;
    snprintf(directory, sizeof directory, "/tmp/zipflow-hostile-XXXXXX");
    if (!mkdtemp(directory)) return 2;
    zf_error error = {0};
    zf_compiler_options options = {.optimise = 1, .std_dir = ZF_SOURCE_DIR "/dsl/std"};
#ifdef ZF_SANITIZE
    options.sanitize = true;
#endif
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    if (check_failures > 0) return check_result();
    double begin = stages_seconds();
    exhaustive = count > first;
    for (int i = first; i < count; i++) {
        size_t length = 0;
        char *text = read_whole_file(arguments[i], &length);
        CHECK(text, "%s cannot be read", arguments[i]);
        if (text) visit(arguments[i], text, length);
        files++;
        free(text);
    }
    for (size_t i = 0; i < sizeof directories / sizeof directories[0] && !exhaustive; i++) {
        char path[1024];
        snprintf(path, sizeof path, ZF_SOURCE_DIR "/%s", directories[i]);
        files += for_each_zf_file(path, visit);
    }
    CHECK(files > 0, "no files");
    if (!exhaustive) {
        CHECK(files > 50 && checked_good > 3000 / taken.every, "%d files, %u changes checked without an error", files,
              checked_good);
        CHECK(compiled > 30 / taken.every && encoded > 15 / taken.every, "%u programs compiled, %u encoded", compiled, encoded);
    }
    printf("%d files, %u changes, %u without an error, %u compiled, %u encoded; %.1f s, at most %.3f s (%s)\n", files, changes,
           checked_good, compiled, encoded, stages_seconds() - begin, slowest, slowest_subject);
    zf_compiler_free(compiler);
    zf_context_free(context);
    char path[80];
    snprintf(path, sizeof path, "%s/t.zf", directory);
    unlink(path);
    snprintf(path, sizeof path, "%s/t.zfd", directory);
    unlink(path);
    rmdir(directory);
    return check_result();
}
