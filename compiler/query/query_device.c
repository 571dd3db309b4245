// A query on an accelerator: columns go to its memory, launches run over their rows, and results come back.
//
// Columns are there in parts, runs of rows. They stay, or come anew with every run (query_device_feed.c).
#include "compiler/query/query_device_inside.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/container_spec.h"
#include "compiler/program.h"
#include "runtime/base/error_codes.h"

enum { LAUNCHES = 65536, FED_SLOTS = 4, FED_BYTES = 32 << 20 };

typedef zf_query_segment segment;

zf_status zf_query_device_room(zf_query_device *d, zf_query_memory *memory, uint64_t bytes, zf_error *error) {
    if (memory->address == 0 || memory->room < bytes) {
        if (memory->address != 0) d->ops->release(d->accelerator, memory->address);
        *memory = (zf_query_memory){0};
        ZF_TRY(d->ops->allocate(d->accelerator, bytes, &memory->address, error));
        memory->room = bytes;
    }
    memory->bytes = bytes;
    return ZF_OK;
}

// ---- Columns and inputs ---------------------------------------------------------------------------------------

static zf_status check_inputs(const zf_query_running *r, zf_error *error) {
    for (uint32_t k = 0; k < r->query->input_count; k++)
        if (r->streams[k].length > ZF_QUERY_INPUT_MOST)
            return zf_raise(error, ZF_E_TOO_LARGE, "the input `%s` has %llu elements; on a device it may have 2^31",
                            r->query->inst->streams[k]->name, (unsigned long long)r->streams[k].length);
    return ZF_OK;
}

static bool is_fed(const zf_query_device *d) { return d->feed.accelerator != NULL; }

// `zones`: NULL unless the query runs once, and they tell which rows may matter.
static zf_status make_parts(zf_query_device *d, zf_query_zones *zones, zf_error *error) {
    zf_query_running *r = d->running;
    zf_compiler *compiler = r->program->compiler;
    const zf_query_request *request = r->request;
    d->input_at = calloc(r->query->input_count + 1, sizeof *d->input_at);
    if (d->input_at == NULL) return zf_query_device_no_memory(error);
    ZF_TRY(zf_provider_create(compiler, zf_compiler_request(compiler), &d->provider, error));
    zf_abi_provider provider = zf_provider_abi(d->provider);
    uint64_t unit = request->unit_bytes > 0 ? request->unit_bytes : FED_BYTES;
    zf_query_cut cut = {.tile = d->tile, .bytes = request->from_host ? unit : UINT64_MAX, .zones = zones};
    return zf_query_parts_make(r, (zf_query_range){d->first, d->end}, &cut, &provider, d->accelerator, &d->parts, error);
}

static uint64_t first_tile_of(const zf_query_device *d, const segment *rows) { return rows->begin / d->tile; }

static uint64_t tiles_of(const zf_query_device *d, const segment *rows) {
    return (rows->end + d->tile - 1) / d->tile - first_tile_of(d, rows);
}

static zf_status refuse_launches(const zf_query_device *d, zf_error *error) {
    if (d->running->query->pairs != NULL)
        return zf_raise(error, ZF_E_TOO_LARGE, "`%s` has more pairs than %d launches run", d->running->query->name, LAUNCHES);
    zf_status status = zf_raise(error, ZF_E_TOO_LARGE, "a query over these columns would take more than %d launches", LAUNCHES);
    return zf_fail_hint(error, status, "decode its columns first (`--decode-first`)");
}

static segment next_launch(zf_query_device *d, const zf_query_part *part, uint64_t row) {
    if (d->running->query->pairs != NULL) return zf_query_pairs_launch(&d->pairs, d->running, row);
    return (segment){.begin = row, .end = zf_query_launch_end(&d->parts, part, row)};
}

