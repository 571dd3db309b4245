// A block's way: rows -> tree of pushed streams -> numbered as in the graph -> laid out -> states recorded -> decoded and
// compared.
#include "compiler/encode/encode_block.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/text.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "runtime/container/zone.h"
#include "runtime/context/context.h"

typedef unsigned long long ull;

// ---- Values as text -------------------------------------------------------------------------------------------

static void word_text(zf_type type, uint64_t word, char *out, size_t size) {
    if (type.kind == ZF_K_F64) {
        double value;
        memcpy(&value, &word, 8);
        snprintf(out, size, "%.17g", value);
    } else if (type.kind == ZF_K_F32) {
        float value;
        memcpy(&value, &word, 4);
        snprintf(out, size, "%.9g", (double)value);
    } else if (type.kind == ZF_K_BOOL) {
        snprintf(out, size, "%s", word != 0 ? "true" : "false");
    } else if (zf_kind_is_signed(type.kind)) {
        snprintf(out, size, "%" PRId64, (int64_t)zf_value_of_bits(type.kind, word));
    } else {
        snprintf(out, size, "%" PRIu64, word);
    }
}

/// The string between two offsets, or what fits a message of it.
static void string_text(const void *bytes, const int64_t offsets[2], char *out, size_t size) {
    int64_t length = offsets[1] - offsets[0];
    snprintf(out, size, "\"%.*s\"", length > 40 ? 40 : (int)length, (const char *)bytes + offsets[0]);
}

void zf_encode_value_text(const zf_encode_column *data, zf_type type, uint64_t row, char *out, size_t size) {
    if (type.nullable && data->validity != NULL && !zf_bit_at(data->validity, row)) {
        snprintf(out, size, "null");
    } else if (type.kind == ZF_K_STRING) {
        string_text(data->values, data->offsets + row, out, size);
    } else {
        uint64_t word = 0;
        unsigned bytes = zf_kind_size(type.kind);
        memcpy(&word, (const uint8_t *)data->values + row * bytes, bytes);
        word_text(type, word, out, size);
    }
}

// ---- Decoders -------------------------------------------------------------------------------------------------

zf_status zf_encode_decoder_for(zf_encode_job *job, const uint8_t *branches, zf_cached_decoder **out, zf_error *error) {
    zf_plan_request request = *zf_compiler_request(job->program->compiler);
    request.states = (zf_decoder_states){.seek_interval = job->seek_interval, .unfused = job->unfused.data};
    return zf_program_decoder_for(job->program, job->column, branches, &request, out, error);
}

// ---- The block's input ----------------------------------------------------------------------------------------

/// The rows of one block as encode bodies want them.
typedef struct source {
    zf_encode_input input;
    const zf_encode_rows *from;
    uint8_t *validity;    ///< a byte a row
    uint64_t first, rows; ///< of the column
    uint64_t plain_bytes;
    uint64_t characters; ///< strings: of those that are not null
} source;

