// zf-faults: is the ordinary suite good enough? Omits, one at a time, every barrier, mask, guard and check of the kernels of
// columns of the library (codegen/body/cg_fault_sites.h), on the emulated GPU and on the host, and runs the trials of test_std.c
// on the column until something is noticed. A fault that nothing notices survives, unless optimised code is the same without it:
// docs/internals/fault-switch.md explains each.
//
// Each fault is compiled and run in a process of its own. A survivor may be redundant (faults_report.h). The exit status is 1
// when fewer are noticed than --at-least says, when something fails without any fault, or when a fault was noticed that is said
// to be redundant; 2 for a wrong command line.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "codegen/body/cg_fault_sites.h"
#include "tests/differential/diff_chunks.h"
#include "tests/differential/diff_columns.h"
#include "tests/differential/diff_encode.h"
#include "tests/differential/diff_text.h"
#include "tests/differential/diff_trials.h"
#include "tests/differential/faults_report.h"
#include "tests/differential/faults_search.h"
#include "tests/interp/externs.h"

typedef unsigned long long ull;

static const char usage[] =
    "usage: zf-faults [OPTION...] [COLUMN...]\n"
    "  COLUMN           c84, a column of diff_columns.c by its number, or a table of chunks.zf; default: all\n"
    "  --chunks         columns of chunks.zf, with the trials of test_chunks.c: their kernels of chunks\n"
    "  --nested         the other kernels of these columns instead\n"
    "  --host           only kernels of the host\n"
    "  --gpu            only kernels of the emulated GPU\n"
    "  --every N        one column in N, but each algorithm\n"
    "  --sites N        one site in N\n"
    "  --what TEXT      only sites whose purpose contains TEXT\n"
    "  --few            one wild trial in eight\n"
    "  --search N       make N wild blocks more for each survivor: how could it be noticed?\n"
    "  --sound          search without a fault instead, and fail when something is noticed\n"
    "  --seconds N      processor time of one such search, at most (60)\n"
    "  --jobs N         processes\n"
    "  --at-least N     fail when fewer than N percent of the faults are noticed\n"
    "  --json FILE      write the results, with --commit TEXT\n"
    "  --page FILE      run nothing: compare the redundant sites with the table of this page\n"
    "  -v               print the survivors\n";

// As many tuples as a decoder has code for, at most (zf_compiler_options.tuples): for others it has the general form.
enum { MOST_SITES = 4096, MOST_EXPECTED = 8192, PATIENCE_MS = 1200000, MOST_TUPLES = 7, FEW_EACH = 8 };

typedef struct command {
    unsigned every, jobs, sites, at_least, search, seconds;
    bool verbose, chunks, nested, host, gpu, sound, few;
    const char *json, *commit, *what, *page;
    char **tables;
    int table_count;
} command;

static const command *given; // what the program was asked for

// ---- Expectations of a column ---------------------------------------------------------------------------------

typedef struct trial {
    diff_trial trial;
    const interp_block *undamaged; ///< NULL: the block is as it was encoded
    unsigned damage;               ///< of a block that is damaged
    bool thorough, several;
    diff_expected expected;
} trial;

typedef struct column_run {
    diff_machine *machine;
    const zf_column *column;
    unsigned number;
    interp *in;
    trial trials[MOST_EXPECTED];
    unsigned count;
    FILE *out; // a line per site
    bool bad;  // something fails without a fault
} column_run;

static bool expect(column_run *r, const diff_trial *t, const interp_block *undamaged, const interp_block *block) {
    trial *to = &r->trials[r->count];
    *to = (trial){.trial = *t, .undamaged = undamaged, .expected = {.block = *block}, .thorough = diff_trial_thorough(t)};
    interp_stream *out = NULL;
    interp_status status = interp_decode_stored(r->in, r->column, block, &out, &to->expected.report);
    if (status != INTERP_OK && status != INTERP_VIOLATION) return false;
    to->expected.wanted = status == INTERP_OK ? out : NULL;
    if (status == INTERP_OK) to->expected.block.characters = diff_characters(out);
    r->count++;
    return true;
}

