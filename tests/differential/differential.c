// zf-differential: random programs on random blocks, by the interpreter and by generated code in every form; and random data
// through nests of the library's algorithms, encoded by both.
//
//   zf-differential [--from N] [--count N] [--jobs N] [--seconds S] [--json FILE] [--as-is] [-v]
//   zf-differential --seed N --one                     one case, with its texts
//   zf-differential --case FILE...                     cases that were made smaller before
//
// A difference is made smaller (unless --as-is), and printed with the command that repeats it. The exit status is 1 then, and
// also when next to nothing was compared: no program, no block, or more than a fifth of the programs rejected by the front end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/differential/diff_encode.h"
#include "tests/differential/diff_text.h"
#include "tests/differential/generator/gen_program.h"
#include "tests/interp/data.h"
#include "tests/interp/load.h"

typedef unsigned long long ull;

enum { BLOCKS = 3, ENCODE_EVERY = 4, REDUCE_TRIES = 600 };

typedef struct command {
    uint64_t from, count, seconds;
    unsigned jobs;
    bool one, verbose, as_is;
    const char *json;
    char **cases; ///< files
    int case_count;
} command;

/// Everything that is counted.
typedef struct totals {
    uint64_t programs, rejected, blocks, encoded_programs;
    uint64_t encoded[DIFF_ENCODE_VERDICTS];
    diff_tally tally;
    uint64_t failures;
} totals;

static const char block_mark[] = "---- block ----\n", unfused_mark[] = ", every ordered stage alone";

/// A case as texts: what a seed makes, and what the reducer changes.
typedef struct made {
    diff_machine *machine;
    totals *totals;
    uint64_t seed;
    bool encode; ///< the block is plain data, one stream
    bool as_is;  ///< do not make it smaller
    zf_decoder_states states;
} made;

// ---- One case -------------------------------------------------------------------------------------------------

static zf_spec *check_text(const char *program) {
    zf_spec_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    zf_spec *spec = zf_spec_create(&options);
    if (spec != NULL && zf_spec_add_text(spec, "made.zf", program, strlen(program)) && zf_spec_check(spec)) return spec;
    zf_spec_destroy(spec);
    return NULL;
}

static const zf_column *column_of(const zf_spec *spec) {
    const zf_table *table = zf_spec_find_table(spec, "t");
    return table != NULL ? table->columns : NULL;
}

static interp *make_interp(void) {
    interp_options limits = {.fuel = 20000000, .max_elements = 1 << 20};
    return interp_create(&limits);
}

static diff_case case_of(const made *m, zf_spec *spec) {
    return (diff_case){.machine = m->machine,
                       .spec = spec,
                       .column = column_of(spec),
                       .states = m->states,
                       .tuples = 1,
                       .exact_nans = m->encode,
                       .tally = &m->totals->tally};
}

// Every program made here is lowered: nothing may be beyond the planner.
static bool is_fault(diff_verdict verdict) { return verdict == DIFF_DISAGREE || verdict == DIFF_UNSUPPORTED; }

/// Encodes plain data, then decodes what was stored.
static bool encode_case(const made *m, diff_case *c, const diff_program *p, interp *in, const interp_stream *plain,
                        zf_text *message) {
    interp_block block;
    diff_encoded encoded = diff_check_encode(p, c->column, in, plain, &block, message);
    m->totals->encoded[encoded]++;
    if (encoded == DIFF_ENCODE_DIFFERS) return false;
    if (encoded != DIFF_ENCODED && encoded != DIFF_OTHER_BRANCH) return true;
    m->totals->blocks++;
    block.characters = diff_characters(plain);
    return !is_fault(diff_check_block(c, in, &block, m->seed, message));
}

typedef enum outcome { NOT_RUN, SAME, DIFFERENT } outcome;

static outcome run_encode_text(const made *m, const char *program, interp *in, const interp_block *block, zf_text *message) {
    diff_program p;
    outcome result = NOT_RUN;
    if (block->stream_count != 1 || !diff_program_open(m->machine, program, &p, message)) return NOT_RUN;
    diff_case c = case_of(m, diff_program_spec(&p));
    const zf_column *column = c.column;
    if (column != NULL && (block->streams[0].elements * zf_kind_bits(column->type.kind) + 7) / 8 == block->streams[0].size) {
        interp_stream *plain = interp_stream_raw(in, column->type, block->streams[0].bytes, block->streams[0].elements);
        result = encode_case(m, &c, &p, in, plain, message) ? SAME : DIFFERENT;
    }
    diff_case_close(&c);
    diff_program_close(&p);
    return result;
}

