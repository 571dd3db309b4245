#include "codegen/emit.h"

#include "codegen/decoder.h"
#include "codegen/program.h"
#include "runtime/error_codes.h"

zf_status zf_emit_code(zf_compiler *compiler, zf_program *program, const zf_column *column, bool assembly, zf_text *out,
                       zf_error *error) {
    static const uint8_t first[256]; // all choices take their first alternative
    if (column->choice_count > sizeof(first)) return zf_raise(error, ZF_E_TOO_LARGE, "too many choices to print");
    zf_decoder *decoder;
    ZF_TRY(
        zf_decoder_create(compiler, program->spec, column, first, column->choice_count, (zf_abi_target){0}, 0, &decoder, error));
    zf_jit_stage stage = assembly ? ZF_JIT_ASSEMBLY : ZF_JIT_OPTIMISED;
    zf_status status = zf_decoder_print(decoder, NULL, stage, out, error);
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
