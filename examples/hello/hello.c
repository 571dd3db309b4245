// Opens a container and decodes one of its columns with the code of a module: hello FILE.zfd COLUMN MODULE.zfm
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <zipflow/zipflow.h>

static int fail(const zf_error *error) {
    fprintf(stderr, "hello: %s: %s\n", error->code, error->message);
    if (error->place[0] != 0) fprintf(stderr, "  at: %s\n", error->place);
    if (error->hint[0] != 0) fprintf(stderr, "  %s\n", error->hint);
    return (int)error->status;
}

static void print_row(zf_element element, const void *values, uint64_t row) {
    switch (element) {
    case ZF_U8: printf("%" PRIu8 "\n", ((const uint8_t *)values)[row]); break;
    case ZF_I32: printf("%" PRId32 "\n", ((const int32_t *)values)[row]); break;
    case ZF_I64: printf("%" PRId64 "\n", ((const int64_t *)values)[row]); break;
    case ZF_F64: printf("%.17g\n", ((const double *)values)[row]); break;
    default: printf("(a type that this example does not print)\n"); break;
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: hello FILE.zfd COLUMN MODULE.zfm\n");
        return ZF_ERR_USAGE;
    }
    zf_error error = {0};
    zf_context *context = NULL;
    zf_module *module = NULL; // code for the codecs that the file describes, made by `zfc compile`
    zf_container *container = NULL;
    zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers)};
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    zf_column_info info = {ZF_INIT(zf_column_info)};
    size_t column;
    zf_status status = zf_context_create(NULL, &context, &error);
    if (status == ZF_OK) status = zf_module_load(context, argv[3], &module, &error);
    if (status == ZF_OK) status = zf_container_open(context, argv[1], &container, &error);
    if (status == ZF_OK) status = zf_container_find(container, argv[2], &column, &error);
    if (status == ZF_OK) status = zf_container_column(container, column, &info, &error);
    if (status == ZF_OK) status = zf_decode_size(container, column, NULL, &sizes, &error);
    if (status == ZF_OK) {
        // Buffers are the caller's, aligned to 64 bytes (for aligned_alloc the size must be a multiple of that).
        buffers = (zf_decode_buffers){ZF_INIT(zf_decode_buffers), ZF_DECODE_BYTES(sizes)};
        buffers.values = aligned_alloc(64, sizes.values / 64 * 64 + 64);
        buffers.workspace = aligned_alloc(64, sizes.workspace / 64 * 64 + 64);
        if (buffers.values == NULL || buffers.workspace == NULL) return ZF_ERR_MEMORY;
        status = zf_decode(container, column, "auto", NULL, &buffers, NULL, &error);
    }
    if (status == ZF_OK) {
        printf("%s: %s = %s, %" PRIu64 " rows\n", info.name, info.type_name, info.codec, info.rows);
        for (uint64_t row = 0; row < info.rows && row < 5; row++) print_row(info.type.element, buffers.values, row);
    }
    int result = status == ZF_OK ? 0 : fail(&error);
    if (status == ZF_OK && (fflush(stdout) != 0 || ferror(stdout))) { // what is printed may come to a full disk
        fprintf(stderr, "hello: cannot write to standard output\n");
        result = ZF_ERR_IO;
    }
    free(buffers.values);
    free(buffers.workspace);
    zf_container_close(container); // in the reverse order; each takes NULL
    zf_module_free(module);
    zf_context_free(context);
    return result;
}
