// Modules: which columns, alternatives, targets and tuples of params get code. Text and decoders are those that the compiler has
// for files of the table (decoder_cache.h).
#include "compiler/module/module_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compile_sized.h"
#include "compiler/compiler.h"
#include "compiler/container_spec.h"
#include "compiler/encode/encode_unfused.h"
#include "compiler/module/branches.h"
#include "compiler/program.h"
#include "patterns/plan/plan_target.h"
#include "runtime/base/deep.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/output_file.h"
#include "runtime/container/container_format.h"
#include "runtime/context/context.h"

enum {
    MOST_VECTORS = 64, ///< of alternatives, of a column
    MOST_TUPLES = 64,  ///< of shaping values, of a plan
    MOST_STATES = 16,  ///< zf_module_options.state_count
};

/// The targets of a module, less those that its options leave out. The format holds no others.
static const zf_abi_target targets[] = {{ZF_TARGET_HOST, 0}, {ZF_TARGET_NVPTX, 80}, {ZF_TARGET_NVPTX, 90}};
enum { TARGETS = sizeof targets / sizeof targets[0] };

/// One table, while its columns are gone through.
typedef struct building {
    zf_module_builder *b;
    zf_container *container; ///< whose params are specialised on, or NULL
    zf_codec_text *text;     ///< held; NULL: not yet
    const char *name;        ///< of the table
    struct building *next;
} building;

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a module"); }

static zf_status damaged(const building *t, zf_error *error, const char *format, const char *column) {
    zf_raise(error, ZF_E_INDEX_CONTENT, format, column);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s: column %s", zf_container_path(t->container), column);
}

const char *zf_module_target_name(zf_abi_target target, char out[ZF_MODULE_TARGET_ROOM]) {
    int length = snprintf(out, ZF_MODULE_TARGET_ROOM, "%s", zf_target_for(target)->name);
    if (target.arch != 0) {
        snprintf(out + length, ZF_MODULE_TARGET_ROOM - (size_t)length, " of compute capability %u.%u", target.arch / 10,
                 target.arch % 10);
    }
    return out;
}

void zf_module_note(const zf_module_builder *b, const char *format, ...) {
    char line[600];
    va_list arguments;
    if (b->options.note == NULL) return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    b->options.note(b->options.note_user, line);
}

// ---- Codes of a plan ------------------------------------------------------------------------------------------

static zf_status add_piece(zf_module_builder *b, zf_decoder *decoder, zf_module_code *code, zf_error *error) {
    zf_module_piece *piece = ZF_NEW(b->arena, zf_module_piece);
    if (piece == NULL) return out_of_memory(error);
    piece->decoder = decoder;
    piece->code = code;
    *b->last = piece;
    b->last = &piece->next;
    b->piece_count++;
    return ZF_OK;
}

static bool holds(const uint64_t *tuples, size_t count, const uint64_t *values, uint32_t width) {
    for (size_t k = 0; k < count; k++) {
        if (memcmp(tuples + k * width, values, width * sizeof *values) == 0) return true;
    }
    return false;
}

/// The tuples of shaping values of all blocks of a shape, up to MOST_TUPLES; `*more` where there are others.
static zf_status find_tuples(const building *t, size_t column, const zf_shape *shape, const zf_abi_plan *abi, uint64_t *tuples,
                             size_t *count, bool *more, zf_error *error) {
    zf_column_info info = {0};
    ZF_TRY(zf_container_column(t->container, column, &info, error));
    uint32_t width = abi->shaping_count;
    uint64_t *values = calloc(width + 1u, sizeof *values);
    if (values == NULL) return out_of_memory(error);
    zf_status status = ZF_OK;
    for (uint64_t block = 0; block < info.blocks && status == ZF_OK; block++) {
        zf_block_view view;
        status = zf_container_block_header(t->container, column, block, &view, error);
        if (status != ZF_OK) break;
        for (uint32_t i = 0; i < width && view.shape == shape; i++) values[i] = view.params[abi->shaping[i]];
        if (view.shape == shape && !holds(tuples, *count, values, width)) {
            if (*count < MOST_TUPLES)
                memcpy(tuples + (*count)++ * width, values, width * sizeof *values);
            else
                *more = true;
        }
        zf_block_view_free(&view);
    }
    free(values);
    return status;
}

