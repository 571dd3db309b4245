// Columns whose elements a coder's elements hold, a few bits each: which of them the coder's kernel stores itself, by the tuple
// of their params, and that it makes what the interpreter makes: every width that divides and others, sizes around chunks, tiles
// and a coder's element that is not full, ranges of rows, outputs that are not aligned, damaged blocks. Arguments: names of
// tables (all without).
#include <stdlib.h>
#include <string.h>

#include "tests/differential/diff_chunks.h"
#include "tests/differential/diff_encode.h"
#include "tests/differential/diff_file.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum { ROUNDS = 16 }; ///< rows that a warp makes without asking whether they exist

/// A coder of elements of 16, 32 and 64 bits, and parents: of lookups that are checked, of bits that are asked for twice or the
/// other way around, with another stream at the same index, with a check of its own, of bits that are signed or are not; a
/// coder whose tables, words that are read ahead and four bits' elements take more shared memory than there is.
static const char program[] =
    "algorithm steps<T: unsigned>(first: T[] per chunk) -> T[] non_parallel(chunk = 512, lanes = 32) {\n"
    "    decode(i) = first.next() ^ (i % 7) as T;\n"
    "    encode(x) { for c in chunks(x) { for i in 0..c.len { first.push(c[i] ^ (i % 7) as T); } } }\n"
    "}\n"
    "algorithm beside<T: integer>(packed: u8[], low: T[], param width: u8 in 0..=8) -> T[] fully_parallel {\n"
    "    decode(i) { let b = packed.bits(i * width, width); return low[i] + (b * 3 + (b & 1)) as T; }\n"
    "    encode(x) {\n"
    "        width = 0;\n"
    "        for v in x { width = max(width, bit_width(v as u64 & 255)); }\n"
    "        for v in x { let b = v as u64 & 255; packed.push_bits(b, width); low.push(v - (b * 3 + (b & 1)) as T); }\n"
    "    }\n"
    "}\n"
    "algorithm wary(packed: u8[], param width: u8 in 0..=8, param most: u8) -> u8[] fully_parallel {\n"
    "    decode(i) {\n"
    "        let b = packed.bits(i * width, width) as u8;\n"
    "        require b <= most;\n"
    "        return most - b;\n"
    "    }\n"
    "    encode(x) {\n"
    "        most = max(x);\n"
    "        width = 0;\n"
    "        for v in x { width = max(width, bit_width(most - v)); }\n"
    "        for v in x { packed.push_bits(most - v, width); }\n"
    "    }\n"
    "}\n"
    "algorithm nibbles(packed: u8[], param width: u8 in 0..=8 = 4) -> u8[] fully_parallel {\n"
    "    decode(i) = packed.bits(i * width, width) as u8 + 11;\n"
    "    encode(x) { for v in x { packed.push_bits(v - 11 & 15, 4); } }\n"
    "}\n"
    "algorithm narrow(packed: u8[], param width: u8 in 0..=8, param base: i16) -> i16[] fully_parallel {\n"
    "    decode(i) = base + (packed.bits(i * width, width) as i8) as i16;\n"
    "    encode(x) {\n"
    "        base = min(x);\n"
    "        width = 0;\n"
    "        for v in x { width = max(width, bit_width((v as i64 - base as i64) as u64)); }\n"
    "        if width == 8 { base = (base as i64 + 128) as i16; }\n"
    "        for v in x { packed.push_bits((v as i64 - base as i64) as u64 & 255, width); }\n"
    "    }\n"
    "}\n"
    "algorithm signs(packed: u8[], param width: u8 in 0..=8) -> i16[] fully_parallel {\n"
    "    decode(i) = packed.bits(i * width, width) as i8 as i16;\n"
    "    encode(x) { width = 8; for v in x { packed.push_bits(v as u64 & 255, width); } }\n"
    "}\n"
    "algorithm by_bytes(packed: u8[], param width: u8 in 0..=8, param base: i16) -> i16[] fully_parallel {\n"
    "    decode(i) = (packed.bits(i * width, width) as u8) as i16 + base;\n"
    "    encode(x) {\n"
    "        base = min(x);\n"
    "        width = 0;\n"
    "        for v in x { width = max(width, bit_width((v as i64 - base as i64) as u64)); }\n"
    "        for v in x { packed.push_bits((v as i64 - base as i64) as u64, width); }\n"
    "    }\n"
    "}\n"
    "algorithm two_tables(words: u16[] per chunk, lo: u32[4096], hi: u32[4096]) -> u8[] non_parallel(chunk = 512, lanes = 32) {\n"
    "    decode(i) { let w = words.next(); return (lo[w & 4095] + hi[w >> 4]) as u8; }\n"
    "    encode(x) {\n"
    "        for k in 0..4096 { lo.push(0); hi.push(k as u32); }\n"
    "        for c in chunks(x) { for v in c { words.push((v as u16) << 4); } }\n"
    "    }\n"
    "}\n"
    "algorithm high_first(packed: u8[], param width: u8 in 0..=8) -> u8[] fully_parallel {\n"
    "    decode(i) = packed.bits_msb(i * width, width) as u8;\n"
    "    encode(x) {\n"
    "        width = 8;\n"
    "        for v in x { packed.push(v); }\n"
    "    }\n"
    "}\n"
    "algorithm twice(packed: u8[], param width: u8 in 0..=8) -> u8[] fully_parallel {\n"
    "    decode(i) = packed.bits(i * width, width) as u8 ^ packed[0];\n"
    "    encode(x) {\n"
    "        width = 8;\n"
    "        for v in x { packed.push(packed.len == 0 ? 0 : v); }\n"
    "        if x.len > 0 { require x[0] == 0; }\n"
    "    }\n"
    "}\n";

