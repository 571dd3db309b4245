#include "codegen/llvm/identity.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

typedef struct search {
    uintptr_t address; ///< of something of ours
    zf_text *out;
    bool written;
} search;

static uint64_t align_4(uint64_t n) { return (n + 3) & ~(uint64_t)3; }

static bool add_build_id(zf_text *out, const char *notes, uint64_t size) {
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes, sizeof(note));
        uint64_t name = sizeof(note), value = name + align_4(note.n_namesz), end = value + align_4(note.n_descsz);
        if (end > size) return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            for (uint32_t k = 0; k < note.n_descsz; k++) zf_text_printf(out, "%02x", (unsigned char)notes[value + k]);
            return true;
        }
        notes += end;
        size -= end;
    }
    return false;
}

static int on_object(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    search *s = user;
    bool ours = false;
    for (int k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[k];
        uintptr_t from = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && s->address >= from && s->address - from < segment->p_memsz) ours = true;
    }
    if (!ours) return 0;
    for (int k = 0; k < info->dlpi_phnum && !s->written; k++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[k];
        if (segment->p_type != PT_NOTE) continue;
        s->written = add_build_id(s->out, (const char *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz);
    }
    struct stat facts;
    const char *path = info->dlpi_name[0] == 0 ? "/proc/self/exe" : info->dlpi_name; // the program itself has no name here
    if (!s->written && stat(path, &facts) == 0) {
        zf_text_printf(s->out, "%s %lld %lld.%09ld", path, (long long)facts.st_size, (long long)facts.st_mtim.tv_sec,
                       facts.st_mtim.tv_nsec);
    }
    return 1;
}

void zf_build_identity(zf_text *out) {
    search s = {.address = (uintptr_t)zf_build_identity, .out = out};
    dl_iterate_phdr(on_object, &s);
}
