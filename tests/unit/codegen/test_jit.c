// Links: zf_llvm_headers zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime
// Building, caching and linking modules: what the cache does with damage, what LLVM's failures become, code from many threads.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <llvm-c/Core.h>

#include "codegen/llvm/jit.h"
#include "runtime/base/cache.h"
#include "runtime/base/cache_limit.h"
#include "tests/unit/check.h"

#ifdef ZF_SANITIZE
#include <sanitizer/lsan_interface.h>
#else
static void __lsan_do_leak_check(void) {}
#endif

// ---- Modules --------------------------------------------------------------------------------------------------

typedef struct plan {
    uint64_t add;      ///< "answer" returns its argument plus this
    const char *calls; ///< the argument goes through this function first
    int builds;
} plan;

static LLVMValueRef begin(LLVMModuleRef module, const char *name, LLVMBuilderRef *builder) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(context);
    LLVMValueRef f = LLVMAddFunction(module, name, LLVMFunctionType(i64, &i64, 1, 0));
    *builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(*builder, LLVMAppendBasicBlockInContext(context, f, "entry"));
    return f;
}

static zf_status build_answer(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    (void)compact, (void)error;
    plan *p = user;
    p->builds++;
    LLVMBuilderRef builder;
    LLVMValueRef f = begin(module, "answer", &builder), v = LLVMGetParam(f, 0);
    LLVMTypeRef i64 = LLVMTypeOf(v);
    if (p->calls != NULL) {
        LLVMTypeRef type = LLVMFunctionType(i64, &i64, 1, 0);
        v = LLVMBuildCall2(builder, type, LLVMAddFunction(module, p->calls, type), &v, 1, "");
    }
    LLVMBuildRet(builder, LLVMBuildAdd(builder, v, LLVMConstInt(i64, p->add, 0), ""));
    LLVMDisposeBuilder(builder);
    return ZF_OK;
}

/// An operation of another machine: LLVM's instruction selection gives up.
static zf_status build_foreign(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    (void)user, (void)compact, (void)error;
    LLVMBuilderRef builder;
    begin(module, "answer", &builder);
    LLVMContextRef context = LLVMGetModuleContext(module);
    unsigned id = LLVMLookupIntrinsicID("llvm.nvvm.read.ptx.sreg.tid.x", 29);
    LLVMValueRef v = LLVMBuildCall2(builder, LLVMIntrinsicGetType(context, id, NULL, 0),
                                    LLVMGetIntrinsicDeclaration(module, id, NULL, 0), NULL, 0, "");
    LLVMBuildRet(builder, LLVMBuildZExt(builder, v, LLVMInt64TypeInContext(context), ""));
    LLVMDisposeBuilder(builder);
    return ZF_OK;
}

/// A block without an end.
static zf_status build_malformed(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    (void)user, (void)compact, (void)error;
    LLVMBuilderRef builder;
    begin(module, "answer", &builder);
    LLVMDisposeBuilder(builder);
    return ZF_OK;
}

/// Assembly that the assembler refuses.
static zf_status build_bad_assembly(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    (void)user, (void)compact, (void)error;
    LLVMBuilderRef builder;
    LLVMValueRef f = begin(module, "answer", &builder);
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, 0);
    char text[] = "no such instruction";
    LLVMValueRef assembly = LLVMGetInlineAsm(type, text, strlen(text), text, 0, 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMBuildCall2(builder, type, assembly, NULL, 0, "");
    LLVMBuildRet(builder, LLVMGetParam(f, 0));
    LLVMDisposeBuilder(builder);
    return ZF_OK;
}

static zf_status build_refused(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    (void)user, (void)module, (void)compact;
    return zf_fail(error, ZF_ERR_UNSUPPORTED, "ZF0804", "not this");
}

typedef uint64_t (*answer_fn)(uint64_t);

static uint64_t twice(uint64_t v) { return 2 * v; }
static const zf_jit_symbol symbols[] = {{"zf_cg_test_twice", (const void *)(uintptr_t)twice}};

