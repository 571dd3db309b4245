#include "tests/differential/diff_chunks.h"

#include <string.h>

#include "patterns/graph/graph.h"
#include "tests/differential/diff_trials.h"
#include "tests/differential/diff_wild.h"
#include "tests/differential/generator/gen_program.h"
#include "tests/interp/interp_internal.h"

static bool is_foreign(const zf_codec_choice *choice) {
    bool found = false;
    for (uint32_t a = 0; choice != NULL && a < choice->count; a++) {
        const zf_codec_node *node = choice->alternatives[a];
        found = found || node->inst->encode_extern != NULL;
        for (uint32_t s = 0; s < node->inst->stream_count; s++) found = found || is_foreign(node->streams[s]);
    }
    return found;
}

bool diff_chunk_foreign(const zf_column *column) { return is_foreign(column->codec); }

// The first stage of chunks.
static const zf_codec_node *chunked(const zf_codec_choice *choice) {
    const zf_codec_node *node = choice->alternatives[0];
    if (node->inst->pattern == ZF_NON_PARALLEL) return node;
    const zf_codec_node *found = NULL;
    for (uint32_t s = 0; s < node->inst->stream_count && found == NULL; s++)
        if (node->streams[s] != NULL) found = chunked(node->streams[s]);
    return found;
}

// ---- Blocks of one chunk that no encoder here writes, byte by byte -----------------------------------------------

// Rare kinds of formats of others, and what only a liar would write.
enum { HAND_STREAMS = 4 };

typedef struct hand {
    const char *codec; ///< begins so
    uint64_t rows;     ///< of one chunk, or of two
    struct {
        const char *bytes;
        size_t size, second; ///< where the second chunk begins
    } streams[HAND_STREAMS];
} hand;

#define BYTES(text) {text, sizeof text - 1, 0}
#define TWO(first, second) {first second, sizeof first second - 1, sizeof first - 1}
#define FOUR(text) text text text text
#define MANY(text) FOUR(FOUR(text)) FOUR(text) // 20
#define PATCHED "\x8e\x13\x2b\x21\x07\xd0\x1e\x00\x14\x70\x28\x32\x3c\x46\x50\x5a\x64\x6e\x78\x82\x8c\x96\xa0\xaa\xb4\xbe\xfc\xe8"
#define TEN_BYTES "\x85\x80\x80\x80\x80\x80\x80\x80\x80\x80" // a varint that goes on
#define COPIES "\xfe\x01\x00"                                // of Snappy: 64 bytes
#define LITERALS "20 bytes, a literal."

