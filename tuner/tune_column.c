// Tunes a column: its kernels are searched together. In a round each search names a choice, one compilation makes all of them,
// and every kernel is timed alone.
#include <stdlib.h>
#include <string.h>

#include "compiler/tuned/kernel_shape.h"
#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"
#include "tuner/tuner.h"

static const char no_more_time[] = "no more time";

static const uint32_t NO_LEADER = UINT32_MAX;

/// One kernel's turn.
typedef struct kernel_turn {
    size_t kernel;   ///< of the record
    bool searched;   ///< false: it stays as `best` has it, or is as its leader is
    uint32_t leader; ///< the first kernel of the plan that has its shape; NO_LEADER: it is that itself
    zf_search search;
    zf_tune_every every;   ///< exhaustive: where it is
    bool asks;             ///< in this round
    bool late;             ///< it would, but the time is over
    zf_search_point point; ///< what it asks for
    zf_choice best;
    zf_choice_space choices;
} kernel_turn;

typedef struct tuner {
    const zf_tune_options *options;
    zf_tune_record *record;
    zf_tune_block block;
    kernel_turn *turns; ///< a kernel of the plan each, but those past ZF_CHOICES_KERNELS, for which nothing can be chosen
    uint32_t turn_count;
    bool doubted; ///< other columns' choices are among `best`, and have not run in this column
    double begun; ///< of the column
} tuner;

// ---- Rounds ---------------------------------------------------------------------------------------------------

static zf_tune_kernel *kernel_of(const tuner *t, const kernel_turn *turn) { return &t->record->kernels[turn->kernel]; }

static bool is_legal(const void *user, const zf_search_point *point) {
    const kernel_turn *turn = user;
    zf_choice choice = zf_tune_choice(&turn->search.space, point);
    return zf_choice_space_allows(&turn->choices, &choice, NULL);
}

static bool is_late(const tuner *t) { return t->options->seconds > 0 && zf_clock_seconds() - t->begun >= t->options->seconds; }

static bool ask(tuner *t, kernel_turn *turn) {
    if (!turn->searched) return false;
    bool more = t->options->exhaustive ? zf_tune_every_next(&turn->every, kernel_of(t, turn), &turn->point)
                                       : zf_search_next(&turn->search, &turn->point);
    turn->late = more && kernel_of(t, turn)->count > 0 && is_late(t);
    return more && !turn->late;
}

/// Sets the choices of all kernels: the searches' next ones (only that of kernel `only`, if it is given), and the best so far
/// of the others. The first measurement is by default, so that the rows for comparison do not depend on other columns.
static void choose(const tuner *t, uint32_t only, zf_choices *out) {
    *out = (zf_choices){0};
    for (uint32_t k = 0; k < t->turn_count; k++) {
        uint32_t leader = t->turns[k].leader == NO_LEADER ? k : t->turns[k].leader;
        const kernel_turn *turn = &t->turns[leader];
        bool asks = turn->asks && (only == UINT32_MAX || only == leader);
        zf_choice choice = {0};
        if (asks)
            choice = zf_tune_choice(&turn->search.space, &turn->point);
        else if (t->block.has_expected)
            choice = turn->best;
        if (choice.chosen == 0 || !zf_choice_space_allows(&t->turns[k].choices, &choice, NULL)) continue;
        out->kernels[out->count] = k;
        out->of[out->count++] = choice;
    }
}

enum { AHEAD_MOST = 64, AHEAD_EACH = 2 }; // combinations that are compiled side by side: so many for each thread

/// Compiles the next combinations in parallel, where every combination of one kernel is measured. Repeated measurements come in
/// between and are compiled by themselves.
static void get_ahead(tuner *t, uint32_t asking) {
    unsigned threads = zf_context_threads(t->options->context, 0);
    if (!t->options->exhaustive || !t->block.has_expected || asking != 1 || threads < 2 || zf_tune_block_is_ahead(&t->block))
        return;
    uint32_t k = 0, most = threads < AHEAD_MOST / AHEAD_EACH ? AHEAD_EACH * threads : AHEAD_MOST;
    while (!t->turns[k].asks) k++;
    kernel_turn *turn = &t->turns[k];
    zf_search_point points[AHEAD_MOST] = {turn->point};
    uint32_t count = 1 + zf_tune_every_coming(&turn->every, kernel_of(t, turn), points + 1, most - 1);
    zf_choices *choices = calloc(count, sizeof *choices);
    for (uint32_t c = count; choices != NULL && c-- > 0;) { // the last is what it asks for now
        turn->point = points[c];
        choose(t, UINT32_MAX, &choices[c]);
    }
    if (choices != NULL) zf_tune_block_get_ahead(&t->block, choices, count);
    free(choices);
}

