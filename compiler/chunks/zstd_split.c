// The parts of a frame by its headers (RFC 8878, section 3). Bits of literals are copied as they are, and those of sequences but
// for the few that tell rows which are known.
#include "compiler/chunks/zstd_split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "compiler/chunks/zstd_dictionary.h"
#include "compiler/chunks/zstd_frame.h"

typedef unsigned long long ull;

enum {
    CODE_ROWS = 2048,
    TABLES_ROWS = 1280,   ///< of three tables
    CODES_MOST = 1 << 16, ///< of a block of the container: 256 MiB of rows
    PIECE = 2048,         ///< literals as they are, or of one byte, that a thread of a GPU makes
    SEQUENCES_MOST = 0x7f00 + 0xffff,
    PIECES_MOST = SEQUENCES_MOST / ZF_ZSTD_PIECE + 1, ///< of a block's sequences
    HEAD = 3,                                         ///< words in front of the bits of a piece
    SEQUENCE_BITS = 89,                               ///< of a sequence, at most: 31, 16, 16, 9, 9 and 8
    WORDS_MOST = HEAD + ZF_ZSTD_PIECE * SEQUENCE_BITS / 64 + 1,
    KINDS = ZF_ZSTD_KINDS,
};

#define NONE UINT32_MAX

// ---- The codec ------------------------------------------------------------------------------------------------

/// An edge of the codec. `fixed`: elements for each chunk; 0: any number, or the block's.
typedef struct wanted_edge {
    const char *path;
    zf_kind kind;
    bool stored, per_chunk;
    uint64_t fixed, chunk; ///< `chunk`: outputs of a chunk, where they are always as many; 0: any number
    uint32_t *edge;
} wanted_edge;

static bool is_edge(const zf_graph *graph, uint32_t e, const wanted_edge *w) {
    const zf_graph_edge *edge = &graph->edges[e];
    const zf_port *port = edge->port;
    uint64_t fixed = port->fixed && port->length->kind == ZF_X_CONST ? port->length->bits : 0;
    bool fits = edge->type.kind == w->kind && !edge->type.nullable && (edge->stored >= 0) == w->stored;
    fits = fits && port->per_chunk == w->per_chunk && port->fixed == (w->fixed > 0) && fixed == w->fixed;
    if (!fits || w->stored) return fits;
    const zf_graph_node *node = &graph->nodes[edge->producer];
    return node->inst->pattern == ZF_NON_PARALLEL && node->inst->lanes == 0 &&
           (w->chunk == 0 || node->codec->chunk_size == w->chunk);
}

static uint32_t find_edge(const zf_graph *graph, const wanted_edge *w) {
    for (uint32_t e = 1; e < graph->edge_count; e++) {
        if (strcmp(graph->edges[e].path, w->path) == 0) return is_edge(graph, e, w) ? e : NONE;
    }
    return NONE;
}

bool zf_zstd_split_edges(const zf_graph *graph, zf_zstd_edges *out) {
    const wanted_edge wanted[] = {
        {"steps", ZF_K_U64, false, true, 0, 0, &out->steps},
        {"steps.src", ZF_K_U64, true, true, 0, 0, &out->steps_src},
        {"steps.rows", ZF_K_U16, false, false, 0, TABLES_ROWS, &out->tables},
        {"steps.rows.src", ZF_K_U8, true, true, 0, 0, &out->tables_src},
        {"literals", ZF_K_U8, false, true, 0, 0, &out->literals},
        {"literals.src", ZF_K_U8, true, true, 0, 0, &out->literals_src},
        {"literals.code", ZF_K_U16, false, false, 0, CODE_ROWS, &out->codes},
        {"literals.code.src", ZF_K_U8, true, true, 0, 0, &out->codes_src},
        {"literals.which", ZF_K_U32, true, true, 1, 0, &out->which},
    };
    enum { WANTED = sizeof wanted / sizeof wanted[0] };
    static const wanted_edge of_dictionary = {"dictionary", ZF_K_U8, true, false, 0, 0, NULL};
    const zf_inst *root = graph->nodes[0].inst;
    uint32_t more = graph->edge_count - 1 - WANTED; // a dictionary, or nothing
    if (graph->edge_count < 1 + WANTED || more > 1 || graph->param_count > 0) return false;
    if (graph->edges[0].type.kind != ZF_K_U8 || root->pattern != ZF_NON_PARALLEL || root->lanes > 0) return false;
    for (uint32_t k = 0; k < WANTED; k++) {
        *wanted[k].edge = find_edge(graph, &wanted[k]);
        if (*wanted[k].edge == NONE) return false;
    }
    out->dictionary = find_edge(graph, &of_dictionary);
    return (more == 1) == (out->dictionary != NONE);
}

