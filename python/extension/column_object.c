#include "python/extension/column_object.h"

#include <stdlib.h>
#include <string.h>

#include "python/extension/tensor_type.h"

// ---- Buffer ---------------------------------------------------------------------------------------------------

/// Elements in the memory of a column.
typedef struct buffer_object {
    PyObject_HEAD zf_py_storage *storage;
    void *data;
    Py_ssize_t count;
    DLDataType type;
} buffer_object;

/// The letter of an element for the buffer protocol; NULL: a type that it lacks.
static const char *letter_of(DLDataType type) {
    static const char *const letters[3][4] = {{"b", "h", "i", "q"}, {"B", "H", "I", "Q"}, {NULL, "e", "f", "d"}};
    int log = type.bits == 8 ? 0 : type.bits == 16 ? 1 : type.bits == 32 ? 2 : 3;
    return letters[type.code][log];
}

/// A read-only view, for other consumers share the memory: of one dimension, or of `width` elements in each row.
static int fill_view(PyObject *owner, void *data, Py_ssize_t count, Py_ssize_t width, DLDataType type, Py_buffer *view,
                     int flags) {
    view->obj = NULL;
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "the memory of a column is read-only");
        return -1;
    }
    Py_ssize_t *shape = malloc(4 * sizeof *shape), size = type.bits / 8;
    if (shape == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    shape[0] = count;
    shape[1] = width;
    shape[2] = width > 0 ? width * size : size;
    shape[3] = size;
    *view = (Py_buffer){.buf = data,
                        .obj = Py_NewRef(owner),
                        .len = count * shape[2],
                        .itemsize = size,
                        .readonly = 1,
                        .ndim = width > 0 && (flags & PyBUF_ND) == PyBUF_ND ? 2 : 1,
                        .format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? (char *)letter_of(type) : NULL,
                        .shape = (flags & PyBUF_ND) == PyBUF_ND ? shape : NULL,
                        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? shape + 2 : NULL,
                        .internal = shape};
    return 0;
}

static void release_view(PyObject *self, Py_buffer *view) {
    (void)self;
    free(view->internal);
}

