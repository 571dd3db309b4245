// JSON of records.
#ifndef ZF_TUNER_TUNE_JSON_H
#define ZF_TUNER_TUNE_JSON_H

#include <jansson.h>

#include "tuner/tuner.h"

/// Makes a JSON string of a text that may hold any bytes, such as the name of a file: what is not UTF-8 becomes U+FFFD. NULL: no
/// memory.
json_t *zf_json_text(const char *text);
/// {"L": 8, "THREADS": 128}: what is chosen. NULL: no memory.
json_t *zf_tune_choice_json(const zf_choice *choice);

/// Makes an array of all measurements. NULL: no memory.
json_t *zf_tune_record_json(const zf_tune_record *record);

#endif
