// Hand-written codecs for tests of the runtime without the compiler. Everything a provider must give is here: plans, kernels,
// checks; and what an encoder gives a writer.
//
// "walk" (u32): out[i] = values[i] + base, with a seek state, the sum of all outputs before, every 256 rows. Under branch 0
// `values` is stored; under branch 1 it is materialised by an earlier kernel: values[i] = halves[i] * 2.
// "bits" (bool): out[i] = packed[i].
#ifndef ZF_TESTS_WALK_CODEC_H
#define ZF_TESTS_WALK_CODEC_H

#include <stdlib.h>
#include <string.h>

#include "runtime/container/container.h"

enum { WALK_INTERVAL = 256, WALK_BASE = 1000 };

/// The value of row i of column "walk", and of "bits".
static inline uint32_t walk_value(uint64_t i) { return WALK_BASE + 2 * (uint32_t)((i * 2654435761u) >> 20 & 0xfff); }
static inline bool walk_bit(uint64_t i) { return (i * 2654435761u >> 13 & 3) == 0; }

// ---- Shapes, as an encoder gives them -------------------------------------------------------------------------

static const zf_shape_param walk_params[] = {{"width", ZF_U8}, {"base", ZF_U32}};
static const zf_shape_edge walk_edges[2][3] = {
    {{"", "walk", ZF_U32, false, -1}, {"values", "", ZF_U32, false, 0}},
    {{"", "walk", ZF_U32, false, -1}, {"values", "double", ZF_U32, false, -1}, {"values.halves", "", ZF_U32, false, 0}},
};
static const zf_shape_field walk_fields[] = {{.name = "scan 0", .bytes = 8}};
static const zf_shape_tree walk_trees[] = {{.edge = 0, .field_count = 1, .fields = walk_fields}};
static const uint8_t walk_branches[2] = {0, 1};
static const zf_shape walk_shapes[2] = {
    {&walk_branches[0], 1, 2, 2, 1, 1, walk_params, walk_edges[0], walk_trees},
    {&walk_branches[1], 1, 2, 3, 1, 1, walk_params, walk_edges[1], walk_trees},
};
static const zf_shape_edge bits_edges[] = {{"", "bits", ZF_BOOL, false, -1}, {"packed", "", ZF_BOOL, false, 0}};
static const zf_shape bits_shape = {NULL, 0, 0, 2, 1, 0, NULL, bits_edges, NULL};

// ---- Kernels --------------------------------------------------------------------------------------------------

static inline void walk_fail(const zf_abi_args *args, uint64_t position, uint64_t check) {
    uint64_t word = position << 16 | check;
    if (word < *args->failure) *args->failure = word;
}

static inline uint64_t walk_state(const zf_abi_args *args, uint64_t tile) {
    uint64_t width = args->slots[4], value = 0;
    if (tile > 0) memcpy(&value, args->base + args->slots[3] + (tile - 1) * width, width);
    return value;
}

static inline void walk_run(const zf_abi_args *args, const uint32_t *values, uint64_t begin, uint64_t end) {
    uint64_t count = args->slots[1], sum = 0;
    for (uint64_t t = begin; t < end; t++) {
        if (args->mode == ZF_ABI_DECODE) sum = walk_state(args, t);
        uint64_t last = (t + 1) * WALK_INTERVAL < count ? (t + 1) * WALK_INTERVAL : count;
        for (uint64_t i = t * WALK_INTERVAL; i < last; i++) {
            uint32_t value = values[i] + (uint32_t)args->slots[2];
            memcpy((uint8_t *)((uintptr_t)args->out + i * 4), &value, 4);
            sum += value;
        }
        if (t + 1 == args->tiles) continue;
        if (args->mode == ZF_ABI_RECORD)
            args->record[t] = sum;
        else if (walk_state(args, t + 1) != sum)
            walk_fail(args, t * WALK_INTERVAL, 0);
    }
}

static inline void walk_stored(const zf_abi_args *args, uint64_t begin, uint64_t end) {
    walk_run(args, (const uint32_t *)(const void *)(args->base + args->slots[0]), begin, end);
}

