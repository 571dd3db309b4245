// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime
// Generated code is instrumented where it is asked for: a read outside a buffer, planted by a count that lies about it, ends the
// process with AddressSanitizer's report. Only in builds that have its runtime; others skip.
#include <stdio.h>

#include "tests/unit/check.h"

#ifdef ZF_SANITIZE

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/decoder/decoder.h"

/// Decodes 4096 elements from `words` words, without the check that would refuse. Returns the sum of what it made.
static uint64_t decode(zf_decoder *decoder, const zf_abi_code *code, uint64_t words) {
    uint8_t *base = aligned_alloc(256, (words * 4 + 16 + 255) / 256 * 256); // the allocation ends near the words
    uint8_t *out = malloc(4096 * 4);
    memset(base, 0x77, words * 4 + 16);
    uint64_t slots[16] = {0}, failure = ZF_ABI_NO_FAILURE, sum = 0;
    for (uint32_t s = 0; s < decoder->plan->slot_count && s < 16; s++) {
        const zf_abi_slot *slot = &decoder->plan->slots[s];
        if (slot->kind == ZF_SLOT_PARAM && slot->a == 0) slots[s] = 8; // width
        if (slot->kind == ZF_SLOT_COUNT) slots[s] = slot->a == 0 ? 4096 : 1024;
    }
    zf_abi_args args = {.base = base, .slots = slots, .out = out, .failure = &failure, .tiles = 1};
    code->kernels[0](&args, 0, 1);
    for (int k = 0; k < 4096 * 4; k++) sum += out[k];
    free(base);
    free(out);
    return sum;
}

/// Runs the decoding in a process of its own; true when AddressSanitizer ended it with a report.
static bool reported(zf_decoder *decoder, const zf_abi_code *code, uint64_t words) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        _exit(decode(decoder, code, words) == 1 ? 3 : 0);
    }
    close(ends[1]);
    char text[4096];
    size_t length = 0;
    for (ssize_t n; length < sizeof(text) - 1 && (n = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = 0;
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    bool died = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return died && strstr(text, "AddressSanitizer") != NULL && strstr(text, "READ of size") != NULL;
}

int main(void) {
    zf_context *context;
    zf_error error = {0};
    zf_context_options context_options = {.cache_dir = ""};
    if (zf_context_create(&context_options, &context, &error) != ZF_OK) return 1;
    for (unsigned optimise = 1; optimise <= 4; optimise += 3) {
        zf_compiler *compiler;
        zf_compiler_options options = {.optimise = optimise, .sanitize = true};
        CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s %s", error.code, error.message);
        zf_spec_options spec_options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
        zf_spec *spec = zf_spec_create(&spec_options);
        CHECK(zf_spec_add_text(spec, "t.zf", "", 0) && zf_spec_check(spec), "the standard library does not check");
        zf_column *column = zf_spec_resolve_codec(spec, "x", zf_type_of(ZF_K_U32), "bitpack");
        zf_decoder *decoder = NULL;
        const zf_abi_code *code = NULL;
        CHECK(zf_decoder_create(compiler, column, NULL, 0, NULL, &decoder, &error) == ZF_OK, "%s", error.message);
        uint64_t width = 8;
        for (int general = 0; general < 2; general++) {
            CHECK(zf_decoder_code_for(decoder, general ? NULL : &width, &code, &error) == ZF_OK, "%s %s", error.code,
                  error.message);
            if (code == NULL) return check_result();
            CHECK(!reported(decoder, code, 1024), "a report without a reason, level %u", optimise - 1);
            CHECK(reported(decoder, code, 640), "the planted read is not seen, level %u, general %d", optimise - 1, general);
        }
        zf_decoder_free(decoder);
        zf_spec_destroy(spec);
        zf_compiler_free(compiler);
    }
    zf_context_free(context);
    return check_result();
}

#else

int main(void) {
    printf("skipped: built without AddressSanitizer\n");
    (void)check_failures, (void)check_count;
    return 77;
}

#endif
