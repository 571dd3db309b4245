#include "tests/differential/diff_machine.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "runtime/base/bits.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "runtime/container/text_extent.h"
#include "runtime/decode/block_run.h"
#include "runtime/decode/decode_unit.h"
#include "runtime/device/device.h"
#include "tests/differential/diff_choose.h"
#include "tests/differential/diff_spread.h"
#include "tests/interp/interp_internal.h"
#include "tests/support/emulated.h"
#include "tests/support/kernel_block.h"

#ifdef ZF_SANITIZE
#include <sanitizer/common_interface_defs.h>
#endif

enum { HANG_SECONDS = 60, WAIT_SECONDS = 600 }; // of a processor, which others may use; of a device

// ---- Compilers ------------------------------------------------------------------------------------------------

const char *diff_level_name(unsigned form) { return form == 0 ? "-O0" : form == DIFF_GPU ? "GPU" : "-O3"; }

zf_compiler *diff_compiler(const diff_machine *m, unsigned form) {
    if (form == DIFF_GPU) return m->compilers[m->emulated ? 0 : DIFF_LEVELS - 1];
    return m->compilers[form];
}

zf_abi_target diff_target(const diff_machine *m, unsigned form) {
    return form == DIFF_GPU ? m->gpu->ops->target(m->gpu) : (zf_abi_target){.family = ZF_TARGET_HOST};
}

static zf_status open_gpu(diff_machine *m, zf_error *error) {
    const char *name = getenv("ZF_TEST_DEVICE");
    m->emulated = name == NULL || strncmp(name, "cuda", 4) != 0;
    if (m->emulated) {
        ZF_TRY(zf_emu_create(1, name != NULL && strcmp(name, "emu64") == 0 ? 64 : 32, &m->gpu, error));
        zf_emu_check_unwritten(m->gpu, true);
        return ZF_OK;
    }
    zf_device device;
    ZF_TRY(zf_device_find(m->contexts[0], name, &device, error));
    return zf_device_accelerator(m->contexts[0], &device, &m->gpu, error);
}

bool diff_machine_open(diff_machine *m, const char *std_dir, zf_text *message) {
    static const unsigned levels[DIFF_LEVELS] = {1, 4};
    const char *threads = getenv("ZF_TEST_CHUNK_THREADS");
    *m = (diff_machine){0};
    for (unsigned k = 0; k < DIFF_LEVELS; k++) {
        zf_error error = {0};
        zf_context_options context = {.cache_dir = "", .threads = 2};
        zf_compiler_options compiler = {ZF_INIT(zf_compiler_options), .compile_budget = INFINITY, // whatever machine it is
                                        .std_dir = std_dir != NULL ? std_dir : ZF_SOURCE_DIR "/dsl/std", .optimise = levels[k],
                                        .chunk_threads = threads != NULL ? (unsigned)strtoul(threads, NULL, 10) : 0};
        if (emulated_context_create(&context, &m->contexts[k], &error) == ZF_OK &&
            zf_compiler_create(m->contexts[k], &compiler, &m->compilers[k], &error) == ZF_OK)
            continue;
        zf_text_printf(message, "%s: %s", error.code, error.message);
        diff_machine_close(m);
        return false;
    }
    if (getenv("ZF_TEST_CHOICES") != NULL) m->choosing = diff_choosing_make(strtoull(getenv("ZF_TEST_CHOICES"), NULL, 10));
    const char *warps = getenv("ZF_TEST_CHUNK_WARPS");
    if (warps != NULL) m->warps = (uint32_t)strtoul(warps, NULL, 10);
    zf_error error = {0};
    if (open_gpu(m, &error) == ZF_OK) return true;
    zf_text_printf(message, "%s: %s", error.code, error.message);
    diff_machine_close(m);
    return false;
}

void diff_machine_close(diff_machine *m) {
    if (m->emulated) zf_emu_free(m->gpu);
    free(m->choosing);
    for (unsigned k = 0; k < DIFF_LEVELS; k++) {
        zf_compiler_free(m->compilers[k]);
        zf_context_free(m->contexts[k]);
    }
    *m = (diff_machine){0};
}

// ---- Dying ----------------------------------------------------------------------------------------------------

// A signal has no other way to know what was running.
static char current_case[512];
static sigjmp_buf escape;
static _Thread_local volatile sig_atomic_t guarded; // a worker's signal cannot be left on this stack

