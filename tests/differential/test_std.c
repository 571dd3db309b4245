// Every algorithm of the library, with every type that it takes, nests of them, and strings over a program that reads `out`: at
// sizes around every edge, on every distribution, what is encoded and decoded by generated code at -O0 and -O3 is what the
// interpreter says. Arguments: part, parts (which of the columns to run), sample (3:1: one column in three, with each algorithm,
// at turn 1; 1: all), the turn of the samples of trials and damages; then names of columns to run besides.
#include <stdlib.h>
#include <string.h>

#include "tests/differential/diff_choose.h"
#include "tests/differential/diff_columns.h"
#include "tests/differential/diff_file.h"
#include "tests/differential/diff_text.h"
#include "tests/differential/diff_trials.h"
#include "tests/interp/interp_internal.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum { NESTS = 24 };

// Elements of an edge, rows of a trial. Trials hold far fewer elements. A damaged count above this is no fact about the data, and
// would keep the interpreter busy for minutes where sanitizers watch each element's violation.
enum { MOST_ELEMENTS = 1 << 22, MOST_ROWS = 1 << 16 };

// One damage in so many is tried, of those that are made to measure; and all random trials but one in so many. With sanitizers
// everything takes longer. Trials of stages and deep ones have most of the damages, and of strings most of the characters.
enum { STAGES_EACH = 3 };
#ifdef ZF_SANITIZE
enum {
    DAMAGES_EACH = 6,
    DEEP_DAMAGES_EACH = 12,
    TRIALS_BUT = 2,
    SPECIAL_EACH = 4,
    WILD_EACH = 40,
    SWEPT_BUT = 3,
    SWEPT_EACH = 48
};
#else
enum {
    DAMAGES_EACH = 3,
    DEEP_DAMAGES_EACH = 6,
    TRIALS_BUT = 2,
    SPECIAL_EACH = 3,
    WILD_EACH = 20,
    SWEPT_BUT = 3,
    SWEPT_EACH = 36
};
#endif

// ---- A column -------------------------------------------------------------------------------------------------

typedef struct run {
    diff_machine machine;
    diff_program program;
    diff_tally tally;
    uint64_t encoded, refused, other, damaged, files;
    unsigned turn; // of the samples of trials and damages
} run;

// Which damages of a trial are tried: those whose number is 0 modulo `each`, behind the column's number and `turn`. Where the
// trial itself is of a sample, the inner sample turns when the outer one has been round.
static unsigned damages_each(const run *r, const diff_trial *t, unsigned *turn) {
    bool random = t->kind == DIFF_RANDOM && !t->wild;
    *turn = t->kind == DIFF_SWEPT ? r->turn / SWEPT_BUT : t->kind == DIFF_STAGES && !t->wild ? r->turn / STAGES_EACH : r->turn;
    if (t->kind == DIFF_SWEPT) return SWEPT_EACH;
    if (t->kind == DIFF_DEEP && !t->wild) return DEEP_DAMAGES_EACH;
    return random ? 1 : DAMAGES_EACH;
}

// Damages the block of a trial in one place at a time: the interpreter and all code report the same.
static void check_damaged(run *r, diff_case *c, unsigned number, unsigned k, const diff_trial *t, interp *in,
                          const interp_block *block) {
    unsigned turn, each = damages_each(r, t, &turn);
    c->undamaged = block;
    for (unsigned d = 0; d < DIFF_DAMAGES; d++) {
        interp_block damaged = *block;
        zf_text message = {0};
        if ((number + d + turn) % each != 0) continue;
        if (!diff_trial_damage(in, c->column, number, k, t, d, &damaged)) continue;
        c->several = diff_trial_several(t, d);
        c->beside = diff_trial_beside(t, d);
        c->demand = diff_trial_demand(t, d);
        c->neighbour = diff_trial_neighbour(t, d, &c->guilty, &c->innocent);
        diff_verdict verdict = diff_check_block(c, in, &damaged, number * 1000 + k, &message);
        CHECK(verdict != DIFF_DISAGREE && verdict != DIFF_UNSUPPORTED, "%s = %s, trial %u, damage %u: %s", c->column->name,
              c->column->codec_text, k, d, message.data != NULL ? message.data : "");
        r->damaged++;
        zf_text_free(&message);
    }
    c->undamaged = NULL;
    c->several = c->beside = c->neighbour = false;
    c->demand = DIFF_ANY;
}

