// Reads a chunk program: what it emits, in which loop, and whether turns of that loop can be guessed (simt_records.h).
#include <assert.h>

#include "codegen/kernel/kernel_chunks.h"
#include "codegen/simt/chunks/simt_records.h"
#include "frontend/check/walk.h"

enum {
    STEP_VARIABLES = 32, // of a step that is guessed, at most
    READERS = 4,
};

// ---- Looking --------------------------------------------------------------------------------------------------

typedef struct look {
    const zf_inst *inst;
    zf_record_program *program;
    bool fits;
    // ---- of what a term takes
    zf_record_site *site;
    uint32_t readers; ///< statements that read the output, in front of each of which there is an executor
    uint32_t emits;   ///< statements that emit, also of functions
    bool adds_inner;  ///< the sites that are added belong to `inner`
    bool mixes;       ///< statements that cannot be sites are walked
    uint32_t walked;  ///< statements that emit, of those that are walked
    // ---- of guesses
    const zf_local *declared[STEP_VARIABLES]; ///< variables of the step
    uint32_t declared_count;
    uint32_t loops; ///< around the statement, within the step
    bool in_inner;  ///< the step is a turn of `inner`
    bool waited;    ///< a `require` that waits is before: what it proves is not known
} look;

// The first reason counts.
static void refuse(look *l, const char *why) {
    if (l->fits) l->program->why = why;
    l->fits = false;
}

static bool emits_here(const zf_stmt *stmt) { return stmt->kind == ZF_S_EMIT || stmt->kind == ZF_S_EMIT_REGION; }

static bool emits(const zf_stmt *stmts) {
    for (const zf_stmt *stmt = stmts; stmt != NULL; stmt = stmt->next) {
        if (emits_here(stmt) || emits(stmt->body) || emits(stmt->else_part)) return true;
    }
    return false;
}

static bool is_copy_back(const zf_stmt *stmt) {
    return stmt->kind == ZF_S_EMIT_REGION && zf_region_form_of(stmt->reduce).kind == ZF_REGION_BACK;
}

// ---- The output is read by copies alone -----------------------------------------------------------------------

static bool see_output(zf_visitor *visitor, zf_expr *expr) {
    look *l = visitor->user;
    if (expr->kind == ZF_X_OUT) refuse(l, "it reads `out` by more than copies");
    return !(expr->kind == ZF_X_LEN && expr->a->kind == ZF_X_OUT);
}

// A copy shows what it takes from the walk alone, and not the output.
static bool pass_copy(zf_visitor *visitor, zf_stmt *stmt) {
    if (!is_copy_back(stmt)) return true;
    zf_visit_expr(visitor, stmt->reduce->binders[0].hi);
    zf_visit_expr(visitor, (zf_expr *)(uintptr_t)zf_region_form_of(stmt->reduce).distance); // only looks
    return false;
}

static bool pass_copies(zf_visitor *visitor, zf_stmt *stmt) {
    look *l = visitor->user;
    l->emits += emits_here(stmt);
    return pass_copy(visitor, stmt);
}

// Visits one statement, without those that follow it.
static void visit_one(zf_visitor *visitor, const zf_stmt *stmt) {
    zf_stmt *shown = (zf_stmt *)(uintptr_t)stmt; // only looks
    if (visitor->stmt(visitor, shown)) zf_visit_stmt_children(visitor, shown);
}

static bool find_emit(zf_visitor *visitor, zf_stmt *stmt) {
    bool *found = visitor->user;
    *found = *found || emits_here(stmt);
    return !*found;
}

// Whether a statement emits, or what it calls.
static bool emits_within(const zf_stmt *stmt) {
    bool found = false;
    zf_visitor visitor = {.user = &found, .stmt = find_emit};
    visit_one(&visitor, stmt);
    return found;
}

static bool find_output(zf_visitor *visitor, zf_expr *expr) {
    bool *found = visitor->user;
    *found = *found || expr->kind == ZF_X_OUT;
    return !*found && !(expr->kind == ZF_X_LEN && expr->a->kind == ZF_X_OUT);
}

bool zf_record_reads(const zf_stmt *stmt) {
    bool found = false;
    zf_visitor visitor = {.user = &found, .expr = find_output, .stmt = pass_copy};
    visit_one(&visitor, stmt);
    return found && !emits_within(stmt);
}

