// Chunks that others compressed, changed: LZ4, Snappy, Deflate, zlib, gzip, Zstandard. The format's library says of each changed
// chunk which bytes it is, or that it is none; the CPU and the accelerator say the same, and of a frame of Zstandard the CPU once
// more when it is taken apart. No library knows streams and directories of frames that were taken apart (`split`, and with a
// dictionary `dictionary`): there the CPU and the accelerator say the same. Checksums of the container are made right again. Two
// things that libraries refuse are decoded, and no change here happens to make them: LZ4 blocks that break the rules for their
// ends, and lengths of Snappy blocks of more than five bytes (cli.formats has such blocks).
// Nothing outside the buffers is touched, and the accelerator still works afterwards.
//   gpu_foreign --device emu|cuda --formats lz4,split,dictionary --lacking snappy --count N --seed S --canary BYTES
// --count: changed chunks of each format. --lacking: formats as on a machine without their library. Prints a line of JSON, which
// names formats that are skipped since their library is missing; that is no failure.
#include "emulator/emu.h"
#include "tests/gpu/foreign_library.h"
#include "tests/gpu/mutated_source.h"

typedef unsigned long long ull;

enum {
    CHUNKS = 60,
    PARTS_MOST = 16,   // of a block
    STRICT_SHARE = 50, // of so many changed frames we may refuse one that libzstd takes
    ROWS_MOST = 4096,
    PACKED_MOST = 2 * ROWS_MOST,
    ALL_MOST = CHUNKS * PACKED_MOST,
    FAILURES_MOST = 20,
    EDITS_MOST = 3
};

static gpu_machine machine;
static uint8_t dictionary[1000];
static uint64_t canary = 4096, state;
static unsigned tried;  // formats whose library was there
static unsigned listed; // formats in the report
static uint64_t next(uint64_t below) { return gpu_mix(state++) % below; }

/// Verdicts about the changed chunks of a format.
typedef struct tally {
    uint64_t changed, same, refused, stricter, laxer, excused;
} tally;

/// Frames of Zstandard as they are, or taken apart.
typedef enum frames { WHOLE, SPLIT, DICTIONARY } frames;

/// A format's file: each block is a chunk.
typedef struct source {
    foreign_format format;
    frames split;
    mutated file;
    zf_container *good;
    uint64_t starts[CHUNKS + 1]; ///< rows
    uint32_t part_count[CHUNKS];
    struct {
        uint64_t at, size;       ///< bytes of the file
    } parts[CHUNKS][PARTS_MOST]; ///< of the block: its only stream; streams and directories, where it was split
    size_t noted;                ///< while they are noted: blocks that began
} source;

static const char *name_of(const source *s) {
    return s->split == WHOLE ? foreign_name(s->format) : s->split == SPLIT ? "split" : "dictionary";
}

// ---- Chunks ---------------------------------------------------------------------------------------------------

/// Words, numbers, runs, bytes by chance, and all of these after each other.
static size_t make_text(uint8_t *to) {
    static const char *const words[] = {"carefully ", "the ", "packages ", "sleep ", "quickly; ", "final "};
    static const unsigned lengths[] = {1, 20, 100, 300, 700, 1500, ROWS_MOST};
    size_t length = lengths[next(sizeof lengths / sizeof lengths[0])], made = 0;
    uint64_t kind = next(5);
    length -= next(length);
    while (made < length) {
        char piece[64];
        size_t bytes = 1;
        switch (kind < 4 ? kind : next(4)) {
        case 0: bytes = (size_t)snprintf(piece, sizeof piece, "%s", words[next(6)]); break;
        case 1: bytes = (size_t)snprintf(piece, sizeof piece, "%d,", (int)next(5000)); break;
        case 2:
            bytes = 1 + next(sizeof piece);
            memset(piece, (int)next(4), bytes);
            break;
        default: piece[0] = (char)next(256);
        }
        if (bytes > length - made) bytes = length - made;
        memcpy(to + made, piece, bytes);
        made += bytes;
    }
    return length;
}

static const char *file_of(const source *s) {
    char name[64];
    snprintf(name, sizeof name, "%s.zfd", name_of(s));
    return gpu_machine_path(&machine, name);
}

