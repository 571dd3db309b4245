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

struct zf_py_reader {
    PyObject *read;
    pthread_mutex_t lock;
    pthread_cond_t changed; ///< a request came or was served, or a call ended
    request *first, **last; ///< of the call in progress
    bool busy;              ///< a call is in progress: one at a time, so that each request is of a known call
    pthread_t caller;       ///< whose call it is
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

void zf_py_reader_free(zf_py_reader *reader) {
    if (reader == NULL) return;
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

/// Calls `read`, with the GIL.
static void serve(const zf_py_reader *reader, request *r, PyObject **failed) {
    uint64_t most = r->bytes < (uint64_t)PY_SSIZE_T_MAX ? r->bytes : (uint64_t)PY_SSIZE_T_MAX;
    PyObject *data = PyObject_CallFunction(reader->read, "KK", (unsigned long long)r->offset, (unsigned long long)most);
    Py_buffer view;
    if (data == NULL || PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0) {
        Py_XDECREF(data);
        fail(r, failed);
        return;
    }
    r->got = view.len;
    if ((uint64_t)view.len > r->bytes) {
        PyErr_Format(PyExc_ValueError, "the file object returned %zd bytes for %llu", view.len, (unsigned long long)r->bytes);
        fail(r, failed);
    } else {
        memcpy(r->to, view.buf, (size_t)view.len);
    }
    PyBuffer_Release(&view);
    Py_DECREF(data);
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
