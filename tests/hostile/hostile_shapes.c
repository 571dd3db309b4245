// A container whose text is honest and whose shapes are not, all sizes and checksums right: element types and numbers in
// generated code come from the text, so a shape that differs from it must be refused before anything runs.
#include "runtime/container/container.h"
#include "tests/hostile/mutate.h"
#include "zipflow/compile.h"

enum { ROWS = 100000 };

static char path[64];

/// One way to lie: a change of the shape (and the streams with it).
typedef struct lie {
    const char *name;
    zf_element stream_type; ///< of the stored stream
    uint32_t element;       ///< its bytes
    bool extra_param, other_path;
} lie;

static zf_status write_lie(const char *to, const char *unit, const zf_shape *honest, const zf_block_view *block, const lie *l,
                           zf_error *error) {
    zf_shape shape = *honest;
    zf_shape_edge edges[8];
    zf_shape_param params[9];
    memcpy(edges, honest->edges, honest->edge_count * sizeof *edges);
    memcpy(params, honest->params, honest->param_count * sizeof *params);
    uint64_t values[9], counts[8];
    memcpy(values, block->params, honest->param_count * sizeof *values);
    memcpy(counts, block->counts, honest->edge_count * sizeof *counts);
    shape.edges = edges;
    shape.params = params;
    if (l->extra_param) params[shape.param_count] = (zf_shape_param){"more", ZF_U8}, values[shape.param_count++] = 0;
    if (l->other_path) edges[1].path = "elsewhere";
    edges[shape.edge_count - 1].type = l->stream_type;
    uint64_t elements = counts[shape.edge_count - 1];
    void *data = calloc(elements + 1, l->element);
    memcpy(data, block->base + block->streams[0].offset,
           block->streams[0].bytes < elements * l->element ? block->streams[0].bytes : elements * l->element);
    zf_stream_data stream = {data, elements * l->element, elements};
    zf_block_data lying = {block->rows, block->plain_bytes, 0, values, counts, &stream, NULL, 0, 0, NULL};
    zf_writer_column column = {
        .name = "a", .type = {.element = ZF_U32}, .type_name = "u32", .codec = "bitpack", .rows_per_block = 131072};
    const zf_writer_table table = {.name = "t", .unit = unit, .columns = &column, .column_count = 1};
    zf_writer *writer = NULL;
    void *bytes = NULL;
    uint64_t size = 0;
    uint32_t number = 0;
    zf_status status = zf_writer_create(to, true, &table, &writer, error);
    if (status == ZF_OK) status = zf_writer_shape(writer, 0, &shape, &number, error);
    if (status == ZF_OK) status = zf_block_layout(&shape, &lying, &bytes, &size, error);
    if (status == ZF_OK) status = zf_writer_block(writer, 0, number, bytes, size, &lying, error);
    if (status == ZF_OK) status = zf_writer_finish(writer, ROWS, error);
    zf_writer_free(writer);
    free(bytes);
    free(data);
    return status;
}

int main(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    char source[80], lying[80];
    if (!mutate_path(path, sizeof path)) return 1;
    snprintf(source, sizeof source, "%s.zf", path);
    snprintf(lying, sizeof lying, "%s.lie", path);
    FILE *file = fopen(source, "w");
    fputs("table t { a: u32 = bitpack; }\n", file);
    fclose(file);
    static uint32_t values[ROWS], out[ROWS + 16];
    for (uint32_t i = 0; i < ROWS; i++) values[i] = i * 2654435761u;
    const zf_encode_column column = {.name = "a", .values = values};
    zf_encode_options encoding = {.overwrite = true, .rows_per_block = 131072, .threads = 1};
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, &(zf_compiler_options){.optimise = 1}, &compiler, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_program_load(compiler, source, &program, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_encode(program, NULL, &column, 1, ROWS, &encoding, path, NULL, &error) == ZF_OK, "%s", error.message);
    zf_container *honest = NULL;
    zf_block_view block = {0};
    CHECK(zf_container_open(context, path, &honest, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_block(honest, 0, 0, true, &block, &error) == ZF_OK, "%s", error.message);
    CHECK(block.shape != NULL && block.shape->edge_count == 2 && block.shape->stored_count == 1, "another shape than was meant");
    if (check_failures > 0) return check_result();
    zf_element true_type = block.shape->edges[1].type;
    static const lie lies[] = {
        {"nothing", ZF_U32, 4, false, false},         {"narrow elements", ZF_U8, 1, false, false},
        {"signed elements", ZF_I32, 4, false, false}, {"wide elements", ZF_U64, 8, false, false},
        {"another param", ZF_U32, 4, true, false},    {"another path", ZF_U32, 4, false, true},
    };
    CHECK(true_type == ZF_U32, "bitpack stores words of another type");
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        zf_container *c = NULL;
        CHECK(write_lie(lying, zf_container_unit(honest, NULL), block.shape, &block, &lies[i], &error) == ZF_OK, "%s: %s",
              lies[i].name, error.message);
        CHECK(zf_container_open(context, lying, &c, &error) == ZF_OK, "%s: %s", lies[i].name, error.message);
        zf_decode_sizes sizes = {0};
        void *work = NULL;
        zf_status status = zf_decode_size(c, 0, NULL, &sizes, &error);
        if (status == ZF_OK && posix_memalign(&work, 64, sizes.workspace ? sizes.workspace : 1) == 0) {
            void *at = (void *)(((uintptr_t)out + 63) / 64 * 64);
            zf_decode_buffers buffers = {.values = at, .workspace = work, ZF_DECODE_BYTES(sizes)};
            status = zf_decode(c, 0, "cpu", NULL, &buffers, NULL, &error);
        }
        free(work);
        if (i == 0)
            CHECK(status == ZF_OK, "%s", error.message);
        else
            CHECK(status == ZF_ERR_INPUT && error.place[0] != 0, "%s: %s %s", lies[i].name, error.code, error.message);
        zf_container_close(c);
    }
    zf_block_view_free(&block);
    zf_container_close(honest);
    unlink(path);
    unlink(source);
    unlink(lying);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
