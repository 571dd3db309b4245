// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime
// Kernels on blocks made by hand: every lowering, at sizes around every edge, with values compiled in and not, recorded and
// decoded; and blocks that lie.
#include "tests/support/kernel_block.h"
#include "tests/unit/check.h"

static const char algorithms[] =
    "algorithm loose(values: i64[], counts: u32[]) -> i64[] group_parallel {\n"
    "  groups = counts.len; size(g) = counts[g]; decode(g, j) = values[g]; }\n"
    "algorithm bits_of_words(words: u32[]) -> u32[] group_parallel {\n"
    "  groups = words.len; size(g) = popcount(words[g]); decode(g, j) = (g * 32) as u32 + nth_bit(words[g], j); }\n"
    "algorithm gaps(gaps: u32[]) -> bool[] group_parallel {\n"
    "  groups = gaps.len; size(g) = gaps[g] + (g + 1 < gaps.len ? 1 : 0); decode(g, j) = j == gaps[g]; }\n"
    "algorithm patched(regular: i64[], counts: u32[], rare: i64[]) -> i64[] group_parallel {\n"
    "  groups = counts.len; size(g) = counts[g]; decode(g, j, i) = j == 0 ? rare[g] : regular[i]; }\n"
    "algorithm above(values: u8[]) -> bool[] fully_parallel { decode(i) = values[i] > 3; }\n"
    "algorithm negated(flags: bool[]) -> bool[] fully_parallel { decode(i) = !flags[i]; }\n"
    "algorithm numbered(flags: bool[]) -> u16[] fully_parallel { decode(i) = flags[i] ? 7 : 9; }\n"
    "algorithm largest(values: i32[]) -> i32[] fully_parallel { decode(i) = max(k in 0..=i: values[k]); }\n"
    "algorithm least(values: i32[]) -> i32[] fully_parallel { decode(i) = min(k in 0..i: values[k]); }\n"
    "algorithm parity(values: u16[]) -> u16[] fully_parallel { decode(i) = xor(k in 0..i: values[k]); }\n"
    "algorithm seen(values: u8[]) -> bool[] fully_parallel { decode(i) = any(k in 0..=i: values[k] == 200); }\n"
    "algorithm segments(steps: i32[]) -> i32[] fully_parallel { decode(i) = sum(k in i / 128 * 128 ..= i: steps[k]); }\n"
    "algorithm odd_segments(steps: i32[]) -> i32[] fully_parallel { decode(i) = sum(k in i / 100 * 100 .. i: steps[k]); }\n"
    "algorithm based(steps: i32[]) -> i32[] fully_parallel {\n"
    "  decode(i) = steps[i / 64 * 64] + sum(k in i / 64 * 64 + 1 ..= i: steps[k]); }\n"
    "algorithm windows(ends: u32[], terms: i64[]) -> i64[] fully_parallel {\n"
    "  decode(i) = sum(k in 0..ends[i] as u64: terms[k]); }\n"
    "algorithm nested_windows(lo: u32[], hi: u32[], s: u64[]) -> u64[] fully_parallel {\n"
    "  decode(i) = sum(k in lo[i] as u64 .. hi[i] as u64: sum(m in 0..2: s[k] as u64 + m)); }\n"
    "algorithm demands(v: u32[]) -> u32[] fully_parallel { decode(i) { let e = v[i]; require e < 100; return e; } }\n"
    "algorithm limited(small: u32[] in 0..=9) -> u32[] fully_parallel { decode(i) = small[i]; }\n"
    "algorithm divided(v: u32[], by: u32[]) -> u32[] fully_parallel { decode(i) = v[i] / by[i]; }\n"
    "algorithm odd(v: u8[], param from: u16 in 0..=999) -> u32[] fully_parallel { decode(i) = v.bits(i * 24 + from, 11) as u32; "
    "}\n"
    "algorithm triples(v: u8[3]) -> u8[] fully_parallel { decode(i) = v[i % 3]; }\n";

static zf_context *context;
static zf_compiler *compiler;
static zf_spec *spec;

static const uint64_t sizes[] = {0, 1, 31, 32, 33, 63, 64, 65, 255, 4095, 4096, 4097, 3 * 4096 + 100};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
enum { MOST = 4 * 4096 };

static uint64_t seed;
static uint64_t random_bits(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = seed ^ seed >> 29;
    return x * 0x9e3779b97f4a7c15u ^ x >> 32;
}
static uint64_t masked(uint64_t v, unsigned width) { return width >= 64 ? v : v & (((uint64_t)1 << width) - 1); }

static zf_type type_named(const char *name) {
    for (unsigned k = 0; k < ZF_K_OPAQUE; k++) {
        if (strcmp(zf_kind_name((zf_kind)k), name) == 0) return zf_type_of((zf_kind)k);
    }
    abort();
}

