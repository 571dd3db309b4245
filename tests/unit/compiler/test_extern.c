// Links: zipflow-compiler zipflow-emu
// Encoders outside of the language: good ones make files that decode on every device; those that fail, lie, or write too much are
// refused, and no block is wrong.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

enum { CHUNK = 700, BLOCK = 4096, MOST = 3 * BLOCK };

// A chunk begins with heads[0], and goes on with runs; after each run its value rises or falls by `step`.
static const char text[] =
    "algorithm steps(runs: u8[] per chunk, ups: bool[] per chunk, heads: u16[2] per chunk, param step: i8 in -3..=9,\n"
    "                param mark: u32 = 7) -> u16[] non_parallel(chunk = 700) {\n"
    "    decode {\n"
    "        var v = heads[0];\n"
    "        require heads[1] == mark as u16;\n"
    "        while !runs.at_end() {\n"
    "            let n = runs.u8();\n"
    "            let now = v;\n"
    "            emit k in 0..n: now;\n"
    "            v = ups.next() ? v + (step as u16) : v - (step as u16);\n"
    "        }\n"
    "    }\n"
    "    encode extern \"steps\";\n"
    "}\n"
    "algorithm flags(src: u8[] per chunk) -> bool[] non_parallel(chunk = 64) {\n"
    "    decode { while out.pos < out.len { emit src.u8() != 0; } }\n"
    "    encode extern \"flags\";\n"
    "}\n"
    "algorithm shown(lengths: u32[], bytes: u8[]) -> string?[] fully_parallel {\n"
    "    fn start(i) = sum(k in 0..i: (lengths[k] & 0xffff) as u64);\n"
    "    decode(i) = lengths[i] >> 16 == 1 ? null : bytes[start(i) .. start(i) + (lengths[i] & 0xffff)];\n"
    "    encode extern \"shown\";\n"
    "}\n"
    "algorithm texts(pieces: string[]) -> string[] fully_parallel { decode(i) = pieces[i]; encode extern \"steps\"; }\n"
    "algorithm wide(src: u8[] per chunk, entries: u8[]) -> u8[] non_parallel(chunk = 700) {\n"
    "    decode { while !src.at_end() { emit entries[src.u8()]; } }\n"
    "    encode extern \"steps\";\n"
    "}\n"
    "algorithm kept(src: u8[] per chunk) -> u8[] non_parallel(chunk = 700) {\n"
    "    decode { while !src.at_end() { emit src.u8(); } }\n"
    "    encode extern \"lz4\";\n"
    "}\n"
    "algorithm missing(src: u8[]) -> u8[] fully_parallel { decode(i) = src[i]; encode extern \"nobody\"; }\n"
    "table steady { c: u16 = steps; }\n"
    "table marked { c: u16 = steps(runs: bitpack, ups: flags, mark: 9); }\n"
    "table either { c: u16 = steps | plain; }\n"
    "table rather { c: u16 = plain | steps; }\n"
    "table words { c: string? = shown(lengths: bitpack); }\n"
    "table pieces { c: string = texts(strings); }\n"
    "table block { c: u8 = wide; }\n"
    "table own { c: u8 = kept; }\n"
    "table unknown { c: u8 = missing; }\n";

static zf_context *context;
static zf_compiler *compiler;
static zf_program *program;
static uint16_t rows[MOST];

// ---- The encoder of `steps`, and how it may go wrong ----------------------------------------------------------

typedef enum behaviour {
    GOOD,
    SILENT,       ///< fails without a reason
    TALKATIVE,    ///< with one that fills its room, control characters among them
    UNABLE,       ///< cannot run on this machine
    STARVED,      ///< has no memory
    COUNTS_MORE,  ///< reports more elements than it has room for
    WRITES_MORE,  ///< writes behind its room
    GARBAGE,      ///< makes streams that do not decode
    WRONG_VALUES, ///< makes streams that decode to other values
    CHANGES_MARK, ///< a param that the codec gives
    CHANGES_STEP, ///< a param that an earlier chunk set
    WIDE_STEP,    ///< a param beyond its range
    NO_BOUND,     ///< wants room without end
    MOVES_ROOM,   ///< writes over what the call tells it
    BEHAVIOURS
} behaviour;

/// Calls that run at the same time.
typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned inside, most, wanted;
} meeting;

typedef struct maker {
    behaviour how;
    uint32_t mark;         ///< that it must find
    uint64_t calls, freed; ///< freed: 1 by the compiler
    meeting *meeting;      ///< where calls wait for each other; NULL: they do not
} maker;

