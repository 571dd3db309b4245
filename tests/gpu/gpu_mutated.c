// Mutated containers, their checksums made right again, on an accelerator: each gives an error that names a place, the same as on
// the CPU, or the CPU's output. Nothing outside the buffers is touched, the accelerator still works afterwards, and no decode
// takes more than ten times as long as that of the column before it was changed.
//   gpu_mutated --device emu|cuda --count N --seed S --canary BYTES --general 0|1 --slow 0|1
#include "emulator/emu.h"
#include "tests/gpu/gpu_decode.h"
#include "tests/hostile/mutate.h"

typedef unsigned long long ull;

enum {
    BLOCK = 4096,
    ROWS = 2 * BLOCK + 500,
    PARTS_MOST = 4096,
    GOOD_EVERY = 50,
    TRIES = 6,
    VALUES_MOST = 1 << 24, ///< bytes that a caller would still give for a file this small
    WORK_MOST = 1 << 26,
    HOST_CANARY = 256,
    OTHERS_SHARE = 50, ///< of so many failures of kernels one may name another violation than the CPU does, and one more
};
/// Where a good decode takes less than this, it is the least time that counts, on a GPU and on the emulator: then what is
/// measured is calls of the driver and of the system.
static const double least_good_seconds[2] = {3e-4, 1e-3}, slowest = 10;
static const double text_seconds = 1e-2; ///< that a text takes to be parsed: each decode of a damaged one parses it

static gpu_machine machine;
static mutated file;
static zf_container_part parts[PARTS_MOST];
static size_t part_count, column_count;
static const gpu_column *columns;
static double good_seconds[64];
static zf_container *good;
static uint64_t canary = 4096, slow_counts = 1; ///< 0: times are not judged, as where a tool makes them long

static struct {
    uint64_t decodes, closed, refused, launched, failed, same, right, good, slow, too_large, canaries, other_violation;
    double worst; ///< by the good one's time
    uint64_t worst_number;
} tally;

static uint64_t state;
static uint64_t next(uint64_t below) { return gpu_mix(state++) % below; }

// ---- Both devices ---------------------------------------------------------------------------------------------

static void check_whole(const char *device, const zf_error *error, ull number) {
    bool good_error = strncmp(error->code, "ZF", 2) == 0 && error->message[0] != 0 && error->place[0] != 0;
    CHECK(good_error && error->status != ZF_ERR_INTERNAL && error->status != ZF_ERR_DEVICE, "%llu, %s: %s %s (%s)", number,
          device, error->code, error->message, error->place);
    if (strcmp(error->code, "ZF1109") == 0) exit(check_result()); // nothing works from here on
}

/// How much of a violation's place names column, block and row.
static size_t place_bytes(const char *place) {
    const char *block = strstr(place, "block "), *comma = block != NULL ? strstr(block, ", ") : NULL;
    const char *end = comma != NULL ? strstr(comma + 2, ", ") : NULL;
    return end != NULL ? (size_t)(end - place) : strlen(place);
}

/// Whether a device need not tell of a violation (docs/internals/gpu-kernels.md): the column's rows are checked one by one, and
/// this one, which is not wanted, lies in a tile of the CPU's with rows that are.
static bool elsewhere(const gpu_column *column, const zf_error *error, const zf_decode_options *options) {
    const uint64_t tile = 4096; // and so is a block
    const char *row = strstr(error->place, ", row ");
    if (row == NULL || !options->some_rows || !column->fewer_checked || strcmp(error->code, "ZF1301") != 0) return false;
    uint64_t at = strtoull(row + strlen(", row "), NULL, 10), end = options->row_begin + options->row_count;
    bool wanted = at >= options->row_begin && at < end;
    return !wanted && options->row_begin < at / tile * tile + tile && end > at / tile * tile;
}

