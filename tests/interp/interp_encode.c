// Encoding: a node's `encode` body pushes to its streams, and children encode the pushed elements. The alternative with the
// smallest stored subtree wins, among those that did not refuse and that decode to their input; of equal ones the first.
#include <string.h>

#include "tests/interp/interp_internal.h"

enum { CODEC_DEPTH = 512 };

typedef struct encoding {
    interp *in;
    const zf_column *column;
    interp_stream *plain;
    interp_tree *tree;
    interp_status status;
    const char *reason; // of a refusal
    interp_violation violation;
    unsigned depth;
    unsigned rivals; // choices of several alternatives above
} encoding;

static interp_tree *encode_choice(encoding *e, const zf_codec_choice *choice, interp_stream *x, const char *path);

// ---- One node -------------------------------------------------------------------------------------------------

typedef struct node_call {
    interp_env *env;
} node_call;

static void run_encode(void *argument) {
    node_call *call = argument;
    interp_exec(call->env, call->env->inst->encode.stmts);
}

static bool failed(encoding *e, interp_status status, const char *path, const char *reason) {
    e->status = status;
    e->reason = zf_arena_printf(e->in->arena, "%s%s%s", path, path[0] ? ": " : "", reason);
    return false;
}

static bool run_extern(encoding *e, interp_env *env, const interp_tree *tree, const interp_stream **permuted) {
    interp *in = e->in;
    const zf_inst *inst = env->inst;
    for (size_t k = 0; k < in->options.extern_count; k++) {
        const interp_extern *row = &in->options.externs[k];
        if (strcmp(row->name, inst->encode_extern) != 0) continue;
        interp_extern_call call = {.in = in,
                                   .inst = inst,
                                   .chunk_size = env->chunk_size,
                                   .x = env->input,
                                   .params = tree->params,
                                   .streams = tree->streams,
                                   .permuted = interp_stream_new(in, env->input->type)};
        row->encode(&call);
        if (call.refused) return failed(e, INTERP_REFUSED, env->path, call.refused);
        if (call.permuted->count) *permuted = call.permuted;
        return true;
    }
    return failed(e, INTERP_NO_EXTERN, env->path,
                  zf_arena_printf(in->arena, "no extern encoder \"%s\" was given", inst->encode_extern));
}

void interp_extern_chunk(interp_extern_call *call) {
    for (uint32_t s = 0; s < call->inst->stream_count; s++)
        if (call->inst->streams[s]->per_chunk) interp_stream_start_chunk(call->streams[s]);
}

static bool run_node_encode(encoding *e, interp_env *env, const interp_tree *tree, const interp_stream **permuted) {
    interp *in = e->in;
    const zf_inst *inst = env->inst;
    if (inst->encode_extern) return run_extern(e, env, tree, permuted);
    if (!inst->encode.present) return failed(e, INTERP_REFUSED, env->path, "the algorithm has no encode");
    node_call call = {.env = env};
    if (interp_try(in, run_encode, &call)) return true;
    if (in->refused) return failed(e, INTERP_REFUSED, env->path, in->refused);
    e->violation = in->violation;
    return failed(e, INTERP_VIOLATION, env->path, "encode leaves its bounds");
}

static uint64_t stream_stored_bytes(const interp_stream *stream) {
    return interp_stream_size(stream) + (stream->chars ? stream->chars->count + 8 * stream->count : 0) +
           (stream->nulls ? stream->count : 0);
}

static interp_tree *encode_node(encoding *e, const zf_codec_choice *choice, uint32_t branch, interp_stream *x, const char *path) {
    zf_arena *arena = e->in->arena;
    const zf_codec_node *node = choice->alternatives[branch];
    const zf_inst *inst = node->inst;
    // The interpreter could keep them, but a file cannot: among alternatives they must not win.
    for (uint32_t s = 0; e->rivals > 0 && s < inst->stream_count; s++) {
        zf_type type = inst->streams[s]->type;
        if (!node->streams[s] && (type.nullable || type.kind == ZF_K_STRING)) {
            failed(e, INTERP_REFUSED, path, "strings and nullable values cannot be stored as they are");
            return NULL;
        }
    }
    interp_tree *tree = ZF_NEW(arena, interp_tree);
    *tree = (interp_tree){.node = node, .branch = branch, .choice = choice, .plain = x};
    tree->params = ZF_NEW_ARRAY(arena, uint64_t, inst->param_count + 1u);
    tree->streams = ZF_NEW_ARRAY(arena, interp_stream *, inst->stream_count + 1u);
    tree->children = ZF_NEW_ARRAY(arena, interp_tree *, inst->stream_count + 1u);
    for (uint32_t p = 0; p < inst->param_count; p++)
        if (node->param_given && node->param_given[p]) tree->params[p] = node->param_bits[p];
    for (uint32_t s = 0; s < inst->stream_count; s++) tree->streams[s] = interp_stream_new(e->in, inst->streams[s]->type);
    interp_env env = {.in = e->in,
                      .inst = inst,
                      .path = path,
                      .encoding = true,
                      .params = tree->params,
                      .streams = tree->streams,
                      .input = x,
                      .chunk_size = node->chunk_size,
                      .slot_count = inst->encode.local_count,
                      .work_limit = UINT64_MAX};
    env.slots = ZF_NEW_ARRAY(arena, interp_slot, env.slot_count + 1u);
    if (!run_node_encode(e, &env, tree, &tree->plain)) return NULL;
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        const zf_port *port = inst->streams[s];
        interp_stream *stream = tree->streams[s];
        stream->bit_length = stream->count * stream->width; // what was begun is padded with zeros
        if (port->per_chunk && !port->fixed) tree->stored_bytes += 8 * stream->start_count;
        if (node->streams[s]) {
            const char *below = path[0] ? zf_arena_printf(arena, "%s.%s", path, port->name) : port->name;
            tree->children[s] = encode_choice(e, node->streams[s], stream, below);
            if (!tree->children[s]) return NULL;
            tree->stored_bytes += tree->children[s]->stored_bytes;
        } else
            tree->stored_bytes += stream_stored_bytes(stream);
    }
    return tree;
}