/// The general code, and one per tuple that occurs.
static zf_status add_codes(const building *t, const char *name, size_t column, const zf_shape *shape, zf_decoder *decoder,
                           zf_module_plan *out, zf_error *error) {
    zf_module_builder *b = t->b;
    uint32_t width = decoder->abi.shaping_count;
    uint64_t *tuples = ZF_NEW_ARRAY(b->arena, uint64_t, (width + 1u) * (size_t)MOST_TUPLES);
    size_t count = 0;
    bool more = false;
    if (tuples == NULL) return out_of_memory(error);
    if (shape != NULL && width > 0) ZF_TRY(find_tuples(t, column, shape, &decoder->abi, tuples, &count, &more, error));
    if (more)
        zf_module_note(b, "table %s, column %s: more than %d tuples of params on %s; others use the general form", t->name, name,
                       MOST_TUPLES, zf_module_target_name(decoder->abi.target, (char[ZF_MODULE_TARGET_ROOM]){0}));
    out->codes = ZF_NEW_ARRAY(b->arena, zf_module_code, count + 1);
    if (out->codes == NULL) return out_of_memory(error);
    out->code_count = (uint32_t)count + 1;
    out->codes[0].is_general = 1;
    for (size_t k = 0; k < count; k++) out->codes[k + 1].shaping = tuples + k * width;
    for (size_t k = 0; k <= count; k++) ZF_TRY(add_piece(b, decoder, &out->codes[k], error));
    return ZF_OK;
}

// ---- Plans of a column ----------------------------------------------------------------------------------------

/// The shape of the file's blocks under these branches, or NULL.
static const zf_shape *shape_of(const building *t, size_t column, const uint8_t *branches, size_t count) {
    return t->container != NULL ? zf_container_shape_for(t->container, column, branches, count) : NULL;
}

static bool is_wanted(const zf_module_options *options, zf_abi_target target) {
    return target.family == ZF_TARGET_HOST ? !options->no_host : !options->no_nvptx;
}

/// Holds a decoder as long as the builder lives.
static zf_status hold(const building *t, const zf_column *column, const uint8_t *branches, const zf_plan_request *request,
                      zf_decoder **out, zf_error *error) {
    zf_module_builder *b = t->b;
    zf_decoder_cache *cache = b->compiler->cache;
    zf_module_decoder *entry = ZF_NEW(b->arena, zf_module_decoder);
    if (entry == NULL) return out_of_memory(error);
    zf_status status =
        zf_cached_decoder_hold(cache, t->text, column, branches, column->choice_count, request, &entry->held, error);
    zf_decoder_cache_sweep(cache);
    if (status != ZF_OK) return status;
    entry->next = b->decoders;
    b->decoders = entry;
    *out = entry->held->decoder;
    return ZF_OK;
}

/// Whether the column has a plan of that shape and these seek intervals for a target.
static bool has_plan(const zf_module_column *column, const zf_shape *shape, zf_abi_target target) {
    for (uint32_t p = 0; p < column->plan_count; p++) {
        const zf_module_plan *plan = &column->plans[p];
        bool same = plan->abi.target.family == target.family && plan->abi.target.arch == target.arch &&
                    zf_shape_matches(&plan->shape, shape);
        for (uint32_t t = 0; same && t < shape->tree_count; t++) same = plan->shape.trees[t].interval == shape->trees[t].interval;
        if (same) return true;
    }
    return false;
}

/// Whether chunks are so long that no file has them cut evenly, and no GPU decodes them. Fills the reason then.
static bool are_long(const zf_shape *shape, zf_abi_target target, zf_error *reason) {
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        const zf_shape_tree *tree = &shape->trees[t];
        if (tree->directory == ZF_DIRECTORY_NONE || tree->interval <= ZF_CHUNK_MOST) continue;
        if (tree->directory == ZF_DIRECTORY_UNEVEN && target.family == ZF_TARGET_HOST) continue;
        zf_raise(reason, ZF_E_LONG_CHUNKS, "chunks of more than %d elements are in files of `zfc wrap` only, for CPUs",
                 ZF_CHUNK_MOST);
        return true;
    }
    return false;
}

