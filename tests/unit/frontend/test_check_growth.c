// Links: zipflow-frontend
// Four times the program takes about four times as long to check and to report on: nothing looks through all that came before for
// each thing that comes. Ratios, no absolute times.
#include <string.h>
#include <time.h>

#include "frontend/spec/spec.h"
#include "tests/unit/check.h"

enum {
    ROUNDS = 3, ///< tries before a ratio is believed: what the machine does besides only adds
    MOST = 8,   ///< times as long for four times as much; 3 to 5 when this was written, 11 and more with a search for each
};

static double seconds(void) {
    struct timespec now; // of this process alone
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/// A program of `count` declarations; %u is the number of each.
typedef struct program {
    const char *name;
    unsigned count; ///< and four times as many: where a search for each would show
    bool good;
    const char *head, *each, *tail;
} program;

static const program shapes[] = {
    {"algorithms", 25000, true, "", "algorithm a%u(s: u32[]) -> u32[] fully_parallel { decode(i) = s[i]; }\n", ""},
    {"warnings", 2400, true, "", "algorithm a%u(s: u32[]) -> u32[] fully_parallel { fn f(x) = x; decode(i) = s[i]; }\n", ""},
    {"warnings on one line", 2400, true, "",
     "algorithm a%u(s: u32[]) -> u32[] fully_parallel { fn f(x) = x; decode(i) = s[i]; } ", ""},
    {"errors", 25000, false, "", "algorithm a%u(s: u32[]) -> u32[] fully_parallel { decode(i) = q[i]; }\n", ""},
    {"functions", 20000, true, "", "fn g%u(x: u32) -> u32 = x;\n", ""},
    {"constants", 20000, true, "", "const c%u: u32 = 1;\n", ""},
    {"columns", 20000, true, "table t {\n", "c%u: u32 = bitpack;\n", "}\n"},
    {"streams", 5000, false, "algorithm a(t: u32[]", ", s%u: u32[]", ") -> u32[] fully_parallel { decode(i) = t[i]; }\n"},
    {"functions of one algorithm", 5000, false, "algorithm a(s: u32[]) -> u32[] fully_parallel {\n", "fn f%u(x) = x;\n",
     "decode(i) = s[i]; }\n"},
};

static double check_time(const program *shape, unsigned count) {
    zf_text text = {0}, report = {0};
    zf_text_puts(&text, shape->head);
    for (unsigned k = 0; k < count; k++) {
        const char *number = strstr(shape->each, "%u");
        zf_text_add(&text, shape->each, (size_t)(number - shape->each));
        zf_text_printf(&text, "%u%s", k, number + 2);
    }
    zf_text_puts(&text, shape->tail);
    double begin = seconds();
    zf_spec_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    zf_spec *spec = zf_spec_create(&options);
    bool good = spec != NULL && zf_spec_add_text(spec, "program.zf", text.data, text.length) && zf_spec_check(spec);
    CHECK(good == shape->good, "%s: %u of them", shape->name, count);
    if (spec != NULL) zf_diags_render(zf_spec_diags(spec), ZF_DIAG_HUMAN, false, &report);
    double time = seconds() - begin;
    zf_spec_destroy(spec);
    zf_text_free(&report);
    zf_text_free(&text);
    return time;
}

static void check_growth(const program *shape) {
    double small = 1e9, large = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double s = check_time(shape, shape->count), l = check_time(shape, shape->count * 4);
        if (s < small) small = s;
        if (l < large) large = l;
        if (large < small * (double)MOST) break;
    }
    printf("%s: %u in %.1f ms, %u in %.1f ms (%.1f times)\n", shape->name, shape->count, small * 1e3, shape->count * 4,
           large * 1e3, large / small);
    CHECK(large < small * (double)MOST, "%s: four times as many take %.1f times as long", shape->name, large / small);
}

int main(void) {
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) check_growth(&shapes[k]);
    return check_result();
}
