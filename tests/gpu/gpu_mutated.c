// Mutated containers, their checksums made right again, on an accelerator: each gives an error that names a place, the same as on
// the CPU, or the CPU's output. Nothing outside the buffers is touched, and the accelerator still works afterwards. On a GPU no
// decode takes more than ten times as long as that of the column before it was changed.
//   gpu_mutated --device emu|cuda --tables forms,states,library --count N --seed S --ranges N --canary BYTES --general 0|1
//               --slow 0|1
#include "emulator/emu.h"
#include "tests/gpu/mutated_source.h"

typedef unsigned long long ull;

enum {
    SOURCES_MOST = 3,
    GOOD_EVERY = 50,
    GOOD_ROUNDS = 9,
    TRIES = 6,
    VALUES_MOST = 1 << 24, ///< bytes that a caller would still give for a file this small
    WORK_MOST = 1 << 26,
    OTHERS_SHARE = 50, ///< of so many failures of kernels one may name another violation than the CPU does, and one more
    CODES_MOST = 64,
    FAILURES_MOST = 20,
};
/// Where a good decode takes less than this, it is the least time that counts: then what is measured is calls of the driver and
/// of the system.
static const double least_good_seconds = 3e-4, slowest = 10;
static const double text_seconds = 1e-2; ///< that a text takes to be parsed: each decode of a damaged one parses it

static gpu_machine machine;
static mutated_source sources[SOURCES_MOST];
static size_t source_count;
static uint64_t canary = 4096, ranges = 4;
static uint64_t slow_counts = 2; ///< 0: times are not judged, as where a tool makes them long; 2: on GPUs alone
static bool lost;                ///< the context: nothing works from here on

static struct {
    uint64_t decodes, ranges, closed, refused, launched, failed, same, right, good, slow, too_large, canaries, touched;
    uint64_t other_violation, behind;
    double worst; ///< by the good one's time
    uint64_t worst_number;
    struct {
        char code[sizeof((zf_error *)0)->code];
        uint64_t count;
    } codes[CODES_MOST];
    size_t code_count;
} tally;

static uint64_t state;
static uint64_t next(uint64_t below) { return gpu_mix(state++) % below; }

// ---- Errors ---------------------------------------------------------------------------------------------------

static void count_code(const char *code) {
    size_t k = 0;
    while (k < tally.code_count && strcmp(tally.codes[k].code, code) != 0) k++;
    if (k == CODES_MOST) return;
    if (k == tally.code_count) snprintf(tally.codes[tally.code_count++].code, sizeof tally.codes[k].code, "%s", code);
    tally.codes[k].count++;
}

static void check_whole(const char *device, const zf_error *error, ull number) {
    bool good_error = strncmp(error->code, "ZF", 2) == 0 && error->message[0] != 0 && error->place[0] != 0;
    CHECK(good_error && error->status != ZF_ERR_INTERNAL && error->status != ZF_ERR_DEVICE, "%llu, %s: %s %s (%s)", number,
          device, error->code, error->message, error->place);
    lost |= strcmp(error->code, "ZF1109") == 0;
}

/// How much of a violation's place names column, block and row.
static size_t place_bytes(const char *place) {
    const char *block = strstr(place, "block "), *comma = block != NULL ? strstr(block, ", ") : NULL;
    const char *end = comma != NULL ? strstr(comma + 2, ", ") : NULL;
    return end != NULL ? (size_t)(end - place) : strlen(place);
}

/// Whether a device need not tell of a violation (docs/internals/gpu-kernels.md): the column's rows are checked one by one, and
/// this one, which is not wanted, lies in a tile of the CPU's with rows that are.
static bool elsewhere(const mutated_source *s, size_t column, const zf_error *error, const zf_decode_options *options) {
    const uint64_t tile = 4096; // and so is a block
    const char *row = strstr(error->place, ", row ");
    bool fewer = s->columns == NULL || s->columns[column].fewer_checked;
    if (row == NULL || !options->some_rows || !fewer || strcmp(error->code, "ZF1301") != 0) return false;
    uint64_t at = strtoull(row + strlen(", row "), NULL, 10), end = options->row_begin + options->row_count;
    bool wanted = at >= options->row_begin && at < end;
    return !wanted && options->row_begin < at / tile * tile + tile && end > at / tile * tile;
}

