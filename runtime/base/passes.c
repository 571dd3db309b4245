#include "runtime/base/passes.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/base/clock.h"

enum { GROUPS = 5, ALL = ZF_PASS_COUNT + GROUPS, NODES = ALL + 1, DEPTH = 16 };

static const struct {
    const char *name, *text;
} groups[GROUPS] = {
    {"program", "text of programs"}, {"plan", "plans"}, {"code", "code"}, {"device", "the device"}, {"blocks", "blocks"},
};

/// In the order of the output: passes of a group follow each other.
static const struct {
    const char *name, *text;
    unsigned group;
} rows[ZF_PASS_COUNT] = {
    [ZF_PASS_READ] = {"program.read", "reading", 0},
    [ZF_PASS_PARSE] = {"program.parse", "parsing", 0},
    [ZF_PASS_CHECK] = {"program.check", "checking", 0},
    [ZF_PASS_GRAPH] = {"plan.graph", "graphs", 1},
    [ZF_PASS_PLAN] = {"plan.plan", "plans", 1},
    [ZF_PASS_LLVM] = {"code.llvm", "LLVM's start, contexts", 2},
    [ZF_PASS_LOWER] = {"code.lower", "lowering to LLVM IR", 2},
    [ZF_PASS_FIND] = {"code.find", "looking in the cache", 2},
    [ZF_PASS_OPTIMISE] = {"code.optimise", "LLVM's passes", 2},
    [ZF_PASS_EMIT] = {"code.emit", "instructions, object or PTX", 2},
    [ZF_PASS_KEEP] = {"code.keep", "writing to the cache", 2},
    [ZF_PASS_LINK] = {"code.link", "linking", 2},
    [ZF_PASS_START] = {"device.start", "start", 3},
    [ZF_PASS_LOAD] = {"device.load", "loading code", 3},
    [ZF_PASS_FIRST_COPY] = {"device.first_copy", "first copy", 3},
    [ZF_PASS_FIRST_LAUNCH] = {"device.first_launch", "first launch", 3},
    [ZF_PASS_DECODE] = {"blocks.decode", "decoding", 4},
    [ZF_PASS_ENCODE] = {"blocks.encode", "encoding", 4},
};

/// The nested passes of one thread, the innermost last. A stack whose thread is in no pass is reused.
typedef struct stack {
    pthread_t thread;
    unsigned depth;        ///< 0: nobody's
    unsigned beyond;       ///< passes within the innermost that there was no room for: they count to it
    zf_pass passes[DEPTH]; ///< only the last one's time goes on
    double since;          ///< when that began or went on
    double busy_since;     ///< the thread's processor time then
    struct stack *next;
} stack;

/// The times of a pass, of a group, or of all.
typedef struct node {
    uint64_t count;
    double sum, wall, busy;
    unsigned running; ///< threads
    double since;     ///< when the first of them began
} node;

struct zf_passes {
    double begin;
    pthread_mutex_t lock; ///< of what follows
    stack *stacks;
    node nodes[NODES]; ///< passes, groups, all
};

zf_passes *zf_passes_create(void) {
    zf_passes *passes = calloc(1, sizeof *passes);
    if (passes == NULL) return NULL;
    passes->begin = zf_clock_seconds();
    pthread_mutex_init(&passes->lock, NULL);
    return passes;
}

void zf_passes_free(zf_passes *passes) {
    if (passes == NULL) return;
    for (stack *s = passes->stacks, *next; s != NULL; s = next) {
        next = s->next;
        free(s);
    }
    pthread_mutex_destroy(&passes->lock);
    free(passes);
}

// ---- Under the lock -------------------------------------------------------------------------------------------

static void chain(zf_pass pass, unsigned out[3]) {
    out[0] = pass;
    out[1] = ZF_PASS_COUNT + rows[pass].group;
    out[2] = ALL;
}

static void go_on(zf_passes *passes, stack *s, double now) {
    unsigned nodes[3];
    chain(s->passes[s->depth - 1], nodes);
    s->since = now;
    s->busy_since = zf_clock_thread_seconds();
    for (unsigned i = 0; i < 3; i++) {
        node *n = &passes->nodes[nodes[i]];
        if (n->running++ == 0) n->since = now;
    }
}

