// Results of a prepared query in memory of the caller: elements of their own types.
#include <stdlib.h>
#include <string.h>

#include "compiler/compile_sized.h"
#include "compiler/query/query_prepared.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/element.h"

// ---- Sizes ----------------------------------------------------------------------------------------------------

static zf_status check_result(const zf_prepared_query *query, size_t result, zf_error *error) {
    const char *name = query->running.query->name;
    if (!query->ran) return zf_raise(error, ZF_E_ARGUMENT, "`%s` has no results: its last run failed, or there was none", name);
    if (result < query->answers.count) return ZF_OK;
    return zf_raise(error, ZF_E_ARGUMENT, "`%s` has %zu results, and no number %zu", name, query->answers.count, result);
}

static zf_query_sizes sizes_of(const zf_query_answer *answer) {
    bool rows = answer->kind == ZF_Q_MASK || answer->kind == ZF_Q_SELECT;
    bool extreme = answer->kind == ZF_Q_MIN || answer->kind == ZF_Q_MAX;
    zf_query_sizes sizes = {.dimensions = rows ? 1 : answer->dimensions, .count = answer->count};
    uint64_t bits = (answer->count + 7) / 8, bytes = answer->count * (zf_element_bits(answer->type.element) / 8);
    memcpy(sizes.lengths, answer->lengths, sizeof sizes.lengths);
    if (rows) sizes.lengths[0] = answer->count;
    sizes.values = answer->type.element == ZF_BOOL ? bits : bytes;
    sizes.validity = extreme ? bits : 0;
    return sizes;
}

zf_status zf_query_result_size(const zf_prepared_query *query, size_t result, zf_query_sizes *out, zf_error *error) {
    if (query == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_query_result_size needs a query and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_query_sizes, out, error));
    ZF_TRY(check_result(query, result, error));
    zf_query_sizes sizes = sizes_of(&query->answers.items[result]);
    ZF_GIVE(zf_query_sizes, out, &sizes);
    return ZF_OK;
}

// ---- Elements -------------------------------------------------------------------------------------------------

static void narrow_floats(const uint64_t *words, uint64_t count, float *to) {
    for (uint64_t k = 0; k < count; k++) {
        double wide;
        memcpy(&wide, &words[k], sizeof wide);
        to[k] = (float)wide;
    }
}

#define NARROW(type)                                                                                                             \
    for (uint64_t k = 0; k < count; k++) ((type *)to)[k] = (type)words[k]

static void narrow(const uint64_t *words, uint64_t count, unsigned bits, void *to) {
    if (bits == 8)
        NARROW(uint8_t);
    else if (bits == 16)
        NARROW(uint16_t);
    else if (bits == 32)
        NARROW(uint32_t);
    else
        memcpy(to, words, count * sizeof *words);
}

static void put_bits(const zf_query_answer *answer, bool touched, uint8_t *to) {
    memset(to, 0, (answer->count + 7) / 8);
    for (uint64_t k = 0; k < answer->count; k++)
        to[k / 8] |= (uint8_t)((touched ? answer->touched[k] != 0 : answer->words[k] != 0) << k % 8);
}

static void put_elements(const zf_query_answer *answer, void *to) {
    if (answer->type.element == ZF_BOOL)
        put_bits(answer, false, to);
    else if (answer->type.element == ZF_F32)
        narrow_floats(answer->words, answer->count, to);
    else
        narrow(answer->words, answer->count, zf_element_bits(answer->type.element), to);
}

// ---- Copies ---------------------------------------------------------------------------------------------------

// One of the two buffers of a result.
typedef struct target {
    void *at; // NULL: at the address
    uint64_t address, room, bytes, alignment;
} target;

static zf_status check_target(const zf_prepared_query *query, const target *to, const char *name, zf_error *error) {
    if (to->at == NULL && to->address == 0 && to->bytes > 0)
        return zf_raise(error, ZF_E_BUFFER, "there is no memory for the result `%s`", name);
    if (to->room < to->bytes)
        return zf_raise(error, ZF_E_BUFFER_SIZE, "the memory for the result `%s` has %llu bytes, and needs %llu", name,
                        (unsigned long long)to->room, (unsigned long long)to->bytes);
    if (((uintptr_t)to->at | (to->at == NULL ? to->address : 0)) % to->alignment != 0)
        return zf_raise(error, ZF_E_BUFFER, "the memory for the result `%s` is not aligned to the %llu bytes of an element", name,
                        (unsigned long long)to->alignment);
    if (to->at == NULL && to->address != 0 && query->accelerator == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "the result `%s` cannot go to a device's memory: the query runs on a CPU", name);
    return ZF_OK;
}

static zf_status copy_there(const zf_prepared_query *query, const void *from, const target *to, void *stream, zf_error *error) {
    zf_accelerator *accelerator = query->accelerator;
    ZF_TRY(accelerator->ops->copy_in(accelerator, stream, to->address, from, to->bytes, error));
    return accelerator->ops->wait(accelerator, stream, error);
}

// Copies from the host's form of a result.
static zf_status put(const zf_prepared_query *query, const zf_query_answer *answer, bool validity, const target *to, void *stream,
                     zf_error *error) {
    void *bytes = to->at != NULL ? to->at : malloc(to->bytes);
    if (bytes == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the result `%s`", answer->name);
    if (validity)
        put_bits(answer, true, bytes);
    else
        put_elements(answer, bytes);
    if (to->at != NULL) return ZF_OK;
    zf_status status = copy_there(query, bytes, to, stream, error);
    free(bytes);
    return status;
}

static zf_status take_one(zf_prepared_query *query, size_t result, bool validity, const target *to, void *stream,
                          zf_error *error) {
    const zf_query_answer *answer = &query->answers.items[result];
    ZF_TRY(check_target(query, to, answer->name, error));
    if (to->bytes == 0) return ZF_OK;
    if (to->at == NULL && !query->nothing_read && zf_query_device_puts(query->device, result))
        return zf_query_device_put(query->device, result, validity, to->address, to->bytes, stream, error);
    ZF_TRY(zf_query_finish(query, result, error));
    return put(query, answer, validity, to, stream, error);
}

zf_status zf_query_take(zf_prepared_query *query, size_t result, const zf_query_buffers *buffers, void *stream, zf_error *error) {
    zf_query_buffers own;
    if (query == NULL || buffers == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_query_take needs a query and buffers");
    ZF_TRY(ZF_TAKE(zf_query_buffers, &own, buffers, error));
    ZF_TRY(check_result(query, result, error));
    const zf_query_answer *answer = &query->answers.items[result];
    zf_query_sizes sizes = sizes_of(answer);
    uint64_t size = answer->type.element == ZF_BOOL ? 1 : zf_element_bits(answer->type.element) / 8;
    target values = {own.values, own.address, own.values_bytes, sizes.values, size};
    target validity = {own.validity, own.validity_address, own.validity_bytes, sizes.validity, 1};
    ZF_TRY(take_one(query, result, false, &values, stream, error));
    bool wanted = own.validity != NULL || own.validity_address != 0;
    return wanted ? take_one(query, result, true, &validity, stream, error) : ZF_OK;
}
