// Links: zipflow-runtime
// The size of the cache of code: the least recently used entries go, never the newest, nothing else in the directory, and
// several processes at once keep within it. Values of ZIPFLOW_CACHE_SIZE.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cache.h"
#include "runtime/base/cache_limit.h"
#include "runtime/context/context.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum {
    ENTRY = 1000,        ///< bytes of an entry
    HEAD = 32,           ///< of which so many are its head,
    KEY = 8,             ///< and its key
    MOST = 16 * ENTRY,   ///< the limit
    LEFT = MOST / 8 * 7, ///< what eviction leaves
    PROCESSES = 4,
};

static char directory[64];

static void key_of(unsigned number, char key[KEY + 1]) { snprintf(key, KEY + 1, "%08u", number); }

static bool keep(int fd, unsigned number) {
    static uint8_t object[ENTRY - HEAD - KEY];
    char key[KEY + 1];
    key_of(number, key);
    memset(object, (int)number, sizeof object);
    return zf_cache_keep(fd, key, KEY, object, sizeof object, MOST);
}

/// Finds an entry, which counts as a use; whether it is there, and whole.
static bool find(int fd, unsigned number) {
    char key[KEY + 1];
    key_of(number, key);
    void *object = NULL;
    size_t size = 0;
    if (zf_cache_find(fd, key, KEY, &object, &size) != ZF_CACHE_FOUND) return false;
    bool good = size == ENTRY - HEAD - KEY && *(uint8_t *)object == (uint8_t)number;
    free(object);
    return good;
}

/// Bytes of entries, and how many files there are in all.
static uint64_t count(int fd, unsigned *entries, unsigned *others) {
    uint64_t bytes = 0;
    *entries = *others = 0;
    DIR *dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY));
    for (const struct dirent *file; dir != NULL && (file = readdir(dir)) != NULL;) {
        struct stat facts;
        if (file->d_name[0] == '.' || fstatat(fd, file->d_name, &facts, 0) != 0) continue;
        bool entry = strstr(file->d_name, ".zfo") != NULL && strlen(file->d_name) == 36;
        *(entry ? entries : others) += 1;
        if (entry) bytes += (uint64_t)facts.st_size;
    }
    if (dir != NULL) closedir(dir);
    return bytes;
}

/// Gives every file an older date, so that what is used from now on is newer whatever the clock's steps are.
static void age_all(int fd, unsigned seconds) {
    DIR *dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY));
    for (const struct dirent *file; dir != NULL && (file = readdir(dir)) != NULL;) {
        struct stat facts;
        if (file->d_name[0] == '.' || fstatat(fd, file->d_name, &facts, 0) != 0) continue;
        struct timespec times[2] = {facts.st_mtim, facts.st_mtim};
        times[0].tv_sec -= seconds;
        times[1].tv_sec -= seconds;
        utimensat(fd, file->d_name, times, 0);
    }
    if (dir != NULL) closedir(dir);
}

/// Writes a file that is no entry.
static void write_other(int fd, const char *name, size_t bytes) {
    static const char zeros[4 * MOST];
    int file = openat(fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0 && write(file, zeros, bytes) == (ssize_t)bytes && close(file) == 0, "%s", name);
}

static bool exists(int fd, const char *name) { return faccessat(fd, name, F_OK, 0) == 0; }

// ---- The order --------------------------------------------------------------------------------------------------

static void test_order(void) {
    unsigned entries, others;
    int fd = zf_cache_open(directory, "kernels"), rates = zf_cache_open(directory, "rates");
    CHECK(fd >= 0 && rates >= 0, "no directories");
    write_other(rates, "0123456789abcdef0123456789abcdef.zfo", 4 * MOST);
    write_other(fd, "notes.txt", 4 * MOST);
    write_other(fd, "tmp.0123456789abcdef", 10);
    for (unsigned k = 0; k < 16; k++) {
        CHECK(keep(fd, k), "entry %u", k);
        age_all(fd, 1);
    }
    CHECK(count(fd, &entries, &others) == MOST && entries == 16, "%u entries within the limit", entries);
    CHECK(find(fd, 1), "entry 1"); // the oldest are 0, 2 and 3 now
    age_all(fd, 1);
    CHECK(keep(fd, 16), "entry 16");
    uint64_t bytes = count(fd, &entries, &others);
    CHECK(bytes == LEFT && entries == 14, "%llu bytes of %u entries are left", (ull)bytes, entries);
    CHECK(!find(fd, 0) && !find(fd, 2) && !find(fd, 3), "the oldest are there");
    for (unsigned k = 1; k <= 16; k++) CHECK(k == 2 || k == 3 || find(fd, k), "entry %u is gone", k);
    CHECK(exists(fd, "notes.txt") && exists(fd, "tmp.0123456789abcdef") && exists(rates, "0123456789abcdef0123456789abcdef.zfo"),
          "something else is gone");
    age_all(fd, 7200); // the temporary file's writer is gone
    for (unsigned k = 20; k < 24; k++) CHECK(keep(fd, k), "entry %u", k);
    CHECK(!exists(fd, "tmp.0123456789abcdef") && exists(fd, "notes.txt"), "a temporary file of two hours");
    close(rates);
    close(fd);
}

