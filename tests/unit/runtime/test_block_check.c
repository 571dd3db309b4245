// Links: zipflow-runtime
// Programs of block checks: each operation at the ends of its range, which failure is reported, jumps; what is refused; mutated
// programs, which are refused or run without leaving what they were given.
#include "runtime/decode/block_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof *(a)))
#define MIN64 ((uint64_t)INT64_MIN)
#define MINUS(n) ((uint64_t)-(int64_t)(n))

enum { SLOTS = 4, CHECKS = 9 };

// ---- Operations -----------------------------------------------------------------------------------------------

/// Whether `op` with left, right gives `wanted`: check 3 holds then, and else fails.
static void check_binary(zf_abi_check_op op, uint64_t left, uint64_t right, uint64_t wanted) {
    const uint64_t constants[] = {wanted, wanted ^ 1};
    const uint64_t slots[SLOTS] = {left, right};
    for (uint32_t wrong = 0; wrong < 2; wrong++) {
        const zf_abi_check_step steps[] = {{ZF_CHECK_SLOT, 0, 0},      {ZF_CHECK_SLOT, 1, 0}, {op, 0, 0},
                                           {ZF_CHECK_CONST, wrong, 0}, {ZF_CHECK_EQ, 0, 0},   {ZF_CHECK_HOLDS, 3, 0}};
        const zf_abi_check_program program = {COUNT(steps), COUNT(constants), 0, steps, constants};
        const char *fault = zf_block_check_fault(&program, SLOTS, CHECKS);
        CHECK(fault == NULL, "%s", fault);
        uint32_t got = zf_block_check_run(&program, slots);
        CHECK(got == (wrong ? 3 : ZF_CHECKS_HOLD), "operation %d of %" PRIu64 ", %" PRIu64 " is not %" PRIu64, (int)op, left,
              right, wanted);
    }
}

static void check_unary(zf_abi_check_op op, uint32_t a, uint32_t b, uint64_t value, uint64_t wanted) {
    const uint64_t constants[] = {wanted, 100, 200, 300};
    const zf_abi_check_step steps[] = {
        {ZF_CHECK_SLOT, 2, 0}, {op, a, b}, {ZF_CHECK_CONST, 0, 0}, {ZF_CHECK_EQ, 0, 0}, {ZF_CHECK_HOLDS, 0, 0}};
    const zf_abi_check_program program = {COUNT(steps), COUNT(constants), 0, steps, constants};
    const uint64_t slots[SLOTS] = {0, 0, value};
    const char *fault = zf_block_check_fault(&program, SLOTS, CHECKS);
    CHECK(fault == NULL, "%s", fault);
    CHECK(zf_block_check_run(&program, slots) == ZF_CHECKS_HOLD, "operation %d (%u, %u) of %" PRIu64 " is not %" PRIu64, (int)op,
          a, b, value, wanted);
}

