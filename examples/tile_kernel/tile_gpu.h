// A kernel on GPU 0, by CUDA's driver, which is loaded when the program runs. Functions that can fail print why, and return false
// or NULL. Memory is zipflow's (zf_device_allocate).
#ifndef TILE_GPU_H
#define TILE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gpu gpu;

/// GPU 0, which zipflow calls "cuda", with the kernels of an image: a file of PTX, or what nvcc -cubin made.
gpu *gpu_open(const char *image);
void gpu_close(gpu *g);
/// Runs a kernel `repeat` times, with `each` thread blocks a multiprocessor, and waits. `before` (may be NULL) is called before
/// each run; `seconds` gets the time of each on the GPU.
bool gpu_run(gpu *g, const char *name, unsigned each, unsigned threads, void **arguments, unsigned repeat,
             bool (*before)(void *user), void *user, double *seconds);

#endif
