// A container that the compiler wrote, with bytes changed, decoded by code that the compiler makes from the file's own text. A
// changed byte gives an error with a code and a place, or the right answer. With the checksums made right again (a file that
// lies) it gives an error or an answer, and nothing outside the buffers is touched: buffers end where unreadable pages begin.
// Some of the lies are also told to the emulated GPU, which must refuse what the CPU refuses and make what it makes.
// Argument: the turn, which says to which of two values a lying byte is changed and, with sanitizers, which bytes are.
#include <sys/mman.h>

#include "runtime/container/container.h"
#include "tests/hostile/mutate.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "zipflow/compile.h"

enum { ROWS = 4096 + 500, COLUMNS = 9, TEXT = 16 };
#ifdef ZF_SANITIZE
enum { BYTES_EACH = 2 }; ///< one byte in so many is changed: instrumented code takes longer
#else
enum { BYTES_EACH = 1 };
#endif

static char path[64];
static zf_context *context;
static uint32_t packed[ROWS];
static double prices[ROWS];
static uint8_t codes[ROWS], pieces[ROWS];
static int64_t runs[ROWS], walks[ROWS];
static int32_t steps[ROWS];
static char names[ROWS * TEXT], notes[ROWS * TEXT];
static int64_t name_offsets[ROWS + 1], note_offsets[ROWS + 1];
static uint8_t name_validity[ROWS / 8 + 1];
static const zf_encode_column columns[COLUMNS] = {
    {.name = "packed", .values = packed},
    {.name = "prices", .values = prices},
    {.name = "codes", .values = codes},
    {.name = "runs", .values = runs},
    {.name = "steps", .values = steps},
    {.name = "walks", .values = walks},
    {.name = "names", .values = names, .offsets = name_offsets, .validity = name_validity},
    {.name = "notes", .values = notes, .offsets = note_offsets},
    {.name = "pieces", .values = pieces},
};
static const size_t sizes_of[COLUMNS] = {4, 8, 1, 8, 4, 8, 0, 0, 1}; // 0: strings

static void fill(void) {
    int64_t run = 7;
    for (int i = 0; i < ROWS; i++) {
        packed[i] = (uint32_t)(i * 7919) % 100;
        prices[i] = (double)((i * 31) % 1000) / 4;
        codes[i] = (uint8_t)"ANR"[(i * 13) % 3];
        if (i % 37 == 0) run = run * 5 % 1009;
        runs[i] = run;
        steps[i] = i == 0 ? -5 : steps[i - 1] + i % 6;
        pieces[i] = i % 90 < 60 && i > 7 ? pieces[i - 7] : (uint8_t)(i * i % 11);
        walks[i] = (int64_t)(i / 500) * 100000 + (i % 500) * (3 + i / 500);
        char text[TEXT];
        bool valid = i % 3 != 0;
        int length = valid ? snprintf(text, sizeof text, "%d0%d", i % 5, i % 5 > 3 ? 12345678 : 1) : 0;
        memcpy(names + name_offsets[i], text, (size_t)length);
        name_offsets[i + 1] = name_offsets[i] + length;
        name_validity[i / 8] |= (uint8_t)(valid << (i % 8));
        length = snprintf(text, sizeof text, "w%d x%d.", i % 3, i % 2);
        memcpy(notes + note_offsets[i], text, i % 7 == 0 ? 0 : (size_t)length);
        note_offsets[i + 1] = note_offsets[i] + (i % 7 == 0 ? 0 : length);
    }
}

/// Memory whose last byte is followed by a page that cannot be read or written.
typedef struct fenced {
    uint8_t *map, *at;
    size_t mapped;
} fenced;

static fenced fence(size_t bytes) {
    size_t page = 4096, body = (bytes + 63) / 64 * 64, room = (body + page - 1) / page * page;
    fenced f = {.mapped = room + page};
    f.map = mmap(NULL, f.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f.map == MAP_FAILED) exit(2);
    mprotect(f.map + room, page, PROT_NONE);
    f.at = f.map + room - body; // aligned to 64, as buffers must be
    return f;
}

/// Whether rows from `begin` on are the column's.
static bool is_right(size_t c, uint64_t begin, uint64_t rows, const zf_decode_sizes *sizes, const zf_decode_buffers *b) {
    if (sizes_of[c] != 0) return sizes->values == sizes_of[c] * ROWS && memcmp(b->values, columns[c].values, sizes->values) == 0;
    if (b->offsets[0] != 0 || (uint64_t)b->offsets[rows] > sizes->values) return false;
    const int64_t *offsets = columns[c].offsets + begin;
    for (uint64_t k = 0; k < rows; k++) {
        bool valid = columns[c].validity == NULL || columns[c].validity[(begin + k) / 8] >> ((begin + k) % 8) & 1;
        if (columns[c].validity != NULL && valid != (b->validity[k / 8] >> (k % 8) & 1)) return false;
        if (b->offsets[k + 1] != offsets[k + 1] - offsets[0]) return false;
    }
    return memcmp(b->values, (const char *)columns[c].values + offsets[0], (size_t)b->offsets[rows]) == 0;
}

