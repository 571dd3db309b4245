#include "tests/fuzz/fuzz_decode.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/emulated.h"

enum { MOST_BYTES = 1 << 24 }; ///< of a buffer

const char *fuzz_path(void) {
    static char path[64];
    if (path[0] == 0)
        snprintf(path, sizeof path, "%s/zipflow-fuzz-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    return path;
}

void fuzz_machine_open(fuzz_machine *machine) {
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 1, .general_only = true};
#ifdef ZF_SANITIZE
    options.sanitize = true;
#endif
    zf_context_options context = {.cache_dir = "", .threads = 1};
    FUZZ_DEMAND(emulated_context_create(&context, &machine->context, &error) == ZF_OK, "%s", error.message);
    FUZZ_DEMAND(zf_compiler_create(machine->context, &options, &machine->compiler, &error) == ZF_OK, "%s", error.message);
}

zf_program *fuzz_program(const fuzz_machine *machine, const char *text) {
    zf_program *program = NULL;
    zf_error error = {0};
    FILE *file = fopen(fuzz_path(), "wb");
    FUZZ_DEMAND(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "%s cannot be written", fuzz_path());
    zf_status status = zf_program_load(machine->compiler, fuzz_path(), &program, &error);
    FUZZ_DEMAND(status == ZF_OK, "%s (%s)", error.message, error.place);
    unlink(fuzz_path());
    return program;
}

/// Memory of exactly so many bytes, aligned as buffers must be.
static void *memory(size_t bytes) {
    void *out = NULL;
    if (posix_memalign(&out, 64, bytes > 0 ? bytes : 1) != 0) exit(2);
    memset(out, 0xa5, bytes);
    return out;
}

bool fuzz_decode(zf_container *container, size_t column, const char *device, const zf_decode_options *options,
                 fuzz_decoded *out) {
    *out = (fuzz_decoded){0};
    out->status = zf_decode_size(container, column, options, &out->sizes, &out->error);
    if (out->status != ZF_OK) return true;
    const zf_decode_sizes *sizes = &out->sizes;
    if (sizes->values > MOST_BYTES || sizes->workspace > MOST_BYTES || sizes->offsets > MOST_BYTES) return false;
    out->buffers = (zf_decode_buffers){.values = memory(sizes->values),
                                       .offsets = memory(sizes->offsets),
                                       .validity = memory(sizes->validity),
                                       .workspace = memory(sizes->workspace),
                                       ZF_DECODE_BYTES(*sizes)};
    out->status = zf_decode(container, column, device, options, &out->buffers, NULL, &out->error);
    return true;
}

void fuzz_decoded_free(fuzz_decoded *decoded) {
    free(decoded->buffers.values);
    free(decoded->buffers.offsets);
    free(decoded->buffers.validity);
    free(decoded->buffers.workspace);
}

void fuzz_check_error(const zf_error *error) {
    FUZZ_DEMAND(strncmp(error->code, "ZF", 2) == 0 && error->message[0] != 0, "an error without a code or message: %s %s",
                error->code, error->message);
    FUZZ_DEMAND(error->status != ZF_ERR_INTERNAL, "%s: %s (%s)", error->code, error->message, error->place);
    FUZZ_DEMAND(error->place[0] != 0 || error->status == ZF_ERR_MEMORY, "%s without a place: %s", error->code, error->message);
}
