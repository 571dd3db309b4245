#include "compiler/encode/encode_tuples.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/check/walk.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"

enum {
    MOST_KNOWN = ZF_TUPLES_MOST, ///< tuples that later blocks may take, the first ones of the column
    PERCENT = 1,                 ///< of a block's bytes: it grows by less
};

/// A tuple that a block is stored with.
typedef struct known {
    struct known *next;
    uint8_t *branches; ///< which have as many shaping params; behind the values
    uint64_t values[]; ///< in the order of the plan's shaping params
} known;

struct zf_encode_tuples {
    size_t branch_count;
    bool widens; ///< a block may take another tuple
    pthread_mutex_t lock;
    pthread_cond_t turned;
    uint64_t turn; ///< the block that chooses next
    known *first, **last;
    unsigned count;
};

/// A param of a block that may be larger, and the stream whose elements then are wider.
typedef struct widening {
    uint32_t stream; ///< UINT32_MAX: it must stay as it is
    uint64_t elements, from, to;
} widening;

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a block"); }

// ---- Params that widen a stream ---------------------------------------------------------------------------------

typedef struct uses {
    const zf_port *param, *stream;
    unsigned of_param, of_stream;
} uses;

static bool count_use(zf_visitor *visitor, zf_expr *expr) {
    uses *u = visitor->user;
    u->of_param += expr->port == u->param;
    u->of_stream += expr->port == u->stream;
    return true;
}

/// The stream of `for v in x { stream.push_bits(..., param); }`, or NULL.
static const zf_port *packed_by(const zf_stmt *loop, const zf_port *param) {
    const zf_stmt *push = loop->body;
    if (loop->kind != ZF_S_FOR_EACH || loop->value->kind != ZF_X_INPUT) return NULL;
    if (push == NULL || push->next != NULL || push->kind != ZF_S_PUSH_BITS || push->target->kind != ZF_X_STREAM) return NULL;
    const zf_expr *count = zf_expr_uncast(push->count);
    return count->kind == ZF_X_PARAM && count->port == param ? push->target->port : NULL;
}

uint32_t zf_encode_widens(const zf_inst *inst, uint32_t param) {
    const zf_port *port = inst->params[param], *stream = NULL;
    bool assigned = false;
    if (inst->encode_extern != NULL || !inst->encode.present) return UINT32_MAX;
    for (const zf_stmt *s = inst->encode.stmts; s != NULL && stream == NULL; s = s->next) {
        assigned = assigned || (s->kind == ZF_S_ASSIGN && s->place->kind == ZF_X_PARAM && s->place->port == port && !s->has_op);
        stream = packed_by(s, port);
    }
    if (stream == NULL || !assigned || stream->per_chunk || stream->fixed) return UINT32_MAX;
    uses u = {.param = port, .stream = stream};
    zf_visitor visitor = {.user = &u, .expr = count_use};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&inst->encode);           // only looks
    return u.of_param == 2 && u.of_stream == 1 ? stream->slot : UINT32_MAX; // the assignment and the push
}

/// Counts in the codecs of a choice, all alternatives together.
static void look(const zf_codec_choice *choice, unsigned *streams, unsigned *wideners) {
    for (uint32_t a = 0; a < choice->count; a++) {
        const zf_codec_node *node = choice->alternatives[a];
        for (uint32_t p = 0; p < node->inst->param_count; p++) {
            uint32_t slot = zf_encode_widens(node->inst, p);
            *wideners += slot != UINT32_MAX && node->streams[slot] == NULL;
        }
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            *streams += node->streams[s] == NULL;
            if (node->streams[s] != NULL) look(node->streams[s], streams, wideners);
        }
    }
}

// ---- Turns ------------------------------------------------------------------------------------------------------

zf_status zf_encode_tuples_create(const zf_column *column, zf_encode_tuples **out, zf_error *error) {
    unsigned streams = 0, wideners = 0;
    *out = NULL;
    look(column->codec, &streams, &wideners);
    bool widens = wideners > 0 && streams > 1; // a bit more in each element of the only stream is more than 1%
    if (!widens && column->choice_count == 0) return ZF_OK;
    zf_encode_tuples *tuples = calloc(1, sizeof *tuples);
    if (tuples == NULL) return no_memory(error);
    tuples->branch_count = column->choice_count;
    tuples->widens = widens;
    tuples->last = &tuples->first;
    pthread_mutex_init(&tuples->lock, NULL);
    pthread_cond_init(&tuples->turned, NULL);
    *out = tuples;
    return ZF_OK;
}

