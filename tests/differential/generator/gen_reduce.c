// Making a failing case smaller: parts of the program's text are removed or replaced, the block is made shorter and plainer, as
// long as the fault stays. A tried program need not make sense: the callback rejects those that do not compile.
#include <stdlib.h>
#include <string.h>

#include "tests/differential/generator/gen_program.h"

typedef struct reduction {
    char *program, *block;
    gen_fails_fn fails;
    void *user;
    unsigned tries;
} reduction;

static char *join(const char *text, size_t from, size_t to, const char *instead) {
    size_t length = strlen(text), middle = strlen(instead);
    char *fresh = malloc(length - (to - from) + middle + 1);
    if (!fresh) return NULL;
    memcpy(fresh, text, from);
    memcpy(fresh + from, instead, middle);
    memcpy(fresh + from + middle, text + to, length - to + 1);
    return fresh;
}

// Takes a new program or block if the fault stays.
static bool accept(reduction *r, char **which, char *fresh) {
    if (!fresh || r->tries == 0 || strcmp(*which, fresh) == 0) {
        free(fresh);
        return false;
    }
    r->tries--;
    char *old = *which;
    *which = fresh;
    if (r->fails(r->user, r->program, r->block)) {
        free(old);
        return true;
    }
    *which = old;
    free(fresh);
    return false;
}

// ---- The program ----------------------------------------------------------------------------------------------

static size_t matching(const char *text, size_t open) {
    unsigned depth = 0;
    for (size_t k = open; text[k]; k++) {
        if (strchr("([{", text[k]))
            depth++;
        else if (strchr(")]}", text[k]) && --depth == 0)
            return k;
    }
    return 0;
}

// "( ... )" gives way to one of the parenthesised parts in it, or to a constant.
static bool simplify_group(reduction *r, size_t open) {
    static const char *const constants[] = {"0", "1", "true", "false", "1.0"};
    size_t close = matching(r->program, open);
    if (close == 0) return false;
    for (size_t k = open + 1; k < close; k++) {
        size_t end = r->program[k] == '(' ? matching(r->program, k) : 0;
        if (end == 0) continue;
        char *inner = strndup(r->program + k, end - k + 1);
        bool taken = inner && accept(r, &r->program, join(r->program, open, close + 1, inner));
        free(inner);
        if (taken) return true;
        k = end;
    }
    for (size_t c = 0; c < sizeof constants / sizeof constants[0]; c++) {
        if (close - open + 1 <= strlen(constants[c])) continue;
        if (accept(r, &r->program, join(r->program, open, close + 1, constants[c]))) return true;
    }
    return accept(r, &r->program, join(r->program, open, close + 1, "")); // the arguments of a codec
}

// Leaves out lines, declarations first: whole "{ ... }" blocks go with their first line.
static bool drop_lines(reduction *r) {
    bool any = false;
    for (size_t from = 0; r->program[from];) {
        const char *newline = strchr(r->program + from, '\n');
        size_t to = newline ? (size_t)(newline - r->program) + 1 : strlen(r->program);
        size_t block = to;
        if (to - from > 1 && r->program[to - 2] == '{') block = matching(r->program, to - 2) + 1;
        while (block > to && r->program[block] && r->program[block - 1] != '\n') block++;
        if (block > to && accept(r, &r->program, join(r->program, from, block, "")))
            any = true;
        else if (accept(r, &r->program, join(r->program, from, to, "")))
            any = true;
        else
            from = to;
    }
    return any;
}

static bool reduce_program(reduction *r) {
    bool any = drop_lines(r);
    for (size_t k = 0; k < strlen(r->program); k++)
        while (r->program[k] == '(' && simplify_group(r, k)) any = true;
    return any;
}

// ---- The block ------------------------------------------------------------------------------------------------

static char *print(const interp_block *block) {
    zf_text text = {0};
    gen_block_print(block, &text);
    return text.data;
}