static void say_case(void) {
    static const char text[] = "\nthis was: ";
    if (write(2, text, sizeof text - 1) < 0 || write(2, current_case, strlen(current_case)) < 0 || write(2, "\n", 1) < 0) return;
}

static void on_signal(int number) {
    if (guarded) siglongjmp(escape, number);
    say_case();
    signal(number, SIG_DFL);
    raise(number);
}

void diff_set_case(const char *command) {
    static bool installed;
    snprintf(current_case, sizeof current_case, "%s", command);
    if (installed) return;
    installed = true;
#ifdef ZF_SANITIZE
    (void)on_signal; // the sanitizer's own report is better
    __sanitizer_set_death_callback(say_case);
#else
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGPROF, SIGABRT};
    for (size_t k = 0; k < sizeof signals / sizeof signals[0]; k++) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
        sigaction(signals[k], &action, NULL);
    }
#endif
}

// ---- Results --------------------------------------------------------------------------------------------------

void diff_result_free(diff_result *result) {
    free(result->bytes);
    free(result->validity);
    free(result->offsets);
    *result = (diff_result){0};
}

// Violations come as ZF13nn, headers that contradict themselves as ZF1209.
static void failed(diff_result *out, const zf_error *error) {
    unsigned code = (unsigned)strtoul(error->code + 2, NULL, 10);
    bool violated = error->status == ZF_ERR_INPUT && (code / 100 == 13 || code == 1209);
    const char *row = strstr(error->place, ", row ");
    out->kind = violated ? DIFF_VIOLATED : DIFF_FAULT;
    out->violation = code / 100 == 13 ? code % 100 : 0;
    out->at_row = row != NULL;
    if (row != NULL) out->row = strtoull(row + 6, NULL, 10);
    snprintf(out->text, sizeof out->text, "%s: %s (%s)", error->code, error->message, error->place);
}

static void fault(diff_result *out, const char *text) {
    out->kind = DIFF_FAULT;
    snprintf(out->text, sizeof out->text, "%s", text);
}

// ---- Laying out -----------------------------------------------------------------------------------------------

diff_records diff_records_make(const zf_decoder *decoder, const uint64_t *counts) {
    diff_records records = {.trees = decoder->abi.tree_count};
    records.values = calloc(records.trees + 1u, sizeof *records.values);
    records.entries = calloc(records.trees + 1u, sizeof *records.entries);
    for (uint32_t t = 0; t < records.trees; t++) {
        const zf_abi_tree *tree = &decoder->abi.trees[t];
        uint64_t count = counts[tree->edge];
        records.entries[t] = count == 0 || count > ZF_EDGE_ELEMENTS_MOST ? 0 : (count - 1) / tree->interval;
        records.values[t] = calloc(records.entries[t] * tree->field_count + 1, sizeof(uint64_t));
    }
    return records;
}

void diff_records_free(diff_records *records) {
    for (uint32_t t = 0; t < records->trees; t++) free(records->values[t]);
    free(records->values);
    free(records->entries);
    *records = (diff_records){0};
}

// The writer only takes counts that fit their streams; what a lying file says instead is put in afterwards.
static bool counts_lie(const zf_graph *graph, const interp_block *block, uint64_t *honest) {
    bool lie = false;
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        int32_t stored = graph->edges[e].stored;
        honest[e] = stored >= 0 ? block->streams[stored].elements : block->counts[e];
        lie = lie || honest[e] != block->counts[e];
    }
    return lie;
}

static uint64_t chunks_of(uint64_t count, uint32_t interval) { return count / interval + (count % interval != 0); }

static uint64_t chunks_given(const zf_shape_tree *tree, uint32_t field, const interp_block *block) {
    return block->directories != NULL ? block->directories[tree->fields[field].edge].count : 0;
}

// The starts of chunks, for the writer; false when they are such that a file cannot say so: then it is made to say something else
// that is as wrong.
static bool directory_of(const zf_shape_tree *tree, const interp_block *block, uint64_t chunks, uint32_t interval,
                         zf_seek_data *out) {
    uint64_t entries = chunks == 0 ? 0 : chunks - 1, *values = calloc(entries * tree->field_count + 1, sizeof *values);
    bool good = true;
    for (uint32_t f = 0; f < tree->field_count; f++) {
        uint64_t given = chunks_given(tree, f, block);
        const uint64_t *starts = given > 0 ? block->directories[tree->fields[f].edge].starts : NULL;
        good = good && given == chunks && (given == 0 || starts[0] == 0);
        for (uint64_t e = 0; e < entries && e + 1 < given; e++) values[f * entries + e] = starts[e + 1];
    }
    *out = (zf_seek_data){.interval = interval, .entries = entries, .values = values};
    return good;
}

