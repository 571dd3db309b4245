#include "runtime/container/zone.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/container/element.h"

#define SIGN (UINT64_C(1) << 63)

static bool is_float(zf_element element) { return element == ZF_F32 || element == ZF_F64; }
static bool is_signed(zf_element element) { return element >= ZF_I8 && element <= ZF_I64; }

uint64_t zf_zone_key(zf_element element, uint64_t value) {
    if (is_signed(element)) return value ^ SIGN;
    if (is_float(element)) return (value & SIGN) != 0 ? ~value : value | SIGN; // -0.0 before 0.0
    return value;
}

/// The value of a key.
static uint64_t value_of(zf_element element, uint64_t key) {
    if (is_signed(element)) return key ^ SIGN;
    if (is_float(element)) return (key & SIGN) != 0 ? key ^ SIGN : ~key;
    return key;
}

// ---- Making ---------------------------------------------------------------------------------------------------

static bool is_null(const zf_zone_rows *rows, uint64_t k) {
    return rows->validity != NULL && !zf_bit_at(rows->validity, rows->validity_bit + k);
}

static void add(zf_zone_found *f, uint64_t key) {
    if (key < f->least) f->least = key;
    if (key > f->most) f->most = key;
}

// One loop for a type: rows without nulls keep to the type's own comparisons.
#define INTEGERS(name, type, wide)                                                                                               \
    static void name(const zf_zone_rows *rows, uint64_t begin, uint64_t end, zf_zone_found *f) {                                 \
        const type *values = rows->values;                                                                                       \
        if (rows->validity == NULL) {                                                                                            \
            type least = values[begin], most = least;                                                                            \
            for (uint64_t k = begin; k < end; k++) {                                                                             \
                least = values[k] < least ? values[k] : least;                                                                   \
                most = values[k] > most ? values[k] : most;                                                                      \
            }                                                                                                                    \
            add(f, zf_zone_key(rows->element, (uint64_t)(wide)least));                                                           \
            add(f, zf_zone_key(rows->element, (uint64_t)(wide)most));                                                            \
            return;                                                                                                              \
        }                                                                                                                        \
        for (uint64_t k = begin; k < end; k++) {                                                                                 \
            if (is_null(rows, k))                                                                                                \
                f->nulls++;                                                                                                      \
            else                                                                                                                 \
                add(f, zf_zone_key(rows->element, (uint64_t)(wide)values[k]));                                                   \
        }                                                                                                                        \
    }

INTEGERS(of_u8, uint8_t, uint64_t)
INTEGERS(of_u16, uint16_t, uint64_t)
INTEGERS(of_u32, uint32_t, uint64_t)
INTEGERS(of_u64, uint64_t, uint64_t)
INTEGERS(of_i8, int8_t, int64_t)
INTEGERS(of_i16, int16_t, int64_t)
INTEGERS(of_i32, int32_t, int64_t)
INTEGERS(of_i64, int64_t, int64_t)

#define FLOATS(name, type)                                                                                                       \
    static void name(const zf_zone_rows *rows, uint64_t begin, uint64_t end, zf_zone_found *f) {                                 \
        const type *values = rows->values;                                                                                       \
        for (uint64_t k = begin; k < end; k++) {                                                                                 \
            double value = (double)values[k];                                                                                    \
            uint64_t bits;                                                                                                       \
            memcpy(&bits, &value, sizeof bits);                                                                                  \
            if (is_null(rows, k))                                                                                                \
                f->nulls++;                                                                                                      \
            else if (isnan(value))                                                                                               \
                f->nans++;                                                                                                       \
            else                                                                                                                 \
                add(f, zf_zone_key(ZF_F64, bits));                                                                               \
        }                                                                                                                        \
    }

FLOATS(of_f32, float)
FLOATS(of_f64, double)

static void of_bits(const zf_zone_rows *rows, uint64_t begin, uint64_t end, zf_zone_found *f) {
    for (uint64_t k = begin; k < end; k++) {
        if (is_null(rows, k))
            f->nulls++;
        else
            add(f, zf_bit_at(rows->values, k));
    }
}

/// The first eight bytes of a string, the first as the most significant; zeros behind its end.
static uint64_t prefix_of(const uint8_t *text, uint64_t length) {
    uint64_t prefix = 0;
    for (uint64_t k = 0; k < 8; k++) prefix = prefix << 8 | (k < length ? text[k] : 0);
    return prefix;
}

