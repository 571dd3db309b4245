// The emulated GPU: a kernel is a function that runs one thread; what threads do together they ask the emulator for
// (emulator/device_emu.c), and every access to memory is announced to it.
#include <llvm-c/Target.h>
#include <string.h>

#include "codegen/body/cg_emit.h"
#include "codegen/body/cg_lines.h"
#include "codegen/host/host.h"
#include "codegen/kernel/kernel_chunks.h"
#include "codegen/simt/simt.h"
#include "codegen/target/codegen_target.h"

static LLVMValueRef self(zf_cg *cg) { return LLVMGetParam(cg->function, 0); }

static LLVMValueRef thread(zf_cg *cg) {
    LLVMValueRef v_args[1] = {self(cg)};
    return zf_cg_call(cg, "zf_emu_thread", cg->ty_i32, v_args, 1);
}

static LLVMValueRef group(zf_cg *cg) {
    LLVMValueRef v_args[1] = {self(cg)};
    return zf_cg_call(cg, "zf_emu_group", cg->ty_i32, v_args, 1);
}

static LLVMValueRef shared(zf_cg *cg, uint32_t offset, uint32_t bytes) {
    LLVMValueRef v_args[3] = {self(cg), zf_cg_i32(cg, offset), zf_cg_i32(cg, bytes)};
    return zf_cg_call(cg, "zf_emu_shared", cg->ty_ptr, v_args, 3);
}

static LLVMValueRef line_here(zf_cg *cg) { return zf_cg_i32(cg, zf_cg_lines_here(cg)); }

// Threads meet at one call, and a line has many: each is numbered. LLVM may copy a call, when it unrolls a loop or threads a
// jump, and the copies keep its number.
static LLVMValueRef call_here(zf_cg *cg) { return zf_cg_i32(cg, ++cg->meetings); }

static void barrier(zf_cg *cg) {
    LLVMValueRef v_args[3] = {self(cg), call_here(cg), line_here(cg)};
    zf_cg_call(cg, "zf_emu_barrier", cg->ty_void, v_args, 3);
}

static void warp_barrier(zf_cg *cg) {
    LLVMValueRef v_args[3] = {self(cg), call_here(cg), line_here(cg)};
    zf_cg_call(cg, "zf_emu_warp_barrier", cg->ty_void, v_args, 3);
}

static void publish(zf_cg *cg, LLVMValueRef v_counter, LLVMValueRef v_value) {
    LLVMValueRef v_args[4] = {self(cg), v_counter, v_value, line_here(cg)};
    zf_cg_call(cg, "zf_emu_publish", cg->ty_void, v_args, 4);
}

static void await(zf_cg *cg, LLVMValueRef v_counter, LLVMValueRef v_value) {
    LLVMValueRef v_args[5] = {self(cg), v_counter, v_value, call_here(cg), line_here(cg)};
    zf_cg_call(cg, "zf_emu_await_counter", cg->ty_void, v_args, 5);
}

static LLVMValueRef ballot(zf_cg *cg, LLVMValueRef v_value) {
    LLVMValueRef v_args[4] = {self(cg), zf_cg_resize(cg, v_value, cg->ty_i32, false), call_here(cg), line_here(cg)};
    LLVMValueRef v_set = zf_cg_call(cg, "zf_emu_ballot", cg->ty_i64, v_args, 4);
    return zf_cg_resize(cg, v_set, cg->target->is->wave > 32 ? cg->ty_i64 : cg->ty_i32, false);
}

static LLVMValueRef shuffle(zf_cg *cg, LLVMValueRef v_value, LLVMValueRef v_lane) {
    LLVMValueRef v_args[5] = {self(cg), v_value, v_lane, call_here(cg), line_here(cg)};
    return zf_cg_call(cg, "zf_emu_shuffle", cg->ty_i32, v_args, 5);
}

// ---- Accesses -------------------------------------------------------------------------------------------------

// The object that a pointer was made from: a local array, a constant table, or something that is not known here.
static LLVMValueRef object_of(LLVMValueRef v_pointer) {
    while (LLVMIsAGetElementPtrInst(v_pointer) ||
           (LLVMIsAConstantExpr(v_pointer) && LLVMGetConstOpcode(v_pointer) == LLVMGetElementPtr)) {
        v_pointer = LLVMGetOperand(v_pointer, 0);
    }
    return v_pointer;
}

static bool is_shared(LLVMValueRef v_object) {
    if (!LLVMIsACallInst(v_object)) return false;
    size_t length;
    const char *name = LLVMGetValueName2(LLVMGetCalledValue(v_object), &length);
    return length == 13 && memcmp(name, "zf_emu_shared", 13) == 0;
}

enum { KIND_LOAD, KIND_STORE, KIND_ATOMIC };

