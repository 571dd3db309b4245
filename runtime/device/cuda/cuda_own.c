// Kernels of the library's own: no code provider makes them. kernels/ has their sources, and their PTX.
#include "runtime/base/error_codes.h"
#include "runtime/device/cuda/cuda_internal.h"

enum { MOVE_THREADS = 256, ZONE_THREADS = 1024, WORDS_A_THREAD = 4, GROUPS_MOST = 65535 };

// The text of a file, with a zero byte behind it.
#define PTX(symbol, file)                                                                                                        \
    extern const char symbol[];                                                                                                  \
    __asm__(".pushsection .rodata\n"                                                                                             \
            ".hidden " #symbol "\n"                                                                                              \
            ".globl " #symbol "\n" #symbol ":\n"                                                                                 \
            ".incbin \"" ZF_CUDA_KERNELS "/" file "\"\n"                                                                         \
            ".byte 0\n"                                                                                                          \
            ".popsection\n")
PTX(zf_cuda_move_bits_ptx, "move_bits.ptx");
PTX(zf_cuda_zones_ptx, "zones.ptx");

static const struct {
    const char *name, *ptx;
} kernels[ZF_CUDA_OWN_KERNELS] = {
    [ZF_CUDA_MOVE_BITS] = {"zf_move_bits", zf_cuda_move_bits_ptx}, [ZF_CUDA_ZONES] = {"zf_zones", zf_cuda_zones_ptx}};

/// Loads a kernel when it is first needed. Within the context.
static zf_status load_kernel(zf_cuda *cuda, unsigned kernel, zf_cu_function *out, zf_error *error) {
    zf_status status = ZF_OK;
    pthread_mutex_lock(&cuda->lock);
    if (cuda->own[kernel].module == NULL) {
        zf_cu_module module;
        status = zf_cuda_load_image(cuda, kernels[kernel].ptx, ZF_IMAGE_PTX, &module, error);
        if (status == ZF_OK) {
            zf_cu_result result = cuda->driver->module_function(&cuda->own[kernel].function, module, kernels[kernel].name);
            status = zf_cuda_check(cuda, result, "finding a kernel", error);
            if (status == ZF_OK)
                cuda->own[kernel].module = module;
            else
                cuda->driver->module_unload(module);
        }
    }
    *out = cuda->own[kernel].function;
    pthread_mutex_unlock(&cuda->lock);
    return status;
}

void zf_cuda_unload_own(zf_cuda *cuda, bool current) {
    for (unsigned k = 0; k < ZF_CUDA_OWN_KERNELS; k++) {
        bool unload = cuda->own[k].module != NULL && current && atomic_load(&cuda->lost) == ZF_CU_SUCCESS;
        if (unload) cuda->driver->module_unload(cuda->own[k].module);
        cuda->own[k].module = NULL;
    }
}

/// Launches a kernel with thread blocks (0 .. groups - 1, 0 .. rows - 1) of `threads` threads.
static zf_status launch(zf_cuda *cuda, void *stream, unsigned kernel, unsigned groups, unsigned rows, unsigned threads,
                        void **arguments, zf_error *error) {
    zf_cu_function function;
    ZF_TRY(zf_cuda_enter(cuda, error));
    zf_status status = load_kernel(cuda, kernel, &function, error);
    if (status == ZF_OK) {
        zf_cu_result result = cuda->driver->launch(function, groups, rows, 1, threads, 1, 1, 0, stream, arguments, NULL);
        status = zf_cuda_check(cuda, result, "launching a kernel", error);
    }
    zf_cuda_leave(cuda);
    return status;
}

zf_status zf_cuda_move_bits(zf_accelerator *self, void *stream, const zf_move_args *args, zf_error *error) {
    if (args->count == 0 || args->count > ZF_SIMT_MOST_BLOCKS || args->from % 4 != 0 || args->to % 4 != 0)
        return zf_raise(error, ZF_E_INTERNAL, "a move of %u runs of bits", args->count);
    uint64_t words = args->longest / 32 + 2, each = (uint64_t)MOVE_THREADS * WORDS_A_THREAD, groups = (words + each - 1) / each;
    if (groups > GROUPS_MOST) groups = GROUPS_MOST;
    zf_move_args copy = *args;
    void *arguments[] = {&copy.runs, &copy.from, &copy.to};
    return launch((zf_cuda *)self, stream, ZF_CUDA_MOVE_BITS, (unsigned)groups, args->count, MOVE_THREADS, arguments, error);
}

zf_status zf_cuda_zones(zf_accelerator *self, void *stream, const zf_zones_args *args, zf_error *error) {
    if (args->count == 0 || args->count > ZF_SIMT_MOST_TILES)
        return zf_raise(error, ZF_E_INTERNAL, "a search of %u zones", args->count);
    zf_zones_args copy = *args;
    void *arguments[] = {&copy.spans,         &copy.values, &copy.offsets, &copy.validity,   &copy.skip,
                         &copy.validity_skip, &copy.words,  &copy.found,   &copy.word_count, &copy.element};
    return launch((zf_cuda *)self, stream, ZF_CUDA_ZONES, args->count, 1, ZONE_THREADS, arguments, error);
}