static void test_operations(void) {
    static const struct {
        zf_abi_check_op op;
        uint64_t left, right, wanted;
    } cases[] = {
        {ZF_CHECK_ADD, UINT64_MAX, 2, 1},
        {ZF_CHECK_SUB, 1, 2, UINT64_MAX},
        {ZF_CHECK_MUL, UINT64_C(1) << 63, 3, UINT64_C(1) << 63},
        {ZF_CHECK_DIV_U, UINT64_MAX, 2, UINT64_MAX / 2},
        {ZF_CHECK_DIV_U, 7, 0, 7},
        {ZF_CHECK_REM_U, 7, 0, 0},
        {ZF_CHECK_REM_U, UINT64_MAX, 10, 5},
        {ZF_CHECK_DIV_S, MINUS(7), 2, MINUS(3)},
        {ZF_CHECK_DIV_S, MINUS(7), 0, MINUS(7)},
        {ZF_CHECK_DIV_S, MIN64, MINUS(1), MIN64},
        {ZF_CHECK_DIV_S, 5, MINUS(1), MINUS(5)},
        {ZF_CHECK_REM_S, MINUS(7), 2, MINUS(1)},
        {ZF_CHECK_REM_S, MINUS(7), 0, 0},
        {ZF_CHECK_REM_S, MIN64, MINUS(1), 0},
        {ZF_CHECK_AND, 12, 10, 8},
        {ZF_CHECK_OR, 12, 10, 14},
        {ZF_CHECK_XOR, 12, 10, 6},
        {ZF_CHECK_SHL, 3, 63, UINT64_C(1) << 63},
        {ZF_CHECK_SHL, 3, 64, 0},
        {ZF_CHECK_SHL, 3, UINT64_MAX, 0},
        {ZF_CHECK_SHR_U, MIN64, 63, 1},
        {ZF_CHECK_SHR_U, MIN64, 64, 0},
        {ZF_CHECK_SHR_S, MIN64, 63, UINT64_MAX},
        {ZF_CHECK_SHR_S, MIN64, 64, UINT64_MAX},
        {ZF_CHECK_SHR_S, 8, 2, 2},
        {ZF_CHECK_SHR_S, 8, UINT64_MAX, 0},
        {ZF_CHECK_EQ, 5, 5, 1},
        {ZF_CHECK_EQ, 5, 6, 0},
        {ZF_CHECK_LT_U, 1, UINT64_MAX, 1},
        {ZF_CHECK_LT_U, 5, 5, 0},
        {ZF_CHECK_LT_S, UINT64_MAX, 1, 1},
        {ZF_CHECK_LT_S, 5, 5, 0},
        {ZF_CHECK_LE_U, 5, 5, 1},
        {ZF_CHECK_LE_U, UINT64_MAX, 1, 0},
        {ZF_CHECK_LE_S, MIN64, MIN64, 1},
        {ZF_CHECK_LE_S, 1, UINT64_MAX, 0},
        {ZF_CHECK_MIN_U, 1, UINT64_MAX, 1},
        {ZF_CHECK_MIN_S, 1, UINT64_MAX, UINT64_MAX},
        {ZF_CHECK_MAX_U, 1, UINT64_MAX, UINT64_MAX},
        {ZF_CHECK_MAX_S, 1, UINT64_MAX, 1},
    };
    for (uint32_t k = 0; k < COUNT(cases); k++) check_binary(cases[k].op, cases[k].left, cases[k].right, cases[k].wanted);
    check_unary(ZF_CHECK_NARROW, 8, 0, 0x1ff, 0xff);
    check_unary(ZF_CHECK_NARROW, 8, 1, 0x1ff, UINT64_MAX);
    check_unary(ZF_CHECK_NARROW, 16, 1, 0x7fff, 0x7fff);
    check_unary(ZF_CHECK_NARROW, 32, 0, UINT64_MAX, UINT32_MAX);
    check_unary(ZF_CHECK_NARROW, 32, 1, UINT64_C(1) << 31, MINUS(UINT64_C(1) << 31));
    check_unary(ZF_CHECK_NOT, 0, 0, 0, 1);
    check_unary(ZF_CHECK_NOT, 0, 0, MIN64, 0);
    check_unary(ZF_CHECK_POPCOUNT, 0, 0, UINT64_MAX, 64);
    check_unary(ZF_CHECK_BIT_WIDTH, 0, 0, 0, 0);
    check_unary(ZF_CHECK_BIT_WIDTH, 0, 0, MIN64, 64);
    check_unary(ZF_CHECK_CTZ, 32, 0, 0, 32);
    check_unary(ZF_CHECK_CTZ, 32, 0, 40, 3);
    check_unary(ZF_CHECK_TABLE, 1, 3, 2, 300);
    check_unary(ZF_CHECK_TABLE, 1, 3, 3, 100); // behind the end: the first element
    check_unary(ZF_CHECK_TABLE, 1, 3, UINT64_MAX, 100);
}

// ---- Which failure --------------------------------------------------------------------------------------------

static uint32_t run(const zf_abi_check_step *steps, uint32_t count, uint64_t first) {
    const uint64_t constants[] = {0, 1}, slots[SLOTS] = {first};
    const zf_abi_check_program program = {count, 2, 2, steps, constants};
    const char *fault = zf_block_check_fault(&program, SLOTS, CHECKS);
    CHECK(fault == NULL, "%s", fault);
    return zf_block_check_run(&program, slots);
}

#define RUN(first, ...) run((const zf_abi_check_step[]){__VA_ARGS__}, COUNT(((const zf_abi_check_step[]){__VA_ARGS__})), first)
#define ZERO {ZF_CHECK_CONST, 0, 0}
#define ONE {ZF_CHECK_CONST, 1, 0}
#define SLOT0 {ZF_CHECK_SLOT, 0, 0}
#define HOLDS(n) {ZF_CHECK_HOLDS, n, 0}
#define STOP {ZF_CHECK_STOP, 0, 0}

