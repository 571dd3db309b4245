// How long sets of columns take from compressed bytes in the host's memory to rows in a device's: copied raw, and through
// pipelines in several orders, in one process. queries.py runs it and makes the report.
//
//   tpch_measure [--device D] [--repeats N] [--orders johnson,given,apart] [--host-staging BYTES] [--device-staging BYTES]
//                [--unit-bytes BYTES] [--streams N] [--source DIRECTORY] [--files DIRECTORY [--piece-bytes N] [--seconds S]] SETS
//                FILE.zfd...
//
// SETS has a line for each: its name, and columns as TABLE.COLUMN. JSON goes to standard output. The output of every order in
// every column is compared with a decode on the CPU, and that with files of plain rows in DIRECTORY (tables.py); memory is
// poisoned before. For each order's units it prints the fields of `unit_fields`, in the order in which they went: links.py
// makes a model of these. The exit status is 0 when all was right.
//
// With --files containers are not brought into memory before: a set is read from them, and from the files of plain rows, in the
// ways of tpch_files.c, of which none is begun after S seconds; `cp` copies to --files' DIRECTORY.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/tpch/tpch_measure.h"
#include "zipflow/emulator.h"

enum { LINE = 8192 };
enum { DEVICE_STAGING = 512 << 20, UNIT_BYTES = 32 << 20 }; // the pipeline's defaults, to be told
enum { HOST_STAGING = 64 << 20 };                           // of containers in memory only heads come there

static const char *const order_names[] = {"johnson", "given", "apart"};

/// The fields of a unit: its column's place in the set, bytes of the file, of rows and of the device's staging; expected
/// seconds; medians of the runs' times (hand over: from the end of the copy to the begin of the decode); and all its times, in
/// seconds since the start, in the run that took the median.
static const char unit_fields[] =
    "[\"column\", \"first_row\", \"stored_bytes\", \"plain_bytes\", \"device_bytes\", "
    "\"expected_read\", \"expected_copy\", \"expected_decode\", \"copy\", \"hand_over\", \"decode\", "
    "\"copy_begin\", \"copy_end\", \"decode_begin\", \"decode_end\"]";

zf_status no_memory(zf_error *error) {
    *error = (zf_error){.status = ZF_ERR_MEMORY, .code = "bench", .message = "no memory"};
    return ZF_ERR_MEMORY;
}

void print_text(const char *text) {
    putchar('"');
    for (; *text != 0; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        if ((unsigned char)*text >= ' ') putchar(*text);
    }
    putchar('"');
}

static void print_error(const zf_error *error) {
    char text[900];
    snprintf(text, sizeof text, "%s: %s (%s)", error->code, error->message, error->place);
    printf("\"verified\": false, \"message\": ");
    print_text(text);
}

void print_times(const char *name, double *times, unsigned count) {
    zf_measure_times t = zf_measure_times_of(times, count);
    printf("\"%s\": {\"median\": %.9f, \"least\": %.9f, \"most\": %.9f}", name, t.median, t.least, t.most);
}

// ---- Columns --------------------------------------------------------------------------------------------------

/// Memory of the host, aligned to 64: that which the device copies from, where there is one. It lives as long as its column.
static zf_status host_memory(bench *b, uint64_t bytes, void **out, zf_error *error) {
    void **kept = &b->kept[b->kept_count];
    zf_status status = ZF_OK;
    if (b->accelerator != NULL)
        status = b->accelerator->ops->host_allocate(b->accelerator, bytes + 64, kept, error);
    else if ((*kept = malloc(bytes + 64)) == NULL)
        status = no_memory(error);
    if (status != ZF_OK) return status;
    b->kept_count++;
    *out = (uint8_t *)*kept + (64 - (uintptr_t)*kept % 64) % 64;
    return ZF_OK;
}

/// Gives back what was taken since there were so many pieces.
static void give_back(bench *b, size_t before) {
    while (b->kept_count > before) {
        void *piece = b->kept[--b->kept_count];
        if (b->accelerator != NULL)
            b->accelerator->ops->host_release(b->accelerator, piece);
        else
            free(piece);
    }
}

