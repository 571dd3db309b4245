// decode_copy FILE...: decodes every column on the CPU and on a device of the copied target, and compares the bytes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "runtime/device/device.h"
#include "tests/target/target_copy.h"
#include "tests/unit/check.h"

typedef struct decoded {
    zf_decode_sizes sizes;
    zf_decode_buffers buffers;
} decoded;

static void *room(size_t bytes, uint8_t byte) {
    void *at = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (at != NULL) memset(at, byte, bytes);
    return at;
}

static decoded decode(zf_container *container, size_t column, const char *device, uint8_t byte) {
    decoded d = {0};
    zf_error error = {0};
    zf_status status = zf_decode_size(container, column, NULL, &d.sizes, &error);
    d.buffers = (zf_decode_buffers){.values = room(d.sizes.values, byte),
                                    .offsets = room(d.sizes.offsets, byte),
                                    .validity = room(d.sizes.validity, byte),
                                    .workspace = room(d.sizes.workspace, byte),
                                    ZF_DECODE_BYTES(d.sizes)};
    if (status == ZF_OK) status = zf_decode(container, column, device, NULL, &d.buffers, NULL, &error);
    CHECK(status == ZF_OK, "column %zu on %s: %s %s", column, device, error.code, error.message);
    return d;
}

static void free_decoded(decoded *d) {
    free(d->buffers.values);
    free(d->buffers.offsets);
    free(d->buffers.validity);
    free(d->buffers.workspace);
}

static void compare(zf_container *container, size_t column) {
    unsigned before = copy_kernels;
    decoded cpu = decode(container, column, "cpu", 0x5a);
    CHECK(copy_kernels == before, "column %zu: the CPU has the copy's kernels", column);
    decoded copy = decode(container, column, "copy", 0xa5);
    CHECK(copy_kernels > before, "column %zu: the copy made no kernel", column);
    CHECK(memcmp(cpu.buffers.values, copy.buffers.values, cpu.sizes.values) == 0, "column %zu: values differ", column);
    CHECK(memcmp(cpu.buffers.offsets, copy.buffers.offsets, cpu.sizes.offsets) == 0, "column %zu: offsets differ", column);
    CHECK(memcmp(cpu.buffers.validity, copy.buffers.validity, cpu.sizes.validity) == 0, "column %zu: validity differs", column);
    free_decoded(&cpu);
    free_decoded(&copy);
}

int main(int argc, char **argv) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    // The device: the CPU's functions, and another target.
    zf_device_ops copy = zf_device_cpu;
    copy.name = "copy";
    copy.target = (zf_abi_target){.family = ZF_TARGET_HOST, .arch = 1};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 1};
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK &&
              zf_context_add_devices(context, &(const zf_device_ops *){&copy}, 1, &error) == ZF_OK &&
              zf_compiler_create(context, &options, &compiler, &error) == ZF_OK,
          "%s", error.message);
    size_t columns = 0;
    for (int k = 1; k < argc; k++) {
        zf_container *container = NULL;
        CHECK(zf_container_open(context, argv[k], &container, &error) == ZF_OK, "%s: %s", argv[k], error.message);
        if (container == NULL) continue;
        for (size_t column = 0; column < zf_container_columns(container); column++, columns++) compare(container, column);
        zf_container_close(container);
    }
    printf("%zu columns, %u kernels\n", columns, (unsigned)copy_kernels);
    CHECK(columns > 0, "no column");
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
