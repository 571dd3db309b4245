// zfc inspect: the content of a container, and an account of each byte. Modules: module_text.c.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/spec/spec.h"
#include "runtime/base/error.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_open.h"
#include "tuner/tune_json.h"
#include "zfc/data/column_options.h"
#include "zfc/data/values.h"
#include "zfc/driver_codes.h"
#include "zfc/module_text.h"
#include "zfc/session.h"
#include "zfc/shape_text.h"
#include "zfc/verbs/inspect_page.h"
#include "zfc/verbs/inspect_programs.h"
#include "zfc/verbs/inspect_zones.h"

enum {
    MOST_KINDS = 32,
    MOST_RUNS = 12, ///< of neighbouring blocks, that a line names
};

// Bytes by kind of part, for the whole file or one column.
typedef struct account {
    const char *kinds[MOST_KINDS];
    uint64_t bytes[MOST_KINDS];
    size_t count;
    uint64_t total;
} account;

typedef struct accounts {
    account file, *columns;
    size_t column_count;
    uint64_t next; // offset that the next part must have
    bool gap;
} accounts;

static void add(account *to, const char *kind, uint64_t bytes) {
    size_t i = 0;
    while (i < to->count && strcmp(to->kinds[i], kind) != 0) i++;
    if (i == MOST_KINDS) i--;
    if (i == to->count) to->kinds[to->count++] = kind;
    to->bytes[i] += bytes;
    to->total += bytes;
}

static void on_part(void *user, const zf_container_part *part) {
    accounts *all = user;
    if (part->offset != all->next) all->gap = true;
    all->next = part->offset + part->bytes;
    add(&all->file, part->kind, part->bytes);
    if (part->column >= 0 && (size_t)part->column < all->column_count) add(&all->columns[part->column], part->kind, part->bytes);
}

static json_t *account_json(const account *a) {
    json_t *object = json_object();
    for (size_t i = 0; i < a->count; i++) json_object_set_new(object, a->kinds[i], json_integer((json_int_t)a->bytes[i]));
    return object;
}

static void print_account(const char *indent, const account *a) {
    for (size_t i = 0; i < a->count; i++) {
        printf("%s%-14s %14llu bytes  %5.1f%%\n", indent, a->kinds[i], (unsigned long long)a->bytes[i],
               a->total ? 100.0 * (double)a->bytes[i] / (double)a->total : 0.0);
    }
}

// ---- Blocks ----

// A param's word: integers extended to 64 bits, floats and booleans as their bits.
static void print_param(zf_element type, uint64_t word, zf_text *out) {
    zf_print_value((zf_column_type){.element = type}, &word, out);
}

// A number where JSON has it; what jansson's 64 signed bits or JSON do not hold (large u64, infinities) as a string. NULL: no
// memory.
static json_t *param_json(zf_element type, uint64_t word) {
    if (type == ZF_BOOL) return json_boolean(word);
    if (type < ZF_F32 && (type != ZF_U64 || word <= INT64_MAX)) return json_integer((json_int_t)word);
    zf_text text = {0};
    print_param(type, word, &text);
    json_t *json = NULL;
    if (!text.failed) {
        double value = type != ZF_U64 ? strtod(text.data, NULL) : INFINITY;
        json = isfinite(value) ? json_real(value) : json_string(text.data);
    }
    zf_text_free(&text);
    return json;
}

static json_t *branches_json(const zf_shape *shape) {
    json_t *branches = json_array();
    for (uint32_t k = 0; k < shape->branch_count; k++) json_array_append_new(branches, json_integer(shape->branches[k]));
    return branches;
}