static unsigned errors, answers, others;
static unsigned emulated, launched; ///< decodes on the emulated GPU, and those of them that came as far as a launch
enum { EMULATE_EVERY = 3 };

static void check_error(const zf_error *error, const char *what, size_t at) {
    errors++;
    bool whole = strncmp(error->code, "ZF", 2) == 0 && error->message[0] != 0 && error->place[0] != 0;
    if (!whole) CHECK(false, "%s at byte %zu: no code, message or place: %s %s", what, at, error->code, error->message);
    if (error->status == ZF_ERR_INTERNAL) CHECK(false, "%s at byte %zu: %s %s", what, at, error->code, error->message);
}

/// The same on the emulated GPU; `values` is what the CPU made, NULL where it refused.
static void emulate(zf_container *container, size_t column, const void *values, size_t bytes, const char *what, size_t at) {
    zf_error error = {0};
    zf_decode_options options = {.row_count = UINT64_MAX, .threads = 1};
    zf_decode_stats stats = {0};
    uint8_t *made = aligned_alloc(64, bytes / 64 * 64 + 64);
    zf_status status = zf_decode(container, column, "emu", &options, &(zf_decode_buffers){.values = made, .values_bytes = bytes},
                                 &stats, &error);
    emulated++;
    launched += stats.launches > 0;
    bool whole = strncmp(error.code, "ZF", 2) == 0 && error.message[0] != 0 && error.place[0] != 0;
    if (values != NULL && (status != ZF_OK || memcmp(values, made, bytes) != 0)) {
        CHECK(false, "%s at byte %zu: emu makes something else of column %zu: %s %s (%s)", what, at, column, error.code,
              error.message, error.place);
    } else if (values == NULL && (status == ZF_OK || status == ZF_ERR_INTERNAL || !whole)) {
        CHECK(false, "%s at byte %zu: emu does not refuse column %zu: %s %s (%s)", what, at, column, error.code, error.message,
              error.place);
    }
    free(made);
}

static void attack_rows(zf_container *container, size_t column, uint64_t begin, uint64_t rows, bool honest, const char *what,
                        size_t at) {
    bool emulates = at % EMULATE_EVERY == 0 && (!honest || at == 0);
    zf_error error = {0};
    zf_decode_options options = {.some_rows = rows < ROWS, .row_begin = begin, .row_count = rows, .threads = 1};
    zf_decode_sizes sizes = {0};
    zf_column_info info = {0};
    if (zf_container_column(container, column, &info, &error) != ZF_OK ||
        zf_decode_size(container, column, &options, &sizes, &error) != ZF_OK) {
        check_error(&error, what, at);
        return;
    }
    if (sizes.values > 1 << 24 || sizes.workspace > 1 << 26) { // nobody would give so much for so small a file
        others++;
        return;
    }
    emulates = emulates && strcmp(info.name, "pieces") != 0; // chunks
    emulates = emulates && info.type.element != ZF_STRING && !info.type.nullable;
    fenced values = fence(sizes.values), work = fence(sizes.workspace);
    fenced offsets = fence(sizes.offsets), validity = fence(sizes.validity);
    zf_decode_buffers buffers = {.values = values.at,
                                 .offsets = (int64_t *)(void *)offsets.at,
                                 .validity = validity.at,
                                 .workspace = work.at,
                                 ZF_DECODE_BYTES(sizes)};
    if (zf_decode(container, column, "cpu", &options, &buffers, NULL, &error) != ZF_OK) {
        check_error(&error, what, at);
        if (emulates) emulate(container, column, NULL, sizes.values, what, at);
    } else {
        if (emulates) emulate(container, column, values.at, sizes.values, what, at);
        bool right = false;
        for (size_t c = 0; c < COLUMNS; c++) {
            if (strcmp(columns[c].name, info.name) != 0) continue;
            right = info.rows == ROWS && is_right(c, begin, rows, &sizes, &buffers);
        }
        answers += right;
        others += !right;
        if (honest && !right) CHECK(false, "%s at byte %zu: a wrong answer for column %s", what, at, info.name);
    }
    munmap(values.map, values.mapped);
    munmap(work.map, work.mapped);
    munmap(offsets.map, offsets.mapped);
    munmap(validity.map, validity.mapped);
}