static outcome run_decode_text(const made *m, const char *program, interp *in, const interp_block *block, zf_text *message) {
    zf_spec *spec = check_text(program);
    outcome result = NOT_RUN;
    if (spec != NULL && column_of(spec) != NULL) {
        diff_case c = case_of(m, spec);
        zf_text why = {0};
        diff_verdict verdict = diff_check_block(&c, in, block, m->seed, &why);
        // A block that is no block of a smaller program is no case.
        bool misuse = why.data != NULL && strncmp(why.data, "the interpreter", 15) == 0;
        if (!misuse && verdict != DIFF_LIMITED) result = is_fault(verdict) ? DIFFERENT : SAME;
        if (why.data != NULL) zf_text_puts(message, why.data);
        zf_text_free(&why);
        diff_case_close(&c);
    }
    zf_spec_destroy(spec);
    return result;
}

static outcome run_texts(const made *m, const char *program, const char *block_text, zf_text *message) {
    interp *in = make_interp();
    interp_block block;
    outcome result = NOT_RUN;
    if (gen_block_read(in, block_text, &block, message))
        result = m->encode ? run_encode_text(m, program, in, &block, message) : run_decode_text(m, program, in, &block, message);
    interp_destroy(in);
    return result;
}

static bool still_differs(void *user, const char *program, const char *block) {
    zf_text message = {0};
    bool differs = run_texts(user, program, block, &message) == DIFFERENT;
    zf_text_free(&message);
    return differs;
}

static void report(made *m, const char *program, const char *block, const char *message) {
    totals discarded = {0};
    made again = *m;
    zf_text small_program = {0}, small_block = {0}, small_message = {0};
    m->totals->failures++;
    printf("seed %llu: %s\n  zf-differential --seed %llu --one\n", (ull)m->seed, message, (ull)m->seed);
    fflush(stdout);
    if (m->as_is) return;
    again.totals = &discarded;
    gen_reduce(program, block, still_differs, &again, REDUCE_TRIES, &small_program, &small_block);
    bool differs = run_texts(&again, small_program.data, small_block.data, &small_message) == DIFFERENT;
    printf("%s: %s\n---- a file for --case ----\n// %s, seek interval %u%s\n%s%s%s---- end ----\n",
           differs ? "made smaller" : "not found again", small_message.data != NULL ? small_message.data : "",
           m->encode ? "encode" : "decode", m->states.seek_interval, m->states.unfused != NULL ? unfused_mark : "",
           small_program.data, block_mark, small_block.data);
    fflush(stdout);
    zf_text_free(&small_program);
    zf_text_free(&small_block);
    zf_text_free(&small_message);
}

// ---- A seed ---------------------------------------------------------------------------------------------------

static gen_options options_of(uint64_t seed) {
    static const uint64_t most[] = {600, 5000, 5000, 9000};
    gen_options options = {
        .features = GEN_ALL | GEN_DELIVERED, .nest = seed % 7 == 0 ? 4 : 3, .faults = 15, .max_elements = most[seed / 3 % 4]};
    if (seed % 4 != 0) options.features &= ~(unsigned)GEN_CHUNKS; // those say nothing of accelerators
    if (seed % 3 == 0) options.features &= ~(unsigned)GEN_WILD;
    options.std_only = seed % ENCODE_EVERY == 0;
    return options;
}

static uint32_t interval_of(uint64_t seed) {
    static const uint32_t intervals[] = {256, 4096, 512, 256};
    return intervals[seed / 5 % 4];
}

static zf_decoder_states states_of(uint64_t seed) {
    return (zf_decoder_states){.seek_interval = interval_of(seed), .unfused = seed / 11 % 4 == 0 ? "all" : NULL};
}

static void print_block(const interp_block *block, zf_text *out) {
    zf_text_free(out);
    gen_block_print(block, out);
}

static interp_block plain_block(interp *in, const interp_stream *plain) {
    uint64_t *counts = ZF_NEW_ARRAY(interp_arena(in), uint64_t, 2);
    interp_stored *stream = ZF_NEW(interp_arena(in), interp_stored);
    counts[0] = counts[1] = interp_stream_count(plain);
    *stream = (interp_stored){.bytes = interp_stream_bytes(plain), .size = interp_stream_size(plain), .elements = counts[0]};
    return (interp_block){.counts = counts, .edge_count = 2, .streams = stream, .stream_count = 1};
}

