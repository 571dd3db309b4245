// Decoding a block: its host checks, then node by node, children first. Every node's elements are made whole. An element whose
// evaluation violates a check carries that violation, and its consumer meets it. The column's own elements therefore meet the
// violations that a demand-driven decoder would.
#include <string.h>

#include "tests/interp/interp_internal.h"

typedef struct decoding {
    interp *in;
    interp_graph *graph;
    const interp_block *block;
    interp_stream **edges;  // elements of every edge
    interp_violation first; // of those that every decoder meets, wherever it stands
    bool has_first;
    interp_violation hidden; // any other
    bool has_hidden;
    uint64_t stored_bytes;
    bool *used;     // edges that some body names, up to the column: only their nodes have to run at all
    bool *finished; // edges whose consumers take them up to their last element
    bool in_use;    // the node being run is one of them
    interp_stream *out;
} decoding;

static void note_hidden(decoding *d, const interp_violation *violation) {
    if (!d->has_hidden) d->hidden = *violation;
    d->has_hidden = true;
}

static void note(decoding *d, const interp_violation *violation) {
    if (!d->in_use) {
        note_hidden(d, violation);
        return;
    }
    if (!d->has_first) d->first = *violation;
    d->has_first = true;
}

_Noreturn static void block_violation(decoding *d, unsigned number, const char *path, zf_span span, const char *what) {
    interp_violation violation = {.number = number, .path = path, .span = span, .what = what};
    interp_raise(d->in, &violation);
}

// ---- Before any element: V20 .. V25 ---------------------------------------------------------------------------

static interp_env node_env(decoding *d, const interp_node *node) {
    return (interp_env){.in = d->in,
                        .inst = node->codec->inst,
                        .path = node->path,
                        .params = node->params,
                        .chunk_size = node->codec->chunk_size,
                        .work_limit = UINT64_MAX};
}

static uint64_t chunks_of(const interp_node *node, uint64_t count) {
    uint64_t size = node->codec->chunk_size;
    return count / size + (count % size != 0);
}

static zf_int128 number_of(const zf_expr *expr, uint64_t bits) {
    return zf_kind_is_signed(expr->type.kind) ? interp_value_signed(expr->type.kind, bits) : (zf_int128)bits;
}

static interp_range range_of(interp_env *env, const zf_port *port) {
    interp_range range = {0};
    if (!port->has_range) return range;
    range.has_lo = port->lo != NULL;
    range.has_hi = port->hi != NULL;
    if (port->lo) range.lo = number_of(port->lo, interp_eval_bits(env, port->lo));
    if (port->hi) range.hi = number_of(port->hi, interp_eval_bits(env, port->hi));
    return range;
}

static void check_params(decoding *d, interp_node *node) {
    const zf_codec_node *codec = node->codec;
    const zf_inst *inst = codec->inst;
    node->params = ZF_NEW_ARRAY(d->in->arena, uint64_t, inst->param_count + 1);
    interp_env env = node_env(d, node);
    for (uint32_t p = 0; p < inst->param_count; p++) {
        const zf_port *port = inst->params[p];
        zf_kind kind = port->type.kind;
        bool given = codec->param_given && codec->param_given[p];
        uint64_t bits = interp_value_mask(kind, given ? codec->param_bits[p] : d->block->params[node->first_param + p]);
        node->params[p] = bits;
        interp_range range = range_of(&env, port);
        zf_int128 number = zf_kind_is_signed(kind) ? interp_value_signed(kind, bits) : (zf_int128)bits;
        if ((range.has_lo && number < range.lo) || (range.has_hi && number > range.hi))
            block_violation(d, 20, node->path, port->span, port->name);
    }
}

static void check_directory(decoding *d, const interp_node *node, const zf_port *port, uint32_t edge, uint64_t chunks) {
    const interp_directory *directory = d->block->directories ? &d->block->directories[edge] : NULL;
    uint64_t entries = directory ? directory->count : 0, count = d->block->counts[edge];
    if (entries != chunks) block_violation(d, 22, node->path, port->span, "entries of the chunk directory");
    for (uint64_t c = 0; c < chunks; c++) {
        uint64_t start = directory->starts[c], before = c ? directory->starts[c - 1] : 0;
        if ((c == 0 && start != 0) || start < before || start > count)
            block_violation(d, 22, node->path, port->span, "chunk directory");
    }
}

