#include "zfc/verbs/inspect_zones.h"

#include <stdio.h>
#include <string.h>

#include "zfc/data/values.h"

/// Appends a bound: a value, or the first bytes of a string.
static void add_bound(zf_column_type type, uint64_t value, bool exact, zf_text *out) {
    if (type.element != ZF_STRING) {
        double wide;
        memcpy(&wide, &value, sizeof wide);
        float narrow = (float)wide;
        zf_print_value(type, type.element == ZF_F32 ? (const void *)&narrow : (const void *)&value, out);
        return;
    }
    char bytes[8], shown[4 * sizeof bytes + 1];
    size_t length = 0;
    for (unsigned k = 0; k < 8; k++) {
        bytes[k] = (char)(value >> (56 - 8 * k));
        if (bytes[k] != 0) length = k + 1;
    }
    zf_printable(bytes, length, shown);
    zf_text_printf(out, "\"%s\"%s", shown, exact ? "" : "...");
}

bool zf_print_zones(zf_column_type type, const zf_index_block *block) {
    for (uint64_t z = 0; block->zones != NULL && z < zf_zones_of(block->rows); z++) {
        const zf_zone *zone = &block->zones[z];
        zf_text text = {0};
        zf_text_printf(&text, "      rows %llu..%llu: ", (unsigned long long)zone->first_row,
                       (unsigned long long)(zone->first_row + zone->rows));
        if (zone->has_values) {
            add_bound(type, zone->minimum, zone->minimum_exact, &text);
            zf_text_puts(&text, " to ");
            add_bound(type, zone->maximum, zone->maximum_exact, &text);
        } else {
            zf_text_puts(&text, "no values");
        }
        if (zone->nulls > 0) zf_text_printf(&text, ", %llu null", (unsigned long long)zone->nulls);
        if (zone->has_nan) zf_text_puts(&text, ", some NaN");
        bool good = !text.failed;
        if (good) puts(text.data);
        zf_text_free(&text);
        if (!good) return false;
    }
    return true;
}

/// A bound as text; NULL: no memory.
static json_t *bound_json(zf_column_type type, uint64_t value) {
    zf_text text = {0};
    add_bound(type, value, true, &text);
    json_t *json = text.failed ? NULL : json_string(text.data);
    zf_text_free(&text);
    return json;
}

json_t *zf_zones_json(zf_column_type type, const zf_index_block *block) {
    if (block->zones == NULL) return NULL;
    json_t *list = json_array();
    for (uint64_t z = 0; z < zf_zones_of(block->rows); z++) {
        const zf_zone *zone = &block->zones[z];
        json_t *entry = json_pack("{s:I, s:I, s:I, s:b}", "first_row", (json_int_t)zone->first_row, "rows",
                                  (json_int_t)zone->rows, "nulls", (json_int_t)zone->nulls, "nan", (int)zone->has_nan);
        if (zone->has_values) {
            json_object_set_new(entry, "minimum", bound_json(type, zone->minimum));
            json_object_set_new(entry, "maximum", bound_json(type, zone->maximum));
            json_object_set_new(entry, "minimum_exact", json_boolean(zone->minimum_exact));
            json_object_set_new(entry, "maximum_exact", json_boolean(zone->maximum_exact));
        }
        json_array_append_new(list, entry);
    }
    return list;
}
