// FSST: what the reference library wrote is decoded by the interpreter and by generated code, on the host and on the emulated
// GPU; what our encoders write is decoded by a decoder that shares nothing with them, chunks and their directory included. With
// the argument `files` also the texts of others in $ZF_TEST_DATA/strings, of which the ratio is printed and must not fall.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/container/container.h"
#include "tests/differential/diff_encode.h"
#include "tests/differential/fsst_plain.h"
#include "tests/differential/fsst_vectors.h"
#include "tests/interp/load.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

// A chunk for all; chunks that cut symbols; groups. `file_*`: chunks as they are by default, and others.
static const char program_text[] = "table whole { c: u8 = fsst(chunk: 1048576); }\n"
                                   "table cut { c: u8 = fsst(chunk: 61, sample: 1024); }\n"
                                   "table groups { c: u8 = fsst_groups; }\n"
                                   "table file_512 { c: u8 = fsst(chunk: 512); }\n"
                                   "table file_4096 { c: u8 = fsst; }\n"
                                   "table file_16384 { c: u8 = fsst(chunk: 16384); }\n"
                                   "table file_table { c: u8 = fsst(symbols: fsst_symbols(sizes: rle), lengths: rle); }\n"
                                   "table file_groups { c: u8 = fsst_groups; }\n";

static diff_machine machine;
static diff_program program;
static diff_tally tally;

static const zf_column *column_of(const char *table) {
    for (const zf_table *t = zf_spec_tables(diff_program_spec(&program)); t != NULL; t = t->next) {
        if (strcmp(t->name, table) == 0) return t->columns;
    }
    abort();
}

/// A block through the interpreter, which must give these bytes, and through all forms of generated code.
static void check_block(const char *what, const char *table, interp *in, const interp_block *block, const void *text,
                        size_t size) {
    diff_case c = {.machine = &machine, .spec = diff_program_spec(&program), .column = column_of(table), .tally = &tally};
    interp_stream *out;
    interp_report report;
    zf_text message = {0};
    interp_status status = interp_decode_stored(in, c.column, block, &out, &report);
    CHECK(status == INTERP_OK, "%s, %s: %s, V%02u", what, table, interp_status_name(status), report.violation.number);
    if (status == INTERP_OK) {
        bool same = interp_stream_count(out) == size && memcmp(interp_stream_bytes(out), text, size) == 0;
        CHECK(same, "%s, %s: the interpreter makes another text", what, table);
    }
    diff_verdict verdict = diff_check_block(&c, in, block, size, &message);
    CHECK(verdict == DIFF_SAME_BYTES, "%s, %s: %s: %s", what, table, diff_verdict_name(verdict),
          message.data != NULL ? message.data : "");
    zf_text_free(&message);
    diff_case_close(&c);
}

// ---- Written by others ----------------------------------------------------------------------------------------

enum { CODES, SYMBOLS, LENGTHS, STREAMS };

/// A block over streams as they are: of chunks, of which there is one, or of groups.
static interp_block block_of(interp_stored *streams, bool chunked, uint64_t *counts, interp_directory *directories,
                             uint64_t rows) {
    static const uint64_t start = 0, sample = 65536;
    counts[0] = rows;
    memset(directories, 0, (STREAMS + 1) * sizeof *directories);
    for (uint32_t s = 0; s < STREAMS; s++) counts[s + 1] = streams[s].elements;
    if (chunked) directories[1] = (interp_directory){.starts = &start, .count = 1};
    return (interp_block){.params = &sample,
                          .param_count = 1,
                          .streams = streams,
                          .stream_count = STREAMS,
                          .counts = counts,
                          .directories = chunked ? directories : NULL,
                          .edge_count = STREAMS + 1};
}

