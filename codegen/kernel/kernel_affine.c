// Which indices are affine in the index of an environment.
#include "codegen/kernel/kernel.h"

enum { STEP_LIMIT = 256 }; // of an index: names are looked through, so its text may be much shorter than its tree

// All modulo 2^64, as the language computes in u64; types that are narrower do not take part. Where the plan has hoisted the
// access nothing wraps, so index * stride + from is what the expression says.
static bool affine(const zf_kernel_env *env, const zf_expr *e, unsigned *steps, uint64_t *stride, uint64_t *from) {
    if (e == NULL || ++*steps > STEP_LIMIT || e->is_seq || e->effect) return false;
    *stride = *from = 0;
    if (zf_lower_is_index(env, e)) {
        *stride = 1;
        return true;
    }
    uint64_t s, f;
    switch (e->kind) {
    case ZF_X_CONST: *from = e->bits; return zf_kind_is_unsigned(e->type.kind);
    case ZF_X_PARAM: return zf_kind_is_unsigned(e->type.kind) && zf_lower_param_known(env->lower, env->node, e->port, from);
    case ZF_X_LOCAL:
        if ((e->local->kind != ZF_L_LET && e->local->kind != ZF_L_FORMAL) || e->local->init == NULL) return false;
        return affine(env, e->local->init, steps, stride, from);
    case ZF_X_CAST:
        if (!zf_kind_is_unsigned(e->type.kind) || !zf_kind_is_unsigned(e->a->type.kind)) return false;
        if (!affine(env, e->a, steps, stride, from)) return false;
        if (e->type.kind == ZF_K_U64) return true;
        return *stride == 0 && (*from >> zf_kind_bits(e->type.kind)) == 0; // the index itself stays u64
    case ZF_X_BINARY: {
        if (!affine(env, e->a, steps, stride, from) || !affine(env, e->b, steps, &s, &f)) return false;
        unsigned width = zf_kind_bits(e->type.kind);
        if (e->type.kind != ZF_K_U64 && (*stride != 0 || s != 0 || width > 32 || !zf_kind_is_unsigned(e->type.kind)))
            return false;
        switch (e->op) {
        case ZF_OP_ADD: *stride += s, *from += f; break;
        case ZF_OP_SUB: *stride -= s, *from -= f; break;
        case ZF_OP_MUL:
            if (*stride != 0 && s != 0) return false;
            *stride = *stride * f + s * *from;
            *from *= f;
            break;
        case ZF_OP_SHL:
            if (s != 0 || f >= width) return false;
            *stride <<= f, *from <<= f;
            break;
        default: return false;
        }
        if (width < 64) *from &= ((uint64_t)1 << width) - 1;
        return true;
    }
    case ZF_X_CALL: return e->call->body == NULL && !e->call->returns_inside && affine(env, e->call->value, steps, stride, from);
    default: return false;
    }
}

bool zf_lower_affine(const zf_kernel_env *env, const zf_expr *expr, uint64_t *stride, uint64_t *from) {
    unsigned steps = 0;
    return affine(env, expr, &steps, stride, from);
}

// Returns the expression behind names, calls that only return, and conversions that keep every value.
static const zf_expr *behind(const zf_kernel_env *env, const zf_expr *e) {
    for (unsigned steps = 0; e != NULL && steps < STEP_LIMIT && !e->is_seq && !e->effect; steps++) {
        if (zf_lower_is_index(env, e)) return e;
        if (e->kind == ZF_X_LOCAL && (e->local->kind == ZF_L_LET || e->local->kind == ZF_L_FORMAL) && e->local->init != NULL) {
            e = e->local->init;
        } else if (e->kind == ZF_X_CAST && e->type.kind == ZF_K_U64 && zf_kind_is_unsigned(e->a->type.kind)) {
            e = e->a;
        } else if (e->kind == ZF_X_CALL && e->call->body == NULL && !e->call->returns_inside) {
            e = e->call->value;
        } else {
            return e;
        }
    }
    return NULL;
}

const zf_port *zf_lower_scaled(const zf_kernel_env *env, const zf_expr *expr, const zf_expr *count) {
    const zf_expr *e = behind(env, expr), *n = behind(env, count);
    if (e == NULL || n == NULL || n->kind != ZF_X_PARAM || !zf_kind_is_unsigned(n->type.kind)) return NULL;
    if (e->kind != ZF_X_BINARY || e->op != ZF_OP_MUL || e->type.kind != ZF_K_U64) return NULL;
    const zf_expr *a = behind(env, e->a), *b = behind(env, e->b);
    if (a == NULL || b == NULL) return NULL;
    if (!zf_lower_is_index(env, a)) {
        const zf_expr *c = a;
        a = b, b = c;
    }
    return zf_lower_is_index(env, a) && b->kind == ZF_X_PARAM && b->port == n->port ? n->port : NULL;
}
