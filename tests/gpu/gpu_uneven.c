// Blocks that begin at any row, decoded on an accelerator and compared with the CPU: all rows and ranges, into the host's memory
// and through a pipeline whose units have one block or many. Nothing writes the output before, so the emulator, and initcheck on
// a GPU, find a word in which two blocks meet and that a move joins before it has a value.
//   gpu_uneven --device emu|cuda --rows N
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/gpu_machine.h"
#include "tests/unit/check.h"
#include "zipflow/pipeline.h"

typedef unsigned long long ull;

enum { COLUMNS = 9, LETTERS = 20, POISON = 0xa5 };

static gpu_machine machine;
static uint64_t decodes;

static void must(zf_status status, const zf_error *error, const char *what) {
    if (status == ZF_OK) return;
    CHECK(false, "%s: %s %s (%s)", what, error->code, error->message, error->place);
    exit(check_result());
}

// ---- The table ------------------------------------------------------------------------------------------------

static void *room(uint64_t bytes) {
    uint8_t *at = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (at == NULL) abort();
    return at;
}

typedef struct source {
    uint8_t *bytes, *flags, *validity, *characters, *runs;
    uint16_t *halves;
    uint32_t *words;
    int64_t *longs, *offsets;
} source;

static source make_source(uint64_t rows) {
    source s = {.bytes = room(rows),
                .flags = room(rows),
                .validity = room(rows),
                .characters = room(rows * LETTERS),
                .runs = room(rows),
                .halves = room(rows * 2),
                .words = room(rows * 4),
                .longs = room(rows * 8),
                .offsets = room((rows + 1) * 8)};
    memset(s.validity, 0, (rows + 7) / 8);
    s.offsets[0] = 0;
    for (uint64_t k = 0; k < rows; k++) {
        uint64_t mix = gpu_mix(k);
        bool valid = mix >> 20 & 3;
        s.bytes[k] = (uint8_t)(mix % 251);
        s.flags[k] = mix >> 9 & 1;
        s.halves[k] = (uint16_t)(k * 3 + mix % 5);
        s.words[k] = (uint32_t)(mix % 100000);
        s.longs[k] = valid ? (int64_t)(mix >> 3) : 0;
        s.runs[k] = (uint8_t)(k / 13 % 200);
        if (valid) s.validity[k / 8] |= (uint8_t)(1u << k % 8);
        uint64_t length = valid ? mix >> 30 & 15 : 0;
        memset(s.characters + s.offsets[k], 'a' + (int)(k % 26), length);
        s.offsets[k + 1] = s.offsets[k] + (int64_t)length;
    }
    return s;
}

static void free_source(source *s) {
    void *all[] = {s->bytes, s->flags, s->validity, s->characters, s->runs, s->halves, s->words, s->longs, s->offsets};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

static void encode(zf_program *program, const source *s, uint64_t rows, uint64_t rows_per_block, const char *path) {
    const zf_encode_column columns[COLUMNS] = {
        {.name = "bytes", .values = s->bytes},
        {.name = "halves", .values = s->halves},
        {.name = "words", .values = s->words},
        {.name = "longs", .values = s->longs, .validity = s->validity},
        {.name = "flags", .values = s->flags},
        {.name = "doubts", .values = s->flags, .validity = s->validity},
        {.name = "holes", .values = s->bytes, .validity = s->validity},
        {.name = "texts", .values = s->characters, .offsets = s->offsets, .validity = s->validity},
        {.name = "runs", .values = s->runs}};
    zf_encode_options options = {.rows_per_block = rows_per_block, .overwrite = true, .zones = 1};
    zf_error error;
    must(zf_encode(program, "uneven", columns, COLUMNS, rows, &options, path, NULL, &error), &error, "encoding");
}

// ---- Rows -----------------------------------------------------------------------------------------------------

typedef struct decoded {
    zf_decode_sizes sizes;
    zf_decode_buffers to;
} decoded;

static decoded make_decoded(zf_decode_sizes sizes) {
    decoded d = {.sizes = sizes, .to = {ZF_DECODE_BYTES(sizes)}};
    d.to.values = room(sizes.values);
    d.to.offsets = room(sizes.offsets);
    d.to.validity = room(sizes.validity);
    d.to.workspace = room(sizes.workspace);
    memset(d.to.values, POISON, sizes.values);
    memset(d.to.offsets, POISON, sizes.offsets);
    memset(d.to.validity, POISON, sizes.validity);
    return d;
}

static void free_decoded(decoded *d) {
    free(d->to.values);
    free(d->to.offsets);
    free(d->to.validity);
    free(d->to.workspace);
}

static decoded decode(zf_container *container, size_t column, const char *device, const zf_decode_options *options) {
    zf_decode_sizes sizes = {0};
    zf_error error;
    must(zf_decode_size(container, column, options, &sizes, &error), &error, "sizes");
    decoded d = make_decoded(sizes);
    must(zf_decode(container, column, device, options, &d.to, NULL, &error), &error, device);
    return d;
}

static void check_alike(zf_container *container, size_t column, const decoded *expected, const decoded *d, const char *what) {
    zf_column_info info = {0};
    zf_error error;
    must(zf_container_column(container, column, &info, &error), &error, "a column");
    size_t characters = expected->sizes.values;
    bool same = expected->sizes.offsets == d->sizes.offsets && expected->sizes.validity == d->sizes.validity;
    if (expected->sizes.offsets > 0) {
        same = same && memcmp(expected->to.offsets, d->to.offsets, expected->sizes.offsets) == 0;
        characters = (size_t)expected->to.offsets[expected->sizes.offsets / 8 - 1];
    }
    same = same && memcmp(expected->to.values, d->to.values, characters) == 0;
    same =
        same && (expected->sizes.validity == 0 || memcmp(expected->to.validity, d->to.validity, expected->sizes.validity) == 0);
    CHECK(same, "column %s, %s: other rows than on the CPU", info.name, what);
    decodes++;
}

static void check_ranges(zf_container *container, uint64_t rows, uint64_t size) {
    uint64_t border = rows / size / 2 * size;
    const uint64_t ranges[][2] = {{0, rows},
                                  {border > 3 ? border - 3 : 0, border + 5 < rows ? border + 5 : rows},
                                  {rows / 3, rows},
                                  {border, border + (size + 1) / 2}};
    for (size_t c = 0; c < COLUMNS; c++) {
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            char what[80];
            zf_decode_options options = {.some_rows = true, .row_begin = ranges[r][0], .row_count = ranges[r][1] - ranges[r][0]};
            snprintf(what, sizeof what, "rows %llu to %llu in blocks of %llu", (ull)ranges[r][0], (ull)ranges[r][1], (ull)size);
            decoded expected = decode(container, c, "cpu", &options), d = decode(container, c, machine.device, &options);
            check_alike(container, c, &expected, &d, what);
            free_decoded(&expected);
            free_decoded(&d);
        }
    }
}

