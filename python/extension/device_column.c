#include "python/extension/device_column.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python/extension/arrow_device.h"
#include "python/extension/tensor_type.h"

// ---- Memory of a GPU, shared ----------------------------------------------------------------------------------

static void hold(void *storage) { zf_py_device_storage_hold(storage); }
static void release(void *storage) { zf_py_device_storage_release(storage); }
static zf_status copy(const void *storage, void *to, const void *from, size_t bytes, zf_error *error) {
    return zf_py_device_copy(storage, to, (uint64_t)(uintptr_t)from, bytes, error);
}
static zf_status use(void *storage, void *stream, zf_error *error) { return zf_py_device_storage_use(storage, stream, error); }
static const zf_py_sharing on_gpu_sharing = {hold, release, copy, use};

static zf_py_tensor tensor_of(zf_py_device_storage *storage, uint64_t at, int64_t count, int64_t width, DLDataType type,
                              PyObject *make_error) {
    return (zf_py_tensor){
        storage, &on_gpu_sharing, (void *)(uintptr_t)at, count, width, type, {ZF_DL_CUDA, storage->gpu->number}, make_error};
}

static PyObject *device_of(const zf_py_device_storage *storage) {
    return Py_BuildValue("(ii)", ZF_DL_CUDA, storage->gpu->number);
}

/// __cuda_array_interface__, version 3. The stream of the read, unless the rows are there.
static PyObject *interface_of(const zf_py_device_storage *storage, uint64_t at, int64_t count, int64_t width, DLDataType type) {
    const char kind = type.code == ZF_DL_INT ? 'i' : type.code == ZF_DL_UINT ? 'u' : 'f';
    return Py_BuildValue(
        "{s:N,s:N,s:(KO),s:i,s:O,s:N}", "shape",
        width > 0 ? Py_BuildValue("(LL)", (long long)count, (long long)width) : Py_BuildValue("(L)", (long long)count), "typestr",
        PyUnicode_FromFormat("%c%c%d", type.bits == 8 ? '|' : '<', kind, type.bits / 8), "data", (unsigned long long)at, Py_False,
        "version", 3, "strides", Py_None, "stream", storage->checked ? Py_NewRef(Py_None) : PyLong_FromVoidPtr(storage->stream));
}

