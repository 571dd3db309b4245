// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Tables of tuned kernels: their text, what is wrong with others, which kernel is nearest, keeping them; and that compilers lower
// kernels of the GPU that a table is of as it says, and others, and what it may not say, as by default.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "compiler/compiler.h"
#include "compiler/tuned/kernel_shape.h"
#include "runtime/context/context.h"
#include "runtime/device/device.h"
#include "tests/support/emulated.h"
#include "tests/unit/check.h"

static char directory[64], file[128];

static const char good[] = "zipflow tuned kernels, format 1\n"
                           "device GPU one, driver for CUDA 13.0\n"
                           "kernel map i32: bitpack<i32, u32>(u32); 16\n"
                           "  choice L=8,THREADS=128\n"
                           "  nanoseconds 123000 default 150000 probes 9\n"
                           "kernel map i32: bitpack<i32, u32>(u32); 8\n"
                           "  choice default\n"
                           "  nanoseconds 0 default 0 probes 3\n"
                           "device GPU two\n"
                           "kernel scan i32: delta<i32>(i32); tile 1024\n"
                           "  choice THREADS=64\n"
                           "  nanoseconds 10000 default 20000 probes 4\n";

// ---- Text -----------------------------------------------------------------------------------------------------

static void test_text(void) {
    zf_tuned tuned;
    zf_text message = {0}, text = {0};
    CHECK(zf_tuned_parse(good, strlen(good), &tuned, &message), "%s", message.data);
    zf_tuned_print(&tuned, &text);
    CHECK(text.data != NULL && strcmp(text.data, good) == 0, "%s", text.data);
    zf_text_free(&text);
    const zf_tuned_device *one = zf_tuned_find(&tuned, "GPU one, driver for CUDA 13.0");
    CHECK(one != NULL && one->count == 2, "GPU one");
    CHECK(zf_tuned_find(&tuned, "GPU one, driver for CUDA 12.4") == one, "another driver");
    CHECK(zf_tuned_find(&tuned, "GPU on") == NULL && zf_tuned_find(&tuned, "GPU one and more") == NULL, "another GPU");
    const zf_tuned_kernel *kernel = zf_tuned_kernel_of(one, "map i32: bitpack<i32, u32>(u32); 16");
    CHECK(kernel != NULL && zf_choice_value(&kernel->choice, ZF_CHOICE_L, 0) == 8 && kernel->probes == 9, "kernel");
    CHECK(zf_tuned_kernel_of(one, "map i32: bitpack<i32, u32>(u32); 32") == NULL, "no such kernel");
    CHECK(zf_tuned_kernel_of(NULL, "map") == NULL && zf_tuned_nearest(NULL, "map") == NULL, "no device");
    CHECK(zf_tuned_nearest(one, "map i32: bitpack<i32, u32>(u32); 32") == kernel, "another class");
    CHECK(zf_tuned_nearest(one, "map u8: other<u8>(u8);") == kernel, "another algorithm");
    CHECK(zf_tuned_nearest(one, "scan i32: delta<i32>(i32); tile 1024") == NULL, "another form");
    zf_tuned_kernel changed = *kernel;
    changed.probes = 10;
    CHECK(zf_tuned_set(&tuned, one->description, &changed) && one->count == 2, "it replaces");
    CHECK(zf_tuned_kernel_of(one, kernel->shape)->probes == 10, "it was replaced");
    zf_tuned_free(&tuned);
    const char blank[] = "zipflow tuned kernels, format 1\r\n\n# a remark\n device G\r\n\tkernel k\n choice default\n";
    CHECK(!zf_tuned_parse(blank, strlen(blank), &tuned, &message), "the first line is as it is");
    const char blanks[] = "zipflow tuned kernels, format 1\n\n# a remark\n device G \r\n\tkernel k\n choice default";
    CHECK(zf_tuned_parse(blanks, strlen(blanks), &tuned, &message) && tuned.count == 1 && tuned.devices[0].count == 1, "blanks");
    CHECK(tuned.count == 1 && strcmp(tuned.devices[0].description, "G") == 0, "blanks at the end");
    zf_tuned_free(&tuned);
    zf_text_free(&message);
}