static zf_jit *make(const char *cache, unsigned level) {
    zf_jit_options options = {.optimise = level, .cache_dir = cache, .symbols = symbols, .symbol_count = 1};
    zf_jit *jit = NULL;
    zf_error error = {0};
    CHECK(zf_jit_create(&options, &jit, &error) == ZF_OK, "%s %s", error.code, error.message);
    if (jit == NULL) abort();
    return jit;
}

static zf_jit_request request_of(plan *p, const char *key) {
    static const char *const names[] = {"answer", "absent"};
    return (zf_jit_request){.name = "test",
                            .key = key,
                            .key_length = key == NULL ? 0 : strlen(key),
                            .build = build_answer,
                            .user = p,
                            .symbols = names,
                            .symbol_count = 2};
}

static uint64_t ask(zf_jit *jit, plan *p, const char *key, zf_jit_code **code) {
    zf_jit_request request = request_of(p, key);
    void *addresses[2] = {NULL, p};
    zf_error error = {0};
    zf_status status = zf_jit_load(jit, &request, addresses, code, &error);
    CHECK(status == ZF_OK, "%s %s", error.code, error.message);
    if (status != ZF_OK) return 0;
    CHECK(addresses[0] != NULL && addresses[1] == NULL, "addresses %p %p", addresses[0], addresses[1]);
    return ((answer_fn)(uintptr_t)addresses[0])(100);
}

// ---- Tests ----------------------------------------------------------------------------------------------------

static void test_code(void) {
    for (unsigned level = 0; level <= 3; level++) {
        zf_jit *jit = make(NULL, level);
        zf_jit_code *one, *two;
        plan p = {.add = 11}, q = {.add = 22, .calls = "zf_cg_test_twice"};
        CHECK(ask(jit, &p, NULL, &one) == 111, "code of level %u", level);
        CHECK(ask(jit, &q, NULL, &two) == 222, "a call out of generated code at level %u", level); // the same name again
        zf_jit_unload(jit, one);
        p.add = 33;
        CHECK(ask(jit, &p, NULL, &one) == 133, "unloaded and loaded again");
        CHECK(zf_jit_get_stats(jit).compiled == 3, "compiled");
        zf_jit_free(jit);
    }
}

static void test_print(void) {
    zf_jit *jit = make(NULL, 3);
    plan p = {.add = 11};
    zf_jit_request request = request_of(&p, NULL);
    static const char *const wanted[] = {"define i64 @answer", "define", "answer:"};
    for (int stage = 0; stage < 3; stage++) {
        zf_text text = {0};
        zf_error error = {0};
        CHECK(zf_jit_print(jit, &request, (zf_jit_stage)stage, &text, &error) == ZF_OK, "%s", error.message);
        CHECK(text.data != NULL && strstr(text.data, wanted[stage]) != NULL, "stage %d: %s", stage, text.data);
        zf_text_free(&text);
    }
    zf_jit_free(jit);
}

static void test_failures(void) {
    static const struct {
        zf_status (*build)(void *user, LLVMModuleRef module, unsigned compact, zf_error *error);
        zf_status status;
        const char *code;
    } rows[] = {{build_foreign, ZF_ERR_INTERNAL, "ZF1903"},
                {build_malformed, ZF_ERR_INTERNAL, "ZF1902"},
                {build_bad_assembly, ZF_ERR_INTERNAL, "ZF190"}, // by a diagnostic or by giving up
                {build_refused, ZF_ERR_UNSUPPORTED, "ZF0804"}};
    zf_jit *jit = make(NULL, 2);
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        plan p = {.add = 1};
        zf_jit_request request = request_of(&p, NULL);
        request.build = rows[k].build;
        void *addresses[2];
        zf_error error = {0};
        CHECK(zf_jit_load(jit, &request, addresses, NULL, &error) == rows[k].status, "row %zu: %s %s", k, error.code,
              error.message);
        CHECK(strncmp(error.code, rows[k].code, strlen(rows[k].code)) == 0 && error.message[0] != 0, "row %zu: %s %s", k,
              error.code, error.message);
        CHECK(ask(jit, &p, NULL, NULL) == 101, "after a failure code is made as before");
    }
    zf_jit_request request = request_of(&(plan){.calls = "zf_cg_nowhere"}, NULL);
    void *addresses[2];
    zf_error error = {0};
    CHECK(zf_jit_load(jit, &request, addresses, NULL, &error) == ZF_ERR_INTERNAL, "a function that nobody gave");
    CHECK(strcmp(error.code, "ZF1902") == 0, "%s %s", error.code, error.message);
    zf_jit_free(jit);
}

