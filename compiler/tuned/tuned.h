// Tuned results: the best known choices by GPU and shape of kernel (kernel_shape.h). They are text, in the cache's directory
// (`tuned/`, a file for each GPU and driver) and in files that users ship. They decide how fast kernels run, never what they
// make. Choices that a kernel may not have are ignored, and so are kernels with choices of another version.
//
//   zipflow tuned kernels, format 1
//   device NVIDIA H200, compute capability 9.0, driver for CUDA 13.0
//   kernel map i32: bitpack<i32, u32>(u32); 16
//     choice L=8,C=4,THREADS=128,REGISTERS=0,STAGE=0
//     nanoseconds 123000 default 150000 probes 9
//
// A choice has all values of the kernel, defaults included; `choice default` means that a search found nothing better. Lines
// after `device` belong to that GPU, until the next one. Empty lines and lines that begin with `#` are ignored. The cache's file
// may be edited by hand; the next result that is kept rewrites it without such lines.
#ifndef ZF_COMPILER_TUNED_H
#define ZF_COMPILER_TUNED_H

#include "patterns/plan/plan.h"
#include "runtime/base/private.h"
#include "runtime/container/container.h"

typedef struct zf_tuned_kernel {
    char *shape;
    zf_choice choice;                ///< nothing chosen: the default
    char *unknown;                   ///< a choice that only another version knows, as text; NULL: `choice` holds it
    double seconds, default_seconds; ///< measured with the choice, and by default; 0: unknown
    uint32_t probes;
} zf_tuned_kernel;

/// The results of one GPU.
typedef struct zf_tuned_device {
    char *description; ///< a line: as zf_device_info has it
    zf_tuned_kernel *kernels;
    size_t count;
    zf_tuned_kernel *others; ///< with choices of another version: printed only
    size_t other_count;
} zf_tuned_device;

typedef struct zf_tuned {
    zf_tuned_device *devices;
    size_t count;
} zf_tuned;

ZF_PRIVATE_API void zf_tuned_free(zf_tuned *tuned);
ZF_PRIVATE_API void zf_tuned_print(const zf_tuned *tuned, zf_text *out);
/// Reads a table. On failure returns false with an empty table, and appends the reason to `message`: "line 3: ...".
bool zf_tuned_parse(const char *text, size_t length, zf_tuned *out, zf_text *message);
/// Adds a copy of a kernel's result, in place of one of the same shape. False: no memory.
ZF_PRIVATE_API bool zf_tuned_set(zf_tuned *tuned, const char *device, const zf_tuned_kernel *kernel);

/// Returns the results of a GPU by its description, else those of the same model under another driver; NULL: none.
ZF_PRIVATE_API const zf_tuned_device *zf_tuned_find(const zf_tuned *tuned, const char *description);
/// Returns the number of kernels with choices of another version; `first` is one of them.
size_t zf_tuned_unknown(const zf_tuned *tuned, const zf_tuned_kernel **first);
/// Returns the result for a shape; NULL: none.
const zf_tuned_kernel *zf_tuned_kernel_of(const zf_tuned_device *device, const char *shape);
/// Returns the result for the nearest shape, which has at least the same form; NULL: none.
ZF_PRIVATE_API const zf_tuned_kernel *zf_tuned_nearest(const zf_tuned_device *device, const char *shape);
/// Collects the results for the kernels of a plan without choices, for blocks like `block`.
/// False: there are none that differ from the defaults and that its kernels may have.
bool zf_tuned_choose(const zf_tuned_device *device, const zf_plan *plan, const zf_block_view *block, zf_choices *out);

/// Reads a file of results. Errors: ZF_ERR_IO, ZF_ERR_INPUT with the line that is wrong.
ZF_PRIVATE_API zf_status zf_tuned_read(const char *path, zf_tuned *out, zf_error *error);
/// Reads the results that the context's cache has for a GPU; a missing file is an empty table.
/// False if the file cannot be read or used: the table is empty, and `message` has the file and the reason.
ZF_PRIVATE_API bool zf_tuned_kept(zf_context *context, const char *description, zf_tuned *out, zf_text *message);
/// Adds results of a GPU to the context's cache, beside those of other processes.
/// A file that is not a table is renamed to NAME.bad, NAME.bad.2 and so on up to 4, with a line in the log. False: there is no
/// cache, it cannot be written, or its file cannot be read; that is logged, and the file stays.
ZF_PRIVATE_API bool zf_tuned_keep(zf_context *context, const zf_tuned_device *device);
/// Writes the name of a GPU's file in `tuned` of the cache's directory: "0123456789abcdef.txt".
void zf_tuned_file_name(const char *description, char out[40]);

#endif