/// Whether both report the same. If a tile of groups has several violations, the devices may meet another one first
/// (tests/differential): then the place is the same up to the row.
static bool alike(const gpu_column *column, const zf_error *a, const zf_error *b) {
    if (strcmp(a->code, b->code) == 0 && strcmp(a->place, b->place) == 0 && strcmp(a->message, b->message) == 0) return true;
    size_t length = place_bytes(a->place);
    bool violations = strncmp(a->code, "ZF13", 4) == 0 && strncmp(b->code, "ZF13", 4) == 0;
    if (!column->groups || !violations || length != place_bytes(b->place) || memcmp(a->place, b->place, length) != 0)
        return false;
    tally.other_violation++;
    return true;
}

/// On the CPU, between canaries. The values are the caller's to free; NULL after an error.
static uint8_t *decode_here(zf_container *container, size_t column, const zf_decode_options *options,
                            const zf_decode_sizes *sizes, ull number, zf_error *error) {
    const size_t bytes[2] = {sizes->values, sizes->workspace};
    uint8_t *maps[2];
    for (int k = 0; k < 2; k++) {
        maps[k] = aligned_alloc(64, (2 * HOST_CANARY + bytes[k] + 63) / 64 * 64);
        memset(maps[k], 0x5c, 2 * HOST_CANARY + bytes[k]);
    }
    zf_decode_buffers buffers = {.values = maps[0] + HOST_CANARY, .workspace = maps[1] + HOST_CANARY, ZF_DECODE_BYTES(*sizes)};
    zf_status status = zf_decode(container, column, "cpu", options, &buffers, NULL, error);
    for (int k = 0; k < 2; k++) {
        unsigned touched = 0;
        for (size_t i = 0; i < HOST_CANARY; i++) touched += maps[k][i] != 0x5c || maps[k][HOST_CANARY + bytes[k] + i] != 0x5c;
        if (touched > 0) CHECK(false, "%llu: the CPU's code wrote outside buffer %d", number, k);
    }
    uint8_t *values = status == ZF_OK ? malloc(sizes->values + 1) : NULL;
    if (values != NULL) memcpy(values, maps[0] + HOST_CANARY, sizes->values);
    free(maps[0]);
    free(maps[1]);
    return values;
}

typedef struct outcome {
    zf_status status;
    zf_error error;
    uint64_t launches;
    double seconds;
    uint8_t *values; ///< as zf_decode gives them
} outcome;

/// Booleans: bits behind the last row are nobody's.
static void take_values(gpu_decode *d, unsigned bits, uint64_t rows, size_t bytes, outcome *out) {
    out->values = calloc(1, bytes + 1);
    if (bits != 1) {
        memcpy(out->values, d->copy + d->sizes.skip, bytes);
        return;
    }
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t at = d->sizes.skip + i;
        out->values[i / 8] |= (uint8_t)((d->copy[at / 8] >> (at % 8) & 1) << (i % 8));
    }
}

static void decode_there(zf_container *container, size_t column, const zf_decode_options *options, unsigned bits, uint64_t rows,
                         size_t bytes, ull number, outcome *out) {
    gpu_decode d;
    zf_decode_stats stats = {0};
    *out = (outcome){0};
    out->status = gpu_decode_open(&machine, container, column, options, canary, NULL, &d, &out->error);
    out->seconds = d.prepare_seconds;
    if (out->status == ZF_OK) {
        double begin = gpu_work_seconds(&machine);
        out->status = gpu_decode_queue(&d, &out->error);
        zf_error waited;
        zf_status status = gpu_decode_wait(&d, &stats, &waited);
        if (out->status == ZF_OK) out->status = status, out->error = waited;
        out->seconds += gpu_work_seconds(&machine) - begin;
        out->launches = stats.launches;
        const char *touched = gpu_decode_touched(&d);
        CHECK(touched == NULL, "%llu: a canary of %s was touched", number, touched);
        tally.canaries += canary > 0 ? 6 : 0;
        if (out->status == ZF_OK) {
            out->status = gpu_decode_fetch(&d, &out->error);
            if (out->status == ZF_OK) take_values(&d, bits, rows, bytes, out);
        }
    }
    gpu_decode_close(&d);
}