// NULL: no memory.
static json_t *block_json(const zf_block_view *view) {
    const zf_shape *shape = view->shape;
    json_t *params = json_object(), *streams = json_array(), *seeks = json_array(), *directories = json_array();
    zf_text codec = {0};
    zf_print_shape(shape, &codec);
    bool good = !codec.failed;
    for (uint32_t i = 0; i < shape->param_count; i++)
        good &= json_object_set_new(params, shape->params[i].path, param_json(shape->params[i].type, view->params[i])) == 0;
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        if (shape->edges[e].stored < 0) continue;
        const zf_stream_view *stream = &view->streams[shape->edges[e].stored];
        json_array_append_new(streams, json_pack("{s:s, s:I, s:I, s:I}", "path", shape->edges[e].path, "offset",
                                                 (json_int_t)stream->offset, "bytes", (json_int_t)stream->bytes, "elements",
                                                 (json_int_t)stream->elements));
    }
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        json_t *tree =
            json_pack("{s:i, s:I}", "interval", (int)view->seeks[t].interval, "entries", (json_int_t)view->seeks[t].entries);
        json_array_append_new(shape->trees[t].directory ? directories : seeks, tree);
    }
    json_t *block = json_pack("{s:I, s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o}", "offset", (json_int_t)view->file_offset,
                              "bytes", (json_int_t)view->bytes, "first_row", (json_int_t)view->first_row, "rows",
                              (json_int_t)view->rows, "codec", codec.data ? codec.data : "", "branches", branches_json(shape),
                              "params", params, "streams", streams, "seek", seeks, "chunks", directories);
    zf_text_free(&codec);
    if (good) return block;
    json_decref(block);
    return NULL;
}

// False: no memory.
static bool print_block(uint64_t number, const zf_block_view *view) {
    const zf_shape *shape = view->shape;
    printf("    block %llu: rows %llu..%llu, %llu bytes at %llu\n", (unsigned long long)number,
           (unsigned long long)view->first_row, (unsigned long long)(view->first_row + view->rows),
           (unsigned long long)view->bytes, (unsigned long long)view->file_offset);
    if (shape->branch_count > 0) {
        zf_text codec = {0};
        zf_print_shape(shape, &codec);
        bool good = !codec.failed;
        if (good) printf("      as %s\n", codec.data);
        zf_text_free(&codec);
        if (!good) return false;
    }
    for (uint32_t i = 0; i < shape->param_count; i++) {
        zf_text value = {0};
        print_param(shape->params[i].type, view->params[i], &value);
        bool good = !value.failed;
        if (good) printf("      %s = %s\n", shape->params[i].path, value.data);
        zf_text_free(&value);
        if (!good) return false;
    }
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        if (shape->edges[e].stored < 0) continue;
        const zf_stream_view *stream = &view->streams[shape->edges[e].stored];
        printf("      %s: %llu elements, %llu bytes at +%llu\n", *shape->edges[e].path ? shape->edges[e].path : "(column)",
               (unsigned long long)stream->elements, (unsigned long long)stream->bytes, (unsigned long long)stream->offset);
    }
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        const zf_shape_tree *tree = &shape->trees[t];
        const char *path = shape->edges[tree->edge].path;
        if (tree->directory == ZF_DIRECTORY_UNEVEN) {
            printf("      chunks of %s: %llu, of at most %u outputs\n", *path ? path : "(column)",
                   (unsigned long long)view->seeks[t].entries, view->seeks[t].interval);
            continue;
        }
        if (tree->directory) {
            printf("      chunks of %s: %llu, of %u outputs\n", *path ? path : "(column)",
                   (unsigned long long)(view->counts[tree->edge] == 0 ? 0 : view->seeks[t].entries + 1), view->seeks[t].interval);
            continue;
        }
        printf("      seek states: %llu, one every %u outputs\n", (unsigned long long)view->seeks[t].entries,
               view->seeks[t].interval);
    }
    return true;
}

