// A set of columns from files: through the pipeline, by `cp`, read by threads, and its plain rows read and copied; with what is
// read in the page cache (warm), or not (cold).
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/tpch/read_ranges.h"
#include "bench/tpch/tpch_measure.h"
#include "runtime/container/container_open.h"
#include "runtime/context/context.h"

enum { MOST_PARTS = 2 * MOST_OF_SET, MOST_COLD = 3, SMALL_STAGING = 64 << 20 };
static const double ENOUGH = 6; ///< seconds of runs of one kind, after which no other is begun

extern char **environ;

/// Where a pipeline's bytes come from.
typedef enum origin { FROM_FILES, FROM_FILES_SMALL, FROM_MEMORY, ORIGINS } origin;

typedef struct files {
    bench *b;
    column **columns;
    const target *targets;
    zf_pipeline_request *requests;
    size_t count;
    read_ring ring;
    read_file stored[MOST_FILES], plain[MOST_PARTS];
    zf_container *of_stored[MOST_FILES], *loaded[MOST_FILES]; ///< as `stored`
    size_t stored_count, plain_count, range_count, raw_count;
    read_range *ranges;         ///< of the stored files: what belongs to the columns, into `landing`
    read_range raw[MOST_PARTS]; ///< whole files of plain rows, to the targets
    uint64_t range_bytes, raw_bytes, file_bytes;
    uint8_t *landing;
    uint64_t landing_bytes;
    zf_pipeline *pipeline, *small; ///< with the default staging of the host, and with SMALL_STAGING
    zf_batch *batch;               ///< of `batch_of`
    origin batch_of;
    uint64_t checked; ///< units that were read and checked, in runs of one kind
    char sink[1100];  ///< directory that `cp` copies to
} files;

typedef struct kind {
    const char *name;
    bool cold, direct, plain; ///< plain: what is read are the files of plain rows
    zf_status (*run)(files *f, const struct kind *kind, double *seconds, zf_error *error);
    zf_status (*check)(files *f, zf_error *error);
    origin from;
} kind;

static zf_status failed(const char *what, const char *place, zf_error *error) {
    *error = (zf_error){.status = ZF_ERR_INPUT, .code = "bench"};
    snprintf(error->message, sizeof error->message, "%s", what);
    snprintf(error->place, sizeof error->place, "%.200s", place);
    return error->status;
}

// ---- Files that are read --------------------------------------------------------------------------------------

static zf_status open_stored(files *f, zf_error *error) {
    for (size_t i = 0; i < f->count; i++) {
        size_t at = 0;
        while (at < f->stored_count && f->of_stored[at] != f->columns[i]->container) at++;
        if (at < f->stored_count) continue;
        f->of_stored[at] = f->columns[i]->container;
        f->stored_count++;
        zf_status status = read_file_open(&f->stored[at], f->of_stored[at]->path, error);
        if (status != ZF_OK) return status;
        f->file_bytes += f->stored[at].bytes;
    }
    return ZF_OK;
}

static const read_file *stored_of(const files *f, const zf_container *container) {
    size_t at = 0;
    while (f->of_stored[at] != container) at++;
    return &f->stored[at];
}

/// The blocks of all columns, as runs, with a place in `landing` each, in pages of its own.
static zf_status make_ranges(files *f, zf_error *error) {
    size_t most = 1;
    for (size_t i = 0; i < f->count; i++) most += f->columns[i]->container->index.columns[f->columns[i]->index].block_count;
    f->ranges = calloc(most, sizeof *f->ranges);
    if (f->ranges == NULL) return no_memory(error);
    for (size_t i = 0; i < f->count; i++) {
        const zf_container *container = f->columns[i]->container;
        const zf_index_column *stored = &container->index.columns[f->columns[i]->index];
        const read_file *file = stored_of(f, container);
        for (uint64_t k = 0; k < stored->block_count; k++) {
            const zf_index_block *block = &stored->blocks[k];
            read_range *last = f->range_count > 0 ? &f->ranges[f->range_count - 1] : NULL;
            f->range_bytes += block->bytes;
            if (last != NULL && last->file == file && last->offset + last->bytes == block->offset) {
                last->bytes += block->bytes;
                continue;
            }
            f->ranges[f->range_count++] =
                (read_range){.file = file, .offset = block->offset, .bytes = block->bytes, .roomy = true};
        }
    }
    for (size_t i = 0; i < f->range_count; i++) f->landing_bytes += f->ranges[i].bytes / READ_PAGE * READ_PAGE + 3 * READ_PAGE;
    if (posix_memalign((void **)&f->landing, READ_PAGE, f->landing_bytes + READ_PAGE) != 0) return no_memory(error);
    memset(f->landing, ZF_POISON_COPY, f->landing_bytes); // none of it is touched for the first time when it is timed
    uint64_t at = 0;
    for (size_t i = 0; i < f->range_count; i++) {
        read_range *range = &f->ranges[i];
        range->host = f->landing + at + range->offset % READ_PAGE;
        at += range->bytes / READ_PAGE * READ_PAGE + 3 * READ_PAGE;
    }
    return ZF_OK;
}

