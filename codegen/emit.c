#include "codegen/emit.h"

#include "codegen/decoder.h"
#include "codegen/program.h"
#include "runtime/error_codes.h"

zf_status zf_emit_code(zf_compiler *compiler, zf_program *program, const zf_column *column, const zf_emit_options *options,
                       zf_text *out, zf_error *error) {
    static const uint8_t first[256]; // all choices take their first alternative
    if (column->choice_count > sizeof(first)) return zf_raise(error, ZF_E_TOO_LARGE, "too many choices to print");
    zf_decoder *decoder;
    ZF_TRY(zf_decoder_create(compiler, program->spec, column, first, column->choice_count, options->target, 0, &decoder, error));
    zf_jit_stage stage = options->assembly ? ZF_JIT_ASSEMBLY : ZF_JIT_OPTIMISED;
    zf_status status = ZF_OK;
    uint32_t wanted = decoder->plan->shaping_count;
    if (options->shaping != NULL && options->shaping_count != wanted) {
        status = zf_raise(error, ZF_E_ARGUMENT, "column `%s` has %u shaping params, not %u", column->name, wanted,
                          options->shaping_count);
    }
    if (status == ZF_OK) status = zf_decoder_print(decoder, options->shaping, stage, !options->no_lines, out, error);
    if (options->target.family != ZF_TARGET_HOST) {
        zf_decoder_free(decoder);
        return status;
    }
    // The encode bodies, each once: nodes may share an instance.
    const zf_graph *graph = decoder->graph;
    for (uint32_t n = 0; n < graph->node_count && status == ZF_OK; n++) {
        uint32_t same = 0;
        while (graph->nodes[same].inst != graph->nodes[n].inst) same++;
        if (same == n) status = zf_encoder_print(compiler, graph->nodes[n].inst, (int)stage, out, error);
    }
    zf_decoder_free(decoder);
    return status;
}