static void of_strings(const zf_zone_rows *rows, uint64_t begin, uint64_t end, zf_zone_found *f) {
    for (uint64_t k = begin; k < end; k++) {
        if (is_null(rows, k)) {
            f->nulls++;
            continue;
        }
        int64_t at = k == 0 ? rows->first_offset : rows->offsets[k];
        uint64_t length = (uint64_t)(rows->offsets[k + 1] - at);
        const uint8_t *text = length > 0 ? (const uint8_t *)rows->values + at : NULL;
        uint64_t prefix = prefix_of(text, length);
        bool is_long = length > 8 || (length > 0 && text[length - 1] == 0); // the prefix does not say it whole
        if (prefix < f->least) f->least_short = 0;
        if (prefix > f->most) f->most_long = 0;
        add(f, prefix);
        if (prefix == f->least && !is_long) f->least_short = 1;
        if (prefix == f->most && is_long) f->most_long = 1;
    }
}

void zf_zone_find(const zf_zone_rows *rows, uint64_t begin, uint64_t end, zf_zone_found *out) {
    typedef void of_rows(const zf_zone_rows *rows, uint64_t begin, uint64_t end, zf_zone_found *f);
    static of_rows *const by_element[ZF_ELEMENT_COUNT] = {
        [ZF_U8] = of_u8,   [ZF_U16] = of_u16, [ZF_U32] = of_u32,   [ZF_U64] = of_u64,
        [ZF_I8] = of_i8,   [ZF_I16] = of_i16, [ZF_I32] = of_i32,   [ZF_I64] = of_i64,
        [ZF_F32] = of_f32, [ZF_F64] = of_f64, [ZF_BOOL] = of_bits, [ZF_STRING] = of_strings};
    *out = (zf_zone_found){.least = UINT64_MAX};
    if (begin < end) by_element[rows->element](rows, begin, end, out);
}

void zf_zone_of(zf_element element, uint64_t rows, const zf_zone_found *found, zf_zone *out) {
    bool text = element == ZF_STRING, any = (uint64_t)found->nulls + found->nans < rows;
    *out = (zf_zone){.rows = rows,
                     .nulls = found->nulls,
                     .minimum = any ? value_of(element, found->least) : 0,
                     .maximum = any ? value_of(element, found->most) : 0,
                     .has_values = any,
                     .has_nan = found->nans > 0,
                     .minimum_exact = any && (!text || found->least_short != 0),
                     .maximum_exact = any && (!text || found->most_long == 0)};
}

zf_zone *zf_zones_make(const zf_zone_rows *rows, uint64_t count) {
    zf_zone *zones = calloc(zf_zones_of(count) + 1, sizeof *zones);
    for (uint64_t z = 0, begin = 0, end; zones != NULL && begin < count; z++, begin = end) {
        zf_zone_found found;
        end = count - begin < ZF_ZONE_ROWS ? count : begin + ZF_ZONE_ROWS;
        zf_zone_find(rows, begin, end, &found);
        zf_zone_of(rows->element, end - begin, &found, &zones[z]);
    }
    return zones;
}

// ---- Checking -------------------------------------------------------------------------------------------------

/// Whether a value of the element widens to these 64 bits.
static bool is_value(zf_element element, uint64_t value) {
    double wide;
    memcpy(&wide, &value, sizeof wide);
    if (element == ZF_STRING) return true;
    if (!is_float(element)) return zf_element_holds(element, value);
    return !isnan(wide) && (element == ZF_F64 || (double)(float)wide == wide);
}

const char *zf_zone_fault(const zf_zone *zone, zf_column_type type) {
    if (zone->nulls > zone->rows || (zone->nulls > 0 && !type.nullable)) return "a zone with an impossible number of nulls";
    if (zone->has_nan && !is_float(type.element)) return "a zone with NaNs of another type than floats";
    if (zone->nulls == zone->rows && (zone->has_values || zone->has_nan)) return "a zone with values, all of them null";
    if (!zone->has_values) {
        bool nothing = zone->minimum == 0 && zone->maximum == 0 && !zone->minimum_exact && !zone->maximum_exact;
        return nothing && (zone->has_nan || zone->nulls == zone->rows) ? NULL : "a zone without values, and with a minimum";
    }
    if (!is_value(type.element, zone->minimum) || !is_value(type.element, zone->maximum) ||
        zf_zone_key(type.element, zone->minimum) > zf_zone_key(type.element, zone->maximum))
        return "a zone with an impossible minimum or maximum";
    return NULL;
}

const char *zf_zone_lie(const zf_zone *stated, const zf_zone *found, zf_element element) {
    if (stated->nulls != found->nulls) return "number of nulls";
    if (stated->has_values != found->has_values || stated->has_nan != found->has_nan) return "values";
    if (!stated->has_values) return NULL;
    if (stated->minimum_exact ? stated->minimum != found->minimum || !found->minimum_exact
                              : zf_zone_key(element, stated->minimum) > zf_zone_key(element, found->minimum))
        return "minimum";
    if (stated->maximum_exact ? stated->maximum != found->maximum || !found->maximum_exact
                              : zf_zone_key(element, stated->maximum) < zf_zone_key(element, found->maximum))
        return "maximum";
    return NULL;
}