/// Twice: memory of the device is new the first time.
static void check_pipeline(zf_container *container, uint64_t unit_bytes) {
    zf_error error;
    zf_pipeline *pipeline = NULL;
    zf_batch *batch = NULL;
    zf_pipeline_request requests[COLUMNS] = {0};
    decoded all[COLUMNS];
    zf_pipeline_options options = {.unit_bytes = unit_bytes, .device_staging = 32 << 20, .host_staging = 32 << 20, .streams = 3};
    must(zf_pipeline_create(machine.context, machine.device, &options, &pipeline, &error), &error, "a pipeline");
    for (size_t c = 0; c < COLUMNS; c++) {
        zf_pipeline_sizes sizes = {0};
        requests[c] = (zf_pipeline_request){.container = container, .column = c};
        must(zf_pipeline_request_sizes(pipeline, &requests[c], &sizes, &error), &error, "sizes");
        all[c] = make_decoded(sizes.host);
        requests[c].host = all[c].to;
    }
    must(zf_batch_create(pipeline, requests, COLUMNS, &batch, &error), &error, "a batch");
    for (unsigned turn = 0; turn < 2; turn++) {
        must(zf_batch_start(batch, &error), &error, "a batch");
        for (size_t c = 0; c < COLUMNS; c++) {
            must(zf_batch_wait(batch, c, &error), &error, "a batch");
            decoded expected = decode(container, c, "cpu", NULL);
            check_alike(container, c, &expected, &all[c], unit_bytes == 0 ? "a pipeline" : "a pipeline of small units");
            free_decoded(&expected);
        }
    }
    zf_batch_free(batch);
    zf_pipeline_free(pipeline);
    for (size_t c = 0; c < COLUMNS; c++) free_decoded(&all[c]);
}

int main(int argc, char **argv) {
    const char *device = "emu";
    uint64_t rows = 9000;
    const gpu_option options[] = {{"device", NULL, &device}, {"rows", &rows, NULL}, {0}};
    if (!gpu_options_read(argc, argv, options)) return 2;
    double start = gpu_seconds();
    zf_error error = {0};
    zf_program *program = NULL;
    gpu_machine_open(&machine, device, true);
    must(zf_program_load(machine.compiler, ZF_SOURCE_DIR "/tests/gpu/uneven.zf", &program, &error), &error, "uneven.zf");
    source s = make_source(rows);
    const uint64_t sizes[][2] = {{1, 70}, {7, 300}, {4097, rows}, {1000, rows}, {4096, rows}}; // rows of a block, of all
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        zf_container *container = NULL;
        uint64_t all = sizes[k][1] < rows ? sizes[k][1] : rows;
        encode(program, &s, all, sizes[k][0], gpu_machine_path(&machine, "u.zfd"));
        must(zf_container_open(machine.context, gpu_machine_path(&machine, "u.zfd"), &container, &error), &error, "u.zfd");
        check_ranges(container, all, sizes[k][0]);
        check_pipeline(container, 0);
        if (all > 300) check_pipeline(container, 4096);
        zf_container_close(container);
    }
    printf("{\"program\": \"gpu_uneven\", \"device\": \"%s\", \"rows\": %llu, \"decodes\": %llu, \"seconds\": %.2f, "
           "\"failures\": %d}\n",
           device, (ull)rows, (ull)decodes, gpu_seconds() - start, check_failures);
    free_source(&s);
    zf_program_free(program);
    gpu_machine_close(&machine);
    return check_result();
}
