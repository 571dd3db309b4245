// How an instance uses each of its streams. One use is classified by a row of use_forms; all uses of a stream joined
// give the port's access (language.md, "Access").
#include "frontend/match/match.h"

// ---- One use --------------------------------------------------------------------------------------------------

/// The domain index that stands behind a local: itself, or the d of the scan whose binder it is. NULL for others.
static zf_local *domain_of(const zf_match *match, zf_local *local) {
    if (local->kind == ZF_L_DOMAIN_I || local->kind == ZF_L_DOMAIN_G) return local;
    for (const zf_enclosing *around = match->around; around != NULL; around = around->outer) {
        const zf_reduce *reduce = around->reduce;
        if (reduce->binders[0].local != local) continue;
        bool scan = reduce->form == ZF_R_SCAN || reduce->form == ZF_R_SEGMENTED;
        return scan && (reduce->domain->kind == ZF_L_DOMAIN_I || reduce->domain->kind == ZF_L_DOMAIN_G) ? reduce->domain : NULL;
    }
    return NULL;
}

static bool is_element(const zf_expr *expr) { return expr->kind == ZF_X_INDEX && expr->a->kind == ZF_X_STREAM; }

/// s[d], or s[k] in a scan over d. Not in a chunk: there an index counts from the chunk's start, not from the column's.
static bool is_aligned(const zf_match *match, zf_expr *expr, zf_local_kind kind) {
    if (!is_element(expr) || match->inst->pattern == ZF_NON_PARALLEL) return false;
    zf_index_form point = zf_index_form_of(expr->b);
    if (point.kind != ZF_INDEX_LOCAL || point.offset != 0) return false;
    zf_local *domain = domain_of(match, point.local);
    return domain != NULL && domain->kind == kind;
}

/// s[d + c].
static bool is_neighbour(const zf_match *match, zf_expr *expr) {
    if (!is_element(expr) || match->inst->pattern == ZF_NON_PARALLEL) return false;
    zf_index_form index = zf_index_form_of(expr->b);
    return index.kind == ZF_INDEX_LOCAL && domain_of(match, index.local) != NULL;
}

static bool aligned_i(const zf_match *match, zf_expr *expr) { return is_aligned(match, expr, ZF_L_DOMAIN_I); }
static bool aligned_g(const zf_match *match, zf_expr *expr) { return is_aligned(match, expr, ZF_L_DOMAIN_G); }
static bool gathers(const zf_match *match, zf_expr *expr) {
    (void)match;
    return is_element(expr);
}
static bool bits(const zf_match *match, zf_expr *expr) {
    (void)match;
    return expr->kind == ZF_X_BITS && expr->a->kind == ZF_X_STREAM;
}
static bool cursor_next(const zf_match *match, zf_expr *expr) {
    (void)match;
    return expr->kind == ZF_X_CURSOR && expr->cursor == ZF_C_NEXT;
}
static bool cursor(const zf_match *match, zf_expr *expr) {
    (void)match;
    return expr->kind == ZF_X_CURSOR;
}
static bool whole(const zf_match *match, zf_expr *expr) {
    (void)match;
    return expr->kind == ZF_X_STREAM;
}

/// The first row that fits is the use. `beyond_next`: needs the stream's bytes, where only `next` and [ ] do not.
static const struct {
    const char *form;
    bool (*fits)(const zf_match *match, zf_expr *expr);
    zf_use use;
    bool beyond_next;
} use_forms[] = {
    {"s[i], s[k] in a scan over i", aligned_i, ZF_USE_I, false},
    {"s[g], s[k] in a scan over g", aligned_g, ZF_USE_G, false},
    {"s[any other]", gathers, ZF_USE_GATHER, false},
    {"s.bits(at, n)", bits, ZF_USE_GATHER, true},
    {"s.next()", cursor_next, ZF_USE_CURSOR, false},
    {"s.read(n), s.u8(), ...", cursor, ZF_USE_CURSOR, true},
    {"s[a..b], for v in s", whole, ZF_USE_GATHER, true},
};

bool zf_note_use(zf_match *match, zf_expr *expr) {
    // The length is in the block's header: asking for it uses no element.
    if (expr->kind == ZF_X_LEN && expr->a->kind == ZF_X_STREAM) return true;
    for (size_t k = 0; k < sizeof use_forms / sizeof *use_forms; k++) {
        if (!use_forms[k].fits(match, expr)) continue;
        const zf_port *port = expr->kind == ZF_X_INDEX || expr->kind == ZF_X_BITS ? expr->a->port : expr->port;
        zf_uses *uses = &match->uses[port->slot];
        uses->found[use_forms[k].use] = true;
        uses->beyond_next = uses->beyond_next || use_forms[k].beyond_next;
        uses->bitwise = uses->bitwise || expr->kind == ZF_X_BITS;
        uses->whole = uses->whole || expr->kind == ZF_X_STREAM;
        if (use_forms[k].use == ZF_USE_GATHER) *(is_neighbour(match, expr) ? &uses->neighbour : &uses->elsewhere) = true;
        return true;
    }
    return false;
}

// ---- All uses -------------------------------------------------------------------------------------------------

/// Which classes join to what, when no cursor is among them: one class is itself, two are a gather.
static zf_access join(const zf_uses *uses) {
    if (uses->found[ZF_USE_GATHER] || (uses->found[ZF_USE_I] && uses->found[ZF_USE_G])) return ZF_ACCESS_GATHER;
    if (uses->found[ZF_USE_I]) return ZF_ACCESS_ALIGNED_I;
    return uses->found[ZF_USE_G] ? ZF_ACCESS_ALIGNED_G : ZF_ACCESS_NONE;
}

void zf_join_uses(zf_match *match) {
    for (uint32_t slot = 0; slot < match->inst->stream_count; slot++) {
        zf_port *port = match->inst->streams[slot];
        const zf_uses *uses = &match->uses[slot];
        port->bitwise = uses->bitwise;
        port->whole = uses->whole;
        port->access = join(uses);
        port->neighbours = uses->neighbour && !uses->elsewhere;
        if (!uses->found[ZF_USE_CURSOR]) continue;
        // Within a chunk, indices count from the chunk's start as the cursor does: both are one use of the chunk's
        // part.
        port->access = ZF_ACCESS_CURSOR;
        port->uses_next_only = !uses->beyond_next;
    }
}
