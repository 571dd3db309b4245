// Links: zf_llvm_headers zipflow-compiler
// Choices for kernels of GPUs: their text, what is refused and why, what each form may have, and plans that have them, printed,
// read back and verified.
#include <stdlib.h>

#include "codegen/simt/simt_choices.h"
#include "tests/unit/compositions.h"

// ---- The text ---------------------------------------------------------------------------------------------------

static void check_text(const char *text, const char *printed[3]) {
    zf_text message = {0};
    zf_choices choices;
    CHECK(zf_choices_read(text, &choices, &message), "`%s`: %s", text, message.data);
    for (uint32_t k = 0; k < choices.count; k++) {
        zf_text out = {0};
        zf_choice_print(&choices.of[k], &out);
        CHECK(choices.kernels[k] < 3 && printed[choices.kernels[k]] != NULL, "`%s`: kernel %u", text, choices.kernels[k]);
        CHECK(strcmp(out.data, printed[choices.kernels[k]]) == 0, "`%s`: kernel %u has %s", text, choices.kernels[k], out.data);
        zf_text_free(&out);
    }
    uint32_t count = 0;
    for (uint32_t k = 0; k < 3; k++) count += printed[k] != NULL;
    CHECK(choices.count == count, "`%s`: %u kernels", text, choices.count);
    zf_text_free(&message);
}

static void check_bad_text(const char *text, const char *wanted) {
    zf_text message = {0};
    zf_choices choices;
    CHECK(!zf_choices_read(text, &choices, &message), "`%s` is taken", text);
    CHECK(message.data != NULL && strstr(message.data, wanted) != NULL, "`%s`: %s, not %s", text, message.data, wanted);
    zf_text_free(&message);
}

