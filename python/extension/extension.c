#include "python/extension/extension.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/// Bytes of metadata in Arrow's encoding.
static Py_ssize_t metadata_bytes(const char *metadata) {
    int32_t pairs, size;
    memcpy(&pairs, metadata, 4);
    Py_ssize_t at = 4;
    for (int32_t k = 0; k < 2 * pairs; k++) {
        memcpy(&size, metadata + at, 4);
        at += 4 + size;
    }
    return at;
}

/// column: the name of the column that the field is within; NULL: it is the table.
static PyObject *describe(const ArrowSchema *schema, int depth, const char *column) {
    if (depth > 64) {
        PyErr_Format(PyExc_ValueError, "column '%.200s' nests more than 64 types", column);
        return NULL;
    }
    PyObject *children = PyTuple_New((Py_ssize_t)schema->n_children);
    for (int64_t k = 0; children != NULL && k < schema->n_children; k++) {
        const char *name = schema->children[k]->name;
        PyObject *child = describe(schema->children[k], depth + 1, column != NULL ? column : name != NULL ? name : "");
        if (child == NULL || PyTuple_SetItem(children, (Py_ssize_t)k, child) != 0) {
            Py_DECREF(children);
            children = NULL;
        }
    }
    if (children == NULL) return NULL;
    PyObject *dictionary =
        schema->dictionary != NULL ? describe(schema->dictionary, depth + 1, column != NULL ? column : "") : Py_NewRef(Py_None);
    if (dictionary == NULL) {
        Py_DECREF(children);
        return NULL;
    }
    Py_ssize_t bytes = schema->metadata != NULL ? metadata_bytes(schema->metadata) : 0;
    return Py_BuildValue("(ssLy#NN)", schema->format, schema->name != NULL ? schema->name : "", (long long)schema->flags,
                         schema->metadata != NULL ? schema->metadata : "", bytes, children, dictionary);
}

PyObject *zf_py_describe_schema(const ArrowSchema *schema) { return describe(schema, 0, NULL); }

bool zf_py_on_main_thread(void) { return syscall(SYS_gettid) == (long)getpid(); }