// ---- Choosing -------------------------------------------------------------------------------------------------

// Decodes a subtree and compares.
static bool verify(encoding *e, const interp_tree *tree, const char *path) {
    interp *in = e->in;
    interp_block *block = interp_flatten_tree(in, e->column, tree);
    interp_graph *graph =
        interp_graph_of(in, tree->choice, tree->branch, tree->plain->type, block->branches, block->branch_count);
    interp_stream *out;
    interp_report report;
    uint64_t first = 0;
    if (interp_decode_graph(in, graph, block, &out, &report) != INTERP_OK) {
        e->violation = report.violation;
        zf_text text = {0};
        interp_violation_text(&report.violation, &text);
        failed(e, INTERP_UNVERIFIED, path,
               zf_arena_printf(in->arena, "the encoded block does not decode: %s", text.data ? text.data : ""));
        zf_text_free(&text);
        return false;
    }
    if (interp_stream_equal(tree->plain, out, &first)) return true;
    return failed(e, INTERP_UNVERIFIED, path,
                  zf_arena_printf(in->arena, "the decoded block differs at %llu", (unsigned long long)first));
}

static interp_tree *encode_choice(encoding *e, const zf_codec_choice *choice, interp_stream *x, const char *path) {
    if (++e->depth > CODEC_DEPTH) interp_stop(e->in, INTERP_LIMIT, "codecs nested too deep");
    interp_tree *best = NULL;
    e->rivals += choice->count > 1;
    for (uint32_t a = 0; a < choice->count; a++) {
        interp_tree *tree = encode_node(e, choice, a, x, path);
        if (tree && choice->count > 1 && !e->in->options.no_verify && !verify(e, tree, path)) tree = NULL;
        if (tree && (!best || tree->stored_bytes < best->stored_bytes)) best = tree;
    }
    e->depth--;
    e->rivals -= choice->count > 1;
    if (best) e->status = INTERP_OK; // others may have refused
    return best;
}

// ---- The numbered form ----------------------------------------------------------------------------------------

typedef struct flat {
    interp *in;
    uint8_t *branches;
    uint64_t *params, *counts;
    interp_stored *streams;
    interp_directory *directories;
    uint32_t params_used, edges_used, streams_used;
} flat;

static void count_tree(const interp_tree *tree, flat *f) {
    const zf_inst *inst = tree->node->inst;
    f->edges_used++;
    f->params_used += inst->param_count;
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        if (tree->children[s])
            count_tree(tree->children[s], f);
        else {
            f->edges_used++;
            f->streams_used++;
        }
    }
}

static interp_stored store(interp *in, const interp_stream *stream) {
    interp_stored stored = {
        .bytes = stream->bytes, .size = interp_stream_size(stream), .elements = stream->count, .nulls = stream->nulls};
    if (!stream->chars) return stored;
    uint64_t *offsets = ZF_NEW_ARRAY(in->arena, uint64_t, (size_t)stream->count + 1), total = 0;
    for (uint64_t k = 0; k < stream->count; k++) total += stream->rows[k].length;
    uint8_t *bytes = zf_arena_alloc(in->arena, (size_t)total + 1);
    for (uint64_t k = 0; k < stream->count; k++) {
        interp_piece row = stream->rows[k];
        if (row.length) memcpy(bytes + offsets[k], stream->chars->bytes + row.start, (size_t)row.length);
        offsets[k + 1] = offsets[k] + row.length;
    }
    stored.bytes = bytes;
    stored.size = total;
    stored.offsets = offsets;
    return stored;
}

