#include "python/extension/file_reader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    uint64_t offset, bytes;
    void *to;
    int64_t got;
    bool done;
    char message[256];
    struct request *next;
} request;

/// Blocks that lie side by side.
typedef struct span {
    uint64_t offset, bytes;
    uint64_t blocks; ///< bytes of those that were not requested yet
    char *data;      ///< NULL: not read, or no longer needed
    bool tried;
} span;

struct zf_py_reader {
    PyObject *read;
    pthread_mutex_t lock;
    pthread_cond_t changed; ///< a request came or was served, or a call ended
    request *first, **last; ///< of the call in progress
    bool busy;              ///< a call is in progress: one at a time, so that each request is of a known call
    pthread_t caller;       ///< whose call it is
    span *spans;            ///< of the blocks that come next, by their offsets
    size_t span_count;
};

typedef struct job {
    zf_py_reader *reader;
    zf_status (*call)(void *user, zf_error *error);
    void *user;
    zf_error *error;
    zf_status status;
    bool done;
} job;

zf_py_reader *zf_py_reader_new(PyObject *read) {
    zf_py_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL || pthread_mutex_init(&reader->lock, NULL) != 0) {
        free(reader);
        return (zf_py_reader *)PyErr_NoMemory();
    }
    if (pthread_cond_init(&reader->changed, NULL) != 0) {
        pthread_mutex_destroy(&reader->lock);
        free(reader);
        return (zf_py_reader *)PyErr_NoMemory();
    }
    reader->last = &reader->first;
    reader->read = Py_NewRef(read);
    return reader;
}

static void drop_spans(zf_py_reader *reader) {
    for (size_t k = 0; k < reader->span_count; k++) free(reader->spans[k].data);
    free(reader->spans);
    reader->spans = NULL;
    reader->span_count = 0;
}

/// Spans that grow.
typedef struct span_list {
    span *spans;
    size_t count, room;
} span_list;

/// Adds a block behind the others: to the last span, if it lies beside it. Without memory it is read alone.
static void add_block(span_list *list, uint64_t offset, uint64_t bytes) {
    enum { MOST = 8 << 20, GAP = 4096 };
    span *last = list->count > 0 ? &list->spans[list->count - 1] : NULL;
    if (last != NULL && offset >= last->offset + last->bytes && offset - last->offset - last->bytes <= GAP &&
        offset + bytes - last->offset <= MOST) {
        last->bytes = offset + bytes - last->offset;
        last->blocks += bytes;
        return;
    }
    if (list->count == list->room) {
        size_t room = 2 * list->room + 16;
        span *more = realloc(list->spans, room * sizeof *more);
        if (more == NULL) return;
        list->spans = more;
        list->room = room;
    }
    list->spans[list->count++] = (span){.offset = offset, .bytes = bytes, .blocks = bytes};
}

void zf_py_reader_expect(zf_py_reader *reader, const zf_container *container, size_t column, size_t columns, uint64_t first,
                         uint64_t rows) {
    span_list list = {0};
    zf_error error; // the decode will say it
    for (size_t k = column; k < column + columns; k++) {
        uint64_t begin, block, offset, bytes;
        for (uint64_t row = first; row < first + rows; row = begin + block) {
            if (zf_container_block_of(container, k, row, &begin, &block, &error) != ZF_OK ||
                zf_container_block_place(container, k, row, &offset, &bytes, &error) != ZF_OK)
                break;
            add_block(&list, offset, bytes);
        }
    }
    pthread_mutex_lock(&reader->lock);
    drop_spans(reader);
    reader->spans = list.spans;
    reader->span_count = list.count;
    pthread_mutex_unlock(&reader->lock);
}

void zf_py_reader_free(zf_py_reader *reader) {
    if (reader == NULL) return;
    drop_spans(reader);
    pthread_cond_destroy(&reader->changed);
    pthread_mutex_destroy(&reader->lock);
    Py_XDECREF(reader->read);
    free(reader);
}

PyObject *zf_py_reader_function(const zf_py_reader *reader) { return reader->read; }

int64_t zf_py_reader_read(void *user, uint64_t offset, void *to, uint64_t bytes, zf_error *error) {
    zf_py_reader *reader = user;
    request r = {.offset = offset, .bytes = bytes, .to = to};
    pthread_mutex_lock(&reader->lock);
    *reader->last = &r;
    reader->last = &r.next;
    pthread_cond_broadcast(&reader->changed);
    while (!r.done) pthread_cond_wait(&reader->changed, &reader->lock);
    pthread_mutex_unlock(&reader->lock);
    if (r.got < 0) snprintf(error->message, sizeof error->message, "%s", r.message);
    return r.got;
}

/// Takes the exception that is set; keeps it in `*failed` if it is the first.
static void fail(request *r, PyObject **failed) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL && value != NULL) PyException_SetTraceback(value, trace);
    PyObject *name = type == NULL ? NULL : PyObject_GetAttrString(type, "__name__");
    PyObject *bytes = name == NULL ? NULL : PyUnicode_AsUTF8String(name);
    snprintf(r->message, sizeof r->message, "the file object raised %.100s",
             bytes == NULL ? "an exception" : PyBytes_AsString(bytes));
    PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(name);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    r->got = -1;
    if (*failed == NULL)
        *failed = value;
    else
        Py_XDECREF(value);
}

