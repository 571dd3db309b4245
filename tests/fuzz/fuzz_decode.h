// Decoding in buffers that end where a sanitizer sees it, and the demands on every error.
#ifndef ZF_TESTS_FUZZ_DECODE_H
#define ZF_TESTS_FUZZ_DECODE_H

#include "zipflow/compile.h"

/// A context with the emulated GPUs and a compiler whose code is instrumented, general and fast to make.
typedef struct fuzz_machine {
    zf_context *context;
    zf_compiler *compiler;
} fuzz_machine;
void fuzz_machine_open(fuzz_machine *machine);

/// Loads a program from its text, by a file that is gone afterwards.
zf_program *fuzz_program(const fuzz_machine *machine, const char *text);

/// A name for a file in memory where that is possible: the process's own, always the same.
const char *fuzz_path(void);

typedef struct fuzz_decoded {
    zf_status status;
    zf_error error;
    zf_decode_sizes sizes;
    zf_decode_buffers buffers;
} fuzz_decoded;

/// Decodes a column. False where its buffers would be larger than nearly any file of this size needs.
bool fuzz_decode(zf_container *container, size_t column, const char *device, const zf_decode_options *options, fuzz_decoded *out);
void fuzz_decoded_free(fuzz_decoded *decoded);
/// Demands code, message and place, and that it is no fault of zipflow.
void fuzz_check_error(const zf_error *error);

#endif
