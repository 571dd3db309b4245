#include "tests/gpu/square_queries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/differential/diff_queries.h"

static unsigned below(unsigned count) { return diff_query_below(count); }
static const char *one_of(const char *const *choices, unsigned count) { return choices[below(count)]; }

static const char *const types[] = {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"};
static const unsigned sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
enum { TYPES = sizeof sizes / sizeof *sizes, FLOATS = 8 };

// ---- Programs -------------------------------------------------------------------------------------------------

// An element of one side, `x`: its number is in the loop, or is a formal.
static void put_element(char *out, size_t room, char x, bool wide) {
    static const char *const places[] = {
        "start[%c] + k",          "k + start[%c]", "start[%c] + k %% size[%c]",       "%c * width + k", "k",
        "k %% size[%c] + %c * 2", "%c + k - 1",    "width + k %% (size[%c] + 1) + %c"};
    char place[96];
    snprintf(place, sizeof place, one_of(places, 8), x, x);
    snprintf(out, room, wide ? "(words[%s] as i64)" : "words[%s]", place);
}

static const char *const terms[] = {"X * Y",
                                    "(X == Y ? 1 : 0)",
                                    "popcount((X & Y) as u64) as i64",
                                    "(X - Y) * (X - Y)",
                                    "X * (k + a) - Y",
                                    "(X as u32 ^ Y as u32) as i64",
                                    "min(X, Y)",
                                    "Y",
                                    "f(X as u32, Y as u32) as i64",
                                    "X / 3 + b",
                                    "(X == 3 ? X * Y : X)",
                                    "(k < 5 ? X * Y : 1)",
                                    "(k < size[a] && X > 2 ? 1 : 0)",
                                    "X & Y & 15"};
static const char *const float_terms[] = {"(X < Y ? 1 : 0)", "(X * 2.0 + 1.0 >= Y || X == 0.5 ? 3 : -1)"};
static const char *const ends[] = {
    "0..min(size[a], size[b])",  "0..max(size[a], size[b])",     "0..width", "0..=size[a]", "0..size[b] - 2",
    "0..size[a] * (a + b) % 50", "0..(a == b ? 0 : size[a] + 1)"};
static const char *const bounds[] = {"a in 0..n, b in a..n", "a in 0..n, b in 0..n", "a in 0..n, b in a + 1..n",
                                     "a in n / 3..n, b in 0..=n - a", "a in 0..n, b in a / 2..min(a / 2 + 40, n)"};
static const char *const statements[] = {"count[a, b] += S;",
                                         "let s = S; count[b, a] -= s; most = max(most, s);",
                                         "least[a] = min(least[a], S * 3);",
                                         "let s = S; if s > 5 && a != b { select x = a, y = b, v = s; }",
                                         "odd ^= S as u64; count[a, b] += a < b ? 1 : 0;",
                                         "let s = S + sum(j in 0..a % 3: size[j]); some[b] = some[b] || s % 7 == 3;",
                                         "if S > 9 { count[a, a] += b; } else { count[0, b] += 1; }",
                                         "place[a * n + b] = S; every = every && a + S > 0;"};
// Checks behind the statement: one that only the pass of results makes, one that the counting pass makes too.
#define RESULT_FAILS "most = max(most, 60 / (b - width));"
#define ROW_FAILS "if 60 / (a - width) > 1 { select x = a, y = b, v = 1; }"
static const char *const checked[] = {"", "", "", "", "", RESULT_FAILS, ROW_FAILS, ROW_FAILS " " RESULT_FAILS};
#define CHOICE(of) one_of(of, sizeof of / sizeof *of)

// Replaces each X, Y and S of a pattern.
static void replace(char *out, size_t room, const char *pattern, const char *x, const char *y, const char *s) {
    size_t used = 0;
    for (; *pattern != 0 && used + 1 < room; pattern++) {
        const char *by = *pattern == 'X' ? x : *pattern == 'Y' ? y : *pattern == 'S' ? s : NULL;
        used += (size_t)snprintf(out + used, room - used, by != NULL ? "%s" : "%.1s", by != NULL ? by : pattern);
    }
}

char *square_query_program(void) {
    char x[128], y[128], term[640], sum[900], body[1400], *text = NULL;
    unsigned type = below(TYPES);
    put_element(x, sizeof x, 'a', strcmp(types[type], "u64") == 0);
    put_element(y, sizeof y, 'b', strcmp(types[type], "u64") == 0);
    replace(term, sizeof term, type >= FLOATS ? CHOICE(float_terms) : CHOICE(terms), x, y, "");
    snprintf(sum, sizeof sum, "sum(k in %s: %s)", CHOICE(ends), term);
    replace(body, sizeof body, CHOICE(statements), "", "", below(3) == 0 ? "of(a, b)" : sum);
    int length = asprintf(
        &text,
        "fn f(x: u32, y: u32) -> u8 { return popcount(~((x ^ y | 0x80808080) - 0x01010101) & (x | y) & 0x80808080); }\n"
        "query random(pairs) {\n param n: u32; param width: i64; input words: %s[]; input start: u32[]; input size: u32[];\n"
        " result count: i64[n, n] = sum; result most: i64 = max; result least: i64[n] = min; result odd: u64 = xor;\n"
        " result some: bool[n] = any; result every: bool = all; result place: i64[n * n] = set;\n"
        " result x: i64 = select; result y: i64 = select; result v: i64 = select;\n"
        " fn of(a, b) -> i64 = %s;\n each %s {\n  %s\n  %s\n }\n}\n",
        types[type], sum, CHOICE(bounds), body, CHOICE(checked));
    if (length < 0) exit(2);
    return text;
}

// ---- Inputs ---------------------------------------------------------------------------------------------------

static unsigned size_of_words(const char *program) {
    const char *at = strstr(program, "words: ") + 7;
    for (unsigned t = 0; t < TYPES; t++)
        if (strncmp(at, types[t], strlen(types[t])) == 0 && at[strlen(types[t])] == '[') return sizes[t];
    exit(2);
}

static void make_words(const char *program, square_given *out) {
    bool floats = strstr(program, "words: f") != NULL;
    for (unsigned k = 0; k < SQUARE_WORDS; k++) {
        out->words[k] = diff_query_next() & (below(2) == 0 ? diff_query_next() : UINT64_C(0x8381820302018100));
        float narrow[2] = {(float)below(9) / 2 - 1, (float)below(9) / 2 - 1};
        double wide = narrow[0];
        if (floats) memcpy(&out->words[k], strstr(program, "words: f32") != NULL ? (void *)narrow : (void *)&wide, 8);
    }
}

void square_query_give(const char *program, square_given *out) {
    static const unsigned numbers[] = {0, 1, 9, 63, 64, 65, 130, SQUARE_NUMBERS}, longest[] = {1, 4, 13, 40, 110};
    unsigned n = numbers[below(8)], most = longest[below(5)], size = size_of_words(program), words = 0;
    if (n > 130) most = most > 13 ? 13 : most;
    bool alike = below(3) == 0;
    unsigned slices = below(3) == 0 ? 16 * (1 + below(4)) : 0; // sums end with a slice, or one term before
    make_words(program, out);
    for (unsigned k = 0; k < n; k++) {
        out->size[k] = slices > 0 ? slices - below(2) : alike ? most : below(most + 1) + (below(40) > 0);
        out->start[k] = words % (SQUARE_WORDS - 200);
        words += out->size[k];
    }
    unsigned count = below(4) == 0 ? words % SQUARE_WORDS + below(3) : SQUARE_WORDS; // some read beyond them
    snprintf(out->n, sizeof out->n, "%u", n);
    snprintf(out->width, sizeof out->width, "%u", below(most + 2));
    out->params[0] = (zf_query_param){.name = "n", .text = n == 0 ? "1" : out->n};
    out->params[1] = (zf_query_param){.name = "width", .text = out->width};
    out->arrays[0] = (zf_query_array){
        .name = "words", .values = out->words, .bytes = (size_t)(count < SQUARE_WORDS ? count : SQUARE_WORDS) * size};
    out->arrays[1] = (zf_query_array){.name = "start", .values = out->start, .bytes = (size_t)n * 4};
    out->arrays[2] = (zf_query_array){.name = "size", .values = out->size, .bytes = (size_t)n * 4};
}
