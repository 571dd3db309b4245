// Every column of a container by the code of a module, in a program that links libzipflow alone: neither LLVM nor CUDA's toolkit.
//   gpu_module DEVICE FILE.zfd MODULE.zfm DIRECTORY      writes the decoded bytes of each column to DIRECTORY/COLUMN
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zipflow/zipflow.h>

static int fail(const zf_error *error) {
    fprintf(stderr, "gpu_module: %s: %s (%s)\n", error->code, error->message, error->place);
    return 1;
}

static zf_status decode(zf_container *container, size_t column, const char *device, void **values, zf_decode_sizes *sizes,
                        zf_decode_stats *stats, zf_error *error) {
    zf_status status = zf_decode_size(container, column, NULL, sizes, error);
    if (status != ZF_OK) return status;
    zf_decode_buffers buffers = {.values = aligned_alloc(64, sizes->values / 64 * 64 + 64),
                                 .workspace = aligned_alloc(64, sizes->workspace / 64 * 64 + 64)};
    if (buffers.values == NULL || buffers.workspace == NULL) abort();
    memset(buffers.values, 0xa5, sizes->values);
    status = zf_decode(container, column, device, NULL, &buffers, stats, error);
    free(buffers.workspace);
    *values = buffers.values;
    return status;
}

static int write_values(const char *directory, const char *name, const void *values, size_t bytes) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    size_t written = file != NULL ? fwrite(values, 1, bytes, file) : 0;
    if (file != NULL && fclose(file) == 0 && written == bytes) return 0;
    fprintf(stderr, "gpu_module: %s cannot be written\n", path);
    return 1;
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
    unsigned long long bytes = 0, launches = 0;
    int result = 0;
    for (size_t c = 0; c < zf_container_columns(container) && result == 0; c++) {
        zf_column_info info;
        zf_decode_sizes sizes;
        zf_decode_stats stats;
        void *values = NULL;
        zf_status status = zf_container_column(container, c, &info, &error);
        if (status == ZF_OK) status = decode(container, c, argv[1], &values, &sizes, &stats, &error);
        result = status == ZF_OK ? write_values(argv[4], info.name, values, sizes.values) : fail(&error);
        if (result == 0) bytes += sizes.values, launches += stats.launches;
        free(values);
    }
    if (result == 0) {
        printf("{\"program\": \"gpu_module\", \"device\": \"%s\", \"columns\": %zu, \"bytes\": %llu, \"launches\": %llu}\n",
               argv[1], zf_container_columns(container), bytes, launches);
    }
    zf_container_close(container);
    zf_module_free(module);
    zf_context_free(context);
    return result;
}
