#include "zfc/data/values.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

unsigned zf_element_size(zf_element element) {
    static const unsigned char sizes[] = {[ZF_U8] = 1,  [ZF_U16] = 2, [ZF_U32] = 4, [ZF_U64] = 8, [ZF_I8] = 1,   [ZF_I16] = 2,
                                          [ZF_I32] = 4, [ZF_I64] = 8, [ZF_F32] = 4, [ZF_F64] = 8, [ZF_BOOL] = 1, [ZF_STRING] = 0};
    return sizes[element];
}

const char *zf_raw_ending(zf_column_type type) {
    static const char *const endings[] = {"u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "bool", "bytes"};
    switch (type.logical) {
    case ZF_LOGICAL_DATE32: return "date32";
    case ZF_LOGICAL_TIMESTAMP: return "timestamp";
    case ZF_LOGICAL_DECIMAL: return "decimal";
    case ZF_LOGICAL_NONE: break;
    }
    return endings[type.element];
}

// ---- Dates: days since 1970-01-01 in the proleptic Gregorian calendar ----

// Years are counted from March, so that the leap day is the last of a year; 400 years have 146097 days.
static int64_t days_of_date(int64_t year, unsigned month, unsigned day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (int64_t)(month > 2 ? month - 3 : month + 9) + 2) / 5 + (int64_t)day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of_days(int64_t days, int64_t *year, unsigned *month, unsigned *day) {
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t rest = days - era * 146097;
    int64_t of_era = (rest - rest / 1460 + rest / 36524 - rest / 146096) / 365;
    int64_t of_year = rest - (365 * of_era + of_era / 4 - of_era / 100);
    int64_t shifted = (5 * of_year + 2) / 153;
    *day = (unsigned)(of_year - (153 * shifted + 2) / 5 + 1);
    *month = (unsigned)(shifted < 10 ? shifted + 3 : shifted - 9);
    *year = of_era + era * 400 + (*month <= 2);
}

static unsigned days_in_month(int64_t year, unsigned month) {
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

// Reads exactly `count` digits.
static bool read_digits(const char **at, const char *end, int count, unsigned *out) {
    unsigned value = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (*at == end || **at < '0' || **at > '9') return false;
        value = value * 10 + (unsigned)(**at - '0');
    }
    *out = value;
    return true;
}

static bool read_char(const char **at, const char *end, char wanted) {
    if (*at == end || **at != wanted) return false;
    (*at)++;
    return true;
}

// A year of four digits, or of more with a sign (ISO 8601 for years beyond 0..9999): -0001, +10000.
static bool read_year(const char **at, const char *end, int64_t *out) {
    bool negative = read_char(at, end, '-'), is_signed = negative || read_char(at, end, '+');
    int64_t year = 0;
    int digits = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && digits < 8; (*at)++, digits++) year = year * 10 + (**at - '0');
    *out = negative ? -year : year;
    return is_signed ? digits >= 4 : digits == 4;
}

static bool read_date(const char **at, const char *end, int64_t *days) {
    int64_t year;
    unsigned month, day;
    if (!read_year(at, end, &year) || !read_char(at, end, '-') || !read_digits(at, end, 2, &month) || !read_char(at, end, '-') ||
        !read_digits(at, end, 2, &day)) {
        return false;
    }
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) return false;
    *days = days_of_date(year, month, day);
    return true;
}

// A zone behind a time, after at most one space: Z, UTC, or the seconds of +HH, +HHMM, +HH:MM, +HH:MM:SS.
static bool read_zone(const char **at, const char *end, int64_t *seconds) {
    unsigned hour = 0, minute = 0, second = 0;
    *seconds = 0;
    if (*at == end) return true;
    read_char(at, end, ' ');
    if (end - *at == 3 && memcmp(*at, "UTC", 3) == 0) {
        *at = end;
        return true;
    }
    if (read_char(at, end, 'Z')) return true;
    bool negative = read_char(at, end, '-');
    if ((!negative && !read_char(at, end, '+')) || !read_digits(at, end, 2, &hour)) return false;
    if (*at < end) {
        bool colon = read_char(at, end, ':');
        if (!read_digits(at, end, 2, &minute)) return false;
        if (colon && *at < end && (!read_char(at, end, ':') || !read_digits(at, end, 2, &second))) return false;
    }
    *seconds = hour * 3600 + minute * 60 + second;
    if (negative) *seconds = -*seconds;
    return hour < 24 && minute < 60 && second < 60;
}

