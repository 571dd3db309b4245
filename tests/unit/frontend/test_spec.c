// Links: zipflow-frontend
// Modules: files that cannot be read, imports, cycles, clashes, hiding std, reserved names, hints; memory that ends.
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/spec/spec_internal.h"
#include "tests/unit/check.h"

static char root[] = "/tmp/zf_test_spec_XXXXXX";

static const char *path_of(const char *name) {
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

static void write_bytes(const char *name, const char *bytes, size_t length) {
    FILE *file = fopen(path_of(name), "wb");
    CHECK(file != NULL, "%s", name);
    if (file == NULL) return;
    CHECK(fwrite(bytes, 1, length, file) == length, "%s", name);
    fclose(file);
}

static void write_file(const char *name, const char *text) { write_bytes(name, text, strlen(text)); }

static zf_spec *fresh(bool with_std) {
    static char std_dir[256];
    snprintf(std_dir, sizeof std_dir, "%s/std", root);
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.std_dir = std_dir, .no_std = !with_std});
    CHECK(spec != NULL, "no memory");
    return spec;
}

static const zf_diag *find_diag(zf_spec *spec, int code) {
    const zf_diag *diag = zf_spec_diags(spec)->first;
    while (diag != NULL && (int)diag->code != code) diag = diag->next;
    return diag;
}

/// Adds a file and says whether exactly the diagnostic `code` came (0: none that is an error).
static zf_spec *add(const char *file, bool with_std, int code, const char *what) {
    zf_spec *spec = fresh(with_std);
    bool ok = zf_spec_add_file(spec, path_of(file));
    if (code == 0) {
        const zf_diag *first = zf_spec_diags(spec)->first;
        CHECK(ok && zf_spec_diags(spec)->errors == 0, "%s: %s", what, first == NULL ? "" : first->message);
    } else {
        CHECK(!ok && find_diag(spec, code) != NULL, "%s: no ZF%04d", what, code);
        CHECK(zf_spec_diags(spec)->errors == 1, "%s: %u errors", what, zf_spec_diags(spec)->errors);
    }
    return spec;
}

static void test_reading(void) {
    zf_spec_destroy(add("missing.zf", false, ZF_D_IMPORT_FAILED, "a missing file"));
    mkdir(path_of("directory.zf"), 0700);
    zf_spec_destroy(add("directory.zf", false, ZF_D_IMPORT_FAILED, "a directory"));
    write_file("empty.zf", "");
    zf_spec_destroy(add("empty.zf", false, 0, "an empty file"));
    write_file("comment.zf", "// nothing but a comment, without a newline");
    zf_spec_destroy(add("comment.zf", false, 0, "a comment only"));

    char *large = malloc((16 << 20) + 1);
    CHECK(large != NULL, "no memory");
    memset(large, ' ', (16 << 20) + 1);
    write_bytes("large.zf", large, (16 << 20) + 1);
    zf_spec_destroy(add("large.zf", false, ZF_D_IMPORT_FAILED, "a file above 16 MiB"));
    write_bytes("limit.zf", large, 16 << 20);
    zf_spec_destroy(add("limit.zf", false, 0, "a file of 16 MiB"));
    free(large);

    const char latin[] = "// caf\xe9\nconst A: u8 = 1;\n";
    write_bytes("latin.zf", latin, sizeof latin - 1);
    zf_spec *spec = fresh(false);
    CHECK(!zf_spec_add_file(spec, path_of("latin.zf")), "bytes that are not UTF-8");
    CHECK(find_diag(spec, ZF_D_BAD_UTF8) != NULL, "bytes that are not UTF-8");
    zf_spec_destroy(spec);

    const char zero[] = "const A: u8 = 1;\0const B: u8 = 2;\n";
    write_bytes("zero.zf", zero, sizeof zero - 1);
    spec = fresh(false);
    CHECK(!zf_spec_add_file(spec, path_of("zero.zf")), "a zero byte");
    zf_spec_destroy(spec);

    spec = fresh(false);
    CHECK(!zf_spec_add_file(spec, ""), "no path at all");
    zf_spec_destroy(spec);

    mkfifo(path_of("pipe.zf"), 0600);
    write_file("from_pipe.zf", "import \"pipe.zf\";");
    zf_spec_destroy(add("from_pipe.zf", true, ZF_D_IMPORT_FAILED, "an imported pipe must not make us wait"));
}

