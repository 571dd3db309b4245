// TPC-H's query 1 or 6 on a file of lineitem: query q1|q6 LINEITEM.zfd [DEVICE]
//
// The columns that the query reads go through a pipeline. Each step of the query (query_rows.h) runs as soon as its columns are
// there, while the others are still on their way: on a GPU as a kernel that follows them on a stream, else as a loop here.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zipflow/compile.h>
#include <zipflow/emulator.h>
#include <zipflow/pipeline.h>

#include "query_cuda.h"

static const struct {
    const char *name, *type;
} known_columns[QUERY_COLUMNS] = {
    [COLUMN_DATE] = {"l_shipdate", "date32"},
    [COLUMN_FLAG] = {"l_returnflag", "u8"},
    [COLUMN_STATUS] = {"l_linestatus", "u8"},
    [COLUMN_QUANTITY] = {"l_quantity", "decimal(15, 2)"},
    [COLUMN_DISCOUNT] = {"l_discount", "decimal(15, 2)"},
    [COLUMN_PRICE] = {"l_extendedprice", "decimal(15, 2)"},
    [COLUMN_TAX] = {"l_tax", "decimal(15, 2)"},
};

typedef query_sum totals[QUERY_GROUPS][QUERY_KINDS];

// ---- Steps ----------------------------------------------------------------------------------------------------

#define HOST_STEP(name, query, needs, first_kind, second_kind)                                                                   \
    static void name##_on_host(const query_columns *columns, totals sums) {                                                      \
        for (uint64_t row = 0; row < columns->rows; row++) {                                                                     \
            query_added added = name##_row(columns, row);                                                                        \
            if (added.group == QUERY_NO_GROUP) continue;                                                                         \
            sums[added.group][first_kind] += added.first;                                                                        \
            if ((first_kind) != (second_kind)) sums[added.group][second_kind] += added.second;                                   \
        }                                                                                                                        \
    }
QUERY_STEPS(HOST_STEP)

static const struct step {
    const char *name;
    unsigned query, needs;
    void (*on_host)(const query_columns *columns, totals sums);
} steps[] = {
#define STEP(name, query, needs, first_kind, second_kind) {#name, query, needs, name##_on_host},
    QUERY_STEPS(STEP)
#undef STEP
};
enum { STEPS = sizeof steps / sizeof steps[0] };

// ---- The query ------------------------------------------------------------------------------------------------

typedef struct run {
    unsigned query;
    const char *device;
    zf_context *context;
    zf_compiler *compiler; // makes code for the codecs that the file describes
    zf_container *container;
    zf_pipeline *pipeline;
    zf_batch *batch;
    query_gpu *gpu;  // NULL: the steps run on the host
    unsigned needed; // columns, bits by COLUMN_*
    size_t count;
    zf_pipeline_request requests[QUERY_COLUMNS];
    size_t request_of[QUERY_COLUMNS];
    void *memory[QUERY_COLUMNS * 2 + 1];
    size_t memory_count;
    query_columns columns;
    totals sums;
} run;

static int complain(const zf_error *error) {
    fprintf(stderr, "query: %s%s%s\n", error->code, error->code[0] != 0 ? ": " : "", error->message);
    if (error->place[0] != 0) fprintf(stderr, "  at: %s\n", error->place);
    if (error->hint[0] != 0) fprintf(stderr, "  %s\n", error->hint);
    return (int)error->status;
}

/// An error of this program's own: `who` and what is wrong.
static zf_status refuse(zf_error *error, zf_status status, const char *who, const char *what) {
    *error = (zf_error){.status = status};
    snprintf(error->message, sizeof error->message, "%s%s%s", who, *who != 0 ? " " : "", what);
    return status;
}

/// Memory of the host, aligned to 64, or of the device; freed with `r`.
static zf_status allocate(run *r, uint64_t bytes, void **host, uint64_t *device, zf_error *error) {
    if (r->gpu != NULL)
        return query_gpu_allocate(r->gpu, bytes, device) ? ZF_OK : refuse(error, ZF_ERR_MEMORY, "", "no memory on the GPU");
    *host = aligned_alloc(64, bytes / 64 * 64 + 64);
    if (*host == NULL) return refuse(error, ZF_ERR_MEMORY, "", "no memory");
    r->memory[r->memory_count++] = *host;
    return ZF_OK;
}

