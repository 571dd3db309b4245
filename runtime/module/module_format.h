// Modules (`.zfm`): the bytes that docs/module.md describes, and a module's content in memory.
//
// The compiler fills a content for the writer; the reader returns one. A module's code is trusted as a shared library's is. The
// reader guards against accidents: it never leaves the file or its memory, but it cannot judge code.
#ifndef ZF_RUNTIME_MODULE_FORMAT_H
#define ZF_RUNTIME_MODULE_FORMAT_H

#include "runtime/base/abi.h"
#include "runtime/base/arena.h"
#include "runtime/base/text.h"
#include "runtime/container/container.h"

#define ZF_MODULE_VERSION 7u
#define ZF_MODULE_MAGIC "\x89ZFM\r\n\x1a\n"

enum {
    ZF_MODULE_HEADER_BYTES = 128,
    ZF_MODULE_CHECKED_FROM = 32, ///< the checksum covers bytes from here on
    ZF_MODULE_ALIGNMENT = 64,    ///< of sections
    ZF_MODULE_SECTION_BYTES = 24,
    ZF_MODULE_CODE_ALIGNMENT = 64, ///< the largest alignment in native code
    ZF_MODULE_PAGE = 4096,         ///< bytes from the table of imports to the native code
    ZF_MODULE_IMPORTS_MOST = ZF_MODULE_PAGE / 8,
    ZF_MODULE_LEAST_CPU = 2, ///< level
};
typedef enum zf_module_section { ZF_SECTION_MANIFEST, ZF_SECTION_NATIVE, ZF_SECTION_IMAGES, ZF_SECTION_COUNT } zf_module_section;

/// The machine of a module's native code. NONE: the module holds no native code, and loads on every host.
typedef enum zf_module_machine { ZF_MACHINE_NONE, ZF_MACHINE_X86_64 } zf_module_machine;

/// Code for one tuple of shaping values, or the general form.
typedef struct zf_module_code {
    uint32_t is_general;
    const uint64_t *shaping;        ///< plan's shaping_count; NULL: the general form
    const uint64_t *kernels;        ///< HOST: byte offsets in the native code
    uint32_t stack_bytes;           ///< HOST: as zf_abi_code has it
    const zf_abi_simt_kernel *simt; ///< NVPTX
    uint64_t image, image_bytes;    ///< NVPTX: PTX in the images, including its final zero byte
} zf_module_code;

typedef struct zf_module_plan {
    zf_abi_plan abi; ///< once loaded, provider_data is this struct
    zf_shape shape;
    uint32_t code_count;
    zf_module_code *codes; ///< the general form first
    zf_abi_code *loaded;   ///< one per code, once loaded
} zf_module_plan;

typedef struct zf_module_column {
    const char *name, *type_name, *codec;
    zf_column_type type;
    uint32_t choice_count;       ///< choices of the codec with several alternatives
    const uint8_t *alternatives; ///< of each choice
    uint32_t plan_count;
    zf_module_plan *plans;
} zf_module_column;

/// A table, identified by the text of its codecs, which a container carries.
typedef struct zf_module_table {
    const char *name;
    zf_unit_identity text;
    uint32_t column_count;
    zf_module_column *columns;
} zf_module_table;

typedef struct zf_module_content {
    uint32_t machine, cpu_level; ///< zf_module_machine; 2 for x86-64-v2
    uint32_t import_count;
    const char **imports; ///< names of functions that native code calls; none without native code
    uint32_t table_count;
    zf_module_table *tables;
    const uint8_t *native, *images;
    uint64_t native_bytes, image_bytes;
} zf_module_content;

/// Appends the manifest of a content.
void zf_module_manifest_write(zf_module_content *content, zf_text *out);
/// The only result of zf_module_manifest_read that does not blame the manifest.
extern const char zf_module_no_memory[];
/// Reads a manifest. Returns what is wrong with it, or NULL.
///
/// Fills all of `out` but native code and images. Memory belongs to `arena`.
const char *zf_module_manifest_read(zf_arena *arena, const uint8_t *bytes, size_t size, zf_module_content *out);
/// Returns a contradiction in a module, or NULL: a plan that does not fit its shape, block checks with a fault, code outside
/// its section.
const char *zf_module_fault(const zf_module_content *content);

/// Appends a whole module to `out`. ZF1901 where the content contradicts itself.
ZF_PRIVATE_API zf_status zf_module_write(zf_module_content *content, zf_text *out, zf_error *error);
/// Checks the header of a file of `size` bytes; `bytes` holds as much of it as a header has. `path` names it in errors.
ZF_PRIVATE_API zf_status zf_module_check_header(const uint8_t *bytes, uint64_t size, const char *path, zf_error *error);
/// Reads a whole module. `content` points into `bytes` and `arena`, which must outlive it.
ZF_PRIVATE_API zf_status zf_module_parse(zf_arena *arena, const void *bytes, size_t size, const char *path,
                                         zf_module_content *content, zf_error *error);

// ---- Native code ----------------------------------------------------------------------------------------------

/// Returns the number of a CPU level, 3 for "x86-64-v3", or 0 for an unknown name.
ZF_PRIVATE_API uint32_t zf_cpu_level(const char *name);
/// Returns the name of a CPU level, or NULL for an unknown number.
ZF_PRIVATE_API const char *zf_cpu_level_name(uint32_t level);
/// Returns the machine of this process, and the highest level of its CPU.
ZF_PRIVATE_API uint32_t zf_cpu_here(uint32_t *level);
/// Returns ZF1113 unless native code for a machine and level runs on `machine_here` and `level_here`.
ZF_PRIVATE_API zf_status zf_cpu_fits(uint32_t machine, uint32_t level, uint32_t machine_here, uint32_t level_here,
                                     const char *path, zf_error *error);

/// Native code in memory, executable and not writable.
typedef struct zf_native {
    uint8_t *memory; ///< a page with the addresses of imports, then the code
    size_t bytes;
} zf_native;
/// Maps a module's native code and binds its imports. Nothing is mapped where there is none.
zf_status zf_native_map(const zf_module_content *content, const char *path, zf_native *out, zf_error *error);
void zf_native_unmap(zf_native *native);

#endif
