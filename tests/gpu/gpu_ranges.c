// Ranges of rows of a file's column: none, one, those around the edges of blocks and tiles, and long ones, on every way to them,
// over poisoned memory between canaries: zf_decode on the CPU and on the device, zf_decode_async, pipelines to the host and to
// the device, modules. Columns: of ranges.zf, whose programs read what they emitted, and of the library.
//   gpu_ranges --device emu|emu64|cuda --own SAMPLE --std SAMPLE --table NAME
// Samples of the tables of ranges.zf and of the library (3:1: one in three, at turn 1; absent: none), and a table besides.
// Emulated kernels take most of the time, so tables of samples go each range in one way on the emulated GPU, another one for
// each table; the named table, and tables on a GPU, go all.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/container/element.h"
#include "runtime/decode/block_run.h"
#include "tests/differential/diff_columns.h"
#include "tests/differential/diff_file.h"
#include "tests/gpu/gpu_decode.h"
#include "tests/interp/data.h"
#include "tests/interp/interp_internal.h"
#include "tests/unit/check.h"
#include "zipflow/pipeline.h"

typedef unsigned long long ull;

enum { BLOCK = 4096, LAST = 905, ROWS = 2 * BLOCK + LAST, POISON = 0xa5, GUARD = 256, CANARY = 512 };

typedef struct range {
    uint64_t begin, end;
} range;

static const range ranges[] = {
    // none; one at either end of the column, and in the middle of each block
    {0, 0},
    {BLOCK, BLOCK},
    {ROWS, ROWS},
    {0, 1},
    {17, 18},
    {BLOCK + 1234, BLOCK + 1235},
    {2 * BLOCK + 700, 2 * BLOCK + 701},
    {ROWS - 1, ROWS},
    // around the edges of blocks
    {BLOCK - 1, BLOCK},
    {BLOCK, BLOCK + 1},
    {BLOCK + 1, BLOCK + 2},
    {BLOCK - 1, BLOCK + 1},
    {0, BLOCK - 1},
    {0, BLOCK},
    {1, BLOCK + 1},
    {BLOCK, 2 * BLOCK},
    {2 * BLOCK - 1, 2 * BLOCK + 1},
    {BLOCK - 1, 2 * BLOCK + 1},
    // around the edges of tiles
    {511, 513},
    {BLOCK + 1023, BLOCK + 1025},
    {BLOCK + 2048, BLOCK + 3072},
    // in the middle
    {5, 6},
    {1000, 3001},
    {3000, 2 * BLOCK + 101},
    {1, ROWS - 1},
    {2 * BLOCK + 3, ROWS},
    {0, ROWS},
};
enum { RANGES = sizeof ranges / sizeof *ranges };

enum { HERE, THERE, PIPELINE_HERE, PIPELINE_THERE, WAYS };

/// A context with the column's file, and how to decode it there.
typedef struct place {
    zf_context *context;
    zf_container *container;
    const char *device;
    bool shared; ///< each range goes one way
} place;

typedef struct run {
    diff_machine machine;
    unsigned gpu_level; ///< of the compiler for the device
    const char *device;
    gpu_machine gpu; ///< as gpu_decode wants it: the device in that compiler's context
    // of a column
    const zf_column *column;
    unsigned number;
    diff_plain plain;
    uint64_t columns, decodes, modules;
} run;

static bool goes(const run *r, const place *at, size_t k, unsigned by) { return !at->shared || (k + r->number) % WAYS == by; }

static zf_decode_options rows_of(range r) {
    uint64_t count = r.end == ROWS ? UINT64_MAX : r.end - r.begin;
    return (zf_decode_options){.some_rows = true, .row_begin = r.begin, .row_count = count};
}

// ---- The right rows -------------------------------------------------------------------------------------------

static bool bit(const uint8_t *bits, uint64_t at) { return bits[at / 8] >> (at % 8) & 1; }