/// Requests column `which`, and memory for it.
static zf_status request_column(run *r, unsigned which, zf_error *error) {
    zf_column_info info = {ZF_INIT(zf_column_info)};
    zf_pipeline_request *request = &r->requests[r->count];
    zf_pipeline_sizes sizes = {ZF_INIT(zf_pipeline_sizes)};
    *request = (zf_pipeline_request){ZF_INIT(zf_pipeline_request), .container = r->container, .on_device = r->gpu != NULL};
    zf_status status = zf_container_find(r->container, known_columns[which].name, &request->column, error);
    if (status == ZF_OK) status = zf_container_column(r->container, request->column, &info, error);
    if (status == ZF_OK && strcmp(info.type_name, known_columns[which].type) != 0)
        return refuse(error, ZF_ERR_INPUT, info.name, "has another type than lineitem.zf gives it");
    if (status == ZF_OK) status = zf_pipeline_request_sizes(r->pipeline, request, &sizes, error);
    if (status != ZF_OK) return status;
    request->host = (zf_decode_buffers){ZF_INIT(zf_decode_buffers), ZF_DECODE_BYTES(sizes.host)};
    request->device = (zf_device_buffers){ZF_INIT(zf_device_buffers), ZF_DEVICE_BYTES(sizes.device)};
    void *values = NULL;
    status = allocate(r, r->gpu != NULL ? sizes.device.values : sizes.host.values, &values, &request->device.values, error);
    request->host.values = values;
    if (status == ZF_OK && r->gpu == NULL && sizes.host.workspace > 0)
        status = allocate(r, sizes.host.workspace, &request->host.workspace, NULL, error);
    if (r->gpu != NULL) values = (void *)(uintptr_t)request->device.values; // an address for kernels alone
    switch (which) {
    case COLUMN_DATE: r->columns.date = values; break;
    case COLUMN_FLAG: r->columns.flag = values; break;
    case COLUMN_STATUS: r->columns.status = values; break;
    case COLUMN_QUANTITY: r->columns.quantity = values; break;
    case COLUMN_DISCOUNT: r->columns.discount = values; break;
    case COLUMN_PRICE: r->columns.price = values; break;
    default: r->columns.tax = values; break;
    }
    r->request_of[which] = r->count++;
    return status;
}

static zf_status open_all(run *r, const char *path, zf_error *error) {
    zf_status status = zf_context_create(NULL, &r->context, error);
    if (status == ZF_OK) status = zf_emulator_register(r->context, error); // for machines without a GPU
    if (status == ZF_OK) status = zf_compiler_create(r->context, NULL, &r->compiler, error);
    if (status == ZF_OK) status = zf_container_open(r->context, path, &r->container, error);
    if (status == ZF_OK) status = zf_pipeline_create(r->context, r->device, NULL, &r->pipeline, error);
    if (status != ZF_OK) return status;
    if (strcmp(r->device, "cuda") == 0 && (r->gpu = query_gpu_open()) == NULL)
        return refuse(error, ZF_ERR_DEVICE, "", "there is no GPU for the query's kernels");
    for (size_t i = 0; i < STEPS; i++) r->needed |= steps[i].query == r->query ? steps[i].needs : 0;
    for (unsigned which = 0; which < QUERY_COLUMNS && status == ZF_OK; which++) {
        if ((r->needed & QUERY_BIT(which)) != 0) status = request_column(r, which, error);
    }
    r->columns.rows = zf_container_rows(r->container);
    void *group = NULL;
    uint64_t group_at = 0;
    if (status == ZF_OK) status = allocate(r, r->columns.rows, &group, &group_at, error);
    r->columns.group = r->gpu != NULL ? (void *)(uintptr_t)group_at : group;
    if (status == ZF_OK) status = zf_batch_create(r->pipeline, r->requests, r->count, &r->batch, error);
    return status;
}

/// Runs the steps, each behind its columns.
static zf_status run_steps(run *r, zf_error *error) {
    zf_status status = zf_batch_start(r->batch, error);
    for (size_t i = 0; i < STEPS && status == ZF_OK; i++) {
        if (steps[i].query != r->query) continue;
        for (unsigned which = 0; which < QUERY_COLUMNS && status == ZF_OK; which++) {
            if ((steps[i].needs & QUERY_BIT(which)) == 0) continue;
            status = r->gpu != NULL ? zf_batch_follow(r->batch, r->request_of[which], query_gpu_stream(r->gpu), error)
                                    : zf_batch_wait(r->batch, r->request_of[which], error);
        }
        if (status != ZF_OK) break;
        if (r->gpu == NULL)
            steps[i].on_host(&r->columns, r->sums);
        else if (!query_gpu_run(r->gpu, steps[i].name, &r->columns))
            status = refuse(error, ZF_ERR_DEVICE, steps[i].name, "could not be started");
    }
    // Whether all that was decoded is right is known only now; on a GPU kernels may have read what was wrong.
    for (size_t i = 0; i < r->count && status == ZF_OK; i++) status = zf_batch_wait(r->batch, i, error);
    if (status != ZF_OK || r->gpu == NULL) return status;
    query_sums sums;
    if (!query_gpu_sums(r->gpu, &sums)) return refuse(error, ZF_ERR_DEVICE, "", "the kernels failed");
    for (unsigned g = 0; g < QUERY_GROUPS; g++) {
        for (unsigned k = 0; k < QUERY_KINDS; k++) {
            const query_parts *parts = &sums.of[g][k];
            r->sums[g][k] = parts->low + ((query_sum)parts->middle << 32) + ((query_sum)parts->high << 64);
        }
    }
    return ZF_OK;
}