// ---- Good decodes ---------------------------------------------------------------------------------------------

static void decode_good(size_t column) {
    outcome o;
    decode_there(good, column, NULL, columns[column].bits, ROWS, gpu_column_bytes(&columns[column], ROWS), 0, &o);
    CHECK(o.status == ZF_OK, "the file as it was: %s %s (%s)", o.error.code, o.error.message, o.error.place);
    if (o.status != ZF_OK) exit(check_result());
    uint64_t wrong = gpu_column_wrong(&columns[column], 0, ROWS, 0, o.values, 0, 1);
    CHECK(wrong == 0, "the file as it was: %llu rows of column %s are wrong", (ull)wrong, columns[column].name);
    if (good_seconds[column] == 0 || o.seconds < good_seconds[column]) good_seconds[column] = o.seconds;
    free(o.values);
    tally.good++;
}

// ---- Mutations ------------------------------------------------------------------------------------------------

static void note_part(void *user, const zf_container_part *part) {
    (void)user;
    if (part->bytes > 0 && part_count < PARTS_MOST) parts[part_count++] = *part;
}

/// A part of the file, by how far a change there leads: most where it reaches kernels.
static const zf_container_part *choose_part(void) {
    static const struct {
        const char *kind;
        unsigned weight;
    } kinds[] = {{"stream", 48}, {"seek", 24}, {"block header", 16}, {"index", 9}, {"text", 1}, {"header", 1}, {"footer", 1}};
    uint64_t at = next(100);
    unsigned k = 0;
    while (at >= kinds[k].weight) at -= kinds[k++].weight;
    size_t of_kind = 0;
    for (size_t p = 0; p < part_count; p++) of_kind += strcmp(parts[p].kind, kinds[k].kind) == 0;
    size_t chosen = next(of_kind);
    for (size_t p = 0; p < part_count; p++) {
        if (strcmp(parts[p].kind, kinds[k].kind) == 0 && chosen-- == 0) return &parts[p];
    }
    return &parts[0];
}

static void edit(const zf_container_part *part) {
    static const uint64_t edges[] = {0, 1, UINT64_MAX, UINT64_C(1) << 31, UINT32_MAX, UINT64_C(1) << 63, 4096, 255};
    uint8_t *bytes = file.bytes + part->offset;
    uint64_t at = next(part->bytes), left = part->bytes - at, size = left >= 8 && next(2) == 0 ? 8 : left >= 4 ? 4 : 1;
    switch (next(6)) {
    case 0: bytes[at] = (uint8_t)next(256); break;
    case 1: bytes[at] ^= (uint8_t)(1u << next(8)); break;
    case 2: bytes[at] = (uint8_t)(bytes[at] + (next(2) == 0 ? 1 : -1)); break;
    case 3: memcpy(bytes + at, &edges[next(sizeof edges / sizeof edges[0])], size); break;
    case 4: memcpy(bytes + at, file.original + part->offset + next(part->bytes - size + 1), size); break;
    default:
        for (uint64_t i = 0; i < size; i++) bytes[at + i] = (uint8_t)gpu_mix(state++);
    }
}

static void check_times(zf_container *container, size_t column, const zf_decode_options *options, const outcome *first,
                        unsigned bits, uint64_t rows, size_t bytes, ull number) {
    uint64_t good_bytes = gpu_column_bytes(&columns[column], ROWS);
    double larger = bytes > good_bytes ? (double)bytes / (double)good_bytes : 1, seconds = first->seconds;
    double usual = larger * good_seconds[column], least = larger * least_good_seconds[machine.emulated];
    if (first->status != ZF_OK && first->launches == 0) least += text_seconds; // refused by the host, perhaps for its text
    for (int k = 1; k < TRIES && seconds > slowest * usual && slow_counts != 0; k++) {
        outcome again; // the first one may have compiled, or waited for the machine
        decode_there(container, column, options, bits, rows, bytes, number, &again);
        CHECK(again.status == first->status && strcmp(again.error.message, first->error.message) == 0,
              "%llu: another outcome the next time: %s %s", number, again.error.code, again.error.message);
        if (again.seconds < seconds) seconds = again.seconds;
        free(again.values);
    }
    bool slow = seconds > slowest * (usual > least ? usual : least);
    tally.slow += slow;
    if (seconds / usual > tally.worst) tally.worst = seconds / usual, tally.worst_number = number;
    CHECK(!slow || slow_counts == 0, "%llu: column %zu took %g s, where %g s are usual", number, column, seconds, usual);
}