static void make_chunk_trials(column_run *r) {
    for (unsigned k = 0; k < DIFF_CHUNK_TRIALS; k++) {
        diff_chunk_trial t;
        interp_tree *tree;
        interp_report report;
        interp_block block;
        if (!diff_chunk_trial_of(r->column, r->number, k, &t)) continue;
        interp_status encoded = interp_encode(r->in, r->column, diff_chunk_data(r->in, r->column, &t), &tree, &report);
        while (encoded != INTERP_OK && diff_chunk_tame(&t))
            encoded = interp_encode(r->in, r->column, diff_chunk_data(r->in, r->column, &t), &tree, &report);
        if (encoded != INTERP_OK) continue;
        if (interp_flatten(r->in, r->column, tree, &block) != INTERP_OK) continue;
        if (!diff_chunk_settle(r->in, r->column, &t, &block)) continue;
        diff_trial of = {.shape = t.shape, .rows = t.rows, .seed = t.seed};
        if (!expect(r, &of, NULL, &block)) continue;
        r->trials[r->count - 1].thorough = diff_chunk_thorough(&t);
        const interp_block *undamaged = &r->trials[r->count - 1].expected.block;
        if (t.kind == DIFF_CHUNK_BY_HAND && !t.wild) r->trials[r->count - 1].undamaged = undamaged; // one thing is wrong at most
        for (unsigned d = 0; d < diff_chunk_damages(&t, &block) && r->count < MOST_EXPECTED - DIFF_CHUNK_TRIALS; d++) {
            interp_block damaged = block;
            if (!diff_chunk_damage(r->in, r->column, &t, d, &damaged)) continue;
            of.seed = t.seed + d;
            if (!expect(r, &of, undamaged, &damaged)) continue;
            r->trials[r->count - 1].thorough = false;
            r->trials[r->count - 1].several = diff_chunk_several(&t, d);
        }
    }
}

static void make_trials(column_run *r) {
    for (unsigned k = 0; k < DIFF_TRIALS; k++) {
        diff_trial t;
        if (!diff_trial_of(r->column, r->number, k, &t)) continue;
        if (given->few && (t.wild || t.kind == DIFF_SWEPT) && k % FEW_EACH != 0) continue;
        interp_stream *plain = diff_trial_data(r->in, &t, r->column->type);
        interp_tree *tree;
        interp_report report;
        interp_block block;
        bool taken = interp_encode(r->in, r->column, plain, &tree, &report) == INTERP_OK;
        for (unsigned m = 0; !taken && diff_trial_milder(&t, r->column->type, m); m++) {
            plain = diff_trial_data(r->in, &t, r->column->type);
            taken = interp_encode(r->in, r->column, plain, &tree, &report) == INTERP_OK;
        }
        if (!taken) continue;
        if (interp_flatten(r->in, r->column, tree, &block) != INTERP_OK) continue;
        block.characters = diff_characters(plain);
        if (!diff_trial_settle(r->in, r->column, &t, &block)) continue;
        if (!expect(r, &t, NULL, &block)) continue;
        const interp_block *undamaged = &r->trials[r->count - 1].expected.block;
        for (unsigned d = 0; d < DIFF_DAMAGES; d++) {
            interp_block damaged = block;
            if (!diff_trial_damage(r->in, r->column, r->number, k, &t, d, &damaged)) continue;
            if (!expect(r, &t, undamaged, &damaged)) continue;
            r->trials[r->count - 1].damage = d;
            r->trials[r->count - 1].several = diff_trial_several(&t, d);
        }
    }
}

// ---- One form of a column's kernels ---------------------------------------------------------------------------

// Shaping values, and the sites of the code that is made for them. In other code than the first's a site of the same name in the
// same function is as many-th of its name.
typedef struct tuple {
    uint64_t *values;
    unsigned blocks; ///< of more than one row
    zf_fault_site *sites;
    uint32_t count;
} tuple;

typedef struct form_run {
    column_run *column;
    diff_case c;
    diff_form form;
    const uint8_t *branches;
    uint32_t branch_count;
    zf_fault_sites sites;
    zf_fault_site noted[MOST_SITES];
    bool relevant[MOST_EXPECTED];
    tuple tuples[MOST_TUPLES]; ///< specialised: the one with the most blocks first
    unsigned tuple_count, tuple_of[MOST_EXPECTED];
    bool fast;        ///< the code has slow paths, which good blocks do not take
    unsigned seconds; ///< of a processor, that a child may take
} form_run;

typedef struct verdict {
    bool found;
    bool same; ///< without the site the code is the same, once it was optimised
    bool redundant;
    unsigned trial;
    char text[400];
} verdict;

// The number that site `number` of the first tuple's code has in another's; 0: it has none such.
static uint32_t number_in(const form_run *f, const tuple *t, uint32_t number) {
    uint32_t before = 0;
    if (number == 0) return 0;
    for (uint32_t s = 0; s + 1 < number; s++) before += fault_same_site(&f->noted[s], &f->noted[number - 1]);
    for (uint32_t s = 0; s < t->count; s++)
        if (fault_same_site(&t->sites[s], &f->noted[number - 1]) && before-- == 0) return s + 1;
    return 0;
}

