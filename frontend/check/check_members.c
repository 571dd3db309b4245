// The members of an algorithm: which ones its pattern wants, options, states, and the bodies themselves.
#include <string.h>

#include "frontend/check/checker.h"

// ---- Which members there are ----------------------------------------------------------------------------------

typedef struct members {
    const zf_ast_member *groups, *size, *decode, *encode;
} members;

static const char *const pattern_names[] = {
    [ZF_FULLY_PARALLEL] = "fully_parallel", [ZF_GROUP_PARALLEL] = "group_parallel", [ZF_NON_PARALLEL] = "non_parallel"};

static void refuse_member(zf_checker *ck, const zf_ast_member *member, const char *why, const char *hint) {
    zf_diag *diag =
        zf_ck_error(ck, ZF_D_MEMBER_UNEXPECTED, member->name_span.source == NULL ? member->span : member->name_span, "%s", why);
    if (hint != NULL) zf_ck_hint(ck, diag, "%s", hint);
}

static members find_members(zf_checker *ck) {
    members found = {0};
    zf_pattern pattern = ck->inst->pattern;
    uint32_t functions = 0;
    for (const zf_ast_member *member = ck->algorithm->members; member != NULL; member = member->next) {
        if (member->kind == ZF_AM_STATE) {
            if (ck->inst->lanes == 0) {
                refuse_member(ck, member, zf_arena_printf(ck->arena, "the state `%s` needs lanes", member->name),
                              "declare the pattern as `non_parallel(chunk = N, lanes = L)`");
            }
            continue;
        }
        if (member->kind == ZF_AM_FUNC) {
            if (functions++ == ZF_FUNCTIONS_LIMIT) {
                zf_ck_error(ck, ZF_D_TOO_LARGE, member->func->name_span, "an algorithm has at most %d functions of its own",
                            ZF_FUNCTIONS_LIMIT);
            }
            if (functions > ZF_FUNCTIONS_LIMIT) continue;
            zf_ck_declarable(ck, member->func->name, member->func->name_span);
            for (const zf_ast_member *other = ck->algorithm->members; other != member; other = other->next) {
                if (other->kind != ZF_AM_FUNC || other->func->name != member->func->name) continue;
                zf_diag *diag =
                    zf_ck_error(ck, ZF_D_DECLARED_TWICE, member->func->name_span, "`%s` is declared twice", member->func->name);
                zf_ck_remark(ck, diag, other->func->name_span, "first declared here");
            }
            continue;
        }
        const struct {
            const char *name;
            const zf_ast_member **slot;
            bool fits;
        } known[] = {
            {"groups", &found.groups, pattern == ZF_GROUP_PARALLEL},
            {"size", &found.size, pattern == ZF_GROUP_PARALLEL},
            {"decode", &found.decode, true},
            {"encode", &found.encode, true},
        };
        const size_t count = sizeof known / sizeof *known;
        size_t k = 0;
        while (k < count && strcmp(known[k].name, member->name) != 0) k++;
        if (k == count) {
            const char *names[4] = {"groups", "size", "decode", "encode"};
            const char *nearest = zf_nearest_name(member->name, names, 4);
            refuse_member(ck, member, zf_arena_printf(ck->arena, "an algorithm has no member `%s`", member->name),
                          nearest == NULL ? NULL : zf_arena_printf(ck->arena, "did you mean `%s`?", nearest));
        } else if (!known[k].fits) {
            refuse_member(ck, member,
                          zf_arena_printf(ck->arena, "a %s algorithm has no `%s`", pattern_names[pattern], member->name), NULL);
        } else if (*known[k].slot != NULL) {
            zf_diag *diag = zf_ck_error(ck, ZF_D_DECLARED_TWICE, member->name_span, "`%s` is declared twice", member->name);
            zf_ck_remark(ck, diag, (*known[k].slot)->name_span, "first declared here");
        } else {
            *known[k].slot = member;
        }
    }
    return found;
}

static uint32_t formal_count(const zf_ast_member *member) {
    uint32_t count = 0;
    for (const zf_ast_formal *formal = member->formals; formal != NULL; formal = formal->next) count++;
    return count;
}