/// Adds the plans of a vector with some seek states, one per target, unless there are equal ones. `shape`: that of the file's
/// blocks, whose states these are, or NULL. Skips a target that cannot be lowered. `reasons`, one per target, say why.
static zf_status add_plans(const building *t, const zf_column *column, size_t number, const uint8_t *branches,
                           const zf_shape *shape, const zf_decoder_states *states, zf_module_column *out,
                           zf_error reasons[TARGETS], zf_error *error) {
    for (size_t k = 0; k < TARGETS; k++) {
        if (!is_wanted(&t->b->options, targets[k])) continue;
        zf_decoder *decoder = NULL;
        zf_error failure = {0};
        zf_plan_request request = *zf_compiler_request(t->b->compiler);
        request.target = targets[k];
        request.states = *states;
        zf_status status = hold(t, column, branches, &request, &decoder, &failure);
        if (status == ZF_ERR_UNSUPPORTED) {
            reasons[k] = failure;
            continue;
        }
        if (status != ZF_OK) {
            if (error != NULL) *error = failure;
            return status;
        }
        if (shape != NULL && !zf_shape_matches(shape, &decoder->shape)) {
            return damaged(t, error, "the index describes other streams of column `%s` than its codec", column->name);
        }
        if (are_long(&decoder->shape, targets[k], &reasons[k]) || has_plan(out, &decoder->shape, targets[k])) continue;
        zf_module_plan *plan = &out->plans[out->plan_count++];
        *plan = (zf_module_plan){.abi = decoder->abi, .shape = decoder->shape};
        ZF_TRY(add_codes(t, column->name, number, shape, decoder, plan, error));
    }
    return ZF_OK;
}

/// Adds the plans of a vector: with the file's states, or else the default ones, then with those of the options.
static zf_status add_vector(const building *t, const zf_column *column, size_t number, const uint8_t *branches,
                            zf_module_column *out, zf_error reasons[TARGETS], zf_error *error) {
    const zf_module_options *options = &t->b->options;
    const zf_shape *shape = shape_of(t, number, branches, column->choice_count);
    zf_decoder_states states;
    uint32_t *edges = NULL;
    if (!zf_decoder_states_of(shape, &edges, &states)) return out_of_memory(error);
    zf_status status = add_plans(t, column, number, branches, shape, &states, out, reasons, error);
    free(edges);
    for (size_t s = 0; s < options->state_count && status == ZF_OK; s++) {
        zf_text unfused = {0};
        zf_unfused_of_column(options->states[s].unfused, column, &unfused);
        states = (zf_decoder_states){.seek_interval = options->states[s].seek_interval, .unfused = unfused.data};
        status =
            unfused.failed ? out_of_memory(error) : add_plans(t, column, number, branches, NULL, &states, out, reasons, error);
        zf_text_free(&unfused);
    }
    return status;
}

/// Says for which targets a column has no code, or not under all alternatives, and why.
static void note_missing(const building *t, const char *column, const zf_module_column *made, const zf_error reasons[TARGETS]) {
    for (size_t k = 0; k < TARGETS; k++) {
        if (reasons[k].status == ZF_OK) continue;
        uint32_t plans = 0;
        for (uint32_t p = 0; p < made->plan_count; p++) {
            zf_abi_target target = made->plans[p].abi.target;
            plans += target.family == targets[k].family && target.arch == targets[k].arch;
        }
        if (made->plan_count == 0) {
            zf_module_note(t->b, "table %s, column %s: no code for any target: %s", t->name, column, reasons[k].message);
            return;
        }
        zf_module_note(t->b, "table %s, column %s: no code for %s%s: %s", t->name, column,
                       zf_module_target_name(targets[k], (char[ZF_MODULE_TARGET_ROOM]){0}),
                       plans > 0 ? " under some alternatives" : "", reasons[k].message);
    }
}