/// Digits of a fraction of a second, as microseconds. False where more digits than those are not 0.
static bool read_fraction(const char **at, const char *end, unsigned *micros, bool *exact) {
    int digits = 0;
    *micros = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++, digits++) {
        if (digits < 6)
            *micros = *micros * 10 + (unsigned)(**at - '0');
        else
            *exact = *exact && **at == '0';
    }
    for (int i = digits; i < 6; i++) *micros *= 10;
    return digits > 0;
}

static const char *const not_a_timestamp = "not a timestamp (YYYY-MM-DD HH:MM:SS.ffffff, a zone such as Z or +01:00 may follow)";

/// Returns NULL, or why the text is no timestamp.
static const char *read_timestamp(const char *at, const char *end, int64_t *micros) {
    int64_t days, zone = 0;
    unsigned hour = 0, minute = 0, second = 0, fraction = 0;
    bool exact = true;
    if (!read_date(&at, end, &days)) return not_a_timestamp;
    if (at < end) {
        if (*at != ' ' && *at != 'T') return not_a_timestamp;
        at++;
        if (!read_digits(&at, end, 2, &hour) || !read_char(&at, end, ':') || !read_digits(&at, end, 2, &minute) ||
            !read_char(&at, end, ':') || !read_digits(&at, end, 2, &second)) {
            return not_a_timestamp;
        }
        if (read_char(&at, end, '.') && !read_fraction(&at, end, &fraction, &exact)) return not_a_timestamp;
        if (!read_zone(&at, end, &zone)) return not_a_timestamp;
    }
    if (at != end || hour > 23 || minute > 59 || second > 59) return not_a_timestamp;
    if (!exact) return "finer than the microseconds of a timestamp";
    int64_t seconds = days * 86400 + hour * 3600 + minute * 60 + second - zone, rest = fraction;
    if (seconds < 0 && rest > 0) { // from above, so that the first second that the type has is reached without leaving it
        seconds++;
        rest -= 1000000;
    }
    bool inside = !__builtin_mul_overflow(seconds, INT64_C(1000000), micros) && !__builtin_add_overflow(*micros, rest, micros);
    return inside ? NULL : "outside its type";
}

// ---- Numbers ----