static void test_wrong(void) {
#define HEAD "zipflow tuned kernels, format 1\n"
    static const struct {
        const char *text, *says;
    } cases[] = {{"", "line 1: the first line is not `zipflow tuned kernels, format 1`"},
                 {"zipflow tuned kernels, format 2\n", "line 1: the first"},
                 {HEAD "kernel k\n", "line 2: `device` comes before"},
                 {HEAD "device\n", "line 2: `device` comes before"},
                 {HEAD "device G\nchoice L=8\n", "line 3: a `kernel` line must come first"},
                 {HEAD "device G\nkernel k\nkernel l\n", "line 4: the kernel before has no `choice`"},
                 {HEAD "device G\nkernel k", "line 3: the kernel before has no `choice`"},
                 {HEAD "device G\nkernel k\nchoice L=8\nchoice L=4\n", "line 5: a second"},
                 {HEAD "device G\nkernel k\nchoice L=8,1:L=4\n", "line 4: this is not a choice"},
                 {HEAD "device G\nkernel k\nchoice SIZE\n", "line 4: this is not a choice"},
                 {HEAD "device G\nkernel k\nchoice SIZE=\n", "line 4: this is not a choice"},
                 {HEAD "device G\nkernel k\nchoice SIZE=x\n", "line 4: this is not a choice"},
                 {HEAD "device G\nkernel k\nchoice SIZE=4,\n", "line 4: this is not a choice"},
                 {HEAD "device G\nkernel k\nchoice SIZE=4;L=8\n", "line 4: this is not a choice"},
                 {HEAD "device G\nkernel k\nchoice SIZE=4,L=8,size=5\n", "line 4: this is not a choice"},
                 {HEAD "device G\nkernel k\nchoice 4=4\n", "line 4: this is not a choice"},
                 {HEAD "device G\nkernel k\nchoice =4\n", "line 4: this is not a choice"},
                 {HEAD "device G\nkernel k\nchoice L=8,L=4\n", "line 4: this is not a choice"},
                 {HEAD "device G\nkernel k\nchoice\n", "line 4: a line begins with"},
                 {HEAD "device G\nkernel k\nchoice L=8\nnanoseconds 1 default 2\n", "line 5: this is not"},
                 {HEAD "device G\nkernel k\nchoice L=8\nnanoseconds -1 default 2 probes 3\n", "line 5: this is not"},
                 {HEAD "device G\nkernel k\nchoice L=8\nnanoseconds 1.5 default 2 probes 3\n", "line 5: this is not"},
                 {HEAD "device G\nkernel k\nchoice L=8\nnanoseconds 1 default 2 probes 3 4\n", "line 5: this is not"},
                 {HEAD "device G\nkernel k\nchoice L=8\nnanoseconds 1 default 2 probes -1\n", "line 5: this is not"},
                 {HEAD "device G\nkernel k\nchoice L=8\nnanoseconds 1234567890123456789 default 2 probes 1\n", "line 5: this is"},
                 {HEAD "device G\nwarps 3\n", "line 3: a `kernel` line must come first"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        zf_tuned tuned;
        zf_text message = {0};
        CHECK(!zf_tuned_parse(cases[k].text, strlen(cases[k].text), &tuned, &message), "case %zu is read", k);
        CHECK(message.data != NULL && strncmp(message.data, cases[k].says, strlen(cases[k].says)) == 0, "case %zu: %s", k,
              message.data);
        CHECK(tuned.count == 0 && tuned.devices == NULL, "case %zu leaves something", k);
        zf_text_free(&message);
    }
    zf_tuned tuned;
    zf_text message = {0};
    CHECK(!zf_tuned_parse(good, sizeof good, &tuned, &message), "a zero byte");
    CHECK(strstr(message.data, "line 13: this is not text") == message.data, "%s", message.data);
    zf_text_free(&message);
}

/// Kernels whose choices another version has are left out, each alone, and printed as they were.
static void test_another_version(void) {
    static const char text[] = HEAD "device GPU one, driver for CUDA 13.0\n"
                                    "kernel map i32: a;\n"
                                    "  choice L=8\n"
                                    "  nanoseconds 2000 default 3000 probes 9\n"
                                    "kernel map i32: b;\n"
                                    "  choice THREADS=32,CLUSTER_2=0\n"
                                    "  nanoseconds 4000 default 5000 probes 7\n"
                                    "kernel map i32: c;\n"
                                    "  choice THREADS=123456789012\n"
                                    "  nanoseconds 0 default 0 probes 0\n"
                                    "device GPU one, driver for CUDA 14.0\n"
                                    "kernel map i32: b;\n"
                                    "  choice cluster=4\n"
                                    "  nanoseconds 0 default 0 probes 0\n";
    zf_tuned tuned;
    zf_text message = {0}, printed = {0};
    const zf_tuned_kernel *unknown;
    bool is_read = zf_tuned_parse(text, strlen(text), &tuned, &message);
    CHECK(is_read, "%s", message.data);
    if (!is_read) return;
    zf_tuned_print(&tuned, &printed);
    CHECK(printed.data != NULL && strcmp(printed.data, text) == 0, "%s", printed.data);
    zf_text_free(&printed);
    CHECK(zf_tuned_unknown(&tuned, &unknown) == 3 && strcmp(unknown->unknown, "THREADS=32,CLUSTER_2=0") == 0, "unknown");
    const zf_tuned_device *one = zf_tuned_find(&tuned, "GPU one, driver for CUDA 14.0");
    CHECK(one != NULL && one == zf_tuned_find(&tuned, "GPU one, driver for CUDA 13.0") && one->count == 1, "what is known");
    CHECK(zf_tuned_kernel_of(one, "map i32: b;") == NULL, "a choice that is not known");
    // One that is found here takes its place, and the other way round.
    const char *device = "GPU one, driver for CUDA 13.0";
    char a[] = "map i32: a;", b[] = "map i32: b;", later[] = "LATER=1";
    CHECK(zf_tuned_set(&tuned, device, &(zf_tuned_kernel){.shape = b}) && one->count == 2 && one->other_count == 1, "known");
    for (int k = 0; k < 2; k++)
        CHECK(zf_tuned_set(&tuned, device, &(zf_tuned_kernel){.shape = a, .unknown = later}) && one->count == 1, "unknown");
    CHECK(one->other_count == 2 && zf_tuned_kernel_of(one, b) == &one->kernels[0], "places");
    zf_tuned_free(&tuned);
    zf_text_free(&message);
}

static void test_nearness(void) {
    const char *shape = "map i32: dictionary<i32, u8>(bitpack<u8, u32>(u32), i32); 4";
    CHECK(zf_kernel_shape_nearness(shape, shape) == 5, "the same");
    CHECK(zf_kernel_shape_nearness(shape, "map i32: dictionary<i32, u8>(bitpack<u8, u32>(u32), i32); 8") == 4, "class");
    CHECK(zf_kernel_shape_nearness(shape, "map i32: dictionary<i32, u8>(u8, i32);") == 3, "its streams");
    CHECK(zf_kernel_shape_nearness(shape, "map i32: bitpack<i32, u32>(u32); 4") == 2, "algorithm");
    CHECK(zf_kernel_shape_nearness(shape, "map i64: dictionary<i64, u8>(bitpack<u8, u32>(u32), i64); 4") == 1, "type");
    CHECK(zf_kernel_shape_nearness(shape, "scan i32: dictionary<i32, u8>(u8, i32);") == 0, "form");
}

// ---- Compilers ------------------------------------------------------------------------------------------------

enum { ROWS = 8192 };

static void write_container(void) {
    static int32_t values[ROWS];
    for (int k = 0; k < ROWS; k++) values[k] = k * 7 % 1000;
    char source[128];
    snprintf(source, sizeof source, "%s/t.zf", directory);
    snprintf(file, sizeof file, "%s/t.zfd", directory);
    FILE *f = fopen(source, "w");
    fputs(
        "table t { a: i32 = bitpack; b: i32 = delta(bitpack); c: i32 = dictionary(codes: bitpack, entries: delta(bitpack)); }\n",
        f);
    fclose(f);
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    zf_error error = {0};
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_program_load(compiler, source, &program, &error) == ZF_OK, "%s", error.message);
    zf_encode_column columns[3] = {
        {.name = "a", .values = values}, {.name = "b", .values = values}, {.name = "c", .values = values}};
    zf_encode_options encoding = {.rows_per_block = 4096, .overwrite = true};
    CHECK(zf_encode(program, "t", columns, 3, ROWS, &encoding, file, NULL, &error) == ZF_OK, "%s", error.message);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
}

