#include "compiler/encode/encode_extern.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/container_spec.h"

typedef unsigned long long ull;

enum {
    CANARY = ZF_ENCODE_SLACK, ///< bytes behind the room of a stream, which every buffer has
    CANARY_BYTE = 0xc7,
};

/// An encoder that runs.
typedef struct running {
    const zf_extern_encoder *encoder;
    const zf_codec_node *codec;
    const zf_inst *inst;
    zf_type type; ///< of the elements
    zf_encode_frame *frame;
    zf_extern_end *end;
    zf_extern_param *params;
    zf_extern_stream *streams;
    uint64_t chunk;
} running;

/// Ends the encoder with a reason, and says in which chunk it was.
static bool refuse(running *r, bool unable, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool refuse(running *r, bool unable, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(r->end->reason, sizeof r->end->reason, format, arguments);
    va_end(arguments);
    if (!unable && r->inst->pattern == ZF_NON_PARALLEL && length > 0 && (size_t)length < sizeof r->end->reason)
        snprintf(r->end->reason + length, sizeof r->end->reason - (size_t)length, " (chunk %llu of the block)", (ull)r->chunk);
    r->end->unable = unable;
    r->frame->outcome = ZF_ENCODE_REFUSED;
    return false;
}

// ---- The form of the algorithm --------------------------------------------------------------------------------

static bool check_form(running *r) {
    for (uint32_t s = 0; s < r->inst->stream_count; s++) {
        const zf_port *port = r->inst->streams[s];
        if (!zf_type_storable(port->type))
            return refuse(r, true, "its stream `%s` is of %s, which an extern encoder cannot write", port->name,
                          port->type.nullable ? "nullable values" : "strings");
        if (r->inst->pattern == ZF_NON_PARALLEL && !port->per_chunk)
            return refuse(r, true, "its stream `%s` belongs to the block, and an extern encoder is called chunk by chunk",
                          port->name);
    }
    return true;
}

// ---- Params ---------------------------------------------------------------------------------------------------

/// A param as encoders see it: extended to 64 bits.
static uint64_t extended(zf_kind kind, uint64_t bits) {
    return zf_kind_is_float(kind) ? bits : (uint64_t)zf_value_of_bits(kind, bits);
}

static bool is_given(const running *r, uint32_t p) { return r->codec->param_given != NULL && r->codec->param_given[p]; }

static void show_params(running *r) {
    for (uint32_t p = 0; p < r->inst->param_count; p++) {
        const zf_port *port = r->inst->params[p];
        r->params[p] = (zf_extern_param){.name = port->name,
                                         .type = zf_column_type_of(port->type),
                                         .given = is_given(r, p),
                                         .bits = extended(port->type.kind, r->frame->params[p])};
    }
}

/// Takes the params that the encoder set.
static bool take_params(running *r) {
    for (uint32_t p = 0; p < r->inst->param_count; p++) {
        const zf_port *port = r->inst->params[p];
        zf_kind kind = port->type.kind;
        uint64_t bits = r->params[p].bits, before = extended(kind, r->frame->params[p]);
        if (bits == before) continue;
        if (is_given(r, p)) return refuse(r, false, "it changes the param `%s`, which the codec gives", port->name);
        if (r->chunk > 0) return refuse(r, false, "it changes the param `%s`, which an earlier chunk set", port->name);
        if (kind == ZF_K_BOOL && bits > 1)
            return refuse(r, false, "it sets the boolean param `%s` to neither 0 nor 1", port->name);
        if (zf_kind_is_integer(kind)) {
            zf_int128 value = zf_kind_is_signed(kind) ? (zf_int128)(int64_t)bits : (zf_int128)bits;
            zf_interval range = port->has_range ? port->range : zf_interval_of_kind(kind);
            if (value < range.lo || value > range.hi)
                return refuse(r, false, "it sets the param `%s` to a value outside its range", port->name);
            bits = zf_bits_of_value(kind, value);
        }
        if (kind == ZF_K_F32) bits &= UINT32_MAX;
        r->frame->params[p] = bits;
    }
    return true;
}

// ---- Streams --------------------------------------------------------------------------------------------------

/// Makes room for the encoder's elements in each stream, and a canary behind it.
static bool make_room(running *r, const zf_extern_call *call) {
    uint64_t bounds = 0;
    for (uint32_t s = 0; s < r->inst->stream_count; s++) {
        zf_encode_buffer *buffer = &r->frame->streams[s];
        uint64_t most = buffer->most, bound = r->encoder->bound(r->encoder->user, call, s), bytes;
        bool fits = !__builtin_mul_overflow(bound, (uint64_t)buffer->element, &bytes) &&
                    !__builtin_add_overflow(bounds, bytes, &bounds) && bounds <= r->frame->bytes_left;
        if (!fits)
            return refuse(r, false, "it may write %llu elements to `%s`, for which a block has no room", (ull)bound,
                          r->inst->streams[s]->name);
        if (r->inst->streams[s]->per_chunk && !zf_cg_start_chunk(r->frame, buffer)) return false;
        buffer->most = UINT64_MAX; // only what it then writes counts
        bool made = zf_cg_reserve(r->frame, buffer, bound > 0 ? bound : 1);
        buffer->most = most;
        if (!made) return false;
        r->streams[s].elements = buffer->data + buffer->length * buffer->element;
        r->streams[s].capacity = bound;
        r->streams[s].count = 0;
        memset((uint8_t *)r->streams[s].elements + bytes, CANARY_BYTE, CANARY);
    }
    return true;
}

static bool canary_lives(const zf_extern_stream *stream, uint64_t element) {
    const uint8_t *behind = (const uint8_t *)stream->elements + stream->capacity * element;
    unsigned differ = 0;
    for (size_t k = 0; k < CANARY; k++) differ |= behind[k] ^ (unsigned)CANARY_BYTE;
    return differ == 0;
}

/// Takes the elements that the encoder wrote.
static bool take_streams(running *r, const zf_extern_stream *room) {
    for (uint32_t s = 0; s < r->inst->stream_count; s++) {
        zf_encode_buffer *buffer = &r->frame->streams[s];
        const char *name = r->inst->streams[s]->name;
        uint64_t count = r->streams[s].count;
        if (!canary_lives(&room[s], buffer->element))
            return refuse(r, false, "it wrote behind the %llu elements of `%s` that it asked for", (ull)room[s].capacity, name);
        if (count > room[s].capacity)
            return refuse(r, false, "it reports %llu elements of `%s`, and asked for room for %llu", (ull)count, name,
                          (ull)room[s].capacity);
        if (r->inst->streams[s]->type.kind == ZF_K_BOOL) {
            uint8_t *bytes = buffer->data + buffer->length;
            for (uint64_t k = 0; k < count; k++) bytes[k] = bytes[k] != 0;
        }
        buffer->length += count;
    }
    for (uint32_t s = 0; s < r->inst->stream_count; s++) {
        if (r->frame->streams[s].length <= r->frame->streams[s].most) continue;
        r->frame->outcome = ZF_ENCODE_MORE;
        return false;
    }
    return true;
}

// ---- Calls ----------------------------------------------------------------------------------------------------

static bool ended(running *r, zf_status status, zf_extern_call *call) {
    if (status == ZF_OK) return true;
    call->reason[sizeof call->reason - 1] = 0;
    if (status == ZF_ERR_MEMORY) {
        r->frame->outcome = ZF_ENCODE_MEMORY;
        return false;
    }
    const char *reason = call->reason[0] != 0 ? call->reason : "it gives no reason";
    return refuse(r, status == ZF_ERR_UNSUPPORTED, "%s", reason);
}

/// Calls the encoder for `count` elements from `first` on.
static bool call_once(running *r, zf_extern_stream *room, uint64_t first, uint64_t count) {
    const zf_encode_frame *frame = r->frame;
    bool text = r->type.kind == ZF_K_STRING;
    zf_extern_call call = {ZF_INIT(zf_extern_call),
                           .algorithm = r->inst->name,
                           .type = zf_column_type_of(r->type),
                           .values = first == 0 || text ? frame->values : frame->values + first * zf_kind_size(r->type.kind),
                           .offsets = text ? frame->offsets + first : NULL,
                           .validity = r->type.nullable ? frame->validity + first : NULL,
                           .count = count,
                           .chunk = r->chunk,
                           .params = r->params,
                           .streams = r->streams,
                           .param_count = r->inst->param_count,
                           .stream_count = r->inst->stream_count};
    show_params(r);
    for (uint32_t s = 0; s < r->inst->stream_count; s++) {
        const zf_port *port = r->inst->streams[s];
        r->streams[s] = (zf_extern_stream){.name = port->name, .type = zf_column_type_of(port->type)};
    }
    if (!make_room(r, &call)) return false;
    memcpy(room, r->streams, r->inst->stream_count * sizeof *room); // the encoder may write over what it was told
    zf_status status = r->encoder->encode(r->encoder->user, &call);
    return ended(r, status, &call) && take_params(r) && take_streams(r, room);
}

static bool call_all(running *r, zf_extern_stream *room) {
    uint64_t rows = r->frame->rows, size = r->inst->pattern == ZF_NON_PARALLEL ? r->frame->chunk_size : rows;
    if (r->inst->pattern != ZF_NON_PARALLEL) return call_once(r, room, 0, rows);
    for (uint64_t first = 0; first < rows; first += size, r->chunk++)
        if (!call_once(r, room, first, rows - first < size ? rows - first : size)) return false;
    return true;
}

void zf_encode_extern_run(const zf_extern_encoder *encoder, const zf_codec_node *codec, zf_type type, zf_encode_frame *frame,
                          zf_extern_end *end) {
    const zf_inst *inst = codec->inst;
    running r = {.encoder = encoder, .codec = codec, .inst = inst, .type = type, .frame = frame, .end = end};
    *end = (zf_extern_end){0};
    frame->span = UINT64_MAX;
    frame->row = ZF_ENCODE_NO_ROW;
    r.params = calloc(inst->param_count + 1u, sizeof *r.params);
    r.streams = calloc(inst->stream_count + 1u, sizeof *r.streams);
    zf_extern_stream *room = calloc(inst->stream_count + 1u, sizeof *room);
    if (r.params == NULL || r.streams == NULL || room == NULL)
        frame->outcome = ZF_ENCODE_MEMORY;
    else if (check_form(&r))
        call_all(&r, room);
    free(r.params);
    free(r.streams);
    free(room);
}