static zf_status cut_part(zf_query_device *d, zf_query_part *part, zf_error *error) {
    part->segment = d->segment_count;
    for (uint64_t row = part->rows.begin; row < part->rows.end;) {
        segment next = next_launch(d, part, row);
        if (d->segment_count == LAUNCHES || next.end <= row) return refuse_launches(d, error);
        d->segments[d->segment_count++] = next;
        d->tiles += tiles_of(d, &next);
        row = next.end;
    }
    part->segment_count = d->segment_count - part->segment;
    return ZF_OK;
}

static zf_status cut_launches(zf_query_device *d, zf_error *error) {
    d->segments = calloc(LAUNCHES, sizeof *d->segments);
    d->codes = calloc(LAUNCHES, sizeof *d->codes);
    if (d->segments == NULL || d->codes == NULL) return zf_query_device_no_memory(error);
    for (size_t p = 0; p < d->parts.count; p++) ZF_TRY(cut_part(d, &d->parts.items[p], error));
    return ZF_OK;
}

// ---- Columns that stay ----------------------------------------------------------------------------------------

static uint64_t heads_of(const zf_query_device *d) { return d->read.address; }

static zf_status bring_part(zf_query_device *d, zf_query_part *part, uint64_t at, zf_error *error) {
    zf_query_part_move(&d->parts, part, at, heads_of(d));
    ZF_TRY(zf_query_part_copy(&d->parts, part, d->stream, error));
    return zf_query_part_decode(&d->parts, part, d->accelerator, d->stream, heads_of(d), error);
}

static zf_status bring_all(zf_query_device *d, zf_error *error) {
    uint64_t at = d->parts.heads;
    ZF_TRY(zf_query_device_room(d, &d->read, d->parts.heads + d->parts.all + 1, error));
    ZF_TRY(zf_query_parts_copy_heads(&d->parts, d->accelerator, d->stream, heads_of(d), error));
    for (size_t p = 0; p < d->parts.count; p++) {
        ZF_TRY(bring_part(d, &d->parts.items[p], d->read.address + at, error));
        at += d->parts.items[p].bytes;
    }
    return d->ops->wait(d->accelerator, d->stream, error);
}

// ---- Columns that come with every run -------------------------------------------------------------------------

// A query that selects runs twice. Its columns come once if there is room for all of them.
static zf_status make_slots(zf_query_device *d, zf_error *error) {
    size_t few = d->parts.count < FED_SLOTS ? d->parts.count : FED_SLOTS;
    bool all = d->running->query->selected_count > 0;
    zf_error ignored;
    if (all && zf_query_device_room(d, &d->read, d->parts.heads + d->parts.count * d->parts.most + 1, &ignored) == ZF_OK)
        return zf_query_feed_open(&d->feed, d->accelerator, d->parts.count, d->parts.count, error);
    ZF_TRY(zf_query_device_room(d, &d->read, d->parts.heads + few * d->parts.most + 1, error));
    return zf_query_feed_open(&d->feed, d->accelerator, d->parts.count, few, error);
}

static void move_fed(zf_query_device *d) {
    zf_query_feed_place(&d->feed, &d->parts);
    for (size_t p = 0; p < d->parts.count; p++) {
        uint64_t at = d->read.address + d->parts.heads + d->parts.items[p].slot * d->parts.most;
        zf_query_part_move(&d->parts, &d->parts.items[p], at, heads_of(d));
    }
}

// ---- Inputs ---------------------------------------------------------------------------------------------------

static zf_status place_inputs(zf_query_device *d, zf_error *error) {
    zf_query_running *r = d->running;
    uint64_t next = 0;
    for (uint32_t k = 0; k < r->query->input_count; k++)
        ZF_TRY(zf_query_place(&next, zf_query_input_bytes(r, k), &d->input_at[k], error));
    ZF_TRY(zf_query_place(&next, d->segment_count * d->frame_words * sizeof(uint64_t), &d->frames_at, error));
    ZF_TRY(zf_query_pairs_place(&d->pairs, &next, error));
    return zf_query_device_room(d, &d->given, next + 1, error);
}