static bool find_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    const zf_stmt **wanted = visitor->user; // NULL once it was seen
    if (stmt == *wanted) *wanted = NULL;
    return *wanted != NULL;
}

bool zf_record_is_within(const zf_stmt *stmt, const zf_stmt *outer) {
    zf_visitor visitor = {.user = &stmt, .stmt = find_stmt};
    visit_one(&visitor, outer);
    return stmt == NULL;
}

// The statements of a call are looked at by themselves; its arguments and its value are the caller's.
static bool find_own_output(zf_visitor *visitor, zf_expr *expr) {
    if (expr->kind != ZF_X_CALL) return find_output(visitor, expr);
    for (uint32_t k = 0; k < expr->call->formal_count; k++) zf_visit_expr(visitor, expr->call->formals[k]->init);
    zf_visit_expr(visitor, expr->call->value);
    return false;
}

static bool pass_nothing(zf_visitor *visitor, zf_stmt *stmt) {
    (void)visitor, (void)stmt;
    return false;
}

// Elements that were emitted are records yet where a statement that emits reads them.
static bool see_reader(zf_visitor *visitor, zf_stmt *stmt) {
    look *l = visitor->user;
    bool found = false;
    zf_visitor own = {.user = &found, .expr = find_own_output, .stmt = pass_nothing};
    if (emits_within(stmt) && pass_copy(&own, stmt)) zf_visit_stmt_children(&own, stmt);
    if (found) refuse(l, "it reads `out` by more than copies");
    if (!zf_record_reads(stmt)) return true;
    l->readers++;
    return false;
}

// ---- Sites ----------------------------------------------------------------------------------------------------

static void take_local(look *l, const zf_local *local) {
    zf_record_site *site = l->site;
    for (uint32_t k = 0; k < site->local_count; k++) {
        if (site->locals[k] == local) return;
    }
    zf_type type = local->type;
    if (site->local_count == ZF_RECORD_WORDS || local->is_seq || type.nullable || !zf_type_storable(type))
        refuse(l, "what it emits takes more than four numbers from the walk");
    else
        site->locals[site->local_count++] = local;
}

/// A search for the call within a term that binds a formal.
typedef struct binding {
    const zf_local *formal;
    bool found;
} binding;

static bool see_call(zf_visitor *visitor, zf_expr *expr) {
    binding *b = visitor->user;
    if (expr->kind != ZF_X_CALL) return !b->found;
    for (uint32_t k = 0; k < expr->call->formal_count; k++) b->found = b->found || expr->call->formals[k] == b->formal;
    return !b->found;
}

static bool binds(zf_expr *term, const zf_local *formal) {
    binding b = {.formal = formal};
    zf_visitor visitor = {.user = &b, .expr = see_call};
    zf_visit_expr(&visitor, term);
    return b.found;
}

static bool see_taken(zf_visitor *visitor, zf_expr *expr) {
    look *l = visitor->user;
    if (expr->effect || expr->kind == ZF_X_CURSOR || expr->kind == ZF_X_REDUCE ||
        (expr->kind == ZF_X_CALL && expr->call->body != NULL))
        refuse(l, "what it emits is no plain expression");
    if (expr->kind == ZF_X_OUT_POS) l->site->takes_position = true;
    if (expr->kind == ZF_X_LOCAL && expr->local != l->site->stmt->reduce->binders[0].local) {
        switch (expr->local->kind) {
        case ZF_L_CHUNK: break;
        case ZF_L_FORMAL: // of the function that emits, if no call within the term binds it
            if (!binds(l->site->stmt->reduce->term, expr->local)) take_local(l, expr->local);
            break;
        case ZF_L_LET:
        case ZF_L_VAR:
        case ZF_L_BINDER: take_local(l, expr->local); break;
        default: refuse(l, "what it emits takes elements of an array"); break;
        }
    }
    return l->fits;
}

static bool is_zero(const zf_expr *expr) { return expr->kind == ZF_X_CONST && expr->bits == 0; }

static bool see_check(zf_visitor *visitor, zf_expr *expr) {
    bool *found = visitor->user;
    switch (expr->kind) {
    case ZF_X_CONST:
    case ZF_X_LOCAL:
    case ZF_X_UNARY:
    case ZF_X_CAST:
    case ZF_X_COND:
    case ZF_X_OUT_POS: break;
    case ZF_X_BINARY: *found = *found || expr->op == ZF_OP_DIV || expr->op == ZF_OP_REM; break;
    default: *found = true; break;
    }
    return !*found;
}