static void test_failures(void) {
    CHECK(zf_block_check_run(&(zf_abi_check_program){0}, NULL) == ZF_CHECKS_HOLD, "nothing to check");
    CHECK(RUN(0, ONE, HOLDS(3)) == ZF_CHECKS_HOLD, "1 holds");
    CHECK(RUN(0, ZERO, HOLDS(3), ZERO, HOLDS(2), ZERO, HOLDS(4)) == 2, "not the smallest number");
    CHECK(RUN(0, ZERO, HOLDS(3), STOP, ZERO, HOLDS(2)) == 3, "goes on behind a stop");
    CHECK(RUN(0, ONE, HOLDS(3), STOP, ZERO, HOLDS(2)) == 2, "stops without a failure");
    // slot 0 ? 0 : 1
    for (uint64_t value = 0; value < 3; value++) {
        uint32_t got = RUN(value, SLOT0, {ZF_CHECK_JUMP_UNLESS, 2, 0}, ZERO, {ZF_CHECK_JUMP, 1, 0}, ONE, HOLDS(6));
        CHECK(got == (value != 0 ? 6 : ZF_CHECKS_HOLD), "the wrong arm for %" PRIu64, value);
        got = RUN(value, SLOT0, {ZF_CHECK_JUMP_UNLESS, 2, 0}, ZERO, HOLDS(5), ONE, HOLDS(6));
        CHECK(got == (value != 0 ? 5 : ZF_CHECKS_HOLD), "steps that are jumped over, for %" PRIu64, value);
    }
    // Locals start as 0 and keep what is set; a word is pushed again.
    CHECK(RUN(7, {ZF_CHECK_GET, 1, 0}, HOLDS(1)) == 1, "a local that was not set");
    CHECK(RUN(7, SLOT0, {ZF_CHECK_SET, 1, 0}, {ZF_CHECK_GET, 1, 0}, {ZF_CHECK_DUP, 0, 0}, {ZF_CHECK_EQ, 0, 0}, HOLDS(1),
              {ZF_CHECK_GET, 1, 0}, SLOT0, {ZF_CHECK_EQ, 0, 0}, HOLDS(2)) == ZF_CHECKS_HOLD,
          "a local that was set");
}

// ---- Refusals -------------------------------------------------------------------------------------------------

static const char *fault_of(const zf_abi_check_step *steps, uint32_t count) {
    static const uint64_t constants[] = {0, 1};
    return zf_block_check_fault(&(zf_abi_check_program){count, 2, 2, steps, constants}, SLOTS, CHECKS);
}

#define REFUSED(words, ...)                                                                                                      \
    do {                                                                                                                         \
        const char *fault =                                                                                                      \
            fault_of((const zf_abi_check_step[]){__VA_ARGS__}, COUNT(((const zf_abi_check_step[]){__VA_ARGS__})));               \
        CHECK(fault != NULL && strstr(fault, words) != NULL, "%s, not %s", fault != NULL ? fault : "good", words);               \
    } while (0)

static void test_refused(void) {
    REFUSED("constant", {ZF_CHECK_CONST, 2, 0}, HOLDS(0));
    REFUSED("descriptor word", {ZF_CHECK_SLOT, SLOTS, 0}, HOLDS(0));
    REFUSED("local", {ZF_CHECK_GET, 2, 0}, HOLDS(0));
    REFUSED("local", ONE, {ZF_CHECK_SET, UINT32_MAX, 0});
    REFUSED("table", ONE, {ZF_CHECK_TABLE, 0, 0}, HOLDS(0));
    REFUSED("table", ONE, {ZF_CHECK_TABLE, 1, 2}, HOLDS(0));
    REFUSED("table", ONE, {ZF_CHECK_TABLE, 3, UINT32_MAX}, HOLDS(0));
    REFUSED("width", ONE, {ZF_CHECK_NARROW, 0, 0}, HOLDS(0));
    REFUSED("width", ONE, {ZF_CHECK_NARROW, 64, 0}, HOLDS(0));
    REFUSED("width", ONE, {ZF_CHECK_NARROW, 8, 2}, HOLDS(0));
    REFUSED("no name", ONE, HOLDS(CHECKS));
    REFUSED("does not exist", ONE, {ZF_CHECK_OPS, 0, 0}, HOLDS(0));
    REFUSED("empty stack", HOLDS(0));
    REFUSED("empty stack", ONE, {ZF_CHECK_ADD, 0, 0}, HOLDS(0));
    REFUSED("empty stack", {ZF_CHECK_DUP, 0, 0}, HOLDS(0), HOLDS(0));
    REFUSED("on the stack", ONE);
    REFUSED("jump out", {ZF_CHECK_JUMP, 1, 0});
    REFUSED("jump out", ONE, {ZF_CHECK_JUMP_UNLESS, UINT32_MAX, 0}, ONE, HOLDS(0));
    REFUSED("depends on a jump", ONE, {ZF_CHECK_JUMP_UNLESS, 1, 0}, ONE, HOLDS(0));
    REFUSED("nothing leads to", {ZF_CHECK_JUMP, 1, 0}, STOP, STOP);
    static zf_abi_check_step deep[2 * ZF_CHECK_STACK_MOST + 2], many[2 * ZF_CHECK_PENDING_MOST + 4];
    for (uint32_t k = 0; k <= ZF_CHECK_STACK_MOST; k++) {
        deep[k] = (zf_abi_check_step)ONE;
        deep[2 * ZF_CHECK_STACK_MOST + 1 - k] = (zf_abi_check_step)HOLDS(0);
    }
    const char *fault = fault_of(deep, COUNT(deep));
    CHECK(fault != NULL && strstr(fault, "overflows") != NULL, "%s", fault != NULL ? fault : "good");
    CHECK(fault_of(deep + 1, COUNT(deep) - 2) == NULL, "a full stack");
    for (uint32_t k = 0; k <= ZF_CHECK_PENDING_MOST; k++) {
        many[2 * k] = (zf_abi_check_step)ONE;
        many[2 * k + 1] = (zf_abi_check_step){ZF_CHECK_JUMP_UNLESS, COUNT(many) - 2 * k - 2, 0};
    }
    many[COUNT(many) - 2] = many[COUNT(many) - 1] = (zf_abi_check_step)STOP;
    fault = fault_of(many, COUNT(many));
    CHECK(fault != NULL && strstr(fault, "too many jumps") != NULL, "%s", fault != NULL ? fault : "good");
    for (uint32_t part = 0; part < 3; part++) {
        zf_abi_check_program large = {part == 0 ? ZF_CHECK_STEPS_MOST + 1 : 0, part == 1 ? ZF_CHECK_CONSTANTS_MOST + 1 : 0,
                                      part == 2 ? ZF_CHECK_LOCALS_MOST + 1 : 0, NULL, NULL};
        fault = zf_block_check_fault(&large, SLOTS, CHECKS);
        CHECK(fault != NULL && strstr(fault, "too long") != NULL, "%s", fault != NULL ? fault : "good");
    }
}