static zf_status copy_inputs(zf_query_device *d, zf_error *error) {
    zf_query_running *r = d->running;
    for (uint32_t k = 0; k < r->query->input_count; k++) {
        uint64_t at = d->given.address + d->input_at[k], bytes = zf_query_input_bytes(r, k), from = r->addresses[k];
        // Element 0 of an empty one, and the rest of the piece with which copies to shared memory end.
        ZF_TRY(d->ops->fill(d->accelerator, d->stream, at + bytes, 0, ZF_QUERY_SHARED_PIECE, error));
        if (bytes == 0) continue;
        ZF_TRY(from != 0 ? d->ops->copy_within(d->accelerator, d->stream, at, from, bytes, error)
                         : d->ops->copy_in(d->accelerator, d->stream, at, r->streams[k].values, bytes, error));
    }
    return zf_query_pairs_copy(&d->pairs, d->accelerator, d->stream, d->given.address, error);
}

// ---- Frames ---------------------------------------------------------------------------------------------------

// `tile`: those of the launches before.
static void write_frame(zf_query_device *d, const zf_query_part *part, const segment *rows, uint64_t tile, uint64_t *to) {
    const zf_query_running *r = d->running;
    const zf_query *query = r->query;
    zf_query_launch launch = {.first_tile = first_tile_of(d, rows),
                              .tiles = tiles_of(d, rows),
                              .row_begin = rows->begin,
                              .row_end = rows->end,
                              .first_row = part->rows.begin,
                              .counts = d->counts + tile * sizeof(uint64_t),
                              .prefix = d->prefix + tile * sizeof(uint64_t)};
    zf_query_pairs_frame(&d->pairs, rows, d->given.address - d->read.address, &launch);
    zf_query_frame_places places = zf_query_frame_places_of(query);
    memcpy(to, &launch, sizeof launch);
    memcpy(to + places.params, r->params, query->inst->param_count * sizeof(uint64_t));
    uint8_t *at = (uint8_t *)(to + places.inputs);
    for (uint32_t k = 0; k < query->input_count; k++) {
        zf_query_device_input input = {d->given.address + d->input_at[k] - d->read.address, r->streams[k].length};
        at = mempcpy(at, &input, sizeof input);
    }
    at = (uint8_t *)(to + places.columns);
    for (uint32_t c = 0; c < query->column_count; c++) {
        zf_element element = zf_column_type_of(query->columns[c]->type).element;
        zf_query_device_column column = zf_query_column_frame(&part->columns[c], element, d->read.address);
        at = mempcpy(at, &column, sizeof column);
    }
    at = (uint8_t *)(to + places.results);
    for (uint32_t k = 0; k < query->result_count; k++) {
        zf_query_device_result result = {.words = d->placed[k].words, .touched = d->placed[k].touched};
        if (zf_query_sums_floats(&query->results[k]))
            result.words += tile * r->holding.answers->items[k].count * sizeof(uint64_t);
        if (query->results[k].kind == ZF_Q_MASK) result.touched += part->rows.begin - d->first;
        at = mempcpy(at, &result, sizeof result);
    }
}

// Columns go from block to block with the launches, so codes are chosen and frames are written in one walk.
static zf_status write_frames_of(zf_query_device *d, const zf_query_part *part, bool choose, uint64_t *tile, zf_error *error) {
    for (uint32_t c = 0; c < d->parts.columns; c++) part->columns[c].at = 0;
    for (size_t s = part->segment; s < part->segment + part->segment_count; s++) {
        zf_query_launch_end(&d->parts, part, d->segments[s].begin);
        if (choose) ZF_TRY(zf_query_code_choose(d, part, s, error));
        write_frame(d, part, &d->segments[s], *tile, d->frames + s * d->frame_words);
        *tile += tiles_of(d, &d->segments[s]);
    }
    return ZF_OK;
}

