// The rules of the language, row by row: a program, a block, and the elements or the violation that must come out.
#include <string.h>

#include "tests/differential/generator/gen_program.h"
#include "tests/interp/externs.h"
#include "tests/interp/load.h"
#include "tests/unit/check.h"

#define ALGORITHM(ports, result, pattern, body)                                                                                  \
    "algorithm a(" ports ") -> " result "[] " pattern " { " body " encode extern \"none\"; } table t { c: " result " = a; }"
#define MAP(ports, result, body) ALGORITHM(ports, result, "fully_parallel", body)
#define GROUP(ports, result, body) ALGORITHM(ports, result, "group_parallel", body)
#define CHUNK(ports, result, body) ALGORITHM(ports, result, "non_parallel(chunk = 4)", body)

enum { VALUES = 12 };

typedef struct row {
    const char *name, *program, *block;
    unsigned violation;      // 0: the values come out
    uint64_t position;       // of the violation, in the column
    uint64_t values[VALUES]; // as 64 bits
} row;

// clang-format off
static const row rows[] = {
    // ---- V01: index, slice, bits
    {"index at the end", MAP("s: u8[]", "u8", "decode(i) = s[i];"), "counts 3 3\nstream 3 070809\n", 0, 0, {7, 8, 9}},
    {"index beyond", MAP("s: u8[]", "u8", "decode(i) = s[i];"), "counts 3 2\nstream 2 0708\n", 1, 2, {0}},
    {"bits across words", MAP("s: u16[]", "u64", "decode(i) = s.bits(i * 12, 12);"), "counts 2 2\nstream 2 abcd1200\n", 0, 0, {0xdab, 0x12c}},
    {"bits beyond", MAP("s: u16[]", "u64", "decode(i) = s.bits(i * 12, 12);"), "counts 3 2\nstream 2 abcd1200\n", 1, 2, {0}},
    {"one bit beyond", MAP("s: u8[]", "u64", "decode(i) = s.bits(i * 8, 9 - i % 2);"), "counts 1 1\nstream 1 ff\n", 1, 0, {0}},
    {"no bits at the very end", MAP("s: u8[]", "u64", "decode(i) = s.bits(8, 0);"), "counts 1 1\nstream 1 ff\n", 0, 0, {0}},
    {"no bits beyond the end", MAP("s: u8[]", "u64", "decode(i) = s.bits(9, 0);"), "counts 1 1\nstream 1 ff\n", 1, 0, {0}},
    {"most significant first", MAP("s: u8[]", "u64", "decode(i) = s.bits_msb(i * 12, 12);"), "counts 2 3\nstream 3 abcdef\n", 0, 0, {0xabc, 0xdef}},
    {"slice", MAP("s: u8[], n: u8[]", "u64", "decode(i) = s[n[i] .. s.len].len;"), "counts 2 3 2\nstream 3 010203\nstream 2 0103\n", 0, 0, {2, 0}},
    {"slice backwards", MAP("s: u8[], n: u8[]", "u64", "decode(i) = s[n[i] .. 2].len;"), "counts 2 3 2\nstream 3 010203\nstream 2 0203\n", 1, 1, {0}},
    {"lazy", MAP("s: u8[]", "u8", "decode(i) = i < s.len ? s[i] : 99;"), "counts 3 2\nstream 2 0708\n", 0, 0, {7, 8, 99}},
    {"lazy and", MAP("s: u8[]", "bool", "decode(i) = i < s.len && s[i] == 8;"), "counts 3 2\nstream 2 0708\n", 0, 0, {0, 1, 0}},
    // ---- V05, V06, V07, V08
    {"range", MAP("s: i8[] in -3..=5", "i8", "decode(i) = s[i];"), "counts 2 2\nstream 2 fd05\n", 0, 0, {0xfd, 5}},
    {"below the range", MAP("s: i8[] in -3..=5", "i8", "decode(i) = s[i];"), "counts 2 2\nstream 2 fdfc\n", 5, 1, {0}},
    {"above a range by a param", MAP("param m: u8, s: u8[] in ..=m", "u8", "decode(i) = s[i];"), "params 9\ncounts 2 2\nstream 2 090a\n", 5, 1, {0}},
    {"never pulled", MAP("s: u8[] in 1..=5", "u8", "decode(i) = i == 1 ? 0 : s[i];"), "counts 3 3\nstream 3 01ff02\n", 0, 0, {1, 0, 2}},
    {"require", MAP("s: u8[]", "u8", "decode(i) { require s[i] != 3; return s[i]; }"), "counts 3 3\nstream 3 010203\n", 6, 2, {0}},
    {"division by zero", MAP("s: u8[]", "u8", "decode(i) = 6 / s[i];"), "counts 3 3\nstream 3 010200\n", 7, 2, {0}},
    {"remainder", MAP("s: i8[]", "i8", "decode(i) = (s[i] as i8) % -1;"), "counts 2 2\nstream 2 8007\n", 0, 0, {0, 0}},
    {"least by -1", MAP("s: i8[], n: i8[]", "i8", "decode(i) = s[i] / n[i];"), "counts 2 2 2\nstream 2 8007\nstream 2 ffff\n", 0, 0, {0x80, 0xf9}},
    {"nth_bit", MAP("s: u8[]", "u8", "decode(i) = nth_bit(s[i], 1);"), "counts 2 2\nstream 2 0601\n", 8, 1, {0}},
    // ---- Reductions
    {"scan", MAP("s: u8[]", "u8", "decode(i) = sum(k in 0..i: s[k]);"), "counts 4 3\nstream 3 ff0203\n", 0, 0, {0, 255, 1, 4}},
    {"scan with the element", MAP("s: u8[]", "u8", "decode(i) = sum(k in 0..=i: s[k]);"), "counts 3 3\nstream 3 ff0203\n", 0, 0, {255, 1, 4}},
    {"scan beyond", MAP("s: u8[]", "u8", "decode(i) = sum(k in 0..=i: s[k]);"), "counts 4 3\nstream 3 ff0203\n", 1, 3, {0}},
    {"segments", MAP("s: u8[]", "u8", "decode(i) = sum(k in i / 2 * 2 + 1 ..= i: s[k]);"), "counts 4 4\nstream 4 01020304\n", 0, 0, {0, 2, 0, 4}},
    {"minimum so far", MAP("s: i8[]", "i8", "decode(i) = min(k in 0..i: s[k]);"), "counts 4 4\nstream 4 05fd0700\n", 0, 0, {0, 5, 0xfd, 0xfd}},
    {"maximum so far", MAP("s: i8[]", "i8", "decode(i) = max(k in 0..i: s[k]);"), "counts 3 3\nstream 3 fbfd07\n", 0, 0, {0, 0xfb, 0xfd}},
    {"all, any", MAP("s: u8[]", "u8", "decode(i) = (all(k in 0..i: s[k] > 1) ? 1 : 0) + (any(k in 0..i: s[k] > 1) ? 2 : 0);"),
     "counts 4 4\nstream 4 02010202\n", 0, 0, {1, 3, 2, 2}},
    {"sum between places", MAP("s: u8[], a: u8[], b: u8[]", "u8", "decode(i) = sum(k in a[i]..b[i]: s[k]);"),
     "counts 3 4 3 3\nstream 4 01020408\nstream 3 010300\nstream 3 030304\n", 0, 0, {6, 0, 15}},
    {"sum from behind", MAP("s: u8[], a: u8[], b: u8[]", "u8", "decode(i) = sum(k in a[i]..b[i]: s[k]);"),
     "counts 1 4 1 1\nstream 4 01020408\nstream 1 03\nstream 1 01\n", 0, 0, {0}},
    {"two binders", MAP("s: u8[]", "u64", "decode(i) = sum(k in 0..3, j in 0..k + 1: j * 10 + k);"), "counts 1 1\nstream 1 00\n", 0, 0, {48}},
    // ---- Groups: V09, V25
    {"groups", GROUP("n: u8[]", "u64", "groups = n.len; size(g) = n[g]; decode(g, j, i) = g * 100 + j * 10 + i;"),
     "counts 3 4\nstream 4 00020001\n", 0, 0, {100, 111, 302}},
    {"too few", GROUP("n: u8[]", "u64", "groups = n.len; size(g) = n[g]; decode(g, j) = g;"), "counts 4 3\nstream 3 010101\n", 9, 3, {0}},
    {"too many", GROUP("n: u8[]", "u64", "groups = n.len; size(g) = n[g]; decode(g, j) = g;"), "counts 2 3\nstream 3 010101\n", 9, 2, {0}},
    {"too many groups", GROUP("n: u8[], param m: u64", "u64", "groups = m; size(g) = 0; decode(g, j) = n[0];"),
     "params 70000\ncounts 1 1\nstream 1 01\n", 25, 0, {0}},
    {"scan over groups", GROUP("n: u8[]", "u64", "groups = n.len; size(g) = n[g]; decode(g, j) = sum(k in 0..g: n[k] as u64);"),
     "counts 4 3\nstream 3 010201\n", 0, 0, {0, 1, 1, 3}},
    // ---- Chunks: V02, V03, V04, V10, cursors, emit
    {"chunks", CHUNK("s: u8[] per chunk", "u8", "decode { while out.pos < out.len { emit s.u8() + chunk as u8; } }"),
     "counts 6 6\nstream 6 0a0b0c0d0e0f\ndirectory 1 0 4\n", 0, 0, {10, 11, 12, 13, 15, 16}},
    {"past the chunk", CHUNK("s: u8[] per chunk", "u8", "decode { while out.pos < out.len { emit s.u8(); } }"),
     "counts 6 6\nstream 6 0a0b0c0d0e0f\ndirectory 1 0 5\n", 2, 4, {0}},
    {"too much", CHUNK("s: u8[] per chunk", "u8", "decode { let n = s.u8(); emit k in 0..n: k as u8; }"), "counts 4 1\nstream 1 05\ndirectory 1 0\n", 3, 0, {0}},
    {"too little", CHUNK("s: u8[] per chunk", "u8", "decode { let n = s.u8(); emit k in 0..n: k as u8; }"), "counts 4 1\nstream 1 03\ndirectory 1 0\n", 4, 0, {0}},
    {"work", CHUNK("s: u8[] per chunk", "u8", "decode { var k: u64 = 0; while k != s.len + 5000000 { k += 1; } emit s.u8(); }"),
     "counts 1 1\nstream 1 03\ndirectory 1 0\n", 10, 0, {0}},
    {"as much work as is allowed", // 64 * (1 byte + 1 element) + 65536
     CHUNK("s: u8[] per chunk", "u8", "decode { var k: u64 = 0; while k != s.len + 65663 { k += 1; } emit s.u8(); }"),
     "counts 1 1\nstream 1 03\ndirectory 1 0\n", 0, 0, {3}},
    {"one more", CHUNK("s: u8[] per chunk", "u8", "decode { var k: u64 = 0; while k != s.len + 65664 { k += 1; } emit s.u8(); }"),
     "counts 1 1\nstream 1 03\ndirectory 1 0\n", 10, 0, {0}},
    {"copies", CHUNK("s: u8[] per chunk", "u8", "decode { emit s.u8(); emit s.u8(); emit k in 0..2: out[out.pos - 2 + k]; }"),
     "counts 4 2\nstream 2 0809\ndirectory 1 0\n", 0, 0, {8, 9, 8, 9}},
    {"not yet emitted", CHUNK("s: u8[] per chunk", "u8", "decode { emit s.u8(); emit k in 0..3: out[out.pos - 1 + k]; }"),
     "counts 4 1\nstream 1 08\ndirectory 1 0\n", 1, 0, {0}},
    {"two binders emitted", CHUNK("n: u8[] per chunk", "u64", "decode { emit r in 0..n.len, j in 0..n[r]: r * 10 + j; }"),
     "counts 4 3\nstream 3 020002\ndirectory 1 0\n", 0, 0, {0, 1, 20, 21}},
    {"a scan in a region", CHUNK("s: u8[] per chunk", "u8", "decode { emit k in 0..out.len: sum(j in 0..=k: s[j]); }"),
     "counts 8 8\nstream 8 0102030405060708\ndirectory 1 0 4\n", 0, 0, {1, 3, 6, 10, 5, 11, 18, 26}},
    {"bit cursor", CHUNK("s: u8[] per chunk", "u64", "decode { emit s.read(3); emit s.peek(20); emit s.read(5); s.align(); emit s.u8() as u64; }"),
     "counts 4 2\nstream 2 f5aa\ndirectory 1 0\n", 0, 0, {5, 0x155e, 30, 0xaa}},
    {"bytes begin at bytes", CHUNK("s: u8[] per chunk", "u64", "decode { emit s.read(3); emit s.u8() as u64; emit s.read(4); emit s.pos; }"),
     "counts 4 3\nstream 3 f5aa17\ndirectory 1 0\n", 0, 0, {5, 0xaa, 7, 2}},
    {"most significant bit first", CHUNK("s: u8[] per chunk", "u64", "decode { emit s.read_msb(4); emit s.read_msb(8); emit s.bit_pos; emit s.pos; }"),
     "counts 4 2\nstream 2 abcd\ndirectory 1 0\n", 0, 0, {0xa, 0xbc, 12, 1}},
    {"numbers of bytes", CHUNK("s: u8[] per chunk", "u64", "decode { emit s.le(3); emit s.be(2); emit s.varint(); emit s.u16() as u64; }"),
     "counts 4 9\nstream 9 010203" "0102" "ac02" "0102\ndirectory 1 0\n", 0, 0, {0x030201, 0x0102, 300, 0x0201}},
    {"a long varint", CHUNK("s: u8[] per chunk", "u64", "decode { emit s.varint(); }"), "counts 1 11\nstream 11 8080808080808080808001\ndirectory 1 0\n", 2, 0, {0}},
    {"lanes", ALGORITHM("s: u8[] per chunk", "u32", "non_parallel(chunk = 100, lanes = 2)",
                        "state x: u32 = lane as u32 * 100; decode(i) { x += s.next(); return x; }"),
     "counts 5 5\nstream 5 0102030405\ndirectory 1 0\n", 0, 0, {1, 102, 4, 106, 9}},
    {"a chunk that fails takes its elements along",
     "algorithm a(s: u8[] per chunk) -> u8[] non_parallel(chunk = 2) { decode { emit s.u8(); require s.u8() == 1; emit 7; } encode extern \"none\"; }"
     "algorithm b(v: u8[]) -> u8[] fully_parallel { decode(i) = v[i + 2]; encode extern \"none\"; } table t { c: u8 = b(a); }",
     "counts 2 4 4\nstream 4 05000901\ndirectory 2 0 2\n", 6, 0, {0}},
    // ---- V20 .. V23
    {"param in its range", MAP("s: u8[], param p: u8 in 1..=4", "u8", "decode(i) = s[i] + p;"), "params 4\ncounts 1 1\nstream 1 01\n", 0, 0, {5}},
    {"param beyond", MAP("s: u8[], param p: u8 in 1..=4", "u8", "decode(i) = s[i] + p;"), "params 5\ncounts 1 1\nstream 1 01\n", 20, 0, {0}},
    {"length", MAP("s: u8[1 << p], param p: u8 in 0..=4", "u8", "decode(i) = s[i];"), "params 1\ncounts 1 2\nstream 2 0102\n", 0, 0, {1}},
    {"other length", MAP("s: u8[1 << p], param p: u8 in 0..=4", "u8", "decode(i) = s[i];"), "params 2\ncounts 1 2\nstream 2 0102\n", 21, 0, {0}},
    {"length a chunk", CHUNK("s: u8[1] per chunk", "u8", "decode { emit k in 0..out.len: s[0]; }"), "counts 6 2\nstream 2 0102\n", 0, 0, {1, 1, 1, 1, 2, 2}},
    {"chunk directory", CHUNK("s: u8[] per chunk", "u8", "decode { emit k in 0..out.len: s[k]; }"), "counts 6 6\nstream 6 010203040506\ndirectory 1 0 7\n", 22, 0, {0}},
    {"backwards", CHUNK("s: u8[] per chunk", "u8", "decode { emit k in 0..out.len: 1; }"), "counts 9 6\nstream 6 010203040506\ndirectory 1 0 4 3\n", 22, 0, {0}},
    {"entries", CHUNK("s: u8[] per chunk", "u8", "decode { emit k in 0..out.len: s[k]; }"), "counts 6 6\nstream 6 010203040506\ndirectory 1 0\n", 22, 0, {0}},
    {"bytes of a stream", MAP("s: u16[]", "u16", "decode(i) = s[i];"), "counts 1 1\nstream 1 010203\n", 23, 0, {0}},
    {"elements of a stream", MAP("s: u16[]", "u16", "decode(i) = s[i];"), "counts 1 2\nstream 1 0102\n", 23, 0, {0}},
    {"elements of an edge", MAP("s: u16[]", "u16", "decode(i) = s[i];"), "counts 9000000000 1\nstream 1 0102\n", 25, 0, {0}},
    // ---- Values
    {"conversions", MAP("s: f64[]", "i8", "decode(i) = s[i] as i8;"),
     "counts 3 3\nstream 3 000000000000f87f" "0000000000001cc0" "0000000000007040\n", 0, 0, {0, 0xf9, 0x7f}}, // NaN, -7, 256
    {"shifts", MAP("s: u8[]", "i32", "decode(i) = -5 >> s[i] | (1 as u8 << s[i]) as i32;"), "counts 2 2\nstream 2 0108\n", 0, 0, {0xffffffff, 0xffffffff}},
    {"early return", MAP("s: u8[]", "u8", "fn f(a: u8) -> u8 { if a > 2 { return a * 2; } return a; } decode(i) = f(s[i]) + f(1);"),
     "counts 3 3\nstream 3 010203\n", 0, 0, {2, 3, 7}},
    {"loops", MAP("s: u8[]", "u8", "decode(i) { var n: u8 = 0; for k in 0..10 { if k == 2 { continue; } if k == s[i] { break; } n += 1; } return n; }"),
     "counts 3 3\nstream 3 010563\n", 0, 0, {1, 4, 9}},
    {"a local array is zeroed each time",
     MAP("s: u8[]", "u8", "decode(i) { var n: u8 = 0; for k in 0..3 { var a: u8[4]; a[k] += s[i]; n += a[0] + a[1] + a[2]; } return n; }"),
     "counts 1 1\nstream 1 05\n", 0, 0, {15}},
};
// clang-format on

