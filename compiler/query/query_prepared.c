// Queries that are prepared once and run many times.
#include "compiler/query/query_prepared.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/compile_sized.h"
#include "compiler/compiler.h"
#include "compiler/container_spec.h"
#include "compiler/program.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container.h"

typedef unsigned long long ull;

// ---- Preparation ----------------------------------------------------------------------------------------------

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a query"); }

static zf_status choose_rows(zf_query_running *r, uint64_t rows, zf_error *error) {
    const zf_query_request *request = r->request;
    r->end = rows;
    if (!request->some_rows) return ZF_OK;
    uint64_t missing = request->row_begin > rows ? request->row_begin : rows;
    if (request->row_begin > rows || (request->row_count != UINT64_MAX && request->row_count > rows - request->row_begin))
        return zf_raise(error, ZF_E_ROW_RANGE, "row %llu is asked for, and the table has %llu", (ull)missing, (ull)rows);
    r->first = request->row_begin;
    if (request->row_count != UINT64_MAX) r->end = r->first + request->row_count;
    return ZF_OK;
}

// The accelerator of that name; NULL: it is the CPU's.
static zf_status find_accelerator(zf_program *program, const char *name, zf_accelerator **out, zf_error *error) {
    zf_context *context = zf_compiler_context(program->compiler);
    zf_device device;
    *out = NULL;
    if (name == NULL) return ZF_OK;
    ZF_TRY(zf_device_find(context, name, &device, error));
    return device.ops->start == NULL ? ZF_OK : zf_device_accelerator(context, &device, out, error);
}

static zf_status prepare(zf_prepared_query *p, const char *device, zf_error *error) {
    zf_query_running *r = &p->running;
    const zf_query *query = r->query;
    uint64_t rows = 0;
    r->columns = calloc(query->column_count + 1, sizeof *r->columns);
    r->streams = calloc((size_t)query->inst->stream_count + 1, sizeof *r->streams);
    r->addresses = calloc(query->input_count + 1, sizeof *r->addresses);
    r->params = calloc(query->inst->param_count + 1, sizeof *r->params);
    if (r->columns == NULL || r->streams == NULL || r->addresses == NULL || r->params == NULL) return no_memory(error);
    ZF_TRY(find_accelerator(r->program, device, &p->accelerator, error));
    if (query->pairs == NULL) {
        ZF_TRY(zf_query_find_columns(r, &rows, error));
        ZF_TRY(choose_rows(r, rows, error));
        zf_query_choose_batch(r);
    }
    return p->accelerator == NULL ? zf_query_make_function(r, error) : ZF_OK;
}

static zf_status check_container(const zf_query *query, const zf_container *container, bool some_rows, zf_error *error) {
    if (query->pairs != NULL && (container != NULL || some_rows))
        return zf_raise(error, ZF_E_ARGUMENT, "`%s` is a query of pairs, which reads no container and no rows", query->name);
    if (query->pairs != NULL || container != NULL) return ZF_OK;
    return zf_raise(error, ZF_E_ARGUMENT, "`%s` reads rows of the table `%s`: give it a container", query->name,
                    query->table->name);
}

static zf_status find_query(const zf_program *program, const char *name, const zf_query **out, zf_error *error) {
    *out = program->checked ? zf_spec_find_query(program->spec, name) : NULL;
    if (*out != NULL) return ZF_OK;
    if (name == NULL) return zf_raise(error, ZF_E_ARGUMENT, "name a query: the program has none, or several");
    return zf_raise(error, ZF_E_ARGUMENT, "the program has no query `%s`", name);
}

