// Links: zf_llvm_headers zipflow-compiler
// `intern`: every value gets the number of its first occurrence, whatever the table behind it has to do for it. Values of each
// size, nearly all distinct or hardly any, and values chosen to meet in one slot, the last one.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/encode/cg_encode.h"
#include "compiler/encode/encode_tree.h"
#include "compiler/program.h"
#include "tests/unit/check.h"

typedef enum shape {
    RANDOM,    ///< hardly any value twice, where the type has enough of them
    REPEATED,  ///< a thousand values
    ASCENDING, ///< 0, 1, 2, ...
    STEPS,     ///< multiples of 2^40, for types that have them
    ONE_SLOT,  ///< the highest tags there are: all want the last slot, and go on from the first
    TWICE,     ///< every value twice in a row
    SHAPES,
} shape;

static const char *const shape_names[] = {"random", "repeated", "ascending", "steps", "one slot", "twice"};

/// A hash for which values can be chosen, since it is known.
static const zf_encode_hash known = {0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u};

static uint64_t inverse(uint64_t odd) {
    uint64_t x = odd; // Newton: each step doubles the bits that are right, 3 at first
    for (int k = 0; k < 6; k++) x *= 2 - odd * x;
    return x;
}

/// The value above 32 bits whose tag is all ones, or the smaller one that has the k-th tag from the end.
static uint64_t value_of_last_slot(uint64_t k, unsigned size) {
    if (size <= 4) {
        uint32_t v = (UINT32_MAX - (uint32_t)k) * (uint32_t)inverse(known.b);
        v ^= v >> 16;
        return v * (uint32_t)inverse(known.a);
    }
    uint64_t v = (UINT64_C(0xffffffff00000000) | k) * inverse(known.b);
    v ^= v >> 32;
    return v * inverse(known.a);
}

static uint64_t value_at(shape s, uint64_t k, unsigned size) {
    uint64_t random = k * UINT64_C(0xda942042e4dd58b5);
    random = (random ^ random >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    switch (s) {
    case RANDOM: return random ^ random >> 32;
    case REPEATED: return (random >> 20) % 1000 * 977;
    case ASCENDING: return k;
    case STEPS: return size == 8 ? k << 40 : k << 4;
    case ONE_SLOT: return value_of_last_slot(k % 3000, size);
    default: return k / 2 * 3;
    }
}

static zf_encode_fn find(void *user, const zf_inst *inst, const char **reason) {
    const zf_encoder *encoder = zf_program_encoder(user, inst);
    *reason = encoder == NULL ? "not compiled" : encoder->reason;
    return encoder == NULL ? NULL : encoder->function;
}

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, 24); }

/// Element k of a buffer (or of the input, in a buffer's dress) as 24 bytes that are equal where the elements are.
static void element(const zf_encode_buffer *from, uint64_t k, uint8_t out[24]) {
    memset(out, 0, 24);
    out[23] = from->nullable && !from->validity[k];
    if (out[23]) return;
    if (!from->is_text) {
        memcpy(out, from->data + k * from->element, from->element);
        return;
    }
    uint64_t begin = 0, end;
    memcpy(&end, from->data + (k + 1) * 8, 8);
    if (k > 0) memcpy(&begin, from->data + k * 8, 8);
    memcpy(out, from->text + begin, end - begin < 22 ? end - begin : 22);
    out[22] = (uint8_t)(end - begin);
}

static void check_numbers(const zf_encode_buffer *in, const zf_encode_buffer *codes, const zf_encode_buffer *entries,
                          const char *what) {
    uint64_t next = 0, wrong = UINT64_MAX;
    uint8_t(*all)[24] = malloc((entries->length + 1) * 24), given[24];
    for (uint64_t k = 0; k < entries->length; k++) element(entries, k, all[k]);
    for (uint64_t k = 0; k < codes->length && wrong == UINT64_MAX; k++) {
        uint32_t code;
        memcpy(&code, codes->data + k * 4, 4);
        element(in, k, given);
        if (code > next || code >= entries->length || memcmp(all[code], given, 24) != 0) wrong = k;
        next += code == next; // a new value takes the next number
    }
    CHECK(codes->length == in->length, "%s: %" PRIu64 " codes", what, codes->length);
    CHECK(wrong == UINT64_MAX, "%s: the code of element %" PRIu64, what, wrong);
    CHECK(next == entries->length, "%s: %" PRIu64 " entries, %" PRIu64 " used", what, entries->length, next);
    qsort(all, entries->length, 24, by_bytes);
    uint64_t twice = 0;
    for (uint64_t k = 1; k < entries->length; k++) twice += memcmp(all[k - 1], all[k], 24) == 0;
    CHECK(twice == 0, "%s: %" PRIu64 " entries stand twice", what, twice);
    free(all);
}