/// Loads the program of a format.
static zf_status load(foreign_format format, frames split, zf_program **out, zf_error *error) {
    char text[300];
    const char *checked = format >= FOREIGN_ZLIB ? "check: 1, " : "";
    int length = snprintf(text, sizeof text, "table t { c: u8 = %s(%schunk: %d); }\n", foreign_name(format), checked, ROWS_MOST);
    if (split != WHOLE)
        length = snprintf(text, sizeof text,
                          "table t { c: u8 = zstd_split%s(chunk: %d, steps: zstd_steps(rows: zstd_tables), "
                          "literals: zstd_literals(code: zstd_codes)); }\n",
                          split == DICTIONARY ? "_dictionary" : "", ROWS_MOST);
    return zf_program_load_text(machine.compiler, "t.zf", text, (size_t)length, out, error);
}

static zf_status wrap(zf_program *program, frames split, const zf_wrapped_chunk *chunks, size_t count, const char *path,
                      zf_error *error) {
    zf_wrapped_column column = {.name = "c", .chunks = chunks, .chunk_count = count};
    if (split == DICTIONARY) column.dictionary = dictionary;
    if (split == DICTIONARY) column.dictionary_size = sizeof dictionary;
    zf_encode_options options = {.rows_per_block = 1, .threads = 1, .overwrite = true};
    return zf_wrap(program, NULL, &column, 1, &options, path, NULL, error);
}

static void note_part(void *user, const zf_container_part *part) {
    source *s = user;
    if (strcmp(part->kind, "block header") == 0) s->noted++;
    bool changes = strcmp(part->kind, "stream") == 0 || (s->split != WHOLE && strcmp(part->kind, "directory") == 0);
    if (!changes || part->bytes == 0 || s->noted == 0 || s->noted > CHUNKS) return;
    size_t k = s->noted - 1;
    if (s->part_count[k] == PARTS_MOST) return;
    s->parts[k][s->part_count[k]].at = part->offset;
    s->parts[k][s->part_count[k]++].size = part->bytes;
}

/// Puts bytes of the dictionary into a text: its begin, its end, and some between.
static void reach_back(uint8_t *text, size_t length) {
    for (uint64_t k = 0; k < 6 && length > 40; k++) {
        uint64_t count = 8 + next(25), from = k == 0 ? 0 : k == 1 ? sizeof dictionary - count : next(sizeof dictionary - count);
        memcpy(text + next(length - count), dictionary + from, count);
    }
}

static bool open_source(foreign_format format, frames split, source *s) {
    static uint8_t plain[ROWS_MOST], packed[ALL_MOST];
    zf_wrapped_chunk chunks[CHUNKS];
    zf_error error = {0};
    size_t used = 0;
    *s = (source){.format = format, .split = split};
    for (size_t k = 0; k < sizeof dictionary; k++) dictionary[k] = (uint8_t)next(256);
    if (split == DICTIONARY) foreign_use_dictionary(dictionary, sizeof dictionary);
    for (size_t k = 0; k < CHUNKS; k++) {
        size_t rows = make_text(plain);
        if (split == DICTIONARY) reach_back(plain, rows);
        size_t size = foreign_pack(format, (unsigned)next(1000), plain, rows, packed + used, PACKED_MOST);
        s->starts[k + 1] = s->starts[k] + rows;
        chunks[k] = (zf_wrapped_chunk){packed + used, size, rows};
        used += size;
        CHECK(size > 0, "%s: %zu bytes are not compressed", name_of(s), rows);
    }
    zf_program *program = NULL;
    zf_status status = load(format, split, &program, &error);
    if (status == ZF_OK) status = wrap(program, split, chunks, CHUNKS, file_of(s), &error);
    foreign_use_dictionary(NULL, 0);
    zf_program_free(program);
    CHECK(status == ZF_OK, "%s: %s %s (%s)", name_of(s), error.code, error.message, error.place);
    if (check_failures > 0 || !mutate_read(file_of(s), &s->file)) return false;
    s->good = gpu_model_open(&machine, file_of(s));
    status = zf_container_account(s->good, note_part, s, &error);
    CHECK(status == ZF_OK && s->file.block_count == CHUNKS && s->noted == CHUNKS, "%zu blocks", s->file.block_count);
    for (size_t k = 0; k < CHUNKS && split == WHOLE; k++)
        CHECK(s->part_count[k] == 1 && s->parts[k][0].size == chunks[k].size, "%s: chunk %zu is not in its block", name_of(s), k);
    return check_failures == 0;
}

