// Links: zf_llvm_headers zipflow-compiler zipflow-runtime
// Native code of modules: what an object file may not hold is refused by name, what it may runs where it is put, and no page of a
// loaded one can be written and run.
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include "compiler/module/native_image.h"
#include "runtime/base/imports.h"
#include "runtime/module/module_format.h"
#include "tests/unit/check.h"

#define DECLARED                                                                                                                 \
    "target triple = \"x86_64-unknown-linux-gnu\"\n"                                                                             \
    "declare i64 @elsewhere(i64)\n"                                                                                              \
    "declare double @llvm.fma.f64(double, double, double)\n"

/// An object file of a text of LLVM's; as generated code is made (position independent), unless `fixed`.
static char *object_of(const char *text, bool fixed, size_t *size) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef source = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "text"), object = NULL;
    LLVMModuleRef module = NULL;
    LLVMTargetRef target = NULL;
    char *message = NULL, *copy = NULL;
    *size = 0;
    bool read = LLVMParseIRInContext(context, source, &module, &message) == 0;
    CHECK(read, "%s", message);
    if (read && LLVMGetTargetFromTriple("x86_64-unknown-linux-gnu", &target, &message) == 0) {
        LLVMTargetMachineRef machine =
            LLVMCreateTargetMachine(target, "x86_64-unknown-linux-gnu", "x86-64-v2", "", LLVMCodeGenLevelDefault,
                                    fixed ? LLVMRelocStatic : LLVMRelocPIC, LLVMCodeModelSmall);
        if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &object) == 0) {
            *size = LLVMGetBufferSize(object);
            copy = malloc(*size);
            memcpy(copy, LLVMGetBufferStart(object), *size);
            LLVMDisposeMemoryBuffer(object);
        }
        LLVMDisposeTargetMachine(machine);
    }
    CHECK(copy != NULL, "no object: %s", message);
    if (module != NULL) LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return copy;
}

/// Adds an object from memory of its own size. `words`: what the refusal says; NULL: it is taken.
static void add(const char *name, const char *bytes, size_t size, const char *words) {
    static const char *const symbols[] = {"f"};
    uint64_t place = 0;
    zf_native_image image = {0};
    zf_error error = {0};
    char *exact = malloc(size + 1); // so that a sanitizer sees a read behind it
    if (size > 0) memcpy(exact, bytes, size);
    char *only = size > 0 ? realloc(exact, size) : exact;
    zf_status status = zf_native_image_add(&image, only, size, symbols, 1, &place, &error);
    if (words == NULL) {
        CHECK(status == ZF_OK && place != UINT64_MAX && place < image.code.length, "%s: %s", name, error.message);
    } else {
        CHECK(status == ZF_ERR_INTERNAL && strcmp(error.code, "ZF1901") == 0, "%s: %d %s", name, (int)status, error.code);
        const char *found = strstr(error.message, words);
        CHECK(strstr(error.message, "cannot go into a module: ") != NULL && found != NULL, "%s: %s", name, error.message);
        char next = found != NULL ? found[strlen(words)] : 0; // type 1 is not type 10
        CHECK(next < '0' || next > '9', "%s: %s", name, error.message);
    }
    zf_text_free(&image.code);
    free(only);
}

static const char good[] = DECLARED "@table = private constant [4 x i64] [i64 5, i64 7, i64 11, i64 13]\n"
                                    "define i64 @f(i64 %k) {\n"
                                    "  %at = getelementptr i64, ptr @table, i64 %k\n"
                                    "  %v = load i64, ptr %at\n"
                                    "  ret i64 %v\n"
                                    "}\n";

