// Blocks as text: one item a line.
//
//   branches 0 1
//   params 5 0
//   counts 100 100
//   stream ELEMENTS HEX          in the order of stored streams; HEX is "-" when there are no bytes
//   offsets 0 3 7                of the stream before, when it holds strings
//   nulls HEX                    of the stream before, one byte an element
//   directory EDGE 0 10 20
#include <stdlib.h>
#include <string.h>

#include "tests/differential/generator/gen_program.h"

static void put_numbers(zf_text *out, const char *word, const uint64_t *numbers, uint64_t count) {
    zf_text_puts(out, word);
    for (uint64_t k = 0; k < count; k++) zf_text_printf(out, " %llu", (unsigned long long)numbers[k]);
    zf_text_puts(out, "\n");
}

static void put_hex(zf_text *out, const uint8_t *bytes, uint64_t size) {
    static const char digits[] = "0123456789abcdef";
    if (size == 0) zf_text_puts(out, "-");
    for (uint64_t k = 0; k < size; k++) {
        const char two[2] = {digits[bytes[k] >> 4], digits[bytes[k] & 15]};
        zf_text_add(out, two, 2);
    }
    zf_text_puts(out, "\n");
}

void gen_block_print(const interp_block *block, zf_text *out) {
    zf_text_puts(out, "branches");
    for (uint32_t k = 0; k < block->branch_count; k++) zf_text_printf(out, " %u", block->branches[k]);
    zf_text_puts(out, "\n");
    put_numbers(out, "params", block->params, block->param_count);
    put_numbers(out, "counts", block->counts, block->edge_count);
    for (uint32_t s = 0; s < block->stream_count; s++) {
        const interp_stored *stream = &block->streams[s];
        zf_text_printf(out, "stream %llu ", (unsigned long long)stream->elements);
        put_hex(out, stream->bytes, stream->size);
        if (stream->offsets) put_numbers(out, "offsets", stream->offsets, stream->elements + 1);
        if (stream->nulls) {
            zf_text_puts(out, "nulls ");
            put_hex(out, stream->nulls, stream->elements);
        }
    }
    for (uint32_t e = 0; block->directories && e < block->edge_count; e++) {
        if (block->directories[e].count == 0) continue;
        zf_text_printf(out, "directory %u", e);
        put_numbers(out, "", block->directories[e].starts, block->directories[e].count);
    }
}

// ---- Reading --------------------------------------------------------------------------------------------------

typedef struct reader {
    zf_arena *arena;
    const char *at, *end; // of the line
} reader;

static bool word(reader *r, const char **start, size_t *length) {
    while (r->at < r->end && *r->at == ' ') r->at++;
    *start = r->at;
    while (r->at < r->end && *r->at != ' ') r->at++;
    *length = (size_t)(r->at - *start);
    return *length > 0;
}

static bool number(reader *r, uint64_t *out) {
    const char *start;
    size_t length;
    if (!word(r, &start, &length) || *start < '0' || *start > '9') return false;
    *out = strtoull(start, NULL, 10);
    return true;
}

static uint64_t *numbers(reader *r, uint64_t *count) {
    uint64_t *out = ZF_NEW_ARRAY(r->arena, uint64_t, (size_t)(r->end - r->at) / 2 + 2), value;
    *count = 0;
    while (number(r, &value)) out[(*count)++] = value;
    return out;
}

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static bool hex(reader *r, const uint8_t **bytes, uint64_t *size) {
    const char *start;
    size_t length;
    if (!word(r, &start, &length)) return false;
    uint8_t *out = zf_arena_alloc(r->arena, length / 2 + 8);
    *bytes = out;
    *size = 0;
    if (length == 1 && *start == '-') return true;
    for (size_t k = 0; k + 1 < length; k += 2) {
        if (digit(start[k]) < 0 || digit(start[k + 1]) < 0) return false;
        out[(*size)++] = (uint8_t)(digit(start[k]) << 4 | digit(start[k + 1]));
    }
    return length % 2 == 0;
}

typedef struct draft {
    uint8_t *branches;
    interp_stored *streams;
    interp_directory *directories;
    uint64_t counts;
} draft;

static bool read_line(reader *r, draft *d, interp_block *out) {
    const char *start;
    size_t length;
    uint64_t count, size;
    if (!word(r, &start, &length)) return true; // an empty line
    if (length == 8 && memcmp(start, "branches", 8) == 0) {
        uint64_t *values = numbers(r, &count);
        d->branches = zf_arena_alloc(r->arena, (size_t)count + 1);
        for (uint64_t k = 0; k < count; k++) d->branches[k] = (uint8_t)values[k];
        out->branches = d->branches;
        out->branch_count = (uint32_t)count;
        return true;
    }
    if (length == 6 && memcmp(start, "params", 6) == 0) {
        out->params = numbers(r, &count);
        out->param_count = (uint32_t)count;
        return true;
    }
    if (length == 6 && memcmp(start, "counts", 6) == 0) {
        out->counts = numbers(r, &count);
        out->edge_count = (uint32_t)count;
        d->streams = ZF_NEW_ARRAY(r->arena, interp_stored, (size_t)count + 1);
        d->directories = ZF_NEW_ARRAY(r->arena, interp_directory, (size_t)count + 1);
        out->streams = d->streams;
        out->directories = d->directories;
        return count > 0;
    }
    if (!d->streams) return false;
    if (length == 6 && memcmp(start, "stream", 6) == 0) {
        if (out->stream_count > out->edge_count) return false;
        interp_stored *stream = &d->streams[out->stream_count++];
        return number(r, &stream->elements) && hex(r, &stream->bytes, &stream->size);
    }
    if (length == 7 && memcmp(start, "offsets", 7) == 0 && out->stream_count) {
        d->streams[out->stream_count - 1].offsets = numbers(r, &count);
        return count == d->streams[out->stream_count - 1].elements + 1;
    }
    if (length == 5 && memcmp(start, "nulls", 5) == 0 && out->stream_count) {
        return hex(r, &d->streams[out->stream_count - 1].nulls, &size) && size == d->streams[out->stream_count - 1].elements;
    }
    uint64_t edge;
    if (length != 9 || memcmp(start, "directory", 9) != 0 || !number(r, &edge) || edge >= out->edge_count) return false;
    d->directories[edge].starts = numbers(r, &d->directories[edge].count);
    return true;
}

bool gen_block_read(interp *in, const char *text, interp_block *out, zf_text *message) {
    draft d = {0};
    memset(out, 0, sizeof *out);
    unsigned line = 1;
    for (const char *at = text; *at; line++) {
        const char *end = strchr(at, '\n');
        if (!end) end = at + strlen(at);
        reader r = {.arena = interp_arena(in), .at = at, .end = end};
        if (!read_line(&r, &d, out)) {
            zf_text_printf(message, "line %u of the block cannot be read", line);
            return false;
        }
        at = *end ? end + 1 : end;
    }
    if (out->counts) return true;
    zf_text_puts(message, "the block has no counts");
    return false;
}