/// Whether both report the same. If a tile of groups has several violations, the devices may meet another one first
/// (tests/differential): then the place is the same up to the row.
static bool alike(const mutated_source *s, size_t column, const zf_error *a, const zf_error *b) {
    if (strcmp(a->code, b->code) == 0 && strcmp(a->place, b->place) == 0 && strcmp(a->message, b->message) == 0) return true;
    size_t length = place_bytes(a->place);
    bool violations = strncmp(a->code, "ZF13", 4) == 0 && strncmp(b->code, "ZF13", 4) == 0;
    bool groups = s->columns == NULL || s->columns[column].groups;
    if (!groups || !violations || length != place_bytes(b->place) || memcmp(a->place, b->place, length) != 0) return false;
    tally.other_violation++;
    return true;
}

// ---- Good decodes ---------------------------------------------------------------------------------------------

/// The file as it was: the context is whole.
static void decode_good(mutated_source *s, size_t column) {
    zf_error error = {0};
    zf_decode_sizes sizes = {0};
    zf_decode_options options = {.threads = 1};
    outcome o = {0};
    if (lost) return;
    o.status = zf_decode_size(s->good, column, &options, &sizes, &error);
    if (o.status == ZF_OK) outcome_there(&machine, s->good, column, &options, &sizes, canary, false, &o);
    CHECK(o.status == ZF_OK, "the file as it was: %s %s (%s)", o.error.code, o.error.message, o.error.place);
    lost |= o.status != ZF_OK;
    if (o.status == ZF_OK)
        CHECK(outcome_same(&s->wanted[column], &o), "the file as it was: %s, column %d", s->table, (int)column);
    if (s->good_seconds[column] == 0 || o.seconds < s->good_seconds[column]) s->good_seconds[column] = o.seconds;
    outcome_free(&o);
    tally.good++;
}

static void decode_all_good(void) {
    for (size_t k = 0; k < source_count; k++) {
        for (size_t c = 0; c < sources[k].column_count; c++) decode_good(&sources[k], c);
    }
}

// ---- Mutations ------------------------------------------------------------------------------------------------

/// A part of the file, by how far a change there leads: most where it reaches kernels.
static const zf_container_part *choose_part(const mutated_source *s) {
    static const struct {
        const char *kind;
        unsigned weight;
    } kinds[] = {{"stream", 48}, {"seek", 24}, {"block header", 16}, {"index", 9}, {"text", 1}, {"header", 1}, {"footer", 1}};
    uint64_t at = next(100);
    unsigned k = 0;
    while (at >= kinds[k].weight) at -= kinds[k++].weight;
    size_t of_kind = 0;
    for (size_t p = 0; p < s->part_count; p++) of_kind += strcmp(s->parts[p].kind, kinds[k].kind) == 0;
    size_t chosen = next(of_kind);
    for (size_t p = 0; p < s->part_count; p++) {
        if (strcmp(s->parts[p].kind, kinds[k].kind) == 0 && chosen-- == 0) return &s->parts[p];
    }
    return &s->parts[0];
}

static void edit(const mutated *file, const zf_container_part *part) {
    static const uint64_t edges[] = {0, 1, UINT64_MAX, UINT64_C(1) << 31, UINT32_MAX, UINT64_C(1) << 63, 4096, 255};
    uint8_t *bytes = file->bytes + part->offset;
    uint64_t at = next(part->bytes), left = part->bytes - at, size = left >= 8 && next(2) == 0 ? 8 : left >= 4 ? 4 : 1;
    switch (next(6)) {
    case 0: bytes[at] = (uint8_t)next(256); break;
    case 1: bytes[at] ^= (uint8_t)(1u << next(8)); break;
    case 2: bytes[at] = (uint8_t)(bytes[at] + (next(2) == 0 ? 1 : -1)); break;
    case 3: memcpy(bytes + at, &edges[next(sizeof edges / sizeof edges[0])], size); break;
    case 4: memcpy(bytes + at, file->original + part->offset + next(part->bytes - size + 1), size); break;
    default:
        for (uint64_t i = 0; i < size; i++) bytes[at + i] = (uint8_t)gpu_mix(state++);
    }
}