// Whether an expression may have a check.
static bool may_fail(zf_expr *term) {
    bool found = false;
    zf_visitor visitor = {.user = &found, .expr = see_check};
    zf_visit_expr(&visitor, term);
    return found;
}

static bool see_rest(zf_visitor *visitor, zf_expr *expr) {
    bool *found = visitor->user;
    *found = *found || expr->proved || expr->kind == ZF_X_COND ||
             (expr->kind == ZF_X_BINARY && (expr->op == ZF_OP_SHL || expr->op == ZF_OP_SHR) && expr->b->kind != ZF_X_CONST);
    return !*found;
}

// Whether an expression without checks rests on nothing that is known of its words.
static bool has_any_words(zf_expr *term) {
    bool found = false;
    zf_visitor visitor = {.user = &found, .expr = see_rest};
    zf_visit_expr(&visitor, term);
    return !found;
}

static void add_site(look *l, const zf_stmt *stmt) {
    zf_record_program *program = l->program;
    if (program->site_count == ZF_RECORD_SITES || (stmt->kind == ZF_S_EMIT_REGION && stmt->reduce->binder_count != 1)) {
        refuse(l, "it has too many statements that emit, or one over two ranges");
        return;
    }
    zf_record_site *site = l->site = &program->sites[program->site_count++];
    *site = (zf_record_site){.stmt = stmt, .inner = l->adds_inner};
    uint32_t words = 1;
    if (stmt->kind == ZF_S_EMIT_REGION) {
        site->form = zf_region_form_of(stmt->reduce);
        bool zero = is_zero(stmt->reduce->binders[0].lo);
        if (site->form.kind == ZF_REGION_BACK && !zero) refuse(l, "it copies from an index that is not 0");
        if (site->form.kind == ZF_REGION_STREAM && site->form.port->type.kind != zf_type_strip(l->inst->result).kind)
            site->form.kind = ZF_REGION_TERM;
        if (site->form.kind == ZF_REGION_TERM) {
            zf_visitor visitor = {.user = l, .expr = see_taken};
            zf_visit_expr(&visitor, stmt->reduce->term);
            site->takes_low = !zero;
            site->reads = may_fail(stmt->reduce->term);
            site->any_words = !site->reads && has_any_words(stmt->reduce->term);
            words = site->local_count + site->takes_position + site->takes_low;
        }
        if (words > ZF_RECORD_WORDS) refuse(l, "what it emits takes more than four numbers from the walk");
    }
    bool is_term = stmt->kind == ZF_S_EMIT || site->form.kind == ZF_REGION_TERM;
    program->has_terms = program->has_terms || is_term;
    program->may_fail = program->may_fail || site->reads;
    program->copies = program->copies || !is_term;
    program->copies_back = program->copies_back || site->form.kind == ZF_REGION_BACK;
    if (program->words < 1 + words) program->words = 1 + words;
}

// ---- Ways that are walked -------------------------------------------------------------------------------------

bool zf_record_is_walked(const zf_record_program *program, const zf_stmt *stmt) {
    for (uint32_t k = 0; k < program->walked_count; k++) {
        for (const zf_stmt *s = program->walked[k]; s != NULL; s = s->next) {
            if (s == stmt) return true;
        }
    }
    return false;
}

// Whether a statement that emits can be a site.
static bool can_be_site(const look *l, const zf_stmt *stmt) {
    zf_record_program program = *l->program;
    look trial = *l;
    trial.program = &program;
    add_site(&trial, stmt);
    return trial.fits && !program.copies;
}

// Whether a statement emits what no record says, however the step comes to it.
static bool must_be_walked(const look *l, const zf_stmt *stmt) {
    if (emits_here(stmt)) return !can_be_site(l, stmt);
    return stmt->kind != ZF_S_IF && emits_within(stmt);
}

bool zf_record_is_loop(const zf_stmt *stmt) {
    return stmt->kind == ZF_S_WHILE || stmt->kind == ZF_S_LOOP || stmt->kind == ZF_S_FOR_RANGE || stmt->kind == ZF_S_FOR_EACH;
}

