// Links: zipflow-compiler
// Programs by hash: the library of this build is known, all of it; with `known` a compiler refuses every other program before it
// compiles anything, whatever the index states.
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/known/known.h"
#include "runtime/container/container_open.h"
#include "tests/hostile/mutate.h"
#include "tests/support/demand.h"
#include "tests/support/scratch_directory.h"
#include "zipflow/compile.h"

enum { ROWS = 5000 };

static zf_context *context;
static zf_compiler *compiler;
static unsigned compilations; ///< that began
static uint32_t numbers[ROWS];

static void watch(void *user, const char *column, bool begins) {
    (void)user, (void)column;
    compilations += begins;
}

// ---- The table of the library ---------------------------------------------------------------------------------

static void test_library(void) {
    static const char none[] = "zf 1;";
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.std_dir = ZF_SOURCE_DIR "/dsl/std"});
    zf_declarations all = {0};
    CHECK(zf_spec_add_text(spec, "none", none, sizeof none - 1) && zf_spec_check(spec), "the library");
    CHECK(zf_text_declarations(spec, true, &all) && all.count > 40, "%u declarations", all.count);
    for (uint32_t k = 0; k < all.count; k++) {
        const zf_known_program *known = zf_known_find(all.items[k].identity);
        CHECK(known != NULL && !known->earlier, "%s is not known", all.items[k].name);
        // One of several equal declarations has its name.
        bool own = known != NULL && strcmp(known->name, all.items[k].name) == 0;
        for (uint32_t n = 0; known != NULL && !own && n < all.count; n++)
            own = strcmp(known->name, all.items[n].name) == 0 &&
                  memcmp(all.items[n].identity, all.items[k].identity, ZF_IDENTITY_BYTES) == 0;
        CHECK(own, "%s is known as %s", all.items[k].name, known != NULL ? known->name : "nothing");
        for (unsigned bit = 0; bit < 8 * ZF_IDENTITY_BYTES; bit++) {
            uint8_t other[ZF_IDENTITY_BYTES];
            memcpy(other, all.items[k].identity, sizeof other);
            other[bit / 8] ^= (uint8_t)(1u << bit % 8);
            CHECK(zf_known_find(other) == NULL, "bit %u of %s changed", bit, all.items[k].name);
        }
    }
    zf_spec_destroy(spec);
}

// ---- Files ----------------------------------------------------------------------------------------------------

/// A table's text, with the library's algorithms copied or changed.
static const struct {
    const char *name, *text, *foreign, *kind; ///< foreign NULL: nothing of it
} tables[] = {
    {"library", "table t { a: u32 = delta(bitpack); }", NULL, NULL},
    {"constant", "table t { a: u32 = pfor(bitpack) | bitpack; }", NULL, NULL},
    {"own",
     "algorithm mine(s: u32[]) -> u32[] fully_parallel { decode(i) = s[i] + 1; encode(x) { for v in x { s.push(v - 1); } } } "
     "table t { a: u32 = mine(bitpack); }",
     "mine", "algorithm"},
    {"function",
     "const TWO: u32 = 2; fn half(x: u32) = x / TWO; algorithm other(s: u32[]) -> u32[] fully_parallel { decode(i) = s[i]; "
     "encode(x) { for v in x { s.push(half(v * 2)); } } } table t { a: u32 = other; }",
     "TWO", "constant"},
};

static const char *path_of(const char *name) {
    char file[64];
    snprintf(file, sizeof file, "%s.zfd", name);
    return place(file);
}

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(place(name), "w");
    fputs(text, file);
    fclose(file);
}

static void encode(const char *name, const char *text, unsigned format) {
    zf_error error = {0};
    zf_program *program = NULL;
    write_text("program.zf", text);
    demand(zf_program_load(compiler, place("program.zf"), &program, &error), &error);
    const zf_encode_options options = {ZF_INIT(zf_encode_options), .format = format, .overwrite = true};
    const zf_encode_column column = {.name = "a", .values = numbers};
    demand(zf_encode(program, NULL, &column, 1, ROWS, &options, path_of(name), NULL, &error), &error);
    zf_program_free(program);
}

