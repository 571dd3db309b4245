// Links: zipflow-runtime
// How fast devices were seen to be: how rates move, what is kept of them from one context to the next, and what becomes of it
// when the file is damaged, somebody else's, or cannot be written.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/pipeline/rates.h"
#include "runtime/pipeline/rates_file.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

static char directory[64] = "/tmp/zipflow-test-XXXXXX", cache[80]; ///< `cache`: in it

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static unsigned complaints; ///< lines of log
static void count_log(void *user, zf_log_level level, const char *line) {
    (void)user, (void)level;
    complaints += strstr(line, "cannot be") != NULL;
}

/// A context with this cache, and the rates of a device in it.
typedef struct holder {
    zf_context *context;
    zf_rates *rates;
} holder;

static holder hold(const char *cache_dir, const char *description) {
    holder h = {NULL, NULL};
    zf_error error;
    zf_context_options options = {.cache_dir = cache_dir, .threads = 1, .log = count_log};
    CHECK(zf_context_create(&options, &h.context, &error) == ZF_OK, "%s", error.message);
    h.rates = zf_rates_create(h.context, "gpu:1", description);
    if (h.rates == NULL) abort();
    return h;
}

static void drop(holder *h) {
    zf_rates_free(h->rates);
    zf_context_free(h->context);
}

static void remove_all(const char *path) {
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    CHECK(system(command) == 0, "%s", command);
}

static double decode_rate(zf_rates *rates, uint64_t codec, double fallback) {
    double cost;
    return zf_rates_decode(rates, codec, fallback, &cost);
}

// ---- Moving ---------------------------------------------------------------------------------------------------

/// Rates move by half; what only first runs have shown gives way to what a later one shows, which they move upwards alone.
static void test_moving(void) {
    static const struct {
        double seen;
        bool first;
        double then;
    } steps[] = {{100, true, 100},   {200, true, 150},  {1000, false, 1000}, {2000, true, 1500},    {100, true, 1500},
                 {500, false, 1000}, {-1, false, 1000}, {NAN, false, 1000},  {INFINITY, true, 1000}};
    holder h = hold("", "moving");
    CHECK(decode_rate(h.rates, 7, 42) == 42, "a codec that was not met");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        zf_rates_decode_seen(h.rates, 7, "seven", steps[i].seen, 0, steps[i].first);
        zf_rates_read_seen(h.rates, steps[i].seen, steps[i].first);
        CHECK(decode_rate(h.rates, 7, 42) == steps[i].then && zf_rates_read(h.rates) == steps[i].then, "step %zu: %g and %g", i,
              decode_rate(h.rates, 7, 42), zf_rates_read(h.rates));
    }
    zf_rates_keep(h.rates, true);
    drop(&h);
}

// ---- Text -----------------------------------------------------------------------------------------------------

static const char device[] = "gpu:1: some model, driver 7";

static zf_rates_table *new_table(void) {
    zf_rates_table *table = calloc(1, sizeof *table);
    if (table == NULL) abort();
    return table;
}

static bool same_tables(const zf_rates_table *a, const zf_rates_table *b) {
    bool same = a->count == b->count && a->link.value == b->link.value && a->read.value == b->read.value &&
                a->link.first == b->link.first && a->read.first == b->read.first;
    for (uint32_t i = 0; same && i < a->count; i++) {
        const zf_codec_rate *x = &a->codecs[(a->next + i) % a->count], *y = &b->codecs[(b->next + i) % b->count];
        same = x->codec == y->codec && x->rate.value == y->rate.value && x->rate.first == y->rate.first && x->cost == y->cost &&
               strcmp(x->name, y->name) == 0;
    }
    return same;
}

static bool is_empty(const zf_rates_table *table) {
    return table->count == 0 && table->next == 0 && table->link.value == 0 && table->read.value == 0;
}