static void check_streams(decoding *d, const interp_node *node) {
    const zf_inst *inst = node->codec->inst;
    interp_env env = node_env(d, node);
    uint64_t out = d->block->counts[node->edge];
    uint64_t chunks = inst->pattern == ZF_NON_PARALLEL ? chunks_of(node, out) : 1;
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        const zf_port *port = inst->streams[s];
        uint32_t edge = node->inputs[s];
        if (port->fixed) {
            zf_int128 want = (zf_int128)interp_eval_bits(&env, port->length) * (port->per_chunk ? chunks : 1);
            if (want != (zf_int128)d->block->counts[edge]) block_violation(d, 21, d->graph->paths[edge], port->span, port->name);
        } else if (port->per_chunk)
            check_directory(d, node, port, edge, chunks);
    }
}

static void check_counts(decoding *d) {
    const interp_block *block = d->block;
    for (uint32_t e = 0; e < d->graph->edge_count; e++) {
        zf_span none = {0};
        if (block->counts[e] > UINT64_C(1) << 32) block_violation(d, 25, d->graph->paths[e], none, "elements of an edge");
        if (block->counts[e] > d->in->options.max_elements)
            interp_stop(d->in, INTERP_LIMIT, "an edge with more elements than the options allow");
        if (d->graph->stored[e] < 0) continue;
        const interp_stored *stored = &block->streams[d->graph->stored[e]];
        zf_type type = d->graph->types[e];
        if (stored->elements != block->counts[e]) block_violation(d, 23, d->graph->paths[e], none, "elements of a stored stream");
        if (type.kind == ZF_K_STRING) {
            if (stored->elements && !stored->offsets)
                block_violation(d, 23, d->graph->paths[e], none, "offsets of a stored stream");
            for (uint64_t k = 0; k < stored->elements; k++) {
                if (stored->offsets[k] > stored->offsets[k + 1] || stored->offsets[k + 1] > stored->size)
                    block_violation(d, 23, d->graph->paths[e], none, "offsets of a stored stream");
            }
        } else if (stored->size != (stored->elements * zf_kind_bits(type.kind) + 7) / 8)
            block_violation(d, 23, d->graph->paths[e], none, "bytes of a stored stream");
        if (type.nullable && stored->elements && !stored->nulls)
            block_violation(d, 23, d->graph->paths[e], none, "nulls of a stored stream");
        d->stored_bytes += stored->size;
    }
}

static void load_stored(decoding *d, uint32_t edge) {
    const interp_stored *stored = &d->block->streams[d->graph->stored[edge]];
    zf_type type = d->graph->types[edge];
    if (type.kind != ZF_K_STRING) {
        d->edges[edge] = interp_stream_raw(d->in, type, stored->bytes, stored->elements);
        if (type.nullable && stored->elements) memcpy(d->edges[edge]->nulls, stored->nulls, (size_t)stored->elements);
        return;
    }
    interp_stream *stream = d->edges[edge] = interp_stream_new(d->in, type);
    for (uint64_t k = 0; k < stored->elements; k++) {
        if (type.nullable && stored->nulls[k])
            interp_stream_push_null(stream);
        else
            interp_stream_push_string(stream, stored->bytes + stored->offsets[k], stored->offsets[k + 1] - stored->offsets[k]);
    }
}

// ---- Elements and what they meet ------------------------------------------------------------------------------

static const interp_violation *keep(decoding *d) {
    interp_violation *copy = ZF_NEW(d->in->arena, interp_violation);
    *copy = d->in->violation;
    return copy;
}

static void poison(decoding *d, interp_stream *stream, uint64_t from, uint64_t to, const interp_violation *violation) {
    if (to <= from) return;
    if (!stream->poison) stream->poison = ZF_NEW_ARRAY(d->in->arena, const interp_violation *, (size_t)stream->count);
    for (uint64_t k = from; k < to; k++) stream->poison[k] = violation;
}

typedef struct element_call {
    interp_env *env;
    const zf_body *body;
    interp_value value;
    uint64_t at;
} element_call;

static void evaluate_body(void *argument) {
    element_call *call = argument;
    call->value = interp_run_body(call->env, call->body);
}

static void evaluate_element(void *argument) {
    element_call *call = argument;
    interp_value value = interp_run_body(call->env, call->body);
    interp_seq_check_range(call->env, value.seq, 0, value.seq.length); // a string takes its bytes with it
    interp_stream_set(call->env->out, call->at, value);
}

