#include "runtime/module/tuple_count.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/decode/selection.h"

/// A tuple of a shape. Its values lie behind it.
typedef struct tuple {
    struct tuple *next;
    uint32_t shape;
    bool general;
    uint64_t values[];
} tuple;

typedef struct counting {
    zf_selection selection;
    uint64_t *of_shape; ///< how many tuples each has
    tuple *first, **last;
    bool made;
    zf_tuple_count *out;
} counting;

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory to count tuples of params"); }

static tuple *find(const counting *c, uint32_t shape, const zf_abi_plan *plan, const uint64_t *params) {
    for (tuple *t = c->first; t != NULL; t = t->next) {
        uint32_t k = t->shape == shape ? 0 : UINT32_MAX;
        while (k < plan->shaping_count && t->values[k] == params[plan->shaping[k]]) k++;
        if (k == plan->shaping_count) return t;
    }
    return NULL;
}

/// Adds the tuple of a block, and finds out whether it has code of its own.
static zf_status add(counting *c, uint32_t shape, const uint64_t *params, tuple **out, zf_error *error) {
    const zf_abi_plan *plan = c->selection.plans[shape];
    const zf_abi_provider *provider = &c->selection.providers[shape];
    tuple *t = *out = calloc(1, sizeof *t + (plan->shaping_count + (size_t)1) * sizeof *t->values);
    if (t == NULL) return no_memory(error);
    *c->last = t;
    c->last = &t->next;
    t->shape = shape;
    for (uint32_t k = 0; k < plan->shaping_count; k++) t->values[k] = params[plan->shaping[k]];
    c->out->tuples++;
    c->out->limit = provider->tuples;
    uint64_t count = ++c->of_shape[shape];
    if (count > c->out->most) c->out->most = count;
    if (c->made) {
        const zf_abi_code *code = NULL;
        ZF_TRY(provider->code(provider->self, plan, t->values, &code, error));
        t->general = code->general != 0;
    } else {
        t->general = count > (provider->tuples != 0 ? provider->tuples : ZF_TUPLES_DEFAULT);
    }
    c->out->general_tuples += t->general;
    return ZF_OK;
}

static zf_status look_at(counting *c, uint64_t number, zf_error *error) {
    const zf_selection *s = &c->selection;
    uint32_t shape = s->column->blocks[number].shape;
    zf_block_view view;
    ZF_TRY(zf_container_block_header(s->container, s->column_number, number, &view, error));
    if (s->plans[shape]->shaping_count > 0) {
        tuple *t = find(c, shape, s->plans[shape], view.params);
        zf_status status = t != NULL ? ZF_OK : add(c, shape, view.params, &t, error);
        if (status != ZF_OK) {
            zf_block_view_free(&view);
            return status;
        }
        c->out->general_blocks += t->general;
        c->out->general_rows += t->general ? view.rows : 0;
    }
    c->out->blocks++;
    c->out->rows += view.rows;
    zf_block_view_free(&view);
    return ZF_OK;
}

zf_status zf_tuples_count(zf_container *container, size_t column, zf_abi_device device, bool made, zf_tuple_count *out,
                          zf_error *error) {
    *out = (zf_tuple_count){0};
    counting c = {.made = made, .out = out};
    c.last = &c.first;
    zf_decode_options options = {.skip_checksums = true}; // only params are read
    zf_status status = zf_selection_make(container, column, &options, device, NULL, &c.selection, error);
    if (status == ZF_OK) {
        c.of_shape = calloc(zf_container_shapes(container, column) + 1, sizeof *c.of_shape);
        if (c.of_shape == NULL) status = no_memory(error);
    }
    for (uint64_t k = c.selection.first_block; status == ZF_OK && k < c.selection.last_block; k++) status = look_at(&c, k, error);
    while (c.first != NULL) {
        tuple *next = c.first->next;
        free(c.first);
        c.first = next;
    }
    free(c.of_shape);
    zf_selection_free(&c.selection);
    return status;
}
