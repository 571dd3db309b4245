// Encoding one block: bodies top down, sizes bottom up.
#include "compiler/encode/encode_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/encode/encode_extern.h"
#include "frontend/check/walk.h"
#include "runtime/base/error_codes.h"

enum { DEPTH_LIMIT = 256 };

typedef struct encoding {
    zf_encode_task *task;
    char path[256];
    unsigned depth;
} encoding;

/// Encodes an input by the smallest alternative, if that takes less than `limit` bytes: else `*out` is NULL.
static zf_status encode_choice(encoding *e, const zf_codec_choice *choice, const zf_encode_input *input, bool is_root,
                               uint64_t limit, zf_encode_node **out);

// ---- Memory ---------------------------------------------------------------------------------------------------

void zf_encode_tree_free(zf_encode_node *node) {
    if (node == NULL) return;
    if (node->children != NULL) {
        for (uint32_t s = 0; s < node->codec->inst->stream_count; s++) zf_encode_tree_free(node->children[s]);
    }
    zf_encode_clear(&node->frame);
    free(node->streams);
    free(node->locals);
    free(node->params);
    free(node->children);
    free(node);
}

/// Whether the streams of a node that the file needs lie in the input that it was given.
static bool keeps_input(const zf_encode_node *node) {
    for (uint32_t s = 0; s < node->codec->inst->stream_count; s++) {
        if (node->streams[s].lent > 0 && (node->children[s] == NULL || keeps_input(node->children[s]))) return true;
    }
    return false;
}

void zf_encode_tree_release(zf_encode_node *node) {
    uint32_t streams = node->codec->inst->stream_count, count = 0;
    const zf_encode_buffer **kept = calloc(streams + 1u, sizeof *kept);
    for (uint32_t s = 0; s < streams; s++) {
        if (node->children[s] != NULL) zf_encode_tree_release(node->children[s]);
        bool needed = node->children[s] == NULL || node->streams[s].start_count > 0 || keeps_input(node->children[s]);
        if (needed && kept != NULL) kept[count++] = &node->streams[s];
    }
    if (kept != NULL) zf_encode_clear_but(&node->frame, kept, count); // else its memory lives as long as the node
    free(kept);
}

/// Iterations of all loops of a body together.
static uint64_t work_limit(uint64_t rows) { return 1024 * rows + (UINT64_C(1) << 27); }

// ---- Alternatives that cannot be the smallest -----------------------------------------------------------------

/// Whether every alternative stores each byte of the texts that it is given: `for s in x { stored.append(s); }`, beside other
/// pushes, or `text.append(x)` where this holds of the codec of `text`.
static bool keeps_text(const zf_codec_choice *choice);

static bool node_keeps_text(const zf_codec_node *node) {
    const zf_inst *inst = node->inst;
    const zf_stmt *only = inst->encode.stmts;
    if (inst->encode_extern != NULL || !inst->encode.present || only == NULL || only->next != NULL) return false;
    if (only->kind == ZF_S_APPEND) {
        const zf_codec_choice *below = only->target->kind == ZF_X_STREAM ? node->streams[only->target->port->slot] : NULL;
        return below != NULL && only->value->kind == ZF_X_INPUT && keeps_text(below);
    }
    if (only->kind != ZF_S_FOR_EACH || only->value->kind != ZF_X_INPUT) return false;
    bool keeps = false;
    for (const zf_stmt *s = only->body; s != NULL; s = s->next) {
        if (s->kind != ZF_S_PUSH && s->kind != ZF_S_APPEND) return false;
        keeps = keeps || (s->kind == ZF_S_APPEND && s->value->kind == ZF_X_LOCAL && s->value->local == only->local &&
                          s->target->kind == ZF_X_STREAM && node->streams[s->target->port->slot] == NULL);
    }
    return keeps;
}

static bool keeps_text(const zf_codec_choice *choice) {
    bool keeps = choice->count > 0;
    for (uint32_t a = 0; a < choice->count && keeps; a++) keeps = node_keeps_text(choice->alternatives[a]);
    return keeps;
}

/// Whether the texts of an input alone take `limit` bytes.
static bool too_much_text(const zf_codec_node *codec, const zf_encode_input *input, uint64_t limit) {
    if (limit == UINT64_MAX || input->offsets == NULL || input->validity != NULL) return false; // a null's text is not stored
    return input->offsets[input->rows] - input->offsets[0] >= limit && node_keeps_text(codec);
}

