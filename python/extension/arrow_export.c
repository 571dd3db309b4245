#include "python/extension/arrow_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/extension/arrow_device.h"
#include "python/extension/column_object.h"
#include "python/extension/device_column.h"

// ---- Fields ---------------------------------------------------------------------------------------------------

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
        if (set_texts(out, name, format, metadata, bytes) && set_inner(&out->child, child) &&
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
    return out->name != NULL && (out->metadata != NULL) == (from->metadata != NULL) && copy_inner(&out->child, from->child) &&
           copy_inner(&out->dictionary, from->dictionary);
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

// ---- Schemas --------------------------------------------------------------------------------------------------

static void release_schema(ArrowSchema *schema) {
    for (int64_t k = 0; k < schema->n_children; k++) {
        if (schema->children[k]->release != NULL) schema->children[k]->release(schema->children[k]);
        free(schema->children[k]);
    }
    free(schema->children);
    if (schema->dictionary != NULL) {
        if (schema->dictionary->release != NULL) schema->dictionary->release(schema->dictionary);
        free(schema->dictionary);
    }
    free((char *)schema->format);
    free((char *)schema->name);
    free((char *)schema->metadata);
    schema->release = NULL;
}

/// `children` of them are made, without contents.
static bool fill_schema(ArrowSchema *out, const char *format, const char *name, int64_t flags, int64_t children) {
    *out = (ArrowSchema){.format = strdup(format), .name = strdup(name), .flags = flags, .release = release_schema};
    bool made = out->format != NULL && out->name != NULL;
    if (children > 0) out->children = calloc((size_t)children, sizeof *out->children);
    made = made && (children == 0 || out->children != NULL);
    for (int64_t k = 0; made && k < children; k++) {
        out->children[k] = calloc(1, sizeof(ArrowSchema));
        made = out->children[k] != NULL;
        out->n_children += made;
    }
    if (made) return true;
    release_schema(out);
    return false;
}

/// `metadata`: NULL: none. Whether there was memory.
static bool set_metadata(ArrowSchema *out, const char *metadata, size_t bytes) {
    if (metadata == NULL) return true;
    char *copy = malloc(bytes + 1);
    if (copy != NULL) memcpy(copy, metadata, bytes);
    out->metadata = copy;
    return copy != NULL;
}

static bool fill_field(ArrowSchema *out, const zf_py_field *field, const zf_py_storage *storage) {
    char format[ZF_PY_FORMAT];
    zf_py_format_of(field, storage, format);
    if (!fill_schema(out, format, field->name, field->flags, field->child != NULL ? 1 : 0)) return false;
    bool made = set_metadata(out, field->metadata, field->metadata_bytes);
    if (made && field->child != NULL) made = fill_field(out->children[0], field->child, storage != NULL ? storage->child : NULL);
    if (made && field->dictionary != NULL) {
        ArrowSchema *entries = calloc(1, sizeof *entries);
        made = entries != NULL && fill_field(entries, field->dictionary, storage != NULL ? storage->dictionary : NULL);
        if (made)
            out->dictionary = entries;
        else
            free(entries);
    }
    if (!made) release_schema(out);
    return made;
}

static void free_schema_capsule(PyObject *capsule) {
    ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release != NULL) schema->release(schema);
    free(schema);
}