static zf_status source_of(const zf_encode_job *job, const zf_encode_rows *from, source *out, zf_error *error) {
    static const uint8_t no_text[1]; // where no string has a character
    zf_type type = zf_type_strip(job->column->type);
    const zf_encode_column *data = &from->data;
    *out = (source){.from = from, .first = from->first, .rows = from->rows};
    out->input = (zf_encode_input){.type = type, .rows = out->rows};
    if (type.kind == ZF_K_STRING) {
        out->input.values = data->values != NULL ? data->values : no_text;
        out->input.offsets = (const uint64_t *)(const void *)data->offsets + from->at;
        out->characters = (uint64_t)(data->offsets[from->at + out->rows] - data->offsets[from->at]);
    } else {
        out->input.values = (const uint8_t *)data->values + from->at * zf_kind_size(type.kind);
        out->plain_bytes = type.kind == ZF_K_BOOL ? (out->rows + 7) / 8 : out->rows * zf_kind_size(type.kind);
    }
    if (type.nullable) {
        out->validity = malloc(out->rows + 1);
        if (out->validity == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a block's validity");
        for (uint64_t k = 0; k < out->rows; k++) {
            uint64_t row = from->at + k;
            out->validity[k] = data->validity == NULL || zf_bit_at(data->validity, row);
            if (out->validity[k] == 0 && type.kind == ZF_K_STRING)
                out->characters -= (uint64_t)(data->offsets[row + 1] - data->offsets[row]); // which nobody delivers
        }
        out->input.validity = out->validity;
        out->plain_bytes += (out->rows + 7) / 8;
    }
    if (out->characters > ZF_TEXT_BYTES_MOST) {
        zf_status status =
            zf_raise(error, ZF_E_TOO_LARGE, "%llu rows of column %s have %llu bytes of text, and a block at most 2^32",
                     (ull)out->rows, job->column->name, (ull)out->characters);
        return zf_fail_hint(error, status, "fewer rows make a block with --rows-per-block, or zf_encode_options.rows_per_block");
    }
    out->plain_bytes += out->characters;
    // Rows that were not appended in pieces are one piece.
    out->input.parts = &out->rows;
    out->input.part_count = out->rows > 0;
    return ZF_OK;
}

// ---- Seek states ----------------------------------------------------------------------------------------------

typedef struct seeks {
    zf_seek_data *data;
    uint64_t **records; ///< per tree
    uint32_t count;
} seeks;

static void seeks_free(seeks *s) {
    for (uint32_t t = 0; s->records != NULL && t < s->count; t++) free(s->records[t]);
    free(s->records);
    free(s->data);
}

/// Most groups that one tile touches, over all group fields of a tree. The last tile's end is not recorded: its groups end where
/// the streams that are aligned with them do.
static uint64_t most_groups(const zf_decoder *decoder, uint32_t tree, const uint64_t *values, uint64_t entries,
                            const uint64_t *counts) {
    const zf_seek_tree *seek = &decoder->plan->trees[tree];
    const zf_graph *graph = decoder->graph;
    uint64_t most = 0;
    for (uint32_t f = 0; f < seek->field_count; f++) {
        if (seek->fields[f].kind != ZF_SEEK_GROUP) continue;
        const zf_graph_node *node = &graph->nodes[seek->fields[f].node];
        uint64_t from = 0, groups = 0;
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            const zf_graph_edge *edge = &graph->edges[node->inputs[s]];
            if (edge->access == ZF_ACCESS_ALIGNED_G && counts[edge->index] > groups) groups = counts[edge->index];
        }
        for (uint64_t e = 0; e < entries; e++) {
            uint64_t to = values[f * entries + e];
            if (to >= from && to - from + 1 > most) most = to - from + 1;
            from = to;
        }
        if (groups > from && groups - from > most) most = groups - from;
    }
    return most;
}

/// The starts of chunks, as `for c in chunks(x)` left them.
static zf_status fill_directory(const zf_decoder *decoder, uint32_t tree, const zf_encode_flat *f, zf_seek_data *out,
                                uint64_t *values, zf_error *error) {
    const zf_seek_tree *seek = &decoder->plan->trees[tree];
    const zf_abi_tree *abi = &decoder->abi.trees[tree];
    uint64_t entries = zf_seek_entries(f->counts[abi->edge], abi->interval), chunks = f->counts[abi->edge] == 0 ? 0 : entries + 1;
    for (uint32_t k = 0; k < seek->field_count; k++) {
        const zf_encode_node *node = f->nodes[seek->fields[k].node];
        const zf_encode_buffer *buffer = &node->streams[seek->fields[k].stream];
        if (buffer->start_count != chunks) {
            return zf_raise(error, ZF_E_DECODED_DIFFERS, "`%s` wrote %llu chunks of `%s` where %llu elements need %llu",
                            node->codec->inst->name, (ull)buffer->start_count, abi->fields[k].name, (ull)f->counts[abi->edge],
                            (ull)chunks);
        }
        if (entries > 0) memcpy(values + k * entries, buffer->starts + 1, entries * sizeof *values);
    }
    *out = (zf_seek_data){.interval = abi->interval, .entries = entries, .values = values};
    return ZF_OK;
}