zf_status zf_query_prepare_request(zf_program *program, const char *name, zf_container *container,
                                   const zf_query_request *request, zf_prepared_query **out, zf_error *error) {
    const zf_query *query;
    *out = NULL;
    ZF_TRY(find_query(program, name, &query, error));
    ZF_TRY(check_container(query, container, request->some_rows, error));
    zf_prepared_query *p = calloc(1, sizeof *p);
    if (p == NULL) return no_memory(error);
    p->request = (zf_query_request){.some_rows = request->some_rows,
                                    .row_begin = request->row_begin,
                                    .row_count = request->row_count,
                                    .threads = request->threads,
                                    .decode_first = request->decode_first,
                                    .from_host = request->from_host,
                                    .unit_bytes = request->unit_bytes,
                                    .thread_blocks = request->thread_blocks,
                                    .warps = request->warps,
                                    .pairs_at_once = request->pairs_at_once,
                                    .no_skip = request->no_skip};
    p->running = (zf_query_running){.program = program, .query = query, .container = container, .request = &p->request};
    zf_status status = prepare(p, request->device, error);
    if (status == ZF_OK)
        *out = p;
    else
        zf_query_free(p);
    return status;
}

zf_status zf_query_prepare(zf_program *program, const char *query, zf_container *container, const zf_query_options *options,
                           zf_prepared_query **out, zf_error *error) {
    zf_query_options own;
    if (out != NULL) *out = NULL;
    if (program == NULL || out == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_query_prepare needs a program and a place for the query");
    ZF_TRY(ZF_TAKE(zf_query_options, &own, options, error));
    zf_query_request request = {.device = own.device,
                                .some_rows = own.some_rows,
                                .row_begin = own.row_begin,
                                .row_count = own.row_count,
                                .threads = own.threads,
                                .decode_first = own.decode_first,
                                .from_host = own.from_host,
                                .unit_bytes = own.unit_bytes,
                                .no_skip = own.no_skip};
    zf_prepared_query *p;
    ZF_TRY(zf_query_prepare_request(program, query, container, &request, &p, error));
    zf_status status =
        p->accelerator != NULL ? zf_query_device_open(&p->running, p->accelerator, false, &p->device, error) : ZF_OK;
    if (status == ZF_OK)
        *out = p;
    else
        zf_query_free(p);
    return status;
}

void zf_query_free(zf_prepared_query *p) {
    if (p == NULL) return;
    zf_query_running *r = &p->running;
    zf_query_device_close(p->device);
    if (r->code != NULL) zf_jit_unload(zf_compiler_jit(r->program->compiler), r->code);
    zf_query_hold_free(&r->holding);
    zf_query_answers_free(&p->answers);
    zf_query_free_batches(r);
    free(r->columns);
    free(r->streams);
    free(r->addresses);
    free(r->params);
    free(p);
}

// ---- Members --------------------------------------------------------------------------------------------------

const char *zf_program_query_table(const zf_program *program, const char *query) {
    const zf_query *found = program != NULL && program->checked ? zf_spec_find_query(program->spec, query) : NULL;
    if (found == NULL) return NULL;
    return found->table != NULL ? found->table->name : "";
}

size_t zf_query_members(const zf_prepared_query *query, zf_query_role role) {
    if (query == NULL) return 0;
    const zf_query *q = query->running.query;
    return role == ZF_QUERY_PARAM ? q->inst->param_count : role == ZF_QUERY_INPUT ? q->input_count : q->result_count;
}

_Static_assert((int)ZF_QUERY_SUM == ZF_Q_SUM && (int)ZF_QUERY_SET == ZF_Q_SET && (int)ZF_QUERY_SELECT == ZF_Q_SELECT,
               "the public kinds are those of the language");

static zf_query_member result_member(const zf_query_result *result) {
    bool rows = result->kind == ZF_Q_MASK || result->kind == ZF_Q_SELECT;
    return (zf_query_member){.name = result->name,
                             .type = zf_column_type_of(result->type),
                             .kind = (zf_query_kind)result->kind,
                             .dimensions = rows ? 1 : result->dimensions};
}

static zf_query_member port_member(const zf_port *port) {
    zf_query_member member = {.name = port->name, .type = zf_column_type_of(port->type), .has_default = port->given != NULL};
    if (port->given != NULL) member.bits = port->given->bits;
    if (port->given != NULL && zf_kind_is_signed(port->type.kind))
        member.bits = (uint64_t)zf_value_of_bits(port->type.kind, port->given->bits);
    return member;
}

zf_status zf_query_describe(const zf_prepared_query *query, zf_query_role role, size_t index, zf_query_member *out,
                            zf_error *error) {
    if (query == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_query_describe needs a query and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_query_member, out, error));
    const zf_query *q = query->running.query;
    size_t count = zf_query_members(query, role);
    if (index >= count)
        return zf_raise(error, ZF_E_ARGUMENT, "`%s` has %zu such members, and no number %zu", q->name, count, index);
    zf_query_member member = role == ZF_QUERY_RESULT  ? result_member(&q->results[index])
                             : role == ZF_QUERY_PARAM ? port_member(q->inst->params[index])
                                                      : port_member(q->inst->streams[index]);
    ZF_GIVE(zf_query_member, out, &member);
    return ZF_OK;
}