static PyObject *wrap_schema(ArrowSchema *schema, bool made) {
    if (!made) {
        free(schema);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(schema, "arrow_schema", free_schema_capsule);
    if (capsule != NULL) return capsule;
    schema->release(schema);
    free(schema);
    return NULL;
}

PyObject *zf_py_schema_capsule(const zf_py_field *field, const zf_py_storage *storage) {
    ArrowSchema *schema = calloc(1, sizeof *schema);
    return wrap_schema(schema, schema != NULL && fill_field(schema, field, storage));
}

// ---- Arrays ---------------------------------------------------------------------------------------------------

/// The memory of an array, and its storage.
typedef struct held_array {
    void *storage;
    void (*release)(void *storage);
    const void *buffers[3], **more; ///< `more`: in place of `buffers`, where an array has more of them
    ArrowArray inner, *children[1]; ///< the values of lists, or a dictionary
} held_array;

static void release_array(ArrowArray *array) {
    held_array *held = array->private_data;
    if (held->inner.release != NULL) held->inner.release(&held->inner);
    held->release(held->storage);
    free(held->more);
    free(held);
    array->release = NULL;
}

bool zf_py_array_hold(ArrowArray *out, void *storage, void (*release)(void *storage)) {
    held_array *held = calloc(1, sizeof *held);
    if (held == NULL) {
        release(storage);
        return false;
    }
    held->storage = storage;
    held->release = release;
    *out = (ArrowArray){.buffers = held->buffers, .release = release_array, .private_data = held};
    return true;
}

void zf_py_array_add(ArrowArray *array, const void *buffer) {
    ((held_array *)array->private_data)->buffers[array->n_buffers++] = buffer;
}

ArrowArray *zf_py_array_child(ArrowArray *array) {
    held_array *held = array->private_data;
    held->children[0] = &held->inner;
    array->children = held->children;
    array->n_children = 1;
    return &held->inner;
}

ArrowArray *zf_py_array_dictionary(ArrowArray *array) {
    array->dictionary = &((held_array *)array->private_data)->inner;
    return array->dictionary;
}

static void release_storage(void *storage) { zf_py_storage_release(storage); }

/// The buffers of an array of views: validity, views, characters in pieces that the views' offsets reach, sizes of the pieces.
static bool add_views(ArrowArray *out, const zf_py_storage *storage) {
    held_array *held = out->private_data;
    int64_t pieces = zf_py_view_pieces((int64_t)storage->values_bytes);
    const void **buffers = calloc((size_t)pieces + 3, sizeof(void *));
    if (buffers == NULL) return false;
    buffers[0] = storage->null_count > 0 ? storage->validity : NULL;
    buffers[1] = storage->views;
    for (int64_t k = 0; k < pieces; k++) buffers[2 + k] = (const char *)storage->values + k * ZF_PY_VIEW_PIECE;
    buffers[2 + pieces] = storage->view_sizes;
    held->more = buffers;
    out->buffers = buffers;
    out->n_buffers = pieces + 3;
    return true;
}

static bool fill_array(ArrowArray *out, zf_py_storage *storage) {
    if (!zf_py_array_hold(out, zf_py_storage_hold(storage), release_storage)) return false;
    out->length = storage->rows;
    out->null_count = storage->null_count;
    if (storage->nothing) return true;
    bool made = true;
    if (storage->views != NULL) {
        made = add_views(out, storage);
    } else {
        zf_py_array_add(out, storage->null_count > 0 ? storage->validity : NULL);
        if (storage->offsets != NULL) zf_py_array_add(out, storage->offsets);
        if (storage->child == NULL) zf_py_array_add(out, storage->values);
    }
    if (made && storage->child != NULL) made = fill_array(zf_py_array_child(out), storage->child);
    if (made && storage->dictionary != NULL) made = fill_array(zf_py_array_dictionary(out), storage->dictionary);
    if (!made) out->release(out);
    return made;
}

static void free_array_capsule(PyObject *capsule) {
    ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array->release != NULL) array->release(array);
    free(array);
}