// ---- Parts that are made ---------------------------------------------------------------------------------------------

/// A frame on its way.
typedef struct splitting {
    const zf_zstd_edges *edges;
    zf_zstd_dictionary_parts *dictionary; ///< NULL: none
    zf_chunk_parts *parts;
    zf_zstd_frames *frames;
    const zf_zstd_chunk *chunk;
    uint64_t before; ///< rows of the block of the container, up to the frame
    uint64_t made;   ///< rows of the chunk, up to the frame
    // ---- of a frame
    bool has_code;                       ///< of literals, of a block before or the dictionary
    bool has_tables;                     ///< likewise
    uint32_t code_number, tables_number; ///< theirs; NONE: the dictionary's, which the container's block does not have yet
    zf_zstd_described tables;
    zf_zstd_state state; ///< up to the next block
} splitting;

static uint32_t stream_of(const splitting *s, uint32_t edge) { return (uint32_t)s->parts->shape->edges[edge].stored; }
static uint64_t size_of(const splitting *s, uint32_t edge) { return s->parts->streams[stream_of(s, edge)].elements; }
static uint64_t *count_of(const splitting *s, uint32_t edge) { return &s->parts->counts[edge]; }

static void put(splitting *s, uint32_t edge, const void *elements, uint64_t count) {
    zf_chunk_parts_append(s->parts, stream_of(s, edge), elements, count);
}

static void enter(splitting *s, uint32_t edge, const uint64_t *fields) {
    zf_chunk_parts_enter(s->parts, zf_chunk_parts_tree(s->parts->shape, edge), fields);
}

/// A chunk of `rows` literals: `which` as in the text of zstd_literals.
static void put_literals(splitting *s, uint32_t which, const uint8_t *bytes, uint64_t size, uint64_t rows) {
    if (rows == 0) return;
    uint64_t *count = count_of(s, s->edges->literals);
    enter(s, s->edges->literals, (uint64_t[]){*count, size_of(s, s->edges->literals_src), size});
    put(s, s->edges->literals_src, bytes, size);
    put(s, s->edges->which, &which, 1);
    *count += rows;
}

/// Literals as they are (`step` 1), or of one byte (0), in chunks that are not long.
static void put_plain(splitting *s, unsigned step, const uint8_t *bytes, uint64_t rows) {
    for (uint64_t at = 0; at < rows; at += PIECE) {
        uint64_t piece = rows - at < PIECE ? rows - at : PIECE;
        put_literals(s, 1 - step, bytes + step * at, step == 1 ? piece : 1, piece);
    }
}

/// A chunk of an even directory, which tells where each one but the first begins.
static void put_even(splitting *s, uint32_t edge, uint32_t src, uint64_t rows) {
    uint64_t *count = count_of(s, edge), at = size_of(s, src);
    if (*count > 0) enter(s, edge, &at);
    *count += rows;
}

