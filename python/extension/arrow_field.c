#include "python/extension/arrow_field.h"

#include <stdlib.h>
#include <string.h>

/// Copies text and metadata; false with an exception set.
static bool set_texts(zf_py_field *out, PyObject *name, PyObject *format, const char *metadata, Py_ssize_t bytes) {
    PyObject *called = PyUnicode_AsUTF8String(name);
    PyObject *letters = called == NULL ? NULL : PyUnicode_AsUTF8String(format);
    const char *text = letters == NULL ? NULL : PyBytes_AsString(letters);
    bool fits = text != NULL && strlen(text) < sizeof out->format;
    if (fits) strcpy(out->format, text);
    if (text != NULL && !fits) PyErr_SetString(PyExc_ValueError, "the format of a type is too long");
    if (fits) out->name = strdup(PyBytes_AsString(called));
    if (fits && metadata != NULL) {
        out->metadata = malloc((size_t)bytes + 1);
        out->metadata_bytes = (size_t)bytes;
        if (out->metadata != NULL) memcpy(out->metadata, metadata, (size_t)bytes);
    }
    bool made = fits && out->name != NULL && (metadata == NULL || out->metadata != NULL);
    if (fits && !made) PyErr_NoMemory();
    Py_XDECREF(letters);
    Py_XDECREF(called);
    return made;
}

/// The field of a tuple in memory of its own, or NULL for None. False with an exception set.
static bool set_inner(zf_py_field **out, PyObject *tuple) {
    *out = NULL;
    if (tuple == Py_None) return true;
    zf_py_field *made = calloc(1, sizeof *made);
    if (made == NULL) {
        PyErr_NoMemory();
    } else if (zf_py_field_set(made, tuple)) {
        *out = made;
        return true;
    }
    free(made);
    return false;
}

/// The fields of a struct, a list. False with an exception set.
static bool set_parts(zf_py_field *out, PyObject *list) {
    Py_ssize_t count = PyList_Size(list);
    out->parts = calloc((size_t)count + 1, sizeof *out->parts);
    if (out->parts == NULL) PyErr_NoMemory();
    bool made = out->parts != NULL;
    for (Py_ssize_t k = 0; made && k < count; k++) {
        made = zf_py_field_set(&out->parts[k], PyList_GetItem(list, k));
        out->part_count += made;
    }
    return made;
}

bool zf_py_field_set(zf_py_field *out, PyObject *tuple) {
    PyObject *name, *format, *child, *dictionary;
    const char *metadata;
    Py_ssize_t bytes;
    long long flags;
    *out = (zf_py_field){0};
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "a field is a tuple");
        return false;
    }
    if (PyArg_ParseTuple(tuple, "UULz#OO", &name, &format, &flags, &metadata, &bytes, &child, &dictionary)) {
        out->flags = flags;
        if (set_texts(out, name, format, metadata, bytes) &&
            (PyList_Check(child) ? set_parts(out, child) : set_inner(&out->child, child)) &&
            set_inner(&out->dictionary, dictionary))
            return true;
    }
    zf_py_field_clear(out);
    return false;
}

/// Whether there was memory.
static bool copy_field(zf_py_field *out, const zf_py_field *from);

static bool copy_inner(zf_py_field **out, const zf_py_field *from) {
    *out = NULL;
    if (from == NULL) return true;
    *out = calloc(1, sizeof **out);
    return *out != NULL && copy_field(*out, from);
}

static bool copy_field(zf_py_field *out, const zf_py_field *from) {
    *out = (zf_py_field){.flags = from->flags, .name = strdup(from->name), .metadata_bytes = from->metadata_bytes};
    memcpy(out->format, from->format, sizeof out->format);
    if (from->metadata != NULL) {
        out->metadata = malloc(from->metadata_bytes + 1);
        if (out->metadata != NULL) memcpy(out->metadata, from->metadata, from->metadata_bytes);
    }
    bool made = out->name != NULL && (out->metadata != NULL) == (from->metadata != NULL);
    if (made && from->parts != NULL) {
        out->parts = calloc(from->part_count + 1, sizeof *out->parts);
        made = out->parts != NULL;
    }
    for (size_t k = 0; made && k < from->part_count; k++) {
        out->part_count++;
        made = copy_field(&out->parts[k], &from->parts[k]);
    }
    return made && copy_inner(&out->child, from->child) && copy_inner(&out->dictionary, from->dictionary);
}

bool zf_py_field_copy(zf_py_field *out, const zf_py_field *from) {
    if (copy_field(out, from)) return true;
    zf_py_field_clear(out);
    PyErr_NoMemory();
    return false;
}

void zf_py_field_clear(zf_py_field *field) {
    free(field->name);
    free(field->metadata);
    for (size_t k = 0; k < field->part_count; k++) zf_py_field_clear(&field->parts[k]);
    free(field->parts);
    if (field->child != NULL) zf_py_field_clear(field->child);
    free(field->child);
    if (field->dictionary != NULL) zf_py_field_clear(field->dictionary);
    free(field->dictionary);
    *field = (zf_py_field){0};
}

void zf_py_format_of(const zf_py_field *field, const zf_py_storage *storage, char out[ZF_PY_FORMAT]) {
    memcpy(out, field->format, ZF_PY_FORMAT);
    if (storage == NULL) return;
    if (storage->dictionary != NULL) {
        out[0] = "CSILcsil"[storage->element];
        out[1] = 0;
    }
    if (storage->offset_width != 8 || storage->views != NULL) return;
    if (strcmp(out, "u") == 0 || strcmp(out, "z") == 0) out[0] = out[0] == 'u' ? 'U' : 'Z';
    if (strcmp(out, "+l") == 0) strcpy(out, "+L");
}