static inline void walk_materialised(const zf_abi_args *args, uint64_t begin, uint64_t end) {
    walk_run(args, args->work[0], begin, end);
}

static inline void walk_double(const zf_abi_args *args, uint64_t begin, uint64_t end) {
    const uint32_t *halves = (const uint32_t *)(const void *)(args->base + args->slots[0]);
    uint32_t *out = args->work[0];
    for (uint64_t i = begin * 1024; i < end * 1024 && i < args->slots[1]; i++) out[i] = halves[i] * 2;
}

static inline void bits_run(const zf_abi_args *args, uint64_t begin, uint64_t end) {
    uint64_t count = args->slots[1], last = end * 1024 < count ? end * 1024 : count;
    for (uint64_t i = begin * 1024; i < last; i += 8) {
        uint8_t byte = args->base[args->slots[0] + i / 8];
        if (last - i < 8) byte &= (uint8_t)((1u << (last - i)) - 1);
        memcpy((uint8_t *)((uintptr_t)args->out + i / 8), &byte, 1);
    }
}

/// The checks of a block: `values` has as many elements as the column, and the width is 32.
static const uint64_t walk_constants[] = {32};
static const zf_abi_check_step walk_steps[] = {
    {ZF_CHECK_SLOT, 5, 0}, {ZF_CHECK_SLOT, 1, 0},  {ZF_CHECK_EQ, 0, 0}, {ZF_CHECK_HOLDS, 1, 0},
    {ZF_CHECK_SLOT, 6, 0}, {ZF_CHECK_CONST, 0, 0}, {ZF_CHECK_EQ, 0, 0}, {ZF_CHECK_HOLDS, 2, 0},
};

// ---- Provider -------------------------------------------------------------------------------------------------

static const zf_abi_slot walk_slots[] = {
    {ZF_SLOT_OFFSET, 0, 0},     {ZF_SLOT_COUNT, 0, 0}, {ZF_SLOT_PARAM, 1, 0}, {ZF_SLOT_SEEK_OFFSET, 0, 0},
    {ZF_SLOT_SEEK_WIDTH, 0, 0}, {ZF_SLOT_COUNT, 1, 0}, {ZF_SLOT_PARAM, 0, 0},
};
static const zf_abi_kernel walk_kernels[2][2] = {
    {{"walk", 0, WALK_INTERVAL, -1, 0, 0}},
    {{"double", 1, 1024, 0, -1, 0}, {"walk", 0, WALK_INTERVAL, -1, 0, 0}},
};
static const zf_abi_kernel bits_kernels[] = {{"bits", 0, 1024, -1, -1, 0}};
static const zf_abi_work walk_works[] = {{.edge = 1, .element = 4}};
static const zf_abi_field walk_abi_fields[] = {{8, "scan 0", ZF_FIELD_SCAN}};
static const zf_abi_tree walk_abi_trees[] = {{.edge = 0, .interval = WALK_INTERVAL, .field_count = 1, .fields = walk_abi_fields}};
static const uint32_t walk_shaping[] = {0};
static const zf_abi_check walk_checks[] = {
    {9, "", "walk<u32>", "seek state of walk", "walk.zf", 7, 3},
    {21, "values", "walk<u32>", "length of values", "walk.zf", 3, 9},
    {20, "", "walk<u32>", "width", "walk.zf", 2, 1},
};
static const zf_abi_plan walk_plans[3] = {
    {ZF_ABI_VERSION,
     7,
     1,
     0,
     1,
     1,
     3,
     walk_slots,
     walk_kernels[0],
     NULL,
     walk_abi_trees,
     walk_shaping,
     walk_checks,
     NULL,
     {0},
     {8, 1, 0, walk_steps, walk_constants}},
    {ZF_ABI_VERSION,
     7,
     2,
     1,
     1,
     1,
     3,
     walk_slots,
     walk_kernels[1],
     walk_works,
     walk_abi_trees,
     walk_shaping,
     walk_checks,
     NULL,
     {0},
     {8, 1, 0, walk_steps, walk_constants}},
    {ZF_ABI_VERSION, 2, 1, 0, 0, 0, 0, walk_slots, bits_kernels, NULL, NULL, NULL, NULL, NULL, {0}, {0}},
};
static const zf_abi_kernel_fn walk_functions[3][2] = {{walk_stored}, {walk_double, walk_materialised}, {bits_run}};
static const zf_abi_code walk_codes[3] = {
    {.kernels = walk_functions[0]}, {.kernels = walk_functions[1]}, {.kernels = walk_functions[2]}};