static zf_status add_plain(files *f, const column *c, const char *ending, uint64_t bytes, uint64_t device, void *host,
                           zf_error *error) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s%s", f->b->source, c->name, ending);
    read_file *file = &f->plain[f->plain_count++];
    zf_status status = read_file_open(file, path, error);
    if (status != ZF_OK) return status;
    if (bytes > 0) f->raw[f->raw_count++] = (read_range){.file = file, .bytes = bytes, .device = device, .host = host};
    f->raw_bytes += bytes;
    return ZF_OK;
}

/// The files of plain rows, of offsets as many bytes as four each take, whatever stands there.
static zf_status open_plain(files *f, zf_error *error) {
    zf_status status = ZF_OK;
    for (size_t i = 0; i < f->count && f->b->source != NULL && status == ZF_OK; i++) {
        const column *c = f->columns[i];
        const target *t = &f->targets[i];
        bool text = c->sizes.offsets > 0;
        status = add_plain(f, c, text ? ".bytes" : "", c->sizes.values, t->values, t->host_values, error);
        if (status == ZF_OK && text) status = add_plain(f, c, ".offsets", c->raw_offsets, t->offsets, t->host_offsets, error);
    }
    return status;
}

// ---- Kinds of runs --------------------------------------------------------------------------------------------

/// A batch of the columns from there, that ran once: where containers are loaded, units were checked then, and their tables are
/// on the device. Loading containers counts for nothing here.
static zf_status make_batch(files *f, origin from, zf_error *error) {
    zf_pipeline_request requests[MOST_OF_SET] = {0};
    zf_status status = ZF_OK;
    if (f->batch != NULL && f->batch_of == from) return ZF_OK;
    zf_batch_free(f->batch);
    f->batch = NULL;
    f->batch_of = from;
    for (size_t i = 0; i < f->count && status == ZF_OK; i++) {
        requests[i] = f->requests[i];
        if (from != FROM_MEMORY) continue;
        size_t at = (size_t)(stored_of(f, requests[i].container) - f->stored);
        if (f->loaded[at] == NULL) {
            status = zf_container_open(f->b->context, f->stored[at].path, &f->loaded[at], error);
            if (status == ZF_OK) status = zf_container_load(f->loaded[at], f->b->device_name, error);
        }
        requests[i].container = f->loaded[at];
    }
    zf_pipeline_options options = f->b->options;
    options.order = ZF_PIPELINE_JOHNSON;
    zf_pipeline **pipeline = from == FROM_FILES_SMALL ? &f->small : &f->pipeline;
    if (from == FROM_FILES_SMALL) options.host_staging = SMALL_STAGING;
    if (status == ZF_OK && *pipeline == NULL)
        status = zf_pipeline_create(f->b->context, f->b->device_name, &options, pipeline, error);
    for (int pass = 0; pass < 2 && status == ZF_OK; pass++) { // the first brings code and rates, the second what stays there
        zf_batch_free(f->batch);
        f->batch = NULL;
        status = zf_batch_create(*pipeline, requests, f->count, &f->batch, error);
        if (status == ZF_OK) status = zf_batch_start(f->batch, error);
        if (status == ZF_OK) status = wait_all(f->batch, f->count, error);
    }
    return status;
}

