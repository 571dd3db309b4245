// Blocks of one chunk that no encoder here writes, byte by byte: rare kinds of formats of others, and what only a liar would
// write.
#include <string.h>

#include "tests/differential/diff_chunks.h"
#include "tests/differential/diff_trials.h"
#include "tests/interp/interp_internal.h"

enum { STREAMS = 2 };

typedef struct hand {
    const char *codec; ///< begins so
    uint64_t rows;
    struct {
        const char *bytes;
        size_t size;
    } streams[STREAMS];
} hand;

#define BYTES(text) {text, sizeof text - 1}

static const hand hands[] = {
    // The examples of the ORC specification: a short repeat, direct numbers, patched bases, deltas. Then deltas of one step.
    {"orc_rle2", 5, {BYTES("\x0a\x27\x10")}},
    {"orc_rle2", 4, {BYTES("\x5e\x03\x5c\xa1\xab\x1e\xde\xad\xbe\xef")}},
    {"orc_rle2",
     20,
     {BYTES("\x8e\x13\x2b\x21\x07\xd0\x1e\x00\x14\x70\x28\x32\x3c\x46\x50\x5a\x64\x6e\x78\x82\x8c\x96\xa0\xaa\xb4\xbe\xfc\xe8")}},
    {"orc_rle2", 10, {BYTES("\xc6\x09\x02\x02\x22\x42\x42\x46")}},
    {"orc_rle2", 10, {BYTES("\xc0\x09\x02\x02")}},
    // A literal, and ten bytes like it.
    {"deflate", 11, {BYTES("\x73\x44\x00\x00")}},
    // More stored bytes than there is room for.
    {"deflate",
     3,
     {BYTES("\x01\x05\x00\xfa\xff"
            "abcde")}},
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

uint64_t diff_hand_rows(const zf_column *column, unsigned k) {
    const hand *h = hand_of(column, k);
    return h != NULL ? h->rows : 0;
}

bool diff_hand_fill(interp *in, const zf_column *column, unsigned k, interp_block *block) {
    const hand *h = hand_of(column, k);
    const zf_graph *graph = zf_graph_build(interp_arena(in), column, block->branches);
    interp_stored *streams = diff_copy(in, block->streams, block->stream_count * sizeof *streams);
    if (h == NULL || block->stream_count > STREAMS) return false;
    for (uint32_t s = 0; s < block->stream_count; s++) {
        uint32_t edge = graph->stored_edges[s];
        uint64_t count = h->streams[s].size / zf_kind_size(graph->edges[edge].type.kind);
        streams[s] = (interp_stored){
            .bytes = diff_copy(in, h->streams[s].bytes, h->streams[s].size), .size = h->streams[s].size, .elements = count};
        diff_set_count(in, block, edge, count);
    }
    block->streams = streams;
    return true;
}