static void test_refused(void) {
    static const struct {
        const char *name, *text;
        bool fixed;
        const char *words;
    } cases[] = {
        {"constants", good, false, NULL},
        {"an import",
         DECLARED "define double @f(double %x) {\n %v = call double @llvm.fma.f64(double %x, double %x, double %x)\n"
                  " ret double %v\n}\n",
         false, NULL},
        {"a symbol from elsewhere", DECLARED "define i64 @f(i64 %k) {\n %v = call i64 @elsewhere(i64 %k)\n ret i64 %v\n}\n",
         false, "it needs elsewhere"},
        {"data that is written",
         DECLARED "@word = internal global i64 3\ndefine i64 @f(i64 %k) {\n %v = load i64, ptr @word\n"
                  " store i64 %k, ptr @word\n ret i64 %v\n}\n",
         false, "the section .data"},
        {"zeroes that are written",
         DECLARED "@word = internal global i64 0\ndefine i64 @f(i64 %k) {\n %v = load i64, ptr @word\n"
                  " store i64 %k, ptr @word\n ret i64 %v\n}\n",
         false, "the section .bss"},
        {"a word of each thread",
         DECLARED "@word = internal thread_local global i64 3\ndefine i64 @f(i64 %k) {\n"
                  " store i64 %k, ptr @word\n ret i64 %k\n}\n",
         false, "the section .tdata"},
        {"an address in constants",
         DECLARED "@self = dso_local constant ptr @f\ndefine dso_local i64 @f(i64 %k) {\n ret i64 %k\n}\n", true,
         "a relocation of type 1"}, // R_X86_64_64
        {"a large alignment",
         DECLARED "@table = constant [4 x i64] [i64 5, i64 7, i64 1, i64 3], align 128\n"
                  "define ptr @f() {\n ret ptr @table\n}\n",
         false, "the section .rodata"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size;
        char *object = object_of(cases[i].text, cases[i].fixed, &size);
        if (object != NULL) add(cases[i].name, object, size, cases[i].words);
        free(object);
    }
}

/// Objects that are cut, and those whose header says otherwise.
static void test_damaged(void) {
    size_t size;
    char *object = object_of(good, false, &size);
    if (object == NULL) return;
    add("nothing", object, 0, "it is not an object file");
    for (size_t cut = 1; cut < size; cut += cut < sizeof(Elf64_Ehdr) ? 1 : 37)
        add("a cut object", object, cut, "it is not an object file");
    Elf64_Ehdr header;
    memcpy(&header, object, sizeof header);
    for (uint16_t s = 0; s < header.e_shnum; s++) {
        Elf64_Shdr section, changed;
        char *at = object + header.e_shoff + s * sizeof section;
        memcpy(&section, at, sizeof section);
        if (section.sh_size == 0) continue;
        changed = section;
        changed.sh_offset = size - section.sh_size + 1;
        memcpy(at, &changed, sizeof changed);
        add("a section that leaves the object", object, size, "its sections leave it");
        memcpy(at, &section, sizeof section);
        if (section.sh_type != SHT_SYMTAB) continue;
        changed = section;
        changed.sh_link = header.e_shnum;
        memcpy(at, &changed, sizeof changed);
        add("symbols without names", object, size, "its symbols have no names");
        memcpy(at, &section, sizeof section);
    }
    object[offsetof(Elf64_Ehdr, e_machine)] = EM_386;
    add("another machine", object, size, "not an object file of x86-64");
    free(object);
}

/// In memory: it gives what it should, and no page of the process can be written and run.
static void test_loaded(void) {
    static const char *const symbols[] = {"f", "nothing"};
    uint64_t places[2] = {0};
    size_t size, count;
    zf_native_image image = {0};
    zf_error error = {0};
    char *object = object_of(good, false, &size);
    if (object == NULL) return;
    CHECK(zf_native_image_add(&image, object, size, symbols, 2, places, &error) == ZF_OK, "%s", error.message);
    CHECK(places[1] == UINT64_MAX, "a function that is not there");
    const zf_import *known = zf_imports(&count);
    const char *names[16];
    for (size_t i = 0; i < count; i++) names[i] = known[i].name;
    zf_module_content content = {.machine = ZF_MACHINE_X86_64,
                                 .cpu_level = 2,
                                 .imports = names,
                                 .import_count = (uint32_t)count,
                                 .native = (const uint8_t *)image.code.data,
                                 .native_bytes = image.code.length};
    zf_native native;
    CHECK(zf_native_map(&content, "m", &native, &error) == ZF_OK, "%s", error.message);
    if (native.memory != NULL) {
        int64_t (*f)(int64_t) = (int64_t (*)(int64_t))(uintptr_t)(native.memory + ZF_MODULE_PAGE + places[0]);
        CHECK(f(0) == 5 && f(3) == 13, "%lld %lld", (long long)f(0), (long long)f(3));
        FILE *maps = fopen("/proc/self/maps", "r");
        char line[512];
        bool found = false;
        while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
            unsigned long long begin = 0, end = 0;
            char rights[8] = "";
            if (sscanf(line, "%llx-%llx %7s", &begin, &end, rights) != 3) continue;
            unsigned long long memory = (unsigned long long)(uintptr_t)native.memory;
            if (end <= memory || begin >= memory + native.bytes) continue;
            found = found || rights[2] == 'x';
            CHECK(rights[1] != 'w', "a page of a loaded module can be written: %s", line);
            CHECK(begin > memory || rights[2] != 'x', "the table of imports can be run: %s", line);
        }
        CHECK(maps != NULL && found, "the code is in no page that can be run");
        if (maps != NULL) fclose(maps);
    }
    zf_native_unmap(&native);
    zf_text_free(&image.code);
    free(object);
}

int main(void) {
    uint32_t level;
    if (zf_cpu_here(&level) != ZF_MACHINE_X86_64 || level < 2) return 77;
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    test_refused();
    test_damaged();
    test_loaded();
    return check_result();
}