/// Compares a part of a column with the file that it was made from.
static zf_status compare_source(const bench *b, const column *c, const char *ending, const void *part, uint64_t bytes,
                                zf_error *error) {
    char path[1024], piece[1 << 16];
    const uint8_t *at = part;
    uint64_t left = bytes;
    size_t got;
    snprintf(path, sizeof path, "%s/%s%s", b->source, c->name, ending);
    FILE *file = fopen(path, "rb");
    bool same = file != NULL;
    while (same && (got = fread(piece, 1, sizeof piece, file)) > 0) {
        same = got <= left && memcmp(piece, at, got) == 0;
        at += got;
        left -= got;
    }
    if (file != NULL) fclose(file);
    if (same && left == 0) return ZF_OK;
    *error = (zf_error){.status = ZF_ERR_INPUT, .code = "bench", .message = "a decode on the CPU differs from the source"};
    snprintf(error->place, sizeof error->place, "%s%s", c->name, ending);
    return error->status;
}

/// Decodes a column on the CPU.
static zf_status read_column(bench *b, column *c, zf_error *error) {
    void *values, *offsets, *workspace = NULL;
    zf_status status = zf_container_column(c->container, c->index, &c->info, error);
    if (status == ZF_OK) status = zf_decode_size(c->container, c->index, NULL, &c->sizes, error);
    if (status == ZF_OK) status = host_memory(b, c->sizes.values, &values, error);
    if (status == ZF_OK) status = host_memory(b, c->sizes.offsets, &offsets, error);
    if (status != ZF_OK) return status;
    c->values = values;
    c->offsets = offsets;
    c->raw_offsets = c->sizes.offsets / 2;
    if (c->sizes.workspace > 0 && (workspace = aligned_alloc(64, c->sizes.workspace / 64 * 64 + 64)) == NULL)
        return no_memory(error);
    zf_decode_buffers buffers = {.values = values, .offsets = offsets, .workspace = workspace, ZF_DECODE_BYTES(c->sizes)};
    status = zf_decode(c->container, c->index, "cpu", NULL, &buffers, NULL, error);
    free(workspace);
    if (status != ZF_OK || b->source == NULL) return status;
    if (c->sizes.offsets == 0) return compare_source(b, c, "", values, c->sizes.values, error);
    status = compare_source(b, c, ".bytes", values, c->sizes.values, error);
    return status == ZF_OK ? compare_source(b, c, ".offsets", offsets, c->sizes.offsets, error) : status;
}

/// The column of that name, read when it is first asked for. NULL after saying why not.
static column *find_column(bench *b, const char *name, zf_error *error) {
    for (size_t i = 0; i < b->column_count; i++) {
        if (strcmp(b->columns[i].name, name) == 0) return &b->columns[i];
    }
    *error = (zf_error){.status = ZF_ERR_USAGE, .code = "bench", .message = "no file has such a column, or there are too many"};
    snprintf(error->place, sizeof error->place, "%s", name);
    const char *point = strchr(name, '.');
    if (point == NULL || b->column_count == MOST_COLUMNS) return NULL;
    column *c = &b->columns[b->column_count];
    *c = (column){0};
    snprintf(c->name, sizeof c->name, "%s", name);
    for (size_t i = 0; i < b->container_count; i++) {
        const char *table = zf_container_table(b->containers[i]);
        if (strlen(table) != (size_t)(point - name) || strncmp(table, name, strlen(table)) != 0) continue;
        c->container = b->containers[i];
        size_t before = b->kept_count;
        if (zf_container_find(c->container, point + 1, &c->index, error) != ZF_OK || read_column(b, c, error) != ZF_OK) {
            give_back(b, before); // it is read anew where it is asked for again
            return NULL;
        }
        b->column_count++;
        return c;
    }
    return NULL;
}

// ---- Where rows go --------------------------------------------------------------------------------------------

static void targets_free(bench *b, target *targets, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (targets[i].values != 0) b->accelerator->ops->release(b->accelerator, targets[i].values);
        if (targets[i].offsets != 0) b->accelerator->ops->release(b->accelerator, targets[i].offsets);
        free(targets[i].host_values);
        free(targets[i].host_workspace);
        free(targets[i].host_offsets);
    }
}

