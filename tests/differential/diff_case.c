#include "tests/differential/diff_case_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/differential/diff_choose.h"
#include "tests/differential/diff_text.h"

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
    zf_compiler *compiler = diff_compiler(c->machine, level);
    zf_plan_request request = {.target = diff_target(c->machine, level), .states = c->states, .sites = c->sites};
    if (zf_decoder_create(compiler, c->column, branches, branch_count, &request, &decoder, error) != ZF_OK) return NULL;
    if (level == DIFF_GPU && (c->machine->choosing != NULL || c->machine->warps > 0)) { // again, as its kernels may be
        zf_choices choices;
        if (c->machine->choosing != NULL)
            diff_choose(c->machine->choosing, decoder->plan, &choices);
        else
            diff_choose_warps(decoder->plan, c->machine->warps, &choices);
        zf_decoder_free(decoder);
        request.choices = &choices;
        if (zf_decoder_create(compiler, c->column, branches, branch_count, &request, &decoder, error) != ZF_OK) return NULL;
    }
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

static void free_decoder(diff_decoder *d) {
    zf_decoder_free(d->decoder);
    free(d->branches);
    free(d->tuples);
    free(d);
}

void diff_case_forget(diff_case *c, unsigned level) {
    for (diff_decoder **at = &c->decoders; *at != NULL;) {
        diff_decoder *d = *at;
        if (d->level != level) {
            at = &d->next;
            continue;
        }
        *at = d->next;
        free_decoder(d);
    }
}

void diff_case_close(diff_case *c) {
    for (unsigned level = 0; level < DIFF_FORMS; level++) diff_case_forget(c, level);
}

// Whether the block's tuple gets code of its own.
static bool specialises(diff_case *c, const zf_decoder *decoder, const uint64_t *shaping) {
    uint32_t width = decoder->plan->shaping_count;
    diff_decoder *d = c->decoders;
    while (d->decoder != decoder) d = d->next;
    for (unsigned k = 0; k < d->tuple_count; k++)
        if (memcmp(d->tuples + k * width, shaping, width * sizeof *shaping) == 0) return true;
    if (c->tuples != 0 && d->tuple_count >= c->tuples) return false;
    d->tuples = realloc(d->tuples, (d->tuple_count + 1) * width * sizeof *shaping);
    memcpy(d->tuples + d->tuple_count++ * width, shaping, width * sizeof *shaping);
    return true;
}

// ---- Expected results -----------------------------------------------------------------------------------------