// ---- Mutated programs -----------------------------------------------------------------------------------------

static uint64_t state = 88172645463325252u;
static uint64_t random_word(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/// A program, constants and descriptor words each end where their memory ends, for sanitizers.
static void test_mutated(void) {
    enum { ROUNDS = 200000 };
    static const zf_abi_check_step good[] = {SLOT0,
                                             {ZF_CHECK_NARROW, 32, 1},
                                             {ZF_CHECK_SET, 0, 0},
                                             {ZF_CHECK_GET, 0, 0},
                                             {ZF_CHECK_SLOT, 3, 0},
                                             {ZF_CHECK_DIV_S, 0, 0},
                                             {ZF_CHECK_TABLE, 1, 2},
                                             {ZF_CHECK_SLOT, 2, 0},
                                             {ZF_CHECK_LE_U, 0, 0},
                                             HOLDS(2),
                                             STOP,
                                             {ZF_CHECK_GET, 0, 0},
                                             {ZF_CHECK_JUMP_UNLESS, 2, 0},
                                             ONE,
                                             {ZF_CHECK_JUMP, 2, 0},
                                             {ZF_CHECK_SLOT, 1, 0},
                                             {ZF_CHECK_POPCOUNT, 0, 0},
                                             HOLDS(8)};
    unsigned refused = 0, held = 0, failed = 0;
    zf_abi_check_step *steps = malloc(sizeof good);
    uint64_t *constants = malloc(3 * sizeof *constants), *slots = malloc(SLOTS * sizeof *slots);
    for (unsigned round = 0; round < ROUNDS; round++) {
        memcpy(steps, good, sizeof good);
        for (unsigned k = 0; k < 3; k++) constants[k] = random_word() >> random_word() % 64;
        for (unsigned k = 0; k < SLOTS; k++) slots[k] = random_word() >> random_word() % 64;
        for (unsigned k = 0; k < 1 + round % 3; k++) {
            zf_abi_check_step *step = &steps[random_word() % COUNT(good)];
            uint32_t value = (uint32_t)(random_word() % (round % 8 == 0 ? UINT64_C(1) << 32 : ZF_CHECK_OPS + 2));
            uint32_t *const parts[] = {&step->op, &step->a, &step->b};
            *parts[random_word() % 3] = value;
        }
        const zf_abi_check_program program = {COUNT(good), 3, 1, steps, constants};
        if (zf_block_check_fault(&program, SLOTS, CHECKS) != NULL) {
            refused++;
            continue;
        }
        uint32_t got = zf_block_check_run(&program, slots);
        CHECK(got == ZF_CHECKS_HOLD || got < CHECKS, "round %u: check %u", round, got);
        held += got == ZF_CHECKS_HOLD;
        failed += got != ZF_CHECKS_HOLD;
    }
    printf("%d mutated programs: %u are refused, of %u all checks hold, of %u one fails\n", ROUNDS, refused, held, failed);
    CHECK(refused > ROUNDS / 10 && held > ROUNDS / 50 && failed > ROUNDS / 50, "%u, %u, %u", refused, held, failed);
    free(steps);
    free(constants);
    free(slots);
}

int main(void) {
    test_operations();
    test_failures();
    test_refused();
    test_mutated();
    return check_result();
}
