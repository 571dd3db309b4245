// The trials of bench/peers/damage.py on zipflow: each column of a table damaged in the ways in which that damages a chunk of
// nvCOMP's, once as a medium damages it and once with all checksums made right again, as somebody would who means harm.
//   gpu_damage --device emu|cuda --tables forms,states,library --every N
// --every: one column in so many. Prints a line of JSON: what came of the trials, by the way and in both forms.
#include "tests/gpu/mutated_source.h"

typedef enum damage_result {
    DAMAGE_RIGHT,   ///< the rows as they were
    DAMAGE_REFUSED, ///< an error with code and place
    DAMAGE_OTHER,   ///< the file is a valid one with other rows: the CPU makes the same of it
    DAMAGE_WRONG,   ///< other rows, and nobody says so
    DAMAGE_LOST,    ///< nothing works from here on
    DAMAGE_RESULTS,
} damage_result;

typedef enum damage_way {
    FLIP,
    BYTES,
    HEADER,
    HEADER_FF,
    SIZE_HALF,
    SIZE_LESS,
    SIZE_8,
    SIZE_0,
    ZEROS,
    GARBAGE,
    TOO_SMALL,
    WAYS
} damage_way;

static const struct {
    const char *name;
    unsigned trials;
} ways[WAYS] = {{"flip-1-bit", 6},     {"8-random-bytes", 3}, {"header-random", 2},   {"header-ff", 1},
                {"size-half", 2},      {"size-minus-1", 2},   {"size-8", 1},          {"size-0", 1},
                {"half-and-zeros", 2}, {"garbage", 2},        {"output-too-small", 1}};

enum { CANARY_BYTES = 4096, HEADER_BYTES = 16, VALUES_MOST = 1 << 24, WORK_MOST = 1 << 26 };

static gpu_machine machine;
static mutated_source source;
static uint64_t counts[2][WAYS][DAMAGE_RESULTS], outside;
static bool lost;

static uint64_t state;
static uint64_t next(uint64_t below) { return gpu_mix(state++) % below; }

// ---- Damage ---------------------------------------------------------------------------------------------------

/// Bytes of the file from `at` to `end`: a block.
static void damage(damage_way way, uint8_t *bytes, uint64_t at, uint64_t end) {
    uint64_t size = end - at;
    switch (way) {
    case FLIP: bytes[at + next(size)] ^= (uint8_t)(1u << next(8)); break;
    case BYTES:
        for (int k = 0; k < 8; k++) bytes[at + next(size)] = (uint8_t)next(256);
        break;
    case HEADER:
        for (uint64_t k = 0; k < HEADER_BYTES; k++) bytes[at + k] = (uint8_t)next(256);
        break;
    case HEADER_FF: memset(bytes + at, 0xff, HEADER_BYTES); break;
    case ZEROS: memset(bytes + at + size / 2, 0, size - size / 2); break;
    case GARBAGE:
        for (uint64_t k = at; k < end; k++) bytes[k] = (uint8_t)next(256);
        break;
    default: break; // of sizes
    }
}

static uint64_t size_left(damage_way way, uint64_t size) {
    switch (way) {
    case SIZE_HALF: return size / 2;
    case SIZE_LESS: return size - 1;
    case SIZE_8: return 8;
    case SIZE_0: return 0;
    default: return size;
    }
}

// ---- Trials ---------------------------------------------------------------------------------------------------

static damage_result refused(const zf_error *error) {
    bool whole = strncmp(error->code, "ZF", 2) == 0 && error->message[0] != 0 && error->place[0] != 0;
    CHECK(whole && error->status != ZF_ERR_INTERNAL, "%s %s (%s)", error->code, error->message, error->place);
    lost |= error->status == ZF_ERR_DEVICE;
    return lost ? DAMAGE_LOST : DAMAGE_REFUSED;
}

/// The good file into values of half the size.
static damage_result too_small(size_t column) {
    gpu_decode d;
    zf_error error = {0};
    zf_status status = gpu_decode_open(&machine, source.good, column, NULL, CANARY_BYTES, NULL, &d, &error);
    if (status == ZF_OK) { // the canary behind them begins halfway
        uint64_t whole = d.values.bytes;
        d.values.bytes = d.buffers.values_bytes = whole / 2;
        status = machine.accelerator->ops->fill(machine.accelerator, NULL, d.values.at, GPU_CANARY, whole, &error);
        if (status == ZF_OK) status = gpu_decode_queue(&d, &error);
        outside += gpu_decode_touched(&d) != NULL;
    }
    gpu_decode_close(&d);
    return status == ZF_OK ? DAMAGE_WRONG : refused(&error);
}