/// An entry that is larger than the limit stays, alone, until the next one.
static void test_newest(void) {
    unsigned entries, others;
    static const uint8_t object[2 * MOST];
    int fd = zf_cache_open(directory, "newest");
    for (unsigned k = 0; k < 3; k++) CHECK(keep(fd, k), "entry %u", k);
    age_all(fd, 3600 * 24); // and the clock runs backwards
    CHECK(zf_cache_keep(fd, "large", 5, object, sizeof object, MOST), "a large entry");
    age_all(fd, 3600 * 24);
    CHECK(count(fd, &entries, &others) > MOST && entries == 1, "%u entries beside one that is too large", entries);
    void *found = NULL;
    size_t size = 0;
    CHECK(zf_cache_find(fd, "large", 5, &found, &size) == ZF_CACHE_FOUND && size == sizeof object, "it is gone");
    free(found);
    CHECK(keep(fd, 4), "entry 4");
    CHECK(count(fd, &entries, &others) == ENTRY && entries == 1 && find(fd, 4), "%u entries after it", entries);
    close(fd);
}

/// Two writers of entries that are larger than the limit: the first to count removes the other's entry, and the other one, which
/// counts then, does not remove the last.
static void test_two_writers(void) {
    unsigned entries, others;
    static const uint8_t object[2 * MOST];
    int fd = zf_cache_open(directory, "writers");
    CHECK(zf_cache_keep(fd, "first", 5, object, sizeof object, MOST), "an entry");
    zf_cache_account(fd, "0123456789abcdef0123456789abcdef.zfo", sizeof object, MOST); // which is gone
    CHECK(count(fd, &entries, &others) > MOST && entries == 1, "%u entries are left", entries);
    close(fd);
}

/// The file with the sum may be lost, damaged or wrong.
static void test_usage(void) {
    static const char *const sums[] = {
        NULL, "", "abc", "00000000000000000009", "99999999999999999999\n", "-0000000000000000009\n"};
    for (size_t s = 0; s < sizeof sums / sizeof *sums; s++) {
        unsigned entries, others;
        char part[16];
        snprintf(part, sizeof part, "usage%zu", s);
        int fd = zf_cache_open(directory, part);
        for (unsigned k = 0; k < 12; k++) CHECK(keep(fd, k), "entry %u", k);
        unlinkat(fd, "usage", 0);
        int file = sums[s] != NULL ? openat(fd, "usage", O_WRONLY | O_CREAT, 0600) : -1;
        if (file >= 0) {
            CHECK(write(file, sums[s], strlen(sums[s])) == (ssize_t)strlen(sums[s]), "usage");
            close(file);
        }
        CHECK(keep(fd, 12), "entry 12");
        CHECK(count(fd, &entries, &others) == 13 * ENTRY, "%u entries where the sum was `%s`", entries, sums[s] ? sums[s] : "");
        for (unsigned k = 13; k < 40; k++) CHECK(keep(fd, k), "entry %u", k);
        uint64_t bytes = count(fd, &entries, &others);
        CHECK(bytes <= MOST && bytes >= LEFT && find(fd, 39), "%llu bytes where the sum was `%s`", (ull)bytes,
              sums[s] ? sums[s] : "");
        close(fd);
    }
    int fd = zf_cache_open(directory, "nousage"); // where it cannot be made, the entries are counted each time
    CHECK(mkdirat(fd, "usage", 0700) == 0, "a directory");
    for (unsigned k = 0; k < 40; k++) CHECK(keep(fd, k), "entry %u", k);
    unsigned entries, others;
    CHECK(count(fd, &entries, &others) <= MOST && find(fd, 39), "%u entries without a sum", entries);
    close(fd);
}

// ---- Several processes ------------------------------------------------------------------------------------------

// The library's calls: a test acts right after its locks, and need not wait for it.
static void (*after_lock)(bool locked); ///< NULL: nobody
static bool waits;                      ///< locks are waited for without end
static unsigned sleeps;

int flock(int fd, int operation) {
    int result = (int)syscall(SYS_flock, fd, waits ? operation & ~LOCK_NB : operation), reason = errno;
    if (after_lock != NULL && (operation & LOCK_EX) != 0) after_lock(result == 0);
    errno = reason;
    return result;
}