PyObject *zf_py_array_capsule(zf_py_storage *storage) {
    ArrowArray *array = calloc(1, sizeof *array);
    if (array == NULL || !fill_array(array, storage)) {
        free(array);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(array, "arrow_array", free_array_capsule);
    if (capsule != NULL) return capsule;
    array->release(array);
    free(array);
    return NULL;
}

// ---- Streams --------------------------------------------------------------------------------------------------

typedef struct table {
    size_t count;
    int64_t rows;
    zf_py_field *fields;
    zf_py_storage **storages;               ///< NULL: only a schema, or on a GPU
    zf_py_device_storage **device_storages; ///< NULL: none is on a GPU
    int number;                             ///< of that GPU
    char *metadata;                         ///< NULL: none
    size_t metadata_bytes;
    bool given; ///< the one batch
    // A stream of many batches. A storage has the rows of its column from `begins` on; they end where the column's block does.
    const zf_py_batches *batches; ///< NULL: there is one batch
    int64_t at, *begins;
    char failure[1024];
} table;

static void free_table(table *t) {
    for (size_t k = 0; k < t->count; k++) {
        zf_py_field_clear(&t->fields[k]);
        if (t->storages != NULL) zf_py_storage_release(t->storages[k]);
        if (t->device_storages != NULL) zf_py_device_storage_release(t->device_storages[k]);
    }
    free(t->fields);
    free(t->storages);
    free(t->device_storages);
    free(t->metadata);
    free(t->begins);
    if (t->batches != NULL) t->batches->release(t->batches->user);
    free((void *)t->batches);
    free(t);
}

/// Room for `count` columns, and the metadata: bytes or None. NULL with an exception set.
static table *make_table(Py_ssize_t count, bool data, PyObject *metadata) {
    table *t = calloc(1, sizeof *t);
    if (t == NULL) return (table *)PyErr_NoMemory();
    t->fields = calloc((size_t)count + 1, sizeof *t->fields);
    if (data) t->storages = calloc((size_t)count + 1, sizeof(zf_py_storage *));
    bool made = t->fields != NULL && (!data || t->storages != NULL);
    if (!made) PyErr_NoMemory();
    char *bytes = NULL;
    Py_ssize_t size = 0;
    if (made && metadata != Py_None) {
        made = PyBytes_AsStringAndSize(metadata, &bytes, &size) == 0;
        t->metadata = made ? malloc((size_t)size + 1) : NULL;
        if (made && t->metadata == NULL) PyErr_NoMemory();
        made = t->metadata != NULL;
        if (made) memcpy(t->metadata, bytes, (size_t)size);
        t->metadata_bytes = (size_t)size;
    }
    if (made) return t;
    free_table(t);
    return NULL;
}

static bool fill_table_schema(ArrowSchema *out, const table *t) {
    if (!fill_schema(out, "+s", "", 0, (int64_t)t->count)) return false;
    bool made = true;
    for (size_t k = 0; made && k < t->count; k++) {
        made = fill_field(out->children[k], &t->fields[k], t->storages == NULL ? NULL : t->storages[k]);
    }
    made = made && set_metadata(out, t->metadata, t->metadata_bytes);
    if (!made) release_schema(out);
    return made;
}

typedef struct held_struct {
    const void *buffers[1];
    ArrowArray **children;
    int64_t count;
} held_struct;

static void release_struct(ArrowArray *array) {
    held_struct *held = array->private_data;
    for (int64_t k = 0; k < held->count; k++) {
        if (held->children[k]->release != NULL) held->children[k]->release(held->children[k]);
        free(held->children[k]);
    }
    free(held->children);
    free(held);
    array->release = NULL;
}

/// Rows of an array.
static void take_part(ArrowArray *array, int64_t first, int64_t rows) {
    if (array->null_count == array->length)
        array->null_count = rows; // Arrow's type null, too
    else if (array->null_count != 0 && rows != array->length)
        array->null_count = -1;
    array->offset += first;
    array->length = rows;
}

static bool fill_struct(ArrowArray *out, const table *t) {
    held_struct *held = calloc(1, sizeof *held);
    if (held == NULL) return false;
    *out = (ArrowArray){
        .length = t->rows, .n_buffers = 1, .buffers = held->buffers, .release = release_struct, .private_data = held};
    held->children = calloc(t->count + 1, sizeof *held->children);
    bool made = held->children != NULL;
    for (size_t k = 0; made && k < t->count; k++) {
        held->children[k] = calloc(1, sizeof(ArrowArray));
        made = held->children[k] != NULL;
        held->count += made;
        made = made && (t->storages != NULL ? fill_array(held->children[k], t->storages[k])
                                            : zf_py_device_fill_array(held->children[k], t->device_storages[k]));
        if (made && t->batches != NULL) take_part(held->children[k], t->at - t->begins[k], t->rows);
    }
    out->children = held->children;
    out->n_children = held->count;
    if (!made) release_struct(out);
    return made;
}

static int stream_schema(ArrowArrayStream *stream, ArrowSchema *out) {
    const table *t = stream->private_data;
    if (t->batches == NULL) return fill_table_schema(out, t) ? 0 : ENOMEM;
    table plain = *t;
    plain.storages = NULL; // those of one batch
    return fill_table_schema(out, &plain) ? 0 : ENOMEM;
}

/// Returns the field, or one inside of it, whose type the rows do not have, and their format; NULL: there is none.
static const zf_py_field *find_other(const zf_py_field *field, const zf_py_storage *storage, char format[ZF_PY_FORMAT]) {
    if (field == NULL || storage == NULL) return NULL;
    zf_py_format_of(field, storage, format);
    if (strcmp(format, field->format) != 0) return field;
    const zf_py_field *other = find_other(field->child, storage->child, format);
    return other != NULL ? other : find_other(field->dictionary, storage->dictionary, format);
}

/// Decodes the next rows of the columns that have none left.
static zf_status decode_next(table *t, zf_error *error) {
    int64_t end = t->batches->first + t->batches->rows;
    for (size_t k = 0; k < t->count; k++) {
        zf_py_storage **storage = &t->storages[k];
        if (*storage == NULL || t->begins[k] + (*storage)->rows == t->at) {
            zf_py_storage_release(*storage);
            *storage = NULL;
            ZF_TRY_PY(t->batches->decode(t->batches->user, k, &t->fields[k], t->at, storage, error));
            t->begins[k] = t->at;
            char format[ZF_PY_FORMAT];
            const zf_py_field *other = find_other(&t->fields[k], *storage, format);
            if (other != NULL) {
                zf_py_storage_release(*storage);
                *storage = NULL; // the next call finds no rows of another type
                return zf_py_fail(error, ZF_ERR_UNSUPPORTED, t->fields[k].name,
                                  "rows of the column need the type `%s`, and the stream's is `%s`", format, other->format);
            }
        }
        if (t->begins[k] + (*storage)->rows < end) end = t->begins[k] + (*storage)->rows;
    }
    t->rows = end - t->at;
    return ZF_OK;
}

static int next_batch(table *t, ArrowArray *out) {
    zf_error error = {0};
    if (t->at == t->batches->first + t->batches->rows) return 0;
    zf_status status = decode_next(t, &error);
    if (status != ZF_OK) {
        const char *code = error.code;
        snprintf(t->failure, sizeof t->failure, "%s%s%.400s%s%.300s%s", code, *code != 0 ? ": " : "", error.message,
                 *error.place != 0 ? " (at " : "", error.place, *error.place != 0 ? ")" : "");
        return status == ZF_ERR_MEMORY ? ENOMEM : status == ZF_ERR_IO ? EIO : EINVAL;
    }
    if (!fill_struct(out, t)) return ENOMEM;
    t->at += t->rows;
    return 0;
}

static int stream_next(ArrowArrayStream *stream, ArrowArray *out) {
    table *t = stream->private_data;
    *out = (ArrowArray){0};
    if (t->batches != NULL) return next_batch(t, out);
    if (t->given) return 0;
    if (!fill_struct(out, t)) return ENOMEM;
    t->given = true;
    return 0;
}

static const char *stream_error(ArrowArrayStream *stream) {
    const table *t = stream->private_data;
    return t->failure[0] != 0 ? t->failure : "no memory";
}

static void release_stream(ArrowArrayStream *stream) {
    free_table(stream->private_data);
    stream->release = NULL;
}

static void free_stream_capsule(PyObject *capsule) {
    ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream->release != NULL) stream->release(stream);
    free(stream);
}