// Runs what is expected, without site `number`, until something differs. `good`: blocks alone that are decoded.
static void judge_trials(form_run *f, uint32_t number, bool good, zf_fault_sites *sites, verdict *out) {
    for (unsigned k = 0; k < f->column->count && !out->found; k++) {
        if (!f->relevant[k] || (good && f->column->trials[k].expected.wanted == NULL)) continue;
        sites->left_out = f->form.special ? number_in(f, &f->tuples[f->tuple_of[k]], number) : number;
        if (number != 0 && sites->left_out == 0) continue;
        const trial *t = &f->column->trials[k];
        f->c.undamaged = t->undamaged;
        f->c.thorough = t->thorough;
        f->c.full_groups = !given->chunks && diff_trial_full_groups(f->column->column, &t->trial);
        f->c.several = t->several;
        f->c.beside = !given->chunks && t->undamaged != NULL && diff_trial_beside(&t->trial, t->damage);
        f->c.demand = !given->chunks && t->undamaged != NULL ? diff_trial_demand(&t->trial, t->damage) : DIFF_ANY;
        f->c.neighbour = t->undamaged != NULL && diff_trial_neighbour(&t->trial, t->damage, &f->c.guilty, &f->c.innocent);
        zf_text message = {0};
        diff_verdict v = diff_check_form(&f->c, &t->expected, &f->form, t->trial.seed, &message);
        if (v == DIFF_DISAGREE || v == DIFF_UNSUPPORTED) {
            *out = (verdict){.found = true, .trial = k};
            fault_put_message(out->text, sizeof out->text, message.data != NULL ? message.data : "");
        }
        zf_text_free(&message);
    }
}

// Good blocks without slow paths, which would make right elements whatever is wrong before.
static void judge_fast(form_run *f, uint32_t number, zf_fault_sites *sites, verdict *out) {
    diff_case_forget(&f->c, f->form.level);
    *sites = (zf_fault_sites){.all_of = "the slow path"};
    judge_trials(f, number, true, sites, out);
}

static void judge(form_run *f, uint32_t number, zf_fault_sites *sites, verdict *out) {
    judge_trials(f, number, false, sites, out);
    if (f->fast && !out->found) judge_fast(f, number, sites, out);
}

// ---- A search --------------------------------------------------------------------------------------------------

// Whether the form has code for the block. Then the site is left out of it.
static bool fits_form(form_run *f, const interp_block *block, uint32_t number, zf_fault_sites *sites) {
    zf_error error = {0};
    if (block->branch_count != f->branch_count || memcmp(block->branches, f->branches, f->branch_count) != 0) return false;
    sites->left_out = number;
    if (!f->form.special) return true;
    const zf_decoder *decoder = diff_decoder_for(&f->c, f->form.level, f->branches, f->branch_count, &error);
    if (decoder == NULL) return false;
    for (unsigned t = 0; t < f->tuple_count; t++) {
        bool same = true;
        for (uint32_t p = 0; p < decoder->plan->shaping_count; p++)
            same = same && f->tuples[t].values[p] == diff_param(decoder, block, decoder->plan->shaping[p]);
        if (!same) continue;
        sites->left_out = number_in(f, &f->tuples[t], number);
        return number == 0 || sites->left_out != 0;
    }
    return false;
}

// Makes wild blocks until one notices that a site is missing.
static void seek(form_run *f, uint32_t number, zf_fault_sites *sites, verdict *out) {
    fault_search *search = fault_search_open(f->column->column, f->column->number, given->chunks);
    clock_t end = clock() + (clock_t)given->seconds * CLOCKS_PER_SEC;
    while (fault_search_made(search) < given->search && !out->found && clock() < end) {
        diff_expected e;
        zf_text message = {0};
        const interp_block *block = fault_search_next(search);
        if (block == NULL || !fits_form(f, block, number, sites) || !fault_search_expect(search, &f->c, &e)) continue;
        if (diff_check_form(&f->c, &e, &f->form, fault_search_seed(search), &message) == DIFF_DISAGREE) {
            char how[200], what[190];
            fault_search_say(search, how, sizeof how);
            fault_put_message(what, sizeof what, message.data != NULL ? message.data : "");
            *out = (verdict){.found = true};
            snprintf(out->text, sizeof out->text, "%s | %s", how, what);
        }
        zf_text_free(&message);
    }
    if (!out->found)
        snprintf(out->text, sizeof out->text, "nothing by %u of %u blocks", fault_search_compared(search),
                 fault_search_made(search));
    fault_search_close(search);
}