/// Memory for a column's rows, and a request that has them go there.
static zf_status make_target(bench *b, const column *c, zf_pipeline *pipeline, target *t, zf_pipeline_request *request,
                             zf_error *error) {
    zf_pipeline_sizes sizes = {0};
    *request = (zf_pipeline_request){.container = c->container, .column = c->index, .on_device = b->accelerator != NULL};
    zf_status status = zf_pipeline_request_sizes(pipeline, request, &sizes, error);
    if (status != ZF_OK) return status;
    if (b->accelerator != NULL) {
        status = b->accelerator->ops->allocate(b->accelerator, sizes.device.values + 256, &t->values, error);
        if (status == ZF_OK && sizes.device.offsets > 0)
            status = b->accelerator->ops->allocate(b->accelerator, sizes.device.offsets + 256, &t->offsets, error);
        request->device = (zf_device_buffers){.values = t->values, .offsets = t->offsets, ZF_DEVICE_BYTES(sizes.device)};
        return status;
    }
    t->host_values = aligned_alloc(64, sizes.host.values / 64 * 64 + 64);
    t->host_offsets = aligned_alloc(64, sizes.host.offsets / 64 * 64 + 64);
    t->host_workspace = aligned_alloc(64, sizes.host.workspace / 64 * 64 + 64);
    if (t->host_values == NULL || t->host_offsets == NULL || t->host_workspace == NULL) return no_memory(error);
    request->host = (zf_decode_buffers){
        .values = t->host_values, .offsets = t->host_offsets, .workspace = t->host_workspace, ZF_DECODE_BYTES(sizes.host)};
    return ZF_OK;
}

zf_status fill_targets(bench *b, column **columns, const target *targets, size_t count, zf_error *error) {
    zf_status status = ZF_OK;
    for (size_t i = 0; i < count && status == ZF_OK; i++) {
        const zf_decode_sizes *sizes = &columns[i]->sizes;
        if (b->accelerator == NULL) {
            memset(targets[i].host_values, ZF_POISON_COPY, sizes->values);
            memset(targets[i].host_offsets, ZF_POISON_COPY, sizes->offsets);
            continue;
        }
        const zf_accelerator_ops *ops = b->accelerator->ops;
        status = ops->fill(b->accelerator, b->stream, targets[i].values, ZF_POISON_COPY, sizes->values, error);
        if (status == ZF_OK && sizes->offsets > 0)
            status = ops->fill(b->accelerator, b->stream, targets[i].offsets, ZF_POISON_COPY, sizes->offsets, error);
    }
    return status == ZF_OK && b->accelerator != NULL ? b->accelerator->ops->wait(b->accelerator, b->stream, error) : status;
}

/// Compares a part of a column with what it should be.
zf_status compare(bench *b, const column *c, const char *part, uint64_t address, const void *host, const void *wanted,
                  uint64_t bytes, zf_error *error) {
    zf_status status = ZF_OK;
    if (bytes == 0) return ZF_OK;
    if (b->accelerator != NULL) {
        status = b->accelerator->ops->copy_out(b->accelerator, b->stream, b->landing, address, bytes, error);
        if (status == ZF_OK) status = b->accelerator->ops->wait(b->accelerator, b->stream, error);
        host = b->landing;
    }
    if (status != ZF_OK || zf_measure_difference(host, wanted, bytes) == bytes) return status;
    *error = (zf_error){.status = ZF_ERR_INTERNAL, .code = "bench"};
    snprintf(error->message, sizeof error->message, "%s differs from a decode on the CPU", part);
    snprintf(error->place, sizeof error->place, "%s", c->name);
    return error->status;
}

zf_status compare_all(bench *b, column **columns, const target *targets, size_t count, zf_error *error) {
    zf_status status = ZF_OK;
    for (size_t i = 0; i < count && status == ZF_OK; i++) {
        const column *c = columns[i];
        status = compare(b, c, "values", targets[i].values, targets[i].host_values, c->values, c->sizes.values, error);
        if (status == ZF_OK)
            status = compare(b, c, "offsets", targets[i].offsets, targets[i].host_offsets, c->offsets, c->sizes.offsets, error);
    }
    return status;
}

// ---- Measuring a set ------------------------------------------------------------------------------------------

/// Copies plain rows, from the call of the first copy to the end of the last. Offsets of strings count as four bytes each.
zf_status measure_raw(bench *b, column **columns, const target *targets, size_t count, zf_error *error) {
    double times[MOST_REPEATS + 1];
    zf_status status = ZF_OK;
    const zf_accelerator_ops *ops = b->accelerator->ops;
    for (unsigned r = 0; r <= b->repeats && status == ZF_OK; r++) { // the first does not count
        double begin = zf_clock_seconds();
        for (size_t i = 0; i < count && status == ZF_OK; i++) {
            status =
                ops->copy_in(b->accelerator, b->stream, targets[i].values, columns[i]->values, columns[i]->sizes.values, error);
            if (status == ZF_OK && columns[i]->raw_offsets > 0)
                status = ops->copy_in(b->accelerator, b->stream, targets[i].offsets, columns[i]->offsets, columns[i]->raw_offsets,
                                      error);
        }
        if (status == ZF_OK) status = ops->wait(b->accelerator, b->stream, error);
        times[r] = zf_clock_seconds() - begin;
    }
    if (status != ZF_OK) return status;
    print_times("raw_seconds", times + 1, b->repeats);
    printf(",\n   ");
    return ZF_OK;
}