/// Lines that were logged; each has a container opened and closed, as whoever logs may do.
static unsigned warnings, logged, left_out, lowered, not_lowered;
static char warning[512]; ///< the last one
static zf_context *of_log;
static void on_log(void *user, zf_log_level level, const char *line) {
    static bool within;
    (void)user;
    logged++;
    if (level == ZF_LOG_WARNING && strstr(line, "/tuned/") != NULL) {
        warnings++;
        snprintf(warning, sizeof warning, "%s", line);
    }
    lowered += level == ZF_LOG_DEBUG && strstr(line, "are lowered as was found best") != NULL;
    not_lowered += level == ZF_LOG_DEBUG && strstr(line, "cannot be lowered as was found best") != NULL;
    left_out += level == ZF_LOG_DEBUG && strstr(line, "none of this version's") != NULL;
    if (within || of_log == NULL) return;
    within = true;
    zf_container *container = NULL;
    if (zf_container_open(of_log, file, &container, NULL) == ZF_OK) zf_container_close(container);
    within = false;
}

typedef struct seen {
    zf_choice choice; ///< of the column's kernel
    char shape[128], device[256];
    bool decoded;
} seen;

/// The code of a column on the emulated GPU by a compiler of these options: kernel `number` of its plan, a map or not.
static seen look_at(const char *cache, zf_compiler_options options, size_t column, uint32_t number, bool map) {
    seen out = {.decoded = false};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_container *container = NULL;
    zf_error error = {0};
    zf_device device;
    zf_accelerator *accelerator = NULL;
    zf_abi_provider provider;
    const zf_abi_plan *abi = NULL;
    zf_text shape = {0};
    options.std_dir = ZF_SOURCE_DIR "/dsl/std";
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = cache, .log = on_log}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    of_log = context;
    CHECK(zf_container_open(context, file, &container, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK &&
              zf_device_accelerator(context, &device, &accelerator, &error) == ZF_OK,
          "%s", error.message);
    snprintf(out.device, sizeof out.device, "%s", accelerator->description);
    CHECK(zf_context_plan(context, container, column, NULL, 0, zf_accelerator_device(accelerator), &provider, &abi, &error) ==
              ZF_OK,
          "%s", error.message);
    const zf_decoder *decoder = abi->provider_data;
    zf_block_view block;
    CHECK(zf_container_block(container, column, 0, true, &block, &error) == ZF_OK, "%s", error.message);
    zf_plan bare = *decoder->plan;
    CHECK(bare.kernel_count > number, "column %zu has %u kernels", column, bare.kernel_count);
    zf_kernel kernel = bare.kernels[number];
    out.choice = kernel.choice;
    kernel.choice = (zf_choice){0};
    kernel.geometry = zf_kernel_default_geometry(&bare, &kernel);
    if (map) kernel.tile = kernel.geometry.l * kernel.geometry.s * kernel.geometry.c;
    zf_kernel_shape_print(&bare, &kernel, &block, &shape);
    snprintf(out.shape, sizeof out.shape, "%s", shape.data);
    zf_block_view_free(&block);
    zf_text_free(&shape);
    static _Alignas(64) int32_t values[ROWS + 64]; // as buffers of devices are
    memset(values, 0xa5, sizeof values);
    zf_decode_buffers buffers = {.values = values, .values_bytes = sizeof values};
    CHECK(zf_decode(container, column, "emu", NULL, &buffers, NULL, &error) == ZF_OK, "%s", error.message);
    out.decoded = true;
    for (int k = 0; k < ROWS; k++) out.decoded = out.decoded && values[k] == k * 7 % 1000;
    zf_container_close(container);
    zf_compiler_free(compiler);
    of_log = NULL;
    zf_context_free(context);
    CHECK(out.decoded, "column %zu is another", column);
    return out;
}

