#include "patterns/plan/check_sites.h"

#include <ctype.h>
#include <string.h>

#include "frontend/check/checker.h"

enum { AROUND_LIMIT = 16, DEPTH_LIMIT = 2048 };

typedef struct walker {
    zf_sites *out;
    const zf_inst *inst;
    const zf_body *body;
    bool always;
    bool in_scan;
    const zf_reduce *around[AROUND_LIMIT];
    uint32_t around_count;
    uint32_t depth;
} walker;

static void walk_expr(walker *w, const zf_expr *e);
static bool walk_stmts(walker *w, const zf_stmt *stmts);

static void unsupported(walker *w, zf_span span, const char *what) {
    if (w->out->unsupported != NULL) return;
    w->out->unsupported = what;
    w->out->unsupported_at = span;
}

/// Whether a slice is of a local array: that ends with the body, and the string would not.
static bool of_array(const zf_expr *e) {
    for (;;) {
        if (e->kind == ZF_X_SLICE)
            e = e->a;
        else if (e->kind == ZF_X_LOCAL && (e->local->kind == ZF_L_LET || e->local->kind == ZF_L_FORMAL) && e->local->init != NULL)
            e = e->local->init;
        else
            return e->kind == ZF_X_LOCAL && e->local->kind == ZF_L_ARRAY;
    }
}

static zf_site *add_site(zf_sites *out, uint32_t violation, zf_span span, const char *text) {
    if (out->site_count == out->site_capacity) {
        uint32_t capacity = out->site_capacity == 0 ? 16 : 2 * out->site_capacity;
        zf_site *grown = ZF_NEW_ARRAY(out->arena, zf_site, capacity);
        if (out->site_count > 0) memcpy(grown, out->sites, sizeof *grown * out->site_count);
        out->sites = grown;
        out->site_capacity = capacity;
    }
    zf_site *site = &out->sites[out->site_count++];
    *site = (zf_site){.violation = violation, .span = span, .text = text};
    return site;
}

static zf_site *add_here(walker *w, uint32_t violation, const zf_expr *expr, zf_span span, const char *text) {
    zf_site *site = add_site(w->out, violation, span, text);
    site->expr = expr;
    site->proved = expr != NULL && expr->proved;
    site->body = w->body;
    site->always = w->always;
    site->reduces = ZF_NEW_ARRAY(w->out->arena, const zf_reduce *, w->around_count + 1);
    memcpy(site->reduces, w->around, sizeof *site->reduces * w->around_count);
    site->reduce_count = w->around_count;
    return site;
}

/// The condition of a `require`, as its text has it, in one line: "`n <= 4`". Long ones are cut.
static const char *demand_of(zf_arena *arena, zf_span span) {
    enum { MOST = 120 };
    char line[MOST + 4];
    size_t length = 0, word = strlen("require");
    if (span.source == NULL || span.end - span.begin < word) return "require";
    const char *at = span.source->text + span.begin + word, *end = span.source->text + span.end;
    while (end > at && (end[-1] == ';' || isspace((unsigned char)end[-1]))) end--;
    for (bool spaced = false; at < end && length <= MOST; at++) {
        if (at[0] == '/' && at[1] == '/') at += strcspn(at, "\n"); // a comment, which may go beyond the end
        if (at >= end) break;
        bool space = isspace((unsigned char)*at);
        if (!space && spaced && length > 0) line[length++] = ' ';
        if (!space) line[length++] = *at;
        spaced = space;
    }
    bool cut = length > MOST;
    if (cut) length = MOST;
    while (cut && length > 0 && ((unsigned char)line[length] & 0xc0) == 0x80) length--; // no part of a character
    return zf_arena_printf(arena, "`%.*s%s`", (int)length, line, cut ? "..." : "");
}

/// The name of an access: "index of packed".
static void add_access(walker *w, const zf_expr *e, const char *what) {
    const zf_expr *of = e->a;
    while (of->kind == ZF_X_SLICE) of = of->a;
    const char *name = of->kind == ZF_X_STREAM  ? of->port->name
                       : of->kind == ZF_X_LOCAL ? of->local->name
                       : of->kind == ZF_X_TABLE ? of->table->name
                       : of->kind == ZF_X_OUT   ? "out"
                                                : "a sequence";
    zf_site *site = add_here(w, 1, e, e->span, zf_arena_printf(w->out->arena, "%s of %s", what, name));
    if (e->a->kind == ZF_X_STREAM) site->port = e->a->port;
}

static bool is_scan(const zf_reduce *reduce) {
    return reduce->form == ZF_R_SCAN || reduce->form == ZF_R_SEGMENTED || reduce->form == ZF_R_PREFIX;
}

