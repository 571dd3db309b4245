// Chunks whose warp appends records, and loops of running sums. Where a check fails, a slow way makes their elements again, so
// that whoever always took it would make right elements. Here the slow way is left out (codegen/body/cg_fault_sites.h), and good
// blocks are decoded: of encoders, and blocks of steps that are at an edge of the executor or of guesses. Blocks that end too
// early are decoded with it, and fail as the interpreter says. Arguments: `ways`, `edges`.
#include <stdlib.h>
#include <string.h>

#include "codegen/body/cg_fault_sites.h"
#include "patterns/graph/graph.h"
#include "tests/differential/diff_encode.h"
#include "tests/differential/diff_trials.h"
#include "tests/interp/data.h"
#include "tests/interp/interp_internal.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

#define RECORDS_FILE ZF_SOURCE_DIR "/tests/differential/records.zf"

static const char slow_path[] = "the slow path"; // of chunks that fail, and of sums

typedef struct run {
    diff_machine machine;
    diff_program program;
    uint64_t decodes;
} run;

/// A column's code without sites of one purpose.
typedef struct code {
    const zf_column *column;
    zf_fault_sites sites;
    zf_decoder *decoder;
    const zf_abi_code *code;
} code;

// How the only kernel is lowered: choices. 0: the default.
typedef struct way {
    uint32_t records, warps;
} way;

static bool make_code(run *r, const zf_column *column, const interp_block *like, const char *without, way chosen, code *out) {
    zf_error error = {0};
    zf_choices choices = {.count = 1};
    if (chosen.records > 0) zf_choose(&choices.of[0], ZF_CHOICE_RECORDS, chosen.records);
    if (chosen.warps > 0) zf_choose(&choices.of[0], ZF_CHOICE_WARPS, chosen.warps);
    *out = (code){.column = column, .sites = {.all_of = without}};
    zf_plan_request request = {.target = diff_target(&r->machine, DIFF_GPU), .sites = &out->sites, .choices = &choices};
    bool made = zf_decoder_create(diff_compiler(&r->machine, DIFF_GPU), column, like->branches, like->branch_count, &request,
                                  &out->decoder, &error) == ZF_OK &&
                zf_decoder_code_for(out->decoder, NULL, &out->code, &error) == ZF_OK;
    CHECK(made, "%s.%s: %s", column->table->name, column->name, error.message);
    CHECK(!made || without == NULL || out->sites.all_count > 0, "%s.%s does not have %s", column->table->name, column->name,
          without);
    return made;
}

// Decodes rows of a block, which diff_run's poison is under.
static void decode(run *r, const code *c, const interp_block *block, uint64_t begin, uint64_t end, diff_result *got) {
    diff_laid laid;
    if (!diff_lay_out(c->decoder, block, NULL, &laid, got)) return;
    diff_call call = {.machine = &r->machine,
                      .decoder = c->decoder,
                      .code = c->code,
                      .laid = &laid,
                      .begin = begin,
                      .end = end,
                      .threads = 1,
                      .order = r->decodes % 8,
                      .unaligned = r->decodes % 2 == 1};
    diff_run(&call, got);
    r->decodes++;
    free(laid.bytes);
}

// All rows, or some, of a good block are those of `wanted`, the bytes of all of them.
static void check_rows(run *r, const code *c, const interp_block *block, uint64_t begin, uint64_t end, const uint8_t *wanted,
                       const char *what) {
    diff_result got;
    size_t size = zf_kind_size(c->column->type.kind);
    decode(r, c, block, begin, end, &got);
    const char *name = c->column->name, *table = c->column->table->name;
    CHECK(got.kind == DIFF_BYTES, "%s.%s, %s, rows %llu..%llu: %s", table, name, what, (ull)begin, (ull)end, got.text);
    bool same = got.kind == DIFF_BYTES && got.size == (end - begin) * size;
    uint64_t row = begin;
    while (same && row < end && memcmp(got.bytes + (row - begin) * size, wanted + row * size, size) == 0) row++;
    CHECK(got.kind != DIFF_BYTES || row == end, "%s.%s, %s, rows %llu..%llu: row %llu is another", table, name, what, (ull)begin,
          (ull)end, (ull)row);
    diff_result_free(&got);
}