static void free_object(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = __extension__(freefunc) PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *new_object(PyTypeObject *type) {
    allocfunc allocate = __extension__(allocfunc) PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

static void buffer_dealloc(PyObject *self) {
    zf_py_storage_release(((buffer_object *)self)->storage);
    free_object(self);
}

static int buffer_view(PyObject *self, Py_buffer *view, int flags) {
    const buffer_object *b = (buffer_object *)self;
    return fill_view(self, b->data, b->count, 0, b->type, view, flags);
}

static Py_ssize_t buffer_length(PyObject *self) { return ((buffer_object *)self)->count; }

static void hold(void *storage) { zf_py_storage_hold(storage); }
static void release(void *storage) { zf_py_storage_release(storage); }
static zf_status copy(const void *storage, void *to, const void *from, size_t bytes, zf_error *error) {
    (void)storage, (void)error;
    memcpy(to, from, bytes);
    return ZF_OK;
}
static const zf_py_sharing on_host_sharing = {hold, release, copy, NULL};

static zf_py_tensor tensor_of(zf_py_storage *storage, void *data, int64_t count, int64_t width, DLDataType type) {
    return (zf_py_tensor){storage, &on_host_sharing, data, count, width, type, {ZF_DL_CPU, 0}, NULL};
}

static PyObject *buffer_dlpack(PyObject *self, PyObject *arguments, PyObject *keywords) {
    const buffer_object *b = (buffer_object *)self;
    const zf_py_tensor tensor = tensor_of(b->storage, b->data, b->count, 0, b->type);
    return zf_py_dlpack(&tensor, arguments, keywords);
}

static PyObject *on_host(PyObject *self, PyObject *none) {
    (void)self, (void)none;
    return Py_BuildValue("(ii)", ZF_DL_CPU, 0);
}

static PyMethodDef buffer_methods[] = {
    {"__dlpack__", __extension__(PyCFunction)(void (*)(void)) buffer_dlpack, METH_VARARGS | METH_KEYWORDS,
     "The buffer as a DLPack capsule, without a copy."},
    {"__dlpack_device__", on_host, METH_NOARGS, "(1, 0): host memory."},
    {0},
};

static PyType_Slot buffer_slots[] = {
    ZF_SLOT(Py_tp_dealloc, buffer_dealloc),
    ZF_SLOT(Py_bf_getbuffer, buffer_view),
    ZF_SLOT(Py_bf_releasebuffer, release_view),
    ZF_SLOT(Py_sq_length, buffer_length),
    {Py_tp_methods, buffer_methods},
    {Py_tp_doc, (char[]){"Elements of a column in host memory: the buffer protocol and DLPack, read-only."}},
    {0},
};

PyType_Spec zf_py_buffer_spec = {.name = "zipflow._runtime.Buffer",
                                 .basicsize = sizeof(buffer_object),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                                 .slots = buffer_slots};

// ---- Column ---------------------------------------------------------------------------------------------------

typedef struct column_object {
    PyObject_HEAD zf_py_storage *storage;
    zf_py_field field;
    PyTypeObject *buffer_type;
} column_object;

PyObject *zf_py_column_new(PyTypeObject *type, PyTypeObject *buffer_type, zf_py_field *field, zf_py_storage *storage) {
    column_object *self = (column_object *)new_object(type);
    if (self == NULL) {
        zf_py_field_clear(field);
        zf_py_storage_release(storage);
        return NULL;
    }
    self->storage = storage;
    self->field = *field;
    self->buffer_type = (PyTypeObject *)Py_NewRef((PyObject *)buffer_type);
    return (PyObject *)self;
}

static void column_dealloc(PyObject *self) {
    column_object *c = (column_object *)self;
    zf_py_storage_release(c->storage);
    zf_py_field_clear(&c->field);
    Py_XDECREF((PyObject *)c->buffer_type);
    free_object(self);
}

bool zf_py_column_take(PyTypeObject *type, PyObject *object, zf_py_field *field, zf_py_storage **storage) {
    if (!PyObject_TypeCheck(object, type)) {
        PyErr_SetString(PyExc_TypeError, "a table has columns of zipflow");
        return false;
    }
    const column_object *c = (column_object *)object;
    if (!zf_py_field_copy(field, &c->field)) return false;
    *storage = zf_py_storage_hold(c->storage);
    return true;
}

/// The storage and the field of a column's numbers: its own, or of lists of one length those of their values. NULL with an
/// exception set.
static const zf_py_storage *find_numbers(const column_object *c, const zf_py_field **field) {
    const zf_py_storage *s = c->storage;
    *field = &c->field;
    if (s->dictionary != NULL) {
        PyErr_Format(PyExc_BufferError, "column %s is a dictionary: its memory is in .values, of indices, and .dictionary",
                     c->field.name);
        return NULL;
    }
    if (s->child != NULL && s->width > 0 && s->child->dictionary == NULL && zf_py_plain_numbers(c->field.child->format)) {
        s = s->child;
        *field = c->field.child;
    }
    if (!zf_py_plain_numbers((*field)->format)) {
        PyErr_Format(PyExc_BufferError, "column %s has Arrow's type `%s`, which is no number: its memory is in .values%s",
                     c->field.name, c->field.format, c->storage->offsets != NULL ? " and .offsets" : "");
        return NULL;
    }
    int64_t nulls = c->storage->null_count > 0 ? c->storage->null_count : s->null_count;
    if (nulls == 0) return s;
    PyErr_Format(PyExc_BufferError, "column %s has %lld nulls: its memory is in .values and .validity", c->field.name,
                 (long long)nulls);
    return NULL;
}

static int column_view(PyObject *self, Py_buffer *view, int flags) {
    const column_object *c = (column_object *)self;
    view->obj = NULL;
    const zf_py_field *field;
    const zf_py_storage *s = find_numbers(c, &field);
    if (s == NULL) return -1;
    return fill_view(self, s->values, c->storage->rows, c->storage->width, zf_py_type_of_column(field->format, s->element), view,
                     flags);
}

static Py_ssize_t column_length(PyObject *self) { return ((column_object *)self)->storage->rows; }

static PyObject *column_dlpack(PyObject *self, PyObject *arguments, PyObject *keywords) {
    const column_object *c = (column_object *)self;
    const zf_py_field *field;
    const zf_py_storage *s = find_numbers(c, &field);
    if (s == NULL) return NULL;
    const zf_py_tensor tensor =
        tensor_of(c->storage, s->values, c->storage->rows, c->storage->width, zf_py_type_of_column(field->format, s->element));
    return zf_py_dlpack(&tensor, arguments, keywords);
}

static PyObject *column_schema(PyObject *self, PyObject *none) {
    (void)none;
    const column_object *c = (column_object *)self;
    return zf_py_schema_capsule(&c->field, c->storage);
}

static PyObject *column_array(PyObject *self, PyObject *arguments, PyObject *keywords) {
    static char name[] = "requested_schema", *names[] = {name, NULL};
    const column_object *c = (column_object *)self;
    PyObject *requested = Py_None; // the package's class honours it
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:__arrow_c_array__", names, &requested)) return NULL;
    PyObject *schema = column_schema(self, NULL);
    PyObject *array = schema == NULL ? NULL : zf_py_array_capsule(c->storage);
    PyObject *both = array == NULL ? NULL : PyTuple_Pack(2, schema, array);
    Py_XDECREF(schema);
    Py_XDECREF(array);
    return both;
}

/// (format, name, flags, metadata or None, (child, ...), dictionary or None)
static PyObject *column_type(PyObject *self, void *closure) {
    (void)closure;
    PyObject *capsule = column_schema(self, NULL);
    PyObject *out = capsule != NULL ? zf_py_describe_schema(PyCapsule_GetPointer(capsule, "arrow_schema")) : NULL;
    Py_XDECREF(capsule);
    return out;
}

PyObject *zf_py_column_convert(PyTypeObject *type, PyObject *make_error, PyObject *arguments) {
    PyObject *column, *tuple;
    zf_py_field wanted;
    if (!PyArg_ParseTuple(arguments, "O!O", type, &column, &tuple) || !zf_py_field_set(&wanted, tuple)) return NULL;
    const column_object *c = (column_object *)column;
    zf_py_storage *storage;
    zf_error error;
    zf_status status;
    Py_BEGIN_ALLOW_THREADS status = zf_py_storage_convert(c->storage, &c->field, &wanted, &storage, &error);
    Py_END_ALLOW_THREADS if (status == ZF_OK) return zf_py_column_new(Py_TYPE(column), c->buffer_type, &wanted, storage);
    zf_py_field_clear(&wanted);
    return zf_py_raise(make_error, &error);
}

static PyObject *new_buffer(const column_object *c, void *data, size_t bytes, DLDataType type) {
    if (data == NULL) return Py_NewRef(Py_None);
    buffer_object *b = (buffer_object *)new_object(c->buffer_type);
    if (b == NULL) return NULL;
    b->storage = zf_py_storage_hold(c->storage);
    b->data = data;
    b->count = (Py_ssize_t)(bytes / (type.bits / 8));
    b->type = type;
    return (PyObject *)b;
}

/// The values of lists, or the entries of a dictionary, as a Column.
static PyObject *inner_column(PyObject *self, const zf_py_field *from, zf_py_storage *storage) {
    zf_py_field field;
    if (!zf_py_field_copy(&field, from)) return NULL;
    return zf_py_column_new(Py_TYPE(self), ((column_object *)self)->buffer_type, &field, zf_py_storage_hold(storage));
}

static PyObject *column_values(PyObject *self, void *closure) {
    (void)closure;
    const column_object *c = (column_object *)self;
    if (c->storage->child != NULL) return inner_column(self, c->field.child, c->storage->child);
    DLDataType type = zf_py_type_of_column(c->field.format, c->storage->element);
    return new_buffer(c, c->storage->values, c->storage->values_bytes, type);
}

static PyObject *column_dictionary(PyObject *self, void *closure) {
    (void)closure;
    const column_object *c = (column_object *)self;
    if (c->storage->dictionary == NULL) return Py_NewRef(Py_None);
    return inner_column(self, c->field.dictionary, c->storage->dictionary);
}

static PyObject *column_validity(PyObject *self, void *closure) {
    (void)closure;
    const column_object *c = (column_object *)self;
    return new_buffer(c, c->storage->validity, c->storage->validity_bytes, (DLDataType){ZF_DL_UINT, 8, 1});
}

static PyObject *column_offsets(PyObject *self, void *closure) {
    (void)closure;
    const column_object *c = (column_object *)self;
    uint8_t bits = (uint8_t)(c->storage->offset_width * 8);
    return new_buffer(c, c->storage->offsets, c->storage->offsets_bytes, (DLDataType){ZF_DL_INT, bits, 1});
}

static PyObject *column_name(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(((column_object *)self)->field.name);
}

static PyObject *column_format(PyObject *self, void *closure) {
    (void)closure;
    char format[ZF_PY_FORMAT];
    const column_object *c = (column_object *)self;
    zf_py_format_of(&c->field, c->storage, format);
    return PyUnicode_FromString(format);
}

static PyObject *column_null_count(PyObject *self, void *closure) {
    (void)closure;
    return PyLong_FromLongLong(((column_object *)self)->storage->null_count);
}

static PyObject *column_nullable(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong((((column_object *)self)->field.flags & ZF_ARROW_NULLABLE) != 0);
}

static size_t bytes_of(const zf_py_storage *s) {
    return s->values_bytes + s->offsets_bytes + s->validity_bytes + (s->views != NULL ? (size_t)s->rows * 16 : 0);
}

static PyObject *column_bytes(PyObject *self, void *closure) {
    (void)closure;
    size_t bytes = 0;
    for (const zf_py_storage *s = ((column_object *)self)->storage; s != NULL; s = s->child) {
        bytes += bytes_of(s);
        if (s->dictionary != NULL) bytes += bytes_of(s->dictionary);
    }
    return PyLong_FromSize_t(bytes);
}

static PyMethodDef column_methods[] = {
    {"__arrow_c_schema__", column_schema, METH_NOARGS, "The column's type as a capsule of Arrow's C data interface."},
    {"__arrow_c_array__", __extension__(PyCFunction)(void (*)(void)) column_array, METH_VARARGS | METH_KEYWORDS,
     "The column's type and rows as capsules of Arrow's C data interface, without a copy."},
    {"__dlpack__", __extension__(PyCFunction)(void (*)(void)) column_dlpack, METH_VARARGS | METH_KEYWORDS,
     "The column as a DLPack capsule, without a copy: numbers without nulls."},
    {"__dlpack_device__", on_host, METH_NOARGS, "(1, 0): host memory."},
    {0},
};

static PyGetSetDef column_members[] = {
    {"name", column_name, NULL, "The column's name.", NULL},
    {"format", column_format, NULL, "The column's type as a format string of Arrow's C data interface.", NULL},
    {"_type", column_type, NULL, "The column's type, as zf_py_describe_schema returns it.", NULL},
    {"null_count", column_null_count, NULL, "The number of nulls.", NULL},
    {"nullable", column_nullable, NULL, "Whether the type has nulls.", NULL},
    {"nbytes", column_bytes, NULL, "Bytes of the column's buffers together.", NULL},
    {"values", column_values, NULL,
     "Elements, also those of nulls, which are 0; bits of booleans; characters of strings; indices of dictionaries; of lists a "
     "Column of their values. None for Arrow's type null.",
     NULL},
    {"dictionary", column_dictionary, NULL, "The entries of a dictionary, a Column; None for other columns.", NULL},
    {"validity", column_validity, NULL, "A bitmap, lowest bit first, 1 for a value; None where the type has no nulls.", NULL},
    {"offsets", column_offsets, NULL,
     "Strings and lists: rows + 1 offsets into the characters or values; None for others, and for rows of one length.", NULL},
    {0},
};

static PyType_Slot column_slots[] = {
    ZF_SLOT(Py_tp_dealloc, column_dealloc),
    ZF_SLOT(Py_bf_getbuffer, column_view),
    ZF_SLOT(Py_bf_releasebuffer, release_view),
    ZF_SLOT(Py_sq_length, column_length),
    {Py_tp_methods, column_methods},
    {Py_tp_getset, column_members},
    {Py_tp_doc, (char[]){"Rows of one column in host memory."}},
    {0},
};

PyType_Spec zf_py_column_spec = {.name = "zipflow._runtime.Column",
                                 .basicsize = sizeof(column_object),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                          Py_TPFLAGS_IMMUTABLETYPE,
                                 .slots = column_slots};