static zf_status write_frames(zf_query_device *d, zf_error *error) {
    bool choose = d->built_count == 0;
    uint64_t tile = 0;
    for (size_t p = 0; p < d->parts.count; p++) ZF_TRY(write_frames_of(d, &d->parts.items[p], choose, &tile, error));
    if (d->segment_count == 0) return ZF_OK;
    ZF_TRY(d->ops->copy_in(d->accelerator, d->stream, d->given.address + d->frames_at, d->frames,
                           d->segment_count * d->frame_words * sizeof(uint64_t), error));
    return d->ops->wait(d->accelerator, d->stream, error);
}

// ---- Launches -------------------------------------------------------------------------------------------------

static zf_status launch(zf_query_device *d, size_t s, uint32_t kernel, uint64_t groups, zf_error *error) {
    const zf_query_built *code = &d->built[d->codes[s]];
    uint64_t most = d->running->request->thread_blocks;
    if (groups > code->groups[kernel]) groups = code->groups[kernel];
    if (most != 0 && groups > most) groups = most;
    uint64_t frame = d->frame_words * sizeof(uint64_t);
    zf_simt_args args = {.base = d->read.address,
                         .base_bytes = d->read.bytes,
                         .blocks = d->given.address + d->frames_at + s * frame,
                         .blocks_bytes = frame,
                         .work = d->given.address, // inputs, for devices that check every access
                         .work_bytes = d->given.bytes,
                         .out = d->results.address,
                         .out_bytes = d->results.bytes,
                         .failure = d->results.address,
                         .failures = d->results.address,
                         .failures_bytes = sizeof d->failures,
                         .block_count = 1,
                         .even = (uint32_t)groups};
    uint32_t number = zf_query_kernel_number(d->running->query, kernel);
    return d->ops->launch(d->accelerator, d->stream, code->loaded, number, (uint32_t)groups, &args, error);
}

bool zf_query_device_keeps_sums(const zf_query_device *d) {
    return d->pairs.squares && d->running->query->selected_count > 0 && d->segment_count == 1;
}

// Sums of a launch's pairs are made before its kernel reads them; those of the next launch take their place.
static zf_status launch_part(zf_query_device *d, const zf_query_part *part, uint32_t kernel, zf_error *error) {
    bool makes = kernel == ZF_QUERY_KERNEL_COUNT || !zf_query_device_keeps_sums(d);
    for (size_t s = part->segment; s < part->segment + part->segment_count; s++) {
        const segment *rows = &d->segments[s];
        if (rows->squares > 0 && makes) ZF_TRY(launch(d, s, ZF_QUERY_KERNEL_SQUARES, rows->squares, error));
        uint64_t groups = (tiles_of(d, rows) + d->warps - 1) / d->warps;
        ZF_TRY(launch(d, s, kernel, groups, error));
    }
    return ZF_OK;
}

typedef struct fed_run {
    zf_query_device *d;
    uint32_t kernel;
} fed_run;

static zf_status run_fed(void *user, zf_query_part *part, zf_error *error) {
    fed_run *run = user;
    zf_query_device *d = run->d;
    ZF_TRY(zf_query_part_decode(&d->parts, part, d->accelerator, d->stream, heads_of(d), error));
    return launch_part(d, part, run->kernel, error);
}

// Runs a kernel over all wanted parts; brings those that are not there.
static zf_status launch_all(zf_query_device *d, uint32_t kernel, zf_error *error) {
    if (is_fed(d) && !d->fed) {
        fed_run run = {d, kernel};
        ZF_TRY(zf_query_parts_copy_heads(&d->parts, d->accelerator, d->stream, heads_of(d), error));
        ZF_TRY(zf_query_feed_run(&d->feed, &d->parts, d->stream, run_fed, &run, error));
        d->fed = d->feed.slots >= d->parts.count;
        return ZF_OK;
    }
    for (size_t p = 0; p < d->parts.count; p++)
        if (d->parts.items[p].wanted) ZF_TRY(launch_part(d, &d->parts.items[p], kernel, error));
    return ZF_OK;
}

// ---- Counting ------------------------------------------------------------------------------------------------

