#include "python/extension/extension.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

PyObject *zf_py_raise(PyObject *make, const zf_error *error) {
    // Messages quote names of files, which may hold any bytes.
    PyObject *text[4] = {0};
    const char *const parts[] = {error->code, error->message, error->place, error->hint};
    bool made = true;
    for (int k = 0; k < 4; k++) {
        text[k] = PyUnicode_DecodeUTF8(parts[k], (Py_ssize_t)strlen(parts[k]), "backslashreplace");
        made = made && text[k] != NULL;
    }
    PyObject *exception =
        made ? PyObject_CallFunction(make, "iOOOO", (int)error->status, text[0], text[1], text[2], text[3]) : NULL;
    for (int k = 0; k < 4; k++) Py_XDECREF(text[k]);
    if (exception == NULL) return NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return NULL;
}

zf_status zf_py_fail(zf_error *error, zf_status status, const char *place, const char *format, ...) {
    *error = (zf_error){.status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    snprintf(error->place, sizeof error->place, "%s", place);
    return status;
}

PyObject *zf_py_make_error(void) {
    PyObject *module = PyImport_ImportModule("zipflow._errors");
    PyObject *make = module == NULL ? NULL : PyObject_GetAttrString(module, "make");
    Py_XDECREF(module);
    return make;
}