static void check_vector(const char *name, const uint8_t *table, size_t table_size, const uint8_t *codes, size_t count,
                         const void *text, size_t size) {
    fsst_plain_table known;
    uint8_t again[600], symbols[256 * 8] = {0}, lengths[256];
    bool for_groups = true; // without an escaped 255
    CHECK(fsst_plain_import(table, table_size, &known), "%s: the table cannot be read", name);
    CHECK(fsst_plain_decode(&known, codes, count, again, sizeof again, 1, NULL) == size && memcmp(again, text, size) == 0,
          "%s: the vector itself is wrong", name);
    memset(lengths, 1, sizeof lengths);
    for (unsigned k = 0; k < known.count; k++) {
        memcpy(symbols + 8 * k, known.bytes[k], known.length[k]);
        lengths[k] = known.length[k];
    }
    for (size_t at = 0; at < count; at++) {
        if (codes[at] == 255) for_groups = codes[++at] != 255 && for_groups;
    }
    interp_stored stored = {.bytes = codes, .size = count, .elements = count};
    interp_stored of_symbols = {.bytes = symbols, .size = sizeof symbols, .elements = 256};
    interp_stored of_lengths = {.bytes = lengths, .size = sizeof lengths, .elements = 256};
    interp_stored streams[STREAMS] = {stored, of_symbols, of_lengths};
    uint64_t counts[STREAMS + 1];
    interp_directory directories[STREAMS + 1];
    interp *in = interp_create(NULL);
    interp_block block = block_of(streams, true, counts, directories, size);
    check_block(name, "whole", in, &block, text, size);
    block = block_of(streams, false, counts, directories, size);
    if (for_groups) check_block(name, "groups", in, &block, text, size);
    interp_destroy(in);
}