static kb_block make(const char *type, const char *codec) {
    kb_block b = {0};
    zf_error error = {0};
    zf_column *column = zf_spec_resolve_codec(spec, "x", type_named(type), codec);
    if (column == NULL || zf_decoder_create(compiler, column, NULL, 0, NULL, &b.decoder, &error) != ZF_OK) {
        printf("%s: %s %s\n", codec, error.code, error.message);
        abort();
    }
    return b;
}

static void finish(kb_block *b) {
    kb_free(b);
    zf_decoder_free(b->decoder);
}

/// Code for the block's own shaping values, or the general form.
static const zf_abi_code *code_of(kb_block *b, bool general) {
    uint64_t shaping[KB_PARAMS];
    const zf_plan *plan = b->decoder->plan;
    for (uint32_t k = 0; k < plan->shaping_count; k++) shaping[k] = b->params[plan->shaping[k]];
    const zf_abi_code *code = NULL;
    zf_error error = {0};
    zf_status status = zf_decoder_code_for(b->decoder, general ? NULL : shaping, &code, &error);
    CHECK(status == ZF_OK, "%s: %s", error.code, error.message);
    if (status != ZF_OK) abort();
    return code;
}

/// Decodes (having recorded the states first) in both forms and compares.
static void expect(kb_block *b, const void *wanted, unsigned element, const char *what) {
    uint64_t count = b->counts[0];
    size_t bytes = kb_bytes(element, count);
    uint8_t *out = malloc(bytes + 1);
    for (int general = 0; general < 2; general++) {
        const zf_abi_code *code = code_of(b, general);
        for (int decode = 0; decode < 2; decode++) {
            memset(out, 0x5a, bytes);
            uint64_t failure = kb_run(b, code, decode ? ZF_ABI_DECODE : ZF_ABI_RECORD, out, element);
            CHECK(failure == ZF_ABI_NO_FAILURE, "%s, %llu elements: failure at %llu: V%02u %s", what, (unsigned long long)count,
                  (unsigned long long)(failure >> 16), b->decoder->abi.checks[failure & 0xff].violation,
                  b->decoder->abi.checks[failure & 0xff].text);
            size_t at = 0;
            while (at < bytes && out[at] == ((const uint8_t *)wanted)[at]) at++;
            CHECK(at == bytes, "%s, %llu elements, %s, %s: byte %zu differs", what, (unsigned long long)count,
                  general ? "general" : "specialised", decode ? "decoded" : "recorded", at);
            if (!decode) kb_keep_records(b);
        }
    }
    free(out);
}

/// Wants a violation at a position (UINT64_MAX: any).
static void expect_failure(kb_block *b, unsigned element, unsigned violation, uint64_t position, const char *what) {
    for (int general = 0; general < 2; general++) {
        uint64_t failure = kb_run(b, code_of(b, general), ZF_ABI_DECODE, NULL, element);
        CHECK(failure != ZF_ABI_NO_FAILURE, "%s: no failure", what);
        if (failure == ZF_ABI_NO_FAILURE) continue;
        unsigned number = failure & 0xffff;
        CHECK(number < b->decoder->abi.check_count, "%s: check %u", what, number);
        if (number >= b->decoder->abi.check_count) continue;
        CHECK(b->decoder->abi.checks[number].violation == violation, "%s: V%02u (%s)", what,
              b->decoder->abi.checks[number].violation, b->decoder->abi.checks[number].text);
        CHECK(position == UINT64_MAX || failure >> 16 == position, "%s: at %llu", what, (unsigned long long)(failure >> 16));
    }
}

static void set_bit(uint8_t *bytes, uint64_t at, bool on) {
    if (on) bytes[at / 8] |= (uint8_t)(1u << (at % 8));
}

static uint64_t values[MOST], other[MOST], more[MOST];
static union {
    uint8_t bytes[8 * MOST];
    uint64_t u64[MOST];
    uint32_t u32[2 * MOST];
    int32_t i32[2 * MOST];
    int64_t i64[MOST];
    uint16_t u16[4 * MOST];
    double f64[MOST];
} wanted, given;

// ---- Maps -----------------------------------------------------------------------------------------------------

static void test_bitpack(const char *type, unsigned element, const unsigned *widths, size_t count) {
    kb_block b = make(type, "bitpack");
    char what[64];
    for (size_t w = 0; w < count; w++) {
        uint64_t base = random_bits();
        snprintf(what, sizeof(what), "bitpack %s width %u", type, widths[w]);
        kb_param(&b, "width", widths[w]);
        kb_param(&b, "base", masked(base, 8 * element));
        for (size_t s = 0; s < SIZES; s++) {
            for (uint64_t k = 0; k < sizes[s]; k++) {
                values[k] = masked(random_bits(), widths[w]);
                uint64_t v = values[k] + base;
                memcpy(wanted.bytes + k * element, &v, element);
            }
            kb_bits(&b, "packed", values, sizes[s], widths[w], 4);
            kb_count(&b, "", sizes[s]);
            expect(&b, wanted.bytes, element, what);
        }
    }
    // One word less than the elements need.
    kb_param(&b, "width", 8);
    kb_bits(&b, "packed", values, 4092, 8, 4);
    kb_count(&b, "", 4096);
    expect_failure(&b, element, 1, 0, "too few words");
    kb_param(&b, "width", 8 * element + 1);
    expect_failure(&b, element, 20, 0, "a width that its range does not admit");
    finish(&b);
}