static uint64_t steps_bound(void *user, const zf_extern_call *call, size_t stream) {
    const maker *m = user;
    CHECK(call->streams[stream].elements == NULL && call->streams[stream].count == 0, "not yet set");
    if (m->how == NO_BOUND && stream == 0) return UINT64_MAX;
    return stream == 2 ? 2 : stream == 1 ? call->count : 20 * call->count; // far more than it writes
}

static void meet(meeting *m) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 20; // where the calls never meet, which fails
    pthread_mutex_lock(&m->lock);
    m->inside++;
    if (m->inside > m->most) m->most = m->inside;
    pthread_cond_broadcast(&m->changed);
    while (m->most < m->wanted && pthread_cond_timedwait(&m->changed, &m->lock, &end) == 0) continue;
    m->inside--;
    pthread_mutex_unlock(&m->lock);
}

static zf_status fail(zf_extern_call *call, const maker *m) {
    if (m->how == TALKATIVE) {
        memset(call->reason, 'x', sizeof call->reason);
        memcpy(call->reason, "no \x1b[31m\n", 9);
    }
    if (m->how == UNABLE) snprintf(call->reason, sizeof call->reason, "it needs a key");
    return m->how == UNABLE ? ZF_ERR_UNSUPPORTED : m->how == STARVED ? ZF_ERR_MEMORY : ZF_ERR_INPUT;
}

static zf_status steps_encode(void *user, zf_extern_call *call) {
    maker *m = user;
    const uint16_t *values = call->values;
    zf_extern_stream *runs = &call->streams[0], *ups = &call->streams[1], *heads = &call->streams[2];
    __atomic_add_fetch(&m->calls, 1, __ATOMIC_RELAXED);
    if (m->meeting != NULL) meet(m->meeting);
    CHECK(call->size == sizeof *call && strncmp(call->algorithm, "steps", 5) == 0, "%s", call->algorithm);
    CHECK(call->stream_count == 3 && strcmp(ups->name, "ups") == 0 && ups->type.element == ZF_BOOL, "streams");
    CHECK(call->param_count == 2 && call->params[0].type.element == ZF_I8 && !call->params[0].given, "step");
    CHECK(call->params[1].given && call->params[1].bits == m->mark, "mark is %llu", (ull)call->params[1].bits);
    CHECK(call->type.element == ZF_U16 && call->count > 0 && call->count <= CHUNK, "%llu elements", (ull)call->count);
    CHECK(call->params[0].bits == (call->chunk == 0 ? 0 : (uint64_t)(int64_t)-2), "step is %lld",
          (long long)call->params[0].bits);
    if (m->how >= SILENT && m->how <= STARVED) return fail(call, m);
    call->params[0].bits = (uint64_t)(int64_t)-2;
    for (uint64_t i = 0, n; i < call->count; i += n) {
        for (n = 1; n < 255 && i + n < call->count && values[i + n] == values[i];) n++;
        bool down = i + n < call->count && values[i + n] == (uint16_t)(values[i] + 2);
        ((uint8_t *)runs->elements)[runs->count++] = (uint8_t)n;
        ((uint8_t *)ups->elements)[ups->count++] = down ? 0 : 4; // any but 0 is true
    }
    ((uint16_t *)heads->elements)[0] = values[0];
    ((uint16_t *)heads->elements)[1] = (uint16_t)m->mark;
    heads->count = 2;
    switch (m->how) {
    case COUNTS_MORE: ups->count = ups->capacity + 1; break;
    case WRITES_MORE: ((uint8_t *)runs->elements)[runs->capacity + 3] = 0; break;
    case GARBAGE: memset(runs->elements, 0xff, runs->count); break;
    case WRONG_VALUES: ((uint16_t *)heads->elements)[0] ^= 1; break;
    case CHANGES_MARK: call->params[1].bits++; break;
    case CHANGES_STEP: call->params[0].bits = call->chunk == 2 ? 3 : call->params[0].bits; break;
    case WIDE_STEP: call->params[0].bits = 10; break;
    case MOVES_ROOM:
        runs->capacity = UINT64_MAX;
        runs->count = 100000;
        runs->elements = NULL;
        call->streams = NULL;
        call->count = 0;
        break;
    default: break;
    }
    return ZF_OK;
}

static void note_freed(void *user) { ((maker *)user)->freed++; }