static const zf_column *find_column(run *r, const char *table, const char *name) {
    for (const zf_table *t = zf_spec_tables(diff_program_spec(&r->program)); t != NULL; t = t->next) {
        if (strcmp(t->name, table) != 0) continue;
        for (const zf_column *c = t->columns; c != NULL; c = c->next)
            if (strcmp(c->name, name) == 0) return c;
    }
    CHECK(false, "no column %s.%s", table, name);
    return NULL;
}

// ---- Ways -----------------------------------------------------------------------------------------------------

enum { WAYS_ROWS = 1900, WAYS_TINY = 3 };

static const data_shape shapes[] = {DATA_ZIPF, DATA_SORTED, DATA_EVEN_16, DATA_RUNS_16, DATA_FULL_RANGE, DATA_CONSTANT};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static bool encode(interp *in, const zf_column *column, const interp_stream *plain, interp_block *block) {
    interp_tree *tree;
    interp_report report;
    return interp_encode(in, column, plain, &tree, &report) == INTERP_OK && interp_flatten(in, column, tree, block) == INTERP_OK;
}

static void check_ways(run *r, const char *table, unsigned number, way chosen) {
    const zf_column *column = find_column(r, table, "c");
    interp *in = interp_create(&(interp_options){.no_verify = true});
    code c = {0};
    unsigned taken = 0;
    for (unsigned s = 0; column != NULL && s < SHAPES; s++) {
        uint64_t rows = s == 0 ? WAYS_TINY : WAYS_ROWS + s;
        interp_stream *plain = data_stream(in, column->type, shapes[(s + number) % SHAPES], s + number, rows);
        interp_block block;
        if (!encode(in, column, plain, &block)) continue;
        if (c.code == NULL && !make_code(r, column, &block, slow_path, chosen, &c)) break;
        const uint8_t *wanted = interp_stream_bytes(plain);
        check_rows(r, &c, &block, 0, rows, wanted, data_shape_name(shapes[(s + number) % SHAPES]));
        check_rows(r, &c, &block, rows / 3, rows - rows / 4, wanted, data_shape_name(shapes[(s + number) % SHAPES]));
        taken++;
    }
    CHECK(taken >= 3, "%s took %u blocks", table, taken);
    zf_decoder_free(c.decoder);
    interp_destroy(in);
}

static void run_ways(run *r) {
    // `copies` is not of them: it copies nothing from before its chunk, which is left to the slow path.
    static const char *const records[] = {"on_std_lz4",     "on_std_snappy",   "on_std_packbits", "on_std_byte_rle",
                                          "on_std_rle1",    "on_std_lz_split", "on_window",       "on_mixed_turns",
                                          "on_plain_turns", "on_packbits",     "on_by_steps",     "on_by_parts"};
    // Sums, steps that are walked, which have one warp, and columns of several kernels. rle2: also check_runs
    static const char *const others[] = {"on_std_delta", "on_short_sums",  "on_long_sums",   "on_std_lz_coded",
                                         "on_std_rle2",  "on_some_walked", "on_wide_walked", "on_window_deep"};
    for (unsigned k = 0; k < sizeof records / sizeof *records; k++)
        for (uint32_t warps = 1; warps <= 8; warps *= 2) check_ways(r, records[k], k, (way){.warps = warps});
    for (unsigned k = 0; k < sizeof others / sizeof *others; k++) check_ways(r, others[k], k, (way){0});
    // They emit in several places, and have arrays; `ramps`, zlib and gzip read what they emitted.
    static const char *const anywhere[] = {"on_ramps", "on_pieces", "on_called", "on_std_deflate", "on_std_zlib", "on_std_gzip"};
    for (unsigned k = 0; k < sizeof anywhere / sizeof *anywhere; k++) check_ways(r, anywhere[k], k, (way){.records = 1});
}

// ---- Edges ----------------------------------------------------------------------------------------------------

enum { MOST_STEPS = 2200, MOST_ROWS = 16384, MOST_BYTES = 8 * MOST_ROWS };

/// Elements of their own, then elements that are copied from `back` before.
typedef struct step {
    uint32_t own, copied, back;
} step;

