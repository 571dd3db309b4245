#include "python/extension/compile/stream_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/extension/compile/arrow_import.h"
#include "python/extension/compile/interruptible.h"
#include "python/extension/compile/program_object.h"

#define ZF_PY_DICTIONARY_KEY "zipflow:dictionary:" ///< before the number of a column: the key of its entries

enum { PIECE = 1 << 14 }; ///< rows of a batch that are converted at once: they stay in the caches until they are copied

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

static PyObject *stream_schema(PyObject *self, PyObject *none) {
    (void)none;
    return zf_py_describe_schema(&((stream_object *)self)->schema);
}

// ---- Writing --------------------------------------------------------------------------------------------------

/// A column of the program's table.
typedef struct found_column {
    size_t number, parts;        ///< its first column among those of the program, and how many it is
    zf_column_type type, values; ///< of lists: nullable where they may be null, and the type of their values
    bool lists;
    bool strict; ///< within structs: its rows are null only where they are
} found_column;

/// The entries of a dictionary that the file keeps: their number (8 bytes), of strings their number + 1 offsets (8 bytes each,
/// the first is 0), and their bytes.
typedef struct kept_entries {
    char key[48], *bytes;
    size_t size;
} kept_entries;

/// The way from a batch to the array of a column: children of structs.
typedef struct way {
    int64_t *children; ///< the first is one of the batch
    size_t count;
    uint8_t *there; ///< rows of the batch whose structs are there; NULL: all. It is that of the last batch
    int64_t first;  ///< row of the array that is the first of the batch
    size_t room;    ///< bytes that `there` has room for
    uint8_t *bits;  ///< the memory of `there`
} way;

/// A file that is written. Its strings belong to the arguments of `write`.
typedef struct writing {
    ArrowArrayStream *stream;
    const ArrowSchema *schema;
    zf_program *program;
    const char *path;
    zf_encode_options options;
    zf_metadata *metadata; ///< the caller's, and behind them the entries of dictionaries
    kept_entries *kept;    ///< by column
    zf_encode_column *columns;
    way *ways; ///< by column: from the stream's batches to its array
    zf_py_input **inputs;
    found_column *found;    ///< by column
    zf_encode_stats *stats; ///< by column of the program's table, each part of lists being one
    size_t count;
    zf_table_writer *writer;
    bool started, done, producer_interrupted;
    ArrowArray batch;        ///< that was read, and is encoded next; `release` is NULL: the stream has ended
    atomic_bool interrupted; ///< the encoder stops
} writing;

/// Finds a column of the program's table, which is mostly column `*next`; `*next` becomes the number of the one behind it.
static zf_status find_column(const writing *w, const char *name, size_t *next, found_column *out, zf_error *error) {
    *out = (found_column){0};
    size_t count = zf_program_columns(w->program, NULL);
    for (size_t n = 0; n < count; n++) {
        size_t k = (*next + n) % count;
        zf_column_info info = {ZF_INIT(zf_column_info)};
        ZF_TRY_PY(zf_program_column(w->program, NULL, k, &info, error));
        if (out->parts == 0 && strcmp(info.name, name) != 0) continue;
        if (out->parts++ == 0)
            *out = (found_column){.number = k, .parts = 1, .type = info.type, .lists = info.part == ZF_LIST_ENDS};
        if (!out->lists || info.part == ZF_LIST_VALUES) {
            out->values = info.type;
            *next = k + 1;
            return ZF_OK;
        }
        out->type.nullable = info.part == ZF_LIST_VALIDITY;
    }
    return zf_py_fail(error, ZF_ERR_USAGE, name, "the program's table has no such column");
}

static zf_status start(writing *w, zf_error *error) {
    size_t next = 0;
    for (size_t k = 0; k < w->count; k++) {
        found_column *found = &w->found[k];
        const ArrowSchema *schema = w->schema;
        for (size_t depth = 0; depth < w->ways[k].count; depth++) {
            int64_t child = w->ways[k].children[depth];
            if (child < 0 || child >= schema->n_children || strcmp(schema->format, "+s") != 0)
                return zf_py_fail(error, ZF_ERR_USAGE, w->columns[k].full_name, "the Arrow data has no such column");
            schema = schema->children[child];
        }
        ZF_TRY_PY(find_column(w, w->columns[k].name, &next, found, error));
        bool plain = strcmp(schema->format, "n") != 0 && strcmp(schema->format, "+s") != 0;
        found->strict = w->ways[k].count > 1 && (schema->flags & ZF_ARROW_NULLABLE) == 0 && plain;
        ZF_TRY_PY(zf_py_input_new(schema, w->columns[k].full_name, &found->type, found->lists ? &found->values : NULL,
                                  &w->inputs[k], error));
    }
    return ZF_OK;
}