/// A chunk of steps, as in the text of zstd_steps: sequences that follow each other, and the step of the literals behind them.
static void put_steps(splitting *s, uint32_t which, const zf_zstd_piece *piece, zf_zstd_bits bits, uint64_t tail) {
    uint64_t words[WORDS_MOST], logs[KINDS], *count = count_of(s, s->edges->steps), size = HEAD;
    for (unsigned k = 0; k < KINDS; k++) logs[k] = piece->sequences > 0 ? s->tables.rows[k].log : 0;
    for (uint64_t at = piece->low; at < piece->high; at += 64)
        words[size++] = zf_zstd_bits_at(bits, at, piece->high - at < 64 ? (unsigned)(piece->high - at) : 64);
    uint64_t unused = 64 * (size - HEAD) - (piece->high - piece->low);
    words[0] = piece->sequences | (uint64_t)piece->row[0] << 11 | (uint64_t)piece->row[1] << 20 | (uint64_t)piece->row[2] << 28 |
               unused << 37 | tail << 43;
    words[1] = piece->recent[0] | (uint64_t)piece->recent[1] << ZF_ZSTD_DISTANCE_BITS | logs[0] << 56 | logs[1] << 60;
    words[2] = piece->recent[2] | (uint64_t)which << ZF_ZSTD_DISTANCE_BITS | logs[2] << 60;
    enter(s, s->edges->steps, (uint64_t[]){*count, size_of(s, s->edges->steps_src), size});
    put(s, s->edges->steps_src, words, size);
    *count += piece->sequences + (tail > 0 ? 1u : 0u);
}

/// The step of literals of which no sequence takes some.
static void put_tail(splitting *s, uint64_t literals) {
    if (literals > 0) put_steps(s, 0, &(zf_zstd_piece){0}, (zf_zstd_bits){0}, literals);
}

// ---- Literals -------------------------------------------------------------------------------------------------

/// A chunk of rows of a code. The code's number becomes `*number`.
static zf_status put_code(splitting *s, const zf_zstd_reader *r, const uint8_t *from, uint64_t bytes, uint32_t *number,
                          zf_error *error) {
    *number = (uint32_t)(*count_of(s, s->edges->codes) / CODE_ROWS);
    if (*number == CODES_MOST) {
        zf_status status = zf_zstd_refuse(r, "a block of the container has more than 65536 codes of literals", error);
        return zf_fail_hint(error, status, "give fewer rows per block, or longer frames");
    }
    put_even(s, s->edges->codes, s->edges->codes_src, CODE_ROWS);
    put(s, s->edges->codes_src, from, bytes);
    return ZF_OK;
}

/// The code of a block that has one.
static zf_status take_code(splitting *s, zf_zstd_reader *r, zf_error *error) {
    uint64_t bytes;
    const uint8_t *from = zf_zstd_pass_code(r, &bytes);
    if (r->bad) return zf_zstd_cut(r, error);
    s->has_code = true;
    return put_code(s, r, from, bytes, &s->code_number, error);
}

/// The code of a block that has none: that of a block before, or of the dictionary.
static zf_status take_code_again(splitting *s, const zf_zstd_reader *r, zf_error *error) {
    if (!s->has_code)
        return zf_zstd_refuse(r, "a block uses the code of a block before or of a dictionary, and there is none", error);
    if (s->code_number != NONE) return ZF_OK;
    zf_zstd_dictionary_parts *d = s->dictionary;
    if (d->code == NONE) ZF_TRY(put_code(s, r, d->from->code, d->from->code_bytes, &d->code, error));
    s->code_number = d->code;
    return ZF_OK;
}

/// Literals of one or four streams.
static zf_status take_streams(splitting *s, zf_zstd_reader *r, unsigned streams, uint64_t literals, zf_error *error) {
    uint32_t which = s->code_number + 2;
    uint64_t sizes[4] = {0}, part = streams == 4 ? (literals + 3) / 4 : literals, left = (uint64_t)(r->end - r->at);
    for (unsigned k = 0; k + 1 < streams; k++) sizes[k] = zf_zstd_take_number(r, 2);
    left -= streams == 4 ? 6 : 0;
    if (r->bad || left < sizes[0] + sizes[1] + sizes[2]) return zf_zstd_cut(r, error);
    sizes[streams - 1] = left - sizes[0] - sizes[1] - sizes[2];
    for (unsigned k = 0; k < streams; k++) {
        uint64_t rows = k + 1 < streams ? part : literals;
        if (rows > literals) rows = literals;
        literals -= rows;
        const uint8_t *from = zf_zstd_take(r, sizes[k]);
        if (rows == 0 && (sizes[k] != 1 || *from != 1)) return zf_zstd_refuse(r, "a stream without literals has bits", error);
        put_literals(s, which, from, sizes[k], rows);
    }
    return ZF_OK;
}