/// Whether these are the rows of a range. `value_at`, `validity_at`: of the first row, in elements and in bits.
static bool is_right(const run *r, range rows, const uint8_t *values, uint64_t value_at, const int64_t *offsets,
                     const uint8_t *validity, uint64_t validity_at) {
    const diff_plain *plain = &r->plain;
    uint64_t count = rows.end - rows.begin;
    zf_type type = r->column->type;
    for (uint64_t k = 0; plain->validity != NULL && k < count; k++)
        if (bit(validity, validity_at + k) != bit(plain->validity, rows.begin + k)) return false;
    if (plain->offsets != NULL) {
        const int64_t *wanted = plain->offsets + rows.begin;
        for (uint64_t k = 0; k <= count; k++)
            if (offsets[k] - offsets[0] != wanted[k] - wanted[0]) return false;
        size_t bytes = (size_t)(wanted[count] - wanted[0]);
        return bytes == 0 || memcmp(values + offsets[0], plain->values + wanted[0], bytes) == 0;
    }
    if (type.kind == ZF_K_BOOL) {
        for (uint64_t k = 0; k < count; k++)
            if (bit(values, value_at + k) != plain->values[rows.begin + k]) return false;
        return true;
    }
    size_t size = zf_kind_size(type.kind);
    return count == 0 || memcmp(values + value_at * size, plain->values + rows.begin * size, count * size) == 0;
}

static void judge(run *r, const char *way, const char *device, range rows, zf_status status, const zf_error *error, bool right,
                  const char *touched) {
    const char *name = r->column->table->name, *codec = r->column->codec_text;
    r->decodes++;
    CHECK(status == ZF_OK, "%s = %s, %s on %s, rows %llu..%llu: %s %s (%s)", name, codec, way, device, (ull)rows.begin,
          (ull)rows.end, error->code, error->message, error->place);
    if (status != ZF_OK) return;
    CHECK(right, "%s = %s, %s on %s, rows %llu..%llu: other rows", name, codec, way, device, (ull)rows.begin, (ull)rows.end);
    CHECK(touched == NULL, "%s = %s, %s on %s, rows %llu..%llu: a canary of %s was touched", name, codec, way, device,
          (ull)rows.begin, (ull)rows.end, touched);
}

// ---- Memory of the host ---------------------------------------------------------------------------------------

/// Poisoned memory of these sizes, with more poison around each.
static zf_decode_buffers poisoned(const zf_decode_sizes *sizes) {
    const size_t bytes[] = {sizes->values, sizes->offsets, sizes->validity, sizes->workspace};
    uint8_t *at[4];
    for (size_t i = 0; i < 4; i++) {
        size_t room = (bytes[i] + 2 * GUARD + 63) / 64 * 64;
        uint8_t *map = aligned_alloc(64, room);
        if (map == NULL) abort();
        memset(map, POISON, room);
        at[i] = map + GUARD;
    }
    return (zf_decode_buffers){
        .values = at[0], .offsets = (int64_t *)(void *)at[1], .validity = at[2], .workspace = at[3], ZF_DECODE_BYTES(*sizes)};
}

static bool is_poison(const uint8_t *bytes) {
    for (size_t i = 0; i < GUARD; i++)
        if (bytes[i] != POISON) return false;
    return true;
}

/// The buffer around which something was written; NULL: none. Frees all.
static const char *release(zf_decode_buffers *b) {
    static const char *const names[] = {"values", "offsets", "validity", "workspace"};
    uint8_t *at[] = {b->values, (uint8_t *)b->offsets, b->validity, b->workspace};
    const size_t bytes[] = {b->values_bytes, b->offsets_bytes, b->validity_bytes, b->workspace_bytes};
    const char *touched = NULL;
    for (size_t i = 0; i < 4; i++) {
        if (!is_poison(at[i] - GUARD) || !is_poison(at[i] + bytes[i])) touched = names[i];
        free(at[i] - GUARD);
    }
    return touched;
}

static bool is_right_here(const run *r, range rows, const zf_decode_buffers *b) {
    if (r->plain.offsets != NULL && b->offsets[0] != 0) return false;
    return is_right(r, rows, b->values, 0, b->offsets, b->validity, 0);
}