uint64_t diff_param(const zf_decoder *decoder, const interp_block *block, uint32_t param) {
    zf_element type = decoder->shape.params[param].type;
    uint64_t value = block->params[param];
    return zf_element_holds(type, value) ? value : interp_value_mask((zf_kind)type, value);
}

bool diff_lay_out(const zf_decoder *decoder, const interp_block *block, const diff_records *records, diff_laid *out,
                  diff_result *result) {
    const zf_graph *graph = decoder->graph;
    const zf_shape *shape = &decoder->shape;
    *out = (diff_laid){0};
    *result = (diff_result){0};
    uint64_t *honest = calloc(graph->edge_count + 1u, sizeof *honest), *params = calloc(graph->param_count + 1u, sizeof *params);
    zf_stream_data *streams = calloc(graph->stored_count + 1u, sizeof *streams);
    zf_seek_data *seeks = calloc(shape->tree_count + 1u, sizeof *seeks);
    bool lie = counts_lie(graph, block, honest), *wrong = calloc(shape->tree_count + 1u, sizeof *wrong);
    for (uint32_t s = 0; s < graph->stored_count; s++)
        streams[s] = (zf_stream_data){block->streams[s].bytes, block->streams[s].size, block->streams[s].elements};
    for (uint32_t p = 0; p < graph->param_count; p++) params[p] = diff_param(decoder, block, p);
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        seeks[t].interval = decoder->abi.trees[t].interval;
        if (shape->trees[t].directory) {
            const zf_shape_tree *tree = &shape->trees[t];
            uint32_t chunk = seeks[t].interval;
            uint64_t chunks = chunks_given(tree, 0, block);
            wrong[t] = chunks != chunks_of(honest[tree->edge], chunk);
            if (wrong[t]) { // as many elements as the directory has chunks for, and the others afterwards
                honest[tree->edge] = chunks == 0 ? 0 : (chunks - 1) * chunk + 1;
                lie = true;
            }
            wrong[t] = !directory_of(tree, block, chunks, chunk, &seeks[t]) || wrong[t];
            continue;
        }
        if (records == NULL || honest[shape->trees[t].edge] != block->counts[shape->trees[t].edge]) continue;
        seeks[t].entries = records->entries[t];
        seeks[t].values = records->values[t];
    }
    uint64_t rows = honest[0], plain = 0;
    zf_elements_bytes(rows, zf_element_bits(shape->edges[0].type), &plain);
    if (shape->edges[0].type == ZF_STRING) plain = block->characters;
    if (shape->edges[0].nullable) plain += (rows + 7) / 8;
    zf_block_data data = {
        .rows = rows, .plain_bytes = plain, .params = params, .counts = honest, .streams = streams, .seeks = seeks};
    zf_error error = {0};
    void *bytes = NULL;
    bool good = zf_block_layout(shape, &data, &bytes, &out->size, &error) == ZF_OK;
    if (good && lie) {
        uint8_t *counts = (uint8_t *)bytes + ZF_BLOCK_FIXED_BYTES + UINT64_C(8) * shape->param_count;
        for (uint32_t e = 0; e < graph->edge_count; e++) zf_store64(counts + 8 * (size_t)e, block->counts[e]);
    }
    uint64_t trees = ZF_BLOCK_FIXED_BYTES + UINT64_C(8) * (shape->param_count + shape->edge_count) +
                     (uint64_t)ZF_BLOCK_STREAM_BYTES * shape->stored_count;
    for (uint32_t t = 0; good && t < shape->tree_count; t++)
        if (wrong[t]) zf_store64((uint8_t *)bytes + trees + ZF_BLOCK_TREE_BYTES * (uint64_t)t + 8, seeks[t].entries + 1);
    out->bytes = bytes;
    if (!good) failed(result, &error);
    for (uint32_t t = 0; t < shape->tree_count; t++)
        if (shape->trees[t].directory) free((void *)(uintptr_t)seeks[t].values);
    free(wrong);
    free(honest);
    free(params);
    free(streams);
    free(seeks);
    return good;
}