static void test_text(void) {
    zf_rates_table *table = new_table(), *back = new_table();
    for (uint32_t count = 0; count <= ZF_RATES_CODECS + 3; count += count < 3 ? 1 : ZF_RATES_CODECS / 2 + 1) {
        zf_text text = {0};
        memset(table, 0, sizeof *table);
        table->link = (zf_seen_rate){.value = 53e9};
        table->read = (zf_seen_rate){.value = count == 0 ? 0 : 7, .first = count > 0};
        for (uint32_t i = 0; i < count; i++) {
            const char *name = i % 2 ? "u32: a\n\tb\x1b\xff" : "i64: bitpack";
            zf_codec_rate *added = zf_rates_table_add(table, i * UINT64_C(0x9e3779b97f4a7c15), name);
            added->rate = (zf_seen_rate){.value = 1 + i * 1e9, .first = i % 3 == 0};
            added->cost = i % 4 == 1 ? 7e-5 : i % 4 == 2 ? 1 : 0;
        }
        zf_rates_table_print(table, device, &text);
        CHECK(text.length < ZF_RATES_FILE_BYTES, "%zu bytes", text.length);
        CHECK(zf_rates_table_parse(text.data, text.length, device, back) && same_tables(table, back), "%u codecs", count);
        CHECK(!zf_rates_table_parse(text.data, text.length, "gpu:1: some model, driver 8", back) && is_empty(back),
              "another device's");
        if (count == 2) {
            CHECK(strstr(text.data, "u32: a  b??\n") != NULL, "%s", text.data);
            for (size_t at = 0; at < text.length; at++) { // every byte changed, and the text cut everywhere
                text.data[at] ^= 1;
                CHECK(!zf_rates_table_parse(text.data, text.length, device, back) && is_empty(back), "byte %zu changed", at);
                text.data[at] ^= 1;
                CHECK(!zf_rates_table_parse(text.data, at, device, back) && is_empty(back), "cut to %zu", at);
            }
        }
        zf_text_puts(&text, "\n");
        CHECK(!zf_rates_table_parse(text.data, text.length, device, back), "something behind the end");
        zf_text_free(&text);
    }
    free(table);
    free(back);
}

/// Lines that no writer writes, with a checksum that fits.
static void test_lines(void) {
    static const struct {
        const char *line;
        bool good;
    } lines[] = {
        {"", true},
        {"link 5\n", true},
        {"link 5 first\n", true},
        {"link 0\n", false},
        {"link -5\n", false},
        {"link 5.5\n", false},
        {"link\n", false},
        {"link 5", false},
        {"link 5 \n", false},
        {"link  5\n", false},
        {"link 1000000000000000000\n", true},
        {"link 1000000000000000001\n", false},
        {"link 99999999999999999999999999999999999\n", false},
        {"copy 5\n", false},
        {"decode 5 0123456789abcdef u8: plain\n", true},
        {"decode 5 first 0123456789abcdef u8: plain\n", true},
        {"decode 5 0123456789abcdef \n", true},
        {"decode 5 besides 70000 0123456789abcdef u8\n", true},
        {"decode 5 first besides 1000000000 0123456789abcdef u8\n", true},
        {"decode 5 besides 1000000001 0123456789abcdef u8\n", false},
        {"decode 5 besides 0 0123456789abcdef u8\n", false},
        {"decode 5 besides 0123456789abcdef u8\n", false},
        {"decode 5 0123456789abcdef", false},
        {"decode 5 0123456789abcdeg u8\n", false},
        {"decode 5 0123456789ABCDEF u8\n", false},
        {"decode 5 0123456789abcde u8\n", false},
        {"decode 5 0123456789abcdef u8\ndecode 5 0123456789abcdef u8\n", false},
        {"decode 5 0123456789abcdef 012345678901234567890123456789012345678901234567890123456789012\n", true},
        {"decode 5 0123456789abcdef 0123456789012345678901234567890123456789012345678901234567890123\n", false},
        {"decode 5 0123456789abcdef", false},
        {"\n", false},
    };
    zf_rates_table *table = new_table();
    zf_text empty = {0};
    zf_rates_table_print(table, device, &empty);
    size_t head = empty.length - strlen("sum 0123456789abcdef\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        zf_text text = {0};
        zf_text_add(&text, empty.data, head);
        zf_text_puts(&text, lines[i].line);
        zf_text_printf(&text, "sum %016llx\n", (ull)XXH3_64bits(text.data, text.length));
        bool good = zf_rates_table_parse(text.data, text.length, device, table);
        CHECK(good == lines[i].good && (good || is_empty(table)), "line %zu: %s", i, lines[i].line);
        zf_text_free(&text);
    }
    zf_text_free(&empty);
    free(table);
}

