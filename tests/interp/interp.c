// An interpreter's life, and how it fails: a violation or a refusal goes to the innermost `interp_try`, everything else
// to `interp_enter`. Memory is the arena's, so that nothing is lost on the way.
#include "tests/interp/interp_internal.h"

const char *interp_status_name(interp_status status) {
    static const char *const names[] = {"ok", "violation", "refused", "no extern", "unverified", "limit", "memory", "misuse"};
    return names[status];
}

interp *interp_create(const interp_options *options) {
    zf_arena *arena = zf_arena_create();
    if (!arena) return NULL;
    interp *in = ZF_NEW(arena, interp);
    if (!in) {
        zf_arena_destroy(arena);
        return NULL;
    }
    in->arena = arena;
    if (options) in->options = *options;
    if (in->options.max_elements == 0) in->options.max_elements = UINT64_C(1) << 26;
    if (in->options.fuel == 0) in->options.fuel = UINT64_C(1) << 34;
    return in;
}

void interp_destroy(interp *in) {
    if (in) zf_arena_destroy(in->arena);
}

zf_arena *interp_arena(interp *in) { return in->arena; }
const interp_claims *interp_claims_of(const interp *in) { return &in->claims; }

bool interp_try(interp *in, void (*work)(void *), void *argument) {
    jmp_buf here, *const outer = in->violated;
    const unsigned depth = in->depth;
    in->violated = &here;
    bool done = false;
    if (setjmp(here) == 0) {
        work(argument);
        done = true;
    }
    in->violated = outer;
    in->depth = depth;
    return done;
}

interp_status interp_enter(interp *in, void (*work)(void *), void *argument) {
    jmp_buf here;
    in->stop_status = INTERP_MEMORY; // what it is when the arena escapes
    in->stop_message = "no memory";
    in->stopped = &here;
    in->fuel = in->options.fuel;
    in->depth = 0;
    zf_arena_set_escape(in->arena, &here);
    interp_status status = INTERP_OK;
    if (setjmp(here) == 0)
        work(argument);
    else
        status = in->stop_status;
    zf_arena_set_escape(in->arena, NULL);
    in->stopped = in->violated = NULL;
    return status;
}

void interp_raise(interp *in, const interp_violation *violation) {
    if (violation != &in->violation) in->violation = *violation;
    in->refused = NULL;
    longjmp(*in->violated, 1);
}

void interp_refuse(interp *in, const char *reason) {
    in->refused = reason;
    longjmp(*in->violated, 1);
}

void interp_stop(interp *in, interp_status status, const char *message) {
    in->stop_status = status;
    in->stop_message = message;
    longjmp(*in->stopped, 1);
}

void interp_violation_text(const interp_violation *violation, zf_text *out) {
    zf_text_printf(out, "V%02u at %llu of `%s`", violation->number, (unsigned long long)violation->position, violation->path);
    if (violation->span.source) {
        zf_position place = zf_source_position(violation->span.source, violation->span.begin);
        zf_text_printf(out, " (%s:%u:%u)", violation->span.source->path, place.line, place.column);
    }
    zf_text_printf(out, ": %s", violation->what);
}