static zf_status show_blocks(zf_container *container, size_t column, uint64_t blocks, json_t *list, zf_error *error) {
    for (uint64_t b = 0; b < blocks; b++) {
        zf_block_view view;
        ZF_TRY(zf_container_block(container, column, b, true, &view, error));
        zf_status status = ZF_OK;
        const zf_index_column *of = &container->index.columns[column];
        json_t *json = list ? block_json(&view) : NULL;
        if (json && of->zoned) json_object_set_new(json, "zones", zf_zones_json(of->type, &of->blocks[b]));
        if (list)
            status = zf_json_append(list, json, error);
        else if (!print_block(b, &view) || !zf_print_zones(of->type, &of->blocks[b]))
            status = zf_fail_no_memory(error);
        zf_block_view_free(&view);
        ZF_TRY(status);
    }
    return ZF_OK;
}

// ---- The container ----

// The blocks of a shape: "0, 3 to 7, 9"; of many, the first.
static void print_blocks_of(const zf_index_column *column, uint32_t shape, zf_text *out) {
    uint64_t shown = 0;
    for (uint64_t b = 0, end; b < column->block_count; b = end + 1) {
        for (end = b; end < column->block_count && column->blocks[end].shape == shape;) end++;
        if (end == b) continue;
        if (shown++ == MOST_RUNS) {
            zf_text_puts(out, ", ...");
            return;
        }
        zf_text_printf(out, "%s%llu", shown > 1 ? ", " : "", (unsigned long long)b);
        if (end - b > 1) zf_text_printf(out, "%s%llu", end - b > 2 ? " to " : ", ", (unsigned long long)end - 1);
    }
}

// Which alternatives blocks took; of a column that has none, nothing. NULL for text on standard output.
static zf_status show_alternatives(const zf_container *container, size_t index, json_t *list, zf_error *error) {
    const zf_index_column *column = &container->index.columns[index];
    for (uint32_t s = 0; s < column->shape_count; s++) {
        const zf_shape *shape = &column->shapes[s].shape;
        uint64_t blocks = 0;
        for (uint64_t b = 0; b < column->block_count; b++) blocks += column->blocks[b].shape == s;
        if (shape->branch_count == 0 || blocks == 0) continue;
        zf_text text = {0};
        zf_print_shape(shape, &text);
        zf_status status = ZF_OK;
        if (text.failed) {
            status = zf_fail_no_memory(error);
        } else if (list) {
            status = zf_json_append(
                list,
                json_pack("{s:s, s:o, s:I}", "codec", text.data, "branches", branches_json(shape), "blocks", (json_int_t)blocks),
                error);
        } else {
            zf_text_printf(&text, ": block%s ", blocks == 1 ? "" : "s");
            print_blocks_of(column, s, &text);
            if (text.failed)
                status = zf_fail_no_memory(error);
            else
                printf("    %llu as %s\n", (unsigned long long)blocks, text.data);
        }
        zf_text_free(&text);
        ZF_TRY(status);
    }
    return ZF_OK;
}

/// The ratio of a column of strings with their offsets, as they are delivered; the other counts characters only.
static double ratio_with_offsets(const zf_column_info *info) {
    double offsets = 8 * ((double)info->rows + 1);
    return info->stored_bytes ? ((double)info->plain_bytes + offsets) / (double)info->stored_bytes : 0;
}

/// The features of a file's index, by their names.
static json_t *features_json(const zf_index *index) {
    json_t *names = json_array();
    for (unsigned b = 0; b < 128; b++) {
        bool required = b < 64;
        const char *name = zf_feature_name(required, b % 64);
        if (name != NULL && zf_index_has(index, required, b % 64)) json_array_append_new(names, json_string(name));
    }
    return names;
}

static json_t *metadata_json(const zf_index *index) {
    json_t *all = json_object();
    for (size_t k = 0; k < index->metadata_count; k++) {
        const zf_metadata *entry = &index->metadata[k];
        json_t *value = json_stringn(entry->value, entry->bytes); // NULL: it is no UTF-8
        json_object_set_new(all, entry->key, value != NULL ? value : json_pack("{s:I}", "bytes", (json_int_t)entry->bytes));
    }
    return all;
}

