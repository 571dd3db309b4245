// Chunks and lanes. Generated code gives the interpreter's results for the programs of chunks.zf, and for coders of the
// library: at sizes around their chunks, on every distribution, whole, in ranges and damaged.
// Arguments: [--every SAMPLE] [--programs SAMPLE] [--warps] names of tables (all without). The sample of a block's damages
// (4:1: one in four, at turn 1) is tried, other ones in other blocks; the sample of programs likewise. With --warps
// accelerators alone, and only the programs whose chunks a warp can walk: the host's code does not depend on who does, nor do
// encoders, nor others' kernels, and a run without has them all.
#include <stdlib.h>
#include <string.h>

#include "tests/differential/diff_chunks.h"
#include "tests/differential/diff_encode.h"
#include "tests/differential/diff_file.h"
#include "tests/interp/externs.h"
#include "tests/support/sample.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum { WILD_EACH = 6 }; // one wild trial in so many is run where damages are sampled

typedef struct run {
    diff_machine machine;
    diff_program program;
    diff_tally tally;
    uint64_t columns, taken, refused, damaged, files;
    sample damages, programs;
    bool warps;
} run;

/// The block that the interpreter and the compiled encoders make of the data. False where they refuse it.
static bool encode(run *r, const zf_column *column, interp *in, const interp_stream *plain, const char *what,
                   interp_block *block) {
    zf_text message = {0};
    if (r->warps || diff_chunk_foreign(column)) {
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

static void run_case(run *r, diff_case *c, diff_chunk_trial *t) {
    char what[200];
    interp_options options = {.externs = interp_test_externs, .extern_count = interp_test_extern_count, .no_verify = true};
    interp *in = interp_create(&options);
    interp_block block;
    snprintf(what, sizeof what, "%s, %s, %llu rows", c->column->table->name,
             t->kind == DIFF_CHUNK_SIZED     ? data_shape_name(t->shape)
             : t->kind == DIFF_CHUNK_BY_HAND ? "by hand"
                                             : "pieces",
             (ull)t->rows);
    bool encoded = encode(r, c->column, in, diff_chunk_data(in, c->column, t), what, &block);
    while (!encoded && diff_chunk_tame(t)) encoded = encode(r, c->column, in, diff_chunk_data(in, c->column, t), what, &block);
    if (encoded && diff_chunk_settle(in, c->column, t, &block)) {
        r->taken++;
        c->thorough = diff_chunk_thorough(t);
        if (t->kind == DIFF_CHUNK_BY_HAND && !t->wild) c->undamaged = &block;        // one thing is wrong at most
        check_block(r, c, in, &block, t->seed, what, t->kind != DIFF_CHUNK_BY_HAND); // which only a liar may write
        c->thorough = false;
        c->undamaged = &block;
        for (unsigned d = 0; d < diff_chunk_damages(t, &block); d++) {
            interp_block damaged = block;
            if (!sample_has(r->damages, (unsigned)(d + r->taken))) continue;
            if (!diff_chunk_damage(in, c->column, t, d, &damaged)) continue;
            c->several = diff_chunk_several(t, d);
            check_block(r, c, in, &damaged, t->seed + d, what, false);
            c->several = false;
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
        // The encoder refuses what it cannot hold.
        bool refused = strstr(message.data, "ZF0602") != NULL;
        CHECK(refused, "%s, %s: a file: %s", column->table->name, data_shape_name(shape), message.data);
    }
    diff_file_free(&file);
    zf_text_free(&message);
    interp_destroy(in);
}

/// Whether a warp walks chunks of the column on the machine's GPU, or as many as are asked for make them.
static bool has_warps(diff_case *c) {
    static const uint8_t first[64]; // of all alternatives
    zf_error error = {0};
    CHECK(c->column->choice_count <= sizeof first, "%s has too many choices", c->column->table->name);
    const zf_decoder *decoder = diff_decoder_for(c, DIFF_GPU, first, c->column->choice_count, &error);
    CHECK(decoder != NULL || error.status == ZF_ERR_UNSUPPORTED, "%s: %s", c->column->table->name, error.message);
    bool some = false;
    for (uint32_t k = 0; decoder != NULL && k < decoder->plan->kernel_count; k++)
        some = some || (c->machine->warps > 0 ? zf_is_chosen(&decoder->plan->kernels[k].choice, ZF_CHOICE_WARPS)
                                              : decoder->plan->kernels[k].by_warp);
    return some;
}

static void run_column(run *r, const zf_column *column, unsigned number) {
    diff_case c = {.machine = &r->machine,
                   .spec = diff_program_spec(&r->program),
                   .column = column,
                   .exact_nans = true,
                   .gpu_alone = r->warps,
                   .tally = &r->tally};
    uint64_t before = r->taken;
    char place[64];
    if (r->warps && !has_warps(&c)) {
        diff_case_close(&c);
        return;
    }
    r->columns++;
    snprintf(place, sizeof place, "differential_chunks %s", column->table->name);
    diff_set_case(place);
    for (unsigned k = 0; k < DIFF_CHUNK_TRIALS; k++) {
        diff_chunk_trial t;
        if (!diff_chunk_trial_of(column, number, k, &t)) continue;
        if (t.wild && r->damages.every > 1 && (k + number + r->damages.turn) % WILD_EACH != 0) continue;
        run_case(r, &c, &t);
    }
    CHECK(r->taken > before, "%s took nothing at all", column->table->name);
    if (!r->warps && !diff_chunk_foreign(column)) run_file(r, column, (data_shape)(number % DATA_SHAPES));
    diff_case_close(&c);
}

int main(int count, char **names) {
    run *r = calloc(1, sizeof *r);
    zf_text message = {0};
    int first = 1;
    r->damages = r->programs = (sample){.every = 1};
    for (; count > first + 1; first += 2) {
        sample *read = strcmp(names[first], "--every") == 0      ? &r->damages
                       : strcmp(names[first], "--programs") == 0 ? &r->programs
                                                                 : NULL;
        if (read == NULL) break;
        if (!sample_read(names[first + 1], read)) return 2;
    }
    if (count > first && strcmp(names[first], "--warps") == 0) {
        r->warps = true;
        first++;
    }
    bool good = diff_machine_open(&r->machine, NULL, &message) &&
                diff_program_open_file(&r->machine, DIFF_CHUNKS_FILE, &r->program, &message);
    CHECK(good, "%s", message.data != NULL ? message.data : "chunks.zf has errors");
    if (!good) return check_result();
    unsigned number = 0;
    for (const zf_table *t = zf_spec_tables(diff_program_spec(&r->program)); t != NULL; t = t->next, number++) {
        bool wanted = count == first && sample_has(r->programs, number);
        for (int k = first; k < count; k++) wanted = wanted || strcmp(names[k], t->name) == 0;
        if (wanted) run_column(r, t->columns, number);
    }
    CHECK(r->columns > 0, "no program was run");
    printf("%llu programs; %llu blocks taken, %llu refused, %llu damaged; %llu files; %llu runs, %llu elements, %llu ranges; "
           "violations",
           (ull)r->columns, (ull)r->taken, (ull)r->refused, (ull)r->damaged, (ull)r->files, (ull)r->tally.runs,
           (ull)r->tally.elements, (ull)r->tally.ranges);
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