/// False where the file asks for more memory than anybody would give.
static bool compare(zf_container *container, size_t column, ull number) {
    zf_error error = {0};
    zf_decode_sizes sizes = {0};
    zf_column_info info = {0};
    zf_decode_options options = {.threads = 1};
    uint64_t all = zf_container_rows(container);
    if (next(4) == 0 && all > 0) {
        options.some_rows = true;
        options.row_begin = next(all);
        options.row_count = next(all - options.row_begin) + 1;
    }
    CHECK(zf_container_column(container, column, &info, &error) == ZF_OK, "%llu: %s", number, error.message);
    zf_status status = zf_decode_size(container, column, &options, &sizes, &error);
    if (status == ZF_OK && (sizes.values > VALUES_MOST || sizes.workspace > WORK_MOST)) return false;
    uint8_t *values = status == ZF_OK ? decode_here(container, column, &options, &sizes, number, &error) : NULL;
    uint64_t rows = options.some_rows ? options.row_count : all;
    unsigned bits = info.type.element == ZF_BOOL ? 1 : columns[column].bits;
    size_t bytes = status == ZF_OK ? sizes.values : 0;
    outcome there;
    if (machine.emulated) zf_emu_set_seed(machine.accelerator, number % 8);
    decode_there(container, column, &options, bits, rows, bytes, number, &there);
    tally.decodes++;
    tally.launched += there.launches > 0;
    if (values == NULL) {
        check_whole("cpu", &error, number);
        CHECK(there.status != ZF_OK || elsewhere(&columns[column], &error, &options),
              "%llu: rows %llu.. (%llu) of column %s decode, where the CPU says: %s %s (%s)", number, (ull)options.row_begin,
              (ull)options.row_count, info.name, error.code, error.message, error.place);
        tally.refused += there.launches == 0;
        tally.failed += there.launches > 0;
    } else {
        CHECK(there.status == ZF_OK, "%llu: column %s does not decode, as it does on the CPU", number, info.name);
        if (there.status == ZF_OK) {
            CHECK(memcmp(values, there.values, bytes) == 0, "%llu: column %s has other values than on the CPU", number,
                  info.name);
            tally.same++;
            tally.right += rows == ROWS && gpu_column_wrong(&columns[column], 0, ROWS, 0, there.values, 0, 1) == 0;
        }
    }
    if (there.status != ZF_OK) {
        check_whole(machine.device, &there.error, number);
        CHECK(values != NULL || alike(&columns[column], &error, &there.error),
              "%llu: the CPU says %s %s (%s), %s says %s %s (%s)", number, error.code, error.message, error.place, machine.device,
              there.error.code, there.error.message, there.error.place);
    }
    check_times(container, column, &options, &there, bits, rows, bytes, number);
    free(values);
    free(there.values);
    return true;
}

static bool attack(const char *path, ull number) {
    zf_error error = {0};
    zf_container *container = NULL;
    memcpy(file.bytes, file.original, file.size);
    const zf_container_part *part = choose_part();
    size_t column = part->column >= 0 ? (size_t)part->column : next(column_count);
    for (uint64_t edits = 1 + next(3); edits > 0; edits--) edit(part);
    if (memcmp(file.bytes, file.original, file.size) == 0) return false;
    mutate_repair(&file);
    mutate_write(path, file.bytes, file.size);
    bool counts = true;
    if (zf_container_open(machine.context, path, &container, &error) != ZF_OK) {
        check_whole("opening", &error, number);
        tally.closed++;
    } else if (column < zf_container_columns(container)) {
        counts = compare(container, column, number);
        tally.too_large += !counts;
    }
    zf_container_close(container);
    return counts;
}

