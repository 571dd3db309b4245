#include "zfc/verbs/inspect_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zfc/driver_codes.h"

enum { MOST_LINES = 256 }; // of blocks, for each column

static const char page[] = {
#include "zfc/inspect_page.inc"
    0};

static const char place[] = "@REPORT@";

// jansson frees what is appended or set even where that fails, and a NULL that is set fails: it is asked for at the end.

static json_int_t number_of(const json_t *object, const char *key) { return json_integer_value(json_object_get(object, key)); }

/// Bytes and elements of each stream of a column's blocks. NULL: no memory.
static json_t *streams_of(const json_t *blocks) {
    json_t *by_path = json_object(), *list = json_array(), *block, *stream, *sum;
    bool good = by_path != NULL && list != NULL;
    size_t b, s;
    json_array_foreach(blocks, b, block) {
        json_array_foreach(json_object_get(block, "streams"), s, stream) {
            const char *path = json_string_value(json_object_get(stream, "path"));
            sum = json_object_get(by_path, path);
            if (sum == NULL) {
                sum = json_pack("{s:s, s:i, s:i}", "path", path, "bytes", 0, "elements", 0);
                good &= json_object_set_new(by_path, path, sum) == 0 && json_array_append(list, sum) == 0;
                if (!good) break;
            }
            json_integer_set(json_object_get(sum, "bytes"), number_of(sum, "bytes") + number_of(stream, "bytes"));
            json_integer_set(json_object_get(sum, "elements"), number_of(sum, "elements") + number_of(stream, "elements"));
        }
    }
    json_decref(by_path);
    if (good) return list;
    json_decref(list);
    return NULL;
}

/// A line for each run of `step` blocks; of blocks with different codecs, the first one's. NULL: no memory.
static json_t *lines_of(const json_t *blocks) {
    size_t count = json_array_size(blocks), step = (count + MOST_LINES - 1) / MOST_LINES;
    json_t *lines = json_array();
    bool good = lines != NULL;
    for (size_t from = 0; good && from < count; from += step) {
        const json_t *first = json_array_get(blocks, from);
        json_int_t rows = 0, bytes = 0;
        size_t to = from + step < count ? from + step : count;
        for (size_t k = from; k < to; k++) {
            rows += number_of(json_array_get(blocks, k), "rows");
            bytes += number_of(json_array_get(blocks, k), "bytes");
        }
        good &= json_array_append_new(lines, json_pack("{s:I, s:I, s:I, s:I, s:O}", "first_row", number_of(first, "first_row"),
                                                       "rows", rows, "bytes", bytes, "blocks", (json_int_t)(to - from), "codec",
                                                       json_object_get(first, "codec"))) == 0;
    }
    if (good) return lines;
    json_decref(lines);
    return NULL;
}

/// The report with less of each block. NULL: no memory.
static json_t *page_of(const json_t *report) {
    json_t *out = json_copy((json_t *)(uintptr_t)report), *columns = json_array(), *column;
    bool good = out != NULL && columns != NULL;
    size_t c;
    json_array_foreach(json_object_get(report, "columns"), c, column) {
        json_t *copy = json_copy(column);
        const json_t *blocks = json_object_get(column, "blocks");
        good &= copy != NULL && json_object_set_new(copy, "streams", streams_of(blocks)) == 0 &&
                json_object_set_new(copy, "block_count", json_integer((json_int_t)json_array_size(blocks))) == 0 &&
                json_object_set_new(copy, "blocks", lines_of(blocks)) == 0;
        if (json_array_append_new(columns, copy) != 0 || !good) break;
    }
    if (good && json_array_size(columns) == json_array_size(json_object_get(report, "columns")) &&
        json_object_set(out, "columns", columns) == 0) {
        json_decref(columns);
        return out;
    }
    json_decref(columns);
    json_decref(out);
    return NULL;
}

zf_status zf_print_page(const json_t *report, zf_error *error) {
    json_t *shown = report != NULL ? page_of(report) : NULL;
    char *text = shown != NULL ? json_dumps(shown, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(shown);
    if (text == NULL)
        return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no page: a text in it is not UTF-8, or there is no memory");
    const char *at = strstr(page, place);
    fwrite(page, 1, (size_t)(at - page), stdout);
    for (const char *c = text; *c != 0; c++) { // a text cannot end the script that holds it
        if (*c == '<')
            fputs("\\u003c", stdout);
        else
            putchar(*c);
    }
    fputs(at + strlen(place), stdout);
    free(text);
    if (fflush(stdout) == 0 && ferror(stdout) == 0) return ZF_OK;
    return zf_fail(error, ZF_ERR_IO, ZFC_CANNOT_WRITE, "the page cannot be written");
}