static void test_maps(void) {
    static const unsigned w8[] = {0, 1, 3, 7, 8}, w32[] = {0, 1, 7, 16, 25, 32}, w64[] = {0, 7, 25, 33, 40, 57, 63, 64};
    test_bitpack("u8", 1, w8, 5);
    test_bitpack("i16", 2, w8, 5);
    test_bitpack("u32", 4, w32, 6);
    test_bitpack("i64", 8, w64, 8);

    kb_block b = make("i32", "dictionary(codes: bitpack, entries: plain)");
    kb_param(&b, "codes.width", 5);
    int32_t entries[32];
    for (int k = 0; k < 32; k++) entries[k] = (int32_t)random_bits();
    kb_stream(&b, "entries.values", entries, sizeof(int32_t) * 29, 29);
    kb_count(&b, "entries", 29);
    for (size_t s = 0; s < SIZES; s++) {
        for (uint64_t k = 0; k < sizes[s]; k++) {
            values[k] = random_bits() % 29;
            wanted.i32[k] = entries[values[k]];
        }
        kb_bits(&b, "codes.packed", values, sizes[s], 5, 4);
        kb_count(&b, "codes", sizes[s]);
        kb_count(&b, "", sizes[s]);
        expect(&b, wanted.bytes, 4, "dictionary");
        if (sizes[s] < 2) continue;
        uint64_t at = sizes[s] - 1 - sizes[s] / 3;
        values[at] = 29;
        values[sizes[s] - 1] = 31;
        kb_bits(&b, "codes.packed", values, sizes[s], 5, 4);
        expect_failure(&b, 4, 1, at / 4096 == (sizes[s] - 1) / 4096 ? at : UINT64_MAX, "a code beyond the dictionary");
    }
    finish(&b);

    // The entries are an expression too, and there may be none.
    b = make("u32", "dictionary(codes: plain, entries: bitpack)");
    kb_param(&b, "entries.width", 32);
    kb_bits(&b, "entries.packed", values, 0, 32, 4);
    kb_count(&b, "entries", 0);
    memset(given.bytes, 0xff, sizeof(given.bytes));
    kb_stream(&b, "codes.values", given.bytes, 400, 100);
    kb_count(&b, "codes", 100);
    kb_count(&b, "", 100);
    expect_failure(&b, 4, 1, 0, "an empty dictionary");
    finish(&b);

    b = make("f64", "float2int(bitpack)");
    kb_param(&b, "digits", 2);
    kb_param(&b, "ints.width", 13);
    kb_param(&b, "ints.base", (uint64_t)-1000);
    for (size_t s = 0; s < SIZES; s++) {
        for (uint64_t k = 0; k < sizes[s]; k++) {
            values[k] = masked(random_bits(), 13);
            wanted.f64[k] = (double)((int64_t)values[k] - 1000) / 100.0;
        }
        kb_bits(&b, "ints.packed", values, sizes[s], 13, 4);
        kb_count(&b, "ints", sizes[s]);
        kb_count(&b, "", sizes[s]);
        expect(&b, wanted.bytes, 8, "float2int");
    }
    finish(&b);
}

static void test_bools(void) {
    kb_block above = make("bool", "above"), negated = make("bool", "negated"), numbered = make("u16", "numbered");
    for (size_t s = 0; s < SIZES; s++) {
        uint64_t n = sizes[s];
        memset(wanted.bytes, 0, sizeof(wanted.bytes));
        for (uint64_t k = 0; k < n; k++) given.bytes[k] = (uint8_t)(random_bits() % 7);
        for (uint64_t k = 0; k < n; k++) set_bit(wanted.bytes, k, given.bytes[k] > 3);
        kb_stream(&above, "values", given.bytes, n, n);
        kb_count(&above, "", n);
        expect(&above, wanted.bytes, 0, "above");
        memset(given.bytes, 0, sizeof(given.bytes));
        memset(wanted.bytes, 0, sizeof(wanted.bytes));
        for (uint64_t k = 0; k < n; k++) {
            bool on = random_bits() % 2;
            set_bit(given.bytes, k, on);
            set_bit(wanted.bytes, k, !on);
        }
        kb_stream(&negated, "flags", given.bytes, (n + 7) / 8, n);
        kb_count(&negated, "", n);
        expect(&negated, wanted.bytes, 0, "negated");
        for (uint64_t k = 0; k < n; k++) wanted.u16[k] = given.bytes[k / 8] >> (k % 8) & 1 ? 7 : 9;
        kb_stream(&numbered, "flags", given.bytes, (n + 7) / 8, n);
        kb_count(&numbered, "", n);
        expect(&numbered, wanted.bytes, 2, "numbered");
    }
    finish(&above);
    finish(&negated);
    finish(&numbered);
}