/// In a thread: no CHECK, which counts without a lock.
static void *ask_often(void *user) {
    zf_jit *jit = user;
    for (uint64_t k = 0; k < 12; k++) {
        plan p = {.add = k};
        zf_jit_code *code;
        zf_jit_request request = request_of(&p, NULL);
        void *addresses[2];
        if (zf_jit_load(jit, &request, addresses, &code, NULL) != ZF_OK) return jit;
        if (((answer_fn)(uintptr_t)addresses[0])(100) != 100 + k) return jit;
        if (k % 2 == 0) zf_jit_unload(jit, code);
    }
    return NULL;
}

static void test_threads(void) {
    zf_jit *jit = make(NULL, 1);
    pthread_t threads[4];
    for (int k = 0; k < 4; k++) pthread_create(&threads[k], NULL, ask_often, jit);
    for (int k = 0; k < 4; k++) {
        void *failed;
        pthread_join(threads[k], &failed);
        CHECK(failed == NULL, "thread %d got another's code", k);
    }
    zf_jit_free(jit);
}

/// Code that is loaded when the compiler goes is unmapped, however many pieces there are. LLVM 19 alone lost pieces from some
/// number on, or ended the process: it reads its table's old memory where a piece makes the table grow.
static void test_freed_while_loaded(void) {
    enum { MOST = 64 };
    for (int count = 1; count <= MOST; count++) {
        zf_jit *jit = make(NULL, 0);
        plan p = {.add = 1};
        zf_jit_request request = request_of(&p, NULL);
        void *pieces[MOST][2];
        for (int i = 0; i < count; i++) CHECK(zf_jit_load(jit, &request, pieces[i], NULL, NULL) == ZF_OK, "piece %d", i);
        zf_jit_free(jit);
        int mapped = 0;
        for (int i = 0; i < count; i++) {
            unsigned char resident;
            mapped += mincore((void *)((uintptr_t)pieces[i][0] & ~(uintptr_t)4095), 4096, &resident) == 0;
        }
        CHECK(mapped == 0, "%d of %d pieces are still mapped", mapped, count);
    }
}

// ---- The cache ------------------------------------------------------------------------------------------------

static char directory[64];

static void path_of(char *path, size_t size, const char *name) { snprintf(path, size, "%s/kernels/%s", directory, name); }

/// Counts the files of the cache but that with the sum of their bytes; the last one's name goes to `name`.
static int count_entries(char *name, size_t size) {
    char path[256];
    snprintf(path, sizeof(path), "%s/kernels", directory);
    DIR *d = opendir(path);
    int count = 0;
    for (struct dirent *e = d == NULL ? NULL : readdir(d); e != NULL; e = readdir(d)) {
        if (e->d_name[0] == '.' || strcmp(e->d_name, "usage") == 0) continue;
        snprintf(name, size, "%s", e->d_name);
        count++;
    }
    if (d != NULL) closedir(d);
    return count;
}

static void test_cache(void) {
    plan p = {.add = 11};
    char name[256] = "", path[512];
    for (int round = 0; round < 3; round++) {
        zf_jit *jit = make(directory, 3);
        CHECK(ask(jit, &p, "key one", NULL) == 111, "cached code");
        zf_jit_stats stats = zf_jit_get_stats(jit);
        CHECK(stats.compiled == (round == 0) && stats.cached == (round > 0), "round %d: %llu compiled, %llu cached", round,
              (unsigned long long)stats.compiled, (unsigned long long)stats.cached);
        zf_jit_free(jit);
    }
    CHECK(count_entries(name, sizeof(name)) == 1, "entries");
    zf_jit *same = make(directory, 3); // the module belongs to the key, whatever its text says
    plan r = {.add = 13};
    CHECK(ask(same, &r, "key one", NULL) == 113 && zf_jit_get_stats(same).compiled == 1, "another module under the same text");
    zf_jit_free(same);
    zf_jit *jit = make(directory, 2); // another level is another key
    plan q = {.add = 12};
    CHECK(ask(jit, &q, "key one", NULL) == 112, "the level belongs to the key");
    CHECK(ask(jit, &p, "key two", NULL) == 111, "another key");
    zf_jit_free(jit);
    struct stat facts;
    snprintf(path, sizeof(path), "%s/kernels", directory);
    CHECK(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0700, "mode %o", facts.st_mode & 0777);
    path_of(path, sizeof(path), name);
    CHECK(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0600, "mode of an entry %o", facts.st_mode & 0777);
}

