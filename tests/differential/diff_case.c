#include "tests/differential/diff_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interp/data.h"

typedef unsigned long long ull;

const char *diff_verdict_name(diff_verdict verdict) {
    static const char *const names[DIFF_VERDICTS] = {"same_bytes", "same_violation", "unreached",
                                                     "limited",    "unsupported",    "disagree"};
    return names[verdict];
}

// ---- Decoders -------------------------------------------------------------------------------------------------

struct diff_decoder {
    unsigned level;
    uint8_t *branches;
    zf_decoder *decoder;
    uint64_t *tuples; // of shaping values that it was specialised for
    unsigned tuple_count;
    diff_decoder *next;
};

zf_decoder *diff_decoder_for(diff_case *c, unsigned level, const uint8_t *branches, uint32_t branch_count, zf_error *error) {
    for (diff_decoder *d = c->decoders; d != NULL; d = d->next)
        if (d->level == level && (branch_count == 0 || memcmp(d->branches, branches, branch_count) == 0)) return d->decoder;
    zf_decoder *decoder = NULL;
    if (zf_decoder_create(diff_compiler(c->machine, level), c->spec, c->column, branches, branch_count,
                          diff_target(c->machine, level), c->seek_interval, &decoder, error) != ZF_OK)
        return NULL;
    diff_decoder *d = calloc(1, sizeof *d);
    *d = (diff_decoder){.level = level, .branches = calloc(1, branch_count + 1u), .decoder = decoder, .next = c->decoders};
    if (branch_count > 0) memcpy(d->branches, branches, branch_count);
    c->decoders = d;
    return decoder;
}

bool diff_is_ordered(const diff_case *c) {
    for (const diff_decoder *d = c->decoders; d != NULL; d = d->next)
        if (d->decoder->abi.tree_count > 0) return true;
    return false;
}

void diff_case_close(diff_case *c) {
    while (c->decoders != NULL) {
        diff_decoder *d = c->decoders;
        c->decoders = d->next;
        zf_decoder_free(d->decoder);
        free(d->branches);
        free(d->tuples);
        free(d);
    }
}

// Whether the block's tuple gets code of its own.
static bool specialises(diff_case *c, const zf_decoder *decoder, const uint64_t *shaping) {
    uint32_t width = decoder->plan->shaping_count;
    diff_decoder *d = c->decoders;
    while (d->decoder != decoder) d = d->next;
    for (unsigned k = 0; k < d->tuple_count; k++)
        if (memcmp(d->tuples + k * width, shaping, width * sizeof *shaping) == 0) return true;
    if (c->tuples != 0 && d->tuple_count == c->tuples) return false;
    d->tuples = realloc(d->tuples, (d->tuple_count + 1) * width * sizeof *shaping);
    memcpy(d->tuples + d->tuple_count++ * width, shaping, width * sizeof *shaping);
    return true;
}

// ---- What is expected -----------------------------------------------------------------------------------------

typedef struct comparing {
    diff_case *c;
    const interp_block *block;
    const interp_report *report;
    const interp_stream *wanted; // NULL: a violation
    bool may_violate;
    data_random random;
    zf_text *message;
    // what the forms did
    bool same_number, reported;
    // the form at hand
    unsigned level;
    bool general;
    zf_decoder *decoder;
    const zf_abi_code *code;
    uint64_t order; // of threads on the emulated GPU
    // what recorded last, for forms that cannot
    zf_decoder *recorder;
    const zf_abi_code *recorder_code;
} comparing;

static diff_verdict differ(comparing *k, const char *what, const char *detail) {
    zf_text_printf(k->message, "%s, %s, %s: %s", diff_level_name(k->level), k->general ? "general" : "specialised", what, detail);
    return DIFF_DISAGREE;
}

static bool is_nan(zf_kind kind, const uint8_t *at) {
    float single;
    double value;
    if (kind == ZF_K_F32) {
        memcpy(&single, at, 4);
        return single != single;
    }
    if (kind != ZF_K_F64) return false;
    memcpy(&value, at, 8);
    return value != value;
}