/// A chunk as its steps, the elements that they make, and its bytes.
typedef struct chunk {
    step steps[MOST_STEPS];
    uint32_t step_count;
    uint8_t plain[MOST_BYTES], bytes[2 * MOST_BYTES];
    uint64_t rows, size;
    uint32_t size_of; ///< an element
    data_random random;
} chunk;

static void push(chunk *k, uint64_t byte) { k->bytes[k->size++] = (uint8_t)byte; }

static void push_le(chunk *k, uint64_t value, unsigned bytes) {
    for (unsigned b = 0; b < bytes; b++) push(k, value >> 8 * b);
}

static void push_varint(chunk *k, uint64_t value) {
    for (; value >= 128; value >>= 7) push(k, value | 128);
    push(k, value);
}

// Makes `count` elements: of bytes any, else such as rise by one. Returns the first.
static uint64_t make_own(chunk *k, uint32_t count) {
    uint64_t first = data_next(&k->random), value = first;
    for (uint32_t n = 0; n < count; n++, value = k->size_of == 1 ? data_next(&k->random) : value + 1)
        memcpy(k->plain + k->rows++ * k->size_of, &value, k->size_of);
    return first;
}

static void make_copied(chunk *k, uint32_t count, uint32_t back) {
    for (uint32_t n = 0; n < count; n++, k->rows++)
        memcpy(k->plain + k->rows * k->size_of, k->plain + (k->rows - back) * k->size_of, k->size_of);
}

static void push_plain(chunk *k, uint64_t from) {
    memcpy(k->bytes + k->size, k->plain + from, k->rows - from);
    k->size += k->rows - from;
}

static void push_lz4_length(chunk *k, uint32_t length) {
    for (length -= 15; length >= 255; length -= 255) push(k, 255);
    push(k, length);
}

// Copies have four bytes or more. The last step has literals alone.
static void write_lz4(chunk *k) {
    for (uint32_t s = 0; s < k->step_count; s++) {
        const step *t = &k->steps[s];
        uint64_t from = k->rows;
        uint32_t m = t->copied < 4 ? 4 : t->copied, low = s + 1 == k->step_count ? 0 : m - 4;
        push(k, (t->own < 15 ? t->own : 15) << 4 | (low < 15 ? low : 15));
        if (t->own >= 15) push_lz4_length(k, t->own);
        make_own(k, t->own);
        push_plain(k, from);
        if (s + 1 == k->step_count) break;
        push_le(k, t->back, 2);
        if (low >= 15) push_lz4_length(k, low);
        make_copied(k, m, t->back);
    }
}

static void write_snappy(chunk *k, uint64_t rows) {
    push_varint(k, rows);
    for (uint32_t s = 0; s < k->step_count; s++) {
        const step *t = &k->steps[s];
        uint64_t from = k->rows;
        unsigned bytes = t->own <= 60 ? 0 : t->own <= 256 ? 1 : 2 + s % 3; // also more than it needs
        if (t->own > 0) {
            push(k, (bytes == 0 ? t->own - 1 : 59 + bytes) << 2);
            push_le(k, t->own - 1, bytes);
        }
        make_own(k, t->own);
        push_plain(k, from);
        for (uint32_t left = t->copied; left > 0;) {
            uint32_t n = left < 64 ? left : 64;
            if (n >= 4 && n < 12 && t->back < 2048) {
                push(k, t->back >> 8 << 5 | (n - 4) << 2 | 1);
                push(k, t->back);
            } else {
                push(k, (n - 1) << 2 | (s % 5 == 4 ? 3 : 2));
                push_le(k, t->back, s % 5 == 4 ? 4 : 2);
            }
            make_copied(k, n, t->back);
            left -= n;
        }
    }
}

// Bytes lie before what is copied; of other elements the first is given, and their copies are steps of their own.
static void write_back(chunk *k) {
    for (uint32_t s = 0; s < k->step_count; s++) {
        const step *t = &k->steps[s];
        uint64_t from = k->rows, first = make_own(k, t->own);
        push_varint(k, t->own);
        if (k->size_of == 1) {
            push_plain(k, from);
        } else {
            push(k, 0);
            push_le(k, first, k->size_of);
        }
        push_varint(k, t->copied);
        push_varint(k, t->back);
        make_copied(k, t->copied, t->back);
    }
}