static void free_object(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc deallocate = __extension__(freefunc) PyType_GetSlot(type, Py_tp_free);
    deallocate(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *new_object(PyTypeObject *type) {
    allocfunc allocate = __extension__(allocfunc) PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

/// Gives the reference of an object back. Where the GPU has no pools this may wait for the stream.
static void release_memory(zf_py_device_storage *storage) {
    Py_BEGIN_ALLOW_THREADS zf_py_device_storage_release(storage);
    Py_END_ALLOW_THREADS zf_py_drop_owners();
}

// ---- DeviceBuffer ---------------------------------------------------------------------------------------------

typedef struct buffer_object {
    PyObject_HEAD zf_py_device_storage *storage;
    PyObject *make_error;
    uint64_t at;
    int64_t count;
    unsigned bit;
    DLDataType type;
} buffer_object;

static void buffer_dealloc(PyObject *self) {
    buffer_object *b = (buffer_object *)self;
    release_memory(b->storage);
    Py_XDECREF(b->make_error);
    free_object(self);
}

static Py_ssize_t buffer_length(PyObject *self) { return (Py_ssize_t)((buffer_object *)self)->count; }

static PyObject *buffer_dlpack(PyObject *self, PyObject *arguments, PyObject *keywords) {
    const buffer_object *b = (buffer_object *)self;
    const zf_py_tensor tensor = tensor_of(b->storage, b->at, b->count, 0, b->type, b->make_error);
    return zf_py_dlpack(&tensor, arguments, keywords);
}

static PyObject *buffer_device(PyObject *self, PyObject *none) {
    (void)none;
    return device_of(((buffer_object *)self)->storage);
}

static PyObject *buffer_interface(PyObject *self, void *closure) {
    (void)closure;
    const buffer_object *b = (buffer_object *)self;
    return interface_of(b->storage, b->at, b->count, 0, b->type);
}

static PyObject *buffer_bit(PyObject *self, void *closure) {
    (void)closure;
    return PyLong_FromUnsignedLong(((buffer_object *)self)->bit);
}

static PyMethodDef buffer_methods[] = {
    {"__dlpack__", __extension__(PyCFunction)(void (*)(void)) buffer_dlpack, METH_VARARGS | METH_KEYWORDS,
     "The buffer as a DLPack capsule, without a copy."},
    {"__dlpack_device__", buffer_device, METH_NOARGS, "(2, number of the GPU)."},
    {0},
};

static PyGetSetDef buffer_members[] = {
    {"__cuda_array_interface__", buffer_interface, NULL, "The buffer by CUDA's array interface, without a copy.", NULL},
    {"bit_offset", buffer_bit, NULL, "Bitmaps: bits before the first row, 0 to 31; else 0.", NULL},
    {0},
};

static PyType_Slot buffer_slots[] = {
    ZF_SLOT(Py_tp_dealloc, buffer_dealloc),
    ZF_SLOT(Py_sq_length, buffer_length),
    {Py_tp_methods, buffer_methods},
    {Py_tp_getset, buffer_members},
    {Py_tp_doc, (char[]){"Elements of a column in a GPU's memory: DLPack and CUDA's array interface."}},
    {0},
};

PyType_Spec zf_py_device_buffer_spec = {.name = "zipflow._runtime.DeviceBuffer",
                                        .basicsize = sizeof(buffer_object),
                                        .flags =
                                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                                        .slots = buffer_slots};

// ---- DeviceColumn ---------------------------------------------------------------------------------------------

typedef struct column_object {
    PyObject_HEAD zf_py_device_storage *storage;
    zf_py_field field;
    PyTypeObject *buffer_type;
    PyObject *make_error;
} column_object;

PyObject *zf_py_device_column_new(PyTypeObject *type, PyTypeObject *buffer_type, PyObject *make_error, zf_py_field *field,
                                  zf_py_device_storage *storage) {
    column_object *self = (column_object *)new_object(type);
    if (self == NULL) {
        zf_py_field_clear(field);
        zf_py_device_storage_release(storage);
        return NULL;
    }
    self->storage = storage;
    self->field = *field;
    if (storage->child != NULL && storage->width == 0) strcpy(self->field.format, "+L"); // also where the type has one length
    self->buffer_type = (PyTypeObject *)Py_NewRef((PyObject *)buffer_type);
    self->make_error = Py_NewRef(make_error);
    return (PyObject *)self;
}

static void column_dealloc(PyObject *self) {
    column_object *c = (column_object *)self;
    release_memory(c->storage);
    zf_py_field_clear(&c->field);
    Py_XDECREF((PyObject *)c->buffer_type);
    Py_XDECREF(c->make_error);
    free_object(self);
}

/// False with an exception set.
static bool count_nulls(zf_py_device_storage *storage, PyObject *make_error, int64_t *nulls) {
    zf_error error;
    zf_status status;
    Py_BEGIN_ALLOW_THREADS status = zf_py_device_nulls(storage, nulls, &error);
    Py_END_ALLOW_THREADS if (status == ZF_OK) return true;
    zf_py_raise(make_error, &error);
    return false;
}

/// The storage and the field of a column's numbers: its own, or of lists of one length those of their values. Refuses others by
/// an exception of `kind`; then NULL.
static zf_py_device_storage *find_numbers(const column_object *c, const zf_py_field **field, PyObject *kind) {
    zf_py_device_storage *s = c->storage;
    *field = &c->field;
    if (s->width > 0 && zf_py_plain_numbers(c->field.child->format)) {
        s = s->child;
        *field = c->field.child;
    }
    if (!zf_py_plain_numbers((*field)->format)) {
        PyErr_Format(kind, "column %s has Arrow's type `%s`, which is no number: its memory is in .values%s", c->field.name,
                     c->field.format, c->storage->parts[ZF_PY_OFFSETS].allocated != 0 ? " and .offsets" : "");
        return NULL;
    }
    int64_t nulls, inner;
    if (!count_nulls(c->storage, c->make_error, &nulls) || !count_nulls(s, c->make_error, &inner)) return NULL;
    if (nulls + inner == 0) return s;
    PyErr_Format(kind, "column %s has %lld nulls: its memory is in .values and .validity", c->field.name,
                 (long long)(nulls > 0 ? nulls : inner));
    return NULL;
}

/// Counts nulls, and refuses a column that is no Arrow array, or not checked: the array has no event. False with an exception
/// set.
static bool check_arrow(const column_object *c) {
    int64_t nulls;
    if (!c->storage->checked) {
        zf_error error;
        zf_py_fail(&error, ZF_ERR_USAGE, c->field.name,
                   "unverified rows are no Arrow array, whose rows must be there: use result()");
        zf_py_raise(c->make_error, &error);
        return false;
    }
    for (zf_py_device_storage *s = c->storage; s != NULL; s = s->child) {
        if (!count_nulls(s, c->make_error, &nulls)) return false;
    }
    if (zf_py_device_fits_arrow(c->storage)) return true;
    PyErr_Format(PyExc_BufferError, "column %s has validity and values that begin at different bits: read other rows",
                 c->field.name);
    return false;
}

bool zf_py_device_column_take(PyTypeObject *type, PyObject *object, zf_py_field *field, zf_py_device_storage **storage) {
    if (!PyObject_TypeCheck(object, type)) {
        PyErr_SetString(PyExc_TypeError, "a table of a GPU has its columns");
        return false;
    }
    const column_object *c = (column_object *)object;
    if (!check_arrow(c) || !zf_py_field_copy(field, &c->field)) return false;
    *storage = zf_py_device_storage_hold(c->storage);
    return true;
}

bool zf_py_device_column_field(PyObject *object, zf_py_field *field) {
    return zf_py_field_copy(field, &((column_object *)object)->field);
}

static PyObject *column_schema(PyObject *self, PyObject *none) {
    (void)none;
    return zf_py_schema_capsule(&((column_object *)self)->field, NULL);
}

/// Keywords that later versions of the interface have must be None.
static bool known_keywords(PyObject *keywords) {
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (keywords != NULL && PyDict_Next(keywords, &at, &name, &value)) {
        if (value == Py_None || PyUnicode_CompareWithASCIIString(name, "requested_schema") == 0) continue;
        PyErr_Format(PyExc_NotImplementedError, "__arrow_c_device_array__ has no argument %U", name);
        return false;
    }
    return true;
}

static PyObject *column_array(PyObject *self, PyObject *arguments, PyObject *keywords) {
    const column_object *c = (column_object *)self;
    PyObject *requested = Py_None; // the stored type is what there is: a consumer converts it
    if (!PyArg_ParseTuple(arguments, "|O:__arrow_c_device_array__", &requested) || !known_keywords(keywords) || !check_arrow(c))
        return NULL;
    PyObject *schema = column_schema(self, NULL);
    PyObject *array = schema == NULL ? NULL : zf_py_device_array_capsule(c->storage);
    PyObject *both = array == NULL ? NULL : PyTuple_Pack(2, schema, array);
    Py_XDECREF(schema);
    Py_XDECREF(array);
    return both;
}

static Py_ssize_t column_length(PyObject *self) { return (Py_ssize_t)((column_object *)self)->storage->rows; }

static DLDataType type_of(const column_object *c) { return zf_py_type_of_column(c->field.format, c->storage->element); }

static PyObject *column_dlpack(PyObject *self, PyObject *arguments, PyObject *keywords) {
    const column_object *c = (column_object *)self;
    const zf_py_field *field;
    const zf_py_device_storage *s = find_numbers(c, &field, PyExc_BufferError);
    if (s == NULL) return NULL;
    const zf_py_tensor tensor = tensor_of(c->storage, s->parts[ZF_PY_VALUES].at, c->storage->rows, c->storage->width,
                                          zf_py_type_of_column(field->format, s->element), c->make_error);
    return zf_py_dlpack(&tensor, arguments, keywords);
}

static PyObject *column_device(PyObject *self, PyObject *none) {
    (void)none;
    return device_of(((column_object *)self)->storage);
}

static PyObject *column_interface(PyObject *self, void *closure) {
    (void)closure;
    const column_object *c = (column_object *)self;
    const zf_py_field *field;
    const zf_py_device_storage *s = find_numbers(c, &field, PyExc_AttributeError); // so that hasattr says whether there is one
    if (s == NULL) return NULL;
    return interface_of(c->storage, s->parts[ZF_PY_VALUES].at, c->storage->rows, c->storage->width,
                        zf_py_type_of_column(field->format, s->element));
}

static PyObject *new_buffer(const column_object *c, int part, DLDataType type) {
    const zf_py_device_part *p = &c->storage->parts[part];
    if (p->allocated == 0) return Py_NewRef(Py_None);
    buffer_object *b = (buffer_object *)new_object(c->buffer_type);
    if (b == NULL) return NULL;
    b->storage = zf_py_device_storage_hold(c->storage);
    b->make_error = Py_NewRef(c->make_error);
    b->at = p->at;
    b->count = (int64_t)(p->bytes / (type.bits / 8));
    b->bit = p->bit;
    b->type = type;
    return (PyObject *)b;
}

static PyObject *column_values(PyObject *self, void *closure) {
    (void)closure;
    const column_object *c = (column_object *)self;
    zf_py_field field;
    if (c->storage->child == NULL) return new_buffer(c, ZF_PY_VALUES, type_of(c));
    if (!zf_py_field_copy(&field, c->field.child)) return NULL;
    return zf_py_device_column_new(Py_TYPE(self), c->buffer_type, c->make_error, &field,
                                   zf_py_device_storage_hold(c->storage->child));
}

static PyObject *column_validity(PyObject *self, void *closure) {
    (void)closure;
    return new_buffer((column_object *)self, ZF_PY_VALIDITY, (DLDataType){ZF_DL_UINT, 8, 1});
}

static PyObject *column_offsets(PyObject *self, void *closure) {
    (void)closure;
    return new_buffer((column_object *)self, ZF_PY_OFFSETS, (DLDataType){ZF_DL_INT, 64, 1});
}

static PyObject *column_name(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(((column_object *)self)->field.name);
}

static PyObject *column_format(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(((column_object *)self)->field.format);
}

static PyObject *column_nullable(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong((((column_object *)self)->field.flags & ZF_ARROW_NULLABLE) != 0);
}

static PyObject *column_null_count(PyObject *self, void *closure) {
    (void)closure;
    int64_t nulls;
    const column_object *c = (column_object *)self;
    return count_nulls(c->storage, c->make_error, &nulls) ? PyLong_FromLongLong(nulls) : NULL;
}

static PyObject *column_bytes(PyObject *self, void *closure) {
    (void)closure;
    uint64_t bytes = 0;
    for (const zf_py_device_storage *s = ((column_object *)self)->storage; s != NULL; s = s->child)
        for (int p = 0; p < ZF_PY_PARTS; p++) bytes += s->parts[p].bytes;
    return PyLong_FromUnsignedLongLong(bytes);
}

static PyObject *column_place(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(((column_object *)self)->storage->gpu->name);
}

static PyObject *column_repr(PyObject *self) {
    const column_object *c = (column_object *)self;
    return PyUnicode_FromFormat("<zipflow.DeviceColumn %s: %lld rows of `%s` on %s>", c->field.name, (long long)c->storage->rows,
                                c->field.format, c->storage->gpu->name);
}

static PyMethodDef column_methods[] = {
    {"__arrow_c_schema__", column_schema, METH_NOARGS, "The column's type as a capsule of Arrow's C data interface."},
    {"__arrow_c_device_array__", __extension__(PyCFunction)(void (*)(void)) column_array, METH_VARARGS | METH_KEYWORDS,
     "The column's type and rows as capsules of Arrow's C device data interface, without a copy."},
    {"__dlpack__", __extension__(PyCFunction)(void (*)(void)) column_dlpack, METH_VARARGS | METH_KEYWORDS,
     "The column as a DLPack capsule, without a copy: numbers without nulls."},
    {"__dlpack_device__", column_device, METH_NOARGS, "(2, number of the GPU)."},
    {0},
};

static PyGetSetDef column_members[] = {
    {"name", column_name, NULL, "The column's name.", NULL},
    {"format", column_format, NULL, "The column's type as a format string of Arrow's C data interface.", NULL},
    {"device", column_place, NULL, "The GPU: \"cuda:0\".", NULL},
    {"null_count", column_null_count, NULL, "The number of nulls. Counted once, on the host.", NULL},
    {"nullable", column_nullable, NULL, "Whether the type has nulls.", NULL},
    {"nbytes", column_bytes, NULL, "Bytes of the column's buffers together.", NULL},
    {"values", column_values, NULL,
     "Elements, also those of nulls, which are 0; bits of booleans; characters of strings. Lists: a DeviceColumn.", NULL},
    {"validity", column_validity, NULL, "A bitmap, lowest bit first, 1 for a value; None where the type has no nulls.", NULL},
    {"offsets", column_offsets, NULL, "Strings and lists: rows + 1 offsets (i64), from any number on; None for others.", NULL},
    {"__cuda_array_interface__", column_interface, NULL,
     "The column by CUDA's array interface, without a copy: numbers without nulls.", NULL},
    {0},
};

static PyType_Slot column_slots[] = {
    ZF_SLOT(Py_tp_dealloc, column_dealloc),
    ZF_SLOT(Py_tp_repr, column_repr),
    ZF_SLOT(Py_sq_length, column_length),
    {Py_tp_methods, column_methods},
    {Py_tp_getset, column_members},
    {Py_tp_doc, (char[]){"Rows of one column in a GPU's memory. Exports DLPack and CUDA's array interface, without a copy."}},
    {0},
};

PyType_Spec zf_py_device_column_spec = {.name = "zipflow._runtime.DeviceColumn",
                                        .basicsize = sizeof(column_object),
                                        .flags =
                                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                                        .slots = column_slots};

// ---- Reading --------------------------------------------------------------------------------------------------

typedef struct reading_object {
    PyObject_HEAD zf_py_gpu_read *read;
    long process;
    pthread_mutex_t lock; ///< of a column that is waited for
    PyObject *columns, *hold, *make_error;
    PyTypeObject *column_type, *buffer_type;
} reading_object;

static void end_read(zf_py_gpu_read *read, long process) {
    if (process == (long)getpid()) { // a forked child has no threads of the pipeline
        Py_BEGIN_ALLOW_THREADS zf_py_gpu_read_end(read);
        for (size_t k = 0; k < read->count; k++) zf_py_device_storage_release(read->columns[k].out);
        Py_END_ALLOW_THREADS
    }
    free(read->columns);
    free(read);
    zf_py_drop_owners();
}

PyObject *zf_py_reading_new(PyTypeObject *const types[3], PyObject *make_error, zf_py_gpu_read *read, PyObject *columns,
                            PyObject *hold) {
    reading_object *self = (reading_object *)new_object(types[0]);
    if (self == NULL) {
        end_read(read, (long)getpid());
        return NULL;
    }
    pthread_mutex_init(&self->lock, NULL);
    self->read = read;
    self->process = (long)getpid();
    self->columns = Py_NewRef(columns);
    self->hold = Py_NewRef(hold);
    self->make_error = Py_NewRef(make_error);
    self->column_type = (PyTypeObject *)Py_NewRef((PyObject *)types[1]);
    self->buffer_type = (PyTypeObject *)Py_NewRef((PyObject *)types[2]);
    return (PyObject *)self;
}

static void reading_dealloc(PyObject *self) {
    reading_object *r = (reading_object *)self;
    if (r->read != NULL) end_read(r->read, r->process);
    pthread_mutex_destroy(&r->lock);
    Py_XDECREF(r->hold);
    Py_XDECREF(r->columns);
    Py_XDECREF(r->make_error);
    Py_XDECREF((PyObject *)r->column_type);
    Py_XDECREF((PyObject *)r->buffer_type);
    free_object(self);
}

static bool in_process(const reading_object *r) {
    if (r->process == (long)getpid()) return true;
    zf_error error;
    zf_py_fail(&error, ZF_ERR_DEVICE, "", "the read began before a fork: a child has no memory of GPUs");
    zf_py_raise(r->make_error, &error);
    return false;
}

/// Column `k` as a DeviceColumn, whether its rows are there or not.
static PyObject *reading_column(PyObject *self, PyObject *argument) {
    const reading_object *r = (reading_object *)self;
    size_t k = PyLong_AsSize_t(argument);
    zf_py_field field;
    if (PyErr_Occurred()) return NULL;
    if (k >= r->read->count) {
        PyErr_SetString(PyExc_IndexError, "there is no such column");
        return NULL;
    }
    PyObject *tuple = PyTuple_GetItem(PyTuple_GetItem(r->columns, (Py_ssize_t)k), 1);
    if (tuple == NULL || !zf_py_field_set(&field, tuple)) return NULL;
    return zf_py_device_column_new(r->column_type, r->buffer_type, r->make_error, &field,
                                   zf_py_device_storage_hold(r->read->columns[k].out));
}

/// Waits for column `k`, and returns it.
static PyObject *reading_wait(PyObject *self, PyObject *argument) {
    reading_object *r = (reading_object *)self;
    size_t k = PyLong_AsSize_t(argument);
    if (PyErr_Occurred() || !in_process(r)) return NULL;
    zf_error error;
    zf_status status = ZF_OK;
    int64_t end = -1;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&r->lock);
    if (k < r->read->count) status = zf_py_gpu_read_wait(r->read, k, &end, &error);
    pthread_mutex_unlock(&r->lock);
    Py_END_ALLOW_THREADS if (status != ZF_OK) return zf_py_raise(r->make_error, &error);
    if (k < r->read->count) zf_py_device_storage_check(r->read->columns[k].out, end);
    return reading_column(self, argument);
}

static PyObject *reading_done(PyObject *self, PyObject *argument) {
    const reading_object *r = (reading_object *)self;
    size_t k = PyLong_AsSize_t(argument);
    if (PyErr_Occurred() || !in_process(r)) return NULL;
    return PyBool_FromLong(!isnan(zf_batch_ready_seconds(r->read->batch, k)));
}

static PyObject *reading_follow(PyObject *self, PyObject *none) {
    (void)none;
    const reading_object *r = (reading_object *)self;
    if (!in_process(r)) return NULL;
    zf_error error;
    zf_status status;
    Py_BEGIN_ALLOW_THREADS status = zf_py_gpu_read_follow(r->read, &error);
    Py_END_ALLOW_THREADS return status == ZF_OK ? Py_NewRef(Py_None) : zf_py_raise(r->make_error, &error);
}

static PyMethodDef reading_methods[] = {
    {"column", reading_column, METH_O, "column(k): a DeviceColumn, whether its rows are there or not."},
    {"wait", reading_wait, METH_O, "wait(k): a DeviceColumn, once its rows are there and checked."},
    {"done", reading_done, METH_O, "done(k): whether `wait` returns at once."},
    {"follow", reading_follow, METH_NOARGS, "Lets the stream wait for the rows."},
    {0},
};

static PyType_Slot reading_slots[] = {
    ZF_SLOT(Py_tp_dealloc, reading_dealloc),
    {Py_tp_methods, reading_methods},
    {Py_tp_doc, (char[]){"Columns on their way to a GPU."}},
    {0},
};

PyType_Spec zf_py_reading_spec = {.name = "zipflow._runtime.Reading",
                                  .basicsize = sizeof(reading_object),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                                  .slots = reading_slots};
