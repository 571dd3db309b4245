// Seek states and chunk directories that lie: every byte of them, and of what the block's header says of them, changed to several
// values, all checksums right. Whoever decodes the column is told, with a code and a place, or gets the rows that were encoded;
// on the CPU, and on an accelerator, which must say what the CPU says.
//   gpu_states --device emu|cuda --every N
#include "emulator/emu.h"
#include "runtime/container/container.h"
#include "tests/gpu/state_columns.h"
#include "tests/hostile/mutate.h"

typedef unsigned long long ull;

enum { OTHERS_SHARE = 50 }; ///< of so many decodes one may name another violation or tile than the CPU does, and one more

static gpu_machine machine;
static mutated file;
static char path[300];
static zf_block_view views[STATE_COLUMNS_MOST]; ///< of the file as it was
static bool lowered[STATE_COLUMNS_MOST];        ///< for the accelerator
static uint64_t every = 1, number;              ///< of changes

static struct {
    uint64_t changes, told, right, on_device, other_violation, ranges;
} tally;

/// The possible results of one change.
typedef struct promise {
    const char *what;
    bool right;  ///< it may not matter
    bool ranged; ///< of rows begin..end the same is wanted
    uint64_t begin, end;
} promise;

static void check_error(const char *device, size_t column, const promise *p, uint64_t at, const zf_error *error) {
    if (error->status == ZF_ERR_MEMORY) return;
    bool whole = error->status == ZF_ERR_INPUT && strncmp(error->code, "ZF1", 3) == 0 && error->message[0] != 0;
    whole = whole && strstr(error->place, state_column_name(column)) != NULL && strstr(error->place, "block 0") != NULL;
    const char *text = strrchr(error->place, ' '), *line = text != NULL ? strchr(text, ':') : NULL;
    bool kernel = strncmp(error->code, "ZF130", 5) == 0 || strcmp(error->code, "ZF1310") == 0;
    whole = whole && (!kernel || (line != NULL && line[1] >= '1' && line[1] <= '9'));
    if (!whole)
        CHECK(false, "%s, %s, %s, byte %llu: %s %s (%s)", state_column_name(column), device, p->what, (ull)at, error->code,
              error->message, error->place);
}

/// How much of a violation's place names column, block and row.
static size_t place_bytes(const char *place) {
    const char *block = strstr(place, "block "), *comma = block != NULL ? strstr(block, ", ") : NULL;
    const char *end = comma != NULL ? strstr(comma + 2, ", ") : NULL;
    return end != NULL ? (size_t)(end - place) : strlen(place);
}

/// Whether both report the same. If a tile has several violations, the devices may meet another one first.
static bool alike(const zf_error *a, const zf_error *b) {
    if (strcmp(a->code, b->code) == 0 && strcmp(a->place, b->place) == 0 && strcmp(a->message, b->message) == 0) return true;
    size_t length = place_bytes(a->place);
    bool violations = strncmp(a->code, "ZF13", 4) == 0 && strncmp(b->code, "ZF13", 4) == 0;
    tally.other_violation++;
    return violations && length == place_bytes(b->place) && memcmp(a->place, b->place, length) == 0;
}

static void judge(zf_container *container, size_t column, const promise *p, uint64_t at, uint64_t begin, uint64_t end) {
    const char *devices[] = {"cpu", machine.device};
    zf_error errors[2];
    state_verdict verdicts[2];
    for (int d = 0; d < (lowered[column] ? 2 : 1); d++) {
        if (d == 1 && machine.emulated) zf_emu_set_seed(machine.accelerator, number % 8);
        verdicts[d] = state_decode(container, column, devices[d], begin, end - begin, &errors[d]);
        bool good = verdicts[d] == STATE_TOLD || (verdicts[d] == STATE_RIGHT && p->right);
        CHECK(good, "%s, %s, rows %llu..%llu: %s, byte %llu from %u to %u: %s", state_column_name(column), devices[d], (ull)begin,
              (ull)end, p->what, (ull)at, file.original[at], file.bytes[at],
              verdicts[d] == STATE_BESIDE  ? "memory beside the buffers was written"
              : verdicts[d] == STATE_WRONG ? "other rows, and nobody says so"
                                           : "nobody says so");
        if (verdicts[d] == STATE_TOLD) check_error(devices[d], column, p, at, &errors[d]);
        tally.told += verdicts[d] == STATE_TOLD;
        tally.right += verdicts[d] == STATE_RIGHT;
        tally.on_device += d == 1;
    }
    if (!lowered[column]) return;
    CHECK(verdicts[0] == verdicts[1], "%s: %s, byte %llu: the devices differ: %s %s", state_column_name(column), p->what, (ull)at,
          errors[verdicts[0] != STATE_TOLD].code, errors[verdicts[0] != STATE_TOLD].message);
    if (verdicts[0] != STATE_TOLD || verdicts[1] != STATE_TOLD) return;
    CHECK(alike(&errors[0], &errors[1]), "%s, byte %llu: the CPU says %s %s (%s), %s says %s %s (%s)", p->what, (ull)at,
          errors[0].code, errors[0].message, errors[0].place, machine.device, errors[1].code, errors[1].message, errors[1].place);
}