static uint64_t rows_of(const chunk *k) {
    uint64_t rows = 0;
    for (uint32_t s = 0; s < k->step_count; s++) rows += k->steps[s].own + k->steps[s].copied;
    return rows;
}

static void write_chunk(chunk *k, const zf_column *column) {
    k->rows = k->size = 0;
    k->size_of = (uint32_t)zf_kind_size(column->type.kind);
    k->random = (data_random){.state = 5};
    if (strcmp(column->name, "lz4") == 0)
        write_lz4(k);
    else if (strcmp(column->name, "snappy") == 0)
        write_snappy(k, rows_of(k));
    else
        write_back(k);
}

static void add(chunk *k, uint32_t own, uint32_t copied, uint32_t back) {
    k->steps[k->step_count++] = (step){.own = own, .copied = copied, .back = copied > 0 ? back : 1};
}

// The number of an edge of the chunk `number`, and what it is about; NULL: there are no more chunks.
static const char *make_steps(chunk *k, unsigned number, uint32_t wave) {
    static const uint32_t backs[] = {1, 2, 3, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 513};
    enum { BACKS = sizeof backs / sizeof *backs };
    uint32_t tile = 4 * wave, window = 32 * wave;
    k->step_count = 0;
    switch (number) {
    case 0: // elements alone: around a tile, the window and its halves
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 8: {
        const uint32_t sizes[] = {1, 2, tile - 1, tile, tile + 1, 2 * tile, window / 2 - 1, window, 3 * window + 5};
        add(k, sizes[number], 0, 0);
        return "elements of one step";
    }
    case 9: // lengths that LZ4 has further bytes for, and Snappy one or two
        for (uint32_t n = 14; n <= 16; n++) add(k, n, n + 4, n);
        for (uint32_t n = 269; n <= 271; n++) add(k, n, n + 4, 7);
        for (uint32_t n = 524; n <= 526; n++) add(k, n, n + 4, 3 * n);
        for (uint32_t n = 59; n <= 66; n++) add(k, n, n, n - 1);
        add(k, 5, 0, 0);
        return "lengths";
    case 10: // each distance, as short as it is, longer, and over and over
        add(k, 520, 0, 0);
        for (uint32_t d = 0; d < BACKS; d++) {
            add(k, 1 + d % 3, backs[d] < 4 ? 4 : backs[d], backs[d]);
            add(k, d % 2, backs[d] + 5, backs[d]);
        }
        for (uint32_t d = 0; d < BACKS; d++) add(k, d % 2, 300, backs[d]);
        add(k, 6, 0, 0);
        return "distances";
    case 11: // as far as the chunk, twice as long each time
        add(k, 1, 4, 1);
        for (uint32_t rows = 5; rows < 5000; rows = 2 * rows + 1) add(k, 1, rows, rows + 1);
        add(k, 5, 0, 0);
        return "distances as far as the chunk";
    case 12: // more records than a tile can see, and than the ring holds
        add(k, 9, 4, 9);
        for (uint32_t n = 0; n < 700; n++) add(k, 1, n % 7 == 0 ? 4 : 0, 1 + n % 9);
        add(k, 5, 0, 0);
        return "many short records";
    case 13: // copies alone, the shortest
        add(k, 3, 4, 3);
        for (uint32_t n = 0; n < 800; n++) add(k, 0, 4 + n % 2, 1 + n % 7);
        add(k, 5, 0, 0);
        return "copies alone";
    case 14: // long copies between short ones
        add(k, 2, 1000, 2);
        for (uint32_t n = 0; n < 40; n++) add(k, n % 3, 4 + (n % 4 == 0 ? 7 * n : n % 5), 1 + n * 11 % 900);
        add(k, 5, 3 * tile, 4 * tile - 1);
        add(k, 5, 0, 0);
        return "long and short copies";
    default: break;
    }
    number -= 15;
    if (number < 12) { // a copy whose begin and source are at a tile's border, of elements of the same tile and the one before
        add(k, tile - 6 + number, 4 + number, 1 + number % 3);
        add(k, 1, tile - 3, tile - 5 + number);
        add(k, 2, 2 * tile + number, tile + number % 2);
        add(k, 5, 0, 0);
        return "copies over a tile's border";
    }
    number -= 12;
    if (number < 10) { // steps that begin near an end of half a window, and of the window
        add(k, window / 2 - 8 + number, 6, 5);
        for (uint32_t n = 0; n < 3; n++) add(k, 3, 5, 4);
        add(k, window / 2 - 20 - number, 20, 19);
        for (uint32_t n = 0; n < 4; n++) add(k, n, 40, 39);
        add(k, 2 * window + 11 + number, 21, 2 * window); // and steps behind one that is longer than it
        for (uint32_t n = 0; n < 3; n++) add(k, 16 + n, 21, 300);
        add(k, 5, 0, 0);
        return "steps near an end of the window";
    }
    return NULL;
}