// ---- Running --------------------------------------------------------------------------------------------------

static bool untouched(const kb_memory *m) {
    const uint8_t *at = m->map, *end = m->data;
    while (at < end && *at == 0xa5) at++;
    return at == end;
}

// A running decode: a block on the host, or units on the GPU.
typedef struct running {
    zf_block_run *run;
    zf_units *units;
    zf_accelerator *gpu;
    zf_units_memory memory;
    uint64_t *words;
    bool search; // diff_call.search
} running;

static zf_status run_units(const running *r, zf_error *error) {
    ZF_TRY(zf_units_enqueue(r->units, NULL, &r->memory, r->words, error));
    ZF_TRY(r->gpu->ops->wait(r->gpu, NULL, error));
    return zf_units_status(r->units, r->words, error);
}

// A launch that leaves out that its blocks have equally many tiles: one block always has, and would never be searched for.
static const zf_accelerator_ops *gpu_ops;

static zf_status launch_search(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                               const zf_simt_args *args, zf_error *error) {
    zf_simt_args search = *args;
    search.even = 0;
    return gpu_ops->launch(self, stream, code, kernel, groups, &search, error);
}

// SIGPROF comes after so many seconds of a processor, SIGALRM after so many of a clock; 0: neither does.
static void watch(unsigned processor, unsigned clock) {
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = processor}, NULL);
    alarm(clock);
}

// The run itself, from which a signal leaves.
static bool run_guarded(const running *r, zf_status *status, zf_error *error, diff_result *out) {
    int number = 0;
    zf_accelerator_ops search;
    if (r->search) {
        gpu_ops = r->gpu->ops;
        search = *gpu_ops;
        search.launch = launch_search;
        r->gpu->ops = &search;
    }
#ifndef ZF_SANITIZE
    number = sigsetjmp(escape, 1);
#endif
    if (number == 0) {
        guarded = 1;
        watch(HANG_SECONDS, WAIT_SECONDS);
        *status = r->run != NULL ? zf_block_run_cpu(r->run, error) : run_units(r, error);
    }
    watch(0, 0);
    guarded = 0;
    if (r->search) r->gpu->ops = gpu_ops;
    if (number == 0) return true;
    fault(out, number == SIGALRM || number == SIGPROF ? "generated code does not end"
               : number == SIGFPE                     ? "generated code divides by zero (signal)"
               : number == SIGILL                     ? "generated code reaches what cannot be (signal)"
                                                      : "generated code leaves its memory (signal)");
    return false;
}

// The bytes of strings, and their offsets.
typedef struct text {
    kb_memory bytes, offsets;
    uint64_t from, to; // of the block's bytes
} text;

static bool make_text(const diff_call *call, const zf_block_view *view, uint64_t end, text *out, zf_error *error) {
    const zf_abi_plan *plan = &call->decoder->abi;
    if (call->record != NULL) {
        *out = (text){.to = zf_slot_value(&(zf_abi_slot){.kind = ZF_SLOT_CHARACTERS}, view)};
    } else {
        zf_failure block = {.plan = plan, .where = "block"};
        *out = (text){.from = 0};
        if (zf_seeks_fit(plan, view, true, "block", error) != ZF_OK ||
            zf_text_state(&block, view, call->begin, false, &out->from, error) != ZF_OK ||
            zf_text_state(&block, view, end, true, &out->to, error) != ZF_OK)
            return false;
        if (out->from > out->to) out->to = out->from; // as a range of rows is refused before its kernels run
    }
    out->bytes = kb_guarded(out->to - out->from, 1);
    out->offsets = kb_guarded((end - call->begin + 1) * 8, 8);
    memset(out->offsets.data, 0, 8);
    return true;
}

static void take_text(const text *t, uint64_t rows, diff_result *out) {
    int64_t *offsets = (int64_t *)(void *)t->offsets.data, before = offsets[0];
    out->size = (uint64_t)(offsets[rows] - before);
    out->bytes = malloc(out->size + 1);
    out->offsets = malloc((rows + 1) * sizeof *offsets);
    memcpy(out->bytes, t->bytes.data + before, out->size);
    for (uint64_t r = 0; r <= rows; r++) out->offsets[r] = offsets[r] - before;
}

