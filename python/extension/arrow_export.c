#include "python/extension/arrow_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/extension/arrow_device.h"
#include "python/extension/column_object.h"
#include "python/extension/device_column.h"

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

static void drop_schema(void *held) {
    ArrowSchema *schema = held;
    if (schema->release != NULL) schema->release(schema);
    free(schema);
}

static void free_schema_capsule(PyObject *capsule) { drop_schema(PyCapsule_GetPointer(capsule, "arrow_schema")); }

/// A capsule that owns what it holds. `drop` frees that, and so does `destructor`, with the capsule. NULL with an exception set.
static PyObject *wrap(void *held, const char *name, PyCapsule_Destructor destructor, void (*drop)(void *held)) {
    PyObject *capsule = PyCapsule_New(held, name, destructor);
    if (capsule == NULL) drop(held);
    return capsule;
}

/// `made`: whether the schema, memory of its own, was filled.
static PyObject *wrap_schema(ArrowSchema *schema, bool made) {
    if (made) return wrap(schema, "arrow_schema", free_schema_capsule, drop_schema);
    free(schema);
    return PyErr_NoMemory();
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

static void drop_array(void *held) {
    ArrowArray *array = held;
    if (array->release != NULL) array->release(array);
    free(array);
}

static void free_array_capsule(PyObject *capsule) { drop_array(PyCapsule_GetPointer(capsule, "arrow_array")); }

PyObject *zf_py_array_capsule(zf_py_storage *storage) {
    ArrowArray *array = calloc(1, sizeof *array);
    if (array != NULL && fill_array(array, storage)) return wrap(array, "arrow_array", free_array_capsule, drop_array);
    free(array);
    return PyErr_NoMemory();
}

// ---- Streams --------------------------------------------------------------------------------------------------

typedef struct table {
    size_t count;
    int64_t rows;
    zf_py_field *fields; ///< of the columns
    zf_py_field *tops;   ///< of the stream: a struct has several columns; NULL: those of the columns
    size_t top_count;
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
    for (size_t k = 0; k < t->top_count; k++) zf_py_field_clear(&t->tops[k]);
    free(t->tops);
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

static bool is_struct(const zf_py_field *field) { return field->parts != NULL; }

/// Whether a struct has a column of its own.
static bool has_presence(const zf_py_field *field) { return (field->flags & ZF_ARROW_NULLABLE) != 0 || field->part_count == 0; }

static size_t top_count(const table *t) { return t->tops != NULL ? t->top_count : t->count; }
static const zf_py_field *top_of(const table *t, size_t k) { return t->tops != NULL ? &t->tops[k] : &t->fields[k]; }

/// `*column`: the number of the field's first column; it becomes that of the next field's.
static bool fill_top_schema(ArrowSchema *out, const table *t, const zf_py_field *field, size_t *column) {
    if (!is_struct(field)) {
        size_t k = (*column)++;
        return fill_field(out, field, t->storages == NULL ? NULL : t->storages[k]);
    }
    if (!fill_schema(out, "+s", field->name, field->flags, (int64_t)field->part_count)) return false;
    *column += has_presence(field);
    bool made = set_metadata(out, field->metadata, field->metadata_bytes);
    for (size_t k = 0; made && k < field->part_count; k++) made = fill_top_schema(out->children[k], t, &field->parts[k], column);
    if (!made) release_schema(out);
    return made;
}

static bool fill_table_schema(ArrowSchema *out, const table *t) {
    if (!fill_schema(out, "+s", "", 0, (int64_t)top_count(t))) return false;
    bool made = true;
    size_t column = 0;
    for (size_t k = 0; made && k < top_count(t); k++) made = fill_top_schema(out->children[k], t, top_of(t, k), &column);
    made = made && set_metadata(out, t->metadata, t->metadata_bytes);
    if (!made) release_schema(out);
    return made;
}

typedef struct held_struct {
    const void *buffers[1];
    uint8_t *validity; ///< NULL: no row is null
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
    free(held->validity);
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

/// An array of `count` children, without contents.
static bool begin_struct(ArrowArray *out, size_t count, int64_t rows) {
    held_struct *held = calloc(1, sizeof *held);
    if (held == NULL) return false;
    *out =
        (ArrowArray){.length = rows, .n_buffers = 1, .buffers = held->buffers, .release = release_struct, .private_data = held};
    held->children = calloc(count + 1, sizeof *held->children);
    bool made = held->children != NULL;
    for (size_t k = 0; made && k < count; k++) {
        held->children[k] = calloc(1, sizeof(ArrowArray));
        made = held->children[k] != NULL;
        held->count += made;
    }
    out->children = held->children;
    out->n_children = held->count;
    if (!made) release_struct(out);
    return made;
}

/// The first of the rows to be given of column `k`.
static int64_t first_row(const table *t, size_t k) { return t->batches != NULL ? t->at - t->begins[k] : 0; }

/// Which rows of a struct are there, from its column `k` of booleans. Whether there was memory.
static bool take_presence(ArrowArray *out, const table *t, size_t k) {
    held_struct *held = out->private_data;
    held->validity = zf_py_storage_memory((size_t)(t->rows + 7) / 8);
    if (held->validity == NULL) return false;
    int64_t there = 0, first = first_row(t, k);
    memset(held->validity, 0, (size_t)(t->rows + 7) / 8);
    for (int64_t row = 0; row < t->rows; row++) {
        bool is = zf_py_bit(t->storages[k]->values, first + row);
        held->validity[row / 8] |= (uint8_t)(is << row % 8);
        there += is;
    }
    out->null_count = t->rows - there;
    if (out->null_count > 0) held->buffers[0] = held->validity;
    return true;
}

/// The column of a struct's field that is not nullable: its nulls are those of the structs around it, whose rows `there` has.
/// Others are a failure of the table.
static bool drop_nulls(ArrowArray *out, table *t, size_t k, const uint8_t *there) {
    const zf_py_storage *s = t->storages[k];
    int64_t first = first_row(t, k);
    for (int64_t row = 0; row < t->rows; row++) {
        if (zf_py_bit(s->validity, first + row) || (there != NULL && !zf_py_bit(there, row))) continue;
        snprintf(t->failure, sizeof t->failure,
                 "row %lld of column %.300s is null, and its field in the file's Arrow schema is not nullable",
                 (long long)(t->batches != NULL ? t->at + row : row), t->fields[k].name);
        return false;
    }
    out->buffers[0] = NULL;
    out->null_count = 0;
    return true;
}

/// The array of a field. `*column` as fill_top_schema has it. `there`: the rows of the structs around it; NULL: all. False: no
/// memory, or a failure of the table.
static bool fill_top(ArrowArray *out, table *t, const zf_py_field *field, size_t *column, bool within, const uint8_t *there) {
    if (is_struct(field)) {
        if (!begin_struct(out, field->part_count, t->rows)) return false;
        bool presence = has_presence(field), made = !presence || take_presence(out, t, *column);
        *column += presence;
        if (made && presence) there = ((held_struct *)out->private_data)->validity;
        for (size_t k = 0; made && k < field->part_count; k++)
            made = fill_top(out->children[k], t, &field->parts[k], column, true, there);
        if (made && presence && (field->flags & ZF_ARROW_NULLABLE) == 0) { // an empty one: nulls are those of structs around it
            ((held_struct *)out->private_data)->buffers[0] = NULL;
            out->null_count = 0;
        }
        if (!made) release_struct(out);
        return made;
    }
    size_t k = (*column)++;
    if (t->storages == NULL) return zf_py_device_fill_array(out, t->device_storages[k]);
    if (!fill_array(out, t->storages[k])) return false;
    if (t->batches != NULL) take_part(out, first_row(t, k), t->rows);
    bool hides = within && (field->flags & ZF_ARROW_NULLABLE) == 0 && t->storages[k]->validity != NULL;
    if (!hides || drop_nulls(out, t, k, there)) return true;
    out->release(out);
    return false;
}

static bool fill_struct(ArrowArray *out, table *t) {
    if (!begin_struct(out, top_count(t), t->rows)) return false;
    bool made = true;
    size_t column = 0;
    for (size_t k = 0; made && k < top_count(t); k++) made = fill_top(out->children[k], t, top_of(t, k), &column, false, NULL);
    if (!made) release_struct(out);
    return made;
}

/// The number of the system for an array that was not made.
static int why_not(const table *t) { return t->failure[0] != 0 ? EINVAL : ENOMEM; }

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
    if (!fill_struct(out, t)) return why_not(t);
    t->at += t->rows;
    return 0;
}

static int stream_next(ArrowArrayStream *stream, ArrowArray *out) {
    table *t = stream->private_data;
    *out = (ArrowArray){0};
    if (t->batches != NULL) return next_batch(t, out);
    if (t->given) return 0;
    if (!fill_struct(out, t)) return why_not(t);
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

static void drop_stream(void *held) {
    ArrowArrayStream *stream = held;
    if (stream->release != NULL) stream->release(stream);
    free(stream);
}

static void free_stream_capsule(PyObject *capsule) { drop_stream(PyCapsule_GetPointer(capsule, "arrow_array_stream")); }

/// A capsule of a stream, which owns the table. NULL with an exception set.
static PyObject *wrap_stream(table *t) {
    ArrowArrayStream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        free_table(t);
        return PyErr_NoMemory();
    }
    *stream = (ArrowArrayStream){stream_schema, stream_next, stream_error, release_stream, t};
    return wrap(stream, "arrow_array_stream", free_stream_capsule, drop_stream);
}

/// Adds a column: an object of `column_type`. False with an exception set.
static bool add_column(table *t, PyTypeObject *column_type, PyObject *column) {
    if (!zf_py_column_take(column_type, column, &t->fields[t->count], &t->storages[t->count])) return false;
    t->count++;
    return true;
}

/// How many columns there are, those of structs counted.
static Py_ssize_t count_columns(PyObject *columns) {
    Py_ssize_t count = 0;
    for (Py_ssize_t k = 0; k < PyTuple_Size(columns); k++) {
        PyObject *one = PyTuple_GetItem(columns, k);
        bool of_struct = PyTuple_Check(one) && PyTuple_Size(one) == 2;
        count += of_struct ? PyTuple_Size(PyTuple_GetItem(one, 1)) : 1;
    }
    return count;
}

/// How many columns a field has.
static size_t columns_of(const zf_py_field *field) {
    if (!is_struct(field)) return 1;
    size_t count = has_presence(field);
    for (size_t k = 0; k < field->part_count; k++) count += columns_of(&field->parts[k]);
    return count;
}

/// Adds a struct: its field and its columns. False with an exception set.
static bool add_struct(table *t, PyTypeObject *column_type, PyObject *tuple, PyObject *columns) {
    if (!PyTuple_Check(columns)) {
        PyErr_SetString(PyExc_TypeError, "the columns of a struct are a tuple");
        return false;
    }
    zf_py_field *top = &t->tops[t->top_count];
    if (!zf_py_field_set(top, tuple)) return false;
    t->top_count++;
    if (!is_struct(top) || columns_of(top) != (size_t)PyTuple_Size(columns)) {
        PyErr_SetString(PyExc_ValueError, "a struct has other columns than its field");
        return false;
    }
    bool made = true;
    for (Py_ssize_t k = 0; made && k < PyTuple_Size(columns); k++) made = add_column(t, column_type, PyTuple_GetItem(columns, k));
    return made;
}

/// Room for the fields of the stream. False with an exception set.
static bool make_tops(table *t, Py_ssize_t count) {
    t->tops = calloc((size_t)count + 1, sizeof *t->tops);
    if (t->tops == NULL) PyErr_NoMemory();
    return t->tops != NULL;
}

/// A table of columns and structs, of `rows` rows; -1: of any. NULL with an exception set.
static table *take_table(PyTypeObject *column_type, PyObject *columns, int64_t rows, PyObject *metadata) {
    Py_ssize_t count = PyTuple_Size(columns);
    table *t = make_table(count_columns(columns), true, metadata);
    if (t == NULL) return NULL;
    t->rows = rows;
    bool made = make_tops(t, count);
    for (Py_ssize_t k = 0; made && k < count; k++) {
        PyObject *one = PyTuple_GetItem(columns, k);
        if (PyTuple_Check(one) && PyTuple_Size(one) == 2) {
            made = add_struct(t, column_type, PyTuple_GetItem(one, 0), PyTuple_GetItem(one, 1));
            continue;
        }
        made = add_column(t, column_type, one) && zf_py_field_copy(&t->tops[t->top_count], &t->fields[t->count - 1]);
        t->top_count += made;
    }
    for (size_t k = 0; made && k < t->count; k++) {
        made = rows < 0 || t->storages[k]->rows == rows;
        if (!made) PyErr_SetString(PyExc_ValueError, "columns of a table have different numbers of rows");
    }
    if (made) return t;
    free_table(t);
    return NULL;
}

PyObject *zf_py_export_stream(PyTypeObject *column_type, PyObject *arguments) {
    PyObject *columns, *metadata;
    long long rows;
    if (!PyArg_ParseTuple(arguments, "O!LO", &PyTuple_Type, &columns, &rows, &metadata)) return NULL;
    table *t = take_table(column_type, columns, rows, metadata);
    return t != NULL ? wrap_stream(t) : NULL;
}

PyObject *zf_py_export_struct(PyTypeObject *column_type, PyObject *make_error, PyObject *arguments) {
    PyObject *tuple, *columns;
    long long rows;
    if (!PyArg_ParseTuple(arguments, "OO!L", &tuple, &PyTuple_Type, &columns, &rows)) return NULL;
    PyObject *one = Py_BuildValue("((OO))", tuple, columns);
    table *t = one != NULL ? take_table(column_type, one, rows, Py_None) : NULL;
    Py_XDECREF(one);
    if (t == NULL) return NULL;
    ArrowSchema *schema = calloc(1, sizeof *schema);
    ArrowArray *array = calloc(1, sizeof *array);
    size_t column = 0;
    PyObject *types = wrap_schema(schema, schema != NULL && fill_top_schema(schema, t, &t->tops[0], &column));
    column = 0;
    PyObject *both = NULL;
    if (types != NULL) {
        zf_error error;
        bool made = array != NULL && fill_top(array, t, &t->tops[0], &column, false, NULL);
        if (!made && t->failure[0] != 0) zf_py_fail(&error, ZF_ERR_INPUT, t->tops[0].name, "%s", t->failure);
        if (!made && t->failure[0] != 0)
            zf_py_raise(make_error, &error);
        else if (!made)
            PyErr_NoMemory();
        PyObject *rows_of = made ? wrap(array, "arrow_array", free_array_capsule, drop_array) : NULL;
        if (made) array = NULL;
        if (rows_of != NULL) both = PyTuple_Pack(2, types, rows_of);
        Py_XDECREF(rows_of);
        Py_DECREF(types);
    }
    free(array);
    free_table(t);
    return both;
}

PyObject *zf_py_export_batches(const zf_py_batches *batches, PyObject *fields, PyObject *tops, PyObject *metadata) {
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
    made = made && make_tops(t, PyTuple_Size(tops));
    size_t columns = 0;
    for (Py_ssize_t k = 0; made && k < PyTuple_Size(tops); k++) {
        made = zf_py_field_set(&t->tops[k], PyTuple_GetItem(tops, k));
        t->top_count += made;
        columns += made ? columns_of(&t->tops[k]) : 0;
    }
    if (made && columns != t->count) PyErr_SetString(PyExc_ValueError, "a stream has other columns than its fields");
    if (made && columns == t->count) return wrap_stream(t);
    free_table(t);
    return NULL;
}

PyObject *zf_py_export_schema(PyTypeObject *column_type, PyTypeObject *device_type, PyObject *arguments) {
    PyObject *fields, *metadata;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyTuple_Type, &fields, &metadata)) return NULL;
    Py_ssize_t count = PyTuple_Size(fields);
    PyObject *first = count > 0 ? PyTuple_GetItem(fields, 0) : NULL;
    bool rows = first != NULL && (PyObject_TypeCheck(first, column_type) || (PyTuple_Check(first) && PyTuple_Size(first) == 2));
    table *t = rows ? take_table(column_type, fields, -1, metadata) : make_table(0, false, metadata);
    if (t == NULL) return NULL;
    bool made = rows || make_tops(t, count);
    for (Py_ssize_t k = 0; made && !rows && k < count; k++) {
        PyObject *field = PyTuple_GetItem(fields, k);
        zf_py_field *top = &t->tops[k];
        made = PyObject_TypeCheck(field, device_type) ? zf_py_device_column_field(field, top) : zf_py_field_set(top, field);
        t->top_count += made;
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

static void drop_device_stream(void *held) {
    ArrowDeviceArrayStream *stream = held;
    Py_BEGIN_ALLOW_THREADS if (stream->release != NULL) stream->release(stream);
    Py_END_ALLOW_THREADS free(stream);
}

static void free_device_stream_capsule(PyObject *capsule) {
    drop_device_stream(PyCapsule_GetPointer(capsule, "arrow_device_array_stream"));
}

/// Takes (columns, rows, metadata, number of the GPU); NULL with an exception set.
static table *device_table(PyTypeObject *column_type, PyObject *arguments) {
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
    if (made) return t;
    free_table(t);
    return NULL;
}

PyObject *zf_py_export_device_stream(PyTypeObject *column_type, PyObject *arguments) {
    table *t = device_table(column_type, arguments);
    if (t == NULL) return NULL;
    ArrowDeviceArrayStream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        free_table(t);
        return PyErr_NoMemory();
    }
    *stream = (ArrowDeviceArrayStream){ZF_ARROW_CUDA,       device_stream_schema,  device_stream_next,
                                       device_stream_error, release_device_stream, t};
    return wrap(stream, "arrow_device_array_stream", free_device_stream_capsule, drop_device_stream);
}

PyObject *zf_py_export_device_array(PyTypeObject *column_type, PyObject *arguments) {
    table *t = device_table(column_type, arguments);
    if (t == NULL) return NULL;
    ArrowDeviceArray array = {.device_id = t->number, .device_type = ZF_ARROW_CUDA};
    ArrowSchema *schema = calloc(1, sizeof *schema);
    PyObject *first = wrap_schema(schema, schema != NULL && fill_table_schema(schema, t)), *second = NULL, *both = NULL;
    if (first != NULL && !fill_struct(&array.array, t))
        PyErr_NoMemory();
    else if (first != NULL)
        second = zf_py_device_array_wrap(&array);
    if (second != NULL) both = PyTuple_Pack(2, first, second);
    Py_XDECREF(first);
    Py_XDECREF(second);
    free_table(t);
    return both;
}