static void judge_fault(form_run *f, uint32_t site, bool search, verdict *out) {
    *out = (verdict){0};
    int ends[2];
    if (pipe(ends) != 0) exit(2);
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) exit(2);
    if (child == 0) {
        zf_fault_sites sites = {0};
        unsigned seconds = search ? given->seconds + 20 : f->seconds;
        setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
        diff_case_forget(&f->c, f->form.level);
        f->c.sites = &sites;
        if (search)
            seek(f, site, &sites, out);
        else
            judge(f, site, &sites, out);
        _exit(write(ends[1], out, sizeof *out) == sizeof *out ? 0 : 2);
    }
    close(ends[1]);
    struct pollfd wait = {.fd = ends[0], .events = POLLIN};
    bool late = poll(&wait, 1, PATIENCE_MS) == 0;
    bool told = !late && read(ends[0], out, sizeof *out) == sizeof *out;
    if (late) kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[0]);
    if (told) return;
    late = late || (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL));
    if (search && site != 0) judge_fault(f, 0, true, out); // whose blocks have not run without a fault yet
    *out = (verdict){.found = !out->found};
    const char *how = !out->found ? "it fails without the fault as well" : late ? "it does not end" : "the process dies";
    snprintf(out->text, sizeof out->text, "%s", how);
}

// ---- Faults that are none -------------------------------------------------------------------------------------

// The code for a tuple (NULL: the general form) as it is shipped, without site `number` (0: whole).
static bool print_code(zf_fault_sites *sites, zf_decoder *decoder, const uint64_t *shaping, uint32_t number, zf_text *out) {
    zf_error error = {0};
    *sites = (zf_fault_sites){.left_out = number};
    return zf_decoder_print(decoder, shaping, ZF_JIT_ASSEMBLY, false, out, &error) == ZF_OK;
}

static bool same_text(zf_fault_sites *sites, zf_decoder *decoder, const uint64_t *shaping, uint32_t number) {
    zf_text whole = {0}, without = {0};
    bool same = print_code(sites, decoder, shaping, 0, &whole) && print_code(sites, decoder, shaping, number, &without) &&
                strcmp(whole.data, without.data) == 0;
    zf_text_free(&whole);
    zf_text_free(&without);
    return same;
}

// Whether the optimised code is the same without a site: then nothing was omitted. Only survivors are compared.
static bool same_code(form_run *f, uint32_t site) {
    zf_error error = {0};
    zf_decoder *decoder = NULL;
    const diff_machine *m = f->column->machine;
    zf_fault_sites sites = {0};
    zf_plan_request request = {.target = diff_target(m, f->form.level), .sites = &sites};
    if (zf_decoder_create(m->compilers[DIFF_LEVELS - 1], f->c.column, f->branches, f->branch_count, &request, &decoder, &error) !=
        ZF_OK)
        return false;
    bool same = true;
    if (!f->form.special) same = same_text(&sites, decoder, NULL, site);
    for (unsigned t = 0; f->form.special && same && t < f->tuple_count; t++) {
        uint32_t number = number_in(f, &f->tuples[t], site);
        same = number == 0 || same_text(&sites, decoder, f->tuples[t].values, number);
    }
    zf_decoder_free(decoder);
    return same;
}

static const char *target_of(const form_run *f) { return f->form.level == DIFF_GPU ? "emu" : "host"; }

static const char *form_of(const form_run *f) { return f->form.special ? "specialised" : "general"; }

static void print_site(const form_run *f, uint32_t site, const verdict *v) {
    const column_run *r = f->column;
    const zf_fault_site *s = &f->noted[site - 1];
    const trial *t = &r->trials[v->trial];
    char purpose[120];
    fprintf(r->out, "%u\t%s\t%s\t%s\t%s\t%s\t%s\t%u\t%s\t", r->number, r->column->table->name, zf_kind_name(r->column->type.kind),
            r->column->codec_text, target_of(f), form_of(f), s->function, site, fault_kind_name(s->kind));
    fprintf(r->out, "%s\t%s\t", fault_purpose_of(s, purpose),
            v->found       ? "found"
            : v->same      ? "same"
            : v->redundant ? "redundant"
                           : "survived");
    if (v->found)
        fprintf(r->out, "%s %llu rows%s: ", data_shape_name(t->trial.shape), (ull)t->trial.rows,
                t->undamaged != NULL ? ", damaged" : "");
    for (const char *at = v->text; *at != 0; at++) fputc(*at == '\n' || *at == '\t' ? ' ' : *at, r->out);
    fputc('\n', r->out);
}

// Whether a site of a column of chunks.zf is in a kernel of the kind that is judged. The others' kernels are those of columns.
static bool is_judged(form_run *f, const zf_fault_site *s) {
    static const char prefix[] = "zf_kernel_";
    zf_error error = {0};
    if (!given->chunks || strncmp(s->function, prefix, sizeof prefix - 1) != 0) return true;
    const zf_decoder *decoder = diff_decoder_for(&f->c, f->form.level, f->branches, f->branch_count, &error);
    unsigned long kernel = strtoul(s->function + sizeof prefix - 1, NULL, 10);
    if (decoder == NULL || kernel >= decoder->plan->kernel_count) return true;
    return (decoder->plan->kernels[kernel].domain == ZF_DOMAIN_CHUNKS) == !given->nested;
}

