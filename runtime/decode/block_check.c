#include "runtime/decode/block_check.h"

#include <stdbool.h>
#include <stddef.h>

// ---- Faults ---------------------------------------------------------------------------------------------------

/// Words that a step pops and pushes.
typedef struct effect {
    uint8_t pops, pushes;
} effect;

static effect effect_of(uint32_t op) {
    if (op >= ZF_CHECK_ADD && op <= ZF_CHECK_MAX_S) return (effect){2, 1};
    switch (op) {
    case ZF_CHECK_CONST:
    case ZF_CHECK_SLOT:
    case ZF_CHECK_GET: return (effect){0, 1};
    case ZF_CHECK_SET:
    case ZF_CHECK_JUMP_UNLESS:
    case ZF_CHECK_HOLDS: return (effect){1, 0};
    case ZF_CHECK_DUP: return (effect){1, 2};
    case ZF_CHECK_JUMP:
    case ZF_CHECK_STOP: return (effect){0, 0};
    default: return (effect){1, 1};
    }
}

static const char *operand_fault(const zf_abi_check_program *program, const zf_abi_check_step *step, uint32_t slots,
                                 uint32_t checks) {
    switch (step->op) {
    case ZF_CHECK_CONST: return step->a < program->constant_count ? NULL : "a check with a constant that does not exist";
    case ZF_CHECK_SLOT: return step->a < slots ? NULL : "a check of a descriptor word that does not exist";
    case ZF_CHECK_GET:
    case ZF_CHECK_SET: return step->a < program->local_count ? NULL : "a check with a local that does not exist";
    case ZF_CHECK_TABLE:
        if (step->b == 0 || step->a > program->constant_count || step->b > program->constant_count - step->a)
            return "a check with a table that does not exist";
        return NULL;
    case ZF_CHECK_NARROW:
        return (step->a == 8 || step->a == 16 || step->a == 32) && step->b <= 1 ? NULL : "a check of a width that does not exist";
    case ZF_CHECK_HOLDS: return step->a < checks ? NULL : "a check that has no name";
    default: return step->op < ZF_CHECK_OPS ? NULL : "a step of a check that does not exist";
    }
}

/// A jump whose target is still ahead, and the words on the stack there.
typedef struct pending {
    uint32_t target, depth;
} pending;

typedef struct walk {
    pending pending[ZF_CHECK_PENDING_MOST];
    uint32_t count, depth;
    bool reached; ///< false: behind a jump, before the target of another one
} walk;

/// Joins the jumps that lead to step `at`.
static const char *join(walk *w, uint32_t at) {
    for (uint32_t k = 0; k < w->count;) {
        if (w->pending[k].target != at) {
            k++;
            continue;
        }
        if (!w->reached) w->depth = w->pending[k].depth;
        if (w->depth != w->pending[k].depth) return "checks whose stack depends on a jump";
        w->reached = true;
        w->pending[k] = w->pending[--w->count];
    }
    return w->reached ? NULL : "a step of a check that nothing leads to";
}

static const char *jump(walk *w, uint32_t at, uint32_t skipped, uint32_t steps) {
    if (skipped > steps - at - 1) return "a jump out of the checks";
    if (w->count == ZF_CHECK_PENDING_MOST) return "checks with too many jumps";
    w->pending[w->count++] = (pending){at + 1 + skipped, w->depth};
    return NULL;
}

const char *zf_block_check_fault(const zf_abi_check_program *program, uint32_t slots, uint32_t checks) {
    if (program->step_count > ZF_CHECK_STEPS_MOST || program->constant_count > ZF_CHECK_CONSTANTS_MOST ||
        program->local_count > ZF_CHECK_LOCALS_MOST) {
        return "checks that are too long";
    }
    walk w = {.reached = true};
    for (uint32_t at = 0; at < program->step_count; at++) {
        const zf_abi_check_step *step = &program->steps[at];
        const char *fault = join(&w, at);
        if (fault == NULL) fault = operand_fault(program, step, slots, checks);
        if (fault != NULL) return fault;
        effect e = effect_of(step->op);
        if (w.depth < e.pops) return "a check that pops an empty stack";
        w.depth += e.pushes - (uint32_t)e.pops;
        if (w.depth > ZF_CHECK_STACK_MOST) return "a check whose stack overflows";
        bool jumps = step->op == ZF_CHECK_JUMP || step->op == ZF_CHECK_JUMP_UNLESS;
        if (jumps) fault = jump(&w, at, step->a, program->step_count);
        if (fault != NULL) return fault;
        if (step->op == ZF_CHECK_JUMP) w.reached = false;
    }
    const char *fault = join(&w, program->step_count);
    return fault != NULL ? fault : w.depth == 0 ? NULL : "checks that leave words on the stack";
}

// ---- Running --------------------------------------------------------------------------------------------------

static uint64_t narrow(uint64_t value, uint32_t bits, uint32_t is_signed) {
    unsigned away = 64 - bits;
    value <<= away;
    return is_signed ? (uint64_t)((int64_t)value >> away) : value >> away;
}

static uint64_t divide_signed(uint64_t a, uint64_t b) {
    if (b == UINT64_MAX) return 0 - a; // the hardware traps for the smallest number
    return (uint64_t)((int64_t)a / (int64_t)(b == 0 ? 1 : b));
}

static uint64_t remainder_signed(uint64_t a, uint64_t b) {
    if (b == UINT64_MAX) return 0;
    return (uint64_t)((int64_t)a % (int64_t)(b == 0 ? 1 : b));
}