static zf_status run_pipeline(files *f, const kind *k, double *seconds, zf_error *error) {
    zf_batch_info info = {0};
    (void)k;
    zf_status status = zf_batch_start(f->batch, error);
    if (status == ZF_OK) status = wait_all(f->batch, f->count, error);
    if (status == ZF_OK) status = zf_batch_describe(f->batch, &info, error);
    if (status == ZF_OK) *seconds = info.measured_seconds;
    for (size_t u = 0; status == ZF_OK && u < info.units; u++) {
        zf_batch_unit unit = {0};
        status = zf_batch_unit_get(f->batch, u, &unit, error);
        if (status == ZF_OK) f->checked += unit.measured.read_end > unit.measured.read_begin;
    }
    return status;
}

static zf_status check_pipeline(files *f, zf_error *error) { return compare_all(f->b, f->columns, f->targets, f->count, error); }

static zf_status run_raw(files *f, const kind *k, double *seconds, zf_error *error) {
    return read_ranges(&f->ring, f->raw, f->raw_count, k->direct, seconds, error);
}

static zf_status check_raw(files *f, zf_error *error) {
    zf_status status = ZF_OK;
    for (size_t i = 0; i < f->count && status == ZF_OK; i++) {
        const column *c = f->columns[i];
        const target *t = &f->targets[i];
        status = compare(f->b, c, "what was read raw", t->values, t->host_values, c->values, c->sizes.values, error);
        if (status == ZF_OK)
            status = compare(f->b, c, "what was read raw", t->offsets, t->host_offsets, c->offsets, c->raw_offsets, error);
    }
    return status;
}

static zf_status run_read(files *f, const kind *k, double *seconds, zf_error *error) {
    for (size_t i = 0; i < f->range_count; i++) { // wrong bytes all over it, whatever stands there
        for (uint64_t at = 0; at < f->ranges[i].bytes; at += 512) f->ranges[i].host[at] += 0x55;
    }
    return read_ranges(&f->ring, f->ranges, f->range_count, k->direct, seconds, error);
}

/// Compares a file from `offset` on with memory.
static bool same_bytes(int fd, uint64_t offset, const uint8_t *wanted, uint64_t bytes) {
    uint8_t piece[1 << 16];
    for (uint64_t done = 0; done < bytes;) {
        uint64_t left = bytes - done;
        ssize_t got = pread(fd, piece, left < sizeof piece ? left : sizeof piece, (off_t)(offset + done));
        if (got <= 0 || memcmp(piece, wanted + done, (size_t)got) != 0) return false;
        done += (uint64_t)got;
    }
    return true;
}

static zf_status check_read(files *f, zf_error *error) {
    for (size_t i = 0; i < f->range_count; i++) {
        const read_range *range = &f->ranges[i];
        if (!same_bytes(range->file->fd, range->offset, range->host, range->bytes))
            return failed("what threads read differs from the file", range->file->path, error);
    }
    return ZF_OK;
}

static void copy_path(const files *f, size_t at, char *path, size_t room) {
    const char *name = strrchr(f->stored[at].path, '/');
    snprintf(path, room, "%s/%s", f->sink, name != NULL ? name + 1 : f->stored[at].path);
}

static void remove_copies(const files *f) {
    char path[2200];
    for (size_t i = 0; i < f->stored_count; i++) {
        copy_path(f, i, path, sizeof path);
        unlink(path);
    }
}

/// `cp`, a process of its own, to where no file is.
static zf_status run_cp(files *f, const kind *k, double *seconds, zf_error *error) {
    char *words[MOST_FILES + 3] = {(char *)(uintptr_t)"cp"};
    int ended;
    pid_t process;
    (void)k;
    for (size_t i = 0; i < f->stored_count; i++) words[i + 1] = f->stored[i].path;
    words[f->stored_count + 1] = f->sink;
    remove_copies(f);
    double begin = zf_clock_seconds();
    if (posix_spawnp(&process, "cp", NULL, NULL, words, environ) != 0) return failed("cp cannot be started", "", error);
    while (waitpid(process, &ended, 0) < 0 && errno == EINTR) {
    }
    *seconds = zf_clock_seconds() - begin;
    return WIFEXITED(ended) && WEXITSTATUS(ended) == 0 ? ZF_OK : failed("cp failed", f->sink, error);
}