// Judges one site, and prints the result.
static void judge_site(form_run *f, uint32_t site) {
    column_run *r = f->column;
    const zf_fault_site *s = &f->noted[site - 1];
    char purpose[120];
    verdict v;
    fault_purpose_of(s, purpose);
    if (given->what != NULL && strstr(purpose, given->what) == NULL) return;
    if (!is_judged(f, s)) return;
    judge_fault(f, site, false, &v);
    v.same = !v.found && same_code(f, site);
    const redundant_site *row = redundant_site_find(s, purpose, target_of(f), r->column->codec_text);
    v.redundant = !v.found && !v.same && row != NULL;
    if (given->search > 0 && !v.found && !v.same && !v.redundant) {
        verdict sought;
        judge_fault(f, site, true, &sought);
        fprintf(stderr, "sought: %s\t%s\t%s\t%s\t%s %s (%u)\t%s\n", r->column->table->name, target_of(f), form_of(f), s->function,
                fault_kind_name(s->kind), purpose, site, sought.text);
    }
    print_site(f, site, &v);
    if (v.found && row != NULL) {
        fprintf(stderr, "not redundant: %s = %s, %s, %s: %s %s: %s\n", r->column->table->name, r->column->codec_text,
                target_of(f), form_of(f), fault_kind_name(s->kind), purpose, v.text);
        r->bad = true;
    }
    if (!given->verbose || v.found || v.same || v.redundant) return;
    fprintf(stderr, "survives: %s %s %s %s: %s %s (%u)", r->column->table->name, target_of(f), form_of(f), s->function,
            fault_kind_name(s->kind), purpose, site);
    if (s->line[0] != 0) fprintf(stderr, " `%s`", s->line);
    for (unsigned t = 0; f->form.special && t < f->tuple_count; t++)
        fprintf(stderr, "%s%llu", t == 0 ? ", where the first shaping value is " : ", ", (ull)f->tuples[t].values[0]);
    fputc('\n', stderr);
}

static void run_form(form_run *f) {
    column_run *r = f->column;
    verdict v = {0};
    f->sites = (zf_fault_sites){.noted = f->form.special ? NULL : f->noted, .room = f->form.special ? 0 : MOST_SITES};
    diff_case_forget(&f->c, f->form.level);
    f->c.sites = &f->sites;
    f->fast = false;
    clock_t before = clock();
    judge(f, 0, &f->sites, &v);
    if (!v.found) {
        zf_fault_sites sites;
        verdict slow = {0};
        f->c.sites = &sites;
        judge_fast(f, 0, &sites, &slow);
        f->fast = !slow.found && sites.all_count > 0;
    }
    f->seconds = 2 + 3 * (unsigned)((clock() - before) / CLOCKS_PER_SEC + 1);
    f->c.sites = NULL;
    if (v.found || f->sites.count > MOST_SITES) {
        const trial *t = &r->trials[v.trial];
        fprintf(stderr, "%s = %s: without a fault, trial of kind %u%s, seed %llu, damage %u: %s\n", r->column->table->name,
                r->column->codec_text, (unsigned)t->trial.kind, t->trial.wild ? ", wild" : "", (ull)t->trial.seed, t->damage,
                v.text);
        r->bad = true;
        return;
    }
    if (f->form.special) {
        f->sites.count = f->tuples[0].count;
        memcpy(f->noted, f->tuples[0].sites, f->tuples[0].count * sizeof *f->noted);
    }
    if (given->sound) {
        judge_fault(f, 0, true, &v);
        fprintf(stderr, "sought: %s\t%s\t%s\twithout a fault\t%s\n", r->column->table->name, target_of(f), form_of(f), v.text);
        r->bad = r->bad || v.found;
        return;
    }
    uint32_t count = f->sites.count;
    for (uint32_t site = 1 + r->number % given->sites; site <= count; site += given->sites) judge_site(f, site);
}

// ---- A column -------------------------------------------------------------------------------------------------

static bool same_branches(const interp_block *a, const interp_block *b) {
    return a->branch_count == b->branch_count && (a->branch_count == 0 || memcmp(a->branches, b->branches, a->branch_count) == 0);
}

// The blocks of the same branches, at the default seek interval.
static unsigned choose(form_run *f, const interp_block *like) {
    const column_run *r = f->column;
    unsigned chosen = 0;
    for (unsigned k = 0; k < r->count; k++) {
        f->relevant[k] =
            same_branches(&r->trials[k].expected.block, like) && (!r->trials[k].trial.narrow || !diff_is_ordered(&f->c));
        chosen += f->relevant[k];
    }
    return chosen;
}

