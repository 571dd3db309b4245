// Links: zf_flags dl
// libzipflow-compile stays in the process after dlclose, since LLVM and C++ keep addresses of its functions: it is opened, makes
// code, is closed, and opened again.
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "zipflow/compile.h"

#define FIND(library, name)                                                                                                      \
    __typeof__(name) *p_##name = NULL;                                                                                           \
    void *at_##name = dlsym(library, #name);                                                                                     \
    memcpy(&p_##name, &at_##name, sizeof at_##name);                                                                             \
    CHECK(p_##name != NULL, "no " #name);                                                                                        \
    if (p_##name == NULL) return

static bool stays(void *library) {
    struct link_map *map;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return false;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_FLAGS_1) return (entry->d_un.d_val & DF_1_NODELETE) != 0;
    }
    return false;
}

static void use(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL, "%s", dlerror());
    if (library == NULL) return;
    CHECK(stays(library), "it is not linked with -z nodelete");
    FIND(library, zf_context_create);
    FIND(library, zf_context_free);
    FIND(library, zf_compiler_create);
    FIND(library, zf_compiler_free);
    FIND(library, zf_program_load);
    FIND(library, zf_program_free);
    FIND(library, zf_encode);
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    zf_context_options in = {ZF_INIT(zf_context_options), .cache_dir = ""};
    zf_compiler_options options = {ZF_INIT(zf_compiler_options), .std_dir = ZF_SOURCE_DIR "/dsl/std"};
    zf_status status = p_zf_context_create(&in, &context, &error);
    if (status == ZF_OK) status = p_zf_compiler_create(context, &options, &compiler, &error);
    char text[64], file[64];
    snprintf(text, sizeof text, "/tmp/zf-reopen-%ld.zf", (long)getpid());
    snprintf(file, sizeof file, "/tmp/zf-reopen-%ld.zfd", (long)getpid());
    FILE *program_file = fopen(text, "w");
    if (program_file == NULL) return;
    fputs("table t { c: i64 = delta(zigzag(bitpack)); }\n", program_file);
    fclose(program_file);
    static const int64_t rows[100] = {7, 5, 3};
    zf_encode_column column = {.name = "c", .values = rows};
    if (status == ZF_OK) status = p_zf_program_load(compiler, text, &program, &error);
    if (status == ZF_OK) status = p_zf_encode(program, NULL, &column, 1, 100, NULL, file, NULL, &error);
    CHECK(status == ZF_OK, "%s %s", error.code, error.message);
    unlink(text);
    unlink(file);
    if (program != NULL) p_zf_program_free(program);
    if (compiler != NULL) p_zf_compiler_free(compiler);
    if (context != NULL) p_zf_context_free(context);
    dlclose(library);
}

int main(void) {
    use(ZF_COMPILE_LIBRARY);
    use(ZF_COMPILE_LIBRARY);
    return check_result();
}
