#include "python/extension/tensor_type.h"

#include <string.h>

DLDataType zf_py_type_of(zf_element element) {
    static const DLDataType types[] = {
        [ZF_U8] = {ZF_DL_UINT, 8, 1},    [ZF_U16] = {ZF_DL_UINT, 16, 1}, [ZF_U32] = {ZF_DL_UINT, 32, 1},
        [ZF_U64] = {ZF_DL_UINT, 64, 1},  [ZF_I8] = {ZF_DL_INT, 8, 1},    [ZF_I16] = {ZF_DL_INT, 16, 1},
        [ZF_I32] = {ZF_DL_INT, 32, 1},   [ZF_I64] = {ZF_DL_INT, 64, 1},  [ZF_F32] = {ZF_DL_FLOAT, 32, 1},
        [ZF_F64] = {ZF_DL_FLOAT, 64, 1}, [ZF_BOOL] = {ZF_DL_UINT, 8, 1}, [ZF_STRING] = {ZF_DL_UINT, 8, 1}};
    return types[element];
}

DLDataType zf_py_type_of_column(const char *format, zf_element element) {
    return strcmp(format, "e") == 0 ? (DLDataType){ZF_DL_FLOAT, 16, 1} : zf_py_type_of(element);
}

bool zf_py_plain_numbers(const char *format) { return strlen(format) == 1 && strchr("cCsSiIlLefg", format[0]) != NULL; }