// ---- Runs -----------------------------------------------------------------------------------------------------

static zf_status hold(zf_prepared_query *p, zf_error *error) {
    zf_query_running *r = &p->running;
    return zf_query_hold(r->query, r->params, r->end - r->first, &p->answers, &r->holding, error);
}

static void drop_results(zf_prepared_query *p) {
    zf_query_hold_free(&p->running.holding);
    zf_query_answers_free(&p->answers);
    p->ran = false;
}

// Runs the rows again of which one failed on a device, from the batch of that row on, for the error that a CPU gives. Pairs: from
// the first number `row` on.
static zf_status run_from(zf_prepared_query *p, uint64_t row, zf_error *error) {
    zf_query_running *r = &p->running;
    uint64_t first = r->first, batch = r->query->pairs != NULL ? 0 : row / r->batch * r->batch;
    if (batch > first) r->first = batch;
    if (r->query->pairs != NULL) r->first_pairs = row;
    drop_results(p);
    r->all_rows = true; // the device has run rows that zones may leave out
    zf_status status = hold(p, error);
    if (status == ZF_OK) status = zf_query_run_cpu(r, error);
    r->all_rows = false;
    r->first = first;
    r->first_pairs = 0;
    return status;
}

// Copies the inputs in the device's memory to the host.
static zf_status fetch_inputs(zf_prepared_query *p, void **copies, void *stream, zf_error *error) {
    zf_query_running *r = &p->running;
    const zf_accelerator_ops *ops = p->accelerator->ops;
    for (uint32_t k = 0; k < r->query->input_count; k++) {
        size_t bytes = zf_query_input_bytes(r, k);
        if (r->addresses[k] == 0) continue;
        copies[k] = malloc(bytes + 1);
        if (copies[k] == NULL) return no_memory(error);
        if (bytes > 0) ZF_TRY(ops->copy_out(p->accelerator, stream, copies[k], r->addresses[k], bytes, error));
        ZF_TRY(ops->wait(p->accelerator, stream, error));
        r->streams[k].values = copies[k];
    }
    return ZF_OK;
}

static zf_status explain_failure(zf_prepared_query *p, uint64_t row, void *stream, zf_error *error) {
    const zf_query *query = p->running.query;
    void **copies = calloc(query->input_count + 1, sizeof *copies);
    if (copies == NULL) return no_memory(error);
    zf_status status = fetch_inputs(p, copies, stream, error);
    if (status == ZF_OK) status = run_from(p, row, error);
    for (uint32_t k = 0; k < query->input_count; k++) free(copies[k]);
    free(copies);
    if (status != ZF_OK) return status;
    return zf_raise(error, ZF_E_INTERNAL, "a device reported a failure of `%s` that a CPU does not find", query->name);
}

static zf_status check_places(const zf_prepared_query *p, zf_error *error) {
    const zf_query *query = p->running.query;
    for (uint32_t k = 0; k < query->input_count && p->accelerator == NULL; k++)
        if (p->running.addresses[k] != 0)
            return zf_raise(error, ZF_E_ARGUMENT, "the input `%s` is in a device's memory, and the query runs on a CPU",
                            query->inst->streams[k]->name);
    return ZF_OK;
}

// Brings columns to the device, of these rows alone.
static zf_status open_device(zf_prepared_query *p, uint64_t begin, uint64_t end, zf_error *error) {
    zf_query_running *r = &p->running;
    uint64_t first = r->first, last = r->end;
    r->first = begin;
    r->end = end;
    zf_status status = zf_query_device_open(r, p->accelerator, true, &p->device, error);
    r->first = first;
    r->end = last;
    return status;
}