static void report_probe(const tuner *t, const kernel_turn *turn, const zf_search_reading *reading, const char *why) {
    if (t->options->progress == NULL) return;
    zf_text text = {0};
    zf_tune_point_text(&turn->search.space, &turn->point, &text);
    zf_tuner_probe probe = {ZF_INIT(zf_tuner_probe),
                            .column = t->block.name,
                            .kernel = kernel_of(t, turn)->number,
                            .choice = text.data != NULL ? text.data : "",
                            .ran = reading->ran,
                            .seconds = reading->seconds,
                            .registers = reading->registers,
                            .blocks = reading->blocks,
                            .reason = why};
    t->options->progress(t->options->progress_user, &probe);
    zf_text_free(&text);
}

/// Reports the times of a kernel and of those that it leads, added up, to its search. NULL: it cannot run.
static zf_status tell(tuner *t, uint32_t k, const zf_kernel_time *times, zf_error *error) {
    kernel_turn *turn = &t->turns[k];
    zf_search_reading reading = {0};
    if (times != NULL) {
        const zf_kernel_facts *facts = &times[k].facts;
        double seconds = times[k].seconds;
        for (uint32_t other = k + 1; other < t->turn_count; other++)
            if (t->turns[other].leader == k) seconds += times[other].seconds;
        reading = (zf_search_reading){.ran = times[k].seconds > 0,
                                      .seconds = seconds,
                                      .registers = facts->registers,
                                      .shared = facts->shared,
                                      .local = facts->local,
                                      .blocks = facts->blocks,
                                      .groups = times[k].groups};
    }
    const char *why = t->options->exhaustive ? "each" : zf_search_reason(&turn->search);
    report_probe(t, turn, &reading, why);
    ZF_TRY(zf_tune_note(kernel_of(t, turn), &turn->point, &reading, why, error));
    if (t->options->exhaustive) return ZF_OK;
    zf_search_report(&turn->search, &reading, zf_clock_seconds() - t->begun);
    zf_search_result result = zf_search_result_of(&turn->search);
    turn->best = zf_tune_choice(&turn->search.space, &result.best);
    return ZF_OK;
}

/// Measures the choices of a round. The best choice of another column may not run here: then kernels shared with it get the
/// default.
static zf_status time_all(tuner *t, zf_kernel_time *times, zf_error *error) {
    zf_choices choices;
    bool first = !t->block.has_expected;
    choose(t, UINT32_MAX, &choices);
    zf_status status = zf_tune_block_time(&t->block, &choices, times, error);
    if (status != ZF_OK && t->doubted && zf_tune_block_may_go_on(&t->block, error)) {
        for (uint32_t k = 0; k < t->turn_count; k++) {
            if (!t->turns[k].searched && t->turns[k].leader == NO_LEADER) t->turns[k].best = (zf_choice){0};
        }
        t->doubted = false;
        choose(t, UINT32_MAX, &choices);
        status = zf_tune_block_time(&t->block, &choices, times, error);
    }
    if (status == ZF_OK && !first) t->doubted = false;
    return status;
}

/// Returns ZF_OK where a failure means that only the choices cannot run; else it is the column's. After a refusal the driver may
/// refuse everything: measuring the default shows that.
static zf_status judge(tuner *t, const zf_error *failure, zf_kernel_time *times, zf_error *error) {
    if (!zf_tune_block_may_go_on(&t->block, failure)) {
        *error = *failure;
        return failure->status;
    }
    if (!zf_error_is(failure, ZF_E_DEVICE_CALL)) return ZF_OK;
    return zf_tune_block_time(&t->block, &(zf_choices){0}, times, error);
}

/// Measures what all ask for; where that cannot run, what each asks for by itself.
static zf_status round_of(tuner *t, uint32_t asking, zf_kernel_time *times, zf_error *error) {
    zf_choices choices;
    zf_error failure = {0};
    bool can = time_all(t, times, &failure) == ZF_OK;
    if (!can) ZF_TRY(judge(t, &failure, times, error));
    for (uint32_t k = 0; k < t->turn_count; k++) {
        kernel_turn *turn = &t->turns[k];
        if (!turn->asks) continue;
        bool alone = can;
        if (!can && asking > 1) {
            choose(t, k, &choices);
            alone = zf_tune_block_time(&t->block, &choices, times, &failure) == ZF_OK;
            if (!alone) ZF_TRY(judge(t, &failure, times, error));
        }
        ZF_TRY(tell(t, k, alone ? times : NULL, error));
    }
    return ZF_OK;
}