// ---- The encoder of `shown`: a whole block of strings, some of them null --------------------------------------

static uint64_t shown_bound(void *user, const zf_extern_call *call, size_t stream) {
    (void)user;
    return stream == 0 ? call->count : call->offsets[call->count] - call->offsets[0];
}

static zf_status shown_encode(void *user, zf_extern_call *call) {
    (void)user;
    uint32_t *lengths = call->streams[0].elements;
    uint8_t *bytes = call->streams[1].elements;
    for (uint64_t k = 0; k < call->count; k++) {
        uint64_t length = call->offsets[k + 1] - call->offsets[k];
        lengths[k] = call->validity[k] ? (uint32_t)length : 1 << 16;
        if (!call->validity[k]) continue;
        memcpy(bytes + call->streams[1].count, (const char *)call->values + call->offsets[k], length);
        call->streams[1].count += length;
    }
    call->streams[0].count = call->count;
    return ZF_OK;
}

// ---- The encoder of `flags`, below another ---------------------------------------------------------------------

static uint64_t flags_bound(void *user, const zf_extern_call *call, size_t stream) {
    (void)user, (void)stream;
    return call->count;
}

static zf_status flags_encode(void *user, zf_extern_call *call) {
    const uint8_t *values = call->values;
    bool *fails = user;
    if (*fails) return ZF_ERR_INPUT;
    for (uint64_t k = 0; k < call->count; k++) CHECK(values[k] <= 1, "a boolean is %d", values[k]);
    memcpy(call->streams[0].elements, values, call->count);
    call->streams[0].count = call->count;
    return ZF_OK;
}

// ---- Lines of the log -----------------------------------------------------------------------------------------

static unsigned unable_warnings, unable_lines; ///< of encoders that cannot run

static void count_lines(void *user, zf_log_level level, const char *line) {
    (void)user;
    if (strstr(line, "it needs a key; another alternative is taken") == NULL) return;
    __atomic_add_fetch(level == ZF_LOG_WARNING ? &unable_warnings : &unable_lines, 1, __ATOMIC_RELAXED);
}

// ---- Files ----------------------------------------------------------------------------------------------------

/// Runs of 1 to 255 equal values, each two above or below the one before.
static void fill(void) {
    uint16_t value = 1000;
    for (unsigned i = 0, run = 0, turn = 0; i < MOST; i++, run--) {
        if (run == 0 && i > 0) value = (uint16_t)(turn++ % 3 == 0 ? value + 2 : value - 2);
        if (run == 0) run = 1 + turn * 37 % 255;
        rows[i] = value;
    }
}

static uint64_t stored; ///< bytes of the last file's column

static zf_status encode(const char *table, const zf_encode_column *column, uint64_t count, unsigned threads, zf_error *error) {
    const zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true, .threads = threads,
                                       .rows_per_block = BLOCK};
    *error = (zf_error){0};
    unlink(place("t.zfd"));
    zf_encode_stats stats = {ZF_INIT(zf_encode_stats)};
    zf_status status = zf_encode(program, table, column, 1, count, &options, place("t.zfd"), &stats, error);
    stored = stats.stored_bytes;
    return status;
}

/// Decodes the file's column into poisoned memory, which the caller frees.
static void decode(const char *device, zf_decode_buffers *out) {
    zf_error error = {0};
    zf_container *container = NULL;
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
    demand(zf_decode_size(container, 0, NULL, &sizes, &error), &error);
    *out = (zf_decode_buffers){ZF_INIT(zf_decode_buffers),
                               .values = aligned_alloc(64, sizes.values / 64 * 64 + 64),
                               .offsets = aligned_alloc(64, sizes.offsets / 64 * 64 + 64),
                               .validity = aligned_alloc(64, sizes.validity / 64 * 64 + 64),
                               .workspace = aligned_alloc(64, sizes.workspace / 64 * 64 + 64),
                               ZF_DECODE_BYTES(sizes)};
    memset(out->values, 0xa5, sizes.values / 64 * 64 + 64);
    memset(out->validity, 0xa5, sizes.validity / 64 * 64 + 64);
    zf_status status = zf_decode(container, 0, device, NULL, out, NULL, &error);
    CHECK(status == ZF_OK, "%s: %s %s (%s)", device, error.code, error.message, error.place);
    zf_container_close(container);
}

static void free_buffers(zf_decode_buffers *buffers) {
    free(buffers->values);
    free(buffers->offsets);
    free(buffers->validity);
    free(buffers->workspace);
}

