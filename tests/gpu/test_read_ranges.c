// The reads of files against which bench/tpch measures zipflow: threads that read ranges into memory, and through a ring of
// pinned memory to a device whose copies run late.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/tpch/read_ranges.h"
#include "runtime/device/device.h"
#include "tests/support/emulated.h"
#include "tests/support/late_accelerator.h"
#include "tests/unit/check.h"

enum { BYTES = 700001, PIECE = 8192, RANGES = 4 };

static char path[] = "/tmp/zipflow-test-XXXXXX";
static uint8_t content[BYTES];
static read_file file;

/// Reads all ranges, one behind the other in 1 MiB, and compares them and what lies around them.
static void read_all(zf_accelerator *accelerator, unsigned threads, const read_range *wanted, bool direct) {
    enum { ROOM = 1 << 20, POISON = 0xcd };
    static uint8_t landed[ROOM], right[ROOM];
    uint8_t *memory = NULL;
    uint64_t device = 0, at = 0;
    read_range ranges[RANGES];
    read_ring ring;
    double seconds = -1;
    zf_error error = {0};
    memset(right, POISON, ROOM);
    CHECK(posix_memalign((void **)&memory, READ_PAGE, ROOM) == 0, "no memory");
    memset(memory, POISON, ROOM);
    CHECK(read_ring_open(&ring, accelerator, threads, PIECE, &error) == ZF_OK, "%s", error.message);
    zf_status status = accelerator != NULL ? accelerator->ops->allocate(accelerator, ROOM, &device, &error) : ZF_OK;
    for (int turn = 0; turn < 2 && status == ZF_OK; turn++) { // a ring serves more than once
        if (accelerator != NULL) {
            status = accelerator->ops->fill(accelerator, NULL, device, POISON, ROOM, &error);
            if (status == ZF_OK) status = accelerator->ops->wait(accelerator, NULL, &error);
        }
        at = 0;
        for (size_t i = 0; i < RANGES; i++) {
            uint64_t to = at + wanted[i].offset % READ_PAGE;
            ranges[i] = wanted[i];
            ranges[i].host = accelerator == NULL ? memory + to : NULL;
            ranges[i].device = accelerator == NULL ? 0 : device + to;
            memcpy(right + to, content + wanted[i].offset, wanted[i].bytes);
            at += (wanted[i].bytes / READ_PAGE + 3) * READ_PAGE;
        }
        if (status == ZF_OK) status = read_ranges(&ring, ranges, RANGES, direct, &seconds, &error);
    }
    if (accelerator != NULL && status == ZF_OK) {
        status = accelerator->ops->copy_out(accelerator, NULL, landed, device, ROOM, &error);
        if (status == ZF_OK) status = accelerator->ops->wait(accelerator, NULL, &error);
    }
    CHECK(status == ZF_OK && seconds > 0, "%s", error.message);
    const uint8_t *got = accelerator != NULL ? landed : memory;
    // Where pages around a range may be overwritten, its bytes count alone.
    for (size_t i = 0; i < RANGES; i++) {
        uint64_t to = (uint64_t)(ranges[i].offset % READ_PAGE), bytes = ranges[i].bytes;
        for (size_t before = 0; before < i; before++) to += (ranges[before].bytes / READ_PAGE + 3) * READ_PAGE;
        CHECK(memcmp(got + to, right + to, bytes) == 0, "range %zu, %u threads%s", i, threads, direct ? ", direct" : "");
    }
    if (!direct || accelerator != NULL || !wanted[0].roomy) CHECK(memcmp(got, right, ROOM) == 0, "what lies around ranges");
    if (accelerator != NULL) accelerator->ops->release(accelerator, device);
    read_ring_close(&ring);
    free(memory);
}

static void test_failing(zf_accelerator *accelerator) {
    read_ring ring;
    zf_error error = {0};
    double seconds;
    uint8_t *memory = malloc(BYTES + READ_PAGE);
    read_range beyond = {.file = &file, .offset = BYTES - 100, .bytes = 101, .host = memory};
    CHECK(read_ring_open(&ring, accelerator, 3, PIECE, &error) == ZF_OK, "%s", error.message);
    CHECK(read_ranges(&ring, &beyond, 1, false, &seconds, &error) != ZF_OK && strstr(error.place, path) != NULL, "%s",
          error.place);
    read_ring_close(&ring);
    free(memory);
    CHECK(read_file_open(&(read_file){0}, "/nowhere/at/all", &error) != ZF_OK, "a file that is not there");
}

int main(void) {
    zf_context *context = NULL;
    zf_device device;
    zf_accelerator *emu = NULL;
    zf_error error = {0};
    late l = {0};
    int fd = mkstemp(path);
    for (size_t i = 0; i < BYTES; i++) content[i] = (uint8_t)(i * 2654435761u >> 11);
    CHECK(fd >= 0 && write(fd, content, BYTES) == BYTES, "write");
    CHECK(read_file_open(&file, path, &error) == ZF_OK && file.bytes == BYTES, "%s", error.message);
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_accelerator(context, &device, &emu, &error) == ZF_OK, "%s", error.message);
    late_begin(&l, emu, 300);
    for (int roomy = 0; roomy < 2; roomy++) {
        const read_range ranges[RANGES] = {{.file = &file, .bytes = 300000, .roomy = roomy},
                                           {.file = &file, .offset = 300032, .bytes = 1, .roomy = roomy},
                                           {.file = &file, .offset = 401408 - 1, .bytes = PIECE + 2, .roomy = roomy},
                                           {.file = &file, .offset = 450000, .bytes = BYTES - 450000, .roomy = roomy}};
        for (unsigned threads = 1; threads < 20; threads += 6) {
            for (int direct = 0; direct < (file.direct >= 0 ? 2 : 1); direct++) {
                read_all(NULL, threads, ranges, direct);
                read_all(&l.base, threads, ranges, direct);
            }
        }
    }
    test_failing(NULL);
    test_failing(&l.base);
    late_end(&l);
    zf_context_free(context);
    read_file_close(&file);
    close(fd);
    unlink(path);
    return check_result();
}
