// `.zfm`: the input is a module. It is read, its block checks run on made words, and its native code is mapped; native code is
// never called, since it is trusted as a shared library is (docs/safety.md). It is written again as the same bytes.
//
// The mutator changes the manifest, makes lengths and places of the sections fit it, and mends the checksum. One of its changes
// leaves out the code, so that inputs stay small.
#include <string.h>
#include <xxhash.h>

#include "runtime/container/container_format.h"
#include "runtime/decode/block_check.h"
#include "runtime/module/module_open.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_SIZE = 1 << 20, AT_BYTES = 16, AT_CHECKSUM = 24, AT_TABLE = 48 };

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    return 0;
}

static void run_checks(const zf_abi_plan *plan, uint64_t seed) {
    fuzz_random random = {seed};
    uint64_t *words = malloc((plan->slot_count + 1) * sizeof *words);
    if (words == NULL) exit(2);
    for (uint32_t k = 0; k < plan->slot_count; k++) words[k] = fuzz_next(&random) >> fuzz_below(&random, 64);
    uint32_t failed = zf_block_check_run(&plan->block_checks, words);
    FUZZ_DEMAND(failed == ZF_CHECKS_HOLD || failed < plan->check_count, "check %u of %u fails", failed, plan->check_count);
    uint64_t has, most;
    if (failed != ZF_CHECKS_HOLD) zf_block_check_compared(&plan->block_checks, words, failed, &has, &most);
    free(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > MOST_SIZE) return -1;
    zf_arena *arena = zf_arena_create();
    if (arena == NULL) exit(2);
    zf_module_content content;
    zf_error error = {0};
    if (zf_module_parse(arena, data, size, "input.zfm", &content, &error) != ZF_OK) {
        bool whole = strncmp(error.code, "ZF", 2) == 0 && error.message[0] != 0 && error.place[0] != 0;
        FUZZ_DEMAND(whole && error.status != ZF_ERR_INTERNAL, "%s %s (%s)", error.code, error.message, error.place);
        zf_arena_destroy(arena);
        return 0;
    }
    for (uint32_t t = 0; t < content.table_count; t++) {
        for (uint32_t c = 0; c < content.tables[t].column_count; c++) {
            const zf_module_column *column = &content.tables[t].columns[c];
            for (uint32_t p = 0; p < column->plan_count; p++) run_checks(&column->plans[p].abi, size + p);
        }
    }
    zf_native native = {0};
    uint32_t level, machine = zf_cpu_here(&level);
    if (zf_cpu_fits(content.machine, content.cpu_level, machine, level, "input.zfm", &error) == ZF_OK &&
        zf_native_map(&content, "input.zfm", &native, &error) == ZF_OK) {
        zf_native_unmap(&native);
    }
    zf_text again = {0};
    zf_status status = zf_module_write(&content, &again, &error);
    FUZZ_DEMAND(status == ZF_OK, "it was read, and cannot be written: %s", error.message);
    FUZZ_DEMAND(again.length == size && memcmp(again.data, data, size) == 0, "it is written as other bytes: %zu, not %zu",
                again.length, size);
    zf_text_free(&again);
    zf_arena_destroy(arena);
    return 0;
}

// ---- Changes --------------------------------------------------------------------------------------------------

typedef struct section {
    const uint8_t *bytes;
    size_t size;
} section;

static bool find_sections(const uint8_t *data, size_t size, section out[ZF_SECTION_COUNT]) {
    if (size < ZF_MODULE_HEADER_BYTES) return false;
    for (int s = 0; s < ZF_SECTION_COUNT; s++) {
        uint64_t offset = zf_load64(data + AT_TABLE + s * ZF_MODULE_SECTION_BYTES + 8);
        uint64_t length = zf_load64(data + AT_TABLE + s * ZF_MODULE_SECTION_BYTES + 16);
        if (offset > size || length > size - offset) return false;
        out[s] = (section){data + offset, length};
    }
    return true;
}

/// A module of a header and sections. NULL where it would be larger than `most`.
static uint8_t *put_together(const uint8_t *header, const section sections[ZF_SECTION_COUNT], size_t most, size_t *size) {
    uint64_t at = ZF_MODULE_HEADER_BYTES, places[ZF_SECTION_COUNT];
    for (int s = 0; s < ZF_SECTION_COUNT; s++) {
        if (!zf_align_up(at, ZF_MODULE_ALIGNMENT, &places[s])) return NULL;
        at = places[s] + sections[s].size;
    }
    if (at > most) return NULL;
    uint8_t *out = calloc(1, at);
    if (out == NULL) exit(2);
    memcpy(out, header, ZF_MODULE_HEADER_BYTES);
    for (int s = 0; s < ZF_SECTION_COUNT; s++) {
        zf_store64(out + AT_TABLE + s * ZF_MODULE_SECTION_BYTES + 8, places[s]);
        zf_store64(out + AT_TABLE + s * ZF_MODULE_SECTION_BYTES + 16, sections[s].size);
        if (sections[s].size > 0) memcpy(out + places[s], sections[s].bytes, sections[s].size);
    }
    zf_store64(out + AT_BYTES, at);
    *size = at;
    return out;
}