zf_status wait_all(zf_batch *batch, size_t count, zf_error *error) {
    zf_status status = ZF_OK;
    for (size_t i = 0; i < count; i++) { // all of them, whatever becomes of one: then the batch is over
        zf_error one;
        zf_status of_one = zf_batch_wait(batch, i, &one);
        if (of_one != ZF_OK && status == ZF_OK) {
            status = of_one;
            *error = one;
        }
    }
    return status;
}

/// Prints a run: for each column its copies, its decodes, and when it was there.
static zf_status print_run(const zf_batch *batch, column **columns, size_t count, zf_error *error) {
    double copies[MOST_OF_SET] = {0}, decodes[MOST_OF_SET] = {0};
    zf_batch_info info = {0};
    zf_status status = zf_batch_describe(batch, &info, error);
    for (size_t u = 0; u < info.units && status == ZF_OK; u++) {
        zf_batch_unit unit = {0};
        status = zf_batch_unit_get(batch, u, &unit, error);
        if (status != ZF_OK) break;
        double copy = unit.measured.copy_end - unit.measured.copy_begin,
               decode = unit.measured.decode_end - unit.measured.decode_begin;
        copies[unit.request] += isnan(copy) ? 0 : copy;
        decodes[unit.request] += isnan(decode) ? 0 : decode;
    }
    if (status != ZF_OK) return status;
    printf("\"units\": %zu, \"predicted_seconds\": %.9f, \"bound_seconds\": %.9f, \"link_rate\": %.0f, \"columns\": [",
           info.units, isnan(info.predicted_seconds) ? 0 : info.predicted_seconds,
           isnan(info.bound_seconds) ? 0 : info.bound_seconds, isnan(info.link_rate) ? 0 : info.link_rate);
    for (size_t i = 0; i < count; i++) {
        printf("%s{\"column\": \"%s\", \"copy_seconds\": %.9f, \"decode_seconds\": %.9f, \"ready_seconds\": %.9f}",
               i > 0 ? ", " : "", columns[i]->name, copies[i], decodes[i], zf_batch_ready_seconds(batch, i));
    }
    printf("]");
    return ZF_OK;
}

// ---- Units ----------------------------------------------------------------------------------------------------

/// The runs of an order that count.
typedef struct runs {
    double seconds[MOST_REPEATS];
    unsigned count;
    zf_batch_unit *first; ///< the units as the first batch had them: later ones may have them in another order
    zf_unit_times *times; ///< run by run, those of all units, in the order of `first`
    size_t units;
    zf_pipeline *pipeline; ///< of the round that is under way
    zf_batch *batch;
} runs;

static void end_round(runs *all) {
    zf_batch_free(all->batch);
    zf_pipeline_free(all->pipeline);
    all->batch = NULL;
    all->pipeline = NULL;
}

static void runs_free(runs *all) {
    end_round(all);
    free(all->first);
    free(all->times);
    *all = (runs){0};
}

/// A unit's place in the order of the first batch; `guess` is where it is if nothing moved. A unit that the first batch had not
/// is an error: its times would be told as those of another.
static zf_status place_of(const runs *all, const zf_batch_unit *unit, size_t guess, size_t *place, zf_error *error) {
    for (size_t k = 0; k < all->units; k++) {
        *place = (guess + k) % all->units;
        if (all->first[*place].request == unit->request && all->first[*place].first_row == unit->first_row) return ZF_OK;
    }
    *error = (zf_error){.status = ZF_ERR_INTERNAL, .code = "bench"};
    snprintf(error->message, sizeof error->message, "column %zu of the set has no unit from row %" PRIu64 " in the first round",
             unit->request, unit->first_row);
    return error->status;
}

/// The batch of the first round was made.
static zf_status note_units(bench *b, runs *all, zf_error *error) {
    zf_batch_info info = {0};
    zf_status status = zf_batch_describe(all->batch, &info, error);
    if (status != ZF_OK) return status;
    all->units = info.units;
    all->first = calloc(info.units + 1, sizeof *all->first);
    all->times = calloc(b->repeats * info.units + 1, sizeof *all->times);
    if (all->first == NULL || all->times == NULL) return no_memory(error);
    for (size_t u = 0; u < info.units && status == ZF_OK; u++) status = zf_batch_unit_get(all->batch, u, &all->first[u], error);
    return status;
}