/// A member in the form that its pattern wants: with so many formals, as a value or a block.
static bool has_form(zf_checker *ck, const zf_ast_member *member, const char *name, const char *form, uint32_t least,
                     uint32_t most, bool wants_value, bool may_block) {
    if (member == NULL && ck->algorithm->member_lost) {
        ck->failed = true; // the syntax error is reported
        return false;
    }
    if (member == NULL) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_MEMBER_MISSING, ck->algorithm->pattern_span, "a %s algorithm needs `%s`",
                                    pattern_names[ck->inst->pattern], name);
        zf_ck_hint(ck, diag, "write `%s`", form);
        return false;
    }
    uint32_t count = formal_count(member);
    bool block = member->kind == ZF_AM_BLOCK, value = member->kind == ZF_AM_EXPR || member->kind == ZF_AM_VALUE;
    bool fits = (block && may_block) || (value && wants_value);
    if (fits && count >= least && count <= most) return true;
    zf_diag *diag = zf_ck_error(ck, ZF_D_MEMBER_UNEXPECTED, member->name_span, "`%s` of a %s algorithm has another form", name,
                                pattern_names[ck->inst->pattern]);
    zf_ck_hint(ck, diag, "write `%s`", form);
    return false;
}

// ---- Options --------------------------------------------------------------------------------------------------

static bool option_value(zf_checker *ck, const zf_ast_option *option, uint64_t most, uint64_t *value) {
    zf_expr *expr = zf_ck_index(ck, zf_ck_scalar(ck, option->value));
    if (!zf_ck_constant_value(ck, expr, value)) return false;
    if (*value >= 1 && *value <= most) return true;
    zf_ck_error(ck, ZF_D_PATTERN_OPTION, option->value->span, "`%s` must be in 1..=%llu, and this is %llu", option->name,
                (unsigned long long)most, (unsigned long long)*value);
    return false;
}

static void check_options(zf_checker *ck) {
    zf_inst *inst = ck->inst;
    for (const zf_ast_option *option = ck->algorithm->options; option != NULL; option = option->next) {
        uint64_t value;
        bool chunk = strcmp(option->name, "chunk") == 0, lanes = strcmp(option->name, "lanes") == 0;
        if (!chunk && !lanes) {
            zf_diag *diag = zf_ck_error(ck, ZF_D_PATTERN_OPTION, option->span, "a pattern has no option `%s`", option->name);
            zf_ck_hint(ck, diag, "options are `chunk` and `lanes`");
        } else if (chunk ? inst->chunk_size != 0 : inst->lanes != 0) {
            zf_ck_error(ck, ZF_D_DECLARED_TWICE, option->span, "`%s` is given twice", option->name);
        } else if (option_value(ck, option, chunk ? ZF_CHUNK_LIMIT : ZF_LANES_LIMIT, &value)) {
            if (chunk)
                inst->chunk_size = value;
            else
                inst->lanes = (uint32_t)value;
        }
    }
    if (inst->pattern == ZF_NON_PARALLEL && inst->chunk_size == 0 && !ck->failed) {
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_PATTERN_OPTION, ck->algorithm->pattern_span, "non_parallel needs the size of its chunks");
        zf_ck_hint(ck, diag, "write `non_parallel(chunk = 65536)`");
    }
}

// ---- Bodies ---------------------------------------------------------------------------------------------------

static void begin_body(zf_checker *ck, zf_body_kind kind, zf_local *locals, uint32_t local_count, zf_frame *frame,
                       const char *name, zf_type result) {
    ck->body = kind;
    ck->locals = locals;
    ck->local_count = local_count;
    ck->scope = NULL;
    ck->level = 0;
    ck->env = (zf_env){0};
    ck->universal = NULL;
    ck->universal_first = local_count;
    ck->in_region = ck->hoisting = false;
    ck->array_bytes = 0;
    ck->trip_product = 1;
    ck->rounds = 0;
    ck->rounds_refused = false;
    ck->in_chunks = false;
    ck->tail = NULL;
    *frame = (zf_frame){.name = name, .module = ck->module, .local = true, .result = result, .result_known = true};
    ck->frame = frame;
}