// First row of begin..end that differs; `end` when none does.
static uint64_t first_difference(const comparing *k, const diff_result *got, uint64_t begin, uint64_t end) {
    zf_kind kind = k->c->column->type.kind;
    const uint8_t *wanted = interp_stream_bytes(k->wanted);
    if (kind == ZF_K_BOOL) {
        for (uint64_t r = begin; r < end; r++)
            if ((wanted[r / 8] >> (r % 8) & 1) != (got->bytes[(r - begin) / 8] >> ((r - begin) % 8) & 1)) return r;
        uint64_t rest = (end - begin) % 8; // the spare bits are 0
        return rest != 0 && got->bytes[(end - begin) / 8] >> rest != 0 ? end - 1 : end;
    }
    size_t size = zf_kind_size(kind);
    if (begin == end || memcmp(wanted + begin * size, got->bytes, (end - begin) * size) == 0) return end;
    for (uint64_t r = begin; r < end; r++) {
        const uint8_t *a = wanted + r * size, *b = got->bytes + (r - begin) * size;
        if (memcmp(a, b, size) != 0 && (k->c->exact_nans || !is_nan(kind, a) || !is_nan(kind, b))) return r;
    }
    return end;
}

static diff_verdict compare_bytes(comparing *k, const diff_result *got, uint64_t begin, uint64_t end, const char *what) {
    char detail[200];
    uint64_t row = first_difference(k, got, begin, end);
    k->c->tally->elements += end - begin;
    if (row == end) return DIFF_SAME_BYTES;
    uint64_t bits = 0, size = zf_kind_size(k->c->column->type.kind);
    if (k->c->column->type.kind == ZF_K_BOOL)
        bits = got->bytes[(row - begin) / 8] >> ((row - begin) % 8) & 1;
    else
        memcpy(&bits, got->bytes + (row - begin) * size, size);
    snprintf(detail, sizeof detail, "row %llu is %#llx, should be %#llx", (ull)row, (ull)bits,
             (ull)interp_stream_bits(k->wanted, row, NULL));
    return differ(k, what, detail);
}

// A violation's position is the column's row, or the first of its tile.
static bool same_place(const comparing *k, uint64_t row) {
    uint64_t tile = 1, wanted = k->report->root_position;
    for (uint32_t n = 0; n < k->decoder->abi.kernel_count; n++)
        if (k->decoder->abi.kernels[n].sink < 0) tile = k->decoder->abi.kernels[n].tile;
    return row == wanted || row == wanted / tile * tile;
}

// The first violation by position is reported, so never one behind the interpreter's (before it there may be one that nobody
// pulls).
static bool behind(const comparing *k, const diff_result *got) {
    const interp_violation *violation = &k->report->violation;
    bool placed = violation->number < 9 && (violation->path[0] == 0 || k->report->root_position > 0);
    return got->at_row && placed && got->row > k->report->root_position;
}

// A whole block.
static diff_verdict judge(comparing *k, const diff_result *got, const char *what) {
    char detail[200];
    k->c->tally->runs++;
    if (got->kind == DIFF_FAULT) return differ(k, what, got->text);
    if (got->kind == DIFF_VIOLATED) {
        k->reported = true;
        if (k->wanted != NULL) return k->may_violate ? DIFF_UNREACHED : differ(k, what, got->text);
        k->same_number = k->same_number && got->violation == k->report->violation.number;
        if (behind(k, got)) {
            snprintf(detail, sizeof detail, "row %llu is reported, not the first: V%02u at %llu", (ull)got->row,
                     k->report->violation.number, (ull)k->report->root_position);
            return differ(k, what, detail);
        }
        if (got->at_row && got->violation == k->report->violation.number && got->violation < 9) {
            k->c->tally->placed++;
            k->c->tally->same_place += same_place(k, got->row);
        }
        return DIFF_SAME_VIOLATION;
    }
    if (k->wanted != NULL) return compare_bytes(k, got, 0, interp_stream_count(k->wanted), what);
    snprintf(detail, sizeof detail, "no violation, should be V%02u of '%s' at row %llu", k->report->violation.number,
             k->report->violation.path, (ull)k->report->root_position);
    return differ(k, what, detail);
}

// ---- Runs -----------------------------------------------------------------------------------------------------

static diff_call call_of(comparing *k, const diff_laid *laid) {
    return (diff_call){.machine = k->c->machine,
                       .decoder = k->decoder,
                       .code = k->code,
                       .laid = laid,
                       .end = UINT64_MAX,
                       .threads = 1,
                       .order = k->order};
}

// Some rows of the block, which may cut tiles and bytes.
static diff_verdict check_range(comparing *k, const diff_laid *laid, uint64_t begin, uint64_t end) {
    diff_call call = call_of(k, laid);
    diff_result got;
    char what[96];
    call.begin = begin;
    call.end = end;
    snprintf(what, sizeof what, "rows %llu..%llu decoded", (ull)begin, (ull)end);
    diff_run(&call, &got);
    diff_verdict verdict = DIFF_SAME_VIOLATION;
    k->c->tally->runs++;
    k->c->tally->ranges++;
    if (got.kind == DIFF_FAULT)
        verdict = differ(k, what, got.text);
    else if (k->wanted == NULL) {
        if (got.kind == DIFF_BYTES) verdict = differ(k, what, "no violation");
    } else if (got.kind == DIFF_BYTES)
        verdict = compare_bytes(k, &got, begin, end, what);
    else if (!k->may_violate)
        verdict = differ(k, what, got.text);
    diff_result_free(&got);
    return verdict;
}