static inline zf_status walk_plan(void *self, zf_container *container, size_t column, const uint8_t *branches, size_t count,
                                  zf_abi_device device, const zf_abi_plan **out, zf_error *error) {
    (void)self, (void)device;
    zf_column_info info = {0};
    zf_status status = zf_container_column(container, column, &info, error);
    if (status != ZF_OK) return status;
    size_t plan = info.type.element == ZF_BOOL ? 2 : count == 1 && branches[0] == 1 ? 1 : 0;
    const zf_shape *own = plan == 2 ? &bits_shape : &walk_shapes[plan];
    for (size_t s = 0; s < zf_container_shapes(container, column); s++) {
        const zf_shape *shape = zf_container_shape(container, column, s);
        if (!zf_shape_has_branches(shape, branches, count)) continue;
        if (zf_shape_matches(shape, own)) continue;
        status = zf_fail(error, ZF_ERR_INPUT, "ZF9999", "the file's shape is not that of its codec");
        return zf_fail_place(error, status, "%s: column %s", zf_container_path(container), info.name);
    }
    *out = &walk_plans[plan];
    return ZF_OK;
}

static inline zf_status walk_code(void *self, const zf_abi_plan *plan, const uint64_t *shaping, const zf_abi_code **out,
                                  zf_error *error) {
    (void)self, (void)shaping, (void)error;
    *out = &walk_codes[plan - walk_plans];
    return ZF_OK;
}

static inline void walk_forget(void *self, zf_container *container) {
    (void)container;
    if (self != NULL) ++*(int *)self;
}

// ---- Encoder --------------------------------------------------------------------------------------------------

/// One block of "walk" from row `first`, under a branch, states as the kernel records them.
static inline zf_status walk_layout(uint32_t branch, uint32_t shape, uint64_t first, uint64_t rows, void **bytes, uint64_t *size,
                                    zf_block_data *data, zf_error *error) {
    static const uint64_t params[] = {32, WALK_BASE};
    uint64_t *counts = calloc(3, sizeof *counts);
    uint32_t *values = calloc(rows + 1, sizeof *values);
    uint64_t entries = rows == 0 ? 0 : (rows - 1) / WALK_INTERVAL, sum = 0;
    uint64_t *states = calloc(entries + 1, sizeof *states);
    zf_stream_data *stream = calloc(1, sizeof *stream);
    zf_seek_data *seek = calloc(1, sizeof *seek);
    for (uint64_t i = 0; i < rows; i++) {
        if (i > 0 && i % WALK_INTERVAL == 0) states[i / WALK_INTERVAL - 1] = sum;
        values[i] = walk_value(first + i) - WALK_BASE;
        sum += walk_value(first + i);
        if (branch == 1) values[i] /= 2;
    }
    counts[0] = counts[1] = counts[2] = rows;
    *stream = (zf_stream_data){values, rows * 4, rows};
    *seek = (zf_seek_data){WALK_INTERVAL, entries, states, 0};
    *data = (zf_block_data){rows, rows * 4, shape, params, counts, stream, seek, 0, first, NULL};
    return zf_block_layout(&walk_shapes[branch], data, bytes, size, error);
}

static inline zf_status bits_layout(uint32_t shape, uint64_t first, uint64_t rows, void **bytes, uint64_t *size,
                                    zf_block_data *data, zf_error *error) {
    uint64_t *counts = calloc(2, sizeof *counts);
    uint8_t *packed = calloc(rows / 8 + 1, 1);
    zf_stream_data *stream = calloc(1, sizeof *stream);
    for (uint64_t i = 0; i < rows; i++) packed[i / 8] |= (uint8_t)(walk_bit(first + i) << (i % 8));
    counts[0] = counts[1] = rows;
    *stream = (zf_stream_data){packed, (rows + 7) / 8, rows};
    *data = (zf_block_data){rows, (rows + 7) / 8, shape, NULL, counts, stream, NULL, 0, first, NULL};
    return zf_block_layout(&bits_shape, data, bytes, size, error);
}