static zf_status seeks_make(const zf_decoder *decoder, const zf_encode_flat *f, seeks *s, zf_error *error) {
    const zf_abi_plan *plan = &decoder->abi;
    const uint64_t *counts = f->counts;
    s->count = plan->tree_count;
    s->data = calloc(plan->tree_count + 1u, sizeof *s->data);
    s->records = calloc(plan->tree_count + 1u, sizeof *s->records);
    for (uint32_t t = 0; s->data != NULL && s->records != NULL && t < plan->tree_count; t++) {
        uint64_t entries = zf_seek_entries(counts[plan->trees[t].edge], plan->trees[t].interval);
        s->records[t] = calloc(entries * plan->trees[t].field_count + 1, sizeof(uint64_t));
        if (s->records[t] == NULL) break;
        s->data[t] = (zf_seek_data){.interval = plan->trees[t].interval}; // no entries before they are recorded
        if (plan->trees[t].directory != 0) ZF_TRY(fill_directory(decoder, t, f, &s->data[t], s->records[t], error));
        if (t + 1 == plan->tree_count) return ZF_OK;
    }
    if (plan->tree_count == 0 && s->data != NULL && s->records != NULL) return ZF_OK;
    return zf_raise(error, ZF_E_NO_MEMORY, "no memory for seek states");
}

// ---- Running --------------------------------------------------------------------------------------------------

typedef struct running {
    zf_encode_job *job;
    zf_encode_pool *pool;
    const source *source;
    zf_cached_decoder *held;
    zf_decoder *decoder; ///< the held one
    const zf_abi_code *code;
    uint8_t *out, *validity;
    int64_t *offsets;
    const char *place;
} running;

