#include "python/extension/stream_object.h"

#include <stdlib.h>
#include <string.h>

#include "python/extension/arrow_import.h"
#include "python/extension/program_object.h"

enum { PIECE = 1 << 20 }; ///< rows of a batch that are converted at once

typedef struct stream_object {
    PyObject_HEAD PyTypeObject *program_type;
    PyObject *make_error;
    ArrowArrayStream stream;
    ArrowSchema schema;
    bool used;
} stream_object;

static zf_status fail_stream(ArrowArrayStream *stream, int number, zf_error *error) {
    const char *reason = stream->get_last_error(stream);
    return zf_py_fail(error, ZF_ERR_INPUT, "", "the Arrow stream failed: %.400s", reason != NULL ? reason : strerror(number));
}

PyObject *zf_py_stream_new(const zf_py_compile *types, PyObject *capsule) {
    ArrowArrayStream *from = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (from == NULL) return NULL;
    if (from->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the Arrow stream was taken by another consumer");
        return NULL;
    }
    allocfunc allocate = __extension__(allocfunc) PyType_GetSlot(types->stream, Py_tp_alloc);
    stream_object *self = (stream_object *)allocate(types->stream, 0);
    if (self == NULL) return NULL;
    self->program_type = (PyTypeObject *)Py_NewRef((PyObject *)types->program);
    self->make_error = Py_NewRef(types->make_error);
    self->stream = *from;
    from->release = NULL;
    int failed;
    Py_BEGIN_ALLOW_THREADS failed = self->stream.get_schema(&self->stream, &self->schema);
    Py_END_ALLOW_THREADS if (failed == 0) return (PyObject *)self;
    zf_error error;
    self->schema.release = NULL;
    fail_stream(&self->stream, failed, &error);
    zf_py_raise(types->make_error, &error);
    Py_DECREF(self);
    return NULL;
}

static void stream_dealloc(PyObject *self) {
    stream_object *s = (stream_object *)self;
    Py_BEGIN_ALLOW_THREADS // producers may take the GIL
        if (s->schema.release != NULL) s->schema.release(&s->schema);
    if (s->stream.release != NULL) s->stream.release(&s->stream);
    Py_END_ALLOW_THREADS Py_XDECREF((PyObject *)s->program_type);
    Py_XDECREF(s->make_error);
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = __extension__(freefunc) PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *)type);
}

// ---- Schema ---------------------------------------------------------------------------------------------------

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

/// (format, name, flags, metadata or None, (child, ...), dictionary or None)
static PyObject *describe(const ArrowSchema *schema, int depth) {
    if (depth > 64) {
        PyErr_SetString(PyExc_ValueError, "the Arrow schema nests more than 64 types");
        return NULL;
    }
    PyObject *children = PyTuple_New((Py_ssize_t)schema->n_children);
    for (int64_t k = 0; children != NULL && k < schema->n_children; k++) {
        PyObject *child = describe(schema->children[k], depth + 1);
        if (child == NULL || PyTuple_SetItem(children, (Py_ssize_t)k, child) != 0) {
            Py_DECREF(children);
            children = NULL;
        }
    }
    if (children == NULL) return NULL;
    PyObject *dictionary = schema->dictionary != NULL ? describe(schema->dictionary, depth + 1) : Py_NewRef(Py_None);
    if (dictionary == NULL) {
        Py_DECREF(children);
        return NULL;
    }
    Py_ssize_t bytes = schema->metadata != NULL ? metadata_bytes(schema->metadata) : 0;
    return Py_BuildValue("(ssLy#NN)", schema->format, schema->name != NULL ? schema->name : "", (long long)schema->flags,
                         schema->metadata != NULL ? schema->metadata : "", bytes, children, dictionary);
}

static PyObject *stream_schema(PyObject *self, PyObject *none) {
    (void)none;
    return describe(&((stream_object *)self)->schema, 0);
}

// ---- Writing --------------------------------------------------------------------------------------------------

/// A column of the program's table.
typedef struct found_column {
    size_t number, parts;        ///< its first column among those of the program, and how many it is
    zf_column_type type, values; ///< of lists: nullable where they may be null, and the type of their values
    bool lists;
} found_column;

/// A file that is written. Its strings belong to the arguments of `write`.
typedef struct writing {
    ArrowArrayStream *stream;
    const ArrowSchema *schema;
    zf_program *program;
    const char *path;
    zf_encode_options options;
    zf_metadata *metadata;
    zf_encode_column *columns;
    int64_t *children; ///< by column: of the stream
    zf_py_input **inputs;
    found_column *found;    ///< by column
    zf_encode_stats *stats; ///< by column of the program's table, each part of lists being one
    size_t count;
    zf_table_writer *writer;
    bool done;
} writing;