static void note_scan(walker *w, const zf_expr *e) {
    zf_sites *out = w->out;
    uint32_t index = e->reduce->index;
    if (index >= out->scan_capacity) {
        uint32_t capacity = index + 8;
        zf_scan *grown = ZF_NEW_ARRAY(out->arena, zf_scan, capacity);
        if (out->scan_count > 0) memcpy(grown, out->scans, sizeof *grown * out->scan_count);
        out->scans = grown;
        out->scan_capacity = capacity;
    }
    if (index >= out->scan_count) out->scan_count = index + 1;
    zf_scan *scan = &out->scans[index];
    if (scan->reduce == NULL) *scan = (zf_scan){.reduce = e->reduce, .expr = e, .body = w->body};
    if (w->in_scan) scan->nested = true;
}

static void walk_reduce(walker *w, const zf_expr *e) {
    const zf_reduce *reduce = e->reduce;
    // Bounds are evaluated before their own binder is bound, but under the binders before it.
    bool pushed = w->around_count < AROUND_LIMIT;
    bool was_always = w->always, was_in_scan = w->in_scan;
    for (uint32_t b = 0; b < reduce->binder_count; b++) {
        walk_expr(w, reduce->binders[b].lo);
        walk_expr(w, reduce->binders[b].hi);
    }
    // In a chunk a scan is a running sum of the region that it stands in: no step of a tile.
    bool chunk = w->inst->pattern == ZF_NON_PARALLEL;
    if (is_scan(reduce) && !chunk) note_scan(w, e);
    if (chunk && reduce->form == ZF_R_LOOP) add_here(w, 10, NULL, e->span, "terms of a reduction");
    if (pushed)
        w->around[w->around_count++] = reduce;
    else
        w->always = false;
    w->in_scan = w->in_scan || is_scan(reduce);
    walk_expr(w, reduce->term);
    w->in_scan = was_in_scan;
    w->always = was_always;
    if (pushed) w->around_count--;
}

static void walk_call(walker *w, const zf_call *call) {
    for (uint32_t k = 0; k < call->formal_count; k++) walk_expr(w, call->formals[k]->init);
    bool was = w->always;
    walk_stmts(w, call->body); // a `return` in it only ends the call
    walk_expr(w, call->value);
    w->always = was;
}

static void walk_expr(walker *w, const zf_expr *e) {
    if (e == NULL) return;
    if (w->depth >= DEPTH_LIMIT) {
        unsupported(w, e->span, "an expression nested this deep");
        return;
    }
    w->depth++;
    bool was = w->always;
    switch (e->kind) {
    case ZF_X_COND:
        walk_expr(w, e->a);
        w->always = false;
        walk_expr(w, e->b);
        walk_expr(w, e->c);
        break;
    case ZF_X_BINARY:
        walk_expr(w, e->a);
        if (e->op == ZF_OP_ANDAND || e->op == ZF_OP_OROR) w->always = false;
        walk_expr(w, e->b);
        w->always = was;
        if ((e->op == ZF_OP_DIV || e->op == ZF_OP_REM) && zf_kind_is_integer(e->type.kind)) {
            add_here(w, 7, e, e->span, "divisor");
        }
        break;
    case ZF_X_PRIM:
        walk_expr(w, e->a);
        walk_expr(w, e->b);
        if (e->prim == ZF_P_NTH_BIT) add_here(w, 8, e, e->span, "nth_bit");
        break;
    case ZF_X_CALL: walk_call(w, e->call); break;
    case ZF_X_REDUCE: walk_reduce(w, e); break;
    case ZF_X_INDEX:
        walk_expr(w, e->a);
        walk_expr(w, e->b);
        add_access(w, e, "index");
        break;
    case ZF_X_BITS:
        walk_expr(w, e->a);
        walk_expr(w, e->b);
        walk_expr(w, e->c);
        add_access(w, e, "bits");
        break;
    case ZF_X_SLICE:
        walk_expr(w, e->a);
        walk_expr(w, e->b);
        walk_expr(w, e->c);
        if (!e->is_seq && of_array(e)) unsupported(w, e->span, "a string that is part of a local array");
        add_access(w, e, "slice");
        break;
    case ZF_X_CURSOR:
        walk_expr(w, e->a);
        if (zf_cursor_is_checked(e->cursor)) {
            const char *what = zf_cursor_name(e->cursor);
            add_here(w, 2, e, e->span, zf_arena_printf(w->out->arena, "%s of %s", what, e->port->name));
        }
        break;
    case ZF_X_OUT:
    case ZF_X_OUT_POS:
        // `out.len` does not come here: see LEN.
        if (w->inst->pattern != ZF_NON_PARALLEL) unsupported(w, e->span, "a body that reads `out`");
        break;
    case ZF_X_LEN:
        if (e->a->kind != ZF_X_OUT) walk_expr(w, e->a);
        break;
    default:
        walk_expr(w, e->a);
        walk_expr(w, e->b);
        walk_expr(w, e->c);
        break;
    }
    w->always = was;
    w->depth--;
}

