// Lies about strings and nulls, one at a time: each is reported by its violation, block and place. hostile_columns changes any
// byte anywhere.
#include "runtime/container/container.h"
#include "tests/hostile/mutate.h"
#include "tests/support/scratch_directory.h"
#include "zipflow/compile.h"

enum { ROWS = 5000, LONGEST = 8, AT = 3000, TILE = 1024 };
enum { NAMES, TEXTS, NUMBERS };

static const char program_text[] = "table t {\n"
                                   "    names:   string = dictionary(entries: strings);\n"
                                   "    texts:   string = strings;\n"
                                   "    numbers: i32?   = nullable;\n"
                                   "}\n";

static zf_context *context;
static char path[64];
static mutated file;

/// Where the parts of a column are: of a stream by its name, of a field of seek states by its name.
typedef struct search {
    int64_t column;
    const char *kind, *name;
    uint64_t at, bytes;
} search;

static void find_part(void *user, const zf_container_part *part) {
    search *s = user;
    if (part->column != s->column || strcmp(part->kind, s->kind) != 0 || strcmp(part->name, s->name) != 0) return;
    s->at = part->offset;
    s->bytes = part->bytes;
}

static uint8_t *part_of(int64_t column, const char *kind, const char *name) {
    search s = {.column = column, .kind = kind, .name = name};
    zf_container *container = NULL;
    zf_error error = {0};
    mutate_write(path, file.original, file.size);
    CHECK(zf_container_open(context, path, &container, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_account(container, find_part, &s, &error) == ZF_OK, "%s", error.message);
    zf_container_close(container);
    CHECK(s.bytes > 0, "no %s %s", kind, name);
    return file.bytes + s.at;
}

/// Decodes a column of the changed file, whose checksums are right: the error must have this code and say this.
static void expect(size_t column, const char *code, const char *says) {
    zf_container *container = NULL;
    zf_error error = {0};
    zf_decode_sizes sizes = {0};
    mutate_repair(&file);
    mutate_write(path, file.bytes, file.size);
    zf_status status = zf_container_open(context, path, &container, &error);
    if (status == ZF_OK) status = zf_decode_size(container, column, NULL, &sizes, &error);
    if (status == ZF_OK) {
        zf_decode_buffers buffers = {.values = aligned_alloc(64, sizes.values / 64 * 64 + 64),
                                     .offsets = aligned_alloc(64, sizes.offsets / 64 * 64 + 64),
                                     .validity = aligned_alloc(64, sizes.validity / 64 * 64 + 64),
                                     .workspace = aligned_alloc(64, sizes.workspace / 64 * 64 + 64),
                                     ZF_DECODE_BYTES(sizes)};
        status = zf_decode(container, column, "cpu", NULL, &buffers, NULL, &error);
        free(buffers.values);
        free(buffers.offsets);
        free(buffers.validity);
        free(buffers.workspace);
    }
    CHECK(status == ZF_ERR_INPUT && strcmp(error.code, code) == 0, "%s wanted: %s %s (%s)", code, error.code, error.message,
          error.place);
    CHECK(strstr(error.place, says) != NULL || strstr(error.message, says) != NULL, "%s: %s, not %s", error.message, error.place,
          says);
    zf_container_close(container);
    memcpy(file.bytes, file.original, file.size);
}

static void change32(uint8_t *at, uint32_t by) { zf_store32(at, zf_load32(at) + by); }

/// The block's plain bytes, according to block and index.
static void change_plain_bytes(size_t block, uint64_t by) {
    uint8_t *header = file.bytes + file.blocks[block] + 32, *row = file.bytes + file.rows[block] + 24;
    zf_store64(header, zf_load64(header) + by);
    zf_store64(row, zf_load64(row) + by);
}

static void lie(void) {
    // A word of no entry, at its row.
    change32(part_of(NAMES, "stream", "codes") + 4 * AT, 1 << 20);
    expect(NAMES, "ZF1301", "row 3000");
    // A text of one byte more, which is no longer what its tile has; one that leads out of all bytes.
    change32(part_of(TEXTS, "stream", "lengths") + 4 * AT, 1);
    expect(TEXTS, "ZF1309", "row 2048");
    zf_store32(part_of(TEXTS, "stream", "lengths") + 4 * AT, UINT32_MAX);
    expect(TEXTS, "ZF1301", "row 2048");
    // The last text, whose length no scan needs.
    change32(part_of(TEXTS, "stream", "lengths") + 4 * (ROWS - 1), UINT32_MAX); // one less
    expect(TEXTS, "ZF1309", "row 4096");
    // Where a tile's bytes begin, of a scan and of what is random.
    *part_of(TEXTS, "seek", "bytes") ^= 1;
    expect(TEXTS, "ZF1309", "row 0");
    *part_of(NAMES, "seek", "bytes") ^= 1;
    expect(NAMES, "ZF1309", "row 0");
    // How many bytes there are.
    change_plain_bytes(TEXTS, 1);
    expect(TEXTS, "ZF1309", "row 4096");
    change_plain_bytes(NAMES, UINT64_MAX); // one less
    expect(NAMES, "ZF1309", "row 4");
    change_plain_bytes(TEXTS, UINT64_C(1) << 40); // nobody shall make room for that
    expect(TEXTS, "ZF1207", "more bytes than its strings can have");
    // A null that is none, and fewer bits than rows.
    part_of(NUMBERS, "stream", "validity")[AT / 8] ^= 1;
    expect(NUMBERS, "ZF1309", "row 2048");
    uint8_t *header = file.bytes + file.blocks[NUMBERS], *stream = header + 64 + 3 * 8;
    zf_store64(header + 64 + 8, ROWS - 8);
    zf_store64(stream + 8, (ROWS - 8) / 8);
    zf_store64(stream + 16, ROWS - 8);
    expect(NUMBERS, "ZF1301", "the whole block");
    // Fewer values than rows that have one: the last tile says so.
    header = file.bytes + file.blocks[NUMBERS], stream = header + 64 + 3 * 8 + 24;
    zf_store64(header + 64 + 16, zf_load64(header + 64 + 16) - 1);
    zf_store64(stream + 8, zf_load64(stream + 8) - 4);
    zf_store64(stream + 16, zf_load64(stream + 16) - 1);
    expect(NUMBERS, "ZF1301", "row 4096");
}

static void make_file(void) {
    static char names[ROWS * LONGEST], texts[ROWS * LONGEST];
    static int64_t name_offsets[ROWS + 1], text_offsets[ROWS + 1];
    static int32_t numbers[ROWS];
    static uint8_t validity[ROWS / 8 + 1];
    for (int i = 0; i < ROWS; i++) {
        char word[LONGEST + 1];
        name_offsets[i + 1] = name_offsets[i] + snprintf(word, sizeof word, "n%d", i % 30);
        memcpy(names + name_offsets[i], word, (size_t)(name_offsets[i + 1] - name_offsets[i]));
        text_offsets[i + 1] = text_offsets[i] + snprintf(word, sizeof word, "%d", i * 7 % 3000);
        memcpy(texts + text_offsets[i], word, (size_t)(text_offsets[i + 1] - text_offsets[i]));
        numbers[i] = i;
        validity[i / 8] |= (uint8_t)((i % 5 != 0) << (i % 8));
    }
    const zf_encode_column columns[] = {{.name = "names", .values = names, .offsets = name_offsets},
                                        {.name = "texts", .values = texts, .offsets = text_offsets},
                                        {.name = "numbers", .values = numbers, .validity = validity}};
    zf_error error = {0};
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    zf_compiler_options options = {.optimise = 1, .general_only = true};
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    FILE *source = fopen(place("t.zf"), "w");
    fputs(program_text, source);
    fclose(source);
    CHECK(zf_program_load(compiler, place("t.zf"), &program, &error) == ZF_OK, "%s %s", error.message, error.place);
    zf_encode_options encoding = {.overwrite = true, .rows_per_block = 8192, .threads = 1};
    CHECK(zf_encode(program, NULL, columns, 3, ROWS, &encoding, path, NULL, &error) == ZF_OK, "%s %s", error.message,
          error.place);
    zf_program_free(program);
    if (check_failures == 0 && mutate_read(path, &file)) lie();
    zf_compiler_free(compiler);
    zf_context_free(context);
    mutate_free(&file);
}

int main(void) {
    if (!scratch_begin("delivery") || !mutate_path(path, sizeof path)) return 1;
    make_file();
    unlink(path);
    scratch_remove(scratch);
    return check_result();
}