/// The vectors that occur in the file, then those that may occur in others, up to the limit.
static zf_status add_vectors(const building *t, const zf_column *column, size_t number, zf_module_column *out, zf_error *error) {
    size_t shapes = t->container != NULL ? zf_container_shapes(t->container, number) : 0, vectors = 0;
    uint8_t *branches = calloc(1, column->choice_count + 1u);
    size_t plans = TARGETS * (1 + t->b->options.state_count);
    out->plans = ZF_NEW_ARRAY(t->b->arena, zf_module_plan, (shapes + MOST_VECTORS) * plans);
    zf_error reasons[TARGETS] = {0};
    zf_status status = branches != NULL && out->plans != NULL ? ZF_OK : out_of_memory(error);
    for (size_t s = 0; s < shapes && status == ZF_OK; s++, vectors++) {
        const zf_shape *shape = zf_container_shape(t->container, number, s);
        if (!zf_branches_exist(shape->branches, shape->branch_count, column->alternatives, column->choice_count))
            status = damaged(t, error, ZF_NO_SUCH_BRANCHES, column->name);
        else
            status = add_vector(t, column, number, shape->branches, out, reasons, error);
    }
    bool more = true, left_out = false;
    while (more && !left_out && status == ZF_OK) {
        if (shape_of(t, number, branches, column->choice_count) == NULL) {
            left_out = vectors == MOST_VECTORS;
            if (!left_out) status = add_vector(t, column, number, branches, out, reasons, error);
            vectors += !left_out;
        }
        if (status == ZF_OK && !left_out) status = zf_branches_next(column, branches, &more, error);
    }
    free(branches);
    if (status != ZF_OK) return status;
    if (left_out) {
        zf_module_note(t->b, "table %s, column %s: its alternatives can be taken in more ways than the %d that are compiled",
                       t->name, column->name, MOST_VECTORS);
    }
    note_missing(t, column->name, out, reasons);
    return ZF_OK;
}

// ---- Tables ---------------------------------------------------------------------------------------------------

static zf_status add_column(const building *t, const zf_column *column, zf_module_column *out, zf_error *error) {
    const char *type_name = zf_column_type_text(t->b->arena, column);
    if (type_name == NULL) return out_of_memory(error);
    *out = (zf_module_column){.name = column->name,
                              .type_name = type_name,
                              .codec = column->codec_text,
                              .type = zf_column_type_of(column->type),
                              .choice_count = column->choice_count,
                              .alternatives = column->alternatives};
    if (t->container == NULL) return add_vectors(t, column, 0, out, error);
    zf_column_info info = {.name = ""};
    size_t number = 0, count = zf_container_columns(t->container);
    for (; number < count; number++) { // by the identifier, which may be the full name of another column
        ZF_TRY(zf_container_column(t->container, number, &info, error));
        if (strcmp(info.name, column->name) == 0) break;
    }
    if (number == count) return damaged(t, error, "the index has no column `%s`, which the file's text has", column->name);
    if (info.part != column->part || !zf_column_type_same(info.type, out->type))
        return damaged(t, error, "the type of column `%s` in the file's text differs from the index", column->name);
    return add_vectors(t, column, number, out, error);
}

/// Goes through the table of the text that is held, whose identity is `identity`.
static zf_status add_table(building *t, zf_unit_identity identity, zf_error *error) {
    zf_module_table *out = &t->b->content.tables[t->b->content.table_count++];
    const zf_table *table = t->text->table;
    for (size_t s = 0; s < t->b->options.state_count; s++)
        ZF_TRY(zf_unfused_check(t->b->options.states[s].unfused, table, error));
    out->name = t->name = table->name;
    out->text = identity;
    out->columns = ZF_NEW_ARRAY(t->b->arena, zf_module_column, table->column_count + 1u);
    if (out->columns == NULL) return out_of_memory(error);
    for (const zf_column *column = table->columns; column != NULL; column = column->next)
        ZF_TRY(add_column(t, column, &out->columns[out->column_count++], error));
    return ZF_OK;
}

// ---- The file -------------------------------------------------------------------------------------------------

static zf_status write_file(const char *path, bool overwrite, const zf_text *bytes, zf_error *error) {
    zf_output_file *file;
    ZF_TRY(zf_output_create(path, (zf_output_options){.overwrite = overwrite}, &file, error));
    zf_status status = zf_output_write(file, 0, bytes->data, bytes->length, error);
    if (status == ZF_OK) status = zf_output_commit(file, error);
    zf_output_free(file);
    return status;
}