static void check_rows(uint64_t count) {
    static const char *const devices[] = {"cpu", "emu"};
    for (size_t d = 0; d < sizeof devices / sizeof devices[0]; d++) {
        zf_decode_buffers out;
        decode(devices[d], &out);
        CHECK(memcmp(out.values, rows, count * sizeof *rows) == 0, "%s: %llu rows", devices[d], (ull)count);
        free_buffers(&out);
    }
}

// ---- Tests ----------------------------------------------------------------------------------------------------

static const zf_encode_column numbers = {.name = "c", .values = rows};

static bool flags_fail;

static void test_good(maker *m) {
    static const uint64_t counts[] = {1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, BLOCK - 1, BLOCK, BLOCK + 1, MOST};
    zf_error error;
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        *m = (maker){.mark = 7};
        zf_status status = encode("steady", &numbers, counts[k], 1, &error);
        CHECK(status == ZF_OK, "%llu rows: %s %s", (ull)counts[k], error.code, error.message);
        uint64_t whole = counts[k] / BLOCK, rest = counts[k] % BLOCK, a_block = (BLOCK + CHUNK - 1) / CHUNK;
        CHECK(m->calls == whole * a_block + (rest + CHUNK - 1) / CHUNK, "%llu calls for %llu rows", (ull)m->calls,
              (ull)counts[k]);
        if (status == ZF_OK) check_rows(counts[k]);
    }
    *m = (maker){.mark = 7};
    CHECK(encode("steady", &numbers, 0, 1, &error) == ZF_OK && m->calls == 0, "no rows: %s", error.message);
    // An encoder whose bound is larger than the best alternative so far, and which then writes less.
    *m = (maker){.mark = 7};
    demand(encode("steady", &numbers, 2 * CHUNK, 1, &error), &error);
    uint64_t alone = stored;
    demand(encode("rather", &numbers, 2 * CHUNK, 1, &error), &error);
    CHECK(stored == alone && stored < 2 * CHUNK, "%llu bytes, alone %llu", (ull)stored, (ull)alone);
    check_rows(2 * CHUNK);
    *m = (maker){.mark = 9};
    demand(encode("marked", &numbers, MOST, 2, &error), &error);
    check_rows(MOST);
    flags_fail = true;
    CHECK(encode("marked", &numbers, MOST, 1, &error) == ZF_ERR_INPUT, "the encoder of a stream fails");
    CHECK(strncmp(error.message, "ups: `flags`, by `extern \"flags\"`, refuses", 42) == 0, "%s", error.message);
}

static void test_texts(void) {
    enum { COUNT = 3000 };
    static char characters[COUNT * 8];
    static int64_t offsets[COUNT + 1];
    static uint8_t validity[COUNT / 8 + 1];
    for (int k = 0; k < COUNT; k++) {
        int length = snprintf(characters + offsets[k], 8, "%.*d", k % 6, k * 7919 % 1000);
        offsets[k + 1] = offsets[k] + length;
        if (k % 5 != 2) validity[k / 8] = (uint8_t)(validity[k / 8] | 1 << k % 8);
    }
    const zf_encode_column column = {.name = "c", .values = characters, .offsets = offsets, .validity = validity};
    static const char *const devices[] = {"cpu", "emu"};
    zf_error error;
    demand(encode("words", &column, COUNT, 1, &error), &error);
    for (size_t d = 0; d < 2; d++) {
        zf_decode_buffers out;
        unsigned wrong = 0;
        decode(devices[d], &out);
        for (int k = 0; k < COUNT; k++) {
            bool valid = validity[k / 8] >> k % 8 & 1;
            int64_t length = valid ? offsets[k + 1] - offsets[k] : 0, got = out.offsets[k + 1] - out.offsets[k];
            wrong += (out.validity[k / 8] >> k % 8 & 1) != valid || got != length;
            if (got == length) wrong += memcmp((char *)out.values + out.offsets[k], characters + offsets[k], (size_t)length) != 0;
        }
        CHECK(wrong == 0, "%s: %u rows are wrong", devices[d], wrong);
        free_buffers(&out);
    }
}