/// `emit`: the room in a chunk is checked, and the outer indices of two are work.
static void walk_emit(walker *w, const zf_stmt *s) {
    walk_expr(w, s->value);
    add_here(w, 3, NULL, s->span, "emit")->stmt = s;
    if (s->kind != ZF_S_EMIT_REGION) return;
    bool was = w->always;
    w->always = false;
    for (uint32_t b = 0; b < s->reduce->binder_count; b++) {
        walk_expr(w, s->reduce->binders[b].lo);
        walk_expr(w, s->reduce->binders[b].hi);
    }
    if (s->reduce->binder_count > 1) add_here(w, 10, NULL, s->span, "ranges of an emit");
    walk_expr(w, s->reduce->term);
    w->always = was;
}

/// True when control may leave the sequence early; what follows is then not always reached.
static bool walk_stmts(walker *w, const zf_stmt *stmts) {
    if (stmts == NULL) return false;
    if (w->depth >= DEPTH_LIMIT) {
        unsupported(w, stmts->span, "statements nested this deep");
        return true;
    }
    w->depth++;
    bool leaves = false;
    for (const zf_stmt *s = stmts; s != NULL; s = s->next) {
        bool was = w->always, left = false;
        switch (s->kind) {
        case ZF_S_LET:
        case ZF_S_VAR:
            walk_expr(w, s->local->init);
            if (s->local->kind == ZF_L_ARRAY) {
                uint64_t bytes = s->local->length * (zf_kind_size(s->local->type.kind) + 0u);
                w->out->array_bytes += bytes;
            }
            break;
        case ZF_S_IF:
            walk_expr(w, s->value);
            w->always = false;
            left = walk_stmts(w, s->body);
            left = walk_stmts(w, s->else_part) || left;
            w->always = was;
            break;
        case ZF_S_WHILE:
        case ZF_S_LOOP:
        case ZF_S_FOR_RANGE:
        case ZF_S_FOR_EACH:
            walk_expr(w, s->binder.lo);
            walk_expr(w, s->binder.hi);
            w->always = false;
            walk_expr(w, s->value);
            if (!s->bounded && w->inst->pattern == ZF_NON_PARALLEL) add_here(w, 10, NULL, s->span, "iterations of a loop");
            left = walk_stmts(w, s->body); // `break` and `continue` end here, but a `return` does not: be careful
            w->always = was;
            break;
        case ZF_S_RETURN:
        case ZF_S_BREAK:
        case ZF_S_CONTINUE:
            walk_expr(w, s->value);
            left = true;
            break;
        case ZF_S_REQUIRE:
            walk_expr(w, s->value);
            zf_site *site = add_here(w, 6, NULL, s->span, demand_of(w->out->arena, s->span));
            site->stmt = s;
            site->proved = s->value->range.lo >= 1;
            break;
        case ZF_S_EMIT:
        case ZF_S_EMIT_REGION: walk_emit(w, s); break;
        default:
            walk_expr(w, s->place);
            walk_expr(w, s->value);
            walk_expr(w, s->count);
            break;
        }
        if (left) {
            leaves = true;
            w->always = false;
        }
    }
    w->depth--;
    return leaves;
}

static void walk_body(walker *w, const zf_body *body, bool always) {
    if (!body->present) return;
    w->body = body;
    w->always = always;
    walk_stmts(w, body->stmts);
    walk_expr(w, body->value);
}

void zf_sites_collect(zf_arena *arena, const zf_inst *inst, zf_sites *out) {
    *out = (zf_sites){.arena = arena};
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        const zf_port *port = inst->streams[s];
        if (!port->has_range || port->access == ZF_ACCESS_NONE) continue;
        zf_site *site = add_site(out, 5, port->span, zf_arena_printf(arena, "element of %s", port->name));
        site->port = port;
    }
    walker w = {.out = out, .inst = inst};
    walk_body(&w, &inst->groups, true);
    walk_body(&w, &inst->size, true);
    w.body = &inst->decode; // states and decode are one body
    for (uint32_t k = 0; k < inst->state_count; k++) walk_expr(&w, inst->states[k].init);
    walk_body(&w, &inst->decode, true);
    if (inst->pattern == ZF_NON_PARALLEL && inst->lanes == 0) {
        add_here(&w, 4, NULL, inst->algorithm->decl->name_span, "elements that a chunk emits");
    }
    // A scan inside another is found to be nested when it is met; the outer one is as well.
    bool nested = false;
    for (uint32_t k = 0; k < out->scan_count; k++) nested = nested || (out->scans[k].reduce != NULL && out->scans[k].nested);
    if (nested && out->unsupported == NULL) {
        for (uint32_t k = 0; k < out->scan_count; k++) {
            if (out->scans[k].reduce == NULL || !out->scans[k].nested) continue;
            out->unsupported = "a scan inside another";
            out->unsupported_at = out->scans[k].expr->span;
            break;
        }
    }
}