static void test_imports(void) {
    mkdir(path_of("std"), 0700);
    write_file("std/std.zf", "import \"light.zf\";\nimport \"more.zf\";\n");
    write_file("std/light.zf", "const LIGHT: u8 = 1;\nconst BOTH: u8 = 2;\n");
    write_file("std/more.zf", "const MORE: u8 = 1;\n");
    mkdir(path_of("sub"), 0700);
    write_file("sub/inner.zf", "import \"../sub/deep.zf\";\nconst INNER: u8 = 1;\n");
    write_file("sub/deep.zf", "const DEEP: u8 = 1;\n");

    write_file("user.zf", "import \"sub/inner.zf\";\nconst OWN: u8 = 1;\n");
    zf_spec *spec = add("user.zf", true, 0, "relative imports");
    const zf_source_module *user = NULL, *light = NULL;
    for (const zf_source_module *m = spec->modules; m != NULL; m = m->next) {
        if (strstr(m->source->path, "user.zf") != NULL) user = m;
        if (strstr(m->source->path, "light.zf") != NULL) light = m;
    }
    CHECK(user != NULL && light != NULL, "modules");
    if (user == NULL || light == NULL) return;
    static const struct {
        const char *name;
        bool from_user, from_light;
    } visible[] = {{"OWN", true, false},
                   {"INNER", true, false},
                   {"DEEP", false, false}, // imports are not passed on
                   {"LIGHT", true, true},
                   {"MORE", true, true}}; // but those of std are
    for (size_t k = 0; k < sizeof visible / sizeof *visible; k++) {
        zf_name name = zf_interned_name(spec, visible[k].name, strlen(visible[k].name));
        CHECK(name != NULL, "%s", visible[k].name);
        if (name == NULL) continue;
        CHECK((zf_find_symbol(spec, user, name) != NULL) == visible[k].from_user, "%s from the user's file", visible[k].name);
        CHECK((zf_find_symbol(spec, light, name) != NULL) == visible[k].from_light, "%s from std", visible[k].name);
    }
    CHECK(user->wanted && !light->wanted, "std is checked as far as it is used");
    zf_spec_destroy(spec);

    // One file by two paths is one module.
    write_file("twice.zf", "import \"sub/inner.zf\";\nimport \"./sub/../sub/inner.zf\";\n");
    spec = add("twice.zf", true, 0, "one file by two paths");
    unsigned count = 0;
    for (const zf_source_module *m = spec->modules; m != NULL; m = m->next) count++;
    CHECK(count == 6, "%u modules", count); // three of them std's
    zf_spec_destroy(spec);

    // A file that is not beside the importing file is looked for in std.
    write_file("from_std.zf", "import \"light.zf\";\n");
    zf_spec_destroy(add("from_std.zf", true, 0, "an import from std's directory"));
    zf_spec_destroy(add("std/light.zf", true, 0, "a file of std itself"));
    spec = add("std/std.zf", true, 0, "std itself");
    for (const zf_source_module *m = spec->modules; m != NULL; m = m->next) CHECK(m->wanted, "%s is checked", m->source->path);
    zf_spec_destroy(spec);

    write_file("lost.zf", "import \"nowhere.zf\";\n");
    spec = add("lost.zf", true, ZF_D_IMPORT_FAILED, "an import that is not there");
    CHECK(zf_spec_diags(spec)->first->span.source != NULL, "it is reported at the import");
    zf_spec_destroy(spec);

    spec = fresh(false);
    CHECK(!zf_spec_add_text(spec, "alone", "import \"empty.zf\";", 18), "a text that stands alone imports nothing");
    zf_spec_destroy(spec);

    spec = zf_spec_create(&(zf_spec_options){.std_dir = "/nonexistent"});
    CHECK(!zf_spec_add_text(spec, "text", "", 0) && find_diag(spec, ZF_D_IMPORT_FAILED) != NULL, "std that is not there");
    CHECK(zf_spec_diags(spec)->errors == 1, "it is said once");
    zf_spec_destroy(spec);
}