/// Ends the body of a node as soon as its streams take `limit` bytes.
static void limit_streams(zf_encode_node *node, uint64_t limit) {
    enum { SPARE = 64 }; // elements: bits are pushed by whole words
    if (limit >= UINT64_MAX / 8) return;
    for (uint32_t s = 0; s < node->codec->inst->stream_count; s++) {
        const zf_codec_choice *below = node->codec->streams[s];
        zf_encode_buffer *buffer = &node->streams[s];
        if (below == NULL && !buffer->is_text) buffer->most = 8 * limit / buffer->width + SPARE;
        if (below != NULL && buffer->is_text && !buffer->nullable && keeps_text(below)) buffer->most = limit;
    }
}

// ---- Pieces ---------------------------------------------------------------------------------------------------

static bool note_parts(zf_visitor *visitor, zf_stmt *stmt) {
    bool *found = visitor->user;
    *found = *found || (stmt->kind == ZF_S_FOR_EACH && stmt->value->kind == ZF_X_PARTS);
    return !*found;
}

/// Whether an alternative looks at the pieces by which its input was appended.
static bool wants_parts(const zf_codec_choice *choice) {
    bool found = false;
    zf_visitor visitor = {.user = &found, .stmt = note_parts};
    for (uint32_t a = 0; a < choice->count && !found; a++)
        zf_visit_body(&visitor, (zf_body *)(uintptr_t)&choice->alternatives[a]->inst->encode); // only looks
    return found;
}

// ---- One node -------------------------------------------------------------------------------------------------

/// The end of an input's values.
static const uint8_t *values_end(const zf_encode_input *input) {
    if (input->values == NULL) return NULL;
    return input->values + (input->offsets != NULL ? input->offsets[input->rows] : input->rows * zf_kind_size(input->type.kind));
}

static zf_encode_node *make_node(const zf_encode_task *task, const zf_codec_choice *choice, uint32_t branch,
                                 const zf_encode_input *input) {
    const zf_codec_node *codec = choice->alternatives[branch];
    const zf_inst *inst = codec->inst;
    zf_encode_node *node = calloc(1, sizeof *node);
    if (node == NULL) return NULL;
    node->codec = codec;
    node->choice = choice;
    node->branch = branch;
    node->count = input->rows;
    uint32_t locals = zf_encode_locals(inst, NULL);
    const zf_local **local_of = calloc(locals + 1u, sizeof *local_of);
    node->streams = calloc(inst->stream_count + 1u, sizeof *node->streams);
    node->locals = calloc(locals + 1u, sizeof *node->locals);
    node->params = calloc(inst->param_count + 1u, sizeof *node->params);
    node->children = calloc(inst->stream_count + 1u, sizeof *node->children);
    if (local_of == NULL || !node->streams || !node->locals || !node->params || !node->children) {
        free(local_of);
        zf_encode_tree_free(node);
        return NULL;
    }
    zf_encode_locals(inst, local_of);
    for (uint32_t k = 0; k < locals; k++) {
        zf_encode_buffer_init(&node->locals[k], local_of[k]->type);
        node->locals[k].no_parts = true; // there is no way to look at them
    }
    free(local_of);
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        zf_encode_buffer_init(&node->streams[s], inst->streams[s]->type);
        node->streams[s].no_parts = codec->streams[s] == NULL || !wants_parts(codec->streams[s]);
    }
    for (uint32_t p = 0; p < inst->param_count; p++) {
        if (codec->param_given != NULL && codec->param_given[p]) node->params[p] = codec->param_bits[p];
    }
    uint64_t given = input->rows * zf_kind_size(input->type.kind); // bytes
    if (input->offsets != NULL) given = 16 * input->rows + input->offsets[input->rows] - input->offsets[0];
    node->frame =
        (zf_encode_frame){.values = input->values,
                          .validity = input->validity,
                          .offsets = input->offsets,
                          .values_end = values_end(input),
                          .rows = input->rows,
                          .parts = input->parts,
                          .part_count = input->part_count,
                          .chunk_size = codec->chunk_size != 0 ? codec->chunk_size : inst->chunk_size,
                          .params = node->params,
                          .streams = node->streams,
                          .locals = node->locals,
                          .row = ZF_ENCODE_NO_ROW,
                          // Far more than any codec of use takes; what passes these limits does not end or does not compress.
                          .work = work_limit(input->rows),
                          .bytes_left = 64 * given + (256u << 20),
                          .hash = task->hash.a != 0 ? task->hash : zf_encode_hash_draw(),
                          .pool = task->pool,
                          .local_count = locals,
                          .stream_count = inst->stream_count};
    if (node->frame.chunk_size == 0) node->frame.chunk_size = 65536;
    return node;
}

