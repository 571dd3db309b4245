#include "frontend/driver/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frontend/driver/verbs.h"
#include "runtime/container_open.h"

// A signal has no argument to find these by. A fault's handler runs on whichever thread touched the map, which only kernels do,
// and nothing here changes while kernels run. The handler of an end runs on the main thread alone, which makes it wait
// (zf_watch_pause) while it changes what the handler reads.
static struct {
    const char *verb;
    pthread_t main;
    _Atomic(const char *) directory;
    _Atomic(const zf_outputs *) outputs;
    _Atomic(const uint8_t *) map; ///< stored last: who sees it sees the three below
    uint64_t size;
    char message[1024];
    size_t length;
} watch;

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
enum { END_COUNT = sizeof ends / sizeof ends[0] };

static void fill_ends(sigset_t *set) {
    sigemptyset(set);
    for (size_t i = 0; i < END_COUNT; i++) sigaddset(set, ends[i]);
}

/// Only what POSIX allows in a handler.
static void clean_up(void) {
    const zf_outputs *outputs = atomic_load(&watch.outputs);
    for (size_t i = 0; outputs && i < outputs->count; i++) zf_output_abandon(outputs->files[i]);
    const char *directory = atomic_load(&watch.directory);
    if (directory) rmdir(directory); // only if it is empty
}

static void on_fault(int number, siginfo_t *info, void *machine) {
    (void)machine;
    const uint8_t *at = info->si_addr, *map = atomic_load(&watch.map);
    if (map == NULL || at < map || at >= map + watch.size) {
        signal(number, SIG_DFL); // not a container's: the instruction runs again, and ends the program as it would have
        return;
    }
    clean_up();
    if (write(STDERR_FILENO, watch.message, watch.length) < 0) _exit(EXIT_BAD_INPUT); // there is nobody left to tell
    _exit(EXIT_BAD_INPUT);
}

static void on_end(int number) {
    if (!pthread_equal(pthread_self(), watch.main)) { // a thread of some library: the main one may be changing what is read here
        pthread_kill(watch.main, number);
        return;
    }
    clean_up();
    signal(number, SIG_DFL); // it ends the program as it would have, when this returns
    raise(number);
}

void zf_watch_start(const char *verb) {
    watch.verb = verb;
    watch.main = pthread_self();
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void zf_watch_container(const zf_container *container) {
    atomic_store(&watch.map, NULL);
    if (container == NULL) return;
    int length = snprintf(watch.message, sizeof watch.message,
                          "zfc %s: error[ZF1208]: the file became shorter while it was read\n  at: %.800s\n"
                          "  hint: decode it when nobody writes to it\n",
                          watch.verb ? watch.verb : "", zf_container_short_path(container));
    watch.length = (size_t)length < sizeof watch.message ? (size_t)length : sizeof watch.message - 1;
    watch.size = container->size;
    atomic_store(&watch.map, container->map);
}

/// Ends are watched for while there is something to clean up.
static void watch_ends(void) {
    bool needed = atomic_load(&watch.outputs) || atomic_load(&watch.directory);
    struct sigaction action = {.sa_handler = needed ? on_end : SIG_DFL, .sa_flags = SA_RESTART}, before;
    fill_ends(&action.sa_mask);
    for (size_t i = 0; i < END_COUNT; i++) {
        if (sigaction(ends[i], NULL, &before) != 0 || before.sa_handler == SIG_IGN) continue; // as with nohup
        sigaction(ends[i], &action, NULL);
    }
}

void zf_watch_outputs(const zf_outputs *outputs) {
    atomic_store(&watch.outputs, outputs);
    watch_ends();
}

void zf_watch_directory(const char *directory) {
    atomic_store(&watch.directory, directory);
    watch_ends();
}

void zf_watch_pause(sigset_t *before) {
    sigset_t set;
    fill_ends(&set);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

void zf_watch_resume(const sigset_t *before) { pthread_sigmask(SIG_SETMASK, before, NULL); }