int nanosleep(const struct timespec *wanted, struct timespec *left) {
    (void)wanted, (void)left;
    sleeps++;
    return 0;
}

static int met[2], free_again[2]; ///< pipes from a child that met a lock, and to it

static void tell_and_wait(bool locked) {
    char byte = 0;
    if (locked) return;
    after_lock = NULL;
    if (write(met[1], &byte, 1) != 1 || read(free_again[0], &byte, 1) != 1) _exit(2);
}

/// Whoever counts an entry waits for others who do: a sum that is written meanwhile is not lost.
static void test_lock(void) {
    unsigned entries, others;
    static const char full[] = "00000000000000016000\n"; // MOST
    char sum[sizeof full] = "", byte = 0;
    int fd = zf_cache_open(directory, "locked");
    CHECK(keep(fd, 0), "entry 0");
    int usage = openat(fd, "usage", O_RDWR | O_CLOEXEC);
    CHECK(usage >= 0 && flock(usage, LOCK_EX) == 0, "no sum");
    CHECK(pipe(met) == 0 && pipe(free_again) == 0, "no pipes");
    pid_t child = fork();
    if (child == 0) {
        after_lock = tell_and_wait;
        int own = zf_cache_open(directory, "locked");
        _exit(keep(own, 1) ? 0 : 1);
    }
    close(met[1]);
    CHECK(read(met[0], &byte, 1) == 1, "the child met no lock");
    CHECK(pwrite(usage, full, sizeof full - 1, 0) == sizeof full - 1 && flock(usage, LOCK_UN) == 0, "the sum");
    CHECK(write(free_again[1], &byte, 1) == 1, "the child");
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child");
    uint64_t bytes = count(fd, &entries, &others); // the child found the sum too large, and counted
    CHECK(pread(usage, sum, sizeof full - 1, 0) == sizeof full - 1 && strtoull(sum, NULL, 10) == bytes && entries == 2,
          "%llu bytes, and the sum is %s", (ull)bytes, sum);
    close(met[0]);
    close(free_again[0]);
    close(free_again[1]);
    close(usage);
    close(fd);
}

static int hold[2]; ///< a pipe that keeps a child alive
static pid_t held;

static void fork_once(bool locked) {
    char byte;
    if (!locked) return;
    after_lock = NULL;
    held = fork();
    if (held != 0) return;
    close(hold[1]);
    _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
}

/// A child that is forked while its parent has the lock does not keep it.
static void test_forked(void) {
    int fd = zf_cache_open(directory, "forked");
    CHECK(pipe(hold) == 0, "no pipe");
    after_lock = fork_once;
    CHECK(keep(fd, 0) && held > 0, "entry 0");
    int usage = openat(fd, "usage", O_RDWR | O_CLOEXEC);
    CHECK(usage >= 0 && flock(usage, LOCK_EX | LOCK_NB) == 0, "the child keeps the lock");
    close(usage);
    close(hold[1]);
    int status = -1;
    CHECK(held > 0 && waitpid(held, &status, 0) == held && status == 0, "the child");
    close(hold[0]);
    close(fd);
}

/// Nobody waits forever for a lock. An entry that was not counted is counted with the next one, where nobody waits any more.
static void test_held(void) {
    unsigned entries, others;
    char sum[24] = "";
    int fd = zf_cache_open(directory, "held");
    CHECK(keep(fd, 0), "entry 0");
    int usage = openat(fd, "usage", O_RDWR | O_CLOEXEC);
    CHECK(usage >= 0 && flock(usage, LOCK_EX) == 0, "no sum");
    sleeps = 0;
    CHECK(keep(fd, 1) && find(fd, 1), "entry 1");
    CHECK(sleeps > 0, "it does not wait");
    sleeps = 0;
    CHECK(keep(fd, 2) && find(fd, 2) && sleeps == 0, "entry 2 waits %u times", sleeps);
    int now = openat(fd, "usage", O_RDONLY | O_CLOEXEC);
    CHECK(now >= 0 && read(now, sum, sizeof sum - 1) == 21 && strtoull(sum, NULL, 10) == count(fd, &entries, &others) &&
              entries == 3,
          "%u entries, and the sum is %s", entries, sum);
    close(now);
    close(usage);
    close(fd);
}