static void run_row(const row *r) {
    zf_spec *spec = load_text(r->name, r->program);
    CHECK(spec != NULL, "%s: the program has errors", r->name);
    if (!spec) return;
    const zf_column *column = zf_spec_find_table(spec, NULL)->columns;
    interp *in = interp_create(NULL);
    interp_block block;
    zf_text message = {0};
    interp_stream *out;
    interp_report report;
    bool read = gen_block_read(in, r->block, &block, &message);
    CHECK(read, "%s: %s", r->name, message.data ? message.data : "");
    interp_status status = read ? interp_decode_stored(in, column, &block, &out, &report) : INTERP_MISUSE;
    if (r->violation) {
        CHECK(status == INTERP_VIOLATION && report.violation.number == r->violation && report.root_position == r->position,
              "%s: %s, V%02u at %llu", r->name, interp_status_name(status), report.violation.number,
              (unsigned long long)report.root_position);
    } else {
        CHECK(status == INTERP_OK && !report.unreached, "%s: %s, V%02u at %llu", r->name, interp_status_name(status),
              report.violation.number, (unsigned long long)report.root_position);
        for (uint64_t k = 0; status == INTERP_OK && k < interp_stream_count(out); k++) {
            CHECK(interp_stream_bits(out, k, NULL) == r->values[k], "%s: element %llu is %llx", r->name, (unsigned long long)k,
                  (unsigned long long)interp_stream_bits(out, k, NULL));
        }
    }
    const interp_claims *claims = interp_claims_of(in);
    CHECK(!claims->range && !claims->proved, "%s: the checker is wrong: %s", r->name, claims->where);
    zf_text_free(&message);
    interp_destroy(in);
    zf_spec_destroy(spec);
}