static bool find_leave(zf_visitor *visitor, zf_stmt *stmt) {
    bool *found = visitor->user;
    *found = *found || stmt->kind == ZF_S_CONTINUE || stmt->kind == ZF_S_BREAK;
    return !*found && !zf_record_is_loop(stmt); // a loop's own do not leave the step
}

// Whether a step that comes to the first of these statements comes to one that must be walked.
static bool leads_to_walk(const look *l, const zf_stmt *stmts) {
    for (const zf_stmt *stmt = stmts; stmt != NULL; stmt = stmt->next) {
        if (must_be_walked(l, stmt)) return true;
        bool leaves = false;
        zf_visitor visitor = {.user = &leaves, .stmt = find_leave};
        visit_one(&visitor, stmt);
        if (leaves) return false;
    }
    return false;
}

static bool count_emits(zf_visitor *visitor, zf_stmt *stmt) {
    look *l = visitor->user;
    l->walked += emits_here(stmt);
    return true;
}

// The step is walked from a statement on.
static void walk_from(look *l, const zf_stmt *stmt) {
    zf_visitor visitor = {.user = l, .stmt = count_emits};
    if (l->program->walked_count == ZF_RECORD_WALKED) {
        refuse(l, "it emits in many loops within a step");
        return;
    }
    l->program->walked[l->program->walked_count++] = stmt;
    zf_visit_stmts(&visitor, (zf_stmt *)(uintptr_t)stmt); // only looks
}

static bool ends_step(const zf_stmt *stmts) {
    const zf_stmt *last = stmts;
    while (last != NULL && last->next != NULL) last = last->next;
    return last != NULL && last->kind == ZF_S_CONTINUE;
}

// Adds the sites of statements, and returns how many of them a step comes to, at most. `last`: nothing of the step is behind
// them.
static uint32_t add_sites(look *l, const zf_stmt *stmts, bool last) {
    uint32_t most = 0, ended = 0;
    if (l->mixes && leads_to_walk(l, stmts)) {
        walk_from(l, stmts);
        return 0;
    }
    for (const zf_stmt *stmt = stmts; stmt != NULL; stmt = stmt->next) {
        bool is_last = last && stmt->next == NULL;
        if (l->mixes && must_be_walked(l, stmt)) {
            walk_from(l, stmt);
            break;
        }
        if (emits_here(stmt)) {
            add_site(l, stmt);
            most++;
        } else if (stmt->kind == ZF_S_IF) {
            uint32_t then = add_sites(l, stmt->body, is_last), other = add_sites(l, stmt->else_part, is_last);
            bool ends = ends_step(stmt->body) && !l->adds_inner; // nothing that follows comes in addition
            if (ends && ended < most + then) ended = most + then;
            most += ends || then < other ? other : then;
        } else if (stmt->kind == ZF_S_FOR_RANGE && is_last && l->program->inner == NULL && emits(stmt->body)) {
            l->program->inner = stmt;
            l->adds_inner = true;
            uint32_t inner = add_sites(l, stmt->body, false);
            l->adds_inner = false;
            most = most > inner ? most : inner;
        } else if (emits(stmt->body)) {
            refuse(l, "it emits in a loop within a step");
        }
    }
    return most > ended ? most : ended;
}

static bool see_site(zf_visitor *visitor, zf_stmt *stmt) {
    if (emits_here(stmt)) add_site(visitor->user, stmt);
    return true;
}

static bool find_loop(zf_visitor *visitor, zf_stmt *stmt) {
    bool *found = visitor->user;
    *found = *found || (zf_record_is_loop(stmt) && emits_within(stmt));
    return !*found;
}

// A program that emits in several places: all lanes walk it, and elements are made at the end of each turn of a loop that emits.
static bool take_all_sites(look *l) {
    zf_body *body = (zf_body *)(uintptr_t)&l->inst->decode; // only looks
    bool in_loop = false;
    zf_visitor sites = {.user = l, .stmt = see_site}, readers = {.user = l, .stmt = see_reader};
    zf_visitor loops = {.user = &in_loop, .stmt = find_loop};
    zf_visit_body(&loops, body);
    if (!in_loop) refuse(l, "it emits in no loop"); // so a few ranges, which lanes share
    zf_visit_body(&sites, body);
    zf_visit_body(&readers, body);
    if (l->readers > READERS) refuse(l, "it reads `out` at too many places");
    l->program->most = l->program->site_count;
    return l->fits;
}

