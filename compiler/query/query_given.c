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

static zf_status read_float(const zf_port *port, const char *text, uint64_t *out, zf_error *error) {
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    bool begins = strchr(" \t\n\v\f\r", text[0]) == NULL, fits = errno == 0 || !isinf(value);
    if (end == text || *end != 0 || !begins || !fits) return refuse(port, text, error);
    if (port->type.kind == ZF_K_F32) {
        float narrow = (float)value;
        if (isinf(narrow) && !isinf(value)) return refuse(port, text, error);
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

static const zf_port *param_named(const zf_query *query, const char *name) {
    for (uint32_t p = 0; p < query->inst->param_count; p++)
        if (strcmp(query->inst->params[p]->name, name) == 0) return query->inst->params[p];
    return NULL;
}

zf_status zf_query_params(const zf_query *query, const zf_query_request *request, uint64_t *out, zf_error *error) {
    for (uint32_t p = 0; p < query->inst->param_count; p++) {
        const zf_port *port = query->inst->params[p];
        const char *text = NULL;
        for (size_t k = 0; k < request->param_count; k++)
            if (strcmp(request->params[k].name, port->name) == 0) text = request->params[k].text;
        if (text == NULL && port->given == NULL)
            return zf_raise(error, ZF_E_ARGUMENT, "the param `%s` of `%s` has no value", port->name, query->name);
        if (text == NULL)
            out[p] = port->given->bits;
        else
            ZF_TRY(read_param(port, text, &out[p], error));
    }
    for (size_t k = 0; k < request->param_count; k++) {
        if (param_named(query, request->params[k].name) == NULL)
            return zf_raise(error, ZF_E_ARGUMENT, "`%s` has no param `%s`", query->name, request->params[k].name);
    }
    return ZF_OK;
}

// ---- Inputs ---------------------------------------------------------------------------------------------------

zf_status zf_query_inputs(const zf_query *query, const zf_query_request *request, zf_query_stream *out, zf_error *error) {
    size_t found = 0;
    for (uint32_t s = 0; s < query->input_count; s++) {
        const zf_port *port = query->inst->streams[s];
        const zf_query_array *array = NULL;
        for (size_t k = 0; k < request->array_count; k++)
            if (strcmp(request->arrays[k].name, port->name) == 0) array = &request->arrays[k];
        if (array == NULL) return zf_raise(error, ZF_E_ARGUMENT, "the input `%s` of `%s` is not given", port->name, query->name);
        found++;
        size_t size = zf_kind_size(port->type.kind);
        bool bits = port->type.kind == ZF_K_BOOL;
        if (!bits && array->bytes % size != 0)
            return zf_raise(error, ZF_E_ARGUMENT, "the input `%s` has %zu bytes, which are no whole number of %s", port->name,
                            array->bytes, zf_kind_name(port->type.kind));
        out[s] = (zf_query_stream){.values = array->values, .length = bits ? 8 * array->bytes : array->bytes / size};
    }
    for (size_t k = 0; k < request->array_count && found < request->array_count; k++) {
        bool known = false;
        for (uint32_t s = 0; s < query->input_count; s++)
            known = known || strcmp(query->inst->streams[s]->name, request->arrays[k].name) == 0;
        if (!known) return zf_raise(error, ZF_E_ARGUMENT, "`%s` has no input `%s`", query->name, request->arrays[k].name);
    }
    return ZF_OK;
}
