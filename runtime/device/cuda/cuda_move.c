// Moves of bits on a GPU, by a kernel of the library's own.
#include "runtime/base/error_codes.h"
#include "runtime/device/cuda/cuda_internal.h"

enum { THREADS = 256, WORDS_A_THREAD = 4, GROUPS_MOST = 65535 };

// move_bits.ptx, with a zero byte behind it.
extern const char zf_cuda_move_bits_ptx[];
__asm__(".pushsection .rodata\n"
        ".hidden zf_cuda_move_bits_ptx\n"
        ".globl zf_cuda_move_bits_ptx\n"
        "zf_cuda_move_bits_ptx:\n"
        ".incbin \"" ZF_MOVE_BITS_PTX "\"\n"
        ".byte 0\n"
        ".popsection\n");

/// Loads the kernel when it is first needed. Within the context.
static zf_status load_kernel(zf_cuda *cuda, zf_cu_function *out, zf_error *error) {
    zf_status status = ZF_OK;
    pthread_mutex_lock(&cuda->lock);
    if (cuda->move_module == NULL) {
        zf_cu_module module;
        status = zf_cuda_load_image(cuda, zf_cuda_move_bits_ptx, ZF_IMAGE_PTX, &module, error);
        if (status == ZF_OK) {
            zf_cu_result result = cuda->driver->module_function(&cuda->move_function, module, "zf_move_bits");
            status = zf_cuda_check(cuda, result, "finding a kernel", error);
            if (status == ZF_OK)
                cuda->move_module = module;
            else
                cuda->driver->module_unload(module);
        }
    }
    *out = cuda->move_function;
    pthread_mutex_unlock(&cuda->lock);
    return status;
}

zf_status zf_cuda_move_bits(zf_accelerator *self, void *stream, const zf_move_args *args, zf_error *error) {
    zf_cuda *cuda = (zf_cuda *)self;
    if (args->count == 0 || args->count > ZF_SIMT_MOST_BLOCKS || args->from % 4 != 0 || args->to % 4 != 0)
        return zf_raise(error, ZF_E_INTERNAL, "a move of %u runs of bits", args->count);
    uint64_t words = args->longest / 32 + 2, each = (uint64_t)THREADS * WORDS_A_THREAD, groups = (words + each - 1) / each;
    if (groups > GROUPS_MOST) groups = GROUPS_MOST;
    zf_move_args copy = *args;
    void *arguments[] = {&copy.runs, &copy.from, &copy.to};
    ZF_TRY(zf_cuda_enter(cuda, error));
    zf_cu_function function;
    zf_status status = load_kernel(cuda, &function, error);
    if (status == ZF_OK) {
        zf_cu_result result =
            cuda->driver->launch(function, (unsigned)groups, args->count, 1, THREADS, 1, 1, 0, stream, arguments, NULL);
        status = zf_cuda_check(cuda, result, "moving bits", error);
    }
    zf_cuda_leave(cuda);
    return status;
}