static void encode_seed(made *m, const char *program, const command *o) {
    static const uint64_t edges[] = {0, 1, 2, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097, 8193};
    diff_program p;
    zf_text message = {0}, text = {0};
    if (!diff_program_open(m->machine, program, &p, &message)) {
        m->totals->rejected++;
        zf_text_free(&message);
        return;
    }
    diff_case c = case_of(m, diff_program_spec(&p));
    bool printable = !c.column->type.nullable && c.column->type.kind != ZF_K_STRING; // of others a case's file has no form
    m->totals->encoded_programs++;
    data_random random = {.state = m->seed};
    for (int k = 0; k < BLOCKS; k++) {
        interp *in = make_interp();
        uint64_t count =
            data_below(&random, 3) == 0 ? edges[data_below(&random, sizeof edges / sizeof edges[0])] : data_below(&random, 700);
        interp_stream *plain =
            data_stream(in, c.column->type, (data_shape)data_below(&random, DATA_SHAPES), data_next(&random), count);
        if (o->one && printable) {
            interp_block block = plain_block(in, plain);
            print_block(&block, &text);
            printf("---- data %d ----\n%s", k, text.data);
        }
        if (!encode_case(m, &c, &p, in, plain, &message)) {
            interp_block block = plain_block(in, plain);
            made whole = *m;
            whole.as_is = m->as_is || !printable;
            if (printable) print_block(&block, &text);
            report(&whole, program, text.data, message.data);
            zf_text_free(&message);
            k = BLOCKS;
        }
        interp_destroy(in);
    }
    diff_case_close(&c);
    diff_program_close(&p);
    zf_text_free(&message);
    zf_text_free(&text);
}

static void decode_seed(made *m, const char *program, const gen_options *options, bool print) {
    zf_spec *spec = check_text(program);
    if (spec == NULL) {
        m->totals->rejected++;
        return;
    }
    zf_text message = {0}, text = {0};
    diff_case c = case_of(m, spec);
    for (uint64_t k = 0; k < BLOCKS; k++) {
        interp *in = make_interp();
        interp_block block;
        if (gen_block(in, c.column, m->seed * BLOCKS + k, options, &block)) {
            m->totals->blocks++;
            if (print) {
                print_block(&block, &text);
                printf("---- block %llu ----\n%s", (ull)k, text.data);
            }
            diff_verdict verdict = diff_check_block(&c, in, &block, m->seed, &message);
            if (print) printf("---- %s %s ----\n", diff_verdict_name(verdict), message.data != NULL ? message.data : "");
            if (is_fault(verdict)) {
                print_block(&block, &text);
                report(m, program, text.data, message.data);
                k = BLOCKS;
            }
            zf_text_free(&message);
        }
        interp_destroy(in);
    }
    diff_case_close(&c);
    zf_spec_destroy(spec);
    zf_text_free(&message);
    zf_text_free(&text);
}

static void run_seed(diff_machine *machine, totals *t, uint64_t seed, const command *o) {
    gen_options options = options_of(seed);
    made m = {
        .machine = machine, .totals = t, .seed = seed, .states = states_of(seed), .encode = options.std_only, .as_is = o->as_is};
    char repeat[96];
    zf_text program = {0};
    snprintf(repeat, sizeof repeat, "zf-differential --seed %llu --one", (ull)seed);
    diff_set_case(repeat);
    gen_program(seed, &options, &program);
    t->programs++;
    if (o->one) printf("---- program ----\n%s", program.data);
    if (m.encode)
        encode_seed(&m, program.data, o);
    else
        decode_seed(&m, program.data, &options, o->one);
    zf_text_free(&program);
}

// ---- Results --------------------------------------------------------------------------------------------------

static void print_totals(const totals *t) {
    const diff_tally *d = &t->tally;
    printf("%llu programs (%llu of the library alone), %llu rejected; %llu blocks:", (ull)t->programs, (ull)t->encoded_programs,
           (ull)t->rejected, (ull)t->blocks);
    for (unsigned k = 0; k < DIFF_VERDICTS; k++) printf(" %llu %s", (ull)d->verdicts[k], diff_verdict_name((diff_verdict)k));
    printf("; encodings:");
    for (unsigned k = 0; k < DIFF_ENCODE_VERDICTS; k++)
        printf(" %llu %s", (ull)t->encoded[k], diff_encoded_name((diff_encoded)k));
    printf("\n%llu runs, %llu elements compared, %llu ranges, %llu lies found; same number %llu, same place %llu of %llu; "
           "unreached reported %llu\n",
           (ull)d->runs, (ull)d->elements, (ull)d->ranges, (ull)d->lies, (ull)d->same_number, (ull)d->same_place, (ull)d->placed,
           (ull)d->unreached_reported);
}