static seen look(const char *cache, zf_compiler_options options, size_t column) {
    return look_at(cache, options, column, 0, column == 0);
}

static void write_tuned(const char *path, const char *device, const char *shape, const char *choice) {
    FILE *f = fopen(path, "w");
    fprintf(f, HEAD "device %s\nkernel %s\nchoice %s\n", device, shape, choice);
    fclose(f);
}

/// An illegal choice of one of a column's two kernels is ignored, and the other's is kept.
static void test_two_kernels(void) {
    char path[128];
    snprintf(path, sizeof path, "%s/two.txt", directory);
    zf_compiler_options options = {.tuned = path};
    seen entries = look_at("", (zf_compiler_options){0}, 2, 0, false), codes = look_at("", (zf_compiler_options){0}, 2, 1, true);
    CHECK(strncmp(codes.shape, "map i32: dictionary<i32>(bitpack", 32) == 0 && strstr(codes.shape, "work i32") != NULL, "%s",
          codes.shape);
    write_tuned(path, codes.device, codes.shape, "L=8");
    FILE *f = fopen(path, "a");
    fprintf(f, "kernel %s\nchoice L=3\n", entries.shape);
    fclose(f);
    CHECK(look_at("", options, 2, 0, false).choice.chosen == 0, "what it may not have");
    CHECK(look_at("", options, 2, 1, true).choice.chosen == 1u << ZF_CHOICE_L, "the other kernel");
}

