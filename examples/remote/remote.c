// Decodes rows of a column of a container that lies on a web server, and reads only what it needs of the file.
//
// remote HOST PORT PATH COLUMN BEGIN COUNT > ROWS.raw     (numbers; the server must know ranges of bytes)
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zipflow/compile.h>

enum { TAIL = 65536, HEAD_MOST = 16384 };

typedef struct remote {
    const char *host, *port, *path;
    uint64_t bytes;            ///< of the file
    uint64_t requests, loaded; ///< so far, and the bytes that they brought. This example decodes with one thread
    uint8_t tail[TAIL];        ///< the file's last bytes, from the first request
    uint64_t tail_bytes;
} remote;

static int connect_to(const remote *r) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(r->host, r->port, &hints, &found) != 0) return -1;
    int at = -1;
    for (const struct addrinfo *a = found; a != NULL && at < 0; a = a->ai_next) {
        at = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
        if (at >= 0 && connect(at, a->ai_addr, a->ai_addrlen) != 0) {
            close(at);
            at = -1;
        }
    }
    freeaddrinfo(found);
    return at;
}

/// Reads up to and with the empty line behind the head of an answer; what follows it stays in `head` from the returned place on.
static size_t read_head(int at, char *head, size_t *have) {
    *have = 0;
    while (*have < HEAD_MOST) {
        ssize_t some = read(at, head + *have, HEAD_MOST - *have);
        if (some <= 0) return 0;
        *have += (size_t)some;
        head[*have] = 0;
        const char *end = strstr(head, "\r\n\r\n");
        if (end != NULL) return (size_t)(end - head) + 4;
    }
    return 0;
}

/// Requests a range ("0-99", or "-100": the last) and returns how many bytes of it came, at most `room`; negative: a failure. The
/// answer says how many bytes the file has.
static int64_t request(remote *r, const char *range, uint8_t *to, uint64_t room, uint64_t *all) {
    char text[1024], head[HEAD_MOST + 1];
    int length = snprintf(text, sizeof text, "GET %s HTTP/1.0\r\nHost: %s\r\nRange: bytes=%s\r\n\r\n", r->path, r->host, range);
    if (length >= (int)sizeof text) return -1;
    int at = connect_to(r);
    if (at < 0) return -1;
    r->requests++;
    size_t have = 0, from = write(at, text, (size_t)length) == length ? read_head(at, head, &have) : 0;
    const char *size = from > 0 ? strstr(head, "Content-Range: bytes ") : NULL;
    const char *slash = size != NULL ? strchr(size, '/') : NULL;
    bool partial = from > 0 && strncmp(head, "HTTP/1.", 7) == 0 && strncmp(head + 8, " 206", 4) == 0;
    int64_t count = -1;
    if (partial && slash != NULL && have - from <= room) {
        *all = strtoull(slash + 1, NULL, 10);
        memcpy(to, head + from, have - from);
        count = (int64_t)(have - from);
        for (ssize_t some = 1; some > 0 && (uint64_t)count < room;) {
            some = read(at, to + count, room - (uint64_t)count);
            if (some > 0) count += some;
        }
        r->loaded += (uint64_t)count;
    }
    close(at);
    return count;
}

/// zf_byte_reader.read
static int64_t read_remote(void *user, uint64_t offset, void *to, uint64_t bytes, zf_error *error) {
    remote *r = user;
    char range[64];
    uint64_t all = 0, tail = r->bytes - r->tail_bytes;
    if (offset >= tail) { // it is there already
        uint64_t some = r->bytes - offset < bytes ? r->bytes - offset : bytes;
        memcpy(to, r->tail + (offset - tail), some);
        return (int64_t)some;
    }
    snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, offset, offset + bytes - 1);
    int64_t count = request(r, range, to, bytes, &all);
    if (count < 0) snprintf(error->message, sizeof error->message, "%s does not answer with bytes %s", r->host, range);
    return count;
}

static int fail(const zf_error *error) {
    fprintf(stderr, "remote: %s: %s\n  at: %s\n", error->code, error->message, error->place);
    return (int)error->status;
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: remote HOST PORT PATH COLUMN BEGIN COUNT\n");
        return ZF_ERR_USAGE;
    }
    static remote r;
    r = (remote){.host = argv[1], .port = argv[2], .path = argv[3]};
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_container *container = NULL;
    zf_decode_options options = {ZF_INIT(zf_decode_options), .some_rows = true, .threads = 1};
    options.row_begin = strtoull(argv[5], NULL, 10);
    options.row_count = strtoull(argv[6], NULL, 10);
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers)};
    size_t column;
    // The last bytes say how large the file is, and are the first that a container is asked for.
    int64_t tail = request(&r, "-65536", r.tail, TAIL, &r.bytes);
    if (tail < 0) {
        fprintf(stderr, "remote: http://%s:%s%s does not answer with the end of a file\n", r.host, r.port, r.path);
        return ZF_ERR_IO;
    }
    r.tail_bytes = (uint64_t)tail;
    const zf_byte_reader reader = {ZF_INIT(zf_byte_reader), .bytes = r.bytes, .read = read_remote, .user = &r};
    const zf_open_options named = {ZF_INIT(zf_open_options), .name = r.path};
    zf_status status = zf_context_create(NULL, &context, &error);
    if (status == ZF_OK) status = zf_compiler_create(context, NULL, &compiler, &error);
    if (status == ZF_OK) status = zf_container_open_reader(context, &reader, &named, &container, &error);
    if (status == ZF_OK) fprintf(stderr, "opened: %" PRIu64 " requests, %" PRIu64 " bytes\n", r.requests, r.loaded);
    if (status == ZF_OK) status = zf_container_find(container, argv[4], &column, &error);
    if (status == ZF_OK) status = zf_decode_size(container, column, &options, &sizes, &error);
    if (status == ZF_OK) {
        buffers = (zf_decode_buffers){ZF_INIT(zf_decode_buffers), ZF_DECODE_BYTES(sizes)};
        buffers.values = aligned_alloc(64, sizes.values / 64 * 64 + 64);
        buffers.offsets = aligned_alloc(64, sizes.offsets / 64 * 64 + 64);
        buffers.validity = aligned_alloc(64, sizes.validity / 64 * 64 + 64);
        buffers.workspace = aligned_alloc(64, sizes.workspace / 64 * 64 + 64);
        status = zf_decode(container, column, "cpu", &options, &buffers, NULL, &error);
    }
    if (status == ZF_OK) fprintf(stderr, "decoded: %" PRIu64 " requests, %" PRIu64 " bytes\n", r.requests, r.loaded);
    int result = status == ZF_OK ? 0 : fail(&error);
    if (status == ZF_OK && (fwrite(buffers.values, 1, sizes.values, stdout) != sizes.values || fflush(stdout) != 0)) {
        fprintf(stderr, "remote: cannot write to standard output\n");
        result = ZF_ERR_IO;
    }
    free(buffers.values);
    free(buffers.offsets);
    free(buffers.validity);
    free(buffers.workspace);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return result;
}