/// A run is over.
static zf_status keep_run(runs *all, zf_error *error) {
    zf_batch_info info = {0};
    unsigned r = all->count++;
    zf_status status = zf_batch_describe(all->batch, &info, error);
    if (status != ZF_OK) return status;
    if (info.units != all->units) {
        *error = (zf_error){.status = ZF_ERR_INTERNAL, .code = "bench"};
        snprintf(error->message, sizeof error->message, "%zu units, where the first round had %zu", info.units, all->units);
        return error->status;
    }
    all->seconds[r] = info.measured_seconds;
    for (size_t u = 0; u < all->units && status == ZF_OK; u++) {
        size_t place = 0;
        zf_batch_unit unit = {0};
        status = zf_batch_unit_get(all->batch, u, &unit, error);
        if (status == ZF_OK) status = place_of(all, &unit, u, &place, error);
        if (status == ZF_OK) all->times[r * all->units + place] = unit.measured;
    }
    return status;
}

/// The run that took the median; of an even number, the faster one of the two.
static unsigned median_run(const double *seconds, unsigned count) {
    double sorted[MOST_REPEATS];
    memcpy(sorted, seconds, count * sizeof *sorted);
    zf_median(sorted, count); // sorts
    unsigned r = 0;
    while (seconds[r] != sorted[(count - 1) / 2]) r++;
    return r;
}

static zf_status print_units(const runs *all, zf_error *error) {
    unsigned middle = median_run(all->seconds, all->count);
    printf(", \"run_seconds\": %.9f, \"of_units\": [", all->seconds[middle]);
    for (size_t u = 0; u < all->units; u++) {
        double copies[MOST_REPEATS], hands[MOST_REPEATS], decodes[MOST_REPEATS];
        size_t place = 0;
        zf_batch_unit unit = {0};
        zf_status status = zf_batch_unit_get(all->batch, u, &unit, error);
        if (status == ZF_OK) status = place_of(all, &unit, u, &place, error);
        if (status != ZF_OK) return status;
        const zf_unit_times *times = all->times + place;
        for (unsigned r = 0; r < all->count; r++) {
            const zf_unit_times *t = &times[r * all->units];
            copies[r] = t->copy_end - t->copy_begin;
            hands[r] = t->decode_begin - t->copy_end;
            decodes[r] = t->decode_end - t->decode_begin;
        }
        const zf_unit_times *p = &unit.predicted, *t = &times[middle * all->units];
        printf("%s\n    [%zu, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %.12f, %.12f, %.12f", u > 0 ? "," : "",
               unit.request, unit.first_row, unit.stored_bytes, unit.plain_bytes, unit.device_bytes, p->read_end - p->read_begin,
               p->copy_end - p->copy_begin, p->decode_end - p->decode_begin);
        printf(", %.9f, %.9f, %.9f, %.9f, %.9f, %.9f, %.9f]", zf_median(copies, all->count), zf_median(hands, all->count),
               zf_median(decodes, all->count), t->copy_begin, t->copy_end, t->decode_begin, t->decode_end);
    }
    printf("]");
    return ZF_OK;
}

// ---- Orders ---------------------------------------------------------------------------------------------------

enum {
    ORDERS = 3,
    WARM_UPS = 2, ///< runs before those that count: the first gets code, the second shows how fast it is
    ROUNDS = 3    ///< in which orders take turns, each with a batch of its own: what one batch has by chance is not an order's
};

/// A set that is to be brought somewhere.
typedef struct job {
    column **columns;
    target *targets;
    zf_pipeline_request *requests;
    size_t count;
} job;

static zf_status run_once(const job *j, zf_batch *batch, zf_error *error) {
    zf_status status = zf_batch_start(batch, error);
    return status == ZF_OK ? wait_all(batch, j->count, error) : status;
}

static zf_status open_pipeline(const bench *b, unsigned order, zf_pipeline **out, zf_error *error) {
    zf_pipeline_options options = b->options;
    options.order = (zf_pipeline_order)order;
    return zf_pipeline_create(b->context, b->device_name, &options, out, error);
}