// ---- Why a body ended -----------------------------------------------------------------------------------------

typedef struct finder {
    uint64_t at;
    zf_span span;
    const char *text; ///< of a REFUSE
    bool found;
} finder;

static bool find_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    finder *f = visitor->user;
    if (!f->found && zf_encode_place(stmt->span) == f->at) {
        f->found = true;
        f->span = stmt->span;
        f->text = stmt->kind == ZF_S_REFUSE ? stmt->text : NULL;
    }
    return !f->found || f->text == NULL;
}

static bool find_expr(zf_visitor *visitor, zf_expr *expr) {
    finder *f = visitor->user;
    if (!f->found && zf_encode_place(expr->span) == f->at) {
        f->found = true;
        f->span = expr->span;
    }
    return !f->found;
}

static const char *violation_text(uint64_t violation) {
    switch (violation) {
    case 1: return "an index, slice or number of bits outside its sequence";
    case 5: return "an element outside its declared range";
    case 6: return "a `require` that does not hold";
    case 7: return "a division by zero";
    case 8: return "`nth_bit` of a bit that is not set";
    case 20: return "a param is given a value outside its range";
    default: return "a check failed";
    }
}

static zf_encode_refusal *explain(encoding *e, unsigned code, const char *format, ...) __attribute__((format(printf, 3, 4)));
static zf_encode_refusal *explain(encoding *e, unsigned code, const char *format, ...) {
    zf_encode_task *task = e->task;
    uint32_t at = task->refusal_count++;
    zf_encode_refusal *refusal = &task->refusals[at < ZF_ENCODE_REFUSALS ? at : ZF_ENCODE_REFUSALS];
    *refusal = (zf_encode_refusal){.row = ZF_ENCODE_NO_ROW};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(refusal->reason, sizeof refusal->reason, format, arguments);
    va_end(arguments);
    snprintf(refusal->code, sizeof refusal->code, "ZF%04u", code);
    return refusal;
}

/// Notes why an encoder outside of the language refused its input.
static zf_status report_extern(encoding *e, const zf_encode_node *node, const zf_extern_end *end) {
    const zf_inst *inst = node->codec->inst;
    const char *path = e->path, *colon = path[0] == 0 ? "" : ": ";
    zf_encode_refusal *refusal = end->unable ? explain(e, ZF_D_EXTERN_UNKNOWN, "%s%s`%s` is encoded by `extern \"%s\"`: %s", path,
                                                       colon, inst->name, inst->encode_extern, end->reason)
                                             : explain(e, ZF_E_ALL_REFUSED, "%s%s`%s`, by `extern \"%s\"`, refuses: %s", path,
                                                       colon, inst->name, inst->encode_extern, end->reason);
    refusal->span = node->codec->span;
    if (end->unable) refusal->unable = inst;
    return ZF_ERR_INPUT;
}