/// A changed file's column, and how it is decoded.
typedef struct attempt {
    mutated_source *source;
    zf_container *container;
    size_t column;
    zf_decode_options options;
    zf_decode_sizes sizes;
    ull number;
} attempt;

static void check_times(const attempt *a, const outcome *first) {
    const mutated_source *s = a->source;
    double good_bytes = (double)(s->wanted[a->column].bytes + 1), bytes = first->status == ZF_OK ? (double)first->bytes : 0;
    double larger = bytes > good_bytes ? bytes / good_bytes : 1, seconds = first->seconds;
    double usual = larger * s->good_seconds[a->column], least = larger * least_good_seconds;
    if (first->status != ZF_OK && first->launches == 0) least += text_seconds; // refused by the host, perhaps for its text
    if (usual < least) usual = least;
    for (int k = 1; k < TRIES && seconds > slowest * usual && !lost; k++) {
        outcome again; // the first one may have compiled, or waited for the machine
        outcome_there(&machine, a->container, a->column, &a->options, &a->sizes, canary, true, &again);
        CHECK(again.status == first->status && strcmp(again.error.message, first->error.message) == 0,
              "%llu: another outcome the next time: %s %s", a->number, again.error.code, again.error.message);
        if (again.seconds < seconds) seconds = again.seconds;
        outcome_free(&again);
    }
    bool slow = seconds > slowest * usual;
    tally.slow += slow;
    if (seconds / usual > tally.worst) tally.worst = seconds / usual, tally.worst_number = a->number;
    CHECK(!slow, "%llu: %s, column %d took %g s, where %g s are usual", a->number, s->table, (int)a->column, seconds, usual);
}

/// Whether a violation is in an element of an edge, of which a device may decode what the rows of a range want.
static bool of_an_edge(const attempt *a, const zf_error *error) {
    return a->options.some_rows && strstr(error->place, ", element ") != NULL && strncmp(error->code, "ZF13", 4) == 0;
}

/// Whether a range has nothing of a violation, and whoever decodes all rows is told.
static bool behind_the_range(const attempt *a, const zf_error *error) {
    outcome all;
    zf_decode_sizes sizes = {0};
    zf_decode_options options = {.threads = 1};
    if (!of_an_edge(a, error) || zf_decode_size(a->container, a->column, &options, &sizes, &all.error) != ZF_OK) return false;
    outcome_there(&machine, a->container, a->column, &options, &sizes, canary, true, &all);
    bool told = all.status == ZF_ERR_INPUT;
    outcome_free(&all);
    tally.behind += told;
    return told;
}

static void judge(const attempt *a, const char *name, const outcome *here, const outcome *there) {
    const mutated_source *s = a->source;
    const zf_error *error = &here->error;
    if (here->status != ZF_OK) {
        check_whole("cpu", error, a->number);
        bool told = there->status != ZF_OK || elsewhere(s, a->column, error, &a->options) || behind_the_range(a, error);
        CHECK(told, "%llu: rows %llu.. (%llu) of column %s decode, where the CPU says: %s %s (%s)", a->number,
              (ull)a->options.row_begin, (ull)a->options.row_count, name, error->code, error->message, error->place);
        tally.refused += there->launches == 0;
        tally.failed += there->launches > 0;
    } else {
        bool beside =
            there->status != ZF_OK && (elsewhere(s, a->column, &there->error, &a->options) || of_an_edge(a, &there->error));
        tally.behind += beside;
        CHECK(there->status == ZF_OK || beside, "%llu: column %s does not decode, as it does on the CPU", a->number, name);
        if (there->status == ZF_OK) {
            CHECK(outcome_same(here, there), "%llu: column %s has other values than on the CPU", a->number, name);
            tally.same++;
            tally.right += !a->options.some_rows && outcome_same(&s->wanted[a->column], there);
        }
    }
    if (there->status == ZF_OK) return;
    count_code(there->error.code);
    check_whole(machine.device, &there->error, a->number);
    if (here->status == ZF_OK) return;
    // The CPU's is in a row that is not wanted: the device may report the first one that is.
    bool unwanted = elsewhere(s, a->column, error, &a->options) || of_an_edge(a, error);
    bool other = unwanted && strncmp(there->error.code, "ZF13", 4) == 0;
    CHECK(alike(s, a->column, error, &there->error) || other,
          "%llu: column %s, rows %llu.. (%llu): the CPU says %s %s (%s), %s says %s %s (%s)", a->number, name,
          (ull)a->options.row_begin, (ull)a->options.row_count, error->code, error->message, error->place, machine.device,
          there->error.code, there->error.message, there->error.place);
}