/// No file where nothing else takes the block, and the reason; a good one where `plain` does.
static void test_wrong(maker *m) {
    static const struct {
        const char *code, *message;
    } expected[BEHAVIOURS] = {
        [SILENT] = {"ZF0602", "`steps`, by `extern \"steps\"`, refuses: it gives no reason (chunk 0 of the block)"},
        [TALKATIVE] = {"ZF0602", "refuses: no ?[31m?"},
        [UNABLE] = {"ZF0605", "`steps` is encoded by `extern \"steps\"`: it needs a key"},
        [STARVED] = {"ZF1102", "no memory"},
        [COUNTS_MORE] = {"ZF0602", "it reports 701 elements of `ups`, and asked for room for 700 (chunk 0"},
        [WRITES_MORE] = {"ZF0602", "it wrote behind the 14000 elements of `runs` that it asked for (chunk 0"},
        [GARBAGE] = {"ZF13", ""},
        [WRONG_VALUES] = {"ZF0601", "row 0 is 1000, decoded 1001"},
        [CHANGES_MARK] = {"ZF0602", "it changes the param `mark`, which the codec gives (chunk 0"},
        [CHANGES_STEP] = {"ZF0602", "it changes the param `step`, which an earlier chunk set (chunk 2"},
        [WIDE_STEP] = {"ZF0602", "it sets the param `step` to a value outside its range"},
        [NO_BOUND] = {"ZF0602", "it may write 18446744073709551615 elements to `runs`, for which a block has no room"},
        [MOVES_ROOM] = {"ZF0602", "it reports 100000 elements of `runs`, and asked for room for 14000"},
    };
    for (unsigned how = SILENT; how < BEHAVIOURS; how++) {
        zf_error error;
        *m = (maker){.how = (behaviour)how, .mark = 7};
        zf_status status = encode("steady", &numbers, MOST, 1, &error);
        CHECK(status == (how == STARVED ? ZF_ERR_MEMORY : ZF_ERR_INPUT), "%u: status %d", how, status);
        CHECK(strncmp(error.code, expected[how].code, strlen(expected[how].code)) == 0, "%u: %s %s", how, error.code,
              error.message);
        CHECK(strstr(error.message, expected[how].message) != NULL, "%u: %s", how, error.message);
        CHECK(access(place("t.zfd"), F_OK) != 0, "%u left a file", how);
        size_t fill = 0;
        for (const char *at = error.message; *at != 0; at++) fill += *at == 'x';
        CHECK(how != TALKATIVE || fill == 239 - 9 + 1, "%zu of the reason's characters: %s", fill, error.message);
        status = encode("either", &numbers, MOST, 2, &error);
        CHECK(status == (how == STARVED ? ZF_ERR_MEMORY : ZF_OK), "%u: %s %s", how, error.code, error.message);
        if (status == ZF_OK) check_rows(MOST);
    }
    CHECK(unable_warnings == 1 && unable_lines == 2, "%u warnings and %u lines for 3 blocks", unable_warnings, unable_lines);
}

/// Blocks are encoded by several threads at once.
static void test_threads(maker *m) {
    zf_error error;
    meeting here = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .wanted = 2};
    *m = (maker){.mark = 7, .meeting = &here};
    demand(encode("steady", &numbers, MOST, 2, &error), &error);
    CHECK(here.most == 2, "two blocks were not encoded at the same time");
    check_rows(MOST);
    *m = (maker){.mark = 7};
}

/// Algorithms that no encoder can serve, and names that nobody registered.
static void test_forms(void) {
    static uint8_t values[1000];
    static int64_t offsets[11];
    static const struct {
        const char *table, *message;
    } rows_of[] = {
        {"pieces",
         "`texts` is encoded by `extern \"steps\"`: its stream `pieces` is of strings, which an extern encoder cannot write"},
        {"block", "its stream `entries` belongs to the block, and an extern encoder is called chunk by chunk"},
        {"unknown",
         "`missing` is encoded by `extern \"nobody\"`, and no encoder of that name is registered; there are `lz4`, `snappy`, "
         "`deflate`, `zlib`, `gzip`, `zstd`, `steps`, `shown`, `flags`"},
    };
    for (size_t k = 0; k < sizeof rows_of / sizeof rows_of[0]; k++) {
        zf_error error;
        const zf_encode_column column = {.name = "c", .values = values, .offsets = k == 0 ? offsets : NULL};
        zf_status status = encode(rows_of[k].table, &column, 10, 1, &error);
        CHECK(status == ZF_ERR_INPUT && strcmp(error.code, "ZF0605") == 0, "%s: %s", error.code, error.message);
        CHECK(strstr(error.message, rows_of[k].message) != NULL, "%s", error.message);
    }
}