// Without copies: Snappy has literals of none left out.
static bool fits(const chunk *k, const zf_column *column) {
    for (uint32_t s = 0; s < k->step_count; s++) {
        const step *t = &k->steps[s];
        bool last = s + 1 == k->step_count;
        if (strcmp(column->name, "lz4") == 0 && !last && t->copied < 4) return false;
    }
    return true;
}

// The block that an encoder made of one row, with the chunk in its place.
static interp_block block_of(interp *in, const zf_column *column, const interp_block *from, const chunk *k, uint64_t size) {
    interp_block block = *from;
    const zf_graph *graph = zf_graph_build(interp_arena(in), column, from->branches);
    interp_stored *streams = diff_copy(in, from->streams, from->stream_count * sizeof *streams);
    streams[0] = (interp_stored){.bytes = diff_copy(in, k->bytes, size), .size = size, .elements = size};
    block.streams = streams;
    diff_set_count(in, &block, 0, k->rows);
    diff_set_count(in, &block, graph->stored_edges[0], size);
    return block;
}

// A chunk that ends before its end, or has another byte: what the interpreter says.
static void check_cut(run *r, interp *in, const code *whole, const interp_block *block, const char *what, uint64_t size) {
    interp_stream *out;
    interp_report report;
    diff_result got;
    interp_status status = interp_decode_stored(in, whole->column, block, &out, &report);
    decode(r, whole, block, 0, block->counts[0], &got);
    bool same = got.kind == (status == INTERP_OK ? DIFF_BYTES : DIFF_VIOLATED);
    uint64_t bytes = block->counts[0] * zf_kind_size(whole->column->type.kind);
    if (same && status == INTERP_OK) same = got.size == bytes && memcmp(got.bytes, interp_stream_bytes(out), bytes) == 0;
    same = same && (status == INTERP_OK || got.violation == report.violation.number);
    CHECK(status == INTERP_OK || status == INTERP_VIOLATION, "%s, %s: the interpreter: %s", whole->column->name, what,
          report.message);
    CHECK(same, "%s, %s, %llu bytes: %s, not V%02u, or other bytes", whole->column->name, what, (ull)size, got.text,
          report.violation.number);
    diff_result_free(&got);
}

enum { CUTS = 12, CUT_FROM = 9, CUT_STEPS = 90 };

static void check_edges(run *r, const char *name, way chosen) {
    const zf_column *column = find_column(r, "edges", name);
    uint32_t wave = diff_target(&r->machine, DIFF_GPU).arch == 64 ? 64 : 32;
    interp *in = interp_create(&(interp_options){.no_verify = true});
    chunk *k = calloc(1, sizeof *k);
    code fast = {0}, whole = {0};
    interp_block one;
    const char *what;
    bool made = column != NULL && encode(in, column, data_stream(in, column->type, DATA_CONSTANT, 1, 1), &one) &&
                make_code(r, column, &one, slow_path, chosen, &fast) && make_code(r, column, &one, NULL, chosen, &whole);
    CHECK(made, "%s is not made", name);
    for (unsigned number = 0; made && (what = make_steps(k, number, wave)) != NULL; number++) {
        if (!fits(k, column) || (chosen.records == 1 && number % 2 != 0)) continue;
        write_chunk(k, column);
        interp_block block = block_of(in, column, &one, k, k->size);
        check_rows(r, &fast, &block, 0, k->rows, k->plain, what);
        if (k->step_count > CUT_STEPS) check_rows(r, &fast, &block, k->rows / 2, k->rows / 2 + 1, k->plain, what);
        if (k->step_count > CUT_STEPS || number % 3 != 0) continue;
        for (uint64_t less = 1; less <= CUTS && less < k->size; less++) {
            interp_block cut = block_of(in, column, &one, k, k->size - less);
            check_cut(r, in, &whole, &cut, what, k->size - less);
        }
    }
    zf_decoder_free(fast.decoder);
    zf_decoder_free(whole.decoder);
    free(k);
    interp_destroy(in);
}