static bool check_trial(run *r, diff_case *c, unsigned number, unsigned k, const diff_trial *t) {
    interp_options options = {.no_verify = true, .max_elements = MOST_ELEMENTS};
    interp *in = interp_create(&options);
    interp_stream *plain = diff_trial_data(in, t, c->column->type);
    interp_block block;
    zf_text message = {0};
    diff_encoded encoded = diff_check_encode(&r->program, c->column, in, plain, &block, &message);
    CHECK(encoded != DIFF_ENCODE_DIFFERS && encoded != DIFF_ENCODE_LIMITED, "%s = %s, %s, %llu: encoding: %s", c->column->name,
          c->column->codec_text, data_shape_name(t->shape), (ull)t->rows,
          message.data != NULL ? message.data : "the interpreter gave up");
    r->refused += encoded == DIFF_REFUSED;
    r->other += encoded == DIFF_OTHER_BRANCH;
    bool taken = encoded == DIFF_ENCODED || encoded == DIFF_OTHER_BRANCH;
    block.characters = diff_characters(plain);
    r->encoded += taken;
    if (taken && diff_trial_settle(in, c->column, t, &block)) {
        c->thorough = diff_trial_thorough(t);
        c->full_groups = diff_trial_full_groups(c->column, t);
        diff_verdict verdict = diff_check_block(c, in, &block, t->seed, &message);
        CHECK(verdict == DIFF_SAME_BYTES, "%s = %s, trial %u, %s, %llu: %s %s", c->column->name, c->column->codec_text, k,
              data_shape_name(t->shape), (ull)t->rows, diff_verdict_name(verdict), message.data != NULL ? message.data : "");
        check_damaged(r, c, number, k, t, in, &block);
        c->thorough = false;
    }
    zf_text_free(&message);
    interp_destroy(in);
    return encoded != DIFF_REFUSED;
}

// Data that an algorithm refuses are tried as others, and as one value.
static void check_case(run *r, diff_case *c, unsigned number, unsigned k, const diff_trial *t) {
    diff_trial milder = *t;
    bool taken = check_trial(r, c, number, k, t);
    for (unsigned m = 0; !taken && diff_trial_milder(&milder, c->column->type, m); m++)
        taken = check_trial(r, c, number, k, &milder);
}

// Several blocks, by the public interface: the last one full, or of one row.
static void check_file(run *r, const zf_column *column, unsigned number) {
    interp_options options = {.no_verify = true};
    interp *in = interp_create(&options);
    data_shape shape = (data_shape)(number * 7 % DATA_SHAPES);
    interp_stream *plain = data_stream(in, column->type, shape, number, number % 3 == 0 ? 2 * 4096 : 2 * 4096 + 1);
    interp_tree *tree;
    interp_report report;
    diff_file file;
    zf_text message = {0};
    bool taken = true; // a whole column may be refused where its blocks are not, so only blocks are asked
    for (uint64_t from = 0; from < interp_stream_count(plain) && taken; from += 4096) {
        interp_stream *part = interp_stream_new(in, interp_stream_type(plain));
        for (uint64_t k = from; k < from + 4096 && k < interp_stream_count(plain); k++)
            interp_push_value(part, interp_stream_get(plain, k));
        taken = interp_encode(in, column, part, &tree, &report) == INTERP_OK;
    }
    bool good = diff_file_run(&r->program, &r->machine, number % DIFF_LEVELS, column->table->name, column->name, plain, 4096,
                              &file, &message);
    CHECK(good == taken, "%s, %s: a file: %s where the interpreter says %s", column->codec_text, data_shape_name(shape),
          good ? "taken" : message.data, taken ? "taken" : report.message);
    if (good) {
        r->files++;
        CHECK(diff_file_same(&file, plain), "%s, %s: the file gives other bytes", column->codec_text, data_shape_name(shape));
    }
    diff_file_free(&file);
    zf_text_free(&message);
    interp_destroy(in);
}

// No trial of a column asks for more rows than the tests have the time for.
static void check_sizes(const zf_column *column, unsigned number) {
    diff_trial t;
    for (unsigned k = 0; k < DIFF_TRIALS; k++)
        CHECK(!diff_trial_of(column, number, k, &t) || t.rows <= MOST_ROWS, "%s = %s, trial %u: %llu rows", column->name,
              column->codec_text, k, (ull)t.rows);
}