/// False where the file asks for more memory than anybody would give.
static bool compare(attempt *a) {
    zf_column_info info = {0};
    uint64_t all = zf_container_rows(a->container);
    outcome here = {0}, there;
    a->options = (zf_decode_options){.threads = 1};
    if (next(ranges) == 0 && all > 0) {
        a->options.some_rows = true;
        a->options.row_begin = next(all);
        a->options.row_count = next(all - a->options.row_begin) + 1;
        tally.ranges++;
    }
    CHECK(zf_container_column(a->container, a->column, &info, &here.error) == ZF_OK, "%llu: %s", a->number, here.error.message);
    here.status = zf_decode_size(a->container, a->column, &a->options, &a->sizes, &here.error);
    if (here.status == ZF_OK && (a->sizes.values > VALUES_MOST || a->sizes.workspace > WORK_MOST)) return false;
    if (here.status == ZF_OK) outcome_here(a->container, a->column, &a->options, &a->sizes, &here);
    CHECK(!here.outside, "%llu: the CPU's code wrote outside the buffers of column %s", a->number, info.name);
    if (machine.emulated) zf_emu_set_seed(machine.accelerator, a->number % 8);
    outcome_there(&machine, a->container, a->column, &a->options, &a->sizes, canary, true, &there);
    tally.decodes++;
    tally.launched += there.launches > 0;
    tally.canaries += canary > 0;
    tally.touched += here.outside + there.outside;
    judge(a, info.name, &here, &there);
    if (slow_counts == 1 || (slow_counts == 2 && !machine.emulated)) check_times(a, &there);
    outcome_free(&here);
    outcome_free(&there);
    return true;
}

static bool attack(ull number) {
    zf_error error = {0};
    mutated_source *s = &sources[next(source_count)];
    attempt a = {.source = s, .number = number};
    memcpy(s->file.bytes, s->file.original, s->file.size);
    const zf_container_part *part = choose_part(s);
    a.column = part->column >= 0 ? (size_t)part->column : next(s->column_count);
    for (uint64_t edits = 1 + next(3); edits > 0; edits--) edit(&s->file, part);
    if (memcmp(s->file.bytes, s->file.original, s->file.size) == 0) return false;
    mutate_repair(&s->file);
    bool counts = true;
    if (zf_container_open_memory(machine.context, s->file.bytes, s->file.size, NULL, &a.container, &error) != ZF_OK) {
        check_whole("opening", &error, number);
        count_code(error.code);
        tally.closed++;
    } else if (a.column < zf_container_columns(a.container)) {
        counts = compare(&a);
        tally.too_large += !counts;
    }
    zf_container_close(a.container);
    return counts;
}

// ---- The run --------------------------------------------------------------------------------------------------

