// The loader of a tile of a fused column, for kernels of others: `open`, and functions that make elements.
//
// All are built as one function, which finds the tile's block and then makes elements in one of three ways. Its first part, all
// that runs before the elements, is `open`; the values of it that the second part uses are outputs of `open` and inputs of the
// others. Inputs and outputs are moves of inline assembly whose other side is a name (`ZF_IN_0`): tile_asm.c finds it in the text
// of the back end.
#include <stdio.h>
#include <string.h>

#include "codegen/body/cg_frame.h"
#include "codegen/codegen_tile.h"
#include "codegen/query/query_fused.h"

static const char *const names[ZF_TILE_FUNCTIONS] = {"zf_tile_open", "zf_tile_load", "zf_tile_whole", "zf_tile_get"};

_Static_assert(ZF_TILE_ROWS % ZF_TILE_TOGETHER == 0, "a tile is made of whole groups");

typedef struct building {
    const zf_tile_request *request;
    zf_tile_loader *out;
    uint32_t outputs[ZF_TILE_FUNCTIONS];
} building;

// One of the functions.
typedef struct part {
    building *b;
    zf_cg *cg;
    zf_tile_function function;
    LLVMBasicBlockRef bb_entry, bb_setup, bb_body, bb_whole, bb_cut, bb_one, bb_end;
    LLVMValueRef v_any; ///< slot (i1): a check failed
    zf_query_fused fused;
    LLVMValueRef v_tile;                    ///< i32: in its block
    LLVMValueRef v_slots[ZF_TILE_TOGETHER]; ///< slots of the elements
    LLVMValueRef v_valid;                   ///< slot (i32)
    LLVMValueRef v_any_row;                 ///< i32: as it was given
    LLVMValueRef v_row, v_rows;             ///< i64: the first row to make, in the tile, and the rows that exist from it on
    LLVMValueRef v_whole;                   ///< i1: ZF_TILE_TOGETHER of them do
} part;

// ---- Inputs and outputs -----------------------------------------------------------------------------------------------

