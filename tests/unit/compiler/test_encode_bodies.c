// Links: zipflow-compiler zf-interp-data
// Compiled encode bodies against the interpreter's, node by node: every codec that the interpreter's own tests know, strings,
// nulls, chunks and lanes included, whether or not the rest of the compiler lowers them yet.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/encode/encode_tree.h"
#include "compiler/program.h"
#include "tests/interp/data.h"
#include "tests/unit/check.h"

#ifdef ZF_SANITIZE
enum { LESS = 2 }; // half of the shapes: the interpreter is slow there
#else
enum { LESS = 1 };
#endif

static uint64_t compared, refused_by_both;

// ---- The input of both ----------------------------------------------------------------------------------------

typedef struct given {
    zf_encode_input input;
    uint8_t *values, *validity;
    uint64_t *offsets;
} given;

static given given_of(const interp_stream *stream) {
    given g = {0};
    zf_type type = interp_stream_type(stream);
    uint64_t rows = interp_stream_count(stream), length = 0, used = 0;
    unsigned size = type.kind == ZF_K_STRING ? 0 : zf_kind_size(type.kind);
    g.offsets = calloc(rows + 1, 8);
    g.validity = calloc(1, rows + 1);
    for (uint64_t k = 0; k < rows && type.kind == ZF_K_STRING; k++) {
        bool null;
        interp_stream_string(stream, k, &length, &null);
        used += length;
    }
    g.values = calloc(1, (type.kind == ZF_K_STRING ? used : rows * size) + 1);
    used = 0;
    for (uint64_t k = 0; k < rows; k++) {
        bool null = false;
        if (type.kind == ZF_K_STRING) {
            const uint8_t *text = interp_stream_string(stream, k, &length, &null);
            memcpy(g.values + used, text, length);
            used += length;
            g.offsets[k + 1] = used;
        } else {
            uint64_t word = interp_stream_bits(stream, k, &null);
            memcpy(g.values + k * size, &word, size);
        }
        g.validity[k] = !(type.nullable && null);
    }
    g.input = (zf_encode_input){.type = type,
                                .values = g.values,
                                .validity = type.nullable ? g.validity : NULL,
                                .offsets = type.kind == ZF_K_STRING ? g.offsets : NULL,
                                .rows = rows};
    static uint64_t whole;
    whole = rows;
    g.input.parts = &whole;
    g.input.part_count = rows > 0;
    return g;
}

static void given_free(given *g) {
    free(g->values);
    free(g->validity);
    free(g->offsets);
}

// ---- The results ----------------------------------------------------------------------------------------------

static bool same_stream(const zf_encode_buffer *got, const interp_stream *want, uint64_t *first) {
    zf_type type = interp_stream_type(want);
    *first = 0;
    if (got->length != interp_stream_count(want)) return false;
    for (uint64_t k = 0; k < got->length; k++) {
        bool null = false;
        *first = k;
        if (got->is_text) {
            uint64_t length, from, to;
            const uint8_t *text = interp_stream_string(want, k, &length, &null);
            memcpy(&from, got->data + k * 8, 8);
            memcpy(&to, got->data + (k + 1) * 8, 8);
            if (type.nullable && null) length = 0;
            if (to - from != length || (length > 0 && memcmp(got->text + from, text, length) != 0)) return false;
        } else {
            uint64_t word = 0, expected = interp_stream_bits(want, k, &null);
            memcpy(&word, got->data + k * got->element, got->element);
            if (word != (type.nullable && null ? 0 : expected)) return false;
        }
        if (type.nullable && (got->validity[k] == 0) != null) return false;
    }
    uint64_t chunks;
    const uint64_t *starts = interp_stream_chunks(want, &chunks);
    return got->start_count == chunks && (chunks == 0 || memcmp(starts, got->starts, chunks * 8) == 0);
}

static void compare(const zf_encode_node *got, const interp_tree *want, const char *what) {
    const zf_inst *inst = want->node->inst;
    if (got->branch != want->branch) return; // sizes are counted with seek states here, without there
    for (uint32_t p = 0; p < inst->param_count; p++) {
        CHECK(got->params[p] == want->params[p], "%s: %s: param %s is %" PRIx64 ", not %" PRIx64, what, inst->name,
              inst->params[p]->name, got->params[p], want->params[p]);
    }
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        uint64_t first;
        bool same = same_stream(&got->streams[s], want->streams[s], &first);
        CHECK(same, "%s: %s: stream %s (%" PRIu64 " and %" PRIu64 " elements) differs at %" PRIu64, what, inst->name,
              inst->streams[s]->name, got->streams[s].length, interp_stream_count(want->streams[s]), first);
        compared++;
        if (got->children[s] != NULL && want->children[s] != NULL) compare(got->children[s], want->children[s], what);
    }
}