// The rows of a block on the host, its buffers at the ends of readable memory.
static void run_host(const diff_call *call, const zf_block_view *view, uint64_t end, diff_result *out) {
    const zf_decoder *decoder = call->decoder;
    zf_error error = {0};
    uint64_t work_bytes = 0, size = 0;
    unsigned bits = zf_element_bits(decoder->shape.edges[0].type);
    if (zf_block_work_bytes(&decoder->abi, view, &work_bytes, &error) != ZF_OK) {
        failed(out, &error);
        return;
    }
    zf_elements_bytes(end - call->begin, bits, &size);
    kb_memory work = kb_guarded(work_bytes, 64), to = kb_guarded(size, bits < 8 ? 1 : bits / 8);
    bool nullable = decoder->shape.edges[0].nullable;
    unsigned lead = nullable && call->threads > 1 ? (unsigned)(call->begin % 8) : 0; // as a decode of several blocks has it
    uint64_t validity_size = nullable ? (end - call->begin + lead + 7) / 8 : 0;
    kb_memory validity = kb_guarded(validity_size, 1);
    bool is_text = decoder->shape.edges[0].type == ZF_STRING;
    text t = {.from = 0};
    if (is_text && !make_text(call, view, end, &t, &error)) {
        failed(out, &error);
        kb_release(&work);
        kb_release(&to);
        kb_release(&validity);
        return;
    }
    zf_block_run run = {.plan = &decoder->abi,
                        .code = call->code,
                        .view = view,
                        .element = decoder->shape.edges[0].type,
                        .nullable = nullable,
                        .out = is_text ? (uint8_t *)((uintptr_t)t.bytes.data - t.from) : to.data,
                        .offsets = is_text ? (int64_t *)(void *)t.offsets.data : NULL,
                        .offset_base = 0 - t.from,
                        .byte_begin = t.from,
                        .byte_end = t.to,
                        .validity = nullable ? validity.data : NULL,
                        .validity_bit = lead,
                        .begin = call->begin,
                        .end = end,
                        .work = work.data,
                        .where = "block",
                        .threads = call->threads,
                        .mode = call->record == NULL ? ZF_ABI_DECODE
                                : call->states_alone ? ZF_ABI_STATES
                                                     : ZF_ABI_RECORD,
                        .records = call->record != NULL ? call->record->values : NULL};
    zf_status status = ZF_OK;
    if (run_guarded(&(running){.run = &run}, &status, &error, out)) {
        if (status != ZF_OK)
            failed(out, &error);
        else
            out->kind = DIFF_BYTES;
        if (!untouched(&work) || !untouched(&to) || !untouched(&validity) ||
            (is_text && (!untouched(&t.bytes) || !untouched(&t.offsets))))
            fault(out, "generated code wrote before its buffer");
    }
    if (out->kind == DIFF_BYTES) {
        if (is_text) {
            take_text(&t, end - call->begin, out);
        } else {
            out->bytes = malloc(size + 1);
            out->size = size;
            memcpy(out->bytes, to.data, size);
        }
        uint64_t rows = end - call->begin, spare = (lead + rows) % 8;
        if (nullable) {
            out->validity = calloc(1, validity_size + 1);
            zf_copy_bits(out->validity, 0, validity.data, lead, rows);
            if (spare != 0 && !call->states_alone && validity.data[(lead + rows) / 8] >> spare != 0)
                fault(out, "spare bits of the validity are set");
        }
    }
    kb_release(&work);
    kb_release(&to);
    kb_release(&validity);
    if (is_text) {
        kb_release(&t.bytes);
        kb_release(&t.offsets);
    }
}

// Bits behind the last of a whole block are the kernel's, and must be 0.
static zf_status check_spare_bits(const running *r, uint64_t bitmap, uint64_t rows, const char *what, diff_result *out,
                                  zf_error *error) {
    uint8_t last = 0;
    if (rows % 8 == 0) return ZF_OK;
    ZF_TRY(r->gpu->ops->copy_out(r->gpu, NULL, &last, bitmap + rows / 8, 1, error));
    ZF_TRY(r->gpu->ops->wait(r->gpu, NULL, error));
    if (last >> rows % 8 != 0) fault(out, what);
    return ZF_OK;
}