/// Columns that are coded in 1, 2, .. bits: `widths` those that are tried. `unpacks`: whether the coder stores those that
/// divide.
static const struct {
    const char *name, *type, *codec, *widths;
    unsigned bits; ///< of a coder's element; 0: how many bits it is coded in the data do not say
    bool unpacks;
    int base; ///< the smallest value; -1: any
} columns[] = {
    {"tans_u8", "u8", "bitpack(packed: u8[] = tans(slots: tans_slots(tans_symbols), chunk: 1024))", "123458", 8, true, -1},
    {"rans_u8", "u8", "bitpack(packed: u8[] = rans(slots: rans_slots, chunk: 512))", "124", 8, true, -1},
    {"huffman_i8", "i8", "bitpack(packed: u8[] = huffman(slots: huffman_table, chunk: 600))", "1248", 8, true, -1},
    {"odd_u8", "u8", "bitpack(packed: u8[] = tans(chunk: 33))", "1248", 8, true, -1},
    {"tans_u16", "u16", "bitpack(packed: u8[] = tans(chunk: 512))", "1248", 8, true, -1},
    {"tans_i32", "i32", "bitpack(packed: u8[] = tans(chunk: 512))", "1248", 8, true, -1},
    {"tans_i64", "i64", "bitpack(packed: u8[] = tans(chunk: 512))", "1248", 8, true, -1},
    {"given_u8", "u8", "nibbles(packed: tans(chunk: 512))", "4", 8, true, 11},
    {"steps_u8", "u8", "bitpack(packed: u8[] = steps)", "128", 8, true, -1},
    {"halves_u8", "u8", "bitpack(packed: u16[] = steps)", "12348", 16, true, -1},
    {"halves_i32", "i32", "bitpack(packed: u16[] = steps)", "124G", 16, true, -1},
    {"words_u16", "u16", "bitpack(packed: u32[] = steps)", "12348G", 32, true, -1},
    {"longs_i32", "i32", "bitpack(packed: u64[] = steps)", "14G", 64, true, -1},
    {"floats", "f64", "float2int(bitpack(packed: u8[] = tans(chunk: 512)))", "1248", 8, true, 1000},
    {"looked_up", "u8", "dictionary(codes: bitpack(packed: u8[] = tans(chunk: 512)))", "1248", 8, true, -1},
    {"looked_up_i64", "i64", "dictionary(codes: bitpack(packed: u8[] = tans(chunk: 512)))", "124", 8, true, -1},
    {"much_shared", "i64", "dictionary(codes: bitpack(packed: u8[] = two_tables))", "124", 8, true, -1},
    {"beside_i32", "i32", "beside(packed: tans(chunk: 512), low: bitpack)", "1248", 8, true, -1},
    {"both_coded", "i32", "beside(packed: tans(chunk: 512), low: bitpack(packed: u8[] = tans(chunk: 512)))", "12", 0, true, 0},
    {"wary_u8", "u8", "wary(packed: tans(chunk: 512))", "1248", 8, true, -1},
    {"narrow_i16", "i16", "narrow(packed: tans(chunk: 512))", "1248", 8, true, -1},
    {"signs_i16", "i16", "signs(packed: tans(chunk: 512))", "8", 8, true, 65536 - 128},
    {"by_bytes_i16", "i16", "by_bytes(packed: tans(chunk: 512))", "1248", 8, true, -1},
    {"high_first", "u8", "high_first(packed: tans(chunk: 512))", "8", 8, false, -1},
    {"twice", "u8", "twice(packed: tans(chunk: 512))", "8", 8, false, 0},
    {"scanned", "i32", "delta(bitpack(packed: u8[] = tans(chunk: 512)))", "24", 8, false, -1},
    {"nullable", "u8?", "nullable(values: bitpack(packed: u8[] = tans(chunk: 512)))", "24", 8, false, -1},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct run {
    diff_machine machine;
    diff_program program;
    diff_tally tally;
    uint64_t blocks, damaged, fused, apart;
} run;

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/// Values that need `width` bits once the smallest was subtracted, all that there are where there are so many rows, one of which
/// is likely: near the ends of the type, or from `base` on.
static interp_stream *data(interp *in, zf_type type, int base, unsigned width, uint64_t rows, uint64_t seed) {
    interp_stream *plain = interp_stream_new(in, type);
    zf_kind kind = zf_type_value(type).kind;
    unsigned bits = zf_kind_bits(kind);
    uint64_t most = (UINT64_C(1) << width) - 1, state = seed, all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    uint64_t from = seed % 3 == 0 ? all / 2 - most : seed % 3 == 1 ? 0 : all - most;
    if (zf_kind_is_signed(kind) && seed % 3 == 1) from = all - most / 2; // around 0
    if (base >= 0) from = (uint64_t)base;
    for (uint64_t k = 0; k < rows; k++) {
        uint64_t v = k == 0 ? 0 : k == 1 ? most : k <= most ? k - 1 : next(&state) % 3 == 0 ? next(&state) & most : most / 2;
        v = (v + from) & all;
        if (zf_kind_is_float(kind)) {
            double fraction = (double)v / 100;
            memcpy(&v, &fraction, 8);
        }
        interp_stream_push(plain, v);
    }
    return plain;
}

/// Whether the coder stores the column in the code for the block's params.
static bool is_fused(diff_case *c, const interp_block *block) {
    uint64_t shaping[64];
    const zf_abi_code *code;
    zf_error error;
    zf_decoder *decoder = diff_decoder_for(c, DIFF_GPU, block->branches, block->branch_count, &error);
    CHECK(decoder != NULL, "%s", error.message);
    if (decoder == NULL) return false;
    for (uint32_t k = 0; k < decoder->abi.shaping_count && k < 64; k++)
        shaping[k] = diff_param(decoder, block, decoder->abi.shaping[k]);
    zf_status status = zf_decoder_code_for(decoder, shaping, &code, &error);
    CHECK(status == ZF_OK, "%s", error.message);
    if (status != ZF_OK) return false;
    uint32_t last = decoder->abi.kernel_count - 1, storing = 0;
    for (uint32_t k = 0; k < last; k++) storing += code->simt[k].to_column;
    CHECK(storing == (code->simt[last].threads == 0), "%u kernels store in place of the last, of %u threads", storing,
          code->simt[last].threads);
    return storing > 0;
}

static void check_block(run *r, diff_case *c, interp *in, const interp_block *block, uint64_t seed, const char *what,
                        bool valid) {
    zf_text message = {0};
    diff_verdict verdict = diff_check_block(c, in, block, seed, &message);
    bool good = valid ? verdict == DIFF_SAME_BYTES : verdict != DIFF_DISAGREE && verdict != DIFF_UNSUPPORTED;
    CHECK(good, "%s: %s: %s", what, diff_verdict_name(verdict), message.data != NULL ? message.data : "");
    r->blocks += valid;
    r->damaged += !valid;
    zf_text_free(&message);
}

static void run_block(run *r, diff_case *c, unsigned k, unsigned width, uint64_t rows, uint64_t seed, bool damage) {
    char what[200];
    interp_options options = {.no_verify = true};
    interp *in = interp_create(&options);
    interp_stream *plain = data(in, c->column->type, columns[k].base, width, rows, seed);
    interp_block block;
    zf_text message = {0};
    snprintf(what, sizeof what, "%s, %u bits, %llu rows", columns[k].name, width, (ull)rows);
    diff_encoded encoded = diff_check_encode(&r->program, c->column, in, plain, &block, &message);
    CHECK(encoded == DIFF_ENCODED, "%s: encoding: %s", what, message.data != NULL ? message.data : "");
    if (encoded == DIFF_ENCODED) {
        check_block(r, c, in, &block, seed, what, true);
        bool fused = is_fused(c, &block), wanted = columns[k].unpacks && columns[k].bits % width == 0;
        r->fused += fused;
        r->apart += !fused;
        if (rows >> width > 0 && columns[k].bits > 0)
            CHECK(fused == wanted, "%s: the coder's kernel %s the column", what, fused ? "stores" : "does not store");
        c->undamaged = &block;
        diff_chunk_trial t = {.rows = rows, .seed = seed, .every = true};
        for (unsigned d = 0; damage && d < diff_chunk_damages(&t, &block); d += d < DIFF_CHUNK_RANDOM ? 1 : 5) {
            interp_block damaged = block;
            if (diff_chunk_damage(in, c->column, &t, (unsigned)(d + seed % 5), &damaged))
                check_block(r, c, in, &damaged, seed + d, what, false);
        }
        c->undamaged = NULL;
    }
    zf_text_free(&message);
    interp_destroy(in);
}

static uint64_t chunk_of(const zf_codec_choice *choice) {
    const zf_codec_node *node = choice->alternatives[0];
    if (node->inst->pattern == ZF_NON_PARALLEL) return node->chunk_size;
    for (uint32_t s = 0; s < node->inst->stream_count; s++)
        if (node->streams[s] != NULL) return chunk_of(node->streams[s]);
    return 512;
}

/// By a decoder of its own, of which few tuples of params get code of their own.
static void run_width(run *r, const zf_column *column, unsigned k, unsigned width) {
    diff_case c = {
        .machine = &r->machine, .spec = diff_program_spec(&r->program), .column = column, .exact_nans = true, .tally = &r->tally};
    uint64_t chunk = chunk_of(column->codec), each = columns[k].bits >= width ? columns[k].bits / width : 1;
    uint64_t whole = chunk * each, round = ROUNDS * 32 * each;
    const uint64_t sizes[] = {1, 2, each + 1, round + each - 1, whole - 1, whole, whole + 1, 2 * whole + 100 * each + 3};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (unsigned s = 0; s < SIZES; s++) {
        if ((s + width + k) % 3 != 0 && s + 1 < SIZES) continue; // each size of some widths
        run_block(r, &c, k, width, sizes[s], width + k + s, s + 1 == SIZES && (width + k) % 2 == 0);
    }
    if (width == 1) run_block(r, &c, k, width, 0, 1, false);
    diff_case_close(&c);
}

static void run_column(run *r, unsigned k) {
    char table[40], place[80];
    snprintf(table, sizeof table, "of_%s", columns[k].name);
    snprintf(place, sizeof place, "differential_unpacking %s", columns[k].name);
    diff_set_case(place);
    const zf_column *column = zf_spec_find_table(diff_program_spec(&r->program), table)->columns;
    for (const char *w = columns[k].widths; *w != 0; w++) run_width(r, column, k, *w == 'G' ? 16 : (unsigned)(*w - '0'));
}

int main(int count, char **names) {
    run *r = calloc(1, sizeof *r);
    zf_text text = {0}, message = {0};
    zf_text_puts(&text, program);
    for (unsigned k = 0; k < COLUMNS; k++)
        zf_text_printf(&text, "table of_%s { c: %s = %s; }\n", columns[k].name, columns[k].type, columns[k].codec);
    bool good =
        diff_machine_open(&r->machine, NULL, &message) && diff_program_open(&r->machine, text.data, &r->program, &message);
    CHECK(good, "%s", message.data != NULL ? message.data : "the program has errors");
    for (unsigned k = 0; good && k < COLUMNS; k++) {
        bool wanted = count == 1;
        for (int n = 1; n < count; n++) wanted = wanted || strcmp(names[n], columns[k].name) == 0;
        if (wanted) run_column(r, k);
    }
    printf("%llu blocks, of which the coder stored %llu; %llu damaged; %llu runs, %llu ranges\n", (ull)r->blocks, (ull)r->fused,
           (ull)r->damaged, (ull)r->tally.runs, (ull)r->tally.ranges);
    diff_program_close(&r->program);
    diff_machine_close(&r->machine);
    zf_text_free(&text);
    zf_text_free(&message);
    free(r);
    return check_result();
}