static void end_body(zf_checker *ck, zf_body *body, const zf_ast_member *member) {
    // Facts about the indices hold for every element. encode has no indices, and its loops stay where they are.
    ck->universal = ck->env.facts;
    ck->universal_first = ck->local_count;
    zf_checked_body checked = zf_ck_function_body(ck, member->value, member->body, member->name_span);
    *body = (zf_body){.present = true,
                      .stmts = checked.stmts,
                      .value = checked.value,
                      .returns_inside = checked.returns_inside,
                      .locals = ck->locals,
                      .local_count = ck->local_count};
}

/// A formal of a member: an index.
static zf_local *domain(zf_checker *ck, const zf_ast_formal *formal, zf_local_kind kind, zf_int128 max) {
    if (formal->is_var || (formal->type != NULL && zf_ck_type(ck, formal->type).kind != ZF_K_U64)) {
        zf_ck_error(ck, ZF_D_BAD_TYPE, formal->span, "`%s` is an index: u64, and never changed", formal->name);
    }
    zf_local *local = zf_ck_local(ck, kind, formal->name, formal->span, zf_type_of(ZF_K_U64));
    if (max < 0) max = 0;
    local->range = (zf_interval){0, max < ZF_STREAM_LENGTH_MAX - 1 ? max : ZF_STREAM_LENGTH_MAX - 1};
    return local;
}

static void enter_domain(zf_checker *ck, const zf_ast_formal *formal, zf_local *local) {
    zf_ck_enter(ck, formal->name, formal->span, local, NULL, false);
}

/// i < out.len
static void relate_to_output(zf_checker *ck, zf_local *i) {
    zf_bound bound = {.local = i};
    zf_expr *out = zf_ck_node(ck, ZF_X_OUT, ck->inst->result, i->span);
    out->is_seq = true;
    zf_facts_relate(ck, zf_ck_use(ck, &bound, i->span), zf_ck_length(ck, out, i->span), true);
}

static void relate_to_count(zf_checker *ck, zf_local *local, const zf_body *count) {
    if (count->value == NULL || count->returns_inside || count->stmts != NULL || zf_is_poison(count->value)) return;
    zf_bound bound = {.local = local};
    zf_facts_relate(ck, zf_ck_use(ck, &bound, local->span), count->value, true);
}

static zf_int128 most_of(const zf_body *count) {
    return count->value == NULL || count->returns_inside || zf_is_poison(count->value) ? ZF_STREAM_LENGTH_MAX - 1
                                                                                       : count->value->range.hi - 1;
}

static void check_groups(zf_checker *ck, const members *found) {
    zf_inst *inst = ck->inst;
    zf_frame frame;
    zf_type u64 = zf_type_of(ZF_K_U64);
    bool ok = has_form(ck, found->groups, "groups", "groups = e;", 0, 0, true, false);
    ok = has_form(ck, found->size, "size", "size(g) = e;", 1, 1, true, true) && ok;
    ok = has_form(ck, found->decode, "decode", "decode(g, j) = e;", 2, 3, true, true) && ok;
    if (!ok) return;

    begin_body(ck, ZF_IN_GROUPS, NULL, 0, &frame, "groups", u64);
    end_body(ck, &inst->groups, found->groups);

    // size and decode share g: it is the last of both lists.
    begin_body(ck, ZF_IN_SIZE, NULL, 0, &frame, "size", u64);
    const zf_ast_formal *formal = found->size->formals;
    inst->domain_g = domain(ck, formal, ZF_L_DOMAIN_G, most_of(&inst->groups));
    zf_local *shared = ck->locals;
    enter_domain(ck, formal, inst->domain_g);
    relate_to_count(ck, inst->domain_g, &inst->groups);
    end_body(ck, &inst->size, found->size);

    begin_body(ck, ZF_IN_ELEMENT, shared, 1, &frame, "decode", inst->result);
    formal = found->decode->formals;
    enter_domain(ck, formal, inst->domain_g);
    relate_to_count(ck, inst->domain_g, &inst->groups);
    formal = formal->next;
    inst->domain_j = domain(ck, formal, ZF_L_DOMAIN_J, most_of(&inst->size));
    enter_domain(ck, formal, inst->domain_j);
    relate_to_count(ck, inst->domain_j, &inst->size);
    if (formal->next != NULL) {
        inst->domain_i = domain(ck, formal->next, ZF_L_DOMAIN_I, ZF_STREAM_LENGTH_MAX - 1);
        enter_domain(ck, formal->next, inst->domain_i);
        relate_to_output(ck, inst->domain_i);
    }
    end_body(ck, &inst->decode, found->decode);
}