/// Calls `read`, with the GIL. The request gets its first exception.
static void ask(const zf_py_reader *reader, request *r, uint64_t offset, uint64_t bytes, void *to, PyObject **failed) {
    uint64_t most = bytes < (uint64_t)PY_SSIZE_T_MAX ? bytes : (uint64_t)PY_SSIZE_T_MAX;
    PyObject *data = PyObject_CallFunction(reader->read, "KK", (unsigned long long)offset, (unsigned long long)most);
    Py_buffer view;
    if (data == NULL || PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0) {
        Py_XDECREF(data);
        fail(r, failed);
        return;
    }
    r->got = view.len;
    if ((uint64_t)view.len > bytes) {
        PyErr_Format(PyExc_ValueError, "the file object returned %zd bytes for %llu", view.len, (unsigned long long)bytes);
        fail(r, failed);
    } else {
        memcpy(to, view.buf, (size_t)view.len);
    }
    PyBuffer_Release(&view);
    Py_DECREF(data);
}

/// The span that has the bytes of a request, and more blocks; NULL: there is none.
static span *span_of(zf_py_reader *reader, const request *r) {
    for (size_t k = 0; k < reader->span_count; k++) {
        span *s = &reader->spans[k];
        if (r->offset >= s->offset && r->bytes <= s->bytes && r->offset - s->offset <= s->bytes - r->bytes)
            return r->bytes < s->bytes ? s : NULL;
    }
    return NULL;
}

/// Takes the bytes of a request from its span, which it reads first. False: they are to be read alone.
static bool serve_from_span(zf_py_reader *reader, request *r, PyObject **failed) {
    span *s = span_of(reader, r);
    if (s == NULL || (s->data == NULL && s->tried)) return false;
    if (s->data == NULL) {
        s->tried = true;
        s->data = malloc(s->bytes);
        if (s->data == NULL) return false;
        ask(reader, r, s->offset, s->bytes, s->data, failed);
        if (r->got < 0 || (uint64_t)r->got < s->bytes) { // an error, or a file object that returns less than it was asked for
            free(s->data);
            s->data = NULL;
            return r->got < 0;
        }
    }
    memcpy(r->to, s->data + (r->offset - s->offset), r->bytes);
    r->got = (int64_t)r->bytes;
    s->blocks -= r->bytes < s->blocks ? r->bytes : s->blocks;
    if (s->blocks == 0) {
        free(s->data);
        s->data = NULL;
    }
    return true;
}

static void serve(zf_py_reader *reader, request *r, PyObject **failed) {
    if (!serve_from_span(reader, r, failed)) ask(reader, r, r->offset, r->bytes, r->to, failed);
}

static void *run(void *user) {
    job *j = user;
    zf_status status = j->call(j->user, j->error);
    pthread_mutex_lock(&j->reader->lock);
    j->status = status;
    j->done = true;
    pthread_cond_broadcast(&j->reader->changed);
    pthread_mutex_unlock(&j->reader->lock);
    return NULL;
}

/// False: the call in progress is of this thread, whose `read` calls again and would wait for itself.
static bool take_turn(zf_py_reader *reader) {
    pthread_mutex_lock(&reader->lock);
    bool own = reader->busy && pthread_equal(reader->caller, pthread_self());
    while (reader->busy && !own) pthread_cond_wait(&reader->changed, &reader->lock);
    if (!own) {
        reader->busy = true;
        reader->caller = pthread_self();
    }
    pthread_mutex_unlock(&reader->lock);
    return !own;
}

static void end_turn(zf_py_reader *reader) {
    pthread_mutex_lock(&reader->lock);
    drop_spans(reader);
    reader->busy = false;
    pthread_cond_broadcast(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}

zf_status zf_py_reader_run(zf_py_reader *reader, zf_status (*call)(void *user, zf_error *error), void *user, PyObject **failed,
                           zf_error *error) {
    job j = {.reader = reader, .call = call, .user = user, .error = error};
    pthread_t thread;
    *failed = NULL;
    PyThreadState *saved = PyEval_SaveThread();
    if (!take_turn(reader)) {
        PyEval_RestoreThread(saved);
        return zf_py_fail(error, ZF_ERR_USAGE, "", "a file object reads from the File that reads it");
    }
    if (pthread_create(&thread, NULL, run, &j) != 0) {
        end_turn(reader);
        PyEval_RestoreThread(saved);
        return zf_py_fail(error, ZF_ERR_MEMORY, "", "no thread for a file object");
    }
    pthread_mutex_lock(&reader->lock);
    while (!j.done) {
        request *r = reader->first;
        if (r == NULL) {
            pthread_cond_wait(&reader->changed, &reader->lock);
            continue;
        }
        reader->first = r->next;
        if (reader->first == NULL) reader->last = &reader->first;
        pthread_mutex_unlock(&reader->lock);
        PyEval_RestoreThread(saved); // never with the lock
        serve(reader, r, failed);
        saved = PyEval_SaveThread();
        pthread_mutex_lock(&reader->lock);
        r->done = true;
        pthread_cond_broadcast(&reader->changed);
    }
    pthread_mutex_unlock(&reader->lock);
    pthread_join(thread, NULL);
    end_turn(reader);
    PyEval_RestoreThread(saved);
    return j.status;
}