static const hand hands[] = {
    // The examples of the ORC specification: a short repeat, direct numbers, patched bases, deltas. Then deltas of one step.
    {"orc_rle2", 5, {BYTES("\x0a\x27\x10")}},
    {"orc_rle2", 4, {BYTES("\x5e\x03\x5c\xa1\xab\x1e\xde\xad\xbe\xef")}},
    {"orc_rle2", 20, {BYTES(PATCHED)}},
    {"orc_rle2", 10, {BYTES("\xc6\x09\x02\x02\x22\x42\x42\x46")}},
    {"orc_rle2", 10, {BYTES("\xc0\x09\x02\x02")}},
    // Patched bases without room for what stands before an exception, and for the exception. Deltas without room for the second
    // value. More deltas than a warp has lanes.
    {"orc_rle2", 2, {BYTES(PATCHED)}},
    {"orc_rle2", 3, {BYTES(PATCHED)}},
    {"orc_rle2", 1, {BYTES("\xc2\x01\x02\x02")}},
    {"orc_rle2",
     70,
     {BYTES("\xc6\x45\x02\x02"
            "\x21\x43\x65\x87\xa9\xcb\xed\x1f\x32\x54\x76\x98\xba\xdc\xfe\x13\x24\x35\x46\x57\x68\x79\x8a\x9b\xac\xbd\xce\xdf"
            "\xf1\x25\x47\x69\x8b\xad")}},
    // A run, and a literal, of more than ten bytes, and whose last byte is the next chunk's.
    {"orc_rle1(", 3, {BYTES("\x00\x01" TEN_BYTES)}},
    {"orc_rle1(", 1, {BYTES("\xff" TEN_BYTES)}},
    {"orc_rle1(chunk: 1000",
     1003,
     {TWO(FOUR("\x7f\x00\x04") "\x7f\x00\x04\x7f\x00\x04\x7f\x00\x04\x57\x00\x80", "\x00\x01\x02")}},
    {"orc_rle1(chunk: 1000",
     1003,
     {TWO(FOUR("\x7f\x00\x04") "\x7f\x00\x04\x7f\x00\x04\x7f\x00\x04\x56\x00\x02\xff\x80", "\x00\x01\x02")}},
    // A first value, and a block's least difference, of more than ten bytes.
    {"delta_binary_packed(", 1, {BYTES("\x80\x01\x04\x01" TEN_BYTES)}},
    {"delta_binary_packed(", 2, {BYTES("\x80\x01\x04\x02\x02" TEN_BYTES "\x00\x00\x00\x00")}},
    // Many literals of one byte.
    {"orc_byte_rle",
     160,
     {BYTES(FOUR(FOUR("\xff\x61\xff\x62\xff\x63\xff\x64\xff\x65\xff\x66\xff\x67\xff\x68\xff\x69\xff\x6a")))}},
    // A literal, and ten bytes like it.
    {"deflate", 11, {BYTES("\x73\x44\x00\x00")}},
    // More stored bytes than there is room for.
    {"deflate",
     3,
     {BYTES("\x01\x05\x00\xfa\xff"
            "abcde")}},
    // The example of lz_split. A token that copies nothing; the shortest copies and literals with a length of their own. A length
    // that wraps, and so is 17.
    {"lz_split", 25, {BYTES("\x3c\x70"), BYTES("abcX, end."), BYTES("\x03\x00\x01\x00"), BYTES("")}},
    {"lz_split",
     40,
     {BYTES("\x20\xf0\x0f\x01\x10"), BYTES("abcdefghijklmnopqr"), BYTES("\x02\x00\x05\x00\x11\x00\x01\x00\x01\x00"),
      BYTES("\x00\x00")}},
    {"lz_split", 18, {BYTES("\x1f"), BYTES("a"), BYTES("\x01\x00"), BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")}},
    // Lengths of literals and of a copy that have more than ten bytes.
    {"lz_split", 20, {BYTES("\xf0"), BYTES(LITERALS), BYTES("\x01\x00"), BYTES(TEN_BYTES)}},
    {"lz_split", 24, {BYTES("\x1f"), BYTES("a"), BYTES("\x01\x00"), BYTES(TEN_BYTES)}},
    // The same, whose last byte is the next chunk's; and such a distance, of a token that copies nothing.
    {"lz_split(chunk: 800",
     815,
     {TWO(MANY("\xee") "\xee\xee\xee\xee\xee\xf2", "\xf0"),
      TWO(MANY("fourteen bytes") MANY("fourteen bytes"), "fifteen of these"),
      TWO(MANY("\x01\x00") "\x01\x00\x01\x00\x01\x00\x01\x00\x01\x00\x01\x00", "\x01\x00"), TWO("\x85", "\x00")}},
    {"lz_split(chunk: 800",
     815,
     {TWO(MANY("\xee") "\xee\xee\xee\xee\xef", "\xf0"), TWO(MANY("fourteen bytes") MANY("fourteen bytes"), "fifteen of these"),
      TWO(MANY("\x01\x00") "\x01\x00\x01\x00\x01\x00\x01\x00\x01\x00", "\x01\x00"), TWO("\x98", "\x00")}},
    {"lz_split(chunk: 800",
     820,
     {TWO(MANY("\xee") "\xee\xee\xee\xee\xee\xe8\x00", "\xf0"), TWO(MANY("fourteen bytes") MANY("fourteen bytes"), LITERALS),
      TWO(MANY("\x01\x00") "\x01\x00\x01\x00\x01\x00\x01\x00\x01\x00\x01\x00", "\x01\x00"), TWO("", "\x05")}},
    // A copy whose length, or distance, lies behind the end, where some byte is that makes as many elements as there must be.
    {"lz4(", 185, {BYTES("\x1f\x61\x01\x00")}},
    {"lz4(", 110, {BYTES("\x1f\x61\x01\x00")}},
    {"snappy", 197, {BYTES("\xc5\x01\x00\x61" COPIES COPIES COPIES "\x01")}},
    // The same, of a distance whose last byte is the next chunk's.
    {"lz4(chunk: 900", 901, {TWO("\x1f\x61\x01\x00\xff\xff\xff\x63\x0c\x01", "\x00\x10\x62")}},
    {"snappy(chunk: 1500", 1501, {TWO("\xdc\x0b\x00\x61" MANY(COPIES) COPIES COPIES COPIES "\x6b\x01\x00\x00", "\x00\x62")}},
    // Literals that go on behind a window, in the second chunk; the same without room. A length of more than ten bytes. Many
    // literals of one byte.
    {"snappy(chunk: 1500",
     2780,
     {TWO("\xdc\x0b\x00\x61" MANY(COPIES) COPIES COPIES COPIES "\x6a\x01\x00",
          "\x80\x0a\xf4\xff\x04" FOUR(FOUR(FOUR(LITERALS))))}},
    {"snappy", 1000, {BYTES("\xe8\x07\xf4\xff\x04" FOUR(FOUR(FOUR(LITERALS))))}},
    {"snappy",
     5,
     {BYTES(TEN_BYTES "\x10"
                      "abcde")}},
    {"snappy", 160, {BYTES("\xa0\x01" FOUR(FOUR("\0a\0b\0c\0d\0e\0f\0g\0h\0i\0j")))}},
    // Two runs that begin and end inside bytes; a list of members, two of them in one byte; a bitmap.
    {"roaring", 60, {BYTES("\x03\x00\x09\x00\x15\x00\x0a\x00"), BYTES("\x02")}},
    {"roaring", 30, {BYTES("\x05\x00\x07\x00\x0b\x00"), BYTES("\x00")}},
    {"roaring", 20, {BYTES("\x0f\xf1\x05\x00"), BYTES("\x01")}},
    // Members that go back, by less than a byte; and one behind the end.
    {"roaring", 30, {BYTES("\x05\x00\x04\x00"), BYTES("\x00")}},
    {"roaring", 30, {BYTES("\x05\x00\x1e\x00"), BYTES("\x00")}},
    // An element of 0 is missing at the end.
    {"summed", 3, {BYTES("\x04\x05"), BYTES("\x09\x00\x00\x00")}},
};

static const hand *hand_of(const zf_column *column, unsigned k) {
    for (size_t n = 0; n < sizeof hands / sizeof hands[0]; n++)
        if (strncmp(column->codec_text, hands[n].codec, strlen(hands[n].codec)) == 0 && k-- == 0) return &hands[n];
    return NULL;
}

static uint64_t hand_rows(const zf_column *column, unsigned k) {
    const hand *h = hand_of(column, k);
    return h != NULL ? h->rows : 0;
}

static uint64_t *starts_of(interp *in, interp_block *block, uint32_t edge) {
    if (block->directories == NULL || block->directories[edge].count == 0) return NULL;
    interp_directory *directories = diff_copy(in, block->directories, block->edge_count * sizeof *directories);
    uint64_t *starts = diff_copy(in, directories[edge].starts, (size_t)directories[edge].count * sizeof *starts);
    directories[edge].starts = starts;
    block->directories = directories;
    return starts;
}

static bool hand_fill(interp *in, const zf_column *column, unsigned k, interp_block *block) {
    const hand *h = hand_of(column, k);
    const zf_graph *graph = zf_graph_build(interp_arena(in), column, block->branches);
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (h == NULL || block->stream_count > HAND_STREAMS) return false;
    for (uint32_t s = 0; s < block->stream_count; s++) {
        uint32_t edge = graph->stored_edges[s];
        uint64_t count = h->streams[s].size / zf_kind_size(graph->edges[edge].type.kind);
        streams[s] = (interp_stored){
            .bytes = diff_copy(in, h->streams[s].bytes, h->streams[s].size), .size = h->streams[s].size, .elements = count};
        diff_set_count(in, block, edge, count);
        uint64_t *starts = starts_of(in, block, edge);
        if (starts != NULL && block->directories[edge].count == 2)
            starts[1] = h->streams[s].second / zf_kind_size(graph->edges[edge].type.kind);
    }
    block->streams = streams;
    return true;
}

// ---- Trials ------------------------------------------------------------------------------------------------------

static bool trial_by_size(uint64_t chunk, unsigned number, unsigned k, diff_chunk_trial *out) {
    uint64_t largest = chunk < 1500 ? chunk : 1500;
    if (chunk >= 1500 && chunk <= 5000) largest = chunk;
    const uint64_t sizes[DIFF_CHUNK_SIZES / 2] = {0, 1, largest - 1, largest, largest + 1, 3 * largest + 7, 33, 700, 2500};
    unsigned size = k / 2;
    if ((number + size) % DIFF_CHUNK_STEP != 0 || sizes[size] > 6000) return false;
    if (k % 2 == 1 && sizes[size] < 2) return false;
    data_shape shape = (number + size) % 2 == 0 ? DATA_ZIPF : DATA_UNIFORM;
    if (k % 2 == 0) shape = (data_shape)((number * 5 + size * 3) % DATA_SHAPES);
    // A chunk has so many bytes that what is read ahead goes round its ring.
    if (k % 2 == 1 && size == (chunk <= 5000 ? 3 : 5)) shape = DATA_FULL_RANGE;
    if (size == 8 && k % 2 == 0) shape = DATA_CONSTANT; // numbers of no bits
    *out = (diff_chunk_trial){.shape = shape,
                              .rows = sizes[size],
                              .seed = sizes[size] * 31 + (uint64_t)shape,
                              .every = size == 1 || size == 6 || size == 7};
    return true;
}

enum {
    PIECES_MOST = 200,
    SEVERAL_LEAST = 234,
    SEVERAL_MOST = 20480,
    SEVERAL_FEW = 5000,
    RING_LEAST = 1000,
    RING_RATE = 4096,
    RING_CHUNKS = 4,
    HANDS_FIRST = DIFF_CHUNK_SIZES + 4,
    WILD_END = HANDS_FIRST + DIFF_CHUNK_HANDS + DIFF_CHUNK_WILDS,
    WILD_DAMAGES = 20
};

bool diff_chunk_trial_of(const zf_column *column, unsigned number, unsigned k, diff_chunk_trial *out) {
    const zf_codec_node *node = chunked(column->codec);
    uint64_t chunk = node->chunk_size, rows = 0;
    if (k < DIFF_CHUNK_SIZES) return trial_by_size(chunk, number, k, out);
    if (k >= HANDS_FIRST + DIFF_CHUNK_HANDS && k < WILD_END) {
        diff_chunk_wild(column, number, k - HANDS_FIRST - DIFF_CHUNK_HANDS, out);
        return true;
    }
    if ((number + k) % DIFF_CHUNK_STEP != 0) return false;
    if (k >= HANDS_FIRST) {
        k -= k < WILD_END ? HANDS_FIRST : WILD_END - DIFF_CHUNK_HANDS;
        *out = (diff_chunk_trial){.kind = DIFF_CHUNK_BY_HAND, .rows = hand_rows(column, k), .seed = number * 100 + k, .hand = k};
        return out->rows > 0;
    }
    *out = (diff_chunk_trial){.kind = k == DIFF_CHUNK_SIZES       ? DIFF_CHUNK_PIECES
                                      : k == DIFF_CHUNK_SIZES + 1 ? DIFF_CHUNK_SEVERAL
                                                                  : DIFF_CHUNK_RINGS,
                              .seed = number * 100 + k};
    switch (out->kind) {
    case DIFF_CHUNK_PIECES: rows = chunk > PIECES_MOST ? PIECES_MOST : PIECES_MOST / chunk * chunk; break;
    case DIFF_CHUNK_SEVERAL:
        if (chunk >= SEVERAL_LEAST && chunk <= SEVERAL_MOST) rows = 2 * chunk + (chunk > SEVERAL_FEW ? 0 : chunk / 2) + 1;
        break;
    default:
        if (node->inst->lanes > 0 && chunk >= RING_LEAST)
            rows = RING_CHUNKS * (chunk < RING_RATE ? chunk : RING_RATE) + (k == DIFF_CHUNK_SIZES + 3 ? 77 : 0);
    }
    out->rows = rows;
    return rows > 0;
}

// Another trial's data, or those of a size near a whole number of chunks.
void diff_chunk_wild(const zf_column *column, unsigned number, uint64_t seed, diff_chunk_trial *out) {
    data_random random = {.state = number * UINT64_C(1000003) + seed};
    uint64_t chunk = chunked(column->codec)->chunk_size, rows;
    bool found = false;
    for (unsigned tries = 0; !found && tries < 8 && seed % 2 == 0; tries++)
        found = diff_chunk_trial_of(column, number, (unsigned)data_below(&random, HANDS_FIRST + DIFF_CHUNK_HANDS), out) &&
                out->rows > 0;
    if (!found) {
        rows = chunk * (1 + data_below(&random, chunk < 300 ? 9 : 3));
        rows += data_below(&random, 41);
        bool fits = rows >= 20 && rows - 20 <= 6000;
        rows = fits && data_below(&random, 4) != 0 ? rows - 20 : 1 + data_below(&random, 3000);
        bool pieces = data_below(&random, 2) == 0;
        uint64_t shape = data_below(&random, DATA_SHAPES);
        *out = (diff_chunk_trial){
            .kind = pieces ? DIFF_CHUNK_PIECES : DIFF_CHUNK_SIZED, .shape = (data_shape)shape, .rows = rows > 0 ? rows : 1};
    }
    if (out->kind != DIFF_CHUNK_BY_HAND) out->seed = data_next(&random);
    out->wild = true;
}

// ---- Data -----------------------------------------------------------------------------------------------------

static void push_piece(interp *in, interp_stream *out, zf_type type, data_shape shape, uint64_t seed, uint64_t count) {
    interp_stream *piece = data_stream(in, type, shape, seed, count);
    for (uint64_t r = 0; r < count; r++) interp_stream_push(out, interp_stream_bits(piece, r, NULL));
}

static void push_pieces(interp *in, interp_stream *out, zf_type type, const diff_chunk_trial *t, uint64_t chunk) {
    static const data_shape wild[] = {DATA_UNIFORM, DATA_CONSTANT, DATA_SORTED, DATA_FULL_RANGE, DATA_EVEN_4,       DATA_OUTLIERS,
                                      DATA_EVEN_64, DATA_EXTREMES, DATA_ZIPF,   DATA_RUNS_256,   DATA_NEARLY_SORTED};
    static const data_shape tame[] = {DATA_ZIPF, DATA_CONSTANT, DATA_EVEN_4, DATA_SORTED};
    enum { WILD = sizeof wild / sizeof wild[0], TAME = sizeof tame / sizeof tame[0], SHORT = 24 };
    data_random random = {.state = t->seed};
    uint64_t most = t->rows > 1000 ? 8 * SHORT : chunk >= 8 * SHORT ? SHORT : 2 + chunk / 12; // a chunk has each
    for (uint64_t left = t->rows, n = 0; left > 0; n++) {
        uint64_t count = 1 + data_below(&random, most);
        if (count > left) count = left;
        push_piece(in, out, type,
                   t->tame == 0   ? wild[n % WILD]
                   : t->tame == 1 ? tame[n % TAME]
                                  : DATA_CONSTANT,
                   data_next(&random), count);
        left -= count;
    }
}

// Each chunk, or part of a large one, has so many different numbers, and so often a new one in a lane.
static void push_rates(interp_stream *out, zf_type type, const diff_chunk_trial *t, uint64_t chunk) {
    static const uint16_t kinds[] = {256, 40, 200, 100, 16, 150};
    enum { KINDS = sizeof kinds / sizeof kinds[0], LANES = 32 };
    data_random random = {.state = t->seed};
    unsigned turn = (unsigned)(t->seed % KINDS);
    if (chunk > RING_RATE) chunk = RING_RATE;
    for (uint64_t r = 0; r < t->rows; r++) {
        uint64_t most = kinds[(turn + r / chunk) % KINDS], before = 0;
        if (r >= LANES) before = interp_stream_bits(out, r - LANES, NULL);
        bool is_new = r < LANES || data_below(&random, 256) < most;
        uint64_t value = is_new ? data_below(&random, most) * UINT64_C(0x0101010101010101) : before;
        interp_stream_push(out, interp_value_mask(type.kind, value));
    }
}

interp_stream *diff_chunk_data(interp *in, const zf_column *column, const diff_chunk_trial *t) {
    if (t->kind == DIFF_CHUNK_SIZED) return data_stream(in, column->type, t->shape, t->seed, t->rows);
    if (t->kind == DIFF_CHUNK_BY_HAND) return data_stream(in, column->type, DATA_CONSTANT, t->seed, t->rows);
    interp_stream *out = interp_stream_new(in, column->type);
    if (t->kind == DIFF_CHUNK_RINGS)
        push_rates(out, column->type, t, chunked(column->codec)->chunk_size);
    else
        push_pieces(in, out, column->type, t, chunked(column->codec)->chunk_size);
    return out;
}

bool diff_chunk_tame(diff_chunk_trial *t) {
    if (t->tame == 2 || (t->kind != DIFF_CHUNK_PIECES && t->kind != DIFF_CHUNK_SEVERAL)) return false;
    t->tame++;
    return true;
}

bool diff_chunk_settle(interp *in, const zf_column *column, const diff_chunk_trial *t, interp_block *block) {
    if (t->kind == DIFF_CHUNK_BY_HAND && !hand_fill(in, column, t->hand, block)) return false;
    if (!t->wild || t->seed % 2 == 0 || !diff_decodes(in, column, block)) return true;
    diff_wild wild;
    diff_wild_open(in, column, block, &wild);
    diff_wild_shape(&wild, diff_wild_packing(t->seed), t->seed);
    *block = wild.block;
    return true;
}

bool diff_chunk_thorough(const diff_chunk_trial *t) { return t->kind == DIFF_CHUNK_PIECES; }

bool diff_chunk_several(const diff_chunk_trial *t, unsigned d) { return t->wild && diff_wild_places(t->seed + d) > 1; }

// ---- Damage ---------------------------------------------------------------------------------------------------

// Where in the last chunk of a stream: from its begin, and from its end.
static const uint8_t places[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 17, 24};
enum { PLACES = sizeof places, ENDS = 3, WAYS = 4 * PLACES + ENDS + 3, PARAM_WAYS = 4, EDGE_WAYS = 6, NEST_WAYS = 300 };
enum {
    CUTS = 160,
    CHANGES = 48,
    MERGES = 32,
    FILLS = 21,
    LATE_FILLS = 8,
    FLIPS = 8 * 24,
    PIECE_WAYS = CUTS + 4 * CHANGES + MERGES + FILLS + LATE_FILLS + FLIPS,
    FEW = 6,
    FEW_WAYS = 4 * FEW
};

// The stream ends behind so many elements, and no chunk begins behind its end.
static bool cut(interp *in, uint32_t s, uint32_t edge, bool bits, uint64_t elements, interp_block *block) {
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (elements >= streams[s].elements || streams[s].offsets != NULL) return false;
    streams[s].size = bits ? (elements + 7) / 8 : streams[s].size / streams[s].elements * elements;
    streams[s].elements = elements;
    block->streams = streams;
    diff_set_count(in, block, edge, elements);
    uint64_t *starts = starts_of(in, block, edge);
    for (uint64_t c = 0; starts != NULL && c < block->directories[edge].count; c++)
        if (starts[c] > elements) starts[c] = elements;
    return true;
}

// An element is all ones, or 0, or another by a bit; or by a few of its lowest bits, or by what often is the kind of what
// follows.
enum { CHANGE_ONES, CHANGE_ZERO, CHANGE_BIT, CHANGE_LOW, CHANGE_KIND, CHANGE_KINDS };
static bool change(interp *in, uint32_t s, uint64_t at, unsigned how, interp_block *block) {
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (at >= streams[s].elements) return false;
    uint8_t *bytes = diff_copy(in, streams[s].bytes, (size_t)streams[s].size);
    size_t size = (size_t)(streams[s].size / streams[s].elements);
    streams[s].bytes = bytes;
    block->streams = streams;
    if (how < 2)
        memset(bytes + at * size, how == 0 ? 0xff : 0, size);
    else if (how == CHANGE_BIT)
        bytes[at * size] ^= (uint8_t)(1u << at % 8);
    else if (how == CHANGE_LOW)
        bytes[at * size] ^= (uint8_t)(1 + at % 7);
    else
        bytes[at * size] ^= how == CHANGE_KIND ? 0x40 : at % 2 == 0 ? 0x80 : 0xc0;
    return true;
}

static bool flip(interp *in, uint32_t s, uint64_t at, unsigned bit, interp_block *block) {
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (at >= streams[s].size) return false;
    uint8_t *bytes = diff_copy(in, streams[s].bytes, (size_t)streams[s].size);
    bytes[at] ^= (uint8_t)(1u << bit);
    streams[s].bytes = bytes;
    block->streams = streams;
    return true;
}

// An element is added to the next, and is 0: of sizes the sum stays.
static bool merge(interp *in, uint32_t s, uint64_t at, interp_block *block) {
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (at + 1 >= streams[s].elements) return false;
    uint8_t *bytes = diff_copy(in, streams[s].bytes, (size_t)streams[s].size);
    size_t size = (size_t)(streams[s].size / streams[s].elements);
    uint64_t a = 0, b = 0;
    if (size > sizeof a) return false;
    memcpy(&a, bytes + at * size, size);
    memcpy(&b, bytes + (at + 1) * size, size);
    b += a;
    memcpy(bytes + (at + 1) * size, &b, size);
    memset(bytes + at * size, 0, size);
    streams[s].bytes = bytes;
    block->streams = streams;
    return a != 0;
}

// The stream goes on and ends with a number of seven bits a byte that has more than 64, or with the largest of 64.
static bool fill(interp *in, uint32_t s, uint32_t edge, uint64_t from, bool largest, interp_block *block) {
    enum { BYTES = 11 };
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (streams[s].size != streams[s].elements || from > streams[s].size) return false;
    uint8_t *bytes = zf_arena_alloc(interp_arena(in), (size_t)from + BYTES);
    memcpy(bytes, streams[s].bytes, (size_t)from);
    memset(bytes + from, 0xff, BYTES);
    bytes[from + BYTES - 1] = 0;
    if (largest) bytes[from + BYTES - 2] = 1;
    streams[s] = (interp_stored){.bytes = bytes, .size = from + BYTES, .elements = from + BYTES};
    block->streams = streams;
    diff_set_count(in, block, edge, from + BYTES);
    return true;
}

// An element more than anybody asked for: the first once more, or 0.
static bool lengthen(interp *in, uint32_t s, uint32_t edge, bool zero, interp_block *block) {
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (streams[s].offsets != NULL) return false;
    size_t size = (size_t)(streams[s].size / streams[s].elements), all = (size_t)streams[s].size;
    uint8_t *bytes = zf_arena_alloc(interp_arena(in), all + size + 8);
    memcpy(bytes, streams[s].bytes, all);
    memset(bytes + all, 0, size);
    if (!zero) memcpy(bytes + all, bytes, size);
    streams[s].bytes = bytes;
    streams[s].size += size;
    streams[s].elements++;
    block->streams = streams;
    diff_set_count(in, block, edge, streams[s].elements);
    return true;
}

// The first element of the last chunk, or of the one so many before it.
static uint64_t start_of(const interp_block *block, uint32_t edge, uint64_t behind) {
    const interp_directory *directory = block->directories != NULL ? &block->directories[edge] : NULL;
    if (directory == NULL || directory->count <= behind) return 0;
    return directory->starts[directory->count - 1 - behind];
}

static bool damage_stream(interp *in, const zf_graph *graph, uint32_t s, unsigned way, interp_block *block) {
    uint32_t edge = graph->stored_edges[s];
    uint64_t count = block->streams[s].elements, last = start_of(block, edge, 0);
    bool bits = graph->edges[edge].type.kind == ZF_K_BOOL;
    if (count == 0 || block->counts[edge] != count) return false;
    if (way < PLACES) return cut(in, s, edge, bits, last + places[way], block);
    way -= PLACES;
    if (way < 3 * PLACES) return !bits && change(in, s, last + places[way / 3], way % 3, block);
    way -= 3 * PLACES;
    if (way < ENDS) return count > way && cut(in, s, edge, bits, count - 1 - way, block);
    way -= ENDS;
    if (bits) return false;
    return way == 0 ? lengthen(in, s, edge, false, block) : fill(in, s, edge, last + way - 1, false, block);
}

// The last chunk's part of a stream is cut at each place, and each of its elements is another; `by_bits`: by each bit.
static bool damage_pieces(interp *in, const zf_graph *graph, uint32_t s, unsigned way, bool by_bits, interp_block *block) {
    uint32_t edge = graph->stored_edges[s];
    uint64_t count = block->streams[s].elements, last = start_of(block, edge, 0);
    bool bits = graph->edges[edge].type.kind == ZF_K_BOOL;
    if (count == 0 || block->counts[edge] != count) return false;
    if (way < CUTS) return cut(in, s, edge, bits, last + way, block);
    way -= CUTS;
    if (bits) return false;
    if (way < 4 * CHANGES)
        return change(in, s, last + way / 4, way % 4 == 0 ? CHANGE_BIT - way / 4 % 2 * 2 : CHANGE_BIT + way % 4, block);
    way -= 4 * CHANGES;
    if (way < MERGES) return merge(in, s, last + way, block);
    way -= MERGES;
    if (way >= FILLS && way < FILLS + LATE_FILLS) { // in the place of the last elements
        uint64_t back = 1 + (way - FILLS) / 2;
        return count >= back && fill(in, s, edge, count - back, way % 2 == 0, block);
    }
    if (way >= FILLS) way -= LATE_FILLS;
    if (way >= FILLS) return by_bits && flip(in, s, last + (way - FILLS) / 8, (way - FILLS) % 8, block);
    return way == 0 ? lengthen(in, s, edge, true, block) : fill(in, s, edge, last + (way - 1) / 2, way % 2 == 0, block);
}

// The same at a few places, also of the chunk before the last.
static bool damage_few(interp *in, const zf_graph *graph, uint32_t s, unsigned way, interp_block *block) {
    uint32_t edge = graph->stored_edges[s];
    uint64_t count = block->streams[s].elements, at = places[way / 4], last = start_of(block, edge, 0);
    bool bits = graph->edges[edge].type.kind == ZF_K_BOOL;
    if (count == 0 || block->counts[edge] != count) return false;
    if (way % 4 == 0) return cut(in, s, edge, bits, last + at, block);
    if (way % 4 == 1) return count > at && cut(in, s, edge, bits, count - 1 - at, block);
    return !bits && change(in, s, (way % 4 == 2 ? last : start_of(block, edge, 1)) + at, (unsigned)at % 3, block);
}

static bool damage_param(interp *in, uint32_t p, unsigned way, interp_block *block) {
    uint64_t value = block->params[p];
    diff_set_param(in, block, p, way == 0 ? UINT64_MAX : way == 1 ? 0 : way == 2 ? value + 1 : value - 1);
    return true;
}

// An edge that nothing stores has an element less, or half of them; a chunk begins an element before or behind its place; the
// last chunk has everything, or nothing.
static bool damage_edge(interp *in, const zf_graph *graph, uint32_t edge, unsigned way, interp_block *block) {
    if (way < 2) {
        if (edge == 0 || graph->edges[edge].stored >= 0 || block->counts[edge] == 0) return false;
        diff_set_count(in, block, edge, way == 0 ? block->counts[edge] - 1 : block->counts[edge] / 2);
        return true;
    }
    uint64_t *starts = starts_of(in, block, edge);
    if (starts == NULL) return false;
    uint64_t chunks = block->directories[edge].count, *start = &starts[way == 2 ? chunks - 1 : chunks / 2];
    for (uint64_t c = 0; way > 3 && c < chunks; c++) starts[c] = way == 4 ? 0 : c == 0 ? starts[c] : block->counts[edge];
    if (way > 3) return chunks > 1 && block->counts[edge] > 0;
    if (way == 2 ? *start == 0 : *start >= block->counts[edge]) return false;
    *start += way == 2 ? UINT64_MAX : 1;
    return true;
}

// How many ways there are for a stream, a param, an edge, and a nest.
typedef struct ways {
    unsigned stream, param, edge, nest;
} ways;

static ways ways_of(const diff_chunk_trial *t, const interp_block *block) {
    bool nested = block->edge_count > block->stream_count + 1;
    switch (t->kind) {
    case DIFF_CHUNK_BY_HAND:
    case DIFF_CHUNK_PIECES: return (ways){.stream = PIECE_WAYS, .param = PARAM_WAYS, .edge = EDGE_WAYS};
    case DIFF_CHUNK_SEVERAL: return (ways){.stream = t->rows > 3 * SEVERAL_FEW ? 0 : FEW_WAYS, .edge = EDGE_WAYS};
    case DIFF_CHUNK_RINGS: return (ways){.param = 2};
    default: break;
    }
    if (!t->every) return (ways){0};
    return (ways){WAYS, PARAM_WAYS, EDGE_WAYS, nested && t->rows > 100 ? NEST_WAYS : 0};
}

static unsigned random_of(const diff_chunk_trial *t) { return t->kind == DIFF_CHUNK_RINGS ? 0 : DIFF_CHUNK_RANDOM; }

unsigned diff_chunk_damages(const diff_chunk_trial *t, const interp_block *block) {
    ways w = ways_of(t, block);
    if (t->wild) return WILD_DAMAGES;
    return random_of(t) + w.stream * block->stream_count + w.param * block->param_count + w.edge * block->edge_count + w.nest;
}

bool diff_chunk_damage(interp *in, const zf_column *column, const diff_chunk_trial *t, unsigned d, interp_block *block) {
    if (t->wild) {
        diff_wild wild;
        diff_wild_open(in, column, block, &wild);
        return diff_wild_damage(&wild, t->seed + d, block, NULL);
    }
    const zf_graph *graph = zf_graph_build(interp_arena(in), column, block->branches);
    ways w = ways_of(t, block);
    if (d < random_of(t)) {
        gen_damage(in, t->seed * DIFF_CHUNK_RANDOM + d, block);
        return true;
    }
    d -= random_of(t);
    if (d < w.stream * block->stream_count) {
        uint32_t s = d / w.stream;
        bool by_hand = t->kind == DIFF_CHUNK_BY_HAND;
        if (t->kind == DIFF_CHUNK_PIECES || by_hand)
            return damage_pieces(in, graph, s, d % w.stream, by_hand || is_foreign(column->codec), block);
        if (t->kind == DIFF_CHUNK_SEVERAL) return damage_few(in, graph, s, d % w.stream, block);
        return damage_stream(in, graph, s, d % w.stream, block);
    }
    d -= w.stream * block->stream_count;
    // Rings: only what is near the param.
    if (d < w.param * block->param_count) return damage_param(in, d / w.param, PARAM_WAYS - w.param + d % w.param, block);
    d -= w.param * block->param_count;
    if (d < w.edge * block->edge_count) return damage_edge(in, graph, d / EDGE_WAYS, d % EDGE_WAYS, block);
    d -= w.edge * block->edge_count;
    return diff_trial_damage(in, column, 0, 0, &(diff_trial){.kind = DIFF_DEEP, .rows = t->rows, .seed = t->seed}, d, block);
}