// Runs the rows on an accelerator, unless none of them may matter.
static zf_status run_on_device(zf_prepared_query *p, void *stream, zf_query_failure *failure, zf_error *error) {
    zf_query_running *r = &p->running;
    uint64_t begin = r->first, end = r->end;
    p->nothing_read = false;
    if (r->query->pairs != NULL) {
        if (p->device == NULL) ZF_TRY(open_device(p, begin, end, error));
        return zf_query_device_run(p->device, stream, failure, error);
    }
    ZF_TRY(zf_query_begin_zones(r, error));
    if (p->device != NULL)
        p->nothing_read = !zf_query_zones_any(&r->zones, begin, end); // its parts are narrowed by themselves
    else
        p->nothing_read = !zf_query_zones_narrow(&r->zones, &begin, &end);
    if (!p->nothing_read && p->device == NULL) ZF_TRY(open_device(p, begin, end, error));
    zf_status status =
        p->nothing_read ? zf_query_hold_finish(&r->holding, error) : zf_query_device_run(p->device, stream, failure, error);
    zf_query_count_skipped(r);
    return status;
}

static zf_status run_held(zf_prepared_query *p, void *stream, zf_error *error) {
    zf_query_failure failure = {0};
    if (p->accelerator == NULL) {
        ZF_TRY(zf_query_run_cpu(&p->running, error));
        return zf_query_hold_finish(&p->running.holding, error);
    }
    ZF_TRY(run_on_device(p, stream, &failure, error));
    return failure.failed ? explain_failure(p, failure.row, stream, error) : ZF_OK;
}

zf_status zf_query_run(zf_prepared_query *p, const zf_query_param *params, size_t param_count, const zf_query_array *arrays,
                       size_t array_count, void *stream, zf_error *error) {
    if (p == NULL || (params == NULL && param_count > 0) || (arrays == NULL && array_count > 0))
        return zf_raise(error, ZF_E_ARGUMENT, "zf_query_run needs a query, and the params and inputs that it counts");
    zf_query_running *r = &p->running;
    drop_results(p);
    ZF_TRY(zf_query_params(r->query, params, param_count, r->params, error));
    ZF_TRY(zf_query_inputs(r->query, arrays, array_count, r->streams, r->addresses, error));
    ZF_TRY(check_places(p, error));
    zf_status status = hold(p, error);
    uint64_t fetched = zf_container_fetched(r->container);
    if (status == ZF_OK) status = run_held(p, stream, error);
    p->answers.bytes_read = zf_container_fetched(r->container) - fetched;
    p->ran = status == ZF_OK;
    if (!p->ran) drop_results(p);
    if (p->accelerator == NULL) zf_query_hold_free(&r->holding);
    return status;
}

zf_status zf_query_finish(zf_prepared_query *p, size_t result, zf_error *error) {
    return p->answers.items[result].final ? ZF_OK : zf_query_device_fetch(p->device, result, error);
}

// ---- One run --------------------------------------------------------------------------------------------------

static zf_status run_and_answer(zf_prepared_query *p, const zf_query_request *request, zf_query_answers *out, zf_error *error) {
    ZF_TRY(zf_query_run(p, request->params, request->param_count, request->arrays, request->array_count, NULL, error));
    if (p->device != NULL && !p->nothing_read && request->repeat > 0)
        ZF_TRY(zf_query_device_time(p->device, request->repeat, error));
    for (size_t k = 0; k < p->answers.count; k++) ZF_TRY(zf_query_finish(p, k, error));
    *out = p->answers;
    p->answers = (zf_query_answers){0};
    return ZF_OK;
}

zf_status zf_query_run_once(zf_program *program, const char *name, zf_container *container, const zf_query_request *request,
                            zf_query_answers *out, zf_error *error) {
    zf_prepared_query *p = NULL;
    *out = (zf_query_answers){0};
    ZF_TRY(zf_query_prepare_request(program, name, container, request, &p, error));
    zf_status status = run_and_answer(p, request, out, error);
    zf_query_free(p);
    return status;
}
