// Lies of a file, one at a time, all checksums right: each is told by its violation, block, row, path in the codec and line of
// the program, on the CPU and on an accelerator.
//   gpu_lies --device emu|cuda
#include "emulator/emu.h"
#include "frontend/spec/spec.h"
#include "runtime/container/container.h"
#include "tests/gpu/state_columns.h"
#include "tests/hostile/mutate.h"

typedef unsigned long long ull;

enum { BLOCK = 8192, ROWS = BLOCK + 5000 }; ///< lies are told of the second block

static gpu_machine machine;
static mutated file;
static char path[300];
static zf_block_view views[STATE_COLUMNS_MOST];
static bool lowered[STATE_COLUMNS_MOST];
static size_t column_count, at_hand; ///< the column that is lied about
static zf_text text;                 ///< of the file's program, as errors count its lines
static unsigned told, there;

// ---- Where things are -----------------------------------------------------------------------------------------

static void of_column(const char *name) {
    for (at_hand = 0; at_hand < column_count && strcmp(state_column_name(at_hand), name) != 0;) at_hand++;
    CHECK(at_hand < column_count, "no column %s", name);
}

static uint32_t edge_of(const char *name) {
    const zf_shape *shape = views[at_hand].shape;
    uint32_t e = 0;
    while (e < shape->edge_count && strcmp(shape->edges[e].path, name) != 0) e++;
    CHECK(e < shape->edge_count, "%s has no edge %s", state_column_name(at_hand), name);
    return e;
}

static uint8_t *stream(const char *name) {
    const zf_block_view *view = &views[at_hand];
    return file.bytes + view->file_offset + view->streams[view->shape->edges[edge_of(name)].stored].offset;
}

/// The first entry of a field of seek states, or of a directory, and the bytes of each.
static uint8_t *entry_of(const char *name, unsigned *width) {
    const zf_block_view *view = &views[at_hand];
    for (uint32_t t = 0; t < view->shape->tree_count; t++) {
        for (uint32_t f = 0; f < view->shape->trees[t].field_count; f++) {
            if (strcmp(view->shape->trees[t].fields[f].name, name) != 0 || view->seeks[t].widths[f] == 0) continue;
            *width = view->seeks[t].widths[f];
            return file.bytes + view->file_offset + view->seeks[t].offsets[f];
        }
    }
    CHECK(false, "%s has no field %s", state_column_name(at_hand), name);
    *width = 0;
    return file.bytes;
}

static uint8_t *field(const char *name) {
    unsigned width;
    return entry_of(name, &width);
}

/// Rows from one state of strings' bytes to the next.
static uint64_t text_interval(void) {
    const zf_block_view *view = &views[at_hand];
    for (uint32_t t = 0; t < view->shape->tree_count; t++)
        if (view->shape->trees[t].edge == 0) return view->seeks[t].interval;
    return 1;
}

/// The counts in the header: of an edge's elements, and a stream's bytes and elements.
static uint8_t *count_of(const char *name) {
    const zf_block_view *view = &views[at_hand];
    return file.bytes + view->file_offset + ZF_BLOCK_FIXED_BYTES + 8 * ((size_t)view->shape->param_count + edge_of(name));
}

static uint8_t *stream_row(const char *name) {
    const zf_shape *shape = views[at_hand].shape;
    size_t before = ZF_BLOCK_FIXED_BYTES + 8 * ((size_t)shape->param_count + shape->edge_count);
    size_t stored = (size_t)shape->edges[edge_of(name)].stored;
    return file.bytes + views[at_hand].file_offset + before + ZF_BLOCK_STREAM_BYTES * stored;
}

static void add64(uint8_t *at, uint64_t by) { zf_store64(at, zf_load64(at) + by); }

/// Removes so many elements, of so many bits, everywhere alike.
static void shorten(const char *name, uint64_t by, unsigned bits) {
    add64(count_of(name), 0 - by);
    add64(stream_row(name) + 16, 0 - by);
    zf_store64(stream_row(name) + 8, (zf_load64(stream_row(name) + 16) * bits + 7) / 8);
}

// ---- Reports --------------------------------------------------------------------------------------------------