// ---- Ways -----------------------------------------------------------------------------------------------------

static void decode_here(run *r, const place *at, const char *way, unsigned threads) {
    for (size_t k = 0; k < RANGES; k++) {
        if (!goes(r, at, k, HERE)) continue;
        zf_decode_options options = rows_of(ranges[k]);
        zf_decode_sizes sizes = {0};
        zf_error error = {0};
        options.threads = threads;
        zf_status status = zf_decode_size(at->container, 0, &options, &sizes, &error);
        zf_decode_buffers buffers = poisoned(&sizes);
        if (status == ZF_OK) status = zf_decode(at->container, 0, at->device, &options, &buffers, NULL, &error);
        bool right = status == ZF_OK && is_right_here(r, ranges[k], &buffers);
        judge(r, way, at->device, ranges[k], status, &error, right, release(&buffers));
    }
}

/// In the device's memory.
static void decode_there(run *r, const place *at) {
    for (size_t k = 0; k < RANGES; k++) {
        if (!goes(r, at, k, THERE)) continue;
        gpu_decode d;
        zf_decode_options options = rows_of(ranges[k]);
        zf_error error = {0};
        unsigned bits = zf_element_bits((zf_element)r->column->type.kind);
        if (r->machine.emulated) zf_emu_set_seed(r->gpu.accelerator, (r->number + k) % 8);
        zf_status status = gpu_decode_open(&r->gpu, at->container, 0, &options, CANARY, NULL, &d, &error);
        if (status == ZF_OK) status = gpu_decode_queue(&d, &error);
        if (status == ZF_OK) status = gpu_decode_wait(&d, NULL, &error);
        if (status == ZF_OK) status = gpu_decode_fetch(&d, &error);
        const int64_t *offsets = (const int64_t *)(const void *)d.copy_offsets;
        uint64_t first = bits <= 1 ? d.sizes.skip : d.sizes.skip / (bits / 8);
        bool right = status == ZF_OK && is_right(r, ranges[k], d.copy, first, offsets, d.copy_validity, d.sizes.validity_skip);
        judge(r, "zf_decode_async", at->device, ranges[k], status, &error, right, gpu_decode_touched(&d));
        gpu_decode_close(&d);
    }
}

/// A request of a batch, and its memory.
typedef struct asked {
    range rows;
    zf_pipeline_sizes sizes;
    zf_decode_buffers host;
    uint64_t map[3]; ///< values, offsets, validity on the device
} asked;

static zf_status ask(run *r, const place *at, zf_pipeline *pipeline, asked *a, zf_pipeline_request *out, zf_error *error) {
    const zf_accelerator_ops *ops = r->gpu.accelerator->ops;
    *out = (zf_pipeline_request){.container = at->container, .options = rows_of(a->rows), .on_device = out->on_device};
    ZF_TRY(zf_pipeline_request_sizes(pipeline, out, &a->sizes, error));
    a->host = poisoned(&a->sizes.host);
    out->host = a->host;
    if (!out->on_device) return ZF_OK;
    const uint64_t bytes[3] = {a->sizes.device.values, a->sizes.device.offsets, a->sizes.device.validity};
    for (int i = 0; i < 3; i++) {
        ZF_TRY(ops->allocate(r->gpu.accelerator, bytes[i], &a->map[i], error));
        ZF_TRY(ops->fill(r->gpu.accelerator, NULL, a->map[i], POISON, bytes[i], error));
        if (r->machine.emulated) zf_emu_forget(r->gpu.accelerator, a->map[i], bytes[i]);
    }
    out->device =
        (zf_device_buffers){.values = a->map[0], .offsets = a->map[1], .validity = a->map[2], ZF_DEVICE_BYTES(a->sizes.device)};
    return ops->wait(r->gpu.accelerator, NULL, error);
}