// ---- Structs --------------------------------------------------------------------------------------------------

/// Leaves only those rows of the batch that a struct has, whose first row is `first`. `strict`: it is not nullable, so it has
/// those that the structs around it have.
static zf_status narrow(way *to, const ArrowArray *array, int64_t first, int64_t rows, bool strict, int64_t *null) {
    const uint8_t *valid = array->null_count != 0 ? array->buffers[0] : NULL;
    size_t bytes = (size_t)(rows + 7) / 8;
    *null = -1;
    if (valid == NULL) return ZF_OK;
    if (bytes >= to->room) {
        uint8_t *more = realloc(to->bits, bytes + 1);
        if (more == NULL) return ZF_ERR_MEMORY;
        to->bits = more;
        to->room = bytes + 1;
    }
    if (to->there == NULL) memset(to->bits, 0xff, bytes);
    to->there = to->bits;
    for (int64_t k = 0; k < rows; k++) {
        if (zf_py_bit(valid, first + k)) continue;
        if (strict && zf_py_bit(to->there, k) && *null < 0) *null = k;
        to->there[k / 8] &= (uint8_t)~(1u << k % 8);
    }
    return ZF_OK;
}

/// Goes from a batch to the array of a column, and begins it.
static zf_status begin_column(writing *w, size_t k, const ArrowArray *batch, zf_error *error) {
    way *to = &w->ways[k];
    const ArrowArray *array = batch;
    const ArrowSchema *schema = w->schema;
    int64_t first = batch->offset;
    to->there = NULL;
    for (size_t depth = 0; depth < to->count; depth++) {
        int64_t child = to->children[depth];
        if (array->n_children != schema->n_children || (depth > 0 && array->n_buffers != 1) || array->dictionary != NULL)
            return zf_py_fail(error, ZF_ERR_INPUT, w->columns[k].full_name,
                              "an array of the Arrow data is not of the type that its schema has");
        array = array->children[child];
        schema = schema->children[child];
        if (array->offset < 0 || array->length < 0 || array->length - first < batch->length)
            return zf_py_fail(error, ZF_ERR_INPUT, w->columns[k].full_name,
                              "a batch of the Arrow stream has columns of different lengths");
        bool is_struct = strcmp(schema->format, "+s") == 0 && schema->dictionary == NULL;
        if (is_struct && array->n_buffers != 1)
            return zf_py_fail(error, ZF_ERR_INPUT, w->columns[k].full_name,
                              "an array of the Arrow data is not of the type that its schema has");
        int64_t null = -1;
        bool strict = (schema->flags & ZF_ARROW_NULLABLE) == 0;
        if (is_struct && narrow(to, array, array->offset + first, batch->length, strict, &null) != ZF_OK)
            return zf_py_fail(error, ZF_ERR_MEMORY, w->columns[k].full_name, "no memory for rows of structs");
        if (null >= 0)
            return zf_py_fail(error, ZF_ERR_INPUT, w->columns[k].full_name,
                              "row %llu of a struct is null, and the struct's type is not nullable",
                              (unsigned long long)(w->writer != NULL ? zf_table_writer_rows(w->writer) : 0) +
                                  (unsigned long long)null);
        if (depth + 1 < to->count) first += array->offset;
    }
    to->first = first;
    ZF_TRY_PY(zf_py_input_begin(w->inputs[k], array, error));
    zf_py_input_within(w->inputs[k], to->there, first, w->found[k].strict);
    return ZF_OK;
}

// ---- Dictionaries ---------------------------------------------------------------------------------------------

/// Entries of one column, and of all together, that a file keeps at most: opening reads them.
enum { ENTRIES_MOST = 1 << 20, ALL_ENTRIES_MOST = 1 << 23 };