/// Where std is looked for: what is given, else the environment, else beside the program.
static void test_places(void) {
    char std_dir[256];
    snprintf(std_dir, sizeof std_dir, "%s/std", root);
    zf_spec *spec = zf_spec_create(NULL);
    setenv("ZIPFLOW_STD", std_dir, 1);
    CHECK(zf_spec_add_text(spec, "text", "", 0) && strcmp(spec->std_dir, std_dir) == 0, "by the environment: %s", spec->std_dir);
    zf_spec_destroy(spec);
    setenv("ZIPFLOW_STD", "/nonexistent", 1);
    spec = zf_spec_create(NULL);
    CHECK(!zf_spec_add_text(spec, "text", "", 0), "who names a place means that place");
    zf_spec_destroy(spec);
    spec = fresh(true);
    CHECK(zf_spec_add_text(spec, "text", "", 0) && strcmp(spec->std_dir, std_dir) == 0, "what is given comes first");
    zf_spec_destroy(spec);
    unsetenv("ZIPFLOW_STD");
    spec = zf_spec_create(NULL);
    zf_spec_add_text(spec, "text", "", 0);
    CHECK(spec->std_dir == NULL || strstr(spec->std_dir, "/std") != NULL, "beside the program: %s", spec->std_dir);
    zf_spec_destroy(spec);
}

static void test_cycles(void) {
    write_file("a.zf", "import \"b.zf\";\n");
    write_file("b.zf", "import \"c.zf\";\n");
    write_file("c.zf", "import \"a.zf\";\n");
    zf_spec *spec = add("a.zf", true, ZF_D_IMPORT_CYCLE, "a cycle of three");
    unsigned remarks = 0;
    const zf_diag *diag = find_diag(spec, ZF_D_IMPORT_CYCLE);
    for (const zf_remark *r = diag == NULL ? NULL : diag->remarks; r != NULL; r = r->next) remarks++;
    CHECK(remarks == 2, "the chain is told: %u remarks", remarks);
    zf_spec_destroy(spec);
    write_file("self.zf", "import \"self.zf\";\n");
    zf_spec_destroy(add("self.zf", true, ZF_D_IMPORT_CYCLE, "a file that imports itself"));

    // A chain longer than the limit, and one within it.
    for (int k = 0; k < 80; k++) {
        char name[32], text[64];
        snprintf(name, sizeof name, "chain%d.zf", k);
        snprintf(text, sizeof text, "import \"chain%d.zf\";\n", k + 1);
        write_file(name, text);
    }
    write_file("chain80.zf", "");
    zf_spec_destroy(add("chain0.zf", true, ZF_D_TOO_DEEP, "imports 80 deep"));
    zf_spec_destroy(add("chain40.zf", true, 0, "imports 40 deep"));
}