static void test_processes(void) {
    waits = true; // a lock that is held for long on a busy machine is no failure here
    pid_t children[PROCESSES];
    unsigned entries, others;
    for (unsigned p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        if (children[p] != 0) continue;
        int fd = zf_cache_open(directory, "shared");
        bool good = fd >= 0;
        for (unsigned k = 0; k < 100 && good; k++) good = keep(fd, 1000 * (p + 1) + k);
        _exit(good ? 0 : 1);
    }
    for (unsigned p = 0; p < PROCESSES; p++) {
        int status = -1;
        CHECK(children[p] > 0 && waitpid(children[p], &status, 0) == children[p] && status == 0, "process %u", p);
    }
    int fd = zf_cache_open(directory, "shared");
    uint64_t bytes = count(fd, &entries, &others);
    CHECK(bytes <= MOST && bytes >= LEFT, "%llu bytes of %d processes", (ull)bytes, PROCESSES);
    CHECK(keep(fd, 1) && keep(fd, 2) && keep(fd, 3) && count(fd, &entries, &others) <= MOST, "the sum is wrong");
    close(fd);
}

// ---- The variable -----------------------------------------------------------------------------------------------

static void test_sizes(void) {
    static const struct {
        const char *text;
        uint64_t bytes; ///< 0: it is not a size
    } sizes[] = {{"1", 1},
                 {"4096", 4096},
                 {"512K", 512 << 10},
                 {"512k", 512 << 10},
                 {"3M", 3 << 20},
                 {"2G", UINT64_C(2) << 30},
                 {"18446744073709551615", UINT64_MAX},
                 {"17179869183G", UINT64_C(17179869183) << 30},
                 {"17179869184G", 0},
                 {"18446744073709551616", 0},
                 {"0", 0},
                 {"0G", 0},
                 {"", 0},
                 {" 1", 0},
                 {"+1", 0},
                 {"-1", 0},
                 {"1T", 0},
                 {"1GB", 0},
                 {"1.5G", 0},
                 {"1 G", 0},
                 {"G", 0},
                 {"0x10", 0}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        uint64_t bytes = 77;
        bool good = zf_cache_size_read(sizes[k].text, &bytes);
        CHECK(good == (sizes[k].bytes != 0) && bytes == (good ? sizes[k].bytes : 77), "`%s`: %d, %llu", sizes[k].text, good,
              (ull)bytes);
    }
    static const struct {
        const char *text;
        uint64_t bytes;
    } variables[] = {
        {NULL, ZF_CACHE_BYTES}, {"", ZF_CACHE_BYTES}, {ZF_CACHE_SIZE, ZF_CACHE_BYTES}, {"10M", 10 << 20}, {"many", 0}};
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++) {
        zf_context *context = NULL;
        zf_error error = {0};
        if (variables[k].text != NULL) setenv("ZIPFLOW_CACHE_SIZE", variables[k].text, 1);
        zf_status status = zf_context_create(NULL, &context, &error);
        if (variables[k].bytes != 0) {
            CHECK(status == ZF_OK && zf_context_cache_bytes(context) == variables[k].bytes, "%s", error.message);
        } else {
            CHECK(status == ZF_ERR_USAGE && context == NULL && strstr(error.message, "ZIPFLOW_CACHE_SIZE is `many`") != NULL,
                  "%s", error.message);
            CHECK(strstr(error.hint, "512M") != NULL, "%s", error.hint);
        }
        zf_context_free(context);
    }
    unsetenv("ZIPFLOW_CACHE_SIZE");
}

/// Pages that name the default limit name this one. `zfc help` and docs/zfc.md derive it.
static void test_pages(void) {
    static const char *const pages[] = {ZF_SOURCE_DIR "/runtime/include/zipflow/zipflow.h", ZF_SOURCE_DIR "/docs/memory.md"};
    char wanted[32];
    snprintf(wanted, sizeof wanted, "default %llu GiB", (ull)(ZF_CACHE_BYTES >> 30));
    for (size_t k = 0; k < sizeof pages / sizeof *pages; k++) {
        static char text[1 << 18];
        FILE *file = fopen(pages[k], "r");
        CHECK(file != NULL, "%s: %s", pages[k], strerror(errno));
        if (file == NULL) continue;
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        const char *variable = strstr(text, "$ZIPFLOW_CACHE_SIZE");
        CHECK(variable != NULL, "%s does not name the variable", pages[k]);
        const char *found = variable != NULL ? strstr(variable, wanted) : NULL;
        CHECK(found != NULL && found - variable < 64, "%s does not say `%s`", pages[k], wanted);
    }
}

int main(void) {
    snprintf(directory, sizeof directory, "/tmp/zf_cache_XXXXXX");
    if (mkdtemp(directory) == NULL) return 1;
    unsetenv("ZIPFLOW_CACHE_SIZE");
    test_order();
    test_newest();
    test_two_writers();
    test_usage();
    alarm(120); // a lock that is waited for without end fails the test
    test_lock();
    test_forked();
    test_held();
    alarm(0);
    test_processes();
    test_sizes();
    test_pages();
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", directory);
    CHECK(system(command) == 0, "%s", command);
    return check_result();
}