// How many rows `select` appends in each tile, then in all tiles before.
static zf_status count_selected(zf_query_device *d, zf_error *error) {
    uint64_t next = sizeof d->failures, bytes = d->tiles * sizeof(uint64_t);
    ZF_TRY(zf_query_pairs_place_sums(&d->pairs, &next, error));
    ZF_TRY(zf_query_place(&next, bytes, &d->counts, error));
    ZF_TRY(zf_query_device_room(d, &d->results, next, error));
    if (bytes > 0) // of tiles that do not run
        ZF_TRY(d->ops->fill(d->accelerator, d->stream, d->results.address + d->counts, 0, bytes, error));
    ZF_TRY(d->ops->fill(d->accelerator, d->stream, d->results.address, 0xff, sizeof d->failures, error));
    ZF_TRY(write_frames(d, error));
    ZF_TRY(launch_all(d, ZF_QUERY_KERNEL_COUNT, error));
    if (bytes > 0)
        ZF_TRY(d->ops->copy_out(d->accelerator, d->stream, d->tile_counts, d->results.address + d->counts, bytes, error));
    ZF_TRY(d->ops->wait(d->accelerator, d->stream, error));
    d->selected = 0;
    for (uint64_t t = 0; t < d->tiles; t++) {
        uint64_t count = d->tile_counts[t];
        d->tile_counts[t] = d->selected;
        d->selected += count;
    }
    return ZF_OK;
}

// ---- Time -----------------------------------------------------------------------------------------------------

static zf_status run_again(zf_query_device *d, void *from, void *to, double *seconds, zf_error *error) {
    ZF_TRY(zf_query_results_clear(d, error));
    ZF_TRY(d->ops->event_note(d->accelerator, d->stream, from, error));
    d->fed = false;
    for (size_t p = 0; p < d->parts.count && !is_fed(d); p++)
        if (d->parts.items[p].wanted) ZF_TRY(zf_query_part_again(&d->parts, &d->parts.items[p], d->stream, error));
    if (d->running->query->selected_count > 0) ZF_TRY(launch_all(d, ZF_QUERY_KERNEL_COUNT, error));
    ZF_TRY(launch_all(d, ZF_QUERY_KERNEL_GIVE, error));
    ZF_TRY(d->ops->event_note(d->accelerator, d->stream, to, error));
    return d->ops->event_seconds(d->accelerator, from, to, seconds, error);
}

zf_status zf_query_device_time(zf_query_device *d, unsigned repeat, zf_error *error) {
    zf_query_device_use *use = &d->running->holding.answers->device;
    void *from = NULL, *to = NULL;
    use->seconds = calloc(repeat, sizeof *use->seconds);
    if (use->seconds == NULL) return zf_query_device_no_memory(error);
    zf_status status = d->ops->event_open(d->accelerator, true, &from, error);
    if (status == ZF_OK) status = d->ops->event_open(d->accelerator, true, &to, error);
    while (status == ZF_OK && use->repeated < repeat) status = run_again(d, from, to, &use->seconds[use->repeated++], error);
    zf_error ignored;
    if (status != ZF_OK) d->ops->wait(d->accelerator, d->stream, &ignored);
    if (to != NULL) d->ops->event_close(d->accelerator, to);
    if (from != NULL) d->ops->event_close(d->accelerator, from);
    return status;
}

static bool fuses(const zf_query_device *d, uint32_t column) {
    bool fused = true;
    for (size_t p = 0; p < d->parts.count; p++) fused = fused && d->parts.items[p].columns[column].fused;
    return fused;
}

static void describe(zf_query_device *d) {
    zf_query_device_use *use = &d->running->holding.answers->device;
    for (uint32_t c = 0; c < d->parts.columns; c++) {
        use->fused += fuses(d, c);
        use->decoded += !fuses(d, c);
    }
    for (size_t p = 0; p < d->parts.count; p++) {
        const zf_query_part *part = &d->parts.items[p];
        if (!part->wanted) continue;
        use->launches += part->segment_count;
        use->units += d->parts.columns > 0;
        for (uint32_t c = 0; c < d->parts.columns; c++) use->stored_bytes += part->columns[c].sizes.stored;
    }
    use->squares = d->pairs.squares ? d->pairs.square_count : 0;
    use->codes = d->built_count;
    use->warps = d->warps;
    use->shared_bytes = zf_query_code_shared(d);
}

