// The accelerator "cuda": one GPU through the driver's primary context, which other libraries of the process may share. The
// context is pushed around every call and popped after it, so that nobody's current context changes.
#ifndef ZF_RUNTIME_CUDA_INTERNAL_H
#define ZF_RUNTIME_CUDA_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/device/accelerator.h"
#include "runtime/device/cuda/cuda_driver.h"

/// The library's own kernels (kernels/).
enum { ZF_CUDA_MOVE_BITS, ZF_CUDA_ZONES, ZF_CUDA_OWN_KERNELS };

typedef struct zf_cuda {
    zf_accelerator base;          ///< first
    const zf_cuda_driver *driver; ///< of the context's list of devices
    zf_context *owner;            ///< for its log
    zf_cu_device device;
    zf_cu_context context; ///< the primary one, retained
    unsigned index;        ///< N of cuda:N
    uint32_t arch;         ///< 90 for compute capability 9.0
    bool pools;            ///< it allocates memory in the order of a stream
    atomic_int lost;       ///< the result that destroyed the context; 0 while it lives
    pthread_mutex_t lock;  ///< guards what follows
    zf_accelerator_code *codes;
    struct {
        zf_cu_module module; ///< NULL: not loaded yet
        zf_cu_function function;
    } own[ZF_CUDA_OWN_KERNELS]; ///< the library's own kernels
} zf_cuda;

/// Opens a GPU that is present.
zf_status zf_cuda_create(zf_context *owner, const zf_cuda_driver *driver, unsigned index, zf_accelerator **out, zf_error *error);
void zf_cuda_free(zf_accelerator *accelerator);

/// Makes the GPU's context current; every success is undone by `zf_cuda_leave`.
zf_status zf_cuda_enter(zf_cuda *cuda, zf_error *error);
void zf_cuda_leave(zf_cuda *cuda);

/// The error of a call: `doing` says what failed ("copying to the GPU"). ZF_OK for ZF_CU_SUCCESS. Results that destroy the
/// context are remembered.
zf_status zf_cuda_check(zf_cuda *cuda, zf_cu_result result, const char *doing, zf_error *error);

/// zf_accelerator_ops.load and .launch, and freeing what was loaded (the context is current).
zf_status zf_cuda_load(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code, zf_accelerator_code **out,
                       zf_error *error);
zf_status zf_cuda_launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                         const zf_simt_args *args, zf_error *error);
/// Loads an image (cuda_code.c). Within the context.
zf_status zf_cuda_load_image(zf_cuda *cuda, const void *image, zf_abi_image_kind kind, zf_cu_module *module, zf_error *error);
/// zf_accelerator_ops.move_bits and .zones (cuda_own.c), and freeing their kernels, as zf_cuda_unload_all does.
zf_status zf_cuda_move_bits(zf_accelerator *self, void *stream, const zf_move_args *args, zf_error *error);
zf_status zf_cuda_zones(zf_accelerator *self, void *stream, const zf_zones_args *args, zf_error *error);
void zf_cuda_unload_own(zf_cuda *cuda, bool current);
/// zf_accelerator_ops.kernel_facts.
void zf_cuda_unload(zf_accelerator *self, zf_accelerator_code *code);
zf_status zf_cuda_kernel_facts(zf_accelerator *self, zf_accelerator_code *code, uint32_t kernel, zf_kernel_facts *out,
                               zf_error *error);
/// Forgets all code. Its modules are unloaded where the context is current, else they go with it.
void zf_cuda_unload_all(zf_cuda *cuda, bool current);

#endif
