// Memory of the device for what units make, and the way of the rows to the host.
#include <stdlib.h>

#include "runtime/base/bits.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/element.h"
#include "runtime/decode/block_run.h"
#include "runtime/decode/decode_host.h"
#include "runtime/decode/decode_unit_internal.h"

zf_status zf_units_allocate(const zf_units *units, zf_units_memory *memory, zf_error *error) {
    const zf_accelerator_ops *ops = units->accelerator->ops;
    const zf_units_sizes *sizes = &units->column->sizes;
    ZF_TRY(ops->allocate(units->accelerator, sizes->values, &memory->values, error));
    if (units->column->is_text) ZF_TRY(ops->allocate(units->accelerator, sizes->offsets, &memory->offsets, error));
    if (units->column->nullable) ZF_TRY(ops->allocate(units->accelerator, sizes->validity, &memory->validity, error));
    return ops->allocate(units->accelerator, units->sizes.workspace, &memory->workspace, error);
}

void zf_units_release(zf_accelerator *accelerator, zf_units_memory *memory) {
    uint64_t *all[] = {&memory->values, &memory->offsets, &memory->validity, &memory->workspace};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (*all[i] != 0) accelerator->ops->release(accelerator, *all[i]);
        *all[i] = 0;
    }
}

zf_status zf_units_column_check(const zf_units_column *column, const zf_decode_buffers *to, zf_error *error) {
    uint64_t rows = column->selection.end - column->selection.begin; // what they take fits: what the device makes is no less
    zf_decode_sizes sizes = {.values = column->text.total};
    if (!column->is_text) zf_elements_bytes(rows, column->selection.bits, &sizes.values);
    if (column->is_text) zf_elements_bytes(rows + 1, 64, &sizes.offsets);
    if (column->nullable) zf_elements_bytes(rows, 1, &sizes.validity);
    zf_status status = zf_decode_check_buffers(&sizes, column->selection.column->type.element, to, error);
    return status != ZF_OK ? zf_fail_place(error, status, "column %s", column->selection.column->shown) : ZF_OK;
}

/// Bits of a bitmap on the device, from bit `skip` on, to bit 0 of `to`; bits behind them become 0.
static zf_status fetch_bits(const zf_units_column *column, void *stream, uint64_t from, uint64_t skip, uint8_t *to,
                            zf_error *error) {
    const zf_accelerator_ops *ops = column->accelerator->ops;
    uint64_t rows = column->selection.end - column->selection.begin, first = skip / 8, bytes = (skip + rows + 7) / 8 - first;
    uint8_t *bitmap = malloc(bytes + 1);
    if (bitmap == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for %llu bytes", (unsigned long long)bytes);
    zf_status status = ops->copy_out(column->accelerator, stream, bitmap, from + first, bytes, error);
    if (status == ZF_OK) status = ops->wait(column->accelerator, stream, error);
    if (status == ZF_OK) zf_place_bits(to, 0, bitmap, skip % 8, rows);
    free(bitmap);
    return status;
}

static zf_status fetch_text(const zf_units_column *column, void *stream, const zf_units_memory *memory,
                            const zf_decode_buffers *to, zf_error *error) {
    const zf_accelerator_ops *ops = column->accelerator->ops;
    uint64_t rows = column->selection.end - column->selection.begin;
    ZF_TRY(ops->copy_out(column->accelerator, stream, to->offsets, memory->offsets, (rows + 1) * sizeof(int64_t), error));
    zf_status status = ZF_OK; // where there are no characters there may be no memory for them
    if (column->text.total > 0)
        status = ops->copy_out(column->accelerator, stream, to->values, memory->values, column->text.total, error);
    zf_status waited = ops->wait(column->accelerator, stream, status == ZF_OK ? error : NULL); // the first copy is under way
    if (status != ZF_OK || waited != ZF_OK) return status != ZF_OK ? status : waited;
    zf_text_cut(to->values, to->offsets, rows);
    return ZF_OK;
}

zf_status zf_units_column_fetch(const zf_units_column *column, void *stream, const zf_units_memory *memory,
                                const zf_decode_buffers *to, zf_error *error) {
    const zf_accelerator_ops *ops = column->accelerator->ops;
    const zf_selection *s = &column->selection;
    const zf_units_sizes *sizes = &column->sizes;
    if (column->nullable) ZF_TRY(fetch_bits(column, stream, memory->validity, sizes->validity_skip, to->validity, error));
    if (column->is_text) return fetch_text(column, stream, memory, to, error);
    if (s->bits == 1) return fetch_bits(column, stream, memory->values, sizes->skip, to->values, error);
    uint64_t bytes = (s->end - s->begin) * (s->bits / 8); // fits: there is memory for them
    ZF_TRY(ops->copy_out(column->accelerator, stream, to->values, memory->values + sizes->skip, bytes, error));
    return ops->wait(column->accelerator, stream, error);
}

zf_status zf_units_fetch(const zf_units *units, void *stream, const zf_units_memory *memory, const zf_decode_buffers *to,
                         zf_error *error) {
    return zf_units_column_fetch(units->column, stream, memory, to, error);
}

zf_status zf_units_fetch_copy(const zf_units *units, uint32_t copy, void *stream, const zf_units_memory *memory,
                              const zf_decode_buffers *to, zf_error *error) {
    uint64_t away = copy * units->column->options.copy_stride;
    zf_units_memory own = {.values = memory->values + away};
    if (units->column->is_text) own.offsets = memory->offsets + away;
    if (units->column->nullable) own.validity = memory->validity + away;
    return zf_units_column_fetch(units->column, stream, &own, to, error);
}