/// Notes why a body did not take its input.
static zf_status report(encoding *e, const zf_encode_node *node) {
    const zf_encode_frame *frame = &node->frame;
    const zf_inst *inst = node->codec->inst;
    const char *path = e->path[0] == 0 ? "" : e->path, *colon = e->path[0] == 0 ? "" : ": ";
    finder f = {.at = frame->span};
    zf_visitor visitor = {.user = &f, .stmt = find_stmt, .expr = find_expr};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&inst->encode); // only looks
    zf_encode_refusal *refusal;
    switch ((zf_encode_outcome)frame->outcome) {
    case ZF_ENCODE_REFUSED:
        refusal = explain(e, ZF_E_ALL_REFUSED, "%s%s`%s` refuses: %s", path, colon, inst->name,
                          f.text != NULL ? f.text : "more symbols than codes of that length");
        break;
    case ZF_ENCODE_LIMIT:
        if (frame->violation == 10) {
            refusal = explain(
                e, ZF_E_ALL_REFUSED,
                "%s%s`%s`: encode does not end, or takes too long: its loops may run %llu times for %llu rows, all together, and "
                "this one would go on",
                path, colon, inst->name, (unsigned long long)work_limit(frame->rows), (unsigned long long)frame->rows);
            break;
        }
        refusal = explain(e, ZF_E_ALL_REFUSED, "%s%s`%s`: encode does not end, or writes far more than it was given", path, colon,
                          inst->name);
        break;
    case ZF_ENCODE_MEMORY: refusal = explain(e, ZF_E_NO_MEMORY, "no memory to encode a block"); break;
    default:
        refusal = explain(e, ZF_E_ALL_REFUSED, "%s%s`%s`: encode leaves its bounds: %s", path, colon, inst->name,
                          violation_text(frame->violation));
        break;
    }
    refusal->span = f.span;
    // Rows of the root are rows of the column; those of a child are elements of a stream.
    if (e->path[0] == 0) {
        refusal->row = frame->row;
    } else if (frame->row != ZF_ENCODE_NO_ROW) {
        size_t length = strlen(refusal->reason);
        snprintf(refusal->reason + length, sizeof refusal->reason - length, " (element %llu of %s)",
                 (unsigned long long)frame->row, e->path);
    }
    return frame->outcome == ZF_ENCODE_MEMORY ? ZF_ERR_MEMORY : ZF_ERR_INPUT;
}

// ---- Sizes ----------------------------------------------------------------------------------------------------

static uint64_t stored_bytes(const zf_encode_buffer *buffer) { return (buffer->length * buffer->width + 7) / 8; }

/// The bytes of a stream's directory. Its entries are as wide as the last one needs, which is the largest.
static uint64_t directory_bytes(const zf_encode_buffer *buffer, const zf_port *port) {
    if (!port->per_chunk || port->fixed || buffer->start_count < 2) return 0;
    uint64_t last = buffer->starts[buffer->start_count - 1];
    unsigned width = last == 0 ? 0 : last <= UINT8_MAX ? 1 : last <= UINT16_MAX ? 2 : last <= UINT32_MAX ? 4 : 8;
    return (buffer->start_count - 1) * width;
}

/// About what the seek states of a node take: the exact number is known once it was recorded.
static uint64_t seek_bytes(const zf_encode_node *node) {
    const zf_inst *inst = node->codec->inst;
    uint64_t fields = inst->decode.reduce_count + (inst->pattern == ZF_GROUP_PARALLEL ? 2u : 0u);
    return node->count / 4096 * fields * 4;
}

/// Leaves `*larger` where the node would not take less than `limit` bytes.
static zf_status encode_children(encoding *e, zf_encode_node *node, uint64_t limit, bool *larger) {
    const zf_codec_node *codec = node->codec;
    for (uint32_t s = 0; s < codec->inst->stream_count; s++) { // first what is known
        zf_encode_buffer *buffer = &node->streams[s];
        zf_encode_finish(buffer);
        node->stored_bytes += directory_bytes(buffer, codec->inst->streams[s]);
        if (codec->streams[s] == NULL) node->stored_bytes += stored_bytes(buffer);
    }
    for (uint32_t s = 0; s < codec->inst->stream_count; s++) {
        zf_encode_buffer *buffer = &node->streams[s];
        *larger = node->stored_bytes >= limit;
        if (*larger) return ZF_OK;
        if (codec->streams[s] == NULL) continue;
        const zf_port *port = codec->inst->streams[s];
        zf_encode_input input = {.type = port->type,
                                 .values = buffer->is_text ? buffer->text : buffer->data,
                                 .validity = buffer->validity,
                                 .offsets = buffer->is_text ? (const uint64_t *)(const void *)buffer->data : NULL,
                                 .rows = buffer->length,
                                 .parts = buffer->parts,
                                 .part_count = buffer->part_count};
        uint64_t last = buffer->part_count > 0 ? buffer->parts[buffer->part_count - 1] : 0;
        if (last < buffer->length) { // what was pushed after the last piece is one more
            uint64_t *parts = zf_encode_alloc(&node->frame, (buffer->part_count + 1) * 8);
            if (parts == NULL) return report(e, node);
            if (buffer->part_count > 0) memcpy(parts, buffer->parts, buffer->part_count * 8);
            parts[input.part_count++] = buffer->length;
            input.parts = parts;
        }
        size_t length = strlen(e->path);
        snprintf(e->path + length, sizeof e->path - length, "%s%s", length > 0 ? "." : "", port->name);
        zf_status status = encode_choice(e, codec->streams[s], &input, false, limit - node->stored_bytes, &node->children[s]);
        if (status != ZF_OK) return status; // the path stays for the message; callers restore it
        e->path[length] = 0;
        *larger = node->children[s] == NULL;
        if (*larger) return ZF_OK;
        node->stored_bytes += node->children[s]->stored_bytes;
    }
    return ZF_OK;
}