/// Whether that line of the program reads so.
static bool line_says(const char *error_place, const char *says) {
    const char *last = strrchr(error_place, ' ');
    const char *colon = last != NULL ? strchr(last, ':') : NULL;
    if (colon == NULL) return false;
    const char *line = text.data;
    for (unsigned long n = strtoul(colon + 1, NULL, 10); n > 1 && line != NULL; n--) {
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
    if (line == NULL) return false;
    const char *end = strchr(line, '\n'), *found = strstr(line, says);
    return found != NULL && (end == NULL || found < end);
}

/// The changed file, some of its rows decoded: `says` is in the error's place, behind column and block; `line` in the line of the
/// program.
static void expect_of(uint64_t begin, uint64_t end, const char *code, const char *says, const char *line) {
    const char *devices[] = {"cpu", machine.device};
    zf_error error = {0};
    zf_container *container = NULL;
    char block[80];
    CHECK(memcmp(file.bytes, file.original, file.size) != 0, "no lie at all");
    mutate_repair(&file);
    mutate_write(path, file.bytes, file.size);
    CHECK(zf_container_open(machine.context, path, &container, &error) == ZF_OK, "%s %s", error.code, error.message);
    snprintf(block, sizeof block, "column %s, block 1, ", state_column_name(at_hand));
    for (int d = 0; d < (lowered[at_hand] ? 2 : 1) && container != NULL; d++) {
        state_verdict verdict = state_decode(container, at_hand, devices[d], begin, end - begin, &error);
        CHECK(verdict == STATE_TOLD && strcmp(error.code, code) == 0, "%s, %s: wanted %s: %s %s (%s)", state_column_name(at_hand),
              devices[d], code, error.code, error.message, error.place);
        CHECK(strstr(error.place, block) != NULL, "%s, %s: %s is not in %s", devices[d], code, block, error.place);
        CHECK(strstr(error.place, says) != NULL, "%s, %s: %s is not in %s", devices[d], code, says, error.place);
        CHECK(line_says(error.place, line), "%s, %s: the line is no `%s`: %s", devices[d], code, line, error.place);
        told++;
        there += d == 1;
    }
    zf_container_close(container);
    memcpy(file.bytes, file.original, file.size);
}

static void expect(const char *code, const char *says, const char *line) { expect_of(0, ROWS, code, says, line); }

// ---- The lies -------------------------------------------------------------------------------------------------

/// States: of a column's tree, of one that is decoded into memory of its own, of bytes.
static void lie_states(void) {
    static const struct {
        const char *column, *field, *says, *line;
    } states[] = {
        {"orderkey", "group", "row 8192, the column's codec (rle<i64>)", "orderkey: i64     = rle("},
        {"orderkey", "values.group", "row 8192, the column's codec (rle<i64>)", "orderkey: i64     = rle("},
        {"orderkey", "values.start.scan 0", "row 8192, the column's codec (rle<i64>)", "orderkey: i64     = rle("},
        {"walk", "scan 0", "row 8192, the column's codec (delta<i32>)", "delta("},
        {"rising", "scan 0", "row 8192, the column's codec (highest)", "highest"},
        {"slopes", "deltas.offset", "row 8192, the column's codec (delta<i64>)", "slopes:   i64     = delta("},
        {"members", "group", "row 8192, the column's codec (set_gaps)", "set_gaps"},
        {"texts", "bytes", "row 8192, the column's codec (strings)", "strings("},
        {"kinds", "bytes", "row 8192, the column's codec (dictionary<string>)", "dictionary("},
        {"repeated", "group", "row 8192, the column's codec (rle<string>)", "rle(values: dictionary("},
        {"prose", "bytes.group", "element 0 of bytes, bytes (words)", "strings("},
        {"sparse", "scan 0", "row 8192, the column's codec (nullable<i64>)", "nullable("},
    };
    for (size_t k = 0; k < sizeof states / sizeof states[0]; k++) {
        of_column(states[k].column);
        *field(states[k].field) ^= 1;
        expect("ZF1309", states[k].says, states[k].line);
    }
}

/// Directories: a chunk that begins before the one before it, one that begins behind its stream, and one that begins elsewhere.
static void lie_directories(void) {
    of_column("pieces");
    memset(field("src") + 2, 0, 2); // entries are of two bytes
    expect("ZF1322", "of the block, the column's codec (pieces)", "let n = src.u8();");
    memset(field("src"), 0xff, 2);
    expect("ZF1322", "of the block, the column's codec (pieces)", "let n = src.u8();");
    ++*field("src");
    expect("ZF1302", "row 8691, the column's codec (pieces)", "let v = src.u8();");
}

/// Elements that say something else than the rest of the block.
static void lie_elements(void) {
    // Indices of no entry.
    of_column("flags");
    stream("codes.packed")[100] = 0xff;
    expect("ZF1301", "row 8", "entries[codes[i]]");
    of_column("kinds");
    stream("codes.packed")[100] = 0xff;
    expect("ZF1301", "row 8", "entries[codes[i]]");
    // A string that is longer than it was, one that leads out of all bytes.
    of_column("texts");
    stream("lengths.packed")[200] ^= 1;
    expect("ZF1309", "row 8192, the column's codec (strings)", "strings(");
    of_column("names");
    zf_store32(stream("values.entries.lengths") + 8, UINT32_MAX);
    expect("ZF1301", "values.entries", "bytes[start(i)..start(i) + lengths[i]]");
}

/// Counts: of bits that say what is null, of values that are there, of groups' sizes, of steps; and one that the header gives
/// twice.
static void lie_counts(void) {
    of_column("gone");
    shorten("validity", 8, 1);
    expect("ZF1301", "the whole block", "validity[");
    of_column("runs");
    add64(count_of("values"), UINT64_MAX);
    expect("ZF1301", "the whole block", "values[g]");
    of_column("walk");
    add64(count_of("deltas.packed"), 1);
    expect("ZF1323", "deltas (bitpack", "packed.bits(");
    add64(count_of("deltas"), UINT64_MAX);
    expect("ZF1301", "the whole block", "deltas[");
    of_column("flags");
    shorten("entries", 1, 8);
    expect("ZF1301", "row 81", "entries[codes[i]]");
    of_column("marks"); // a nullable edge without elements: element 0 is read all the same
    zf_store64(count_of("entries"), 0);
    expect("ZF1301", "row 8192", "entries[codes[i]]");
}

/// Where the bytes of a tile of strings begin: the runtime looks that up, before any kernel runs, where a range of rows begins or
/// ends there.
static void lie_extents(void) {
    static const struct {
        const char *column, *path, *line;
    } texts[] = {
        {"texts", "the column's codec (strings)", "texts:    string  = strings("},
        {"kinds", "the column's codec (dictionary<string>)", "kinds:    string  = dictionary("},
        {"repeated", "the column's codec (rle<string>)", "repeated: string  = rle("},
        {"prose", "the column's codec (strings)", "prose:    string  = strings("},
        {"names", "the column's codec (nullable<string>)", "names:    string? = nullable("},
    };
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        of_column(texts[k].column);
        uint64_t tile = text_interval(), next = BLOCK + tile;
        char first[128], second[128];
        snprintf(first, sizeof first, "row %d, %s", BLOCK, texts[k].path);
        snprintf(second, sizeof second, "row %llu, %s", (ull)next, texts[k].path);
        field("bytes")[1] ^= 0x80; // beyond all bytes of the block
        expect_of(BLOCK + 7, BLOCK + 9, "ZF1309", first, texts[k].line);
        field("bytes")[1] ^= 0x80;
        expect_of(next + 5, next + 6, "ZF1309", second, texts[k].line);
        if (next + tile >= ROWS) continue;
        // Within the block, but the next tile begins before it.
        unsigned width;
        uint8_t *entry = entry_of("bytes", &width);
        memcpy(entry, entry + (ptrdiff_t)2 * width, width);
        expect_of(next, next + tile, "ZF1309", second, texts[k].line);
    }
}