/// A file that cannot be used is renamed when more is kept, and not lost.
static void test_put_aside(const char *cache, const char *kept, char *gpu, zf_tuned_kernel *kernel) {
    char aside[300];
    zf_context *context = NULL;
    zf_error error = {0};
    snprintf(aside, sizeof aside, "%s.bad", kept);
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = cache}, &context, &error) == ZF_OK, "%s", error.message);
    zf_tuned_device device = {.description = gpu, .kernels = kernel, .count = 1};
    CHECK(access(aside, F_OK) != 0 && zf_tuned_keep(context, &device) && access(aside, F_OK) == 0, "it is put aside");
    zf_context_free(context);
    seen then = look(cache, (zf_compiler_options){0}, 0);
    CHECK(zf_choice_value(&then.choice, ZF_CHOICE_L, 0) == 2, "what was kept then");
    CHECK(rename(aside, kept) == 0, "%s", aside);
}

static bool none_legal, no_strdup;
zf_status __real_zf_codegen_choices_check(const zf_plan *plan, const zf_choices *choices, zf_error *error);
zf_status __wrap_zf_codegen_choices_check(const zf_plan *plan, const zf_choices *choices, zf_error *error);
zf_status __wrap_zf_codegen_choices_check(const zf_plan *plan, const zf_choices *choices, zf_error *error) {
    return none_legal && choices != NULL ? ZF_ERR_USAGE : __real_zf_codegen_choices_check(plan, choices, error);
}
char *__real_strdup(const char *string);
char *__wrap_strdup(const char *string);
char *__wrap_strdup(const char *string) { return no_strdup ? NULL : __real_strdup(string); }

static void write_line(const char *path, const char *line) {
    FILE *f = fopen(path, "w");
    CHECK(f != NULL, "%s", path);
    if (f == NULL) return;
    fprintf(f, "%s\n", line);
    fclose(f);
}

/// Whether a file's first line is this one.
static bool begins(const char *path, const char *line) {
    char text[128] = "";
    FILE *f = fopen(path, "r");
    bool found = f != NULL && fgets(text, sizeof text, f) != NULL && strcspn(text, "\n") == strlen(line) &&
                 strncmp(text, line, strlen(line)) == 0;
    if (f != NULL) fclose(f);
    return found;
}

/// A file that cannot be read this time may be good: it stays where it is, and nothing is kept.
static void test_unreadable(const char *cache) {
    static const char *const reasons[] = {"Too many open files", "File too large", "no memory"};
    char gpu[] = "a GPU whose file is not read", shape[] = "map i32: a;", name[40], kept[256], aside[300];
    zf_tuned_kernel kernel = {.shape = shape};
    zf_tuned_device device = {.description = gpu, .kernels = &kernel, .count = 1};
    zf_tuned_file_name(gpu, name);
    snprintf(kept, sizeof kept, "%s/tuned/%s", cache, name);
    snprintf(aside, sizeof aside, "%s.bad", kept);
    zf_context *context = NULL;
    zf_error error = {0};
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = cache, .log = on_log}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_tuned_keep(context, &device), "it is kept");
    for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++) {
        FILE *f = fopen(kept, "r+");
        fseek(f, 0, SEEK_END);
        long size = ftell(f);
        if (k == 1) CHECK(ftruncate(fileno(f), (1 << 20) + 1) == 0, "%s", kept);
        struct rlimit files, one_more;
        getrlimit(RLIMIT_NOFILE, &files);
        one_more = files;
        int next = dup(0);
        close(next);
        one_more.rlim_cur = (rlim_t)next + 1; // the cache's directory
        if (k == 0) setrlimit(RLIMIT_NOFILE, &one_more);
        no_strdup = k == 2;
        warnings = 0;
        bool keeps = zf_tuned_keep(context, &device);
        setrlimit(RLIMIT_NOFILE, &files);
        no_strdup = false;
        CHECK(!keeps && warnings == 1 && strstr(warning, reasons[k]) != NULL, "%s: %u warnings, %s", reasons[k], warnings,
              warning);
        CHECK(strstr(warning, ": no more is kept") != NULL, "%s", warning);
        CHECK(access(aside, F_OK) != 0, "%s: it is put aside", reasons[k]);
        CHECK(ftruncate(fileno(f), size) == 0, "%s", kept);
        fclose(f);
        CHECK(zf_tuned_keep(context, &device), "%s: it is kept again", reasons[k]);
    }
    // The same of a file that is shipped.
    zf_tuned tuned;
    no_strdup = true;
    CHECK(zf_tuned_read(kept, &tuned, &error) == ZF_ERR_MEMORY && tuned.count == 0, "%s", error.message);
    no_strdup = false;
    zf_context_free(context);
}