/// Poisoned, run and compared: that teaches how fast decoders are.
static zf_status warm_up(bench *b, unsigned order, const job *j, zf_error *error) {
    runs all = {0};
    zf_status status = open_pipeline(b, order, &all.pipeline, error);
    if (status == ZF_OK) status = zf_batch_create(all.pipeline, j->requests, j->count, &all.batch, error);
    if (status == ZF_OK) status = fill_targets(b, j->columns, j->targets, j->count, error);
    for (unsigned r = 0; r < WARM_UPS && status == ZF_OK; r++) status = run_once(j, all.batch, error);
    if (status == ZF_OK) status = compare_all(b, j->columns, j->targets, j->count, error);
    runs_free(&all);
    return status;
}

/// A pipeline and a batch of its own, so that where their memory and streams happen to be is another chance each round, and no
/// other order's are there; run once, since what stays on the device comes there then, and for its part of `repeats`. In the
/// last round the columns are poisoned between that run and those that count, and compared: what is there then, runs that count
/// wrote.
static zf_status run_round(bench *b, unsigned order, unsigned round, const job *j, runs *all, zf_error *error) {
    unsigned wanted = b->repeats * (round + 1) / ROUNDS - b->repeats * round / ROUNDS;
    bool last = round + 1 == ROUNDS;
    if (wanted == 0) return ZF_OK; // never the last
    zf_status status = open_pipeline(b, order, &all->pipeline, error);
    if (status == ZF_OK) status = zf_batch_create(all->pipeline, j->requests, j->count, &all->batch, error);
    if (status == ZF_OK && all->first == NULL) status = note_units(b, all, error);
    if (status == ZF_OK) status = run_once(j, all->batch, error);
    if (status == ZF_OK && last) status = fill_targets(b, j->columns, j->targets, j->count, error);
    for (unsigned r = 0; r < wanted && status == ZF_OK; r++) {
        status = run_once(j, all->batch, error);
        if (status == ZF_OK) status = keep_run(all, error);
    }
    return status == ZF_OK && last ? compare_all(b, j->columns, j->targets, j->count, error) : status;
}

static zf_status print_order(const bench *b, unsigned order, const job *j, const runs *all, zf_error *error) {
    double times[MOST_REPEATS];
    memcpy(times, all->seconds, sizeof times);
    printf("\"%s\": {", order_names[order]);
    print_times("seconds", times, all->count);
    printf(", \"runs\": [");
    for (unsigned r = 0; r < all->count; r++) printf("%s%.9f", r > 0 ? ", " : "", all->seconds[r]);
    printf("], ");
    zf_status status = print_run(all->batch, j->columns, j->count, error);
    if (status == ZF_OK && b->accelerator != NULL) status = print_units(all, error);
    printf("},\n   ");
    return status;
}

/// Orders take turns. Only one has a pipeline at a time.
static zf_status measure_orders(bench *b, const job *j, zf_error *error) {
    runs all[ORDERS] = {0};
    zf_status status = ZF_OK;
    for (unsigned o = 0; o < ORDERS && status == ZF_OK; o++) {
        if (b->wanted[o]) status = warm_up(b, o, j, error);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned o = 0; o < ORDERS && status == ZF_OK; o++) {
            if (b->wanted[o]) status = run_round(b, o, round, j, &all[o], error);
            if (b->wanted[o] && round + 1 == ROUNDS && status == ZF_OK) status = print_order(b, o, j, &all[o], error);
            end_round(&all[o]);
        }
    }
    for (unsigned o = 0; o < ORDERS; o++) runs_free(&all[o]);
    return status;
}

static zf_status make_targets(bench *b, column **columns, size_t count, target *targets, zf_pipeline_request *requests,
                              zf_error *error) {
    zf_pipeline *pipeline = NULL;
    zf_status status = open_pipeline(b, ZF_PIPELINE_JOHNSON, &pipeline, error);
    for (size_t i = 0; i < count && status == ZF_OK; i++)
        status = make_target(b, columns[i], pipeline, &targets[i], &requests[i], error);
    zf_pipeline_free(pipeline);
    return status;
}

static zf_status measure_columns(bench *b, column **columns, size_t count, zf_error *error) {
    target targets[MOST_OF_SET] = {0};
    zf_pipeline_request requests[MOST_OF_SET] = {0};
    zf_status status = make_targets(b, columns, count, targets, requests, error);
    if (status == ZF_OK && b->accelerator != NULL) status = measure_raw(b, columns, targets, count, error);
    if (status == ZF_OK && b->sink != NULL) status = measure_files(b, columns, targets, requests, count, error);
    job j = {columns, targets, requests, count};
    if (status == ZF_OK && b->sink == NULL) status = measure_orders(b, &j, error);
    targets_free(b, targets, count);
    return status;
}

