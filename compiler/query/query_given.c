#include "compiler/query/query_given.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"

// ---- Params ---------------------------------------------------------------------------------------------------

static zf_status refuse(const zf_port *port, const char *text, zf_error *error) {
    return zf_raise(error, ZF_E_ARGUMENT, "`%s` is no value of the param `%s`, which is %s", text, port->name,
                    zf_kind_name(port->type.kind));
}

static zf_status read_integer(const zf_port *port, const char *text, uint64_t *out, zf_error *error) {
    char *end;
    bool negative = text[0] == '-';
    errno = 0;
    uint64_t bits = negative ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    bool digits = text[negative] >= '0' && text[negative] <= '9';
    if (!digits || *end != 0 || errno != 0) return refuse(port, text, error);
    zf_int128 value = negative ? (zf_int128)(int64_t)bits : (zf_int128)bits;
    zf_interval all = zf_interval_of_kind(port->type.kind);
    if (value < all.lo || value > all.hi) return refuse(port, text, error);
    *out = bits;
    return ZF_OK;
}

// A number other than 0 that would become 0, or an infinity, is refused.
static zf_status read_float(const zf_port *port, const char *text, uint64_t *out, zf_error *error) {
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    bool begins = strchr(" \t\n\v\f\r", text[0]) == NULL, fits = errno == 0 || (value != 0 && !isinf(value));
    if (end == text || *end != 0 || !begins || !fits) return refuse(port, text, error);
    if (port->type.kind == ZF_K_F32) {
        float narrow = (float)value;
        if ((isinf(narrow) && !isinf(value)) || (narrow == 0 && value != 0)) return refuse(port, text, error);
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        *out = bits;
    } else {
        memcpy(out, &value, sizeof value);
    }
    return ZF_OK;
}

static zf_status read_param(const zf_port *port, const char *text, uint64_t *out, zf_error *error) {
    if (zf_kind_is_integer(port->type.kind)) return read_integer(port, text, out, error);
    if (zf_kind_is_float(port->type.kind)) return read_float(port, text, out, error);
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0) return refuse(port, text, error);
    *out = yes;
    return ZF_OK;
}

static zf_status refuse_bits(const zf_port *port, zf_error *error) {
    return zf_raise(error, ZF_E_ARGUMENT, "the bits of the param `%s` are no %s", port->name, zf_kind_name(port->type.kind));
}

static zf_status check_bits(const zf_port *port, uint64_t bits, zf_error *error) {
    zf_kind kind = port->type.kind;
    if (kind == ZF_K_F64) return ZF_OK;
    if (kind == ZF_K_F32) return bits <= UINT32_MAX ? ZF_OK : refuse_bits(port, error);
    zf_int128 value = zf_kind_is_signed(kind) ? (zf_int128)(int64_t)bits : (zf_int128)bits;
    zf_interval all = zf_interval_of_kind(kind);
    return value >= all.lo && value <= all.hi ? ZF_OK : refuse_bits(port, error);
}

static zf_status take_param(const zf_query *query, const zf_port *port, const zf_query_param *given, uint64_t *out,
                            zf_error *error) {
    if (given == NULL && port->given == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "the param `%s` of `%s` has no value", port->name, query->name);
    *out = given == NULL ? port->given->bits : given->bits;
    if (given == NULL) return ZF_OK;
    return given->text != NULL ? read_param(port, given->text, out, error) : check_bits(port, given->bits, error);
}

static const zf_port *port_named(const zf_port *const *ports, uint32_t count, const char *name) {
    for (uint32_t k = 0; k < count; k++)
        if (strcmp(ports[k]->name, name) == 0) return ports[k];
    return NULL;
}