static void test_names(void) {
    write_file("hides.zf", "const LIGHT: u8 = 5;\n");
    zf_spec *spec = add("hides.zf", true, 0, "hiding std is no error");
    CHECK(find_diag(spec, ZF_D_HIDES_STD) != NULL && zf_spec_diags(spec)->notes == 1, "but a note");
    for (const zf_source_module *m = spec->modules; m != NULL; m = m->next) {
        zf_symbol *found = zf_find_symbol(spec, m, zf_interned_name(spec, "LIGHT", 5));
        CHECK(found != NULL && found->module->is_std == m->is_std, "each side sees its own");
    }
    zf_spec_destroy(spec);

    write_file("again.zf", "const A: u8 = 1;\nfn A() = 1;\n");
    spec = add("again.zf", false, ZF_D_DECLARED_TWICE, "declared twice in one file");
    const zf_diag *diag = find_diag(spec, ZF_D_DECLARED_TWICE);
    CHECK(diag != NULL && diag->remarks != NULL && diag->remarks->span.begin == 6, "first declared here");
    zf_spec_destroy(spec);

    write_file("one.zf", "const X: u8 = 1;\n");
    write_file("two.zf", "const X: u8 = 2;\n");
    write_file("clash.zf", "import \"one.zf\";\nimport \"two.zf\";\n");
    zf_spec_destroy(add("clash.zf", true, ZF_D_DECLARED_TWICE, "two imports that clash"));
    write_file("own_clash.zf", "import \"one.zf\";\nconst X: u8 = 3;\n");
    zf_spec_destroy(add("own_clash.zf", true, ZF_D_DECLARED_TWICE, "an import that clashes with an own name"));
    write_file("import_hides.zf", "import \"hides.zf\";\n");
    zf_spec_destroy(add("import_hides.zf", true, 0, "an import may hide std"));

    static const char *const reserved[] = {"u8", "decimal", "min", "sizeof", "sum", "chunks", "out", "lane"};
    for (size_t k = 0; k < sizeof reserved / sizeof *reserved; k++) {
        char text[64];
        spec = fresh(false);
        int length = snprintf(text, sizeof text, "const %s: u32 = 1;", reserved[k]);
        CHECK(!zf_spec_add_text(spec, "text", text, (size_t)length), "%s", reserved[k]);
        CHECK(find_diag(spec, ZF_D_RESERVED_NAME) != NULL, "%s", reserved[k]);
        zf_spec_destroy(spec);
    }
}

static void test_hints(void) {
    zf_spec *spec = fresh(true);
    const char *text = "table t { a: u8 = delte; b: u8 = far_away; }";
    CHECK(zf_spec_add_text(spec, "text", text, strlen(text)), "a text");
    const char *other = "algorithm delta(s: u8[]) -> u8[] fully_parallel { decode(i) = s[i]; encode(x) { s.append(x); } }";
    CHECK(zf_spec_add_text(spec, "other", other, strlen(other)), "another");
    zf_source_module *module = spec->modules;
    while (strcmp(module->source->path, "text") != 0) module = module->next;
    zf_span nowhere = {module->source, 0, 1};
    zf_report_unknown(spec, module, zf_intern_name(spec, "delta", 5), nowhere, ZF_AD_CODEC, "codec");
    const zf_diag *diag = find_diag(spec, ZF_D_UNKNOWN_NAME);
    CHECK(diag != NULL && diag->remarks != NULL && strstr(diag->remarks->text, "does not import") != NULL,
          "a name of another file");
    CHECK(diag->hint != NULL && strstr(diag->hint, "does not pass on") != NULL, "what to do about it");
    zf_spec_destroy(spec);

    spec = fresh(true);
    text = "algorithm a(s: u64[], param k: u8) -> u8[] fully_parallel { decode(i) = s[i] << k >> k; "
           "encode(x) { k = 1; for v in x { s.push(v); } } }";
    CHECK(zf_spec_add_text(spec, "text", text, strlen(text)), "a text");
    zf_spec_check(spec);
    diag = find_diag(spec, ZF_D_CANNOT_CONVERT);
    unsigned facts = 0;
    for (const zf_remark *remark = diag == NULL ? NULL : diag->remarks; remark != NULL; remark = remark->next)
        facts += strncmp(remark->text, "k is in", 7) == 0;
    CHECK(facts == 1, "a fact is told %u times", facts);
    zf_spec_destroy(spec);

    spec = fresh(true);
    CHECK(zf_spec_add_text(spec, "text", "", 0), "a text");
    module = spec->modules;
    while (strcmp(module->source->path, "text") != 0) module = module->next;
    nowhere = (zf_span){module->source, 0, 0};
    zf_report_unknown(spec, module, zf_intern_name(spec, "LIHGT", 5), nowhere, -1, NULL);
    diag = find_diag(spec, ZF_D_UNKNOWN_NAME);
    CHECK(diag != NULL && diag->hint != NULL && strstr(diag->hint, "LIGHT") != NULL, "the nearest name");
    zf_spec_destroy(spec);
}