/// A capsule of a stream, which owns the table. NULL with an exception set.
static PyObject *wrap_stream(table *t) {
    ArrowArrayStream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        free_table(t);
        return PyErr_NoMemory();
    }
    *stream = (ArrowArrayStream){stream_schema, stream_next, stream_error, release_stream, t};
    PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", free_stream_capsule);
    if (capsule != NULL) return capsule;
    stream->release(stream);
    free(stream);
    return NULL;
}

PyObject *zf_py_export_stream(PyTypeObject *column_type, PyObject *arguments) {
    PyObject *columns, *metadata;
    long long rows;
    if (!PyArg_ParseTuple(arguments, "O!LO", &PyTuple_Type, &columns, &rows, &metadata)) return NULL;
    Py_ssize_t count = PyTuple_Size(columns);
    table *t = make_table(count, true, metadata);
    if (t == NULL) return NULL;
    t->rows = rows;
    for (Py_ssize_t k = 0; k < count; k++) {
        if (!zf_py_column_take(column_type, PyTuple_GetItem(columns, k), &t->fields[k], &t->storages[k])) {
            free_table(t);
            return NULL;
        }
        t->count++;
        if (t->storages[k]->rows != rows) {
            free_table(t);
            PyErr_SetString(PyExc_ValueError, "columns of a table have different numbers of rows");
            return NULL;
        }
    }
    return wrap_stream(t);
}

