// Links: zipflow-compiler -Wl,--wrap=zf_codegen_encode_symbols
// A device that another thread adds to the context while a compiler is created: the compiler knows its functions too.
#include <stdlib.h>

#include "codegen/codegen_encode.h"
#include "runtime/device/device.h"
#include "tests/support/demand.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

enum { MANY = 20000 }; ///< functions of the device: beyond the memory that is ready for them

static zf_context *context;
static unsigned listings;

static const zf_device_symbol *symbols(size_t *count) {
    static zf_device_symbol rows[MANY];
    static char names[MANY][24];
    for (size_t k = 0; k < MANY; k++) {
        snprintf(names[k], sizeof names[k], "zf_cg_late_%zu", k);
        rows[k] = (zf_device_symbol){names[k], rows};
    }
    *count = MANY;
    return rows;
}

static void describe(void *shared, unsigned index, zf_device_info *info, zf_text *description, zf_text *reason) {
    (void)shared, (void)index, (void)info, (void)description;
    zf_text_puts(reason, "it only has functions");
}

static const zf_device_ops late = {.name = "late", .describe = describe, .symbols = symbols};

size_t __real_zf_codegen_encode_symbols(zf_jit_symbol *out);
size_t __wrap_zf_codegen_encode_symbols(zf_jit_symbol *out);

/// Comes between the counting of symbols and their listing, as the other thread does.
size_t __wrap_zf_codegen_encode_symbols(zf_jit_symbol *out) {
    zf_error error = {0};
    if (out != NULL && listings++ == 0)
        demand(zf_context_add_devices(context, &(const zf_device_ops *){&late}, 1, &error), &error);
    return __real_zf_codegen_encode_symbols(out);
}

int main(void) {
    zf_error error = {0};
    zf_compiler *compiler = NULL;
    zf_context_options options = {.cache_dir = "", .threads = 1};
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(zf_context_create(&options, &context, &error), &error);
    demand(zf_compiler_create(context, &compile, &compiler, &error), &error);
    CHECK(listings == 2, "the functions were listed %u times", listings);
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}
