// Links: zipflow-runtime
// Structs that begin with their size: of callers that are older or newer than the library, and of those who forgot.
#include "runtime/base/sized.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"
#include "tests/support/walk_codec.h"
#include "tests/unit/check.h"

enum { ROWS = 9000 };

static char path[] = "/tmp/zipflow-test-XXXXXX";
static zf_context *context;
static zf_container *container;

/// The library's struct, and what a later version might add.
typedef struct later_options {
    zf_decode_options now;
    uint64_t more;
} later_options;

typedef struct later_sizes {
    zf_decode_sizes now;
    uint64_t more[2];
} later_sizes;

static bool is_refused(zf_status status, const zf_error *error) {
    return status == ZF_ERR_USAGE && error->number == ZF_ERROR_STRUCT_SIZE;
}

static zf_status decode(const void *options, const zf_decode_buffers *buffers, zf_error *error) {
    *error = (zf_error){0};
    return zf_decode(container, 0, "cpu", options, buffers, NULL, error);
}

static void test_inputs(void) {
    zf_error error = {0};
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    CHECK(zf_decode_size(container, 0, NULL, &sizes, &error) == ZF_OK, "%s", error.message);
    void *values = aligned_alloc(64, sizes.values / 64 * 64 + 64), *work = aligned_alloc(64, sizes.workspace / 64 * 64 + 64);
    zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers), .values = values, .workspace = work, ZF_DECODE_BYTES(sizes)};
    // A struct of the first version, by 0 or by its size.
    zf_decode_options options = {.threads = 1};
    CHECK(decode(&options, &buffers, &error) == ZF_OK, "size 0: %s", error.message);
    options.size = sizeof options;
    CHECK(decode(&options, &buffers, &error) == ZF_OK, "%s", error.message);
    // Newer: as good, as long as it sets nothing that this version does not know.
    later_options later = {.now = {ZF_INIT(later_options), .threads = 1}};
    CHECK(decode(&later, &buffers, &error) == ZF_OK, "newer: %s", error.message);
    later.more = 1;
    CHECK(is_refused(decode(&later, &buffers, &error), &error) && strstr(error.hint, "newer") != NULL, "newer: %s %s", error.code,
          error.message);
    // No version had a smaller struct: where the size was not initialised, no member may be dropped in silence.
    static const size_t impossible[] = {1, 7, 8, 16, 17, 24, ZF_FIRST_zf_decode_options - 8, ZF_SIZED_MOST + 8, SIZE_MAX};
    for (size_t k = 0; k < sizeof impossible / sizeof impossible[0]; k++) {
        options = (zf_decode_options){.size = impossible[k]};
        CHECK(is_refused(decode(&options, &buffers, &error), &error), "size %zu: %s", impossible[k], error.message);
        CHECK(is_refused(zf_decode_size(container, 0, &options, &sizes, &error), &error), "size %zu", impossible[k]);
        buffers.size = impossible[k];
        CHECK(is_refused(decode(NULL, &buffers, &error), &error), "size %zu: %s", impossible[k], error.message);
        buffers.size = 0;
    }
    free(values);
    free(work);
}

static void test_outputs(void) {
    zf_error error = {0};
    later_sizes now = {.now = {ZF_INIT(zf_decode_sizes)}};
    CHECK(zf_decode_size(container, 0, NULL, &now.now, &error) == ZF_OK, "%s", error.message);
    CHECK(now.now.size == sizeof(zf_decode_sizes) && now.now.values == 4 * ROWS && now.now.workspace > 0, "%zu bytes",
          now.now.values);
    later_sizes other;
    memset(&other, 0xa5, sizeof other);
    other.now.size = offsetof(zf_decode_sizes, workspace); // no version had so few bytes
    CHECK(is_refused(zf_decode_size(container, 0, NULL, &other.now, &error), &error), "%s", error.message);
    CHECK(other.now.values == (size_t)0xa5a5a5a5a5a5a5a5, "a struct of an impossible size was written");
    memset(&other, 0xa5, sizeof other);
    other.now.size = sizeof other; // newer: 0 where this version has nothing
    CHECK(zf_decode_size(container, 0, NULL, &other.now, &error) == ZF_OK, "%s", error.message);
    CHECK(other.now.size == sizeof other && other.now.workspace == now.now.workspace && other.more[0] == 0 && other.more[1] == 0,
          "newer: %zu bytes", other.now.workspace);
    memset(&other, 0xa5, sizeof other); // not initialised
    CHECK(is_refused(zf_decode_size(container, 0, NULL, &other.now, &error), &error), "%s", error.message);
    CHECK(other.more[0] == UINT64_C(0xa5a5a5a5a5a5a5a5), "what was not initialised was written");
    zf_column_info info = {.size = 3};
    zf_device_info device = {.size = 3};
    CHECK(is_refused(zf_container_column(container, 0, &info, &error), &error), "%s", error.message);
    CHECK(is_refused(zf_device_get(context, 0, &device, &error), &error), "%s", error.message);
    device.size = offsetof(zf_device_info, cores);
    CHECK(is_refused(zf_device_get(context, 0, &device, &error), &error), "%s", error.message);
}