static void fill_tree(const interp_tree *tree, flat *f) {
    const zf_inst *inst = tree->node->inst;
    f->counts[f->edges_used++] = tree->plain->count;
    if (tree->choice->count > 1) f->branches[tree->choice->index] = (uint8_t)tree->branch;
    for (uint32_t p = 0; p < inst->param_count; p++) f->params[f->params_used++] = tree->params[p];
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        const interp_stream *stream = tree->streams[s];
        const zf_port *port = inst->streams[s];
        uint32_t edge = f->edges_used;
        if (port->per_chunk && !port->fixed)
            f->directories[edge] = (interp_directory){.starts = stream->starts, .count = stream->start_count};
        if (tree->children[s])
            fill_tree(tree->children[s], f);
        else {
            f->streams[f->streams_used++] = store(f->in, stream);
            f->counts[f->edges_used++] = stream->count;
        }
    }
}

interp_block *interp_flatten_tree(interp *in, const zf_column *column, const interp_tree *tree) {
    flat f = {.in = in};
    count_tree(tree, &f);
    interp_block *block = ZF_NEW(in->arena, interp_block);
    block->branch_count = column->choice_count;
    block->param_count = f.params_used;
    block->edge_count = f.edges_used;
    block->stream_count = f.streams_used;
    f.branches = ZF_NEW_ARRAY(in->arena, uint8_t, block->branch_count + 1u);
    f.params = ZF_NEW_ARRAY(in->arena, uint64_t, block->param_count + 1u);
    f.counts = ZF_NEW_ARRAY(in->arena, uint64_t, block->edge_count + 1u);
    f.streams = ZF_NEW_ARRAY(in->arena, interp_stored, block->stream_count + 1u);
    f.directories = ZF_NEW_ARRAY(in->arena, interp_directory, block->edge_count + 1u);
    f.params_used = f.edges_used = f.streams_used = 0;
    fill_tree(tree, &f);
    block->branches = f.branches;
    block->params = f.params;
    block->counts = f.counts;
    block->streams = f.streams;
    block->directories = f.directories;
    return block;
}

// ---- For callers ----------------------------------------------------------------------------------------------

static void encode_column(void *argument) {
    encoding *e = argument;
    e->tree = encode_choice(e, e->column->codec, e->plain, "");
    if (e->tree && e->column->codec->count == 1 && !e->in->options.no_verify && !verify(e, e->tree, "")) e->tree = NULL;
}

interp_status interp_encode(interp *in, const zf_column *column, const interp_stream *plain, interp_tree **out,
                            interp_report *report) {
    encoding e = {.in = in, .column = column, .plain = (interp_stream *)(uintptr_t)plain, .reason = ""};
    interp_report none = {.message = ""};
    *out = NULL;
    *report = none;
    interp_status status = interp_enter(in, encode_column, &e);
    if (status != INTERP_OK) {
        report->message = in->stop_message;
        return status;
    }
    *out = e.tree;
    if (e.tree) return INTERP_OK;
    report->message = e.reason;
    report->violation = e.violation;
    return e.status;
}

typedef struct flatten_call {
    interp *in;
    const zf_column *column;
    const interp_tree *tree;
    interp_block *block;
} flatten_call;

static void flatten(void *argument) {
    flatten_call *call = argument;
    call->block = interp_flatten_tree(call->in, call->column, call->tree);
}

interp_status interp_flatten(interp *in, const zf_column *column, const interp_tree *tree, interp_block *out) {
    flatten_call call = {.in = in, .column = column, .tree = tree};
    interp_status status = interp_enter(in, flatten, &call);
    if (status == INTERP_OK) *out = *call.block;
    return status;
}

typedef struct decode_call {
    interp *in;
    const zf_column *column;
    const interp_block *block;
    interp_stream *out;
    interp_report *report;
    interp_status status;
} decode_call;

static void decode(void *argument) {
    decode_call *call = argument;
    const zf_codec_choice *codec = call->column->codec;
    const interp_block *block = call->block;
    uint32_t root = 0;
    if (codec->count > 1) {
        if (codec->index >= block->branch_count) interp_stop(call->in, INTERP_MISUSE, "fewer branches than choices");
        root = block->branches[codec->index];
    }
    interp_graph *graph = interp_graph_of(call->in, codec, root, call->column->type, block->branches, block->branch_count);
    call->status = interp_decode_graph(call->in, graph, block, &call->out, call->report);
}

interp_status interp_decode_stored(interp *in, const zf_column *column, const interp_block *block, interp_stream **out,
                                   interp_report *report) {
    decode_call call = {.in = in, .column = column, .block = block, .report = report};
    interp_report none = {.message = ""};
    *out = NULL;
    *report = none;
    interp_status status = interp_enter(in, decode, &call);
    if (status != INTERP_OK) {
        report->message = in->stop_message;
        return status;
    }
    *out = call.out;
    return call.status;
}