/// Columns without code are removed. Tables stay, so the error for a container of one says that the column is missing.
static zf_status keep_columns(zf_module_content *content, zf_module_stats *stats, zf_error *error) {
    *stats = (zf_module_stats){.native_bytes = content->native_bytes, .image_bytes = content->image_bytes};
    for (uint32_t t = 0; t < content->table_count; t++) {
        zf_module_table *table = &content->tables[t];
        uint32_t kept = 0;
        for (uint32_t c = 0; c < table->column_count; c++) {
            const zf_module_column *column = &table->columns[c];
            if (column->plan_count == 0) continue;
            stats->general += column->plan_count;
            for (uint32_t p = 0; p < column->plan_count; p++) stats->specialised += column->plans[p].code_count - 1;
            table->columns[kept++] = *column;
        }
        table->column_count = kept;
        stats->columns += kept;
    }
    if (stats->columns > 0) return ZF_OK;
    return zf_raise_diag(error, ZF_ERR_UNSUPPORTED, ZF_D_NOT_LOWERED, "no column can be compiled by this version yet");
}

static zf_status finish(zf_module_builder *b, const char *path, zf_module_stats *stats, zf_error *error) {
    zf_module_stats ours = {0};
    zf_text bytes = {0};
    ZF_TRY(zf_module_link(b, error));
    ZF_TRY(keep_columns(&b->content, &ours, error));
    zf_status status = zf_module_write(&b->content, &bytes, error);
    if (status == ZF_OK) status = write_file(path, b->options.overwrite, &bytes, error);
    ours.bytes = bytes.length;
    if (status == ZF_OK && stats != NULL) ZF_GIVE(zf_module_stats, stats, &ours);
    zf_text_free(&bytes);
    return status;
}

/// Checks the size of the caller's statistics, and makes them zero.
static zf_status begin_stats(zf_module_stats *stats, zf_error *error) {
    const zf_module_stats none = {0};
    if (stats == NULL) return ZF_OK;
    ZF_TRY(ZF_CHECK_GIVEN(zf_module_stats, stats, error));
    ZF_GIVE(zf_module_stats, stats, &none);
    return ZF_OK;
}

static zf_status check_states(const zf_module_options *options, zf_error *error) {
    if (options->state_count > MOST_STATES)
        return zf_raise(error, ZF_E_ARGUMENT, "a module for more than %d kinds of seek states", MOST_STATES);
    if (options->states == NULL && options->state_count > 0)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_module_options.states is NULL, and state_count is not 0");
    for (size_t s = 0; s < options->state_count; s++) {
        unsigned interval = options->states[s].seek_interval;
        if (interval != 0 && !zf_tree_interval_valid(false, interval))
            return zf_raise(error, ZF_E_ARGUMENT, "a seek interval is a power of two from 256 to 65536, not %u", interval);
    }
    return ZF_OK;
}

static zf_status start(zf_module_builder *b, zf_compiler *compiler, const zf_module_options *options, uint32_t tables,
                       zf_error *error) {
    *b = (zf_module_builder){.compiler = compiler};
    ZF_TRY(ZF_TAKE(zf_module_options, &b->options, options, error));
    b->last = &b->pieces;
    b->cpu = b->options.cpu != NULL ? b->options.cpu : "x86-64-v3";
    if (zf_cpu_level(b->cpu) < ZF_MODULE_LEAST_CPU) {
        zf_status status = zf_raise(error, ZF_E_ARGUMENT, "`%.64s` is not a CPU level for modules", b->cpu);
        return zf_fail_hint(error, status, "there is: x86-64-v2, x86-64-v3, x86-64-v4");
    }
    if (b->options.no_host && b->options.no_nvptx) return zf_raise(error, ZF_E_ARGUMENT, "a module for no target");
    ZF_TRY(check_states(&b->options, error));
    b->arena = zf_arena_create();
    b->content.tables = b->arena != NULL ? ZF_NEW_ARRAY(b->arena, zf_module_table, tables + 1u) : NULL;
    return b->content.tables != NULL ? ZF_OK : out_of_memory(error);
}