static zf_status decode(zf_container *container, zf_error *error) {
    static _Alignas(64) uint32_t rows[ROWS];
    static _Alignas(64) uint8_t work[1 << 22];
    zf_decode_options options = {ZF_INIT(zf_decode_options), .threads = 1};
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    memset(rows, 0xa5, sizeof rows);
    ZF_TRY(zf_decode_size(container, 0, &options, &sizes, error));
    CHECK(sizes.values == sizeof rows && sizes.workspace <= sizeof work, "%zu and %zu bytes", sizes.values, sizes.workspace);
    if (sizes.values != sizeof rows || sizes.workspace > sizeof work) return ZF_ERR_INTERNAL;
    const zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers), .values = rows, .workspace = work, ZF_DECODE_BYTES(sizes)};
    ZF_TRY(zf_decode(container, 0, "cpu", &options, &buffers, NULL, error));
    CHECK(memcmp(rows, numbers, sizeof rows) == 0, "other rows");
    return ZF_OK;
}

static zf_status open_bytes(const mutated *file, zf_programs programs, zf_container **out, zf_error *error) {
    const zf_open_options options = {ZF_INIT(zf_open_options), .copy = true, .programs = programs};
    *error = (zf_error){0};
    return zf_container_open_memory(context, file->bytes, file->size, &options, out, error);
}

static void expect_refused(zf_status status, const zf_error *error, const char *name, const char *kind, const char *about) {
    CHECK(status == ZF_ERR_INPUT && error->number == ZF_ERROR_UNKNOWN_PROGRAM, "%s: %d %s %s", about, status, error->code,
          error->message);
    CHECK(strstr(error->message, name) != NULL && strstr(error->message, kind) != NULL, "%s: %s", about, error->message);
    CHECK(error->place[0] != 0 && error->hint[0] != 0, "%s: at %s", about, error->place);
}

static void test_files(void) {
    for (size_t k = 0; k < 2 * (sizeof tables / sizeof *tables); k++) {
        const char *name = tables[k / 2].name, *foreign = tables[k / 2].foreign;
        unsigned format = 1 + k % 2;
        zf_error error = {0};
        zf_container *container = NULL;
        encode(name, tables[k / 2].text, format);
        const zf_open_options known = {ZF_INIT(zf_open_options), .programs = ZF_PROGRAMS_KNOWN};
        demand(zf_container_open_file(context, path_of(name), &known, &container, &error), &error);
        compilations = 0;
        zf_status status = decode(container, &error);
        if (foreign == NULL) {
            CHECK(status == ZF_OK && (format == 2 || compilations > 0), "%s, version %u: %s %s", name, format, error.message,
                  error.place);
        } else {
            // With version 2 the index states the program, and its text is not even read.
            expect_refused(status, &error, foreign, format == 1 ? tables[k / 2].kind : "program", name);
            CHECK(compilations == 0, "%s: %u columns were compiled", name, compilations);
            zf_module_stats stats = {ZF_INIT(zf_module_stats)};
            const zf_module_options options = {ZF_INIT(zf_module_options), .no_nvptx = true};
            status = zf_module_compile_for(compiler, container, &options, place("known.zfm"), &stats, &error);
            expect_refused(status, &error, foreign, "", "a module");
        }
        zf_container_close(container);
        // The same text, whose plans are there now, without `known` and with it again.
        demand(zf_container_open(context, path_of(name), &container, &error), &error);
        CHECK(decode(container, &error) == ZF_OK, "%s: %s", name, error.message);
        zf_container_close(container);
        demand(zf_container_open_file(context, path_of(name), &known, &container, &error), &error);
        CHECK((decode(container, &error) == ZF_OK) == (foreign == NULL), "%s after a decode: %s", name, error.message);
        zf_container_close(container);
    }
    zf_error error = {0};
    zf_container *container = NULL;
    const zf_open_options unknown = {ZF_INIT(zf_open_options), .programs = 2};
    CHECK(zf_container_open_file(context, path_of("library"), &unknown, &container, &error) == ZF_ERR_USAGE &&
              strstr(error.message, "programs") != NULL,
          "%s", error.message);
}