static inline void walk_free(zf_block_data *data, void *bytes) {
    if (data->streams != NULL) free((void *)(uintptr_t)data->streams[0].data);
    if (data->seeks != NULL) free((void *)(uintptr_t)data->seeks[0].values);
    free((void *)(uintptr_t)data->streams);
    free((void *)(uintptr_t)data->seeks);
    free((void *)(uintptr_t)data->counts);
    free(bytes);
}

/// Changes what an encoder gave for a block, before it is laid out. May be NULL.
typedef void (*walk_damage)(size_t column, uint64_t block, zf_block_data *data);

/// Writes block `block` of a column.
static inline zf_status walk_write_block(zf_writer *writer, size_t column, uint64_t block, uint64_t rows, uint64_t rows_per_block,
                                         walk_damage damage, zf_error *error) {
    uint64_t first = block * rows_per_block, now = rows - first < rows_per_block ? rows - first : rows_per_block, size = 0;
    uint32_t shape = 0, branch = block % 2;
    void *bytes = NULL;
    zf_block_data data = {0};
    zf_status status = zf_writer_shape(writer, column, column == 0 ? &walk_shapes[branch] : &bits_shape, &shape, error);
    if (status == ZF_OK) {
        status = column == 0 ? walk_layout(branch, shape, first, now, &bytes, &size, &data, error)
                             : bits_layout(shape, first, now, &bytes, &size, &data, error);
    }
    if (status == ZF_OK && damage != NULL) {
        damage(column, block, &data);
        free(bytes);
        status = zf_block_layout(column == 0 ? &walk_shapes[branch] : &bits_shape, &data, &bytes, &size, error);
    }
    if (status == ZF_OK) status = zf_writer_block(writer, column, shape, bytes, size, &data, error);
    walk_free(&data, bytes);
    return status;
}

/// Writes a container "t" with columns "walk" (branches alternate by block) and "bits", block by block, or (`apart`) one column
/// behind the other, as encoders do.
static inline zf_status walk_write_ordered(const char *path, uint64_t rows, uint64_t rows_per_block, bool overwrite, bool apart,
                                           walk_damage damage, zf_error *error) {
    const zf_writer_column columns[] = {
        {.name = "walk",
         .type = {.element = ZF_U32},
         .type_name = "u32",
         .codec = "walk(plain | double)",
         .rows_per_block = rows_per_block},
        {.name = "bits", .type = {.element = ZF_BOOL}, .type_name = "bool", .codec = "bits", .rows_per_block = rows_per_block},
    };
    zf_writer *writer;
    uint64_t blocks = (rows + rows_per_block - 1) / rows_per_block;
    const zf_writer_table table = {.name = "t", .unit = "zf 1;\ntable t { }\n", .columns = columns, .column_count = 2};
    zf_status status = zf_writer_create(path, overwrite, &table, &writer, error);
    for (uint64_t i = 0; status == ZF_OK && i < 2 * blocks; i++) {
        size_t column = apart ? i / blocks : i % 2;
        status = walk_write_block(writer, column, apart ? i % blocks : i / 2, rows, rows_per_block, damage, error);
    }
    if (status == ZF_OK) status = zf_writer_finish(writer, rows, error);
    zf_writer_free(writer);
    return status;
}

static inline zf_status walk_write_damaged(const char *path, uint64_t rows, uint64_t rows_per_block, bool overwrite,
                                           walk_damage damage, zf_error *error) {
    return walk_write_ordered(path, rows, rows_per_block, overwrite, false, damage, error);
}

static inline zf_status walk_write(const char *path, uint64_t rows, uint64_t rows_per_block, bool overwrite, zf_error *error) {
    return walk_write_damaged(path, rows, rows_per_block, overwrite, NULL, error);
}

#endif