static zf_status check_cp(files *f, zf_error *error) {
    char path[2200];
    bool same = true;
    for (size_t i = 0; i < f->stored_count && same; i++) {
        copy_path(f, i, path, sizeof path);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        uint64_t bytes = f->stored[i].bytes;
        void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
        same = fd >= 0 && map != MAP_FAILED && (uint64_t)lseek(fd, 0, SEEK_END) == bytes &&
               same_bytes(f->stored[i].fd, 0, map, bytes);
        if (map != MAP_FAILED) munmap(map, bytes);
        if (fd >= 0) close(fd);
    }
    return same ? ZF_OK : failed("a copy differs from its file", path, error);
}

// Warm ones first, as files were just written; of the cold ones those last that leave files in the page cache.
static const kind kinds[] = {
    {"zipflow_warm", false, false, false, run_pipeline, check_pipeline, FROM_FILES},
    {"zipflow_warm_small", false, false, false, run_pipeline, check_pipeline, FROM_FILES_SMALL},
    {"raw_warm", false, false, true, run_raw, check_raw, ORIGINS},
    {"read_warm", false, false, false, run_read, check_read, ORIGINS},
    {"cp_warm", false, false, false, run_cp, check_cp, ORIGINS},
    {"zipflow_memory", false, false, false, run_pipeline, check_pipeline, FROM_MEMORY},
    {"zipflow_cold", true, false, false, run_pipeline, check_pipeline, FROM_FILES},
    {"read_cold_direct", true, true, false, run_read, check_read, ORIGINS},
    {"read_cold", true, false, false, run_read, check_read, ORIGINS},
    {"cp_cold", true, false, false, run_cp, check_cp, ORIGINS},
    {"raw_cold_direct", true, true, true, run_raw, check_raw, ORIGINS},
    {"raw_cold", true, false, true, run_raw, check_raw, ORIGINS},
};

// ---- Measuring ------------------------------------------------------------------------------------------------

/// Why a kind is not measured, or NULL.
static const char *why_not(const files *f, const kind *k) {
    const read_file *read = k->plain ? f->plain : f->stored;
    size_t count = k->plain ? f->plain_count : f->stored_count;
    struct statvfs room;
    if (k->plain && f->raw_count == 0) return "there are no files of plain rows";
    for (size_t i = 0; i < count && k->direct; i++) {
        if (read[i].direct < 0) return "files cannot be read past the page cache here";
    }
    if (k->run == run_cp) {
        uint64_t all = 0;
        for (size_t i = 0; i < f->stored_count; i++) {
            const zf_index *index = &f->of_stored[i]->index;
            for (uint32_t c = 0; c < index->column_count; c++) all += index->columns[c].block_bytes;
        }
        if (all > f->range_bytes / 9 * 10) return "the files have other columns, too";
        if (statvfs(f->sink, &room) != 0 || (double)room.f_bavail * (double)room.f_frsize < 1.1 * (double)f->file_bytes)
            return "there is no room for a copy";
    }
    return zf_clock_seconds() > f->b->end ? "the time was used up" : NULL;
}

/// Brings what is read into the page cache, or out of it. `resident`: the part of it that is there.
static zf_status prepare(files *f, const kind *k, double *resident, zf_error *error) {
    const read_file *read = k->plain ? f->plain : f->stored;
    size_t count = k->plain ? f->plain_count : f->stored_count;
    zf_status status = ZF_OK;
    *resident = k->cold ? 0 : files_resident(read, count);
    if (!k->cold && *resident >= 1) return status;
    status = k->cold ? files_evict(read, count, error) : files_warm(read, count, error);
    *resident = files_resident(read, count);
    return status;
}