/// Files that were renamed before stay.
static void test_put_aside_again(const char *cache) {
    enum { ASIDE = 4 };
    char gpu[] = "a GPU whose file is damaged often", shape[] = "map i32: a;", name[40], kept[256], aside[300], line[32];
    zf_tuned_kernel kernel = {.shape = shape};
    zf_tuned_device device = {.description = gpu, .kernels = &kernel, .count = 1};
    zf_tuned_file_name(gpu, name);
    snprintf(kept, sizeof kept, "%s/tuned/%s", cache, name);
    zf_context *context = NULL;
    zf_error error = {0};
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = cache, .log = on_log}, &context, &error) == ZF_OK, "%s",
          error.message);
    for (int k = 1; k <= ASIDE + 2; k++) {
        snprintf(line, sizeof line, "incident %d", k);
        write_line(kept, line);
        warnings = 0;
        CHECK(zf_tuned_keep(context, &device) && warnings == 1, "%s: %u warnings", line, warnings);
        CHECK(strstr(warning, k > ASIDE ? "it is lost" : "it is ") != NULL && strstr(warning, ".txt.bad") != NULL, "%s", warning);
        CHECK(begins(kept, "zipflow tuned kernels, format 1"), "%s: nothing is kept", line);
    }
    for (int k = 1; k <= ASIDE + 1; k++) {
        snprintf(aside, sizeof aside, k == 1 ? "%s.bad" : "%s.bad.%d", kept, k);
        snprintf(line, sizeof line, "incident %d", k);
        CHECK(k <= ASIDE ? begins(aside, line) : access(aside, F_OK) != 0, "%s", aside);
    }
    zf_context_free(context);
}

// The library's waits for a lock, which take no time here.
static unsigned sleeps, interruptions; ///< of locks that will be interrupted

int nanosleep(const struct timespec *wanted, struct timespec *left) {
    (void)wanted, (void)left;
    sleeps++;
    return 0;
}

int flock(int fd, int operation) {
    if (interruptions == 0) return (int)syscall(SYS_flock, fd, operation);
    interruptions--;
    errno = EINTR;
    return -1;
}

/// Nobody waits forever for somebody who holds the lock, or fails because of a signal.
static void test_locked(const char *cache) {
    char gpu[] = "a GPU whose directory is locked", shape[] = "map i32: a;", path[300];
    zf_tuned_kernel kernel = {.shape = shape};
    zf_tuned_device device = {.description = gpu, .kernels = &kernel, .count = 1};
    zf_context *context = NULL;
    zf_error error = {0};
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = cache, .log = on_log}, &context, &error) == ZF_OK, "%s",
          error.message);
    snprintf(path, sizeof path, "%s/tuned", cache);
    int directory_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(directory_fd >= 0 && flock(directory_fd, LOCK_EX) == 0, "%s", path);
    alarm(120); // a lock that is waited for without end fails the test
    warnings = sleeps = 0;
    CHECK(!zf_tuned_keep(context, &device) && sleeps > 0 && warnings == 1, "%u sleeps, %u warnings", sleeps, warnings);
    CHECK(strstr(warning, "another process holds the lock") != NULL, "%s", warning);
    alarm(0);
    CHECK(flock(directory_fd, LOCK_UN) == 0, "%s", path);
    warnings = 0;
    interruptions = 3;
    CHECK(zf_tuned_keep(context, &device) && interruptions == 0 && warnings == 0, "%u interruptions, %u warnings", interruptions,
          warnings);
    CHECK(flock(directory_fd, LOCK_EX | LOCK_NB) == 0, "the lock is kept");
    close(directory_fd);
    zf_context_free(context);
}

