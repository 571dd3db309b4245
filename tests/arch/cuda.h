// The part of CUDA's driver API that the examples of docs/ use, so that they compile where its toolkit is missing.
#ifndef ZF_TESTS_CUDA_H
#define ZF_TESTS_CUDA_H

#include <stddef.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
enum { CUDA_SUCCESS = 0, CU_STREAM_NON_BLOCKING = 1 };

CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice *device, int number);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuStreamCreate(CUstream *stream, unsigned flags);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes);
CUresult cuMemFree(CUdeviceptr address);
CUresult cuMemAllocHost(void **memory, size_t bytes);
CUresult cuMemFreeHost(void *memory);
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes);

#endif
