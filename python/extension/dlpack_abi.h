// The structs of DLPack, versions 0 and 1, as github.com/dmlc/dlpack lays them out. Consumers call `deleter`, on any thread.
#ifndef ZF_PYTHON_DLPACK_ABI_H
#define ZF_PYTHON_DLPACK_ABI_H

#include <stdint.h>

enum { ZF_DL_CPU = 1, ZF_DL_CUDA = 2 };
enum { ZF_DL_INT = 0, ZF_DL_UINT = 1, ZF_DL_FLOAT = 2 };
enum { ZF_DL_READ_ONLY = 1, ZF_DL_IS_COPIED = 2 };

typedef struct DLDevice {
    int32_t device_type;
    int32_t device_id;
} DLDevice;

typedef struct DLDataType {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

#endif
