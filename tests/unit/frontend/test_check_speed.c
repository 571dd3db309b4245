// Links: zipflow-frontend
// Checking takes a bounded multiple of parsing the same text: what the editor waits for. No absolute times, which would test the
// machine; bench/check_speed.py measures those.
#include <time.h>

#include "tests/unit/parse_text.h"

enum {
    ROUNDS = 9,
    MOST = 15, ///< times parsing alone; 2 to 4 when this was written
};

static double seconds(void) {
    struct timespec now; // of this process alone
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void parse_one(const char *path, const char *text, size_t length) {
    parsed p = parse_bytes(text, length);
    CHECK(p.errors == 0, "%s", path);
    parsed_free(&p);
}

static void check_program(const char *path, const char *text, size_t length) {
    double parse = 1e9, check = 1e9;
    for (int round = 0; round < ROUNDS; round++) { // the least: what the machine does besides only adds
        double begin = seconds();
        int files = for_each_zf_file(ZF_SOURCE_DIR "/dsl/std", parse_one);
        parse_one(path, text, length);
        double middle = seconds();
        zf_spec_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
        zf_spec *spec = zf_spec_create(&options);
        CHECK(spec && files > 0 && zf_spec_add_file(spec, path) && zf_spec_check(spec), "%s", path);
        zf_spec_destroy(spec);
        double end = seconds();
        if (middle - begin < parse) parse = middle - begin;
        if (end - middle < check) check = end - middle;
    }
    printf("%s: parsing %.3f ms, checking %.3f ms (%.1f times)\n", path, parse * 1e3, check * 1e3, check / parse);
    CHECK(check < parse * (double)MOST, "checking takes %.1f times parsing", check / parse);
}

int main(void) {
    CHECK(for_each_zf_file(ZF_SOURCE_DIR "/examples/tpch", check_program) > 0, "no program");
    CHECK(for_each_zf_file(ZF_SOURCE_DIR "/tests/lang/ok/drafts", check_program) > 0, "no drafts");
    return check_result();
}