/// Only numbers and booleans can be stored without an algorithm: what would store others refuses, however small it is.
static bool storable(encoding *e, const zf_codec_node *codec) {
    const char *path = e->path, *colon = path[0] == 0 ? "" : ": ";
    for (uint32_t s = 0; s < codec->inst->stream_count; s++) {
        const zf_port *port = codec->inst->streams[s];
        if (codec->streams[s] != NULL || zf_type_storable(port->type)) continue;
        const char *of = port->type.nullable ? "nullable values" : "strings", *by = port->type.nullable ? "nullable" : "strings";
        explain(e, ZF_E_ALL_REFUSED,
                "%s%s`%s`: its stream `%s` is of %s, which cannot be stored as they are; give it a codec, such as `%s`", path,
                colon, codec->inst->name, port->name, of, by)
            ->span = codec->span;
        return false;
    }
    return true;
}

/// The encoder of an algorithm: one of both.
typedef struct encoder {
    zf_encode_fn body;
    const zf_extern_encoder *external;
} encoder;

/// Notes why there is neither.
static encoder find_encoder(encoding *e, const zf_codec_node *codec) {
    const zf_inst *inst = codec->inst;
    const zf_encode_task *task = e->task;
    const char *reason = NULL;
    encoder found = {0};
    if (inst->encode_extern == NULL) {
        found.body = task->find(task->user, inst, &reason);
        if (found.body == NULL) explain(e, ZF_D_NO_ENCODE, "`%s` can only decode: %s", inst->name, reason);
        return found;
    }
    if (task->find_extern != NULL) found.external = task->find_extern(task->user, inst);
    if (found.external == NULL) {
        zf_text known = {0};
        if (task->extern_names != NULL) task->extern_names(task->user, &known);
        zf_encode_refusal *refusal = explain(
            e, ZF_D_EXTERN_UNKNOWN, "`%s` is encoded by `extern \"%s\"`, and no encoder of that name is registered%s%s",
            inst->name, inst->encode_extern, known.data != NULL ? "; there are " : "", known.data != NULL ? known.data : "");
        refusal->span = codec->span;
        refusal->unable = inst;
        zf_text_free(&known);
    }
    return found;
}

/// Leaves NULL where the node would not take less than `limit` bytes.
static zf_status encode_node(encoding *e, const zf_codec_choice *choice, uint32_t branch, const zf_encode_input *input,
                             uint64_t limit, zf_encode_node **out) {
    *out = NULL;
    if (!storable(e, choice->alternatives[branch])) return ZF_ERR_INPUT;
    encoder by = find_encoder(e, choice->alternatives[branch]);
    if (by.body == NULL && by.external == NULL) return ZF_ERR_INPUT;
    if (too_much_text(choice->alternatives[branch], input, limit)) return ZF_OK;
    zf_encode_node *node = make_node(e->task, choice, branch, input);
    if (node == NULL) {
        explain(e, ZF_E_NO_MEMORY, "no memory to encode a block");
        return ZF_ERR_MEMORY;
    }
    node->stored_bytes = seek_bytes(node);
    bool larger = node->stored_bytes >= limit;
    zf_status status = ZF_OK;
    if (!larger) {
        limit_streams(node, limit - node->stored_bytes);
        zf_extern_end end = {0};
        if (by.body != NULL)
            by.body(&node->frame);
        else
            zf_encode_extern_run(by.external, node->codec, input->type, &node->frame, &end);
        larger = node->frame.outcome == ZF_ENCODE_MORE;
        if (node->frame.outcome == ZF_ENCODE_DONE)
            status = encode_children(e, node, limit, &larger);
        else if (!larger)
            status = end.reason[0] != 0 ? report_extern(e, node, &end) : report(e, node);
    }
    if (status != ZF_OK || larger) {
        zf_encode_tree_free(node);
        return status;
    }
    *out = node;
    return ZF_OK;
}