/// Where the last tile's rows begin in the column's characters: no tile behind it tells that its bytes go elsewhere, and of a
/// range that begins there none before it.
static void lie_starts(void) {
    of_column("prose");
    unsigned width;
    uint64_t tile = text_interval(), last = (ROWS - BLOCK - 1) / tile, start = 0;
    uint8_t *entry = entry_of("scan 0", &width) + (last - 1) * width;
    char says[128];
    snprintf(says, sizeof says, "row %llu, the column's codec (strings)", (ull)(BLOCK + last * tile));
    memcpy(&start, entry, width); // little-endian
    start--;
    memcpy(entry, &start, width);
    expect_of(BLOCK + last * tile + 3, BLOCK + last * tile + 9, "ZF1309", says, "strings(");
}

static void lie(void) {
    lie_states();
    lie_extents();
    lie_starts();
    lie_directories();
    lie_elements();
    lie_counts();
}

// ---- The file -------------------------------------------------------------------------------------------------

static void open_good(void) {
    zf_error error = {0};
    zf_container *good = gpu_model_open(&machine, path);
    size_t length = 0;
    const char *unit = zf_container_unit(good, &length);
    zf_lay_out_text(unit, length, &text);
    for (size_t c = 0; c < column_count; c++) {
        CHECK(state_decode(good, c, "cpu", 0, ROWS, &error) == STATE_RIGHT, "%s: %s %s", state_column_name(c), error.code,
              error.message);
        state_verdict verdict = state_decode(good, c, machine.device, 0, ROWS, &error);
        lowered[c] = verdict != STATE_TOLD || error.status != ZF_ERR_UNSUPPORTED;
        CHECK(verdict == STATE_RIGHT || !lowered[c], "%s: %s %s", state_column_name(c), error.code, error.message);
        CHECK(zf_container_block(good, c, 1, true, &views[c], &error) == ZF_OK, "%s", error.message);
    }
}

int main(int argc, char **argv) {
    const char *device = "emu";
    zf_error error = {0};
    const gpu_option options[] = {{"device", NULL, &device}, {0}};
    if (!gpu_options_read(argc, argv, options)) return 2;
    gpu_machine_open(&machine, device, true);
    snprintf(path, sizeof path, "%s", gpu_machine_path(&machine, "good.zfd"));
    CHECK(state_encode(&machine, ROWS, BLOCK, path, &column_count, &error) == ZF_OK, "%s %s (%s)", error.code, error.message,
          error.place);
    if (check_failures == 0 && mutate_read(path, &file)) open_good();
    if (!mutate_path(path, sizeof path)) return 2;
    if (check_failures == 0) lie();
    printf("{\"device\": \"%s\", \"told\": %u, \"on_device\": %u}\n", machine.device, told, there);
    unlink(path);
    for (size_t c = 0; c < column_count; c++) zf_block_view_free(&views[c]);
    zf_text_free(&text);
    mutate_free(&file);
    gpu_machine_close(&machine);
    return check_result();
}
