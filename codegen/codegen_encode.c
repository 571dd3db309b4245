// The code of an encode body: a module is built of it, then loaded into this process or printed.
#include "codegen/codegen_encode.h"

#include "codegen/encode/cg_encode.h"
#include "frontend/check/walk.h"
#include "runtime/base/error_codes.h"

static void add_function(zf_cg *cg, void *user) { zf_cg_encode(cg, user); }

static zf_status build_module(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    return zf_cg_build_alone(module, compact, add_function, user, error);
}

// ---- The cache key: the algorithm's canonical text, its types, and where everything stands ---------------------

static void add_span(zf_text *key, zf_span span) {
    uint64_t place = zf_encode_place(span);
    zf_text_add(key, (const char *)&place, sizeof place);
}

static bool key_expr(zf_visitor *visitor, zf_expr *expr) {
    add_span(visitor->user, expr->span);
    return true;
}

static bool key_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    add_span(visitor->user, stmt->span);
    return true;
}

void zf_codegen_encode_key(zf_spec *spec, const zf_inst *inst, zf_text *key) {
    zf_text_puts(key, "encode 5\n");
    zf_text_puts(key, inst->name);
    zf_text_puts(key, "\n");
    for (uint32_t g = 0; g < inst->algorithm->generic_count; g++) {
        zf_type type = inst->bindings[g];
        zf_text_printf(key, "%d %d %d\n", (int)type.kind, (int)type.nullable, (int)type.opaque);
    }
    if (!zf_canonical_algorithm(spec, inst->algorithm, key)) key->failed = true;
    zf_visitor visitor = {.user = key, .expr = key_expr, .stmt = key_stmt};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&inst->encode); // only looks
}

// ---- Code -------------------------------------------------------------------------------------------------------

static const char *const symbol = ZF_CG_ENCODE_NAME;

static zf_jit_request request_of(const zf_inst *inst) {
    return (zf_jit_request){.name = inst->name,
                            .build = build_module,
                            .user = (zf_inst *)(uintptr_t)inst, // which only reads it
                            .symbols = &symbol,
                            .symbol_count = 1};
}

zf_status zf_codegen_encode_build(zf_jit *jit, const zf_inst *inst, const zf_text *key, zf_compile_budget *budget,
                                  zf_encode_fn *out, zf_jit_code **code, zf_error *error) {
    zf_jit_request request = request_of(inst);
    request.key = key->failed ? NULL : key->data;
    request.key_length = key->length;
    request.budget = budget;
    void *address = NULL;
    ZF_TRY(zf_jit_load(jit, &request, &address, code, error));
    *out = (zf_encode_fn)(uintptr_t)address;
    if (address != NULL) return ZF_OK;
    zf_jit_unload(jit, *code);
    *code = NULL;
    return zf_raise(error, ZF_E_INTERNAL, "the encoder of `%s` was not made", inst->name);
}

zf_status zf_codegen_encode_print(zf_jit *jit, const zf_inst *inst, zf_compile_budget *budget, zf_jit_stage stage, zf_text *out,
                                  zf_error *error) {
    zf_jit_request request = request_of(inst);
    request.budget = budget;
    return zf_jit_print(jit, &request, stage, out, error);
}

size_t zf_codegen_encode_symbols(zf_jit_symbol *out) {
    size_t count = 0;
#define X(name, returns, arguments)                                                                                              \
    if (out != NULL) out[count] = (zf_jit_symbol){#name, (const void *)(uintptr_t)name};                                         \
    count++;
    ZF_ENCODE_FUNCTIONS(X)
#undef X
    return count;
}