// ---- Changes --------------------------------------------------------------------------------------------------

/// A bit, a byte, bytes copied from elsewhere in the chunk, or moved by one. Half of the changes are near the begin, where
/// headers and tables are.
static void edit(uint8_t *bytes, uint64_t size) {
    uint64_t at = next(2) == 0 && size > 40 ? next(40) : next(size), from = next(size);
    uint64_t most = size - (at > from ? at : from), count = 1 + next(most < 8 ? most : 8);
    switch (next(6)) {
    case 0:
    case 1: bytes[at] ^= (uint8_t)(1u << next(8)); break;
    case 2: bytes[at] = (uint8_t)next(256); break;
    case 3: bytes[at] = next(2) == 0 ? 0 : 255; break;
    case 4: memmove(bytes + at, bytes + from, count); break;
    default: memmove(bytes + at, bytes + at + 1, size - at - 1);
    }
}

static void check_whole(const char *device, const char *name, ull number, const zf_error *error) {
    bool whole = strncmp(error->code, "ZF13", 4) == 0 && error->message[0] != 0 && strstr(error->place, "block ") != NULL;
    CHECK(whole, "%s %llu, %s: %s %s (%s)", name, number, device, error->code, error->message, error->place);
}

/// Whether a block of LZ4 has a distance of 0, which the format forbids and liblz4 leaves.
static bool has_no_distance(const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        unsigned token = *at++;
        uint64_t literals = token >> 4, copied = token & 15;
        for (unsigned more = 255; literals >= 15 && more == 255 && at < end; literals += more) more = *at++;
        if ((uint64_t)(end - at) < literals + 2) return false;
        at += literals;
        if (at[0] == 0 && at[1] == 0) return true;
        at += 2;
        for (unsigned more = 255; copied >= 15 && more == 255 && at < end; copied += more) more = *at++;
    }
    return false;
}

/// The verdicts of the library, of the CPU and of the accelerator about a chunk.
static void judge(const source *s, size_t k, ull number, const outcome *here, const outcome *there, tally *to) {
    static uint8_t wanted[ROWS_MOST];
    const char *name = name_of(s);
    uint64_t rows = s->starts[k + 1] - s->starts[k];
    memset(wanted, 0x5a, sizeof wanted);
    bool good = here->status == ZF_OK; // no library knows of parts
    if (s->split == WHOLE) good = foreign_judge(s->format, s->file.bytes + s->parts[k][0].at, s->parts[k][0].size, wanted, rows);
    CHECK(!here->outside && !there->outside, "%s %llu: memory beside a buffer was written", name, number);
    CHECK((here->status == ZF_OK) == (there->status == ZF_OK), "%s %llu: the CPU says '%s', %s '%s'", name, number,
          here->error.message, machine.device, there->error.message);
    if (here->status != ZF_OK) check_whole("cpu", name, number, &here->error);
    if (there->status != ZF_OK) check_whole(machine.device, name, number, &there->error);
    if (here->status != ZF_OK && there->status != ZF_OK)
        CHECK(strcmp(here->error.place, there->error.place) == 0 && strcmp(here->error.code, there->error.code) == 0,
              "%s %llu: %s at %s, and %s at %s", name, number, here->error.code, here->error.place, there->error.code,
              there->error.place);
    if (here->status == ZF_OK && there->status == ZF_OK)
        CHECK(outcome_same(here, there), "%s %llu: %s makes other bytes than the CPU", name, number, machine.device);
    if (good && s->split == WHOLE && here->status == ZF_OK)
        CHECK(memcmp(here->values, wanted, rows) == 0, "%s %llu: other bytes than the library's", name, number);
    if (here->status == ZF_OK)
        *(good ? &to->same : &to->laxer) += 1;
    else
        *(good ? &to->stricter : &to->refused) += 1;
    const uint8_t *chunk = s->file.bytes + s->parts[k][0].at;
    if (good && here->status != ZF_OK && s->format == FOREIGN_LZ4)
        to->excused += has_no_distance(chunk, chunk + s->parts[k][0].size);
}