/// The module without its code: places become 0, images a byte. NULL where it is no module.
static uint8_t *without_code(const uint8_t *data, size_t size, size_t *made) {
    static const uint8_t code[64];
    zf_arena *arena = zf_arena_create();
    zf_module_content content;
    zf_error error = {0};
    zf_text text = {0};
    uint8_t *out = NULL;
    if (arena == NULL) exit(2);
    if (zf_module_parse(arena, data, size, "", &content, &error) == ZF_OK) {
        for (uint32_t t = 0; t < content.table_count; t++) {
            for (uint32_t c = 0; c < content.tables[t].column_count; c++) {
                for (uint32_t p = 0; p < content.tables[t].columns[c].plan_count; p++) {
                    zf_module_plan *plan = &content.tables[t].columns[c].plans[p];
                    for (uint32_t k = 0; k < plan->code_count; k++) {
                        zf_module_code *made_code = &plan->codes[k];
                        uint64_t *kernels = (uint64_t *)(uintptr_t)made_code->kernels; // the arena's
                        for (uint32_t n = 0; kernels != NULL && n < plan->abi.kernel_count; n++) kernels[n] = 0;
                        if (made_code->image_bytes > 0) made_code->image = 0, made_code->image_bytes = 1;
                    }
                }
            }
        }
        if (content.native_bytes > 0) content.native = code, content.native_bytes = sizeof code;
        if (content.image_bytes > 0) content.images = code, content.image_bytes = 1;
        if (zf_module_write(&content, &text, &error) == ZF_OK) {
            out = malloc(text.length);
            if (out == NULL) exit(2);
            memcpy(out, text.data, text.length);
            *made = text.length;
        }
    }
    zf_text_free(&text);
    zf_arena_destroy(arena);
    return out;
}

static void change_number(fuzz_random *random, uint8_t *bytes, size_t size) {
    static const uint32_t some[] = {0, 1, 2, 3, 4, 8, 255, 256, UINT16_MAX, INT32_MAX, UINT32_MAX};
    size_t width = fuzz_below(random, 4) == 0 ? 8 : fuzz_below(random, 4) == 0 ? 1 : 4;
    if (size < width) return;
    size_t at = fuzz_below(random, size - width + 1);
    uint64_t value = 0;
    memcpy(&value, bytes + at, width);
    switch (fuzz_below(random, 4)) {
    case 0: value++; break;
    case 1: value--; break;
    case 2: value = some[fuzz_below(random, sizeof some / sizeof some[0])]; break;
    default: value = fuzz_next(random) >> fuzz_below(random, 64); break;
    }
    memcpy(bytes + at, &value, width);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    fuzz_random random = {seed};
    section sections[ZF_SECTION_COUNT];
    size_t made_size = 0;
    uint8_t *made = NULL;
    if (!find_sections(data, size, sections)) {
        size = LLVMFuzzerMutate(data, size, most);
    } else if (fuzz_below(&random, 16) == 0) {
        made = without_code(data, size, &made_size);
    } else if (fuzz_below(&random, 16) == 0) {
        change_number(&random, data, ZF_MODULE_HEADER_BYTES);
    } else {
        size_t room = sections[0].size + 256;
        uint8_t *manifest = malloc(room);
        if (manifest == NULL) exit(2);
        memcpy(manifest, sections[0].bytes, sections[0].size);
        if (fuzz_below(&random, 3) != 0) {
            for (uint64_t k = 0; k < 1 + fuzz_below(&random, 3); k++) change_number(&random, manifest, sections[0].size);
        } else {
            sections[0].size = LLVMFuzzerMutate(manifest, sections[0].size, room);
        }
        sections[0].bytes = manifest;
        made = put_together(data, sections, most, &made_size);
        free(manifest);
    }
    if (made != NULL && made_size <= most) {
        memcpy(data, made, made_size);
        size = made_size;
    }
    free(made);
    if (size >= ZF_MODULE_HEADER_BYTES && fuzz_below(&random, 32) != 0) {
        zf_store64(data + AT_CHECKSUM, XXH3_64bits(data + ZF_MODULE_CHECKED_FROM, size - ZF_MODULE_CHECKED_FROM));
    }
    return size;
}
