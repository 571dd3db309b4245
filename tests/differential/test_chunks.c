// Chunks and lanes: the programs of chunks.zf, and coders of the library, at sizes around their chunks, on every distribution,
// whole, in ranges and damaged, are by generated code what the interpreter says.
// Arguments: names of tables (all without).
#include <stdlib.h>
#include <string.h>

#include "tests/differential/diff_case.h"
#include "tests/differential/diff_encode.h"
#include "tests/differential/diff_file.h"
#include "tests/differential/gen_program.h"
#include "tests/interp/data.h"
#include "tests/interp/externs.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

#ifdef ZF_SANITIZE
enum { STEP = 3, DAMAGES = 2 }; ///< one size in so many; of each block
#else
enum { STEP = 1, DAMAGES = 3 };
#endif

typedef struct run {
    diff_machine machine;
    diff_program program;
    diff_tally tally;
    uint64_t taken, refused, damaged, files;
} run;

/// Whether something below a choice is encoded by a C function, which only the interpreter has here.
static bool is_foreign(const zf_codec_choice *choice) {
    bool found = false;
    for (uint32_t a = 0; choice != NULL && a < choice->count; a++) {
        const zf_codec_node *node = choice->alternatives[a];
        found = found || node->inst->encode_extern != NULL;
        for (uint32_t s = 0; s < node->inst->stream_count; s++) found = found || is_foreign(node->streams[s]);
    }
    return found;
}

static uint64_t chunk_of(const zf_codec_choice *choice) {
    const zf_codec_node *node = choice->alternatives[0];
    if (node->inst->pattern == ZF_NON_PARALLEL) return node->chunk_size;
    uint64_t size = 0;
    for (uint32_t s = 0; s < node->inst->stream_count && size == 0; s++)
        if (node->streams[s] != NULL) size = chunk_of(node->streams[s]);
    return size;
}

/// The block that the interpreter and the compiled encoders make of the data. False where they refuse it.
static bool encode(run *r, const zf_column *column, interp *in, const interp_stream *plain, const char *what,
                   interp_block *block) {
    zf_text message = {0};
    if (is_foreign(column->codec)) {
        interp_tree *tree;
        interp_report report;
        if (interp_encode(in, column, plain, &tree, &report) != INTERP_OK) return false;
        return interp_flatten(in, column, tree, block) == INTERP_OK;
    }
    diff_encoded encoded = diff_check_encode(&r->program, column, in, plain, block, &message);
    CHECK(encoded == DIFF_ENCODED || encoded == DIFF_REFUSED, "%s: encoding: %s", what, message.data != NULL ? message.data : "");
    zf_text_free(&message);
    return encoded == DIFF_ENCODED;
}

static void check_block(run *r, diff_case *c, interp *in, const interp_block *block, uint64_t seed, const char *what,
                        bool valid) {
    zf_text message = {0};
    diff_verdict verdict = diff_check_block(c, in, block, seed, &message);
    bool good = valid ? verdict == DIFF_SAME_BYTES : verdict != DIFF_DISAGREE && verdict != DIFF_UNSUPPORTED;
    CHECK(good, "%s: %s: %s", what, diff_verdict_name(verdict), message.data != NULL ? message.data : "");
    r->damaged += !valid;
    zf_text_free(&message);
}

static void run_case(run *r, diff_case *c, data_shape shape, uint64_t rows) {
    char what[200];
    interp_options options = {.externs = interp_test_externs, .extern_count = interp_test_extern_count, .no_verify = true};
    interp *in = interp_create(&options);
    uint64_t seed = rows * 31 + shape;
    interp_stream *plain = data_stream(in, c->column->type, shape, seed, rows);
    interp_block block;
    snprintf(what, sizeof what, "%s, %s, %llu rows", c->column->table->name, data_shape_name(shape), (ull)rows);
    if (encode(r, c->column, in, plain, what, &block)) {
        r->taken++;
        check_block(r, c, in, &block, seed, what, true);
        c->undamaged = &block;
        for (unsigned d = 0; d < DAMAGES; d++) {
            interp_block damaged = block;
            gen_damage(in, seed * DAMAGES + d, &damaged);
            check_block(r, c, in, &damaged, seed + d, what, false);
        }
        c->undamaged = NULL;
    } else {
        r->refused++;
    }
    interp_destroy(in);
}

