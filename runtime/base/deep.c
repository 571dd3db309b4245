#include "runtime/base/deep.h"

#include <pthread.h>
#include <signal.h>

#include "runtime/base/error.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"

#ifdef ZF_SANITIZE
enum { STACK_BYTES = 64 << 20 };
#else
enum { STACK_BYTES = 16 << 20 };
#endif

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
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t before;
    bool started = pthread_attr_init(&attributes) == 0;
    if (started) {
        zf_block_signals(&before);
        started = pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 && pthread_create(&thread, &attributes, run, &c) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
    }
    if (!started) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a thread, which compiling needs");
    pthread_join(thread, NULL);
    return c.status;
}