static void write_json(const char *path, const totals *t, uint64_t from, uint64_t count, double seconds) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        printf("%s cannot be written\n", path);
        return;
    }
    const diff_tally *d = &t->tally;
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    fprintf(file, "{\n  \"date\": \"%s\",\n  \"c_compiler\": \"%s\",\n  \"llvm\": \"%s\",\n  \"levels\": [\"-O0\", \"-O3\"],\n",
            date, __VERSION__, zf_compiler_llvm_version());
    fprintf(file, "  \"first_seed\": %llu,\n  \"seeds\": %llu,\n  \"seconds\": %.0f,\n", (ull)from, (ull)count, seconds);
    fprintf(file, "  \"programs\": %llu,\n  \"rejected\": %llu,\n  \"library_programs\": %llu,\n  \"blocks\": %llu,\n",
            (ull)t->programs, (ull)t->rejected, (ull)t->encoded_programs, (ull)t->blocks);
    fprintf(file, "  \"verdicts\": {");
    for (unsigned k = 0; k < DIFF_VERDICTS; k++)
        fprintf(file, "%s\"%s\": %llu", k ? ", " : "", diff_verdict_name((diff_verdict)k), (ull)d->verdicts[k]);
    fprintf(file, "},\n  \"encodings\": {");
    for (unsigned k = 0; k < DIFF_ENCODE_VERDICTS; k++)
        fprintf(file, "%s\"%s\": %llu", k ? ", " : "", diff_encoded_name((diff_encoded)k), (ull)t->encoded[k]);
    fprintf(file, "},\n  \"violations\": {");
    bool first = true;
    for (unsigned k = 0; k < 32; k++) {
        if (d->violations[k] == 0) continue;
        fprintf(file, "%s\"V%02u\": %llu", first ? "" : ", ", k, (ull)d->violations[k]);
        first = false;
    }
    fprintf(file,
            "},\n  \"violations_of_the_same_number\": %llu,\n  \"violations_placed\": %llu,\n  \"violations_at_the_same_place\": "
            "%llu,\n",
            (ull)d->same_number, (ull)d->placed, (ull)d->same_place);
    fprintf(file, "  \"unreached_reported\": %llu,\n  \"runs\": %llu,\n  \"elements_compared\": %llu,\n  \"ranges\": %llu,\n",
            (ull)d->unreached_reported, (ull)d->runs, (ull)d->elements, (ull)d->ranges);
    fprintf(file, "  \"lying_states_found\": %llu,\n  \"disagreements\": %llu\n}\n", (ull)d->lies, (ull)t->failures);
    fclose(file);
}

// ---- The command ----------------------------------------------------------------------------------------------

static bool parse(int count, char **arguments, command *o) {
    *o = (command){.from = 1, .count = 200, .jobs = 1};
    for (int k = 1; k < count; k++) {
        const char *name = arguments[k];
        bool more = k + 1 < count;
        if (strcmp(name, "--one") == 0)
            o->one = true;
        else if (strcmp(name, "--as-is") == 0)
            o->as_is = true;
        else if (strcmp(name, "-v") == 0)
            o->verbose = true;
        else if (!more)
            return false;
        else if (strcmp(name, "--from") == 0 || strcmp(name, "--seed") == 0)
            o->from = strtoull(arguments[++k], NULL, 10);
        else if (strcmp(name, "--count") == 0)
            o->count = strtoull(arguments[++k], NULL, 10);
        else if (strcmp(name, "--jobs") == 0)
            o->jobs = (unsigned)strtoul(arguments[++k], NULL, 10);
        else if (strcmp(name, "--seconds") == 0)
            o->seconds = strtoull(arguments[++k], NULL, 10);
        else if (strcmp(name, "--json") == 0)
            o->json = arguments[++k];
        else if (strcmp(name, "--case") == 0) {
            o->cases = arguments + k + 1;
            o->case_count = count - k - 1;
            k = count;
        } else
            return false;
    }
    if (o->one) o->count = 1;
    return o->jobs > 0 && o->jobs <= 256;
}

static char *read_text(const char *path) {
    size_t size;
    char *bytes = load_bytes(path, &size);
    char *text = bytes != NULL ? strndup(bytes, size) : NULL;
    if (bytes == NULL) printf("%s cannot be read\n", path);
    free(bytes);
    return text;
}

