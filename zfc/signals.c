#include "zfc/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

// A signal has no argument to find these by. Its handler runs on the main thread alone, where the signal is blocked while these
// change (zf_signals_pause).
static struct {
    pthread_t main;
    _Atomic(const char *) directory, files[2];
    _Atomic(const zf_outputs *) outputs;
} on_signal;

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
enum { END_COUNT = sizeof ends / sizeof ends[0] };

static void fill_ends(sigset_t *set) {
    sigemptyset(set);
    for (size_t i = 0; i < END_COUNT; i++) sigaddset(set, ends[i]);
}

/// Only what POSIX allows in a handler.
static void clean_up(void) {
    const zf_outputs *outputs = atomic_load(&on_signal.outputs);
    for (size_t i = 0; outputs && i < outputs->count; i++) zf_output_abandon(outputs->files[i]);
    const char *directory = atomic_load(&on_signal.directory), *file;
    for (int k = 0; k < 2; k++) {
        if ((file = atomic_load(&on_signal.files[k])) != NULL) unlink(file);
    }
    if (directory) rmdir(directory); // only if it is empty
}

static void on_end(int number) {
    if (!pthread_equal(pthread_self(),
                       on_signal.main)) { // a thread of some library: the main one may be changing what is read here
        pthread_kill(on_signal.main, number);
        return;
    }
    clean_up();
    signal(number, SIG_DFL); // it ends the program as it would have, when this returns
    raise(number);
}

void zf_signals_start(void) { on_signal.main = pthread_self(); }

/// Signals are handled while there is something to clean up.
static void handle_ends(void) {
    bool needed = atomic_load(&on_signal.outputs) || atomic_load(&on_signal.directory) || atomic_load(&on_signal.files[0]);
    struct sigaction action = {.sa_handler = needed ? on_end : SIG_DFL, .sa_flags = SA_RESTART}, before;
    fill_ends(&action.sa_mask);
    for (size_t i = 0; i < END_COUNT; i++) {
        if (sigaction(ends[i], NULL, &before) != 0 || before.sa_handler == SIG_IGN) continue; // as with nohup
        sigaction(ends[i], &action, NULL);
    }
}

void zf_signals_remove_outputs(const zf_outputs *outputs) {
    atomic_store(&on_signal.outputs, outputs);
    handle_ends();
}

void zf_signals_remove_directory(const char *directory) {
    atomic_store(&on_signal.directory, directory);
    handle_ends();
}

void zf_signals_remove_files(const char *first, const char *second) {
    atomic_store(&on_signal.files[0], first);
    atomic_store(&on_signal.files[1], second);
    handle_ends();
}

void zf_signals_pause(sigset_t *before) {
    sigset_t set;
    fill_ends(&set);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

void zf_signals_resume(const sigset_t *before) { pthread_sigmask(SIG_SETMASK, before, NULL); }