static bool see_position(zf_visitor *visitor, zf_expr *expr) {
    bool *found = visitor->user;
    found[0] = found[0] || expr->kind == ZF_X_OUT_POS;
    found[1] = found[1] || expr->kind == ZF_X_CURSOR;
    return true;
}

bool zf_record_waits(const zf_stmt *stmt) {
    bool found[2] = {false, false};
    zf_visitor visitor = {.user = found, .expr = see_position};
    zf_visit_expr(&visitor, stmt->value);
    return stmt->kind == ZF_S_REQUIRE && found[0] && !found[1];
}

// ---- Guesses --------------------------------------------------------------------------------------------------

static bool was_declared(const look *l, const zf_local *local) {
    for (uint32_t k = 0; k < l->declared_count; k++) {
        if (l->declared[k] == local) return true;
    }
    return false;
}

// Whether statements declare a local.
static bool declare(const zf_stmt *stmts, const zf_local *local) {
    for (const zf_stmt *stmt = stmts; stmt != NULL; stmt = stmt->next) {
        if (stmt->local == local || (stmt->kind == ZF_S_FOR_RANGE && stmt->binder.local == local)) return true;
        if (declare(stmt->body, local) || declare(stmt->else_part, local)) return true;
    }
    return false;
}

// Whether an expression would read elsewhere, or be undefined, where a proof does not hold.
static bool rests_on_proof(const zf_expr *expr) {
    bool shifts = expr->kind == ZF_X_BINARY && (expr->op == ZF_OP_SHL || expr->op == ZF_OP_SHR) && expr->b->kind != ZF_X_CONST;
    return expr->proved || shifts;
}

// A step reads a stream at its cursor: at the first one it is guessed, at elements.
static void read_stream(look *l, const zf_port *port) {
    zf_record_program *program = l->program;
    bool first = program->cursor.port == NULL || program->cursor.port == port;
    if (zf_chunk_reads_bits(l->inst, port) || (first && port->type.kind == ZF_K_BOOL)) refuse(l, "a step reads bits");
    if (port->type.nullable || !zf_type_storable(port->type)) refuse(l, "a step reads other than numbers");
    if (program->cursor.port == NULL) program->cursor.port = port;
    for (uint32_t k = 0; k < program->other_count; k++) first = first || program->others[k].port == port;
    if (first) return;
    if (program->other_count == ZF_RECORD_OTHERS)
        refuse(l, "a step reads by too many cursors");
    else if (program->inner != NULL)
        refuse(l, "a step that ends with the turns of a loop reads by several cursors");
    else
        program->others[program->other_count++].port = port;
}

static bool see_step_expr(zf_visitor *visitor, zf_expr *expr) {
    look *l = visitor->user;
    if (expr->kind == ZF_X_LOCAL && l->in_inner && declare(l->program->loop->body, expr->local) &&
        !declare(l->program->inner->body, expr->local))
        refuse(l, "the turns of a loop take what the step before them knows"); // another lane's, or long ago
    if (expr->kind == ZF_X_OUT_POS) refuse(l, "a step decides by `out.pos`");
    if (l->waited && rests_on_proof(expr)) refuse(l, "a step relies on what it requires of `out.pos`");
    if (expr->kind != ZF_X_CURSOR) return l->fits;
    read_stream(l, expr->port);
    return l->fits;
}

static bool see_step_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    look *l = visitor->user;
    if (zf_record_is_walked(l->program, stmt)) return false; // no guess comes here
    switch (stmt->kind) {
    case ZF_S_VAR:
        if (stmt->local->kind != ZF_L_VAR || l->declared_count == STEP_VARIABLES)
            refuse(l, "a step has an array, or many variables");
        else
            l->declared[l->declared_count++] = stmt->local;
        return l->fits;
    case ZF_S_ASSIGN:
        if (stmt->place->kind != ZF_X_LOCAL || !was_declared(l, stmt->place->local))
            refuse(l, "a variable changes from step to step");
        return l->fits;
    case ZF_S_RETURN: refuse(l, "a step returns"); return false;
    case ZF_S_REQUIRE: // what it asks of the position waits until that is known
        if (l->loops > 0 || !zf_record_waits(stmt)) return l->fits;
        if (l->in_inner) refuse(l, "the turns of a loop require something of `out.pos`");
        l->waited = true;
        return false;
    case ZF_S_EMIT_REGION:
        if (l->fits) {
            zf_region_form form = zf_region_form_of(stmt->reduce);
            zf_visit_expr(visitor, stmt->reduce->binders[0].lo);
            zf_visit_expr(visitor, stmt->reduce->binders[0].hi);
            zf_visit_expr(visitor, (zf_expr *)(uintptr_t)form.from); // only looks
            zf_visit_expr(visitor, (zf_expr *)(uintptr_t)form.distance);
        }
        return false; // the executor makes what it emits
    case ZF_S_BREAK:
    case ZF_S_CONTINUE:
        if (l->in_inner && l->loops == 0) refuse(l, "the turns of a loop end early");
        return false;
    case ZF_S_FOR_RANGE:
    case ZF_S_WHILE:
    case ZF_S_LOOP:
    case ZF_S_FOR_EACH:
        if (stmt == l->program->inner) {
            zf_visit_expr(visitor, stmt->binder.lo);
            zf_visit_expr(visitor, stmt->binder.hi);
            return false;
        }
        l->loops++;
        zf_visit_stmt_children(visitor, stmt);
        l->loops--;
        return false;
    default: return l->fits;
    }
}

