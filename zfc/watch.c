#include "zfc/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/container/container_open.h"
#include "zfc/verbs/verbs.h"

/// A container's file in memory, and the message when it is truncated.
typedef struct watched {
    const uint8_t *map;
    uint64_t size;
    char message[1024];
    size_t length;
    struct watched *next;
} watched;

// A signal has no argument to find these by. A fault's handler runs on whichever thread touched the map, while the main one may
// be opening outputs: it holds `changing` meanwhile (zf_watch_pause), which handlers wait for. The handler of an end runs on the
// main thread alone, where that signal is blocked in between.
static struct {
    const char *verb;
    pthread_t main;
    atomic_flag changing;
    _Atomic(const char *) directory, files[2];
    _Atomic(const zf_outputs *) outputs;
    _Atomic(watched *) containers;
} watch = {.changing = ATOMIC_FLAG_INIT};

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
enum { END_COUNT = sizeof ends / sizeof ends[0] };

static void fill_ends(sigset_t *set) {
    sigemptyset(set);
    for (size_t i = 0; i < END_COUNT; i++) sigaddset(set, ends[i]);
}

static void begin_change(void) {
    while (atomic_flag_test_and_set(&watch.changing)) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/// Only what POSIX allows in a handler. It ends the process, so nobody may change anything afterwards.
static void clean_up(void) {
    begin_change();
    const zf_outputs *outputs = atomic_load(&watch.outputs);
    for (size_t i = 0; outputs && i < outputs->count; i++) zf_output_abandon(outputs->files[i]);
    const char *directory = atomic_load(&watch.directory), *file;
    for (int k = 0; k < 2; k++) {
        if ((file = atomic_load(&watch.files[k])) != NULL) unlink(file);
    }
    if (directory) rmdir(directory); // only if it is empty
}

static void on_fault(int number, siginfo_t *info, void *machine) {
    (void)machine;
    const uint8_t *at = info->si_addr;
    const watched *file = atomic_load(&watch.containers);
    while (file != NULL && (at < file->map || at >= file->map + file->size)) file = file->next;
    if (file == NULL) {
        signal(number, SIG_DFL); // not a container's: the instruction runs again, and ends the program as it would have
        return;
    }
    clean_up();
    if (write(STDERR_FILENO, file->message, file->length) < 0) _exit(EXIT_BAD_INPUT); // there is nobody left to tell
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
    if (container == NULL) {
        for (watched *file = atomic_exchange(&watch.containers, NULL), *next; file != NULL; file = next) {
            next = file->next;
            free(file);
        }
        return;
    }
    watched *file = calloc(1, sizeof *file);
    if (file == NULL) return; // then a file that is cut ends the program with a signal
    int length = snprintf(file->message, sizeof file->message,
                          "zfc %s: error[ZF1208]: the file became shorter while it was read\n  at: %.800s\n"
                          "  hint: decode it when nobody writes to it\n",
                          watch.verb ? watch.verb : "", zf_container_short_path(container));
    file->length = (size_t)length < sizeof file->message ? (size_t)length : sizeof file->message - 1;
    file->size = container->source.size;
    file->map = container->source.map;
    file->next = atomic_load(&watch.containers);
    atomic_store(&watch.containers, file);
}

/// Ends are watched for while there is something to clean up.
static void watch_ends(void) {
    bool needed = atomic_load(&watch.outputs) || atomic_load(&watch.directory) || atomic_load(&watch.files[0]);
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

void zf_watch_files(const char *first, const char *second) {
    atomic_store(&watch.files[0], first);
    atomic_store(&watch.files[1], second);
    watch_ends();
}

void zf_watch_pause(sigset_t *before) {
    sigset_t set;
    fill_ends(&set);
    pthread_sigmask(SIG_BLOCK, &set, before);
    begin_change();
}

void zf_watch_resume(const sigset_t *before) {
    atomic_flag_clear(&watch.changing);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