void zf_encode_tuples_free(zf_encode_tuples *tuples) {
    if (tuples == NULL) return;
    while (tuples->first != NULL) {
        known *next = tuples->first->next;
        free(tuples->first);
        tuples->first = next;
    }
    pthread_cond_destroy(&tuples->turned);
    pthread_mutex_destroy(&tuples->lock);
    free(tuples);
}

/// Takes the lock when the turn of `block` has come, or is over.
static void wait_for_turn(zf_encode_tuples *tuples, uint64_t block) {
    pthread_mutex_lock(&tuples->lock);
    while (tuples->turn < block) pthread_cond_wait(&tuples->turned, &tuples->lock);
}

static void end_turn(zf_encode_tuples *tuples) {
    tuples->turn++;
    pthread_cond_broadcast(&tuples->turned);
    pthread_mutex_unlock(&tuples->lock);
}

void zf_encode_tuples_pass(zf_encode_tuples *tuples, uint64_t block) {
    if (tuples == NULL) return;
    wait_for_turn(tuples, block);
    if (tuples->turn == block)
        end_turn(tuples);
    else
        pthread_mutex_unlock(&tuples->lock);
}

// ---- Choosing ---------------------------------------------------------------------------------------------------

/// The width in bits of an element of a stored stream.
static uint64_t bits_of(const zf_encode_flat *f, uint32_t stream) {
    const zf_flat_stream *origin = &f->origins[stream];
    return 8 * (uint64_t)zf_kind_size(f->nodes[origin->node]->codec->inst->streams[origin->slot]->type.kind);
}

/// Elements that a stream of `count` fields has.
static uint64_t elements_of(uint64_t count, uint64_t width, uint64_t bits) { return (count * width + bits - 1) / bits; }

/// Finds the stream that a param widens.
static widening widening_of(const zf_encode_flat *f, uint32_t param) {
    widening w = {.stream = UINT32_MAX, .from = f->params[param], .to = f->params[param]};
    uint32_t node = f->node_count - 1;
    while (f->first_params[node] > param || f->nodes[node]->codec->inst->param_count == 0) node--;
    uint32_t slot = zf_encode_widens(f->nodes[node]->codec->inst, param - f->first_params[node]);
    for (uint32_t s = 0; s < f->stream_count && slot != UINT32_MAX; s++) {
        if (f->origins[s].node != node || f->origins[s].slot != slot) continue;
        w.elements = f->nodes[node]->count;
        if (f->streams[s].elements == elements_of(w.elements, w.from, bits_of(f, s))) w.stream = s;
    }
    return w;
}

/// The bytes of the block as it is laid out, without seek states. `more`: for each stream, bytes beyond those it has.
static uint64_t laid_out(const zf_shape *shape, const zf_encode_flat *f, const uint64_t *more) {
    uint64_t offset, size = 0;
    zf_placing placing = zf_placing_start(zf_block_header_bytes(shape, 2));
    for (uint32_t s = 0; s < f->stream_count; s++)
        zf_placing_add(&placing, ZF_FORMAT_ALIGNMENT, f->streams[s].bytes + more[s], &offset);
    zf_placing_size(&placing, &size);
    return size;
}

/// The bytes by which a block grows if it takes a tuple; UINT64_MAX where it cannot. Leaves the values in `ways`.
static uint64_t cost_of(const known *k, uint32_t count, widening *ways, const zf_shape *shape, const zf_encode_flat *f,
                        uint64_t *more) {
    memset(more, 0, f->stream_count * sizeof *more);
    uint64_t before = laid_out(shape, f, more);
    for (uint32_t p = 0; p < count; p++) {
        widening *w = &ways[p];
        w->to = k->values[p];
        if (w->to == w->from) continue;
        if (w->stream == UINT32_MAX || w->to < w->from || w->to > 64) return UINT64_MAX;
        uint64_t bits = bits_of(f, w->stream);
        more[w->stream] = elements_of(w->elements, w->to, bits) * (bits / 8) - f->streams[w->stream].bytes;
    }
    uint64_t cost = laid_out(shape, f, more) - before;
    return cost * 100 < before * PERCENT ? cost : UINT64_MAX;
}

