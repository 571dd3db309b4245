// Links: zipflow-runtime
// Shared memory that launches give to kernels of NVIDIA GPUs: the driver is asked for what is more than code may declare. Against
// a driver made for the purpose (tests/support/fake_cuda.c), and with ZF_TEST_DEVICE=cuda also against the real one.
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "tests/support/fake_cuda_open.h"
#include "tests/unit/check.h"

enum { THREADS = 64, GROUPS = 3, WORDS = THREADS * GROUPS };

// Each thread leaves its number in the last words of the shared memory that the launch gives, and stores that of the thread which
// is as far from the block's end.
static const char ptx[] =
    ".version 7.8\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 all[];\n"
    ".visible .entry share(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4, .param .u64 p5, "
    ".param .u64 p6, .param .u64 p7, .param .u32 p8, .param .u32 p9)\n.maxntid 64, 1, 1\n{\n"
    ".reg .b32 %r<10>;\n.reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [p4];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
    "mov.u32 %r4, %dynamic_smem_size;\nmov.u32 %r6, all;\nadd.u32 %r6, %r6, %r4;\n"
    "shl.b32 %r5, %r3, 2;\nsub.u32 %r5, %r6, %r5;\nst.shared.u32 [%r5+-4], %r3;\nbar.sync 0;\n"
    "sub.u32 %r7, %r2, %r3;\nshl.b32 %r7, %r7, 2;\nsub.u32 %r7, %r6, %r7;\nld.shared.u32 %r8, [%r7];\n"
    "mad.lo.u32 %r9, %r1, %r2, %r3;\nmul.wide.u32 %rd2, %r9, 4;\nadd.u64 %rd3, %rd1, %rd2;\n"
    "st.global.u32 [%rd3], %r8;\nret;\n}\n";

/// The effect of the PTX above, for the fake driver.
static void share(const char *name, unsigned groups, unsigned threads, void **arguments) {
    uint64_t out;
    memcpy(&out, arguments[4], sizeof out);
    for (unsigned i = 0; strcmp(name, "share") == 0 && i < groups * threads; i++)
        ((uint32_t *)(uintptr_t)out)[i] = threads - 1 - i % threads;
}

static zf_context *open_gpu(zf_accelerator **gpu) {
    zf_context *context = NULL;
    zf_device device;
    zf_error error;
    zf_context_options options = {.cache_dir = ""};
    zf_status status = zf_context_create(&options, &context, &error);
    if (status == ZF_OK) status = zf_device_find(context, "cuda", &device, &error);
    if (status == ZF_OK) status = zf_device_accelerator(context, &device, gpu, &error);
    CHECK(status == ZF_OK, "%s %s", error.code, error.message);
    if (status != ZF_OK) exit(check_result());
    return context;
}

static zf_status load(zf_accelerator *gpu, uint32_t bytes, zf_accelerator_code **out, zf_error *error) {
    zf_abi_simt_kernel kernel = {.name = "share", .threads = THREADS, .tiles = 1, .shared_bytes = bytes, .dynamic_bytes = bytes};
    zf_abi_plan plan = {.kernel_count = 1, .target = {ZF_TARGET_NVPTX, 80}};
    zf_abi_code code = {.simt = &kernel, .image_kind = ZF_IMAGE_PTX, .image = ptx, .image_bytes = sizeof ptx};
    *out = NULL;
    return gpu->ops->load(gpu, &plan, &code, out, error);
}

