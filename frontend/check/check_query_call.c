// Functions that queries bring: beginnings, ends and parts of strings, and the number of a day. They are made of what the typed
// tree has, so no later stage knows them. A function of the program that has the name comes first.
#include <string.h>

#include "frontend/check/checker.h"

// ---- Strings --------------------------------------------------------------------------------------------------

static zf_expr *u64_of(zf_checker *ck, uint64_t value, zf_span span) { return zf_ck_int(ck, zf_type_of(ZF_K_U64), value, span); }

// The bytes of a text that the program writes; NULL: it is another string.
static const zf_table_const *text_of(const zf_expr *string) {
    return string->kind == ZF_X_SLICE && string->a->kind == ZF_X_TABLE ? string->a->table : NULL;
}

static zf_expr *length_of(zf_checker *ck, zf_expr *string, zf_span span) {
    const zf_table_const *text = text_of(string);
    return text != NULL ? u64_of(ck, text->length, span) : zf_ck_length(ck, string, span);
}

// Bytes begin .. end - 1 of a string, which has them.
static zf_expr *part_of(zf_checker *ck, zf_expr *string, zf_expr *begin, zf_expr *end, zf_span span) {
    zf_expr *part = zf_ck_node(ck, ZF_X_SLICE, zf_type_of(ZF_K_STRING), span);
    part->a = string;
    part->b = begin;
    part->c = end;
    part->proved = true;
    return part;
}

static zf_expr *both(zf_checker *ck, zf_expr *a, zf_expr *b, zf_span span) { return zf_ck_binary(ck, ZF_OP_ANDAND, a, b, span); }

static zf_expr *at_begin(zf_checker *ck, zf_expr *string, zf_expr *part, zf_span span) {
    zf_expr *begin = part_of(ck, string, u64_of(ck, 0, span), length_of(ck, part, span), span);
    return zf_ck_binary(ck, ZF_OP_EQ, begin, part, span);
}

static zf_expr *at_end(zf_checker *ck, zf_expr *string, zf_expr *part, zf_span span) {
    zf_expr *length = length_of(ck, string, span);
    zf_expr *from = zf_ck_binary(ck, ZF_OP_SUB, length, length_of(ck, part, span), span);
    return zf_ck_binary(ck, ZF_OP_EQ, part_of(ck, string, from, length, span), part, span);
}

// Byte k of a string is this one.
static zf_expr *has_byte(zf_checker *ck, zf_expr *string, zf_expr *k, uint64_t wanted, zf_span span) {
    zf_expr *byte = zf_ck_node(ck, ZF_X_INDEX, zf_type_of(ZF_K_U8), span);
    byte->a = string;
    byte->b = k;
    byte->proved = true;
    return zf_ck_binary(ck, ZF_OP_EQ, byte, zf_ck_int(ck, byte->type, (zf_int128)wanted, span), span);
}

// Whether the part stands at byte k. Its first byte, where it is known, is looked at before the rest.
static zf_expr *at_byte(zf_checker *ck, zf_expr *string, zf_expr *part, zf_expr *k, zf_span span) {
    const zf_table_const *text = text_of(part);
    bool known = text != NULL && text->length > 0;
    zf_expr *first = known ? has_byte(ck, string, k, text->bits[0], span) : NULL;
    if (known && text->length == 1) return first;
    zf_expr *end = zf_ck_binary(ck, ZF_OP_ADD, k, length_of(ck, part, span), span);
    zf_expr *same = zf_ck_binary(ck, ZF_OP_EQ, part_of(ck, string, k, end, span), part, span);
    return known ? both(ck, first, same, span) : same;
}

static zf_expr *anywhere(zf_checker *ck, zf_expr *string, zf_expr *part, zf_span span) {
    zf_type u64 = zf_type_of(ZF_K_U64);
    zf_local *binder = zf_ck_local(ck, ZF_L_BINDER, "k", span, u64);
    binder->range = zf_interval_of_kind(ZF_K_U64);
    zf_expr *k = zf_ck_node(ck, ZF_X_LOCAL, u64, span);
    k->local = binder;
    zf_reduce *reduce = ZF_NEW(ck->arena, zf_reduce);
    reduce->op = ZF_RED_ANY;
    reduce->binder_count = 1;
    zf_expr *last = zf_ck_binary(ck, ZF_OP_SUB, length_of(ck, string, span), length_of(ck, part, span), span);
    reduce->binders[0] = (zf_binder){.local = binder, .lo = u64_of(ck, 0, span), .hi = last, .inclusive = true};
    reduce->term = at_byte(ck, string, part, k, span);
    zf_expr *any = zf_ck_node(ck, ZF_X_REDUCE, zf_type_of(ZF_K_BOOL), span);
    any->reduce = reduce;
    return any;
}

static const struct {
    const char *name;
    zf_expr *(*make)(zf_checker *ck, zf_expr *string, zf_expr *part, zf_span span); ///< of a string that is no shorter
} tests[] = {{"starts", at_begin}, {"ends", at_end}, {"contains", anywhere}};
enum { TESTS = sizeof tests / sizeof *tests };

