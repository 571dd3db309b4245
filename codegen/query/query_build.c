// The code of a query: a module is built of it, and loaded into this process.
#include <string.h>

#include "codegen/codegen_query.h"
#include "codegen/query/cg_query.h"
#include "codegen/query/query_support.h"
#include "runtime/base/error_codes.h"

uint64_t zf_codegen_query_place(zf_span span) {
    return span.source == NULL ? UINT64_MAX : (uint64_t)span.source->id << 32 | span.begin;
}

static void add_function(zf_cg *cg, void *user) { zf_cg_query(cg, user); }
static void add_bounds(zf_cg *cg, void *user) { zf_cg_query_bounds(cg, user); }

static zf_status build_module(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    return zf_cg_build_alone(module, compact, add_function, user, error);
}

static zf_status build_bounds(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    return zf_cg_build_alone(module, compact, add_bounds, user, error);
}

static zf_status load(zf_jit *jit, const zf_query *query, zf_jit_request request, zf_query_fn *out, zf_jit_code **code,
                      zf_error *error) {
    static const char *const symbol = ZF_CG_QUERY_NAME;
    request.name = query->name;
    request.key_length = strlen(request.key);
    request.user = (zf_query *)(uintptr_t)query; // which only reads it
    request.symbols = &symbol;
    request.symbol_count = 1;
    void *address = NULL;
    ZF_TRY(zf_jit_load(jit, &request, &address, code, error));
    *out = (zf_query_fn)(uintptr_t)address;
    if (address != NULL) return ZF_OK;
    zf_jit_unload(jit, *code);
    *code = NULL;
    return zf_raise(error, ZF_E_INTERNAL, "the code of `%s` was not made", query->name);
}

zf_status zf_codegen_query_build(zf_jit *jit, const zf_query *query, zf_query_fn *out, zf_jit_code **code, zf_error *error) {
    zf_jit_request request = {.key = "query 1", .build = build_module}; // the module says the rest
    return load(jit, query, request, out, code, error);
}

zf_status zf_codegen_query_bounds(zf_jit *jit, const zf_query *query, zf_query_fn *out, zf_jit_code **code, zf_error *error) {
    zf_jit_request request = {.key = "query bounds 1", .build = build_bounds};
    return load(jit, query, request, out, code, error);
}

size_t zf_codegen_query_symbols(zf_jit_symbol *out) {
    size_t count = 0;
#define X(name)                                                                                                                  \
    if (out != NULL) out[count] = (zf_jit_symbol){#name, (const void *)(uintptr_t)name};                                         \
    count++;
    ZF_QUERY_FUNCTIONS(X)
#undef X
    return count;
}