// The block that most others are like.
static const interp_block *typical(form_run *f) {
    const column_run *r = f->column;
    const interp_block *best = NULL;
    unsigned most = 0;
    for (unsigned k = 0; k < r->count; k++) {
        unsigned n = r->trials[k].trial.rows < 2 ? 0 : choose(f, &r->trials[k].expected.block);
        if (n <= most) continue;
        most = n;
        best = &r->trials[k].expected.block;
    }
    return best;
}

static uint64_t *values_of(const zf_decoder *decoder, const interp_block *block) {
    uint64_t *values = calloc(decoder->plan->shaping_count + 1u, sizeof *values);
    for (uint32_t p = 0; p < decoder->plan->shaping_count; p++) values[p] = diff_param(decoder, block, decoder->plan->shaping[p]);
    return values;
}

static void free_tuples(form_run *f) {
    for (unsigned t = 0; t < f->tuple_count; t++) {
        free(f->tuples[t].values);
        free(f->tuples[t].sites);
    }
    f->tuple_count = 0;
}

// Whether the other way to be most common counts more: as many bits as the type has are no width to judge by, masks are for
// nothing.
static bool better(const form_run *f, const zf_decoder *decoder, const tuple *a, const tuple *b) {
    unsigned full[2] = {0, 0};
    for (uint32_t p = 0; p < decoder->plan->shaping_count; p++) {
        unsigned bits = zf_kind_bits(f->column->column->type.kind);
        full[0] += a->values[p] == bits;
        full[1] += b->values[p] == bits;
    }
    return full[0] != full[1] ? full[0] < full[1] && a->blocks > 0 : a->blocks > b->blocks;
}

// A tuple that blocks have, and how many of more than a row.
typedef struct candidate {
    uint64_t *values;
    unsigned blocks;
} candidate;

static int by_blocks(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return x->blocks != y->blocks ? (x->blocks < y->blocks) - (x->blocks > y->blocks) : 0;
}

// The tuples of the relevant blocks, those of most blocks first. The caller frees them.
static candidate *candidates_of(const form_run *f, const zf_decoder *decoder, unsigned *count) {
    const column_run *r = f->column;
    size_t bytes = decoder->plan->shaping_count * sizeof(uint64_t);
    candidate *all = calloc(r->count + 1u, sizeof *all);
    *count = 0;
    for (unsigned k = 0; k < r->count; k++) {
        if (!f->relevant[k]) continue;
        uint64_t *values = values_of(decoder, &r->trials[k].expected.block);
        unsigned n = 0;
        while (n < *count && memcmp(all[n].values, values, bytes) != 0) n++;
        if (n == *count)
            all[(*count)++].values = values;
        else
            free(values);
        all[n].blocks += r->trials[k].expected.block.counts[0] > 1;
    }
    qsort(all, *count, sizeof *all, by_blocks);
    return all;
}

// Specialised code is made for tuples of shaping values: for the MOST_TUPLES that most blocks have.
static void choose_tuples(form_run *f, zf_decoder *decoder) {
    column_run *r = f->column;
    size_t bytes = decoder->plan->shaping_count * sizeof(uint64_t);
    unsigned best = 0, count;
    candidate *all = candidates_of(f, decoder, &count);
    f->sites = (zf_fault_sites){.noted = f->noted, .room = MOST_SITES};
    for (unsigned n = 0; n < count; n++) {
        const zf_abi_code *code;
        if (f->tuple_count < MOST_TUPLES && zf_decoder_code_for(decoder, all[n].values, &code, NULL) == ZF_OK) {
            uint32_t sites = f->sites.count < MOST_SITES ? f->sites.count : MOST_SITES;
            tuple *made = &f->tuples[f->tuple_count++];
            *made = (tuple){.values = all[n].values,
                            .blocks = all[n].blocks,
                            .sites = calloc(sites + 1, sizeof *made->sites),
                            .count = sites};
            memcpy(made->sites, f->noted, sites * sizeof *f->noted);
        } else {
            free(all[n].values);
        }
    }
    free(all);
    for (unsigned k = 0; k < r->count; k++) {
        if (!f->relevant[k]) continue;
        uint64_t *values = values_of(decoder, &r->trials[k].expected.block);
        unsigned n = 0;
        while (n < f->tuple_count && memcmp(f->tuples[n].values, values, bytes) != 0) n++;
        free(values);
        f->relevant[k] = n < f->tuple_count;
        f->tuple_of[k] = n;
    }
    for (unsigned t = 1; t < f->tuple_count; t++)
        if (better(f, decoder, &f->tuples[t], &f->tuples[best])) best = t;
    tuple first = f->tuples[best];
    f->tuples[best] = f->tuples[0];
    f->tuples[0] = first;
    for (unsigned k = 0; k < r->count; k++)
        if (f->tuple_of[k] == best || f->tuple_of[k] == 0) f->tuple_of[k] = f->tuple_of[k] == best ? 0 : best;
}