// ---- Preparation ----------------------------------------------------------------------------------------------

static zf_status make_lists(zf_query_device *d, zf_error *error) {
    d->frame_words = zf_query_frame_places_of(d->running->query).words;
    d->placed = calloc(d->running->query->result_count + 1, sizeof *d->placed);
    d->frames = calloc(d->segment_count * d->frame_words + 1, sizeof *d->frames);
    d->tile_counts = calloc(d->running->query->selected_count > 0 ? d->tiles + 1 : 1, sizeof *d->tile_counts);
    return d->placed != NULL && d->frames != NULL && d->tile_counts != NULL ? ZF_OK : zf_query_device_no_memory(error);
}

static zf_status prepare(zf_query_device *d, zf_query_zones *zones, zf_error *error) {
    ZF_TRY(make_parts(d, zones, error));
    if (d->running->query->pairs == NULL) {
        ZF_TRY(cut_launches(d, error));
        ZF_TRY(make_lists(d, error));
    }
    bool fed = d->running->request->from_host && d->running->query->pairs == NULL; // pairs have no columns
    return fed ? make_slots(d, error) : bring_all(d, error);
}

// On a stream of its own: the caller's may be busy.
static zf_status prepare_on_stream(zf_query_device *d, zf_query_zones *zones, zf_error *error) {
    bool opens = d->ops->stream_open != NULL;
    zf_error ignored;
    if (opens) ZF_TRY(d->ops->stream_open(d->accelerator, &d->stream, error));
    zf_status status = prepare(d, zones, error);
    if (status != ZF_OK) d->ops->wait(d->accelerator, d->stream, &ignored);
    if (opens) d->ops->stream_close(d->accelerator, d->stream);
    d->stream = NULL;
    return status;
}

zf_status zf_query_device_open(zf_query_running *running, zf_accelerator *accelerator, bool once, zf_query_device **out,
                               zf_error *error) {
    zf_query_device *d = *out = calloc(1, sizeof *d);
    if (d == NULL) return zf_query_device_no_memory(error);
    d->running = running;
    d->accelerator = accelerator;
    d->ops = accelerator->ops;
    d->tile = zf_codegen_query_tile(running->query);
    d->first = running->first;
    d->end = running->end;
    zf_error ignored;
    bool says = d->ops->multiprocessor_facts != NULL;
    if (says && d->ops->multiprocessor_facts(accelerator, &d->processor, &ignored) != ZF_OK)
        d->processor = (zf_multiprocessor_facts){0};
    return prepare_on_stream(d, once ? &running->zones : NULL, error);
}

static void free_lists(zf_query_device *d) {
    free(d->segments);
    free(d->codes);
    free(d->frames);
    free(d->placed);
    free(d->tile_counts);
    d->segments = NULL;
    d->codes = NULL;
    d->frames = NULL;
    d->placed = NULL;
    d->tile_counts = NULL;
}

static void release(zf_query_device *d, const zf_query_memory *memory) {
    if (memory->address != 0) d->ops->release(d->accelerator, memory->address);
}

void zf_query_device_close(zf_query_device *d) {
    if (d == NULL) return;
    zf_query_code_drop(d);
    free(d->built);
    zf_query_finals_free(&d->finals, d->running->program, d->accelerator);
    zf_query_pairs_free(&d->pairs, d->running->program);
    zf_query_feed_close(&d->feed);
    zf_query_parts_free(&d->parts, d->accelerator);
    release(d, &d->read);
    release(d, &d->given);
    release(d, &d->results);
    if (d->provider != NULL) zf_provider_free(d->provider);
    free(d->input_at);
    free_lists(d);
    free(d->shapes);
    free(d->shared_inputs);
    free(d);
}

// ---- Runs -----------------------------------------------------------------------------------------------------