// ---- Encoding -------------------------------------------------------------------------------------------------

static const char encoders[] =
    "algorithm wide(s: u64[]) -> u8[] fully_parallel { decode(i) = s[i] as u8; encode(x) { for v in x { s.push(v); } } "
    "}\n"
    "algorithm lie(s: u8[]) -> u8[] fully_parallel { decode(i) = s[i] / 2; encode(x) { for v in x { s.push(v); } } }\n"
    "algorithm no(s: u8[]) -> u8[] fully_parallel { decode(i) = s[i]; encode(x) { if x.len < 100 { refuse \"never\"; } "
    "s.append(x); } }\n"
    "algorithm leaves(s: u8[]) -> u8[] fully_parallel { decode(i) = s[i]; encode(x) { var a: u8[4]; for k in 0..x.len "
    "{ a[k] = x[k]; s.push(a[k]); } } }\n"
    "algorithm far(s: u8[]) -> u8[] fully_parallel { decode(i) = s[i]; encode extern \"far\"; }\n"
    "algorithm near(c: u8[] per chunk, e: u8[] per chunk) -> u8[] non_parallel(chunk = 2) {\n"
    "    decode { emit k in 0..out.len: e[c[k]]; } encode(x) { for v in chunks(x) { for b in v { c.push(e.intern(b) as "
    "u8); } } } }\n"
    "algorithm framed(s: u8[]) -> u8[] fully_parallel { decode(i) = s[i + 1]; encode(x) { s.push(9); s.append(x); "
    "s.push(8); } }\n"
    "algorithm pieces(n: u8[], s: u8[]) -> u8[] fully_parallel {\n"
    "    decode(i) = s[i]; encode(x) { for p in x.parts { n.push(p.len as u8); s.append(p); } } }\n"
    "table t {\n"
    "    local: u8 = near;\n"
    "    parts: u8 = framed(pieces);\n"
    "    smallest: u8 = wide | lie | no | plain(plain) | plain;\n"
    "    refused: u8 = no;\n"
    "    lying: u8 = lie;\n"
    "    leaving: u8 = leaves;\n"
    "    absent: u8 = far;\n"
    "}\n";

