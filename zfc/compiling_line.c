#include "zfc/compiling_line.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "compiler/compiler.h"
#include "runtime/base/clock.h"
#include "runtime/base/pool.h"
#include "runtime/base/thread.h"

static const double SILENCE = 0.5; ///< seconds of compiling before the line

// Any thread may print, and knows nothing of the compiler: so there is one line, of the process.
static struct {
    bool on;
    pthread_t thread;
    pthread_mutex_t lock; ///< of what follows, and of the terminal while it is held
    pthread_cond_t changed;
    bool stops, shown;
    const char *names[ZF_THREADS_MOST]; ///< of columns that are being compiled, the first one first
    unsigned count;                     ///< of names, and of those that there was no room for
    double since, spent;                ///< when the count was 0 last; seconds before that in which it was not
} line;

static void erase(void) {
    if (line.shown) fputs("\r\033[K", stderr);
    line.shown = false;
}

static void draw(void) {
    char others[32] = "";
    if (line.count > 1) snprintf(others, sizeof others, " and %u more", line.count - 1);
    fprintf(stderr, "\rcompiling column %.40s%s\033[K", line.names[0], others); // a long line would wrap, and stay
    line.shown = true;
}

/// Waits for half a second of compiling, and draws.
static void *run(void *user) {
    (void)user;
    pthread_mutex_lock(&line.lock);
    while (!line.stops) {
        double end = line.since + SILENCE - line.spent;
        if (line.count == 0 || line.shown) {
            pthread_cond_wait(&line.changed, &line.lock);
        } else if (zf_clock_seconds() >= end) {
            draw();
        } else {
            time_t whole = (time_t)end;
            struct timespec until = {whole, (long)((end - (double)whole) * 1e9)};
            pthread_cond_timedwait(&line.changed, &line.lock, &until);
        }
    }
    pthread_mutex_unlock(&line.lock);
    return NULL;
}

static void begin(const char *name) {
    if (line.count == 0) line.since = zf_clock_seconds();
    if (line.count < ZF_THREADS_MOST) line.names[line.count] = name;
    line.count++;
    pthread_cond_signal(&line.changed);
}

static void end(const char *name) {
    unsigned kept = line.count < ZF_THREADS_MOST ? line.count : ZF_THREADS_MOST, at = 0;
    while (at < kept && line.names[at] != name) at++;
    for (; at + 1 < kept; at++) line.names[at] = line.names[at + 1];
    line.count--;
    if (line.count > 0) {
        if (line.shown) draw();
        return;
    }
    line.spent += zf_clock_seconds() - line.since;
    erase();
}

static void watch(void *user, const char *column, bool begins) {
    (void)user;
    pthread_mutex_lock(&line.lock);
    if (begins)
        begin(column);
    else
        end(column);
    pthread_mutex_unlock(&line.lock);
}

void zf_compiling_line_start(zf_compiler *compiler) {
    pthread_condattr_t monotonic;
    pthread_mutex_init(&line.lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&line.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    line.on = zf_thread_start(&line.thread, ZF_STACK_DEFAULT, run, NULL); // without a thread there is no line
    if (line.on) zf_compiler_watch(compiler, watch, NULL);
}

void zf_compiling_line_stop(void) {
    if (!line.on) return;
    pthread_mutex_lock(&line.lock);
    line.stops = true;
    pthread_cond_signal(&line.changed);
    pthread_mutex_unlock(&line.lock);
    pthread_join(line.thread, NULL);
    line.on = false;
}

void zf_compiling_line_pause(void) {
    if (!line.on) return;
    pthread_mutex_lock(&line.lock);
    erase();
}

void zf_compiling_line_resume(void) {
    if (!line.on) return;
    pthread_cond_signal(&line.changed);
    pthread_mutex_unlock(&line.lock);
}