/// Three blocks, by the public interface.
static void run_file(run *r, const zf_column *column, data_shape shape) {
    interp_options options = {.no_verify = true};
    interp *in = interp_create(&options);
    interp_stream *plain = data_stream(in, column->type, shape, 7, 2 * 4096 + 1);
    diff_file file;
    zf_text message = {0};
    if (diff_file_run(&r->program, &r->machine, 1, column->table->name, column->name, plain, 4096, &file, &message)) {
        r->files++;
        CHECK(diff_file_same(&file, plain), "%s: the file gives other elements", column->table->name);
    } else {
        CHECK(strstr(message.data, "ZF0602") != NULL, "%s, %s: a file: %s", column->table->name, data_shape_name(shape),
              message.data);
    }
    diff_file_free(&file);
    zf_text_free(&message);
    interp_destroy(in);
}

static void run_column(run *r, const zf_column *column, unsigned number) {
    diff_case c = {
        .machine = &r->machine, .spec = diff_program_spec(&r->program), .column = column, .exact_nans = true, .tally = &r->tally};
    uint64_t chunk = chunk_of(column->codec), before = r->taken, largest = chunk < 1500 ? chunk : 1500;
    if (chunk >= 1500 && chunk <= 5000) largest = chunk;
    const uint64_t sizes[] = {0, 1, largest - 1, largest, largest + 1, 3 * largest + 7, 33, 700, 2500};
    char place[64];
    snprintf(place, sizeof place, "differential_chunks %s", column->table->name);
    diff_set_case(place);
    for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        if ((number + k) % STEP != 0 || sizes[k] > 6000) continue;
        run_case(r, &c, (data_shape)((number * 5 + k * 3) % DATA_SHAPES), sizes[k]);
        if (sizes[k] > 1) run_case(r, &c, (data_shape)((number + k) % 2 == 0 ? DATA_ZIPF : DATA_UNIFORM), sizes[k]);
    }
    CHECK(r->taken > before, "%s took nothing at all", column->table->name);
    if (!is_foreign(column->codec)) run_file(r, column, (data_shape)(number % DATA_SHAPES));
    diff_case_close(&c);
}

int main(int count, char **names) {
    run *r = calloc(1, sizeof *r);
    zf_text message = {0};
    bool good = diff_machine_open(&r->machine, NULL, &message) &&
                diff_program_open_file(&r->machine, ZF_SOURCE_DIR "/tests/differential/chunks.zf", &r->program, &message);
    CHECK(good, "%s", message.data != NULL ? message.data : "chunks.zf has errors");
    if (!good) return check_result();
    unsigned number = 0;
    for (const zf_table *t = zf_spec_tables(diff_program_spec(&r->program)); t != NULL; t = t->next, number++) {
        bool wanted = count < 2;
        for (int k = 1; k < count; k++) wanted = wanted || strcmp(names[k], t->name) == 0;
        if (wanted) run_column(r, t->columns, number);
    }
    printf("%llu blocks taken, %llu refused, %llu damaged; %llu files; %llu runs, %llu elements, %llu ranges; violations",
           (ull)r->taken, (ull)r->refused, (ull)r->damaged, (ull)r->files, (ull)r->tally.runs, (ull)r->tally.elements,
           (ull)r->tally.ranges);
    for (unsigned v = 0; v < 32; v++)
        if (r->tally.violations[v] > 0) printf(" V%02u: %llu", v, (ull)r->tally.violations[v]);
    printf("; same number %llu, same place %llu of %llu\n", (ull)r->tally.same_number, (ull)r->tally.same_place,
           (ull)r->tally.placed);
    diff_program_close(&r->program);
    diff_machine_close(&r->machine);
    zf_text_free(&message);
    free(r);
    return check_result();
}