static zf_status refuse_long(const zf_query_device *d, zf_error *error) {
    return zf_raise(error, ZF_E_TOO_LARGE, "a sum of `%s` has more than 2^31 terms, too many for a device",
                    d->running->query->name);
}

static zf_status take_failures(zf_query_device *d, zf_query_failure *failure, zf_error *error) {
    ZF_TRY(zf_query_results_fetch(d, 0, d->failures, sizeof d->failures, error));
    uint64_t row = d->failures[ZF_QUERY_FAILED_ROW];
    bool twice = d->failures[ZF_QUERY_FAILED_SET] == 0;
    if (d->failures[ZF_QUERY_FAILED_LONG] == 0) return refuse_long(d, error);
    failure->failed = twice || row != UINT64_MAX;
    failure->row = twice || row < d->first ? d->first : row; // which second value comes first is not known
    if (d->running->query->pairs != NULL) failure->row = zf_query_pairs_first(&d->pairs, failure->row);
    return ZF_OK;
}

// The columns of `select` have as many elements as the first pass counted.
static void note_selected(zf_query_device *d) {
    zf_query_answers *answers = d->running->holding.answers;
    for (size_t k = 0; k < answers->count; k++)
        if (answers->items[k].kind == ZF_Q_SELECT) answers->items[k].count = d->selected;
}

// The pairs are one part, without columns. Their number follows from the params of the run.
static zf_status cut_pairs(zf_query_device *d, zf_query_failure *failure, zf_error *error) {
    ZF_TRY(zf_query_pairs_find(&d->pairs, d->running, &failure->failed, error));
    free_lists(d);
    d->segment_count = 0;
    d->tiles = 0;
    d->end = d->pairs.domain.pairs;
    d->running->holding.answers->rows = d->end;
    d->parts.items[0] = (zf_query_part){.rows.end = d->end, .wanted = true}; // there is room for one
    d->parts.count = 1;
    ZF_TRY(cut_launches(d, error));
    return make_lists(d, error);
}

// Parts whose rows matter to this run: all of them, if it is the only one, since others were never made.
static void choose_parts(zf_query_device *d) {
    for (size_t p = 0; p < d->parts.count; p++) {
        zf_query_part *part = &d->parts.items[p];
        part->wanted = zf_query_zones_any(&d->running->zones, part->rows.begin, part->rows.end);
        if (part->wanted) zf_query_zones_note(&d->running->zones, part->rows.begin, part->rows.end);
    }
    d->fed = false;
    if (is_fed(d)) move_fed(d);
}

static zf_status run(zf_query_device *d, zf_query_failure *failure, zf_error *error) {
    ZF_TRY(check_inputs(d->running, error));
    if (d->running->query->pairs != NULL)
        ZF_TRY(cut_pairs(d, failure, error));
    else
        choose_parts(d);
    if (failure->failed) return ZF_OK; // in a bound, unless a pair before it fails
    ZF_TRY(zf_query_code_lengths(d, error));
    ZF_TRY(place_inputs(d, error));
    ZF_TRY(copy_inputs(d, error));
    if (d->running->query->selected_count > 0) ZF_TRY(count_selected(d, error));
    note_selected(d);
    ZF_TRY(zf_query_results_begin(d, error));
    ZF_TRY(write_frames(d, error));
    ZF_TRY(launch_all(d, ZF_QUERY_KERNEL_GIVE, error));
    ZF_TRY(d->ops->wait(d->accelerator, d->stream, error));
    ZF_TRY(take_failures(d, failure, error));
    describe(d);
    return ZF_OK;
}

zf_status zf_query_device_run(zf_query_device *d, void *stream, zf_query_failure *failure, zf_error *error) {
    zf_error ignored;
    d->stream = stream;
    zf_status status = run(d, failure, error);
    if (status == ZF_OK) return ZF_OK;
    d->ops->wait(d->accelerator, stream, &ignored); // work that is enqueued reads the caller's inputs
    zf_query_code_drop(d);                          // which may be of some launches only
    return status;
}