// ---- ORC's second run length code -----------------------------------------------------------------------------

/// Bits, the highest first.
typedef struct bit_pusher {
    chunk *k;
    uint64_t byte;
    unsigned have;
} bit_pusher;

static void push_bits(bit_pusher *p, uint64_t value, unsigned width) {
    for (unsigned b = width; b-- > 0;) {
        p->byte = p->byte << 1 | (value >> b & 1);
        if (++p->have % 8 == 0) push(p->k, p->byte);
    }
}

static void push_bits_end(bit_pusher *p) {
    if (p->have % 8 != 0) push_bits(p, 0, 8 - p->have % 8);
    p->have = 0;
}

static uint64_t random_bits(chunk *k, unsigned width) {
    return width == 64 ? data_next(&k->random) : data_next(&k->random) & ((UINT64_C(1) << width) - 1);
}

static void make_value(chunk *k, uint64_t value) { memcpy(k->plain + 8 * k->rows++, &value, 8); }

static void push_head(chunk *k, unsigned kind, unsigned width_code, unsigned n) {
    push(k, kind << 6 | width_code << 1 | (n - 1) >> 8);
    push(k, n - 1);
}

static const uint8_t orc_widths[32] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                       17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40, 48, 56, 64};

// One value, three to ten times.
static void write_repeats(chunk *k) {
    unsigned bytes = 1 + (unsigned)data_below(&k->random, 8), n = 3 + (unsigned)data_below(&k->random, 8);
    uint64_t value = random_bits(k, 8 * bytes);
    push(k, (bytes - 1) << 3 | (n - 3));
    for (unsigned b = bytes; b-- > 0;) push(k, value >> 8 * b);
    for (unsigned e = 0; e < n; e++) make_value(k, value);
}

static void write_bits(chunk *k, unsigned width_code, unsigned n) {
    bit_pusher p = {.k = k};
    push_head(k, 1, width_code, n);
    for (unsigned e = 0; e < n; e++) {
        uint64_t value = random_bits(k, orc_widths[width_code]);
        push_bits(&p, value, orc_widths[width_code]);
        make_value(k, value);
    }
    push_bits_end(&p);
}

static void write_equal_steps(chunk *k, unsigned n) {
    uint64_t value = data_next(&k->random), rise = data_below(&k->random, 1000);
    push_head(k, 3, 0, n);
    push_varint(k, value);
    push_varint(k, 2 * rise);
    for (unsigned e = 0; e < n; e++) make_value(k, value + e * rise);
}

// Differences, which the encoder of the library does not write: a run of sums.
static void write_differences(chunk *k, unsigned width_code, unsigned n, bool falls) {
    unsigned width = orc_widths[width_code];
    uint64_t value = data_next(&k->random), slope = data_below(&k->random, 1000);
    bit_pusher p = {.k = k};
    push_head(k, 3, width_code, n);
    push_varint(k, value);
    push_varint(k, falls ? 2 * slope + 1 : 2 * slope); // a falling one is -slope - 1
    for (unsigned e = 0; e < n; e++) {
        uint64_t by = e == 1 ? slope + falls : e > 1 ? random_bits(k, width) : 0;
        if (e > 1) push_bits(&p, by, width);
        value = falls ? value - by : value + by;
        make_value(k, value);
    }
    push_bits_end(&p);
}

