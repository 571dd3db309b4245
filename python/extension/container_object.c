#include "python/extension/container_object.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python/extension/column_object.h"
#include "python/extension/device_column.h"
#include "python/extension/file_reader.h"
#include "python/extension/gpu_read.h"

typedef struct container_object {
    PyObject_HEAD PyObject *home;
    const zf_py_types *types;
    PyObject *module; ///< owns `types`
    zf_container *container;
    Py_buffer memory; ///< of bytes-like data; `obj` is NULL elsewhere
    zf_py_reader *reader;
    size_t calls; ///< under way, without the GIL: the container closes after the last
    bool closed;
} container_object;

// ---- Calls ----------------------------------------------------------------------------------------------------

/// Calls the library without the GIL; requests of a reader are served meanwhile. False with an exception set.
static bool call(container_object *c, zf_status (*function)(void *user, zf_error *error), void *user) {
    zf_error error = {0};
    zf_status status;
    PyObject *failed = NULL;
    if (c->reader != NULL) {
        status = zf_py_reader_run(c->reader, function, user, &failed, &error);
    } else {
        Py_BEGIN_ALLOW_THREADS status = function(user, &error);
        Py_END_ALLOW_THREADS
    }
    bool ours = failed != NULL && PyErr_GivenExceptionMatches(failed, PyExc_Exception);
    if (failed != NULL && !ours) { // KeyboardInterrupt and the like, which nobody may lose: also where the call went well
        PyErr_SetObject((PyObject *)Py_TYPE(failed), failed);
        Py_DECREF(failed);
        return false;
    }
    if (status == ZF_OK) {
        Py_XDECREF(failed);
        return true;
    }
    zf_py_raise(c->types->make_error, &error);
    if (failed != NULL) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        PyException_SetCause(value, failed); // takes the reference
        PyErr_Restore(type, value, trace);
    }
    return false;
}

static void close_now(container_object *c) {
    zf_container *container = c->container;
    c->container = NULL; // first: other threads run while it closes
    // A forked child leaves it alone: threads of the parent may have held its locks.
    if (container != NULL && zf_py_home_of(c->home)->process == (long)getpid()) {
        Py_BEGIN_ALLOW_THREADS zf_container_close(container);
        Py_END_ALLOW_THREADS
    }
    if (c->memory.obj != NULL) PyBuffer_Release(&c->memory);
    zf_py_reader *reader = c->reader;
    c->reader = NULL;
    zf_py_reader_free(reader);
}

static bool begin(container_object *c) {
    if (c->closed) {
        PyErr_SetString(PyExc_ValueError, "the file is closed");
        return false;
    }
    if (zf_py_home_of(c->home)->process != (long)getpid()) {
        PyErr_SetString(PyExc_RuntimeError, "the file was opened before a fork: open it in the child");
        return false;
    }
    c->calls++;
    return true;
}

static void end(container_object *c) {
    if (--c->calls == 0 && c->closed) close_now(c);
}

static PyObject *container_close(PyObject *self, PyObject *none) {
    (void)none;
    container_object *c = (container_object *)self;
    if (!c->closed) {
        c->closed = true;
        if (c->calls == 0) close_now(c);
    }
    return Py_NewRef(Py_None);
}

// ---- Opening --------------------------------------------------------------------------------------------------

typedef struct opening {
    zf_context *context;
    const char *path;
    const void *memory;
    uint64_t bytes;
    zf_py_reader *reader;
    zf_open_options options;
    zf_container **out;
} opening;

static zf_status open_container(void *user, zf_error *error) {
    const opening *o = user;
    if (o->path != NULL) return zf_container_open_file(o->context, o->path, &o->options, o->out, error);
    if (o->memory != NULL) return zf_container_open_memory(o->context, o->memory, o->bytes, &o->options, o->out, error);
    const zf_byte_reader reader = {ZF_INIT(zf_byte_reader), .bytes = o->bytes, .read = zf_py_reader_read, .user = o->reader};
    return zf_container_open_reader(o->context, &reader, &o->options, o->out, error);
}

