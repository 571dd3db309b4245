// Links: zipflow-frontend
// The verifier of instances: sound trees pass, and each way of breaking one is found.
#include <string.h>

#include "frontend/spec/spec_internal.h"
#include "tests/support/find_algorithm.h"
#include "tests/unit/check.h"

static const char text[] =
    "const TAB: u8[4] = [1, 2, 3, 4];\n"
    "fn pick(s: u32[], k) -> u32 { if k > 3 { return 0; } let v = s[k]; return v; }\n"
    "algorithm map(s: u32[], b: bool[], f: f64[], n: u32?[], str: u8[], fixed: u32[4], param p: u32 in 1..=9, param q: "
    "u32 = 3) -> u32[] fully_parallel {\n"
    "    decode(i) {\n"
    "        let c = b[i] ? s[i] + p : q / p;\n"
    "        let d = pick(s, i + 1) as u64 << 3;\n"
    "        let e = n[i] == null ? 0 : n[i].value;\n"
    "        let g = sum(k in 0..i: s[k]);\n"
    "        let h = str[2..5];\n"
    "        let o: u32? = c;\n"
    "        var x: u32 = -c; var t: u32[4];\n"
    "        t[x & 3] += 1;\n"
    "        for k in 0..4 { if k == 2 { break; } x = t[k]; }\n"
    "        require h.len == 3 && o != null;\n"
    "        return c + d as u32 + e + g + min(x, 3) + bit_width(x) + s.bits(0, 8) as u32 + TAB[x & 3] + bits_of(f[i]) "
    "as u32 + h[0] + fixed[0];\n"
    "    }\n"
    "    encode(x) {\n"
    "        var grown: u32[]; var lengths: u8[8];\n"
    "        for v in x { s.push(v); b.push(v > 1); grown.push(fixed.intern(v)); }\n"
    "        f.push(1.5); n.push(null); str.push_varint(min(x)); str.push_bits(1, 3); p = 2; str.append(str[0..1]);\n"
    "        sort(grown); code_lengths(grown, lengths, 8);\n"
    "        if s.bit_len > 8 { refuse \"long\"; }\n"
    "    }\n"
    "}\n"
    "algorithm group(n: u32[]) -> u64[] group_parallel { groups = n.len; size(g) = n[g]; decode(g, j) = g + j; encode "
    "extern \"none\"; }\n"
    "algorithm blocks(s: u8[] per chunk, w: u32[] per chunk) -> u8[] non_parallel(chunk = 64) {\n"
    "    decode {\n"
    "        while out.pos < out.len {\n"
    "            let n = s.u8(); let m = s.read(5);\n"
    "            emit k in 0..n: s[s.pos + k];\n"
    "            if n == 3 { emit out[out.pos - 1]; continue; }\n"
    "            emit w.next() as u8; s.skip(m);\n"
    "        }\n"
    "    }\n"
    "    encode(x) { for c in chunks(x) { for v in c { s.push(v); w.push(v); } } }\n"
    "}\n"
    "algorithm lanes(w: u32[] per chunk) -> u32[] non_parallel(chunk = 64, lanes = 4) {\n"
    "    state x: u32 = w.next() + lane as u32;\n"
    "    decode(i) { x += w.next(); return x; }\n"
    "    encode extern \"none\";\n"
    "}\n";

// ---- Finding nodes --------------------------------------------------------------------------------------------

typedef struct search {
    zf_expr_kind kind;
    int op; ///< or -1
    zf_expr *found;
    zf_stmt_kind stmt_kind;
    zf_stmt *found_stmt;
} search;

static void in_stmts(search *s, zf_stmt *stmt);

static void in_expr(search *s, zf_expr *expr) {
    if (expr == NULL) return;
    if (s->found == NULL && expr->kind == s->kind && (s->op < 0 || (int)expr->op == s->op)) s->found = expr;
    in_expr(s, expr->a);
    in_expr(s, expr->b);
    in_expr(s, expr->c);
    if (expr->reduce != NULL) in_expr(s, expr->reduce->term);
    if (expr->call == NULL) return;
    for (uint32_t k = 0; k < expr->call->formal_count; k++) in_expr(s, expr->call->formals[k]->init);
    in_stmts(s, expr->call->body);
    in_expr(s, expr->call->value);
}

