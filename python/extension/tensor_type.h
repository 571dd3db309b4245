// The types of tensors that columns are.
#ifndef ZF_PYTHON_TENSOR_TYPE_H
#define ZF_PYTHON_TENSOR_TYPE_H

#include "python/extension/dlpack.h"

/// The type of an element of a column's memory: bits of booleans and characters of strings are bytes.
DLDataType zf_py_type_of(zf_element element);
/// The type of a column's elements, by its Arrow format; half floats are stored as u16.
DLDataType zf_py_type_of_column(const char *format, zf_element element);
/// Whether a column of this Arrow format holds numbers of no other meaning: what tensors and arrays hold as they are.
bool zf_py_plain_numbers(const char *format);

#endif