static void test_checks(void) {
    kb_block b = make("u32", "demands");
    for (uint64_t k = 0; k < 5000; k++) given.u32[k] = wanted.u32[k] = (uint32_t)(k % 100);
    kb_stream(&b, "v", given.bytes, 20000, 5000);
    kb_count(&b, "", 5000);
    expect(&b, wanted.bytes, 4, "demands");
    given.u32[4500] = 100;
    kb_stream(&b, "v", given.bytes, 20000, 5000);
    expect_failure(&b, 4, 6, 4500, "require");
    given.u32[17] = 4000000000u;
    kb_stream(&b, "v", given.bytes, 20000, 5000);
    expect_failure(&b, 4, 6, 17, "require, the first of two");
    finish(&b);

    b = make("u32", "limited");
    for (uint64_t k = 0; k < 100; k++) given.u32[k] = (uint32_t)(k % 10);
    kb_stream(&b, "small", given.bytes, 400, 100);
    kb_count(&b, "", 100);
    expect(&b, given.bytes, 4, "limited");
    given.u32[77] = 10;
    kb_stream(&b, "small", given.bytes, 400, 100);
    expect_failure(&b, 4, 5, 77, "an element outside its range");
    finish(&b);

    b = make("u32", "divided");
    uint32_t by[100];
    for (uint64_t k = 0; k < 100; k++)
        by[k] = 1 + (uint32_t)k % 3, given.u32[k] = (uint32_t)random_bits(), wanted.u32[k] = given.u32[k] / by[k];
    kb_stream(&b, "v", given.bytes, 400, 100);
    kb_stream(&b, "by", by, 400, 100);
    kb_count(&b, "", 100);
    expect(&b, wanted.bytes, 4, "divided");
    by[64] = 0;
    kb_stream(&b, "by", by, 400, 100);
    expect_failure(&b, 4, 7, 64, "division by zero");
    finish(&b);

    b = make("u32", "odd");
    for (unsigned from = 0; from < 30; from += 7) {
        for (size_t s = 0; s < SIZES; s++) {
            uint64_t n = sizes[s], bytes = n == 0 ? 0 : ((n - 1) * 24 + from + 11 + 7) / 8;
            for (uint64_t k = 0; k < bytes + 8; k++) given.bytes[k] = (uint8_t)random_bits();
            for (uint64_t k = 0; k < n; k++) {
                uint64_t at = k * 24 + from, word;
                memcpy(&word, given.bytes + at / 8, 8);
                wanted.u32[k] = (uint32_t)(word >> (at % 8)) & 0x7ff;
            }
            kb_param(&b, "from", from);
            kb_stream(&b, "v", given.bytes, bytes, bytes);
            kb_count(&b, "", n);
            expect(&b, wanted.bytes, 4, "odd");
        }
    }
    finish(&b);

    b = make("u8", "triples");
    kb_stream(&b, "v", "abc", 3, 3);
    kb_count(&b, "", 10);
    expect(&b, "abcabcabca", 1, "triples");
    kb_stream(&b, "v", "ab", 2, 2);
    expect_failure(&b, 1, 21, 0, "a stream of another length");
    finish(&b);
}

// ---- Scans ----------------------------------------------------------------------------------------------------

static void test_delta(const char *type, unsigned element) {
    kb_block b = make(type, "delta(bitpack)");
    kb_param(&b, "first", 12345);
    kb_param(&b, "deltas.width", 7);
    kb_param(&b, "deltas.base", masked((uint64_t)-200, 8 * element));
    for (size_t s = 0; s < SIZES; s++) {
        uint64_t n = sizes[s], v = 12345;
        for (uint64_t k = 0; k < n; k++) {
            memcpy(wanted.bytes + k * element, &v, element);
            values[k] = masked(random_bits(), 7);
            v += values[k] - 200;
        }
        uint64_t terms = n == 0 ? 0 : n - 1;
        kb_bits(&b, "deltas.packed", values, terms, 7, 4);
        kb_count(&b, "deltas", terms);
        kb_count(&b, "", n);
        expect(&b, wanted.bytes, element, "delta");
        for (uint64_t t = 4096; t < n; t += 4096) { // any state that lies is found
            uint8_t *entry = b.fields[0][0].data + (t / 4096 - 1) * b.widths[0][0];
            *entry ^= 1;
            expect_failure(&b, element, 9, UINT64_MAX, "a state that lies");
            *entry ^= 1;
        }
    }
    finish(&b);
}