// Where the exceptions of a run of n values are, at most 31, by the number of the run.
static unsigned place_exceptions(chunk *k, unsigned number, unsigned n, unsigned *places) {
    unsigned count = 0;
    switch (number % 6) {
    case 0: return 0;
    case 1: places[count++] = 0; break;
    case 2: places[count++] = n - 1; break;
    case 3:
        places[count++] = 0;
        if (n > 1) places[count++] = n - 1;
        break;
    case 4:
        for (unsigned e = 0; e < n && count < 31; e++) places[count++] = e;
        break;
    default:
        for (unsigned e = 0; e < n && count < 27; e++)
            if (data_below(&k->random, 20) == 0) places[count++] = e;
    }
    return count;
}

// Bits above a base, with exceptions. A gap of more than its bits say has entries without an exception.
static void write_exceptions(chunk *k, unsigned number, unsigned width_code, unsigned n) {
    static const uint8_t codes[] = {0, 1, 7, 11, 23}; // of what exceptions have above the bits
    unsigned width = orc_widths[width_code], more = codes[number % sizeof codes], gap_width = 1 + number % 8, places[31], count;
    unsigned above = orc_widths[more], gaps[64], entries = 0, last = 0, c = 0, bytes = 1 + number % 8;
    uint64_t highs[64], base = random_bits(k, 8 * bytes - 1), low[512];
    bool falls = number % 3 == 1;
    if (number % 6 == 3) gap_width = 8; // so that few entries lead to the last value
    count = place_exceptions(k, number, n, places);
    for (unsigned e = 0; e < count && entries < 31; e++) {
        unsigned gap = places[e] - last, most = (1u << gap_width) - 1;
        for (; gap > most && entries < 30; gap -= most) gaps[entries] = most, highs[entries++] = 0;
        if (gap > most) break;
        gaps[entries] = gap;
        highs[entries] = random_bits(k, above);
        if (highs[entries] == 0) highs[entries] = 1;
        last = places[e];
        entries++;
    }
    while (orc_widths[c] < gap_width + above) c++;
    push_head(k, 2, width_code, n);
    push(k, (bytes - 1) << 5 | more);
    push(k, (gap_width - 1) << 5 | entries);
    for (unsigned b = bytes; b-- > 0;) push(k, (base >> 8 * b) | (b + 1 == bytes && falls ? 0x80 : 0));
    bit_pusher p = {.k = k};
    for (unsigned e = 0; e < n; e++) push_bits(&p, low[e] = random_bits(k, width), width);
    push_bits_end(&p);
    for (unsigned e = 0, at = 0; e < entries; e++) {
        push_bits(&p, (uint64_t)gaps[e] << above | highs[e], orc_widths[c]);
        at += gaps[e];
        if (highs[e] != 0) low[at] |= highs[e] << width;
    }
    push_bits_end(&p);
    for (unsigned e = 0; e < n; e++) make_value(k, (falls ? -base : base) + low[e]);
}

static void begin_runs(chunk *k) {
    k->rows = k->size = 0;
    k->size_of = 8;
    k->random = (data_random){.state = 6};
}

// Kinds of runs: of a kind in a row, so that its steps follow each other, or behind any other.
enum { RUNS_OF_DELTAS, RUNS_OF_EXCEPTIONS, RUNS_OF_ALL, RUNS_SHORT, RUNS_END_OPEN, RUNS };