static void check_states(zf_checker *ck) {
    zf_inst *inst = ck->inst;
    uint32_t count = 0;
    for (const zf_ast_member *member = ck->algorithm->members; member != NULL; member = member->next)
        count += member->kind == ZF_AM_STATE;
    inst->states = ZF_NEW_ARRAY(ck->arena, zf_state, count + 1);
    for (const zf_ast_member *member = ck->algorithm->members; member != NULL; member = member->next) {
        if (member->kind != ZF_AM_STATE) continue;
        zf_ck_declarable(ck, member->name, member->name_span);
        for (uint32_t k = 0; k < inst->state_count; k++) {
            if (inst->states[k].name == member->name)
                zf_ck_error(ck, ZF_D_DECLARED_TWICE, member->name_span, "`%s` is declared twice", member->name);
        }
        for (uint32_t k = 0; k < inst->port_count; k++) {
            if (inst->ports[k].name == member->name)
                zf_ck_error(ck, ZF_D_DECLARED_TWICE, member->name_span, "`%s` is a port already", member->name);
        }
        // Its own name is not known in its initialiser; those before it are.
        zf_type type = zf_ck_type(ck, member->type);
        if (type.nullable || (type.kind != ZF_K_ERROR && !zf_kind_is_integer(type.kind) && !zf_kind_is_float(type.kind) &&
                              type.kind != ZF_K_BOOL)) {
            zf_ck_error(ck, ZF_D_BAD_TYPE, member->type->span, "a state is a number or bool, not %s",
                        zf_type_name(ck->arena, type));
            type = zf_type_of(ZF_K_ERROR);
        }
        zf_expr *init = type.kind == ZF_K_ERROR ? zf_ck_poison(ck, member->span) : zf_ck_value_as(ck, member->value, type);
        inst->states[inst->state_count] =
            (zf_state){.index = inst->state_count, .name = member->name, .type = type, .init = init};
        inst->state_count++;
    }
}

static void check_chunks(zf_checker *ck, const members *found) {
    zf_inst *inst = ck->inst;
    zf_frame frame;
    if (inst->lanes == 0) {
        if (!has_form(ck, found->decode, "decode", "decode { ... emit e; ... }", 0, 0, false, true)) return;
        begin_body(ck, ZF_IN_CHUNK, NULL, 0, &frame, "decode", zf_type_of(ZF_K_NONE));
        end_body(ck, &inst->decode, found->decode);
        return;
    }
    if (!has_form(ck, found->decode, "decode", "decode(i) { ... return e; }", 1, 1, true, true)) return;
    // States and decode are one body: the locals of an initialiser live in decode's list.
    begin_body(ck, ZF_IN_STATE, NULL, 0, &frame, "state", zf_type_of(ZF_K_NONE));
    check_states(ck);
    begin_body(ck, ZF_IN_LANES, ck->locals, ck->local_count, &frame, "decode", inst->result);
    const zf_ast_formal *formal = found->decode->formals;
    inst->domain_i = domain(ck, formal, ZF_L_DOMAIN_I, ZF_STREAM_LENGTH_MAX - 1);
    enter_domain(ck, formal, inst->domain_i);
    relate_to_output(ck, inst->domain_i);
    end_body(ck, &inst->decode, found->decode);
}