static bool is_right_there(run *r, const asked *a, zf_error *error) {
    const zf_accelerator_ops *ops = r->gpu.accelerator->ops;
    const zf_device_sizes *sizes = &a->sizes.device;
    const uint64_t bytes[3] = {sizes->values, sizes->offsets, sizes->validity};
    unsigned bits = zf_element_bits((zf_element)r->column->type.kind);
    uint8_t *copies[3];
    bool right = true;
    for (int i = 0; i < 3; i++) {
        copies[i] = malloc(bytes[i] + 1);
        right = right && ops->copy_out(r->gpu.accelerator, NULL, copies[i], a->map[i], bytes[i], error) == ZF_OK;
    }
    right = right && ops->wait(r->gpu.accelerator, NULL, error) == ZF_OK;
    uint64_t first = bits <= 1 ? sizes->skip : sizes->skip / (bits / 8);
    const int64_t *offsets = (const int64_t *)(const void *)copies[1];
    right = right && is_right(r, a->rows, copies[0], first, offsets, copies[2], sizes->validity_skip);
    for (int i = 0; i < 3; i++) free(copies[i]);
    return right;
}

/// A request of a batch, once it is done.
static void judge_request(run *r, const place *at, zf_batch *batch, size_t k, const asked *a, bool there) {
    zf_error error = {0};
    zf_status status = zf_batch_wait(batch, k, &error);
    bool right = status == ZF_OK && (there ? is_right_there(r, a, &error) : is_right_here(r, a->rows, &a->host));
    judge(r, there ? "a pipeline to the device" : "a pipeline", at->device, a->rows, status, &error, right, NULL);
}

static void release_request(run *r, asked *a) {
    const char *touched = a->host.values != NULL ? release(&a->host) : NULL;
    CHECK(touched == NULL, "%s, a pipeline: a canary of %s was touched", r->column->table->name, touched);
    for (int i = 0; i < 3; i++) r->gpu.accelerator->ops->release(r->gpu.accelerator, a->map[i]);
}

/// Ranges in one batch, each block a transfer unit; to the host or to the device.
static void decode_in_pipeline(run *r, const place *at, bool there) {
    const zf_pipeline_options options = {.device_staging = 8 << 20, .host_staging = 8 << 20, .unit_bytes = 4096, .readers = 2};
    asked all[RANGES] = {0};
    zf_pipeline_request requests[RANGES] = {0};
    zf_pipeline *pipeline = NULL;
    zf_batch *batch = NULL;
    zf_error error = {0};
    size_t count = 0;
    zf_status status = zf_pipeline_create(at->context, at->device, &options, &pipeline, &error);
    for (size_t k = 0; status == ZF_OK && k < RANGES; k++) {
        if (!goes(r, at, k, there ? PIPELINE_THERE : PIPELINE_HERE)) continue;
        all[count].rows = ranges[k];
        requests[count].on_device = there;
        status = ask(r, at, pipeline, &all[count], &requests[count], &error);
        count++;
    }
    if (status == ZF_OK) status = zf_batch_create(pipeline, requests, count, &batch, &error);
    if (status == ZF_OK) status = zf_batch_start(batch, &error);
    CHECK(status == ZF_OK, "%s, a pipeline on %s: %s %s (%s)", r->column->table->name, at->device, error.code, error.message,
          error.place);
    for (size_t k = 0; status == ZF_OK && k < count; k++) judge_request(r, at, batch, k, &all[k], there);
    zf_batch_free(batch);
    for (size_t k = 0; k < count; k++) release_request(r, &all[k]);
    zf_pipeline_free(pipeline);
}

/// By a module, in a context without a compiler. The emulated GPU has no code in modules.
static void decode_by_module(run *r, zf_program *program, const char *path) {
    char module_path[] = "/tmp/zf_ranges_XXXXXX.zfm";
    place at = {.device = "cpu"};
    zf_module *module = NULL;
    zf_error error = {0};
    int file = mkstemps(module_path, 4);
    if (file >= 0) close(file);
    zf_module_options options = {.no_nvptx = r->machine.emulated, .overwrite = true, .threads = 2};
    zf_status status = zf_module_compile(program, r->column->table->name, &options, module_path, NULL, &error);
    if (status == ZF_OK) status = zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &at.context, &error);
    if (status == ZF_OK) status = zf_module_load(at.context, module_path, &module, &error);
    if (status == ZF_OK) status = zf_container_open(at.context, path, &at.container, &error);
    CHECK(status == ZF_OK, "%s, a module: %s %s (%s)", r->column->table->name, error.code, error.message, error.place);
    if (status == ZF_OK) decode_here(r, &at, "a module", 2);
    if (status == ZF_OK && !r->machine.emulated) {
        at.device = r->device;
        decode_here(r, &at, "a module", 2);
    }
    r->modules += status == ZF_OK;
    zf_container_close(at.container);
    zf_module_free(module);
    zf_context_free(at.context);
    unlink(module_path);
}