static zf_encode_fn find(void *user, const zf_inst *inst, const char **reason) {
    const zf_encoder *encoder = zf_program_encoder(user, inst);
    *reason = encoder == NULL ? "not compiled" : encoder->reason;
    return encoder == NULL ? NULL : encoder->function;
}

static bool has_extern(const zf_codec_choice *choice) {
    for (uint32_t a = 0; a < choice->count; a++) {
        const zf_codec_node *node = choice->alternatives[a];
        if (node->inst->encode_extern != NULL) return true;
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            if (node->streams[s] != NULL && has_extern(node->streams[s])) return true;
        }
    }
    return false;
}

/// Whether strings or nullable values would be stored without a codec: the interpreter keeps them in memory, a file cannot.
static bool stores_what_it_cannot(const zf_codec_choice *choice) {
    if (choice->count > 1) return false; // another is taken
    const zf_codec_node *node = choice->alternatives[0];
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        zf_type type = node->inst->streams[s]->type;
        if (node->streams[s] != NULL ? stores_what_it_cannot(node->streams[s]) : type.nullable || type.kind == ZF_K_STRING)
            return true;
    }
    return false;
}

static void run_case(zf_program *program, const zf_column *column, data_shape data, uint64_t rows) {
    char what[128];
    snprintf(what, sizeof what, "%s, %s, %" PRIu64 " rows", column->name, data_shape_name(data), rows);
    interp_options options = {.no_verify = true, .no_claims = true, .max_elements = 1 << 22};
    interp *in = interp_create(&options);
    interp_stream *plain = data_stream(in, column->type, data, rows * 31 + (uint64_t)data, rows);
    interp_tree *expected;
    interp_report report;
    interp_status status = interp_encode(in, column, plain, &expected, &report);
    given g = given_of(plain);
    zf_encode_task task = {.find = find, .user = program};
    zf_encode_node *node = NULL;
    zf_status got = zf_encode_tree(&task, column->codec, &g.input, &node);
    if (status == INTERP_OK && stores_what_it_cannot(column->codec)) {
        CHECK(got == ZF_ERR_INPUT && strstr(task.refusals[0].reason, "cannot be stored as they are") != NULL, "%s: %s", what,
              task.refusals[0].reason);
    } else if (status == INTERP_OK) {
        CHECK(got == ZF_OK, "%s: %s %s", what, task.refusals[0].code, task.refusals[0].reason);
        if (got == ZF_OK) compare(node, expected, what);
    } else if (status == INTERP_REFUSED || status == INTERP_VIOLATION) {
        CHECK(got == ZF_ERR_INPUT, "%s: the interpreter says %s: %s", what, interp_status_name(status), report.message);
        refused_by_both++;
    }
    zf_encode_tree_free(node);
    given_free(&g);
    interp_destroy(in);
}

int main(int count, char **names) {
    static const uint64_t sizes[] = {0, 1, 2, 33, 4097};
    const char *number = getenv("ZF_TEST_TURN"); // other shapes at each turn
    unsigned turn = number != NULL ? (unsigned)strtoul(number, NULL, 10) : 0;
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    zf_context_options options = {.cache_dir = "", .threads = 1};
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
#ifdef ZF_SANITIZE
    compile.optimise = 1; // LLVM at -O3 takes most of the time; the differential tests have both levels
#endif
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, &compile, &compiler, &error) == ZF_OK, "%s", error.message);
    if (check_failures > 0) return check_result();
    CHECK(zf_program_load(compiler, ZF_SOURCE_DIR "/tests/interp/roundtrip.zf", &program, &error) == ZF_OK, "%s (%s)",
          error.message, error.place);
    for (const zf_table *table = zf_spec_tables(program->spec); table != NULL && check_failures == 0; table = table->next) {
        for (const zf_column *column = table->columns; column != NULL; column = column->next) {
            bool wanted = count < 2;
            for (int k = 1; k < count; k++) wanted = wanted || strcmp(names[k], column->name) == 0;
            if (!wanted || has_extern(column->codec)) continue;
            zf_status status = zf_program_compile(program, (const zf_column *[]){column}, 1, 1, &error);
            CHECK(status == ZF_OK, "%s: %s: %s (%s)", column->name, error.code, error.message, error.place);
            if (status != ZF_OK) continue;
            for (unsigned n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
                unsigned step = n < 4 ? 5 * LESS : 4 * LESS;
                for (unsigned d = (n + turn) % step; d < DATA_SHAPES; d += step)
                    run_case(program, column, (data_shape)d, sizes[n]);
            }
        }
    }
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    CHECK(count > 1 || (compared > 1000 && refused_by_both > 10), "%" PRIu64 " streams compared, %" PRIu64 " refused by both",
          compared, refused_by_both);
    return check_result();
}
