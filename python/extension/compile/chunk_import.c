#include "python/extension/compile/chunk_import.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

/// The column whose chunks are taken.
typedef struct taking {
    const char *name;
    PyObject *make_error;
    zf_py_chunks *out;
} taking;

static const size_t no_chunk = SIZE_MAX;

// ---- Errors ---------------------------------------------------------------------------------------------------

/// Sets UsageError for a chunk, or no_chunk. Returns false.
__attribute__((format(printf, 3, 4))) static bool refuse(const taking *t, size_t chunk, const char *format, ...) {
    char text[400], place[260];
    zf_error error;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (chunk == no_chunk)
        snprintf(place, sizeof place, "column %.200s", t->name);
    else
        snprintf(place, sizeof place, "column %.200s, chunk %zu", t->name, chunk);
    zf_py_fail(&error, ZF_ERR_USAGE, place, "%s", text);
    zf_py_raise(t->make_error, &error);
    return false;
}

/// The name of an object's type, in `out`.
static const char *type_of(PyObject *object, char out[static 80]) {
    PyObject *name = PyType_GetName(Py_TYPE(object));
    const char *text = name != NULL ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    snprintf(out, 80, "%.79s", text != NULL ? text : "an unknown type");
    if (text == NULL) PyErr_Clear();
    Py_XDECREF(name);
    return out;
}

/// Replaces the exception that is set by UsageError, if it is one of those that objects of another type raise. `what`: their
/// right type. Returns false.
static bool refuse_raised(const taking *t, size_t chunk, const char *what) {
    PyObject *type, *value, *trace;
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError) &&
        !PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_NotImplementedError))
        return false; // the object's own, or memory ended
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    const char *reason = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (reason == NULL) PyErr_Clear();
    refuse(t, chunk, "%s: %.250s", what, reason != NULL ? reason : "it raised an error");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return false;
}

/// The items of an iterable, which nobody changes; NULL with an exception set. `wanted`: its right type, for errors.
static PyObject *items_of(const taking *t, PyObject *iterable, const char *wanted) {
    if (PyAnySet_Check(iterable) || PyDict_Check(iterable)) { // sets have no order
        refuse(t, no_chunk, "%s", wanted);
        return NULL;
    }
    PyObject *iterator = PyObject_GetIter(iterable);
    if (iterator == NULL) {
        refuse_raised(t, no_chunk, wanted);
        return NULL;
    }
    PyObject *items = PySequence_Tuple(iterator); // what an iterator raises passes
    Py_DECREF(iterator);
    return items;
}

// ---- Numbers --------------------------------------------------------------------------------------------------

/// A number for each chunk.
typedef struct numbers {
    const char *one, *all; ///< "size", "sizes", for errors
    Py_buffer view;        ///< `items` is NULL
    bool is_signed;
    PyObject *items; ///< a tuple
    size_t count;
} numbers;

static void free_numbers(numbers *n) {
    if (n->items == NULL && n->view.obj != NULL) PyBuffer_Release(&n->view);
    Py_XDECREF(n->items);
}

/// Whether a buffer has integers of one dimension, in this machine's order of bytes.
static bool check_numbers(const taking *t, numbers *n) {
    const char *format = n->view.format != NULL ? n->view.format : "B", *letter = format;
    Py_ssize_t size = n->view.itemsize;
    if (n->view.ndim != 1) return refuse(t, no_chunk, "%s has %d dimensions, and chunks have one", n->all, n->view.ndim);
    if (strchr("@=<>!", *letter) != NULL && *letter != 0) letter++;
    n->is_signed = *letter != 0 && strchr("bhilqn", *letter) != NULL;
    bool integers = n->is_signed || (*letter != 0 && strchr("BHILQN", *letter) != NULL);
    if (!integers || letter[1] != 0 || (size != 1 && size != 2 && size != 4 && size != 8))
        return refuse(t, no_chunk, "%s has elements of the format `%.40s`, which are no integers", n->all, format);
    if ((*format == '>' || *format == '!') && size > 1) return refuse(t, no_chunk, "%s has the highest byte first", n->all);
    n->count = (size_t)n->view.shape[0];
    return true;
}