// ---- A column -------------------------------------------------------------------------------------------------

enum { MIXED, SHAPES, GROWING = SHAPES + DATA_SHAPES, DATA_TURNS };

/// MIXED: other data in each block, so that they have other shapes. From SHAPES on: the same in all. GROWING: for sets of
/// differences.
static interp_stream *make_data(interp *in, const run *r, unsigned turn) {
    interp_stream *all = interp_stream_new(in, r->column->type);
    for (uint64_t k = 0; turn == GROWING && k < ROWS; k++) interp_stream_push(all, k % BLOCK * (k % BLOCK + 1) / 2);
    if (turn == GROWING) return all;
    for (unsigned block = 0; block < 3; block++) {
        static const data_shape mixed[] = {DATA_ZIPF, DATA_RUNS_16, DATA_UNIFORM, DATA_MIXED_EVEN, DATA_OUTLIERS};
        data_shape shape = turn == MIXED ? mixed[(r->number + 2 * block) % 5] : (data_shape)(turn - SHAPES);
        if (turn != MIXED && block > 0) break;
        interp_stream *part = data_stream(in, r->column->type, shape, r->number + block, turn == MIXED ? BLOCK : ROWS);
        for (uint64_t k = 0; k < interp_stream_count(part) && interp_stream_count(all) < ROWS; k++)
            interp_push_value(all, interp_stream_get(part, k));
    }
    return all;
}

/// Encodes the first data that the codec takes.
static bool encode(run *r, zf_program *program, const char *path) {
    for (unsigned turn = 0; turn < DATA_TURNS; turn++) {
        interp *in = interp_create(&(interp_options){.no_verify = true});
        zf_error error = {0};
        r->plain = diff_plain_of(make_data(in, r, turn));
        interp_destroy(in);
        zf_encode_column source = {
            .name = "c", .values = r->plain.values, .offsets = r->plain.offsets, .validity = r->plain.validity};
        zf_encode_options options = {.rows_per_block = BLOCK, .threads = 2, .overwrite = true};
        zf_status status = zf_encode(program, r->column->table->name, &source, 1, ROWS, &options, path, NULL, &error);
        if (status == ZF_OK) return true;
        diff_plain_free(&r->plain);
        bool refused = status == ZF_ERR_INPUT && turn + 1 < DATA_TURNS; // a set, for example, wants sorted rows
        CHECK(refused, "%s = %s: %s %s (%s)", r->column->table->name, r->column->codec_text, error.code, error.message,
              error.place);
        if (!refused) return false;
    }
    return false;
}

static void run_column(run *r, const diff_program *p, const zf_column *column, unsigned number, bool own, bool shared) {
    char path[] = "/tmp/zf_ranges_XXXXXX.zfd", command[128];
    unsigned level = number % DIFF_LEVELS;
    zf_error error = {0};
    r->column = column;
    r->number = number;
    snprintf(command, sizeof command, "gpu_ranges --table %s", column->table->name);
    diff_set_case(command);
    int file = mkstemps(path, 4);
    if (file >= 0) close(file);
    if (!encode(r, p->programs[level], path)) {
        unlink(path);
        return;
    }
    place host = {.context = r->machine.contexts[level], .device = "cpu"};
    place device = {.context = r->machine.contexts[r->gpu_level], .device = r->device, .shared = shared};
    zf_status status = zf_container_open(host.context, path, &host.container, &error);
    if (status == ZF_OK) status = zf_container_open(device.context, path, &device.container, &error);
    CHECK(status == ZF_OK, "%s: %s (%s)", path, error.message, error.place);
    if (status == ZF_OK) {
        decode_here(r, &host, "zf_decode", number % 4 < 2 ? 1 : 3);
        decode_in_pipeline(r, &host, false);
        decode_here(r, &device, "zf_decode", 2);
        decode_there(r, &device);
        decode_in_pipeline(r, &device, false);
        decode_in_pipeline(r, &device, true);
        if (own) decode_by_module(r, p->programs[level], path);
    }
    zf_container_close(host.container);
    zf_container_close(device.container);
    diff_plain_free(&r->plain);
    unlink(path);
    r->columns++;
}