static void run_column(run *r, const zf_column *column, unsigned number) {
    diff_case wide = {.machine = &r->machine,
                      .spec = diff_program_spec(&r->program),
                      .column = column,
                      .exact_nans = true,
                      .tally = &r->tally},
              narrow = wide;
    uint64_t before = r->encoded;
    char place[64];
    narrow.states = (zf_decoder_states){.seek_interval = 256, .unfused = number % 2 == 0 ? "all" : NULL};
    snprintf(place, sizeof place, "differential_std 1 1 1 %u %s", r->turn, column->table->name);
    diff_set_case(place);
    for (unsigned k = 0; k < DIFF_TRIALS; k++) {
        // Where nothing is ordered there are no seek states, and it is the same code.
        diff_trial t;
        if (!diff_trial_of(column, number, k, &t)) continue;
        if (t.kind == DIFF_RANDOM && !t.wild && (number + k + 1 + r->turn) % TRIALS_BUT == 0) continue;
        if (t.wild && (number + k + r->turn) % WILD_EACH != 0) continue;
        if (t.kind == DIFF_STAGES && !t.wild && (number + k + r->turn) % STAGES_EACH != 0) continue;
        if (t.kind == DIFF_SWEPT && !t.wild && (number + k + r->turn) % SWEPT_BUT != 0) continue;
        diff_case *c = t.narrow && diff_is_ordered(&wide) ? &narrow : &wide;
        c->tuples = (t.kind == DIFF_RANDOM || t.kind == DIFF_SWEPT || t.wild) && (number + k) % SPECIAL_EACH != 0
                        ? 1
                        : 0; // compiling takes most of the time
        check_case(r, c, number, k, &t);
    }
    diff_case_close(&wide);
    diff_case_close(&narrow);
    CHECK(r->encoded > before, "%s took nothing at all", column->codec_text);
    check_file(r, column, number);
}

int main(int count, char **arguments) {
    unsigned part = count > 2 ? (unsigned)strtoul(arguments[1], NULL, 10) : 0;
    unsigned parts = count > 2 ? (unsigned)strtoul(arguments[2], NULL, 10) : 1;
    sample columns = {.every = 1};
    if (parts == 0 || (count > 3 && !sample_read(arguments[3], &columns))) return 2;
    run *r = calloc(1, sizeof *r);
    r->turn = count > 4 ? (unsigned)strtoul(arguments[4], NULL, 10) : 0;
    zf_text text = {0}, message = {0};
    diff_columns_families(&text);
    CHECK(diff_columns_tpch(&text) == 61, "columns in tpch.zf");
    diff_columns_nests(NESTS, &text);
    diff_columns_reading(&text);
    bool good =
        diff_machine_open(&r->machine, NULL, &message) && diff_program_open(&r->machine, text.data, &r->program, &message);
    CHECK(good, "%s\n%s", message.data != NULL ? message.data : "the program has errors", text.data);
    if (!good) return check_result();
    unsigned number = 0, chosen = 0;
    for (const zf_table *table = zf_spec_tables(diff_program_spec(&r->program)); table != NULL; table = table->next, number++) {
        check_sizes(table->columns, number);
        bool wanted = diff_columns_sampled(number, columns) && chosen++ % parts == part;
        for (int k = 5; k < count; k++) wanted = wanted || strcmp(arguments[k], table->name) == 0;
        if (wanted) run_column(r, table->columns, number);
    }
    printf("%llu blocks encoded, %llu refused, %llu with other branches, %llu damaged; %llu files; %llu runs, %llu elements\n",
           (ull)r->encoded, (ull)r->refused, (ull)r->other, (ull)r->damaged, (ull)r->files, (ull)r->tally.runs,
           (ull)r->tally.elements);
    if (r->machine.choosing != NULL) {
        zf_text seen = {0};
        diff_choosing_list(r->machine.choosing, &seen);
        if (seen.data != NULL) printf("%s", seen.data);
        zf_text_free(&seen);
    }
    diff_program_close(&r->program);
    diff_machine_close(&r->machine);
    zf_text_free(&text);
    free(r);
    return check_result();
}