/// Elements of arrays are as far from each other as the first one is large.
static void test_arrays(void) {
    typedef struct later_stats {
        zf_code_stats now;
        uint64_t more;
    } later_stats;
    zf_error error = {0};
    zf_code_request requests[2] = {{ZF_INIT(zf_code_request), .container = container}, {.container = container, .column = 1}};
    later_stats each[3];
    memset(each, 0xa5, sizeof each);
    each[0].now.size = sizeof each[0];
    CHECK(zf_code_obtain(context, "cpu", requests, 2, 1, &each[0].now, NULL, &error) == ZF_OK, "%s", error.message);
    for (int k = 0; k < 2; k++)
        CHECK(each[k].now.size == sizeof each[0] && each[k].now.codes > 0 && each[k].more == 0, "element %d", k);
    CHECK(each[2].now.codes == UINT64_C(0xa5a5a5a5a5a5a5a5), "an element too many was written");
    requests[1].size = sizeof requests[1] + 8;
    CHECK(is_refused(zf_code_obtain(context, "cpu", requests, 2, 1, NULL, NULL, &error), &error), "%s", error.message);
}

/// A caller of the first version, after a struct has grown: members behind its own are neither read nor written.
static void test_older(void) {
    const size_t first = sizeof(zf_decode_sizes), now = sizeof(later_sizes);
    zf_error error = {0};
    for (size_t size = 0; size <= first; size += first) {
        later_sizes given = {.now = {.size = size, .values = 5}, .more = {7, 8}}, own;
        CHECK(zf_sized_take(&own, first, now, &given, "zf_decode_sizes", &error) == ZF_OK, "%s", error.message);
        CHECK(own.now.size == now && own.now.values == 5 && own.more[0] == 0 && own.more[1] == 0, "size %zu: read", size);
        own = (later_sizes){.now = {.values = 6}, .more = {1, 2}};
        zf_sized_give(&given, first, now, &own);
        CHECK(given.now.size == size && given.now.values == 6 && given.more[0] == 7 && given.more[1] == 8, "size %zu: written",
              size);
    }
    later_sizes given = {.now = {.size = first + 8, .values = 5}, .more = {7, 8}}, own; // of a version between
    CHECK(zf_sized_take(&own, first, now, &given, "zf_decode_sizes", &error) == ZF_OK, "%s", error.message);
    CHECK(own.more[0] == 7 && own.more[1] == 0, "a version between");
}

/// A struct that contains others grew since 0.1: zeroes are the first layout, which is too short for the library.
static void test_grown(void) {
    typedef struct later_request {
        zf_code_request first;
        uint64_t more;
    } later_request;
    const size_t first = sizeof(zf_code_request), now = sizeof(later_request);
    zf_error error = {0};
    later_request request = {0};
    CHECK(zf_sized_exact(&request, first, first, "zf_code_request", &error) == ZF_OK, "%s", error.message);
    CHECK(is_refused(zf_sized_exact(&request, first, now, "zf_code_request", &error), &error), "zeroes were taken as grown");
    request.first.size = first;
    CHECK(is_refused(zf_sized_exact(&request, first, now, "zf_code_request", &error), &error), "the first size");
    request.first.size = now;
    CHECK(zf_sized_exact(&request, first, now, "zf_code_request", &error) == ZF_OK, "%s", error.message);
}

int main(void) {
    zf_error error = {0};
    zf_abi_provider provider = {.plan = walk_plan, .code = walk_code, .forget = walk_forget};
    int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    zf_context_options options = {ZF_INIT(zf_context_options), .cache_dir = "", .threads = 1};
    CHECK(zf_context_create(&(zf_context_options){.size = 5}, &context, &error) == ZF_ERR_USAGE, "%s", error.message);
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    CHECK(walk_write(path, ROWS, 4096, true, &error) == ZF_OK, "%s", error.message);
    bool open = zf_container_open(context, path, &container, &error) == ZF_OK;
    CHECK(open, "%s", error.message);
    test_older();
    test_grown();
    if (open) {
        test_inputs();
        test_outputs();
        test_arrays();
    }
    zf_container_close(container);
    zf_context_free(context);
    unlink(path);
    return check_result();
}