/// Prints metadata and schema of the table.
static void print_table(const zf_index *index) {
    for (size_t k = 0; k < index->metadata_count; k++) {
        const zf_metadata *entry = &index->metadata[k];
        bool text = entry->bytes <= 200 && zf_name_valid(entry->value, entry->bytes);
        printf("  %s = ", entry->key);
        if (text)
            printf("%.*s\n", (int)entry->bytes, (const char *)entry->value);
        else
            printf("(%zu bytes)\n", entry->bytes);
    }
    if (index->schema != NULL) printf("  an Arrow schema of %zu bytes\n", index->schema_bytes);
}

static zf_status show_column(zf_container *container, size_t index, const account *parts, bool verbose, json_t *list,
                             zf_error *error) {
    zf_column_info info = {ZF_INIT(zf_column_info)};
    ZF_TRY(zf_container_column(container, index, &info, error));
    double ratio = info.stored_bytes ? (double)info.plain_bytes / (double)info.stored_bytes : 0;
    if (list) {
        json_t *blocks = json_array(), *alternatives = json_array();
        zf_status status = show_blocks(container, index, info.blocks, blocks, error);
        if (status == ZF_OK) status = show_alternatives(container, index, alternatives, error);
        if (status != ZF_OK) {
            json_decref(alternatives);
            json_decref(blocks);
            return status;
        }
        bool is_text = info.type.element == ZF_STRING;
        return zf_json_append(list,
                              json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:o*, s:o, s:o, s:o}", "column", info.name,
                                        "name", info.full_name, "type", info.type_name, "codec", info.codec, "rows",
                                        (json_int_t)info.rows, "rows_per_block", (json_int_t)info.rows_per_block, "plain_bytes",
                                        (json_int_t)info.plain_bytes, "stored_bytes", (json_int_t)info.stored_bytes, "ratio",
                                        ratio, "ratio_with_offsets", is_text ? json_real(ratio_with_offsets(&info)) : NULL,
                                        "bytes", account_json(parts), "alternatives", alternatives, "blocks", blocks),
                              error);
    }
    char plain[32], stored[32];
    printf("  %-18s %-14s %10s -> %10s  ratio %8.2f", info.name, info.type_name, zf_bytes_text(info.plain_bytes, plain),
           zf_bytes_text(info.stored_bytes, stored), ratio);
    if (info.type.element == ZF_STRING) printf(" (%.2f with offsets)", ratio_with_offsets(&info));
    printf("  %llu block%s", (unsigned long long)info.blocks, info.blocks == 1 ? "" : "s");
    if (info.part == ZF_LIST_VALUES) printf(", %llu value%s", (unsigned long long)info.rows, info.rows == 1 ? "" : "s");
    printf("\n");
    if (strcmp(info.full_name, info.name) != 0) printf("    named \"%s\"\n", info.full_name);
    printf("    %s\n", info.codec);
    ZF_TRY(show_alternatives(container, index, NULL, error));
    if (!verbose) return ZF_OK;
    print_account("    ", parts);
    return show_blocks(container, index, info.blocks, NULL, error);
}