/// Takes a changed frame apart: what the CPU says of it as it is, it says of its parts.
static void take_apart(const source *s, size_t k, ull number, const outcome *here) {
    static zf_program *program; // lives as long as the test
    zf_error error = {0};
    zf_container *container = NULL;
    zf_wrapped_chunk chunk = {s->file.bytes + s->parts[k][0].at, s->parts[k][0].size, s->starts[k + 1] - s->starts[k]};
    char path[400];
    snprintf(path, sizeof path, "%s", gpu_machine_path(&machine, "apart.zfd"));
    zf_status status = program == NULL ? load(s->format, SPLIT, &program, &error) : ZF_OK;
    if (status == ZF_OK) status = wrap(program, SPLIT, &chunk, 1, path, &error);
    CHECK((status == ZF_OK) == (here->status == ZF_OK), "zstd %llu: '%s' as it is, '%s' taken apart", number, here->error.message,
          error.message);
    if (status != ZF_OK) {
        bool whole = strncmp(error.code, "ZF1", 3) == 0 && strstr(error.place, "chunk 0") != NULL;
        CHECK(status == ZF_ERR_INPUT && whole, "zstd %llu, taken apart: %s %s (%s)", number, error.code, error.message,
              error.place);
        return;
    }
    zf_decode_options options = {.threads = 1};
    zf_decode_sizes sizes = {0};
    outcome apart = {0};
    status = zf_container_open(machine.context, path, &container, &error);
    if (status == ZF_OK) status = zf_decode_size(container, 0, &options, &sizes, &error);
    if (status == ZF_OK) outcome_here(container, 0, &options, &sizes, &apart);
    CHECK(status == ZF_OK && apart.status == ZF_OK && (here->status != ZF_OK || outcome_same(here, &apart)),
          "zstd %llu: other bytes when it was taken apart: %s%s", number, error.message, apart.error.message);
    outcome_free(&apart);
    zf_container_close(container);
}

static void attack(source *s, ull number, tally *to) {
    mutated *m = &s->file;
    zf_error error = {0};
    zf_container *container = NULL;
    size_t k = next(CHUNKS);
    memcpy(m->bytes, m->original, m->size);
    for (uint64_t edits = 1 + next(EDITS_MOST); edits > 0; edits--) {
        uint64_t part = next(s->part_count[k]);
        edit(m->bytes + s->parts[k][part].at, s->parts[k][part].size);
    }
    mutate_repair(m);
    to->changed++;
    zf_status status = zf_container_open_memory(machine.context, m->bytes, m->size, NULL, &container, &error);
    CHECK(status == ZF_OK, "%s %llu: %s", name_of(s), number, error.message);
    if (status != ZF_OK) return;
    zf_decode_options options = {
        .threads = 1, .some_rows = true, .row_begin = s->starts[k], .row_count = s->starts[k + 1] - s->starts[k]};
    zf_decode_sizes sizes = {0};
    status = zf_decode_size(container, 0, &options, &sizes, &error);
    CHECK(status == ZF_OK, "%s %llu: %s", name_of(s), number, error.message);
    if (status == ZF_OK) {
        outcome here, there;
        if (machine.emulated) zf_emu_set_seed(machine.accelerator, number % 8);
        outcome_here(container, 0, &options, &sizes, &here);
        outcome_there(&machine, container, 0, &options, &sizes, canary, true, &there);
        judge(s, k, number, &here, &there, to);
        if (s->format == FOREIGN_ZSTD && s->split == WHOLE) take_apart(s, k, number, &here);
        outcome_free(&here);
        outcome_free(&there);
    }
    zf_container_close(container);
}

static void compare_rows(const source *s, uint64_t begin, uint64_t count) {
    zf_decode_options options = {.threads = 1, .some_rows = true, .row_begin = begin, .row_count = count};
    zf_decode_sizes sizes = {0};
    zf_error error = {0};
    outcome here = {0}, there = {0};
    zf_status status = zf_decode_size(s->good, 0, &options, &sizes, &error);
    CHECK(status == ZF_OK, "%s: %s", name_of(s), error.message);
    if (status != ZF_OK) return;
    outcome_here(s->good, 0, &options, &sizes, &here);
    outcome_there(&machine, s->good, 0, &options, &sizes, canary, false, &there);
    CHECK(here.status == ZF_OK && there.status == ZF_OK && outcome_same(&here, &there), "%s as it was, rows from %llu: %s, %s",
          name_of(s), (ull)begin, here.error.message, there.error.message);
    outcome_free(&here);
    outcome_free(&there);
}

