#include "compiler/module/native_image.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/imports.h"
#include "runtime/module/module_format.h"

enum { STUB_BYTES = 16 };

/// The object that is added.
typedef struct object {
    const char *bytes;
    size_t size;
    Elf64_Ehdr header;
    const char *names; ///< of sections
    size_t names_bytes;
    uint64_t *at; ///< per section: where it stands in the image, or UINT64_MAX
    Elf64_Sym *symbols;
    size_t symbol_count;
    const char *strings; ///< names of symbols
    size_t strings_bytes;
} object;

static zf_status refuse(zf_error *error, const char *what, const char *name) {
    return zf_raise(error, ZF_E_INTERNAL, "generated code cannot go into a module: %s%s%s", what, name[0] != 0 ? " " : "", name);
}

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated code"); }

// ---- Stubs ----------------------------------------------------------------------------------------------------

static void put32(char *at, int64_t value) {
    int32_t narrow = (int32_t)value;
    memcpy(at, &narrow, sizeof narrow);
}

/// jmp *[rip + d], to the import's word in the page before the image; then int3, up to the next stub.
static void start(zf_native_image *image) {
    size_t count;
    zf_imports(&count);
    for (size_t i = 0; i < count; i++) {
        char stub[STUB_BYTES];
        memset(stub, 0xcc, sizeof stub);
        stub[0] = (char)0xff;
        stub[1] = 0x25;
        put32(stub + 2, (int64_t)(8 * i) - ((int64_t)ZF_MODULE_PAGE + (int64_t)(i * STUB_BYTES) + 6));
        zf_text_add(&image->code, stub, sizeof stub);
    }
}

static uint64_t stub_of(const char *name) {
    size_t count;
    const zf_import *imports = zf_imports(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(imports[i].name, name) == 0) return i * STUB_BYTES;
    }
    return UINT64_MAX;
}

// ---- Reading the object ---------------------------------------------------------------------------------------

static bool inside(const object *o, uint64_t offset, uint64_t bytes) { return offset <= o->size && bytes <= o->size - offset; }

static Elf64_Shdr section(const object *o, size_t index) {
    Elf64_Shdr out;
    memcpy(&out, o->bytes + o->header.e_shoff + index * sizeof out, sizeof out);
    return out;
}

static const char *text_at(const char *strings, size_t bytes, uint64_t at) {
    return at < bytes && memchr(strings + at, 0, bytes - at) != NULL ? strings + at : "";
}

static zf_status read_symbols(object *o, const Elf64_Shdr *table, zf_error *error) {
    if (table->sh_link >= o->header.e_shnum || o->symbols != NULL) return refuse(error, "its symbols have no names", "");
    Elf64_Shdr strings = section(o, table->sh_link);
    if (!inside(o, strings.sh_offset, strings.sh_size)) return refuse(error, "its sections leave it", "");
    o->symbols = malloc(table->sh_size + 1);
    if (o->symbols == NULL) return out_of_memory(error);
    memcpy(o->symbols, o->bytes + table->sh_offset, table->sh_size);
    o->symbol_count = table->sh_size / sizeof(Elf64_Sym);
    o->strings = o->bytes + strings.sh_offset;
    o->strings_bytes = strings.sh_size;
    return ZF_OK;
}

static zf_status open_object(object *o, zf_error *error) {
    if (o->size < sizeof o->header) return refuse(error, "it is not an object file", "");
    memcpy(&o->header, o->bytes, sizeof o->header);
    if (memcmp(o->header.e_ident, ELFMAG, SELFMAG) != 0 || o->header.e_ident[EI_CLASS] != ELFCLASS64 ||
        o->header.e_type != ET_REL || o->header.e_machine != EM_X86_64 || o->header.e_shentsize != sizeof(Elf64_Shdr) ||
        !inside(o, o->header.e_shoff, (uint64_t)o->header.e_shnum * sizeof(Elf64_Shdr)) ||
        o->header.e_shstrndx >= o->header.e_shnum) {
        return refuse(error, "it is not an object file of x86-64", "");
    }
    for (size_t s = 0; s < o->header.e_shnum; s++) {
        Elf64_Shdr at = section(o, s);
        if (at.sh_type != SHT_NOBITS && !inside(o, at.sh_offset, at.sh_size)) return refuse(error, "its sections leave it", "");
        if (s == o->header.e_shstrndx) {
            o->names = o->bytes + at.sh_offset;
            o->names_bytes = at.sh_size;
        }
        if (at.sh_type == SHT_SYMTAB) ZF_TRY(read_symbols(o, &at, error));
    }
    return ZF_OK;
}

// ---- Laying out -----------------------------------------------------------------------------------------------

