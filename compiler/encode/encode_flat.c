#include "compiler/encode/encode_flat.h"

#include <stdlib.h>

#include "runtime/base/error_codes.h"

static void measure(const zf_encode_node *node, zf_encode_flat *f) {
    f->edge_count++;
    f->node_count++;
    f->param_count += node->codec->inst->param_count;
    for (uint32_t s = 0; s < node->codec->inst->stream_count; s++) {
        if (node->children[s] != NULL) {
            measure(node->children[s], f);
        } else {
            f->edge_count++;
            f->stream_count++;
        }
    }
}

static uint8_t *pack_bits(const uint8_t *bytes, uint64_t count) {
    uint8_t *bits = calloc(1, (count + 7) / 8 + 1);
    for (uint64_t k = 0; bits != NULL && k < count; k++) bits[k / 8] |= (uint8_t)((bytes[k] != 0) << (k % 8));
    return bits;
}

/// Stores a stream of numbers or booleans. Codecs that would store another type were refused.
static void store_stream(const zf_encode_buffer *buffer, const zf_port *port, uint32_t node, zf_encode_flat *f) {
    uint32_t number = f->stream_count++;
    zf_stream_data *stream = &f->streams[number];
    f->origins[number] = (zf_flat_stream){.node = node, .slot = port->slot, .edge = f->edge_count};
    f->counts[f->edge_count++] = buffer->length;
    *stream = (zf_stream_data){buffer->data, buffer->length * buffer->element, buffer->length};
    if (port->type.kind != ZF_K_BOOL) return;
    f->made[number] = pack_bits(buffer->data, buffer->length);
    if (f->made[number] == NULL) f->no_memory = true;
    stream->data = f->made[number];
    stream->bytes = (buffer->length + 7) / 8;
}

static void number(const zf_encode_node *node, zf_encode_flat *f) {
    const zf_inst *inst = node->codec->inst;
    uint32_t own = f->node_count++;
    f->counts[f->edge_count++] = node->count;
    f->nodes[own] = node;
    f->first_params[own] = f->param_count;
    if (node->choice->count > 1) f->branches[node->choice->index] = (uint8_t)node->branch;
    for (uint32_t p = 0; p < inst->param_count; p++) f->params[f->param_count++] = node->params[p];
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        if (node->children[s] != NULL)
            number(node->children[s], f);
        else
            store_stream(&node->streams[s], inst->streams[s], own, f);
    }
}

void zf_encode_flat_free(zf_encode_flat *f) {
    for (uint32_t s = 0; f->made != NULL && s < f->stream_count; s++) free(f->made[s]);
    free(f->branches);
    free(f->params);
    free(f->counts);
    free(f->streams);
    free(f->origins);
    free(f->made);
    free(f->nodes);
    free(f->first_params);
}

zf_status zf_encode_flatten(const zf_column *column, const zf_encode_node *tree, zf_encode_flat *f, zf_error *error) {
    measure(tree, f);
    f->branches = calloc(1, column->choice_count + 1u);
    f->params = calloc(f->param_count + 1u, sizeof *f->params);
    f->counts = calloc(f->edge_count + 1u, sizeof *f->counts);
    f->streams = calloc(f->stream_count + 1u, sizeof *f->streams);
    f->origins = calloc(f->stream_count + 1u, sizeof *f->origins);
    f->made = calloc(f->stream_count + 1u, sizeof *f->made);
    f->nodes = calloc(f->node_count + 1u, sizeof *f->nodes);
    f->first_params = calloc(f->node_count + 1u, sizeof *f->first_params);
    bool made = f->branches && f->params && f->counts && f->streams && f->origins && f->made && f->nodes && f->first_params;
    if (!made) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a block");
    f->param_count = f->edge_count = f->stream_count = f->node_count = 0;
    number(tree, f);
    if (f->no_memory) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a block");
    return ZF_OK;
}
