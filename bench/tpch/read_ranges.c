#include "bench/tpch/read_ranges.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/clock.h"

static zf_status failed(const char *what, const char *path, zf_error *error) {
    *error = (zf_error){.status = ZF_ERR_INPUT, .code = "bench"};
    snprintf(error->message, sizeof error->message, "%s: %s", what, strerror(errno));
    snprintf(error->place, sizeof error->place, "%.200s", path);
    return error->status;
}

zf_status read_file_open(read_file *file, const char *path, zf_error *error) {
    struct stat status;
    snprintf(file->path, sizeof file->path, "%s", path);
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    file->direct = -1;
    if (file->fd < 0 || fstat(file->fd, &status) != 0) return failed("cannot be opened", path, error);
    file->direct = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    file->bytes = (uint64_t)status.st_size;
    return ZF_OK;
}

void read_file_close(read_file *file) {
    if (file->fd >= 0) close(file->fd);
    if (file->direct >= 0) close(file->direct);
}

// ---- A ring ---------------------------------------------------------------------------------------------------

static uint64_t place_bytes(const read_ring *ring) { return ring->piece + 2 * READ_PAGE; }

zf_status read_ring_open(read_ring *ring, zf_accelerator *accelerator, unsigned threads, uint64_t piece, zf_error *error) {
    *ring = (read_ring){.accelerator = accelerator, .threads = threads, .piece = piece};
    if (threads == 0 || threads > READ_THREADS) ring->threads = threads == 0 ? 1 : READ_THREADS;
    uint64_t bytes = ring->threads * READ_SLOTS * place_bytes(ring) + READ_PAGE;
    zf_status status = ZF_OK;
    if (accelerator != NULL)
        status = accelerator->ops->host_allocate(accelerator, bytes, &ring->memory, error);
    else if ((ring->memory = malloc(bytes)) == NULL)
        status = failed("no memory for a ring", "", error);
    if (status != ZF_OK) return status;
    memset(ring->memory, 0, bytes); // none of it is touched for the first time when it is timed
    ring->places = (uint8_t *)ring->memory + (READ_PAGE - (uintptr_t)ring->memory % READ_PAGE) % READ_PAGE;
    for (unsigned t = 0; accelerator != NULL && t < ring->threads && status == ZF_OK; t++) {
        status = accelerator->ops->stream_open(accelerator, &ring->streams[t], error);
        for (unsigned s = 0; s < READ_SLOTS && status == ZF_OK; s++)
            status = accelerator->ops->event_open(accelerator, false, &ring->events[t][s], error);
    }
    return status;
}

void read_ring_close(read_ring *ring) {
    const zf_accelerator_ops *ops = ring->accelerator != NULL ? ring->accelerator->ops : NULL;
    for (unsigned t = 0; ops != NULL && t < ring->threads; t++) {
        for (unsigned s = 0; s < READ_SLOTS; s++) {
            if (ring->events[t][s] != NULL) ops->event_close(ring->accelerator, ring->events[t][s]);
        }
        if (ring->streams[t] != NULL) ops->stream_close(ring->accelerator, ring->streams[t]);
    }
    if (ops != NULL && ring->memory != NULL)
        ops->host_release(ring->accelerator, ring->memory);
    else
        free(ring->memory);
}

// ---- Reading --------------------------------------------------------------------------------------------------

/// The part that one call reads, and one copy brings on.
typedef struct piece {
    const read_range *range;
    uint64_t offset, bytes;
} piece;

typedef struct reading {
    read_ring *ring;
    const piece *pieces;
    size_t count;
    bool direct;
    atomic_size_t next;
    atomic_bool stopped;
    pthread_mutex_t gate; ///< held until all threads are there
} reading;

typedef struct reader {
    reading *of;
    unsigned number;
    zf_status status;
    zf_error error;
} reader;

/// Reads a piece to `to`, which has room for whole pages around it where that is `direct`: the piece begins `before` bytes behind
/// it, which are those that its page has before it.
static zf_status read_piece(const piece *p, bool direct, uint64_t before, uint8_t *to, zf_error *error) {
    uint64_t wanted = before + p->bytes, all = direct ? (wanted + READ_PAGE - 1) / READ_PAGE * READ_PAGE : wanted;
    const read_file *file = p->range->file;
    for (uint64_t done = 0; done < wanted;) {
        ssize_t got = pread(direct ? file->direct : file->fd, to + done, all - done, (off_t)(p->offset - before + done));
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = ENODATA;
        if (got <= 0) return failed("cannot be read", file->path, error);
        done += (uint64_t)got;
    }
    return ZF_OK;
}

/// Brings a piece where it goes.
static zf_status bring(reader *r, const piece *p, unsigned slot, bool used, zf_error *error) {
    const read_ring *ring = r->of->ring;
    const zf_accelerator_ops *ops = ring->accelerator != NULL ? ring->accelerator->ops : NULL;
    uint64_t within = p->offset - p->range->offset, before = r->of->direct ? p->offset % READ_PAGE : 0;
    if (p->range->device == 0 && (!r->of->direct || p->range->roomy))
        return read_piece(p, r->of->direct, before, p->range->host + within - before, error);
    uint8_t *place = ring->places + (r->number * (size_t)READ_SLOTS + slot) * place_bytes(ring);
    void *event = ring->events[r->number][slot], *stream = ring->streams[r->number];
    zf_status status = used && ops != NULL ? ops->event_wait(ring->accelerator, event, error) : ZF_OK;
    if (status == ZF_OK) status = read_piece(p, r->of->direct, before, place, error);
    if (status != ZF_OK) return status;
    if (p->range->device == 0) {
        memcpy(p->range->host + within, place + before, p->bytes);
        return ZF_OK;
    }
    status = ops->copy_in(ring->accelerator, stream, p->range->device + within, place + before, p->bytes, error);
    return status == ZF_OK ? ops->event_note(ring->accelerator, stream, event, error) : status;
}