static diff_verdict check_ranges(comparing *k, const diff_laid *laid) {
    uint64_t rows = k->block->counts[0];
    if (k->wanted == NULL) { // the rows of a tile that holds what is wrong
        unsigned number = k->report->violation.number;
        uint64_t at = k->report->root_position;
        bool pulled = number == 1 || (number >= 5 && number <= 8);
        if (!pulled || k->report->violation.path[0] != 0 || at >= rows) return DIFF_SAME_VIOLATION;
        return check_range(k, laid, at, at + 1);
    }
    for (int n = 0; n < 2 && rows > 0; n++) {
        uint64_t begin = data_below(&k->random, rows), length = data_below(&k->random, rows - begin + 1);
        if (data_below(&k->random, 3) == 0) begin = begin / 256 * 256;
        if (length > rows - begin) length = rows - begin;
        diff_verdict verdict = check_range(k, laid, begin, begin + length);
        if (verdict == DIFF_DISAGREE) return verdict;
    }
    return DIFF_SAME_BYTES;
}

// A state that says `lie` must be found.
static diff_verdict tell_lie(comparing *k, const diff_records *records, const zf_abi_field *field, uint64_t *state,
                             uint64_t lie) {
    uint64_t saved = *state;
    diff_verdict verdict = DIFF_SAME_BYTES;
    diff_laid laid;
    diff_result got;
    if (lie == saved) return verdict;
    *state = lie;
    if (diff_lay_out(k->decoder, k->block, records, &laid, &got)) {
        diff_call call = call_of(k, &laid);
        diff_run(&call, &got);
        k->c->tally->runs++;
        k->c->tally->lies++;
        char what[96];
        snprintf(what, sizeof what, "state %s changed from %llu to %llu", field->name, (ull)saved, (ull)lie);
        if (got.kind == DIFF_FAULT)
            verdict = differ(k, what, got.text);
        else if (got.kind == DIFF_BYTES)
            verdict = differ(k, what, "nobody noticed");
        diff_result_free(&got);
        free(laid.bytes);
    } else
        verdict = differ(k, "layout with a lying state", got.text);
    *state = saved;
    return verdict;
}

// Seek states that lie must be found: a random one, and the one before, which is nearly right (an empty group, say).
static diff_verdict check_lies(comparing *k, const diff_records *records) {
    if (records->trees == 0) return DIFF_SAME_BYTES;
    uint32_t tree = (uint32_t)data_below(&k->random, records->trees);
    const zf_abi_tree *abi = &k->decoder->abi.trees[tree];
    uint64_t entries = records->entries[tree];
    if (entries == 0 || abi->field_count == 0) return DIFF_SAME_BYTES;
    uint32_t field = (uint32_t)data_below(&k->random, abi->field_count);
    uint64_t *states = &records->values[tree][field * entries];
    uint64_t *state = &states[data_below(&k->random, entries)];
    uint64_t lie = 0, bits = 8 * (uint64_t)abi->fields[field].bytes;
    switch (data_below(&k->random, 4)) {
    case 0: lie = *state ^ 1; break;
    case 1: lie = *state ^ UINT64_C(1) << data_below(&k->random, bits); break;
    case 2: lie = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1; break;
    default: break;
    }
    diff_verdict verdict = tell_lie(k, records, &abi->fields[field], state, lie);
    state = &records->values[tree][data_below(&k->random, entries)];
    if (verdict != DIFF_DISAGREE && *state > 0) verdict = tell_lie(k, records, &abi->fields[0], state, *state - 1);
    return verdict;
}

