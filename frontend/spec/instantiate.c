// Instances of algorithms: made once for each choice of types, kept in a table; and the checks of declarations, which
// make the instances that bounds admit.
#include <string.h>

#include "frontend/check/checker.h"

enum {
    FIRST_BUCKETS = 256,      // a power of two
    COMBINATIONS_LIMIT = 128, // instances that one check makes; beyond, generics vary one at a time
};

typedef struct inst_entry {
    const zf_algorithm *algorithm;
    const zf_type *bindings;
    uint64_t hash;
    zf_inst *inst;            ///< NULL: it had errors
    struct inst_entry *next;  ///< of the bucket
    struct inst_entry *later; ///< in order of making
} inst_entry;

typedef struct used_function {
    const zf_ast_func *func;
    struct used_function *next;
} used_function;

struct zf_inst_table {
    inst_entry **buckets;
    used_function **used;
    size_t bucket_count, count;      ///< of instances; counts of buckets are powers of two
    size_t used_buckets, used_count; ///< of functions
    inst_entry *first, **last;
    bool out_of_room;
};

static struct zf_inst_table *table_of(zf_spec *spec) {
    if (spec->insts == NULL) {
        struct zf_inst_table *table = ZF_NEW(spec->arena, struct zf_inst_table);
        table->bucket_count = table->used_buckets = FIRST_BUCKETS;
        table->buckets = ZF_NEW_ARRAY(spec->arena, inst_entry *, FIRST_BUCKETS);
        table->used = ZF_NEW_ARRAY(spec->arena, used_function *, FIRST_BUCKETS);
        table->last = &table->first;
        spec->insts = table;
    }
    return spec->insts;
}

static uint64_t hash_of(const void *pointer, const zf_type *bindings, uint32_t count) {
    uint64_t hash = (uint64_t)(uintptr_t)pointer >> 4;
    for (uint32_t k = 0; k < count; k++) hash = hash * 31 + (uint64_t)bindings[k].kind * 2 + bindings[k].nullable;
    hash *= 0x9e3779b97f4a7c15u; // what distinguishes places in an arena stands in its middle bits
    return hash ^ hash >> 32;
}

// Both tables keep about one entry a bucket: a program may have as many algorithms and functions as fit its limit on size.
static void grow_instances(zf_spec *spec, struct zf_inst_table *table) {
    size_t count = table->bucket_count * 4;
    inst_entry **buckets = ZF_NEW_ARRAY(spec->arena, inst_entry *, count);
    for (size_t k = 0; k < table->bucket_count; k++) {
        for (inst_entry *entry = table->buckets[k], *next; entry != NULL; entry = next) {
            next = entry->next;
            entry->next = buckets[entry->hash & (count - 1)];
            buckets[entry->hash & (count - 1)] = entry;
        }
    }
    table->buckets = buckets;
    table->bucket_count = count;
}

static used_function **bucket_of_used(const struct zf_inst_table *table, const zf_ast_func *func) {
    return &table->used[hash_of(func, NULL, 0) & (table->used_buckets - 1)];
}

static void grow_used(zf_spec *spec, struct zf_inst_table *table) {
    used_function **before = table->used;
    size_t count = table->used_buckets;
    used_function **after = ZF_NEW_ARRAY(spec->arena, used_function *, count * 4);
    table->used = after;
    table->used_buckets = count * 4;
    for (size_t k = 0; k < count; k++) {
        for (used_function *used = before[k], *next; used != NULL; used = next) {
            next = used->next;
            used_function **bucket = bucket_of_used(table, used->func);
            used->next = *bucket;
            *bucket = used;
        }
    }
}

void zf_note_function_used(zf_spec *spec, const zf_ast_func *func) {
    struct zf_inst_table *table = table_of(spec);
    for (const used_function *used = *bucket_of_used(table, func); used != NULL; used = used->next) {
        if (used->func == func) return;
    }
    if (table->used_count++ == table->used_buckets) grow_used(spec, table);
    used_function **bucket = bucket_of_used(table, func);
    used_function *used = ZF_NEW(spec->arena, used_function);
    *used = (used_function){.func = func, .next = *bucket};
    *bucket = used;
}

bool zf_note_out_of_room(zf_spec *spec) {
    bool before = table_of(spec)->out_of_room;
    table_of(spec)->out_of_room = true;
    return before;
}

static bool function_is_used(zf_spec *spec, const zf_ast_func *func) {
    for (const used_function *used = *bucket_of_used(table_of(spec), func); used != NULL; used = used->next) {
        if (used->func == func) return true;
    }
    return false;
}