static zf_status take_literals(splitting *s, zf_zstd_reader *block, uint64_t *literals, zf_error *error) {
    enum { RAW, REPEATED, CODED };
    unsigned head = block->at < block->end ? *block->at : 0, kind = head & 3, form = head >> 2 & 3;
    if (kind < CODED) {
        unsigned bytes = form == 1 ? 2 : form == 3 ? 3 : 1;
        *literals = zf_zstd_take_number(block, bytes) >> (bytes == 1 ? 3 : 4);
        const uint8_t *from = zf_zstd_take(block, kind == RAW ? *literals : 1);
        if (block->bad || *literals > ZF_ZSTD_BLOCK_MOST) return zf_zstd_cut(block, error);
        put_plain(s, kind == RAW ? 1 : 0, from, *literals);
        return ZF_OK;
    }
    unsigned width = form < 2 ? 10 : form == 2 ? 14 : 18;
    uint64_t sizes = zf_zstd_take_number(block, form < 2 ? 3 : form == 2 ? 4 : 5) >> 4, mask = (UINT64_C(1) << width) - 1;
    *literals = sizes & mask;
    const uint8_t *from = zf_zstd_take(block, sizes >> width & mask);
    zf_zstd_reader r = {.begin = block->begin, .at = from, .end = block->at};
    if (block->bad || *literals > ZF_ZSTD_BLOCK_MOST) return zf_zstd_cut(block, error);
    ZF_TRY(kind == CODED ? take_code(s, &r, error) : take_code_again(s, &r, error));
    if (form != 0 && *literals < 6) return zf_zstd_refuse(&r, "too few literals for four streams", error);
    return take_streams(s, &r, form == 0 ? 1 : 4, *literals, error);
}

// ---- Tables ---------------------------------------------------------------------------------------------------

/// A chunk of rows of three tables, whose number becomes `*number`.
static void put_tables(splitting *s, const zf_zstd_described *from, uint32_t *number) {
    *number = (uint32_t)(*count_of(s, s->edges->tables) / TABLES_ROWS);
    put_even(s, s->edges->tables, s->edges->tables_src, TABLES_ROWS);
    for (unsigned k = 0; k < KINDS; k++) put(s, s->edges->tables_src, from->text[k], from->bytes[k]);
}

/// Reads the three tables of a block. Those that are all of a block before, or of the dictionary, stand once.
static zf_status take_tables(splitting *s, zf_zstd_reader *r, zf_error *error) {
    unsigned kinds = (unsigned)zf_zstd_take_number(r, 1);
    if (r->bad) return zf_zstd_cut(r, error);
    if ((kinds & 3) != 0) return zf_zstd_refuse(r, "bits that must be 0 are not", error);
    bool own = kinds != (ZF_ZSTD_AGAIN << 6 | ZF_ZSTD_AGAIN << 4 | ZF_ZSTD_AGAIN << 2);
    for (unsigned k = 0; k < KINDS; k++) {
        unsigned how = kinds >> (6 - 2 * k) & 3;
        if (how == ZF_ZSTD_AGAIN && !s->has_tables)
            return zf_zstd_refuse(r, "a block uses a table of a block before or of a dictionary, and there is none", error);
        if (how != ZF_ZSTD_AGAIN) ZF_TRY(zf_zstd_take_table(&s->tables, r, k, how, error));
    }
    s->has_tables = true;
    if (own) {
        put_tables(s, &s->tables, &s->tables_number);
    } else if (s->tables_number == NONE) {
        zf_zstd_dictionary_parts *d = s->dictionary;
        if (d->tables == NONE) put_tables(s, &d->from->tables, &d->tables);
        s->tables_number = d->tables;
    }
    return ZF_OK;
}

// ---- Blocks ---------------------------------------------------------------------------------------------------