// Whether what turns emit takes something of the step before them.
static bool takes_of_step(const zf_record_program *program) {
    for (uint32_t s = 0; s < program->site_count; s++) {
        const zf_record_site *site = &program->sites[s];
        for (uint32_t k = 0; site->inner && k < site->local_count; k++) {
            if (declare(program->loop->body, site->locals[k]) && !declare(program->inner->body, site->locals[k])) return true;
        }
    }
    return false;
}

static void look_at_step(look *l) {
    zf_record_program *program = l->program;
    const zf_stmt *loop = program->loop;
    zf_visitor visitor = {.user = l, .expr = see_step_expr, .stmt = see_step_stmt};
    zf_visit_expr(&visitor, loop->value);
    zf_visit_stmts(&visitor, loop->body);
    const zf_expr *condition = loop->kind == ZF_S_WHILE ? loop->value : NULL;
    if (program->cursor.port != NULL) program->cursor = zf_record_cursor_of(condition, loop->body, program->cursor.port);
    for (uint32_t k = 0; k < program->other_count; k++)
        program->others[k] = zf_record_cursor_of(condition, loop->body, program->others[k].port);
    if (program->inner != NULL) {
        l->in_inner = true;
        l->waited = false;
        l->declared_count = 0;
        zf_visit_stmts(&visitor, program->inner->body);
        program->inner_least = zf_record_cursor_of(NULL, program->inner->body, program->cursor.port).least;
        if (takes_of_step(program)) refuse(l, "the turns of a loop take what the step before them knows");
        if (program->inner_least == 0) refuse(l, "the turns of a loop may read nothing");
    }
    if (loop->next != NULL) refuse(l, "statements follow the loop");
    if (program->cursor.least == 0) refuse(l, "a step may read nothing");
    if (!l->fits) program->cursor.port = NULL;
}

// ---- All of it ------------------------------------------------------------------------------------------------

static bool is_in_memory(const zf_plan *plan, const zf_kernel *kernel, const zf_port *port) {
    uint32_t edge = plan->graph->nodes[kernel->root].inputs[port->slot];
    return plan->graph->edges[edge].stored >= 0 || plan->edge_work[edge] >= 0;
}

// Copies need a stream in memory also where they are of the output: an element without a source is read from there.
static bool copies_from_memory(const zf_plan *plan, const zf_kernel *kernel, const zf_record_program *program) {
    const zf_inst *inst = plan->graph->nodes[kernel->root].inst;
    bool some = !program->copies;
    for (uint32_t s = 0; s < inst->stream_count; s++)
        some = some || (inst->streams[s]->per_chunk && is_in_memory(plan, kernel, inst->streams[s]));
    for (uint32_t s = 0; s < program->site_count; s++) {
        const zf_record_site *site = &program->sites[s];
        if (site->stmt->kind != ZF_S_EMIT_REGION || site->form.kind != ZF_REGION_STREAM) continue;
        some = some && is_in_memory(plan, kernel, site->form.port);
    }
    return some;
}

// The one loop of the body's own statements that has all that emit, or NULL.
static const zf_stmt *only_loop(const zf_inst *inst) {
    const zf_stmt *loop = NULL;
    for (const zf_stmt *stmt = inst->decode.stmts; stmt != NULL; stmt = stmt->next) {
        if (!emits_within(stmt)) continue;
        if (loop != NULL || (stmt->kind != ZF_S_WHILE && stmt->kind != ZF_S_LOOP) || !emits(stmt->body)) return NULL;
        loop = stmt;
    }
    return loop;
}

