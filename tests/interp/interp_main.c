// zf-interp FILE.zf:TABLE.COLUMN INPUT [DIRECTORY]
//
// Encodes a column by the interpreter, decodes it, compares, and prints what is stored. INPUT holds little-endian
// elements; bool: bits; string: lines (without their newline). Into DIRECTORY goes every stored stream of numbers, as a
// file named by its path, and `PATH.starts` (u64) where its chunks start.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interp/externs.h"
#include "tests/interp/load.h"

static const zf_column *find_column(const zf_spec *spec, const char *table_name, const char *name) {
    const zf_table *table = zf_spec_find_table(spec, table_name);
    for (const zf_column *column = table ? table->columns : NULL; column; column = column->next)
        if (strcmp(column->name, name) == 0) return column;
    return NULL;
}

static interp_stream *read_input(interp *in, zf_type type, const char *bytes, size_t size) {
    interp_stream *stream = interp_stream_new(in, type);
    if (type.kind != ZF_K_STRING) {
        uint64_t bits = zf_kind_bits(type.kind);
        return interp_stream_raw(in, type, bytes, (uint64_t)size * 8 / bits);
    }
    for (size_t from = 0; from < size;) {
        const char *end = memchr(bytes + from, '\n', size - from);
        size_t length = end ? (size_t)(end - bytes) - from : size - from;
        interp_stream_push_string(stream, bytes + from, length);
        from += length + 1;
    }
    return stream;
}

static void print_tree(const interp_tree *tree, const char *name, int indent) {
    const zf_inst *inst = tree->node->inst;
    printf("%*s%s = %s: %llu elements, %llu bytes stored\n", indent, "", name, inst->name,
           (unsigned long long)interp_stream_count(tree->plain), (unsigned long long)tree->stored_bytes);
    for (uint32_t p = 0; p < inst->param_count; p++)
        printf("%*sparam %s = 0x%llx\n", indent + 4, "", inst->params[p]->name, (unsigned long long)tree->params[p]);
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        const zf_port *port = inst->streams[s];
        uint64_t chunks;
        interp_stream_chunks(tree->streams[s], &chunks);
        if (tree->children[s])
            print_tree(tree->children[s], port->name, indent + 4);
        else
            printf("%*s%s: %llu elements of %s stored", indent + 4, "", port->name,
                   (unsigned long long)interp_stream_count(tree->streams[s]), zf_kind_name(port->type.kind));
        if (!tree->children[s]) printf(chunks ? " in %llu chunks\n" : "\n", (unsigned long long)chunks);
    }
}

static bool write_file(const char *directory, const char *path, const char *suffix, const void *bytes, size_t size) {
    char name[1024];
    snprintf(name, sizeof name, "%s/%s%s", directory, path, suffix);
    FILE *file = fopen(name, "wb");
    bool good = file != NULL && (size == 0 || fwrite(bytes, 1, size, file) == size);
    if (file != NULL && fclose(file) != 0) good = false;
    if (!good) printf("cannot write %s\n", name);
    return good;
}

static bool write_streams(const interp_tree *tree, const char *prefix, const char *directory) {
    bool good = true;
    for (uint32_t s = 0; s < tree->node->inst->stream_count; s++) {
        char path[512];
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", tree->node->inst->streams[s]->name);
        if (tree->children[s]) {
            good = write_streams(tree->children[s], path, directory) && good;
            continue;
        }
        const interp_stream *stream = tree->streams[s];
        uint64_t chunks;
        const uint64_t *starts = interp_stream_chunks(stream, &chunks);
        good = write_file(directory, path, "", interp_stream_bytes(stream), interp_stream_size(stream)) && good;
        if (chunks > 0) good = write_file(directory, path, ".starts", starts, chunks * sizeof *starts) && good;
    }
    return good;
}

static int run(interp *in, const zf_column *column, const interp_stream *plain, const char *directory) {
    interp_tree *tree;
    interp_block block;
    interp_report report;
    interp_stream *out;
    interp_status status = interp_encode(in, column, plain, &tree, &report);
    if (status != INTERP_OK) {
        printf("encoding: %s: %s\n", interp_status_name(status), report.message);
        return 1;
    }
    print_tree(tree, column->name, 0);
    bool written = directory == NULL || write_streams(tree, "", directory);
    status = interp_flatten(in, column, tree, &block);
    if (status == INTERP_OK) status = interp_decode_stored(in, column, &block, &out, &report);
    uint64_t first = 0;
    bool equal = status == INTERP_OK && interp_stream_equal(tree->plain, out, &first);
    printf("decoding: %s, %s\n", interp_status_name(status), equal ? "equal" : "NOT EQUAL");
    const interp_claims *claims = interp_claims_of(in);
    if (claims->range || claims->proved) printf("the checker is wrong: %s\n", claims->where);
    return equal && written && !claims->range && !claims->proved ? 0 : 1;
}

int main(int count, char **arguments) {
    char *colon = count == 3 || count == 4 ? strrchr(arguments[1], ':') : NULL, *dot = colon ? strchr(colon, '.') : NULL;
    if (!dot) {
        fprintf(stderr, "usage: zf-interp FILE.zf:TABLE.COLUMN INPUT [DIRECTORY]\n");
        return 2;
    }
    *colon = *dot = 0;
    zf_spec *spec = load_file(arguments[1]);
    if (!spec) return 1;
    const zf_column *column = find_column(spec, colon + 1, dot + 1);
    size_t size = 0;
    char *bytes = load_bytes(arguments[2], &size);
    interp_options options = {.externs = interp_test_externs, .extern_count = interp_test_extern_count};
    interp *in = interp_create(&options);
    int result = 1;
    if (!column)
        printf("no column `%s` in table `%s`\n", dot + 1, colon + 1);
    else if (!bytes)
        printf("cannot read %s\n", arguments[2]);
    else if (in)
        result = run(in, column, read_input(in, column->type, bytes, size), count == 4 ? arguments[3] : NULL);
    interp_destroy(in);
    free(bytes);
    zf_spec_destroy(spec);
    return result;
}