static zf_status take_packed(splitting *s, zf_zstd_reader *r, zf_error *error) {
    uint64_t literals = 0, sequences;
    ZF_TRY(take_literals(s, r, &literals, error));
    sequences = zf_zstd_take_number(r, 1);
    if (sequences == 255)
        sequences = zf_zstd_take_number(r, 2) + 0x7f00;
    else if (sequences >= 128)
        sequences = ((sequences - 128) << 8) + zf_zstd_take_number(r, 1);
    if (r->bad) return zf_zstd_cut(r, error);
    if (sequences > 0) ZF_TRY(take_tables(s, r, error));
    uint64_t bytes = (uint64_t)(r->end - r->at);
    if (sequences == 0 && bytes > 0) return zf_zstd_refuse(r, "a block has bytes behind its literals, and no sequences", error);
    if (sequences == 0) {
        put_tail(s, literals);
        s->state.made += literals;
        return ZF_OK;
    }
    zf_zstd_coded coded = {
        {zf_zstd_take(r, bytes), bytes}, sequences, literals, s->dictionary != NULL ? s->dictionary->from->size : 0};
    zf_zstd_piece pieces[PIECES_MOST];
    if (!zf_zstd_sequences(s->tables.rows, &coded, &s->state, pieces))
        return zf_zstd_refuse(r, "the bits of its sequences are wrong, or copy from before the frame", error);
    for (uint64_t at = 0; at < sequences; at += ZF_ZSTD_PIECE) {
        bool last = sequences - at <= ZF_ZSTD_PIECE;
        put_steps(s, s->tables_number, &pieces[at / ZF_ZSTD_PIECE], coded.bits, last ? coded.literals : 0);
    }
    return ZF_OK;
}

static zf_status take_head(const splitting *s, zf_zstd_reader *r, zf_zstd_head *head, zf_error *error) {
    *head = zf_zstd_take_head(r);
    if (r->bad) return zf_zstd_cut(r, error);
    if (head->reserved) return zf_zstd_refuse(r, "a bit of a frame's header that must be 0 is not", error);
    if (head->too_wide) return zf_zstd_refuse(r, "the exponent of a frame's window is above 31", error);
    const zf_zstd_dictionary *d = s->dictionary != NULL ? s->dictionary->from : NULL;
    if (head->dictionary == 0 || (d != NULL && d->made && d->id == head->dictionary)) return ZF_OK;
    char why[64];
    snprintf(why, sizeof why, "a frame needs %s dictionary, %llu", d == NULL ? "a" : "another", (ull)head->dictionary);
    return zf_zstd_refuse(r, why, error);
}

/// Takes the blocks of a frame, and its checksum, which becomes `*sum`.
static zf_status take_blocks(splitting *s, zf_zstd_reader *r, const zf_zstd_head *head, uint32_t *sum, zf_error *error) {
    for (zf_zstd_block block = {0}; !block.last;) {
        uint64_t before = s->state.made;
        block = zf_zstd_take_block(r, head->most);
        if (r->bad) return zf_zstd_cut(r, error);
        if (block.wrong) return zf_zstd_refuse(r, "the header of a block is wrong", error);
        zf_zstd_reader inside = {.begin = r->begin, .at = block.from, .end = r->at};
        if (block.kind == ZF_ZSTD_PACKED) {
            ZF_TRY(take_packed(s, &inside, error));
        } else {
            put_plain(s, block.kind == ZF_ZSTD_STORED ? 1 : 0, block.from, block.size);
            put_tail(s, block.size);
            s->state.made += block.size;
        }
        if (s->state.made - before > head->most) return zf_zstd_refuse(r, "a block makes more bytes than one may", error);
        if (s->made + s->state.made > s->chunk->rows) break; // which is said for the whole chunk
    }
    if (s->made + s->state.made > s->chunk->rows)
        return zf_raise(error, ZF_E_WRAPPED_CHUNK, "its frames make more than %llu bytes", (ull)s->chunk->rows);
    *sum = head->checked ? (uint32_t)zf_zstd_take_number(r, 4) : 0;
    return r->bad ? zf_zstd_cut(r, error) : ZF_OK;
}

/// Passes a frame that is to be skipped. `*skipped`: whether the next one is such a frame.
static zf_status pass_skipped(zf_zstd_reader *r, bool *skipped, zf_error *error) {
    zf_zstd_begin begin = zf_zstd_begin_of(zf_zstd_take_number(r, 4));
    *skipped = begin == ZF_ZSTD_SKIPPED;
    if (*skipped) zf_zstd_pass_skipped(r);
    if (r->bad) return zf_zstd_cut(r, error);
    return begin != ZF_ZSTD_OTHER ? ZF_OK : zf_zstd_refuse(r, "no frame of Zstandard begins here", error);
}