// All lengths equal to `old` become `fresh`; streams of that many elements are cut.
static void shorten(interp *in, interp_block *block, uint64_t old, uint64_t fresh) {
    uint64_t *counts = ZF_NEW_ARRAY(interp_arena(in), uint64_t, block->edge_count + 1u);
    interp_stored *streams = ZF_NEW_ARRAY(interp_arena(in), interp_stored, block->stream_count + 1u);
    for (uint32_t e = 0; e < block->edge_count; e++) counts[e] = block->counts[e] == old ? fresh : block->counts[e];
    for (uint32_t s = 0; s < block->stream_count; s++) {
        streams[s] = block->streams[s];
        if (streams[s].elements != old) continue;
        bool bits = streams[s].size < old;
        streams[s].size = streams[s].offsets ? streams[s].offsets[fresh] : bits ? (fresh + 7) / 8 : streams[s].size / old * fresh;
        streams[s].elements = fresh;
    }
    block->counts = counts;
    block->streams = streams;
}

static bool try_block(reduction *r, const interp_block *block) { return accept(r, &r->block, print(block)); }

static bool cut_lengths(reduction *r, interp *in) {
    interp_block block;
    zf_text message = {0};
    bool any = false;
    if (!gen_block_read(in, r->block, &block, &message)) return false;
    for (uint32_t e = 0; e < block.edge_count; e++) {
        for (uint64_t step = block.counts[e] / 2 + 1; step > 0; step /= 2) {
            while (block.counts[e] >= step) {
                interp_block shorter = block;
                shorten(in, &shorter, block.counts[e], block.counts[e] - step);
                if (!try_block(r, &shorter)) break;
                any = true;
                block = shorter;
            }
        }
    }
    return any;
}

static bool plain_values(reduction *r, interp *in) {
    interp_block block;
    zf_text message = {0};
    bool any = false;
    if (!gen_block_read(in, r->block, &block, &message)) return false;
    uint64_t *params = ZF_NEW_ARRAY(interp_arena(in), uint64_t, block.param_count + 1u);
    if (block.param_count) memcpy(params, block.params, block.param_count * sizeof *params);
    block.params = params;
    for (uint32_t p = 0; p < block.param_count; p++) {
        uint64_t old = params[p];
        params[p] = 0;
        if (old != 0 && try_block(r, &block))
            any = true;
        else
            params[p] = old;
    }
    for (uint32_t s = 0; s < block.stream_count; s++) {
        uint64_t size = block.streams[s].size;
        uint8_t *bytes = zf_arena_alloc(interp_arena(in), (size_t)size + 1);
        interp_stored *streams = ZF_NEW_ARRAY(interp_arena(in), interp_stored, block.stream_count);
        memcpy(streams, block.streams, block.stream_count * sizeof *streams);
        if (size) memcpy(bytes, streams[s].bytes, (size_t)size);
        streams[s].bytes = bytes;
        block.streams = streams;
        for (uint64_t run = size; run > 0; run /= 2) {
            for (uint64_t at = 0; at + run <= size && r->tries > 0; at += run) {
                uint8_t *saved = malloc((size_t)run);
                if (!saved) return any;
                memcpy(saved, bytes + at, (size_t)run);
                memset(bytes + at, 0, (size_t)run);
                if (memcmp(saved, bytes + at, (size_t)run) != 0 && try_block(r, &block))
                    any = true;
                else
                    memcpy(bytes + at, saved, (size_t)run);
                free(saved);
            }
        }
    }
    return any;
}

void gen_reduce(const char *program, const char *block, gen_fails_fn still_fails, void *user, unsigned tries,
                zf_text *out_program, zf_text *out_block) {
    reduction r = {.program = strdup(program), .block = strdup(block), .fails = still_fails, .user = user, .tries = tries};
    if (r.program && r.block && still_fails(user, program, block)) {
        for (bool any = true; any && r.tries > 0;) {
            any = reduce_program(&r);
            interp *in = interp_create(NULL); // for the blocks that are being tried
            if (!in) break;
            if (cut_lengths(&r, in)) any = true;
            if (plain_values(&r, in)) any = true;
            interp_destroy(in);
        }
    }
    zf_text_puts(out_program, r.program ? r.program : program);
    zf_text_puts(out_block, r.block ? r.block : block);
    free(r.program);
    free(r.block);
}