static void check_fully(zf_checker *ck, const members *found) {
    zf_frame frame;
    if (!has_form(ck, found->decode, "decode", "decode(i) = e;", 1, 1, true, true)) return;
    begin_body(ck, ZF_IN_ELEMENT, NULL, 0, &frame, "decode", ck->inst->result);
    const zf_ast_formal *formal = found->decode->formals;
    ck->inst->domain_i = domain(ck, formal, ZF_L_DOMAIN_I, ZF_STREAM_LENGTH_MAX - 1);
    enter_domain(ck, formal, ck->inst->domain_i);
    relate_to_output(ck, ck->inst->domain_i);
    end_body(ck, &ck->inst->decode, found->decode);
}

// ---- encode ---------------------------------------------------------------------------------------------------

static void check_written(zf_checker *ck) {
    for (uint32_t k = 0; k < ck->inst->port_count; k++) {
        const zf_port *port = &ck->inst->ports[k];
        if (port->is_param) {
            if (port->assigned || port->given != NULL) continue;
            zf_diag *diag = zf_ck_warning(ck, ZF_D_NEVER_WRITTEN, port->span, "encode never sets `%s`", port->name);
            zf_ck_remark(ck, diag, (zf_span){0}, "it is 0 unless a codec gives it");
        } else if (!port->written) {
            zf_diag *diag = zf_ck_error(ck, ZF_D_NEVER_WRITTEN, port->span, "encode never writes `%s`", port->name);
            zf_ck_hint(ck, diag, "`%s.push(v)` adds an element", port->name);
        }
    }
}

static void check_encode(zf_checker *ck, const zf_ast_member *encode) {
    zf_inst *inst = ck->inst;
    if (encode == NULL) return; // it can be decoded only
    if (encode->kind == ZF_AM_EXTERN) {
        inst->encode_extern = encode->text;
        return;
    }
    zf_frame frame;
    if (!has_form(ck, encode, "encode", "encode(x) { ... }", 1, 1, false, true)) return;
    const zf_ast_formal *formal = encode->formals;
    if (formal->type != NULL || formal->is_var) {
        zf_ck_error(ck, ZF_D_BAD_TYPE, formal->span, "`%s` is the data to encode: its type is that of the result", formal->name);
        return;
    }
    begin_body(ck, ZF_IN_ENCODE, NULL, 0, &frame, "encode", zf_type_of(ZF_K_NONE));
    // The input is no local that could be stored: its uses are INPUT expressions.
    zf_local *input = ZF_NEW(ck->arena, zf_local);
    *input = (zf_local){.kind = ZF_L_FORMAL,
                        .id = UINT32_MAX,
                        .name = formal->name,
                        .span = formal->span,
                        .type = inst->result,
                        .is_seq = true,
                        .range = zf_range_all(inst->result)};
    inst->input = input;
    zf_expr *use = zf_ck_node(ck, ZF_X_INPUT, inst->result, formal->span);
    use->is_seq = true;
    zf_ck_enter(ck, formal->name, formal->span, NULL, use, false);
    // A param that encode has not set yet is 0.
    for (uint32_t k = 0; k < inst->param_count; k++) {
        zf_port *param = inst->params[k];
        if (param->given != NULL || param->type.kind == ZF_K_ERROR || zf_kind_is_float(param->type.kind)) continue;
        zf_expr *value = zf_ck_node(ck, ZF_X_PARAM, param->type, param->span);
        value->port = param;
        zf_facts_learn(ck, value, zf_interval_const(0));
    }
    end_body(ck, &inst->encode, encode);
    if (!ck->failed) check_written(ck);
}

void zf_ck_members(zf_checker *ck) {
    check_options(ck);
    members found = find_members(ck);
    zf_frame *frame = ck->frame; // each body has one of its own, which ends with it
    switch (ck->inst->pattern) {
    case ZF_FULLY_PARALLEL: check_fully(ck, &found); break;
    case ZF_GROUP_PARALLEL: check_groups(ck, &found); break;
    case ZF_NON_PARALLEL: check_chunks(ck, &found); break;
    }
    ck->frame = frame;
    check_encode(ck, found.encode);
    ck->frame = frame;
}
