// Columns for the tests on accelerators: their data, row by row, so that any part of any length can be made and checked.
#ifndef ZF_TESTS_GPU_COLUMNS_H
#define ZF_TESTS_GPU_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zipflow/zipflow.h"

/// A column of `forms.zf`, found there by its name.
typedef struct gpu_column {
    const char *name;
    unsigned bits;                   ///< an element decoded; booleans: 1
    uint64_t (*value)(uint64_t row); ///< its bits
    bool groups;                     ///< its kernels, or those of a coder's table, make tiles of groups
    /// Its rows are checked one by one, and a device may check fewer of those that are not wanted than the CPU does, which makes
    /// tiles of 4096 rows whole: the device's are smaller, or elements are looked up as a coder's kernel stores them.
    bool fewer_checked;
} gpu_column;

/// All columns of the table `forms`, in its order.
const gpu_column *gpu_columns(size_t *count);
const gpu_column *gpu_column_find(const char *name); ///< NULL: there is none

/// Rows begin..begin + count as zf_encode takes them (a boolean is a byte). Every `period` rows the data begin anew; 0: never.
/// Spread over `threads`. Free it.
void *gpu_column_make(const gpu_column *column, uint64_t begin, uint64_t count, uint64_t period, unsigned threads);
/// How many of the rows `begin..begin + count` are not as they should be in decoded data, whose row `begin` is element `skip`.
uint64_t gpu_column_wrong(const gpu_column *column, uint64_t begin, uint64_t count, uint64_t period, const void *decoded,
                          uint64_t skip, unsigned threads);
/// Bytes of `count` decoded rows.
uint64_t gpu_column_bytes(const gpu_column *column, uint64_t count);

/// A number that looks like chance, the same everywhere.
uint64_t gpu_mix(uint64_t x);

#endif