static bool is_entry(const zf_py_entries *from, int64_t k) {
    const uint8_t *valid = from->rows->validity;
    return valid == NULL || (valid[k / 8] >> k % 8 & 1) != 0;
}

/// Copies the entries that are not null to `*out`, in the form of kept_entries. No more than ENTRIES_MOST: then `bytes` is NULL.
static zf_status copy_entries(const zf_py_entries *from, kept_entries *out, zf_error *error) {
    const zf_encode_column *rows = from->rows;
    uint64_t count = 0, bytes = 0;
    for (int64_t k = 0; k < from->count; k++) {
        if (!is_entry(from, k)) continue;
        count++;
        bytes += from->width > 0 ? from->width : (uint64_t)(rows->offsets[k + 1] - rows->offsets[k]) + 8;
    }
    *out = (kept_entries){.size = (from->width > 0 ? 8u : 16u) + bytes};
    if (bytes > ENTRIES_MOST) return ZF_OK;
    out->bytes = malloc(out->size);
    if (out->bytes == NULL) return zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for the entries of a dictionary");
    memcpy(out->bytes, &count, 8);
    char *offsets = out->bytes + 8, *values = from->width > 0 ? offsets : offsets + (count + 1) * 8;
    int64_t end = 0;
    if (from->width == 0) memcpy(offsets, &end, 8);
    for (int64_t k = 0; k < from->count; k++) {
        if (!is_entry(from, k)) continue;
        int64_t begin = from->width > 0 ? k * (int64_t)from->width : rows->offsets[k];
        size_t size = from->width > 0 ? from->width : (size_t)(rows->offsets[k + 1] - begin);
        memcpy(values + end, (const char *)rows->values + begin, size);
        end += (int64_t)size;
        if (from->width == 0) memcpy(offsets += 8, &end, 8);
    }
    return ZF_OK;
}

/// Keeps the entries of the first batch's dictionaries: whoever reads the file gets them in their order, unused ones too.
static zf_status keep_entries(writing *w, const ArrowArray *batch, zf_error *error) {
    size_t all = 0;
    for (size_t k = 0; batch != NULL && k < w->count; k++) {
        zf_py_entries entries;
        bool ordered;
        const char *name = w->columns[k].full_name;
        ZF_TRY_PY(begin_column(w, k, batch, error));
        if (!zf_py_input_entries(w->inputs[k], &entries, &ordered)) continue;
        kept_entries *kept = &w->kept[k];
        ZF_TRY_PY(copy_entries(&entries, kept, error));
        if (kept->bytes == NULL || all + kept->size > ALL_ENTRIES_MOST) {
            free(kept->bytes);
            kept->bytes = NULL;
            if (!ordered) continue;
            return zf_py_fail(error, ZF_ERR_UNSUPPORTED, name,
                              "an ordered dictionary has %zu bytes of entries, and a file keeps %d", kept->size, ENTRIES_MOST);
        }
        all += kept->size;
        snprintf(kept->key, sizeof kept->key, "%s%zu", ZF_PY_DICTIONARY_KEY, k);
        w->metadata[w->options.metadata_count++] = (zf_metadata){.key = kept->key, .value = kept->bytes, .bytes = kept->size};
    }
    return ZF_OK;
}

/// Refuses a batch with a dictionary whose entries have another order than those that the file keeps.
static zf_status check_order(const writing *w, size_t column, zf_error *error) {
    zf_py_entries entries;
    bool ordered;
    const kept_entries *kept = &w->kept[column];
    if (!zf_py_input_entries(w->inputs[column], &entries, &ordered) || !ordered) return ZF_OK;
    kept_entries now;
    ZF_TRY_PY(copy_entries(&entries, &now, error));
    uint64_t count = 0, most = 0;
    bool same = now.bytes != NULL && now.size <= kept->size;
    if (same) {
        memcpy(&count, now.bytes, 8);
        memcpy(&most, kept->bytes, 8);
        size_t offsets = entries.width > 0 ? 0 : 8 * (size_t)(count + 1),
               skipped = entries.width > 0 ? 0 : 8 * (size_t)(most + 1);
        same = count <= most && memcmp(now.bytes + 8, kept->bytes + 8, offsets) == 0 &&
               memcmp(now.bytes + 8 + offsets, kept->bytes + 8 + skipped, now.size - 8 - offsets) == 0;
    }
    free(now.bytes);
    if (same) return ZF_OK;
    return zf_py_fail(error, ZF_ERR_UNSUPPORTED, w->columns[column].full_name,
                      "an ordered dictionary has other entries, or another order, than in the first batch");
}