static void check_launch(zf_accelerator *gpu, zf_accelerator_code *code, uint32_t bytes) {
    const zf_accelerator_ops *ops = gpu->ops;
    uint32_t out[WORDS], wrong = 0;
    uint64_t to = 0;
    zf_error error;
    zf_kernel_facts facts = {0};
    CHECK(ops->kernel_facts(gpu, code, 0, &facts, &error) == ZF_OK && facts.shared == bytes, "%u bytes: %u", bytes, facts.shared);
    CHECK(bytes <= 48 << 10 ? facts.blocks > 1 : facts.blocks == 1, "%u bytes: %u blocks at once", bytes, facts.blocks);
    CHECK(ops->allocate(gpu, sizeof out, &to, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->fill(gpu, NULL, to, 0xff, sizeof out, &error) == ZF_OK, "%s", error.message);
    zf_simt_args args = {.out = to, .block_count = 1};
    CHECK(ops->launch(gpu, NULL, code, 0, GROUPS, &args, &error) == ZF_OK, "%u bytes: %s", bytes, error.message);
    CHECK(ops->copy_out(gpu, NULL, out, to, sizeof out, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->wait(gpu, NULL, &error) == ZF_OK, "%s", error.message);
    for (unsigned i = 0; i < WORDS; i++) wrong += out[i] != THREADS - 1 - i % THREADS;
    CHECK(wrong == 0, "%u bytes: %u of %d words are wrong; the first is %x", bytes, wrong, WORDS, out[0]);
    ops->release(gpu, to);
}

/// As much as code may declare, all that the device gives a thread block, and more.
static void check_launches(zf_accelerator *gpu) {
    zf_multiprocessor_facts processor = {0};
    zf_accelerator_code *codes[3] = {NULL, NULL, NULL};
    zf_error error;
    CHECK(gpu->ops->multiprocessor_facts(gpu, &processor, &error) == ZF_OK, "%s", error.message);
    CHECK(processor.block_shared >= 99 << 10, "%u bytes", processor.block_shared);
    const uint32_t bytes[2] = {48 << 10, processor.block_shared};
    for (unsigned k = 0; k < 2; k++) {
        CHECK(load(gpu, bytes[k], &codes[k], &error) == ZF_OK, "%u bytes: %s", bytes[k], error.message);
        if (codes[k] != NULL) check_launch(gpu, codes[k], bytes[k]);
    }
    CHECK(codes[0] != codes[1], "code with more shared memory is taken for the same");
    CHECK(load(gpu, processor.block_shared + 1024, &codes[2], &error) == ZF_ERR_DEVICE, "more than the device gives");
    CHECK(strstr(error.message, "bytes of shared memory a thread block") != NULL, "%s", error.message);
}

static void check_fake(zf_fake_cuda *fake) {
    *fake = (zf_fake_cuda){.version = 12040, .devices = 1, .major = 9, .total = 1 << 20, .free = 1 << 20, .kernel = share};
    zf_accelerator *gpu = NULL;
    zf_accelerator_code *none = NULL;
    zf_error error;
    zf_context *context = open_gpu(&gpu);
    check_launches(gpu);
    CHECK(fake->shared_bytes == 232448, "the last launch gave %u bytes", fake->shared_bytes);
    fake->failing = "cuFuncSetAttribute", fake->result = 1;
    CHECK(load(gpu, 50 << 10, &none, &error) == ZF_ERR_DEVICE, "loaded");
    CHECK(strcmp(error.code, "ZF1110") == 0 && strstr(error.message, "51200 bytes of shared memory") != NULL, "%s: %s",
          error.code, error.message);
    zf_context_free(context);
    CHECK(fake->depth_errors == 0 && fake->pushed == 0 && fake->allocations == 0, "%u calls without a context",
          fake->depth_errors);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--ptx") == 0) { // for whoever wants to see what ptxas says
        fputs(ptx, stdout);
        return 0;
    }
    zf_fake_cuda *fake = fake_cuda_open();
    if (fake == NULL) return 2;
    check_fake(fake);
    const char *device = getenv("ZF_TEST_DEVICE");
    if (device == NULL || strncmp(device, "cuda", 4) != 0) return check_result();
    unsetenv("ZIPFLOW_CUDA_LIBRARY");
    zf_accelerator *gpu = NULL;
    zf_context *context = open_gpu(&gpu);
    check_launches(gpu);
    zf_context_free(context);
    return check_result();
}