/// Begins to read numbers of an object. Free `*out` with free_numbers, also after an exception.
static bool begin_numbers(const taking *t, PyObject *from, const char *one, const char *all, numbers *out) {
    char type[80], wanted[160];
    *out = (numbers){.one = one, .all = all};
    bool raw = PyBytes_Check(from) || PyByteArray_Check(from);
    snprintf(wanted, sizeof wanted, "%s must be an array of integers, not %s", all, type_of(from, type));
    if (raw || PyUnicode_Check(from)) return refuse(t, no_chunk, "%s", wanted);
    if (PyObject_CheckBuffer(from)) {
        if (PyObject_GetBuffer(from, &out->view, PyBUF_STRIDES | PyBUF_FORMAT) == 0) return check_numbers(t, out);
        out->view.obj = NULL;
        return refuse_raised(t, no_chunk, wanted);
    }
    out->items = items_of(t, from, wanted);
    if (out->items == NULL) return false;
    out->count = (size_t)PyTuple_Size(out->items);
    return true;
}

/// Reads an object of Python that is an integer from 0 to 2^64 - 1.
static bool read_integer(const taking *t, size_t chunk, const char *one, PyObject *object, uint64_t *out) {
    char type[80];
    int overflow = 0;
    PyObject *integer = PyNumber_Index(object);
    if (integer == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
        PyErr_Clear();
        return refuse(t, chunk, "the %s of chunk %zu must be an integer, not %s", one, chunk, type_of(object, type));
    }
    long long number = PyLong_AsLongLongAndOverflow(integer, &overflow);
    *out = overflow > 0 ? PyLong_AsUnsignedLongLong(integer) : (uint64_t)number;
    Py_DECREF(integer);
    if (overflow > 0 && PyErr_Occurred()) {
        PyErr_Clear();
        return refuse(t, chunk, "the %s of chunk %zu is 2^64 or more", one, chunk);
    }
    return overflow > 0 || number >= 0 || refuse(t, chunk, "the %s of chunk %zu is negative", one, chunk);
}

static bool read_number(const taking *t, const numbers *n, size_t k, uint64_t *out) {
    if (n->items != NULL) return read_integer(t, k, n->one, PyTuple_GetItem(n->items, (Py_ssize_t)k), out);
    const char *at = (const char *)n->view.buf + (Py_ssize_t)k * n->view.strides[0];
    int8_t byte;
    int16_t half;
    int32_t word;
    int64_t number = 0;
    // Signed ones are extended, and those of fewer bits masked where they have no sign.
    switch (n->view.itemsize) {
    case 1: memcpy(&byte, at, 1), number = n->is_signed ? byte : (uint8_t)byte; break;
    case 2: memcpy(&half, at, 2), number = n->is_signed ? half : (uint16_t)half; break;
    case 4: memcpy(&word, at, 4), number = n->is_signed ? word : (int64_t)(uint32_t)word; break;
    default: memcpy(&number, at, 8); break;
    }
    *out = (uint64_t)number;
    return !n->is_signed || number >= 0 || refuse(t, k, "the %s of chunk %zu is negative", n->one, k);
}

// ---- Bytes ----------------------------------------------------------------------------------------------------

static bool make_room(const taking *t, size_t chunks, size_t buffers) {
    t->out->chunks = PyMem_Calloc(chunks + 1, sizeof *t->out->chunks);
    t->out->held = PyMem_Calloc(buffers + 1, sizeof *t->out->held);
    if (t->out->chunks != NULL && t->out->held != NULL) return true;
    PyErr_NoMemory();
    return false;
}

/// Whether elements of a format of the buffer protocol are, or contain, objects of Python.
static bool has_objects(const char *format) {
    bool in_name = false; // of a field: `T{d:Open:}`
    for (; format != NULL && *format != 0; format++) {
        if (*format == ':') in_name = !in_name;
        if (*format == 'O' && !in_name) return true;
    }
    return false;
}

/// Holds the buffer of an object. `what`: the object, for errors.
static bool hold(const taking *t, size_t chunk, const char *what, PyObject *object) {
    char type[80], wanted[200];
    Py_buffer *view = &t->out->held[t->out->held_count];
    snprintf(wanted, sizeof wanted, "%s must be contiguous bytes-like data, and is %s", what, type_of(object, type));
    if (!PyObject_CheckBuffer(object)) return refuse(t, chunk, "%s", wanted);
    if (PyObject_GetBuffer(object, view, PyBUF_ND | PyBUF_FORMAT) != 0) return refuse_raised(t, chunk, wanted);
    t->out->held_count++;
    if (has_objects(view->format))
        return refuse(t, chunk, "%s must be contiguous bytes-like data, and has objects of Python", what);
    return true;
}