/// The alternative that is tried first, since it takes least of a stretch of the rows: the smaller the first is, the earlier
/// others end. A stretch is coded by itself, so it cannot decide.
static uint32_t likely(encoding *e, const zf_codec_choice *choice, const zf_encode_input *input, bool is_root) {
    enum { ROWS = 512, FROM = 128 * ROWS }; ///< of a stretch; of inputs that are worth one
    if (choice->count < 2 || input->rows < FROM) return 0;
    zf_encode_task *task = e->task;
    encoding some = *e;
    uint32_t refusals = task->refusal_count;
    void (*passed_over)(void *, const zf_encode_refusal *) = task->passed_over;
    uint64_t first = input->rows / 2, part = ROWS;
    size_t element = input->offsets != NULL ? 0 : zf_kind_size(input->type.kind);
    zf_encode_input stretch = *input;
    stretch.rows = ROWS;
    stretch.values += first * element;
    if (input->offsets != NULL) stretch.offsets += first;
    if (input->validity != NULL) stretch.validity += first;
    stretch.parts = &part;
    stretch.part_count = 1;
    task->passed_over = NULL;
    zf_encode_node *node = NULL;
    encode_choice(&some, choice, &stretch, is_root, UINT64_MAX, &node);
    uint32_t branch = node != NULL ? node->branch : 0;
    zf_encode_tree_free(node);
    task->passed_over = passed_over;
    task->refusal_count = refusals;
    return branch;
}

/// The smallest alternative that took the input; of equal ones the first.
static zf_status encode_choice(encoding *e, const zf_codec_choice *choice, const zf_encode_input *input, bool is_root,
                               uint64_t limit, zf_encode_node **out) {
    zf_encode_node *best = NULL;
    bool larger = false; // some alternative was given up
    zf_status status = ZF_OK;
    size_t length = strlen(e->path);
    uint32_t refusals = e->task->refusal_count;
    *out = NULL;
    if (++e->depth > DEPTH_LIMIT) {
        explain(e, ZF_E_ALL_REFUSED, "the codec is nested deeper than %d", DEPTH_LIMIT);
        e->depth--;
        return ZF_ERR_INPUT;
    }
    uint32_t count = choice->count < ZF_ENCODE_ALTERNATIVES ? choice->count : ZF_ENCODE_ALTERNATIVES;
    uint32_t early = likely(e, choice, input, is_root);
    for (uint32_t k = early == 0 ? 1 : 0; k <= count && status != ZF_ERR_MEMORY; k++) {
        uint32_t a = k == 0 ? early : k - 1;
        if ((k > 0 && early > 0 && a == early) || (is_root && (e->task->skip >> a & 1))) continue;
        zf_encode_node *node;
        uint64_t most = best == NULL ? limit : best->stored_bytes + (a < best->branch); // of equal ones the first
        status = encode_node(e, choice, a, input, most, &node);
        e->path[length] = 0;
        larger = larger || (status == ZF_OK && node == NULL);
        if (k == 0 && status == ZF_ERR_INPUT) { // it refuses: again when it has its turn, with its reasons in their order
            e->task->refusal_count = refusals;
            early = 0;
        }
        if (node == NULL) continue;
        zf_encode_tree_free(best);
        best = node;
    }
    e->depth--;
    if (status == ZF_ERR_MEMORY) {
        zf_encode_tree_free(best);
        return status;
    }
    for (uint32_t r = refusals; best != NULL && r < e->task->refusal_count && r < ZF_ENCODE_REFUSALS; r++) {
        if (e->task->passed_over != NULL) e->task->passed_over(e->task->user, &e->task->refusals[r]);
    }
    if (best != NULL || larger) e->task->refusal_count = refusals; // why others refused does not matter
    *out = best;
    return best != NULL || larger ? ZF_OK : ZF_ERR_INPUT;
}

zf_status zf_encode_tree(zf_encode_task *task, const zf_codec_choice *choice, const zf_encode_input *input,
                         zf_encode_node **out) {
    encoding e = {.task = task};
    task->refusal_count = 0;
    return encode_choice(&e, choice, input, true, UINT64_MAX, out);
}