/// A line of SETS.
static void measure_set(bench *b, char *line, bool first) {
    zf_error error = {0};
    column *columns[MOST_OF_SET];
    uint64_t plain = 0, raw = 0, stored = 0;
    size_t count = 0;
    char *rest, *name = strtok_r(line, " \n", &rest), *word;
    zf_status status = ZF_OK;
    while (status == ZF_OK && (word = strtok_r(NULL, " \n", &rest)) != NULL) {
        column *c = count < MOST_OF_SET ? find_column(b, word, &error) : NULL;
        if (c == NULL) status = error.status != ZF_OK ? error.status : ZF_ERR_USAGE;
        if (c == NULL) break;
        columns[count++] = c;
        plain += c->sizes.values + c->sizes.offsets;
        raw += c->sizes.values + c->raw_offsets;
        stored += c->info.stored_bytes;
    }
    printf("%s\n  {\"set\": \"%s\", \"plain_bytes\": %" PRIu64 ", \"raw_bytes\": %" PRIu64 ", \"stored_bytes\": %" PRIu64
           ",\n   ",
           first ? "" : ",", name, plain, raw, stored);
    uint64_t most = 1;
    for (size_t i = 0; i < b->column_count; i++) {
        const zf_decode_sizes *sizes = &b->columns[i].sizes;
        uint64_t larger = sizes->values > sizes->offsets ? sizes->values : sizes->offsets;
        most = larger > most ? larger : most;
    }
    void *landing = NULL;
    if (status == ZF_OK && b->accelerator != NULL)
        status = b->accelerator->ops->host_allocate(b->accelerator, most, &landing, &error);
    b->landing = landing;
    if (status == ZF_OK) status = measure_columns(b, columns, count, &error);
    if (landing != NULL) b->accelerator->ops->host_release(b->accelerator, landing);
    if (status == ZF_OK)
        printf("\"verified\": true}");
    else
        print_error(&error), printf("}");
    b->wrong = b->wrong || status != ZF_OK;
    fflush(stdout);
}

// ---- The program ----------------------------------------------------------------------------------------------

/// A list of orders by their whole names; false: it has something else, or nothing.
static bool read_orders(bench *b, const char *list) {
    memset(b->wanted, 0, sizeof b->wanted);
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        unsigned o = 0;
        while (o < ORDERS && (strlen(order_names[o]) != length || strncmp(order_names[o], at, length) != 0)) o++;
        if (o == ORDERS) return false;
        b->wanted[o] = true;
        at += length;
        if (*at == 0) return true;
    }
}

static bool read_options(bench *b, int argc, char **argv, int *at) {
    for (*at = 1; *at + 1 < argc && strncmp(argv[*at], "--", 2) == 0; *at += 2) {
        const char *name = argv[*at] + 2, *value = argv[*at + 1];
        unsigned long long number = strtoull(value, NULL, 10);
        if (strcmp(name, "device") == 0)
            b->device_name = value;
        else if (strcmp(name, "source") == 0)
            b->source = value;
        else if (strcmp(name, "orders") == 0) {
            if (!read_orders(b, value)) return false;
        } else if (strcmp(name, "repeats") == 0)
            b->repeats = (unsigned)number;
        else if (strcmp(name, "host-staging") == 0)
            b->options.host_staging = number;
        else if (strcmp(name, "device-staging") == 0)
            b->options.device_staging = number;
        else if (strcmp(name, "unit-bytes") == 0)
            b->options.unit_bytes = number;
        else if (strcmp(name, "files") == 0)
            b->sink = value;
        else if (strcmp(name, "piece-bytes") == 0)
            b->piece_bytes = number;
        else if (strcmp(name, "seconds") == 0)
            b->end = zf_clock_seconds() + strtod(value, NULL);
        else if (strcmp(name, "streams") == 0)
            b->options.streams = (unsigned)number;
        else
            return false;
    }
    return argc - *at >= 2 && argc - *at - 1 <= MOST_FILES && b->repeats >= 1 && b->repeats <= MOST_REPEATS &&
           b->piece_bytes > 0 && b->piece_bytes % 4096 == 0;
}