// ---- Sites in a graph ------------------

/// All values that a node's result can have.
static zf_interval result_range(const zf_inst *inst) {
    zf_interval all = zf_interval_of_kind(inst->result.kind);
    if (!zf_kind_is_integer(inst->result.kind) || inst->decode.value == NULL || inst->decode.returns_inside) return all;
    return zf_interval_meet(all, inst->decode.value->range);
}

bool zf_site_needed(const zf_graph *graph, const zf_graph_node *node, const zf_site *site) {
    if (site->proved) return false;
    if (site->violation != 5) return true;
    const zf_port *port = site->port;
    const zf_graph_edge *edge = &graph->edges[node->inputs[port->slot]];
    zf_interval produced =
        edge->producer >= 0 ? result_range(graph->nodes[edge->producer].inst) : zf_interval_of_kind(port->type.kind);
    // Ends over params may be tighter in a block than `range` says: only constant ends can be implied.
    bool constant_ends = (port->lo == NULL || port->lo->kind == ZF_X_CONST) && (port->hi == NULL || port->hi->kind == ZF_X_CONST);
    return !constant_ends || !zf_interval_within(produced, port->range);
}

/// The form that a site must have; `always` or not.
static bool has_hoistable_form(const zf_inst *inst, const zf_site *site) {
    if (site->violation != 1 || site->body == &inst->groups) return false;
    if (inst->pattern == ZF_NON_PARALLEL) return false; // its indices are those of a chunk
    const zf_expr *e = site->expr;
    if (e->a->kind != ZF_X_STREAM || (e->kind != ZF_X_INDEX && e->kind != ZF_X_BITS)) return false;
    zf_around around = {site->reduces, site->reduce_count};
    zf_affine index, bits = {.uses = 0};
    if (!zf_affine_of(inst, around, e->b, &index)) return false;
    if (e->kind == ZF_X_BITS) {
        if (!zf_affine_of(inst, around, e->c, &bits)) return false;
        if (index.range.hi + bits.range.hi > (zf_int128)UINT64_MAX) return false;
    }
    // Not only the binders of the index: else the access may be reached less often.
    if (!zf_affine_around(inst, around)) return false;
    // The last group may be empty, and then decode never runs for it; when all are, it never runs at all. There is always a last
    // element, though, if there is any.
    bool of_group = site->body == &inst->decode && inst->pattern == ZF_GROUP_PARALLEL;
    if (of_group && (((index.uses | bits.uses) & ZF_USES_I) == 0 || ((index.uses | bits.uses) & ZF_USES_G) != 0)) {
        return inst->size.value != NULL && !inst->size.returns_inside && inst->size.value->range.lo >= 1;
    }
    return true;
}

/// The local that an expression is, through lets.
static const zf_local *local_of(const zf_expr *e) {
    for (unsigned depth = 0; e != NULL && e->kind == ZF_X_LOCAL && depth < DEPTH_LIMIT; depth++) {
        const zf_local *local = e->local;
        if ((local->kind != ZF_L_LET && local->kind != ZF_L_FORMAL) || local->init == NULL) return local;
        e = local->init;
    }
    return NULL;
}

static bool is_own_index(const zf_expr *e) {
    const zf_local *local = local_of(e);
    return local != NULL && local->kind == ZF_L_DOMAIN_I;
}

/// An element before another one of the same stream that is pulled whenever this one may be: term k of a sum over 0..i, where
/// element i is always pulled. It is there if that one is.
static bool is_covered(const zf_inst *inst, const zf_sites *sites, const zf_site *site) {
    if (inst->pattern != ZF_FULLY_PARALLEL || site->violation != 1 || site->reduce_count != 1) return false;
    const zf_expr *e = site->expr;
    const zf_reduce *reduce = site->reduces[0];
    if (e->kind != ZF_X_INDEX || e->a->kind != ZF_X_STREAM || reduce->binder_count != 1) return false;
    if (local_of(e->b) != reduce->binders[0].local || !is_own_index(reduce->binders[0].hi)) return false;
    for (uint32_t k = 0; k < sites->site_count; k++) {
        const zf_site *other = &sites->sites[k];
        if (other->violation != 1 || !other->always || other->reduce_count != 0 || other->body != site->body) continue;
        const zf_expr *at = other->expr;
        if (at->kind == ZF_X_INDEX && at->a->kind == ZF_X_STREAM && at->a->port == e->a->port && is_own_index(at->b)) return true;
    }
    return false;
}

bool zf_site_hoistable(const zf_inst *inst, const zf_sites *sites, const zf_site *site) {
    return (site->always || is_covered(inst, sites, site)) && has_hoistable_form(inst, site);
}