static void test_vectors(void) {
#define VECTOR(name, size)                                                                                                       \
    check_vector(#name, fsst_##name##_table, sizeof fsst_##name##_table, fsst_##name##_codes, sizeof fsst_##name##_codes,        \
                 fsst_##name##_text, size)
    VECTOR(paths, sizeof fsst_paths_text - 1);
    VECTOR(verse, sizeof fsst_verse_text - 1);
    VECTOR(odd, sizeof fsst_odd_text);
    VECTOR(one, sizeof fsst_one_text - 1);
#undef VECTOR
}

// ---- Damaged tables -------------------------------------------------------------------------------------------

/// A block whose table has another length for one code, which its codes have or not: interpreter and generated code must say
/// the same of it. The block's rows are as many as its sizes with that length say, or with the former one.
static void check_damage(uint8_t code, uint8_t length, bool used, bool counted, diff_verdict wanted) {
    uint8_t symbols[256 * 8], lengths[256], codes[600]; // a tile, which needs no state
    uint64_t size = 0, counts[STREAMS + 1];
    for (unsigned k = 0; k < sizeof symbols; k++) symbols[k] = (uint8_t)(k * 7 + 1); // also behind the ends
    for (unsigned k = 0; k < sizeof lengths; k++) lengths[k] = (uint8_t)(1 + k % 8);
    for (unsigned k = 0; k < sizeof codes; k++) {
        codes[k] = (uint8_t)(k * 37 % 255);
        if (codes[k] == code && !used) codes[k] = (uint8_t)(code ^ 1);
        size += counted && codes[k] == code ? length : lengths[codes[k]];
    }
    lengths[code] = length;
    interp_stored streams[STREAMS] = {{.bytes = codes, .size = sizeof codes, .elements = sizeof codes},
                                      {.bytes = symbols, .size = sizeof symbols, .elements = 256},
                                      {.bytes = lengths, .size = sizeof lengths, .elements = 256}};
    interp_directory directories[STREAMS + 1];
    interp *in = interp_create(NULL);
    interp_block block = block_of(streams, false, counts, directories, size);
    diff_case c = {.machine = &machine, .spec = diff_program_spec(&program), .column = column_of("groups"), .tally = &tally};
    zf_text message = {0};
    diff_verdict verdict = diff_check_block(&c, in, &block, size, &message);
    CHECK(verdict == wanted, "length %u of code %u, which is %s: %s: %s", length, code, used ? "there" : "not there",
          diff_verdict_name(verdict), message.data != NULL ? message.data : "");
    zf_text_free(&message);
    diff_case_close(&c);
    interp_destroy(in);
}

/// A block of many tiles, in one of which a code stands for more bytes than it did when the states were recorded: that tile says
/// so, and one before it in the same span, decoded alone, does not.
static void check_beside(uint64_t guilty, uint64_t innocent) {
    enum { CODE_COUNT = 40960, TILE = 4096 };
    static uint8_t symbols[256 * 8], lengths[256], codes[CODE_COUNT], damaged[CODE_COUNT];
    for (unsigned k = 0; k < sizeof lengths; k++) lengths[k] = (uint8_t)(1 + k % 2);
    for (unsigned k = 0; k < CODE_COUNT; k++) codes[k] = 2; // a byte each, so that row r is of code r
    for (unsigned k = 0; k < sizeof symbols; k++) symbols[k] = (uint8_t)(k * 7 + 1);
    memcpy(damaged, codes, sizeof codes);
    damaged[guilty * TILE + 100] = 3;
    uint64_t counts[2][STREAMS + 1];
    interp_directory directories[2][STREAMS + 1];
    interp_stored streams[2][STREAMS];
    interp_block blocks[2];
    interp *in = interp_create(NULL);
    for (unsigned b = 0; b < 2; b++) {
        streams[b][CODES] = (interp_stored){.bytes = b == 0 ? codes : damaged, .size = CODE_COUNT, .elements = CODE_COUNT};
        streams[b][SYMBOLS] = (interp_stored){.bytes = symbols, .size = sizeof symbols, .elements = 256};
        streams[b][LENGTHS] = (interp_stored){.bytes = lengths, .size = sizeof lengths, .elements = 256};
        blocks[b] = block_of(streams[b], false, counts[b], directories[b], CODE_COUNT);
    }
    diff_case c = {.machine = &machine,
                   .spec = diff_program_spec(&program),
                   .column = column_of("groups"),
                   .tally = &tally,
                   .undamaged = &blocks[0],
                   .neighbour = true,
                   .guilty = guilty * TILE,
                   .innocent = innocent * TILE};
    zf_text message = {0};
    diff_verdict verdict = diff_check_block(&c, in, &blocks[1], CODE_COUNT, &message);
    CHECK(verdict == DIFF_SAME_VIOLATION, "tile %llu beside %llu: %s: %s", (unsigned long long)innocent,
          (unsigned long long)guilty, diff_verdict_name(verdict), message.data != NULL ? message.data : "");
    zf_text_free(&message);
    diff_case_close(&c);
    interp_destroy(in);
}

static void test_damage(void) {
    check_beside(1, 0);
    check_beside(3, 0);
    check_beside(9, 8);
    static const uint8_t damaged[] = {0, 9, 64, 255};
    for (size_t k = 0; k < sizeof damaged; k++) {
        check_damage(100, damaged[k], true, true, DIFF_SAME_VIOLATION);
        check_damage(100, damaged[k], true, false, DIFF_SAME_VIOLATION);
        check_damage(100, damaged[k], false, false, DIFF_SAME_BYTES); // nobody asks for it
    }
    check_damage(17, 3, true, false, DIFF_SAME_VIOLATION);
    check_damage(17, 3, true, true, DIFF_SAME_BYTES);
}

// ---- Written by us --------------------------------------------------------------------------------------------

/// A table from streams as they are stored, little-endian.
static fsst_plain_table table_from(const uint8_t *symbols, const uint8_t *lengths) {
    fsst_plain_table table = {.count = 255};
    memcpy(table.bytes, symbols, sizeof table.bytes);
    memcpy(table.length, lengths, sizeof table.length);
    return table;
}

/// Encodes a text with both encoders, and decodes the streams by the plain decoder. Returns bytes of codes.
static size_t check_ours(const char *what, const char *table, const uint8_t *text, size_t size) {
    interp_options options = {.no_verify = true};
    interp *in = interp_create(&options);
    interp_stream *plain = interp_stream_raw(in, zf_type_of(ZF_K_U8), text, size);
    interp_block block;
    zf_text message = {0};
    size_t count = 0;
    diff_encoded encoded = diff_check_encode(&program, column_of(table), in, plain, &block, &message);
    CHECK(encoded == DIFF_ENCODED, "%s, %s: %s: %s", what, table, diff_encoded_name(encoded),
          message.data != NULL ? message.data : "");
    zf_text_free(&message);
    if (encoded == DIFF_ENCODED) {
        const uint8_t *codes = block.streams[CODES].bytes;
        fsst_plain_table known = table_from(block.streams[SYMBOLS].bytes, block.streams[LENGTHS].bytes);
        count = block.streams[CODES].size;
        uint64_t chunk = column_of(table)->codec->alternatives[0]->chunk_size;
        uint8_t *again = malloc(size + 1);
        size_t *marks = calloc(size + 2, sizeof *marks);
        size_t made = fsst_plain_decode(&known, codes, count, again, size, chunk != 0 ? chunk : 1, marks);
        CHECK(made == size && memcmp(again, text, size) == 0, "%s, %s: the streams are another text", what, table);
        CHECK(block.params[0] >= 512, "%s, %s: a sample of %llu", what, table, (unsigned long long)block.params[0]);
        for (uint64_t c = 0; c * chunk < size && block.directories != NULL && block.directories[1].count > 0; c++)
            CHECK(block.directories[1].starts[c] == marks[c], "%s, %s: chunk %llu begins elsewhere", what, table,
                  (unsigned long long)c);
        check_block(what, table, in, &block, text, size);
        free(marks);
        free(again);
    }
    interp_destroy(in);
    return count;
}

static uint8_t made_text[6000];

/// The contents of a text, and its possible results: bytes of codes, in hundredths of the text. Chunks that cut symbols take
/// more.
static const struct {
    const char *name;
    size_t size;
    unsigned least, most, most_cut;
} texts[] = {
    {"nothing", 0, 0, 0, 0},
    {"a byte", 1, 100, 100, 100},
    {"an escape", 1, 100, 100, 100},
    {"one symbol", 3000, 12, 13, 14},
    {"zeros", 2999, 12, 13, 14},
    {"two symbols", 3000, 12, 14, 20},
    {"each byte once", 256, 100, 101, 101}, // one is escaped
    {"uniform", 6000, 75, 90, 98},
    {"incompressible", 6000, 100, 101, 102},
    {"zeros between", 4000, 15, 20, 25},
    {"prose", 6000, 12, 15, 27},
};

static void make_text(const char *name, size_t size) {
    static const char words[] = "the quick deposits sleep furiously above pending accounts, and the final packages haggle; ";
    uint64_t state = 1;
    for (size_t k = 0; k < size; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned any = (unsigned)(state >> 40);
        uint8_t v = 'a';
        if (strcmp(name, "an escape") == 0) v = 255;
        if (strcmp(name, "zeros") == 0) v = 0;
        if (strcmp(name, "two symbols") == 0) v = any & 1 ? 'x' : 0;
        if (strcmp(name, "each byte once") == 0) v = (uint8_t)(k * 77);
        if (strcmp(name, "uniform") == 0) v = (uint8_t)(any % 64);
        if (strcmp(name, "incompressible") == 0) v = (uint8_t)any;
        if (strcmp(name, "zeros between") == 0) v = any % 3 == 0 ? (uint8_t)(any >> 8 & 3) : 0;
        if (strcmp(name, "prose") == 0) v = (uint8_t)words[(k / 31 * 13 + k % 31) % (sizeof words - 1)];
        made_text[k] = v;
    }
}

static void test_ours(void) {
    enum { WHOLE, CUT, GROUPS, TABLES };
    static const char *const tables[TABLES] = {[WHOLE] = "whole", [CUT] = "cut", [GROUPS] = "groups"};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        for (size_t k = 0; k < TABLES; k++) {
            size_t size = texts[t].size, made;
            make_text(texts[t].name, size);
            made = check_ours(texts[t].name, tables[k], made_text, size);
            CHECK(100 * made >= texts[t].least * size && 100 * made <= (k == CUT ? texts[t].most_cut : texts[t].most) * size,
                  "%s, %s: %zu bytes become %zu", texts[t].name, tables[k], size, made);
        }
    }
}