// ---- Batches --------------------------------------------------------------------------------------------------

/// `batch`: the first one, or NULL.
static zf_status create(writing *w, const ArrowArray *batch, zf_error *error) {
    ZF_TRY_PY(keep_entries(w, batch, error));
    return zf_table_writer_create(w->program, NULL, w->columns, w->count, &w->options, w->path, &w->writer, error);
}

static zf_status check_batch(const writing *w, const ArrowArray *batch, zf_error *error) {
    if (batch->n_children != w->schema->n_children || batch->length < 0 || batch->offset < 0) {
        return zf_py_fail(error, ZF_ERR_INPUT, "", "a batch of the Arrow stream is not of the type that its schema has");
    }
    const uint8_t *valid = batch->null_count != 0 && batch->n_buffers > 0 ? batch->buffers[0] : NULL;
    for (int64_t k = 0; valid != NULL && k < batch->length; k++) {
        int64_t at = batch->offset + k;
        if ((valid[at / 8] >> at % 8 & 1) == 0)
            return zf_py_fail(error, ZF_ERR_INPUT, "", "a row of the Arrow data is null as a whole");
    }
    return ZF_OK;
}

static zf_status append(writing *w, const ArrowArray *batch, zf_error *error) {
    for (size_t k = 0; k < w->count; k++) {
        ZF_TRY_PY(begin_column(w, k, batch, error));
        ZF_TRY_PY(check_order(w, k, error));
    }
    for (int64_t from = 0, rows; from < batch->length; from += rows) {
        rows = batch->length - from < PIECE ? batch->length - from : PIECE;
        for (size_t k = 0; k < w->count; k++) rows = zf_py_input_fit(w->inputs[k], w->ways[k].first + from, rows);
        uint64_t row = zf_table_writer_rows(w->writer);
        for (size_t k = 0; k < w->count; k++) {
            zf_encode_column part;
            ZF_TRY_PY(zf_py_input_rows(w->inputs[k], w->ways[k].first + from, rows, row, &part, error));
            w->columns[k].values = part.values;
            w->columns[k].offsets = part.offsets;
            w->columns[k].validity = part.validity;
        }
        ZF_TRY_PY(zf_table_writer_append(w->writer, w->columns, w->count, (uint64_t)rows, error));
    }
    return ZF_OK;
}

/// Whether KeyboardInterrupt ended the producer's code of Python: the last line of its reason has the class of the exception.
static bool was_interrupted(ArrowArrayStream *stream) {
    const char *reason = stream->get_last_error(stream), *const name = "KeyboardInterrupt";
    if (reason == NULL) return false;
    const char *line = reason, *last = reason;
    for (; *line != 0; line += line[strcspn(line, "\n")] != 0 ? strcspn(line, "\n") + 1 : strcspn(line, "\n"))
        if (*line != '\n') last = line;
    char behind = strncmp(last, name, strlen(name)) == 0 ? last[strlen(name)] : 'x';
    return behind == 0 || behind == '\n' || behind == ':';
}

/// Reads the next batch, on the calling thread: some producers know no other.
static zf_status read_batch(writing *w, zf_error *error) {
    if (!w->started) {
        w->started = true;
        ZF_TRY_PY(start(w, error));
    }
    w->batch = (ArrowArray){0};
    int failed = w->stream->get_next(w->stream, &w->batch);
    if (failed == 0) return ZF_OK;
    w->producer_interrupted = was_interrupted(w->stream);
    return fail_stream(w->stream, failed, error);
}

/// Encodes the batch that was read; after the last one the file is complete. `user`: a writing.
static zf_status encode_batch(void *user, zf_error *error) {
    writing *w = user;
    if (w->batch.release == NULL) {
        w->done = true;
        if (w->writer == NULL) ZF_TRY_PY(create(w, NULL, error));
        return zf_table_writer_finish(w->writer, w->stats, error);
    }
    zf_status status = check_batch(w, &w->batch, error);
    if (status == ZF_OK && w->writer == NULL) status = create(w, &w->batch, error);
    if (status == ZF_OK) status = append(w, &w->batch, error);
    w->batch.release(&w->batch);
    return status;
}