static bool take_pair(const taking *t, size_t chunk, PyObject *pair) {
    char type[80];
    bool two = (PyTuple_Check(pair) || PyList_Check(pair)) && PySequence_Size(pair) == 2;
    if (!two) return refuse(t, chunk, "chunk %zu must be a pair (bytes, rows), not %s", chunk, type_of(pair, type));
    PyObject *bytes = PySequence_GetItem(pair, 0), *rows = PySequence_GetItem(pair, 1);
    zf_wrapped_chunk *to = &t->out->chunks[chunk];
    char what[48];
    snprintf(what, sizeof what, "chunk %zu", chunk);
    bool taken =
        bytes != NULL && rows != NULL && hold(t, chunk, what, bytes) && read_integer(t, chunk, "number of rows", rows, &to->rows);
    if (taken) {
        const Py_buffer *view = &t->out->held[t->out->held_count - 1];
        to->bytes = view->buf;
        to->size = (uint64_t)view->len;
        t->out->count++;
    }
    Py_XDECREF(bytes);
    Py_XDECREF(rows);
    return taken;
}

bool zf_py_chunks_of_pairs(PyObject *pairs, const char *name, PyObject *make_error, zf_py_chunks *out) {
    char type[80];
    const taking t = {name, make_error, out};
    *out = (zf_py_chunks){0};
    char wanted[200];
    snprintf(wanted, sizeof wanted, "chunks must be pairs (bytes, rows), a mapping of bytes, sizes and rows, or a path, not %s",
             type_of(pairs, type));
    if (PyObject_CheckBuffer(pairs) || PyUnicode_Check(pairs)) return refuse(&t, no_chunk, "%s", wanted);
    PyObject *all = items_of(&t, pairs, wanted);
    if (all == NULL) return false;
    size_t count = (size_t)PyTuple_Size(all);
    bool taken = make_room(&t, count, count);
    for (size_t k = 0; taken && k < count; k++) taken = take_pair(&t, k, PyTuple_GetItem(all, (Py_ssize_t)k));
    Py_DECREF(all);
    return taken;
}

/// Places the chunks within the bytes that are held.
static bool place_chunks(const taking *t, const numbers *sizes, const numbers *rows, const numbers *offsets) {
    const Py_buffer *bytes = &t->out->held[0];
    uint64_t next = 0, all = (uint64_t)bytes->len;
    for (size_t k = 0; k < sizes->count; k++) {
        zf_wrapped_chunk *to = &t->out->chunks[k];
        uint64_t begin = next;
        if (!read_number(t, sizes, k, &to->size) || !read_number(t, rows, k, &to->rows)) return false;
        if (offsets != NULL && !read_number(t, offsets, k, &begin)) return false;
        if (begin > all || to->size > all - begin)
            return refuse(t, k, "chunk %zu has %llu bytes from byte %llu on, and there are %llu", k, (ull)to->size, (ull)begin,
                          (ull)all);
        to->bytes = (const char *)bytes->buf + begin;
        next = begin + to->size;
    }
    t->out->count = sizes->count;
    if (offsets != NULL || next == all) return true;
    return refuse(t, no_chunk, "the sizes add up to %llu bytes, and there are %llu: offsets say where chunks begin", (ull)next,
                  (ull)all);
}

bool zf_py_chunks_of_buffer(PyObject *bytes, PyObject *sizes, PyObject *rows, PyObject *offsets, const char *name,
                            PyObject *make_error, zf_py_chunks *out) {
    const taking t = {name, make_error, out};
    numbers size = {0}, row = {0}, offset = {0};
    bool placed = offsets != Py_None;
    *out = (zf_py_chunks){0};
    bool taken = begin_numbers(&t, sizes, "size", "sizes", &size) && begin_numbers(&t, rows, "number of rows", "rows", &row) &&
                 (!placed || begin_numbers(&t, offsets, "offset", "offsets", &offset));
    if (taken && (row.count != size.count || (placed && offset.count != size.count)))
        taken = refuse(&t, no_chunk, "there are %zu sizes and %zu %s", size.count,
                       row.count != size.count ? row.count : offset.count, row.count != size.count ? "rows" : "offsets");
    taken = taken && make_room(&t, size.count, 1) && hold(&t, no_chunk, "bytes", bytes) &&
            place_chunks(&t, &size, &row, placed ? &offset : NULL);
    free_numbers(&size);
    free_numbers(&row);
    free_numbers(&offset);
    return taken;
}

void zf_py_chunks_free(zf_py_chunks *chunks) {
    for (size_t k = 0; k < chunks->held_count; k++) PyBuffer_Release(&chunks->held[k]);
    PyMem_Free(chunks->held);
    PyMem_Free(chunks->chunks);
}