static zf_status find_column(const writing *w, const char *name, found_column *out, zf_error *error) {
    *out = (found_column){0};
    for (size_t k = 0; k < zf_program_columns(w->program, NULL); k++) {
        zf_column_info info = {ZF_INIT(zf_column_info)};
        ZF_TRY_PY(zf_program_column(w->program, NULL, k, &info, error));
        if (out->parts == 0 && strcmp(info.name, name) != 0) continue;
        if (out->parts++ == 0)
            *out = (found_column){.number = k, .parts = 1, .type = info.type, .lists = info.part == ZF_LIST_ENDS};
        if (!out->lists || info.part == ZF_LIST_VALUES) {
            out->values = info.type;
            return ZF_OK;
        }
        out->type.nullable = info.part == ZF_LIST_VALIDITY;
    }
    return zf_py_fail(error, ZF_ERR_USAGE, name, "the program's table has no such column");
}

static zf_status start(writing *w, zf_error *error) {
    for (size_t k = 0; k < w->count; k++) {
        found_column *found = &w->found[k];
        if (w->children[k] < 0 || w->children[k] >= w->schema->n_children) {
            return zf_py_fail(error, ZF_ERR_USAGE, w->columns[k].full_name, "the Arrow data has no such column");
        }
        ZF_TRY_PY(find_column(w, w->columns[k].name, found, error));
        ZF_TRY_PY(zf_py_input_new(w->schema->children[w->children[k]], w->columns[k].full_name, &found->type,
                                  found->lists ? &found->values : NULL, &w->inputs[k], error));
    }
    return zf_table_writer_create(w->program, NULL, w->columns, w->count, &w->options, w->path, &w->writer, error);
}

static zf_status append(writing *w, const ArrowArray *batch, zf_error *error) {
    if (batch->n_children != w->schema->n_children || batch->length < 0 || batch->offset < 0) {
        return zf_py_fail(error, ZF_ERR_INPUT, "", "a batch of the Arrow stream is not of the type that its schema has");
    }
    const uint8_t *valid = batch->null_count != 0 && batch->n_buffers > 0 ? batch->buffers[0] : NULL;
    for (int64_t k = 0; valid != NULL && k < batch->length; k++) {
        int64_t at = batch->offset + k;
        if ((valid[at / 8] >> at % 8 & 1) == 0)
            return zf_py_fail(error, ZF_ERR_INPUT, "", "a row of the Arrow data is null as a whole");
    }
    for (size_t k = 0; k < w->count; k++) {
        const ArrowArray *array = batch->children[w->children[k]];
        if (array->length < batch->offset + batch->length) {
            return zf_py_fail(error, ZF_ERR_INPUT, w->columns[k].full_name,
                              "a batch of the Arrow stream has columns of different lengths");
        }
        ZF_TRY_PY(zf_py_input_begin(w->inputs[k], array, error));
    }
    for (int64_t from = 0, rows; from < batch->length; from += rows) {
        rows = batch->length - from < PIECE ? batch->length - from : PIECE;
        for (size_t k = 0; k < w->count; k++) rows = zf_py_input_fit(w->inputs[k], batch->offset + from, rows);
        uint64_t row = zf_table_writer_rows(w->writer);
        for (size_t k = 0; k < w->count; k++) {
            zf_encode_column part;
            ZF_TRY_PY(zf_py_input_rows(w->inputs[k], batch->offset + from, rows, row, &part, error));
            w->columns[k].values = part.values;
            w->columns[k].offsets = part.offsets;
            w->columns[k].validity = part.validity;
        }
        ZF_TRY_PY(zf_table_writer_append(w->writer, w->columns, w->count, (uint64_t)rows, error));
    }
    return ZF_OK;
}

/// Reads and encodes one batch; after the last one the file is complete.
static zf_status step(writing *w, zf_error *error) {
    if (w->writer == NULL) return start(w, error);
    ArrowArray batch = {0};
    int failed = w->stream->get_next(w->stream, &batch);
    if (failed != 0) return fail_stream(w->stream, failed, error);
    if (batch.release == NULL) {
        w->done = true;
        return zf_table_writer_finish(w->writer, w->stats, error);
    }
    zf_status status = append(w, &batch, error);
    batch.release(&batch);
    return status;
}

static bool take_columns(writing *w, PyObject *columns) {
    for (size_t k = 0; k < w->count; k++) {
        long long child;
        if (!PyArg_ParseTuple(PyTuple_GetItem(columns, (Py_ssize_t)k), "yyL", &w->columns[k].name, &w->columns[k].full_name,
                              &child))
            return false;
        w->children[k] = child;
    }
    return true;
}

static bool take_metadata(writing *w, PyObject *pairs) {
    for (Py_ssize_t k = 0; k < PyTuple_Size(pairs); k++) {
        Py_ssize_t bytes;
        const char *value;
        if (!PyArg_ParseTuple(PyTuple_GetItem(pairs, k), "yy#", &w->metadata[k].key, &value, &bytes)) return false;
        w->metadata[k].value = value;
        w->metadata[k].bytes = (size_t)bytes;
    }
    return true;
}

