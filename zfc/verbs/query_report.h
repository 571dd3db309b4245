// Results of `zfc query`, printed and written.
#ifndef ZF_ZFC_QUERY_REPORT_H
#define ZF_ZFC_QUERY_REPORT_H

#include <jansson.h>

#include "compiler/query/query.h"
#include "zfc/output.h"

/// Prints results: values, elements that rows gave a value, the first rows that were selected.
zf_status zf_print_answers(const zf_query_answers *answers, zf_error *error);
/// Returns results as JSON, or NULL without memory.
json_t *zf_answers_json(const zf_query_answers *answers);
/// Makes JSON of how a device ran the query; NULL: none did. Returns false without memory.
bool zf_query_device_json(const zf_query_answers *answers, json_t **out);
/// Writes DIR/NAME.TYPE for each result, bools as a bitmap, and DIR/NAME.valid for those of `min` and `max`: a bit for each
/// element that a row gave a value.
zf_status zf_write_answers(const char *directory, const zf_query_answers *answers, zf_outputs *outputs, zf_error *error);

#endif