/// Many names: the table grows, and lookups stay exact.
static void test_interning(void) {
    zf_spec *spec = fresh(false);
    char text[32];
    const char *kept[3] = {0};
    for (int k = 0; k < 20000; k++) {
        int length = snprintf(text, sizeof text, "name%d", k);
        zf_name name = zf_intern_name(spec, text, (size_t)length);
        if (k % 7000 == 0) kept[k / 7000] = name;
    }
    CHECK(zf_intern_name(spec, "name7000", 8) == kept[1] && zf_intern_name(spec, "name14000", 9) == kept[2],
          "equal texts, equal pointers");
    CHECK(zf_intern_name(spec, "name7000x", 8) == kept[1], "the length counts");
    CHECK(zf_interned_name(spec, "other", 5) == NULL && kept[0] != kept[1], "others are others");
    zf_spec_destroy(spec);
}

/// Work that ends in one of two arenas, or in a nested call.
typedef struct exhausting {
    zf_arena *exhausted, *other;
    bool nested, begun, after;
} exhausting;

static bool exhaust(zf_spec *spec, void *data) {
    exhausting *e = data;
    e->begun = true;
    if (e->nested) {
        e->nested = false;
        zf_spec_guard(spec, e->other, exhaust, e);
    } else {
        zf_arena_alloc(e->exhausted, SIZE_MAX);
    }
    e->after = true;
    return true;
}

static bool print_and_return(zf_spec *spec, void *data) {
    (void)data;
    return zf_arena_printf(zf_spec_arena(spec), "%d", 1) != NULL;
}

static void test_guard(void) {
    for (unsigned way = 0; way < 4; way++) {
        zf_spec *spec = fresh(false);
        zf_arena *other = zf_arena_create();
        CHECK(other != NULL, "no memory");
        exhausting e = {.exhausted = way % 2 == 0 ? zf_spec_arena(spec) : other, .other = other, .nested = way / 2 > 0};
        CHECK(zf_spec_guard(spec, other, print_and_return, NULL) && zf_spec_diags(spec)->errors == 0, "with memory");
        CHECK(!zf_spec_guard(spec, other, exhaust, &e) && e.begun && !e.after, "way %u: ends where memory ends", way);
        CHECK(zf_spec_diags(spec)->errors == 1 && find_diag(spec, ZF_D_TOO_LARGE) != NULL, "way %u: an error", way);
        zf_spec_out_of_memory(spec);
        CHECK(zf_spec_diags(spec)->errors == 1, "way %u: the error is given once", way);
        CHECK(zf_arena_alloc(zf_spec_arena(spec), SIZE_MAX) == NULL && zf_arena_alloc(other, SIZE_MAX) == NULL,
              "way %u: no jump afterwards", way);
        zf_arena_destroy(other);
        zf_spec_destroy(spec);
    }
}

int main(void) {
    CHECK(mkdtemp(root) != NULL, "%s", strerror(errno));
    mkdir(path_of("std"), 0700);
    write_file("std/std.zf", "import \"light.zf\";\n");
    write_file("std/light.zf", "const LIGHT: u8 = 1;\n");
    test_reading();
    test_imports();
    test_places();
    test_cycles();
    test_names();
    test_hints();
    test_interning();
    test_guard();
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK(system(command) == 0, "left behind: %s", root);
    return check_result();
}