// `path`: the streams on the way to one that must hold `want_bytes`, as slots; "" when that is not looked at.
static void encode_case(const zf_spec *spec, const char *name, interp_status want, uint32_t branch, const char *path,
                        const char *want_bytes) {
    const zf_column *column = zf_spec_find_table(spec, "t")->columns;
    while (strcmp(column->name, name) != 0) column = column->next;
    interp *in = interp_create(NULL);
    const uint8_t bytes[] = {4, 2, 3, 4, 3};
    interp_stream *plain = interp_stream_raw(in, column->type, bytes, sizeof bytes);
    interp_tree *tree;
    interp_report report;
    interp_status status = interp_encode(in, column, plain, &tree, &report);
    CHECK(status == want, "%s: %s: %s", name, interp_status_name(status), report.message);
    CHECK(status == INTERP_OK || report.message[0], "%s: a reason is given", name);
    CHECK(!tree || tree->branch == branch, "%s: branch %u", name, tree->branch);
    for (; tree && path[0] && path[1]; path++) tree = tree->children[path[0] - '0'];
    if (tree && path[0]) {
        const interp_stream *stream = tree->streams[path[0] - '0'];
        uint64_t size = strlen(want_bytes);
        CHECK(interp_stream_count(stream) == size && memcmp(interp_stream_bytes(stream), want_bytes, size) == 0,
              "%s: other bytes", name);
    }
    interp_destroy(in);
}

static void test_encoders(void) {
    zf_spec *spec = load_text("encoders", encoders);
    CHECK(spec != NULL, "the encoders have errors");
    if (!spec) return;
    encode_case(spec, "smallest", INTERP_OK, 3, "", "");
    encode_case(spec, "refused", INTERP_REFUSED, 0, "", "");
    encode_case(spec, "lying", INTERP_UNVERIFIED, 0, "", "");
    encode_case(spec, "leaving", INTERP_VIOLATION, 0, "", "");
    encode_case(spec, "absent", INTERP_NO_EXTERN, 0, "", "");
    encode_case(spec, "local", INTERP_OK, 0, "1", "\4\2\3\4\3");
    encode_case(spec, "parts", INTERP_OK, 0, "00", "\1\5\1");
    zf_spec_destroy(spec);
}

int main(void) {
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) run_row(&rows[k]);
    test_encoders();
    return check_result();
}