static void run_element(decoding *d, interp_env *env, uint64_t at) {
    element_call call = {.env = env, .body = &env->inst->decode, .at = at};
    env->position = at;
    env->emit_serial = 0;
    if (!interp_try(d->in, evaluate_element, &call)) poison(d, env->out, at, at + 1, keep(d));
}

static bool run_value(decoding *d, interp_env *env, const zf_body *body, uint64_t *value) {
    element_call call = {.env = env, .body = body};
    if (!interp_try(d->in, evaluate_body, &call)) return false;
    *value = call.value.bits;
    return true;
}

// ---- Scans that nothing asked for -----------------------------------------------------------------------------

// A scan is a step of its tile: its terms may be computed although no element uses the sum. Their violations are hidden.
typedef struct domains {
    uint64_t elements, groups;
} domains;
static void extend_scans(decoding *d, interp_env *env, const zf_expr *expr, domains domain);

static uint64_t longest_stream(const interp_env *env) {
    uint64_t most = 0;
    for (uint32_t s = 0; s < env->inst->stream_count; s++)
        if (env->streams[s]->count > most) most = env->streams[s]->count;
    return most;
}

static void extend_in_stmts(decoding *d, interp_env *env, const zf_stmt *stmt, domains domain) {
    for (; stmt; stmt = stmt->next) {
        if (stmt->local) extend_scans(d, env, stmt->local->init, domain);
        extend_scans(d, env, stmt->binder.lo, domain);
        extend_scans(d, env, stmt->binder.hi, domain);
        extend_scans(d, env, stmt->value, domain);
        extend_scans(d, env, stmt->place, domain);
        extend_in_stmts(d, env, stmt->body, domain);
        extend_in_stmts(d, env, stmt->else_part, domain);
    }
}

static void extend_scans(decoding *d, interp_env *env, const zf_expr *expr, domains domain) {
    if (!expr) return;
    extend_scans(d, env, expr->a, domain);
    extend_scans(d, env, expr->b, domain);
    extend_scans(d, env, expr->c, domain);
    if (expr->call) {
        for (uint32_t k = 0; k < expr->call->formal_count; k++) extend_scans(d, env, expr->call->formals[k]->init, domain);
        extend_in_stmts(d, env, expr->call->body, domain);
        extend_scans(d, env, expr->call->value, domain);
    }
    if (!expr->reduce) return;
    const zf_reduce *reduce = expr->reduce;
    for (uint32_t k = 0; k < reduce->binder_count; k++) {
        extend_scans(d, env, reduce->binders[k].lo, domain);
        extend_scans(d, env, reduce->binders[k].hi, domain);
    }
    extend_scans(d, env, reduce->term, domain);
    bool scan = reduce->form == ZF_R_SCAN || reduce->form == ZF_R_SEGMENTED || reduce->form == ZF_R_PREFIX;
    bool along_groups = reduce->domain && reduce->domain->kind == ZF_L_DOMAIN_G;
    uint64_t count = along_groups ? domain.groups : domain.elements;
    if (!scan || count == 0) return;
    interp_memo *memo = interp_memo_of(env, expr);
    if (!memo->closed) return;
    uint64_t terms = reduce->inclusive ? count : count - 1;
    if (reduce->form == ZF_R_PREFIX) terms = longest_stream(env); // all of a stream's, wherever that ends
    if (terms > memo->terms) interp_memo_extend(env, memo, expr, terms);
    for (uint64_t k = 0; k < memo->bad_count; k++)
        if (memo->bad[k].violation->number != 1 || memo->bad[k].at < count) note_hidden(d, memo->bad[k].violation);
}

static void extend_body(decoding *d, interp_env *env, const zf_body *body, domains domain) {
    env->emit_serial = 0;
    extend_in_stmts(d, env, body->stmts, domain);
    extend_scans(d, env, body->value, domain);
}

// ---- The three patterns ---------------------------------------------------------------------------------------

static void run_fully_parallel(decoding *d, interp_env *env) {
    for (env->i = 0; env->i < env->out_length; env->i++) run_element(d, env, env->i);
    extend_body(d, env, &env->inst->decode, (domains){.elements = env->out_length});
}

// Every decoder of the block meets a fault of the groups themselves, since its last tile must end at the last group: unless its
// consumer ends before they do.
static void broken_groups(decoding *d, interp_env *env, uint64_t from) {
    const interp_violation *violation = keep(d);
    if (env->finished)
        note(d, violation);
    else
        note_hidden(d, violation);
    poison(d, env->out, from, env->out_length, violation);
}