static void run_level(form_run *f, unsigned level) {
    zf_error error = {0};
    f->form = (diff_form){.level = level};
    const interp_block *block = typical(f);
    if (block == NULL) return;
    f->branches = block->branches;
    f->branch_count = block->branch_count;
    choose(f, block);
    run_form(f);
    diff_case_forget(&f->c, level);
    f->c.sites = &f->sites; // which choose_tuples reads
    zf_decoder *decoder = diff_decoder_for(&f->c, level, block->branches, block->branch_count, &error);
    f->c.sites = NULL;
    if (decoder == NULL || decoder->plan->shaping_count == 0) return;
    choose(f, block);
    choose_tuples(f, decoder);
    f->form.special = true;
    if (f->tuple_count > 0) run_form(f);
    f->form.special = false;
    free_tuples(f);
}

static bool run_column(diff_machine *machine, zf_spec *spec, const zf_column *column, unsigned number, FILE *out) {
    interp_options options = {.externs = interp_test_externs,
                              .extern_count = interp_test_extern_count,
                              .no_verify = true,
                              .max_elements = FAULT_SEARCH_ELEMENTS};
    column_run *r = calloc(1, sizeof *r);
    form_run *f = calloc(1, sizeof *f);
    diff_tally tally = {0};
    *r = (column_run){.machine = machine, .column = column, .number = number, .in = interp_create(&options), .out = out};
    if (given->chunks)
        make_chunk_trials(r);
    else
        make_trials(r);
    *f = (form_run){.column = r, .c = {.machine = machine, .spec = spec, .column = column, .exact_nans = true, .tally = &tally}};
    if (!given->host) run_level(f, DIFF_GPU);
    if (!given->gpu) run_level(f, 0);
    diff_case_close(&f->c);
    bool good = !r->bad;
    interp_destroy(r->in);
    free(f);
    free(r);
    return good;
}

// ---- Columns --------------------------------------------------------------------------------------------------

static bool wanted(const zf_table *table, unsigned number) {
    for (int k = 0; k < given->table_count; k++)
        if (strcmp(given->tables[k], table->name) == 0) return true;
    if (given->table_count > 0) return false;
    return given->chunks ? number % given->every == 0 : diff_columns_sampled(number, (sample){.every = given->every});
}

static bool open_program(const diff_machine *machine, diff_program *program, zf_text *message) {
    if (given->chunks) return diff_program_open_file(machine, DIFF_CHUNKS_FILE, program, message);
    zf_text text = {0};
    diff_columns_families(&text);
    bool good = diff_program_open(machine, text.data, program, message);
    zf_text_free(&text);
    return good;
}

// One worker: every jobs-th column.
static int work(unsigned job, FILE *out) {
    diff_machine machine;
    diff_program program;
    zf_text message = {0};
    if (!diff_machine_open(&machine, NULL, &message) || !open_program(&machine, &program, &message)) {
        fprintf(stderr, "%s\n", message.data);
        return 2;
    }
    unsigned number = 0, chosen = 0;
    bool good = true;
    zf_spec *spec = diff_program_spec(&program);
    for (const zf_table *table = zf_spec_tables(spec); table != NULL; table = table->next, number++) {
        if (!wanted(table, number) || chosen++ % given->jobs != job) continue;
        diff_set_case(table->name);
        good = run_column(&machine, spec, table->columns, number, out) && good;
    }
    fflush(out);
    return good ? 0 : 1;
}

// ---- All ------------------------------------------------------------------------------------------------------