static zf_status show(zf_container *container, const zf_file_programs *programs, const zf_arguments *arguments, zf_error *error) {
    size_t column_count = zf_container_columns(container), selected_count = 0;
    accounts all = {.columns = calloc(column_count + 1, sizeof(account)), .column_count = column_count};
    size_t *selected = zf_selected_columns(container, zf_argument(arguments, "columns"), &selected_count, error);
    bool as_page = zf_argument(arguments, "html") != NULL;
    bool as_json = as_page || zf_argument(arguments, "json") != NULL, verbose = zf_argument(arguments, "verbose") != NULL;
    json_t *list = as_json ? json_array() : NULL;
    zf_status status = selected ? ZF_OK : error->status;
    if (status == ZF_OK && !all.columns)
        status = zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for %zu columns", column_count);
    if (status == ZF_OK) status = zf_container_account(container, on_part, &all, error);
    if (status == ZF_OK && !as_json) {
        zf_print_path(stdout, zf_container_path(container));
        printf(": table %s, %s, %llu bytes, format %u\n", zf_container_table(container),
               zf_rows_text(zf_container_rows(container), (char[32]){0}), (unsigned long long)zf_container_bytes(container),
               container->index.version);
        print_table(&container->index);
    }
    for (size_t i = 0; i < selected_count && status == ZF_OK; i++) {
        status = show_column(container, selected[i], &all.columns[selected[i]], verbose, list, error);
    }
    bool whole = !all.gap && all.next == zf_container_bytes(container);
    if (status == ZF_OK && as_json) {
        json_t *object = json_pack("{s:o, s:i, s:o, s:o, s:s, s:I, s:I, s:b, s:o, s:o, s:O}", "file",
                                   zf_json_text(zf_container_path(container)), "format", (int)container->index.version,
                                   "features", features_json(&container->index), "metadata", metadata_json(&container->index),
                                   "table", zf_container_table(container), "rows", (json_int_t)zf_container_rows(container),
                                   "bytes", (json_int_t)zf_container_bytes(container), "all_bytes_accounted", (int)whole, "parts",
                                   account_json(&all.file), "programs", zf_programs_json(programs), "columns", list);
        status = as_page ? zf_print_page(object, error) : zf_json_print(object, error);
        json_decref(object);
    } else if (status == ZF_OK) {
        zf_print_programs(programs, verbose);
        printf("every byte:\n");
        print_account("  ", &all.file);
        printf("  %-14s %14llu bytes, %s\n", "together", (unsigned long long)all.file.total,
               whole ? "the whole file" : "NOT the whole file");
    }
    if (list) json_decref(list);
    free(selected);
    free(all.columns);
    return status;
}

/// Shows the container and then reports programs that it may not bring, or a text that is damaged.
static zf_status show_all(zf_container *container, const zf_arguments *arguments, zf_error *error) {
    zf_file_programs programs;
    zf_error refused;
    zf_status read = zf_file_programs_read(container, &programs, &refused);
    zf_status status = show(container, &programs, arguments, error);
    if (status == ZF_OK && read != ZF_OK) {
        *error = refused;
        status = read;
    }
    zf_file_programs_free(&programs);
    return status;
}

int zf_run_inspect(zf_arguments *arguments) {
    zf_error error;
    if (zf_is_module(arguments->operands[0])) {
        zf_status shown = zf_show_module(arguments->operands[0], arguments, &error);
        return shown == ZF_OK ? EXIT_GOOD : zf_report("inspect", &error);
    }
    zf_context *context;
    if (zf_context_create(NULL, &context, &error) != ZF_OK) return zf_report("inspect", &error);
    zf_container *container = NULL;
    zf_status status = zf_open_container(arguments, context, arguments->operands[0], &container, &error);
    if (status != ZF_OK && !error.hint[0] && zf_error_is(&error, ZF_E_NOT_A_CONTAINER))
        zf_fail_hint(&error, status, "inspect shows containers (.zfd) and modules (.zfm), and this is neither");
    if (status == ZF_OK && zf_argument(arguments, "program") != NULL) {
        size_t length;
        const char *unit = zf_container_unit(container, &length);
        zf_text text = {0};
        zf_lay_out_text(unit, length, &text);
        if (text.failed)
            status = zf_fail_no_memory(&error);
        else if (text.length > 0)
            fwrite(text.data, 1, text.length, stdout);
        zf_text_free(&text);
    } else if (status == ZF_OK) {
        status = show_all(container, arguments, &error);
    }
    int exit_status = status == ZF_OK ? EXIT_GOOD : zf_report("inspect", &error);
    zf_container_close(container);
    zf_context_free(context);
    return exit_status;
}
