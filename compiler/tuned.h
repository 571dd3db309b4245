// How kernels were found to be lowered best: a table by GPU and shape of kernel (kernel_shape.h), as text in the cache's
// directory (`tuned/`, a file a GPU and driver), and in files that are shipped. It says how fast kernels run and nothing of what
// they make; a choice that a kernel may not have is left out, and so is a kernel with one that this version does not know.
//
//   zipflow tuned kernels, format 1
//   device NVIDIA H200, compute capability 9.0, driver for CUDA 13.0
//   kernel map i32: bitpack<i32, u32>(u32); 16
//     choice L=8,C=4,THREADS=128,REGISTERS=0,STAGE=0
//     nanoseconds 123000 default 150000 probes 9
//
// A choice has all that the kernel has, also what is so by default; `choice default` is one that was searched and stayed. Lines
// behind `device` are of that GPU, until the next one; empty lines and those that begin with `#` say nothing. The cache's file
// may be changed by hand, too; when more is kept it is written anew, without such lines.
#ifndef ZF_COMPILER_TUNED_H
#define ZF_COMPILER_TUNED_H

#include "patterns/plan/plan.h"
#include "runtime/base/private.h"
#include "runtime/container/container.h"

typedef struct zf_tuned_kernel {
    char *shape;
    zf_choice choice;          ///< nothing: as by default
    char *unknown;             ///< the text of a choice that another version has, and this one does not; NULL: `choice` says it
    double seconds, otherwise; ///< of the kernel as it was measured, and by default; 0: not known
    uint32_t probes;
} zf_tuned_kernel;

/// What was found on one GPU.
typedef struct zf_tuned_device {
    char *description; ///< a line: as zf_device_info has it
    zf_tuned_kernel *kernels;
    size_t count;
    zf_tuned_kernel *others; ///< whose choice is not known here: they are only printed, for versions that know it
    size_t other_count;
} zf_tuned_device;

typedef struct zf_tuned {
    zf_tuned_device *devices;
    size_t count;
} zf_tuned;

ZF_PRIVATE_API void zf_tuned_free(zf_tuned *tuned);
ZF_PRIVATE_API void zf_tuned_print(const zf_tuned *tuned, zf_text *out);
/// False, an empty table, and what is wrong in `message`: "line 3: ...".
bool zf_tuned_parse(const char *text, size_t length, zf_tuned *out, zf_text *message);
/// Puts a kernel in, in place of one of the same shape, known or not. False: no memory.
ZF_PRIVATE_API bool zf_tuned_set(zf_tuned *tuned, const char *device, const zf_tuned_kernel *kernel);

/// What is known of a GPU of that description, or of the same model behind another driver; NULL: nothing.
ZF_PRIVATE_API const zf_tuned_device *zf_tuned_find(const zf_tuned *tuned, const char *description);
/// How many kernels have choices that are not known here; `first` is one of them.
size_t zf_tuned_unknown(const zf_tuned *tuned, const zf_tuned_kernel **first);
/// The kernel of that shape; NULL: none.
const zf_tuned_kernel *zf_tuned_kernel_of(const zf_tuned_device *device, const char *shape);
/// The one whose shape is nearest, of at least one form; NULL: none.
ZF_PRIVATE_API const zf_tuned_kernel *zf_tuned_nearest(const zf_tuned_device *device, const char *shape);
/// What is known of the kernels of a plan made without choices, for blocks like that one. False: nothing that differs from the
/// default and that its kernels may have.
bool zf_tuned_choose(const zf_tuned_device *device, const zf_plan *plan, const zf_block_view *block, zf_choices *out);

/// Reads a file that is shipped: ZF_ERR_IO, or ZF_ERR_INPUT with the line that is wrong.
ZF_PRIVATE_API zf_status zf_tuned_read(const char *path, zf_tuned *out, zf_error *error);
/// What is kept in the context's cache for a GPU; none is an empty table. False, an empty table, and which file and what of it in
/// `message`: it cannot be read or used.
ZF_PRIVATE_API bool zf_tuned_kept(zf_context *context, const char *description, zf_tuned *out, zf_text *message);
/// Keeps kernels of a GPU, beside those that are kept already, also by another process meanwhile. What lies there and is no table
/// is put aside as NAME.bad, NAME.bad.2 and so on up to 4, which is logged. False: there is no cache, it cannot be written, or
/// what lies there cannot be read and stays as it is, which is logged, too.
ZF_PRIVATE_API bool zf_tuned_keep(zf_context *context, const zf_tuned_device *device);
/// The file that is kept, in `tuned` of the cache's directory: "0123456789abcdef.txt".
void zf_tuned_file_name(const char *description, char out[40]);

#endif
