#include "tests/differential/faults_search.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/differential/diff_chunks.h"
#include "tests/differential/diff_text.h"
#include "tests/differential/diff_trials.h"
#include "tests/differential/diff_wild.h"
#include "tests/interp/externs.h"

enum { EACH = 40, FIRST = 1000, THOROUGH = 3 }; // damages of a block; of seeds, behind those of the trials; compared thoroughly

struct fault_search {
    const zf_column *column;
    unsigned number;
    bool chunks;
    interp *in;
    bool has_base;
    diff_trial trial;
    diff_wild wild; ///< valid, for EACH - 1 that are damaged
    interp_block block;
    zf_text said;
    unsigned made, compared;
};

fault_search *fault_search_open(const zf_column *column, unsigned number, bool chunks) {
    fault_search *s = calloc(1, sizeof *s);
    if (s == NULL) abort();
    s->column = column;
    s->number = number;
    s->chunks = chunks;
    return s;
}

void fault_search_close(fault_search *search) {
    if (search->in != NULL) interp_destroy(search->in);
    zf_text_free(&search->said);
    free(search);
}

static bool flat(fault_search *s, const interp_stream *plain, interp_block *out) {
    interp_tree *tree;
    interp_report report;
    if (interp_encode(s->in, s->column, plain, &tree, &report) != INTERP_OK) return false;
    if (interp_flatten(s->in, s->column, tree, out) != INTERP_OK) return false;
    if (!s->chunks) out->characters = diff_characters(plain);
    return true;
}

static bool chunk_base(fault_search *s, uint64_t seed, interp_block *block) {
    diff_chunk_trial t;
    diff_chunk_wild(s->column, s->number, seed, &t);
    bool taken = flat(s, diff_chunk_data(s->in, s->column, &t), block);
    while (!taken && diff_chunk_tame(&t)) taken = flat(s, diff_chunk_data(s->in, s->column, &t), block);
    s->trial = (diff_trial){.shape = t.shape, .rows = t.rows, .seed = t.seed, .wild = true};
    return taken && diff_chunk_settle(s->in, s->column, &t, block);
}

static bool column_base(fault_search *s, uint64_t seed, interp_block *block) {
    diff_trial *t = &s->trial;
    diff_trial_wild(s->column, s->number, seed, t);
    bool taken = flat(s, diff_trial_data(s->in, t, s->column->type), block);
    for (unsigned m = 0; !taken && diff_trial_milder(t, s->column->type, m); m++)
        taken = flat(s, diff_trial_data(s->in, t, s->column->type), block);
    return taken && diff_trial_settle(s->in, s->column, t, block);
}

static bool is_damaged(const fault_search *s) { return (s->made - 1) % EACH > 0; }

const interp_block *fault_search_next(fault_search *s) {
    zf_text_free(&s->said);
    s->said = (zf_text){0};
    if (s->made++ % EACH == 0) {
        interp_options options = {.externs = interp_test_externs,
                                  .extern_count = interp_test_extern_count,
                                  .no_verify = true,
                                  .max_elements = FAULT_SEARCH_ELEMENTS};
        uint64_t seed = FIRST + s->made / EACH;
        if (s->in != NULL) interp_destroy(s->in);
        s->in = interp_create(&options);
        s->has_base = s->chunks ? chunk_base(s, seed, &s->block) : column_base(s, seed, &s->block);
        if (s->has_base) diff_wild_open(s->in, s->column, &s->block, &s->wild);
    }
    if (!s->has_base) return NULL;
    s->block = s->wild.block;
    bool made = !is_damaged(s) || diff_wild_damage(&s->wild, fault_search_seed(s), &s->block, &s->said);
    return made ? &s->block : NULL;
}

bool fault_search_expect(fault_search *s, diff_case *c, diff_expected *out) {
    interp_stream *rows = NULL;
    *out = (diff_expected){.block = s->block};
    interp_status status = interp_decode_stored(s->in, s->column, &s->block, &rows, &out->report);
    if (status != INTERP_OK && status != INTERP_VIOLATION) return false;
    out->wanted = status == INTERP_OK ? rows : NULL;
    if (status == INTERP_OK) out->block.characters = diff_characters(rows);
    c->undamaged = is_damaged(s) ? &s->wild.block : NULL;
    c->several = is_damaged(s) && diff_wild_places(fault_search_seed(s)) > 1;
    c->thorough = (s->made - 1) % EACH < THOROUGH;
    c->full_groups = !s->chunks && diff_trial_full_groups(s->column, &s->trial);
    c->beside = c->neighbour = false;
    c->demand = DIFF_ANY;
    s->compared++;
    return true;
}

uint64_t fault_search_seed(const fault_search *s) { return s->trial.seed + FIRST + s->made; }

unsigned fault_search_made(const fault_search *s) { return s->made; }

unsigned fault_search_compared(const fault_search *s) { return s->compared; }

void fault_search_say(const fault_search *s, char *to, size_t room) {
    static const char *const packings[] = {"as encoded", "full", "narrower"};
    snprintf(to, room, "block %u, kind %u %s %llu rows, packed %s:%s", s->made, (unsigned)s->trial.kind,
             data_shape_name(s->trial.shape), (unsigned long long)s->trial.rows, packings[diff_wild_packing(s->trial.seed)],
             s->said.data != NULL ? s->said.data : " no damage");
}