/// All chunks as they were, and parts of some: the accelerator is whole.
static void decode_good(const source *s) {
    compare_rows(s, 0, s->starts[CHUNKS]);
    for (size_t k = 0; k < CHUNKS; k += 7) {
        uint64_t rows = s->starts[k + 1] - s->starts[k];
        compare_rows(s, s->starts[k] + rows / 3, rows - rows / 2);
    }
}

static void try_format(foreign_format format, frames split, uint64_t count, uint64_t seed) {
    static source s;
    tally to = {0};
    uint64_t own = gpu_mix(3 * seed + split) + format;
    state = gpu_mix(own);
    tried++;
    if (!open_source(format, split, &s)) return;
    for (uint64_t number = 0; number < count && check_failures < FAILURES_MOST; number++) {
        state = gpu_mix(gpu_mix(own) + number);
        attack(&s, number, &to);
    }
    decode_good(&s);
    CHECK(to.laxer == 0, "%s: of %llu chunks that the library refuses we take %llu", name_of(&s), (ull)to.changed, (ull)to.laxer);
    // libzstd compares no ends of four streams: neither bits that are left, nor codes that take more bits than are left.
    uint64_t leaves = format == FOREIGN_ZSTD ? to.changed / STRICT_SHARE + 1 : to.excused;
    CHECK(to.stricter <= leaves, "%s: of %llu chunks we refuse %llu that the library takes, and %llu of these rightly",
          name_of(&s), (ull)to.changed, (ull)to.stricter, (ull)leaves);
    printf("%s\"%s\": {\"changed\": %llu, \"same_bytes\": %llu, \"refused_by_both\": %llu, \"refused_by_us\": %llu, "
           "\"refused_by_the_library\": %llu}",
           listed++ > 0 ? ", " : "", name_of(&s), (ull)to.changed, (ull)to.same, (ull)to.refused, (ull)to.stricter,
           (ull)to.laxer);
    mutate_free(&s.file);
}

/// Whether a list of names, separated by commas, has one.
static bool has_name(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at++) {
        if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) return true;
    }
    return false;
}

int main(int argc, char **argv) {
    const char *device = "emu", *formats = "lz4,snappy,deflate,zlib,gzip,zstd,split,dictionary", *lacking = "", *why;
    uint64_t count = 100, seed = 1;
    const gpu_option options[] = {{"device", NULL, &device},
                                  {"formats", NULL, &formats},
                                  {"lacking", NULL, &lacking},
                                  {"count", &count, NULL},
                                  {"seed", &seed, NULL},
                                  {"canary", &canary, NULL},
                                  {0}};
    if (!gpu_options_read(argc, argv, options)) return 2;
    gpu_machine_open(&machine, device, false);
    char skipped[200] = "";
    printf("{\"program\": \"gpu_foreign\", \"device\": \"%s\", \"seed\": %llu, \"formats\": {", device, (ull)seed);
    for (unsigned f = 0; f < (unsigned)FOREIGN_FORMATS + (unsigned)DICTIONARY; f++) {
        frames split = f < FOREIGN_FORMATS ? WHOLE : (frames)(f - FOREIGN_FORMATS + 1);
        foreign_format format = split == WHOLE ? (foreign_format)f : FOREIGN_ZSTD;
        const char *name = name_of(&(source){.format = format, .split = split});
        if (!has_name(formats, name)) continue;
        if (!has_name(lacking, name) && foreign_open(format, &why)) {
            try_format(format, split, count, seed);
            continue;
        }
        size_t length = strlen(skipped);
        snprintf(skipped + length, sizeof skipped - length, "%s\"%s\"", length > 0 ? ", " : "", name);
    }
    printf("}, \"skipped\": [%s], \"failures\": %d}\n", skipped, check_failures);
    gpu_machine_close(&machine);
    bool none = tried == 0 && skipped[0] != 0 && check_failures == 0; // no check was made, and the line of JSON says why
    return none ? 0 : check_result();
}