static zf_status run(running *r, const zf_block_view *view, uint32_t mode, uint64_t *const *records, zf_error *error) {
    uint64_t bytes = 0;
    ZF_TRY(zf_block_work_bytes(&r->decoder->abi, view, &bytes, error));
    void *work = NULL;
    if (bytes > 0) {
        work = zf_encode_pool_take(r->pool, bytes);
        if (work == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory to decode a block");
    }
    zf_block_run call = {.plan = &r->decoder->abi,
                         .code = r->code,
                         .view = view,
                         .element = (zf_element)r->job->column->type.kind,
                         .nullable = r->job->column->type.nullable,
                         .out = r->out,
                         .validity = r->validity,
                         .offsets = r->offsets,
                         .byte_end = r->source->characters,
                         .begin = 0,
                         .end = view->rows,
                         .work = work,
                         .mode = mode,
                         .records = records,
                         .where = r->place};
    zf_status status = zf_block_run_cpu(&call, error);
    zf_encode_pool_give(r->pool, work);
    return status;
}

/// Whether row k was decoded to its source. A row without a value is delivered as 0, so its source is not compared.
static bool text_equals(const running *r, uint64_t k) {
    const source *s = r->source;
    bool valid = s->validity == NULL || s->validity[k] != 0;
    const uint8_t *plain = s->input.values + s->input.offsets[k];
    uint64_t length = valid ? s->input.offsets[k + 1] - s->input.offsets[k] : 0;
    if (s->validity != NULL && zf_bit_at(r->validity, k) != valid) return false;
    if ((uint64_t)(r->offsets[k + 1] - r->offsets[k]) != length) return false;
    return length == 0 || memcmp(plain, r->out + r->offsets[k], length) == 0;
}

/// The same of all rows, none of which is null. Both sides have the characters of a row behind those of the row before.
static bool texts_equal(const running *r) {
    const source *s = r->source;
    uint64_t first = s->input.offsets[0], differ = 0;
    for (uint64_t k = 0; k <= s->rows; k++) differ |= (s->input.offsets[k] - first) ^ (uint64_t)r->offsets[k];
    return differ == 0 && (s->characters == 0 || memcmp(s->input.values + first, r->out, s->characters) == 0);
}

static bool row_equals(const running *r, uint64_t k, uint64_t size) {
    const source *s = r->source;
    const uint8_t *plain = s->input.values;
    bool valid = s->validity == NULL || s->validity[k] != 0;
    static const uint8_t zero[8];
    if (s->validity != NULL && zf_bit_at(r->validity, k) != valid) return false;
    if (size == 0) return (valid && plain[k] != 0) == zf_bit_at(r->out, k);
    return memcmp(valid ? plain + k * size : zero, r->out + k * size, size) == 0;
}

/// First row at which the decoded block differs from its source; rows when it does not.
static uint64_t first_difference(const running *r) {
    const source *s = r->source;
    zf_kind kind = r->job->column->type.kind;
    const uint8_t *plain = s->input.values;
    if (kind == ZF_K_STRING) {
        uint64_t row = s->rows > 0 && s->validity == NULL && texts_equal(r) ? s->rows : 0;
        while (row < s->rows && text_equals(r, row)) row++;
        return row;
    }
    uint64_t size = kind == ZF_K_BOOL ? 0 : zf_kind_size(kind);
    if (size != 0 && s->validity == NULL && memcmp(plain, r->out, s->rows * size) == 0) return s->rows;
    uint64_t k = 0;
    while (k < s->rows && row_equals(r, k, size)) k++;
    return k;
}

/// Prints the decoded value of row k.
static void decoded_text(const running *r, uint64_t k, char *out, size_t size) {
    zf_type type = r->job->column->type;
    if (type.nullable && !zf_bit_at(r->validity, k)) {
        snprintf(out, size, "null");
    } else if (type.kind == ZF_K_STRING) {
        string_text(r->out, r->offsets + k, out, size);
    } else if (type.kind == ZF_K_BOOL) {
        word_text(type, zf_bit_at(r->out, k), out, size);
    } else {
        uint64_t word = 0;
        unsigned bytes = zf_kind_size(type.kind);
        memcpy(&word, r->out + k * bytes, bytes);
        word_text(type, word, out, size);
    }
}

static zf_status compare(const running *r, zf_error *error) {
    uint64_t row = first_difference(r);
    if (row == r->source->rows) return ZF_OK;
    char given[64], got[64];
    zf_encode_value_text(&r->source->from->data, r->job->column->type, r->source->from->at + row, given, sizeof given);
    decoded_text(r, row, got, sizeof got);
    zf_status status =
        zf_raise(error, ZF_E_DECODED_DIFFERS, "the encoded block decodes to another value: row %llu is %s, decoded %s",
                 (ull)(r->source->first + row), given, got);
    return zf_fail_place(error, status, "%s", r->place);
}

/// Lays the block out with what is known of its seek states, and runs it.
static zf_status lay_and_run(running *r, const zf_block_data *block, uint32_t mode, uint64_t *const *records, void **bytes,
                             uint64_t *size, zf_error *error) {
    zf_block_view view;
    ZF_TRY(zf_block_layout(&r->decoder->shape, block, bytes, size, error));
    // The checksum was just made from these bytes; the reader's other checks are what matters.
    ZF_TRY(zf_block_check(&r->decoder->shape, *bytes, *size, false, r->place, &view, error));
    view.first_row = r->source->first;
    zf_status status = run(r, &view, mode, records, error);
    zf_block_view_free(&view);
    return status;
}

/// Room for a block's values as a decode delivers them.
static size_t out_bytes(const source *s) {
    zf_kind kind = s->input.type.kind;
    uint64_t bytes = kind == ZF_K_STRING ? s->characters : kind == ZF_K_BOOL ? (s->rows + 7) / 8 : s->rows * zf_kind_size(kind);
    return (bytes + 127) / 64 * 64;
}

/// Memory for what a block delivers.
static zf_status make_output(running *r, zf_error *error) {
    const source *s = r->source;
    r->out = zf_encode_pool_take(r->pool, out_bytes(s));
    if (s->validity != NULL) r->validity = zf_encode_pool_take(r->pool, s->rows / 8 + 64);
    if (s->input.offsets != NULL) r->offsets = zf_encode_pool_take(r->pool, (s->rows + 1) * sizeof *r->offsets);
    if (r->offsets != NULL) r->offsets[0] = 0;
    bool made = r->out != NULL && (s->validity == NULL || r->validity != NULL);
    if (made && (s->input.offsets == NULL || r->offsets != NULL)) return ZF_OK;
    return zf_raise(error, ZF_E_NO_MEMORY, "no memory to decode a block");
}

static void free_output(running *r) {
    zf_encode_pool_give(r->pool, r->offsets);
    zf_encode_pool_give(r->pool, r->validity);
    zf_encode_pool_give(r->pool, r->out);
}

/// Makes the zones of a block that was decoded.
static zf_status make_zones(const running *r, zf_zone **out, zf_error *error) {
    *out = NULL;
    if (!r->job->zoned) return ZF_OK;
    const zf_zone_rows all = {
        .element = r->decoder->shape.edges[0].type, .values = r->out, .offsets = r->offsets, .validity = r->validity};
    *out = zf_zones_make(&all, r->source->rows);
    return *out != NULL ? ZF_OK : zf_raise(error, ZF_E_NO_MEMORY, "no memory for the zones of a block");
}

static zf_status finish(running *r, zf_encode_flat *f, uint32_t shape, double started, zf_encode_result *out, zf_error *error) {
    const zf_decoder *decoder = r->decoder;
    seeks s = {0};
    void *bytes = NULL;
    uint64_t size = 0;
    zf_status status = seeks_make(decoder, f, &s, error);
    bool states = false;
    for (uint32_t t = 0; t < decoder->abi.tree_count; t++) states = states || decoder->abi.trees[t].directory == 0;
    zf_block_data block = {.version = r->job->format,
                           .first_row = r->source->first,
                           .rows = r->source->rows,
                           .plain_bytes = r->source->plain_bytes,
                           .shape = shape,
                           .params = f->params,
                           .counts = f->counts,
                           .streams = f->streams,
                           .seeks = s.data};
    if (status == ZF_OK && states) {
        status = lay_and_run(r, &block, ZF_ABI_STATES, s.records, &bytes, &size, error);
        free(bytes);
        bytes = NULL;
        for (uint32_t t = 0; status == ZF_OK && t < decoder->abi.tree_count; t++) {
            if (decoder->abi.trees[t].directory != 0) continue;
            uint64_t count = f->counts[decoder->abi.trees[t].edge];
            s.data[t].entries = zf_seek_entries(count, decoder->abi.trees[t].interval);
            s.data[t].values = s.records[t];
            s.data[t].most_groups = most_groups(decoder, t, s.records[t], s.data[t].entries, f->counts);
        }
    }
    double encoded = zf_clock_thread_seconds();
    out->encode_seconds += encoded - started;
    if (status == ZF_OK) {
        memset(r->out, 0xa5, out_bytes(r->source)); // never the recorded run's output
        if (r->validity != NULL) memset(r->validity, 0xa5, (r->source->rows + 7) / 8);
        if (r->offsets != NULL) memset(r->offsets + 1, 0xa5, r->source->rows * sizeof *r->offsets);
        status = lay_and_run(r, &block, ZF_ABI_DECODE, NULL, &bytes, &size, error);
    }
    if (status == ZF_OK) status = compare(r, error);
    if (status == ZF_OK) status = make_zones(r, &out->zones, error);
    out->verify_seconds += zf_clock_thread_seconds() - encoded;
    if (status == ZF_OK) { // the index keeps element counts and intervals
        for (uint32_t t = 0; t < s.count; t++) s.data[t].values = NULL;
        block.params = NULL;
        block.streams = NULL;
        block.zones = out->zones;
        out->bytes = bytes;
        out->size = size;
        out->shape = shape;
        out->block = block;
        out->counts = f->counts;
        out->seeks = s.data;
        f->counts = NULL;
        s.data = NULL;
    } else {
        free(bytes);
    }
    seeks_free(&s);
    return status;
}

void zf_encode_result_free(zf_encode_result *result) {
    free(result->bytes);
    free(result->zones);
    free(result->counts);
    free(result->seeks);
}

/// Finds the decoder and code. `choosing`: the block may first take another tuple, which `*changed` says.
static zf_status prepare(running *r, uint64_t block, bool choosing, zf_encode_flat *f, uint32_t *shape, bool *changed,
                         zf_error *error) {
    zf_encode_job *job = r->job;
    ZF_TRY(zf_encode_decoder_for(job, f->branches, &r->held, error));
    r->decoder = r->held->decoder;
    if (choosing)
        ZF_TRY(zf_encode_tuples_choose(job->tuples, block, r->decoder, job->writer, job->index, f, shape, changed, error));
    else
        ZF_TRY(zf_writer_shape(job->writer, job->index, &r->decoder->shape, shape, error));
    const zf_abi_plan *plan = &r->decoder->abi;
    uint64_t *shaping = calloc(plan->shaping_count + 1u, sizeof *shaping);
    if (shaping == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a block");
    for (uint32_t k = 0; k < plan->shaping_count; k++) shaping[k] = f->params[plan->shaping[k]];
    zf_status status = zf_decoder_code_for(r->decoder, shaping, &r->code, error);
    free(shaping);
    return status;
}

// ---- A block --------------------------------------------------------------------------------------------------

/// Whose tree is made.
typedef struct block_of {
    zf_program *program;
    const char *place; ///< of the block
} block_of;

static zf_encode_fn find_encoder(void *user, const zf_inst *inst, const char **reason) {
    const block_of *of = user;
    const zf_encoder *encoder = zf_program_encoder(of->program, inst);
    *reason = encoder == NULL ? "its encoder was not compiled" : encoder->reason;
    return encoder == NULL ? NULL : encoder->function;
}

static const zf_extern_encoder *find_extern(void *user, const zf_inst *inst) {
    const block_of *of = user;
    return zf_encoder_registry_find(of->program->compiler->encoders, inst->encode_extern);
}

static void extern_names(void *user, zf_text *out) {
    const block_of *of = user;
    zf_encoder_registry_names(of->program->compiler->encoders, out);
}

/// A warning where an encoder is missing, once an algorithm; else a line for those who ask for them.
static void log_passed_over(void *user, const zf_encode_refusal *refusal) {
    const block_of *of = user;
    bool first = refusal->unable != NULL && zf_program_note_missing(of->program, refusal->unable, refusal->reason);
    zf_context_log(zf_compiler_context(of->program->compiler), first ? ZF_LOG_WARNING : ZF_LOG_INFO,
                   "%s: %s; another alternative is taken", of->place, refusal->reason);
}

/// Why one alternative refused, with the row and value if they are known.
static void refusal_text(const zf_encode_job *job, const source *s, const zf_encode_refusal *refusal, zf_text *out) {
    zf_text_puts(out, refusal->reason);
    if (refusal->row == ZF_ENCODE_NO_ROW || refusal->row >= s->rows) return;
    char value[64];
    zf_encode_value_text(&s->from->data, job->column->type, s->from->at + refusal->row, value, sizeof value);
    zf_text_printf(out, " (row %llu, value %s)", (ull)(s->first + refusal->row), value);
}

static void span_text(zf_span span, zf_text *out) {
    zf_position at = zf_source_position(span.source, span.begin);
    zf_text_printf(out, "%s:%u:%u", span.source->path, at.line, at.column);
}

/// Nothing took the block: says why, of every alternative.
static zf_status refused(const zf_encode_job *job, const source *s, const zf_encode_task *task, const char *place,
                         zf_error *error) {
    const zf_encode_refusal *first = &task->refusals[0];
    uint32_t kept = task->refusal_count < ZF_ENCODE_REFUSALS ? task->refusal_count : ZF_ENCODE_REFUSALS;
    bool same_code = true;
    zf_span span = kept == 1 ? first->span : job->column->codec->span;
    zf_text text = {0}, where = {0};
    zf_status status = ZF_ERR_INPUT;
    for (uint32_t k = 0; k < kept; k++) {
        const zf_encode_refusal *refusal = &task->refusals[k];
        if (k > 0) zf_text_puts(&text, "; ");
        refusal_text(job, s, refusal, &text);
        same_code = same_code && strcmp(refusal->code, first->code) == 0;
        if (kept == 1 || refusal->span.source == NULL) continue;
        zf_text_puts(&text, ", ");
        span_text(refusal->span, &text);
    }
    if (task->refusal_count > kept) zf_text_printf(&text, "; and %u more refuse", task->refusal_count - kept);
    if (span.source != NULL) {
        zf_text_puts(&where, ", ");
        span_text(span, &where);
    }
    const char *message = text.data != NULL ? text.data : "";
    if (same_code)
        zf_fail(error, status, first->code, "%s", message);
    else
        status = zf_raise(error, ZF_E_ALL_REFUSED, "%s", message);
    zf_fail_place(error, status, "%s%s", place, where.data != NULL ? where.data : "");
    zf_text_free(&text);
    zf_text_free(&where);
    return status;
}

/// A block on its way.
typedef struct attempt {
    uint64_t block;
    const char *place;
    bool choosing; ///< it may take the tuple of an earlier block
    bool changed;  ///< it did
} attempt;

static zf_status try_once(zf_encode_job *job, const source *s, zf_encode_task *task, attempt *at, zf_encode_node **tree,
                          zf_encode_result *out, zf_error *error) {
    const char *place = at->place;
    double started = zf_clock_thread_seconds();
    zf_status status = zf_encode_tree(task, job->column->codec, &s->input, tree);
    if (status == ZF_ERR_MEMORY) return zf_raise(error, ZF_E_NO_MEMORY, "no memory to encode a block");
    if (status != ZF_OK) {
        out->encode_seconds += zf_clock_thread_seconds() - started;
        return refused(job, s, task, place, error);
    }
    zf_encode_tree_release(*tree);
    zf_encode_pool_trim(task->pool, out_bytes(s) + (s->input.offsets != NULL ? s->rows * 8 : 0)); // what is decoded takes it
    zf_encode_flat f = {0};
    running r = {.job = job, .pool = task->pool, .source = s, .place = place};
    uint32_t shape = 0;
    status = zf_encode_flatten(job->column, *tree, &f, error);
    double compiling = zf_clock_thread_seconds();
    if (status == ZF_OK) status = prepare(&r, at->block, at->choosing, &f, &shape, &at->changed, error);
    started += zf_clock_thread_seconds() - compiling; // compiling a decoder is no part of encoding
    if (status == ZF_OK) {
        status = make_output(&r, error);
        if (status == ZF_OK) status = finish(&r, &f, shape, started, out, error);
        if (status == ZF_ERR_INPUT && error != NULL && zf_error_is(error, ZF_E_V09)) {
            zf_error of_state = *error; // no file has one yet: the encoder's sizes led to another
            bool text = job->column->type.kind == ZF_K_STRING;
            zf_raise(error, ZF_E_SIZES, "the encoder made sizes that do not add up to the block's rows%s",
                     text ? " or characters" : "");
            zf_fail_place(error, status, "%s", of_state.place);
            zf_fail_hint(error, status, "the sizes of an algorithm's groups must add up to the elements of its result%s",
                         text ? ", and its strings' lengths to the bytes of the rows" : "");
        }
        free_output(&r);
    }
    zf_program_decoder_release(job->program, r.held);
    zf_encode_flat_free(&f);
    return status;
}

zf_status zf_encode_block_run(zf_encode_job *job, const zf_encode_rows *rows, zf_encode_pool *pool, zf_encode_result *out,
                              zf_error *error) {
    uint64_t block = rows->block;
    char place[256];
    source s = {0};
    *out = (zf_encode_result){0};
    snprintf(place, sizeof place, "column %s, block %llu", job->column->name, (ull)block);
    zf_status status = source_of(job, rows, &s, error);
    block_of whose = {job->program, place};
    zf_encode_task task = {.find = find_encoder,
                           .find_extern = find_extern,
                           .extern_names = extern_names,
                           .user = &whose,
                           .passed_over = log_passed_over,
                           .pool = pool};
    const zf_codec_choice *choice = job->column->codec;
    uint64_t all = choice->count >= 64 ? UINT64_MAX : (1ull << choice->count) - 1;
    attempt at = {.block = block, .place = place, .choosing = job->tuples != NULL};
    while (status == ZF_OK) {
        zf_encode_node *tree = NULL;
        at.changed = false;
        status = try_once(job, &s, &task, &at, &tree, out, error);
        at.choosing = false;                        // the first result has the block's turn
        if (status == ZF_ERR_INPUT && at.changed) { // its algorithms do not take wider fields
            zf_encode_tree_free(tree);
            status = ZF_OK;
            continue;
        }
        // A block that does not decode to what it was made from counts as refused by the alternative that made it.
        uint32_t branch = tree != NULL ? tree->branch : 0;
        bool again = status == ZF_ERR_INPUT && tree != NULL && choice->count > 1 && branch < 64;
        zf_encode_tree_free(tree);
        if (!again) break;
        task.skip |= 1ull << branch;
        if (task.skip == all) break;
        zf_error first = error != NULL ? *error : (zf_error){0};
        zf_context_log(zf_compiler_context(job->program->compiler), ZF_LOG_WARNING, "%s: %s; another alternative is taken", place,
                       first.message);
        status = ZF_OK;
    }
    free(s.validity);
    zf_encode_pool_trim(pool, ZF_ENCODE_IDLE);
    zf_encode_block_skip(job, block);
    return status;
}

void zf_encode_block_skip(zf_encode_job *job, uint64_t block) { zf_encode_tuples_pass(job->tuples, block); }