static void check_texts(void) {
    check_text("0:L=8", (const char *[3]){"L 8"});
    check_text("0:THREADS=128,L=8,2:registers=40", (const char *[3]){"L 8, THREADS 128", NULL, "REGISTERS 40"});
    check_text("1:walk=32,0:L=0,1:Threads=4096", (const char *[3]){"L 0", "THREADS 4096, WALK 32"}); // again of kernel 1
    static const char *const bad[][2] = {
        {"", "`` is of no kernel"},
        {"L=8", "`L=8` is of no kernel"},
        {"0", "`0` begins with no number of a kernel and `:`"},
        {"0L=8", "begins with no number"},
        {"4097:L=8", "begins with no number"},
        {"99999999999999999999:L=8", "begins with no number"},
        {"0:", "`0:` is not a choice"},
        {"0:L",
         "is not a choice: one is NAME=VALUE, NAME is L, C, THREADS, REGISTERS, WALK, STAGE, PREFETCH, TABLE, RECORDS or WARPS"},
        {"0:=8", "is not a choice"},
        {"0:LL=8", "is not a choice"},
        {"0: L=8", "is not a choice"},
        {"0:L=", "the value is not a number up to 4096"},
        {"0:L=x", "the value is not a number"},
        {"0:L=8x", "the value is not a number"},
        {"0:L=-1", "the value is not a number"},
        {"0:L=4097", "the value is not a number"},
        {"0:L=18446744073709551624", "the value is not a number"}, // 8 in 64 bits
        {"0:L=8,", "`` is not a choice"},
        {"0:L=8,,S=1", "`` is not a choice"},
        {"0:L=8,L=8", "`L=8`: this is chosen twice"},
        {"0:L=8,1:L=8,0:l=4", "chosen twice"},
        {"0:L=8,AVERYLONGNAMETHATNOCHOICEHASBUTAPERSONWROTE=1", "`AVERYLONGNAMETHATNOCHOICEHASBUTAPERSONWR` is not"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) check_bad_text(bad[k][0], bad[k][1]);
    zf_text many = {0}; // as many kernels as there may be, and one more
    for (unsigned k = 0; k < ZF_CHOICES_KERNELS; k++) zf_text_printf(&many, "%s%u:L=1", k == 0 ? "" : ",", k);
    zf_text message = {0};
    zf_choices choices;
    CHECK(zf_choices_read(many.data, &choices, &message), "%s", message.data);
    CHECK(zf_choices_find(&choices, ZF_CHOICES_KERNELS - 1) != NULL, "the last kernel is lost");
    CHECK(zf_choices_find(&choices, ZF_CHOICES_KERNELS) == NULL && zf_choices_find(NULL, 0) == NULL, "choices for nothing");
    zf_text_printf(&many, ",%u:L=1", ZF_CHOICES_KERNELS);
    check_bad_text(many.data, "choices are for more than 64 kernels");
    zf_text_free(&message);
    zf_text_free(&many);
}

// ---- Plans ------------------------------------------------------------------------------------------------------

typedef struct planned {
    zf_arena *arena;
    zf_graph *graph;
    zf_plan *plan;
    zf_choices choices;
} planned;

static planned make_plan(const zf_column *column, const char *target, const char *text) {
    planned p = {.arena = zf_arena_create()};
    zf_text message = {0};
    if (text != NULL) CHECK(zf_choices_read(text, &p.choices, &message), "`%s`: %s", text, message.data);
    zf_plan_options options = {.target = target, .choices = &p.choices};
    p.graph = zf_graph_build(p.arena, column, NULL);
    p.plan = zf_plan_build(p.arena, p.graph, &options, NULL);
    CHECK(p.plan != NULL, "%s: no plan", column->name);
    zf_text_free(&message);
    return p;
}

typedef struct refused {
    const char *column, *text, *wanted; ///< wanted NULL: it is legal
} refused;

static const refused answers[] = {
    {"packed", "0:L=16,THREADS=1024", NULL},
    {"packed", "0:L=1,THREADS=32,REGISTERS=255", NULL},
    {"packed", "0:L=3", "kernel 0 (map): L cannot be 3, only 1, 2, 4, 8 or 16"},
    {"packed", "0:L=0", "L cannot be 0"},
    {"packed", "0:L=32", "L cannot be 32"},
    {"packed", "0:THREADS=16", "THREADS cannot be 16"},
    {"packed", "0:THREADS=2048", "THREADS cannot be 2048"},
    {"packed", "0:THREADS=96", "THREADS cannot be 96"},
    {"packed", "0:REGISTERS=1", "REGISTERS cannot be 1"},
    {"packed", "0:WALK=32", "WALK cannot be 32, there is nothing to choose"},
    {"packed", "1:L=4", "there is no kernel 1: there is 1, numbered from 0"},
    {"packed", "0:THREADS=1024,REGISTERS=64", NULL},
    {"packed", "0:THREADS=1024,REGISTERS=72", "1024 threads of 72 registers do not fit into the 65536 of a multiprocessor"},
    {"packed", "0:REGISTERS=255", NULL}, // of 256 threads: exactly all
    {"packed", "0:C=2,L=1,THREADS=32", NULL},
    {"packed", "0:C=1,L=1,THREADS=32", "kernel 0 (map): a tile of 32 outputs has less than 64"},
    {"packed", "0:C=8", "C cannot be 8, only 1, 2 or 4"},
    {"packed", "0:C=3", "C cannot be 3"},
    {"packed", "0:STAGE=1,L=1,THREADS=32,C=4", NULL},
    {"packed", "0:STAGE=1,L=1,THREADS=32,C=2", "the words of 64 outputs are no whole pieces, those of 128 are"},
    {"packed", "0:STAGE=2,L=4,THREADS=32,C=4", NULL},
    {"packed", "0:STAGE=2,L=4,THREADS=32,C=2", "the words of 64 outputs are no whole pieces"},
    {"packed", "0:STAGE=3", "STAGE cannot be 3, only 0, 1 or 2"},
    {"plain", "0:STAGE=1", "STAGE cannot be 1, only 0"},
    {"patched", "0:STAGE=0,THREADS=1024", NULL},
    {"patched", "0:STAGE=2", "kernel 0 (patches): STAGE cannot be 2, only 0 or 1"},
    {"narrow", "0:STAGE=1", NULL},
    {"scan", "0:STAGE=1", NULL},
    {"scan", "0:STAGE=2", "STAGE cannot be 2, only 0 or 1"},
    {"groups", "0:STAGE=1", "STAGE cannot be 1, there is nothing to choose"},
    {"scan", "0:PREFETCH=1", NULL},
    {"segments", "0:PREFETCH=1", NULL},
    {"groups", "0:PREFETCH=1,THREADS=32", NULL},
    {"groups", "0:PREFETCH=2", "PREFETCH cannot be 2, only 0 or 1"},
    {"packed", "0:PREFETCH=1,STAGE=2,L=4", NULL},
    {"packed", "0:PREFETCH=2", "PREFETCH cannot be 2, only 0 or 1"},
    {"bytes", "0:PREFETCH=1,C=4,L=16,THREADS=1024", NULL},
    {"plain", "0:PREFETCH=1", "PREFETCH cannot be 1, there is nothing to choose"},
    {"packed", "0:TABLE=4", "TABLE cannot be 4, there is nothing to choose"},
    {"bits", "0:TABLE=4", "TABLE cannot be 4, there is nothing to choose"},
    {"looked", "0:TABLE=4,PREFETCH=1", NULL},
    {"looked", "0:TABLE=32,STAGE=2,L=16,THREADS=1024", NULL},
    {"looked", "0:TABLE=2", "TABLE cannot be 2, only 0, 4, 8, 16 or 32"},
    {"tree", "0:PREFETCH=1", NULL},
    {"bytes", "0:C=4", NULL},
    {"bytes", "0:C=2", "C cannot be 2, only 4, 8 or 16"},
    {"bits", "0:C=8", NULL},
    {"bits", "0:C=4", "C cannot be 4, only 8"},
    {"groups", "0:C=1", NULL},
    {"tree", "0:C=2", "C cannot be 2, there is nothing to choose"},
    {"scan", "0:C=2", "C cannot be 2, there is nothing to choose"},
    {"groups", "0:THREADS=32", NULL},
    {"groups", "0:THREADS=1024", NULL},
    {"groups", "0:L=4",
     "kernel 0 (groups): L cannot be 4, there is nothing to choose; what it has is C, THREADS, REGISTERS, PREFETCH"},
    {"tree", "0:THREADS=32", NULL},
    {"tree", "0:THREADS=64", "kernel 0 (groups): THREADS cannot be 64, only 32"},
    {"scan", "0:L=1,THREADS=1024", NULL},
    {"scan", "0:L=8", "kernel 0 (scan): L cannot be 8, only 1, 2 or 4"},
    {"segments", "0:THREADS=1024", NULL},
    {"segments", "0:THREADS=1024,REGISTERS=96", "1024 threads of 96 registers do not fit"},
    {"copied", "0:WALK=1,THREADS=32", NULL},
    {"copied", "0:THREADS=1024", NULL}, // with as many registers as there are
    {"copied", "0:WALK=1,THREADS=1024", NULL},
    {"copied", "0:WALK=1,THREADS=1024,REGISTERS=72", "1024 threads of 72 registers do not fit"},
    {"copied", "0:WALK=2", "kernel 0 (warp): WALK cannot be 2, only 1 or 32"},
    {"copied", "0:L=8", NULL},
    {"copied", "0:WALK=1,L=1", NULL},
    {"copied", "0:WALK=1,L=2", "kernel 0 (warp): a thread that walks alone (WALK=1) has one chunk, not 2"},
    {"copied", "0:WALK=1,L=16", "kernel 0 (warp): L cannot be 16, only 1, 2, 4 or 8"},
    {"copied", "0:L=16", "kernel 0 (warp): L cannot be 16, only 1, 2, 4 or 8"},
    {"climbs", "0:RECORDS=1", NULL}, // it emits in a function
    {"climbs", "0:RECORDS=2", "kernel 0 (warp): RECORDS cannot be 2, only 0 or 1"},
    {"climbs", "0:WARPS=2", "kernel 0 (warp): WARPS cannot be 2, only 1"},
    {"noted", "0:WARPS=8", NULL},
    {"noted", "0:WARPS=4,RECORDS=1", NULL},
    {"noted", "0:WARPS=1,THREADS=64", NULL},
    {"noted", "0:WARPS=3", "kernel 0 (records): WARPS cannot be 3, only 1, 2, 4 or 8"},
    {"noted", "0:WARPS=2,THREADS=64", "the warps of a chunk are a thread block, whose THREADS are no choice beside WARPS=2"},
    {"noted", "0:WARPS=2,RECORDS=0", "without records (RECORDS=0) a chunk has no other WARPS=2"},
    {"noted", "0:WARPS=2,WALK=1", "a thread that walks alone (WALK=1) has no other WARPS=2"},
    {"fewer", "0:THREADS=64", NULL},
    {"lanes", "0:THREADS=256", NULL},
    {"lanes", "0:THREADS=128", "kernel 0 (lanes): THREADS cannot be 128, only 256"},
};

static void check_answer(const zf_spec *spec, const refused *r, const char *target) {
    const zf_column *column = find_column(spec, "choices", r->column);
    if (column == NULL) return;
    planned p = make_plan(column, target, r->text);
    zf_error error = {0};
    zf_status status = zf_codegen_choices_check(p.plan, &p.choices, &error);
    if (r->wanted == NULL) {
        zf_text reason = {0};
        CHECK(status == ZF_OK, "%s, %s: %s", r->column, r->text, error.message);
        CHECK(zf_plan_verify(p.plan, &reason), "%s, %s: %s", r->column, r->text, reason.data);
        zf_text_free(&reason);
    } else {
        CHECK(status == ZF_ERR_USAGE, "%s, %s is taken", r->column, r->text);
        CHECK(strstr(error.message, r->wanted) != NULL, "%s, %s: %s", r->column, r->text, error.message);
    }
    zf_arena_destroy(p.arena);
}

/// The plan and its text have the choices; a geometry other than the chosen one is refused.
static void check_plan_text(const zf_column *column) {
    planned p = make_plan(column, "nvptx", "0:L=8,THREADS=128,REGISTERS=40,C=2"), bare = make_plan(column, "nvptx", NULL);
    zf_text text = {0}, again = {0}, reason = {0};
    zf_plan_print(p.plan, &text);
    CHECK(strstr(text.data, ", geometry [8 128 2], chosen [L 8, C 2, THREADS 128, REGISTERS 40], end") != NULL, "%s", text.data);
    CHECK(p.plan->kernels[0].tile == 8 * 128 * 2, "a tile of %u", p.plan->kernels[0].tile);
    zf_plan *read = zf_plan_read(p.arena, p.graph, text.data, &reason);
    CHECK(read != NULL && zf_plan_verify(read, &reason), "read back: %s", reason.data);
    if (read != NULL) zf_plan_print(read, &again);
    CHECK(again.data != NULL && strcmp(text.data, again.data) == 0, "reading changes it:\n%s", again.data);
    zf_text_free(&again);
    zf_plan_print(bare.plan, &again);
    CHECK(strstr(again.data, "chosen") == NULL, "something is chosen:\n%s", again.data);
    // Texts that are wrong.
    static const char *const wrong[][2] = {
        {"[L 8, C 2", "[L 8, L 2"}, {"[L 8, C 2", "[ROWS 8, C 2"}, {"[L 8, C 2", "[L 8; C 2"}, {"[L 8, C 2", "[L 5000, C 2"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        zf_text damaged = {0};
        const char *at = strstr(text.data, wrong[k][0]);
        zf_text_add(&damaged, text.data, (size_t)(at - text.data));
        zf_text_printf(&damaged, "%s%s", wrong[k][1], at + strlen(wrong[k][0]));
        CHECK(zf_plan_read(p.arena, p.graph, damaged.data, &reason) == NULL, "it is read: %s", wrong[k][1]);
        zf_text_free(&damaged);
    }
    // Plans that are wrong.
    zf_kernel *kernel = &p.plan->kernels[0];
    const zf_kernel good = *kernel;
#define CHECK_REFUSED(change)                                                                                                    \
    do {                                                                                                                         \
        change;                                                                                                                  \
        CHECK(!zf_plan_verify(p.plan, &reason), "verified: " #change);                                                           \
        *kernel = good;                                                                                                          \
    } while (0)
    CHECK_REFUSED(kernel->geometry.l = 4);
    CHECK_REFUSED(kernel->geometry.s = 256);
    CHECK_REFUSED(kernel->geometry.c = 8);
    CHECK_REFUSED(kernel->tile *= 2);
    CHECK_REFUSED(kernel->choice = (zf_choice){0});
    CHECK_REFUSED(kernel->choice.chosen |= UINT32_C(1) << ZF_CHOICE_KINDS);
    CHECK_REFUSED(zf_choose(&kernel->choice, ZF_CHOICE_REGISTERS, ZF_CHOICE_MOST + 1));
    CHECK_REFUSED(zf_choose(&kernel->choice, ZF_CHOICE_WALK, 32));
    CHECK_REFUSED(p.plan->target = &zf_target_host);
    p.plan->target = &zf_target_nvptx;
    CHECK(zf_plan_verify(p.plan, &reason), "the plan itself: %s", reason.data);
    zf_text_free(&text);
    zf_text_free(&again);
    zf_text_free(&reason);
    zf_arena_destroy(p.arena);
    zf_arena_destroy(bare.arena);
}

/// Kernels of the host have no choices, whatever was set.
static void check_host(const zf_column *column) {
    planned p = make_plan(column, "host", "0:L=8,9:WALK=3");
    CHECK(p.plan->kernels[0].choice.chosen == 0, "a choice for the host");
    CHECK(zf_codegen_choices_check(p.plan, &p.choices, NULL) == ZF_OK, "choices for the host are refused");
    zf_arena_destroy(p.arena);
}

/// Choice `number` of all combinations of the space's values, each kind chosen, legal or not.
static zf_choice combination(const zf_choice_space *space, uint32_t number) {
    zf_choice choice = {0};
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        if (space->counts[k] == 0) continue;
        zf_choose(&choice, (zf_choice_kind)k, space->values[k][number % space->counts[k]]);
        number /= space->counts[k];
    }
    return choice;
}

/// Each legal combination makes a plan whose kernel has it, and every other combination is refused with a reason.
static void check_combinations(const zf_column *column) {
    planned p = make_plan(column, "emu", NULL);
    zf_choice_space space = zf_codegen_space(p.plan, &p.plan->kernels[0]);
    uint32_t all = 1, count = 0, legal = 0;
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) all *= space.counts[k] > 0 ? space.counts[k] : 1;
    zf_choices choices = {.count = 1};
    for (; count < all; count++) {
        choices.of[0] = combination(&space, count);
        zf_text reason = {0};
        bool good = zf_choice_space_allows(&space, &choices.of[0], &reason);
        CHECK(good == (reason.data == NULL), "%s: %s", column->name, reason.data);
        zf_text_free(&reason);
        legal += good;
        if (!good || count % 7 != 0) continue;
        zf_plan_options options = {.target = "emu", .choices = &choices};
        zf_plan *plan = zf_plan_build(p.arena, p.graph, &options, NULL);
        CHECK(plan != NULL && zf_plan_verify(plan, &reason) && zf_codegen_choices_check(plan, &choices, NULL) == ZF_OK, "%s: %s",
              column->name, reason.data);
        zf_text_free(&reason);
        zf_simt_shape shape = zf_simt_shape_of(plan, &plan->kernels[0]);
        CHECK(shape.threads == choices.of[0].values[ZF_CHOICE_THREADS], "%s: %u threads", column->name, shape.threads);
        CHECK(shape.registers == choices.of[0].values[ZF_CHOICE_REGISTERS], "%s: %u registers", column->name, shape.registers);
    }
    CHECK(legal > 0, "%s: %u combinations, none legal", column->name, all);
    zf_arena_destroy(p.arena);
}

/// The list of choices: a value listed as the default gives the code of no choice.
static void check_listing(const zf_column *column) {
    planned p = make_plan(column, "nvptx", NULL);
    zf_text text = {0}, json = {0};
    zf_codegen_choices_text(p.plan, &text);
    zf_codegen_choices_json(p.plan, &json);
    CHECK(strstr(text.data,
                 "packed, target nvptx\n  kernel 0: bitpack<u32, u32> (map)\n    L          1, 2, 4, 8, 16 (default 2)\n"
                 "    C          1, 2, 4 (default 4)\n"
                 "    THREADS    32, 64, 128, 256, 512, 1024 (default 256)\n    REGISTERS  0, 32, ") == text.data,
          "%s", text.data);
    CHECK(
        strstr(
            json.data,
            "{\"column\": \"packed\", \"target\": \"nvptx\", \"kernels\": [{\"kernel\": 0, \"algorithm\": \"bitpack<u32, u32>\", "
            "\"form\": \"map\", \"choices\": {\"L\": {\"values\": [1, 2, 4, 8, 16], \"default\": 2}, ") == json.data,
        "%s", json.data);
    zf_choice_space space = zf_codegen_space(p.plan, &p.plan->kernels[0]);
    CHECK(zf_choice_space_allows(&space, &space.defaults, NULL), "the default is not legal");
    zf_text_free(&text);
    zf_text_free(&json);
    zf_arena_destroy(p.arena);
}

// The size of elements and tiles determines how patches store exceptions by default, and whether there is a choice.
static void check_staged(const zf_spec *spec) {
    static const struct {
        const char *column;
        uint32_t interval, ways, way, threads;
    } wanted[] = {
        {"patched", 0, 2, 1, 256},    {"patched", 256, 2, 1, 64}, {"patched", 2048, 2, 1, 128}, {"patched", 8192, 1, 0, 64},
        {"patched", 65536, 1, 0, 64}, {"narrow", 0, 2, 0, 64},    {"narrow", 16384, 2, 0, 64},  {"narrow", 32768, 1, 0, 64},
    };
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        const zf_column *column = find_column(spec, "choices", wanted[k].column);
        if (column == NULL) return;
        zf_arena *arena = zf_arena_create();
        zf_plan_options options = {.target = "nvptx", .seek_interval = wanted[k].interval};
        zf_plan *plan = zf_plan_build(arena, zf_graph_build(arena, column, NULL), &options, NULL);
        zf_choice_space space = zf_codegen_space(plan, &plan->kernels[0]);
        const uint32_t *values = space.defaults.values;
        CHECK(space.counts[ZF_CHOICE_STAGE] == wanted[k].ways && values[ZF_CHOICE_STAGE] == wanted[k].way &&
                  values[ZF_CHOICE_PREFETCH] == wanted[k].way && values[ZF_CHOICE_THREADS] == wanted[k].threads,
              "%s, tiles of %u: %u ways, STAGE %u, PREFETCH %u, THREADS %u", wanted[k].column, wanted[k].interval,
              space.counts[ZF_CHOICE_STAGE], values[ZF_CHOICE_STAGE], values[ZF_CHOICE_PREFETCH], values[ZF_CHOICE_THREADS]);
        zf_arena_destroy(arena);
    }
}

