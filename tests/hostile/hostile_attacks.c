// Programs made to be slow or large: a few lines that stand for 2^30, files that are deep, long or no files. Each ends soon, in
// bounded memory, with the error that it says it expects or without one; what is right is compiled, too.
//
// programs/*.zf say `// expects: ZF0805`, or `// expects: good`; what only a program can write is made here.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/emit.h"
#include "compiler/program.h"
#include "tests/hostile/program_stages.h"

#ifdef ZF_SANITIZE
enum { SLOWER = 6 }; ///< what instrumentation costs
#else
enum { SLOWER = 1 };
#endif
enum {
    CHECK_SECONDS = 3,    ///< of the processor for all stages before code
    COMPILE_SECONDS = 20, ///< per column
    MEMORY_LIMIT = 600,   ///< MiB of a compilation
    HANG_SECONDS = 300,
};

static void on_alarm(int signal) {
    (void)signal;
    if (write(1, stages_subject, strlen(stages_subject)) < 0 || write(1, ": no end\n", 9) < 0) _exit(3);
    _exit(2);
}

static char directory[64];

/// Checks a text; `expected` is a code, or 0 where nothing is wrong.
static void attack(const char *name, const char *path, const char *text, size_t length, unsigned expected) {
    snprintf(stages_subject, sizeof stages_subject, "%s", name);
    alarm(HANG_SECONDS);
    memset(stages_codes, 0, sizeof stages_codes);
    stages_memory = 0;
    double begin = stages_seconds();
    if (length < 1 << 20) stages_syntax(text, length); // the layout of giants is text many times as large
    bool good = stages_check(path, text, length, false);
    double took = stages_seconds() - begin;
    printf("%-24s %6.2f s %5zu MiB\n", name, took, stages_memory >> 20);
    DEMAND(took < (double)(CHECK_SECONDS * SLOWER), "%.1f seconds", took);
    DEMAND(stages_memory >> 20 <= MEMORY_LIMIT, "%zu MiB", stages_memory >> 20);
    DEMAND(good || expected != 0, "errors where none were expected");
    DEMAND(expected == 0 || stages_codes[expected % 1000], "ZF%04u was expected", expected);
}

// ---- Code -----------------------------------------------------------------------------------------------------

static zf_context *context;
static zf_compiler *compiler;

static void compile(const char *path) {
    zf_program *program = NULL;
    zf_error error = {0};
    if (zf_program_load(compiler, path, &program, &error) == ZF_OK) {
        for (const zf_table *table = zf_spec_tables(zf_program_spec(program)); table; table = table->next) {
            for (const zf_column *column = table->columns; column; column = column->next) {
                zf_text code = {0};
                double begin = stages_seconds();
                zf_status status = zf_emit_code(program, column, &(zf_emit_options){.assembly = true}, &code, &error);
                if (status == ZF_OK) status = zf_program_compile(program, (const zf_column *[]){column}, 1, 1, &error);
                DEMAND(status == ZF_OK || (status != ZF_ERR_INTERNAL && error.place[0]), "%s %s", error.code, error.message);
                double took = stages_seconds() - begin;
                printf("%-24s %6.2f s to compile, %zu KiB\n", stages_subject, took, code.length >> 10);
                DEMAND(took < (double)(COMPILE_SECONDS * SLOWER), "%.1f seconds to compile `%s`", took, column->name);
                zf_text_free(&code);
            }
        }
    }
    zf_program_free(program);
}

static void run_file(const char *path, const char *text, size_t length) {
    const char *word = strstr(text, "// expects: ");
    CHECK(word, "%s does not say what it expects", path);
    if (!word) return;
    unsigned expected = 0;
    CHECK(sscanf(word, "// expects: ZF%u", &expected) == 1 || strncmp(word + 12, "good", 4) == 0, "%s expects nothing known",
          path);
    attack(strrchr(path, '/') + 1, path, text, length, expected);
    if (expected == 0) compile(path);
}

// ---- Texts that are made --------------------------------------------------------------------------------------

static void repeat(zf_text *out, const char *text, size_t count) {
    for (size_t i = 0; i < count; i++) zf_text_puts(out, text);
}

/// before, open * count, middle, close * count, after
typedef struct nest {
    const char *name, *before, *open, *middle, *close, *after;
    size_t count;
    unsigned expected;
} nest;

#define BODY_BEGIN "algorithm a(s: u32[]) -> u32[] fully_parallel { decode(i) { "
#define BODY_END " return s[i]; } encode extern \"none\"; }\n"