static bool takes(zf_checker *ck, const zf_ast_expr *ast, unsigned wanted) {
    unsigned given = 0;
    for (const zf_ast_expr *argument = ast->args; argument != NULL; argument = argument->next) given++;
    if (given == wanted && ast->binders == NULL) return true;
    zf_ck_error(ck, ZF_D_ARGUMENTS, ast->span, "`%s` takes %u arguments, and %u %s given", ast->a->name, wanted, given,
                given == 1 ? "is" : "are");
    return false;
}

// A string under a name, so that it is evaluated once. NULL: it has errors, which are reported.
static zf_expr *check_string(zf_checker *ck, zf_kept *kept, const zf_ast_expr *ast, const char *function) {
    zf_expr *string = zf_ck_scalar(ck, ast);
    if (zf_is_poison(string)) return NULL;
    if (string->type.kind != ZF_K_STRING || zf_untyped_of(string->type) != ZF_UNTYPED_NOT) {
        zf_ck_error(ck, ZF_D_BAD_OPERAND, string->span, "`%s` needs strings, not %s", function, zf_ck_type_name(ck, string));
        return NULL;
    }
    return text_of(string) != NULL ? string : zf_ck_keep_unnamed(ck, kept, string);
}

// As a comparison, false where one of them is null.
static zf_expr *check_test(zf_checker *ck, const zf_ast_expr *ast, size_t test) {
    const char *name = tests[test].name;
    zf_span span = ast->span;
    if (!takes(ck, ast, 2)) return zf_ck_poison(ck, span);
    if (ck->body == ZF_IN_CONST) {
        zf_ck_error(ck, ZF_D_NOT_CONSTANT, span, "`%s` is no constant", name);
        return zf_ck_poison(ck, span);
    }
    zf_kept kept = {0};
    zf_expr *string = check_string(ck, &kept, ast->args, name), *part = check_string(ck, &kept, ast->args->next, name);
    if (string == NULL || part == NULL) return zf_ck_poison(ck, span);
    zf_expr *first = zf_ck_present(ck, string, &string), *second = zf_ck_present(ck, part, &part);
    zf_expr *enough = zf_ck_binary(ck, ZF_OP_GE, length_of(ck, string, span), length_of(ck, part, span), span);
    zf_expr *holds = both(ck, enough, tests[test].make(ck, string, part, span), span);
    if (second != NULL) holds = both(ck, second, holds, span);
    if (first != NULL) holds = both(ck, first, holds, span);
    return zf_ck_with_kept(ck, &kept, holds, span);
}

// ---- Days -----------------------------------------------------------------------------------------------------

enum { MOST_YEAR = 9999 };

static bool is_leap(int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

static int64_t days_in(int64_t year, int64_t month) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

// Days from 1970-01-01 to a day of the Gregorian calendar.
static int64_t day_number(int64_t year, int64_t month, int64_t day) {
    int64_t before = year - 1, days = 365 * before + before / 4 - before / 100 + before / 400; // since 0001-01-01
    for (int64_t m = 1; m < month; m++) days += days_in(year, m);
    return days + day - 1 - 719162;
}

static bool check_part(zf_checker *ck, const zf_ast_expr *ast, int64_t most, const char *what, int64_t *out) {
    uint64_t bits;
    if (!zf_ck_constant_value(ck, zf_ck_value_as(ck, ast, zf_type_of(ZF_K_I64)), &bits)) return false;
    *out = (int64_t)bits;
    if (*out >= 1 && *out <= most) return true;
    zf_ck_error(ck, ZF_D_OUT_OF_RANGE, ast->span, "%s is 1 to %lld, not %lld", what, (long long)most, (long long)*out);
    return false;
}

// A literal: it takes the type that it meets.
static zf_expr *check_date(zf_checker *ck, const zf_ast_expr *ast) {
    int64_t year, month, day;
    if (!takes(ck, ast, 3)) return zf_ck_poison(ck, ast->span);
    const zf_ast_expr *of_year = ast->args, *of_month = of_year->next;
    bool good = check_part(ck, of_year, MOST_YEAR, "a year", &year) && check_part(ck, of_month, 12, "a month", &month) &&
                check_part(ck, of_month->next, days_in(year, month), "a day of this month", &day);
    return good ? zf_ck_literal(ck, day_number(year, month, day), ast->span) : zf_ck_poison(ck, ast->span);
}

// ---- Any ------------------------------------------------------------------------------------------------------

bool zf_ck_query_call(zf_checker *ck, const zf_ast_expr *ast, zf_expr **out) {
    zf_name name = ast->a->name;
    if (ck->query == NULL || !ck->frame->local || zf_ck_find_function(ck, name) != NULL) return false;
    size_t test = 0;
    while (test < TESTS && strcmp(tests[test].name, name) != 0) test++;
    bool date = strcmp(name, "date") == 0;
    if (test == TESTS && !date) return false;
    *out = date ? check_date(ck, ast) : check_test(ck, ast, test);
    return true;
}