// ---- Keeping --------------------------------------------------------------------------------------------------

static const char file_pattern[] = "cache/rates/gpu-1-";

/// The path of the one file that is kept.
static const char *kept_file(void) {
    static char path[300];
    char command[300];
    path[0] = 0;
    snprintf(command, sizeof command, "ls %s* 2>/dev/null", path_of(file_pattern));
    FILE *list = popen(command, "r");
    if (list == NULL || fgets(path, sizeof path, list) == NULL) path[0] = 0;
    if (list != NULL) pclose(list);
    path[strcspn(path, "\n")] = 0;
    return path;
}

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "%s", path);
}

static void test_keeping(void) {
    bool known = true;
    holder none = hold("", "some model");
    zf_rates_link_seen(none.rates, 5e9);
    zf_rates_keep(none.rates, true);
    drop(&none);
    CHECK(access(cache, F_OK) != 0, "something was written without a cache");
    holder a = hold(cache, "some model"), b = hold(cache, "some model"), other;
    zf_rates_link(a.rates, &known);
    CHECK(!known, "nothing is known yet");
    zf_rates_keep(a.rates, true);
    CHECK(kept_file()[0] == 0, "there was nothing to keep");
    zf_rates_link_seen(a.rates, 5e9);
    zf_rates_decode_seen(a.rates, 1, "one", 100e9, 0, true);
    zf_rates_decode_seen(a.rates, 3, "three", 10e9, 0, true);
    zf_rates_keep(a.rates, true);
    struct stat facts;
    CHECK(stat(kept_file(), &facts) == 0 && (facts.st_mode & 0777) == 0600, "%s", kept_file());
    // The rates of two contexts stay, whoever is the last to write; if both saw a codec, the rate of runs with code at hand
    // stays.
    zf_rates_decode_seen(b.rates, 2, "two", 200e9, 0, false);
    zf_rates_decode_seen(b.rates, 3, "three", 30e9, 0, false);
    zf_rates_keep(b.rates, true);
    zf_rates_read_seen(a.rates, 8e9, false);
    zf_rates_decode_seen(a.rates, 3, "three", 12e9, 0, true);
    zf_rates_keep(a.rates, true);
    holder c = hold(cache, "some model");
    CHECK(zf_rates_link(c.rates, &known) == 5e9 && known && zf_rates_read(c.rates) == 8e9, "%g, %g", zf_rates_link(c.rates, NULL),
          zf_rates_read(c.rates));
    CHECK(decode_rate(c.rates, 1, 0) == 100e9 && decode_rate(c.rates, 2, 0) == 200e9 && decode_rate(c.rates, 3, 0) == 30e9,
          "%g, %g, %g", decode_rate(c.rates, 1, 0), decode_rate(c.rates, 2, 0), decode_rate(c.rates, 3, 0));
    // They go on from there: a first run's gives way, the others move by half.
    zf_rates_decode_seen(c.rates, 1, "one", 300e9, 0, false);
    zf_rates_decode_seen(c.rates, 2, "two", 300e9, 0, false);
    CHECK(decode_rate(c.rates, 1, 0) == 300e9 && decode_rate(c.rates, 2, 0) == 250e9, "%g, %g", decode_rate(c.rates, 1, 0),
          decode_rate(c.rates, 2, 0));
    other = hold(cache, "some model, another driver");
    zf_rates_link(other.rates, &known);
    CHECK(!known, "another driver's");
    drop(&a);
    drop(&b);
    drop(&c);
    drop(&other);
    CHECK(complaints == 0, "%u complaints", complaints);
    remove_all(cache);
}