/// The file as it was changed, around byte `at`.
static void judge_change(size_t column, uint64_t at, const promise *p) {
    zf_error error = {0};
    zf_container *container = NULL;
    mutate_repair(&file);
    mutate_write(path, file.bytes, file.size);
    tally.changes++;
    if (zf_container_open(machine.context, path, &container, &error) != ZF_OK) {
        CHECK(false, "the index is as it was: %s %s", error.code, error.message);
    } else {
        judge(container, column, p, at, 0, STATE_ROWS);
        if (p->ranged) judge(container, column, p, at, p->begin, p->end < STATE_ROWS ? p->end : STATE_ROWS);
        tally.ranges += p->ranged;
    }
    zf_container_close(container);
    memcpy(file.bytes, file.original, file.size);
}

/// The file with this byte changed.
static void change(size_t column, uint64_t at, uint8_t value, const promise *p) {
    if (number++ % every != 0) return;
    file.bytes[at] = value;
    judge_change(column, at, p);
}

static void change_byte(size_t column, uint64_t at, const promise *p) {
    uint8_t old = file.original[at];
    const uint8_t values[] = {(uint8_t)~old, old ^ 1, (uint8_t)(old + 1), (uint8_t)(old - 1)};
    for (size_t v = 0; v < 4; v++) {
        if (v < 2 || (values[v] != values[1] && values[v] != values[0])) change(column, at, values[v], p);
    }
}

/// Entry e of a tree is where tile e + 1 begins: who decodes from within tile e into that one passes it. Says how many bytes.
static uint64_t change_entries(size_t column, uint32_t t) {
    const zf_block_view *view = &views[column];
    const zf_shape_tree *tree = &view->shape->trees[t];
    const zf_seek_view *seek = &view->seeks[t];
    char what[160];
    uint64_t bytes = 0;
    for (uint32_t f = 0; f < tree->field_count; f++) {
        bytes += seek->entries * seek->widths[f];
        for (uint64_t b = 0; b < seek->entries * seek->widths[f]; b++) {
            uint64_t e = b / seek->widths[f], half = tree->interval / 2;
            snprintf(what, sizeof what, "%s %u of `%s`, %s, entry %llu", tree->directory ? "directory" : "tree", t,
                     view->shape->edges[tree->edge].path, tree->fields[f].name, (ull)e);
            promise p = {what, false, tree->edge == 0, e * tree->interval + half, (e + 1) * tree->interval + half};
            change_byte(column, view->file_offset + seek->offsets[f] + b, &p);
        }
    }
    return bytes;
}

static bool ends_with(const char *name, const char *end) {
    return strlen(name) >= strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0;
}

/// Begins of groups said as ends of those before, if these have one element: the same place, but not as a state says it. Says how
/// many.
static uint64_t change_begins(size_t column, uint32_t t) {
    const zf_block_view *view = &views[column];
    const zf_shape_tree *tree = &view->shape->trees[t];
    const zf_seek_view *seek = &view->seeks[t];
    uint64_t changes = 0;
    for (uint32_t f = 0; f + 1 < tree->field_count; f++) {
        if (!ends_with(tree->fields[f].name, "group") || !ends_with(tree->fields[f + 1].name, "offset")) continue;
        for (uint64_t e = 0; e < seek->entries && seek->widths[f] > 0 && seek->widths[f + 1] > 0; e++) {
            uint64_t g = view->file_offset + seek->offsets[f] + e * seek->widths[f],
                     o = view->file_offset + seek->offsets[f + 1] + e * seek->widths[f + 1];
            bool begins = file.bytes[g] != 0; // so that no byte above it changes
            for (uint32_t b = 0; b < seek->widths[f + 1]; b++) begins = begins && file.bytes[o + b] == 0;
            if (!begins) continue;
            promise p = {"a group's begin", false, tree->edge == 0, e * tree->interval, (e + 1) * tree->interval - 1};
            file.bytes[g]--;
            file.bytes[o] = 1;
            judge_change(column, g, &p);
            changes++;
        }
    }
    return changes;
}