// ---- Texts of others ------------------------------------------------------------------------------------------

/// The least ratio of each file, in hundredths: codes in chunks of 4096, directory and table counted.
static const struct {
    const char *name;
    unsigned least;
} files[] = {
    {"c_name.head", 520}, {"city", 190}, {"credentials", 200}, {"email_synthetic", 250}, {"faust", 180},     {"firstname", 182},
    {"genome", 315},      {"hex", 182},  {"l_comment", 290},   {"street", 222},          {"uuid.head", 236},
};

/// The ratio of a text in a file of the format, 0 where something went wrong. Its streams are decoded by the plain decoder, the
/// column on the CPU and on the emulated GPU.
static double check_file(const char *name, const char *table, uint8_t *text, size_t size) {
    char path[] = "/tmp/zf_fsst_XXXXXX.zfd";
    int file = mkstemps(path, 4);
    zf_error error = {0};
    zf_encode_column source = {.name = "c", .values = text};
    zf_encode_options options = {.threads = 1, .overwrite = true};
    zf_container *container = NULL;
    zf_decode_sizes sizes = {0};
    zf_block_view view = {0};
    uint64_t stored = 0;
    if (file >= 0) close(file);
    zf_status status = zf_encode(program.programs[1], table, &source, 1, size, &options, path, NULL, &error);
    if (status == ZF_OK) status = zf_container_open(machine.contexts[1], path, &container, &error);
    if (status == ZF_OK) status = zf_container_block(container, 0, 0, true, &view, &error);
    if (status == ZF_OK) status = zf_decode_size(container, 0, NULL, &sizes, &error);
    CHECK(status == ZF_OK, "%s, %s: %s: %s (%s)", name, table, error.code, error.message, error.place);
    if (status == ZF_OK) {
        uint8_t *again = aligned_alloc(64, size / 64 * 64 + 64), *work = aligned_alloc(64, sizes.workspace / 64 * 64 + 64);
        const uint8_t *bytes[STREAMS] = {0};
        for (uint32_t s = 0; s < view.shape->stored_count; s++) {
            stored += view.streams[s].bytes;
            if (s < STREAMS) bytes[s] = view.base + view.streams[s].offset;
        }
        for (uint32_t t = 0; t < view.shape->tree_count; t++) {
            for (uint32_t f = 0; f < view.shape->trees[t].field_count; f++)
                stored += view.seeks[t].entries * view.seeks[t].widths[f];
        }
        if (view.shape->stored_count == STREAMS) { // the table as it is
            fsst_plain_table known = table_from(bytes[SYMBOLS], bytes[LENGTHS]);
            memset(again, 0xa5, size);
            size_t made = fsst_plain_decode(&known, bytes[CODES], view.streams[CODES].bytes, again, size, 1, NULL);
            CHECK(made == size && memcmp(again, text, size) == 0, "%s, %s: the streams are another text", name, table);
        }
        for (int d = 0; d < 2; d++) {
            zf_decode_buffers buffers = {.values = again, .workspace = work, ZF_DECODE_BYTES(sizes)};
            memset(again, 0xa5, size);
            status = zf_decode(container, 0, d == 0 ? "cpu" : "emu", NULL, &buffers, NULL, &error);
            CHECK(status == ZF_OK && memcmp(again, text, size) == 0, "%s, %s: on device %d: %s %s", name, table, d, error.code,
                  error.message);
        }
        free(work);
        free(again);
    }
    zf_block_view_free(&view);
    zf_container_close(container);
    unlink(path);
    return stored > 0 ? (double)size / (double)stored : 0;
}