static void wrong_groups(decoding *d, interp_env *env, unsigned number, uint64_t from, const zf_body *body, const char *what) {
    zf_span span = body->value ? body->value->span : (zf_span){0};
    d->in->violation = (interp_violation){.number = number, .path = env->path, .position = from, .span = span, .what = what};
    broken_groups(d, env, from);
}

static void run_group_parallel(decoding *d, interp_env *env) {
    const zf_inst *inst = env->inst;
    uint64_t groups = 0, at = 0;
    if (!run_value(d, env, &inst->groups, &groups)) {
        broken_groups(d, env, 0);
        return;
    }
    if (groups / 64 > d->stored_bytes + env->out_length + 1024) { // 64 * (stored + out) + 65536, without overflow
        wrong_groups(d, env, 25, 0, &inst->groups, "number of groups");
        return;
    }
    for (env->g = 0; env->g < groups; env->g++) {
        uint64_t size = 0;
        env->position = at;
        if (!run_value(d, env, &inst->size, &size)) {
            broken_groups(d, env, at);
            return;
        }
        bool fits = size <= env->out_length - at;
        if (!fits) size = env->out_length - at;
        for (env->j = 0; env->j < size; env->j++) {
            env->i = at + env->j;
            run_element(d, env, env->i);
        }
        at += size;
        if (!fits) {
            wrong_groups(d, env, 9, at, &inst->size, "sum of sizes beyond out.len");
            return;
        }
    }
    if (at != env->out_length) wrong_groups(d, env, 9, at, &inst->size, "sum of sizes below out.len");
    domains domain = {.elements = env->out_length, .groups = groups};
    extend_body(d, env, &inst->size, domain);
    extend_body(d, env, &inst->decode, domain);
}

// ---- Chunks ---------------------------------------------------------------------------------------------------

static void run_lanes(interp_env *env) {
    const zf_inst *inst = env->inst;
    for (env->lane = 0; env->lane < inst->lanes; env->lane++) {
        for (uint32_t s = 0; s < inst->state_count; s++)
            env->states[s * inst->lanes + env->lane] = interp_eval(env, inst->states[s].init);
    }
    for (env->i = 0; env->i < env->out_length; env->i++) {
        env->lane = env->i % inst->lanes;
        env->position = env->out_start + env->i;
        interp_value value = interp_run_body(env, &inst->decode);
        interp_seq_check_range(env, value.seq, 0, value.seq.length);
        interp_stream_set(env->out, env->out_start + env->i, value);
        env->out_pos++;
    }
}

static void run_chunk(void *argument) {
    interp_env *env = argument;
    if (env->inst->lanes)
        run_lanes(env);
    else {
        interp_exec(env, env->inst->decode.stmts);
        if (env->inst->decode.value) interp_eval(env, env->inst->decode.value);
        if (env->out_pos != env->out_length) interp_env_violate(env, 4, (zf_span){0}, "the chunk ends before out.len");
    }
}

// The chunk's part of every `per chunk` stream, the cursors at its start, and the work that it may do.
static void enter_chunk(decoding *d, interp_env *env, const interp_node *node, uint64_t chunks) {
    const zf_inst *inst = env->inst;
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        const zf_port *port = inst->streams[s];
        if (!port->per_chunk) continue;
        uint64_t count = env->streams[s]->count;
        if (port->fixed) {
            env->length[s] = count / chunks;
            env->first[s] = env->chunk * env->length[s];
        } else {
            const interp_directory *directory = &d->block->directories[node->inputs[s]];
            uint64_t end = env->chunk + 1 < chunks ? directory->starts[env->chunk + 1] : count;
            env->first[s] = directory->starts[env->chunk];
            env->length[s] = end - env->first[s];
        }
        env->cursor[s] = 0;
        bytes += (env->length[s] * env->streams[s]->width + 7) / 8;
    }
    env->out_pos = 0;
    env->position = env->out_start;
    env->work = 0;
    env->work_limit = 64 * (bytes + env->out_length) + 65536;
}

static void run_non_parallel(decoding *d, interp_env *env, const interp_node *node) {
    const zf_inst *inst = env->inst;
    uint64_t total = env->out->count, chunks = chunks_of(node, total);
    env->states = ZF_NEW_ARRAY(d->in->arena, interp_value, (size_t)(inst->state_count * inst->lanes) + 1);
    for (env->chunk = 0; env->chunk < chunks; env->chunk++) {
        env->out_start = env->chunk * env->chunk_size;
        env->out_length = total - env->out_start < env->chunk_size ? total - env->out_start : env->chunk_size;
        enter_chunk(d, env, node, chunks);
        if (interp_try(d->in, run_chunk, env)) continue;
        const interp_violation *violation = keep(d); // it stops the chunk; others go on
        note(d, violation);
        poison(d, env->out, env->out_start, env->out_start + env->out_length, violation);
    }
}