/// One kind: poisoned and run as often as wanted, and what the last run left compared.
static zf_status measure_kind(files *f, const kind *k, bool first, zf_error *error) {
    double times[MOST_REPEATS], worst = k->cold ? 0 : 1, spent = 0;
    unsigned count = 0, most = k->cold && f->b->repeats > MOST_COLD ? MOST_COLD : f->b->repeats;
    zf_status status = ZF_OK;
    if (k->run == run_pipeline) status = make_batch(f, k->from, error);
    f->checked = 0;
    while (count < most && spent < ENOUGH && status == ZF_OK) {
        double resident = 0;
        if (k->from != FROM_MEMORY) status = prepare(f, k, &resident, error);
        if (status == ZF_OK) status = fill_targets(f->b, f->columns, f->targets, f->count, error);
        if (status == ZF_OK) status = k->run(f, k, &times[count], error);
        if (status != ZF_OK) break;
        // NAN stays: nobody told.
        worst = isnan(resident) || isnan(worst) ? NAN : k->cold ? fmax(worst, resident) : fmin(worst, resident);
        spent += times[count++];
    }
    if (status == ZF_OK) status = k->check(f, error);
    if (status != ZF_OK) return status;
    uint64_t bytes = k->plain ? f->raw_bytes : k->run == run_cp ? f->file_bytes : f->range_bytes;
    printf("%s\n     \"%s\": {\"runs\": %u, \"bytes\": %" PRIu64 ", ", first ? "" : ",", k->name, count, bytes);
    if (k->run == run_pipeline) printf("\"checked_units\": %" PRIu64 ", ", f->checked);
    if (k->from != FROM_MEMORY && !isnan(worst)) printf("\"resident\": %.6f, ", worst);
    print_times("seconds", times, count);
    printf("}");
    return ZF_OK;
}

static zf_status measure_all(files *f, zf_error *error) {
    const char *reasons[sizeof kinds / sizeof kinds[0]] = {0};
    zf_status status = ZF_OK;
    bool first = true;
    printf("\"files\": {\"threads\": %u, \"piece_bytes\": %" PRIu64 ", \"kinds\": {", f->ring.threads, f->ring.piece);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && status == ZF_OK; i++) {
        reasons[i] = why_not(f, &kinds[i]);
        if (reasons[i] != NULL) continue;
        status = measure_kind(f, &kinds[i], first, error);
        first = false;
    }
    printf("},\n    \"left_out\": {");
    first = true;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (reasons[i] == NULL) continue;
        printf("%s\"%s\": \"%s\"", first ? "" : ", ", kinds[i].name, reasons[i]);
        first = false;
    }
    printf("}},\n   ");
    return status;
}

static void close_all(files *f) {
    zf_batch_free(f->batch);
    zf_pipeline_free(f->pipeline);
    zf_pipeline_free(f->small);
    read_ring_close(&f->ring);
    if (f->sink[0] != 0) {
        remove_copies(f);
        rmdir(f->sink);
    }
    for (size_t i = 0; i < f->stored_count; i++) {
        read_file_close(&f->stored[i]);
        if (f->loaded[i] != NULL) zf_container_close(f->loaded[i]);
    }
    for (size_t i = 0; i < f->plain_count; i++) read_file_close(&f->plain[i]);
    free(f->ranges);
    free(f->landing);
    free(f);
}

zf_status measure_files(bench *b, column **columns, const target *targets, zf_pipeline_request *requests, size_t count,
                        zf_error *error) {
    files *f = calloc(1, sizeof *f);
    if (f == NULL) return no_memory(error);
    f->b = b;
    f->columns = columns;
    f->targets = targets;
    f->requests = requests;
    f->count = count;
    zf_status status = read_ring_open(&f->ring, b->accelerator, zf_context_threads(b->context, 0), b->piece_bytes, error);
    if (status == ZF_OK) status = open_stored(f, error);
    if (status == ZF_OK) status = make_ranges(f, error);
    if (status == ZF_OK) status = open_plain(f, error);
    if (status == ZF_OK) {
        snprintf(f->sink, sizeof f->sink, "%s/zipflow-cp-XXXXXX", b->sink);
        if (mkdtemp(f->sink) == NULL) {
            f->sink[0] = 0;
            status = failed("no directory for copies can be made", b->sink, error);
        }
    }
    if (status == ZF_OK) status = measure_all(f, error);
    close_all(f);
    return status;
}