static void in_stmts(search *s, zf_stmt *stmt) {
    for (; stmt != NULL; stmt = stmt->next) {
        if (s->found_stmt == NULL && stmt->kind == s->stmt_kind) s->found_stmt = stmt;
        if (stmt->local != NULL) in_expr(s, stmt->local->init);
        in_expr(s, stmt->place);
        in_expr(s, stmt->value);
        in_expr(s, stmt->count);
        in_expr(s, stmt->target);
        if (stmt->reduce != NULL) in_expr(s, stmt->reduce->term);
        in_stmts(s, stmt->body);
        in_stmts(s, stmt->else_part);
    }
}

static zf_expr *find(zf_inst *inst, zf_expr_kind kind, int op) {
    search s = {.kind = kind, .op = op, .stmt_kind = (zf_stmt_kind)-1};
    in_stmts(&s, inst->decode.stmts);
    in_expr(&s, inst->decode.value);
    in_stmts(&s, inst->encode.stmts);
    return s.found;
}

static zf_stmt *find_stmt(zf_inst *inst, zf_stmt_kind kind) {
    search s = {.kind = (zf_expr_kind)-1, .op = -1, .stmt_kind = kind};
    in_stmts(&s, inst->decode.stmts);
    in_stmts(&s, inst->encode.stmts);
    return s.found_stmt;
}

// ---- Breaking -------------------------------------------------------------------------------------------------

typedef struct zf_inst_set {
    zf_spec *spec;
    zf_inst *map, *group, *chunk, *lanes;
} insts;

static const zf_type u8_type = {.kind = ZF_K_U8}, none_type = {.kind = ZF_K_NONE}, error_type = {.kind = ZF_K_ERROR};