// Effects keep the moves in their order, the inputs before the outputs.
static LLVMValueRef assembly(zf_cg *cg, LLVMTypeRef ty_result, LLVMTypeRef *types, LLVMValueRef *v_args, unsigned count,
                             const char *text, const char *constraints) {
    LLVMTypeRef ty = LLVMFunctionType(ty_result, types, count, 0);
    LLVMValueRef v_asm =
        LLVMGetInlineAsm(ty, text, strlen(text), constraints, strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(cg->builder, ty, v_asm, v_args, count, "");
}

static LLVMValueRef take(zf_cg *cg, uint32_t input, bool wide) {
    char text[48];
    snprintf(text, sizeof text, "mov.b%d $0, ZF_IN_%u;", wide ? 64 : 32, input);
    return assembly(cg, wide ? cg->ty_i64 : cg->ty_i32, NULL, NULL, 0, text, wide ? "=l" : "=r");
}

static void give(zf_cg *cg, uint32_t output, LLVMValueRef v, bool wide) {
    char text[48];
    LLVMTypeRef ty = LLVMTypeOf(v);
    snprintf(text, sizeof text, "mov.b%d ZF_OUT_%u, $0;", wide ? 64 : 32, output);
    assembly(cg, cg->ty_void, &ty, &v, 1, text, wide ? "l" : "r");
}

static LLVMValueRef pointer_of(zf_cg *cg, LLVMValueRef v_address) {
    return LLVMBuildIntToPtr(cg->builder, v_address, LLVMPointerTypeInContext(cg->context, cg->target->simt->global_space), "");
}

// ---- The values of the tile -------------------------------------------------------------------------------------------

static unsigned bits_of(LLVMTypeRef ty) {
    switch (LLVMGetTypeKind(ty)) {
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(ty);
    case LLVMPointerTypeKind:
    case LLVMDoubleTypeKind: return 64;
    case LLVMFloatTypeKind: return 32;
    default: return 0;
    }
}

// As an i32 or i64, and back.
static LLVMValueRef to_word(zf_cg *cg, LLVMValueRef v) {
    LLVMTypeRef ty = LLVMTypeOf(v);
    unsigned bits = bits_of(ty);
    LLVMTypeRef ty_word = bits > 32 ? cg->ty_i64 : cg->ty_i32;
    if (LLVMGetTypeKind(ty) == LLVMPointerTypeKind) return LLVMBuildPtrToInt(cg->builder, v, ty_word, "");
    if (LLVMGetTypeKind(ty) != LLVMIntegerTypeKind) return LLVMBuildBitCast(cg->builder, v, ty_word, "");
    return zf_cg_resize(cg, v, ty_word, false);
}

static LLVMValueRef from_word(zf_cg *cg, LLVMValueRef v, LLVMTypeRef ty) {
    if (LLVMGetTypeKind(ty) == LLVMPointerTypeKind) return LLVMBuildIntToPtr(cg->builder, v, ty, "");
    if (LLVMGetTypeKind(ty) != LLVMIntegerTypeKind) return LLVMBuildBitCast(cg->builder, v, ty, "");
    return zf_cg_resize(cg, v, ty, false);
}

static bool is_among(const LLVMBasicBlockRef *blocks, unsigned count, LLVMBasicBlockRef bb) {
    for (unsigned k = 0; k < count; k++)
        if (blocks[k] == bb) return true;
    return false;
}

// The blocks that run once elements are made: those that follow bb_body.
static unsigned find_body(part *p, LLVMBasicBlockRef **out) {
    unsigned most = LLVMCountBasicBlocks(p->cg->function), count = 1;
    LLVMBasicBlockRef *blocks = ZF_NEW_ARRAY(p->cg->arena, LLVMBasicBlockRef, most + 1);
    blocks[0] = p->bb_body;
    for (unsigned at = 0; at < count; at++) {
        LLVMValueRef v_end = LLVMGetBasicBlockTerminator(blocks[at]);
        for (unsigned k = 0; k < LLVMGetNumSuccessors(v_end); k++) {
            LLVMBasicBlockRef bb = LLVMGetSuccessor(v_end, k);
            if (!is_among(blocks, count, bb)) blocks[count++] = bb;
        }
    }
    *out = blocks;
    return count;
}

static bool is_used_in(LLVMValueRef v, const LLVMBasicBlockRef *blocks, unsigned count) {
    for (LLVMUseRef use = LLVMGetFirstUse(v); use != NULL; use = LLVMGetNextUse(use)) {
        LLVMValueRef v_user = LLVMGetUser(use);
        if (LLVMIsAInstruction(v_user) != NULL && is_among(blocks, count, LLVMGetInstructionParent(v_user))) return true;
    }
    return false;
}

static bool are_alike(LLVMValueRef a, LLVMValueRef b) {
    if (LLVMGetInstructionOpcode(a) != LLVMGetElementPtr || LLVMGetInstructionOpcode(b) != LLVMGetElementPtr) return false;
    bool same =
        LLVMGetNumOperands(a) == LLVMGetNumOperands(b) && LLVMGetGEPSourceElementType(a) == LLVMGetGEPSourceElementType(b);
    for (int k = 0; same && k < LLVMGetNumOperands(a); k++)
        same = LLVMGetOperand(a, (unsigned)k) == LLVMGetOperand(b, (unsigned)k);
    return same;
}

// Has later uses of a pointer take the first that is made in the same way: it is kept once. True: there was one.
static bool join_alike(LLVMValueRef v, const LLVMValueRef *before, uint32_t count) {
    for (uint32_t k = 0; k < count; k++) {
        if (!are_alike(v, before[k])) continue;
        LLVMReplaceAllUsesWith(v, before[k]);
        return true;
    }
    return false;
}

// The values of the first part that the second one uses, in their order: the same in both functions.
static uint32_t find_values(part *p, bool opens, LLVMValueRef *out) {
    LLVMBasicBlockRef *body;
    unsigned body_count = find_body(p, &body);
    zf_tile_loader *loader = p->b->out;
    uint32_t count = 0;
    bool same = true; // as what the first function opens
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(p->cg->function); bb != NULL; bb = LLVMGetNextBasicBlock(bb)) {
        if (is_among(body, body_count, bb)) continue;
        for (LLVMValueRef v = LLVMGetFirstInstruction(bb); v != NULL; v = LLVMGetNextInstruction(v)) {
            if (LLVMIsAAllocaInst(v) != NULL || !is_used_in(v, body, body_count) || join_alike(v, out, count)) continue;
            unsigned bits = bits_of(LLVMTypeOf(v));
            if (bits == 0 || bits > 64 || count == ZF_TILE_WORDS) {
                zf_cg_unsupported(p->cg, p->fused.lower.graph->column->span,
                                  "more for each tile than a thread keeps in registers");
                return 0;
            }
            uint8_t wide = bits > 32 ? 64 : 32;
            same = same && (opens || (count < loader->word_count && loader->word_bits[count] == wide));
            if (opens) loader->word_bits[count] = wide;
            out[count++] = v;
        }
    }
    if (opens) loader->word_count = count;
    if (!same || count != loader->word_count)
        zf_cg_unsupported(p->cg, p->fused.lower.graph->column->span, "what holds for a tile differs between its functions");
    return count;
}