static void free_writing(writing *w) {
    zf_table_writer_free(w->writer);
    for (size_t k = 0; w->inputs != NULL && k < w->count; k++) zf_py_input_free(w->inputs[k]);
    free(w->columns);
    free(w->children);
    free(w->inputs);
    free(w->found);
    free(w->stats);
    free(w->metadata);
}

static PyObject *write_all(const stream_object *s, writing *w) {
    while (!w->done) {
        zf_error error = {0};
        zf_status status;
        Py_BEGIN_ALLOW_THREADS status = step(w, &error);
        Py_END_ALLOW_THREADS if (status != ZF_OK) return zf_py_raise(s->make_error, &error);
        if (PyErr_CheckSignals() != 0) return NULL;
    }
    PyObject *list = PyList_New(0);
    for (size_t k = 0; list != NULL && k < w->count; k++) {
        const found_column *found = &w->found[k];
        unsigned long long plain = 0, stored = 0;
        for (size_t p = found->number; p < found->number + found->parts; p++) {
            plain += w->stats[p].plain_bytes;
            stored += w->stats[p].stored_bytes;
        }
        PyObject *pair = Py_BuildValue("(KK)", plain, stored);
        if (pair == NULL || PyList_Append(list, pair) != 0) {
            Py_DECREF(list);
            list = NULL;
        }
        Py_XDECREF(pair);
    }
    return list;
}

/// Arguments (program, columns, path, overwrite, rows per block, threads, zones, schema or None, metadata). `columns`:
/// (identifier, full name, number of the stream's child); `metadata`: (key, value). All text is bytes.
static PyObject *stream_write(PyObject *self, PyObject *arguments) {
    stream_object *s = (stream_object *)self;
    PyObject *program, *columns, *pairs;
    int overwrite, zones;
    unsigned long long rows;
    const char *schema;
    Py_ssize_t schema_bytes;
    writing w = {.stream = &s->stream, .schema = &s->schema, .options = {ZF_INIT(zf_encode_options)}};
    if (!PyArg_ParseTuple(arguments, "O!O!ypKIpz#O!", s->program_type, &program, &PyTuple_Type, &columns, &w.path, &overwrite,
                          &rows, &w.options.threads, &zones, &schema, &schema_bytes, &PyTuple_Type, &pairs))
        return NULL;
    if (s->used) {
        PyErr_SetString(PyExc_ValueError, "the Arrow stream was written already");
        return NULL;
    }
    s->used = true;
    w.program = zf_py_program_of(program);
    w.count = (size_t)PyTuple_Size(columns);
    w.columns = calloc(w.count + 1, sizeof *w.columns);
    w.children = calloc(w.count + 1, sizeof *w.children);
    w.inputs = calloc(w.count + 1, sizeof(zf_py_input *));
    w.found = calloc(w.count + 1, sizeof *w.found);
    w.stats = calloc(zf_program_columns(w.program, NULL) + 1, sizeof *w.stats);
    if (w.stats != NULL) w.stats[0].size = sizeof *w.stats;
    w.metadata = calloc((size_t)PyTuple_Size(pairs) + 1, sizeof *w.metadata);
    bool made =
        w.columns != NULL && w.children != NULL && w.inputs != NULL && w.found != NULL && w.stats != NULL && w.metadata != NULL;
    w.options.overwrite = overwrite;
    w.options.rows_per_block = rows;
    w.options.zones = (size_t)zones;
    w.options.schema = schema;
    w.options.schema_bytes = schema != NULL ? (size_t)schema_bytes : 0;
    w.options.metadata = w.metadata;
    w.options.metadata_count = (size_t)PyTuple_Size(pairs);
    PyObject *result = NULL;
    if (!made)
        PyErr_NoMemory();
    else if (take_columns(&w, columns) && take_metadata(&w, pairs))
        result = write_all(s, &w);
    Py_BEGIN_ALLOW_THREADS free_writing(&w);
    Py_END_ALLOW_THREADS return result;
}

static PyMethodDef methods[] = {
    {"schema", stream_schema, METH_NOARGS, "(format, name, flags, metadata, children, dictionary) of the stream's struct."},
    {"write", stream_write, METH_VARARGS, "Encodes all batches to a file; [(plain bytes, stored bytes)] by column."},
    {0},
};

static PyType_Slot slots[] = {
    ZF_SLOT(Py_tp_dealloc, stream_dealloc),
    {Py_tp_methods, methods},
    {Py_tp_doc, (char[]){"An Arrow stream."}},
    {0},
};

PyType_Spec zf_py_stream_spec = {.name = "zipflow._compile.Stream",
                                 .basicsize = sizeof(stream_object),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                                 .slots = slots};
