// Every column of a container by the code of a module, in a program that links libzipflow alone: neither LLVM nor CUDA's toolkit.
//   gpu_module DEVICE FILE.zfd MODULE.zfm DIRECTORY      writes each column to DIRECTORY/COLUMN.values, .offsets, .valid
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zipflow/zipflow.h>

static int fail(const zf_error *error) {
    fprintf(stderr, "gpu_module: %s: %s (%s)\n", error->code, error->message, error->place);
    return 1;
}

static void *poisoned(size_t bytes) {
    void *memory = aligned_alloc(64, bytes / 64 * 64 + 64);
    if (memory == NULL) abort();
    memset(memory, 0xa5, bytes);
    return memory;
}

static int write_part(const char *directory, const char *column, const char *part, const void *bytes, size_t size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s", directory, column, part);
    FILE *file = fopen(path, "wb");
    size_t written = file != NULL ? fwrite(bytes, 1, size, file) : 0;
    if (file != NULL && fclose(file) == 0 && written == size) return 0;
    fprintf(stderr, "gpu_module: %s cannot be written\n", path);
    return 1;
}

typedef struct totals {
    unsigned long long bytes, launches;
} totals;

static int decode(zf_container *container, size_t column, char **words, totals *t) {
    zf_error error = {0};
    zf_column_info info = {0};
    zf_decode_sizes sizes = {0};
    zf_decode_stats stats = {0};
    if (zf_container_column(container, column, &info, &error) != ZF_OK) return fail(&error);
    if (zf_decode_size(container, column, NULL, &sizes, &error) != ZF_OK) return fail(&error);
    zf_decode_buffers buffers = {.values = poisoned(sizes.values),
                                 .offsets = poisoned(sizes.offsets),
                                 .validity = poisoned(sizes.validity),
                                 .workspace = poisoned(sizes.workspace),
                                 ZF_DECODE_BYTES(sizes)};
    zf_status status = zf_decode(container, column, words[1], NULL, &buffers, &stats, &error);
    int result = status == ZF_OK ? write_part(words[4], info.name, "values", buffers.values, sizes.values) : fail(&error);
    if (result == 0 && sizes.offsets > 0) result = write_part(words[4], info.name, "offsets", buffers.offsets, sizes.offsets);
    if (result == 0 && sizes.validity > 0) result = write_part(words[4], info.name, "valid", buffers.validity, sizes.validity);
    if (result == 0) t->bytes += sizes.values + sizes.offsets + sizes.validity, t->launches += stats.launches;
    free(buffers.values);
    free(buffers.offsets);
    free(buffers.validity);
    free(buffers.workspace);
    return result;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: gpu_module DEVICE FILE.zfd MODULE.zfm DIRECTORY\n");
        return 2;
    }
    zf_error error = {0};
    zf_context *context = NULL;
    zf_module *module = NULL;
    zf_container *container = NULL;
    if (zf_context_create(NULL, &context, &error) != ZF_OK || zf_module_load(context, argv[3], &module, &error) != ZF_OK ||
        zf_container_open(context, argv[2], &container, &error) != ZF_OK)
        return fail(&error);
    totals t = {0};
    int result = 0;
    for (size_t c = 0; c < zf_container_columns(container) && result == 0; c++) result = decode(container, c, argv, &t);
    if (result == 0) {
        printf("{\"program\": \"gpu_module\", \"device\": \"%s\", \"columns\": %zu, \"bytes\": %llu, \"launches\": %llu}\n",
               argv[1], zf_container_columns(container), t.bytes, t.launches);
    }
    zf_container_close(container);
    zf_module_free(module);
    zf_context_free(context);
    return result;
}