static void announce(zf_cg *cg, LLVMTargetDataRef layout, LLVMValueRef v_instruction, LLVMValueRef v_pointer, LLVMTypeRef ty,
                     uint32_t kind, unsigned align) {
    LLVMValueRef v_object = object_of(v_pointer);
    if (LLVMIsAGlobalVariable(v_object)) return;
    uint32_t bytes = (uint32_t)LLVMStoreSizeOfType(layout, ty);
    LLVMPositionBuilderBefore(cg->builder, v_instruction);
    LLVMValueRef v_line = zf_cg_i32(cg, zf_cg_lines_of(cg, v_instruction));
    if (LLVMIsAAllocaInst(v_object)) {
        LLVMTypeRef ty_object = LLVMGetAllocatedType(v_object);
        if (v_pointer == v_object) return; // a variable
        LLVMValueRef v_args[7] = {self(cg),
                                  v_pointer,
                                  zf_cg_i32(cg, bytes),
                                  v_object,
                                  zf_cg_i32(cg, (uint32_t)LLVMStoreSizeOfType(layout, ty_object)),
                                  zf_cg_i32(cg, align),
                                  v_line};
        zf_cg_call(cg, "zf_emu_check_local", cg->ty_void, v_args, 7);
        return;
    }
    if (is_shared(v_object)) { // of what lies apart in shared memory, each has its end
        LLVMValueRef v_args[7] = {
            self(cg), v_pointer, zf_cg_i32(cg, bytes), v_object, LLVMGetOperand(v_object, 2), zf_cg_i32(cg, align), v_line};
        zf_cg_call(cg, "zf_emu_check_local", cg->ty_void, v_args, 7);
    }
    LLVMValueRef v_args[6] = {self(cg), v_pointer, zf_cg_i32(cg, bytes), zf_cg_i32(cg, align), zf_cg_i32(cg, kind), v_line};
    zf_cg_call(cg, "zf_emu_check", cg->ty_void, v_args, 6);
}

static void finish(zf_cg *cg, LLVMValueRef v_function) {
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(cg->module);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(v_function); bb != NULL; bb = LLVMGetNextBasicBlock(bb)) {
        LLVMValueRef v_next;
        for (LLVMValueRef v = LLVMGetFirstInstruction(bb); v != NULL; v = v_next) {
            v_next = LLVMGetNextInstruction(v);
            if (LLVMIsALoadInst(v))
                announce(cg, layout, v, LLVMGetOperand(v, 0), LLVMTypeOf(v), KIND_LOAD, LLVMGetAlignment(v));
            else if (LLVMIsAStoreInst(v))
                announce(cg, layout, v, LLVMGetOperand(v, 1), LLVMTypeOf(LLVMGetOperand(v, 0)), KIND_STORE, LLVMGetAlignment(v));
            else if (LLVMIsAAtomicRMWInst(v))
                announce(cg, layout, v, LLVMGetOperand(v, 0), LLVMTypeOf(v), KIND_ATOMIC, LLVMGetAlignment(v));
        }
    }
}

static void copy_ahead(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from) {
    LLVMValueRef v_args[4] = {self(cg), v_to, v_from, line_here(cg)}, v_object = object_of(v_to);
    if (is_shared(v_object)) {
        LLVMValueRef v_all[7] = {self(cg),          v_to,         zf_cg_i32(cg, 16), v_object, LLVMGetOperand(v_object, 2),
                                 zf_cg_i32(cg, 16), line_here(cg)};
        zf_cg_call(cg, "zf_emu_check_local", cg->ty_void, v_all, 7);
    }
    zf_cg_call(cg, "zf_emu_copy", cg->ty_void, v_args, 4);
}

static void await_copies(zf_cg *cg, uint32_t pending) {
    LLVMValueRef v_args[2] = {self(cg), zf_cg_i32(cg, pending)};
    zf_cg_call(cg, "zf_emu_await", cg->ty_void, v_args, 2);
}

static void prefetch_within(zf_cg *cg, LLVMValueRef v_from) { LLVMSetVolatile(zf_cg_load(cg, cg->ty_i8, v_from, 1), true); }

static void tie(zf_cg *cg, LLVMValueRef *v_values, unsigned count) {
    LLVMValueRef v_slot = zf_cg_alloca(cg, cg->ty_i32, "zero"), v_zero;
    LLVMSetVolatile(LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), v_slot), true);
    LLVMSetVolatile(v_zero = zf_cg_get(cg, v_slot), true);
    zf_cg_tie(cg, v_zero, v_values, count);
}

static const zf_simt_ops operations = {
    .takes_thread = true,
    .thread = thread,
    .group = group,
    .shared = shared,
    .barrier = barrier,
    .warp_barrier = warp_barrier,
    .publish = publish,
    .await = await,
    .shuffle = shuffle,
    .ballot = ballot,
    .tie = tie,
    .copy_ahead = copy_ahead,
    .await_copies = await_copies,
    .prefetch_within = prefetch_within,
    .finish = finish,
};

static zf_status machine(unsigned level, zf_abi_target target, LLVMTargetMachineRef *out, zf_error *error) {
    (void)target;
    return zf_cg_host_machine(level, out, error);
}

// The two differ in their waves, which the rows of the table say.
#define EMULATED(identifier)                                                                                                     \
    const zf_cg_target zf_cg_target_##identifier = {                                                                             \
        .is = &zf_target_##identifier,                                                                                           \
        .machine = machine,                                                                                                      \
        .kernel = zf_simt_kernel,                                                                                                \
        .simt = &operations,                                                                                                     \
        .aligned_loads = true,                                                                                                   \
        .lower = {[ZF_DOMAIN_ELEMENTS] = zf_lower_elements,                                                                      \
                  [ZF_DOMAIN_GROUPS] = zf_lower_groups,                                                                          \
                  [ZF_DOMAIN_CHUNKS] = zf_lower_chunks},                                                                         \
    }
EMULATED(emu);
EMULATED(emu64);