/// A file of one case: "// encode, seek interval 256" (and whether ordered stages are alone), the program, a mark, the block.
static bool run_file(diff_machine *machine, totals *t, const char *path) {
    char *text = read_text(path), *mark = text != NULL ? strstr(text, block_mark) : NULL;
    unsigned interval = 0;
    bool encode = text != NULL && strncmp(text, "// encode, ", 11) == 0;
    zf_text message = {0};
    outcome result = NOT_RUN;
    if (mark != NULL && sscanf(text + 11, "seek interval %u", &interval) == 1) {
        const char *end = strchr(text, '\n'), *alone = strstr(text, unfused_mark);
        made m = {.machine = machine, .totals = t, .seed = 1, .encode = encode, .states = {.seek_interval = interval}};
        if (alone != NULL && alone < end) m.states.unfused = "all";
        *mark = 0;
        result = run_texts(&m, text, mark + strlen(block_mark), &message);
    }
    if (result != SAME)
        printf("%s: %s: %s\n", path, result == NOT_RUN ? "not run" : "they differ", message.data != NULL ? message.data : "");
    zf_text_free(&message);
    free(text);
    return result == SAME;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// The seeds of one job: every `jobs`th.
static void run_seeds(diff_machine *machine, totals *t, const command *o, unsigned job, double started) {
    for (uint64_t k = job; k < o->count && t->failures < 20; k += o->jobs) {
        if (o->seconds > 0 && now() - started > (double)o->seconds) break;
        run_seed(machine, t, o->from + k, o);
        if (o->verbose && t->programs % 100 == 0) {
            printf("%llu: ", (ull)(o->from + k));
            print_totals(t);
            fflush(stdout);
        }
    }
}

static void add_totals(totals *sum, const totals *t) { // they are counters, all of them
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)t;
    for (size_t k = 0; k < sizeof *sum / sizeof *to; k++) to[k] += from[k];
}

/// Every job in a process of its own. False when one died.
static bool run_jobs(totals *t, const command *o, double started) {
    bool good = true;
    totals *shared = mmap(NULL, o->jobs * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return false;
    for (unsigned job = 0; job < o->jobs; job++) {
        pid_t child = fork();
        if (child < 0) good = false;
        if (child != 0) continue;
        diff_machine machine;
        zf_text message = {0};
        if (!diff_machine_open(&machine, NULL, &message)) _exit(2);
        run_seeds(&machine, &shared[job], o, job, started);
        diff_machine_close(&machine);
        fflush(stdout);
        _exit(0);
    }
    for (int status; wait(&status) > 0;) good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    for (unsigned job = 0; job < o->jobs; job++) add_totals(t, &shared[job]);
    munmap(shared, o->jobs * sizeof *shared);
    if (!good) printf("a job died\n");
    return good;
}

/// In this process, where a debugger and sanitizers see it.
static bool run_here(totals *t, const command *o, double started) {
    diff_machine machine;
    zf_text message = {0};
    bool good = diff_machine_open(&machine, NULL, &message);
    if (!good) printf("%s\n", message.data);
    for (int k = 0; k < o->case_count && good; k++) {
        char repeat[300];
        snprintf(repeat, sizeof repeat, "zf-differential --case %s", o->cases[k]);
        diff_set_case(repeat);
        t->failures += !run_file(&machine, t, o->cases[k]);
    }
    if (good && o->case_count == 0) run_seeds(&machine, t, o, 0, started);
    diff_machine_close(&machine);
    zf_text_free(&message);
    return good;
}

/// Whether the seeds were a test of anything.
static bool is_enough(const totals *t, const command *o) {
    if (o->case_count > 0 || o->one) return true; // each says what became of it
    if (t->programs > 0 && t->blocks > 0 && 5 * t->rejected <= t->programs) return true;
    printf("too little was compared: %llu programs, %llu of them rejected, %llu blocks\n", (ull)t->programs, (ull)t->rejected,
           (ull)t->blocks);
    return false;
}

int main(int count, char **arguments) {
    command o;
    if (!parse(count, arguments, &o)) {
        printf("zf-differential [--from N] [--count N] [--jobs N] [--seconds S] [--json FILE] [--as-is] [-v]\n"
               "zf-differential --seed N --one\n"
               "zf-differential --case FILE...\n");
        return 2;
    }
    totals *t = calloc(1, sizeof *t);
    double started = now();
    bool good = o.jobs > 1 && o.case_count == 0 ? run_jobs(t, &o, started) : run_here(t, &o, started);
    print_totals(t);
    if (o.json != NULL) write_json(o.json, t, o.from, t->programs, now() - started);
    int status = !good ? 2 : t->failures > 0 || !is_enough(t, &o) ? 1 : 0;
    free(t);
    return status;
}
