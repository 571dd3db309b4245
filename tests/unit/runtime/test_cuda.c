// Links: zipflow-runtime zipflow-emu
// NVIDIA GPUs as devices, against a driver made for the purpose (tests/support/fake_cuda.c): every answer that a driver may give.
// With ZF_TEST_DEVICE=cuda also against the real one; a kernel that destroys its context then runs in a process of its own.
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/bits.h"
#include "runtime/device/device.h"
#include "runtime/device/kept_codes.h"
#include "tests/support/fake_cuda_open.h"
#include "tests/support/moved_bits.h"
#include "tests/unit/check.h"
#include "zipflow/emulator.h"

static zf_fake_cuda *fake;
static char library[PATH_MAX], lacking[PATH_MAX], cache[64];
static char log_text[1 << 16];

static void keep_log(void *user, zf_log_level level, const char *line) {
    (void)user, (void)level;
    size_t length = strlen(log_text);
    snprintf(log_text + length, sizeof log_text - length, "%s\n", line);
}

static zf_context *open_context(void) {
    zf_context *context = NULL;
    zf_error error;
    log_text[0] = 0;
    zf_context_options options = {.log = keep_log, .cache_dir = cache};
    if (zf_context_create(&options, &context, &error) != ZF_OK || zf_emulator_register(context, &error) != ZF_OK) exit(2);
    return context;
}

static void reset(void) {
    *fake = (zf_fake_cuda){.version = 12040, .devices = 1, .major = 9, .minor = 0, .total = 1 << 20, .free = 1 << 20};
    setenv("ZIPFLOW_CUDA_LIBRARY", library, 1);
}

static zf_accelerator *open_gpu(zf_context *context) {
    zf_device device;
    zf_error error;
    zf_accelerator *gpu = NULL;
    zf_status status = zf_device_find(context, "cuda", &device, &error);
    if (status == ZF_OK) status = zf_device_accelerator(context, &device, &gpu, &error);
    CHECK(status == ZF_OK, "%s %s", error.code, error.message);
    if (status != ZF_OK) exit(check_result());
    return gpu;
}

// ---- Which devices there are ----------------------------------------------------------------------------------

/// `cuda` is listed as absent, with `words` in the reason; asking for it is an error, and `auto` is the CPU.
static void check_absent(const char *what, const char *words) {
    zf_context *context = open_context();
    zf_device_info info = {0};
    zf_device device;
    zf_error error;
    size_t count = zf_device_count(context);
    CHECK(zf_device_get(context, count - 1, &info, &error) == ZF_OK, "%s: %s", what, error.message);
    CHECK(strncmp(info.name, "cuda", 4) == 0 && !info.present, "%s: %s is present", what, info.name);
    CHECK(strstr(info.reason, words) != NULL, "%s: %s", what, info.reason);
    CHECK(zf_device_find(context, "cuda", &device, &error) == ZF_ERR_DEVICE && strcmp(error.code, "ZF1104") == 0, "%s: %s", what,
          error.code);
    CHECK(strstr(error.message, words) != NULL, "%s: %s", what, error.message);
    CHECK(zf_device_find(context, "auto", &device, &error) == ZF_OK && strcmp(device.ops->name, "cpu") == 0, "%s: auto", what);
    zf_context_free(context);
}