PyObject *zf_py_export_batches(const zf_py_batches *batches, PyObject *fields, PyObject *metadata) {
    Py_ssize_t count = PyTuple_Size(fields);
    zf_py_batches *copy = malloc(sizeof *copy);
    table *t = copy != NULL ? make_table(count, true, metadata) : NULL;
    if (t == NULL) {
        free(copy);
        batches->release(batches->user);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    *copy = *batches;
    t->batches = copy;
    t->at = batches->first;
    t->begins = calloc((size_t)count + 1, sizeof *t->begins);
    bool made = t->begins != NULL;
    if (!made) PyErr_NoMemory();
    for (Py_ssize_t k = 0; made && k < count; k++) {
        made = zf_py_field_set(&t->fields[k], PyTuple_GetItem(fields, k));
        t->count += made;
    }
    if (made) return wrap_stream(t);
    free_table(t);
    return NULL;
}

PyObject *zf_py_export_schema(PyTypeObject *column_type, PyTypeObject *device_type, PyObject *arguments) {
    PyObject *fields, *metadata;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyTuple_Type, &fields, &metadata)) return NULL;
    Py_ssize_t count = PyTuple_Size(fields);
    table *t = make_table(count, true, metadata);
    if (t == NULL) return NULL;
    bool made = true;
    for (Py_ssize_t k = 0; made && k < count; k++) {
        PyObject *field = PyTuple_GetItem(fields, k);
        if (PyObject_TypeCheck(field, column_type))
            made = zf_py_column_take(column_type, field, &t->fields[k], &t->storages[k]);
        else if (PyObject_TypeCheck(field, device_type))
            made = zf_py_device_column_field(field, &t->fields[k]);
        else
            made = zf_py_field_set(&t->fields[k], field);
        t->count += made;
    }
    ArrowSchema *schema = made ? calloc(1, sizeof *schema) : NULL;
    PyObject *capsule = made ? wrap_schema(schema, schema != NULL && fill_table_schema(schema, t)) : NULL;
    free_table(t);
    return capsule;
}

// ---- Streams of a GPU -----------------------------------------------------------------------------------------

static int device_stream_schema(ArrowDeviceArrayStream *stream, ArrowSchema *out) {
    return fill_table_schema(out, stream->private_data) ? 0 : ENOMEM;
}

static int device_stream_next(ArrowDeviceArrayStream *stream, ArrowDeviceArray *out) {
    table *t = stream->private_data;
    *out = (ArrowDeviceArray){.device_id = t->number, .device_type = ZF_ARROW_CUDA};
    if (t->given) return 0;
    if (!fill_struct(&out->array, t)) return ENOMEM;
    t->given = true;
    return 0;
}

static const char *device_stream_error(ArrowDeviceArrayStream *stream) {
    (void)stream;
    return "no memory";
}

static void release_device_stream(ArrowDeviceArrayStream *stream) {
    free_table(stream->private_data);
    stream->release = NULL;
}

static void free_device_stream_capsule(PyObject *capsule) {
    ArrowDeviceArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_device_array_stream");
    Py_BEGIN_ALLOW_THREADS if (stream->release != NULL) stream->release(stream);
    Py_END_ALLOW_THREADS free(stream);
}

PyObject *zf_py_export_device_stream(PyTypeObject *column_type, PyObject *arguments) {
    PyObject *columns, *metadata;
    long long rows;
    int number;
    if (!PyArg_ParseTuple(arguments, "O!LOi", &PyTuple_Type, &columns, &rows, &metadata, &number)) return NULL;
    Py_ssize_t count = PyTuple_Size(columns);
    table *t = make_table(count, false, metadata);
    if (t == NULL) return NULL;
    t->rows = rows;
    t->number = number;
    t->device_storages = calloc((size_t)count + 1, sizeof(zf_py_device_storage *));
    bool made = t->device_storages != NULL;
    if (!made) PyErr_NoMemory();
    for (Py_ssize_t k = 0; made && k < count; k++) {
        made = zf_py_device_column_take(column_type, PyTuple_GetItem(columns, k), &t->fields[k], &t->device_storages[k]);
        t->count += made;
        if (made && (t->device_storages[k]->rows != rows || t->device_storages[k]->gpu->number != number)) {
            PyErr_SetString(PyExc_ValueError, "columns of a table have different numbers of rows, or lie on different GPUs");
            made = false;
        }
    }
    ArrowDeviceArrayStream *stream = made ? calloc(1, sizeof *stream) : NULL;
    if (made && stream == NULL) PyErr_NoMemory();
    if (stream == NULL) {
        free_table(t);
        return NULL;
    }
    *stream = (ArrowDeviceArrayStream){ZF_ARROW_CUDA,       device_stream_schema,  device_stream_next,
                                       device_stream_error, release_device_stream, t};
    PyObject *capsule = PyCapsule_New(stream, "arrow_device_array_stream", free_device_stream_capsule);
    if (capsule != NULL) return capsule;
    stream->release(stream);
    free(stream);
    return NULL;
}