// Decimal digits with a sign, times 10^scale when a fraction of at most `scale` digits is allowed. *fits: in 64 bits.
static bool read_integer(const char *at, const char *end, unsigned scale, bool *negative, uint64_t *magnitude, bool *fits) {
    *negative = false;
    if (at < end && (*at == '-' || *at == '+')) *negative = *at++ == '-';
    uint64_t value = 0;
    unsigned fraction = 0;
    bool point = false, any = false;
    *fits = true;
    for (; at < end; at++) {
        if (*at == '.' && scale > 0 && !point) {
            point = true;
            continue;
        }
        if (*at < '0' || *at > '9') return false;
        any = true;
        if (point && fraction == scale) {
            if (*at != '0') return false; // digits beyond the scale would be lost
            continue;
        }
        fraction += point;
        unsigned digit = (unsigned)(*at - '0');
        *fits = *fits && value <= (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    for (; fraction < scale; fraction++) {
        *fits = *fits && value <= UINT64_MAX / 10;
        value *= 10;
    }
    *magnitude = value;
    return any;
}

// Puts sign and magnitude into an integer of `size` bytes, if it fits.
static bool store_integer(bool negative, uint64_t magnitude, unsigned size, bool is_signed, void *out) {
    uint64_t top = UINT64_C(1) << (8 * size - 1);
    if (is_signed ? magnitude > top - !negative : negative && magnitude > 0) return false;
    if (!is_signed && size < 8 && magnitude >> (8 * size)) return false;
    uint64_t bits = negative ? 0 - magnitude : magnitude;
    memcpy(out, &bits, size); // little-endian: the low bytes
    return true;
}

// Decimal digits, sign, point and exponent, or inf, infinity, nan: strtod itself would take more.
static bool is_decimal_real(const char *text, size_t length) {
    static const char *const words[] = {"inf", "infinity", "nan"};
    size_t sign = length > 0 && (text[0] == '-' || text[0] == '+');
    for (size_t w = 0; w < 3; w++) {
        if (length - sign == strlen(words[w]) && strncasecmp(text + sign, words[w], length - sign) == 0) return true;
    }
    for (size_t i = 0; i < length; i++) {
        if (!memchr("0123456789+-.eE", text[i], 15)) return false;
    }
    return length > 0;
}

static bool read_real(zf_element element, const char *text, size_t length, void *out, const char **reason) {
    char few[64], *copy = few;
    *reason = "not a number";
    if (!is_decimal_real(text, length)) return false;
    if (length >= sizeof few) copy = malloc(length + 1);
    *reason = NULL;
    if (!copy) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    char *end = copy;
    errno = 0;
    double f64 = element == ZF_F64 ? strtod(copy, &end) : 0;
    float f32 = element == ZF_F32 ? strtof(copy, &end) : 0;
    double value = element == ZF_F32 ? (double)f32 : f64;
    if (*end || end == copy)
        *reason = "not a number";
    else if (errno == ERANGE && isinf(value)) // infinity and 0 only where the text is neither
        *reason = "too large for its type";
    else if (errno == ERANGE && value == 0)
        *reason = "not 0, but too small for its type";
    if (copy != few) free(copy);
    if (*reason) return false;
    if (element == ZF_F32)
        memcpy(out, &f32, sizeof f32);
    else
        memcpy(out, &f64, sizeof f64);
    return true;
}

static bool read_bool(const char *text, size_t length, void *out) {
    static const char *const words[] = {"0", "1", "f", "t", "F", "T", "false", "true", "False", "True", "FALSE", "TRUE"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0) {
            *(uint8_t *)out = i & 1;
            return true;
        }
    }
    return false;
}

uint64_t zf_decimal_limit(zf_column_type type) {
    uint64_t limit = 1;
    for (unsigned i = 0; i < type.precision && i < 19; i++) limit *= 10;
    return limit;
}

bool zf_parse_value(zf_column_type type, const char *text, size_t length, void *out, const char **reason) {
    const char *end = text + length;
    int64_t number;
    bool inside;
    switch (type.logical) {
    case ZF_LOGICAL_DATE32: {
        const char *at = text;
        *reason = "not a date (YYYY-MM-DD)";
        if (!read_date(&at, end, &number) || at != end) return false;
        int32_t days = (int32_t)number;
        *reason = "outside its type";
        if (days != number) return false;
        memcpy(out, &days, sizeof days);
        return true;
    }
    case ZF_LOGICAL_TIMESTAMP:
        *reason = read_timestamp(text, end, &number);
        if (*reason) return false;
        memcpy(out, &number, sizeof number);
        return true;
    case ZF_LOGICAL_DECIMAL:
    case ZF_LOGICAL_NONE: break;
    }
    if (type.element == ZF_BOOL) {
        *reason = "not a boolean (true, false, True, False, TRUE, FALSE, t, f, T, F, 1, 0)";
        return read_bool(text, length, out);
    }
    if (type.element == ZF_F32 || type.element == ZF_F64) return read_real(type.element, text, length, out, reason);
    if (type.element == ZF_U8 && length == 1 && (text[0] < '0' || text[0] > '9')) {
        *(uint8_t *)out = (uint8_t)text[0];
        return true;
    }
    bool is_decimal = type.logical == ZF_LOGICAL_DECIMAL, negative;
    uint64_t magnitude;
    *reason = is_decimal ? "not a decimal: a sign, digits and a point, and no more digits after the point than its type has"
                         : "not an integer";
    if (!read_integer(text, end, is_decimal ? type.scale : 0, &negative, &magnitude, &inside)) return false;
    if (is_decimal) {
        *reason = "too large: its type has fewer digits before the point";
        if (!inside || magnitude >= zf_decimal_limit(type)) return false;
    }
    *reason = "outside its type";
    if (!inside) return false;
    bool is_signed = type.element >= ZF_I8 && type.element <= ZF_I64;
    return store_integer(negative, magnitude, zf_element_size(type.element), is_signed, out);
}

// ---- Printing ----

void zf_printable(const char *text, size_t length, char *out) {
    for (size_t i = 0; i < length;) {
        size_t unshown = zf_utf8_unshown(text + i, length - i);
        if (unshown == 0) *out++ = text[i++];
        for (; unshown > 0; unshown--) out += sprintf(out, "\\x%02x", (unsigned char)text[i++]);
    }
    *out = 0;
}

static void print_real(double value, int least, int most, bool single, zf_text *out) {
    char text[64];
    for (int digits = least; digits <= most; digits++) { // the shortest that reads back
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (isnan(value) || (single ? (double)strtof(text, NULL) == value : strtod(text, NULL) == value)) break;
    }
    zf_text_puts(out, text);
}

static void print_decimal(int64_t value, unsigned scale, zf_text *out) {
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t power = 1;
    for (unsigned i = 0; i < scale; i++) power *= 10;
    zf_text_printf(out, "%s%llu", value < 0 ? "-" : "", (unsigned long long)(magnitude / power));
    if (scale > 0) zf_text_printf(out, ".%0*llu", (int)scale, (unsigned long long)(magnitude % power));
}

static void print_date(int64_t days, zf_text *out) {
    int64_t year;
    unsigned month, day;
    date_of_days(days, &year, &month, &day);
    zf_text_printf(out, "%s%04lld-%02u-%02u",
                   year < 0      ? "-"
                   : year > 9999 ? "+"
                                 : "",
                   (long long)(year < 0 ? -year : year), month, day);
}

static void print_timestamp(int64_t micros, zf_text *out) {
    int64_t day = micros / 86400000000, rest = micros % 86400000000;
    if (rest < 0) {
        rest += 86400000000;
        day--;
    }
    print_date(day, out);
    int64_t seconds = rest / 1000000;
    zf_text_printf(out, " %02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
    if (rest % 1000000) zf_text_printf(out, ".%06d", (int)(rest % 1000000));
}

void zf_print_value(zf_column_type type, const void *value, zf_text *out) {
    uint64_t bits = 0;
    unsigned size = zf_element_size(type.element);
    memcpy(&bits, value, size);
    unsigned shift = 64 - 8 * size;
    int64_t number = shift < 64 ? (int64_t)(bits << shift) >> shift : 0;
    switch (type.logical) {
    case ZF_LOGICAL_DATE32: print_date(number, out); return;
    case ZF_LOGICAL_TIMESTAMP: print_timestamp(number, out); return;
    case ZF_LOGICAL_DECIMAL: print_decimal(number, type.scale, out); return;
    case ZF_LOGICAL_NONE: break;
    }
    float f32;
    double f64;
    switch (type.element) {
    case ZF_BOOL: zf_text_puts(out, bits ? "true" : "false"); break;
    case ZF_F32:
        memcpy(&f32, value, sizeof f32);
        print_real((double)f32, 6, 9, true, out);
        break;
    case ZF_F64:
        memcpy(&f64, value, sizeof f64);
        print_real(f64, 15, 17, false, out);
        break;
    case ZF_I8:
    case ZF_I16:
    case ZF_I32:
    case ZF_I64: zf_text_printf(out, "%lld", (long long)number); break;
    default: zf_text_printf(out, "%llu", (unsigned long long)bits); break;
    }
}
