// Options that select columns and rows.
#include "zfc/data/column_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "zfc/driver_codes.h"

/// Selects the parts of the lists that were selected last.
static zf_status select_parts(zf_container *container, size_t *selected, size_t *count, const char *name, zf_error *error) {
    size_t column = selected[*count - 1];
    zf_column_info info = {0};
    ZF_TRY(zf_container_column(container, column, &info, error));
    if (info.part != ZF_LIST_ENDS) return ZF_OK;
    while (info.part != ZF_LIST_VALUES) {
        ZF_TRY(zf_container_column(container, ++column, &info, error));
        for (size_t k = 0; k < *count; k++) {
            if (selected[k] == column)
                return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--columns names a part of `%.255s` twice", name);
        }
        selected[(*count)++] = column;
    }
    return ZF_OK;
}

zf_status zf_next_name(const char **list, char *name, zf_error *error) {
    const char *at = *list;
    size_t length = 0;
    bool quoted = *at == '"', closed = !quoted;
    for (at += quoted; *at != 0 && (quoted || *at != ','); at++, length++) {
        if (quoted && *at == '"' && *++at != '"') {
            closed = true;
            break;
        }
        if (length < ZF_NAME_ROOM - 1) name[length] = *at;
    }
    if (!closed) return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--columns: a quote is open: `%.64s`", *list);
    if (*at != 0 && *at != ',')
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--columns: text behind a quoted name: `%.64s`", *list);
    if (length == 0) return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--columns has an empty name: `%.64s`", *list);
    if (length >= ZF_NAME_ROOM) // longer than any name in a container
        return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--columns: no column has a name of %zu bytes", length);
    name[length] = 0;
    *list = *at == ',' ? at + 1 : NULL;
    return ZF_OK;
}

/// Finds the columns that a list names, in its order.
static zf_status select_named(zf_container *container, const char *names, size_t *selected, size_t *count, zf_error *error) {
    char name[ZF_NAME_ROOM];
    while (names != NULL) {
        ZF_TRY(zf_next_name(&names, name, error));
        size_t length = strlen(name);
        zf_status found = zf_container_find(container, name, &selected[*count], error);
        if (found != ZF_OK && length >= 256) // the message would show its beginning, which may be another name
            return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--columns: no column has a name of %zu bytes", length);
        ZF_TRY(found);
        for (size_t k = 0; k < *count; k++) {
            if (selected[k] == selected[*count])
                return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--columns names `%.255s` twice", name);
        }
        (*count)++;
        ZF_TRY(select_parts(container, selected, count, name, error));
    }
    return ZF_OK;
}

size_t *zf_selected_columns(zf_container *container, const char *names, size_t *count, zf_error *error) {
    size_t most = zf_container_columns(container) + 3; // a name that is one too many, with its parts
    for (const char *c = names ? names : ""; *c; c++) most += *c == ',';
    size_t *selected = malloc((most + 1) * sizeof *selected);
    *count = 0;
    if (!selected) {
        zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory");
        return NULL;
    }
    if (!names) {
        for (size_t i = 0; i < zf_container_columns(container); i++) selected[(*count)++] = i;
        return selected;
    }
    if (select_named(container, names, selected, count, error) == ZF_OK) return selected;
    free(selected);
    *count = 0; // the names before the bad one are not columns to go on with
    return NULL;
}

const char *zf_rows_option(const char *text, zf_decode_options *out) {
    static const char *const form = "--rows needs A..B with A at most B";
    unsigned long long begin = 0, end = UINT64_MAX;
    char *at = (char *)(uintptr_t)text;
    errno = 0;
    if (*at != '.') {
        if (*at < '0' || *at > '9') return form;
        begin = strtoull(at, &at, 10);
    }
    if (at[0] != '.' || at[1] != '.') return form;
    at += 2;
    if (*at) {
        if (*at < '0' || *at > '9') return form;
        end = strtoull(at, &at, 10);
    }
    // The largest number stands for an end that was not given.
    if (!*at && (errno == ERANGE || (end == UINT64_MAX && at[-1] != '.') || begin == UINT64_MAX))
        return "--rows: numbers of rows are below 2^64 - 1";
    if (*at || end < begin) return form;
    out->some_rows = true;
    out->row_begin = begin;
    out->row_count = end == UINT64_MAX ? UINT64_MAX : end - begin;
    return NULL;
}