/// A name of a program may have any length; one that a shape has no place for is refused before there is a file.
static void test_long_names(void) {
    static char name[5001], text[40000];
    memset(name, 'n', sizeof name - 1);
    for (unsigned k = 0; k < 3; k++) {
        zf_error error = {0};
        zf_container *container = NULL;
        zf_program *program = NULL;
        int length = (const int[]){256, 4000, 5000}[k];
        snprintf(text, sizeof text,
                 "fn %s_(x: u32) = x + 1; algorithm %.*s(s: u32[]) -> u32[] fully_parallel { decode(i) = %s_(s[i]); "
                 "encode(x) { for v in x { s.push(v - 1); } } } table t { a: u32 = %.*s; }",
                 name, length, name, name, length, name);
        if (k < 2) {
            encode("long", text, 2);
            demand(zf_container_open(context, path_of("long"), &container, &error), &error);
            CHECK(decode(container, &error) == ZF_OK, "%d bytes: %s", length, error.message);
            zf_container_close(container);
            continue;
        }
        write_text("program.zf", text);
        demand(zf_program_load(compiler, place("program.zf"), &program, &error), &error);
        const zf_encode_column column = {.name = "a", .values = numbers};
        zf_status status = zf_encode(program, NULL, &column, 1, ROWS, NULL, path_of("longer"), NULL, &error);
        CHECK(status == ZF_ERR_USAGE && error.number == ZF_ERROR_WRITER_INPUT && strstr(error.message, "4096") != NULL, "%s %s",
              error.code, error.message);
        CHECK(access(path_of("longer"), F_OK) != 0, "there is a file");
        zf_program_free(program);
    }
}

/// A seek field is called by the path of its stage and a word: the longest one that is written can be read.
static void test_long_fields(void) {
    static char name[4097], text[20000];
    memset(name, 'n', sizeof name - 1);
    for (int length = 4085; length <= 4096; length++) {
        zf_error error = {0};
        zf_container *container = NULL;
        zf_program *program = NULL;
        snprintf(text, sizeof text,
                 "algorithm sums(s: u32[]) -> u32[] fully_parallel { decode(i) = sum(k in 0..=i: s[k]); "
                 "encode(x) { if x.len > 0 { s.push(x[0]); } for i in 1..x.len { s.push(x[i] - x[i - 1]); } } } "
                 "algorithm same(%.*s: u32[]) -> u32[] fully_parallel { decode(i) = %.*s[i]; "
                 "encode(x) { for v in x { %.*s.push(v); } } } table t { a: u32 = same(%.*s: sums); }",
                 length, name, length, name, length, name, length, name);
        write_text("program.zf", text);
        demand(zf_program_load(compiler, place("program.zf"), &program, &error), &error);
        const zf_encode_column column = {.name = "a", .values = numbers};
        const zf_encode_options options = {ZF_INIT(zf_encode_options), .unfused = "all", .overwrite = true};
        zf_status status = zf_encode(program, NULL, &column, 1, ROWS, &options, path_of("fields"), NULL, &error);
        if (length + (int)strlen(".scan 0") <= 4096) {
            CHECK(status == ZF_OK, "%d bytes: %s %s", length, error.code, error.message);
            demand(zf_container_open(context, path_of("fields"), &container, &error), &error);
            CHECK(zf_container_shape(container, 0, 0)->tree_count == 1, "%d bytes: no seek states", length);
            CHECK(decode(container, &error) == ZF_OK, "%d bytes: %s", length, error.message);
            zf_container_close(container);
            unlink(path_of("fields"));
        } else {
            CHECK(status == ZF_ERR_USAGE && error.number == ZF_ERROR_WRITER_INPUT && strstr(error.message, "4096") != NULL,
                  "%d bytes: %s %s", length, error.code, error.message);
            CHECK(access(path_of("fields"), F_OK) != 0, "%d bytes: there is a file", length);
        }
        zf_program_free(program);
    }
}