static uint64_t own_bound(void *user, const zf_extern_call *call, size_t stream) {
    (void)user, (void)stream;
    return call->count;
}

static zf_status own_encode(void *user, zf_extern_call *call) {
    ++*(unsigned *)user;
    memcpy(call->streams[0].elements, call->values, call->count);
    call->streams[0].count = call->count;
    return ZF_OK;
}

static void test_registration(void) {
    static unsigned calls;
    static uint8_t values[3000] = {1, 2, 3};
    static char long_name[300];
    memset(long_name, 'n', sizeof long_name - 1);
    zf_error error;
    maker unused = {0};
    zf_extern_encoder good = {ZF_INIT(zf_extern_encoder), .name = "steps", .bound = steps_bound,
                              .encode = steps_encode,     .user = &unused, .free_user = note_freed};
    CHECK(zf_encoder_register(compiler, &good, &error) == ZF_ERR_USAGE, "registered twice");
    CHECK(strstr(error.message, "an encoder `steps` is already registered") != NULL, "%s", error.message);
    const char *const names[] = {NULL, "", long_name};
    for (size_t k = 0; k < 3; k++) {
        good.name = names[k];
        CHECK(zf_encoder_register(compiler, &good, &error) == ZF_ERR_USAGE, "name %zu", k);
    }
    zf_extern_encoder lacking = {ZF_INIT(zf_extern_encoder), .name = "lacking", .encode = steps_encode};
    CHECK(zf_encoder_register(compiler, &lacking, &error) == ZF_ERR_USAGE, "no bound");
    lacking = (zf_extern_encoder){ZF_INIT(zf_extern_encoder), .name = "lacking", .bound = steps_bound};
    CHECK(zf_encoder_register(compiler, &lacking, &error) == ZF_ERR_USAGE, "no encode");
    lacking.size = 8;
    CHECK(zf_encoder_register(compiler, &lacking, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1119") == 0, "%s", error.code);
    CHECK(zf_encoder_register(NULL, &good, &error) == ZF_ERR_USAGE && zf_encoder_register(compiler, NULL, &error) == ZF_ERR_USAGE,
          "NULL");
    CHECK(unused.freed == 0, "the user of an encoder that is not registered was freed");

    char name[] = "lz4"; // copied, and in place of the library's
    const zf_extern_encoder own = {.name = name, .bound = own_bound, .encode = own_encode, .user = &calls};
    demand(zf_encoder_register(compiler, &own, &error), &error);
    name[0] = 'x';
    const zf_encode_column column = {.name = "c", .values = values};
    demand(encode("own", &column, sizeof values, 1, &error), &error);
    CHECK(calls == 5, "%u calls", calls);
}

int main(void) {
    zf_error error = {0};
    maker m = {.mark = 7};
    if (!scratch_begin("extern")) return 1;
    fill();
    const zf_context_options options = {ZF_INIT(zf_context_options), .cache_dir = scratch, .threads = 2, .log = count_lines};
    const zf_compiler_options compile = {ZF_INIT(zf_compiler_options), .std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 1};
    const zf_extern_encoder steps = {ZF_INIT(zf_extern_encoder), .name = "steps", .bound = steps_bound,
                                     .encode = steps_encode,     .user = &m,      .free_user = note_freed};
    const zf_extern_encoder shown = {ZF_INIT(zf_extern_encoder), .name = "shown", .bound = shown_bound, .encode = shown_encode};
    const zf_extern_encoder flags = {ZF_INIT(zf_extern_encoder), .name = "flags", .bound = flags_bound, .encode = flags_encode,
                                     .user = &flags_fail};
    demand(emulated_context_create(&options, &context, &error), &error);
    demand(zf_compiler_create(context, &compile, &compiler, &error), &error);
    demand(zf_program_load_text(compiler, "t.zf", text, sizeof text - 1, &program, &error), &error);
    demand(zf_encoder_register(compiler, &steps, &error), &error); // after the program was loaded
    demand(zf_encoder_register(compiler, &shown, &error), &error);
    demand(zf_encoder_register(compiler, &flags, &error), &error);
    test_good(&m);
    test_texts();
    test_wrong(&m);
    test_threads(&m);
    test_forms();
    test_registration();
    CHECK(m.freed == 0, "freed too early");
    zf_program_free(program);
    zf_compiler_free(compiler);
    CHECK(m.freed == 1, "freed %llu times", (ull)m.freed);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}