static zf_status rounds(tuner *t, zf_error *error) {
    zf_kernel_time *times = calloc(t->block.plan->kernel_count + 1u, sizeof *times);
    zf_status status = times != NULL ? ZF_OK : zf_raise_no_memory(error);
    while (status == ZF_OK) {
        uint32_t asking = 0;
        for (uint32_t k = 0; k < t->turn_count; k++) asking += t->turns[k].asks = ask(t, &t->turns[k]);
        if (asking == 0) break;
        get_ahead(t, asking);
        status = round_of(t, asking, times, error);
    }
    free(times);
    return status;
}

// ---- A vector of alternatives ---------------------------------------------------------------------------------

/// Whether a kernel of that shape was tuned already.
static const zf_tune_kernel *tuned_before(const tuner *t, const char *shape) {
    for (size_t k = 0; k < t->record->count; k++) {
        const zf_tune_kernel *kernel = &t->record->kernels[k];
        if (strcmp(kernel->shape, shape) == 0 && kernel->result.found) return kernel;
    }
    return NULL;
}

/// The kernel before this one that is searched and has the same shape, by which decodes look choices up.
static uint32_t leader_of(const tuner *t, uint32_t k, const char *shape) {
    for (uint32_t first = 0; first < k; first++) {
        if (t->turns[first].searched && strcmp(kernel_of(t, &t->turns[first])->shape, shape) == 0) return first;
    }
    return NO_LEADER;
}

/// Returns the least time for its bytes; 0: not known.
static double least_seconds(const tuner *t, uint32_t k) {
    double rate = t->record->copy_rate;
    return rate > 0 ? zf_tune_block_bytes(&t->block, &t->block.plan->kernels[k]) / rate : 0;
}

static zf_status begin_turn(tuner *t, uint32_t k, char *shape, zf_error *error) {
    const zf_tune_options *o = t->options;
    kernel_turn *turn = &t->turns[k];
    turn->choices = zf_codegen_space(t->block.plan, &t->block.plan->kernels[k]);
    turn->leader = leader_of(t, k, shape);
    if (turn->leader != NO_LEADER) {
        kernel_turn *leader = &t->turns[turn->leader];
        leader->search.space.least_seconds += least_seconds(t, k);
        kernel_of(t, leader)->space.least_seconds = leader->search.space.least_seconds;
        free(shape);
        return ZF_OK;
    }
    const zf_tune_kernel *before = tuned_before(t, shape);
    if (before != NULL) {
        zf_choice choice = zf_tune_choice(&before->space, &before->result.best);
        if (zf_choice_space_allows(&turn->choices, &choice, NULL)) turn->best = choice;
        t->doubted |= turn->best.chosen != 0;
        free(shape);
        return ZF_OK;
    }
    char *column = strdup(t->block.name);
    zf_tune_kernel *kernel = column != NULL ? zf_tune_record_add(t->record, error) : NULL;
    if (kernel == NULL) {
        free(column);
        free(shape);
        return zf_raise_no_memory(error);
    }
    kernel->shape = shape;
    kernel->column = column;
    kernel->number = k;
    zf_search_space space = {.legal = is_legal, .user = turn};
    zf_tune_axes(&turn->choices, &space);
    const zf_multiprocessor_facts *p = &o->processor;
    space.machine = (zf_search_machine){p->registers, p->threads, p->blocks, p->shared, p->warp, p->count};
    space.least_seconds = least_seconds(t, k);
    const zf_tuned_kernel *near = zf_tuned_nearest(zf_tuned_find(o->known, o->info.description), shape);
    space.has_known = near != NULL && near->choice.chosen != 0 && zf_tune_point(&space, &near->choice, &space.known);
    double spent = zf_clock_seconds() - t->begun;
    zf_search_begin(&turn->search, &space, &(zf_search_options){.probes = o->probes, .seconds = o->seconds, .spent = spent});
    turn->kernel = t->record->count - 1;
    turn->searched = true;
    kernel->space = space;
    return ZF_OK;
}