static bool take_one_loop(const zf_plan *plan, const zf_kernel *kernel, look *l) {
    zf_record_program *out = l->program;
    zf_visitor visitor = {.user = l, .expr = see_output, .stmt = pass_copies};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&l->inst->decode); // only looks
    out->most = add_sites(l, out->loop->body, true);
    if (l->emits != out->site_count + l->walked) refuse(l, "it emits in a function");
    if (l->fits && !copies_from_memory(plan, kernel, out)) refuse(l, "it copies from a stream that is not in memory");
    if (!l->fits) return false;
    look_at_step(l);
    if (out->cursor.port != NULL && !is_in_memory(plan, kernel, out->cursor.port)) {
        refuse(l, "a step reads a stream that is not in memory");
        out->cursor.port = NULL;
    }
    bool direct = !out->copies_back;
    for (uint32_t s = 0; s < out->site_count; s++)
        direct = direct && (!out->sites[s].inner || out->sites[s].stmt->kind == ZF_S_EMIT);
    for (uint32_t s = 0; s < out->site_count; s++) out->sites[s].direct = direct && out->sites[s].inner;
    return out->inner == NULL || out->cursor.port != NULL;
}

static bool see_array(zf_visitor *visitor, zf_stmt *stmt) {
    bool *none = visitor->user;
    *none = *none && (stmt->local == NULL || stmt->local->kind != ZF_L_ARRAY);
    return *none;
}

// A program of one loop whose steps are guessed as far as records say them, and else walked. One that copies has records of all
// steps instead.
static bool take_mixed(const zf_plan *plan, const zf_kernel *kernel, const zf_stmt *loop, zf_record_program *out) {
    zf_record_program program = {.words = 1, .loop = loop};
    look l = {.inst = plan->graph->nodes[kernel->root].inst, .program = &program, .fits = true, .mixes = true};
    if (!take_one_loop(plan, kernel, &l) || program.cursor.port == NULL || program.site_count == 0) return false;
    program.own_arrays = true;
    for (const zf_stmt *stmt = l.inst->decode.stmts; stmt != loop; stmt = stmt->next) {
        zf_visitor visitor = {.user = &program.own_arrays, .stmt = see_array};
        visit_one(&visitor, stmt);
    }
    *out = program;
    return true;
}

bool zf_record_program_of(const zf_plan *plan, const zf_kernel *kernel, zf_record_program *out) {
    const zf_graph_node *node = &plan->graph->nodes[kernel->root];
    const zf_inst *inst = node->inst;
    zf_type type = zf_simt_type_of(plan, kernel);
    *out = (zf_record_program){.words = 1};
    look l = {.inst = inst, .program = out, .fits = true};
    bool is_number = !type.nullable && type.kind != ZF_K_BOOL && type.kind != ZF_K_STRING && zf_kind_size(type.kind) > 0;
    if (kernel->domain != ZF_DOMAIN_CHUNKS || inst->lanes > 0) return false;
    if (inst->decode.returns_inside || !is_number) {
        out->why = is_number ? "it returns" : "its elements are no numbers";
        return false;
    }
    if (node->codec->chunk_size > ZF_CHUNK_MOST) { // places in it have 32 bits, and a GPU decodes no longer one
        out->why = "its chunks are too long";
        return false;
    }
    assert(kernel->tile == node->codec->chunk_size); // only booleans of several chunks share a tile
    const char *why = NULL;
    out->why = NULL;
    const zf_stmt *loop = out->loop = only_loop(inst);
    if (loop != NULL) {
        if (take_one_loop(plan, kernel, &l)) return true;
        why = out->why;
        *out = (zf_record_program){.words = 1};
        l = (look){.inst = inst, .program = out, .fits = true};
    }
    if (take_all_sites(&l) && !copies_from_memory(plan, kernel, out)) refuse(&l, "it copies from a stream that is not in memory");
    if (loop != NULL && !out->copies && take_mixed(plan, kernel, loop, out)) return true;
    if (why != NULL) out->why = why;
    if (out->why == NULL) out->why = "it emits outside of one loop";
    return l.fits;
}
