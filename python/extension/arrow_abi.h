// The structs of Arrow's C data, C stream and C device data interfaces, as the specification lays them out
// (arrow.apache.org/docs/format/CDataInterface.html). Consumers call `release`, on any thread.
#ifndef ZF_PYTHON_ARROW_ABI_H
#define ZF_PYTHON_ARROW_ABI_H

#include <stdint.h>

enum { ZF_ARROW_ORDERED = 1, ZF_ARROW_NULLABLE = 2 }; ///< of `flags`

typedef struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
} ArrowSchema;

typedef struct ArrowArray {
    int64_t length;
    int64_t null_count; ///< -1: unknown
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
} ArrowArray;

typedef struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, ArrowArray *out); ///< an array without `release`: the end
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
} ArrowArrayStream;

// The C device data interface (arrow.apache.org/docs/format/CDeviceDataInterface.html).

enum { ZF_ARROW_CUDA = 2 }; ///< of `device_type`

typedef struct ArrowDeviceArray {
    ArrowArray array;
    int64_t device_id;
    int32_t device_type;
    void *sync_event; ///< NULL: the rows are there
    int64_t reserved[3];
} ArrowDeviceArray;

typedef struct ArrowDeviceArrayStream {
    int32_t device_type;
    int (*get_schema)(struct ArrowDeviceArrayStream *, ArrowSchema *out);
    int (*get_next)(struct ArrowDeviceArrayStream *, ArrowDeviceArray *out); ///< an array without `release`: the end
    const char *(*get_last_error)(struct ArrowDeviceArrayStream *);
    void (*release)(struct ArrowDeviceArrayStream *);
    void *private_data;
} ArrowDeviceArrayStream;

#endif