/// A module has code of its own: nothing of the file is compiled, so nothing is refused.
static void test_module(void) {
    zf_error error = {0};
    zf_container *container = NULL;
    zf_module *module = NULL;
    zf_context *without = NULL;
    const zf_module_options options = {ZF_INIT(zf_module_options), .no_nvptx = true};
    demand(zf_container_open(context, path_of("own"), &container, &error), &error);
    demand(zf_module_compile_for(compiler, container, &options, place("own.zfm"), NULL, &error), &error);
    zf_container_close(container);
    demand(zf_context_create(&(zf_context_options){.cache_dir = ""}, &without, &error), &error);
    zf_status status = zf_module_load(without, place("own.zfm"), &module, &error);
    if (status == ZF_ERR_DEVICE) { // no x86-64-v3
        zf_context_free(without);
        return;
    }
    demand(status, &error);
    const zf_open_options known = {ZF_INIT(zf_open_options), .programs = ZF_PROGRAMS_KNOWN};
    demand(zf_container_open_file(without, path_of("own"), &known, &container, &error), &error);
    CHECK(decode(container, &error) == ZF_OK, "%s at %s", error.message, error.place);
    zf_container_close(container);
    zf_module_free(module);
    zf_context_free(without);
}

// ---- Lies -----------------------------------------------------------------------------------------------------

/// The section of a file that has no other one: where its bytes begin.
static size_t section_of(const mutated *file) {
    zf_error error;
    zf_container *container = NULL;
    demand(open_bytes(file, ZF_PROGRAMS_ALL, &container, &error), &error);
    size_t at = file->index + container->index.at_sections;
    zf_container_close(container);
    return at;
}

/// Every byte of the section is changed, with mended checksums: an error, never another result. Names and identities that are
/// possible are compared with the text.
static void test_every_byte(const char *name) {
    mutated file;
    unsigned index = 0, foreign = 0;
    CHECK(mutate_read(path_of(name), &file), "%s", name);
    size_t begin = section_of(&file), end = begin + 8 + zf_load64(file.bytes + begin);
    for (size_t at = begin; at < end; at++) {
        for (unsigned flip = 1; flip < 256; flip = flip == 1 ? 0x20 : flip == 0x20 ? 0x80 : 256) {
            for (unsigned programs = 0; programs < 2; programs++) {
                zf_error error;
                zf_container *container = NULL;
                file.bytes[at] ^= (uint8_t)flip;
                mutate_repair(&file);
                zf_status status = open_bytes(&file, (zf_programs)programs, &container, &error);
                if (status == ZF_OK) status = decode(container, &error);
                CHECK(status == ZF_ERR_INPUT && error.place[0] != 0, "%s, byte %zu: %d %s", name, at - begin, status,
                      error.message);
                index += error.number == ZF_ERROR_INDEX_CONTENT;
                foreign += error.number == ZF_ERROR_UNKNOWN_PROGRAM;
                zf_container_close(container);
                memcpy(file.bytes, file.original, file.size);
            }
        }
    }
    CHECK(index > 100 && foreign > 50, "%s: %u and %u", name, index, foreign);
    mutate_free(&file);
}