/// Without `now` the 1st, 2nd, 4th, 8th call that has news writes.
static void test_now_and_then(void) {
    holder h = hold(cache, "now and then");
    unsigned written = 0;
    for (unsigned call = 1; call <= 9; call++) {
        zf_rates_link_seen(h.rates, call * 1e9);
        zf_rates_keep(h.rates, false);
        bool now = kept_file()[0] != 0 && unlink(kept_file()) == 0;
        CHECK(now == (call == 1 || call == 2 || call == 4 || call == 8), "call %u", call);
        written += now;
        if (now) zf_rates_keep(h.rates, false); // without news: no call that counts
    }
    CHECK(written == 4, "%u times", written);
    zf_rates_keep(h.rates, true);
    CHECK(kept_file()[0] != 0, "at the end");
    drop(&h);
    remove_all(cache);
}

/// A file that cannot be used is as none, and the next to keep something writes it again.
static void test_damaged(void) {
    enum { SPARSE, EMPTY, BYTES, CUT, CHANGED, PIPE, LINK, FOLDER, KINDS };
    char path[300];
    uint8_t bytes[5000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7);
    for (int kind = 0; kind < KINDS; kind++) {
        bool known;
        holder a = hold(cache, "damaged");
        zf_rates_link_seen(a.rates, 5e9);
        zf_rates_keep(a.rates, true);
        drop(&a);
        snprintf(path, sizeof path, "%s", kept_file());
        char text[2000] = "";
        FILE *file = fopen(path, "rb");
        size_t length = file != NULL ? fread(text, 1, sizeof text, file) : 0;
        if (file != NULL) fclose(file);
        text[30] ^= 4;
        if (kind != CUT) unlink(path);
        if (kind == EMPTY) write_file(path, "", 0);
        if (kind == BYTES) write_file(path, bytes, sizeof bytes);
        if (kind == CUT) CHECK(truncate(path, (off_t)length - 1) == 0, "truncate");
        if (kind == CHANGED) write_file(path, text, length);
        if (kind == PIPE) CHECK(mkfifo(path, 0600) == 0, "a pipe");
        if (kind == LINK) CHECK(symlink("/dev/zero", path) == 0, "a link");
        if (kind == FOLDER) CHECK(mkdir(path, 0700) == 0, "a directory");
        if (kind == SPARSE) {
            write_file(path, "x", 1);
            CHECK(truncate(path, (off_t)1 << 36) == 0, "truncate");
        }
        unsigned before = complaints;
        holder b = hold(cache, "damaged");
        zf_rates_link(b.rates, &known);
        CHECK(!known && complaints == before + 1, "kind %d", kind);
        zf_rates_link_seen(b.rates, 6e9);
        zf_rates_keep(b.rates, true);
        drop(&b);
        holder c = hold(cache, "damaged");
        double rate = zf_rates_link(c.rates, &known);
        CHECK(kind == FOLDER ? !known : known && rate == 6e9, "kind %d: %g", kind, rate);
        drop(&c);
        remove_all(cache);
    }
}