static zf_status begin_turns(tuner *t, zf_error *error) {
    t->doubted = false;
    t->turns = calloc(ZF_CHOICES_KERNELS, sizeof *t->turns);
    if (t->turns == NULL) return zf_raise_no_memory(error);
    uint32_t kernels = t->block.plan->kernel_count;
    t->turn_count = kernels < ZF_CHOICES_KERNELS ? kernels : ZF_CHOICES_KERNELS;
    for (uint32_t k = 0; k < t->turn_count; k++) {
        zf_text shape = {0};
        zf_kernel_shape_print(t->block.plan, &t->block.plan->kernels[k], &t->block.view, &shape);
        if (shape.failed) {
            zf_text_free(&shape);
            return zf_raise_no_memory(error);
        }
        ZF_TRY(begin_turn(t, k, shape.data, error));
    }
    return ZF_OK;
}

/// Sets the result: the search's, or the best of all measurements.
static void finish_turn(tuner *t, kernel_turn *turn, bool good) {
    if (!turn->searched) return;
    zf_tune_kernel *kernel = kernel_of(t, turn);
    kernel->space.legal = NULL;
    kernel->space.user = NULL;
    if (!good) { // of a column that failed nothing is found
        kernel->result = (zf_search_result){.best = zf_search_default(&kernel->space), .ended = "it failed"};
        return;
    }
    kernel->result = zf_search_result_of(&turn->search);
    if (turn->late && turn->search.ended == NULL) kernel->result.ended = no_more_time;
    if (!t->options->exhaustive) return;
    kernel->result = (zf_search_result){.best = zf_search_default(&kernel->space), .probes = kernel->count};
    kernel->result.ended = turn->late ? no_more_time : "all were measured";
    for (uint32_t k = 0; k < kernel->count; k++) kernel->result.readings += kernel->tries[k].count;
    const zf_search_try *first = zf_tune_find(kernel, &kernel->result.best), *best = zf_tune_every_best(kernel);
    if (first != NULL && first->reading.ran) kernel->result.default_seconds = first->reading.seconds;
    if (best == NULL) return;
    kernel->result.found = true;
    kernel->result.seconds = best->reading.seconds;
    kernel->result.best = best->point;
}

/// Measures all results together once more and compares all rows: no result is kept that writes other bytes anywhere.
static zf_status check_best(tuner *t, zf_error *error) {
    for (uint32_t k = 0; k < t->turn_count; k++) {
        kernel_turn *turn = &t->turns[k];
        turn->asks = false;
        if (turn->searched) turn->best = zf_tune_choice(&turn->search.space, &kernel_of(t, turn)->result.best);
    }
    zf_choices choices;
    choose(t, UINT32_MAX, &choices);
    zf_kernel_time *times = choices.count > 0 ? calloc(t->block.plan->kernel_count + 1u, sizeof *times) : NULL;
    if (times == NULL) return choices.count > 0 ? zf_raise_no_memory(error) : ZF_OK;
    t->block.whole = true;
    zf_status status = zf_tune_block_time(&t->block, &choices, times, error);
    t->block.whole = false;
    free(times);
    return status;
}

static void finish_turns(tuner *t, bool good) {
    for (uint32_t k = 0; t->turns != NULL && k < t->turn_count; k++) finish_turn(t, &t->turns[k], good);
}

static zf_status tune_shape(tuner *t, const zf_shape *shape, zf_error *error) {
    bool found = false;
    zf_status status = zf_tune_block_find(&t->block, shape, &found, error);
    if (status == ZF_OK && found) {
        status = begin_turns(t, error);
        if (status == ZF_OK) status = rounds(t, error);
        if (status == ZF_OK) {
            finish_turns(t, true);
            status = check_best(t, error);
        }
        if (status != ZF_OK) finish_turns(t, false);
    }
    free(t->turns);
    t->turns = NULL;
    zf_tune_block_free(&t->block);
    return status;
}

zf_status zf_tune_column(const zf_tune_options *options, zf_container *container, size_t column, zf_tune_record *record,
                         size_t *left, zf_error *error) {
    tuner t = {.options = options, .record = record, .begun = zf_clock_seconds()};
    zf_column_info info = {0};
    *left = 0;
    ZF_TRY(zf_container_column(container, column, &info, error));
    t.block = (zf_tune_block){.options = options, .container = container, .column = column, .name = info.name};
    size_t shapes = zf_container_shapes(container, column), done = 0;
    zf_status status = ZF_OK;
    for (; status == ZF_OK && done < shapes && (done == 0 || !is_late(&t)); done++)
        status = tune_shape(&t, zf_container_shape(container, column, done), error);
    if (status == ZF_OK) *left = shapes - done;
    return status;
}