static void test_scans(void) {
    test_delta("i32", 4);
    test_delta("i64", 8);
    test_delta("u8", 1);
    test_delta("u16", 2);

    kb_block largest = make("i32", "largest"), least = make("i32", "least"), parity = make("u16", "parity");
    kb_block seen = make("bool", "seen"), segments = make("i32", "segments"), odd = make("i32", "odd_segments"),
             based = make("i32", "based");
    for (size_t s = 0; s < SIZES; s++) {
        uint64_t n = sizes[s];
        for (uint64_t k = 0; k < n; k++) given.i32[k] = -(int32_t)(random_bits() % 1000000) - 5;
        int32_t best = 0;
        for (uint64_t k = 0; k < n; k++) wanted.i32[k] = best = k == 0 || given.i32[k] > best ? given.i32[k] : best;
        kb_stream(&largest, "values", given.bytes, 4 * n, n);
        kb_count(&largest, "", n);
        expect(&largest, wanted.bytes, 4, "largest");
        for (uint64_t k = 0; k < n; k++) given.i32[k] = -given.i32[k];
        best = 0;
        for (uint64_t k = 0; k < n; k++) {
            wanted.i32[k] = best;
            best = k == 0 || given.i32[k] < best ? given.i32[k] : best;
        }
        kb_stream(&least, "values", given.bytes, n == 0 ? 0 : 4 * n - 4, n == 0 ? 0 : n - 1);
        kb_count(&least, "", n);
        expect(&least, wanted.bytes, 4, "least");
        for (uint64_t k = 0, sum = 0; k < n; k++) {
            sum = k % 128 == 0 ? 0 : sum;
            sum += (uint64_t)(int64_t)given.i32[k];
            wanted.i32[k] = (int32_t)sum;
        }
        kb_stream(&segments, "steps", given.bytes, 4 * n, n);
        kb_count(&segments, "", n);
        expect(&segments, wanted.bytes, 4, "segments");
        CHECK(segments.decoder->plan->tree_count == 0, "segments of 128 need no state");
        for (uint64_t k = 0, sum = 0; k < n; k++) {
            sum = k % 100 == 0 ? 0 : sum;
            wanted.i32[k] = (int32_t)sum;
            sum += (uint64_t)(int64_t)given.i32[k];
        }
        kb_stream(&odd, "steps", given.bytes, n == 0 ? 0 : 4 * n - 4, n == 0 ? 0 : n - 1);
        kb_count(&odd, "", n);
        expect(&odd, wanted.bytes, 4, "odd_segments");
        for (uint64_t k = 0, sum = 0; k < n; k++) {
            sum = (k % 64 == 0 ? 0 : sum) + (uint64_t)(int64_t)given.i32[k];
            wanted.i32[k] = (int32_t)sum;
        }
        kb_stream(&based, "steps", given.bytes, 4 * n, n);
        kb_count(&based, "", n);
        expect(&based, wanted.bytes, 4, "based");
        uint16_t bits = 0;
        for (uint64_t k = 0; k < n; k++) {
            given.u16[k] = (uint16_t)random_bits();
            wanted.u16[k] = bits;
            bits ^= given.u16[k];
        }
        kb_stream(&parity, "values", given.bytes, 2 * n, n);
        kb_count(&parity, "", n);
        expect(&parity, wanted.bytes, 2, "parity");
        memset(wanted.bytes, 0, sizeof(wanted.bytes));
        bool any = false;
        for (uint64_t k = 0; k < n; k++) {
            given.bytes[k] = (uint8_t)(k == 5000 || k == 33 ? 200 : random_bits() % 200);
            set_bit(wanted.bytes, k, any = any || given.bytes[k] == 200);
        }
        kb_stream(&seen, "values", given.bytes, n, n);
        kb_count(&seen, "", n);
        expect(&seen, wanted.bytes, 0, "seen");
    }
    finish(&largest), finish(&least), finish(&parity);
    finish(&seen), finish(&segments), finish(&odd), finish(&based);

    kb_block b = make("i64", "windows(terms: bitpack)");
    kb_param(&b, "terms.width", 20);
    for (size_t s = 0; s < SIZES; s++) {
        uint64_t n = sizes[s], terms = sizes[SIZES - 1 - s];
        for (uint64_t k = 0; k < terms; k++) values[k] = masked(random_bits(), 20);
        for (uint64_t k = 0; k < n; k++) {
            given.u32[k] = (uint32_t)(random_bits() % (terms + 1));
            wanted.i64[k] = 0;
            for (uint64_t j = k % 50 == 0 ? 0 : given.u32[k]; j < given.u32[k]; j++) wanted.i64[k] += (int64_t)values[j];
            if (k % 50 != 0) given.u32[k] = 0;
        }
        kb_bits(&b, "terms.packed", values, terms, 20, 4);
        kb_count(&b, "terms", terms);
        kb_stream(&b, "ends", given.bytes, 4 * n, n);
        kb_count(&b, "", n);
        expect(&b, wanted.bytes, 8, "windows");
        if (n == 0) continue;
        given.u32[n - 1] = (uint32_t)terms + 1;
        kb_stream(&b, "ends", given.bytes, 4 * n, n);
        expect_failure(&b, 8, 1, n - 1, "a sum beyond its stream");
    }
    finish(&b);

    // The stream stands inside another reduction of the term.
    b = make("u64", "nested_windows");
    uint32_t lo[2] = {0, 1}, hi[2] = {3, 3};
    uint64_t terms[3] = {5, 7, 9}, sums[2] = {45, 34};
    kb_stream(&b, "s", terms, sizeof(terms), 3);
    kb_stream(&b, "lo", lo, sizeof(lo), 2);
    kb_stream(&b, "hi", hi, sizeof(hi), 2);
    kb_count(&b, "", 2);
    expect(&b, sums, 8, "nested windows");
    hi[1] = 1000;
    kb_stream(&b, "hi", hi, sizeof(hi), 2);
    expect_failure(&b, 8, 1, 1, "a nested sum beyond its stream");
    finish(&b);
}