// ---- The functions ----------------------------------------------------------------------------------------------------

static void open_tile(part *p) {
    zf_cg *cg = p->cg;
    zf_cg_enter(cg, p->bb_setup);
    LLVMValueRef v_words[ZF_TILE_OPEN_INPUTS];
    for (uint32_t k = 0; k < ZF_TILE_OPEN_INPUTS; k++) v_words[k] = take(cg, k, k < 3);
    zf_query_fused_place place = {.v_stored = pointer_of(cg, v_words[0]),
                                  .v_table = pointer_of(cg, v_words[1]),
                                  .v_work = pointer_of(cg, v_words[2]),
                                  .v_tile = zf_cg_wide(cg, v_words[3]),
                                  .v_block_tiles = zf_cg_wide(cg, v_words[4]),
                                  .tile_rows = ZF_TILE_ROWS};
    zf_simt_state simt = {.v_thread = cg->target->simt->thread(cg), .bb_leave = p->bb_end};
    zf_query_fused_open(&p->fused, cg, &p->b->request->source, &simt, p->v_any, &place);
    p->v_tile = zf_cg_low_half(cg, p->fused.v_tile);
    p->fused.lower.bb_setup = zf_cg_here(cg);
}

static LLVMValueRef or_zero(zf_cg *cg, zf_cg_value value) {
    return value.v_valid == NULL ? value.v : zf_cg_select(cg, value.v_valid, value.v, LLVMConstNull(LLVMTypeOf(value.v)));
}

static void keep_valid(part *p, zf_cg_value value, LLVMValueRef v_place) {
    zf_cg *cg = p->cg;
    if (value.v_valid == NULL) return;
    LLVMValueRef v_bit = LLVMBuildShl(cg->builder, zf_cg_resize(cg, value.v_valid, cg->ty_i32, false), v_place, "");
    LLVMBuildStore(cg->builder, zf_cg_or(cg, zf_cg_get(cg, p->v_valid), v_bit), p->v_valid);
}

static void make_all(part *p) {
    zf_cg_value values[ZF_TILE_TOGETHER];
    zf_query_fused_lanes(&p->fused, p->v_row, ZF_TILE_TOGETHER, (zf_query_loads){0}, values);
    for (unsigned k = 0; k < ZF_TILE_TOGETHER; k++) {
        LLVMBuildStore(p->cg->builder, or_zero(p->cg, values[k]), p->v_slots[k]);
        keep_valid(p, values[k], zf_cg_i32(p->cg, k));
    }
}

// The last rows of a column, one by one.
static void make_some(part *p) {
    zf_cg *cg = p->cg;
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), p->v_rows, "row");
    zf_cg_value value = zf_query_fused_one(&p->fused, zf_cg_add(cg, zf_cg_add(cg, p->fused.v_begin, p->v_row), loop.v_i));
    cg->v_guard = NULL;
    LLVMValueRef v = or_zero(cg, value);
    for (unsigned k = 0; k < ZF_TILE_TOGETHER; k++) {
        LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntEQ, loop.v_i, zf_cg_i64(cg, k));
        LLVMBuildStore(cg->builder, zf_cg_select(cg, v_is, v, zf_cg_get(cg, p->v_slots[k])), p->v_slots[k]);
    }
    keep_valid(p, value, zf_cg_low_half(cg, loop.v_i));
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

static void make_one(part *p) {
    zf_cg_value value = zf_query_fused_one(&p->fused, zf_cg_add(p->cg, p->fused.v_begin, zf_cg_wide(p->cg, p->v_any_row)));
    p->cg->v_guard = NULL;
    LLVMBuildStore(p->cg->builder, or_zero(p->cg, value), p->v_slots[0]);
    keep_valid(p, value, zf_cg_i32(p->cg, 0));
}