diff_verdict diff_differ(diff_comparing *k, const char *what, const char *detail) {
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
static uint64_t first_difference(const diff_comparing *k, const diff_result *got, uint64_t begin, uint64_t end) {
    zf_kind kind = k->c->column->type.kind;
    const uint8_t *wanted = interp_stream_bytes(k->wanted);
    for (uint64_t r = begin; got->validity != NULL && r < end; r++) { // the values of nulls are 0 in the stream, too
        bool null;
        interp_stream_bits(k->wanted, r, &null);
        if (null == (got->validity[(r - begin) / 8] >> ((r - begin) % 8) & 1)) return r;
    }
    if (kind == ZF_K_BOOL) {
        for (uint64_t r = begin; r < end; r++)
            if ((wanted[r / 8] >> (r % 8) & 1) != (got->bytes[(r - begin) / 8] >> ((r - begin) % 8) & 1)) return r;
        uint64_t rest = (end - begin) % 8; // the spare bits are 0
        return rest != 0 && got->bytes[(end - begin) / 8] >> rest != 0 ? end - 1 : end;
    }
    for (uint64_t r = begin; kind == ZF_K_STRING && r < end; r++) {
        uint64_t length;
        const uint8_t *text = diff_text_of(k->wanted, r, &length);
        const int64_t *at = got->offsets + (r - begin);
        if ((uint64_t)(at[1] - at[0]) != length || (length > 0 && memcmp(text, got->bytes + at[0], length) != 0)) return r;
    }
    if (kind == ZF_K_STRING) return end;
    size_t size = zf_kind_size(kind);
    if (begin == end || memcmp(wanted + begin * size, got->bytes, (end - begin) * size) == 0) return end;
    for (uint64_t r = begin; r < end; r++) {
        const uint8_t *a = wanted + r * size, *b = got->bytes + (r - begin) * size;
        if (memcmp(a, b, size) != 0 && (k->c->exact_nans || !is_nan(kind, a) || !is_nan(kind, b))) return r;
    }
    return end;
}

static diff_verdict compare_bytes(diff_comparing *k, const diff_result *got, uint64_t begin, uint64_t end, const char *what) {
    char detail[200];
    uint64_t row = first_difference(k, got, begin, end);
    k->c->tally->elements += end - begin;
    if (row == end) return DIFF_SAME_BYTES;
    uint64_t bits = 0, size = zf_kind_size(k->c->column->type.kind);
    if (k->c->column->type.kind == ZF_K_STRING) {
        uint64_t length;
        diff_text_of(k->wanted, row, &length);
        snprintf(detail, sizeof detail, "row %llu has %lld bytes, should have %llu, or other ones", (ull)row,
                 (long long)(got->offsets[row - begin + 1] - got->offsets[row - begin]), (ull)length);
        return diff_differ(k, what, detail);
    }
    if (k->c->column->type.kind == ZF_K_BOOL)
        bits = got->bytes[(row - begin) / 8] >> ((row - begin) % 8) & 1;
    else
        memcpy(&bits, got->bytes + (row - begin) * size, size);
    snprintf(detail, sizeof detail, "row %llu is %#llx, should be %#llx", (ull)row, (ull)bits,
             (ull)interp_stream_bits(k->wanted, row, NULL));
    return diff_differ(k, what, detail);
}

// Rows that the column's kernel makes together.
static uint64_t tile_of(const diff_comparing *k) {
    uint64_t tile = 1;
    for (uint32_t n = 0; n < k->decoder->abi.kernel_count; n++)
        if (k->decoder->abi.kernels[n].sink < 0) tile = k->decoder->abi.kernels[n].tile;
    return tile;
}

// The interpreter says the first row of a chunk, generated code where the chunk stood.
static bool makes_chunks(const diff_comparing *k) { return k->decoder->graph->nodes[0].inst->pattern == ZF_NON_PARALLEL; }

// A violation's position is the column's row, or the first of its tile.
static bool same_place(const diff_comparing *k, uint64_t row) {
    uint64_t tile = tile_of(k), wanted = k->report->root_position;
    if (makes_chunks(k)) return row / tile == wanted / tile;
    if (k->c->neighbour && row == k->c->guilty) return true; // an empty group stands where the next tile begins
    return row == wanted || row == wanted / tile * tile;
}

// The first violation by position is reported, so never one behind the interpreter's (before it there may be one that nobody
// pulls).
static bool behind(const diff_comparing *k, const diff_result *got) {
    const interp_violation *violation = &k->report->violation;
    bool placed = violation->number < 9 && (violation->path[0] == 0 || k->report->root_position > 0);
    if (makes_chunks(k)) return got->at_row && placed && !same_place(k, got->row) && got->row > k->report->root_position;
    return got->at_row && placed && got->row > k->report->root_position;
}

// Violations in a block's header are reported before any kernel runs.
static bool of_header(unsigned violation) { return violation >= 20 && violation <= 25; }

// Whether a violation is the one that was asked for.
static bool meets(const diff_comparing *k, const diff_result *got) {
    char part[200];
    const interp_violation *wanted = &k->report->violation;
    if (k->c->demand == DIFF_SUM) return k->level != DIFF_GPU || got->violation == 9;
    snprintf(part, sizeof part, ", %s (", wanted->path[0] != 0 ? wanted->path : "the column's codec");
    return k->c->demand == DIFF_ANY || (got->violation == wanted->number && strstr(got->text, part) != NULL);
}

// A whole block.
static diff_verdict judge(diff_comparing *k, const diff_result *got, const char *what) {
    char detail[200];
    k->c->tally->runs++;
    if (got->kind == DIFF_FAULT) return diff_differ(k, what, got->text);
    if (got->kind == DIFF_VIOLATED) {
        k->reported = true;
        if (k->wanted != NULL) return k->may_violate ? DIFF_UNREACHED : diff_differ(k, what, got->text);
        k->same_number = k->same_number && got->violation == k->report->violation.number;
        if (behind(k, got)) {
            snprintf(detail, sizeof detail, "row %llu is reported, not the first: V%02u at %llu", (ull)got->row,
                     k->report->violation.number, (ull)k->report->root_position);
            return diff_differ(k, what, detail);
        }
        // A recording does not know yet where tiles end.
        bool exact = k->c->undamaged != NULL && !k->c->several && strcmp(what, "recorded") != 0;
        if (exact && got->at_row && got->violation == k->report->violation.number && got->violation < 9 &&
            k->report->violation.path[0] == 0 && !same_place(k, got->row)) {
            snprintf(detail, sizeof detail, "row %llu is reported where one place is damaged: V%02u at %llu", (ull)got->row,
                     k->report->violation.number, (ull)k->report->root_position);
            return diff_differ(k, what, detail);
        }
        if (k->c->undamaged != NULL && !k->c->several && of_header(k->report->violation.number) && got->at_row) {
            snprintf(detail, sizeof detail, "V%02u at row %llu is reported, not V%02u of the block", got->violation,
                     (ull)got->row, k->report->violation.number);
            return diff_differ(k, what, detail);
        }
        if (exact && !meets(k, got)) { // while it records, code has no states yet
            snprintf(detail, sizeof detail, "%.120s, where the interpreter says V%02u of '%s' at %llu", got->text,
                     k->report->violation.number, k->report->violation.path, (ull)k->report->root_position);
            return diff_differ(k, what, detail);
        }
        // A chunk's program does one thing after the other, and what it meets first is what it says.
        if (exact && got->at_row && makes_chunks(k) && got->violation != k->report->violation.number &&
            k->report->violation.number < 9 && k->report->violation.path[0] == 0) {
            snprintf(detail, sizeof detail, "V%02u at row %llu is reported, not V%02u at %llu", got->violation, (ull)got->row,
                     k->report->violation.number, (ull)k->report->root_position);
            return diff_differ(k, what, detail);
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
    return diff_differ(k, what, detail);
}

// ---- Runs -----------------------------------------------------------------------------------------------------

diff_call diff_call_of(diff_comparing *k, const diff_laid *laid) {
    return (diff_call){.machine = k->c->machine,
                       .decoder = k->decoder,
                       .code = k->code,
                       .laid = laid,
                       .end = UINT64_MAX,
                       .threads = 1,
                       .order = k->order,
                       .unaligned = data_below(&k->random, 4) == 0,
                       .search = k->order / 2 % 2 == 1};
}

// Where a check of the whole block failed. Kernels do not run then.
static const char whole_block[] = ", the whole block, ";

/// Runs rows of the block. A check that is made once per block fails for all rows and in every form, or for none: else *out is a
/// fault.
static void run_rows(diff_comparing *k, const diff_call *call, diff_result *out) {
    diff_run(call, out);
    bool whole = out->kind == DIFF_VIOLATED && strstr(out->text, whole_block) != NULL;
    bool in_kernel = out->kind == DIFF_BYTES || (out->kind == DIFF_VIOLATED && out->at_row);
    if ((!whole && !in_kernel) || call->begin >= call->end) return;
    if (k->block_error == NULL) k->block_error = strdup(whole ? out->text : "");
    if (strcmp(k->block_error, whole ? out->text : "") == 0) return;
    char got[sizeof out->text];
    snprintf(got, sizeof got, "%s", whole ? out->text : "no check of the whole block failed");
    diff_result_free(out);
    out->kind = DIFF_FAULT;
    snprintf(out->text, sizeof out->text, "%.400s; before: %.400s", got, k->block_error[0] != 0 ? k->block_error : "none did");
}

// Some rows of the block, which may cut tiles and bytes.
static diff_verdict check_range(diff_comparing *k, const diff_laid *laid, uint64_t begin, uint64_t end) {
    diff_call call = diff_call_of(k, laid);
    diff_result got;
    char what[96];
    call.begin = begin;
    call.end = end;
    snprintf(what, sizeof what, "rows %llu..%llu decoded", (ull)begin, (ull)end);
    run_rows(k, &call, &got);
    diff_verdict verdict = DIFF_SAME_VIOLATION;
    k->c->tally->runs++;
    k->c->tally->ranges++;
    if (got.kind == DIFF_FAULT)
        verdict = diff_differ(k, what, got.text);
    else if (k->wanted == NULL) {
        if (got.kind == DIFF_BYTES) verdict = diff_differ(k, what, "no violation");
    } else if (got.kind == DIFF_BYTES)
        verdict = compare_bytes(k, &got, begin, end, what);
    else if (!k->may_violate)
        verdict = diff_differ(k, what, got.text);
    diff_result_free(&got);
    return verdict;
}

// Rows that cut a tile: at its begin and the next one's end, where vectors are aligned; around a whole one, where they are not;
// or at its end.
static diff_verdict check_cut(diff_comparing *k, const diff_laid *laid, uint64_t rows, uint64_t way) {
    uint64_t tile = tile_of(k), begin = data_below(&k->random, (rows + tile - 1) / tile) * tile, end = begin, cut;
    switch (way) {
    case 0:
        begin += tile > 256 ? 256 * data_below(&k->random, tile / 256) : 0;
        end = begin + tile;
        break;
    case 1:
        cut = begin == 0 ? 0 : 1 + data_below(&k->random, 15);
        begin -= cut < begin ? cut : begin; // tiles of chunks may be shorter than that
        end += 2 * tile;
        break;
    default: end += 1 + data_below(&k->random, tile); break;
    }
    if (begin > rows) begin = rows;
    return check_range(k, laid, begin, end < rows ? end : rows);
}

// A few rows at the begin, in the middle and at the end of the last chunk, whose others have no place.
static diff_verdict check_inside(diff_comparing *k, const diff_laid *laid, uint64_t rows) {
    uint64_t tile = tile_of(k), begin = (rows - 1) / tile * tile, middle = begin + (rows - begin) / 2;
    diff_verdict verdict = check_range(k, laid, begin, begin + 1);
    if (verdict != DIFF_DISAGREE) verdict = check_range(k, laid, middle, middle + 2 < rows ? middle + 2 : rows);
    return verdict != DIFF_DISAGREE ? check_range(k, laid, rows - 1, rows) : verdict;
}

// One place is damaged, and the tile behind the one that holds it is not: it does not report it.
static diff_verdict check_beside(diff_comparing *k, const diff_laid *laid, uint64_t at, uint64_t rows) {
    uint64_t tile = tile_of(k), begin = (at / tile + 1) * tile;
    if (k->decoder->abi.kernel_count != 1 || begin >= rows) return DIFF_SAME_VIOLATION;
    diff_call call = diff_call_of(k, laid);
    diff_result got;
    call.begin = begin;
    call.end = begin + tile < rows ? begin + tile : rows;
    run_rows(k, &call, &got);
    k->c->tally->runs++;
    k->c->tally->ranges++;
    bool same = got.kind == DIFF_VIOLATED && got.violation == k->report->violation.number && got.at_row;
    diff_verdict verdict = DIFF_SAME_VIOLATION; // the state that it starts from may be none any more
    if (got.kind == DIFF_FAULT || same) verdict = diff_differ(k, "the tile behind the damaged one", got.text);
    diff_result_free(&got);
    return verdict;
}

// The tile that is damaged says so when it is decoded alone, and its neighbour makes its rows.
static diff_verdict check_neighbour(diff_comparing *k, const diff_laid *laid, uint64_t rows) {
    uint64_t tile = tile_of(k), guilty = k->c->guilty, innocent = k->c->innocent;
    uint64_t bound = guilty > innocent ? guilty : innocent; // which ends a tile
    diff_call call = diff_call_of(k, laid);
    for (unsigned n = 0; n < 2 && k->decoder->abi.kernel_count == 1 && bound % tile == 0; n++) {
        diff_result got;
        call.begin = (n == 0 ? innocent : guilty) == bound ? bound : bound - tile;
        call.end = call.begin + tile < rows ? call.begin + tile : rows;
        run_rows(k, &call, &got);
        k->c->tally->runs++;
        k->c->tally->ranges++;
        diff_verdict verdict = DIFF_SAME_VIOLATION;
        if (got.kind != (n == 0 ? DIFF_BYTES : DIFF_VIOLATED))
            verdict = diff_differ(k, n == 0 ? "the tile beside the damaged one" : "the damaged tile", got.text);
        diff_result_free(&got);
        if (verdict == DIFF_DISAGREE) return verdict;
    }
    return DIFF_SAME_VIOLATION;
}

// A row of the chunk that fails, which may be told or not: others have no place.
static diff_verdict check_cut_failure(diff_comparing *k, const diff_laid *laid, uint64_t at, uint64_t rows) {
    uint64_t tile = tile_of(k), begin = at / tile * tile, end = begin + tile < rows ? begin + tile : rows;
    if (end - begin < 3) return DIFF_SAME_VIOLATION;
    diff_call call = diff_call_of(k, laid);
    diff_result got;
    call.begin = begin + data_below(&k->random, end - begin);
    call.end = call.begin + 1;
    run_rows(k, &call, &got);
    k->c->tally->runs++;
    k->c->tally->ranges++;
    diff_verdict verdict =
        got.kind == DIFF_FAULT ? diff_differ(k, "part of the chunk that fails", got.text) : DIFF_SAME_VIOLATION;
    diff_result_free(&got);
    return verdict;
}

// Whether all chunks of a stream begin with its first element, so that the last one has all.
static bool has_late_stream(const diff_comparing *k) {
    const interp_block *block = k->block;
    for (uint32_t e = 0; block->directories != NULL && e < block->edge_count; e++) {
        const interp_directory *directory = &block->directories[e];
        if (directory->count > 1 && block->counts[e] > 0 && directory->starts[directory->count - 1] == 0) return true;
    }
    return false;
}

// The last chunk alone is what the recorder makes of it.
static diff_verdict check_last(diff_comparing *k, uint64_t rows) {
    for (uint32_t t = 0; t < k->decoder->abi.tree_count; t++)
        if (k->decoder->abi.trees[t].directory == 0) return DIFF_SAME_VIOLATION; // without states
    diff_verdict verdict = DIFF_SAME_VIOLATION;
    diff_result got[2];
    diff_laid laid;
    for (unsigned n = 0; n < 2; n++) {
        const zf_decoder *decoder = n == 0 ? k->decoder : k->recorder;
        if (!diff_lay_out(decoder, k->block, NULL, &laid, &got[n])) continue;
        diff_call call = diff_call_of(k, &laid);
        call.begin = (rows - 1) / tile_of(k) * tile_of(k);
        call.end = rows;
        call.decoder = decoder;
        call.code = n == 0 ? k->code : k->recorder_code;
        run_rows(k, &call, &got[n]);
        free(laid.bytes);
        k->c->tally->runs++;
    }
    bool same = got[0].kind == got[1].kind && got[0].violation == got[1].violation && got[0].size == got[1].size;
    same = same && (got[0].kind != DIFF_BYTES || got[0].size == 0 || memcmp(got[0].bytes, got[1].bytes, got[0].size) == 0);
    if (!same) verdict = diff_differ(k, "the last chunk alone", got[0].kind == DIFF_BYTES ? got[1].text : got[0].text);
    diff_result_free(&got[0]);
    diff_result_free(&got[1]);
    return verdict;
}

// The tile before the chunk that fails has nothing of the failure, and is made: unless a check of the whole block fails as well,
// which the interpreter meets later.
static diff_verdict check_before(diff_comparing *k, const diff_laid *laid, uint64_t at) {
    uint64_t tile = tile_of(k), end = at / tile * tile;
    if (k->decoder->abi.kernel_count != 1 || end == 0) return DIFF_SAME_VIOLATION;
    diff_call call = diff_call_of(k, laid);
    diff_result got;
    call.begin = end - tile;
    call.end = end;
    run_rows(k, &call, &got);
    k->c->tally->runs++;
    k->c->tally->ranges++;
    diff_verdict verdict = DIFF_SAME_VIOLATION;
    char what[96];
    snprintf(what, sizeof what, "rows %llu..%llu, before the chunk that fails", (ull)call.begin, (ull)call.end);
    bool refused = k->block_error != NULL && k->block_error[0] != 0;
    if (got.kind != (refused ? DIFF_VIOLATED : DIFF_BYTES)) verdict = diff_differ(k, what, got.text);
    diff_result_free(&got);
    return verdict;
}

// Whether the column's kernel scans: an index may be wrong by what an earlier tile holds, and from its own state it is right.
static bool scans(const diff_comparing *k) {
    for (uint32_t t = 0; t < k->decoder->abi.tree_count; t++) {
        const zf_abi_tree *tree = &k->decoder->abi.trees[t];
        for (uint32_t f = 0; tree->edge == 0 && f < tree->field_count; f++)
            if (tree->fields[f].kind == ZF_FIELD_SCAN) return true;
    }
    return false;
}

// A row near what is wrong, of a block with other damage, too: it may be right from its own state.
static diff_verdict check_stray(diff_comparing *k, const diff_laid *laid, uint64_t at, uint64_t rows) {
    diff_call call = diff_call_of(k, laid);
    diff_result got;
    if (at >= rows) return DIFF_SAME_VIOLATION;
    call.begin = at;
    call.end = at + 1;
    run_rows(k, &call, &got);
    k->c->tally->runs++;
    k->c->tally->ranges++;
    diff_verdict verdict = got.kind == DIFF_FAULT ? diff_differ(k, "a row of several", got.text) : DIFF_SAME_VIOLATION;
    diff_result_free(&got);
    return verdict;
}

static diff_verdict check_ranges(diff_comparing *k, const diff_laid *laid) {
    uint64_t rows = k->block->counts[0];
    if (k->wanted == NULL && k->c->neighbour) return check_neighbour(k, laid, rows);
    if (k->wanted == NULL) { // the rows of a tile that holds what is wrong
        unsigned number = k->report->violation.number;
        uint64_t at = k->report->root_position;
        if (makes_chunks(k) && number <= 10 && k->report->violation.path[0] == 0 && at < rows) {
            diff_verdict verdict = check_before(k, laid, at);
            if (verdict != DIFF_DISAGREE && data_below(&k->random, 4) == 0) verdict = check_cut_failure(k, laid, at, rows);
            if (verdict != DIFF_DISAGREE && k->level != 0 && has_late_stream(k)) verdict = check_last(k, rows);
            return verdict;
        }
        if (k->c->several) return check_stray(k, laid, at, rows);
        bool pulled = (number == 1 && !scans(k)) || (number >= 5 && number <= 8);
        if (!pulled || k->report->violation.path[0] != 0 || at >= rows) return DIFF_SAME_VIOLATION;
        diff_verdict verdict = check_range(k, laid, at, at + 1);
        return verdict != DIFF_DISAGREE && k->c->beside ? check_beside(k, laid, at, rows) : verdict;
    }
    for (int n = 0; n < 2 && rows > 0; n++) {
        uint64_t begin = data_below(&k->random, rows), length = data_below(&k->random, rows - begin + 1);
        if (data_below(&k->random, 3) == 0) begin = begin / 256 * 256;
        if (length > rows - begin) length = rows - begin;
        diff_verdict verdict = check_range(k, laid, begin, begin + length);
        if (verdict == DIFF_DISAGREE) return verdict;
    }
    if (rows == 0) return DIFF_SAME_BYTES;
    if (!k->c->thorough) return check_cut(k, laid, rows, data_below(&k->random, 3));
    diff_verdict verdict = makes_chunks(k) ? check_inside(k, laid, rows) : DIFF_SAME_BYTES;
    for (uint64_t way = 0; way < 3 * 3 && verdict != DIFF_DISAGREE; way++) verdict = check_cut(k, laid, rows, way % 3);
    return verdict;
}

// The states of the block that was damaged afterwards, if it still has as many elements: a file that lies in one place only.
static bool take_states(const diff_comparing *k, diff_records *records) {
    const interp_block *from = k->c->undamaged;
    if (from == NULL || k->wanted != NULL || records->trees == 0 || from->edge_count != k->block->edge_count) return false;
    for (uint32_t e = 0; e < from->edge_count; e++)
        if (from->counts[e] != k->block->counts[e]) return false;
    // Code for the damaged block's shaping values must not run on a block that has others: its checks are those of the block.
    bool special = !k->general && k->recorder_code == k->code;
    for (uint32_t p = 0; special && p < k->decoder->plan->shaping_count; p++) {
        uint32_t param = k->decoder->plan->shaping[p];
        if (diff_param(k->decoder, from, param) != diff_param(k->decoder, k->block, param)) return false;
    }
    diff_comparing honest = *k;
    diff_laid laid;
    diff_result got;
    honest.block = from;
    if (!diff_lay_out(k->decoder, from, NULL, &laid, &got)) return false;
    diff_call call = diff_call_of(&honest, &laid);
    call.record = records;
    call.decoder = k->recorder;
    call.code = k->recorder_code;
    diff_run(&call, &got);
    bool good = got.kind == DIFF_BYTES;
    diff_result_free(&got);
    free(laid.bytes);
    return good;
}

// Compares the states that are recorded without the rows with those of `records`, where all rows were made as well.
static diff_verdict compare_states(diff_comparing *k, diff_call call, const diff_records *records) {
    diff_records alone = diff_records_make(call.decoder, k->block->counts);
    diff_result got;
    call.record = &alone;
    call.states_alone = true;
    run_rows(k, &call, &got);
    bool same = got.kind == DIFF_BYTES;
    for (uint32_t t = 0; t < alone.trees && same; t++) {
        uint64_t words = alone.entries[t] * call.decoder->abi.trees[t].field_count;
        same = memcmp(alone.values[t], records->values[t], words * sizeof(uint64_t)) == 0;
    }
    diff_verdict verdict = same ? DIFF_SAME_BYTES : diff_differ(k, "states alone", got.kind == DIFF_BYTES ? "others" : got.text);
    diff_result_free(&got);
    diff_records_free(&alone);
    return verdict;
}

// The states of the block as recorded; then the block decoded from them, whole, in part, and from a lie.
static diff_verdict run_form(diff_comparing *k) {
    diff_laid laid;
    diff_result got;
    if (!diff_lay_out(k->decoder, k->block, NULL, &laid, &got)) return judge(k, &got, "layout");
    diff_records records = diff_records_make(k->decoder, k->block->counts);
    bool given = take_states(k, &records);
    diff_verdict verdict = k->wanted != NULL ? DIFF_SAME_BYTES : DIFF_SAME_VIOLATION;
    diff_call call = diff_call_of(k, &laid);
    bool recorded = true;
    if (records.trees > 0) {
        if (!given) {
            call.record = &records;
            call.decoder = k->recorder;
            call.code = k->recorder_code;
            run_rows(k, &call, &got);
            verdict = judge(k, &got, "recorded");
            recorded = got.kind == DIFF_BYTES;
            diff_result_free(&got);
            if (recorded && verdict != DIFF_DISAGREE && compare_states(k, call, &records) == DIFF_DISAGREE)
                verdict = DIFF_DISAGREE;
            call.record = NULL;
            call.decoder = k->decoder;
            call.code = k->code;
        }
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
        run_rows(k, &call, &got);
        verdict = judge(k, &got, "decoded");
        diff_result_free(&got);
    }
    if (verdict != DIFF_DISAGREE && recorded && laid.bytes != NULL) {
        diff_verdict part = check_ranges(k, &laid);
        bool lies = k->wanted != NULL && !k->may_violate && k->level != DIFF_LEVELS - 1;
        if (part != DIFF_DISAGREE && lies) part = diff_check_lies(k, &records);
        if (part == DIFF_DISAGREE) verdict = part;
    }
    free(laid.bytes);
    diff_records_free(&records);
    return verdict;
}

// ---- A block --------------------------------------------------------------------------------------------------

static diff_verdict unsupported(diff_comparing *k, const zf_error *error) {
    if (strcmp(error->code, "ZF0805") == 0) return DIFF_LIMITED; // code that would grow too much
    zf_text_printf(k->message, "%s: %s", error->code, error->message);
    return DIFF_UNSUPPORTED;
}

// The form at hand, with code for `shaping` (NULL: the general form).
static diff_verdict run_code(diff_comparing *k, const uint64_t *shaping) {
    zf_error error = {0};
    k->general = shaping == NULL;
    zf_status status = zf_decoder_code_for(k->decoder, shaping, &k->code, &error);
    if (status == ZF_ERR_UNSUPPORTED) return unsupported(k, &error);
    if (status != ZF_OK) return diff_differ(k, "compiling", error.message);
    if (k->level != DIFF_GPU) {
        k->recorder = k->decoder;
        k->recorder_code = k->code;
    }
    return run_form(k);
}

static uint64_t *shaping_of(const diff_comparing *k) {
    uint32_t count = k->decoder->plan->shaping_count;
    uint64_t *shaping = calloc(count + 1u, sizeof *shaping);
    for (uint32_t p = 0; p < count; p++) shaping[p] = diff_param(k->decoder, k->block, k->decoder->plan->shaping[p]);
    return shaping;
}

// The host's general code at -O0 records states, and is not compared.
static diff_verdict take_recorder(diff_comparing *k) {
    zf_error error = {0};
    k->level = 0;
    k->recorder = diff_decoder_for(k->c, k->level, k->block->branches, k->block->branch_count, &error);
    if (k->recorder == NULL)
        return error.status == ZF_ERR_UNSUPPORTED ? unsupported(k, &error) : diff_differ(k, "no decoder", error.message);
    if (zf_decoder_code_for(k->recorder, NULL, &k->recorder_code, &error) != ZF_OK)
        return diff_differ(k, "no recorder", error.message);
    return DIFF_SAME_BYTES;
}

static diff_verdict run_forms(diff_comparing *k) {
    diff_verdict verdict = DIFF_SAME_BYTES;
    if (k->c->gpu_alone) verdict = take_recorder(k);
    if (verdict != DIFF_SAME_BYTES) return verdict;
    for (k->level = k->c->gpu_alone ? DIFF_GPU : 0; k->level < DIFF_FORMS; k->level++) {
        if (k->level == DIFF_LEVELS - 1 && k->c->undamaged != NULL) continue; // the same checks as at -O0
        k->order = data_below(&k->random, 8);
        zf_error error = {0};
        k->decoder = diff_decoder_for(k->c, k->level, k->block->branches, k->block->branch_count, &error);
        if (k->decoder == NULL && error.status == ZF_ERR_UNSUPPORTED) return unsupported(k, &error);
        if (k->decoder == NULL) return diff_differ(k, "no decoder", error.message);
        uint64_t *shaping = shaping_of(k);
        bool special = k->decoder->plan->shaping_count > 0 && specialises(k->c, k->decoder, shaping);
        bool stop = false;
        for (unsigned form = special ? 0 : 1; form < 2 && !stop; form++) {
            verdict = run_code(k, form == 1 ? NULL : shaping);
            stop = verdict == DIFF_DISAGREE || verdict == DIFF_UNSUPPORTED || verdict == DIFF_LIMITED;
        }
        free(shaping);
        if (stop) return verdict;
    }
    return k->may_violate ? DIFF_UNREACHED : verdict;
}

diff_verdict diff_check_form(diff_case *c, const diff_expected *e, const diff_form *form, uint64_t seed, zf_text *message) {
    diff_comparing k = {.c = c,
                        .block = &e->block,
                        .report = &e->report,
                        .wanted = e->wanted,
                        .may_violate = e->wanted != NULL && e->report.unreached,
                        .random = {.state = seed},
                        .message = message,
                        .same_number = true};
    if (form->level == DIFF_GPU) {
        diff_verdict recorder = take_recorder(&k);
        if (recorder != DIFF_SAME_BYTES) return recorder;
    }
    zf_error error = {0};
    k.level = form->level;
    k.decoder = diff_decoder_for(c, k.level, e->block.branches, e->block.branch_count, &error);
    if (k.decoder == NULL)
        return error.status == ZF_ERR_UNSUPPORTED ? unsupported(&k, &error) : diff_differ(&k, "no decoder", "");
    k.order = data_below(&k.random, 8);
    uint64_t *shaping = form->special ? shaping_of(&k) : NULL;
    diff_verdict verdict = run_code(&k, shaping);
    free(shaping);
    free(k.block_error);
    return k.may_violate && verdict != DIFF_DISAGREE && verdict != DIFF_UNSUPPORTED ? DIFF_UNREACHED : verdict;
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
        interp_block said = *block; // what a file says of the bytes of its strings: as many as there are
        if (status == INTERP_OK) said.characters = diff_characters(out);
        diff_comparing k = {.c = c,
                            .block = &said,
                            .report = &report,
                            .wanted = status == INTERP_OK ? out : NULL,
                            .may_violate = status == INTERP_OK && report.unreached,
                            .random = {.state = seed},
                            .message = message,
                            .same_number = true};
        verdict = run_forms(&k);
        free(k.block_error);
        if (verdict == DIFF_SAME_VIOLATION) {
            tally->violations[report.violation.number % 32]++;
            tally->same_number += k.same_number;
        }
        tally->unreached_reported += verdict == DIFF_UNREACHED && k.reported;
    }
    tally->verdicts[verdict]++;
    return verdict;
}
