#include "frontend/driver/watch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frontend/driver/verbs.h"
#include "runtime/container_open.h"

// A signal has no argument to find these by. They change only while no kernel runs, and kernels are what touches the map.
static struct {
    const char *verb, *directory;
    const uint8_t *map;
    uint64_t size;
    const zf_outputs *outputs;
    char message[1024];
    size_t length;
} watch;

// On whichever thread touched the map; only what POSIX allows in a handler.
static void on_fault(int number, siginfo_t *info, void *machine) {
    (void)machine;
    const uint8_t *at = info->si_addr;
    if (watch.map == NULL || at < watch.map || at >= watch.map + watch.size) {
        signal(number, SIG_DFL); // not a container's: the instruction runs again, and ends the program as it would have
        return;
    }
    for (size_t i = 0; watch.outputs && i < watch.outputs->count; i++) zf_output_abandon(watch.outputs->files[i]);
    if (watch.directory) rmdir(watch.directory);                                      // only if it is empty
    if (write(STDERR_FILENO, watch.message, watch.length) < 0) _exit(EXIT_BAD_INPUT); // there is nobody left to tell
    _exit(EXIT_BAD_INPUT);
}

void zf_watch_start(const char *verb) {
    watch.verb = verb;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void zf_watch_container(const zf_container *container) {
    watch.map = NULL;
    if (container == NULL) return;
    int length = snprintf(watch.message, sizeof watch.message,
                          "zfc %s: error[ZF1208]: the file became shorter while it was read\n  at: %.800s\n"
                          "  hint: decode it when nobody writes to it\n",
                          watch.verb ? watch.verb : "", zf_container_short_path(container));
    watch.length = (size_t)length < sizeof watch.message ? (size_t)length : sizeof watch.message - 1;
    watch.size = container->size;
    watch.map = container->map;
}

void zf_watch_outputs(const zf_outputs *outputs) { watch.outputs = outputs; }
/// Files that are written have no name yet, or (where the system has no such files) a hidden one, by which the directory stays.
static void on_end(int number) {
    if (watch.directory) rmdir(watch.directory); // only if it is empty
    signal(number, SIG_DFL);                     // it ends the program as it would have, when this returns
    raise(number);
}

void zf_watch_directory(const char *directory) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    watch.directory = directory;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sigaction action = {.sa_handler = directory ? on_end : SIG_DFL}, before;
        sigemptyset(&action.sa_mask);
        if (sigaction(ends[i], NULL, &before) != 0 || before.sa_handler == SIG_IGN) continue; // as with nohup
        sigaction(ends[i], &action, NULL);
    }
}