static zf_status check_param_names(const zf_query *query, const zf_query_param *params, size_t count, zf_error *error) {
    for (size_t k = 0; k < count; k++) {
        const char *name = params[k].name;
        if (name == NULL) return zf_raise(error, ZF_E_ARGUMENT, "a param of `%s` is given without a name", query->name);
        if (port_named((const zf_port *const *)query->inst->params, query->inst->param_count, name) == NULL)
            return zf_raise(error, ZF_E_ARGUMENT, "`%s` has no param `%s`", query->name, name);
        for (size_t other = 0; other < k; other++)
            if (strcmp(params[other].name, name) == 0)
                return zf_raise(error, ZF_E_ARGUMENT, "the param `%s` is given twice", name);
    }
    return ZF_OK;
}

zf_status zf_query_params(const zf_query *query, const zf_query_param *params, size_t count, uint64_t *out, zf_error *error) {
    ZF_TRY(check_param_names(query, params, count, error));
    for (uint32_t p = 0; p < query->inst->param_count; p++) {
        const zf_port *port = query->inst->params[p];
        const zf_query_param *given = NULL;
        for (size_t k = 0; k < count; k++)
            if (strcmp(params[k].name, port->name) == 0) given = &params[k];
        ZF_TRY(take_param(query, port, given, &out[p], error));
    }
    return ZF_OK;
}

// ---- Inputs ---------------------------------------------------------------------------------------------------

static zf_status check_array_names(const zf_query *query, const zf_query_array *arrays, size_t count, zf_error *error) {
    for (size_t k = 0; k < count; k++) {
        const char *name = arrays[k].name;
        if (name == NULL) return zf_raise(error, ZF_E_ARGUMENT, "an input of `%s` is given without a name", query->name);
        if (port_named((const zf_port *const *)query->inst->streams, query->input_count, name) == NULL)
            return zf_raise(error, ZF_E_ARGUMENT, "`%s` has no input `%s`", query->name, name);
        for (size_t other = 0; other < k; other++)
            if (strcmp(arrays[other].name, name) == 0)
                return zf_raise(error, ZF_E_ARGUMENT, "the input `%s` is given twice", name);
    }
    return ZF_OK;
}

static zf_status take_array(const zf_port *port, const zf_query_array *array, zf_query_stream *out, uint64_t *address,
                            zf_error *error) {
    size_t size = zf_kind_size(port->type.kind);
    bool bits = port->type.kind == ZF_K_BOOL;
    if (!bits && array->bytes % size != 0)
        return zf_raise(error, ZF_E_ARGUMENT, "the input `%s` has %zu bytes, which are no whole number of %s", port->name,
                        array->bytes, zf_kind_name(port->type.kind));
    static const uint64_t nothing = 0; // what code may load of an empty input
    bool empty = array->bytes == 0;
    *address = empty || array->values != NULL ? 0 : array->address;
    if (!empty && array->values == NULL && *address == 0)
        return zf_raise(error, ZF_E_BUFFER, "the input `%s` has no memory", port->name);
    if (!empty && (*address | (uintptr_t)array->values) % size != 0)
        return zf_raise(error, ZF_E_BUFFER, "the input `%s` is not aligned to the %zu bytes of an element", port->name, size);
    *out = (zf_query_stream){.values = empty ? &nothing : array->values,
                             .length = bits ? 8 * (uint64_t)array->bytes : array->bytes / size};
    return ZF_OK;
}

zf_status zf_query_inputs(const zf_query *query, const zf_query_array *arrays, size_t count, zf_query_stream *out,
                          uint64_t *addresses, zf_error *error) {
    ZF_TRY(check_array_names(query, arrays, count, error));
    for (uint32_t s = 0; s < query->input_count; s++) {
        const zf_port *port = query->inst->streams[s];
        const zf_query_array *array = NULL;
        for (size_t k = 0; k < count; k++)
            if (strcmp(arrays[k].name, port->name) == 0) array = &arrays[k];
        if (array == NULL) return zf_raise(error, ZF_E_ARGUMENT, "the input `%s` of `%s` is not given", port->name, query->name);
        ZF_TRY(take_array(port, array, &out[s], &addresses[s], error));
    }
    return ZF_OK;
}