static bool open_source(container_object *c, PyObject *source, const char *name, int kind, bool known) {
    opening o = {.context = zf_py_home_of(c->home)->context,
                 .options = {ZF_INIT(zf_open_options), .name = kind == 0 ? NULL : name,
                             .programs = known ? ZF_PROGRAMS_KNOWN : ZF_PROGRAMS_ALL},
                 .out = &c->container};
    if (kind == 0) {
        o.path = PyBytes_AsString(source);
        return o.path != NULL && call(c, open_container, &o);
    }
    if (kind == 1) {
        if (PyObject_GetBuffer(source, &c->memory, PyBUF_SIMPLE) != 0) return false;
        o.memory = c->memory.buf != NULL ? c->memory.buf : ""; // empty data may be nowhere
        o.bytes = (uint64_t)c->memory.len;
        return call(c, open_container, &o);
    }
    PyObject *read;
    unsigned long long bytes;
    if (!PyArg_ParseTuple(source, "OK", &read, &bytes)) return false;
    c->reader = zf_py_reader_new(read);
    o.reader = c->reader;
    o.bytes = bytes;
    return c->reader != NULL && call(c, open_container, &o);
}

PyObject *zf_py_container_open(const zf_py_types *types, PyObject *arguments) {
    PyObject *home, *source, *module;
    const char *name;
    int kind, known;
    if (!PyArg_ParseTuple(arguments, "O!O!Oyip", &PyModule_Type, &module, types->home, &home, &source, &name, &kind, &known))
        return NULL;
    allocfunc allocate = __extension__(allocfunc) PyType_GetSlot(types->container, Py_tp_alloc);
    container_object *c = (container_object *)allocate(types->container, 0);
    if (c == NULL) return NULL;
    c->home = Py_NewRef(home);
    c->types = types;
    c->module = Py_NewRef(module);
    if (open_source(c, source, name, kind, known)) return (PyObject *)c;
    Py_DECREF(c);
    return NULL;
}

// ---- Facts ----------------------------------------------------------------------------------------------------

static PyObject *text(const char *from) { return PyUnicode_DecodeUTF8(from, (Py_ssize_t)strlen(from), "strict"); }