/// Notes a frame's checksum.
static zf_status note_sum(splitting *s, uint32_t sum, zf_error *error) {
    zf_zstd_frames *frames = s->frames;
    if (frames->count == frames->room) {
        size_t room = 2 * frames->room + 16;
        zf_zstd_sum *larger = realloc(frames->sums, room * sizeof *larger);
        if (larger == NULL) return zf_raise_no_memory(error);
        frames->sums = larger;
        frames->room = room;
    }
    frames->sums[frames->count++] = (zf_zstd_sum){s->chunk->number, s->before, s->state.made, sum};
    return ZF_OK;
}

static void begin_frame(splitting *s) {
    const zf_zstd_dictionary *d = s->dictionary != NULL ? s->dictionary->from : NULL;
    s->state = (zf_zstd_state){.recent = {1, 4, 8}};
    s->has_code = s->has_tables = d != NULL && d->made;
    s->code_number = s->tables_number = NONE;
    if (d == NULL) return;
    memcpy(s->state.recent, d->recent, sizeof d->recent);
    if (d->made) s->tables = d->tables;
}

static zf_status take_frame(splitting *s, zf_zstd_reader *r, zf_error *error) {
    zf_zstd_head head;
    uint32_t sum;
    begin_frame(s);
    ZF_TRY(take_head(s, r, &head, error));
    ZF_TRY(take_blocks(s, r, &head, &sum, error));
    if (head.known && s->state.made != head.rows) return zf_zstd_refuse(r, "the content size that a frame tells is wrong", error);
    if (head.checked) ZF_TRY(note_sum(s, sum, error));
    // Distances are told from the begin of the chunk, and the dictionary stands in front of it.
    if (s->dictionary != NULL && s->made > 0 && s->state.made > 0)
        return zf_zstd_refuse(r, "with a dictionary a chunk is one frame", error);
    s->made += s->state.made;
    s->before += s->state.made;
    return ZF_OK;
}

// ---- Chunks ---------------------------------------------------------------------------------------------------

zf_zstd_dictionary_parts zf_zstd_split_begin(const zf_zstd_dictionary *dictionary, const zf_zstd_edges *edges,
                                             zf_chunk_parts *parts) {
    uint32_t stream = (uint32_t)parts->shape->edges[edges->dictionary].stored;
    zf_chunk_parts_append(parts, stream, dictionary->content, dictionary->size);
    return (zf_zstd_dictionary_parts){dictionary, NONE, NONE};
}

zf_status zf_zstd_split(const zf_zstd_edges *edges, zf_zstd_dictionary_parts *dictionary, const zf_zstd_chunk *chunk,
                        uint64_t row, zf_chunk_parts *parts, zf_zstd_frames *frames, zf_error *error) {
    static const uint8_t nothing[1];
    const uint8_t *bytes = chunk->size > 0 ? chunk->bytes : nothing;
    splitting s = {.edges = edges, .dictionary = dictionary, .parts = parts, .frames = frames, .chunk = chunk, .before = row};
    zf_zstd_reader r = {.begin = bytes, .at = bytes, .end = bytes + chunk->size};
    uint64_t steps = *count_of(&s, edges->steps), literals = *count_of(&s, edges->literals);
    while (r.at < r.end) {
        bool skipped;
        ZF_TRY(pass_skipped(&r, &skipped, error));
        if (!skipped) ZF_TRY(take_frame(&s, &r, error));
    }
    if (s.made != chunk->rows)
        return zf_raise(error, ZF_E_WRAPPED_CHUNK, "its frames make %llu bytes, not %llu", (ull)s.made, (ull)chunk->rows);
    enter(&s, 0,
          (uint64_t[]){row, steps, *count_of(&s, edges->steps) - steps, literals, *count_of(&s, edges->literals) - literals});
    return ZF_OK;
}

bool zf_zstd_sum_holds(const zf_zstd_sum *sum, const uint8_t *rows) {
    return (uint32_t)XXH64(rows + sum->row, sum->rows, 0) == sum->sum;
}