static const nest nests[] = {
    {"parentheses", BODY_BEGIN "let x = ", "(", "1", ")", ";" BODY_END, 300000, 112},
    {"parentheses, open", BODY_BEGIN "let x = ", "(", "1", "", "", 300000, 112},
    {"negations", BODY_BEGIN "let x = ", "-", "s[i]", "", ";" BODY_END, 300000, 112},
    {"indices", BODY_BEGIN "let x = ", "s[", "i", "]", ";" BODY_END, 100000, 112},
    {"choices", BODY_BEGIN "let x = ", "s[i] > 1 ? 1 : ", "2", "", ";" BODY_END, 100000, 112},
    {"sums", BODY_BEGIN "let x = ", "1 + ", "s[i]", "", ";" BODY_END, 300000, 112},
    {"members", BODY_BEGIN "let x = s", ".len", "", "", ";" BODY_END, 300000, 112},
    {"casts", BODY_BEGIN "let x = s[i]", " as u32", "", "", ";" BODY_END, 300000, 112},
    {"calls", BODY_BEGIN "let x = ", "min(1, ", "s[i]", ")", ";" BODY_END, 100000, 112},
    {"reductions", BODY_BEGIN "let x = ", "sum(k in 0..2: ", "s[i]", ")", ";" BODY_END, 50000, 112},
    {"conditions", BODY_BEGIN, "if s[i] > 1 { ", "", "} ", BODY_END, 100000, 112},
    {"chains of else", BODY_BEGIN, "if s[i] > 1 { } else ", "{ }", "", BODY_END, 100000, 112},
    {"loops", "algorithm a(s: u32[] per chunk) -> u32[] non_parallel(chunk = 64) { decode { ", "while true { ", "emit 1; ", "} ",
     "} encode extern \"none\"; }", 100000, 112},
    {"types", "algorithm a<T: integer>(s: ", "unsigned(", "T", ")",
     "[]) -> u32[] fully_parallel { decode(i) = 1; encode extern \"none\"; }", 100000, 112},
    {"codecs", "codec c: u32 = ", "bitpack(packed: u32[] = ", "bitpack", ")", ";", 100000, 112},
    {"opening braces", "", "{", "", "", "", 1000000, 110},
    {"closing braces", "", "}", "", "", "", 1000000, 110},
    {"semicolons", "", ";", "", "", "", 1000000, 110},
    {"quotes", "", "\"", "", "", "", 1000001, 110},
    {"comments", "", "// c\n", "", "", "", 300000, 0},
    {"comment openers", "", "/*", "", "", "", 1000000, 101},
    {"backslashes", "", "\\", "", "", "", 3000000, 101},
    {"a long name", "const ", "long_", "", "", ": u64 = 1;", 1000000, 0},
    {"a long number", "const n: u64 = ", "1234567890", "", "", ";", 300000, 103},
    {"a long float", "const n: f64 = 0.", "1234567890", "", "", ";", 100000, 0},
    {"a long string", "import \"", "0123456789", "", "", "\";", 1000000, 210},
    {"constants", "", "const n: u64 = 1;\n", "", "", "", 100000, 202},
    {"one name twice", "table t { ", "c: u32 = nothing; ", "", "", "}", 50000, 202},
    {"columns", "table t { ", "c: u32 = bitpack; ", "", "", "}", 30000, 202},
    {"ports", "algorithm a(", "s: u32[], ", "p: u32[]", "",
     ") -> u32[] fully_parallel { decode(i) = 1; encode extern \"none\"; }", 50000, 805},
    {"generics", "algorithm a<", "T: scalar, ", "U", "",
     ">(s: T[]) -> U[] fully_parallel { decode(i) = s[i]; encode extern \"none\"; }", 50000, 805},
    {"arguments", "codec c: u32 = bitpack(", "packed: bitpack, ", "packed: bitpack", "", ");", 50000, 702},
    {"alternatives", "codec c: u32 = ", "bitpack | ", "bitpack", "", ";", 100000, 805},
    {"a long table", "const t: u64[] = [", "1, ", "2", "", "];", 500000, 309},
    {"statements", BODY_BEGIN "var x: u32 = 0; ", "x += s[i]; ", "", "", BODY_END, 100000, 805},
    {"formals", "fn f(", "a, ", "b", "", ") -> u64 = 1;", 50000, 202},
    {"imports", "", "import \"std.zf\";\n", "", "", "", 100000, 0},
    {"errors", BODY_BEGIN, "let x = y; ", "", "", BODY_END, 50000, 202},
};

static void run_nest(const nest *n) {
    zf_text text = {0};
    zf_text_puts(&text, n->before);
    repeat(&text, n->open, n->count);
    zf_text_puts(&text, n->middle);
    repeat(&text, n->close, n->count);
    zf_text_puts(&text, n->after);
    if (text.failed) exit(2);
    char path[128];
    snprintf(path, sizeof path, "%s/t.zf", directory);
    attack(n->name, path, text.data, text.length, n->expected);
    zf_text_free(&text);
}

/// Declarations with names of their own: `format` has three `%u` for the number, and for the ones before it.
static void run_many(const char *name, const char *first, const char *format, unsigned count, const char *last,
                     unsigned expected) {
    zf_text text = {0};
    zf_text_puts(&text, first);
    for (unsigned k = 1; k <= count; k++) {
        for (const char *p = format; *p; p++) {
            if (*p == '#')
                zf_text_printf(&text, "%u", k);
            else if (*p == '@')
                zf_text_printf(&text, "%u", k - 1);
            else
                zf_text_add(&text, p, 1);
        }
    }
    zf_text_puts(&text, last);
    if (text.failed) exit(2);
    char path[128];
    snprintf(path, sizeof path, "%s/t.zf", directory);
    attack(name, path, text.data, text.length, expected);
    zf_text_free(&text);
}