// ---- Groups ---------------------------------------------------------------------------------------------------

static const char *const run_kinds[] = {"ones", "short", "long", "mixed", "one run", "with empty ones"};

/// Runs that fill n elements; how many. Sizes to `other`.
static uint64_t make_runs(uint64_t n, unsigned kind) {
    uint64_t groups = 0;
    for (uint64_t at = 0; at < n; groups++) {
        uint64_t r = random_bits(), size = 1;
        if (kind == 1) size = 1 + r % 8;
        if (kind == 2) size = 500 + r % 3000;
        if (kind == 3) size = r % 10 == 0 ? 1 + r / 16 % 1000 : 1;
        if (kind == 4) size = n;
        if (kind == 5) size = r % 4;
        if (size > n - at) size = n - at;
        other[groups] = size;
        at += size;
        if (groups + 20 > MOST) return groups; // not reached
    }
    if (kind == 5) other[groups++] = 0, other[groups++] = 0; // empty ones at the end belong to the last tile
    return groups;
}

static unsigned width_of(const uint64_t *v, uint64_t count) {
    uint64_t all = 0;
    for (uint64_t k = 0; k < count; k++) all |= v[k];
    return all == 0 ? 0 : 64 - (unsigned)__builtin_clzll(all);
}

static void lie(kb_block *b, unsigned element) {
    uint64_t tiles = kb_tiles(b, &b->decoder->abi.kernels[0]);
    for (unsigned f = 0; f < 2; f++) {
        unsigned width = b->widths[0][f];
        for (uint64_t e = 0; e + 1 < tiles && width > 0; e++) {
            uint8_t *entry = b->fields[0][f].data + e * width, saved[8];
            memcpy(saved, entry, width);
            static const uint8_t flips[] = {1, 0x80, 0xff};
            for (unsigned k = 0; k < 3; k++) {
                entry[k % width] ^= flips[k];
                expect_failure(b, element, 9, UINT64_MAX, "a state that lies");
                memcpy(entry, saved, width);
            }
            memset(entry, 0xff, width);
            expect_failure(b, element, 9, UINT64_MAX, "a state far away");
            memcpy(entry, saved, width);
        }
    }
}