static void *read_thread(void *argument) {
    reader *r = argument;
    const read_ring *ring = r->of->ring;
    pthread_mutex_lock(&r->of->gate);
    pthread_mutex_unlock(&r->of->gate);
    for (size_t turn = 0; r->status == ZF_OK && !atomic_load(&r->of->stopped); turn++) {
        size_t index = atomic_fetch_add(&r->of->next, 1);
        if (index >= r->of->count) break;
        r->status = bring(r, &r->of->pieces[index], turn % READ_SLOTS, turn >= READ_SLOTS, &r->error);
    }
    zf_error error; // what is under way ends before the ring's places serve others
    zf_status status = ZF_OK;
    if (ring->accelerator != NULL) status = ring->accelerator->ops->wait(ring->accelerator, ring->streams[r->number], &error);
    if (r->status == ZF_OK && status != ZF_OK) {
        r->status = status;
        r->error = error;
    }
    if (r->status != ZF_OK) atomic_store(&r->of->stopped, true);
    return NULL;
}

static zf_status run_threads(reading *of, double *seconds, zf_error *error) {
    pthread_t threads[READ_THREADS];
    reader readers[READ_THREADS];
    unsigned count = 0;
    zf_status status = ZF_OK;
    pthread_mutex_init(&of->gate, NULL);
    pthread_mutex_lock(&of->gate);
    for (; count < of->ring->threads && status == ZF_OK; count++) {
        readers[count] = (reader){.of = of, .number = count};
        errno = pthread_create(&threads[count], NULL, read_thread, &readers[count]);
        if (errno == 0) continue;
        status = failed("no thread could be started", "", error);
        atomic_store(&of->stopped, true);
        break;
    }
    double begin = zf_clock_seconds();
    pthread_mutex_unlock(&of->gate);
    for (unsigned t = 0; t < count; t++) pthread_join(threads[t], NULL);
    *seconds = zf_clock_seconds() - begin;
    pthread_mutex_destroy(&of->gate);
    for (unsigned t = 0; t < count && status == ZF_OK; t++) {
        status = readers[t].status;
        if (status != ZF_OK) *error = readers[t].error;
    }
    return status;
}

zf_status read_ranges(read_ring *ring, const read_range *ranges, size_t count, bool direct, double *seconds, zf_error *error) {
    size_t most = 0;
    for (size_t i = 0; i < count; i++) most += ranges[i].bytes / ring->piece + 2;
    piece *pieces = malloc((most + 1) * sizeof *pieces);
    reading of = {.ring = ring, .pieces = pieces, .direct = direct};
    if (pieces == NULL) return failed("no memory for pieces", "", error);
    for (size_t i = 0; i < count; i++) {
        const read_range *range = &ranges[i];
        for (uint64_t at = range->offset, end = at + range->bytes; at < end;) {
            uint64_t next = (at / ring->piece + 1) * ring->piece; // pieces end at multiples, as direct reads like it
            if (next > end) next = end;
            pieces[of.count++] = (piece){range, at, next - at};
            at = next;
        }
    }
    zf_status status = run_threads(&of, seconds, error);
    free(pieces);
    return status;
}

// ---- The page cache -------------------------------------------------------------------------------------------

zf_status files_evict(const read_file *files, size_t count, zf_error *error) {
    for (size_t i = 0; i < count; i++) {
        // Pages that are not written to the disk yet stay.
        if (fdatasync(files[i].fd) != 0 && errno != EINVAL && errno != EROFS)
            return failed("cannot be synced", files[i].path, error);
        int failure = posix_fadvise(files[i].fd, 0, 0, POSIX_FADV_DONTNEED);
        if (failure != 0) {
            errno = failure;
            return failed("cannot be dropped from the page cache", files[i].path, error);
        }
    }
    return ZF_OK;
}

zf_status files_warm(const read_file *files, size_t count, zf_error *error) {
    enum { SINK = 4 << 20 };
    uint8_t *sink = malloc(SINK);
    zf_status status = sink != NULL ? ZF_OK : failed("no memory", "", error);
    for (size_t i = 0; i < count && status == ZF_OK; i++) {
        ssize_t got;
        for (uint64_t at = 0; (got = pread(files[i].fd, sink, SINK, (off_t)at)) > 0;) at += (uint64_t)got;
        if (got < 0) status = failed("cannot be read", files[i].path, error);
    }
    free(sink);
    return status;
}

double files_resident(const read_file *files, size_t count) {
    uint64_t pages = 0, there = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < count; i++) {
        uint64_t of_file = (files[i].bytes + page - 1) / page;
        if (of_file == 0) continue;
        void *map = mmap(NULL, files[i].bytes, PROT_READ, MAP_SHARED, files[i].fd, 0);
        unsigned char *in_core = malloc(of_file);
        bool told = map != MAP_FAILED && in_core != NULL && mincore(map, files[i].bytes, in_core) == 0;
        for (uint64_t p = 0; told && p < of_file; p++) there += in_core[p] & 1;
        pages += of_file;
        free(in_core);
        if (map != MAP_FAILED) munmap(map, files[i].bytes);
        if (!told) return NAN;
    }
    return pages == 0 ? 0 : (double)there / (double)pages;
}