static void pause_at(zf_passes *passes, stack *s, double now) {
    unsigned nodes[3];
    double busy = zf_clock_thread_seconds() - s->busy_since;
    chain(s->passes[s->depth - 1], nodes);
    for (unsigned i = 0; i < 3; i++) {
        node *n = &passes->nodes[nodes[i]];
        n->sum += now - s->since;
        n->busy += busy;
        if (--n->running == 0) n->wall += now - n->since;
    }
}

static stack *find(const zf_passes *passes) {
    stack *s = passes->stacks;
    while (s != NULL && (s->depth == 0 || !pthread_equal(s->thread, pthread_self()))) s = s->next;
    return s;
}

/// This thread's, made if it has none. NULL without memory: then it is not measured.
static stack *own(zf_passes *passes) {
    stack *s = find(passes);
    if (s != NULL) return s;
    s = passes->stacks;
    while (s != NULL && s->depth > 0) s = s->next;
    if (s == NULL) {
        s = calloc(1, sizeof *s);
        if (s == NULL) return NULL;
        s->next = passes->stacks;
        passes->stacks = s;
    }
    s->thread = pthread_self();
    s->beyond = 0;
    return s;
}

// ---- The interface --------------------------------------------------------------------------------------------

unsigned zf_pass_start(zf_passes *passes, zf_pass pass) {
    unsigned before = 0;
    pthread_mutex_lock(&passes->lock);
    stack *s = own(passes);
    if (s != NULL) {
        before = s->depth + s->beyond;
        if (s->depth == DEPTH) {
            s->beyond++;
        } else {
            double now = zf_clock_seconds();
            if (s->depth > 0) pause_at(passes, s, now);
            s->passes[s->depth++] = pass;
            unsigned nodes[3];
            chain(pass, nodes);
            for (unsigned i = 0; i < 3; i++) passes->nodes[nodes[i]].count++;
            go_on(passes, s, now);
        }
    }
    pthread_mutex_unlock(&passes->lock);
    return before;
}

void zf_pass_stop(zf_passes *passes, unsigned began) {
    pthread_mutex_lock(&passes->lock);
    stack *s = find(passes);
    if (s != NULL && s->depth == DEPTH && began >= DEPTH) {
        if (began - DEPTH < s->beyond) s->beyond = began - DEPTH;
    } else if (s != NULL && began < s->depth) {
        double now = zf_clock_seconds();
        pause_at(passes, s, now);
        s->beyond = 0;
        s->depth = began;
        if (s->depth > 0) go_on(passes, s, now);
    }
    pthread_mutex_unlock(&passes->lock);
}

// ---- The result -----------------------------------------------------------------------------------------------

static zf_pass_time line_of(const zf_passes *passes, unsigned number, double now) {
    const node *n = &passes->nodes[number];
    zf_pass_time line = {.is_group = number >= ZF_PASS_COUNT, .count = n->count, .wall = n->wall, .sum = n->sum, .busy = n->busy};
    line.name = line.is_group ? groups[number - ZF_PASS_COUNT].name : rows[number].name;
    line.text = line.is_group ? groups[number - ZF_PASS_COUNT].text : rows[number].text;
    if (n->running > 0) line.wall += now - n->since;
    for (const stack *s = passes->stacks; s != NULL; s = s->next) {
        if (s->depth == 0) continue;
        unsigned nodes[3];
        chain(s->passes[s->depth - 1], nodes);
        if (nodes[0] == number || nodes[1] == number) line.sum += now - s->since;
    }
    return line;
}

size_t zf_passes_read(zf_passes *passes, zf_pass_time *out, size_t most, double *whole, double *other) {
    size_t count = 0;
    pthread_mutex_lock(&passes->lock);
    double now = zf_clock_seconds();
    const node *all = &passes->nodes[ALL];
    for (unsigned group = 0, pass = 0; group < GROUPS; group++) {
        if (count < most) out[count] = line_of(passes, ZF_PASS_COUNT + group, now);
        count++;
        for (; pass < ZF_PASS_COUNT && rows[pass].group == group; pass++) {
            if (count < most) out[count] = line_of(passes, pass, now);
            count++;
        }
    }
    *whole = now - passes->begin;
    *other = *whole - all->wall - (all->running > 0 ? now - all->since : 0);
    pthread_mutex_unlock(&passes->lock);
    return count;
}