static const char *write_runs(chunk *k, unsigned kind) {
    static const uint16_t counts[] = {2, 3, 33, 34, 35, 36, 65, 66, 67, 98, 130, 131, 258, 512};
    static const uint8_t codes[] = {1, 2, 7, 12, 23, 27};
    enum { COUNTS = sizeof counts / sizeof *counts, CODES = sizeof codes };
    begin_runs(k);
    switch (kind) {
    case RUNS_OF_DELTAS:
        for (unsigned c = 0; c < COUNTS * CODES; c++) write_differences(k, codes[c / COUNTS], counts[c % COUNTS], c % 3 == 1);
        return "differences";
    case RUNS_OF_EXCEPTIONS:
        for (unsigned c = 0; c < COUNTS * CODES; c++) write_exceptions(k, c, codes[c / COUNTS], counts[c % COUNTS]);
        return "exceptions";
    case RUNS_SHORT:
        while (k->rows < 6000) {
            if (data_below(&k->random, 4) != 0)
                write_repeats(k);
            else
                write_bits(k, (unsigned)data_below(&k->random, 32), 1 + (unsigned)data_below(&k->random, 3));
        }
        return "repeats and a few bits";
    case RUNS_END_OPEN:
        write_bits(k, 11, 300);
        write_repeats(k);
        write_exceptions(k, 5, 7, 40);
        return "exceptions at the end";
    default:
        for (unsigned c = 0; k->rows + 512 < MOST_ROWS && k->rows < 12000; c++) {
            unsigned n = data_below(&k->random, 3) == 0 ? counts[c % COUNTS] : 2 + (unsigned)data_below(&k->random, 9);
            switch (data_below(&k->random, 8)) {
            case 0: write_equal_steps(k, n); break;
            case 1: write_differences(k, codes[c % CODES], n, c % 2 == 1); break;
            case 2: write_exceptions(k, c, codes[c % CODES], n); break;
            case 3: write_bits(k, c % 32, n); break;
            default: write_repeats(k);
            }
        }
        return "all kinds";
    }
}

enum { CHANGES = 40 };

static void check_runs(run *r) {
    const zf_column *column = find_column(r, "edges", "rle2");
    interp *in = interp_create(&(interp_options){.no_verify = true});
    chunk *k = calloc(1, sizeof *k);
    code fast = {0}, whole = {0};
    interp_block one;
    bool made = column != NULL && encode(in, column, data_stream(in, column->type, DATA_CONSTANT, 1, 1), &one) &&
                make_code(r, column, &one, slow_path, (way){0}, &fast) && make_code(r, column, &one, NULL, (way){0}, &whole);
    CHECK(made, "rle2 is not made");
    for (unsigned kind = 0; made && kind < RUNS; kind++) {
        const char *what = write_runs(k, kind);
        interp_block block = block_of(in, column, &one, k, k->size);
        check_rows(r, &fast, &block, 0, k->rows, k->plain, what);
        check_rows(r, &fast, &block, k->rows / 2 + 1, k->rows - 7, k->plain, what);
        for (uint64_t less = 1; less <= CUTS && kind > RUNS_OF_EXCEPTIONS; less++) {
            interp_block cut = block_of(in, column, &one, k, k->size - less);
            check_cut(r, in, &whole, &cut, what, k->size - less);
        }
        for (unsigned change = 0; change < CHANGES; change++) {
            uint64_t at = data_below(&k->random, change % 2 == 0 || k->size < 40 ? k->size : 40); // early ones, too
            uint8_t before = k->bytes[at];
            k->bytes[at] ^= (uint8_t)(1 + data_below(&k->random, 255));
            interp_block changed = block_of(in, column, &one, k, k->size);
            check_cut(r, in, &whole, &changed, what, k->size);
            k->bytes[at] = before;
        }
    }
    zf_decoder_free(fast.decoder);
    zf_decoder_free(whole.decoder);
    free(k);
    interp_destroy(in);
}

static void run_edges(run *r) {
    check_runs(r);

    static const char *const names[] = {"lz4", "snappy", "behind", "back16", "back32", "back64"};
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
        for (uint32_t warps = 1; warps <= 8; warps *= 2)
            for (uint32_t records = 1; records <= 2; records++)
                check_edges(r, names[k], (way){records, warps}); // walked together, and guessed
}

int main(int count, char **arguments) {
    run *r = calloc(1, sizeof *r);
    zf_text message = {0};
    bool edges = count > 1 && strcmp(arguments[1], "edges") == 0;
    diff_set_case(edges ? "differential_records edges" : "differential_records ways");
    bool good = diff_machine_open(&r->machine, NULL, &message) &&
                diff_program_open_file(&r->machine, RECORDS_FILE, &r->program, &message);
    CHECK(good, "%s", message.data != NULL ? message.data : "records.zf has errors");
    if (good && edges) run_edges(r);
    if (good && !edges) run_ways(r);
    printf("%llu decodes\n", (ull)r->decodes);
    diff_program_close(&r->program);
    diff_machine_close(&r->machine);
    zf_text_free(&message);
    free(r);
    return check_result();
}