/// Results of another version stay when more is kept, and the known ones count meanwhile.
static void test_kept_by_another(const char *cache, const char *kept, const seen *first, zf_tuned_kernel *kernel) {
    zf_context *context = NULL;
    zf_error error = {0};
    char before[512] = {0};
    FILE *f = fopen(kept, "a");
    fputs("kernel map i32: of another version;\n  choice CLUSTER=2,L=8\n", f);
    fclose(f);
    warnings = left_out = 0;
    seen then = look(cache, (zf_compiler_options){0}, 0);
    CHECK(zf_choice_value(&then.choice, ZF_CHOICE_L, 0) == 2, "what is beside it counts");
    CHECK(warnings == 0 && left_out == 1, "%u warnings, %u lines of what is left out", warnings, left_out);
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = cache}, &context, &error) == ZF_OK, "%s", error.message);
    zf_tuned_device device = {.description = (char *)(uintptr_t)first->device, .kernels = kernel, .count = 1};
    CHECK(zf_tuned_keep(context, &device), "more is kept");
    zf_context_free(context);
    f = fopen(kept, "r");
    bool found = false;
    while (fgets(before, sizeof before, f) != NULL) found = found || strcmp(before, "  choice CLUSTER=2,L=8\n") == 0;
    fclose(f);
    CHECK(found, "what another version keeps is lost");
}

/// More than would be read again is not kept: what is there stays.
static void test_no_room(zf_context *context) {
    enum { MANY = 9000 };
    static char shapes[MANY][160];
    static zf_tuned_kernel kernels[MANY];
    for (unsigned k = 0; k < MANY; k++) {
        snprintf(shapes[k], sizeof shapes[k], "map i32: %0100u; 1", k);
        kernels[k].shape = shapes[k];
    }
    zf_tuned known = {0};
    zf_text message = {0};
    char gpu[] = "a GPU that is not here";
    CHECK(zf_tuned_keep(context, &(zf_tuned_device){.description = gpu, .kernels = kernels, .count = 1}), "one is kept");
    CHECK(!zf_tuned_keep(context, &(zf_tuned_device){.description = gpu, .kernels = kernels, .count = MANY}), "all are kept");
    CHECK(zf_tuned_kept(context, gpu, &known, &message) && known.count == 1 && known.devices[0].count == 1, "%s",
          message.data != NULL ? message.data : "the one is lost");
    zf_tuned_free(&known);
    zf_text_free(&message);
}

static void test_contradictions(const char *path) {
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_error error = {0};
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    zf_compiler_options both[] = {{.tuned = path, .untuned = true},
                                  {.choices = "0:THREADS=64,1:WALK=1", .chunk_threads = 1},
                                  {.choices = "0:WALK=32", .chunk_threads = 1}};
    for (size_t k = 0; k < sizeof both / sizeof *both; k++) {
        CHECK(zf_compiler_create(context, &both[k], &compiler, &error) == ZF_ERR_USAGE && compiler == NULL, "options %zu", k);
        CHECK(strstr(error.message, "give one of them") != NULL, "%s", error.message);
    }
    zf_compiler_options chosen = {.choices = "0:THREADS=64", .chunk_threads = 1};
    CHECK(zf_compiler_create(context, &chosen, &compiler, &error) == ZF_OK, "%s", error.message);
    zf_compiler_free(compiler);
    zf_context_free(context);
}