// ---- A block --------------------------------------------------------------------------------------------------

static uint32_t most_locals(const zf_inst *inst) {
    uint32_t most = inst->groups.local_count;
    if (inst->size.local_count > most) most = inst->size.local_count;
    return inst->decode.local_count > most ? inst->decode.local_count : most;
}

// The view of a node's bodies of its streams, made before, and room for their locals.
static interp_env attach_streams(decoding *d, const interp_node *node) {
    zf_arena *arena = d->in->arena;
    const zf_inst *inst = node->codec->inst;
    size_t streams = inst->stream_count + 1u;
    interp_env env = node_env(d, node);
    env.out_length = d->block->counts[node->edge];
    env.streams = ZF_NEW_ARRAY(arena, interp_stream *, streams);
    env.ranges = ZF_NEW_ARRAY(arena, interp_range, streams);
    env.first = ZF_NEW_ARRAY(arena, uint64_t, streams);
    env.length = ZF_NEW_ARRAY(arena, uint64_t, streams);
    env.cursor = ZF_NEW_ARRAY(arena, uint64_t, streams);
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        env.streams[s] = d->edges[node->inputs[s]];
        env.ranges[s] = range_of(&env, inst->streams[s]);
    }
    env.slot_count = most_locals(inst);
    env.slots = ZF_NEW_ARRAY(arena, interp_slot, env.slot_count + 1u);
    return env;
}

// The same, and room for the node's elements.
static interp_env open_node(decoding *d, const interp_node *node) {
    interp_env env = attach_streams(d, node);
    env.out = interp_stream_new(d->in, d->graph->types[node->edge]);
    interp_stream_resize(env.out, env.out_length);
    d->edges[node->edge] = env.out;
    return env;
}

static void find_used(decoding *d) {
    d->used = ZF_NEW_ARRAY(d->in->arena, bool, d->graph->edge_count);
    d->used[0] = true;
    for (uint32_t n = 0; n < d->graph->node_count; n++) { // parents have lower numbers
        const interp_node *node = &d->graph->nodes[n];
        for (uint32_t s = 0; s < node->codec->inst->stream_count; s++)
            d->used[node->inputs[s]] = d->used[node->edge] && node->codec->inst->streams[s]->access != ZF_ACCESS_NONE;
    }
}

// Groups of a node, as its streams' lengths and its params say; 0 where they say nothing.
static uint64_t groups_of(decoding *d, const interp_node *node) {
    const zf_inst *inst = node->codec->inst;
    uint64_t groups = 0;
    for (uint32_t s = 0; s < inst->stream_count; s++) { // only their lengths
        uint32_t edge = node->inputs[s];
        d->edges[edge] = interp_stream_new(d->in, d->graph->types[edge]);
        d->edges[edge]->count = d->block->counts[edge];
    }
    interp_env env = attach_streams(d, node);
    bool known = run_value(d, &env, &inst->groups, &groups);
    for (uint32_t s = 0; s < inst->stream_count; s++) d->edges[node->inputs[s]] = NULL;
    return known ? groups : 0;
}

// Which edges' elements are asked for up to the last: those of stages that their consumer takes in order only as far as it goes.
static void find_finished(decoding *d) {
    d->finished = ZF_NEW_ARRAY(d->in->arena, bool, d->graph->edge_count);
    d->finished[0] = true;
    for (uint32_t n = 0; n < d->graph->node_count; n++) { // parents have lower numbers
        const interp_node *node = &d->graph->nodes[n];
        const zf_inst *inst = node->codec->inst;
        bool finished = d->finished[node->edge];
        uint64_t groups = inst->pattern == ZF_GROUP_PARALLEL ? groups_of(d, node) : 0;
        for (uint32_t s = 0; s < inst->stream_count; s++) {
            uint64_t count = d->block->counts[node->inputs[s]];
            zf_access access = inst->pattern == ZF_NON_PARALLEL ? ZF_ACCESS_GATHER : inst->streams[s]->access;
            uint64_t domain = access == ZF_ACCESS_ALIGNED_G ? groups : d->block->counts[node->edge];
            bool in_order = access == ZF_ACCESS_ALIGNED_I || access == ZF_ACCESS_ALIGNED_G;
            d->finished[node->inputs[s]] = !in_order || (finished && domain >= count);
        }
    }
}

