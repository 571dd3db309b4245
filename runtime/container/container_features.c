// The index since version 2: features by their names; full names, schema and metadata of a table.
#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_index.h"

const char *zf_feature_name(bool required, unsigned bit) {
    static const char *const required_names[ZF_REQUIRED_COUNT] = {[ZF_REQUIRED_UNEVEN_BLOCKS] = "uneven blocks",
                                                                  [ZF_REQUIRED_UNEVEN_CHUNKS] = "uneven chunks",
                                                                  [ZF_REQUIRED_LISTS] = "lists"};
    static const char *const optional_names[ZF_OPTIONAL_COUNT] = {[ZF_OPTIONAL_NAMES] = "names",
                                                                  [ZF_OPTIONAL_SCHEMA] = "schema",
                                                                  [ZF_OPTIONAL_METADATA] = "metadata",
                                                                  [ZF_OPTIONAL_ZONES] = "zones",
                                                                  [ZF_OPTIONAL_PROGRAMS] = "programs"};
    if (required) return bit < ZF_REQUIRED_COUNT ? required_names[bit] : NULL;
    return bit < ZF_OPTIONAL_COUNT ? optional_names[bit] : NULL;
}

const char *zf_name_shown(zf_arena *arena, const char *name) {
    enum { MOST = 64 };
    size_t left = strlen(name), size = 0, next;
    if (left <= MOST) return name;
    while ((next = zf_utf8_length(name + size, left - size)) > 0 && size + next <= MOST - 3) size += next;
    return zf_arena_printf(arena, "%.*s...", (int)size, name);
}

const char *zf_list_part_name(zf_arena *arena, const char *lists, zf_list_part part) {
    return zf_arena_printf(arena, "%s.%s", lists, part == ZF_LIST_VALUES ? "values" : "valid");
}

const char *zf_list_part_fault(zf_list_part before, zf_list_part part, zf_column_type type, bool end) {
    bool open = before == ZF_LIST_ENDS || before == ZF_LIST_VALIDITY; // the values are still to come
    if (end) return open ? "lists without a column of their values" : NULL;
    switch (part) {
    case ZF_LIST_NONE: return open ? "lists without a column of their values" : NULL;
    case ZF_LIST_ENDS:
        if (open) return "lists without a column of their values";
        return type.element != ZF_I64 || type.logical != ZF_LOGICAL_NONE || type.nullable ? "ends of lists that are not i64"
                                                                                          : NULL;
    case ZF_LIST_VALIDITY:
        if (before != ZF_LIST_ENDS) return "a validity of lists that does not follow their ends";
        return type.element != ZF_BOOL || type.nullable ? "a validity of lists that is not bool" : NULL;
    case ZF_LIST_VALUES: return open ? NULL : "values of lists that follow no ends";
    }
    return "a part of lists that does not exist";
}

const char *zf_schema_fault(const void *schema, size_t bytes) {
    const uint8_t *at = schema;
    if (bytes > ZF_SECTION_MOST) return "a schema that is too long";
    if (bytes < 16 || zf_load32(at) != UINT32_MAX || zf_load32(at + 4) != bytes - 8) return "a schema that is no IPC message";
    return NULL;
}

const char *zf_metadata_fault(const zf_metadata *metadata, size_t count) {
    uint64_t bytes = 0;
    if (count > ZF_METADATA_MOST) return "more than 65,536 keys";
    for (size_t k = 0; k < count; k++) {
        size_t length = strlen(metadata[k].key);
        if (length == 0 || !zf_name_valid(metadata[k].key, length)) return "a key that is empty, too long or no text";
        bytes += length + metadata[k].bytes;
        if (metadata[k].bytes > ZF_SECTION_MOST || bytes > ZF_SECTION_MOST) return "keys and values of more than 16 MiB";
    }
    return NULL;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

const char *zf_twice(const char **names, size_t count) {
    qsort(names, count, sizeof *names, compare_names);
    for (size_t c = 1; c < count; c++) {
        if (strcmp(names[c - 1], names[c]) == 0) return names[c];
    }
    return NULL;
}