// The states of the block as recorded; then the block decoded from them, whole, in part, and from a lie.
static diff_verdict run_form(comparing *k) {
    diff_laid laid;
    diff_result got;
    if (!diff_lay_out(k->decoder, k->block, NULL, &laid, &got)) return judge(k, &got, "layout");
    diff_records records = diff_records_make(k->decoder, k->block->counts);
    diff_verdict verdict = k->wanted != NULL ? DIFF_SAME_BYTES : DIFF_SAME_VIOLATION;
    diff_call call = call_of(k, &laid);
    bool recorded = true;
    if (records.trees > 0) {
        call.record = &records;
        call.decoder = k->recorder;
        call.code = k->recorder_code;
        diff_run(&call, &got);
        verdict = judge(k, &got, "recorded");
        recorded = got.kind == DIFF_BYTES;
        diff_result_free(&got);
        call.record = NULL;
        call.decoder = k->decoder;
        call.code = k->code;
        free(laid.bytes);
        laid.bytes = NULL;
        // States of a run that failed are lies; what is wrong with the block shows all the same.
        if (verdict != DIFF_DISAGREE && !diff_lay_out(k->decoder, k->block, &records, &laid, &got)) {
            verdict = judge(k, &got, "layout with states");
            recorded = false;
        }
    }
    if (verdict != DIFF_DISAGREE && laid.bytes != NULL) {
        call.threads = data_below(&k->random, 16) == 0 ? 2 : 1;
        diff_run(&call, &got);
        verdict = judge(k, &got, "decoded");
        diff_result_free(&got);
    }
    if (verdict != DIFF_DISAGREE && recorded && laid.bytes != NULL) {
        diff_verdict part = check_ranges(k, &laid);
        if (part != DIFF_DISAGREE && k->wanted != NULL && !k->may_violate) part = check_lies(k, &records);
        if (part == DIFF_DISAGREE) verdict = part;
    }
    free(laid.bytes);
    diff_records_free(&records);
    return verdict;
}

// ---- A block --------------------------------------------------------------------------------------------------

static diff_verdict unsupported(comparing *k, const zf_error *error) {
    zf_text_printf(k->message, "%s: %s", error->code, error->message);
    return DIFF_UNSUPPORTED;
}

static diff_verdict run_forms(comparing *k) {
    diff_verdict verdict = DIFF_SAME_BYTES;
    for (k->level = 0; k->level < DIFF_FORMS; k->level++) {
        k->order = data_below(&k->random, 8);
        zf_error error = {0};
        k->decoder = diff_decoder_for(k->c, k->level, k->block->branches, k->block->branch_count, &error);
        if (k->decoder == NULL && error.status == ZF_ERR_UNSUPPORTED) return unsupported(k, &error);
        if (k->decoder == NULL) return differ(k, "no decoder", error.message);
        uint32_t shaping_count = k->decoder->plan->shaping_count;
        uint64_t *shaping = calloc(shaping_count + 1u, sizeof *shaping);
        for (uint32_t p = 0; p < shaping_count; p++) shaping[p] = diff_param(k->decoder, k->block, k->decoder->plan->shaping[p]);
        for (unsigned form = shaping_count > 0 && specialises(k->c, k->decoder, shaping) ? 0 : 1; form < 2; form++) {
            k->general = form == 1;
            zf_status status = zf_decoder_code_for(k->decoder, k->general ? NULL : shaping, &k->code, &error);
            if (status == ZF_ERR_UNSUPPORTED)
                verdict = unsupported(k, &error);
            else if (status != ZF_OK)
                verdict = differ(k, "compiling", error.message);
            else {
                if (k->level != DIFF_GPU) {
                    k->recorder = k->decoder;
                    k->recorder_code = k->code;
                }
                verdict = run_form(k);
            }
            if (verdict == DIFF_DISAGREE || verdict == DIFF_UNSUPPORTED) {
                free(shaping);
                return verdict;
            }
        }
        free(shaping);
    }
    return k->may_violate ? DIFF_UNREACHED : verdict;
}

diff_verdict diff_check_block(diff_case *c, interp *in, const interp_block *block, uint64_t seed, zf_text *message) {
    interp_report report;
    interp_stream *out;
    diff_tally *tally = c->tally;
    diff_verdict verdict;
    interp_status status = interp_decode_stored(in, c->column, block, &out, &report);
    if (status == INTERP_LIMIT || status == INTERP_MEMORY)
        verdict = DIFF_LIMITED;
    else if (status != INTERP_OK && status != INTERP_VIOLATION) {
        zf_text_printf(message, "the interpreter: %s: %s", interp_status_name(status), report.message);
        verdict = DIFF_DISAGREE;
    } else {
        comparing k = {.c = c,
                       .block = block,
                       .report = &report,
                       .wanted = status == INTERP_OK ? out : NULL,
                       .may_violate = status == INTERP_OK && report.unreached,
                       .random = {seed},
                       .message = message,
                       .same_number = true};
        verdict = run_forms(&k);
        if (verdict == DIFF_SAME_VIOLATION) {
            tally->violations[report.violation.number % 32]++;
            tally->same_number += k.same_number;
        }
        tally->unreached_reported += verdict == DIFF_UNREACHED && k.reported;
    }
    tally->verdicts[verdict]++;
    return verdict;
}