/// Changes the header's facts about trees and fields. A missing state, or a wrong number of groups of a tile, only affects
/// speed.
static void change_header(size_t column) {
    const zf_shape *shape = views[column].shape;
    uint64_t fields = 0, at = views[column].file_offset + ZF_BLOCK_FIXED_BYTES + 8 * (uint64_t)shape->param_count;
    at += 8 * (uint64_t)shape->edge_count + ZF_BLOCK_STREAM_BYTES * (uint64_t)shape->stored_count;
    for (uint32_t t = 0; t < shape->tree_count; t++) fields += shape->trees[t].field_count;
    uint64_t end = at + ZF_BLOCK_TREE_BYTES * (uint64_t)shape->tree_count + ZF_BLOCK_FIELD_BYTES * fields;
    promise p = {"the header", true, false, 0, 0};
    for (; at < end; at++) change_byte(column, at, &p);
}

static void open_good(size_t columns) {
    zf_error error = {0};
    zf_container *good = gpu_model_open(&machine, path);
    for (size_t c = 0; c < columns; c++) {
        CHECK(state_decode(good, c, "cpu", 0, STATE_ROWS, &error) == STATE_RIGHT, "%s: %s %s", state_column_name(c), error.code,
              error.message);
        state_verdict there = state_decode(good, c, machine.device, 0, STATE_ROWS, &error);
        lowered[c] = there != STATE_TOLD || error.status != ZF_ERR_UNSUPPORTED;
        CHECK(there == STATE_RIGHT || !lowered[c], "%s: %s %s", state_column_name(c), error.code, error.message);
        const uint64_t ranges[][2] = {{0, STATE_ROWS}, {0, 1}, {4097, 4}, {1003, 6000}, {STATE_ROWS - 1, 1}, {500, 0}};
        for (size_t r = 0; lowered[c] && r < sizeof ranges / sizeof *ranges; r++) {
            state_verdict own = state_decode_async(&machine, good, c, ranges[r][0], ranges[r][1], &error);
            CHECK(own == STATE_RIGHT, "%s, on a stream, %llu rows from row %llu: %d %s %s", state_column_name(c),
                  (ull)ranges[r][1], (ull)ranges[r][0], (int)own, error.code, error.message);
        }
        CHECK(zf_container_block(good, c, 0, true, &views[c], &error) == ZF_OK, "%s", error.message);
        printf("%s%s%s", c == 0 ? "" : ", ", state_column_name(c), lowered[c] ? "" : " (the CPU only)");
    }
    printf("\n");
}

int main(int argc, char **argv) {
    const char *device = "emu";
    zf_error error = {0};
    size_t columns = 0;
    uint64_t begins = 0;
    const gpu_option options[] = {{"device", NULL, &device}, {"every", &every, NULL}, {0}};
    if (!gpu_options_read(argc, argv, options) || every == 0) return 2;
    double begin = gpu_seconds();
    gpu_machine_open(&machine, device, true);
    snprintf(path, sizeof path, "%s", gpu_machine_path(&machine, "good.zfd"));
    CHECK(state_encode(&machine, STATE_ROWS, STATE_BLOCK, path, &columns, &error) == ZF_OK, "%s %s (%s)", error.code,
          error.message, error.place);
    if (check_failures == 0 && mutate_read(path, &file)) open_good(columns);
    if (!mutate_path(path, sizeof path)) return 2;
    for (size_t c = 0; c < (check_failures == 0 ? columns : 0); c++) {
        uint64_t bytes = 0;
        if (views[c].shape->tree_count == 0) continue;
        for (uint32_t t = 0; t < views[c].shape->tree_count; t++) {
            bytes += change_entries(c, t);
            begins += change_begins(c, t);
        }
        CHECK(bytes > 0, "%s has no states", state_column_name(c));
        change_header(c);
    }
    CHECK(begins > 0, "no tile begins with a group");
    CHECK(tally.other_violation <= tally.on_device / OTHERS_SHARE + 1, "another violation than the CPU's %llu times of %llu",
          (ull)tally.other_violation, (ull)tally.on_device);
    printf("{\"device\": \"%s\", \"changes\": %llu, \"ranges\": %llu, \"told\": %llu, \"right\": %llu, \"on_device\": %llu, "
           "\"another_violation_of_the_tile\": %llu, \"begins\": %llu, \"seconds\": %.1f}\n",
           machine.device, (ull)tally.changes, (ull)tally.ranges, (ull)tally.told, (ull)tally.right, (ull)tally.on_device,
           (ull)tally.other_violation, (ull)begins, gpu_seconds() - begin);
    for (size_t c = 0; c < columns; c++) zf_block_view_free(&views[c]);
    mutate_free(&file);
    unlink(path);
    gpu_machine_close(&machine);
    return check_result();
}