/// Containers that share the directory may all be process 1: what others write stays, whatever it is called.
static void test_files_of_others(void) {
    static const char key[] = "a shared key", object[] = "an object", theirs[] = "half of an object";
    char name[64], path[512], bytes[64];
    int fd = zf_cache_open(directory, "kernels");
    CHECK(fd >= 0, "the cache does not open");
    int before = count_entries(path, sizeof path);
    for (int phase = 0; phase < 2; phase++) {
        for (int serial = 0; serial < 64; serial++) {
            snprintf(name, sizeof name, "tmp.%ld.%d", (long)getpid(), serial);
            int file = openat(fd, name, phase == 0 ? O_RDWR | O_CREAT | O_EXCL : O_RDONLY, 0600);
            CHECK(file >= 0, "%s is gone", name);
            if (phase == 0) CHECK(write(file, theirs, sizeof theirs) == (ssize_t)sizeof theirs, "write");
            if (phase == 1) CHECK(read(file, bytes, sizeof bytes) == (ssize_t)sizeof theirs, "%s was written", name);
            if (phase == 1) unlinkat(fd, name, 0);
            close(file);
        }
        if (phase == 0) CHECK(zf_cache_keep(fd, key, sizeof key, object, sizeof object, ZF_CACHE_BYTES), "not kept");
    }
    CHECK(count_entries(path, sizeof path) == before + 1, "something else is left than the entry");
    void *found;
    size_t size;
    CHECK(zf_cache_find(fd, key, sizeof key, &found, &size) == ZF_CACHE_FOUND, "not found");
    free(found);
    DIR *d = fdopendir(fd);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        if (strstr(e->d_name, ".zfo") != NULL) unlinkat(fd, e->d_name, 0);
    }
    closedir(d);
}

static void test_entries(void) {
    int fd = zf_cache_open(directory, "kernels");
    CHECK(fd >= 0, "the cache does not open");
    static const char key[] = "a key", object[] = "an object that is long enough to be damaged in many places";
    CHECK(zf_cache_keep(fd, key, sizeof(key), object, sizeof(object), ZF_CACHE_BYTES), "not kept");
    void *found;
    size_t size;
    CHECK(zf_cache_find(fd, key, sizeof(key), &found, &size) == ZF_CACHE_FOUND, "not found");
    CHECK(size == sizeof(object) && memcmp(found, object, size) == 0, "another object");
    free(found);
    CHECK(zf_cache_find(fd, "b key", sizeof(key), &found, &size) == ZF_CACHE_NONE, "found under another key");
    // Every byte of the file changed, and the file cut everywhere.
    char name[256];
    struct dirent *e;
    DIR *d = fdopendir(dup(fd));
    name[0] = 0;
    uint8_t bytes[512];
    ssize_t length = 0;
    while ((e = readdir(d)) != NULL) {
        int file = openat(fd, e->d_name, O_RDONLY);
        ssize_t n = read(file, bytes, sizeof(bytes));
        close(file);
        if (strstr(e->d_name, ".zfo") != NULL && n > 0 && n < (ssize_t)sizeof(bytes))
            snprintf(name, sizeof(name), "%s", e->d_name), length = n;
    }
    closedir(d);
    CHECK(length > (ssize_t)sizeof(object), "the entry was not seen");
    int file = openat(fd, name, O_RDWR);
    for (ssize_t at = 0; at < length; at++) {
        uint8_t wrong = (uint8_t)(bytes[at] ^ 0x41);
        CHECK(pread(file, bytes, (size_t)length, 0) == length && pwrite(file, &wrong, 1, at) == 1, "write");
        zf_cache_answer answer = zf_cache_find(fd, key, sizeof(key), &found, &size);
        CHECK(answer == ZF_CACHE_DAMAGED, "byte %zd changed: %d", at, (int)answer);
        CHECK(pwrite(file, &bytes[at], 1, at) == 1, "write");
    }
    for (ssize_t cut = length - 1; cut >= 0; cut--) {
        CHECK(ftruncate(file, cut) == 0, "cut");
        zf_cache_answer answer = zf_cache_find(fd, key, sizeof(key), &found, &size);
        CHECK(answer == ZF_CACHE_DAMAGED, "cut to %zd: %d", cut, (int)answer);
    }
    close(file);
    CHECK(zf_cache_keep(fd, key, sizeof(key), object, sizeof(object), ZF_CACHE_BYTES), "not written again");
    CHECK(zf_cache_find(fd, key, sizeof(key), &found, &size) == ZF_CACHE_FOUND, "not found when written again");
    free(found);
    unlinkat(fd, name, 0);
    close(fd);
}