static void run_chains(void) {
    run_many("chained constants", "const c0: u64 = 1;\n", "const c#: u64 = c@ + 1;\n", 20000, "", 0);
    run_many("constants, backwards", "", "const c@: u64 = c# + 1;\n", 20000, "const c20000: u64 = 1;\n", 112);
    run_many("chained functions", "fn g0(a: u64) -> u64 = a;\n", "fn g#(a: u64) -> u64 = g@(a);\n", 5000, "", 0);
    run_many("chained codecs", "codec c0: u32 = bitpack;\n", "codec c#: u32 = bitpack(packed: u32[] = c@);\n", 20000, "", 112);
    run_many("codecs, backwards", "", "codec c@: u32 = bitpack(packed: u32[] = c#);\n", 20000, "codec c20000: u32 = bitpack;\n",
             112);
    run_many("many algorithms", "",
             "algorithm a#<T: scalar>(s: T[]) -> T[] fully_parallel { decode(i) = s[i]; encode(x) { s.append(x); } }\n", 300, "",
             0);
    run_many("many columns", "table t {\n", "c#: u32 = bitpack;\n", 2000, "}\n", 0);
    run_many("many ports", "algorithm a(", "s#: u32[], param p#: u32, ", 500,
             "s: u32[]) -> u32[] fully_parallel { decode(i) = s[i]; encode extern \"none\"; }\n", 0);
    run_many("many locals", BODY_BEGIN "let x0 = s[i];\n", "let x# = x@ * 3 + s[i];\n", 900,
             "return x900; } encode extern \"none\"; }\n", 0);
}

// ---- Files ----------------------------------------------------------------------------------------------------

static void write_text(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) exit(2);
}

static void run_special_files(void) {
    char path[128], other[128];
    snprintf(path, sizeof path, "%s/fifo.zf", directory);
    if (mkfifo(path, 0600) != 0) exit(2);
    snprintf(other, sizeof other, "%s/loop.zf", directory);
    if (symlink("loop.zf", other) != 0) exit(2);
    snprintf(other, sizeof other, "%s/same.zf", directory);
    write_text("real.zf", "import \"same.zf\";\n");
    if (symlink("real.zf", other) != 0) exit(2);
    write_text("wall.zf", "const closed: u64 = 1;\n");
    static const struct {
        const char *text;
        unsigned expected;
    } imports[] = {
        {"import \"fifo.zf\";\n", 204},
        {"import \"loop.zf\";\n", 204},
        {"import \"same.zf\";\n", 203},
        {"import \"real.zf\";\nimport \"./same.zf\";\n", 203},
        {"import \"wall.zf\";\nimport \"./wall.zf\";\nimport \"././wall.zf\";\n", 0},
        {"import \"wall.zf\";\nconst closed: u64 = 1;\n", 202},
    };
    snprintf(path, sizeof path, "%s/t.zf", directory);
    for (size_t k = 0; k < sizeof imports / sizeof imports[0]; k++) {
        attack(imports[k].text, path, imports[k].text, strlen(imports[k].text), imports[k].expected);
    }
    for (unsigned k = 0; k < 100; k++) { // a chain of imports
        char name[32], text[64];
        snprintf(name, sizeof name, "chain%u.zf", k);
        snprintf(text, sizeof text, "import \"chain%u.zf\";\n", k + 1);
        write_text(name, k == 99 ? "" : text);
    }
#define CHAIN(number) "import \"chain" number ".zf\";\n"
    attack("a chain of imports", path, CHAIN("0"), sizeof CHAIN("0") - 1, 112);
    attack("the end of the chain", path, CHAIN("60"), sizeof CHAIN("60") - 1, 0);
}

static void remove_files(void) {
    char command[128];
    struct dirent **entries = NULL;
    int found = scandir(directory, &entries, NULL, NULL);
    for (int i = 0; i < found; i++) {
        snprintf(command, sizeof command, "%.63s/%.60s", directory, entries[i]->d_name);
        unlink(command);
        free(entries[i]);
    }
    free(entries);
    rmdir(directory);
}

int main(void) {
    signal(SIGALRM, on_alarm);
    snprintf(directory, sizeof directory, "/tmp/zipflow-attacks-XXXXXX");
    if (!mkdtemp(directory)) return 2;
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    if (check_failures > 0) return check_result();
    CHECK(for_each_zf_file(ZF_SOURCE_DIR "/tests/hostile/programs", run_file) >= 20, "programs are missing");
    for (size_t k = 0; k < sizeof nests / sizeof nests[0]; k++) run_nest(&nests[k]);
    run_chains();
    run_special_files();
    remove_files();
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