/// Runs the first `count` steps. `last` (may be NULL): where the two words go that lie on top behind the last step; unchanged
/// where a jump or a failed check left the steps.
static uint32_t run_steps(const zf_abi_check_program *program, const uint64_t *slots, uint32_t count, uint64_t last[2]) {
    uint64_t stack[ZF_CHECK_STACK_MOST], locals[ZF_CHECK_LOCALS_MOST];
    uint64_t *top = stack; // where the next word goes
    uint32_t failed = ZF_CHECKS_HOLD;
    if (count == 0) return failed; // then there may be no steps at all
    for (uint32_t k = 0; k < program->local_count; k++) locals[k] = 0;
    // One switch: a second one for operations alone would double the time of a step.
#define UNARY(op, value)                                                                                                         \
    case op: {                                                                                                                   \
        uint64_t a = top[-1];                                                                                                    \
        top[-1] = (value);                                                                                                       \
        break;                                                                                                                   \
    }
#define BINARY(op, value)                                                                                                        \
    case op: {                                                                                                                   \
        uint64_t b = *--top, a = top[-1];                                                                                        \
        top[-1] = (value);                                                                                                       \
        break;                                                                                                                   \
    }
    const zf_abi_check_step *step = program->steps, *end = step + count;
    for (; step < end; step++) {
        switch ((zf_abi_check_op)step->op) {
        case ZF_CHECK_CONST: *top++ = program->constants[step->a]; break;
        case ZF_CHECK_SLOT: *top++ = slots[step->a]; break;
        case ZF_CHECK_GET: *top++ = locals[step->a]; break;
        case ZF_CHECK_SET: locals[step->a] = *--top; break;
        case ZF_CHECK_DUP:
            *top = top[-1];
            top++;
            break;
        case ZF_CHECK_JUMP: step += step->a; break;
        case ZF_CHECK_JUMP_UNLESS:
            if (*--top == 0) step += step->a;
            break;
        case ZF_CHECK_HOLDS:
            if (*--top == 0 && step->a < failed) failed = step->a;
            break;
        case ZF_CHECK_STOP:
            if (failed != ZF_CHECKS_HOLD) return failed;
            break;
            UNARY(ZF_CHECK_TABLE, program->constants[step->a + (a < step->b ? a : 0)])
            UNARY(ZF_CHECK_NARROW, narrow(a, step->a, step->b))
            UNARY(ZF_CHECK_NOT, a == 0)
            UNARY(ZF_CHECK_POPCOUNT, (uint64_t)__builtin_popcountll(a))
            UNARY(ZF_CHECK_BIT_WIDTH, a == 0 ? 0 : 64u - (uint64_t)__builtin_clzll(a))
            UNARY(ZF_CHECK_CTZ, a == 0 ? step->a : (uint64_t)__builtin_ctzll(a))
            BINARY(ZF_CHECK_ADD, a + b)
            BINARY(ZF_CHECK_SUB, a - b)
            BINARY(ZF_CHECK_MUL, a * b)
            BINARY(ZF_CHECK_DIV_U, a / (b == 0 ? 1 : b))
            BINARY(ZF_CHECK_DIV_S, divide_signed(a, b))
            BINARY(ZF_CHECK_REM_U, a % (b == 0 ? 1 : b))
            BINARY(ZF_CHECK_REM_S, remainder_signed(a, b))
            BINARY(ZF_CHECK_AND, a & b)
            BINARY(ZF_CHECK_OR, a | b)
            BINARY(ZF_CHECK_XOR, a ^ b)
            BINARY(ZF_CHECK_SHL, b < 64 ? a << b : 0)
            BINARY(ZF_CHECK_SHR_U, b < 64 ? a >> b : 0)
            BINARY(ZF_CHECK_SHR_S, (uint64_t)((int64_t)a >> (b < 64 ? b : 63)))
            BINARY(ZF_CHECK_EQ, a == b)
            BINARY(ZF_CHECK_LT_U, a < b)
            BINARY(ZF_CHECK_LT_S, (int64_t)a < (int64_t)b)
            BINARY(ZF_CHECK_LE_U, a <= b)
            BINARY(ZF_CHECK_LE_S, (int64_t)a <= (int64_t)b)
            BINARY(ZF_CHECK_MIN_U, a < b ? a : b)
            BINARY(ZF_CHECK_MIN_S, (int64_t)a < (int64_t)b ? a : b)
            BINARY(ZF_CHECK_MAX_U, a > b ? a : b)
            BINARY(ZF_CHECK_MAX_S, (int64_t)a > (int64_t)b ? a : b)
        case ZF_CHECK_OPS: break; // no operation: zf_block_check_fault
        }
    }
#undef UNARY
#undef BINARY
    if (last != NULL && step == end) {
        last[0] = top[-2];
        last[1] = top[-1];
    }
    return failed;
}

uint32_t zf_block_check_run(const zf_abi_check_program *program, const uint64_t *slots) {
    return run_steps(program, slots, program->step_count, NULL);
}

bool zf_block_check_compared(const zf_abi_check_program *program, const uint64_t *slots, uint32_t check, uint64_t *has,
                             uint64_t *most) {
    uint64_t last[2] = {0, 0};
    for (uint32_t s = 1; s < program->step_count; s++) {
        const zf_abi_check_step *step = &program->steps[s];
        if (step->op != ZF_CHECK_HOLDS || step->a != check || step[-1].op != ZF_CHECK_LE_U) continue;
        run_steps(program, slots, s - 1, last);
        *has = last[0];
        *most = last[1];
        return *has > *most;
    }
    return false;
}