static void run_node(decoding *d, const interp_node *node) {
    interp_env env = open_node(d, node);
    env.finished = d->finished == NULL || d->finished[node->edge];
    d->in_use = d->used == NULL || d->used[node->edge];
    switch (env.inst->pattern) {
    case ZF_FULLY_PARALLEL: run_fully_parallel(d, &env); break;
    case ZF_GROUP_PARALLEL: run_group_parallel(d, &env); break;
    case ZF_NON_PARALLEL: run_non_parallel(d, &env, node); break;
    }
}

uint64_t interp_group_total(interp *in, interp_graph *graph, const interp_block *block, uint32_t number, uint64_t limit) {
    decoding d = {.in = in, .graph = graph, .block = block};
    const interp_node *node = &graph->nodes[number];
    d.edges = ZF_NEW_ARRAY(in->arena, interp_stream *, graph->edge_count);
    for (uint32_t n = number; n < graph->node_count; n++) check_params(&d, &graph->nodes[n]);
    for (uint32_t e = node->edge + 1; e < graph->edge_count; e++)
        if (graph->stored[e] >= 0) load_stored(&d, e);
    for (uint32_t n = graph->node_count; n-- > number + 1;) run_node(&d, &graph->nodes[n]);
    interp_env env = open_node(&d, node);
    uint64_t groups = 0, total = 0;
    if (!run_value(&d, &env, &env.inst->groups, &groups)) return 0;
    for (env.g = 0; env.g < groups && env.g < limit; env.g++) {
        uint64_t size = 0;
        if (!run_value(&d, &env, &env.inst->size, &size) || size > limit - total) break;
        total += size;
    }
    return total;
}

static void check_block(void *argument) {
    decoding *d = argument;
    check_counts(d);
    for (uint32_t n = 0; n < d->graph->node_count; n++) check_params(d, &d->graph->nodes[n]);
    for (uint32_t n = 0; n < d->graph->node_count; n++) check_streams(d, &d->graph->nodes[n]);
}

static void decode_nodes(void *argument) {
    decoding *d = argument;
    d->edges = ZF_NEW_ARRAY(d->in->arena, interp_stream *, d->graph->edge_count);
    d->in_use = true;
    if (!interp_try(d->in, check_block, d)) { // the block is not decoded at all
        note(d, &d->in->violation);
        return;
    }
    find_used(d);
    find_finished(d);
    for (uint32_t e = 0; e < d->graph->edge_count; e++)
        if (d->graph->stored[e] >= 0) load_stored(d, e);
    for (uint32_t n = d->graph->node_count; n-- > 0;) run_node(d, &d->graph->nodes[n]); // children have higher numbers
    d->out = d->edges[0];
    for (uint32_t e = 0; e < d->graph->edge_count; e++) {
        const interp_stream *stream = d->edges[e];
        for (uint64_t k = 0; stream->poison && k < stream->count && !d->has_hidden; k++)
            if (stream->poison[k]) note_hidden(d, stream->poison[k]);
    }
}

interp_status interp_decode_graph(interp *in, interp_graph *graph, const interp_block *block, interp_stream **out,
                                  interp_report *report) {
    decoding d = {.in = in, .graph = graph, .block = block};
    *out = NULL;
    *report = (interp_report){.message = ""};
    if (block->edge_count != graph->edge_count || block->stream_count != graph->stored_count ||
        block->param_count != graph->param_count)
        interp_stop(in, INTERP_MISUSE, "a block that is numbered otherwise");
    decode_nodes(&d);
    *out = d.out;
    report->unreached = d.has_hidden;
    report->hidden = d.hidden;
    const interp_violation *first = NULL;
    if (d.out && d.out->poison) {
        for (uint64_t k = 0; k < d.out->count && !first; k++) {
            first = d.out->poison[k];
            report->root_position = first ? k : 0;
        }
    }
    if (!first && d.has_first && d.out && d.out->count == 0) { // nothing is asked for: no tile has to run
        if (!d.has_hidden) report->hidden = d.first;
        report->unreached = true;
    } else if (!first && d.has_first) {
        first = &d.first;
        if (first->path[0] == 0) report->root_position = first->position;
    }
    if (!first) return INTERP_OK;
    report->violation = *first;
    return INTERP_VIOLATION;
}