static void report(const char *tables, ull seed, ull done, double prepared, double seconds) {
    size_t columns = 0;
    for (size_t k = 0; k < source_count; k++) columns += sources[k].column_count;
    printf(
        "{\"program\": \"gpu_mutated\", \"device\": \"%s\", \"tables\": \"%s\", \"columns\": %zu, \"seed\": %llu, \"mutated\": "
        "%llu, \"not_opened\": %llu, \"refused_by_the_host\": %llu, \"launched\": %llu, \"failed_in_a_kernel\": %llu, "
        "\"another_violation_of_the_tile\": %llu, \"behind_the_range\": %llu, \"same_as_cpu\": %llu, \"of_these_right\": %llu, "
        "\"ranges\": %llu, "
        "\"too_large\": %llu, \"good_decodes\": %llu, \"between_canaries\": %llu, \"canaries_touched\": %llu, "
        "\"contexts_lost\": %d, \"slow\": %llu, \"slowest_by_the_good_one\": [%.2f, %llu], \"errors\": {",
        machine.device, tables, columns, seed, done, (ull)tally.closed, (ull)tally.refused, (ull)tally.launched,
        (ull)tally.failed, (ull)tally.other_violation, (ull)tally.behind, (ull)tally.same, (ull)tally.right, (ull)tally.ranges,
        (ull)tally.too_large, (ull)tally.good, (ull)tally.canaries, (ull)tally.touched, lost, (ull)tally.slow, tally.worst,
        (ull)tally.worst_number);
    for (size_t k = 0; k < tally.code_count; k++)
        printf("%s\"%s\": %llu", k == 0 ? "" : ", ", tally.codes[k].code, (ull)tally.codes[k].count);
    printf("}, \"preparing_seconds\": %.2f, \"seconds\": %.2f, \"failures\": %d}\n", prepared, seconds, check_failures);
}

static uint64_t mutate_all(uint64_t count, uint64_t seed) {
    uint64_t done = 0, number = 0;
    for (; done < count && check_failures < FAILURES_MOST && !lost; number++) {
        state = gpu_mix(seed + number);
        done += attack(number);
        mutated_source *s = &sources[number / GOOD_EVERY % source_count];
        if (number % GOOD_EVERY == GOOD_EVERY - 1) decode_good(s, next(s->column_count));
        CHECK(number < 4 * count + 100, "most mutations change nothing, or ask for too much");
        if (number >= 4 * count + 100) break;
    }
    decode_all_good();
    CHECK(tally.launched * 2 >= done, "of %llu mutations %llu launched a kernel", (ull)done, (ull)tally.launched);
    // A few: were it the rule, the devices would not check the same.
    CHECK(tally.other_violation * OTHERS_SHARE <= tally.failed + OTHERS_SHARE, "%llu of %llu failures are of another violation",
          (ull)tally.other_violation, (ull)tally.failed);
    CHECK(!lost, "the accelerator's context was lost");
    return done;
}

static bool open_sources(const char *tables) {
    static char names[200];
    snprintf(names, sizeof names, "%s", tables);
    for (char *rest = NULL, *name = strtok_r(names, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        CHECK(source_count < SOURCES_MOST, "too many tables");
        if (source_count == SOURCES_MOST || !source_open(&machine, name, &sources[source_count])) return false;
        source_count++;
    }
    return source_count > 0;
}

int main(int argc, char **argv) {
    const char *device = "emu", *tables = "forms";
    uint64_t count = 2000, seed = 1, general = 0;
    const gpu_option options[] = {{"device", NULL, &device},   {"tables", NULL, &tables},    {"count", &count, NULL},
                                  {"seed", &seed, NULL},       {"ranges", &ranges, NULL},    {"canary", &canary, NULL},
                                  {"general", &general, NULL}, {"slow", &slow_counts, NULL}, {0}};
    if (!gpu_options_read(argc, argv, options) || ranges == 0) return 2;
    double begin = gpu_seconds();
    gpu_machine_open(&machine, device, general != 0);
    if (!open_sources(tables)) return 1 + check_result();
    for (int round = 0; round < (machine.emulated ? 1 : GOOD_ROUNDS); round++) decode_all_good();
    double prepared = gpu_seconds() - begin;
    uint64_t done = mutate_all(count, seed);
    report(tables, (ull)seed, (ull)done, prepared, gpu_seconds() - begin);
    for (size_t k = 0; k < source_count; k++) source_close(&sources[k]);
    gpu_machine_close(&machine);
    return check_result();
}
