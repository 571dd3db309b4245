// The final form of a query's results in an accelerator's memory.
#include "compiler/compiler.h"
#include "compiler/program.h"
#include "compiler/query/query_device.h"

enum { MOST_GROUPS = 1024 };

static zf_status make(zf_query_finals *f, zf_program *program, zf_accelerator *accelerator, zf_query_final form,
                      zf_error *error) {
    zf_query_kernels *kernels = &f->kernels[form];
    zf_jit *jit = zf_compiler_jit(program->compiler);
    zf_abi_target target = accelerator->ops->target(accelerator);
    if (f->loaded[form] != NULL) return ZF_OK;
    zf_codegen_free(jit, &kernels->code); // of a call that failed
    ZF_TRY(zf_codegen_query_final(jit, target, form, kernels, error));
    return accelerator->ops->load(accelerator, &kernels->plan, &kernels->code.abi, &f->loaded[form], error);
}

static zf_status write_frame(zf_query_finals *f, zf_accelerator *accelerator, void *stream, const zf_query_final_frame *frame,
                             zf_error *error) {
    const zf_accelerator_ops *ops = accelerator->ops;
    if (f->frame == 0) ZF_TRY(ops->allocate(accelerator, sizeof *frame, &f->frame, error));
    return ops->copy_in(accelerator, stream, f->frame, frame, sizeof *frame, error);
}

zf_status zf_query_final_run(zf_query_finals *f, zf_program *program, zf_accelerator *accelerator, void *stream,
                             const zf_query_memory *results, zf_query_final form, const zf_query_final_frame *frame, uint64_t to,
                             uint64_t bytes, zf_error *error) {
    ZF_TRY(make(f, program, accelerator, form, error));
    ZF_TRY(write_frame(f, accelerator, stream, frame, error));
    uint64_t groups = (frame->count + ZF_QUERY_FINAL_THREADS - 1) / ZF_QUERY_FINAL_THREADS;
    if (groups > MOST_GROUPS) groups = MOST_GROUPS;
    zf_simt_args args = {.base = results->address,
                         .base_bytes = results->bytes,
                         .blocks = f->frame,
                         .blocks_bytes = sizeof *frame,
                         .out = to,
                         .out_bytes = bytes,
                         .block_count = 1,
                         .even = (uint32_t)groups};
    zf_status status = accelerator->ops->launch(accelerator, stream, f->loaded[form], 0, (uint32_t)groups, &args, error);
    zf_status waited = accelerator->ops->wait(accelerator, stream, status == ZF_OK ? error : NULL);
    return status != ZF_OK ? status : waited;
}

void zf_query_finals_free(zf_query_finals *f, zf_program *program, zf_accelerator *accelerator) {
    for (unsigned form = 0; form < ZF_QUERY_FINALS; form++) {
        if (f->loaded[form] != NULL && accelerator->ops->unload != NULL) accelerator->ops->unload(accelerator, f->loaded[form]);
        zf_codegen_free(zf_compiler_jit(program->compiler), &f->kernels[form].code);
    }
    if (f->frame != 0) accelerator->ops->release(accelerator, f->frame);
}