zf_checker zf_checker_make(zf_spec *spec, const zf_source_module *module) {
    return (zf_checker){.spec = spec, .arena = spec->arena, .module = module, .trip_product = 1};
}

// ---- One instance ---------------------------------------------------------------------------------------------

static const char *instance_name(zf_spec *spec, const zf_algorithm *algorithm, const zf_type *bindings) {
    if (algorithm->generic_count == 0) return algorithm->name;
    const char *text = algorithm->name;
    for (uint32_t k = 0; k < algorithm->generic_count; k++) {
        text = zf_arena_printf(spec->arena, "%s%s%s", text, k == 0 ? "<" : ", ", zf_type_name(spec->arena, bindings[k]));
    }
    return zf_arena_printf(spec->arena, "%s>", text);
}

static void check_result_type(zf_checker *ck) {
    const zf_ast_type *result = ck->algorithm->result;
    if (result->kind != ZF_AT_ARRAY || result->length != NULL) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_TYPE, result->span, "the result of an algorithm is a stream");
        zf_ck_hint(ck, diag, "write `E[]`");
        ck->inst->result = zf_type_of(ZF_K_ERROR);
        return;
    }
    ck->inst->result = zf_ck_type(ck, result->element);
}

static zf_inst *make_instance(zf_spec *spec, const zf_algorithm *algorithm, const zf_type *bindings, zf_span span) {
    const zf_ast_algorithm *ast = algorithm->decl->algorithm;
    zf_inst *inst = ZF_NEW(spec->arena, zf_inst);
    zf_checker ck = zf_checker_make(spec, algorithm->module);
    ck.inst = inst;
    ck.algorithm = ast;
    ck.generics = ast->generics;
    ck.bindings = bindings;
    ck.wanted_at = span;
    ck.body = ZF_IN_CONST;
    zf_frame frame = {.name = algorithm->name,
                      .module = algorithm->module,
                      .local = true,
                      .result_known = true,
                      .result = zf_type_of(ZF_K_NONE)};
    ck.frame = &frame;
    inst->algorithm = algorithm;
    inst->name = instance_name(spec, algorithm, bindings);
    inst->bindings = (zf_type *)(uintptr_t)bindings;
    inst->pattern = ast->pattern;
    check_result_type(&ck);
    zf_ck_ports(&ck);
    if (!ck.failed) zf_ck_members(&ck);
    if (ck.failed || ck.too_large || !zf_match_inst(spec, inst)) return NULL;
    // Later stages rely on the tree, so a fault of ours must not get further than this.
    zf_inst_fault found = {0};
    bool sound = zf_inst_verify(inst, &found);
    if (!sound) {
        zf_span place = found.place.source != NULL ? found.place : algorithm->decl->name_span;
        zf_diag_error(&spec->diags, ZF_D_INTERNAL, place, "a fault of the compiler: %s",
                      found.reason.data == NULL ? "?" : found.reason.data);
    }
    zf_text_free(&found.reason);
    return sound ? inst : NULL;
}

static bool bounds_met(zf_spec *spec, const zf_algorithm *algorithm, const zf_type *bindings, zf_span span) {
    uint32_t k = 0;
    bool ok = true;
    for (const zf_ast_generic *generic = algorithm->decl->algorithm->generics; generic != NULL; generic = generic->next, k++) {
        if (bindings[k].kind == ZF_K_ERROR) ok = false;
        if (zf_bound_met(generic->bound, bindings[k])) continue;
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_BOUND_NOT_MET, span, "`%s` of `%s` would be %s, which is not `%s`",
                                      generic->name, algorithm->name, zf_type_name(spec->arena, bindings[k]), generic->bound);
        zf_remark_bound(spec, diag, generic->bound);
        zf_diag_remark(&spec->diags, diag, generic->span, "declared here");
        ok = false;
    }
    return ok;
}

