// The bytes of a module (`.zfm`), as docs/module.md describes them, and a module in memory: what the compiler gives to the writer
// and what the loader reads. Code is trusted as a shared library's is, so a loader looks for accidents: what is checked keeps it
// from leaving the file or memory, not from running code that was put there.
#ifndef ZF_RUNTIME_MODULE_FORMAT_H
#define ZF_RUNTIME_MODULE_FORMAT_H

#include "runtime/base/abi.h"
#include "runtime/base/arena.h"
#include "runtime/base/text.h"
#include "runtime/container/container.h"

#define ZF_MODULE_VERSION 5u
#define ZF_MODULE_MAGIC "\x89ZFM\r\n\x1a\n"

enum {
    ZF_MODULE_HEADER_BYTES = 128,
    ZF_MODULE_CHECKED_FROM = 32, ///< what stands before is checked word by word, the rest by the checksum
    ZF_MODULE_ALIGNMENT = 64,    ///< of sections
    ZF_MODULE_SECTION_BYTES = 24,
    ZF_MODULE_CODE_ALIGNMENT = 64, ///< no piece of native code wants more
    ZF_MODULE_PAGE = 4096,         ///< native code lies so far behind the table of imports
    ZF_MODULE_IMPORTS_MOST = ZF_MODULE_PAGE / 8,
    ZF_MODULE_LEAST_CPU = 2, ///< level
};
typedef enum zf_module_section { ZF_SECTION_MANIFEST, ZF_SECTION_NATIVE, ZF_SECTION_IMAGES, ZF_SECTION_COUNT } zf_module_section;

/// Machines that native code is for.
typedef enum zf_module_machine { ZF_MACHINE_NONE, ZF_MACHINE_X86_64 } zf_module_machine;

/// The code for one tuple of shaping values, or for all.
typedef struct zf_module_code {
    uint32_t is_general;
    const uint64_t *shaping;        ///< plan's shaping_count; NULL: the general form
    const uint64_t *kernels;        ///< HOST: places in the native code
    const zf_abi_simt_kernel *simt; ///< NVPTX
    uint64_t image, image_bytes;    ///< NVPTX: PTX in the images, with the zero byte that it ends in
} zf_module_code;

typedef struct zf_module_plan {
    zf_abi_plan abi; ///< provider_data: this, when loaded
    zf_shape shape;
    uint32_t code_count;
    zf_module_code *codes; ///< the general one first
    zf_abi_code *loaded;   ///< as many, when loaded
} zf_module_plan;

typedef struct zf_module_column {
    const char *name, *type_name, *codec;
    zf_column_type type;
    uint32_t choice_count;       ///< choices of the codec that have several alternatives
    const uint8_t *alternatives; ///< how many each has
    uint32_t plan_count;
    zf_module_plan *plans;
} zf_module_column;

/// A table. A container's columns are known by the text that it carries of its codecs, all of it.
typedef struct zf_module_table {
    const char *name;
    zf_unit_identity text;
    uint32_t column_count;
    zf_module_column *columns;
} zf_module_table;

typedef struct zf_module_content {
    uint32_t machine, cpu_level; ///< zf_module_machine; 2 for x86-64-v2
    uint32_t import_count;
    const char **imports; ///< functions that native code calls, by name
    uint32_t table_count;
    zf_module_table *tables;
    const uint8_t *native, *images;
    uint64_t native_bytes, image_bytes;
} zf_module_content;

/// The manifest as bytes, and back: one description of the format for both (module_manifest.c). Reading gives what is wrong, or
/// NULL; everything it makes is of `arena`. Native code and images are not in it.
void zf_module_manifest_write(zf_module_content *content, zf_text *out);
const char *zf_module_manifest_read(zf_arena *arena, const uint8_t *bytes, size_t size, zf_module_content *out);
/// What contradicts itself in a module, or NULL: plans that do not fit their shapes, places outside the code.
const char *zf_module_fault(const zf_module_content *content);

/// A whole module as bytes, appended; of `content` nothing is changed. And back: `content` points into `bytes` and `arena`.
/// `path` names it in errors. The header alone tells whether a file of `size` bytes is worth reading: of it as much is wanted as
/// a header has.
ZF_PRIVATE_API zf_status zf_module_write(zf_module_content *content, zf_text *out, zf_error *error);
ZF_PRIVATE_API zf_status zf_module_check_header(const uint8_t *bytes, uint64_t size, const char *path, zf_error *error);
ZF_PRIVATE_API zf_status zf_module_parse(zf_arena *arena, const void *bytes, size_t size, const char *path,
                                         zf_module_content *content, zf_error *error);

// ---- Native code ----------------------------------------------------------------------------------------------

/// Names and numbers of CPU levels: "x86-64-v3" is 3. 0 for an unknown name; NULL for an unknown number.
ZF_PRIVATE_API uint32_t zf_cpu_level(const char *name);
ZF_PRIVATE_API const char *zf_cpu_level_name(uint32_t level);
/// The machine that this is, and the highest level of its CPU.
ZF_PRIVATE_API uint32_t zf_cpu_here(uint32_t *level);
/// Whether native code for a machine and level runs on another. ZF1113 where not.
ZF_PRIVATE_API zf_status zf_cpu_fits(uint32_t machine, uint32_t level, uint32_t machine_here, uint32_t level_here,
                                     const char *path, zf_error *error);

/// Native code in memory that can be run and not be written.
typedef struct zf_native {
    uint8_t *memory; ///< a page with the addresses of imports, then the code
    size_t bytes;
} zf_native;
zf_status zf_native_map(const zf_module_content *content, const char *path, zf_native *out, zf_error *error);
void zf_native_unmap(zf_native *native);

#endif
