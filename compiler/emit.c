#include "compiler/emit.h"

#include <stdio.h>

#include "compiler/compiler.h"
#include "compiler/program.h"
#include "runtime/base/error_codes.h"

/// A block with a value that its param cannot have would be refused: code for one is code for nothing.
static zf_status check_shaping(const zf_plan *plan, const zf_emit_options *options, const char *column, zf_error *error) {
    if (options->shaping == NULL) return ZF_OK;
    if (options->shaping_count != plan->shaping_count) {
        return zf_raise(error, ZF_E_ARGUMENT, "column `%s` has %u shaping params, not %u", column, plan->shaping_count,
                        options->shaping_count);
    }
    for (uint32_t k = 0; k < plan->shaping_count; k++) {
        uint32_t node;
        const zf_port *port = zf_graph_param(plan->graph, plan->shaping[k], &node);
        if (!zf_kind_is_integer(port->type.kind)) continue;
        bool is_signed = zf_kind_is_signed(port->type.kind);
        zf_int128 value = is_signed ? (zf_int128)(int64_t)options->shaping[k] : (zf_int128)options->shaping[k];
        if (value >= port->range.lo && value <= port->range.hi) continue;
        const char *path = plan->graph->nodes[node].path;
        char text[2][24];
        for (unsigned side = 0; side < 2; side++) {
            zf_int128 end = side == 0 ? port->range.lo : port->range.hi;
            if (end < 0)
                snprintf(text[side], sizeof text[side], "%lld", (long long)end);
            else
                snprintf(text[side], sizeof text[side], "%llu", (unsigned long long)end);
        }
        return zf_raise(error, ZF_E_ARGUMENT, "column `%s`: shaping param %u, `%s%s%s`, is in %s..=%s", column, k + 1, path,
                        path[0] != 0 ? "." : "", port->name, text[0], text[1]);
    }
    return ZF_OK;
}

zf_status zf_emit_code(zf_program *program, const zf_column *column, const zf_emit_options *options, zf_text *out,
                       zf_error *error) {
    static const uint8_t first[256]; // all choices take their first alternative
    if (column->choice_count > sizeof(first)) return zf_raise(error, ZF_E_TOO_LARGE, "too many choices to print");
    zf_cached_decoder *held;
    zf_plan_request request = *zf_compiler_request(program->compiler);
    request.target = options->target;
    ZF_TRY(zf_program_decoder_for(program, column, first, &request, &held, error));
    zf_decoder *decoder = held->decoder;
    zf_compile_budget_renew(decoder->budget);
    zf_jit_stage stage = options->assembly ? ZF_JIT_ASSEMBLY : ZF_JIT_OPTIMISED;
    zf_status status = check_shaping(decoder->plan, options, column->name, error);
    if (status == ZF_OK) status = zf_decoder_print(decoder, options->shaping, stage, !options->no_lines, out, error);
    if (options->target.family != ZF_TARGET_HOST) {
        zf_program_decoder_release(program, held);
        return status;
    }
    // The encode bodies, each once: nodes may share an instance.
    const zf_graph *graph = decoder->graph;
    for (uint32_t n = 0; n < graph->node_count && status == ZF_OK; n++) {
        uint32_t same = 0;
        while (graph->nodes[same].inst != graph->nodes[n].inst) same++;
        if (same == n)
            status = zf_encoder_print(program->compiler, graph->nodes[n].inst, decoder->budget, (int)stage, out, error);
    }
    zf_program_decoder_release(program, held);
    return status;
}