static void test_damage(void) {
    char name[256] = "", path[512];
    CHECK(count_entries(name, sizeof(name)) > 0, "entries");
    DIR *d = opendir((path_of(path, sizeof(path), ""), path));
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        if (e->d_name[0] == '.') continue;
        path_of(path, sizeof(path), e->d_name);
        int file = open(path, O_WRONLY);
        CHECK(pwrite(file, "damage", 6, 200) == 6, "write");
        close(file);
    }
    closedir(d);
    plan p = {.add = 11};
    zf_jit *jit = make(directory, 3);
    CHECK(ask(jit, &p, "key one", NULL) == 111, "after damage");
    zf_jit_stats stats = zf_jit_get_stats(jit);
    CHECK(stats.compiled == 1 && stats.damaged == 1, "%llu compiled, %llu damaged", (unsigned long long)stats.compiled,
          (unsigned long long)stats.damaged);
    zf_jit_free(jit);
    jit = make(directory, 3);
    CHECK(ask(jit, &p, "key one", NULL) == 111 && zf_jit_get_stats(jit).cached == 1, "the damaged entry was written again");
    zf_jit_free(jit);
}

static void test_distrust(void) {
    char path[512];
    snprintf(path, sizeof(path), "%s/kernels", directory);
    CHECK(chmod(path, 0770) == 0, "chmod");
    CHECK(zf_cache_open(directory, "kernels") < 0, "a directory that others may write to is used");
    plan p = {.add = 11};
    zf_jit *jit = make(directory, 3);
    CHECK(ask(jit, &p, "key one", NULL) == 111 && zf_jit_get_stats(jit).compiled == 1, "works without the cache");
    zf_jit_free(jit);
    CHECK(chmod(path, 0700) == 0, "chmod");
    CHECK(zf_cache_open("/proc/nowhere", "kernels") < 0, "a directory that cannot be made");
    jit = make("/proc/nowhere", 3);
    CHECK(ask(jit, &p, "key one", NULL) == 111, "works where there can be no cache");
    zf_jit_free(jit);
    char link[128], target[128];
    snprintf(target, sizeof(target), "%s/elsewhere", directory);
    snprintf(link, sizeof(link), "%s/linked", directory);
    CHECK(mkdir(target, 0700) == 0 && mkdir(link, 0700) == 0, "mkdir");
    snprintf(path, sizeof(path), "%s/kernels", link);
    CHECK(symlink(target, path) == 0 && zf_cache_open(link, "kernels") < 0, "a link in place of the directory is followed");
}

static void remove_all(const char *path) {
    char command[600];
    snprintf(command, sizeof(command), "rm -rf '%s'", path);
    if (system(command) != 0) printf("cannot remove %s\n", path);
}

int main(void) {
    snprintf(directory, sizeof(directory), "/tmp/zf-test-jit-XXXXXX");
    if (mkdtemp(directory) == NULL) return 1;
    test_code();
    test_print();
    test_threads();
    test_freed_while_loaded();
    test_files_of_others();
    test_cache();
    test_entries();
    test_damage();
    test_distrust();
    remove_all(directory);
    __lsan_do_leak_check(); // the last one: LLVM's memory is abandoned when it gives up
    test_failures();
    return check_result();
}
