#include "runtime/base/deep.h"

#include "runtime/base/error.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/thread.h"

typedef struct call {
    zf_status (*work)(void *user, zf_error *error);
    void *user;
    zf_error *error;
    zf_status status;
} call;

static void *run(void *pointer) {
    call *c = pointer;
    c->status = c->work(c->user, c->error);
    return NULL;
}

zf_status zf_run_deep(zf_status (*work)(void *user, zf_error *error), void *user, zf_error *error) {
    call c = {.work = work, .user = user, .error = error};
    pthread_t thread;
    if (!zf_thread_start(&thread, ZF_STACK_DEEP, run, &c))
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a thread with a deep stack");
    pthread_join(thread, NULL);
    return c.status;
}
