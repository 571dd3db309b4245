// A module as a file: header, sections, checksum.
#include <string.h>
#include <xxhash.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/module/module_format.h"

typedef unsigned long long ull;

// Where the header's words stand.
enum {
    AT_VERSION = 8,
    AT_ABI = 12,
    AT_BYTES = 16,
    AT_CHECKSUM = 24,
    AT_MACHINE = 32,
    AT_CPU = 36,
    AT_SECTIONS = 40,
    AT_RESERVED = 44,
    AT_TABLE = 48,
    AT_TABLE_END = AT_TABLE + ZF_SECTION_COUNT * ZF_MODULE_SECTION_BYTES, ///< zeroes behind it
};
_Static_assert((int)AT_TABLE_END <= (int)ZF_MODULE_HEADER_BYTES, "sections fit the header");

// ---- Writing --------------------------------------------------------------------------------------------------

static void add_section(zf_text *out, size_t start, zf_module_section kind, const void *bytes, uint64_t size, uint8_t *header) {
    static const char zeros[ZF_MODULE_ALIGNMENT];
    size_t over = (out->length - start) % ZF_MODULE_ALIGNMENT;
    if (over != 0) zf_text_add(out, zeros, ZF_MODULE_ALIGNMENT - over);
    uint8_t *row = header + AT_TABLE + (size_t)kind * ZF_MODULE_SECTION_BYTES;
    zf_store32(row, kind + 1u);
    zf_store64(row + 8, out->length - start);
    zf_store64(row + 16, size);
    if (size > 0) zf_text_add(out, bytes, size);
}

zf_status zf_module_write(zf_module_content *content, zf_text *out, zf_error *error) {
    const char *fault = zf_module_fault(content);
    if (fault != NULL) return zf_raise(error, ZF_E_INTERNAL, "a module that contradicts itself: %s", fault);
    uint8_t header[ZF_MODULE_HEADER_BYTES] = {0};
    zf_text manifest = {0};
    size_t start = out->length;
    zf_module_manifest_write(content, &manifest);
    zf_text_add(out, (const char *)header, sizeof header);
    add_section(out, start, ZF_SECTION_MANIFEST, manifest.data, manifest.length, header);
    add_section(out, start, ZF_SECTION_NATIVE, content->native, content->native_bytes, header);
    add_section(out, start, ZF_SECTION_IMAGES, content->images, content->image_bytes, header);
    bool failed = manifest.failed || out->failed;
    zf_text_free(&manifest);
    if (failed) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a module");
    memcpy(header, ZF_MODULE_MAGIC, 8);
    zf_store32(header + AT_VERSION, ZF_MODULE_VERSION);
    zf_store32(header + AT_ABI, ZF_ABI_VERSION);
    zf_store64(header + AT_BYTES, out->length - start);
    zf_store32(header + AT_MACHINE, content->machine);
    zf_store32(header + AT_CPU, content->cpu_level);
    zf_store32(header + AT_SECTIONS, ZF_SECTION_COUNT);
    uint8_t *bytes = (uint8_t *)out->data + start;
    memcpy(bytes, header, sizeof header);
    zf_store64(bytes + AT_CHECKSUM, XXH3_64bits(bytes + ZF_MODULE_CHECKED_FROM, out->length - start - ZF_MODULE_CHECKED_FROM));
    return ZF_OK;
}

// ---- Reading --------------------------------------------------------------------------------------------------

static zf_status refuse(zf_error *error, zf_runtime_code code, const char *path, const char *what) {
    zf_status status = zf_raise(error, code, "%s", what);
    return zf_fail_place(error, status, "%s", path);
}

static zf_status compile_again(zf_error *error, zf_status status, const char *path) {
    zf_fail_place(error, status, "%s", path);
    return zf_fail_hint(error, status, "compile it again with the zfc of this version");
}