/// In a process without rights over what it may not write to: what lies there is read, and nothing else happens.
static void read_only(void) {
    char own[64] = "/tmp/zipflow-test-XXXXXX", rates[128];
    bool known;
    if (geteuid() == 0 && setuid(65534) != 0) return;
    CHECK(mkdtemp(own) != NULL, "a directory");
    snprintf(rates, sizeof rates, "%s/rates", own);
    holder a = hold(own, "read only");
    zf_rates_link_seen(a.rates, 5e9);
    zf_rates_keep(a.rates, true);
    CHECK(chmod(rates, 0500) == 0 && chmod(own, 0500) == 0, "chmod");
    zf_rates_link_seen(a.rates, 6e9);
    zf_rates_keep(a.rates, true);
    CHECK(complaints == 1, "%u complaints", complaints);
    drop(&a);
    holder b = hold(own, "read only");
    CHECK(zf_rates_link(b.rates, &known) == 5e9 && known, "%g", zf_rates_link(b.rates, NULL));
    drop(&b);
    CHECK(chmod(rates, 0) == 0, "chmod"); // nor may it be read
    b = hold(own, "read only");
    zf_rates_link(b.rates, &known);
    CHECK(!known, "read without the right to");
    zf_rates_link_seen(b.rates, 6e9);
    zf_rates_keep(b.rates, true);
    drop(&b);
    CHECK(chmod(own, 0700) == 0 && chmod(rates, 0770) == 0, "chmod"); // others may write there
    b = hold(own, "read only");
    zf_rates_link(b.rates, &known);
    CHECK(!known, "others' word is believed");
    drop(&b);
    remove_all(own);
}

/// Where the directory cannot be made, or is something else.
static void test_unwritable(void) {
    for (int kind = 0; kind < 3; kind++) {
        if (kind == 0) write_file(cache, "mine", 4);
        if (kind == 1) CHECK(mkdir(cache, 0700) == 0, "a directory");
        if (kind == 1) write_file(path_of("cache/rates"), "mine", 4);
        holder h = hold(kind < 2 ? cache : "/proc/nowhere", "unwritable");
        zf_rates_link_seen(h.rates, 5e9);
        zf_rates_keep(h.rates, true);
        CHECK(zf_rates_link(h.rates, NULL) == 5e9, "%g", zf_rates_link(h.rates, NULL));
        drop(&h);
        if (kind < 2) remove_all(cache);
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int before = check_failures;
        complaints = 0;
        read_only();
        fflush(NULL);
        _exit(check_failures != before);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d",
          status);
}

/// Processes that keep at once: whoever looks finds a whole file, and each that keeps alone afterwards finds its own there.
static void test_at_once(void) {
    enum { PROCESSES = 4, ROUNDS = 200 };
    pid_t children[PROCESSES];
    fflush(NULL);
    for (unsigned p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        if (children[p] != 0) continue;
        complaints = 0;
        holder h = hold(cache, "at once");
        for (unsigned round = 0; round < ROUNDS; round++) {
            zf_rates_decode_seen(h.rates, p * ROUNDS + round, "some codec", 1e9 * (p + 1), 0, false);
            zf_rates_keep(h.rates, true);
        }
        drop(&h);
        _exit(complaints != 0);
    }
    for (unsigned p = 0; p < PROCESSES; p++) {
        int status = 1;
        CHECK(waitpid(children[p], &status, 0) == children[p] && WIFEXITED(status) && WEXITSTATUS(status) == 0,
              "process %u ended with %d", p, status);
    }
    holder h = hold(cache, "at once");
    unsigned there = 0;
    for (unsigned codec = 0; codec < PROCESSES * ROUNDS; codec++)
        there += decode_rate(h.rates, codec, 0) == 1e9 * (codec / ROUNDS + 1);
    CHECK(there >= ROUNDS, "%u codecs of %d are there", there, PROCESSES * ROUNDS); // the last to write had all of its own
    drop(&h);
    remove_all(cache);
}

int main(void) {
    if (mkdtemp(directory) == NULL) return 1;
    snprintf(cache, sizeof cache, "%s/cache", directory);
    test_moving();
    test_text();
    test_lines();
    test_keeping();
    test_now_and_then();
    test_damaged();
    test_unwritable();
    test_at_once();
    CHECK(rmdir(directory) == 0, "something was left in %s", directory);
    return check_result();
}