/// [(name, full name, element, logical, precision, scale, nullable, type, codec, blocks, rows per block, plain, stored, zones,
/// part, rows)]
static PyObject *container_columns(PyObject *self, PyObject *none) {
    (void)none;
    container_object *c = (container_object *)self;
    if (!begin(c)) return NULL;
    PyObject *list = PyList_New(0);
    size_t count = zf_container_columns(c->container);
    for (size_t k = 0; list != NULL && k < count; k++) {
        zf_error error;
        zf_column_info i = {ZF_INIT(zf_column_info)};
        PyObject *row = NULL;
        if (zf_container_column(c->container, k, &i, &error) != ZF_OK)
            zf_py_raise(c->types->make_error, &error);
        else
            row = Py_BuildValue("(NNiiiiONNKKKKKiK)", text(i.name), text(i.full_name), (int)i.type.element, (int)i.type.logical,
                                (int)i.type.precision, (int)i.type.scale, i.type.nullable ? Py_True : Py_False, text(i.type_name),
                                text(i.codec), (unsigned long long)i.blocks, (unsigned long long)i.rows_per_block,
                                (unsigned long long)i.plain_bytes, (unsigned long long)i.stored_bytes,
                                (unsigned long long)zf_container_zones(c->container, k), (int)i.part, (unsigned long long)i.rows);
        if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    end(c);
    return list;
}

/// (table, rows, bytes, schema or None, [(key, value)])
static PyObject *container_facts(PyObject *self, PyObject *none) {
    (void)none;
    container_object *c = (container_object *)self;
    if (!begin(c)) return NULL;
    size_t bytes = 0;
    const void *schema = zf_container_schema(c->container, &bytes);
    PyObject *list = PyList_New(0);
    for (size_t k = 0; list != NULL && k < zf_container_metadata_count(c->container); k++) {
        zf_error error;
        zf_metadata m;
        PyObject *pair = NULL;
        if (zf_container_metadata(c->container, k, &m, &error) != ZF_OK)
            zf_py_raise(c->types->make_error, &error);
        else
            pair = Py_BuildValue("(Ny#)", text(m.key), (const char *)m.value, (Py_ssize_t)m.bytes);
        if (pair == NULL || PyList_Append(list, pair) != 0) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    PyObject *facts = list == NULL
                          ? NULL
                          : Py_BuildValue("(NKKz#N)", text(zf_container_table(c->container)),
                                          (unsigned long long)zf_container_rows(c->container),
                                          (unsigned long long)zf_container_bytes(c->container), NULL, (Py_ssize_t)0, list);
    if (facts != NULL && schema != NULL) {
        PyObject *copy = PyBytes_FromStringAndSize(schema, (Py_ssize_t)bytes);
        if (copy == NULL || PyTuple_SetItem(facts, 3, copy) != 0) Py_CLEAR(facts);
    }
    end(c);
    return facts;
}

static PyObject *container_find(PyObject *self, PyObject *name) {
    container_object *c = (container_object *)self;
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    if (bytes == NULL || !begin(c)) {
        Py_XDECREF(bytes);
        return NULL;
    }
    zf_error error;
    size_t index = 0;
    char *characters;
    Py_ssize_t size;
    PyObject *found = NULL;
    if (PyBytes_AsStringAndSize(bytes, &characters, &size) != 0)
        found = NULL;
    else if (strlen(characters) != (size_t)size) // no name has a zero
        PyErr_SetString(PyExc_KeyError, "a column's name has no NUL character");
    else if (zf_container_find(c->container, characters, &index, &error) == ZF_OK)
        found = PyLong_FromSize_t(index);
    else
        zf_py_raise(c->types->make_error, &error);
    end(c);
    Py_DECREF(bytes);
    return found;
}

// ---- Decoding -------------------------------------------------------------------------------------------------

typedef struct sizing {
    const zf_py_decode *decode;
    zf_decode_sizes sizes;
} sizing;

static zf_status find_sizes(void *user, zf_error *error) {
    sizing *s = user;
    return zf_decode_size(s->decode->container, s->decode->column, &s->decode->options, &s->sizes, error);
}

/// Arguments (column, first row, rows, threads): (values, offsets, validity, workspace)
static PyObject *container_sizes(PyObject *self, PyObject *arguments) {
    container_object *c = (container_object *)self;
    unsigned long long first, rows;
    zf_py_decode d = {.options = {ZF_INIT(zf_decode_options), .some_rows = true}};
    if (!PyArg_ParseTuple(arguments, "nKKI", &d.column, &first, &rows, &d.options.threads) || !begin(c)) return NULL;
    d.container = c->container;
    d.options.row_begin = first;
    d.options.row_count = rows;
    sizing s = {.decode = &d, .sizes = {ZF_INIT(zf_decode_sizes)}};
    bool good = call(c, find_sizes, &s);
    end(c);
    return good ? Py_BuildValue("(KKKK)", (unsigned long long)s.sizes.values, (unsigned long long)s.sizes.offsets,
                                (unsigned long long)s.sizes.validity, (unsigned long long)s.sizes.workspace)
                : NULL;
}

typedef struct obtaining {
    zf_context *context;
    zf_code_request *requests;
    size_t count;
    unsigned threads;
} obtaining;

static zf_status obtain_code(void *user, zf_error *error) {
    const obtaining *o = user;
    return zf_code_obtain(o->context, "cpu", o->requests, o->count, o->threads, NULL, NULL, error);
}

/// Arguments (columns, first row, rows, threads): gets the code of columns, a tuple of numbers, over several threads. An
/// interrupt ends it between two columns.
static PyObject *container_obtain(PyObject *self, PyObject *arguments) {
    container_object *c = (container_object *)self;
    PyObject *columns;
    unsigned long long first, rows;
    obtaining o = {.context = zf_py_home_of(c->home)->context};
    zf_py_interrupt interrupt = zf_py_interrupt_begin();
    if (!PyArg_ParseTuple(arguments, "O!KKI", &PyTuple_Type, &columns, &first, &rows, &o.threads)) return NULL;
    o.count = (size_t)PyTuple_Size(columns);
    o.requests = calloc(o.count + 1, sizeof *o.requests);
    if (o.requests == NULL) return PyErr_NoMemory();
    bool good = begin(c);
    for (size_t k = 0; good && k < o.count; k++) {
        const size_t column = PyLong_AsSize_t(PyTuple_GetItem(columns, (Py_ssize_t)k));
        const zf_decode_options options = {
            ZF_INIT(zf_decode_options),     .some_rows = true,           .row_begin = first, .row_count = rows,
            .cancelled = zf_py_interrupted, .cancelled_user = &interrupt};
        o.requests[k] =
            (zf_code_request){ZF_INIT(zf_code_request), .container = c->container, .column = column, .options = options};
    }
    if (good) {
        good = !PyErr_Occurred() && call(c, obtain_code, &o);
        good = !zf_py_interrupt_raise(&interrupt) && good;
        end(c);
    }
    free(o.requests);
    return good ? Py_NewRef(Py_None) : NULL;
}

static zf_status decode_column(void *user, zf_error *error) { return zf_py_decode_run(user, error); }

/// Takes (address, bytes, owner) of each part, or None where it has none. False with an exception set.
static bool take_given(PyObject *parts, zf_py_given given[ZF_PY_PARTS]) {
    for (int p = 0; p < ZF_PY_PARTS; p++) {
        PyObject *part = PyTuple_GetItem(parts, p), *owner;
        unsigned long long address, room;
        if (part == NULL) return false;
        if (part == Py_None) continue;
        if (!PyTuple_Check(part)) {
            PyErr_SetString(PyExc_TypeError, "memory is a tuple");
            return false;
        }
        if (!PyArg_ParseTuple(part, "KKO", &address, &room, &owner)) return false;
        given[p] = (zf_py_given){(void *)(uintptr_t)address, (size_t)room, Py_NewRef(owner)};
    }
    return true;
}

/// Arguments (class, column, first row, rows, threads, field, entries, memory): a Column. `field`: as zf_py_field_set takes it;
/// `entries`: those of a dictionary that the file keeps, bytes or None; `memory`: None, or as take_given takes it.
static PyObject *container_decode(PyObject *self, PyObject *arguments) {
    container_object *c = (container_object *)self;
    PyObject *type, *tuple, *memory;
    unsigned long long first, rows;
    const char *entries;
    Py_ssize_t entries_bytes;
    zf_py_field field;
    zf_py_decode d = {.options = {ZF_INIT(zf_decode_options)}, .field = &field};
    if (!PyArg_ParseTuple(arguments, "O!nKKIOz#O", &PyType_Type, &type, &d.column, &first, &rows, &d.options.threads, &tuple,
                          &entries, &entries_bytes, &memory))
        return NULL;
    if (!PyType_IsSubtype((PyTypeObject *)type, c->types->column)) {
        PyErr_SetString(PyExc_TypeError, "the class of columns must be one of Column");
        return NULL;
    }
    if (!zf_py_field_set(&field, tuple)) return NULL;
    zf_py_drop_owners();
    bool good = memory == Py_None || take_given(memory, d.given);
    if (!good || !begin(c)) {
        for (int p = 0; p < ZF_PY_PARTS; p++) Py_XDECREF((PyObject *)d.given[p].owner);
        zf_py_field_clear(&field);
        return NULL;
    }
    d.entries = entries;
    d.entries_bytes = (size_t)entries_bytes;
    d.container = c->container;
    d.reader = c->reader;
    d.options.some_rows = first != 0 || rows != zf_container_rows(c->container);
    d.options.row_begin = first;
    d.options.row_count = rows;
    good = call(c, decode_column, &d);
    end(c);
    for (int p = 0; p < ZF_PY_PARTS; p++) Py_XDECREF((PyObject *)d.given[p].owner); // that no storage took
    if (!good) {
        zf_py_field_clear(&field);
        zf_py_storage_release(d.out);
        return NULL;
    }
    return zf_py_column_new((PyTypeObject *)type, c->types->buffer, &field, d.out);
}

// ---- Batches --------------------------------------------------------------------------------------------------

/// A column of a stream of batches.
typedef struct stream_column {
    size_t column;
    const void *entries; ///< of `kept`
    size_t entries_bytes;
} stream_column;

/// A stream of batches that reads a container.
typedef struct reading {
    container_object *c;
    PyObject *kept, *capsule; ///< the columns, and a capsule of this. It lasts as long as the stream, and ends it with the GIL
    unsigned threads;
    uint64_t end;
    stream_column *columns;
} reading;

static void end_reading(PyObject *capsule) {
    reading *r = PyCapsule_GetPointer(capsule, NULL);
    PyObject *container = (PyObject *)r->c;
    end(r->c);
    free(r->columns);
    Py_XDECREF(r->kept);
    free(r);
    Py_DECREF(container);
}

static void release_reading(void *user) { zf_py_drop_later(((reading *)user)->capsule); }

/// The rows from `first` on that are decoded together: to the end of a block, and about as many as MOST bytes hold.
static zf_status find_window(const reading *r, const zf_py_decode *d, uint64_t first, uint64_t *rows, zf_error *error) {
    const uint64_t MOST = UINT64_C(1) << 26;
    zf_column_info info = {ZF_INIT(zf_column_info)}, part = {ZF_INIT(zf_column_info)};
    ZF_TRY_PY(zf_container_column(d->container, d->column, &info, error));
    uint64_t bytes = info.plain_bytes, n = r->end - first, begin, block;
    ZF_TRY_PY(zf_container_block_of(d->container, d->column, first, &begin, &block, error));
    if (n > begin + block - first) n = begin + block - first;
    for (size_t k = d->column + 1; info.part == ZF_LIST_ENDS && k < zf_container_columns(d->container); k++) {
        ZF_TRY_PY(zf_container_column(d->container, k, &part, error));
        if (part.part == ZF_LIST_ENDS || part.part == ZF_LIST_NONE) break;
        bytes += part.plain_bytes;
    }
    uint64_t mean = bytes / info.rows + 1;
    if (n > MOST / mean) n = MOST / mean + 1;
    for (; info.type.element == ZF_STRING && n > 1; n /= 2) {
        zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
        zf_decode_options options = d->options;
        options.row_count = n;
        ZF_TRY_PY(zf_decode_size(d->container, d->column, &options, &sizes, error));
        if (sizes.values <= MOST) break;
    }
    *rows = n;
    return ZF_OK;
}

typedef struct window {
    const reading *r;
    zf_py_decode d;
} window;

static zf_status decode_window(void *user, zf_error *error) {
    window *w = user;
    ZF_TRY_PY(find_window(w->r, &w->d, w->d.options.row_begin, &w->d.options.row_count, error));
    return zf_py_decode_run(&w->d, error);
}

static int raise_in_main(void *user) {
    PyObject *failed = user;
    PyErr_SetObject((PyObject *)Py_TYPE(failed), failed);
    Py_DECREF(failed);
    return -1;
}

/// An exception that ends more than a read: Arrow's streams have a place for its text alone. KeyboardInterrupt interrupts; others
/// come to the main thread, if it is the one that reads.
static void hand_over(PyObject *failed) {
    if (PyErr_GivenExceptionMatches(failed, PyExc_Exception)) return;
    if (PyErr_GivenExceptionMatches(failed, PyExc_KeyboardInterrupt))
        PyErr_SetInterrupt();
    else if (zf_py_on_main_thread() && Py_AddPendingCall(raise_in_main, Py_NewRef(failed)) != 0)
        Py_DECREF(failed);
}

/// Decodes through a file object, which needs the GIL.
static zf_status decode_with_reader(window *w, zf_error *error) {
    if (!Py_IsInitialized())
        return zf_py_fail(error, ZF_ERR_IO, "", "Python has ended, and the file is read through an object of it");
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *failed = NULL;
    zf_status status = zf_py_reader_run(w->r->c->reader, decode_window, w, &failed, error);
    if (failed != NULL) hand_over(failed);
    Py_XDECREF(failed);
    PyGILState_Release(state);
    return status;
}

static zf_status decode_batch(void *user, size_t column, const zf_py_field *field, int64_t first, zf_py_storage **out,
                              zf_error *error) {
    const reading *r = user;
    const stream_column *from = &r->columns[column];
    window w = {
        .r = r,
        .d = {.container = r->c->container,
              .column = from->column,
              .options = {ZF_INIT(zf_decode_options), .threads = r->threads, .some_rows = true, .row_begin = (uint64_t)first},
              .field = field,
              .entries = from->entries,
              .entries_bytes = from->entries_bytes}};
    if (zf_py_home_of(r->c->home)->process != (long)getpid())
        return zf_py_fail(error, ZF_ERR_USAGE, "", "the stream was made before a fork: make it in the child");
    ZF_TRY_PY(r->c->reader != NULL ? decode_with_reader(&w, error) : decode_window(&w, error));
    *out = w.d.out;
    return ZF_OK;
}

/// Arguments (columns, fields, first row, rows, threads, metadata): a capsule of a stream of batches. `columns`: (column, field,
/// entries) as `decode` takes them; `fields`: those of the stream; `metadata`: bytes in Arrow's encoding, or None.
static PyObject *container_batches(PyObject *self, PyObject *arguments) {
    container_object *c = (container_object *)self;
    PyObject *columns, *tops, *metadata;
    unsigned long long first, rows;
    unsigned threads;
    if (!PyArg_ParseTuple(arguments, "O!O!KKIO", &PyTuple_Type, &columns, &PyTuple_Type, &tops, &first, &rows, &threads,
                          &metadata))
        return NULL;
    Py_ssize_t count = PyTuple_Size(columns);
    PyObject *fields = PyTuple_New(count);
    reading *r = calloc(1, sizeof *r);
    if (r != NULL) r->columns = calloc((size_t)count + 1, sizeof *r->columns);
    bool made = fields != NULL && r != NULL && r->columns != NULL;
    if (!made && fields != NULL) PyErr_NoMemory();
    for (Py_ssize_t k = 0; made && k < count; k++) {
        PyObject *field;
        Py_ssize_t bytes;
        made = PyArg_ParseTuple(PyTuple_GetItem(columns, k), "nOz#", &r->columns[k].column, &field, &r->columns[k].entries,
                                &bytes) &&
               PyTuple_SetItem(fields, k, Py_NewRef(field)) == 0;
        r->columns[k].entries_bytes = made ? (size_t)bytes : 0;
    }
    zf_py_drop_owners();
    if (made && begin(c)) {
        r->capsule = PyCapsule_New(r, NULL, end_reading);
        if (r->capsule != NULL) {
            r->c = (container_object *)Py_NewRef(self);
            r->kept = Py_NewRef(columns);
            r->threads = threads;
            r->end = first + rows;
            const zf_py_batches batches = {r, (int64_t)first, (int64_t)rows, decode_batch, release_reading};
            PyObject *capsule = zf_py_export_batches(&batches, fields, tops, metadata);
            Py_DECREF(fields);
            return capsule;
        }
        end(c);
    }
    Py_XDECREF(fields);
    if (r != NULL) free(r->columns);
    free(r);
    return NULL;
}

// ---- Decoding to a GPU ----------------------------------------------------------------------------------------

static zf_status find_gpu_sizes(void *user, zf_error *error) { return zf_py_gpu_read_sizes(user, error); }
static zf_status read_to_gpu(void *user, zf_error *error) { return zf_py_gpu_read_run(user, error); }

/// Begins a read: rows, and room for columns. False with an exception set.
static bool begin_gpu_read(container_object *c, zf_py_gpu_read *read, unsigned long long first, unsigned long long rows,
                           Py_ssize_t count) {
    zf_py_drop_owners();
    read->columns = calloc((size_t)count + 1, sizeof *read->columns);
    if (read->columns == NULL) {
        PyErr_NoMemory();
        return false;
    }
    if (!begin(c)) {
        free(read->columns);
        read->columns = NULL;
        return false;
    }
    read->home = zf_py_home_of(c->home);
    read->container = c->container;
    read->count = (size_t)count;
    read->options =
        (zf_decode_options){ZF_INIT(zf_decode_options), .some_rows = first != 0 || rows != zf_container_rows(c->container),
                            .row_begin = first, .row_count = rows};
    return true;
}

/// Arguments (device, columns, first row, rows): [(values, offsets, validity)], bytes of each column. `columns`: their numbers.
static PyObject *container_gpu_sizes(PyObject *self, PyObject *arguments) {
    container_object *c = (container_object *)self;
    PyObject *columns;
    unsigned long long first, rows;
    zf_py_gpu_read read = {0};
    if (!PyArg_ParseTuple(arguments, "sO!KK", &read.device, &PyTuple_Type, &columns, &first, &rows) ||
        !begin_gpu_read(c, &read, first, rows, PyTuple_Size(columns)))
        return NULL;
    bool good = true;
    for (size_t k = 0; good && k < read.count; k++) {
        read.columns[k].column = PyLong_AsSize_t(PyTuple_GetItem(columns, (Py_ssize_t)k));
        good = !PyErr_Occurred();
    }
    good = good && call(c, find_gpu_sizes, &read);
    end(c);
    PyObject *list = good ? PyList_New((Py_ssize_t)read.count) : NULL;
    for (size_t k = 0; list != NULL && k < read.count; k++) {
        const uint64_t *bytes = read.columns[k].bytes;
        PyObject *row = Py_BuildValue("(KKK)", (unsigned long long)bytes[ZF_PY_VALUES], (unsigned long long)bytes[ZF_PY_OFFSETS],
                                      (unsigned long long)bytes[ZF_PY_VALIDITY]);
        if (row == NULL || PyList_SetItem(list, (Py_ssize_t)k, row) != 0) Py_CLEAR(list);
    }
    free(read.columns);
    return list;
}

/// Takes column `k` of `decode_gpu`: its number and its width. `field` and `memory` are the caller's. False with an exception
/// set.
static bool take_gpu_column(PyObject *columns, size_t k, zf_py_gpu_column *out, PyObject **field, PyObject **memory) {
    Py_ssize_t width;
    PyObject *tuple = PyTuple_GetItem(columns, (Py_ssize_t)k);
    if (!PyArg_ParseTuple(tuple, "nOOn", &out->column, field, memory, &width)) return false;
    out->width = width;
    return true;
}

/// Makes the objects of columns that were read; takes over their storages. NULL with an exception set.
static PyObject *make_columns(const container_object *c, const zf_py_gpu_read *read, PyObject *columns) {
    PyObject *list = PyList_New(0);
    for (size_t k = 0; k < read->count; k++) {
        zf_py_device_storage *storage = read->columns[k].out;
        PyObject *tuple, *memory, *column;
        zf_py_field field;
        zf_py_gpu_column given;
        if (list != NULL && take_gpu_column(columns, k, &given, &tuple, &memory) && zf_py_field_set(&field, tuple)) {
            column =
                zf_py_device_column_new(c->types->device_column, c->types->device_buffer, c->types->make_error, &field, storage);
        } else {
            zf_py_device_storage_release(storage);
            column = NULL;
        }
        if (list != NULL && (column == NULL || PyList_Append(list, column) != 0)) Py_CLEAR(list);
        Py_XDECREF(column);
    }
    return list;
}

/// Arguments (device, stream, its owner, columns, first row, rows, threads): a list of DeviceColumns. `columns`: (column,
/// field, memory, width); `field` as zf_py_field_set takes it, `memory` is None, or as take_given takes it, `width` that of
/// zf_py_gpu_column.
static bool take_read(container_object *c, PyObject *arguments, zf_py_gpu_read *read, PyObject **columns, PyObject **owner) {
    unsigned long long stream, first, rows;
    unsigned threads;
    if (!PyArg_ParseTuple(arguments, "sKOO!KKI", &read->device, &stream, owner, &PyTuple_Type, columns, &first, &rows,
                          &threads) ||
        !begin_gpu_read(c, read, first, rows, PyTuple_Size(*columns)))
        return false;
    read->stream = (void *)(uintptr_t)stream;
    read->options.threads = threads;
    bool good = true;
    for (size_t k = 0; good && k < read->count; k++) {
        PyObject *tuple, *memory;
        good = take_gpu_column(*columns, k, &read->columns[k], &tuple, &memory);
        zf_py_given given[ZF_PY_PARTS] = {0};
        if (good && memory != Py_None) good = take_given(memory, given);
        for (int p = 0; p < ZF_PY_PARTS; p++)
            read->columns[k].given[p] =
                (zf_py_device_part){.allocated = (uintptr_t)given[p].at, .room = given[p].bytes, .owner = given[p].owner};
    }
    return good;
}

/// After a call: drops what nobody took. `good`: the storages keep the stream's owner.
static void settle_read(zf_py_gpu_read *read, PyObject *owner, bool good) {
    for (size_t k = 0; k < read->count; k++) {
        for (int p = 0; p < ZF_PY_PARTS; p++) Py_XDECREF(read->columns[k].given[p].owner); // of an error: nobody took them
        zf_py_device_storage *storage = good && owner != Py_None ? read->columns[k].out : NULL;
        for (; storage != NULL; storage = storage->child) storage->stream_owner = Py_NewRef(owner);
    }
}

static PyObject *container_decode_gpu(PyObject *self, PyObject *arguments) {
    container_object *c = (container_object *)self;
    PyObject *columns, *owner;
    zf_py_gpu_read read = {0};
    bool good = take_read(c, arguments, &read, &columns, &owner);
    if (read.columns == NULL) return NULL;
    good = good && call(c, read_to_gpu, &read);
    end(c);
    settle_read(&read, owner, good);
    for (size_t k = 0; !good && k < read.count; k++)
        zf_py_device_storage_release(read.columns[k].out); // the call may have gone well, and an interrupt come
    PyObject *list = good ? make_columns(c, &read, columns) : NULL;
    free(read.columns);
    zf_py_drop_owners();
    return list;
}

static zf_status start_to_gpu(void *user, zf_error *error) { return zf_py_gpu_read_start(user, error); }

static void end_hold(PyObject *capsule) {
    container_object *c = PyCapsule_GetContext(capsule);
    end(c);
    Py_DECREF((PyObject *)c);
}

/// A capsule that keeps the container open: the call that is under way is its. NULL with an exception set.
static PyObject *hold_new(container_object *c, void *pointer, const char *name) {
    PyObject *hold = PyCapsule_New(pointer, name, end_hold);
    if (hold == NULL) return NULL;
    PyCapsule_SetContext(hold, c);
    Py_INCREF((PyObject *)c);
    return hold;
}

/// The arguments of `decode_gpu`, and its columns as a Reading. Not for file objects, which only the calling thread reads.
static PyObject *container_start_gpu(PyObject *self, PyObject *arguments) {
    container_object *c = (container_object *)self;
    PyObject *columns, *owner, *started;
    zf_py_gpu_read *read = calloc(1, sizeof *read);
    if (read == NULL) return PyErr_NoMemory();
    bool good = take_read(c, arguments, read, &columns, &owner);
    if (read->columns == NULL) {
        free(read);
        return NULL;
    }
    good = good && call(c, start_to_gpu, read);
    settle_read(read, owner, good);
    PyObject *hold = good ? hold_new(c, c, NULL) : NULL;
    if (hold != NULL) {
        PyTypeObject *const types[3] = {c->types->reading, c->types->device_column, c->types->device_buffer};
        started = zf_py_reading_new(types, c->types->make_error, read, columns, hold);
        Py_DECREF(hold);
        return started;
    }
    zf_py_gpu_read_end(read);
    for (size_t k = 0; k < read->count; k++) zf_py_device_storage_release(read->columns[k].out);
    free(read->columns);
    free(read);
    end(c);
    return NULL;
}

/// A capsule of the library's container for _compile. Not for file objects, which only the calling thread reads.
static PyObject *container_hold(PyObject *self, PyObject *none) {
    (void)none;
    container_object *c = (container_object *)self;
    if (!begin(c)) return NULL;
    PyObject *hold = hold_new(c, c->container, ZF_PY_CONTAINER_CAPSULE);
    if (hold == NULL) end(c);
    return hold;
}

// ---- The type -------------------------------------------------------------------------------------------------

static int container_traverse(PyObject *self, visitproc visit, void *arg) {
    container_object *c = (container_object *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(c->home);
    Py_VISIT(c->module);
    Py_VISIT(c->memory.obj);
    if (c->reader != NULL) Py_VISIT(zf_py_reader_function(c->reader));
    return 0;
}

static int container_clear(PyObject *self) { // its reader may hold whoever holds it
    container_object *c = (container_object *)self;
    if (c->calls > 0) return 0;
    c->closed = true;
    close_now(c);
    return 0;
}

static void container_dealloc(PyObject *self) {
    container_object *c = (container_object *)self;
    PyObject_GC_UnTrack(self);
    close_now(c);
    Py_XDECREF(c->home);
    Py_XDECREF(c->module);
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = __extension__(freefunc) PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *)type);
}

static PyMethodDef methods[] = {
    {"close", container_close, METH_NOARGS, "Closes the file once no call uses it."},
    {"columns", container_columns, METH_NOARGS, "A tuple of facts for each column."},
    {"facts", container_facts, METH_NOARGS, "(table, rows, bytes, schema or None, [(key, value)])"},
    {"find", container_find, METH_O, "The index of a column by its name or full name."},
    {"sizes", container_sizes, METH_VARARGS, "Bytes that a decode needs."},
    {"gpu_sizes", container_gpu_sizes, METH_VARARGS, "Bytes that a decode to a GPU needs."},
    {"decode_gpu", container_decode_gpu, METH_VARARGS, "Columns, or some of their rows, in a GPU's memory."},
    {"start_gpu", container_start_gpu, METH_VARARGS, "The same, as a Reading."},
    {"obtain", container_obtain, METH_VARARGS, "Gets the code of columns over several threads, before they are decoded."},
    {"decode", container_decode, METH_VARARGS, "A column, or some of its rows."},
    {"hold", container_hold, METH_NOARGS, "A capsule for zipflow._compile, which keeps the file open."},
    {"batches", container_batches, METH_VARARGS, "A capsule of an Arrow stream of columns, block by block."},
    {0},
};

static PyType_Slot slots[] = {
    ZF_SLOT(Py_tp_dealloc, container_dealloc),
    ZF_SLOT(Py_tp_traverse, container_traverse),
    ZF_SLOT(Py_tp_clear, container_clear),
    {Py_tp_methods, methods},
    {Py_tp_doc, (char[]){"An open container of the library."}},
    {0},
};

PyType_Spec zf_py_container_spec = {.name = "zipflow._runtime.Container",
                                    .basicsize = sizeof(container_object),
                                    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                             Py_TPFLAGS_IMMUTABLETYPE,
                                    .slots = slots};