static damage_result decode(zf_container *container, size_t column) {
    zf_error error = {0};
    zf_decode_options options = {.threads = 1};
    zf_decode_sizes sizes = {0};
    outcome here = {0}, there;
    if (zf_decode_size(container, column, &options, &sizes, &error) != ZF_OK) return refused(&error);
    if (sizes.values > VALUES_MOST || sizes.workspace > WORK_MOST) return DAMAGE_REFUSED; // by a caller with a limit
    outcome_here(container, column, &options, &sizes, &here);
    outcome_there(&machine, container, column, &options, &sizes, CANARY_BYTES, true, &there);
    outside += here.outside + there.outside;
    damage_result result = DAMAGE_WRONG;
    if (there.status != ZF_OK)
        result = refused(&there.error);
    else if (outcome_same(&source.wanted[column], &there))
        result = DAMAGE_RIGHT;
    else if (here.status == ZF_OK && outcome_same(&here, &there))
        result = DAMAGE_OTHER;
    CHECK(result != DAMAGE_WRONG, "column %d: other rows than on the CPU", (int)column);
    outcome_free(&here);
    outcome_free(&there);
    return result;
}

static damage_result trial(size_t column, size_t block, damage_way way, bool mended) {
    mutated *m = &source.file;
    zf_error error = {0};
    zf_container *container = NULL;
    if (way == TOO_SMALL) return too_small(column);
    uint64_t at = m->blocks[block], end = block + 1 < m->block_count ? m->blocks[block + 1] : m->index;
    memcpy(m->bytes, m->original, m->size);
    damage(way, m->bytes, at, end);
    if (mended) mutate_repair(m);
    if (zf_container_open_memory(machine.context, m->bytes, size_left(way, m->size), NULL, &container, &error) != ZF_OK)
        return refused(&error);
    damage_result result = column < zf_container_columns(container) ? decode(container, column) : DAMAGE_REFUSED;
    zf_container_close(container);
    // The checksums are as they were: whoever delivers other rows has not looked.
    return result == DAMAGE_OTHER && !mended ? DAMAGE_WRONG : result;
}

/// A block of the column.
static bool find_block(size_t column, size_t *block) {
    for (size_t p = 0; p < source.part_count; p++) {
        if (source.parts[p].column != (int64_t)column || strcmp(source.parts[p].kind, "block header") != 0) continue;
        for (*block = 0; *block < source.file.block_count; ++*block)
            if (source.file.blocks[*block] == source.parts[p].offset) return true;
    }
    return false;
}

static void try_column(size_t column) {
    size_t block = 0;
    bool found = find_block(column, &block);
    CHECK(found, "column %d has no block", (int)column);
    for (unsigned way = 0; found && way < WAYS; way++) {
        for (unsigned k = 0; k < 2 * ways[way].trials && !lost; k++) {
            state = gpu_mix(column << 16 | way << 8 | k / 2);
            counts[k % 2][way][trial(column, block, (damage_way)way, k % 2 == 1)]++;
        }
    }
}

// ---- The report -----------------------------------------------------------------------------------------------

static void print_counts(const char *name, uint64_t of[WAYS][DAMAGE_RESULTS]) {
    static const char *const names[DAMAGE_RESULTS] = {"right", "refused", "other_rows", "wrong", "lost"};
    printf(", \"%s\": {", name);
    for (unsigned way = 0; way < WAYS; way++) {
        printf("%s\"%s\": {", way == 0 ? "" : ", ", ways[way].name);
        for (unsigned r = 0; r < DAMAGE_RESULTS; r++)
            printf("%s\"%s\": %llu", r == 0 ? "" : ", ", names[r], (unsigned long long)of[way][r]);
        printf("}");
    }
    printf("}");
}

int main(int argc, char **argv) {
    const char *device = "emu", *tables = "forms";
    uint64_t every = 1, columns = 0;
    const gpu_option options[] = {{"device", NULL, &device}, {"tables", NULL, &tables}, {"every", &every, NULL}, {0}};
    if (!gpu_options_read(argc, argv, options) || every == 0) return 2;
    char names[200];
    snprintf(names, sizeof names, "%s", tables);
    gpu_machine_open(&machine, device, true);
    for (char *rest = NULL, *name = strtok_r(names, ",", &rest); name != NULL && !lost; name = strtok_r(NULL, ",", &rest)) {
        if (!source_open(&machine, name, &source)) return 1 + check_result();
        for (size_t c = 0; c < source.column_count; c += every, columns++) try_column(c);
        source_close(&source);
    }
    for (unsigned way = 0; way < WAYS; way++)
        CHECK(counts[0][way][DAMAGE_WRONG] + counts[1][way][DAMAGE_WRONG] == 0, "%s: wrong rows", ways[way].name);
    CHECK(!lost && outside == 0, "the context was lost, or memory beside a buffer was written");
    printf("{\"program\": \"gpu_damage\", \"device\": \"%s\", \"tables\": \"%s\", \"columns\": %llu, \"outside\": %llu, "
           "\"failures\": %d",
           device, tables, (unsigned long long)columns, (unsigned long long)outside, check_failures);
    print_counts("damaged", counts[0]);
    print_counts("mended", counts[1]);
    printf("}\n");
    gpu_machine_close(&machine);
    return check_result();
}
