#include "compiler/encode/encode_unfused.h"

#include <string.h>

#include "patterns/graph/decision.h"
#include "patterns/plan/plan.h"
#include "runtime/base/error_codes.h"

enum { DEPTH_MOST = 16, LISTED_MOST = 400 }; // of names that nest; bytes of a hint

static bool is_all(const char *list) { return strcmp(list, ZF_UNFUSED_ALL) == 0; }

/// The next item of a list between commas: what is left of it begins at *at, NULL behind the last.
static const char *next_item(const char **at, size_t *length) {
    const char *item = *at;
    if (item == NULL) return NULL;
    *length = strcspn(item, ",");
    *at = item[*length] == ',' ? item + *length + 1 : NULL;
    return item;
}

/// Whether `item` begins with a column's name and a dot; then *path is what stands behind. `COLUMN.values.STREAM` is a stream of
/// the values of lists, and `COLUMN.values` one of their ends.
static bool is_of_column(const char *item, size_t length, const zf_column *column, const char **path, size_t *path_length) {
    size_t name = strlen(column->name);
    if (length <= name + 1 || memcmp(item, column->name, name) != 0 || item[name] != '.') return false;
    if (column->part == ZF_LIST_ENDS) {
        const zf_column *validity = zf_lists_validity(column);
        if (is_of_column(item, length, zf_lists_values(column), path, path_length)) return false;
        if (validity != NULL && is_of_column(item, length, validity, path, path_length)) return false;
    }
    *path = item + name + 1;
    *path_length = length - name - 1;
    return true;
}

void zf_unfused_of_column(const char *list, const zf_column *column, zf_text *out) {
    const char *path, *item, *at = list;
    size_t length, path_length;
    if (list != NULL && is_all(list)) {
        zf_text_puts(out, ZF_UNFUSED_ALL);
        return;
    }
    while ((item = next_item(&at, &length)) != NULL) {
        if (!is_of_column(item, length, column, &path, &path_length)) continue;
        zf_text_printf(out, "%s%.*s", out->length > 0 ? "," : "", (int)path_length, path);
    }
}

// ---- The streams of a table -----------------------------------------------------------------------------------

static bool is_ordered(const zf_codec_choice *choice) {
    for (uint32_t a = 0; choice != NULL && a < choice->count; a++) {
        const zf_inst *inst = choice->alternatives[a]->inst;
        if (inst->pattern == ZF_GROUP_PARALLEL || (inst->pattern == ZF_FULLY_PARALLEL && zf_inst_has_scan(inst))) return true;
    }
    return false;
}

/// Whether a path leads from a choice, by any alternatives, to a stream that an ordered stage makes.
static bool leads(const zf_codec_choice *choice, const char *path, size_t length) {
    const char *dot = memchr(path, '.', length);
    size_t name = dot != NULL ? (size_t)(dot - path) : length;
    for (uint32_t a = 0; choice != NULL && a < choice->count; a++) {
        const zf_codec_node *node = choice->alternatives[a];
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            const char *port = node->inst->streams[s]->name;
            if (strlen(port) != name || memcmp(port, path, name) != 0) continue;
            if (dot == NULL ? is_ordered(node->streams[s]) : leads(node->streams[s], dot + 1, length - name - 1)) return true;
        }
    }
    return false;
}

/// The streams below a choice that ordered stages make, each behind its column's name and the names above it.
static void list_ordered(const zf_codec_choice *choice, const char *names[DEPTH_MOST], unsigned depth, zf_text *out) {
    for (uint32_t a = 0; choice != NULL && a < choice->count && depth < DEPTH_MOST; a++) {
        const zf_codec_node *node = choice->alternatives[a];
        for (uint32_t s = 0; s < node->inst->stream_count && out->length < LISTED_MOST; s++) {
            names[depth] = node->inst->streams[s]->name;
            if (is_ordered(node->streams[s])) {
                zf_text_puts(out, out->length > 0 ? ", " : "");
                for (unsigned d = 0; d <= depth; d++) zf_text_printf(out, "%s%s", d > 0 ? "." : "", names[d]);
            }
            list_ordered(node->streams[s], names, depth + 1, out);
        }
    }
}

static zf_status no_such_stream(const zf_column *column, const char *item, size_t length, zf_error *error) {
    zf_text there = {0};
    const char *names[DEPTH_MOST] = {column->name};
    zf_status status = zf_raise(error, ZF_E_ARGUMENT, "`%.*s` is not a stream that an ordered stage of column `%s` makes",
                                (int)length, item, column->name);
    list_ordered(column->codec, names, 1, &there);
    if (there.length == 0)
        zf_fail_hint(error, status, "nothing in that column's codec can be fused or not");
    else if (!there.failed)
        zf_fail_hint(error, status, "those are %s", there.data);
    zf_text_free(&there);
    return status;
}

zf_status zf_unfused_check(const char *list, const zf_table *table, zf_error *error) {
    const char *path, *item, *at = list;
    size_t length, path_length;
    if (list == NULL || is_all(list)) return ZF_OK;
    while ((item = next_item(&at, &length)) != NULL) {
        const zf_column *column = table->columns;
        while (column != NULL && !is_of_column(item, length, column, &path, &path_length)) column = column->next;
        if (column == NULL && length == 3 && memcmp(item, "all", 3) == 0)
            return zf_raise(error, ZF_E_ARGUMENT, "`all` stands alone: it leaves nothing to be named beside it");
        if (column == NULL) {
            zf_status status = zf_raise(error, ZF_E_ARGUMENT, "`%.*s` does not begin with a column of table `%s` and a dot",
                                        (int)length, item, table->name);
            zf_fail_hint(error, status, "write COLUMN.STREAM, or COLUMN.STREAM.STREAM");
            return status;
        }
        if (!leads(column->codec, path, path_length)) return no_such_stream(column, item, length, error);
    }
    return ZF_OK;
}