/// The tables of a program that a sample has, or a name.
static void run_program(run *r, const diff_program *p, bool own, const char *wanted, const char *name) {
    sample these = {0};
    unsigned number = 0;
    if (wanted != NULL && !sample_read(wanted, &these)) {
        CHECK(false, "%s is no sample: 3:1 is one in three, at turn 1", wanted);
        return;
    }
    for (const zf_table *table = zf_spec_tables(diff_program_spec(p)); table != NULL; table = table->next, number++) {
        bool named = name != NULL && strcmp(name, table->name) == 0;
        if (named || (wanted != NULL && sample_has(these, number)))
            run_column(r, p, table->columns, number, own, r->machine.emulated && !named);
    }
}

static bool open_machine(run *r, const char *device, zf_text *message) {
    zf_device found;
    zf_error error = {0};
    if (device != NULL) setenv("ZF_TEST_DEVICE", device, 1);
    const char *name = getenv("ZF_TEST_DEVICE");
    if (!diff_machine_open(&r->machine, NULL, message)) return false;
    r->device = name != NULL ? name : "emu";
    r->gpu_level = r->machine.emulated ? 0 : DIFF_LEVELS - 1; // for the emulator compiling would take longer than running
    r->gpu = (gpu_machine){.context = r->machine.contexts[r->gpu_level], .device = r->device, .emulated = r->machine.emulated};
    zf_status status = zf_device_find(r->gpu.context, r->device, &found, &error);
    if (status == ZF_OK) status = zf_device_accelerator(r->gpu.context, &found, &r->gpu.accelerator, &error);
    if (status != ZF_OK) zf_text_printf(message, "%s: %s", error.code, error.message);
    return status == ZF_OK;
}

int main(int argc, char **argv) {
    const char *device = NULL, *own = NULL, *library = NULL, *table = NULL;
    const gpu_option options[] = {
        {"device", NULL, &device}, {"own", NULL, &own}, {"std", NULL, &library}, {"table", NULL, &table}, {0}};
    if (!gpu_options_read(argc, argv, options)) return 2;
    run r = {0};
    double begin = gpu_seconds();
    zf_text text = {0}, message = {0};
    diff_program own_program, library_program;
    diff_columns_families(&text);
    bool good = open_machine(&r, device, &message) &&
                diff_program_open_file(&r.machine, ZF_SOURCE_DIR "/tests/gpu/ranges.zf", &own_program, &message) &&
                diff_program_open(&r.machine, text.data, &library_program, &message);
    CHECK(good, "%s", message.data != NULL ? message.data : "a program has errors");
    if (!good) return check_result();
    run_program(&r, &own_program, true, own, table);
    run_program(&r, &library_program, false, library, table);
    printf("{\"program\": \"gpu_ranges\", \"device\": \"%s\", \"columns\": %llu, \"ranges\": %llu, \"modules\": %llu, "
           "\"seconds\": %.2f, \"failures\": %d}\n",
           r.device, (ull)r.columns, (ull)r.decodes, (ull)r.modules, gpu_seconds() - begin, (int)check_failures);
    diff_program_close(&own_program);
    diff_program_close(&library_program);
    diff_machine_close(&r.machine);
    zf_text_free(&text);
    zf_text_free(&message);
    return check_result();
}