static void test_files(const char *directory) {
    static const char *const tables[] = {"file_512", "file_4096", "file_16384", "file_table", "file_groups"};
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        char path[1024];
        size_t size = 0;
        snprintf(path, sizeof path, "%s/strings/%s", directory, files[f].name);
        uint8_t *text = load_bytes(path, &size);
        CHECK(text != NULL, "%s cannot be read", path);
        if (text == NULL) continue;
        printf("%-16s %8zu", files[f].name, size);
        for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
            double ratio = check_file(files[f].name, tables[t], text, size);
            printf("  %s %.3f", tables[t], ratio);
            CHECK(strcmp(tables[t], "file_table") != 0 || ratio * 100 >= files[f].least, "%s: ratio %.3f", files[f].name, ratio);
        }
        printf("\n");
        free(text);
    }
}

int main(int count, char **arguments) {
    bool of_others = count > 1 && strcmp(arguments[1], "files") == 0;
    const char *directory = getenv("ZF_TEST_DATA");
    zf_text message = {0};
    if (of_others) {
        char path[1024];
        snprintf(path, sizeof path, "%s/strings", directory != NULL ? directory : "");
        if (directory == NULL || directory[0] == 0 || access(path, R_OK) != 0) {
            printf("ZF_TEST_DATA names no directory with strings/\n");
            return 77;
        }
    }
    bool good = diff_machine_open(&machine, NULL, &message) && diff_program_open(&machine, program_text, &program, &message);
    CHECK(good, "%s", message.data != NULL ? message.data : "the program has errors");
    if (!good) return check_result();
    diff_set_case("differential_fsst");
    if (of_others) {
        test_files(directory);
    } else {
        test_vectors();
        test_damage();
        test_ours();
    }
    diff_program_close(&program);
    diff_machine_close(&machine);
    zf_text_free(&message);
    return check_result();
}