static void test_absent(void) {
    setenv("ZIPFLOW_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
    check_absent("no driver", "no NVIDIA driver");
    setenv("ZIPFLOW_CUDA_LIBRARY", lacking, 1);
    check_absent("a driver that lacks a function", "cuLaunchKernel");
    reset();
    fake->version = 11040;
    check_absent("an old driver", "CUDA 11.4; CUDA 11.8");
    CHECK(fake->inits == 0, "a driver that is too old was started");
    static const struct {
        zf_cu_result result;
        const char *words;
    } starts[] = {{ZF_CU_NO_DEVICE, "finds no GPU"}, {ZF_CU_SYSTEM_DRIVER_MISMATCH, "restart the machine"},
                  {ZF_CU_STUB_LIBRARY, "stub"},      {ZF_CU_SYSTEM_NOT_READY, "fabric"},
                  {ZF_CU_UNKNOWN, "nvidia-smi"},     {ZF_CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY (2)"}};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        reset();
        fake->init_result = starts[i].result;
        check_absent("a driver that does not start", starts[i].words);
    }
    reset();
    fake->devices = 0;
    check_absent("no GPU", "finds no GPU");
    reset();
    fake->failing = "cuDeviceGetCount", fake->result = ZF_CU_UNKNOWN;
    check_absent("GPUs that cannot be counted", "(999)");
    reset();
    fake->major = 7, fake->minor = 5;
    check_absent("an old GPU", "7.5; 8.0");
    reset();
    fake->mode = ZF_CU_COMPUTE_MODE_PROHIBITED;
    check_absent("a GPU that takes no programs", "compute mode");
    reset();
    fake->failing = "cuDeviceGetName", fake->result = ZF_CU_UNKNOWN;
    check_absent("a GPU that is not described", "(999)");
}

static void test_present(void) {
    reset();
    fake->devices = 2;
    zf_context *context = open_context();
    zf_device_info info = {0};
    zf_device device;
    zf_error error;
    CHECK(zf_device_find(context, "cpu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(fake->inits == 0, "the driver was started for the CPU");
    CHECK(zf_device_find(context, "cuda", &device, &error) == ZF_OK && device.index == 0, "cuda");
    CHECK(zf_device_get(context, device.entry, &info, &error) == ZF_OK && strcmp(info.name, "cuda:0") == 0, "%s", info.name);
    CHECK(strstr(info.description, "Fake GPU 0, compute capability 9.0, driver for CUDA 12.4") != NULL, "%s", info.description);
    CHECK(info.cores == 132 && info.memory == 1 << 20 && info.present && !info.emulated && info.reason[0] == 0, "facts");
    CHECK(zf_device_find(context, "cuda:1", &device, &error) == ZF_OK && device.index == 1, "cuda:1");
    CHECK(zf_device_find(context, "auto", &device, &error) == ZF_OK && device.index == 0, "auto");
    CHECK(strcmp(device.ops->name, "cuda") == 0, "auto is %s", device.ops->name);
    CHECK(zf_device_find(context, "cuda:2", &device, &error) == ZF_ERR_DEVICE && strcmp(error.code, "ZF1103") == 0, "cuda:2");
    CHECK(fake->inits == 1, "the driver was started %u times", fake->inits);
    CHECK(fake->retained == 0, "listing devices opened one");
    zf_context_free(context);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static int callocs_left = -1; // the call that finds 0 fails; below: none

void *__wrap_calloc(size_t count, size_t size) {
    return callocs_left >= 0 && callocs_left-- == 0 ? NULL : __real_calloc(count, size);
}

/// A device for which there was no memory is looked for again, and those before it are there.
static void test_no_memory(void) {
    zf_device device;
    zf_error error;
    for (int failing = 0; failing < 5; failing++) { // the CPU, two emulators, the GPUs' driver, the GPU
        reset();
        zf_context *context = open_context();
        callocs_left = failing;
        CHECK(zf_device_find(context, "auto", &device, &error) == ZF_ERR_MEMORY, "call %d did not fail", failing);
        CHECK(callocs_left == -1, "%d calls are left", callocs_left);
        CHECK(zf_device_find(context, "cpu", &device, &error) == ZF_OK && device.entry == 0, "%d: %s", failing, error.message);
        CHECK(zf_device_find(context, "cuda", &device, &error) == ZF_OK && device.entry == 3, "%d: %s", failing, error.message);
        CHECK(zf_device_count(context) == 4, "%d: %zu devices", failing, zf_device_count(context));
        zf_context_free(context);
    }
}

typedef struct asker {
    zf_context *context;
    pthread_t thread;
    bool asked;
    atomic_bool answered;
    const char *while_in; ///< a function of the driver
} asker;

static asker cpu_asker;

static void *ask_for_the_cpu(void *user) {
    asker *a = user;
    zf_device device;
    zf_error error;
    zf_status status = zf_device_find(a->context, "cpu", &device, &error);
    atomic_store(&a->answered, status == ZF_OK);
    return NULL;
}

/// Within the driver, which does not return before another thread has found the CPU, or five seconds went by.
static void wait_for_other(const char *symbol) {
    if (cpu_asker.asked || strcmp(symbol, cpu_asker.while_in) != 0) return;
    cpu_asker.asked = pthread_create(&cpu_asker.thread, NULL, ask_for_the_cpu, &cpu_asker) == 0;
    for (int i = 0; i < 5000 && !atomic_load(&cpu_asker.answered); i++) usleep(1000);
    CHECK(atomic_load(&cpu_asker.answered), "the CPU waits for the GPU's %s", symbol);
}

static void test_the_cpu_waits_for_no_gpu(void) {
    static const char *const slow[] = {"cuDeviceGetName", "cuDevicePrimaryCtxRetain"}; // while it is looked for, while it starts
    for (int i = 0; i < 2; i++) {
        reset();
        cpu_asker = (asker){.context = open_context(), .while_in = slow[i]};
        fake->called = wait_for_other;
        open_gpu(cpu_asker.context);
        fake->called = NULL;
        CHECK(cpu_asker.asked, "%s was not called", slow[i]);
        if (cpu_asker.asked) pthread_join(cpu_asker.thread, NULL);
        zf_context_free(cpu_asker.context);
    }
}

// ---- Code -----------------------------------------------------------------------------------------------------

// out[i] = base[i] + block_count + (even << 16) + the low halves of the other addresses, xored; a word a thread.
#define PARAMETERS                                                                                                               \
    "(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4, .param .u64 p5, .param .u64 p6, "          \
    ".param .u64 p7, .param .u32 p8, .param .u32 p9)\n.maxntid 64, 1, 1\n"
static const char ptx[] = ".version 7.8\n.target sm_80\n.address_size 64\n"
                          ".visible .entry probe" PARAMETERS "{\n"
                          ".reg .b32 %r<10>;\n.reg .b64 %rd<14>;\n"
                          "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nld.param.u64 %rd3, [p2];\n"
                          "ld.param.u64 %rd4, [p3];\nld.param.u64 %rd5, [p4];\nld.param.u64 %rd6, [p5];\n"
                          "ld.param.u64 %rd12, [p6];\nld.param.u64 %rd13, [p7];\n"
                          "xor.b64 %rd6, %rd6, %rd12;\nxor.b64 %rd6, %rd6, %rd13;\n"
                          "ld.param.u32 %r1, [p8];\nld.param.u32 %r2, [p9];\n"
                          "xor.b64 %rd7, %rd2, %rd3;\nxor.b64 %rd8, %rd4, %rd6;\nxor.b64 %rd7, %rd7, %rd8;\n"
                          "cvt.u32.u64 %r8, %rd7;\n"
                          "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\n"
                          "mad.lo.u32 %r6, %r3, %r4, %r5;\nmul.wide.u32 %rd9, %r6, 4;\n"
                          "add.u64 %rd10, %rd1, %rd9;\nadd.u64 %rd11, %rd5, %rd9;\n"
                          "ld.global.u32 %r7, [%rd10];\nadd.u32 %r7, %r7, %r1;\nshl.b32 %r2, %r2, 16;\n"
                          "add.u32 %r7, %r7, %r2;\nadd.u32 %r7, %r7, %r8;\nst.global.u32 [%rd11], %r7;\nret;\n}\n"
                          ".visible .entry lose" PARAMETERS "{\n"
                          ".reg .b64 %rd<2>;\nmov.u64 %rd1, 64;\nst.global.u64 [%rd1], %rd1;\nret;\n}\n";

enum { THREADS = 64, GROUPS = 3, WORDS = THREADS * GROUPS };
static const zf_abi_simt_kernel kernels[2] = {{.name = "probe", .threads = THREADS, .tiles = 1},
                                              {.name = "lose", .threads = 32, .tiles = 1}};
static zf_abi_plan plan = {.kernel_count = 2, .target = {ZF_TARGET_NVPTX, 80}};
static const zf_abi_code code = {.simt = kernels, .image_kind = ZF_IMAGE_PTX, .image = ptx, .image_bytes = sizeof ptx};

/// The effect of the library's own kernel.
static void move_bits(void **arguments) {
    uint64_t a[3];
    for (int i = 0; i < 3; i++) memcpy(&a[i], arguments[i], 8);
    const zf_bit_run *runs = (const zf_bit_run *)(uintptr_t)a[0];
    static const uint8_t zero = 0;
    for (unsigned r = 0; r < fake->groups_y; r++) {
        uint8_t *to = (uint8_t *)(uintptr_t)a[2];
        zf_copy_bits(to, runs[r].to, (const uint8_t *)(uintptr_t)a[1], runs[r].from, runs[r].bits);
        for (uint64_t k = 0; k < runs[r].cleared; k++) zf_copy_bits(to, runs[r].to + runs[r].bits + k, &zero, 0, 1);
    }
}

/// The effect of the PTX above, for the fake driver.
static void probe(const char *name, unsigned groups, unsigned threads, void **arguments) {
    uint64_t a[8];
    if (strcmp(name, "zf_move_bits") == 0) {
        move_bits(arguments);
        return;
    }
    uint32_t block_count, even;
    for (int i = 0; i < 8; i++) memcpy(&a[i], arguments[i], 8);
    memcpy(&block_count, arguments[8], 4);
    memcpy(&even, arguments[9], 4);
    if (strcmp(name, "probe") != 0) return;
    const uint32_t *base = (const uint32_t *)(uintptr_t)a[0];
    uint32_t *out = (uint32_t *)(uintptr_t)a[4];
    for (unsigned i = 0; i < groups * threads; i++)
        out[i] = base[i] + block_count + (even << 16) + (uint32_t)(a[1] ^ a[2] ^ a[3] ^ a[5] ^ a[6] ^ a[7]);
}

static void check_launch(zf_accelerator *gpu, void *stream, zf_accelerator_code *loaded) {
    uint32_t in[WORDS], out[WORDS];
    zf_error error;
    uint64_t base = 0, to = 0;
    for (uint32_t i = 0; i < WORDS; i++) in[i] = i * 77;
    CHECK(gpu->ops->allocate(gpu, sizeof in, &base, &error) == ZF_OK && base % 256 == 0, "%s", error.message);
    CHECK(gpu->ops->allocate(gpu, sizeof in, &to, &error) == ZF_OK && to % 256 == 0, "%s", error.message);
    CHECK(gpu->ops->copy_in(gpu, stream, base, in, sizeof in, &error) == ZF_OK, "%s", error.message);
    zf_simt_args args = {.base = base,
                         .blocks = 0x1000,
                         .first = 0x20000,
                         .work = 0x300000,
                         .out = to,
                         .validity = 0x10000000,
                         .offsets = 0x50000000,
                         .failure = 0x4000000,
                         .block_count = 9,
                         .even = 5};
    CHECK(gpu->ops->launch(gpu, stream, loaded, 0, GROUPS, &args, &error) == ZF_OK, "%s", error.message);
    CHECK(gpu->ops->copy_out(gpu, stream, out, to, sizeof out, &error) == ZF_OK, "%s", error.message);
    CHECK(gpu->ops->wait(gpu, stream, &error) == ZF_OK, "%s", error.message);
    unsigned wrong = 0;
    for (uint32_t i = 0; i < WORDS; i++) wrong += out[i] != i * 77 + 9 + (5u << 16) + 0x44321000u;
    CHECK(wrong == 0, "%u of %d words are wrong; the first is %x", wrong, WORDS, out[0]);
    zf_kernel_facts facts = {0};
    CHECK(gpu->ops->kernel_facts(gpu, loaded, 0, &facts, &error) == ZF_OK, "%s", error.message);
    CHECK(facts.threads > 0 && facts.registers > 0 && facts.blocks > 0 && facts.blocks * facts.threads <= 2048,
          "%u threads, %u registers, %u blocks", facts.threads, facts.registers, facts.blocks);
    CHECK(gpu->ops->kernel_facts(gpu, loaded, 2, &facts, &error) == ZF_OK && facts.threads == 0, "a kernel that is not there");
    zf_multiprocessor_facts processor = {0};
    CHECK(gpu->ops->multiprocessor_facts(gpu, &processor, &error) == ZF_OK, "%s", error.message);
    CHECK(processor.warp == 32 && processor.registers >= 65536 && processor.threads >= 1024 && processor.blocks >= 16 &&
              processor.shared >= 64 << 10 && processor.count > 0,
          "warps of %u", processor.warp);
    args.block_count = 0;
    CHECK(gpu->ops->launch(gpu, stream, loaded, 0, GROUPS, &args, &error) == ZF_ERR_INTERNAL, "a launch for no blocks");
    CHECK(gpu->ops->launch(gpu, stream, loaded, 2, GROUPS, &args, &error) == ZF_ERR_INTERNAL, "a kernel that is not there");
    gpu->ops->release(gpu, base);
    gpu->ops->release(gpu, to);
}

static void test_code(void) {
    reset();
    fake->kernel = probe;
    zf_context *context = open_context();
    zf_accelerator *gpu = open_gpu(context);
    zf_accelerator_code *first = NULL, *second = NULL, *third = NULL;
    zf_error error;
    CHECK(gpu->ops->load(gpu, &plan, &code, &first, &error) == ZF_OK, "%s %s", error.code, error.message);
    CHECK(strstr(log_text, "kernel probe: ") != NULL, "nothing was logged of the kernel: %s", log_text);
    zf_abi_simt_kernel others[2] = {kernels[0], kernels[1]}; // the same code elsewhere is the same code
    char *copy = malloc(sizeof ptx);
    memcpy(copy, ptx, sizeof ptx);
    zf_abi_code again = {.simt = others, .image_kind = ZF_IMAGE_PTX, .image = copy, .image_bytes = sizeof ptx};
    CHECK(gpu->ops->load(gpu, &plan, &again, &second, &error) == ZF_OK && first == second, "the same code was loaded twice");
    free(copy);
    if (first != NULL) check_launch(gpu, NULL, first);
    CHECK(fake->compilations == 1 && fake->loads == 1, "%u compilations, %u modules", fake->compilations, fake->loads);
    static const char machine[] = "FAKE.entry probe( .entry lose(";
    zf_abi_code cubin = {.simt = kernels, .image_kind = ZF_IMAGE_CUBIN, .image = machine, .image_bytes = sizeof machine - 1};
    zf_abi_plan same = plan;
    same.target.arch = 90;
    CHECK(gpu->ops->load(gpu, &same, &cubin, &third, &error) == ZF_OK && third != first, "machine code: %s", error.message);
    if (third != NULL) check_launch(gpu, NULL, third);
    CHECK(fake->compilations == 1 && fake->loads == 2, "%u compilations, %u modules", fake->compilations, fake->loads);
    zf_accelerator_code *all[5] = {first, third}; // what differs in one thing is other code
    zf_abi_code row = cubin;
    row.image_bytes = sizeof machine;
    CHECK(gpu->ops->load(gpu, &same, &row, &all[2], &error) == ZF_OK, "a longer image: %s", error.message);
    row.image_kind = ZF_IMAGE_PTX; // which this driver refuses, if it is asked
    CHECK(gpu->ops->load(gpu, &same, &row, &all[3], &error) != ZF_OK, "machine code is taken for the same bytes as PTX");
    row = again;
    row.image = ptx;
    others[0].threads += 32;
    CHECK(gpu->ops->load(gpu, &plan, &row, &all[3], &error) == ZF_OK, "other threads: %s", error.message);
    others[0] = kernels[1];
    others[1] = kernels[0];
    CHECK(gpu->ops->load(gpu, &plan, &row, &all[4], &error) == ZF_OK, "another order: %s", error.message);
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned k = 0; k < i; k++) CHECK(all[i] != all[k], "codes %u and %u are taken for the same", k, i);
    }
    zf_context_free(context);
    CHECK(fake->unloads == 5 && fake->retained == 0 && fake->allocations == 0, "something was not given back");
    CHECK(fake->depth_errors == 0 && fake->pushed == 0, "calls without the context: %u, contexts left: %d", fake->depth_errors,
          fake->pushed);
    char kept[80];
    snprintf(kept, sizeof kept, "%s/kernels", cache);
    CHECK(access(kept, F_OK) != 0, "what the driver keeps is kept here too");
}

static void expect(zf_accelerator *gpu, const zf_abi_plan *with, const zf_abi_code *what, const char *error_code,
                   const char *words) {
    zf_accelerator_code *out = NULL;
    zf_error error = {0};
    CHECK(gpu->ops->load(gpu, with, what, &out, &error) != ZF_OK && out == NULL, "loaded; wanted %s", error_code);
    CHECK(strcmp(error.code, error_code) == 0, "%s instead of %s: %s", error.code, error_code, error.message);
    CHECK(strstr(error.message, words) != NULL || strstr(error.hint, words) != NULL, "no \"%s\" in: %s (%s)", words,
          error.message, error.hint);
}

/// Code that is refused; whether by a real driver or not. The context stays usable.
static void check_refused(zf_accelerator *gpu) {
    static const char broken[] = ".version 7.8\n.target sm_80\n.address_size 64\nnonsense;\n";
    zf_abi_code bad = code;
    bad.image = broken, bad.image_bytes = sizeof broken;
    expect(gpu, &plan, &bad, "ZF1111", "nonsense");
    zf_abi_plan later = plan;
    later.target.arch = 990;
    expect(gpu, &later, &code, "ZF1112", "99.0");
    zf_abi_code cubin = code;
    cubin.image_kind = ZF_IMAGE_CUBIN;
    zf_abi_plan other = plan;
    other.target.arch = 70; // machine code, unlike PTX, does not run on later major versions
    expect(gpu, &other, &cubin, "ZF1112", "7.0");
    other.target.arch = gpu->ops->target(gpu).arch;
    cubin.image = "no machine code", cubin.image_bytes = sizeof "no machine code";
    expect(gpu, &other, &cubin, "ZF1111", "rejects");
    zf_abi_code endless = code;
    endless.image_bytes--;
    expect(gpu, &plan, &endless, "ZF1901", "zero byte");
    zf_abi_plan host = plan;
    host.target.family = ZF_TARGET_HOST;
    expect(gpu, &host, &code, "ZF1901", "no code");
    zf_abi_simt_kernel renamed[2] = {kernels[0], kernels[1]};
    renamed[1].name = "win";
    zf_abi_code unnamed = code;
    unnamed.simt = renamed;
    expect(gpu, &plan, &unnamed, "ZF1901", "win");
}

static void test_refused(void) {
    reset();
    fake->kernel = probe;
    zf_context *context = open_context();
    zf_accelerator *gpu = open_gpu(context);
    check_refused(gpu);
    static const char other_ptx[] = ".entry probe( .entry lose(";
    zf_abi_code other = {.simt = kernels, .image_kind = ZF_IMAGE_PTX, .image = other_ptx, .image_bytes = sizeof other_ptx};
    static const struct {
        const char *symbol;
        zf_cu_result result;
        const char *error_code, *words;
    } cases[] = {{"cuModuleLoadDataEx", ZF_CU_UNSUPPORTED_PTX_VERSION, "ZF1111", "CUDA 12.4"},
                 {"cuModuleLoadDataEx", ZF_CU_NO_BINARY_FOR_GPU, "ZF1111", "9.0"},
                 {"cuModuleLoadDataEx", ZF_CU_JIT_COMPILER_NOT_FOUND, "ZF1111", "ptxjitcompiler"},
                 {"cuModuleLoadDataEx", ZF_CU_INVALID_IMAGE, "ZF1111", "200"},
                 {"cuModuleLoadDataEx", ZF_CU_OUT_OF_MEMORY, "ZF1110", "no memory left"},
                 {"cuModuleGetFunction", 1, "ZF1110", "finding a kernel"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fake->failing = cases[i].symbol, fake->result = cases[i].result;
        expect(gpu, &plan, &other, cases[i].error_code, cases[i].words);
    }
    zf_accelerator_code *loaded = NULL;
    zf_error error;
    CHECK(gpu->ops->load(gpu, &plan, &code, &loaded, &error) == ZF_OK, "%s", error.message);
    if (loaded == NULL) exit(check_result());
    check_launch(gpu, NULL, loaded);
    zf_simt_args args = {.block_count = 1};
    fake->failing = "cuLaunchKernel", fake->result = ZF_CU_LAUNCH_OUT_OF_RESOURCES;
    CHECK(gpu->ops->launch(gpu, NULL, loaded, 0, 1, &args, &error) == ZF_ERR_DEVICE, "launched");
    CHECK(strcmp(error.code, "ZF1110") == 0 && strstr(error.hint, "registers") != NULL, "%s %s", error.code, error.hint);
    check_launch(gpu, NULL, loaded);
    unsigned loads = fake->loads, unloads = fake->unloads;
    zf_accelerator_code *shared = NULL;
    CHECK(gpu->ops->load(gpu, &plan, &code, &shared, &error) == ZF_OK && shared == loaded, "the same code was loaded twice");
    gpu->ops->unload(gpu, loaded);
    CHECK(fake->unloads == unloads, "code with another reference was unloaded");
    check_launch(gpu, NULL, shared);
    gpu->ops->unload(gpu, shared);
    CHECK(fake->unloads == unloads + 1, "code that is not wanted any more was not unloaded");
    CHECK(gpu->ops->load(gpu, &plan, &code, &loaded, &error) == ZF_OK && fake->loads == loads + 1, "it was not loaded again");
    check_launch(gpu, NULL, loaded);
    // Code that a decode no longer uses stays until it is freed on the host; code that another one uses stays longer.
    CHECK(gpu->ops->load(gpu, &plan, &code, &shared, &error) == ZF_OK && shared == loaded, "%s", error.message);
    unloads = fake->unloads;
    zf_accelerator_keep(gpu, &code, shared);
    zf_context_drop_code(context, &other);
    CHECK(fake->unloads == unloads, "other code was freed");
    zf_context_drop_code(context, &code);
    CHECK(fake->unloads == unloads, "code under way was unloaded");
    check_launch(gpu, NULL, loaded);
    zf_accelerator_keep(gpu, &code, loaded);
    CHECK(fake->unloads == unloads, "code that is kept was unloaded");
    CHECK(gpu->ops->load(gpu, &plan, &code, &loaded, &error) == ZF_OK && fake->loads == loads + 1, "kept code was loaded again");
    zf_accelerator_keep(gpu, &code, loaded); // the same once more
    zf_context_drop_code(context, &code);
    CHECK(fake->unloads == unloads + 1, "code that was freed was not unloaded");
    CHECK(gpu->ops->load(gpu, &plan, &code, &loaded, &error) == ZF_OK, "%s", error.message);
    zf_accelerator_keep(gpu, &code, loaded); // until the device ends
    zf_context_free(context);
    CHECK(fake->loads == fake->unloads && fake->retained == 0, "%u modules, %u of them unloaded", fake->loads, fake->unloads);
    CHECK(fake->depth_errors == 0 && fake->pushed == 0, "calls without the context: %u", fake->depth_errors);
}

// ---- Memory, streams, faults ----------------------------------------------------------------------------------

static void check_memory(zf_accelerator *gpu) {
    enum { BYTES = 1000 };
    zf_error error;
    uint64_t a = 0, b = 0;
    void *stream = NULL, *pinned = NULL, *events[2] = {NULL, NULL};
    uint8_t back[BYTES];
    double seconds = -1;
    const zf_accelerator_ops *ops = gpu->ops;
    CHECK(ops->target(gpu).family == ZF_TARGET_NVPTX && ops->target(gpu).arch >= 80, "arch %u", ops->target(gpu).arch);
    CHECK(ops->stream_open(gpu, &stream, &error) == ZF_OK && stream != NULL, "%s", error.message);
    CHECK(ops->host_allocate(gpu, BYTES, &pinned, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->allocate(gpu, BYTES, &a, &error) == ZF_OK && ops->allocate(gpu, BYTES, &b, &error) == ZF_OK, "%s", error.message);
    for (int i = 0; i < 2; i++) CHECK(ops->event_open(gpu, true, &events[i], &error) == ZF_OK, "%s", error.message);
    uint8_t *bytes = pinned;
    for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)(i * 7);
    CHECK(ops->event_note(gpu, stream, events[0], &error) == ZF_OK, "%s", error.message);
    CHECK(ops->copy_in(gpu, stream, a, pinned, BYTES, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->fill(gpu, stream, b, 0x5a, BYTES, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->copy_within(gpu, stream, b, a + 100, BYTES - 200, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->event_note(gpu, stream, events[1], &error) == ZF_OK, "%s", error.message);
    CHECK(ops->copy_out(gpu, stream, back, b, BYTES, &error) == ZF_OK, "%s", error.message);
    CHECK(ops->copy_in(gpu, stream, a, NULL, 0, &error) == ZF_OK && ops->fill(gpu, stream, a, 1, 0, &error) == ZF_OK, "nothing");
    CHECK(ops->wait(gpu, stream, &error) == ZF_OK, "%s", error.message);
    bool same = memcmp(back, bytes + 100, BYTES - 200) == 0;
    for (int i = BYTES - 200; i < BYTES; i++) same = same && back[i] == 0x5a;
    CHECK(same, "what comes back differs");
    CHECK(ops->event_seconds(gpu, events[0], events[1], &seconds, &error) == ZF_OK && seconds >= 0 && seconds < 60, "%g s",
          seconds);
    for (int i = 0; i < 2; i++) ops->event_close(gpu, events[i]);
    uint64_t none = 1;
    CHECK(ops->allocate(gpu, UINT64_C(1) << 46, &none, &error) == ZF_ERR_DEVICE && none == 0, "64 TiB were allocated");
    CHECK(strcmp(error.code, "ZF1108") == 0 && strstr(error.message, "70368744177664 bytes are needed") != NULL, "%s: %s",
          error.code, error.message);
    CHECK(strstr(error.message, "free") != NULL && error.hint[0] != 0, "%s", error.message);
    CHECK(ops->allocate(gpu, 0, &none, &error) == ZF_OK, "no bytes: %s", error.message);
    ops->release(gpu, none);
    ops->release(gpu, a);
    ops->release(gpu, b);
    ops->release(gpu, 0);
    ops->host_release(gpu, pinned);
    ops->host_release(gpu, NULL);
    ops->stream_close(gpu, stream);
}

/// `auto` takes the first of several GPUs: where that is full, as it starts or later, the error names it and another one.
static void test_full(void) {
    for (int gpus = 1; gpus <= 2; gpus++) {
        reset();
        fake->devices = gpus;
        zf_context *context = open_context();
        zf_device device;
        zf_error error;
        zf_accelerator *gpu = NULL;
        uint64_t at = 0;
        CHECK(zf_device_find(context, "auto", &device, &error) == ZF_OK && device.index == 0, "auto");
        fake->failing = "cuDevicePrimaryCtxRetain", fake->result = ZF_CU_OUT_OF_MEMORY;
        CHECK(zf_device_accelerator(context, &device, &gpu, &error) == ZF_ERR_DEVICE, "started");
        for (int again = 0; again < 2; again++) {
            CHECK(strstr(error.message, "device `cuda:0`: ") != NULL, "%s", error.message);
            CHECK((strstr(error.hint, "cuda:1") != NULL && strstr(error.hint, "`auto` takes the first one") != NULL) ==
                      (gpus == 2),
                  "%d GPUs: %s", gpus, error.hint);
            if (again > 0) break;
            CHECK(zf_device_accelerator(context, &device, &gpu, &error) == ZF_OK, "%s", error.message);
            CHECK(gpu->ops->allocate(gpu, UINT64_C(1) << 40, &at, &error) == ZF_ERR_DEVICE, "allocated");
            CHECK(strcmp(error.code, "ZF1108") == 0, "%s", error.code);
        }
        zf_context_free(context);
    }
}

// ---- Memory for callers ---------------------------------------------------------------------------------------

static char ordered[256]; ///< what was asked of the driver on the caller's stream

static void note_ordered(const char *symbol, zf_cu_stream stream) {
    size_t used = strlen(ordered);
    if (stream == (zf_cu_stream)(uintptr_t)0x70) snprintf(ordered + used, sizeof ordered - used, "%s ", symbol);
}

static void note_followed(const char *symbol, zf_cu_stream stream, zf_cu_event event) {
    size_t used = strlen(ordered);
    snprintf(ordered + used, sizeof ordered - used, "%s %lx %d ", symbol, (unsigned long)(uintptr_t)stream, event != NULL);
}

/// A stream waits for another one; the host waits for all. The driver's refusals are errors.
static void test_streams_that_follow(void) {
    zf_context *context = open_context();
    zf_error error;
    void *stream = (void *)(uintptr_t)0x70, *other = (void *)(uintptr_t)0x80;
    fake->on_event = note_followed, *ordered = 0;
    bool good = zf_device_follow(context, "cuda", stream, other, &error) == ZF_OK;
    CHECK(good && strcmp(ordered, "cuEventRecord 80 1 cuStreamWaitEvent 70 1 ") == 0, "%s", ordered);
    fake->failing = "cuEventRecord", fake->result = 400, fake->on_event = NULL;
    CHECK(zf_device_follow(context, "cuda", stream, other, &error) == ZF_ERR_DEVICE, "%s", error.code);
    fake->failing = "cuCtxSynchronize";
    CHECK(zf_device_wait(context, "cuda", &error) == ZF_ERR_DEVICE && fake->failing == NULL, "%s", error.code);
    CHECK(zf_device_wait(context, "cuda", NULL) == ZF_OK && zf_device_wait(NULL, "cuda", NULL) == ZF_ERR_USAGE, "waits");
    zf_context_free(context);
}

/// From the driver's pool, in the order of the caller's stream; without a pool the host waits before memory goes back.
static void test_memory_for_callers(void) {
    for (int pools = 0; pools < 2; pools++) {
        reset();
        fake->no_pools = pools == 0;
        fake->on_stream = note_ordered, *ordered = 0;
        zf_context *context = open_context();
        zf_error error;
        uint64_t address = 0;
        void *stream = (void *)(uintptr_t)0x70;
        uint8_t byte = 0;
        CHECK(zf_device_allocate(context, "cuda", stream, 100, &address, &error) == ZF_OK && address % 256 == 0, "%s",
              error.message);
        CHECK(fake->allocations == 1, "%u allocations", fake->allocations);
        const uint8_t given = 0x5a;
        CHECK(zf_device_copy_in(context, "cuda", stream, address + 99, &given, 1, &error) == ZF_OK &&
                  *(uint8_t *)(uintptr_t)(address + 99) == given, // the fake's memory is the host's
              "%s", error.message);
        CHECK(zf_device_copy_out(context, "cuda:0", stream, &byte, address + 99, 1, &error) == ZF_OK && byte == 0x5a, "%s",
              error.message);
        zf_device_release(context, "cuda", stream, address);
        CHECK(fake->allocations == 0, "not given back");
        const char *wanted =
            pools ? "cuMemAllocAsync cuMemcpyHtoDAsync_v2 cuStreamSynchronize cuMemcpyDtoHAsync_v2 cuStreamSynchronize "
                    "cuMemFreeAsync "
                  : "cuMemcpyHtoDAsync_v2 cuStreamSynchronize cuMemcpyDtoHAsync_v2 cuStreamSynchronize "
                    "cuStreamSynchronize ";
        CHECK(strcmp(ordered, wanted) == 0, "%s", ordered);
        fake->on_stream = NULL;
        CHECK(zf_device_allocate(context, "cuda", stream, 100, &address, &error) == ZF_OK, "%s", error.message);
        fake->failing = pools ? "cuMemFreeAsync" : "cuStreamSynchronize", fake->result = 400; // the driver refuses the stream
        zf_device_release(context, "cuda", stream, address);
        CHECK(fake->allocations == 0, "not given back behind a stream that the driver refuses");
        fake->failing = pools ? "cuMemAllocAsync" : "cuMemAlloc_v2", fake->result = 1;
        CHECK(zf_device_allocate(context, "cuda", stream, 8, &address, &error) == ZF_ERR_DEVICE && address == 0 &&
                  strcmp(error.code, "ZF1110") == 0,
              "%s", error.code);
        CHECK(zf_device_allocate(context, "cuda", stream, 1 << 21, &address, &error) == ZF_ERR_DEVICE && address == 0 &&
                  strcmp(error.code, "ZF1108") == 0,
              "%s", error.code);
        zf_context_free(context);
        CHECK(fake->depth_errors == 0 && fake->pushed == 0, "calls without the context: %u", fake->depth_errors);
    }
}

static void test_memory(void) {
    reset();
    zf_context *context = open_context();
    zf_device device;
    zf_error error;
    zf_accelerator *gpu = NULL;
    // A GPU that does not start may be tried again.
    CHECK(zf_device_find(context, "cuda", &device, &error) == ZF_OK, "%s", error.message);
    fake->failing = "cuDevicePrimaryCtxRetain", fake->result = ZF_CU_OUT_OF_MEMORY;
    CHECK(zf_device_accelerator(context, &device, &gpu, &error) == ZF_ERR_DEVICE && gpu == NULL, "started");
    CHECK(strcmp(error.code, "ZF1110") == 0 && strstr(error.hint, "nvidia-smi") != NULL, "%s %s", error.code, error.hint);
    CHECK(zf_device_accelerator(context, &device, &gpu, &error) == ZF_OK, "%s", error.message);
    check_memory(gpu);
    fake->kernel = probe;
    check_moved_bits(gpu);
    CHECK(fake->allocations == 0 && fake->free == fake->total, "%u allocations are left", fake->allocations);
    static const char *const symbols[] = {"cuMemAlloc_v2",        "cuMemHostAlloc",       "cuMemcpyHtoDAsync_v2",
                                          "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async",
                                          "cuStreamCreate",       "cuStreamSynchronize",  "cuStreamWaitEvent",
                                          "cuEventCreate",        "cuEventRecord",        "cuCtxPushCurrent_v2"};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *at;
        uint64_t address = 0;
        uint8_t byte = 0;
        fake->failing = symbols[i], fake->result = 1;
        // Exactly one of these meets the failure.
        zf_status failed = ZF_OK, status;
        zf_error met = {0};
#define ATTEMPT(call)                                                                                                            \
    do {                                                                                                                         \
        status = (call);                                                                                                         \
        if (status != ZF_OK) failed = status, met = error;                                                                       \
    } while (0)
        ATTEMPT(gpu->ops->allocate(gpu, 8, &address, &error));
        if (status != ZF_OK) ATTEMPT(gpu->ops->allocate(gpu, 8, &address, &error));
        CHECK(address != 0, "%s: no memory afterwards", symbols[i]);
        ATTEMPT(gpu->ops->host_allocate(gpu, 8, &at, &error));
        if (status == ZF_OK) gpu->ops->host_release(gpu, at);
        ATTEMPT(gpu->ops->copy_in(gpu, NULL, address, &byte, 1, &error));
        ATTEMPT(gpu->ops->copy_out(gpu, NULL, &byte, address, 1, &error));
        ATTEMPT(gpu->ops->copy_within(gpu, NULL, address, address, 1, &error));
        ATTEMPT(gpu->ops->fill(gpu, NULL, address, 1, 1, &error));
        ATTEMPT(gpu->ops->stream_open(gpu, &at, &error));
        if (status == ZF_OK) gpu->ops->stream_close(gpu, at);
        ATTEMPT(gpu->ops->wait(gpu, NULL, &error));
        ATTEMPT(gpu->ops->event_open(gpu, true, &at, &error));
        if (status == ZF_OK) {
            ATTEMPT(gpu->ops->event_note(gpu, NULL, at, &error));
            ATTEMPT(gpu->ops->stream_follow(gpu, NULL, at, &error));
            gpu->ops->event_close(gpu, at);
        }
        gpu->ops->release(gpu, address);
        CHECK(failed == ZF_ERR_DEVICE && strcmp(met.code, "ZF1110") == 0, "%s: %s %s", symbols[i], met.code, met.message);
        CHECK(strstr(met.message, "cuda:0") != NULL && strstr(met.message, "what the driver says") != NULL, "%s", met.message);
    }
    check_memory(gpu);
    zf_context_free(context);
    CHECK(fake->allocations == 0 && fake->retained == 0, "not given back");
    CHECK(fake->depth_errors == 0 && fake->pushed == 0, "calls without the context: %u", fake->depth_errors);
}

static void check_lost(zf_accelerator *gpu, const zf_error *error) {
    zf_error later;
    uint64_t address;
    CHECK(strcmp(error->code, "ZF1109") == 0 && strstr(error->message, "outside its buffers") != NULL, "%s %s", error->code,
          error->message);
    CHECK(strstr(error->hint, "start the process again") != NULL, "%s", error->hint);
    CHECK(gpu->ops->allocate(gpu, 8, &address, &later) == ZF_ERR_DEVICE && strcmp(later.code, "ZF1109") == 0, "%s %s", later.code,
          later.message);
}

static void test_lost(void) {
    reset();
    fake->kernel = probe;
    zf_context *context = open_context();
    zf_accelerator *gpu = open_gpu(context);
    zf_accelerator_code *loaded = NULL;
    zf_error error = {0};
    CHECK(gpu->ops->load(gpu, &plan, &code, &loaded, &error) == ZF_OK, "%s", error.message);
    fake->fault = ZF_CU_ILLEGAL_ADDRESS;
    CHECK(gpu->ops->wait(gpu, NULL, &error) == ZF_ERR_DEVICE, "a fault was not seen");
    check_lost(gpu, &error);
    fake->stuck = fake->fault = 0; // whatever the driver says later: what the context held is gone
    check_lost(gpu, &error);
    zf_context_free(context);
    CHECK(fake->retained == 0 && fake->pushed == 0, "a lost context was not released");
}

/// A context that cannot be made current when its GPU is closed: no call wants it then, and it is released all the same.
static void test_close_refused(void) {
    reset();
    fake->kernel = probe;
    zf_context *context = open_context();
    zf_accelerator *gpu = open_gpu(context);
    zf_accelerator_code *loaded = NULL;
    zf_error error;
    CHECK(gpu->ops->load(gpu, &plan, &code, &loaded, &error) == ZF_OK, "%s", error.message);
    fake->failing = "cuCtxPushCurrent_v2", fake->result = 1;
    zf_context_free(context);
    CHECK(fake->failing == NULL && fake->loads == 1, "the context was made current all the same");
    CHECK(fake->depth_errors == 0 && fake->unloads == 0, "calls without the context: %u", fake->depth_errors);
    CHECK(fake->retained == 0 && fake->pushed == 0, "the context was not released");
}

// ---- The real driver ------------------------------------------------------------------------------------------

/// In a process of its own: a kernel that destroys the context.
static int lose(void) {
    zf_context *context = open_context();
    zf_accelerator *gpu = open_gpu(context);
    zf_accelerator_code *loaded = NULL;
    zf_error error = {0};
    zf_simt_args args = {.block_count = 1};
    zf_status status = gpu->ops->load(gpu, &plan, &code, &loaded, &error);
    CHECK(status == ZF_OK, "%s", error.message);
    if (status == ZF_OK) status = gpu->ops->launch(gpu, NULL, loaded, 1, 1, &args, &error);
    if (status == ZF_OK) status = gpu->ops->wait(gpu, NULL, &error);
    CHECK(status == ZF_ERR_DEVICE, "a kernel wrote to address 64");
    check_lost(gpu, &error);
    zf_context_free(context);
    return check_result();
}

/// How many entries a directory has.
static int entries_of(const char *path) {
    DIR *directory = opendir(path);
    int entries = 0;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) entries += entry->d_name[0] != '.';
    if (directory != NULL) closedir(directory);
    return entries;
}

static void test_gpu(void) {
    char own[80]; // of the driver, which reads this when it starts
    snprintf(own, sizeof own, "%s/driver", cache);
    setenv("CUDA_CACHE_PATH", own, 1);
    unsetenv("CUDA_CACHE_DISABLE");
    unsetenv("ZIPFLOW_CUDA_LIBRARY");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        check_failures = check_count = 0;
        int result = lose();
        fflush(stdout);
        _exit(result);
    }
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the process that loses its context: %d", status);
    zf_context *context = open_context();
    zf_accelerator *gpu = open_gpu(context);
    check_memory(gpu);
    check_moved_bits(gpu);
    check_refused(gpu);
    zf_accelerator_code *loaded = NULL;
    zf_error error;
    void *stream = NULL;
    CHECK(gpu->ops->load(gpu, &plan, &code, &loaded, &error) == ZF_OK, "%s %s", error.code, error.message);
    CHECK(gpu->ops->stream_open(gpu, &stream, &error) == ZF_OK, "%s", error.message);
    if (loaded != NULL) check_launch(gpu, stream, loaded);
    gpu->ops->stream_close(gpu, stream);
    zf_context_free(context);
    CHECK(entries_of(own) > 0, "the driver keeps nothing of what it makes of PTX");
    puts("the real driver was tested");
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--ptx") == 0) { // for whoever wants to see what ptxas says
        fputs(ptx, stdout);
        return 0;
    }
    fake_cuda_path("libfake_cuda.so", library);
    fake_cuda_path("libfake_cuda_lacking.so", lacking);
    fake = fake_cuda_open();
    if (fake == NULL) return 2;
    strcpy(cache, "/tmp/zf-test-cuda-XXXXXX");
    if (mkdtemp(cache) == NULL) return 2;
    test_absent();
    test_present();
    test_no_memory();
    test_the_cpu_waits_for_no_gpu();
    test_code();
    test_refused();
    test_full();
    test_memory();
    test_memory_for_callers();
    test_streams_that_follow();
    test_lost();
    test_close_refused();
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'/*", cache);
    if (system(command) != 0) return 2;
    const char *device = getenv("ZF_TEST_DEVICE");
    if (device != NULL && strncmp(device, "cuda", 4) == 0) test_gpu();
    snprintf(command, sizeof command, "rm -rf '%s'", cache);
    if (system(command) != 0) return 2;
    return check_result();
}
