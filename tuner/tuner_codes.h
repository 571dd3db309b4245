// The tuner's error codes: a string for each row of tuner_codes.def, such as ZFT_RECORD.
#ifndef ZF_TUNER_TUNER_CODES_H
#define ZF_TUNER_TUNER_CODES_H

#define X(number, name, subject) static const char ZFT_##name[] = "ZF" #number;
#include "tuner/tuner_codes.def"
#undef X

#endif