/// A file whose index states the library's identities, and whose text has others.
static void test_liar(void) {
    mutated file, library;
    CHECK(mutate_read(path_of("own"), &file) && mutate_read(path_of("library"), &library), "no files");
    size_t at = section_of(&file) + 8, from = section_of(&library) + 8;
    from += 4 + 4 + zf_load32(library.bytes + from + 4); // behind the name of the first
    unsigned count = zf_load32(file.bytes + at);
    at += 4;
    for (unsigned k = 0; k < count; k++, at += ZF_IDENTITY_BYTES) {
        at += 4 + zf_load32(file.bytes + at);
        memcpy(file.bytes + at, library.bytes + from, ZF_IDENTITY_BYTES);
    }
    mutate_repair(&file);
    for (unsigned programs = 0; programs < 2; programs++) {
        zf_error error;
        zf_container *container = NULL;
        demand(open_bytes(&file, (zf_programs)programs, &container, &error), &error);
        compilations = 0;
        zf_status status = decode(container, &error);
        if (programs == ZF_PROGRAMS_KNOWN)
            expect_refused(status, &error, "mine", "algorithm", "a liar");
        else
            CHECK(status == ZF_ERR_INPUT && error.number == ZF_ERROR_INDEX_CONTENT, "%s %s", error.code, error.message);
        CHECK(compilations == 0, "%u columns were compiled", compilations);
        zf_container_close(container);
    }
    mutate_free(&file);
    mutate_free(&library);
}

/// The text of a file of version 1 gets a declaration that nothing uses.
static void test_unused(void) {
    static const char *const more[] = {"fn idle(x: u32) = x;\n   ", "const IDLE: u32 = 70;\n  ", "codec idle: u32=bitpack;\n"};
    encode("library", tables[0].text, 1);
    for (size_t k = 0; k < sizeof more / sizeof *more; k++) {
        mutated file;
        zf_error error;
        zf_container *container = NULL;
        size_t length = strlen(more[k]);
        while (length % 8 != 0) length--; // so that the padding of the index stays as it is
        CHECK(mutate_read(path_of("library"), &file), "no file");
        uint8_t *bytes = malloc(file.size + length), *table = memmem(file.bytes, file.size, "table t {", 9);
        size_t before = (size_t)(table - file.bytes),
               text = (size_t)((uint8_t *)memmem(file.bytes, file.size, "zf 1;", 5) - file.bytes);
        memcpy(bytes, file.bytes, before);
        memcpy(bytes + before, more[k], length);
        memcpy(bytes + before + length, table, file.size - before);
        zf_store32(bytes + text - 4, zf_load32(bytes + text - 4) + (uint32_t)length);
        free(file.bytes);
        file.bytes = bytes;
        file.size += length;
        uint8_t *footer = file.bytes + file.size - ZF_FORMAT_FOOTER_BYTES;
        zf_store64(footer + 8, zf_load64(footer + 8) + length);
        zf_store64(footer + 24, file.size);
        for (size_t b = 0; b < file.block_count; b++) file.rows[b] += length;
        mutate_repair(&file);
        for (unsigned programs = 0; programs < 2; programs++) {
            demand(open_bytes(&file, (zf_programs)programs, &container, &error), &error);
            zf_status status = decode(container, &error);
            if (programs == ZF_PROGRAMS_ALL || k == 2) // a codec is no program
                CHECK(status == ZF_OK, "%s: %s %s", more[k], error.message, error.place);
            else
                expect_refused(status, &error, k == 0 ? "idle" : "IDLE", k == 0 ? "function" : "constant", more[k]);
            zf_container_close(container);
        }
        mutate_free(&file);
    }
}

int main(void) {
    zf_error error = {0};
    if (!scratch_begin("known")) return 1;
    for (uint32_t k = 0; k < ROWS; k++) numbers[k] = 7 + k * 3;
    demand(zf_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error), &error);
    const zf_compiler_options options = {ZF_INIT(zf_compiler_options), .std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 1};
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    zf_compiler_watch(compiler, watch, NULL);
    test_library();
    test_files();
    test_long_names();
    test_long_fields();
    test_module();
    test_every_byte("library");
    test_every_byte("own");
    test_liar();
    test_unused();
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