static zf_status place_sections(object *o, zf_native_image *image, zf_error *error) {
    static const char fill[ZF_MODULE_CODE_ALIGNMENT];
    o->at = malloc((o->header.e_shnum + 1u) * sizeof *o->at);
    if (o->at == NULL) return out_of_memory(error);
    for (size_t s = 0; s < o->header.e_shnum; s++) {
        Elf64_Shdr at = section(o, s);
        const char *name = text_at(o->names, o->names_bytes, at.sh_name);
        o->at[s] = UINT64_MAX;
        // Nothing unwinds through kernels, so tables for that are left out.
        if ((at.sh_flags & SHF_ALLOC) == 0 || at.sh_size == 0 || strcmp(name, ".eh_frame") == 0) continue;
        if (at.sh_type != SHT_PROGBITS || (at.sh_flags & (SHF_WRITE | SHF_TLS)) != 0 ||
            at.sh_addralign > ZF_MODULE_CODE_ALIGNMENT) {
            return refuse(error, "it has the section", name);
        }
        size_t over = at.sh_addralign > 1 ? image->code.length % at.sh_addralign : 0;
        if (over != 0) zf_text_add(&image->code, fill, at.sh_addralign - over);
        o->at[s] = image->code.length;
        zf_text_add(&image->code, o->bytes + at.sh_offset, at.sh_size);
    }
    return image->code.failed ? out_of_memory(error) : ZF_OK;
}

/// Where a symbol stands in the image; of an import where its stub does.
static zf_status place_symbol(const object *o, uint64_t index, uint64_t *out, zf_error *error) {
    if (index >= o->symbol_count) return refuse(error, "it refers to nothing", "");
    const Elf64_Sym *symbol = &o->symbols[index];
    const char *name = text_at(o->strings, o->strings_bytes, symbol->st_name);
    if (symbol->st_shndx == SHN_UNDEF) {
        *out = stub_of(name);
        return *out != UINT64_MAX ? ZF_OK : refuse(error, "it needs", name);
    }
    if (symbol->st_shndx >= o->header.e_shnum || o->at[symbol->st_shndx] == UINT64_MAX)
        return refuse(error, "it refers to", name);
    *out = o->at[symbol->st_shndx] + symbol->st_value;
    return ZF_OK;
}

static zf_status relocate(const object *o, const Elf64_Rela *entry, size_t target, zf_native_image *image, zf_error *error) {
    uint64_t type = ELF64_R_TYPE(entry->r_info), size = type == R_X86_64_PC64 ? 8 : 4, symbol;
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32 && type != R_X86_64_PC64) {
        char kind[32];
        snprintf(kind, sizeof kind, "%llu", (unsigned long long)type);
        return refuse(error, "it has a relocation of type", kind);
    }
    uint64_t bytes = section(o, target).sh_size;
    if (entry->r_offset > bytes || size > bytes - entry->r_offset) return refuse(error, "it relocates missing code", "");
    ZF_TRY(place_symbol(o, ELF64_R_SYM(entry->r_info), &symbol, error));
    uint64_t place = o->at[target] + entry->r_offset;
    int64_t value = (int64_t)symbol + entry->r_addend - (int64_t)place;
    if (size == 8) {
        memcpy(image->code.data + place, &value, sizeof value);
        return ZF_OK;
    }
    if (value != (int32_t)value) return refuse(error, "it is too large", "");
    put32(image->code.data + place, value);
    return ZF_OK;
}

static zf_status relocate_all(const object *o, zf_native_image *image, zf_error *error) {
    for (size_t s = 0; s < o->header.e_shnum; s++) {
        Elf64_Shdr at = section(o, s);
        if ((at.sh_type != SHT_RELA && at.sh_type != SHT_REL) || at.sh_info >= o->header.e_shnum ||
            o->at[at.sh_info] == UINT64_MAX) {
            continue;
        }
        if (at.sh_type == SHT_REL) return refuse(error, "it has relocations without addends", "");
        for (uint64_t r = 0; r + sizeof(Elf64_Rela) <= at.sh_size; r += sizeof(Elf64_Rela)) {
            Elf64_Rela entry;
            memcpy(&entry, o->bytes + at.sh_offset + r, sizeof entry);
            ZF_TRY(relocate(o, &entry, at.sh_info, image, error));
        }
    }
    return ZF_OK;
}

static void find_symbols(const object *o, const char *const *symbols, size_t count, uint64_t *places) {
    for (size_t k = 0; k < count; k++) {
        places[k] = UINT64_MAX;
        for (size_t s = 0; s < o->symbol_count; s++) {
            const Elf64_Sym *symbol = &o->symbols[s];
            if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= o->header.e_shnum) continue;
            if (strcmp(text_at(o->strings, o->strings_bytes, symbol->st_name), symbols[k]) != 0) continue;
            if (o->at[symbol->st_shndx] != UINT64_MAX) places[k] = o->at[symbol->st_shndx] + symbol->st_value;
        }
    }
}

zf_status zf_native_image_add(zf_native_image *image, const char *bytes, size_t size, const char *const *symbols, size_t count,
                              uint64_t *places, zf_error *error) {
    object o = {.bytes = bytes, .size = size};
    if (image->code.length == 0) start(image);
    zf_status status = open_object(&o, error);
    if (status == ZF_OK) status = place_sections(&o, image, error);
    if (status == ZF_OK) status = relocate_all(&o, image, error);
    if (status == ZF_OK) find_symbols(&o, symbols, count, places);
    free(o.symbols);
    free(o.at);
    return status;
}