static inst_entry *find_or_make(zf_spec *spec, const zf_algorithm *algorithm, const zf_type *bindings, zf_span span) {
    struct zf_inst_table *table = table_of(spec);
    uint32_t count = algorithm->generic_count;
    zf_type *kept = ZF_NEW_ARRAY(spec->arena, zf_type, count + 1);
    for (uint32_t k = 0; k < count; k++) kept[k] = zf_type_strip(bindings[k]);
    uint64_t hash = hash_of(algorithm, kept, count);
    for (inst_entry *entry = table->buckets[hash & (table->bucket_count - 1)]; entry != NULL; entry = entry->next) {
        if (entry->algorithm != algorithm) continue;
        uint32_t k = 0;
        while (k < count && zf_type_equal(entry->bindings[k], kept[k])) k++;
        if (k == count) return entry;
    }
    if (table->count++ == table->bucket_count) grow_instances(spec, table);
    inst_entry **bucket = &table->buckets[hash & (table->bucket_count - 1)];
    inst_entry *entry = ZF_NEW(spec->arena, inst_entry);
    *entry = (inst_entry){.algorithm = algorithm, .bindings = kept, .hash = hash, .next = *bucket};
    *bucket = entry;
    entry->inst = make_instance(spec, algorithm, kept, span);
    if (entry->inst != NULL) {
        *table->last = entry;
        table->last = &entry->later;
    }
    return entry;
}

typedef struct request {
    const zf_algorithm *algorithm;
    const zf_type *bindings;
    zf_span span;
    zf_inst *inst;
} request;

static bool instantiate(zf_spec *spec, void *data) {
    request *wanted = data;
    if (wanted->algorithm->broken || !bounds_met(spec, wanted->algorithm, wanted->bindings, wanted->span)) {
        if (spec->diags.errors == 0)
            zf_diag_error(&spec->diags, ZF_D_UNKNOWN_NAME, wanted->span, "`%s` has errors", wanted->algorithm->name);
        return false;
    }
    wanted->inst = find_or_make(spec, wanted->algorithm, wanted->bindings, wanted->span)->inst;
    return wanted->inst != NULL;
}

zf_inst *zf_spec_instantiate(zf_spec *spec, const zf_algorithm *algorithm, const zf_type *bindings, zf_span span) {
    request wanted = {.algorithm = algorithm, .bindings = bindings, .span = span};
    return zf_guarded(spec, instantiate, &wanted) ? wanted.inst : NULL;
}

// ---- Checking an algorithm by all its types --------------------------------------------------------------------

static const zf_kind scalar_kinds[] = {
    ZF_K_U8, ZF_K_U16, ZF_K_U32, ZF_K_U64, ZF_K_I8, ZF_K_I16, ZF_K_I32, ZF_K_I64, ZF_K_F32, ZF_K_F64, ZF_K_BOOL,
};

enum { SCALARS = sizeof scalar_kinds / sizeof *scalar_kinds, GENERICS_LIMIT = 16 };

static bool check_generics(zf_spec *spec, const zf_algorithm *algorithm) {
    static const char *const bounds[] = {"scalar", "integer", "unsigned", "signed", "float"};
    const size_t bound_count = sizeof bounds / sizeof *bounds;
    zf_diags *diags = &spec->diags;
    uint32_t errors = diags->errors;
    const zf_ast_algorithm *ast = algorithm->decl->algorithm;
    if (algorithm->generic_count > GENERICS_LIMIT) {
        zf_diag_error(diags, ZF_D_TOO_LARGE, algorithm->decl->name_span, "an algorithm has at most %d generics", GENERICS_LIMIT);
        return false;
    }
    for (const zf_ast_generic *generic = ast->generics; generic != NULL; generic = generic->next) {
        if (zf_name_is_reserved(generic->name)) {
            zf_diag_error(diags, ZF_D_RESERVED_NAME, generic->span, "`%s` cannot be declared again", generic->name);
        }
        for (const zf_ast_generic *other = ast->generics; other != generic; other = other->next) {
            if (other->name == generic->name)
                zf_diag_error(diags, ZF_D_DECLARED_TWICE, generic->span, "`%s` is declared twice", generic->name);
        }
        size_t k = 0;
        while (generic->bound != NULL && k < bound_count && strcmp(bounds[k], generic->bound) != 0) k++;
        if (generic->bound != NULL && k == bound_count) {
            zf_diag *diag = zf_diag_error(diags, ZF_D_UNKNOWN_NAME, generic->span, "unknown bound `%s`", generic->bound);
            const char *nearest = zf_nearest_name(generic->bound, bounds, bound_count);
            if (nearest != NULL)
                zf_diag_hint(diags, diag, "did you mean `%s`?", nearest);
            else
                zf_diag_hint(diags, diag, "bounds are `scalar`, `integer`, `unsigned`, `signed` and `float`");
            continue;
        }
        if (generic->given == NULL) continue;
        zf_type given = zf_resolve_type(spec, algorithm->module, generic->given, NULL, NULL);
        if (given.kind != ZF_K_ERROR && !zf_bound_met(generic->bound, given)) {
            zf_diag *diag =
                zf_diag_error(diags, ZF_D_BOUND_NOT_MET, generic->given->span, "the default of `%s` is %s, which is not `%s`",
                              generic->name, zf_type_name(spec->arena, given), generic->bound);
            zf_remark_bound(spec, diag, generic->bound);
        }
    }
    return diags->errors == errors;
}

