// Links: zipflow-runtime zipflow-emu
// Containers that are closed: each provider of the context forgets them, also one behind a provider that is removed meanwhile.
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "runtime/context/context.h"
#include "tests/support/emulated.h"
#include "tests/support/walk_codec.h"
#include "tests/unit/check.h"

static char path[] = "/tmp/zipflow-test-forget-XXXXXX";

static void test_forget(void) {
    zf_error error = {0};
    zf_context *context;
    zf_container *container = NULL;
    int forgotten = 0;
    zf_abi_provider provider = {.self = &forgotten, .plan = walk_plan, .code = walk_code, .forget = walk_forget};
    CHECK(emulated_context_create(NULL, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_context_set_provider(context, &(zf_abi_provider){0}, &error) == ZF_ERR_USAGE, "a provider without functions");
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, path, &container, &error) == ZF_OK, "%s", error.message);
    zf_container_close(container);
    CHECK(forgotten == 1, "%d", forgotten);
    CHECK(zf_context_set_provider(context, NULL, &error) == ZF_OK, "%s", error.message);
    zf_context_free(context);
}

/// A provider that another thread removes while it is called.
typedef struct leaving {
    zf_context *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_removed, is_removed_early;
} leaving;

static void *remove_leaving(void *user) {
    leaving *l = user;
    zf_context_remove_provider(l->context, l);
    pthread_mutex_lock(&l->lock);
    l->is_removed = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/// Gives the removal time to end before this call does.
static void forget_leaving(void *self, zf_container *container) {
    leaving *l = self;
    struct timespec until;
    (void)container;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    CHECK(pthread_create(&l->thread, NULL, remove_leaving, l) == 0, "no thread");
    pthread_mutex_lock(&l->lock);
    while (!l->is_removed && pthread_cond_timedwait(&l->changed, &l->lock, &until) == 0) {
    }
    l->is_removed_early = l->is_removed;
    pthread_mutex_unlock(&l->lock);
}

/// A removal waits for a container that is being closed: each provider is told of it.
static void test_forget_beside_removal(void) {
    zf_error error = {0};
    zf_context *context;
    zf_container *container = NULL;
    int forgotten = 0;
    leaving l = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    zf_abi_provider provider = {.self = &forgotten, .plan = walk_plan, .code = walk_code, .forget = walk_forget};
    CHECK(emulated_context_create(NULL, &context, &error) == ZF_OK, "%s", error.message);
    l.context = context;
    CHECK(zf_context_add_provider(context, &(zf_abi_provider){.self = &l, .forget = forget_leaving}, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, path, &container, &error) == ZF_OK, "%s", error.message);
    zf_container_close(container);
    pthread_join(l.thread, NULL);
    CHECK(l.is_removed && !l.is_removed_early, "a provider is removed while it is called");
    CHECK(forgotten == 1, "the provider behind it forgot %d containers", forgotten);
    CHECK(zf_context_set_provider(context, NULL, &error) == ZF_OK, "%s", error.message);
    zf_context_free(context);
}

int main(void) {
    zf_error error = {0};
    int made = mkstemp(path);
    CHECK(made >= 0, "no file %s", path);
    close(made);
    CHECK(walk_write(path, 4096, 4096, true, &error) == ZF_OK, "%s", error.message);
    test_forget();
    test_forget_beside_removal();
    CHECK(unlink(path) == 0, "%s stays", path);
    return check_result();
}