// clang-format off
#define BREAK(name, ...) static void name(insts *x) { __VA_ARGS__ }
BREAK(operands_of_two_types, find(x->map, ZF_X_BINARY, ZF_OP_ADD)->b = find(x->map, ZF_X_BINARY, ZF_OP_SHL);)
BREAK(missing_operand, find(x->map, ZF_X_BINARY, ZF_OP_ADD)->b = NULL;)
BREAK(one_operand_more, find(x->map, ZF_X_BINARY, ZF_OP_ADD)->c = find(x->map, ZF_X_PARAM, -1);)
BREAK(result_of_another_type, find(x->map, ZF_X_BINARY, ZF_OP_ADD)->type = u8_type;)
BREAK(poisoned, find(x->map, ZF_X_BINARY, ZF_OP_ADD)->type = error_type;)
BREAK(without_type, find(x->map, ZF_X_BINARY, ZF_OP_ADD)->type = none_type;)
BREAK(empty_range, find(x->map, ZF_X_BINARY, ZF_OP_ADD)->range = ((zf_interval){3, 2});)
BREAK(range_outside, find(x->map, ZF_X_BINARY, ZF_OP_ADD)->range.hi = (zf_int128)1 << 40;)
BREAK(false_proof_of_division, find(x->map, ZF_X_BINARY, ZF_OP_DIV)->b->range.lo = 0;)
BREAK(signed_shift, find(x->map, ZF_X_BINARY, ZF_OP_SHL)->b->type.kind = ZF_K_I64;)
BREAK(condition_no_bool, find(x->map, ZF_X_COND, -1)->a = find(x->map, ZF_X_PARAM, -1);)
BREAK(branch_of_another_type, find(x->map, ZF_X_COND, -1)->b = find(x->map, ZF_X_BINARY, ZF_OP_SHL);)
BREAK(cast_to_itself, zf_expr *cast = find(x->map, ZF_X_CAST, -1); cast->type = cast->a->type;)
BREAK(constant_beyond_width, find(x->map, ZF_X_CONST, -1)->bits = UINT64_MAX; find(x->map, ZF_X_CONST, -1)->type = u8_type;)
BREAK(constant_of_another_range, find(x->map, ZF_X_CONST, -1)->range = ((zf_interval){77, 77});)
BREAK(foreign_local, find(x->map, ZF_X_LOCAL, -1)->local = find(x->chunk, ZF_X_LOCAL, -1)->local;)
BREAK(two_locals_of_one_number, x->map->decode.locals->id = x->map->decode.locals->next->id;)
BREAK(local_beyond_count, x->map->decode.locals->id = 1000;)
BREAK(fewer_locals, x->map->decode.local_count++;)
BREAK(local_range, x->map->decode.locals->range.lo = -((zf_int128)1 << 70); x->map->decode.locals->type = u8_type;)
BREAK(foreign_port, find(x->map, ZF_X_STREAM, -1)->port = x->chunk->streams[0];)
BREAK(param_as_stream, find(x->map, ZF_X_STREAM, -1)->port = x->map->params[0];)
BREAK(index_not_u64, find(x->map, ZF_X_INDEX, -1)->b->type.kind = ZF_K_U32;)
BREAK(element_of_another_type, find(x->map, ZF_X_INDEX, -1)->type.kind = ZF_K_I8;)
BREAK(slice_ends, find(x->map, ZF_X_SLICE, -1)->c->type.kind = ZF_K_U8;)
BREAK(too_many_bits, find(x->map, ZF_X_BITS, -1)->c = find(x->map, ZF_X_BINARY, ZF_OP_SHL);)
BREAK(primitive_of_two_types, find(x->map, ZF_X_PRIM, -1)->b = find(x->map, ZF_X_BINARY, ZF_OP_SHL);)
BREAK(no_such_primitive, find(x->map, ZF_X_PRIM, -1)->prim = ZF_P_COUNT;)
BREAK(null_of_plain_type, find(x->map, ZF_X_IS_NULL, -1)->a = find(x->map, ZF_X_PARAM, -1);)
BREAK(value_of_plain_type, find(x->map, ZF_X_VALUE, -1)->a->type.nullable = false;)
BREAK(some_of_another_type, find(x->map, ZF_X_SOME, -1)->type.kind = ZF_K_I64;)
BREAK(reduction_without_binder, find(x->map, ZF_X_REDUCE, -1)->reduce->binder_count = 0;)
BREAK(reduction_with_effect, find(x->map, ZF_X_REDUCE, -1)->reduce->term->effect = true;)
BREAK(binder_of_another_kind, find(x->map, ZF_X_REDUCE, -1)->reduce->binders[0].local = find_stmt(x->map, ZF_S_LET)->local;)
BREAK(call_without_value, find(x->map, ZF_X_CALL, -1)->call->value = NULL; find(x->map, ZF_X_CALL, -1)->call->returns_inside = false;)
BREAK(unknown_returns, find(x->map, ZF_X_CALL, -1)->call->returns_inside = false;)
BREAK(formal_without_argument, find(x->map, ZF_X_CALL, -1)->call->formals[0]->init = NULL;)
BREAK(assigned_let, zf_stmt *assign = find_stmt(x->map, ZF_S_ASSIGN); assign->place = find(x->map, ZF_X_LOCAL, -1);)
BREAK(assigned_type, find_stmt(x->map, ZF_S_ASSIGN)->value = find(x->map, ZF_X_BINARY, ZF_OP_SHL);)
BREAK(break_outside, x->map->decode.stmts->kind = ZF_S_BREAK;)
BREAK(require_no_bool, find_stmt(x->map, ZF_S_REQUIRE)->value = find(x->map, ZF_X_PARAM, -1);)
BREAK(emit_in_map, find_stmt(x->map, ZF_S_REQUIRE)->kind = ZF_S_EMIT;)
BREAK(refuse_in_decode, zf_stmt *s = find_stmt(x->map, ZF_S_REQUIRE); s->kind = ZF_S_REFUSE; s->text = "no";)
BREAK(loop_in_map, find_stmt(x->map, ZF_S_FOR_RANGE)->kind = ZF_S_LOOP;)
BREAK(array_without_length, find_stmt(x->map, ZF_S_VAR)->next->local->length = 0;)
BREAK(push_of_another_type, find_stmt(x->map, ZF_S_PUSH)->value = find(x->map, ZF_X_MINMAX, -1); find_stmt(x->map, ZF_S_PUSH)->target = find(x->map, ZF_X_BIT_LEN, -1)->a; find(x->map, ZF_X_MINMAX, -1)->type.kind = ZF_K_I8;)
BREAK(push_to_nothing, find_stmt(x->map, ZF_S_PUSH)->target = NULL;)
BREAK(code_lengths_of_nothing, find_stmt(x->map, ZF_S_CODE_LENGTHS)->value = NULL;)
BREAK(intern_without_effect, find(x->map, ZF_X_INTERN, -1)->effect = false;)
BREAK(input_in_decode, find(x->map, ZF_X_STREAM, -1)->kind = ZF_X_INPUT;)
BREAK(value_missing, x->map->decode.value = NULL;)
BREAK(value_type, x->map->decode.value->type.kind = ZF_K_I32;)
BREAK(no_decode, x->map->decode.present = false;)
BREAK(size_in_map, x->map->size = x->map->decode;)
BREAK(no_index, x->map->domain_i = NULL;)
BREAK(port_number, x->map->ports[1].index = 0;)
BREAK(port_slot, x->map->ports[1].slot = 0;)
BREAK(port_type, x->map->ports[1].type = none_type;)
BREAK(port_per_chunk, x->map->ports[1].per_chunk = true;)
BREAK(port_length, x->map->streams[5]->length->type = u8_type;)
BREAK(port_default, x->map->params[1]->given->type = u8_type;)
BREAK(port_range, x->map->params[0]->range = ((zf_interval){5, 4});)
BREAK(no_size, x->group->size.present = false;)
BREAK(no_group_index, x->group->domain_g = NULL;)
BREAK(groups_type, x->group->groups.value->type = u8_type;)
BREAK(no_chunk_size, x->chunk->chunk_size = 0;)
BREAK(cursor_without_effect, find(x->chunk, ZF_X_CURSOR, -1)->effect = false;)
BREAK(cursor_block_wide, x->chunk->streams[0]->per_chunk = false;)
BREAK(no_such_cursor, find(x->chunk, ZF_X_CURSOR, -1)->cursor = ZF_C_COUNT;)
BREAK(region_with_effect, find_stmt(x->chunk, ZF_S_EMIT_REGION)->reduce->term->effect = true;)
BREAK(region_without_term, find_stmt(x->chunk, ZF_S_EMIT_REGION)->reduce->term = NULL;)
BREAK(emit_type, find_stmt(x->chunk, ZF_S_EMIT)->value->type.kind = ZF_K_I8;)
BREAK(hidden_effect, find_stmt(x->chunk, ZF_S_EMIT)->next = NULL; zf_expr *cast = find(x->chunk, ZF_X_CAST, -1); cast->a->effect = true; cast->effect = false;)
BREAK(each_of_another_type, find_stmt(x->chunk, ZF_S_FOR_EACH)->local->type.kind = ZF_K_I8;)
BREAK(chunks_not_nested, find_stmt(x->chunk, ZF_S_FOR_EACH)->local->is_seq = false;)
BREAK(state_without_value, x->lanes->states[0].init = NULL;)
BREAK(state_type, x->lanes->states[0].type = u8_type;)
BREAK(foreign_state, zf_state *other = zf_arena_alloc(zf_spec_arena(x->spec), sizeof *other); *other = x->lanes->states[0]; find(x->lanes, ZF_X_STATE, -1)->state = other;)
BREAK(no_result, x->lanes->result = none_type;)

