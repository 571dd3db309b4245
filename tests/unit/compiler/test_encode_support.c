// Links: zipflow-compiler
// C functions that encode bodies call for all rows at once: they intern texts together, append without copies, and use memory
// again.
#include <string.h>

#include "codegen/codegen_encode.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

static uint64_t random_word(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// ---- Texts ----------------------------------------------------------------------------------------------------

enum { TEXTS = 5000, LONGEST = 40 };

/// Texts of 0 to 40 bytes, of which many differ in one byte, at any place.
static void make_texts(uint8_t *text, uint64_t *offsets, unsigned different) {
    offsets[0] = 0;
    for (unsigned k = 0; k < TEXTS; k++) {
        uint64_t which = random_word() % different, length = which % (LONGEST + 1);
        uint8_t *at = text + offsets[k];
        memset(at, 'x', length);
        if (length > 0) at[which / (LONGEST + 1) % length] = (uint8_t)('a' + which / (LONGEST + 1) / LONGEST % 20);
        offsets[k + 1] = offsets[k] + length;
    }
}

static bool same_text(const uint8_t *text, const uint64_t *offsets, uint64_t a, uint64_t b) {
    uint64_t length = offsets[a + 1] - offsets[a];
    return offsets[b + 1] - offsets[b] == length && memcmp(text + offsets[a], text + offsets[b], length) == 0;
}

/// Numbers are those of the first equal text, counted by their first occurrence.
static void test_texts(unsigned different) {
    static uint8_t text[TEXTS * LONGEST];
    static uint64_t offsets[TEXTS + 1], first[TEXTS];
    make_texts(text, offsets, different);
    zf_encode_frame frame = {.rows = TEXTS, .bytes_left = 1 << 26, .work = UINT64_MAX, .hash = zf_encode_hash_draw()};
    zf_encode_buffer numbers, texts;
    zf_encode_buffer_init(&numbers, zf_type_of(ZF_K_U32));
    zf_encode_buffer_init(&texts, zf_type_of(ZF_K_STRING));
    CHECK(zf_cg_intern_texts(&frame, &numbers, &texts, text, offsets, NULL, TEXTS) == 1, "%u: outcome %llu", different,
          (ull)frame.outcome);
    uint64_t count = 0, wrong = 0;
    for (uint64_t k = 0; k < TEXTS && numbers.length == TEXTS; k++) {
        uint32_t number;
        memcpy(&number, numbers.data + 4 * k, 4);
        if (number < count) {
            wrong += !same_text(text, offsets, k, first[number]);
        } else {
            for (uint64_t n = 0; n < count; n++) wrong += same_text(text, offsets, k, first[n]);
            wrong += number != count;
            first[count++] = k;
        }
    }
    CHECK(numbers.length == TEXTS && texts.length == count && wrong == 0, "%u: %llu of %llu numbers are wrong", different,
          (ull)wrong, (ull)numbers.length);
    for (uint64_t n = 0; n < count && wrong == 0; n++) {
        const uint64_t *ends = (const uint64_t *)(const void *)texts.data;
        uint64_t length = offsets[first[n] + 1] - offsets[first[n]];
        wrong += ends[n + 1] - ends[n] != length || memcmp(texts.text + ends[n], text + offsets[first[n]], length) != 0;
    }
    CHECK(wrong == 0, "%u: %llu entries are wrong", different, (ull)wrong);
    zf_encode_clear(&frame);
}

/// A dictionary that may not be larger ends at the row that would make it so.
static void test_limit(void) {
    static const uint8_t text[] = "aabbaaccdd";
    static const uint64_t offsets[] = {0, 2, 4, 6, 8, 10};
    zf_encode_frame frame = {.rows = 5, .bytes_left = 1 << 20, .work = UINT64_MAX, .hash = zf_encode_hash_draw()};
    zf_encode_buffer numbers, texts;
    zf_encode_buffer_init(&numbers, zf_type_of(ZF_K_U32));
    zf_encode_buffer_init(&texts, zf_type_of(ZF_K_STRING));
    texts.most = 5; // two of them
    CHECK(zf_cg_intern_texts(&frame, &numbers, &texts, text, offsets, NULL, 5) == 0, "a third text was taken");
    CHECK(frame.outcome == ZF_ENCODE_MORE && frame.row == 3 && numbers.length == 3 && texts.length == 2,
          "outcome %llu at row %llu, %llu numbers, %llu texts", (ull)frame.outcome, (ull)frame.row, (ull)numbers.length,
          (ull)texts.length);
    zf_encode_clear(&frame);
}

/// Texts without characters may have no memory.
static void test_empty(void) {
    static const uint64_t offsets[4];
    zf_encode_frame frame = {.rows = 3, .bytes_left = 1 << 20, .work = UINT64_MAX, .hash = zf_encode_hash_draw()};
    zf_encode_buffer numbers, texts;
    zf_encode_buffer_init(&numbers, zf_type_of(ZF_K_U32));
    zf_encode_buffer_init(&texts, zf_type_of(ZF_K_STRING));
    CHECK(zf_cg_intern_texts(&frame, &numbers, &texts, NULL, offsets, NULL, 3) == 1 && numbers.length == 3 && texts.length == 1,
          "%llu numbers, %llu texts", (ull)numbers.length, (ull)texts.length);
    static const uint64_t far[4] = {5, 5, 5, 5}; // offsets may begin above 0
    CHECK(zf_cg_intern_texts(&frame, &numbers, &texts, NULL, far, NULL, 3) == 1 && numbers.length == 6 && texts.length == 1,
          "%llu numbers, %llu texts", (ull)numbers.length, (ull)texts.length);
    CHECK(zf_cg_append_texts(&frame, &texts, NULL, offsets, NULL, 3) == 1, "texts of no characters are appended");
    CHECK(zf_cg_append_texts(&frame, &texts, NULL, far, NULL, 3) == 1, "the same, behind others");
    CHECK(texts.length == 7 && texts.text_length == 0, "%llu texts, %llu characters", (ull)texts.length, (ull)texts.text_length);
    zf_encode_clear(&frame);
}

// ---- Appending without a copy -----------------------------------------------------------------------------------

static zf_encode_buffer lent_buffer(void) {
    zf_encode_buffer buffer;
    zf_encode_buffer_init(&buffer, zf_type_of(ZF_K_U8));
    buffer.may_lend = 1;
    buffer.no_parts = true;
    return buffer;
}

static void test_lending(void) {
    static uint8_t input[1000];
    for (unsigned k = 0; k < sizeof input; k++) input[k] = (uint8_t)random_word();
    zf_encode_frame frame = {
        .values = input, .values_end = input + sizeof input, .rows = sizeof input, .bytes_left = 1 << 20, .work = UINT64_MAX};
    zf_encode_buffer buffer = lent_buffer();
    for (unsigned k = 100; k < 200; k += 10) CHECK(zf_cg_append(&frame, &buffer, input + k, NULL, 10) == 1, "append at %u", k);
    CHECK(zf_cg_append(&frame, &buffer, input, NULL, 0) == 1, "nothing is appended");
    CHECK(buffer.data == input + 100 && buffer.length == 100, "%llu elements, copied: %d", (ull)buffer.length,
          buffer.data != input + 100);
    uint8_t before = input[200];
    CHECK(zf_cg_push_null(&frame, &buffer, before ^ 1u, 1) == 1, "push");
    CHECK(input[200] == before, "a push went to the input");
    CHECK(buffer.data != input + 100 && buffer.length == 101 && memcmp(buffer.data, input + 100, 100) == 0 &&
              buffer.data[100] == (before ^ 1u),
          "what was lent is not in the copy");
    zf_encode_buffer gap = lent_buffer();
    CHECK(zf_cg_append(&frame, &gap, input, NULL, 10) == 1 && zf_cg_append(&frame, &gap, input + 11, NULL, 30) == 1, "a gap");
    CHECK(gap.length == 40 && memcmp(gap.data, input, 10) == 0 && memcmp(gap.data + 10, input + 11, 30) == 0,
          "the parts of a gap");
    zf_encode_buffer few = lent_buffer();
    few.most = 15;
    CHECK(zf_cg_append(&frame, &few, input, NULL, 10) == 1 && zf_cg_append(&frame, &few, input + 10, NULL, 10) == 0 &&
              frame.outcome == ZF_ENCODE_MORE,
          "outcome %llu", (ull)frame.outcome);
    zf_encode_clear(&frame);
}

// ---- Memory ---------------------------------------------------------------------------------------------------

static void test_pool(void) {
    enum { MIB = 1 << 20 };
    zf_encode_pool pool = {0};
    uint8_t *small = zf_encode_pool_take(&pool, 100), *large = zf_encode_pool_take(&pool, 8 * MIB);
    CHECK(small != NULL && large != NULL && (uintptr_t)small % 64 == 0 && (uintptr_t)large % 64 == 0, "not aligned");
    memset(large, 7, 8 * MIB);
    zf_encode_pool_give(&pool, small);
    zf_encode_pool_give(&pool, large);
    CHECK(pool.idle != NULL && pool.idle_bytes >= 8 * MIB, "%llu bytes are kept", (ull)pool.idle_bytes);
    zf_encode_frame frame = {.bytes_left = 64 * MIB, .pool = &pool};
    uint8_t *again = zf_encode_alloc_zeroed(&frame, 7 * MIB);
    uint64_t wrong = 0;
    for (unsigned k = 0; again != NULL && k < 7 * MIB; k++) wrong += again[k] != 0;
    CHECK(again == large && wrong == 0, "not used again, or %llu bytes are not cleared", (ull)wrong);
    uint8_t *other = zf_encode_alloc(&frame, 7 * MIB);
    CHECK(other != NULL && other != again, "memory is in use twice");
    zf_encode_clear(&frame);
    uint8_t *many[20];
    for (unsigned k = 0; k < 20; k++) many[k] = zf_encode_pool_take(&pool, 4 * MIB);
    for (unsigned k = 0; k < 20; k++) zf_encode_pool_give(&pool, many[k]);
    CHECK(pool.idle_bytes <= 48 * MIB, "%llu bytes are kept", (ull)pool.idle_bytes);
    zf_encode_pool_empty(&pool);
    CHECK(pool.idle == NULL && pool.idle_bytes == 0, "not empty");
}

int main(void) {
    test_texts(5);
    test_texts(300);
    test_texts(100000);
    test_limit();
    test_empty();
    test_lending();
    test_pool();
    return check_result();
}