static void test_rle(const char *type, unsigned element) {
    kb_block b = make(type, "rle(bitpack, bitpack)");
    unsigned value_width = element < 4 ? 5 : 11;
    for (unsigned kind = 0; kind < 5; kind++) {
        for (size_t s = 0; s < SIZES; s++) {
            uint64_t n = sizes[s], groups = make_runs(n, kind), at = 0;
            for (uint64_t g = 0; g < groups; g++) {
                values[g] = masked(random_bits(), value_width);
                uint64_t v = values[g] + 3;
                for (uint64_t j = 0; j < other[g]; j++, at++) memcpy(wanted.bytes + at * element, &v, element);
            }
            for (uint64_t g = 0; g < groups; g++) more[g] = other[g] - 1;
            unsigned width = width_of(more, groups);
            if (width != 0 && width != 3 && width != 12) width = width < 3 ? 3 : width < 12 ? 12 : 16; // few tuples
            kb_param(&b, "values.width", value_width);
            kb_param(&b, "values.base", 3);
            kb_param(&b, "counts.width", width);
            kb_param(&b, "counts.base", 1);
            kb_bits(&b, "values.packed", values, groups, value_width, 4);
            kb_bits(&b, "counts.packed", more, groups, width, 4);
            kb_count(&b, "values", groups);
            kb_count(&b, "counts", groups);
            kb_count(&b, "", n);
            char what[64];
            snprintf(what, sizeof(what), "rle %s, %s", type, run_kinds[kind]);
            expect(&b, wanted.bytes, element, what);
            if (s == SIZES - 1) lie(&b, element);
            if (n > 1) { // sizes that do not add up
                kb_count(&b, "", n - 1);
                if (kb_tiles(&b, &b.decoder->abi.kernels[0]) == (n - 1) / 4096 + 1)
                    expect_failure(&b, element, 9, UINT64_MAX, "too many elements");
                kb_count(&b, "", n + 1);
                if (n % 4096 != 0) expect_failure(&b, element, 9, UINT64_MAX, "too few elements");
            }
        }
    }
    kb_param(&b, "counts.base", 0);
    kb_param(&b, "counts.width", 3);
    for (uint64_t g = 0; g < 50; g++) other[g] = g == 20 ? 0 : 2;
    kb_bits(&b, "counts.packed", other, 50, 3, 4);
    kb_bits(&b, "values.packed", values, 50, value_width, 4);
    kb_count(&b, "values", 50);
    kb_count(&b, "counts", 50);
    kb_count(&b, "", 98);
    expect_failure(&b, element, 5, 0, "an empty run where none may be");
    kb_count(&b, "counts", 1000);
    expect_failure(&b, element, 1, 0, "more counts than words hold");
    finish(&b);
}

static void test_loose(void) {
    kb_block b = make("i64", "loose");
    for (unsigned kind = 0; kind < 6; kind++) {
        for (size_t s = 0; s < SIZES; s++) {
            uint64_t n = sizes[s], groups = make_runs(n, kind), at = 0;
            for (uint64_t g = 0; g < groups; g++) {
                given.i64[g] = (int64_t)random_bits();
                for (uint64_t j = 0; j < other[g]; j++) wanted.i64[at++] = given.i64[g];
            }
            uint32_t *counts = malloc(4 * groups + 4);
            for (uint64_t g = 0; g < groups; g++) counts[g] = (uint32_t)other[g];
            kb_stream(&b, "values", given.bytes, 8 * groups, groups);
            kb_stream(&b, "counts", counts, 4 * groups, groups);
            kb_count(&b, "", n);
            char what[64];
            snprintf(what, sizeof(what), "loose, %s", run_kinds[kind]);
            expect(&b, wanted.bytes, 8, what);
            if (s == SIZES - 1) lie(&b, 8);
            for (uint64_t g = 0; g < groups; g++) counts[g] = 0xffffffffu - (uint32_t)g; // nothing fits
            kb_stream(&b, "counts", counts, 4 * groups, groups);
            if (groups > 1) expect_failure(&b, 8, 9, UINT64_MAX, "huge counts");
            for (uint64_t g = 0; g < groups; g++) counts[g] = 0;
            kb_stream(&b, "counts", counts, 4 * groups, groups);
            if (n > 0) expect_failure(&b, 8, 9, UINT64_MAX, "empty groups only");
            free(counts);
        }
    }
    finish(&b);
}

