// Whether strings are UTF-8: Arrow's type utf8 promises it, and consumers do not check.
#ifndef ZF_PYTHON_UTF8_H
#define ZF_PYTHON_UTF8_H

#include <stdint.h>

/// Returns the first row whose characters are not UTF-8, or -1. `offsets`: rows + 1, from 0.
int64_t zf_py_utf8_fault(const uint8_t *characters, const int64_t *offsets, int64_t rows);

#endif