zf_status zf_module_check_header(const uint8_t *bytes, uint64_t size, const char *path, zf_error *error) {
    if (size < 8 || memcmp(bytes, ZF_MODULE_MAGIC, 8) != 0) {
        zf_status status = refuse(error, ZF_E_NOT_A_MODULE, path, "this is not a module");
        return zf_fail_hint(error, status, "zfc compile makes modules");
    }
    if (size < ZF_MODULE_HEADER_BYTES) return refuse(error, ZF_E_MODULE_CUT, path, "the module ends within its header");
    uint32_t version = zf_load32(bytes + AT_VERSION), abi = zf_load32(bytes + AT_ABI);
    if (version != ZF_MODULE_VERSION) {
        return compile_again(error,
                             zf_raise(error, ZF_E_MODULE_VERSION, "a module of format version %u; this build reads version %u",
                                      version, ZF_MODULE_VERSION),
                             path);
    }
    uint64_t wanted = zf_load64(bytes + AT_BYTES);
    if (wanted != size) {
        zf_status status =
            zf_raise(error, ZF_E_MODULE_CUT, "the module has %llu bytes and was written with %llu", (ull)size, (ull)wanted);
        return zf_fail_place(error, status, "%s", path);
    }
    if (abi == ZF_ABI_VERSION) return ZF_OK;
    return compile_again(error,
                         zf_raise(error, ZF_E_MODULE_ABI,
                                  "the module's kernels are called by version %u of their interface; this build has version %d",
                                  abi, ZF_ABI_VERSION),
                         path);
}

static bool all_zero(const uint8_t *bytes, uint64_t size) {
    for (uint64_t i = 0; i < size; i++) {
        if (bytes[i] != 0) return false;
    }
    return true;
}

/// Sections follow each other without a gap but for their alignment, up to the file's end. Bytes without a meaning are 0, so a
/// later version can give them one.
static const char *find_sections(const uint8_t *bytes, size_t size, const uint8_t *sections[ZF_SECTION_COUNT],
                                 uint64_t lengths[ZF_SECTION_COUNT]) {
    uint64_t end = ZF_MODULE_HEADER_BYTES;
    if (zf_load32(bytes + AT_SECTIONS) != ZF_SECTION_COUNT) return "another number of sections than modules have";
    if (!all_zero(bytes + AT_RESERVED, 4) || !all_zero(bytes + AT_TABLE_END, ZF_MODULE_HEADER_BYTES - AT_TABLE_END))
        return "features that this build does not know";
    for (uint32_t s = 0; s < ZF_SECTION_COUNT; s++) {
        const uint8_t *row = bytes + AT_TABLE + (size_t)s * ZF_MODULE_SECTION_BYTES;
        uint64_t offset = zf_load64(row + 8), length = zf_load64(row + 16), start;
        if (zf_load32(row) != s + 1 || !zf_align_up(end, ZF_MODULE_ALIGNMENT, &start) || offset != start || start > size ||
            length > size - start) {
            return "sections that do not follow each other";
        }
        if (!all_zero(row + 4, 4) || !all_zero(bytes + end, start - end)) return "features that this build does not know";
        sections[s] = bytes + offset;
        lengths[s] = length;
        end = offset + length;
    }
    return end == size ? NULL : "bytes behind the last section";
}

zf_status zf_module_parse(zf_arena *arena, const void *memory, size_t size, const char *path, zf_module_content *content,
                          zf_error *error) {
    const uint8_t *bytes = memory, *sections[ZF_SECTION_COUNT];
    uint64_t lengths[ZF_SECTION_COUNT];
    *content = (zf_module_content){0};
    ZF_TRY(zf_module_check_header(bytes, size, path, error));
    if (zf_load64(bytes + AT_CHECKSUM) != XXH3_64bits(bytes + ZF_MODULE_CHECKED_FROM, size - ZF_MODULE_CHECKED_FROM))
        return refuse(error, ZF_E_MODULE_CHECKSUM, path, "the module's checksum does not match");
    const char *fault = find_sections(bytes, size, sections, lengths);
    if (fault == NULL) {
        content->machine = zf_load32(bytes + AT_MACHINE);
        content->cpu_level = zf_load32(bytes + AT_CPU);
        content->native = sections[ZF_SECTION_NATIVE];
        content->native_bytes = lengths[ZF_SECTION_NATIVE];
        content->images = sections[ZF_SECTION_IMAGES];
        content->image_bytes = lengths[ZF_SECTION_IMAGES];
        fault = zf_module_manifest_read(arena, sections[ZF_SECTION_MANIFEST], lengths[ZF_SECTION_MANIFEST], content);
    }
    if (fault == NULL) fault = zf_module_fault(content);
    if (fault == NULL) return ZF_OK;
    if (fault == zf_module_no_memory) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a module");
    zf_status status = zf_raise(error, ZF_E_MODULE_CONTENT, "the module contradicts itself: %s", fault);
    return zf_fail_place(error, status, "%s", path);
}
