// The base of the tests on accelerators: a context with a compiler, the accelerator that an argument names, and a source of
// code that recognises a file's columns in other files with the same text.
#ifndef ZF_TESTS_GPU_MACHINE_H
#define ZF_TESTS_GPU_MACHINE_H

#include "runtime/device/device.h"
#include "tests/gpu/gpu_columns.h"
#include "zipflow/compile.h"

// ---- Options --------------------------------------------------------------------------------------------------

/// `--NAME VALUE`: a number or a text. A list ends with a name of NULL.
typedef struct gpu_option {
    const char *name;
    uint64_t *number;
    const char **text;
} gpu_option;

/// False after saying what is wrong.
bool gpu_options_read(int count, char **arguments, const gpu_option *options);

// ---- The machine ----------------------------------------------------------------------------------------------

enum { GPU_MODELS = 8 };

typedef struct gpu_machine {
    zf_context *context;
    zf_compiler *compiler;
    zf_program *program; ///< forms.zf
    zf_accelerator *accelerator;
    const char *device;
    bool emulated;
    unsigned threads; ///< of the host
    char directory[64];
    zf_abi_provider compiled;
    zf_container *models[GPU_MODELS]; ///< files whose code serves for others with the same text and shapes
    size_t model_count;
} gpu_machine;

/// Opens it, or exits after saying why not. `device`: "emu", "cuda", "cuda:1".
void gpu_machine_open(gpu_machine *machine, const char *device, bool general_only);
void gpu_machine_close(gpu_machine *machine);

/// A name in a directory that goes with the machine. Lives up to the next call.
const char *gpu_machine_path(gpu_machine *machine, const char *name);

/// Encodes `rows` rows of all columns of a table of forms.zf.
zf_status gpu_encode(gpu_machine *machine, const char *table, uint64_t rows, uint64_t rows_per_block, uint64_t period,
                     const char *path, zf_error *error);

/// From now on other files with this text, and shapes like these, get the code that was made for this one: compiling it anew for
/// each would take nearly all of a test's time. Belongs to the machine from here on.
zf_container *gpu_model_open(gpu_machine *machine, const char *path);

double gpu_seconds(void);
/// For times that are judged: of the emulator what the process computed, whatever else the machine does.
double gpu_work_seconds(const gpu_machine *machine);

#endif