// Reads the command line. False: it is wrong.
static bool read_command(int count, char **arguments, command *c) {
    const struct {
        const char *name;
        bool *flag;
        unsigned *number;
        const char **text;
    } options[] = {
        {"-v", &c->verbose, NULL, NULL},          {"--chunks", &c->chunks, NULL, NULL},   {"--host", &c->host, NULL, NULL},
        {"--nested", &c->nested, NULL, NULL},     {"--sound", &c->sound, NULL, NULL},     {"--few", &c->few, NULL, NULL},
        {"--gpu", &c->gpu, NULL, NULL},           {"--every", NULL, &c->every, NULL},     {"--sites", NULL, &c->sites, NULL},
        {"--search", NULL, &c->search, NULL},     {"--seconds", NULL, &c->seconds, NULL}, {"--jobs", NULL, &c->jobs, NULL},
        {"--at-least", NULL, &c->at_least, NULL}, {"--json", NULL, NULL, &c->json},       {"--commit", NULL, NULL, &c->commit},
        {"--what", NULL, NULL, &c->what},         {"--page", NULL, NULL, &c->page},
    };
    enum { OPTIONS = sizeof options / sizeof options[0] };
    int k = 1;
    for (; k < count && arguments[k][0] == '-'; k++) {
        unsigned o = 0;
        while (o < OPTIONS && strcmp(arguments[k], options[o].name) != 0) o++;
        if (o == OPTIONS) return false;
        if (options[o].flag != NULL) {
            *options[o].flag = true;
            continue;
        }
        if (++k == count) return false;
        if (options[o].text != NULL) *options[o].text = arguments[k];
        char *end = arguments[k];
        if (options[o].number == NULL) continue;
        *options[o].number = (unsigned)strtoul(arguments[k], &end, 10);
        if (*end != 0 || end == arguments[k]) return false;
    }
    c->tables = arguments + k;
    c->table_count = count - k;
    return c->every > 0 && c->jobs > 0 && c->sites > 0;
}

// The columns' names are checked before hours are spent on others.
static bool knows_columns(const command *c) {
    zf_text text = {0};
    if (!c->chunks) diff_columns_families(&text);
    bool good = true;
    for (int k = 0; k < c->table_count && !c->chunks; k++) {
        char table[80];
        snprintf(table, sizeof table, "table %s {", c->tables[k]);
        if (strstr(text.data, table) != NULL) continue;
        fprintf(stderr, "zf-faults: no column %s\n", c->tables[k]);
        good = false;
    }
    zf_text_free(&text);
    return good;
}

static void print_json(const command *c, const fault_results *all, FILE *json) {
    zf_text line = {0};
    zf_text_printf(&line, "zf-faults%s%s%s%s --every %u --sites %u", c->chunks ? " --chunks" : "", c->nested ? " --nested" : "",
                   c->host ? " --host" : "", c->gpu ? " --gpu" : "", c->every, c->sites);
    if (c->few) zf_text_puts(&line, " --few");
    if (c->what != NULL) zf_text_printf(&line, " --what '%s'", c->what);
    for (int k = 0; k < c->table_count; k++) zf_text_printf(&line, " %s", c->tables[k]);
    fault_results_print(all, c->commit, line.data, json);
    zf_text_free(&line);
}

// Starts the workers and waits for them. False when something fails without a fault, or cannot be run.
static bool run_workers(const command *c, FILE **outs) {
    bool good = true;
    int status;
    for (unsigned job = 0; job < c->jobs; job++) {
        outs[job] = tmpfile();
        pid_t worker = outs[job] != NULL ? fork() : -1;
        if (worker == 0) _exit(work(job, outs[job]));
        good = good && worker > 0;
    }
    while (wait(&status) > 0) good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return good;
}

int main(int count, char **arguments) {
    command c = {.every = 1, .jobs = 1, .sites = 1, .seconds = 60, .commit = ""};
    given = &c;
    if (!read_command(count, arguments, &c)) {
        fputs(usage, stderr);
        return 2;
    }
    if (c.page != NULL) return redundant_sites_are_on(c.page, stdout) ? 0 : 1;
    if (!knows_columns(&c)) return 2;
    FILE *json = c.json != NULL ? fopen(c.json, "w") : NULL;
    if (c.json != NULL && json == NULL) {
        fprintf(stderr, "%s: %s\n", c.json, strerror(errno));
        return 2;
    }
    FILE **outs = calloc(c.jobs, sizeof *outs);
    bool good = run_workers(&c, outs);
    fault_results all = {0};
    char *line = NULL;
    size_t room = 0;
    for (unsigned job = 0; job < c.jobs; job++) {
        if (outs[job] == NULL) continue;
        rewind(outs[job]);
        while (getline(&line, &room, outs[job]) > 0) fault_results_add(&all, line);
        fclose(outs[job]);
    }
    if (json != NULL) {
        print_json(&c, &all, json);
        if (fclose(json) != 0) good = false;
    }
    fault_counts sum = fault_results_count(&all, NULL);
    uint64_t judged = sum.sites - sum.same - sum.redundant;
    for (unsigned target = 0; target < 2; target++) {
        fault_counts n = fault_results_count(&all, target == 0 ? "emu" : "host");
        if (n.sites == 0) continue;
        printf("%s: %u sites, %u without effect on code, %u redundant, %u found, %u survived\n", target == 0 ? "emu" : "host",
               n.sites, n.same, n.redundant, n.found, n.sites - n.same - n.redundant - n.found);
    }
    fault_results_free(&all);
    free(line);
    free(outs);
    return good && judged > 0 && sum.found * UINT64_C(100) >= judged * c.at_least ? 0 : 1;
}