// Long chunks are few: they have several warps by default, which are a thread block; where THREADS are chosen they have one.
static void check_warps(const zf_spec *spec) {
    static const struct {
        const char *column, *text;
        uint32_t warps, threads, tiles;
    } wanted[] = {
        {"noted", NULL, 1, 32, 1},         {"few", NULL, 1, 32, 1},          {"fewer", NULL, 2, 64, 1},
        {"noted", "0:WARPS=8", 8, 256, 1}, {"fewer", "0:WARPS=1", 1, 32, 1}, {"fewer", "0:THREADS=64", 1, 64, 2},
    };
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        const zf_column *column = find_column(spec, "choices", wanted[k].column);
        if (column == NULL) return;
        planned p = make_plan(column, "nvptx", wanted[k].text);
        zf_codegen_form_info info;
        zf_simt_shape shape = zf_simt_shape_of(p.plan, &p.plan->kernels[0]);
        CHECK(zf_codegen_form(p.plan, &p.plan->kernels[0], &info) && info.warps == wanted[k].warps && info.warps_why != NULL,
              "%s, %s: %u warps", wanted[k].column, wanted[k].text, info.warps);
        CHECK(shape.threads == wanted[k].threads && shape.tiles == wanted[k].tiles, "%s, %s: %u threads, %u chunks",
              wanted[k].column, wanted[k].text, shape.threads, shape.tiles);
        zf_choice_space space = zf_codegen_space(p.plan, &p.plan->kernels[0]);
        CHECK(zf_choice_space_allows(&space, &(zf_choice){0}, NULL), "%s: the default is not legal", wanted[k].column);
        zf_arena_destroy(p.arena);
    }
}

int main(void) {
    check_texts();
    zf_spec *spec = make_spec(ZF_SOURCE_DIR "/tests/unit/codegen/choices.zf", ZF_STD);
    if (spec == NULL) return check_result();
    for (size_t k = 0; k < sizeof answers / sizeof *answers; k++) {
        check_answer(spec, &answers[k], "nvptx");
        check_answer(spec, &answers[k], "emu");
    }
    const zf_column *packed = find_column(spec, "choices", "packed");
    if (packed != NULL) {
        check_plan_text(packed);
        check_host(packed);
        check_listing(packed);
    }
    check_staged(spec);
    check_warps(spec);
    for (const zf_column *c = zf_spec_find_table(spec, "choices")->columns; c != NULL; c = c->next) check_combinations(c);
    zf_spec_destroy(spec);
    return check_result();
}