// ---- Arguments and results ------------------------------------------------------------------------------------

static bool take_columns(writing *w, PyObject *columns) {
    for (size_t k = 0; k < w->count; k++) {
        PyObject *children;
        way *to = &w->ways[k];
        if (!PyArg_ParseTuple(PyTuple_GetItem(columns, (Py_ssize_t)k), "yyO!", &w->columns[k].name, &w->columns[k].full_name,
                              &PyTuple_Type, &children))
            return false;
        to->children = calloc((size_t)PyTuple_Size(children) + 1, sizeof *to->children);
        if (to->children == NULL) {
            PyErr_NoMemory();
            return false;
        }
        for (; to->count < (size_t)PyTuple_Size(children); to->count++)
            to->children[to->count] = PyLong_AsLongLong(PyTuple_GetItem(children, (Py_ssize_t)to->count));
        if (PyErr_Occurred()) return false;
    }
    return true;
}

bool zf_py_take_metadata(PyObject *pairs, zf_metadata *to) {
    for (Py_ssize_t k = 0; k < PyTuple_Size(pairs); k++) {
        Py_ssize_t bytes;
        const char *value;
        if (!PyArg_ParseTuple(PyTuple_GetItem(pairs, k), "yy#", &to[k].key, &value, &bytes)) return false;
        to[k].value = value;
        to[k].bytes = (size_t)bytes;
    }
    return true;
}

static void free_writing(writing *w) {
    zf_table_writer_free(w->writer);
    for (size_t k = 0; w->inputs != NULL && k < w->count; k++) zf_py_input_free(w->inputs[k]);
    free(w->columns);
    for (size_t k = 0; w->ways != NULL && k < w->count; k++) {
        free(w->ways[k].children);
        free(w->ways[k].bits);
    }
    free(w->ways);
    free(w->inputs);
    free(w->found);
    free(w->stats);
    free(w->metadata);
    for (size_t k = 0; w->kept != NULL && k < w->count; k++) free(w->kept[k].bytes);
    free(w->kept);
}

static PyObject *write_all(const stream_object *s, writing *w) {
    while (!w->done) {
        zf_error error = {0};
        zf_status status;
        Py_BEGIN_ALLOW_THREADS status = read_batch(w, &error);
        Py_END_ALLOW_THREADS if (w->producer_interrupted) {
            PyErr_SetNone(PyExc_KeyboardInterrupt);
            return NULL;
        }
        if (status != ZF_OK) return zf_py_raise(s->make_error, &error);
        // An interrupt ends it at a block.
        if (!zf_py_run_interruptible(encode_batch, w, &w->interrupted, s->make_error) || PyErr_CheckSignals() != 0) return NULL;
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
/// (identifier, full name, numbers of children: of the stream, of its struct, and so on); `metadata`: (key, value). All text is
/// bytes.
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
    w.ways = calloc(w.count + 1, sizeof *w.ways);
    w.inputs = calloc(w.count + 1, sizeof(zf_py_input *));
    w.found = calloc(w.count + 1, sizeof *w.found);
    w.stats = calloc(zf_program_columns(w.program, NULL) + 1, sizeof *w.stats);
    if (w.stats != NULL) w.stats[0].size = sizeof *w.stats;
    w.metadata = calloc((size_t)PyTuple_Size(pairs) + w.count + 1, sizeof *w.metadata);
    w.kept = calloc(w.count + 1, sizeof *w.kept);
    bool made = w.kept != NULL && w.columns != NULL && w.ways != NULL && w.inputs != NULL && w.found != NULL && w.stats != NULL &&
                w.metadata != NULL;
    w.options.overwrite = overwrite;
    w.options.rows_per_block = rows;
    w.options.zones = (size_t)zones;
    w.options.schema = schema;
    w.options.schema_bytes = schema != NULL ? (size_t)schema_bytes : 0;
    w.options.progress = zf_py_not_interrupted;
    w.options.progress_user = &w.interrupted;
    w.options.metadata = w.metadata;
    w.options.metadata_count = (size_t)PyTuple_Size(pairs);
    PyObject *result = NULL;
    if (!made)
        PyErr_NoMemory();
    else if (take_columns(&w, columns) && zf_py_take_metadata(pairs, w.metadata))
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