static void close_all(run *r) { // in the reverse order; each takes NULL
    zf_batch_free(r->batch);
    query_gpu_close(r->gpu);
    zf_pipeline_free(r->pipeline);
    zf_container_close(r->container);
    zf_compiler_free(r->compiler);
    zf_context_free(r->context);
    for (size_t i = 0; i < r->memory_count; i++) free(r->memory[i]);
}

// ---- The answer -----------------------------------------------------------------------------------------------

/// A sum with `scale` digits behind the point, after `before`.
static void print_decimal(const char *before, query_sum sum, int scale) {
    char digits[64];
    int at = sizeof digits - 1, count = 0;
    bool negative = sum >> 127 != 0;
    if (negative) sum = -sum;
    digits[at] = 0;
    for (; sum > 0 || count <= scale; count++) {
        if (count == scale && scale > 0) digits[--at] = '.';
        digits[--at] = (char)('0' + (int)(sum % 10));
        sum /= 10;
    }
    printf("%s%s%s", before, negative ? "-" : "", digits + at);
}

/// The average of hundredths, to six digits, halves up; sums are not negative.
static void print_average(query_sum sum, query_sum count) { print_decimal("|", (sum * 20000 + count) / (2 * count), 6); }

static zf_status print_answer(const run *r, zf_error *error) {
    if (r->query == 6) {
        printf("revenue\n");
        if (r->sums[0][QUERY_COUNT] == 0) {
            printf("null\n"); // a sum of nothing
            return ZF_OK;
        }
        print_decimal("", r->sums[0][QUERY_DISCOUNTED], 4);
        printf("\n");
        return ZF_OK;
    }
    if (r->sums[QUERY_STRANGE][QUERY_COUNT] > 0)
        return refuse(error, ZF_ERR_INPUT, zf_container_path(r->container), "holds flags that TPC-H does not know");
    printf("l_returnflag|l_linestatus|sum_qty|sum_base_price|sum_disc_price|sum_charge|avg_qty|avg_price|avg_disc|count_order\n");
    for (unsigned g = 0; g < QUERY_STRANGE; g++) {
        const query_sum *sums = r->sums[g];
        if (sums[QUERY_COUNT] == 0) continue;
        printf("%c|%c", "ANR"[g / 2], "FO"[g % 2]);
        print_decimal("|", sums[QUERY_QUANTITY], 2);
        print_decimal("|", sums[QUERY_PRICE], 2);
        print_decimal("|", sums[QUERY_DISCOUNTED], 4);
        print_decimal("|", sums[QUERY_CHARGE], 6);
        print_average(sums[QUERY_QUANTITY], sums[QUERY_COUNT]);
        print_average(sums[QUERY_PRICE], sums[QUERY_COUNT]);
        print_average(sums[QUERY_DISCOUNT], sums[QUERY_COUNT]);
        print_decimal("|", sums[QUERY_COUNT], 0);
        printf("\n");
    }
    return ZF_OK;
}

int main(int argc, char **argv) {
    static run r; // 128-bit sums and all pointers NULL
    zf_error error = {0};
    if (argc < 3 || argc > 4 || (strcmp(argv[1], "q1") != 0 && strcmp(argv[1], "q6") != 0)) {
        fprintf(stderr, "usage: query q1|q6 LINEITEM.zfd [DEVICE]\n");
        return ZF_ERR_USAGE;
    }
    r.query = argv[1][1] == '1' ? 1 : 6;
    r.device = argc > 3 ? argv[3] : "cpu";
    if (strcmp(r.device, "cpu") != 0 && strcmp(r.device, "emu") != 0 && strcmp(r.device, "cuda") != 0) {
        fprintf(stderr, "query: DEVICE is cpu, emu or cuda, the first GPU, not %s\n", r.device);
        return ZF_ERR_USAGE;
    }
    zf_status status = open_all(&r, argv[2], &error);
    if (status == ZF_OK) status = run_steps(&r, &error);
    if (status == ZF_OK) status = print_answer(&r, &error);
    for (unsigned which = 0; which < QUERY_COLUMNS && status == ZF_OK; which++) {
        if ((r.needed & QUERY_BIT(which)) == 0) continue;
        fprintf(stderr, "%-15s %9.3f ms\n", known_columns[which].name,
                1e3 * zf_batch_ready_seconds(r.batch, r.request_of[which]));
    }
    int result = status == ZF_OK ? 0 : complain(&error);
    if (status == ZF_OK && (fflush(stdout) != 0 || ferror(stdout))) {
        fprintf(stderr, "query: the answer cannot be written to standard output\n");
        result = ZF_ERR_IO;
    }
    close_all(&r);
    return result;
}
