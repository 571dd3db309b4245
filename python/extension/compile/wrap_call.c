#include "python/extension/compile/wrap_call.h"

#include <string.h>

#include "python/extension/compile/chunk_import.h"
#include "python/extension/compile/interruptible.h"
#include "python/extension/compile/program_object.h"

/// A file that is written. Its strings belong to the arguments of the call.
typedef struct wrapping {
    zf_program *program;
    const char *path;
    zf_encode_options options;
    zf_metadata *metadata;
    zf_py_chunks *chunks; ///< by column
    Py_buffer *dictionaries;
    zf_wrapped_column *columns;
    zf_encode_stats *stats; ///< by column of the program's table
    size_t count, stats_count;
    atomic_bool interrupted;
} wrapping;

static zf_status wrap(void *user, zf_error *error) {
    wrapping *w = user;
    return zf_wrap(w->program, NULL, w->columns, w->count, &w->options, w->path, w->stats, error);
}

static bool make_room(wrapping *w, size_t pairs) {
    w->stats_count = zf_program_columns(w->program, NULL);
    size_t stats = w->stats_count > w->count ? w->stats_count : w->count;
    w->metadata = PyMem_Calloc(pairs + 1, sizeof *w->metadata);
    w->chunks = PyMem_Calloc(w->count + 1, sizeof *w->chunks);
    w->dictionaries = PyMem_Calloc(w->count + 1, sizeof *w->dictionaries);
    w->columns = PyMem_Calloc(w->count + 1, sizeof *w->columns);
    w->stats = PyMem_Calloc(stats + 1, sizeof *w->stats);
    if (w->metadata == NULL || w->chunks == NULL || w->dictionaries == NULL || w->columns == NULL || w->stats == NULL) {
        PyErr_NoMemory();
        return false;
    }
    w->stats[0].size = sizeof *w->stats;
    return true;
}

static bool take_column(wrapping *w, PyObject *column, size_t k, PyObject *make_error) {
    PyObject *dictionary, *bytes, *sizes = NULL, *rows = NULL, *offsets = NULL;
    zf_wrapped_column *to = &w->columns[k];
    if (!PyArg_ParseTuple(column, "yyOO|OOO", &to->name, &to->full_name, &dictionary, &bytes, &sizes, &rows, &offsets))
        return false;
    if (dictionary != Py_None) {
        if (PyObject_GetBuffer(dictionary, &w->dictionaries[k], PyBUF_SIMPLE) != 0) return false;
        to->dictionary = w->dictionaries[k].buf != NULL ? w->dictionaries[k].buf : "";
        to->dictionary_size = (uint64_t)w->dictionaries[k].len;
    }
    bool taken = offsets == NULL ? zf_py_chunks_of_pairs(bytes, to->full_name, make_error, &w->chunks[k])
                                 : zf_py_chunks_of_buffer(bytes, sizes, rows, offsets, to->full_name, make_error, &w->chunks[k]);
    to->chunks = w->chunks[k].chunks;
    to->chunk_count = w->chunks[k].count;
    return taken;
}

static PyObject *list_sizes(const wrapping *w) {
    PyObject *list = PyList_New(0);
    for (size_t k = 0; list != NULL && k < w->stats_count; k++) {
        PyObject *pair =
            Py_BuildValue("(KK)", (unsigned long long)w->stats[k].plain_bytes, (unsigned long long)w->stats[k].stored_bytes);
        if (pair == NULL || PyList_Append(list, pair) != 0) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static void free_wrapping(wrapping *w) {
    for (size_t k = 0; w->chunks != NULL && k < w->count; k++) zf_py_chunks_free(&w->chunks[k]);
    for (size_t k = 0; w->dictionaries != NULL && k < w->count; k++) PyBuffer_Release(&w->dictionaries[k]);
    PyMem_Free(w->metadata);
    PyMem_Free(w->chunks);
    PyMem_Free(w->dictionaries);
    PyMem_Free(w->columns);
    PyMem_Free(w->stats);
}

PyObject *zf_py_wrap(const zf_py_compile *types, PyObject *arguments) {
    PyObject *program, *columns, *pairs;
    int overwrite, zones;
    unsigned long long rows;
    wrapping w = {.options = {ZF_INIT(zf_encode_options)}};
    if (!PyArg_ParseTuple(arguments, "O!O!ypKIpO!", types->program, &program, &PyTuple_Type, &columns, &w.path, &overwrite, &rows,
                          &w.options.threads, &zones, &PyTuple_Type, &pairs))
        return NULL;
    w.program = zf_py_program_of(program);
    w.count = (size_t)PyTuple_Size(columns);
    w.options.overwrite = overwrite;
    w.options.rows_per_block = rows;
    w.options.zones = (size_t)zones;
    w.options.progress = zf_py_not_interrupted;
    w.options.progress_user = &w.interrupted;
    w.options.metadata_count = (size_t)PyTuple_Size(pairs);
    bool taken = make_room(&w, w.options.metadata_count) && zf_py_take_metadata(pairs, w.metadata);
    w.options.metadata = w.metadata;
    for (size_t k = 0; taken && k < w.count; k++)
        taken = take_column(&w, PyTuple_GetItem(columns, (Py_ssize_t)k), k, types->make_error);
    bool written = taken && zf_py_run_interruptible(wrap, &w, &w.interrupted, types->make_error);
    PyObject *list = written ? list_sizes(&w) : NULL;
    free_wrapping(&w);
    return list;
}

// ---- Files ----------------------------------------------------------------------------------------------------

/// A file that is searched.
typedef struct finding {
    const char *name;
    Py_buffer file;
    const char *dictionary; ///< NULL: none
    Py_ssize_t dictionary_size;
    zf_wrapped_chunk *chunks;
    size_t count;
    atomic_bool interrupted; // the search goes to its end
} finding;

static zf_status find(void *user, zf_error *error) {
    finding *f = user;
    return zf_chunks_find(f->name, f->file.buf, (uint64_t)f->file.len, f->dictionary, (uint64_t)f->dictionary_size, &f->chunks,
                          &f->count, error);
}

static PyObject *list_chunks(const finding *f) {
    Py_ssize_t bytes = (Py_ssize_t)(f->count * sizeof(uint64_t));
    PyObject *sizes = PyBytes_FromStringAndSize(NULL, bytes), *rows = PyBytes_FromStringAndSize(NULL, bytes), *both = NULL;
    if (sizes != NULL && rows != NULL) {
        for (size_t k = 0; k < f->count; k++) {
            memcpy(PyBytes_AsString(sizes) + k * sizeof(uint64_t), &f->chunks[k].size, sizeof(uint64_t));
            memcpy(PyBytes_AsString(rows) + k * sizeof(uint64_t), &f->chunks[k].rows, sizeof(uint64_t));
        }
        both = PyTuple_Pack(2, sizes, rows);
    }
    Py_XDECREF(sizes);
    Py_XDECREF(rows);
    return both;
}

PyObject *zf_py_find_chunks(const zf_py_compile *types, PyObject *arguments) {
    finding f = {0};
    if (!PyArg_ParseTuple(arguments, "yy*z#", &f.name, &f.file, &f.dictionary, &f.dictionary_size)) return NULL;
    PyObject *both = NULL;
    if (zf_py_run_interruptible(find, &f, &f.interrupted, types->make_error)) both = list_chunks(&f);
    zf_chunks_free(f.chunks);
    PyBuffer_Release(&f.file);
    return both;
}