/// The types that a bound admits, as an odometer counts through them.
typedef struct choice {
    zf_type types[SCALARS];
    uint32_t count, at;
} choice;

static choice choices_of(const zf_ast_generic *generic, uint32_t index) {
    choice all = {0};
    if (generic->bound == NULL) {
        all.types[all.count++] = (zf_type){.kind = ZF_K_OPAQUE, .opaque = (uint8_t)index};
        return all;
    }
    for (size_t k = 0; k < SCALARS; k++) {
        zf_type type = zf_type_of(scalar_kinds[k]);
        if (zf_bound_met(generic->bound, type)) all.types[all.count++] = type;
    }
    return all;
}

static bool check_combination(zf_spec *spec, const zf_algorithm *algorithm, const choice *choices) {
    zf_type bindings[GENERICS_LIMIT + 1] = {0};
    for (uint32_t k = 0; k < algorithm->generic_count; k++) bindings[k] = choices[k].types[choices[k].at];
    return find_or_make(spec, algorithm, bindings, (zf_span){0})->inst != NULL;
}

static bool check_all_types(zf_spec *spec, const zf_algorithm *algorithm) {
    choice choices[GENERICS_LIMIT + 1];
    uint64_t product = 1;
    uint32_t count = 0;
    for (const zf_ast_generic *generic = algorithm->decl->algorithm->generics; generic != NULL;
         generic = generic->next, count++) {
        choices[count] = choices_of(generic, count);
        if (product <= COMBINATIONS_LIMIT) product *= choices[count].count;
    }
    if (product > COMBINATIONS_LIMIT) {
        for (uint32_t k = 0; k < count; k++) {
            for (choices[k].at = 0; choices[k].at < choices[k].count; choices[k].at++) {
                if (!check_combination(spec, algorithm, choices)) return false;
            }
            choices[k].at = 0;
        }
        return true;
    }
    for (;;) {
        if (!check_combination(spec, algorithm, choices)) return false;
        uint32_t k = 0;
        while (k < count && ++choices[k].at == choices[k].count) choices[k++].at = 0;
        if (k == count) return true;
    }
}

void zf_warn_unused(zf_spec *spec, const zf_ast_func *func) {
    if (function_is_used(spec, func)) return;
    zf_diag *diag = zf_diag_add(&spec->diags, ZF_WARNING, ZF_D_UNUSED, func->name_span, "nothing calls `%s`", func->name);
    zf_diag_remark(&spec->diags, diag, (zf_span){0}, "a function is checked where it is called, so this one is not checked");
}

static void warn_of_unused(zf_spec *spec, const zf_algorithm *algorithm) {
    for (const zf_ast_member *member = algorithm->decl->algorithm->members; member != NULL; member = member->next) {
        if (member->kind == ZF_AM_FUNC) zf_warn_unused(spec, member->func);
    }
}

bool zf_check_algorithm(zf_spec *spec, zf_symbol *symbol) {
    zf_algorithm *algorithm = symbol->resolved;
    if (algorithm == NULL || algorithm->broken) return false;
    if (!check_generics(spec, algorithm) || !check_all_types(spec, algorithm)) {
        algorithm->broken = true;
        return false;
    }
    warn_of_unused(spec, algorithm);
    return true;
}

// ---- Checking a function by itself -----------------------------------------------------------------------------