static zf_status open_all(bench *b, char **files, int count, zf_error *error) {
    zf_status status = zf_context_create(NULL, &b->context, error);
    if (status == ZF_OK) status = zf_emulator_register(b->context, error);
    if (status == ZF_OK) status = zf_compiler_create(b->context, NULL, &b->compiler, error);
    if (status == ZF_OK) status = zf_device_find(b->context, b->device_name, &b->device, error);
    if (status == ZF_OK && b->device.ops->start != NULL) {
        status = zf_device_accelerator(b->context, &b->device, &b->accelerator, error);
        if (status == ZF_OK) status = b->accelerator->ops->stream_open(b->accelerator, &b->stream, error);
    }
    for (int i = 0; i < count && status == ZF_OK; i++) {
        status = zf_container_open(b->context, files[i], &b->containers[i], error);
        if (status != ZF_OK) break;
        b->container_count++;
        if (b->sink == NULL) status = zf_container_load(b->containers[i], b->device_name, error);
    }
    if (b->sink == NULL && b->options.host_staging == 0) b->options.host_staging = HOST_STAGING;
    return status;
}

static void print_columns(const bench *b) {
    printf("\n ],\n \"columns\": [");
    for (size_t i = 0; i < b->column_count; i++) {
        const column *c = &b->columns[i];
        printf("%s\n  {\"column\": \"%s\", \"type\": \"%s\", \"rows\": %" PRIu64 ", \"plain_bytes\": %" PRIu64
               ", \"raw_bytes\": %" PRIu64 ", \"stored_bytes\": %" PRIu64 ", \"codec\": ",
               i > 0 ? "," : "", c->name, c->info.type_name, c->info.rows, (uint64_t)(c->sizes.values + c->sizes.offsets),
               (uint64_t)c->sizes.values + c->raw_offsets, c->info.stored_bytes);
        print_text(c->info.codec);
        printf("}");
    }
    printf("\n ]}\n");
}

int main(int argc, char **argv) {
    static bench b = {.device_name = "cuda",
                      .repeats = 5,
                      .piece_bytes = 4 << 20,
                      .end = INFINITY,
                      .wanted = {true, true, true},
                      .options = {.device_staging = DEVICE_STAGING, .unit_bytes = UNIT_BYTES}};
    char line[LINE];
    zf_error error = {0};
    int at;
    if (!read_options(&b, argc, argv, &at)) {
        fprintf(stderr, "usage: tpch_measure [--device D] [--repeats N] [--orders O,O] [--host-staging N] [--device-staging N]\n"
                        "                    [--unit-bytes N] [--streams N] [--source DIRECTORY]\n"
                        "                    [--files DIRECTORY [--piece-bytes N] [--seconds S]] SETS FILE.zfd...\n");
        return 2;
    }
    FILE *sets = fopen(argv[at], "r");
    if (sets == NULL) return fprintf(stderr, "tpch_measure: %s cannot be read\n", argv[at]), 2;
    if (open_all(&b, argv + at + 1, argc - at - 1, &error) != ZF_OK) {
        fprintf(stderr, "tpch_measure: %s: %s\n  at: %s\n", error.code, error.message, error.place);
        return (int)error.status;
    }
    zf_device_info info = {0};
    for (size_t i = 0; i < zf_device_count(b.context); i++) {
        zf_device_info one = {0};
        if (zf_device_get(b.context, i, &one, NULL) == ZF_OK && strcmp(one.name, b.device_name) == 0) info = one;
    }
    printf("{\"version\": \"%s\", \"device\": {\"name\": \"%s\", \"description\": ", zf_version(), b.device_name);
    print_text(info.description != NULL ? info.description : "");
    printf("}, \"repeats\": %u, \"device_staging\": %" PRIu64 ", \"unit_bytes\": %" PRIu64
           ",\n \"unit_fields\": %s,\n \"sets\": [",
           b.repeats, b.options.device_staging, b.options.unit_bytes, unit_fields);
    for (bool first = true; fgets(line, sizeof line, sets) != NULL;) {
        if (line[0] == '\n' || line[0] == '#') continue;
        measure_set(&b, line, first);
        first = false;
    }
    fclose(sets);
    print_columns(&b);
    give_back(&b, 0);
    if (b.accelerator != NULL) b.accelerator->ops->stream_close(b.accelerator, b.stream);
    for (size_t i = 0; i < b.container_count; i++) zf_container_close(b.containers[i]);
    zf_compiler_free(b.compiler);
    zf_context_free(b.context);
    return b.wrong;
}
