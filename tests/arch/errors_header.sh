#!/bin/sh
# Prints the public enum of error codes from the tables. After adding a code:
# sh tests/arch/errors_header.sh . > runtime/include/zipflow/errors.h
# Usage: errors_header.sh ROOT
cd "$1" || exit 2

# rows TABLE PREFIX
rows() {
    sed -n "s|^X(\([0-9]*\), \([A-Z0-9_]*\), .*\"\(.*\)\")\$|    /// \3\n    ZF_ERROR_$2\2 = \1,|p" "$1"
}

cat <<'END'
// The codes of errors as numbers: `zf_error.number` of an error with code "ZF1101" is ZF_ERROR_ARGUMENT, 1101. Generated from the
// tables of codes by tests/arch/errors_header.sh. A number never changes its meaning; later versions have more of them.
#ifndef ZIPFLOW_ERRORS_H
#define ZIPFLOW_ERRORS_H

typedef enum zf_error_code {
    /// no error, or one of a program that uses codes of its own
    ZF_ERROR_NONE = 0,

    // Diagnostics of a program's text (ZF0xxx).
END
rows frontend/diag/diag_codes.def PROGRAM_
printf '\n    // Errors of the libraries (ZF06xx, ZF1xxx).\n'
rows runtime/base/error_codes.def ""
printf '\n    // Errors of measuring (ZF2xxx).\n'
rows measure/measure_codes.def MEASURE_
cat <<'END'
} zf_error_code;

#endif
END