/// All rows, and of strings some, which begin and end within tiles.
static void attack_column(zf_container *container, size_t column, bool honest, const char *what, size_t at) {
    attack_rows(container, column, 0, ROWS, honest, what, at);
    if (column < COLUMNS && sizes_of[column] == 0) attack_rows(container, column, 1500, 1501, honest, what, at);
}

/// Opens the file as it is and decodes one column, or all (-1).
static void attack(const char *what, size_t at, int only, bool honest) {
    zf_error error = {0};
    zf_container *container;
    if (zf_container_open(context, path, &container, &error) != ZF_OK) {
        check_error(&error, what, at);
        return;
    }
    size_t count = zf_container_columns(container);
    for (size_t column = 0; column < count && column < 16; column++) {
        if (only < 0 || column == (size_t)only) attack_column(container, column, honest, what, at);
    }
    zf_container_close(container);
}

/// The column whose bytes these are; -1: of all.
static int column_of[1 << 16];

static void note_part(void *user, const zf_container_part *part) {
    (void)user;
    for (uint64_t i = part->offset; i < part->offset + part->bytes && i < sizeof column_of / sizeof column_of[0]; i++) {
        column_of[i] = (int)part->column;
    }
}

/// Whether the byte is of the file's text, of which few are changed: each makes another program.
static uint64_t text_begin, text_end;
static void note_text(void *user, const zf_container_part *part) {
    note_part(user, part);
    if (strcmp(part->kind, "text") != 0) return;
    text_begin = part->offset;
    text_end = part->offset + part->bytes;
}

int main(int count, char **arguments) {
    size_t turn = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    if (!mutate_path(path, sizeof path)) return 1;
    fill();
    char cache[80];
    snprintf(cache, sizeof cache, "%s.cache", path);
    zf_error error = {0};
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    zf_compiler_options options = {.optimise = 1, .general_only = true}; // one code per column, whatever the params say
#ifdef ZF_SANITIZE
    options.sanitize = true;
#endif
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = cache, .threads = 1}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_program_load(compiler, ZF_SOURCE_DIR "/tests/hostile/small.zf", &program, &error) == ZF_OK, "%s %s", error.message,
          error.place);
    zf_encode_options encoding = {.overwrite = true, .rows_per_block = 8192, .threads = 1};
    if (check_failures == 0) {
        CHECK(zf_encode(program, NULL, columns, COLUMNS, ROWS, &encoding, path, NULL, &error) == ZF_OK, "%s %s", error.message,
              error.place);
    }
    mutated m;
    if (check_failures > 0 || !mutate_read(path, &m)) return check_result();
    zf_container *container = NULL;
    CHECK(m.size < sizeof column_of / sizeof column_of[0], "%zu bytes", m.size);
    CHECK(zf_container_open(context, path, &container, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_account(container, note_text, NULL, &error) == ZF_OK, "%s", error.message);
    zf_container_close(container);
    attack("nothing", 0, -1, true);
    CHECK(errors == 0 && answers == COLUMNS + 2, "%u errors, %u answers", errors, answers);
    for (size_t at = 0; check_failures == 0 && at < m.size; at = mutate_next(&m, at)) {
        if ((at + turn) % BYTES_EACH != 0) continue;
        memcpy(m.bytes, m.original, m.size);
        m.bytes[at] = (uint8_t)~m.original[at];
        mutate_write(path, m.bytes, m.size);
        attack("an inverted byte", at, column_of[at], true);
    }
    printf("changed: %u errors, %u right answers, %u others\n", errors, answers, others);
    // Descriptions of the data, and the data, with a checksum that fits.
    for (size_t at = 0; check_failures == 0 && at < m.size; at = mutate_next(&m, at)) {
        if (at >= text_begin && at < text_end && at % 29 != 0) continue;
        if ((at + turn) % BYTES_EACH != 0) continue;
        bool inverted = (at / BYTES_EACH + turn / BYTES_EACH) % 2 == 0;
        memcpy(m.bytes, m.original, m.size);
        m.bytes[at] = (uint8_t)(inverted ? ~m.original[at] : m.original[at] + 1);
        mutate_repair(&m);
        mutate_write(path, m.bytes, m.size);
        attack("a lying byte", at, column_of[at], false);
    }
    printf("%zu bytes: %u errors, %u right answers, %u others\n", m.size, errors, answers, others);
    printf("on the emulated GPU: %u, %u of them launched a kernel\n", emulated, launched);
    CHECK(launched * 2 >= emulated, "most lies do not reach a kernel");
    unlink(path);
    mutate_free(&m);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(cache);
    return check_result();
}