// clang-format on
#define ROW(name) {#name, name}
static const struct {
    const char *name;
    void (*apply)(insts *x);
} breaks[] = {
    ROW(operands_of_two_types),
    ROW(missing_operand),
    ROW(one_operand_more),
    ROW(result_of_another_type),
    ROW(poisoned),
    ROW(without_type),
    ROW(empty_range),
    ROW(range_outside),
    ROW(false_proof_of_division),
    ROW(signed_shift),
    ROW(condition_no_bool),
    ROW(branch_of_another_type),
    ROW(cast_to_itself),
    ROW(constant_beyond_width),
    ROW(constant_of_another_range),
    ROW(foreign_local),
    ROW(two_locals_of_one_number),
    ROW(local_beyond_count),
    ROW(fewer_locals),
    ROW(local_range),
    ROW(foreign_port),
    ROW(param_as_stream),
    ROW(index_not_u64),
    ROW(element_of_another_type),
    ROW(slice_ends),
    ROW(too_many_bits),
    ROW(primitive_of_two_types),
    ROW(no_such_primitive),
    ROW(null_of_plain_type),
    ROW(value_of_plain_type),
    ROW(some_of_another_type),
    ROW(reduction_without_binder),
    ROW(reduction_with_effect),
    ROW(binder_of_another_kind),
    ROW(call_without_value),
    ROW(unknown_returns),
    ROW(formal_without_argument),
    ROW(assigned_let),
    ROW(assigned_type),
    ROW(break_outside),
    ROW(require_no_bool),
    ROW(emit_in_map),
    ROW(refuse_in_decode),
    ROW(loop_in_map),
    ROW(array_without_length),
    ROW(push_of_another_type),
    ROW(push_to_nothing),
    ROW(code_lengths_of_nothing),
    ROW(intern_without_effect),
    ROW(input_in_decode),
    ROW(value_missing),
    ROW(value_type),
    ROW(no_decode),
    ROW(size_in_map),
    ROW(no_index),
    ROW(port_number),
    ROW(port_slot),
    ROW(port_type),
    ROW(port_per_chunk),
    ROW(port_length),
    ROW(port_default),
    ROW(port_range),
    ROW(no_size),
    ROW(no_group_index),
    ROW(groups_type),
    ROW(no_chunk_size),
    ROW(cursor_without_effect),
    ROW(cursor_block_wide),
    ROW(no_such_cursor),
    ROW(region_with_effect),
    ROW(region_without_term),
    ROW(emit_type),
    ROW(hidden_effect),
    ROW(each_of_another_type),
    ROW(chunks_not_nested),
    ROW(state_without_value),
    ROW(state_type),
    ROW(foreign_state),
    ROW(no_result),
};