/// Adds a block's tuple to those of the column.
static zf_status add(zf_encode_tuples *tuples, const zf_plan *plan, const zf_encode_flat *f, zf_error *error) {
    if (tuples->count == MOST_KNOWN) return ZF_OK;
    known *k = malloc(sizeof *k + plan->shaping_count * sizeof *k->values + tuples->branch_count);
    if (k == NULL) return no_memory(error);
    k->next = NULL;
    for (uint32_t p = 0; p < plan->shaping_count; p++) k->values[p] = f->params[plan->shaping[p]];
    k->branches = (uint8_t *)(k->values + plan->shaping_count);
    memcpy(k->branches, f->branches, tuples->branch_count);
    *tuples->last = k;
    tuples->last = &k->next;
    tuples->count++;
    return ZF_OK;
}

/// Writes the fields of a stream again, `to` bits each.
static zf_status widen(zf_encode_flat *f, const widening *w, zf_error *error) {
    uint64_t bits = bits_of(f, w->stream), elements = elements_of(w->elements, w->to, bits), bytes = elements * (bits / 8);
    const uint8_t *from = f->streams[w->stream].data;
    uint8_t *to = calloc(1, bytes + 16);
    if (to == NULL) return no_memory(error);
    uint64_t mask = w->from == 64 ? UINT64_MAX : (UINT64_C(1) << w->from) - 1;
    for (uint64_t k = 0; k < w->elements && w->from > 0; k++) {
        uint64_t at = k * w->from, low, goes = k * w->to, word;
        memcpy(&low, from + at / 8, 8); // there is slack behind a stream
        low >>= at % 8;
        if (at % 8 + w->from > 64) low |= (uint64_t)from[at / 8 + 8] << (64 - at % 8);
        low &= mask;
        memcpy(&word, to + goes / 8, 8);
        word |= low << goes % 8;
        memcpy(to + goes / 8, &word, 8);
        if (goes % 8 + w->from > 64) to[goes / 8 + 8] = (uint8_t)(low >> (64 - goes % 8));
    }
    free(f->made[w->stream]);
    f->made[w->stream] = to;
    f->streams[w->stream] = (zf_stream_data){to, bytes, elements};
    f->counts[f->origins[w->stream].edge] = elements;
    return ZF_OK;
}

/// In its turn: the cheapest tuple that the block can take, of equal ones the first. NULL: its own, which is added if it is new.
static zf_status choose(zf_encode_tuples *tuples, const zf_decoder *decoder, const zf_encode_flat *f, widening *ways,
                        uint64_t *more, const known **out, zf_error *error) {
    const zf_plan *plan = decoder->plan;
    uint32_t count = plan->shaping_count;
    uint64_t least = UINT64_MAX;
    *out = NULL;
    for (const known *k = tuples->first; k != NULL; k = k->next) {
        if (memcmp(k->branches, f->branches, tuples->branch_count) != 0) continue;
        bool own = true;
        for (uint32_t p = 0; p < count && own; p++) own = k->values[p] == f->params[plan->shaping[p]];
        if (own) {
            *out = NULL;
            return ZF_OK;
        }
        uint64_t cost = cost_of(k, count, ways, &decoder->shape, f, more);
        if (cost >= least) continue;
        least = cost;
        *out = k;
    }
    return *out == NULL ? add(tuples, plan, f, error) : ZF_OK;
}

zf_status zf_encode_tuples_choose(zf_encode_tuples *tuples, uint64_t block, const zf_decoder *decoder, zf_writer *writer,
                                  size_t column, zf_encode_flat *f, uint32_t *shape, bool *changed, zf_error *error) {
    const zf_plan *plan = decoder->plan;
    widening *ways = calloc(plan->shaping_count + 1u, sizeof *ways);
    uint64_t *more = calloc(f->stream_count + 1u, sizeof *more);
    const known *taken = NULL;
    zf_status status = ways != NULL && more != NULL ? ZF_OK : no_memory(error);
    for (uint32_t p = 0; status == ZF_OK && p < plan->shaping_count; p++) ways[p] = widening_of(f, plan->shaping[p]);
    wait_for_turn(tuples, block);
    if (status == ZF_OK) status = zf_writer_shape(writer, column, &decoder->shape, shape, error);
    if (status == ZF_OK && tuples->widens && plan->shaping_count > 0)
        status = choose(tuples, decoder, f, ways, more, &taken, error);
    end_turn(tuples);
    *changed = taken != NULL;
    for (uint32_t p = 0; status == ZF_OK && taken != NULL && p < plan->shaping_count; p++) {
        ways[p].to = taken->values[p];
        if (ways[p].to == ways[p].from) continue;
        status = widen(f, &ways[p], error);
        f->params[plan->shaping[p]] = ways[p].to;
    }
    free(ways);
    free(more);
    return status;
}