static void release(zf_module_builder *b, const building *tables) {
    for (zf_module_piece *piece = b->pieces; piece != NULL; piece = piece->next) zf_exported_code_free(&piece->exported);
    zf_decoder_cache *cache = b->compiler->cache;
    for (const zf_module_decoder *d = b->decoders; d != NULL; d = d->next) zf_cached_decoder_release(cache, d->held);
    for (; tables != NULL; tables = tables->next) zf_codec_text_release(cache, tables->text);
    zf_decoder_cache_sweep(cache);
    zf_text_free(&b->native.code);
    zf_text_free(&b->images);
    if (b->arena != NULL) zf_arena_destroy(b->arena);
}

typedef struct canonical {
    zf_program *program;
    const zf_table *table;
    zf_text *text;
} canonical;

static zf_status make_canonical(void *user, zf_error *error) {
    const canonical *c = user;
    pthread_mutex_lock(&c->program->lock);
    bool made = zf_canonical_table(c->program->spec, c->table, c->text);
    pthread_mutex_unlock(&c->program->lock);
    if (made && !c->text->failed) return ZF_OK;
    return zf_raise(error, ZF_E_INTERNAL, "the canonical text of table `%s` could not be made", c->table->name);
}

static zf_status add_program_table(building *t, zf_program *program, const zf_table *table, zf_error *error) {
    zf_text text = {0};
    zf_status status = zf_run_deep(make_canonical, &(canonical){program, table, &text}, error);
    if (status == ZF_OK)
        status = zf_codec_text_hold_canonical(t->b->compiler->cache, text.data, text.length, table->name, &t->text, error);
    if (status == ZF_OK) status = add_table(t, zf_unit_identify(text.data, text.length), error);
    zf_text_free(&text);
    return status;
}

zf_status zf_module_compile(zf_program *program, const char *name, const zf_module_options *options, const char *path,
                            zf_module_stats *stats, zf_error *error) {
    ZF_TRY(begin_stats(stats, error));
    if (program == NULL || path == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_module_compile needs a program and a path");
    if (!program->checked) return zf_raise(error, ZF_E_ARGUMENT, "the program has errors");
    uint32_t count = 0;
    for (const zf_table *table = zf_spec_tables(program->spec); table != NULL; table = table->next)
        count += name == NULL || strcmp(table->name, name) == 0;
    if (count == 0) {
        return name != NULL ? zf_raise(error, ZF_E_ARGUMENT, "the program has no table `%s`", name)
                            : zf_raise(error, ZF_E_ARGUMENT, "the program has no table");
    }
    zf_module_builder b;
    building *tables = NULL;
    zf_status status = start(&b, program->compiler, options, count, error);
    for (const zf_table *table = zf_spec_tables(program->spec); table != NULL && status == ZF_OK; table = table->next) {
        if (name != NULL && strcmp(table->name, name) != 0) continue;
        building *t = ZF_NEW(b.arena, building);
        if (t == NULL) {
            status = out_of_memory(error);
            break;
        }
        *t = (building){.b = &b, .next = tables};
        tables = t;
        status = add_program_table(t, program, table, error);
    }
    if (status == ZF_OK) status = finish(&b, path, stats, error);
    release(&b, tables);
    return status;
}

zf_status zf_module_compile_for(zf_compiler *compiler, zf_container *container, const zf_module_options *options,
                                const char *path, zf_module_stats *stats, zf_error *error) {
    ZF_TRY(begin_stats(stats, error));
    if (compiler == NULL || container == NULL || path == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_module_compile_for needs a compiler, a container and a path");
    zf_module_builder b;
    building t = {.b = &b, .container = container};
    zf_status status = start(&b, compiler, options, 1, error);
    if (status == ZF_OK) status = zf_codec_text_hold(compiler->cache, container, &t.text, error);
    if (status == ZF_OK) status = add_table(&t, zf_container_unit_identity(container), error);
    if (status == ZF_OK) status = finish(&b, path, stats, error);
    release(&b, &t);
    return status;
}