static zf_inst *instance(zf_spec *spec, const char *name) {
    const zf_algorithm *algorithm = find_algorithm(spec, name);
    return algorithm == NULL ? NULL : zf_spec_instantiate(spec, algorithm, NULL, (zf_span){0});
}

static bool make(insts *x) {
    x->spec = zf_spec_create(&(zf_spec_options){.no_std = true});
    bool ok = zf_spec_add_text(x->spec, "t.zf", text, strlen(text)) && zf_spec_check(x->spec);
    if (!ok) {
        zf_text out = {0};
        zf_diags_render(zf_spec_diags(x->spec), ZF_DIAG_LINE, false, &out);
        printf("%s", out.data == NULL ? "" : out.data);
        zf_text_free(&out);
        return false;
    }
    x->map = instance(x->spec, "map");
    x->group = instance(x->spec, "group");
    x->chunk = instance(x->spec, "blocks");
    x->lanes = instance(x->spec, "lanes");
    return x->map != NULL && x->group != NULL && x->chunk != NULL && x->lanes != NULL;
}

/// The first fault of any of them, or "" as its reason.
static zf_inst_fault faults(const insts *x) {
    zf_inst_fault found = {0};
    zf_text_puts(&found.reason, "");
    const zf_inst *all[4] = {x->map, x->group, x->chunk, x->lanes};
    bool sound = true;
    for (int k = 0; k < 4; k++) {
        zf_inst_fault one = {0};
        bool whole = zf_inst_verify(all[k], &one);
        CHECK(whole == (one.reason.length == 0), "a fault without a reason, or the reverse");
        if (sound && !whole) {
            zf_text_free(&found.reason);
            found = one;
        } else
            zf_text_free(&one.reason);
        sound = sound && whole;
    }
    return found;
}

/// A fault of an expression stands where the expression does.
static void check_place(void) {
    insts x = {0};
    CHECK(make(&x), "the program has errors");
    false_proof_of_division(&x);
    zf_inst_fault found = faults(&x);
    CHECK(found.place.source != NULL, "no place");
    if (found.place.source != NULL) {
        zf_position at = zf_source_position(found.place.source, found.place.begin);
        CHECK(at.line == 5 && at.column == 35, "%u:%u", at.line, at.column);
    }
    zf_text_free(&found.reason);
    zf_spec_destroy(x.spec);
}

int main(void) {
    for (size_t k = 0; k < sizeof breaks / sizeof *breaks; k++) {
        insts x = {0};
        CHECK(make(&x), "the program has errors");
        if (check_failures > 0) break;
        zf_inst_fault before = faults(&x);
        CHECK(before.reason.length == 0, "%s", before.reason.data);
        breaks[k].apply(&x);
        zf_inst_fault after = faults(&x);
        CHECK(after.reason.length > 0, "%s was not found", breaks[k].name);
        zf_text_free(&before.reason);
        zf_text_free(&after.reason);
        zf_spec_destroy(x.spec);
    }
    check_place();
    return check_result();
}