int main(int argc, char **argv) {
    const char *device = "emu", *names[2];
    uint64_t count = 2000, seed = 1, general = 0;
    char paths[2][400];
    const gpu_option options[] = {{"device", NULL, &device},
                                  {"count", &count, NULL},
                                  {"seed", &seed, NULL},
                                  {"canary", &canary, NULL},
                                  {"general", &general, NULL},
                                  {"slow", &slow_counts, NULL},
                                  {0}};
    if (!gpu_options_read(argc, argv, options)) return 2;
    double begin = gpu_seconds();
    columns = gpu_columns(&column_count);
    gpu_machine_open(&machine, device, general != 0);
    zf_error error = {0};
    names[0] = "good.zfd", names[1] = "mutated.zfd";
    for (int k = 0; k < 2; k++) snprintf(paths[k], sizeof paths[k], "%s", gpu_machine_path(&machine, names[k]));
    CHECK(gpu_encode(&machine, "forms", ROWS, BLOCK, 0, paths[0], &error) == ZF_OK, "%s %s (%s)", error.code, error.message,
          error.place);
    if (check_failures > 0 || !mutate_read(paths[0], &file)) return 1 + check_result();
    good = gpu_model_open(&machine, paths[0]);
    CHECK(zf_container_account(good, note_part, NULL, &error) == ZF_OK && part_count < PARTS_MOST, "%s", error.message);
    close(open(paths[1], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (int round = 0; round < 9; round++) {
        for (size_t c = 0; c < column_count; c++) decode_good(c);
    }
    double prepared = gpu_seconds() - begin;
    uint64_t done = 0, number = 0;
    for (; done < count && check_failures < 20; number++) {
        state = gpu_mix(seed + number);
        done += attack(paths[1], number);
        if (number % GOOD_EVERY == GOOD_EVERY - 1) decode_good(next(column_count));
        CHECK(number < 4 * count + 100, "most mutations change nothing, or ask for too much");
        if (number >= 4 * count + 100) break;
    }
    for (size_t c = 0; c < column_count; c++) decode_good(c);
    CHECK(tally.launched * 2 >= done, "of %llu mutations %llu launched a kernel", (ull)done, (ull)tally.launched);
    // A few: were it the rule, the devices would not check the same.
    CHECK(tally.other_violation * OTHERS_SHARE <= tally.failed + OTHERS_SHARE, "%llu of %llu failures are of another violation",
          (ull)tally.other_violation, (ull)tally.failed);
    printf("{\"program\": \"gpu_mutated\", \"device\": \"%s\", \"seed\": %llu, \"mutated\": %llu, \"not_opened\": %llu, "
           "\"refused_by_the_host\": %llu, \"launched\": %llu, \"failed_in_a_kernel\": %llu, \"another_violation_of_the_tile\": "
           "%llu, \"same_as_cpu\": %llu, "
           "\"of_these_right\": %llu, \"too_large\": %llu, \"good_decodes\": %llu, \"canaries_checked\": %llu, \"slow\": %llu, "
           "\"slowest_by_the_good_one\": [%.2f, %llu], \"preparing_seconds\": %.2f, \"seconds\": %.2f, \"failures\": %d}\n",
           device, (ull)seed, (ull)done, (ull)tally.closed, (ull)tally.refused, (ull)tally.launched, (ull)tally.failed,
           (ull)tally.other_violation, (ull)tally.same, (ull)tally.right, (ull)tally.too_large, (ull)tally.good,
           (ull)tally.canaries, (ull)tally.slow, tally.worst, (ull)tally.worst_number, prepared, gpu_seconds() - begin,
           check_failures);
    mutate_free(&file);
    gpu_machine_close(&machine);
    return check_result();
}