/// A formal where no argument is known: a value of its type, or a sequence that may be read as a stream (or, with
/// `var`, changed).
static void enter_formal(zf_checker *ck, const zf_ast_formal *formal, uint32_t index) {
    bool is_array = formal->type != NULL && formal->type->kind == ZF_AT_ARRAY;
    zf_type type = formal->type == NULL ? zf_type_of(ZF_K_U64) : zf_ck_type(ck, is_array ? formal->type->element : formal->type);
    if (type.kind == ZF_K_ERROR) {
        zf_ck_enter(ck, formal->name, formal->span, NULL, zf_ck_poison(ck, formal->span), true);
        return;
    }
    if (is_array && !formal->is_var) {
        zf_port *port = ZF_NEW(ck->arena, zf_port);
        *port = (zf_port){.index = index,
                          .slot = index,
                          .name = formal->name,
                          .span = formal->span,
                          .type = type,
                          .per_chunk = true,
                          .range = zf_range_all(type)};
        zf_expr *stream = zf_ck_node(ck, ZF_X_STREAM, type, formal->span);
        stream->is_seq = true;
        stream->port = port;
        zf_ck_enter(ck, formal->name, formal->span, NULL, stream, false);
        return;
    }
    zf_local *local = zf_ck_local(ck,
                                  is_array         ? ZF_L_GROWING
                                  : formal->is_var ? ZF_L_VAR
                                                   : ZF_L_FORMAL,
                                  formal->name, formal->span, type);
    zf_ck_enter(ck, formal->name, formal->span, local, NULL, formal->is_var);
}

void zf_check_function(zf_spec *spec, zf_symbol *symbol) {
    const zf_ast_func *func = symbol->decl->func;
    if (func == NULL || function_is_used(spec, func)) return;
    zf_checker ck = zf_checker_make(spec, symbol->module);
    zf_frame frame = {.name = func->name, .func = func, .module = symbol->module};
    ck.frame = &frame;
    ck.body = ZF_IN_FUNCTION;
    uint32_t index = 0;
    for (const zf_ast_formal *formal = func->formals; formal != NULL; formal = formal->next) enter_formal(&ck, formal, index++);
    if (func->result != NULL) {
        frame.result = zf_ck_type(&ck, func->result);
        frame.result_known = true;
    }
    zf_ck_function_body(&ck, func->value, func->body, func->name_span);
}

// ---- All instances ---------------------------------------------------------------------------------------------

/// True when a codec uses an instance.
static bool uses(const zf_codec_choice *codec, const zf_inst *inst) {
    for (uint32_t k = 0; codec != NULL && k < codec->count; k++) {
        const zf_codec_node *node = codec->alternatives[k];
        if (node->inst == inst) return true;
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            if (uses(node->streams[s], inst)) return true;
        }
    }
    return false;
}

static bool is_used(const zf_spec *spec, const zf_inst *inst) {
    for (const zf_table *table = spec->tables; table != NULL; table = table->next) {
        for (const zf_column *column = table->columns; column != NULL; column = column->next) {
            if (uses(column->codec, inst)) return true;
        }
    }
    for (const zf_codec *codec = spec->codecs; codec != NULL; codec = codec->next) {
        if (codec->column != NULL && uses(codec->column->codec, inst)) return true;
    }
    return false;
}

/// The first instance of an algorithm of the requested files that no codec uses: shown, so that every algorithm is.
static bool is_example(const zf_spec *spec, const inst_entry *entry) {
    if (!entry->algorithm->module->wanted) return false;
    for (const inst_entry *other = spec->insts->first; other != NULL; other = other->later) {
        if (other->algorithm != entry->algorithm) continue;
        if (is_used(spec, other->inst)) return false;
        if (other == entry) break;
        return false;
    }
    return true;
}

static void print_column(zf_arena *arena, const char *head, const zf_column *column, zf_text *out) {
    zf_text_printf(out, "%s%s: %s = %s\n", head, column->name, zf_type_name(arena, column->type),
                   column->codec_text == NULL ? "?" : column->codec_text);
}

static bool print_all(zf_spec *spec, void *data) {
    zf_text *out = data;
    for (const zf_codec *codec = spec->codecs; codec != NULL; codec = codec->next) {
        if (codec->column != NULL) print_column(spec->arena, "codec ", codec->column, out);
    }
    for (const zf_table *table = spec->tables; table != NULL; table = table->next) {
        zf_text_printf(out, "table %s\n", table->name);
        for (const zf_column *column = table->columns; column != NULL; column = column->next) {
            print_column(spec->arena, "  ", column, out);
        }
    }
    for (const zf_query *query = spec->queries; query != NULL; query = query->next) zf_query_print(query, out);
    const inst_entry *first = spec->insts == NULL ? NULL : spec->insts->first;
    for (const inst_entry *entry = first; entry != NULL; entry = entry->later) {
        if (is_used(spec, entry->inst) || is_example(spec, entry)) zf_inst_print(entry->inst, out);
    }
    return true;
}

void zf_spec_print(zf_spec *spec, zf_text *out) {
    if (!zf_guarded(spec, print_all, out)) out->failed = true;
}