static void way(part *p, LLVMBasicBlockRef bb, void (*make)(part *p)) {
    zf_cg_enter(p->cg, bb);
    zf_cg_arrays_begin(p->cg);
    make(p);
    zf_cg_arrays_end(p->cg);
    zf_cg_br(p->cg, p->bb_end);
}

// All three ways are built in every function, so that each has the same values of the tile. Which of them runs is chosen later.
static void make_elements(part *p) {
    zf_cg *cg = p->cg;
    zf_type type = zf_query_fused_type(p->b->request->source.plan);
    zf_cg_enter(cg, p->bb_body);
    p->v_any_row = take(cg, ZF_TILE_ROW, false);
    LLVMValueRef v_count = take(cg, ZF_TILE_ROW + 1, false);
    LLVMValueRef v_row = zf_cg_and(cg, p->v_any_row, zf_cg_i32(cg, ~(uint32_t)(ZF_TILE_TOGETHER - 1)));
    LLVMValueRef v_rows = zf_cg_sub(cg, v_count, zf_cg_umin(cg, v_row, v_count));
    p->v_whole = zf_cg_icmp(cg, LLVMIntUGE, v_rows, zf_cg_i32(cg, ZF_TILE_TOGETHER));
    // LLVM sees what it is a multiple of.
    p->fused.v_begin = zf_cg_mul(cg, zf_cg_wide(cg, p->v_tile), zf_cg_i64(cg, ZF_TILE_ROWS));
    p->v_row = zf_cg_wide(cg, v_row);
    p->v_rows = zf_cg_wide(cg, v_rows);
    for (unsigned k = 0; k < ZF_TILE_TOGETHER; k++) {
        p->v_slots[k] = zf_cg_alloca(cg, zf_cg_type(cg, type), "element");
        LLVMBuildStore(cg->builder, zf_cg_zero(cg, type), p->v_slots[k]);
    }
    p->v_valid = zf_cg_alloca(cg, cg->ty_i32, "valid");
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), p->v_valid);
    LLVMValueRef v_ways = LLVMBuildSwitch(cg->builder, v_row, p->bb_whole, 2);
    LLVMAddCase(v_ways, zf_cg_i32(cg, 0), p->bb_cut);
    LLVMAddCase(v_ways, zf_cg_i32(cg, 1), p->bb_one);
    way(p, p->bb_whole, make_all);
    way(p, p->bb_cut, make_some);
    way(p, p->bb_one, make_one);
}

static void choose_way(part *p) {
    zf_cg *cg = p->cg;
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(p->bb_body));
    zf_cg_enter(cg, p->bb_body);
    if (p->function == ZF_TILE_LOAD)
        zf_cg_cond_br(cg, p->v_whole, p->bb_whole, p->bb_cut);
    else
        zf_cg_br(cg, p->function == ZF_TILE_WHOLE ? p->bb_whole : p->bb_one);
}

static void give_elements(part *p) {
    zf_cg *cg = p->cg;
    zf_type type = zf_query_fused_type(p->b->request->source.plan);
    uint32_t at = 0, count = p->function == ZF_TILE_GET ? 1 : ZF_TILE_TOGETHER;
    zf_cg_enter(cg, p->bb_end);
    for (unsigned k = 0; k < count; k++) {
        LLVMValueRef v = zf_cg_get(cg, p->v_slots[k]);
        bool wide = bits_of(LLVMTypeOf(v)) > 32;
        bool is_signed = zf_kind_is_integer(type.kind) && zf_kind_is_signed(type.kind);
        v = is_signed ? zf_cg_resize(cg, v, wide ? cg->ty_i64 : cg->ty_i32, true) : to_word(cg, v);
        give(cg, at++, v, wide);
    }
    if (type.nullable) give(cg, at++, zf_cg_get(cg, p->v_valid), false);
    give(cg, at++, zf_cg_resize(cg, zf_cg_get(cg, p->v_any), cg->ty_i32, false), false);
    p->b->outputs[p->function] = at;
    LLVMBuildRetVoid(cg->builder);
}