/// How far elements stand from the slots where they are looked for first, on average: what a look-up costs beyond the first slot.
static double mean_distance(const zf_encode_buffer *entries) {
    const zf_encode_index *index = &entries->index;
    double sum = 0, used = 0;
    for (uint64_t at = 0; at <= index->mask; at++) {
        if (index->slots[at] == 0) continue;
        used++;
        sum += (double)((at - ((uint32_t)index->slots[at] >> index->shift)) & index->mask);
    }
    return used == 0 ? 0 : sum / used;
}

/// Returns the mean distance of the table. `hash`: {0, 0} for one that is drawn.
static double run_case(zf_program *program, const zf_column *column, shape s, uint64_t rows, zf_encode_hash hash) {
    double distance = 0;
    char what[96];
    snprintf(what, sizeof what, "%s, %s, %" PRIu64 " rows", column->name, shape_names[s], rows);
    zf_encode_buffer in;
    zf_encode_buffer_init(&in, column->type);
    in.data = calloc(rows + 1, 8);
    in.validity = malloc(rows + 1);
    in.text = malloc(rows * 20 + 1);
    for (uint64_t k = 0; k < rows; k++) {
        uint64_t word = value_at(s, k, in.element);
        in.validity[k] = word % 11 != 3;
        if (in.is_text) {
            in.text_length += (uint64_t)snprintf((char *)in.text + in.text_length, 20, "%.19" PRIx64, word % 16 == 5 ? 5 : word);
            memcpy(in.data + (k + 1) * 8, &in.text_length, 8);
        } else {
            memcpy(in.data + k * in.element, &word, in.element);
        }
    }
    in.length = rows;
    zf_encode_input input = {.type = column->type,
                             .values = in.is_text ? in.text : in.data,
                             .validity = in.nullable ? in.validity : NULL,
                             .offsets = in.is_text ? (const uint64_t *)(const void *)in.data : NULL,
                             .rows = rows,
                             .parts = &rows,
                             .part_count = rows > 0};
    zf_encode_task task = {.find = find, .user = program, .hash = hash};
    zf_encode_node *node = NULL;
    zf_status status = zf_encode_tree(&task, column->codec, &input, &node);
    CHECK(status == ZF_OK, "%s: %s %s", what, task.refusals[0].code, task.refusals[0].reason);
    if (status == ZF_OK) {
        check_numbers(&in, &node->streams[0], &node->streams[1], what);
        distance = mean_distance(&node->streams[1]);
    }
    zf_encode_tree_free(node);
    free(in.data);
    free(in.validity);
    free(in.text);
    return distance;
}

/// Values that all want one slot under a hash that is known stand as near to theirs as any others under one that is drawn.
static void run_flood(zf_program *program, const zf_column *column) {
    enum { FLOOD = 3000, NEAR = 16 };
    if (column->type.kind == ZF_K_STRING || zf_kind_size(column->type.kind) < 4) return;
    double known_hash = run_case(program, column, ONE_SLOT, FLOOD, known);
    CHECK(known_hash > FLOOD / 8, "%s: the values meet nowhere: %g", column->name, known_hash);
    for (unsigned k = 0; k < 8; k++) {
        double drawn = run_case(program, column, ONE_SLOT, FLOOD, (zf_encode_hash){0, 0});
        CHECK(drawn < (double)NEAR, "%s: chosen values stand %g slots away", column->name, drawn);
    }
}

int main(void) {
    static const uint64_t sizes[] = {0, 1, 127, 128, 129, 40000, 700000};
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    zf_context_options options = {.cache_dir = "", .threads = 1};
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, &compile, &compiler, &error) == ZF_OK, "%s", error.message);
    if (check_failures > 0) return check_result();
    zf_status loaded = zf_program_load(compiler, ZF_SOURCE_DIR "/tests/unit/compiler/intern.zf", &program, &error);
    CHECK(loaded == ZF_OK, "%s (%s)", error.message, error.place);
    for (const zf_table *table = zf_spec_tables(program->spec); table != NULL && check_failures == 0; table = table->next) {
        for (const zf_column *column = table->columns; column != NULL; column = column->next) {
            zf_status status = zf_program_compile(program, (const zf_column *[]){column}, 1, 1, &error);
            CHECK(status == ZF_OK, "%s: %s: %s (%s)", column->name, error.code, error.message, error.place);
            if (status != ZF_OK) continue;
            for (unsigned n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
                bool all = sizes[n] <= 40000; // the large table moves in 4 MiB and more, which the widest values reach
                for (int s = 0; s < SHAPES; s++) {
                    if (all || (s == RANDOM && column->type.kind != ZF_K_STRING))
                        run_case(program, column, (shape)s, sizes[n], known);
                }
            }
            run_flood(program, column);
        }
    }
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
