// The params and inputs of a query, and its results while rows run.
#ifndef ZF_COMPILER_QUERY_GIVEN_H
#define ZF_COMPILER_QUERY_GIVEN_H

#include "codegen/codegen_query.h"
#include "compiler/query/query.h"

/// Reads all params of a query, those that are given or their defaults, by slot.
zf_status zf_query_params(const zf_query *query, const zf_query_param *params, size_t count, uint64_t *out, zf_error *error);
/// Finds all inputs of a query, by slot. `addresses`: of those in a device's memory, else 0.
zf_status zf_query_inputs(const zf_query *query, const zf_query_array *arrays, size_t count, zf_query_stream *out,
                          uint64_t *addresses, zf_error *error);

// ---- Results (query_answer.c) ----
/// Results of a query while rows run. `answers` owns their memory.
typedef struct zf_query_holding {
    const zf_query *query;
    zf_query_answers *answers;
    zf_query_held *held;
    zf_query_selected selected;
    bool sums_floats;
} zf_query_holding;

/// Makes room for all results over `rows` rows. Call zf_query_hold_free in any case.
zf_status zf_query_hold(const zf_query *query, const uint64_t *params, uint64_t rows, zf_query_answers *answers,
                        zf_query_holding *out, zf_error *error);
/// Moves the bytes of masks to the rows of the next batch: row 0 of the streams is row `row` of all.
void zf_query_hold_rows(zf_query_holding *holding, uint64_t row);
/// Adds the lanes of a tile to the sums.
void zf_query_hold_tile(zf_query_holding *holding);
/// The sums of a tile: those of `count` elements, whose lanes begin anew.
void zf_query_fold_lanes(double *lanes, uint64_t count, double *sums);
/// Adds the sums of a tile to those of the tiles before.
void zf_query_add_sums(uint64_t *words, const double *sums, uint64_t count);
/// Gives all results their final form, behind the last row.
zf_status zf_query_hold_finish(const zf_query_holding *holding, zf_error *error);
/// Frees what only rows needed.
void zf_query_hold_free(zf_query_holding *holding);
/// The final form of a result: words of masks, integers extended by their sign, one NaN.
zf_status zf_query_answer_finish(zf_query_answer *answer, zf_type type, zf_error *error);

#endif
