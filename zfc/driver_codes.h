// The command's error codes: a string for each row of driver_codes.def, such as ZFC_CANNOT_READ.
#ifndef ZF_ZFC_DRIVER_CODES_H
#define ZF_ZFC_DRIVER_CODES_H

#define X(number, name, subject) static const char ZFC_##name[] = "ZF" #number;
#include "zfc/driver_codes.def"
#undef X

#endif