// The output of the GPU: the emulator checks that it stayed in its memory.
static zf_status take_rows(const running *r, const zf_block_view *view, uint64_t rows, diff_result *out, zf_error *error) {
    zf_units_sizes sizes = zf_units_sizes_of(r->units);
    const zf_shape_edge *column = &view->shape->edges[0];
    bool is_text = column->type == ZF_STRING;
    zf_decode_buffers to = {.values = calloc(1, sizes.values + 1)};
    if (is_text) to.offsets = out->offsets = calloc(1, sizes.offsets + 8);
    if (column->nullable) to.validity = out->validity = calloc(1, sizes.validity + 1);
    out->bytes = to.values;
    zf_status status = rows > 0 ? zf_units_fetch(r->units, NULL, &r->memory, &to, error) : ZF_OK;
    if (status == ZF_OK) out->kind = DIFF_BYTES;
    if (status == ZF_OK && rows == view->rows && column->type == ZF_BOOL)
        status = check_spare_bits(r, r->memory.values, rows, "spare bits are set", out, error);
    if (status == ZF_OK && rows == view->rows && column->nullable)
        status = check_spare_bits(r, r->memory.validity, rows, "spare bits of the validity are set", out, error);
    if (is_text)
        out->size = (uint64_t)out->offsets[rows];
    else
        zf_elements_bytes(rows, zf_element_bits(column->type), &out->size);
    return status;
}

static void run_on_gpu(const diff_call *call, const zf_block_view *view, uint64_t end, diff_result *out) {
    zf_error error = {0};
    running r = {.gpu = call->machine->gpu, .search = call->search};
    unsigned bits = zf_element_bits(call->decoder->shape.edges[0].type);
    if (call->machine->emulated) zf_emu_set_seed(r.gpu, call->order);
    zf_status status = zf_units_make_block(view, &call->decoder->abi, call->code, call->begin, end, r.gpu, &r.units, &error);
    if (status == ZF_OK) {
        zf_units_sizes sizes = zf_units_sizes_of(r.units);
        r.words = calloc(zf_units_words(r.units) + 1u, sizeof *r.words);
        bool is_text = call->decoder->shape.edges[0].type == ZF_STRING;
        uint64_t behind = !call->unaligned ? 0 : is_text ? 3 : bits >= 8 ? bits / 8 : 0, values;
        status = zf_units_allocate(r.units, &r.memory, &error);
        if (status == ZF_OK && behind > 0) {
            r.gpu->ops->release(r.gpu, r.memory.values);
            r.memory.values = 0;
            status = r.gpu->ops->allocate(r.gpu, sizes.values + behind, &r.memory.values, &error);
        }
        values = r.memory.values;
        r.memory.values += behind;
        if (status == ZF_OK && !run_guarded(&r, &status, &error, out)) return; // its memory is lost
        if (status == ZF_OK) status = take_rows(&r, view, end - call->begin, out, &error);
        r.memory.values = values;
        zf_units_release(r.gpu, &r.memory);
        free(r.words);
        zf_units_free(r.units);
    }
    if (status != ZF_OK) failed(out, &error);
}

static void run_view(const diff_call *call, const zf_block_view *view, diff_result *out) {
    uint64_t end = call->end == UINT64_MAX ? view->rows : call->end;
    if (call->decoder->abi.target.family != ZF_TARGET_HOST)
        run_on_gpu(call, view, end, out);
    else
        run_host(call, view, end, out);
}

void diff_run(const diff_call *call, diff_result *out) {
    *out = (diff_result){0};
    kb_memory block = kb_guarded(call->laid->size, ZF_FORMAT_ALIGNMENT);
    memcpy(block.data, call->laid->bytes, call->laid->size);
    zf_block_view view;
    zf_error error = {0};
    if (zf_block_check(&call->decoder->shape, block.data, call->laid->size, false, "block", &view, &error) != ZF_OK) {
        failed(out, &error);
    } else {
        diff_spread spread;
        bool host = call->decoder->abi.target.family == ZF_TARGET_HOST, emulated = !host && call->machine->emulated;
        // Bytes whose highest bit is set go on with a number of seven bits a byte, others end it.
        diff_spread_make(&view, host, call->order % 2 == 0 ? 0xa5 : 0x5a, &spread);
        if (emulated) zf_emu_set_holes(call->machine->gpu, spread.holes, spread.hole_count);
        run_view(call, &view, out);
        if (emulated) zf_emu_set_holes(call->machine->gpu, NULL, 0);
        diff_spread_free(&spread);
        zf_block_view_free(&view);
    }
    kb_release(&block);
}
