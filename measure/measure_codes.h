// The harness's error codes: a string for each row of measure_codes.def, such as ZFM_DIFFERS.
#ifndef ZF_MEASURE_MEASURE_CODES_H
#define ZF_MEASURE_MEASURE_CODES_H

#define X(number, name, subject) static const char ZFM_##name[] = "ZF" #number;
#include "measure/measure_codes.def"
#undef X

#endif