static void test_compilers(void) {
    char path[128], cache[128];
    snprintf(path, sizeof path, "%s/tuned.txt", directory);
    snprintf(cache, sizeof cache, "%s/cache", directory);
    seen first = look("", (zf_compiler_options){0}, 0), scan = look("", (zf_compiler_options){0}, 1);
    CHECK(first.choice.chosen == 0 && scan.choice.chosen == 0, "nothing is known");
    CHECK(strcmp(first.shape, "map i32: bitpack<i32, u32>(u32); 16") == 0, "%s", first.shape);
    CHECK(strncmp(scan.shape, "scan i32: delta<i32", 19) == 0 && strstr(scan.shape, "; 16 tile 1024") != NULL, "%s", scan.shape);
    write_tuned(path, first.device, first.shape, "L=8,THREADS=64");
    zf_compiler_options shipped = {.tuned = path};
    lowered = not_lowered = 0;
    seen tuned = look("", shipped, 0);
    CHECK(lowered == 1 && not_lowered == 0, "%u lines that it is so, %u that it is not", lowered, not_lowered);
    CHECK(zf_choice_value(&tuned.choice, ZF_CHOICE_L, 0) == 8 && zf_choice_value(&tuned.choice, ZF_CHOICE_THREADS, 0) == 64, "%x",
          tuned.choice.chosen);
    CHECK(look("", shipped, 1).choice.chosen == 0, "another kernel");
    none_legal = true;
    lowered = not_lowered = 0;
    CHECK(look("", shipped, 0).choice.chosen == 0, "what it may not have after all");
    CHECK(lowered == 0 && not_lowered == 1, "%u lines that it is so, %u that it is not", lowered, not_lowered);
    none_legal = false;
    CHECK(look("", (zf_compiler_options){.untuned = true}, 0).choice.chosen == 0, "they are not wanted");
    test_contradictions(path);
    shipped = (zf_compiler_options){.tuned = path, .choices = "0:THREADS=32"};
    tuned = look("", shipped, 0);
    CHECK(tuned.choice.chosen == 1u << ZF_CHOICE_THREADS && tuned.choice.values[ZF_CHOICE_THREADS] == 32, "what is asked for");
    shipped = (zf_compiler_options){.tuned = path};
    write_tuned(path, first.device, first.shape, "L=8,CLUSTER=2");
    left_out = 0;
    CHECK(look("", shipped, 0).choice.chosen == 0 && left_out == 1, "what another version has");
    write_tuned(path, first.device, first.shape, "L=3");
    CHECK(look("", shipped, 0).choice.chosen == 0, "what it may not have");
    write_tuned(path, "another GPU", first.shape, "L=8");
    CHECK(look("", shipped, 0).choice.chosen == 0, "another GPU's");
    // Kept in the cache, beside what is there; a damaged file is as good as none.
    zf_context *context = NULL;
    zf_error error = {0};
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = cache}, &context, &error) == ZF_OK, "%s", error.message);
    zf_tuned_kernel kernels[2] = {{.shape = first.shape}, {.shape = scan.shape}};
    zf_choose(&kernels[0].choice, ZF_CHOICE_L, 2);
    zf_choose(&kernels[1].choice, ZF_CHOICE_L, 1);
    for (int k = 0; k < 2; k++) {
        zf_tuned_device device = {.description = first.device, .kernels = &kernels[k], .count = 1};
        CHECK(zf_tuned_keep(context, &device), "it is kept");
    }
    test_no_room(context);
    zf_context_free(context);
    test_unreadable(cache);
    test_put_aside_again(cache);
    for (size_t k = 0; k < 2; k++) {
        tuned = look(cache, (zf_compiler_options){0}, k);
        CHECK(zf_choice_value(&tuned.choice, ZF_CHOICE_L, 0) == 2 - k, "column %zu: %x", k, tuned.choice.chosen);
    }
    static const char *const nothing[] = {"", "device another GPU", "# what is kept counts for nothing"};
    for (size_t k = 0; k < sizeof nothing / sizeof *nothing; k++) {
        char text[128];
        snprintf(text, sizeof text, HEAD "%s", nothing[k]);
        write_line(path, text);
        CHECK(look(cache, (zf_compiler_options){.tuned = path}, 0).choice.chosen == 0, "`%s` in place of what is kept",
              nothing[k]);
    }
    char name[40], kept[256];
    zf_tuned_file_name(first.device, name);
    snprintf(kept, sizeof kept, "%s/tuned/%s", cache, name);
    test_kept_by_another(cache, kept, &first, &kernels[0]);
    FILE *f = fopen(kept, "a");
    CHECK(f != NULL, "%s", kept);
    fputs("choice L=2\n", f);
    fclose(f);
    warnings = logged = 0;
    CHECK(look(cache, (zf_compiler_options){0}, 0).choice.chosen == 0, "it is damaged");
    CHECK(warnings == 1 && logged >= 1, "%u warnings of %u lines", warnings, logged);
    test_put_aside(cache, kept, first.device, &kernels[0]);
    test_locked(cache);
    // Files that cannot be used.
    zf_compiler *compiler = NULL;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, &(zf_compiler_options){.tuned = kept}, &compiler, &error) == ZF_ERR_INPUT &&
              strstr(error.message, "line ") != NULL,
          "%s", error.message);
    CHECK(zf_compiler_create(context, &(zf_compiler_options){.tuned = "/nowhere/at/all"}, &compiler, &error) == ZF_ERR_IO, "%s",
          error.message);
    zf_context_free(context);
}

int main(void) {
    snprintf(directory, sizeof directory, "/tmp/zf_tuned_XXXXXX");
    if (mkdtemp(directory) == NULL) return 1;
    test_text();
    test_wrong();
    test_another_version();
    test_nearness();
    write_container();
    test_compilers();
    test_two_kernels();
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command) == 0 ? check_result() : 1;
}