static void test_groups(void) {
    test_rle("u8", 1);
    test_rle("i32", 4);
    test_rle("i64", 8);
    test_loose();

    kb_block b = make("i64", "delta_stride(bitpack, bitpack, bitpack)");
    for (unsigned kind = 0; kind < 5; kind++) {
        for (size_t s = 0; s < SIZES; s++) {
            uint64_t n = sizes[s], groups = make_runs(n, kind), at = 0;
            for (uint64_t g = 0; g < groups; g++) {
                values[g] = masked(random_bits(), 33);
                more[g] = masked(random_bits(), 7);
                for (uint64_t j = 0; j < other[g]; j++) wanted.u64[at++] = values[g] + j * (more[g] - 64);
                other[g]--;
            }
            kb_param(&b, "start.width", 33), kb_param(&b, "stride.width", 7), kb_param(&b, "stride.base", (uint64_t)-64);
            kb_param(&b, "count.width", 16), kb_param(&b, "count.base", 1);
            kb_bits(&b, "start.packed", values, groups, 33, 4);
            kb_bits(&b, "stride.packed", more, groups, 7, 4);
            kb_bits(&b, "count.packed", other, groups, 16, 4);
            kb_count(&b, "start", groups), kb_count(&b, "stride", groups), kb_count(&b, "count", groups);
            kb_count(&b, "", n);
            expect(&b, wanted.bytes, 8, "delta_stride");
        }
    }
    finish(&b);

    b = make("u32", "bits_of_words");
    for (unsigned density = 0; density < 4; density++) {
        uint64_t words = 1000, n = 0;
        for (uint64_t g = 0; g < words; g++) {
            uint32_t w = (uint32_t)random_bits();
            if (density == 0) w &= (uint32_t)random_bits() & (uint32_t)random_bits() & (uint32_t)random_bits();
            if (density == 2) w = 0xffffffffu;
            if (density == 3) w = g == 997 ? 0x80000001u : 0;
            given.u32[g] = w;
            for (uint32_t k = 0; k < 32; k++) {
                if (w >> k & 1) wanted.u32[n++] = (uint32_t)g * 32 + k;
            }
        }
        kb_stream(&b, "words", given.bytes, 4 * words, words);
        kb_count(&b, "", n);
        expect(&b, wanted.bytes, 4, "bits_of_words");
    }
    finish(&b);

    b = make("bool", "gaps");
    uint64_t n = 0, groups = 3000;
    memset(wanted.bytes, 0, sizeof(wanted.bytes));
    for (uint64_t g = 0; g < groups; g++) {
        given.u32[g] = (uint32_t)(random_bits() % 9 == 0 ? random_bits() % 30 : random_bits() % 2);
        n += given.u32[g];
        if (g + 1 < groups) set_bit(wanted.bytes, n++, true);
    }
    kb_stream(&b, "gaps", given.bytes, 4 * groups, groups);
    kb_count(&b, "", n);
    expect(&b, wanted.bytes, 0, "gaps");
    finish(&b);

    b = make("i64", "patched(regular: bitpack)");
    for (size_t s = 0; s < 2 * SIZES; s++) {
        n = sizes[s / 2], groups = make_runs(n, s % 2 == 0 ? 3 : 5); // 5: groups without elements, also where n is 0
        static uint32_t counts[MOST];
        static int64_t rare[MOST];
        uint64_t at = 0;
        for (uint64_t k = 0; k < n; k++) values[k] = masked(random_bits(), 17);
        for (uint64_t g = 0; g < groups; g++) {
            counts[g] = (uint32_t)other[g];
            rare[g] = (int64_t)random_bits();
            for (uint64_t j = 0; j < other[g]; j++, at++) wanted.i64[at] = j == 0 ? rare[g] : (int64_t)values[at];
        }
        kb_param(&b, "regular.width", 17);
        kb_bits(&b, "regular.packed", values, n, 17, 4);
        kb_count(&b, "regular", n);
        kb_stream(&b, "counts", counts, 4 * groups, groups);
        kb_stream(&b, "rare", rare, 8 * groups, groups);
        kb_count(&b, "", n);
        expect(&b, wanted.bytes, 8, "patched");
    }
    finish(&b);
}

// ---- The code itself ------------------------------------------------------------------------------------------

static void test_text(void) {
    kb_block b = make("u32", "bitpack");
    zf_text text = {0};
    zf_error error = {0};
    uint64_t width = 7;
    CHECK(zf_decoder_print(b.decoder, &width, ZF_JIT_IR, true, &text, &error) == ZF_OK, "%s", error.message);
    bool shifts =
        strstr(text.data, "@llvm.fshr.v16i32") != NULL || strstr(text.data, "lshr <8 x i32>") != NULL; // with AVX2 alone
    CHECK(shifts, "unpacking needs shifts of vectors:\n%s", text.data);
    zf_text_free(&text);
    CHECK(zf_decoder_print(b.decoder, &width, ZF_JIT_OPTIMISED, true, &text, &error) == ZF_OK, "%s", error.message);
    CHECK(strstr(text.data, "shufflevector") != NULL && strstr(text.data, "store <") != NULL &&
              strstr(text.data, "load <") != NULL,
          "no vectors in:\n%s", text.data);
    zf_text_free(&text);
    CHECK(zf_decoder_print(b.decoder, NULL, ZF_JIT_ASSEMBLY, true, &text, &error) == ZF_OK, "%s", error.message);
    CHECK(strstr(text.data, "zf_kernel_0:") != NULL, "no kernel in the assembly");
    zf_text_free(&text);
    finish(&b);
}

int main(int count, char **arguments) {
    seed = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    zf_error error = {0};
    zf_context_options options = {.cache_dir = ""};
    if (zf_context_create(&options, &context, &error) != ZF_OK || zf_compiler_create(context, NULL, &compiler, &error) != ZF_OK) {
        printf("%s: %s\n", error.code, error.message);
        return 1;
    }
    zf_spec_options spec_options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    spec = zf_spec_create(&spec_options);
    bool good = zf_spec_add_text(spec, "kernels.zf", algorithms, strlen(algorithms));
    if (!zf_spec_check(spec) || !good) {
        zf_text text = {0};
        zf_diags_render(zf_spec_diags(spec), ZF_DIAG_HUMAN, false, &text);
        printf("%s\n", text.data);
        return 1;
    }
    test_text();
    test_maps();
    test_bools();
    test_checks();
    test_scans();
    test_groups();
    zf_spec_destroy(spec);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