// Ends the first part with its outputs.
static void end_open(part *p, const LLVMValueRef *v_values, uint32_t count) {
    zf_cg *cg = p->cg;
    zf_cg_enter(cg, p->fused.lower.bb_setup);
    for (uint32_t k = 0; k < count; k++) give(cg, k, to_word(cg, v_values[k]), bits_of(LLVMTypeOf(v_values[k])) > 32);
    give(cg, count, zf_cg_resize(cg, zf_cg_get(cg, p->v_any), cg->ty_i32, false), false);
    p->b->outputs[ZF_TILE_OPEN] = count + 1;
    LLVMBuildRetVoid(cg->builder);
    zf_cg_enter(cg, p->bb_entry);
    zf_cg_br(cg, p->bb_setup);
}

// Gives the second part its inputs, and leaves the first one out: nothing leads to it.
static void begin_elements(part *p, const LLVMValueRef *v_values, uint32_t count) {
    zf_cg *cg = p->cg;
    zf_cg_enter(cg, p->fused.lower.bb_setup);
    LLVMBuildUnreachable(cg->builder);
    zf_cg_enter(cg, p->bb_entry);
    for (uint32_t k = 0; k < count; k++) {
        LLVMValueRef v = take(cg, k, bits_of(LLVMTypeOf(v_values[k])) > 32);
        LLVMReplaceAllUsesWith(v_values[k], from_word(cg, v, LLVMTypeOf(v_values[k])));
    }
    zf_cg_br(cg, p->bb_body);
}

static void build_part(building *b, zf_cg *cg, zf_tile_function function) {
    part p = {.b = b, .cg = cg, .function = function};
    LLVMTypeRef ty = LLVMFunctionType(cg->ty_void, NULL, 0, 0);
    zf_cg_begin_function(cg, LLVMAddFunction(cg->module, names[function], ty));
    p.bb_entry = zf_cg_block(cg, "entry");
    p.bb_setup = zf_cg_block(cg, "setup");
    p.bb_body = zf_cg_block(cg, "body");
    p.bb_whole = zf_cg_block(cg, "whole");
    p.bb_cut = zf_cg_block(cg, "cut");
    p.bb_one = zf_cg_block(cg, "one");
    p.bb_end = zf_cg_block(cg, "end");
    zf_cg_enter(cg, p.bb_entry);
    p.v_any = zf_cg_alloca(cg, cg->ty_i1, "any");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), p.v_any);
    cg->same_again = true;
    open_tile(&p);
    make_elements(&p);
    give_elements(&p);
    cg->same_again = false;
    if (cg->failed) return;
    LLVMValueRef *v_values = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, ZF_TILE_WORDS);
    uint32_t count = find_values(&p, function == ZF_TILE_OPEN, v_values);
    choose_way(&p);
    if (function == ZF_TILE_OPEN)
        end_open(&p, v_values, count);
    else
        begin_elements(&p, v_values, count);
}

static void add_functions(zf_cg *cg, void *user) {
    building *b = user;
    zf_cg_aim(cg, b->request->source.plan->target);
    cg->wave = ZF_QUERY_LANES;
    for (unsigned f = 0; f < ZF_TILE_FUNCTIONS && !cg->failed; f++) build_part(b, cg, (zf_tile_function)f);
}

static zf_status build_module(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    return zf_cg_build_alone(module, compact, add_functions, user, error);
}

zf_status zf_codegen_tile_loader(zf_jit *jit, const zf_tile_request *request, zf_tile_loader *out, zf_error *error) {
    *out = (zf_tile_loader){.type = zf_query_fused_type(request->source.plan)};
    const char *column = request->source.plan->graph->column->name;
    building b = {.request = request, .out = out};
    zf_jit_request assemble = {.name = column != NULL ? column : "column",
                               .key = "",
                               .build = build_module,
                               .user = &b,
                               .target = zf_cg_target_of(request->source.plan->target),
                               .abi_target = request->target,
                               .budget = request->budget};
    zf_text ptx = {0};
    zf_status status = zf_jit_assemble(jit, &assemble, &ptx, error);
    for (unsigned f = 0; f < ZF_TILE_FUNCTIONS && status == ZF_OK; f++) {
        uint32_t inputs = f == ZF_TILE_OPEN ? ZF_TILE_OPEN_INPUTS : ZF_TILE_INPUTS;
        status = zf_tile_asm(ptx.data, names[f], b.outputs[f], inputs, out->used[f], &out->texts[f], error);
    }
    zf_text_free(&ptx);
    return status;
}

void zf_codegen_tile_free(zf_tile_loader *loader) {
    for (unsigned f = 0; f < ZF_TILE_FUNCTIONS; f++) zf_text_free(&loader->texts[f]);
}
